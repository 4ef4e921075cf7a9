"""What is done with turns: same again, continue, edit, delete and undo, by buttons and by keys alone."""

import re

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.e2e.browser import comes_to, wait_until
from tests.e2e.playground import CHROMIUM, NO_SOCKET, answered, ask, cap, grown, open_page
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")


@pytest.fixture
def page(context: BrowserContext, story_server: Server) -> Page:
    return open_page(context, story_server.port)


def focused(page: Page) -> str:
    """The text of the turn that has the focus."""
    return str(
        page.evaluate("() => document.activeElement.closest('.turn')?.querySelector('.said, .prose')?.innerText")
    )


def test_same_again_says_identical_and_otherwise_from_which_word(page: Page) -> None:
    cap(page, 30)
    ask(page, "A story")
    answered(page)
    page.click(".turn.answer .same")
    expect(page.locator(".same-as")).to_have_text("Identical")
    # Another server may say something else: the kept answer is given another word.
    page.evaluate(
        """async () => { const { turns } = await import("/ui/state/tree.js");
        const first = [...turns.value.values()].find((turn) => turn.record.role === "assistant");
        first.record.text = first.record.text.replace(/^The \\w+ \\w+/, "The ship sinks"); }"""
    )
    page.click(".turn.answer .same")
    expect(page.locator(".branches")).to_contain_text("3 / 3")
    expect(page.locator(".same-as")).to_have_text("Identical")
    page.click("[aria-label='Earlier version']")
    expect(page.locator(".same-as")).to_contain_text("Differs from word 2")
    page.click(".same-as button")
    page.wait_for_function("() => getSelection().toString()")
    assert page.evaluate("() => getSelection().toString()") == answered(page)[0].split()[1]


def test_another_answer_is_by_another_seed_than_the_one_that_is_set(page: Page) -> None:
    page.fill("#set-seed", "5")
    page.press("#set-seed", "Tab")
    cap(page, 30)
    ask(page, "A story")
    (first,) = answered(page)
    page.click(".turn.answer .again")
    expect(page.locator(".branches")).to_contain_text("2 / 2")
    (other,) = answered(page)
    assert other != first
    expect(page.locator(".readout")).not_to_contain_text("seed 5")


def test_what_a_broken_form_keeps_from_being_sent_is_said_where_it_was_asked_for(page: Page) -> None:
    errors: list[object] = []
    page.on("pageerror", lambda error: errors.append(error))
    page.get_by_text("Schema", exact=True).click()
    page.fill("#schema", "{")
    page.keyboard.press("Control+.")
    said = page.locator(".composer [role=alert]")
    page.click("#suggestions button >> nth=0")
    expect(said).to_contain_text("The schema is no JSON")
    page.keyboard.press("Control+.")
    page.fill("#schema", "{}")
    expect(said).to_have_count(0)
    ask(page, "Say exactly: 1")
    answered(page)
    expect(page.locator(".turn.answer .prose code")).to_have_text("1")
    page.fill("#schema", "{")
    page.keyboard.press("Control+.")
    page.click(".turn.answer .again")
    expect(said).to_contain_text("The schema is no JSON")
    page.click(".turn.user .edit")
    page.fill(".turn.user textarea", "Say exactly: 2")
    page.press(".turn.user textarea", "Control+Enter")
    expect(page.locator(".turn.user [role=alert]")).to_contain_text("The schema is no JSON")
    expect(page.locator(".turn.user textarea")).to_have_value("Say exactly: 2")
    assert errors == []


def test_an_answer_that_reached_its_limit_is_continued(page: Page) -> None:
    cap(page, 12)
    ask(page, "A story")
    (first,) = answered(page)
    page.click(".go-on")
    expect(page.locator(".ending")).to_contain_text("Reached the limit of 24 tokens")
    (longer,) = answered(page)
    assert longer.startswith(first.rstrip()) and len(longer) > len(first)


def test_the_menu_of_an_answer_goes_on_with_it_where_it_can(page: Page) -> None:
    more = page.locator(".turn.answer footer [aria-haspopup=menu]")
    ask(page, "Say exactly: One.")
    answered(page)
    more.click()
    expect(page.get_by_role("menuitem", name="Edit")).to_be_visible()
    expect(page.get_by_role("menuitem", name="Continue")).to_have_count(0)
    page.keyboard.press("Escape")
    page.click("#new-chat")
    cap(page, 12)
    ask(page, "A story")
    expect(page.locator(".ending")).to_contain_text("Reached the limit of 12 tokens")
    more.click()
    page.get_by_role("menuitem", name="Continue").click()
    expect(page.locator(".ending")).to_contain_text("Reached the limit of 24 tokens")


def test_the_menu_of_an_answer_shows_its_logprobs_or_where_they_are_asked_for(page: Page) -> None:
    cap(page, 8)
    ask(page, "A story")
    answered(page)
    page.click(".turn.answer footer [aria-haspopup=menu]")
    page.get_by_role("menuitem", name="Show logprobs").click()
    expect(page.locator("#logprobs")).to_be_focused()
    expect(page.locator("#logprobs")).not_to_be_checked()
    page.keyboard.press("Space")
    expect(page.locator("#logprobs")).to_be_checked()
    page.click(".turn.answer .again")
    expect(page.locator(".branches")).to_contain_text("2 / 2")
    tokens = page.locator(".tokens .drawn > span")
    expect(tokens).to_have_count(8)
    for count in (0, 8):
        page.click(".turn.answer footer [aria-haspopup=menu]")
        page.get_by_role("menuitemcheckbox", name="Show logprobs").click()
        expect(tokens).to_have_count(count)


def test_where_more_is_refused_the_answer_stays_whole_and_says_why(
    context: BrowserContext, story_server: Server
) -> None:
    context.add_init_script(NO_SOCKET)
    page = open_page(context, story_server.port)
    cap(page, 12)
    ask(page, "A story")
    (first,) = answered(page)
    refusal = {"status": 400, "json": {"error": {"message": "No room for it", "code": "context"}}}
    page.route("**/v1/chat/completions", lambda route: route.fulfill(**refusal))
    page.click(".go-on")
    expect(page.locator(".ending")).to_contain_text("No room for it")
    expect(page.locator(".ending")).to_contain_text("Reached the limit of 12 tokens")
    expect(page.locator(".readout")).to_contain_text("12 tokens")
    assert answered(page) == [first]
    page.reload()
    page.unroute_all()
    page.click(".go-on")
    expect(page.locator(".ending")).to_contain_text("Reached the limit of 24 tokens")


def test_an_answer_that_fills_the_context_offers_no_more(page: Page) -> None:
    cap(page, 12)
    ask(page, "A story")
    answered(page)
    page.evaluate(
        """async () => { const { path } = await import("/ui/state/tree.js");
        const turn = path.value.at(-1).record;
        const usage = { ...turn.usage, prompt_tokens: 8192 - turn.usage.completion_tokens };
        await (await import("/ui/store/turns.js")).save({ ...turn, usage }); }"""
    )
    page.reload()
    expect(page.locator(".ending")).to_contain_text("The context of 8192 tokens is full after 12 tokens")
    expect(page.locator(".go-on")).to_have_count(0)


def test_an_edited_answer_is_a_sibling_and_history(page: Page) -> None:
    ask(page, "Say exactly: It is green.")
    answered(page)
    page.click(".turn.answer [aria-haspopup=menu]")
    page.get_by_role("menuitem", name="Edit").click()
    page.fill(".turn.answer textarea", "It is blue.")
    page.press(".turn.answer textarea", "Control+Enter")
    expect(page.locator(".turn.answer .tag")).to_have_text("edited")
    assert answered(page) == ["It is blue."]
    ask(page, "Say exactly: Yes.")
    answered(page, 2)
    page.click("#tab-raw")
    page.click("#raw-text")
    expect(page.locator(".panel pre").first).to_contain_text("It is blue.")
    expect(page.locator(".panel pre").first).not_to_contain_text('content": "It is green.')
    page.reload()
    assert answered(page, 2) == ["It is blue.", "Yes."]


def test_a_deleted_turn_and_a_deleted_chat_come_back(page: Page) -> None:
    for word in ("One", "Two"):
        ask(page, f"Say exactly: {word}.")
        expect(page.locator(".turn.answer .prose").last).to_have_text(f"{word}.")
    answered(page, 2)
    page.hover(".turn.user >> nth=1")
    page.click(".turn.user .drop >> nth=1")
    assert answered(page) == ["One."]
    page.click("#undo")
    assert answered(page, 2) == ["One.", "Two."]
    page.reload()
    assert answered(page, 2) == ["One.", "Two."]
    page.hover(".list li")
    page.click(".list li .drop")
    expect(page.locator(".list li")).to_have_count(0)
    expect(page.locator(".turn")).to_have_count(0)
    page.click("#undo")
    page.click(".list li a")
    assert answered(page, 2) == ["One.", "Two."]


def test_a_chat_deleted_while_it_answers_leaves_nothing(page: Page) -> None:
    ask(page, "A story")
    grown(page)
    page.hover(".list li")
    page.click(".list li .drop")
    expect(page.locator(".list li")).to_have_count(0)
    expect(page.locator("#suggestions")).to_be_visible()
    is_empty = """async () => { const { open } = await import("/ui/store/database.js");
        const count = (store, database) => new Promise((resolve) => {
          const request = database.transaction(store).objectStore(store).count();
          request.onsuccess = () => resolve(request.result); });
        const database = await open();
        return await count("turns", database) + await count("pieces", database) === 0; }"""
    wait_until(page, is_empty)


def test_turns_are_walked_and_worked_by_keys_alone(page: Page) -> None:
    ask(page, "Say exactly: One.")
    answered(page)
    ask(page, "A story")
    grown(page)
    page.keyboard.press("Escape")
    expect(page.locator(".ending")).to_contain_text("Stopped by you")
    page.keyboard.press("Alt+ArrowUp")
    page.keyboard.press("Alt+ArrowUp")
    expect(page.locator(".turn.user[data-keyed]").last).to_be_focused()
    assert focused(page) == "A story"
    page.keyboard.press("Alt+ArrowUp")
    comes_to(lambda: focused(page), "One.")
    for key, place in (("s", "2 / 2"), ("Alt+ArrowLeft", "1 / 2"), ("Alt+ArrowRight", "2 / 2")):
        page.keyboard.press(key)
        expect(page.locator(".branches")).to_contain_text(place)
        expect(page.locator(".turn.answer[data-keyed]:not(.running)")).to_be_focused()
    page.keyboard.press("d")
    expect(page.locator(".branches")).to_have_count(0)
    expect(page.locator(".toast")).to_contain_text("Answer deleted")
    page.keyboard.press("/")
    expect(page.locator("#prompt")).to_be_focused()
    expect(page.locator("#prompt")).to_have_value("")
    page.keyboard.press("ArrowUp")
    expect(page.locator(".turn.user textarea").last).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".turn.user[data-keyed]").last).to_be_focused()
    assert focused(page) == "A story"
    page.keyboard.press("e")
    page.keyboard.press("Control+A")
    page.keyboard.type("Say exactly: Two.")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".turn.answer .prose").last).to_have_text(re.compile("Two"))
    page.keyboard.press("Control+Shift+O")
    expect(page.locator("#suggestions")).to_be_visible()
    expect(page.locator("#prompt")).to_be_focused()
    page.keyboard.press("Control+.")
    expect(page.locator(".panel")).to_have_count(0)


def test_a_turn_that_has_the_focus_is_answered_anew_copied_and_branched_by_its_letters(page: Page) -> None:
    ask(page, "Say exactly: One.")
    answered(page)
    answer = page.locator(".turn.answer[data-keyed]:not(.running)")
    page.keyboard.press("Alt+ArrowUp")
    expect(answer).to_be_focused()
    page.keyboard.press("r")
    expect(page.locator(".branches")).to_contain_text("2 / 2")
    expect(answer).to_be_focused()
    expect(answer.get_by_role("heading", name="Answer 2 of 2")).to_be_attached()
    page.keyboard.press("c")
    expect(page.locator("[aria-live=polite]")).to_have_text(re.compile("Copied|No access"))
    page.keyboard.press("Alt+ArrowUp")
    expect(page.locator(".turn.user[data-keyed]")).to_be_focused()
    page.keyboard.press("Alt+ArrowDown")
    expect(answer).to_be_focused()
    page.keyboard.press("b")
    expect(page.locator(".list li")).to_have_count(2)
    # It has the answer that was branched from, and no other.
    expect(page.locator(".branches")).to_have_count(0)
    assert answered(page) == ["One."]


def test_typing_where_a_click_put_the_focus_deletes_nothing(page: Page) -> None:
    ask(page, "Say exactly: One.")
    answered(page)
    page.click(".turn.answer .prose")
    page.keyboard.press("d")
    page.keyboard.press("Alt+ArrowUp")
    assert answered(page) == ["One."]


def test_what_is_written_anew_outlives_another_edit_and_a_reload(page: Page) -> None:
    for word in ("One", "Two"):
        ask(page, f"Say exactly: {word}.")
        expect(page.locator(".turn.answer .prose").last).to_have_text(f"{word}.")
    answered(page, 2)
    area = page.locator(".turn.editing textarea")
    page.click(".turn.user .edit >> nth=0")
    area.fill("Say exactly: Uno.")
    page.click(".turn.user .edit >> nth=0")
    expect(area).to_have_count(1)
    expect(area).to_have_value("Say exactly: Two.")
    page.click(".turn.user .edit >> nth=0")
    expect(area).to_have_value("Say exactly: Uno.")
    page.reload()
    page.click(".turn.user .edit >> nth=0")
    expect(area).to_have_value("Say exactly: Uno.")
    # Given up, it is gone.
    area.press("Escape")
    expect(area).to_have_count(0)
    page.click(".turn.user .edit >> nth=0")
    expect(area).to_have_value("Say exactly: One.")


def test_what_was_begun_of_a_turn_goes_with_it_and_comes_back_with_it(page: Page) -> None:
    drafts = """async () => { const { open } = await import("/ui/store/database.js");
        const all = (await open()).transaction("drafts").objectStore("drafts").getAll();
        return new Promise((resolve) => (all.onsuccess = () => resolve(all.result.map(({ text }) => text)))); }"""
    ask(page, "Say exactly: One.")
    answered(page)
    wait_until(page, f"async () => (await ({drafts})()).length === 0")
    page.click(".turn.user .edit")
    page.fill(".turn.editing textarea", "Say exactly: Uno.")
    wait_until(page, f"async () => (await ({drafts})()).join() === 'Say exactly: Uno.'")
    page.evaluate(
        """async () => { const { removeTurn } = await import("/ui/state/removing.js");
        const { path } = await import("/ui/state/tree.js"); window.back = await removeTurn(path.value[0]); }"""
    )
    assert page.evaluate(drafts) == []
    page.evaluate("window.back()")
    page.click(".turn.user .edit")
    expect(page.locator(".turn.editing textarea")).to_have_value("Say exactly: Uno.")
    page.hover(".list li")
    page.click(".list li .drop")
    wait_until(page, f"async () => (await ({drafts})()).length === 0")
    page.click("#undo")
    wait_until(page, f"async () => (await ({drafts})()).join() === 'Say exactly: Uno.'")


def test_a_message_goes_into_the_chat_in_which_it_was_written(page: Page) -> None:
    ask(page, "Say exactly: One.")
    answered(page)
    asked: list[Route] = []
    page.route("**/state/talk.js", lambda route: asked.append(route))
    page.reload()
    page.click("#new-chat")
    expect(page.locator("#suggestions")).to_be_visible()
    ask(page, "Say exactly: Two.")
    page.keyboard.type("And then")
    page.click(".list li a")
    # Its turns are not shown yet: what draws them waits for the same.
    expect(page.locator(".bar .title")).to_have_value("Say exactly: One.")
    page.keyboard.type("Of the first")
    for route in asked:
        route.continue_()
    expect(page.locator(".list li")).to_have_count(2)
    assert answered(page) == ["One."]
    expect(page.locator("#prompt")).to_have_value("Of the first")
    page.click(".list li a >> nth=0")
    expect(page.locator(".turn.user .said")).to_have_text("Say exactly: Two.")
    assert answered(page) == ["Two."]
    expect(page.locator("#prompt")).to_have_value("And then")
