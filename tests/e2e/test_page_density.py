"""The page is as dense as one wants it, from its first paint on, and a finger keeps its room."""

from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.e2e.axe import findings
from tests.e2e.playground import CHROMIUM, answered, ask, listening, open_page
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")

ROW_PX = "document.querySelector('.list li a').getBoundingClientRect().height"
SMALL = """() => [...document.querySelectorAll("button, a, .segments label")]
  .filter((each) => each.checkVisibility() && each.closest(".bar, .list"))
  .map((each) => each.getBoundingClientRect()).filter(({ height }) => height < 24).length"""


def compact(page: Page) -> None:
    expect(page.locator("[aria-live=polite]")).to_have_count(1)
    page.locator("#prompt").blur()
    page.keyboard.press("?")
    page.get_by_role("radio", name="Compact").check(force=True)
    expect(page.locator("html")).to_have_attribute("data-density", "compact")
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)


def test_a_compact_page_is_so_before_its_first_paint(context: BrowserContext, story_server: Server, axe: str) -> None:
    page = open_page(context, story_server.port)
    ask(page, "Say exactly: One.")
    answered(page)
    expect(page.locator(".list li")).to_have_count(1)
    before: Any = page.evaluate(ROW_PX)
    compact(page)
    page.wait_for_function(f"() => {ROW_PX} < {before - 4}")
    assert page.evaluate(SMALL) == 0
    assert findings(page, axe) == []
    # What runs before the first paint knows it, without any module.
    page.route("**/main.js", lambda route: route.abort())
    page.reload(wait_until="commit")
    expect(page.locator("html")).to_have_attribute("data-density", "compact")
    page.unroute("**/main.js")
    page.reload()
    expect(page.locator(".list li")).to_have_count(1)
    listening(page)
    page.keyboard.press("Control+K")
    expect(page.locator("#palette")).to_be_focused()
    page.fill("#palette", "density comfortable")
    page.keyboard.press("Enter")
    page.wait_for_function(f"() => {ROW_PX} === {before}")


def test_a_finger_keeps_its_room_on_a_compact_page(browser: Browser, story_server: Server) -> None:
    touch = browser.new_context(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    page = open_page(touch, story_server.port)
    compact(page)
    heights = page.locator(".bar > .icon-button").evaluate_all(
        "(all) => all.map((each) => each.getBoundingClientRect().height)"
    )
    assert min(heights) >= 44
    touch.close()
