"""Two tabs of one browser on one chat: the one that streams writes, the other follows; looking on cuts nothing."""

import re
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.e2e.browser import BUSY, comes_to
from tests.e2e.playground import CHROMIUM, LIMIT_MS, answered, ask, grown, open_page
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")

SAID = "async () => (await import('/ui/state/tree.js')).path.value.at(-1).record.text"
# How many requests of its own the page has under way.
WRITERS = """async () => {
  const { Run } = await import("/ui/state/run.js");
  return [...(await import("/ui/state/running.js")).running.value.values()].filter((run) => run instanceof Run).length;
}"""


def beside(page: Page) -> Page:
    """A second tab at the same chat."""
    return open_page(page.context, int(page.url.split(":")[2].split("/")[0]), page.url.partition("/ui/")[2])


def test_a_second_tab_follows_the_answer_and_cuts_nothing(context: BrowserContext, story_server: Server) -> None:
    first = open_page(context, story_server.port)
    ask(first, "A story, with a limit")
    grown(first)
    second = beside(first)
    before = grown(second)
    expect(second.locator(".turn.answer")).to_have_class("turn answer running")
    grown(second, len(before) + 100)
    expect(second.locator("#stop")).to_be_visible()
    second.click("#stop")
    expect(first.locator(".ending")).to_contain_text("Stopped by you")
    expect(second.locator(".ending")).to_contain_text("Stopped by you")
    comes_to(lambda: answered(second), answered(first))
    second.reload()
    expect(second.locator(".ending")).to_contain_text("Stopped by you")
    comes_to(lambda: answered(second), answered(first))


def test_an_answer_whose_tab_was_too_busy_to_say_so_is_not_cut(context: BrowserContext, story_server: Server) -> None:
    context.add_init_script(
        """const { postMessage } = BroadcastChannel.prototype;
        BroadcastChannel.prototype.postMessage = function (message) {
          if (!window.isBusy || message.kind === "who") postMessage.call(this, message);
        };"""
    )
    first = open_page(context, story_server.port)
    ask(first, "A story")
    grown(first)
    first.evaluate("window.isBusy = true")
    second = beside(first)
    expect(second.locator(".ending")).to_contain_text("Cut off")
    first.evaluate("window.isBusy = false")
    expect(second.locator(".turn.answer")).to_have_class("turn answer running")
    expect(second.locator(".ending")).to_have_count(0)
    grown(second, len(grown(second)) + 100)
    second.click("#stop")
    for page in (first, second):
        expect(page.locator(".ending")).to_contain_text("Stopped by you")
    comes_to(lambda: answered(second), answered(first))


def test_of_two_tabs_that_have_one_answer_one_gives_it_up_and_nothing_is_lost(
    context: BrowserContext, story_server: Server
) -> None:
    first = open_page(context, story_server.port)
    ask(first, "A story")
    grown(first)
    second = beside(first)
    grown(second)
    expect(second.locator("#stop")).to_be_visible()
    # Its main thread is busy for so long that the other tab takes the answer for cut, and asks for it anew.
    asked: list[Route] = []
    first.route("**/busy", lambda route: asked.append(route))
    first.evaluate(BUSY)
    second.get_by_role("button", name="Resume exactly").first.click()
    expect(second.locator("#stop")).to_be_visible()
    asked[0].fulfill(body="")
    comes_to(lambda: first.evaluate(WRITERS), 0)
    expect(first.locator("#stop")).to_be_visible()
    assert second.evaluate(WRITERS) == 1
    story_server.wait_metric("ignis_scheduler_requests", 1, state="running")
    came = [len(first.evaluate(SAID)), len(second.evaluate(SAID))]
    first.click("#stop")
    for page in (first, second):
        expect(page.locator(".ending")).to_contain_text("Stopped by you")
    one = first.evaluate(SAID)
    assert len(one) >= max(came)
    comes_to(lambda: second.evaluate(SAID), one)
    story_server.wait_metric("ignis_scheduler_requests", 0, state="running")
    for page in (first, second):
        page.reload()
        expect(page.locator(".ending")).to_contain_text("Stopped by you")
        assert page.evaluate(SAID) == one


def test_a_tab_that_looks_on_sees_what_the_other_one_asks(context: BrowserContext, story_server: Server) -> None:
    first = open_page(context, story_server.port)
    ask(first, "Say exactly: One.")
    answered(first)
    second = beside(first)
    comes_to(lambda: answered(second), ["One."])
    ask(first, "Say exactly: Two.")
    comes_to(lambda: answered(second, 2), ["One.", "Two."])
    ask(second, "Say exactly: Three.")
    comes_to(lambda: answered(first, 3), ["One.", "Two.", "Three."])
    expect(first.locator(".list li")).to_have_count(1)


def test_a_turn_that_is_deleted_is_gone_in_the_other_tab_too(context: BrowserContext, story_server: Server) -> None:
    first = open_page(context, story_server.port)
    for number, word in enumerate(("One", "Two"), 1):
        ask(first, f"Say exactly: {word}.")
        answered(first, number)
    second = beside(first)
    comes_to(lambda: answered(second, 2), ["One.", "Two."])
    first.click(".turn.user .drop >> nth=1")
    comes_to(lambda: answered(second), ["One."])
    ask(second, "Say exactly: Three.")
    comes_to(lambda: answered(first, 2), ["One.", "Three."])
    first.click("#undo")
    expect(second.locator(".branches").first).to_contain_text("/ 2")
    second.reload()
    assert len(answered(second, 2)) == 2
    expect(second.locator(".branches").first).to_contain_text("/ 2")


def test_what_each_tab_sets_of_the_look_holds_in_both(context: BrowserContext, story_server: Server) -> None:
    first = open_page(context, story_server.port)
    second = beside(first)
    set_look = "async (changes) => (await import('/ui/state/session.js')).setLook(changes)"
    first.evaluate(set_look, {"theme": "dark"})
    expect(second.locator("html")).to_have_attribute("data-theme", "dark")
    second.evaluate(set_look, {"density": "compact", "isListOpen": False})
    expect(first.locator("html")).to_have_attribute("data-density", "compact")
    # What is open is each tab's own.
    expect(first.locator(".list")).to_be_visible()
    expect(second.locator(".list")).to_have_count(0)
    first.evaluate(set_look, {"textSize": 110})
    expect(second.locator("html")).to_have_attribute("style", re.compile("110%"))
    for page in (first, second):
        page.reload()
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        expect(page.locator("html")).to_have_attribute("data-density", "compact")
        expect(page.locator("html")).to_have_attribute("style", re.compile("110%"))


def test_what_follows_a_turn_that_is_not_there_can_be_read(context: BrowserContext, story_server: Server) -> None:
    page = open_page(context, story_server.port)
    for number, word in enumerate(("One", "Two"), 1):
        ask(page, f"Say exactly: {word}.")
        answered(page, number)
    page.evaluate(
        """async () => { const { path } = await import("/ui/state/tree.js");
        await (await import("/ui/store/turns.js")).remove(path.value.slice(0, 2).map(({ id }) => id)); }"""
    )
    page.reload()
    assert answered(page) == ["Two."]
    page.evaluate(
        """async () => { const { path } = await import("/ui/state/tree.js");
        await (await import("/ui/store/turns.js")).remove([path.value[1].id]); }"""
    )
    page.reload()
    expect(page.locator(".turn.user .said")).to_have_text("Say exactly: Two.")


def test_a_chat_that_is_deleted_is_gone_in_the_other_tab_and_comes_back_whole(
    context: BrowserContext, story_server: Server
) -> None:
    first = open_page(context, story_server.port)
    ask(first, "Say exactly: One.")
    answered(first)
    address = first.url
    second = beside(first)
    answered(second)
    ask(second, "A story")
    grown(second)
    first.fill("#prompt", "Begun")
    first.set_input_files(".attach input", {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"Three"})
    expect(first.locator(".composer .attached li")).to_contain_text("notes.txt")
    first.hover(".list li")
    first.click(".list li .drop")
    for page in (first, second):
        expect(page.locator("#suggestions")).to_be_visible()
        expect(page).to_have_url(re.compile("#/chat/new$"))
        expect(page.locator(".list li")).to_have_count(0)
    first.click("#undo")
    expect(first.locator(".list li a")).to_be_focused()
    expect(second.locator(".list li")).to_have_count(1)
    first.keyboard.press("Enter")
    expect(first).to_have_url(address)
    expect(first.locator("#prompt")).to_have_value("Begun")
    expect(first.locator(".composer .attached li")).to_contain_text("notes.txt")
    expect(first.locator(".turn.answer")).to_have_count(2)
    second.reload()
    expect(second.locator("#suggestions")).to_be_visible()


def test_an_answer_whose_tab_was_closed_is_cut_with_all_that_came(
    context: BrowserContext, story_server: Server
) -> None:
    first = open_page(context, story_server.port)
    ask(first, "A story")
    grown(first)
    second = beside(first)
    before = grown(second)
    first.close()
    expect(second.locator(".ending")).to_contain_text("Cut off", timeout=LIMIT_MS)
    (kept,) = answered(second)
    assert kept.startswith(before)
    second.reload()
    expect(second.locator(".ending")).to_contain_text("Cut off")
    comes_to(lambda: answered(second), [kept])


def test_two_tabs_that_find_a_cut_answer_lose_none_of_it(context: BrowserContext, story_server: Server) -> None:
    first = open_page(context, story_server.port)
    ask(first, "A story")
    grown(first, 200)
    address: Any = first.url.partition("/ui/")[2]
    first.close()
    both = [open_page(context, story_server.port, address) for _ in range(2)]
    for page in both:
        expect(page.locator(".ending")).to_contain_text("Cut off")
    # What a tab behind others has not laid out has no inner text.
    said = "async () => (await import('/ui/state/tree.js')).path.value.at(-1).record.text"
    came, other = (page.evaluate(said) for page in both)
    assert came == other
    assert len(came) > 150
    for page in both:
        drawn = page.locator(".turn.answer .prose")
        comes_to(lambda drawn=drawn: "".join((drawn.text_content() or "").split()), "".join(came.split()))
