"""Small things that a newcomer stumbles over: a letter that goes astray, a wall of red."""

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.e2e.playground import CHROMIUM, answered, ask, open_page
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")


@pytest.fixture
def page(context: BrowserContext, story_server: Server) -> Page:
    return open_page(context, story_server.port)


def test_enter_before_the_palette_is_there_takes_what_was_typed(context: BrowserContext, story_server: Server) -> None:
    held: list[Route] = []
    context.route("**/shell/palette.js", lambda route: held.append(route))
    page = open_page(context, story_server.port)
    expect(page.locator(".reader[aria-live]")).to_be_attached()
    page.keyboard.press("Control+k")
    page.keyboard.type("theme: dark")
    page.keyboard.press("Enter")
    for route in held:
        route.continue_()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.locator("#palette")).to_have_count(0)


def test_an_emptied_title_is_the_chats_own_again(page: Page) -> None:
    ask(page, "Say exactly: One.")
    answered(page)
    title = page.get_by_label("Title of this chat")
    title.fill("")
    title.press("Tab")
    expect(title).to_have_value("Say exactly: One.")


def test_a_chat_is_named_by_the_first_line_of_its_first_message_cut_at_a_word(page: Page) -> None:
    ask(page, "Say exactly: what the keeper of the lighthouse wrote into a letter.\nAnd more.")
    answered(page)
    name = "Say exactly: what the keeper of the lighthouse wrote into a…"
    expect(page.locator(".list li.open .name")).to_have_text(name)
    ask(page, "Say exactly: Two.")
    answered(page, 2)
    expect(page.get_by_label("Title of this chat")).to_have_value(name)


def test_what_is_typed_before_the_palette_is_there_goes_into_it(context: BrowserContext, story_server: Server) -> None:
    held: list[Route] = []
    context.route("**/shell/palette.js", lambda route: held.append(route))
    page = open_page(context, story_server.port)
    expect(page.locator(".reader[aria-live]")).to_be_attached()
    page.fill("#prompt", "Mine")
    page.keyboard.press("Control+k")
    page.keyboard.type("theme: dark")
    for route in held:
        route.continue_()
    expect(page.locator("#palette")).to_have_value("theme: dark")
    expect(page.locator("#prompt")).to_have_value("Mine")
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.locator("#palette")).to_have_count(0)
    # Once it is closed, letters are the composer's again.
    page.keyboard.press("Control+k")
    page.keyboard.press("Control+k")
    page.focus("#prompt")
    page.keyboard.type("!")
    expect(page.locator("#prompt")).to_have_value("Mine!")
    page.keyboard.press("Control+k")
    page.fill("#palette", "Keys")
    page.keyboard.press("Enter")
    expect(page.locator("dialog.keys")).to_contain_text("Compare: run all lanes")


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844), (740, 360)])
def test_however_many_files_the_message_under_them_stays_in_the_window(page: Page, width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})
    note = {"name": "A long name of a note.txt", "mimeType": "text/plain", "buffer": b"Sea"}
    page.get_by_label("Attach files").set_input_files([{**note, "name": f"{at} {note['name']}"} for at in range(60)])
    files = page.locator(".composer .attached li")
    expect(files).to_have_count(60)
    for place in ("#prompt", "#send"):
        expect(page.locator(place)).to_be_in_viewport(ratio=1)
    # The last of them can be reached.
    files.last.get_by_role("button").click()
    expect(files).to_have_count(59)
    expect(page.locator("#send")).to_be_in_viewport(ratio=1)


def test_a_long_reason_is_short_until_it_is_asked_for(page: Page) -> None:
    empty = {"object": "list", "data": [], "status": "unloaded"}
    page.route("**/v1/models", lambda route: route.fulfill(json=empty))
    page.reload()
    expect(page.locator("#download")).to_be_visible()
    page.evaluate(
        """async () => { const { refusal } = await import("/ui/state/downloads.js");
        refusal.value = "the index has no wheel of it, and the second one cannot be reached; ".repeat(9); }"""
    )
    box = page.locator(".first-model .ending")
    expect(box).to_contain_text("did not come.")
    assert len(box.inner_text().splitlines()) < 4
    box.locator("summary").click()
    expect(box.locator("details")).to_contain_text("cannot be reached")


def test_what_is_typed_runs_as_its_letters_do(page: Page) -> None:
    for view, count in (("chat", 2), ("compare", 1), ("agents", 2)):
        page.evaluate("(view) => { location.hash = `#/${view}`; }", view)
        texts = page.locator("#view textarea:not(.code)")
        expect(texts).to_have_count(count)
        kinds = texts.evaluate_all("(all) => all.map((each) => getComputedStyle(each).unicodeBidi)")
        assert set(kinds) == {"plaintext"}, view
