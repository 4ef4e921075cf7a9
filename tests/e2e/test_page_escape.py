"""What Escape ends, and what keys of an input method do not."""

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.e2e.playground import CHROMIUM, ask, grown, open_page
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")

# A key while a word is composed, as browsers tell of it: some during the word, some at its end.
COMPOSED = """([selector, key]) => {
  for (const how of [{ isComposing: true }, { keyCode: 229 }]) {
    const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...how });
    document.querySelector(selector).dispatchEvent(event);
  }
}"""


@pytest.fixture
def page(context: BrowserContext, story_server: Server) -> Page:
    return open_page(context, story_server.port)


def test_keys_that_an_input_method_takes_reach_no_part_of_the_page(page: Page) -> None:
    ask(page, "A story")
    before = grown(page)
    page.fill("#prompt", "ni")
    for key in ("Escape", "Enter"):
        page.evaluate(COMPOSED, ["#prompt", key])
    grown(page, len(before) + 50)
    expect(page.locator(".queue")).to_have_count(0)
    page.press("#prompt", "Enter")
    page.click(".queue .edit")
    page.fill(".queue textarea", "And")
    for key in ("Escape", "Enter"):
        page.evaluate(COMPOSED, [".queue textarea", key])
    expect(page.locator(".queue textarea")).to_have_value("And")
    page.press(".queue textarea", "Escape")
    page.click(".queue .drop")
    page.click("#stop")
    page.click(".turn.user .edit")
    page.fill(".turn.user textarea", "Another story")
    page.evaluate(COMPOSED, [".turn.user textarea", "Escape"])
    expect(page.locator(".turn.user textarea")).to_have_value("Another story")
    page.press(".turn.user textarea", "Escape")
    page.keyboard.press("Control+K")
    expect(page.locator("#palette")).to_be_focused()
    page.evaluate(COMPOSED, ["#palette", "Enter"])
    expect(page.locator("#palette")).to_be_visible()


@pytest.mark.parametrize("view", ["compare", "agents"])
def test_a_word_that_is_given_up_stops_no_lane(page: Page, view: str) -> None:
    page.evaluate("(view) => { location.hash = `#/${view}`; }", view)
    page.fill("main:is(.compare, .tasks) #prompt", "A story")
    page.press("#prompt", "Enter" if view == "compare" else "Control+Enter")
    running = page.locator("[data-state=WRITING]").first
    expect(running).to_be_visible()
    page.evaluate(COMPOSED, ["#prompt", "Escape"])
    expect(page.locator("[data-state=STOPPED]")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.locator("[data-state=STOPPED]").first).to_be_visible()


def test_escape_in_a_field_beside_the_chat_gives_up_what_was_typed_there_alone(page: Page) -> None:
    page.fill("#system", "Be brief.")
    ask(page, "A story")
    before = grown(page)
    title = page.locator(".bar .title")
    title.fill("Another")
    title.press("Enter")
    title.fill("A third")
    title.press("Escape")
    expect(title).to_have_value("Another")
    expect(page.locator(".list li .name")).to_have_text("Another")
    page.locator("#system").press("End")
    page.keyboard.type(" Or not.")
    page.keyboard.press("Escape")
    expect(page.locator("#system")).to_have_value("Be brief.")
    expect(page.locator("#system")).not_to_be_focused()
    page.fill("#set-temperature", "1.5")
    page.keyboard.press("Escape")
    expect(page.locator("#set-temperature")).to_have_value("")
    page.fill("#search-chats", "no such thing")
    page.keyboard.press("Escape")
    expect(page.locator(".list li")).to_have_count(1)
    grown(page, len(before) + 50)
    page.keyboard.press("Escape")
    expect(page.locator(".ending")).to_contain_text("Stopped by you")
    page.reload()
    expect(title).to_have_value("Another")
    expect(page.locator("#system")).to_have_value("Be brief.")
