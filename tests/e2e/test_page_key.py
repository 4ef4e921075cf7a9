"""A key that cannot be sent is refused where it is typed, and one that was kept does not stop the page."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Route, expect

from tests.e2e.browser import comes_to, opened_page, origin
from tests.e2e.playground import CHROMIUM, Start, answered, ask, open_page, paced
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


def test_a_refusal_of_what_was_asked_before_asks_for_no_key_again(browser: Browser, locked: Server) -> None:
    late: list[Route] = []
    # The browser writes each refusal into the console, so this page may complain.
    with browser.new_context() as context:
        page = open_page(context, locked.port)
        page.route("**/v1/config/origins", lambda route: late.append(route))
        for leave in ("Escape", "Enter"):
            expect(page.get_by_role("dialog")).to_be_visible()
            page.evaluate(
                """() => { window.late = import("/ui/api/client.js").then(async ({ client }) => {
                await client.get("/v1/config/origins").catch(() => {});
                await new Promise((next) => requestAnimationFrame(() => setTimeout(next))); }); }"""
            )
            comes_to(lambda: page.evaluate("1") * len(late), 1)
            if leave == "Enter":
                page.fill("#key-input", "sk-right")
            page.keyboard.press(leave)
            expect(page.get_by_role("dialog")).to_have_count(0)
            late.pop().continue_()
            page.evaluate("window.late")
            expect(page.get_by_role("dialog")).to_have_count(0)
            if leave == "Escape":
                # What a person does asks for it anew.
                ask(page, "Say exactly: Let in.")
        expect(page.locator("#model-name")).to_be_visible()


def test_whoever_wants_to_give_a_key_is_not_told_that_one_was_refused(browser: Browser, locked: Server) -> None:
    with opened_page(browser, origin(locked), known=REFUSED) as page:
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("This server asks for a key")
        page.fill("#key-input", "sk-right")
        page.press("#key-input", "Enter")
        expect(page.locator("#model-name")).to_be_visible()
        page.keyboard.press("Control+k")
        page.get_by_role("combobox", name="Go to or do").fill("Enter the API key")
        page.get_by_role("option", name="Enter the API key").click()
        expect(dialog).to_contain_text("takes the place of the one you gave")
        expect(dialog).not_to_contain_text("does not accept")
        expect(dialog).not_to_contain_text("This server asks")
        page.fill("#key-input", "sk-wrong")
        page.press("#key-input", "Enter")
        expect(dialog).to_contain_text("It does not accept the one you gave.")
