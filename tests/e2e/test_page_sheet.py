"""On a phone the panel is a sheet with three stops, drawn by a finger and moved by keys."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.axe import findings
from tests.e2e.playground import CHROMIUM, open_page
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")

PHONE = {"width": 360, "height": 740}
SHARE = "() => document.querySelector('.panel').offsetHeight / document.querySelector('.chat').clientHeight"


@pytest.fixture(params=["reduce", "no-preference"])
def page(browser: Browser, story_server: Server, request: pytest.FixtureRequest) -> Iterator[Page]:
    context = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True, reduced_motion=request.param)
    opened = open_page(context, story_server.port)
    opened.tap("#settings-toggle")
    expect(opened.locator(".grip")).to_be_visible()
    yield opened
    context.close()


def at(page: Page, words: str, least: float, most: float) -> None:
    expect(page.locator(".grip")).to_have_attribute("aria-valuetext", words)
    page.wait_for_function(f"() => {{ const share = ({SHARE})(); return share > {least} && share < {most}; }}")


def draw(page: Page, by: int) -> None:
    """Draws the sheet that far down, and holds it there for a moment before it is let go."""
    # What still glides is elsewhere by the time it is taken hold of.
    page.wait_for_function("() => !document.querySelector('.panel').getAnimations().length")
    box = page.locator(".grip").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + by, steps=8)
    page.evaluate("() => new Promise((next) => setTimeout(next, 200))")
    page.mouse.up()


def test_keys_move_the_sheet_from_stop_to_stop(page: Page, axe: str) -> None:
    at(page, "half", 0.6, 0.75)
    page.locator(".grip").focus()
    page.keyboard.press("ArrowUp")
    at(page, "full", 0.9, 1)
    moves = page.evaluate("() => !matchMedia('(prefers-reduced-motion: reduce)').matches")
    page.keyboard.press("Home")
    assert moves or page.evaluate("() => document.querySelector('.panel').getAnimations().length") == 0
    at(page, "low", 0.3, 0.45)
    assert findings(page, axe) == []
    page.keyboard.press("Escape")
    expect(page.locator(".panel")).to_have_count(0)
    # It comes back where it was left.
    page.tap("#settings-toggle")
    at(page, "low", 0.3, 0.45)
    page.keyboard.press("Escape")


def test_a_finger_draws_the_sheet_and_lets_it_go_under_the_lowest_stop(page: Page) -> None:
    at(page, "half", 0.6, 0.75)
    draw(page, -150)
    at(page, "full", 0.9, 1)
    draw(page, 350)
    at(page, "low", 0.3, 0.45)
    draw(page, 0)
    at(page, "half", 0.6, 0.75)
    draw(page, 400)
    expect(page.locator(".panel")).to_have_count(0)


def test_a_sheet_that_is_drawn_past_its_foot_does_not_spring_up(page: Page) -> None:
    box = page.locator(".panel").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + 8
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + box["height"] + 30, steps=8)
    page.wait_for_function(f"() => ({SHARE})() < 0.05")
    page.mouse.up()
    expect(page.locator(".panel")).to_have_count(0)
    expect(page.locator("#settings-toggle")).to_be_focused()


def test_a_wide_page_has_no_sheet(browser: Browser, story_server: Server) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = open_page(context, story_server.port)
    expect(page.locator(".panel .tabs")).to_be_visible()
    expect(page.locator(".grip")).to_be_hidden()
    assert page.evaluate(SHARE) == 1
    context.close()
