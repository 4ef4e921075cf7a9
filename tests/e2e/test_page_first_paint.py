"""What is painted first: the shell as the server sends it, which waits for no module and stays where it is."""

from typing import Any

import pytest
from playwright.sync_api import Browser, Route, expect

from tests.e2e.browser import comes_to
from tests.e2e.playground import CHROMIUM, LIMIT_MS
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")

BOXES = """(names) => names.flatMap((name) => {
  const { x, y, width, height } = document.querySelector(name).getBoundingClientRect();
  return [x, y, width, height];
})"""


SHAPES: dict[str, dict[str, Any]] = {
    "wide": {"viewport": {"width": 1440, "height": 900}},
    "narrow": {"viewport": {"width": 360, "height": 740}},
    "tablet": {"viewport": {"width": 820, "height": 1180}, "has_touch": True, "is_mobile": True},
    "phone": {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_shell_is_painted_before_any_module_runs(browser: Browser, story_server: Server, shape: str) -> None:
    page = browser.new_context(**SHAPES[shape]).new_page()
    page.set_default_timeout(LIMIT_MS)
    waiting: list[Route] = []
    page.route("**/main.js", lambda route: waiting.append(route))
    page.goto(f"http://127.0.0.1:{story_server.port}/ui/", wait_until="commit")
    page.wait_for_function("() => performance.getEntriesByName('first-contentful-paint').length")
    expect(page.locator(".skeleton h1")).to_be_attached()
    expect(page.locator(".rail .flame svg")).to_be_attached()
    places = [".rail", ".bar", ".composer .box"]
    expect(page.locator(".skeleton .box")).to_be_visible()
    painted = page.evaluate(BOXES, places)
    # That it was asked for is told while the page is asked something.
    comes_to(lambda: page.evaluate("1") * len(waiting), 1)
    assert page.evaluate("performance.getEntriesByName('usable').length") == 0
    for route in waiting:
        route.continue_()
    expect(page.locator("#prompt")).to_be_visible()
    expect(page.locator(".skeleton")).to_have_count(0)
    assert page.evaluate(BOXES, places) == pytest.approx(painted, abs=1.5)
    page.context.close()
