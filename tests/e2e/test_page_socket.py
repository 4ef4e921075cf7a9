"""The answers of chats come by the page's one socket: places in the line, stops, and what comes after them."""

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.e2e.playground import CHROMIUM, LIMIT_MS, Start, answered, ask, cap, grown, open_page, paced
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")


def sent(page: Page) -> list[str]:
    """Notes from now on where the page asks for answers."""
    asked: list[str] = []
    page.on("websocket", lambda socket: asked.append(socket.url))
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/completions") else None)
    return asked


def test_a_place_in_the_line_is_told_and_a_stop_gives_it_up(context: BrowserContext, start_server: Start) -> None:
    with start_server("--model-decode-lanes", "1", command=paced(60)) as server:
        page = open_page(context, server.port)
        ask(page, "A story")
        grown(page)
        for text in ("Say exactly: Second.", "Say exactly: Third."):
            page.click("#new-chat")
            expect(page.locator("#suggestions")).to_be_visible()
            ask(page, text)
            expect(page.locator(".turn .waiting")).to_contain_text("Waits for a lane, place")
        page.keyboard.press("Escape")
        expect(page.locator(".ending")).to_contain_text("Stopped by you")
        page.click(".list li a >> nth=2")
        expect(page.locator(".turn.user .said")).to_have_text("A story")
        page.click("#stop")
        page.click(".list li a >> nth=1")
        expect(page.locator(".turn.user .said")).to_have_text("Say exactly: Second.")
        assert answered(page) == ["Second."]
        context.close()


def test_stops_never_mix_up_what_comes_after_them(context: BrowserContext, story_server: Server) -> None:
    page = open_page(context, story_server.port)
    asked = sent(page)
    cap(page, 400)
    for number in range(3):
        ask(page, "A story")
        expect(page.locator(".turn.answer.running .prose")).to_contain_text("The ")
        page.keyboard.press("Escape")
        expect(page.locator(".turn.answer.running")).to_have_count(0)
        ask(page, f"Say exactly: Number {number}.")
        expect(page.locator(".turn.answer .prose").last).to_have_text(f"Number {number}.", timeout=LIMIT_MS)
        expect(page.locator(".turn.answer.running")).to_have_count(0)
    assert [url.partition("/v1/")[2] for url in asked] == ["responses"]
