"""What tests of the page share: a server whose model costs nothing, and what a person does first."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import BrowserContext, Error, Page, Route, expect

from tests.e2e.browser import CHROMIUM as CHROMIUM
from tests.e2e.paced import ENDED, HELD
from tests.e2e.server import Server

LIMIT_MS = 20_000
Start = Callable[..., Any]
# A network that lets no WebSocket through.
NO_SOCKET = "window.WebSocket = class { constructor() { queueMicrotask(() => this.onclose?.()); } close() {} }"


def paced(tokens_s: float, *options: str) -> list[str]:
    """The command of a server that tells its story at that pace."""
    return [sys.executable, "-m", "tests.e2e.paced", str(tokens_s), *options]


def changed(change: Callable[[Any], None]) -> Callable[[Route], None]:
    """For a route: lets the server answer, and changes what it says."""

    def handle(route: Route) -> None:
        try:
            answer = route.fetch()
            body = answer.json()
            change(body)
            route.fulfill(response=answer, body=json.dumps(body))
        except Error as error:
            # Of a page that was closed meanwhile nobody waits for it; the test after it would be told of that.
            if not re.search("closed|disposed", str(error)):
                raise

    return handle


@contextmanager
def held(server: Server, tokens: int = 40) -> Iterator[None]:
    """Meanwhile no answer of that paced server gets longer than so many tokens, and no load comes to its end."""
    # One that was left by a page before would hold all others.
    server.wait_metric("ignis_scheduler_requests", 0, state="running")
    file, new = server.folder / HELD, server.folder / "new"
    new.write_text(str(tokens))
    new.replace(file)
    try:
        yield
    finally:
        file.unlink()


@contextmanager
def ended(server: Server) -> Iterator[None]:
    """Meanwhile each answer of that paced server comes to its end."""
    file = server.folder / ENDED
    file.touch()
    try:
        yield
    finally:
        file.unlink()


def open_page(context: Any, port: int, address: str = "#/chat") -> Page:
    page: Page = context.new_page()
    page.set_default_timeout(LIMIT_MS)
    page.goto(f"http://127.0.0.1:{port}/ui/{address}")
    expect(page.locator("#prompt")).to_be_visible()
    listening(page)
    return page


def open_own(context: Any, start: Start) -> tuple[Server, Page]:
    """A paced server that the test may kill, and a page of it."""
    server = start(command=paced(60))
    server.wait_ready()
    return server, open_page(context, server.port)


@contextmanager
def again(server: Server, start: Start, context: BrowserContext) -> Iterator[None]:
    """Meanwhile that server, which is gone, is there again; then its pages are closed."""
    with start(command=paced(60), port=server.port):
        yield
        context.close()


def open_origin(context: Any, port: int) -> Page:
    """A page with the same store on which nothing runs."""
    page: Page = context.new_page()
    answer = page.goto(f"http://127.0.0.1:{port}/health")
    assert answer is not None and answer.ok
    return page


def go_to(page: Page, view: str) -> None:
    """Opens a view by the rail, and waits until it is there: what is left has fields of the same names."""
    page.click(f".rail a[href='#/{view}']")
    expect(page.locator("#view h1")).to_have_text(view.capitalize())


def listening(page: Page) -> None:
    """Waits for what listens to the keys, which comes just after the first paint."""
    expect(page.locator("[aria-live=polite]")).to_have_count(1)


def ask(page: Page, text: str, key: str = "Enter") -> None:
    page.fill("#prompt", text)
    page.press("#prompt", key)


def answered(page: Page, count: int = 1) -> list[str]:
    """Waits until so many answers are whole; returns their texts."""
    expect(page.locator(".turn.answer:not(.running) footer")).to_have_count(count, timeout=LIMIT_MS)
    expect(page.locator(".turn.answer .prose")).to_have_count(count)
    # What the browser skips has no inner text, and until it has drawn a frame it skips all that is closed.
    texts: list[str] = page.locator(".turn.answer .prose").evaluate_all(
        """(proses) => proses.map((prose) => {
          const sheets = [...prose.querySelectorAll(".sheet.closed")];
          for (const sheet of sheets) sheet.style.contentVisibility = "visible";
          const text = prose.innerText;
          for (const sheet of sheets) sheet.style.contentVisibility = "";
          return text;
        })"""
    )
    return texts


def grown(page: Page, length: int = 80) -> str:
    """Waits until the last answer has so many characters; returns its text."""
    prose = page.locator(".turn.answer .prose").last
    expect(prose).to_have_text(re.compile(rf".{{{length}}}", re.DOTALL), timeout=LIMIT_MS)
    return prose.inner_text()


def cap(page: Page, tokens: int) -> None:
    page.fill("#set-max_completion_tokens", str(tokens))
    page.press("#set-max_completion_tokens", "Tab")
