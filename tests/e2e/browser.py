"""A Chromium for tests of the page, and a page in it that fails its test when it complains or asks another host."""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.e2e.server import Server

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
LIMIT_MS = 30_000

# Keeps every layout shift that no key and no click explains, as each does for thirty frames: half a second where the
# machine is not busy. The browser itself counts half a second by the clock.
SHIFTS = """() => {
  window.shifts = [];
  const inputs = [];
  for (const kind of ["keydown", "pointerdown", "click"])
    addEventListener(kind, () => inputs.push({ start: performance.now(), end: Infinity, frames: 0 }), true);
  const frame = (now) => {
    for (const input of inputs) if ((input.frames += 1) === 30) input.end = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  const isExplained = ({ hadRecentInput, startTime }) =>
    hadRecentInput || inputs.some(({ start, end }) => start <= startTime && startTime <= end);
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries())
      if (!isExplained(entry)) window.shifts.push({ value: entry.value, nodes: entry.sources.map(({ node }) => node) });
  }).observe({ type: "layout-shift", buffered: true });
}"""
# Nothing else runs on the page until that is answered.
BUSY = """() => void setTimeout(() => {
  const request = new XMLHttpRequest();
  request.open("GET", "/busy", false);
  request.send();
})"""
# Of each shift, how much it was and what has moved.
SHIFTED = "window.shifts.map(({ value, nodes }) => [value, nodes.map((node) => node?.outerHTML ?? node?.data ?? null)])"

# Waits until the chat is where a wheel or what was measured has moved it: that is done some frames later.
SETTLED = """async () => {
  const scroller = document.querySelector(".transcript");
  for (let calm = 0, last = 0; calm < 10; calm = scroller.scrollTop === last ? calm + 1 : 0) {
    last = scroller.scrollTop;
    await new Promise((resolve) => requestAnimationFrame(resolve));
  }
}"""


# Seeds that are the same in each run: else the model now and then writes what a test did not think of, such as an
# answer that ends by itself. A tab counts in its name, which outlives a reload.
SEEDS = """{
  const drawn = crypto.getRandomValues.bind(crypto);
  crypto.getRandomValues = (numbers) => {
    if (!(numbers instanceof Uint32Array)) return drawn(numbers);
    window.name = String(Number(window.name) + 1);
    return numbers.fill(Math.imul(Number(window.name), 0x9e3779b1));
  };
}"""


@contextmanager
def started_browser(*flags: str) -> Iterator[Browser]:
    expect.set_options(timeout=LIMIT_MS)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", *flags])
        new_context = running.new_context

        def seeded(**options: Any) -> BrowserContext:
            context = new_context(**options)
            context.add_init_script(SEEDS)
            return context

        running.new_context = seeded  # type: ignore[method-assign]
        yield running
        running.close()


@contextmanager
def opened_page(
    browser: Browser, origin: str, path: str = "/ui/", script: str | None = None, known: str = "\0", **options: Any
) -> Iterator[Page]:
    """A page in a context of its own. script: runs before the page's; known: what a complaint may say that is none;
    options: Playwright's for the context."""
    context = browser.new_context(**options)
    page = context.new_page()
    if script:
        page.add_init_script(script)
    page.set_default_timeout(LIMIT_MS)
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: complaints.append(request.url) if is_foreign(request.url, origin) else None)
    try:
        page.goto(origin + path)
        yield page
    finally:
        # Of a test that failed too: its page would go on asking the server.
        context.close()
    unknown = [complaint for complaint in complaints if known not in complaint]
    assert unknown == [], unknown


def wait_until(page: Page, ask: str) -> None:
    """Waits until an async function of the page answers true: wait_for_function takes its promise for the answer."""
    page.evaluate(
        f"""async () => {{
          const ask = {ask};
          for (const end = performance.now() + {LIMIT_MS}; !(await ask()); ) {{
            if (performance.now() > end) throw new Error("this never came true: " + ask);
            await new Promise((next) => setTimeout(next, 30));
          }}
        }}"""
    )


def comes_to(read: Callable[[], object], wanted: object) -> None:
    """Waits until what is read is what is wanted."""
    end = time.perf_counter() + LIMIT_MS / 1000
    while (found := read()) != wanted:
        assert time.perf_counter() < end, f"it stays {found!r}, and is never {wanted!r}"
        time.sleep(0.03)


def origin(server: Server) -> str:
    return f"http://127.0.0.1:{server.port}"


def is_foreign(url: str, origin: str) -> bool:
    return not url.startswith((f"{origin}/", f"blob:{origin}/", "data:"))
