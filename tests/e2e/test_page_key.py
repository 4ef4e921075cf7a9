"""A key that cannot be sent is refused where it is typed, and one that was kept does not stop the page."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.browser import opened_page, origin
from tests.e2e.playground import CHROMIUM, Start, answered, ask, paced
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")
REFUSED = "status of 401"


@pytest.fixture(scope="module")
def locked(start_server: Start) -> Iterator[Server]:
    with start_server("--server-api-key", "sk-right", command=paced(200)) as running:
        yield running


def test_a_key_that_no_header_can_carry_is_refused_in_words(browser: Browser, locked: Server) -> None:
    with opened_page(browser, origin(locked), known=REFUSED) as page:
        for key, stranger in (("“sk-right”", "“"), ("sk-…", "…"), ("sk-🔑", "🔑")):
            page.fill("#key-input", key)
            page.press("#key-input", "Enter")
            expect(page.locator("#key-wrong")).to_contain_text(f"No key has the character {stranger} in it")
            expect(page.locator("#key-input")).to_have_value(key)
            expect(page.locator("#key-input")).to_be_focused()
            assert page.evaluate("sessionStorage.getItem('ignis.key')") is None
        page.fill("#key-input", "sk-right")
        page.press("#key-input", "Enter")
        expect(page.locator("#model-name")).to_be_visible()
        expect(page.locator("#prompt")).to_be_focused()
        ask(page, "Say exactly: Let in.")
        assert answered(page) == ["Let in."]


def test_such_a_key_that_an_older_page_kept_is_dropped(browser: Browser, locked: Server) -> None:
    kept = "sessionStorage.setItem('ignis.key', '“sk-right”')"
    with opened_page(browser, origin(locked), script=kept, known=REFUSED) as page:
        expect(page.get_by_role("dialog")).to_contain_text("It is kept for this tab only.")
        assert page.evaluate("sessionStorage.getItem('ignis.key')") is None
        page.fill("#key-input", "sk-right")
        page.press("#key-input", "Enter")
        expect(page.locator("#model-name")).to_be_visible()
