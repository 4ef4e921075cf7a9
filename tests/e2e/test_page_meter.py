"""How full the context is: by what is written, attached and coming, and by what came of a stopped answer."""

import json
import re
import signal
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.e2e.browser import comes_to
from tests.e2e.playground import CHROMIUM, NO_SOCKET, Start, again, answered, ask, grown, held, open_own, open_page
from tests.e2e.server import Server

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="this machine has no Chromium")

# Tokens that the meter says, once that is what is asked for.
METER = """(least) => {
  const used = Number(document.querySelector(".meter meter")?.textContent.split(" ")[0]);
  return used >= least ? used : null;
}"""


@pytest.fixture
def page(context: BrowserContext, story_server: Server) -> Page:
    return open_page(context, story_server.port)


def used(page: Page, least: int) -> int:
    handle: Any = page.wait_for_function(METER, arg=least, timeout=30_000)
    return int(handle.json_value())


def test_what_is_attached_counts_and_what_does_not_fit_is_said_before_it_is_sent(page: Page) -> None:
    page.fill("#prompt", "Say hi")
    assert 1 <= used(page, 1) < 9
    page.set_input_files(".attach input", {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"harbour " * 3000})
    assert 2500 < used(page, 2500) < 8000
    expect(page.locator(".composer .warn")).to_have_count(0)
    page.set_input_files(".attach input", {"name": "more.txt", "mimeType": "text/plain", "buffer": b"harbour " * 9000})
    warning = page.locator(".composer .warn")
    expect(warning).to_contain_text(
        re.compile(r"This makes \d+,\d+ tokens, and the context has 8,192: it will be refused")
    )
    expect(page.locator(".meter.full")).to_be_visible()
    page.click("[aria-label='Remove more.txt']")
    expect(warning).to_have_count(0)


def test_a_stream_that_stalls_has_no_rate(page: Page, story_server: Server) -> None:
    with held(story_server):
        ask(page, "A story")
        rate = page.locator(".meter .rate")
        expect(rate).to_be_visible()
        expect(rate).to_have_count(0)
        expect(page.locator("#stop")).to_be_visible()
    expect(rate).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".ending")).to_contain_text("Stopped by you")


def test_it_moves_while_an_answer_comes_and_stays_where_that_was_stopped(page: Page) -> None:
    ask(page, "A story")
    first = used(page, 10)
    assert used(page, first + 20) > first
    expect(page.locator(".meter .rate")).to_have_text(re.compile(r"^\d+ tok/s$"))
    expect(page.locator(".panel")).to_contain_text("This answer")
    grown(page, 200)
    page.keyboard.press("Escape")
    expect(page.locator(".ending")).to_contain_text(re.compile(r"Stopped by you after about \d+ tokens"))
    expect(page.locator(".meter .rate")).to_have_count(0)
    expect(page.locator(".readout")).to_contain_text(re.compile(r"\d tok/s.*≈ \d+ tokens"))
    # The server has counted all of it by then.
    expect(page.locator(".meter .count")).not_to_contain_text("≈")
    stopped = used(page, first)
    page.reload()
    expect(page.locator(".meter .count")).not_to_contain_text("≈")
    assert used(page, first) == stopped
    count = int(re.findall(r"about (\d+) tokens", page.locator(".ending").inner_text())[0])
    exact = page.evaluate(
        """async () => { const { path } = await import("/ui/state/tree.js");
        return (await import("/ui/api/tokenize.js")).countTokens(path.value.at(-1).record.text); }"""
    )
    assert abs(count - exact) < 4


def test_a_message_that_was_refused_counts_with_the_next_one(page: Page) -> None:
    page.set_input_files(".attach input", {"name": "all.txt", "mimeType": "text/plain", "buffer": b"harbour " * 12000})
    expect(page.locator(".composer .warn")).to_contain_text("it will be refused")
    ask(page, "Read this")
    expect(page.locator(".turn.answer .ending.bad")).to_be_visible()
    assert used(page, 8192) > 8192
    # What was sent is refused already: only with another message it is said again.
    expect(page.locator(".composer .warn")).to_have_count(0)
    page.fill("#prompt", "Short")
    expect(page.locator(".composer .warn")).to_contain_text("it will be refused")


def test_an_edited_answer_fills_the_context_where_that_is_told(page: Page) -> None:
    ask(page, "Say exactly: One.")
    answered(page)
    page.click(".turn.answer [aria-haspopup=menu]")
    page.get_by_role("menuitem", name="Edit").click()
    page.fill(".turn.answer textarea", "harbour " * 300)
    page.press(".turn.answer textarea", "Control+Enter")
    filled = used(page, 300)
    left = page.locator(".panel dt", has_text="Room left").locator("xpath=following-sibling::dd[1]")
    expect(left).to_have_text(f"{8192 - filled:,}")


def test_what_could_not_be_counted_is_once_the_server_is_back(context: BrowserContext, start_server: Start) -> None:
    first, page = open_own(context, start_server)
    first.stop(signal.SIGKILL)
    expect(page.locator(".banner")).to_contain_text("No server at")
    with page.expect_event("requestfailed", lambda request: "tokenize" in request.url):
        page.fill("#prompt", "Say hi")
    with again(first, start_server, context):
        assert used(page, 1) < 9


def test_a_long_draft_is_counted_once_nobody_types(page: Page) -> None:
    # The clock of a busy machine says nothing of a pause: what waits that long runs once the test says so.
    num_counts = page.evaluate(
        """async () => {
          const { fetch, setTimeout, clearTimeout } = window;
          let [count, number] = [0, 0];
          window.fetch = (...asked) => {
            if (String(asked[0]).endsWith("/tokenize")) count += 1;
            return fetch(...asked);
          };
          window.held = new Map();
          window.setTimeout = (work, ms, ...rest) => {
            if (!(ms > 800 && ms < 950)) return setTimeout(work, ms, ...rest);
            window.held.set((number -= 1), work);
            return number;
          };
          window.clearTimeout = (timer) => void (window.held.delete(timer) || clearTimeout(timer));
          const area = document.querySelector("#prompt");
          for (let key = 0; key < 6; key += 1) {
            const before = number;
            area.value = "harbour ".repeat(40_000) + key;
            area.dispatchEvent(new Event("input", { bubbles: true }));
            for (let look = 0; number === before; look += 1) {
              if (look === 500) throw new Error("it waits no longer than for a short draft");
              await new Promise((next) => setTimeout(next, 20));
            }
          }
          return count;
        }"""
    )
    assert num_counts == 0
    assert page.evaluate("held.size") == 1
    page.evaluate("held.forEach((work) => work())")
    assert used(page, 40_000) < 100_000


def test_the_context_that_is_looked_at_is_counted_as_the_next_request_has_it(
    context: BrowserContext, story_server: Server
) -> None:
    context.add_init_script(NO_SOCKET)
    page = open_page(context, story_server.port)

    def answer(route: Route) -> None:
        # Most of it was thought, which is no part of what comes next.
        usage = {"prompt_tokens": 40, "completion_tokens": 900}
        chunks: list[Any] = [
            {"choices": [{"delta": {"content": "One."}}]},
            {"choices": [{"delta": {}, "finish_reason": "stop"}]},
            {"choices": [], "usage": usage},
        ]
        body = "".join(f"data: {json.dumps({'model': 'm', **chunk})}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
        route.fulfill(body=body, headers={"Content-Type": "text/event-stream"})

    page.route("**/v1/chat/completions", answer)
    count = page.locator(".meter .count")
    page.click("#settings-toggle")
    expect(page.locator(".panel")).to_have_count(0)
    ask(page, "Say one")
    assert answered(page) == ["One."]
    expect(count).to_have_text("940 of 8,192")
    messages: list[Any] = [{"role": "user", "content": "Say one"}, {"role": "assistant", "content": "One."}]

    def exact() -> int:
        return int(story_server.client.json("POST", "/v1/tokenize", {"messages": messages})["count"])

    page.click("#settings-toggle")
    expect(count).to_have_text(f"{exact()} of 8,192")
    left = page.locator(".panel dt", has_text="Room left").locator("xpath=following-sibling::dd[1]")
    expect(left).to_have_text(f"{8192 - exact():,}")
    page.fill("#prompt", "And two")
    messages.append({"role": "user", "content": "And two"})
    expect(count).to_have_text(f"{exact()} of 8,192")
    page.fill("#system", "Be short.")
    messages.insert(0, {"role": "system", "content": "Be short."})
    expect(count).to_have_text(f"{exact()} of 8,192")
    # What nobody looks at is added up.
    page.click("#tab-raw")
    comes_to(lambda: (count.text_content() or "").startswith("≈ 94"), True)


def test_the_count_stands_at_the_button(page: Page) -> None:
    ask(page, "Say exactly: One.")
    answered(page)
    expect(page.locator(".meter .count")).to_have_text(re.compile(r"^\d+ of 8,192$"))
    gap = """() => {
      const words = document.createRange();
      words.selectNodeContents(document.querySelector(".meter .count"));
      return document.querySelector("#send, #stop").getBoundingClientRect().left - words.getBoundingClientRect().right;
    }"""
    comes_to(lambda: 0 <= page.evaluate(gap) < 20, True)
