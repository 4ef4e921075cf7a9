"""The Playground in a browser, on the real server and the real model."""

import re
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.e2e.axe import findings
from tests.e2e.browser import wait_until
from tests.e2e.playground import CHROMIUM, answered, ask, cap, grown, open_page
from tests.e2e.server import Server

LIMIT_MS = 30_000
LONG = "Write a long story about a lighthouse."

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    """A fresh browser at the page; a complaint of the page, or a request to another host, fails the test."""
    server.wait_ready()
    context = browser.new_context()
    opened = context.new_page()
    opened.set_default_timeout(LIMIT_MS)
    complaints: list[str] = []
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    host = f"http://127.0.0.1:{server.port}/"
    opened.on("request", lambda request: complaints.append(request.url) if not request.url.startswith(host) else None)
    opened.goto(f"{host}ui/")
    yield opened
    context.close()
    assert not complaints


def test_two_clicks_lead_to_an_answer_that_is_kept(page: Page) -> None:
    cap(page, 24)
    page.click("#suggestions button >> nth=0")
    (text,) = answered(page)
    assert text.strip()
    readout = page.locator(".turn.answer .readout").inner_text()
    assert re.search(r"to first token.*tok/s.*24 tokens.*seed \d+", readout.replace("\n", ""))
    page.reload()
    assert answered(page) == [text]
    assert page.locator(".list li.open .name").inner_text() == "Explain photosynthesis in two sentences."


def test_same_again_says_the_same_and_regenerate_something_else(page: Page) -> None:
    cap(page, 24)
    ask(page, "Tell me a story.")
    (first,) = answered(page)
    page.click(".turn.answer .same")
    expect(page.locator(".branches")).to_contain_text("2 / 2")
    assert answered(page) == [first]
    page.click(".turn.answer .again")
    expect(page.locator(".branches")).to_contain_text("3 / 3")
    assert answered(page) != [first]
    page.click("[aria-label='Earlier version']")
    expect(page.locator(".branches")).to_contain_text("2 / 3")
    assert answered(page) == [first]


def test_stop_keeps_what_came_and_frees_the_server(page: Page, server: Server) -> None:
    ask(page, LONG)
    expect(page.locator(".turn.answer .prose")).to_contain_text(re.compile(r"\w+ \w+"))
    page.keyboard.press("Escape")
    expect(page.locator(".ending")).to_contain_text("Stopped by you")
    (text,) = answered(page)
    page.reload()
    assert answered(page) == [text]
    assert server.log_text().count('"finish_reason":"cancelled"') >= 1


def test_an_edited_question_is_a_sibling(page: Page) -> None:
    cap(page, 8)
    ask(page, "First question")
    answered(page)
    page.hover(".turn.user")
    page.click(".turn.user .edit")
    page.fill(".turn.user textarea", "Second question")
    page.press(".turn.user textarea", "Control+Enter")
    expect(page.locator(".turn.user .said")).to_have_text("Second question")
    answered(page)
    page.click(".turn.user [aria-label='Earlier version']")
    expect(page.locator(".turn.user .said")).to_have_text("First question")


def test_the_editor_of_a_question_has_the_focus_at_once_and_leaves_what_is_selected(page: Page) -> None:
    cap(page, 8)
    ask(page, "First question")
    answered(page)
    # No later than a key can come: before the next frame.
    page.evaluate(
        """async () => { document.querySelector(".turn.user .edit").click();
        await new Promise((resolve) => { const { port1, port2 } = new MessageChannel();
            port1.onmessage = resolve; port2.postMessage(null); });
        document.querySelector(".turn.user textarea").select();
        await new Promise((resolve) => setTimeout(resolve, 200));
        document.execCommand("insertText", false, "Second question"); }"""
    )
    expect(page.locator(".turn.user textarea")).to_be_focused()
    expect(page.locator(".turn.user textarea")).to_have_value("Second question")


def test_chats_answer_at_the_same_time_each_into_its_own(page: Page) -> None:
    cap(page, 120)
    ask(page, "Count to ten")
    expect(page.locator(".turn.answer.running")).to_be_visible()
    page.click("#new-chat")
    expect(page.locator("#suggestions")).to_be_visible()
    cap(page, 8)
    ask(page, "Say hello")
    (second,) = answered(page)
    page.click(".list li:not(.open) a")
    expect(page.locator(".turn.user .said")).to_have_text("Count to ten")
    (first,) = answered(page)
    assert first != second
    page.reload()
    assert answered(page) == [first]


def test_what_is_typed_survives_a_reload(page: Page) -> None:
    cap(page, 4)
    ask(page, "Hello")
    answered(page)
    page.type("#prompt", "not sent yet")
    wait_until(
        page,
        """async () => { const store = await import("/ui/store/database.js");
        const id = location.hash.split("/")[2]; return (await store.get("drafts", id))?.text === "not sent yet"; }""",
    )
    page.reload()
    expect(page.locator("#prompt")).to_have_value("not sent yet")


def test_an_answer_cut_by_the_end_of_the_page_keeps_its_text(context: BrowserContext, story_server: Server) -> None:
    # The real model may come to its end before the page does.
    page = open_page(context, story_server.port)
    ask(page, LONG)
    shown = grown(page)
    page.reload()
    expect(page.locator(".ending")).to_contain_text("Cut off")
    (kept,) = answered(page)
    assert kept.startswith(shown[:40])


def test_a_lost_server_is_said_and_found_again(browser: Browser, start_server: Callable[..., Any]) -> None:
    with start_server() as own:
        own.wait_ready()
        page = browser.new_context().new_page()
        page.goto(f"http://127.0.0.1:{own.port}/ui/")
        expect(page.locator("#model")).to_have_attribute("data-state", "serving")
        page.wait_for_function("() => performance.getEntriesByName('whole').length")
        page.evaluate("window.hasStayed = true")
    ask(page, "Anybody there?")
    expect(page.locator(".banner")).to_contain_text("No server at")
    # It was sent, or waits where the page knew by then.
    expect(page.get_by_role("main").get_by_text("Anybody there?")).to_be_visible()
    assert page.evaluate("window.hasStayed")
    page.context.close()


def test_an_answer_cut_by_the_death_of_the_server_goes_on_with_the_same_text(
    browser: Browser, start_server: Callable[..., Server]
) -> None:
    first = start_server()
    first.wait_ready()
    page = browser.new_context().new_page()
    page.goto(f"http://127.0.0.1:{first.port}/ui/")
    cap(page, 400)
    ask(page, LONG)
    expect(page.locator(".turn.answer .prose")).to_have_text(re.compile(r".{80}", re.DOTALL))
    page.type("#prompt", "typed meanwhile")
    first.stop(signal.SIGKILL)
    expect(page.locator(".ending")).to_contain_text("Cut off")
    expect(page.locator(".banner")).to_contain_text("No server at")
    before = page.locator(".turn.answer .prose").inner_text()
    with start_server(port=first.port):
        expect(page.locator(".banner")).to_have_count(0, timeout=LIMIT_MS)
        page.click(".resume")
        expect(page.locator(".ending")).to_contain_text("Reached the limit of 400 tokens", timeout=LIMIT_MS)
        (resumed,) = answered(page)
        page.click(".turn.answer .same")
        expect(page.locator(".branches")).to_contain_text("2 / 2")
        assert answered(page) == [resumed]
        assert len(resumed) > len(before)
        expect(page.locator("#prompt")).to_have_value("typed meanwhile")
        page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 360])
def test_axe_finds_nothing(browser: Browser, server: Server, axe: str, scheme: Any, width: int) -> None:
    server.wait_ready()
    page = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme).new_page()
    page.goto(f"http://127.0.0.1:{server.port}/ui/")
    expect(page.locator("#model")).to_have_attribute("data-state", "serving")
    assert findings(page, axe) == []
    ask(page, "Write a table, a list and some code.")
    # However short the answer is that is drawn.
    expect(page.locator(".turn.answer .prose")).to_have_text(re.compile(r"\S"))
    page.keyboard.press("Escape")
    answered(page)
    assert findings(page, axe) == []
    if width < 1280:
        page.click("#settings-toggle")
    for tab in ("settings", "turn", "raw"):
        page.click(f"#tab-{tab}")
        assert findings(page, axe) == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    page.context.close()
