"""In every view: what goes with the focus on it, or is switched off under it, leaves it where a person goes on."""

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.e2e.playground import CHROMIUM, LIMIT_MS, answered, ask, cap, open_page
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")


def press(page: Page, selector: str, key: str = "Enter") -> None:
    page.focus(selector)
    page.keyboard.press(key)


def test_in_compare(context: BrowserContext, story_server: Server) -> None:
    page = open_page(context, story_server.port, "#/compare")
    page.fill("#prompt", "A story")
    press(page, "#run-all")
    expect(page.locator("#stop-all")).to_be_visible()
    expect(page.locator("#prompt")).to_be_focused()
    press(page, "#stop-all")
    expect(page.locator("#run-all")).to_be_visible()
    expect(page.locator("#prompt")).to_be_focused()
    page.click("#add-lane")
    expect(page.locator(".lane")).to_have_count(3)
    for letter, left, on in (("B", 2, "B"), ("B", 1, "A")):
        press(page, f"#lane-menu-{letter}")
        expect(page.locator(f"#lane-menu-{letter}-menu button").first).to_be_focused()
        page.keyboard.press("End")
        expect(page.locator(f"#lane-menu-{letter}-menu button").last).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator(".lane")).to_have_count(left)
        expect(page.locator(f"#lane-menu-{on}")).to_be_focused()


def test_in_agents(context: BrowserContext, story_server: Server) -> None:
    page = open_page(context, story_server.port, "#/agents")
    page.fill("#prompt", "Say exactly: One.\nSay exactly: Two.\nA story")
    press(page, "#run")
    expect(page.locator("#prompt")).to_be_focused()
    expect(page.locator("tbody tr")).to_have_count(3)
    press(page, "[aria-label='Stop task 3']")
    expect(page.locator("tbody tr[data-state=STOPPED]")).to_have_count(1, timeout=LIMIT_MS)
    expect(page.locator("tbody tr").nth(2).locator("button.name")).to_be_focused()
    expect(page.locator("tbody tr[data-state=DONE]")).to_have_count(2, timeout=LIMIT_MS)
    for text in ("Say exactly: Two.", "A story"):
        press(page, "[aria-label='Remove task 1']")
        expect(page.locator("tbody tr .words").first).to_have_text(text)
        expect(page.locator("tbody tr button.name").first).to_be_focused()
    press(page, "tbody tr button.name")
    press(page, ".detail [aria-label=Close]")
    expect(page.locator(".detail")).to_have_count(0)
    expect(page.locator("tbody tr button.name")).to_be_focused()
    press(page, "[aria-label='Remove task 1']")
    expect(page.locator("#prompt")).to_be_focused()
    page.click("#new")
    press(page, ".examples button >> nth=0")
    expect(page.locator("#prompt")).to_be_focused()


def test_in_chat_when_the_panel_is_folded(context: BrowserContext, story_server: Server) -> None:
    page = open_page(context, story_server.port)
    for place in ("#tab-settings", "#set-temperature"):
        page.focus(place)
        page.keyboard.press("Control+.")
        expect(page.locator(".panel")).to_have_count(0)
        expect(page.locator("#settings-toggle")).to_be_focused()
        page.keyboard.press("Control+.")
    # What is given up stays so.
    page.focus("#set-temperature")
    page.keyboard.press("Escape")
    page.wait_for_timeout(300)
    assert page.evaluate("document.activeElement === document.body")


def test_in_chat_when_an_answer_goes_on(context: BrowserContext, story_server: Server) -> None:
    page = open_page(context, story_server.port)
    page.set_viewport_size({"width": 1440, "height": 400})
    cap(page, 120)
    ask(page, "A story")
    answered(page)
    top = "document.querySelector('.transcript').scrollTop"
    before = page.evaluate(top)
    assert before > 0
    press(page, ".ending .go-on")
    expect(page.locator(".turn.answer")).to_be_focused()
    # What is read is not left for what has the focus: only the lines of the end are gone from under it.
    assert page.evaluate(top) >= before - 80
