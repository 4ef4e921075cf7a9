"""A chat of 100,000 tokens: it opens from its end, all of it stays on the page, and nothing in it moves by itself."""

import itertools
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.bench.bench_page import QUIET, SCROLL
from tests.bench.long_chat import KEEP, long_text
from tests.e2e.browser import CHROMIUM, SETTLED, comes_to, opened_page
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")

LENGTH = 420_000
BUILT = """async () => {
  const isBuilt = () => [...document.querySelectorAll("#log .sheet")].every((sheet) => sheet.firstChild);
  while (!isBuilt()) await new Promise((resolve) => requestAnimationFrame(resolve));
}"""
LEFT = """() => {
  const { scrollHeight, scrollTop, clientHeight } = document.querySelector(".transcript");
  return scrollHeight - scrollTop - clientHeight;
}"""


# Opens the chat; whether the end of its text is there when its answer is, before any other task of the page. What is
# drawn in one task is bounded by a clock, which stands: a busy machine is no fault.
AT_ONCE = """() => new Promise((resolve) => {
  const now = performance.now();
  performance.now = () => now;
  const seen = new MutationObserver(async () => {
    if (!document.querySelector(".turn.answer")) return;
    seen.disconnect();
    for (let step = 0; step < 50; step += 1) await null;
    resolve([...document.querySelectorAll("#log .sheet")].at(-1)?.firstChild instanceof Element);
  });
  seen.observe(document.body, { childList: true, subtree: true });
  location.hash = "#/chat/long";
})"""


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    server.wait_ready()
    with opened_page(browser, f"http://127.0.0.1:{server.port}") as opened:
        yield opened


@pytest.mark.parametrize("num_answers", [1, 120])
def test_a_long_chat_opens_at_its_end_and_is_found_and_scrolled_whole(page: Page, num_answers: int) -> None:
    text = long_text(LENGTH)
    page.evaluate(KEEP, [text, num_answers])
    page.reload()
    page.locator(".list li a").click()
    last = page.locator("#log .sheet").last
    expect(last).to_be_in_viewport()
    page.type("#prompt", "still quick")
    expect(page.locator("#prompt")).to_have_value("still quick")
    assert page.evaluate("document.querySelector('.transcript').scrollTop") > 10_000
    page.evaluate(BUILT)
    page.evaluate(QUIET)
    # Heights that were guessed are measured, formulas are drawn, and it is still the end that is seen.
    page.evaluate(SETTLED)
    assert page.evaluate(LEFT) <= 1
    # Nothing is taken out of the page, so that the browser finds it: also what was never on the screen.
    parts = page.evaluate(
        "document.getElementById('log').textContent.match(/The lighthouse number \\d+ stood/g).length"
    )
    assert parts >= text.count("The lighthouse number") - num_answers
    assert page.evaluate("find('The lighthouse number 5 stood alone', true, true)")
    assert page.evaluate("String(getSelection())") == "The lighthouse number 5 stood alone"
    page.evaluate("document.querySelector('.transcript').scrollTop = 1e9")
    page.mouse.move(600, 300)
    page.mouse.wheel(0, -500)
    page.evaluate(SETTLED)
    assert page.evaluate(SCROLL, [400, 4000]) <= 1
    page.evaluate("document.querySelector('.transcript').scrollTop = 0")
    expect(page.locator("#log h2:text-is('Part 0')")).to_be_in_viewport()


def test_a_chat_is_at_its_end_also_where_what_draws_it_is_here_already(page: Page) -> None:
    page.evaluate(KEEP, [long_text(60_000), 3])
    page.reload()
    page.locator(".list li a").click()
    last = page.locator("#log .sheet").last
    expect(last).to_be_in_viewport()
    page.evaluate("location.hash = '#/compare'")
    expect(page.locator("#log")).to_have_count(0)
    page.evaluate("location.hash = '#/chat/long'")
    expect(last).to_be_in_viewport()


def test_what_waits_to_be_drawn_is_put_in_order_once(page: Page) -> None:
    page.evaluate(KEEP, [long_text(LENGTH), 1])
    page.add_init_script(
        """window.numCompared = 0;
        const { compareDocumentPosition } = Node.prototype;
        Node.prototype.compareDocumentPosition = function (other) {
          window.numCompared += 1;
          return compareDocumentPosition.call(this, other);
        };"""
    )
    page.reload()
    page.locator(".list li a").click()
    expect(page.locator("#log .sheet").last).to_be_in_viewport()
    page.evaluate(BUILT)
    sheets = page.locator("#log .sheet").count()
    assert sheets > 50
    assert page.evaluate("numCompared") < 2 * sheets


def test_the_end_of_a_chat_is_drawn_in_the_frame_that_first_shows_it(page: Page) -> None:
    page.evaluate(KEEP, [long_text(40_000), 1])
    # On a slow machine too, where what is asked for at the first use would come after the frame.
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 10})
    page.reload()
    page.wait_for_function("() => performance.getEntriesByName('whole').length")
    assert page.evaluate(AT_ONCE)


def test_a_chat_that_was_left_takes_no_memory_any_more(page: Page) -> None:
    page.evaluate(KEEP, [long_text(20_000), 1])
    page.reload()
    page.locator(".list li a").click()
    expect(page.locator("#log .katex").first).to_be_attached()
    page.evaluate(BUILT)
    page.evaluate(QUIET)
    page.evaluate("() => { window.left = new WeakRef(document.querySelector('#log .prose')); }")
    page.evaluate("location.hash = '#/monitor'")
    expect(page.locator(".monitor .figures")).to_be_visible()
    session = page.context.new_cdp_session(page)

    def is_gone() -> bool:
        session.send("HeapProfiler.collectGarbage")
        return bool(page.evaluate("window.left.deref() === undefined"))

    comes_to(is_gone, True)


def test_what_nobody_sees_of_a_chat_has_no_boxes(page: Page) -> None:
    page.evaluate(KEEP, [long_text(60_000), 1])
    page.reload()
    page.locator(".list li a").click()
    expect(page.locator("#log .katex").first).to_be_attached()
    page.evaluate(BUILT)
    page.evaluate(QUIET)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    widths = itertools.cycle((1200, 1280))

    def is_light() -> bool:
        # What was near while it opened, which depends on how busy the machine is, is measured anew at another width.
        page.set_viewport_size({"width": next(widths), "height": 720})
        page.evaluate(SETTLED)
        page.evaluate(QUIET)
        session.send("HeapProfiler.collectGarbage")
        metrics = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
        # 19,600 where all ten sheets keep them, 2,200 where only the last one, which is seen, has them: no other may.
        return bool(metrics["Nodes"] > 15_000 and metrics["LayoutObjects"] < 4000)

    comes_to(is_light, True)
