"""Prints how the page holds a long chat: opening it, streaming into it, scrolling in it.

    python -m tests.bench.bench_page MODEL [--tokens 100000] [--tokens-s 200] [--seconds 8] [--slower 1]

The server is the real one with a leaf that tells a story at a steady pace; the page is the real one in Chromium. The
chat is put into the browser's store, and the answer that streams into it asks with a short prompt of its own. Last one
streams in a browser that computes four times slower. --slower: how many times slower it computes all along. Figures,
no verdicts.
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from tests.bench.long_chat import KEEP, long_text
from tests.e2e.browser import opened_page, started_browser
from tests.e2e.server import Server
from tests.ports import free_port

CHARACTERS_A_TOKEN = 4.2
# What the budget of a slow machine is of.
SLOW = 4

# Watches frames, shifts and what the flushes of the streaming answer take, until told to stop.
WATCH = """async () => {
  const { AnswerText } = await import("/ui/text/sheet.js");
  const seen = { frames: [], flushes: [], shift: 0, isOn: true };
  const { show } = AnswerText.prototype;
  AnswerText.prototype.show = function (text) {
    const start = performance.now();
    show.call(this, text);
    seen.flushes.push(performance.now() - start);
  };
  const shifts = new PerformanceObserver((list) => list.getEntries().forEach((entry) => (seen.shift += entry.value)));
  shifts.observe({ type: "layout-shift" });
  let last = performance.now();
  const frame = (now) => {
    seen.frames.push(now - last);
    last = now;
    if (seen.isOn) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  window.seen = seen;
}"""

RESET = "() => { seen.frames.length = 0; seen.flushes.length = 0; seen.shift = 0; }"

OPEN = """async () => {
  const start = performance.now();
  location.hash = "#/chat/long";
  const sheets = () => [...document.querySelectorAll("#log .sheet")];
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  while (!sheets().at(-1)?.firstChild) await frame();
  await frame();
  const lastMs = performance.now() - start;
  while (sheets().some((sheet) => !sheet.firstChild)) await frame();
  return { lastMs, allMs: performance.now() - start };
}"""

# Colours, formulas and heights are done; the rest is frames.
QUIET = """async () => {
  const { lastly } = await import("/ui/text/idle.js");
  const start = performance.now();
  for (let round = 0; round < 3; round += 1) await new Promise((resolve) => lastly(resolve));
  return performance.now() - start;
}"""

# Asks with a short prompt: the model need not hold what the page holds.
ASK = """async (name) => {
  const { add } = await import("/ui/state/adding.js");
  const { open } = await import("/ui/state/chats.js");
  const { Run } = await import("/ui/state/run.js");
  const { Turn } = await import("/ui/state/turn.js");
  const { head, turns } = await import("/ui/state/tree.js");
  const last = turns.value.get(head.value).record;
  const base = { ...last, conversation: open.value.id, text: "", state: "SENT", created: Date.now() };
  const request = { messages: [{ role: "user", content: "Tell it." }], max_completion_tokens: 6000, seed: 7 };
  const said = { id: `${name}-asked`, role: "user", text: "Tell it.", state: "DONE" };
  const question = new Turn({ ...base, ...said, parent: head.value });
  const turn = new Turn({ ...base, id: `${name}-told`, parent: question.id, role: "assistant", request });
  new Run(turn, () => turn).start();
  await add([question, turn]);
}"""

# Scrolls up by so much a frame; returns how far what was seen moved beside that, in px.
SCROLL = """async ([step, ms]) => {
  const scroller = document.querySelector(".transcript");
  const until = performance.now() + ms;
  let most = 0;
  while (performance.now() < until && scroller.scrollTop > step) {
    const box = scroller.getBoundingClientRect();
    const element = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    const before = element.getBoundingClientRect().top;
    scroller.scrollTop -= step;
    await new Promise((resolve) => requestAnimationFrame(resolve));
    if (element.isConnected) most = Math.max(most, Math.abs(element.getBoundingClientRect().top - before - step));
  }
  return most;
}"""


def slow_down(page: Page, times: float) -> None:
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": times})


def stream(page: Page, seconds: float) -> None:
    """Looks at the end of the chat while a further answer comes."""
    page.evaluate("document.querySelector('.transcript').scrollTop = 1e9")
    page.evaluate(ASK, str(page.locator(".turn").count()))
    page.locator(".turn.answer.running .prose p").first.wait_for()
    page.evaluate(RESET)
    page.wait_for_timeout(1000 * seconds)
    assert page.locator(".turn.answer.running").count() == 1, "the answer ended too early"


def report(name: str, page: Page, seconds: float) -> None:
    seen: dict[str, Any] = page.evaluate("seen")
    frames, flushes = seen["frames"][1:], sorted(seen["flushes"])
    late = sum(each > 20 for each in frames)
    line = f"{name:36} {len(frames) / seconds:5.1f} fps, {late} of {len(frames)} over 20 ms, longest {max(frames):.0f}"
    if flushes:
        p95 = flushes[int(0.95 * (len(flushes) - 1))]
        line += f"; flush p50 {statistics.median(flushes):.1f} p95 {p95:.1f} ms"
    print(f"{line}; CLS {seen['shift']:.4f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--tokens", type=int, default=100_000)
    parser.add_argument("--tokens-s", type=float, default=200)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--slower", type=float, default=1)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    command = [
        sys.executable,
        "-m",
        "tests.e2e.paced",
        str(options.tokens_s),
        "--model-artifact",
        str(options.model.resolve()),
    ]
    root = Path(__file__).resolve().parents[2]
    environment = {"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin"}
    server = Server(command, free_port(), free_port(), folder / "log", environment)
    with server, started_browser() as browser, opened_page(browser, f"http://127.0.0.1:{server.port}") as page:
        page.evaluate(KEEP, [long_text(int(options.tokens * CHARACTERS_A_TOKEN)), 1])
        page.reload()
        page.locator(".list li a").wait_for()
        if options.slower != 1:
            slow_down(page, options.slower)
        page.evaluate(WATCH)
        wait_ms = 1000 * options.seconds
        page.wait_for_timeout(1000)
        page.evaluate(RESET)
        page.wait_for_timeout(wait_ms)
        report("idle", page, options.seconds)
        opened = page.evaluate(OPEN)
        print(f"{'opening':36} last screen {opened['lastMs']:.0f} ms, all {opened['allMs']:.0f} ms")
        page.evaluate(QUIET)
        page.evaluate(RESET)
        moved = page.evaluate(SCROLL, [60, wait_ms])
        report("scrolling, 60 px a frame", page, options.seconds)
        print(f"{'':36} text misplaced {moved:.1f} px")
        stream(page, options.seconds)
        report(f"streaming, {options.tokens_s:.0f} tok/s", page, options.seconds)
        page.evaluate(RESET)
        moved = page.evaluate(SCROLL, [60, 3000])
        report("scrolling while it streams", page, 3)
        print(f"{'':36} text misplaced {moved:.1f} px")
        expect(page.locator(".turn.answer.running")).to_have_count(0)
        slow_down(page, SLOW * options.slower)
        stream(page, options.seconds)
        report(f"streaming, {SLOW} times slower", page, options.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
