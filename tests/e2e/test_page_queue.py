"""Messages that wait: for the answer under way, and for a server that is away; none is lost, none is sent twice."""

import signal

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.e2e.browser import wait_until
from tests.e2e.playground import (
    CHROMIUM,
    LIMIT_MS,
    Start,
    again,
    answered,
    ask,
    grown,
    held,
    open_own,
    open_page,
    paced,
)
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")


def said(page: Page) -> list[str]:
    return page.locator(".turn.user .said").all_inner_texts()


def cut_off(page: Page, server: Server) -> str:
    """Kills the server amid an answer; returns what had come."""
    ask(page, "A story")
    before = grown(page)
    server.stop(signal.SIGKILL)
    expect(page.locator(".ending")).to_contain_text("Cut off")
    return before


def test_what_is_sent_while_an_answer_runs_goes_after_it_as_it_was_edited(
    context: BrowserContext, story_server: Server
) -> None:
    page = open_page(context, story_server.port)
    with held(story_server):
        ask(page, "Say exactly: " + "one two three " * 60)
        grown(page, 4)
        ask(page, "Say exactly: Wrong.")
        ask(page, "Say exactly: Last.")
        expect(page.locator(".queue li")).to_have_count(2)
        expect(page.locator("#prompt")).to_have_value("")
        page.click(".queue .edit >> nth=0")
        page.fill(".queue textarea", "Say exactly: Right.")
        page.press(".queue textarea", "Enter")
        expect(page.locator(".queue textarea")).to_have_count(0)
    expect(page.locator(".queue")).to_have_count(0, timeout=LIMIT_MS)
    assert [text.strip() for text in answered(page, 3)[1:]] == ["Right.", "Last."]
    assert said(page)[1:] == ["Say exactly: Right.", "Say exactly: Last."]


@pytest.mark.parametrize(("width", "height"), [(740, 360), (390, 844), (320, 568)])
def test_whatever_waits_and_is_written_stop_stays_in_the_window(
    context: BrowserContext, story_server: Server, width: int, height: int
) -> None:
    page = open_page(context, story_server.port)
    page.set_viewport_size({"width": width, "height": height})
    note = {"mimeType": "text/plain", "buffer": b"Sea"}
    with held(story_server):
        ask(page, "A story")
        grown(page, 4)
        for text in ("One", "Two", "Three"):
            ask(page, text)
        expect(page.locator(".queue li")).to_have_count(3)
        page.get_by_label("Attach files").set_input_files([{**note, "name": f"{at}.txt"} for at in range(30)])
        expect(page.locator(".composer .attached li")).to_have_count(30)
        page.fill("#prompt", "line\n" * 60)
        for place in ("#queue", "#stop"):
            expect(page.locator(place)).to_be_in_viewport(ratio=1)
        page.click("#stop")
        expect(page.locator(".ending")).to_contain_text("Stopped by you")


def test_a_message_that_waits_can_be_dropped(context: BrowserContext, story_server: Server) -> None:
    page = open_page(context, story_server.port)
    with held(story_server):
        ask(page, "Say exactly: " + "one two three " * 60)
        grown(page, 4)
        ask(page, "Never sent")
        page.click(".queue .drop")
        expect(page.locator(".queue")).to_have_count(0)
        ask(page, "Say exactly: Back.")
        page.click(".queue .drop")
        expect(page.locator(".queue")).to_have_count(0)
        page.click("#undo")
        expect(page.locator(".queue li .name")).to_have_text(["Say exactly: Back."])
    assert answered(page, 2)[1] == "Back."
    page.reload()
    answered(page, 2)
    assert said(page)[1:] == ["Say exactly: Back."]


def test_a_file_that_was_removed_comes_back_where_it_was(context: BrowserContext, story_server: Server) -> None:
    page = open_page(context, story_server.port)
    names = page.locator(".composer .attached li summary .name")
    attach(page, "one.txt")
    attach(page, "two.txt", 2)
    page.click("[aria-label='Remove one.txt']")
    expect(names).to_have_text(["two.txt"])
    page.click("#undo")
    expect(names).to_have_text(["one.txt", "two.txt"])
    page.reload()
    expect(names).to_have_text(["one.txt", "two.txt"])


def test_a_suggestion_that_is_pressed_twice_is_asked_once(context: BrowserContext, story_server: Server) -> None:
    page = open_page(context, story_server.port)
    page.locator("#suggestions button").first.evaluate("(button) => { button.click(); button.click(); }")
    grown(page, 4)
    expect(page.locator(".turn.user")).to_have_count(1)
    expect(page.locator(".queue")).to_have_count(0)
    page.press("#prompt", "Escape")
    expect(page.locator(".turn.answer.running")).to_have_count(0)


# From now on no file can be read before it is said so.
SLOW_FILES = """() => { const { text } = Blob.prototype;
  const gate = new Promise((resolve) => { globalThis.readOn = resolve; });
  Blob.prototype.text = async function () { await gate; return text.call(this); }; }"""


def attach(page: Page, name: str, count: int = 1) -> None:
    page.set_input_files(".attach input", {"name": name, "mimeType": "text/plain", "buffer": b"Three marks"})
    expect(page.locator(".composer .attached li")).to_have_count(count)


def test_a_file_goes_with_its_message_alone(context: BrowserContext, story_server: Server) -> None:
    page = open_page(context, story_server.port)
    chip = page.locator(".composer .attached li")
    attach(page, "one.txt")
    page.evaluate(SLOW_FILES)
    ask(page, "Say exactly: One.")
    expect(chip).to_have_count(0)
    # Meant for the message that is on its way already.
    page.press("#prompt", "Enter")
    attach(page, "two.txt")
    page.evaluate("readOn()")
    assert len(answered(page)) == 1
    expect(page.locator(".turn.user")).to_have_count(1)
    expect(page.locator(".turn.user .attached")).to_contain_text("one.txt")
    expect(page.locator(".queue")).to_have_count(0)
    expect(chip).to_contain_text("two.txt")
    page.reload()
    expect(chip).to_contain_text("two.txt")
    expect(chip).to_have_count(1)


def test_a_file_whose_message_does_not_go_stays_beside_it(context: BrowserContext, story_server: Server) -> None:
    page = context.new_page()
    page.route("**/state/outbox.js", lambda route: route.abort())
    page.goto(f"http://127.0.0.1:{story_server.port}/ui/#/chat")
    attach(page, "one.txt")
    ask(page, "Say exactly: One.")
    expect(page.locator(".composer [role=alert]")).to_contain_text("Your message stays here")
    expect(page.locator("#prompt")).to_have_value("Say exactly: One.")
    expect(page.locator(".composer .attached li")).to_contain_text("one.txt")


def test_a_message_that_waits_names_its_files(context: BrowserContext, story_server: Server) -> None:
    page = open_page(context, story_server.port)
    with held(story_server):
        ask(page, "Say exactly: " + "one two three " * 60)
        grown(page, 4)
        attach(page, "one.txt")
        page.press("#prompt", "Enter")
        expect(page.locator(".queue li .name")).to_have_text("one.txt")
        attach(page, "two.txt")
        ask(page, "And this")
        expect(page.locator(".queue li .name").nth(1)).to_have_text("And this two.txt")
        for left in (1, 0):
            page.click(".queue .drop >> nth=0")
            expect(page.locator(".queue li")).to_have_count(left)
    answered(page)


def test_control_enter_stops_the_answer_and_sends(context: BrowserContext, story_server: Server) -> None:
    page = open_page(context, story_server.port)
    ask(page, "A story")
    grown(page)
    ask(page, "Say exactly: Instead.", "Control+Enter")
    assert answered(page, 2)[1] == "Instead."
    expect(page.locator(".ending").first).to_contain_text("Stopped by you")


def test_after_a_stop_what_waits_is_kept_and_goes_when_it_is_told_to(
    context: BrowserContext, story_server: Server
) -> None:
    page = open_page(context, story_server.port)
    ask(page, "A story")
    grown(page)
    ask(page, "Say exactly: Later.")
    expect(page.locator(".queue li")).to_have_count(1)
    page.press("#prompt", "Escape")
    expect(page.locator(".ending")).to_contain_text("Stopped by you")
    page.reload()
    expect(page.locator(".queue li")).to_have_text("Say exactly: Later.")
    page.click("#send-waiting")
    assert answered(page, 2)[1] == "Later."
    expect(page.locator(".queue")).to_have_count(0)


def test_the_stop_button_is_no_send_button_for_a_moment(context: BrowserContext, story_server: Server) -> None:
    page = open_page(context, story_server.port)
    ask(page, "A story")
    grown(page)
    page.type("#prompt", "half a thought")
    page.dblclick("#stop")
    expect(page.locator(".ending")).to_contain_text("Stopped by you")
    expect(page.locator("#send")).to_be_visible()
    expect(page.locator("#prompt")).to_have_value("half a thought")
    assert said(page) == ["A story"]


def test_the_stop_button_stays_for_a_moment_after_the_answer_has_ended(
    context: BrowserContext, story_server: Server
) -> None:
    page = open_page(context, story_server.port)
    ask(page, "A story")
    grown(page)
    shown_ms = page.evaluate("""() => new Promise((done) => {
      let endedAt = NaN;
      const look = () => {
        if (document.querySelector("#stop[aria-disabled=true]")) endedAt ||= performance.now();
        if (document.getElementById("send")) done(performance.now() - endedAt);
      };
      const all = {subtree: true, childList: true, attributes: true};
      new MutationObserver(look).observe(document.querySelector(".composer"), all);
      document.getElementById("stop").click();
    })""")
    assert shown_ms > 300
    expect(page.locator(".ending")).to_contain_text("Stopped by you")


def test_what_is_sent_without_a_server_goes_once_it_is_back(context: BrowserContext, start_server: Start) -> None:
    first, page = open_own(context, start_server)
    before = cut_off(page, first)
    expect(page.locator(".banner")).to_contain_text("No server at")
    page.click("#new-chat")
    ask(page, "Say exactly: Here I am.")
    expect(page.locator(".queue")).to_contain_text("Sent when the server is back")
    page.type("#prompt", "and a draft")
    with again(first, start_server, context):
        assert answered(page) == ["Here I am."]
        page.reload()
        assert answered(page) == ["Here I am."]
        expect(page.locator("#prompt")).to_have_value("and a draft")
        page.click(".list li a >> nth=1")
        expect(page.locator(".turn.answer .prose")).to_contain_text(before[:40])
        page.click(".resume")
        assert grown(page, len(before) + 20).startswith(before[:40])
        page.keyboard.press("Escape")


def test_what_is_typed_at_once_after_a_new_chat_was_asked_for_is_in_it(
    context: BrowserContext, story_server: Server
) -> None:
    page = open_page(context, story_server.port)
    ask(page, "Say exactly: One.")
    answered(page)
    # No later than a key can come: before the next frame, and before the address is told of.
    typed = page.evaluate(
        """async () => { document.getElementById("new-chat").click();
        await new Promise((resolve) => { const { port1, port2 } = new MessageChannel();
            port1.onmessage = resolve; port2.postMessage(null); });
        document.execCommand("insertText", false, "Say exactly: Two.");
        return document.activeElement.id; }"""
    )
    assert typed == "prompt"
    expect(page.locator("#suggestions")).to_be_visible()
    expect(page.locator("#prompt")).to_have_value("Say exactly: Two.")
    page.press("#prompt", "Enter")
    expect(page.locator(".turn.user .said")).to_have_text("Say exactly: Two.")
    assert answered(page) == ["Two."]


def test_what_is_typed_into_a_new_chat_survives_a_reload(context: BrowserContext, story_server: Server) -> None:
    page = open_page(context, story_server.port)
    page.type("#prompt", "not sent yet")
    wait_until(
        page,
        """async () => { const { open } = await import("/ui/state/chats.js");
        const store = await import("/ui/store/database.js");
        return (await store.get("drafts", open.value.id))?.text === "not sent yet"; }""",
    )
    page.reload()
    expect(page.locator("#prompt")).to_have_value("not sent yet")
    ask(page, "Say exactly: Sent.")
    answered(page)
    page.click("#new-chat")
    expect(page.locator("#suggestions")).to_be_visible()
    expect(page.locator("#prompt")).to_have_value("")


def test_what_is_said_after_an_answer_was_cut_goes_once_the_server_is_back(
    context: BrowserContext, start_server: Start
) -> None:
    first, page = open_own(context, start_server)
    cut_off(page, first)
    expect(page.locator(".banner")).to_contain_text("No server at")
    ask(page, "Say exactly: One.")
    ask(page, "Say exactly: Two.")
    expect(page.locator(".queue")).to_contain_text("Sent when the server is back")
    expect(page.locator(".queue li")).to_have_count(2)
    with again(first, start_server, context):
        assert answered(page, 3)[1:] == ["One.", "Two."]
        expect(page.locator(".queue")).to_have_count(0)


def test_what_is_asked_otherwise_without_a_server_goes_once_it_is_back(
    context: BrowserContext, start_server: Start
) -> None:
    first, page = open_own(context, start_server)
    cut_off(page, first)
    page.hover(".turn.user")
    page.click(".turn.user .edit")
    page.fill(".turn.user textarea", "Say exactly: Two.")
    page.press(".turn.user textarea", "Control+Enter")
    expect(page.locator(".waiting")).to_contain_text("Sent when the server is back")
    # Who has changed their mind ends it.
    page.keyboard.press("Escape")
    expect(page.locator(".ending")).to_contain_text("Stopped by you")
    page.hover(".turn.answer")
    page.click(".turn.answer .again")
    expect(page.locator(".waiting")).to_contain_text("Sent when the server is back")
    with again(first, start_server, context):
        assert answered(page) == ["Two."]


def test_what_is_the_first_to_find_the_server_away_goes_once_it_is_back(
    context: BrowserContext, start_server: Start
) -> None:
    first, page = open_own(context, start_server)
    ask(page, "Say exactly: One.")
    assert answered(page) == ["One."]
    first.stop(signal.SIGKILL)
    page.hover(".turn.user")
    page.click(".turn.user .edit")
    page.fill(".turn.user textarea", "Say exactly: Two.")
    page.press(".turn.user textarea", "Control+Enter")
    expect(page.locator(".waiting")).to_contain_text("Sent when the server is back")
    with again(first, start_server, context):
        assert answered(page) == ["Two."]


def test_what_is_said_while_what_sends_is_on_its_way_is_shown_and_kept(
    context: BrowserContext, story_server: Server
) -> None:
    asked: list[Route] = []
    page = context.new_page()
    page.route("**/state/outbox.js", lambda route: asked.append(route))
    page.goto(f"http://127.0.0.1:{story_server.port}/ui/#/chat")
    ask(page, "Say exactly: One.")
    notice = page.locator(".composer [role=alert]")
    expect(notice).to_contain_text("Your message is kept, and goes once it does: Say exactly: One.")
    page.type("#prompt", "And more")
    wait_until(
        page,
        """async () => { const { draftOf } = await import("/ui/state/place.js");
        const { open } = await import("/ui/state/chats.js");
        return (await draftOf(open.value.id)) === "Say exactly: One.\\nAnd more"; }""",
    )
    page.reload()
    expect(page.locator("#prompt")).to_have_value("Say exactly: One.\nAnd more")
    ask(page, "Say exactly: Two.")
    expect(notice).to_contain_text("Say exactly: Two.")
    page.type("#prompt", "And then")
    asked[-1].continue_()
    assert answered(page) == ["Two."]
    expect(notice).to_have_count(0)
    expect(page.locator("#prompt")).to_have_value("And then")


def test_what_is_said_while_the_server_is_away_takes_along_what_waited_before_it(
    context: BrowserContext, start_server: Start
) -> None:
    first, page = open_own(context, start_server)
    ask(page, "Tell me about the sea.")
    grown(page)
    for text in ("Say exactly: One.", "Say exactly: Two."):
        ask(page, text)
    expect(page.locator(".queue li")).to_have_count(2)
    first.stop(signal.SIGKILL)
    expect(page.locator(".ending")).to_contain_text("Cut off")
    ask(page, "Say exactly: Three.")
    with again(first, start_server, context):
        expect(page.locator(".turn.answer .prose").last).to_have_text("Three.", timeout=30_000)
        expect(page.locator(".turn.user .said")).to_have_text(
            ["Tell me about the sea.", "Say exactly: One.", "Say exactly: Two.", "Say exactly: Three."]
        )


def test_a_message_on_its_way_is_no_draft_and_what_is_typed_meanwhile_is(
    context: BrowserContext, story_server: Server
) -> None:
    page = context.new_page()
    held: list[Route] = []
    page.route("**/state/talk.js", lambda route: held.append(route))
    page.goto(f"http://127.0.0.1:{story_server.port}/ui/#/chat")
    ask(page, "Say exactly: One.")
    page.evaluate("location.hash = '#/compare'")
    expect(page.locator(".compare")).to_be_visible()
    page.evaluate("location.hash = '#/chat'")
    expect(page.locator("#suggestions")).to_be_visible()
    page.locator("#prompt").press_sequentially("Next")
    for route in held:
        route.continue_()
    assert answered(page) == ["One."]
    expect(page.locator("#prompt")).to_have_value("Next")
    wait_until(
        page,
        """async () => { const { open } = await import("/ui/state/chats.js");
        const store = await import("/ui/store/database.js");
        return (await store.get("drafts", open.value.id))?.text === "Next"; }""",
    )
    page.reload()
    expect(page.locator("#prompt")).to_have_value("Next")


def test_what_waits_in_a_chat_that_is_not_opened_after_a_reload_is_sent_or_shown(
    context: BrowserContext, start_server: Start
) -> None:
    first, page = open_own(context, start_server)
    page.wait_for_function("() => performance.getEntriesByName('whole').length")
    first.stop(signal.SIGKILL)
    # What is sent before the page knows waits in its chat, and is no case of this.
    expect(page.locator(".banner")).to_contain_text("No server at")
    for text in ("Say exactly: Here I am.", "Say exactly: Later."):
        page.click("#new-chat")
        ask(page, text)
        expect(page.locator(".queue")).to_contain_text(text)
    # The second is an old one by now: it goes at a word of the person.
    page.evaluate(
        """async () => { const own = document.scripts[1].src;
        const { waiting } = await import(`${own}/../state/waiting.js`);
        const { save } = await import(`${own}/../store/turns.js`);
        await save({ ...waiting.value[1], created: Date.now() - 90_000 }); }"""
    )
    page.close()
    with again(first, start_server, context):
        page = open_page(context, first.port)
        expect(page.locator(".list li")).to_have_count(2)
        expect(page.locator(".list li [aria-label='a message waits']")).to_have_count(1)
        page.click(".list li a >> text=Here I am")
        assert answered(page) == ["Here I am."]
        page.click(".list li:has([aria-label='a message waits']) a")
        expect(page.locator(".queue li")).to_have_text("Say exactly: Later.")
        page.click("#send-waiting")
        assert answered(page) == ["Later."]
        expect(page.locator(".list li [aria-label='a message waits']")).to_have_count(0)


def test_a_place_in_the_line_for_a_lane_is_announced(context: BrowserContext, start_server: Start) -> None:
    with start_server("--model-decode-lanes", "1", command=paced(20)) as one_lane:
        one_lane.wait_ready()
        page = open_page(context, one_lane.port)
        ask(page, "A story")
        grown(page)
        page.click("#new-chat")
        ask(page, "Say exactly: Two.")
        expect(page.locator(".reader[aria-live=polite]")).to_have_text("Queued, place 1")
        expect(page.locator(".waiting")).to_contain_text("place 1")
        context.close()
