"""Prints what the page takes of a long day: keys and writes while an answer streams into a long chat, a list of
thousands of chats, a long chat and an hour of Monitor in memory, and what Monitor computes.

    python -m tests.bench.bench_budgets MODEL [--tokens 100000] [--tokens-s 200] [--seconds 20] [--chats 5000]

The server and the page are those of bench_page. The hour is a short one: each of its 1,800 samples goes into the page
as one of the server's would, with counters that grow, and all that shows samples is drawn anew before the next comes.
Figures, no verdicts.
"""

import argparse
import statistics
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, CDPSession, Page

from tests.bench.bench_page import ASK, CHARACTERS_A_TOKEN, OPEN, QUIET
from tests.bench.long_chat import KEEP, long_text
from tests.e2e.browser import opened_page, started_browser
from tests.e2e.server import Server
from tests.ports import free_port

KEY_PAUSE_MS = 120
NUM_READS = 20

# From the event of each key to the end of the frame that comes next, and what each writing transaction of the store
# takes: of the page's thread, and until it is committed.
WATCH = """() => {
  const seen = (window.seen = { keys: [], writes: {} });
  addEventListener("keydown", ({ timeStamp }) => requestAnimationFrame(() => {
    const after = new MessageChannel();
    after.port1.onmessage = () => seen.keys.push(performance.now() - timeStamp);
    after.port2.postMessage(0);
  }), true);
  const took = new WeakMap();
  const timed = (type, name, of) => {
    const own = type.prototype[name];
    type.prototype[name] = function (...given) {
      const start = performance.now();
      const result = own.apply(this, given);
      const transaction = of(this, result);
      took.set(transaction, (took.get(transaction) ?? 0) + performance.now() - start);
      if (name === "transaction" && given[1] === "readwrite") {
        transaction.addEventListener("complete", () => {
          const times = (seen.writes[[given[0]].flat().join(", ")] ??= { thread: [], committed: [] });
          times.thread.push(took.get(transaction));
          times.committed.push(performance.now() - start);
        });
      }
      return result;
    };
  };
  timed(IDBDatabase, "transaction", (_, transaction) => transaction);
  timed(IDBObjectStore, "put", (store) => store.transaction);
  timed(IDBTransaction, "commit", (transaction) => transaction);
}"""

# Chats of eight turns each, 1.5 kB a turn.
SEED = """async (count) => {
  const { write } = await import("/ui/store/database.js");
  const text = "The keeper wrote of the ships that passed. ".repeat(35);
  const base = { reasoning: "", tools: [], state: "DONE", request: null, model: "m", seed: 1, finish: "stop", v: 1,
    failure: null, usage: null, timings: null, times: { sent: 1, first: 1, text: 1, last: 2 }, created: 1 };
  for (let from = 0; from < count; from += 100) {
    await write(["conversations", "turns"], (store) => {
      for (let at = from; at < Math.min(from + 100, count); at += 1) {
        const id = `chat${at}`;
        store("conversations").put({ id, title: `Chat ${at}`, head: `${id}-7`, settings: {}, created: at, updated: at,
          preview: "", v: 1 });
        for (let turn = 0; turn < 8; turn += 1)
          store("turns").put({ ...base, id: `${id}-${turn}`, conversation: id, text,
            parent: turn ? `${id}-${turn - 1}` : null, role: turn % 2 ? "assistant" : "user" });
      }
    });
  }
}"""

# The first reading of a page, with the opening of the database, and then some more.
READ = """async (count) => {
  const { readNewest } = await import("/ui/store/conversations.js");
  const times = [];
  for (let round = 0; round <= count; round += 1) {
    const start = performance.now();
    if ((await readNewest(60)).length !== 60) throw new Error("there are not as many");
    times.push(performance.now() - start);
  }
  return times;
}"""

# An hour of samples that end now.
HOUR = """async () => {
  const { readMetrics } = await import("/ui/api/exposition.js");
  const { ring, taken } = await import("/ui/state/samples.js");
  const now = await readMetrics(AbortSignal.timeout(10_000), false);
  const end = Date.now() / 1000;
  for (let at = 0; at < ring.capacity; at += 1) {
    const values = new Map();
    for (const [key, value] of now.values) {
      const isCounted = /(_total|_count|_bucket|_sum)([{]|$)/.test(key);
      values.set(key, isCounted ? value + at * (1 + (at % 7)) : value * (1 + Math.sin(at / 30) / 10));
    }
    ring.add(end - (ring.capacity - at) * 2, { ...now, values });
    taken.value += 1;
    await new Promise((resolve) => requestAnimationFrame(resolve));
  }
  return [ring.count, ring.keys.length];
}"""


def spread(values: Sequence[float]) -> str:
    """Half of them are below the first number, 95 of 100 below the second."""
    ordered = sorted(values)
    half, most = statistics.median(ordered), ordered[int(0.95 * (len(ordered) - 1))]
    return f"p50 {half:.2f} p95 {most:.2f} ms of {len(ordered)}"


class Processes:
    """What the processes of a browser have computed, and what its page's holds."""

    def __init__(self, browser: Browser, session: CDPSession) -> None:
        self._browser = browser.new_browser_cdp_session()
        self._page = session

    def seconds(self) -> dict[int, tuple[str, float]]:
        """Of each process, by its number: its kind and its processor time."""
        known: Any = self._browser.send("SystemInfo.getProcessInfo")["processInfo"]
        return {each["id"]: (each["type"], each["cpuTime"]) for each in known}

    def held_mb(self, page: Page) -> tuple[float, float]:
        """After a collection: of scripts, elements and arrays; and what is the page's process's own."""
        page.wait_for_timeout(1000)
        for _ in range(3):
            self._page.send("HeapProfiler.collectGarbage")
        used: Any = self._page.send("Runtime.getHeapUsage")
        heap = used["usedSize"] + used.get("embedderHeapUsedSize", 0) + used.get("backingStorageSize", 0)
        largest = max(own_kb(id) for id, (kind, _) in self.seconds().items() if kind == "renderer")
        return heap / 1e6, largest * 1024 / 1e6


def own_kb(process: int) -> int:
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Dirty", "Private_Clean")))


@contextmanager
def watched(processes: Processes, name: str, seconds: float) -> Iterator[None]:
    """Prints what was computed meanwhile."""
    before = processes.seconds()
    yield
    after = processes.seconds()
    took = {kind: 0.0 for kind, _ in after.values()}
    for id, (kind, total) in after.items():
        took[kind] += total - before.get(id, (kind, 0.0))[1]
    parts = ", ".join(f"{kind} {100 * took.get(kind, 0) / seconds:.1f} %" for kind in ("renderer", "GPU", "browser"))
    print(f"{name:40} of a core: {parts}", flush=True)


@contextmanager
def asked(server: Server) -> Iterator[None]:
    """One client has answers told meanwhile, one after the other."""
    is_over = threading.Event()

    def go_on() -> None:
        while not is_over.is_set():
            body = {"messages": [{"role": "user", "content": "Tell it."}], "max_tokens": 400}
            server.client.request("POST", "/v1/chat/completions", body)

    client = threading.Thread(target=go_on)
    client.start()
    try:
        yield
    finally:
        is_over.set()
        client.join()


def measure_keys(browser: Browser, origin: str, options: argparse.Namespace) -> None:
    with opened_page(browser, origin) as page:
        page.evaluate(KEEP, [long_text(int(options.tokens * CHARACTERS_A_TOKEN)), 1])
        page.reload()
        page.locator(".list li a").wait_for()
        page.evaluate(OPEN)
        page.evaluate(QUIET)
        page.evaluate(ASK, "more")
        page.locator(".turn.answer.running .prose p").first.wait_for()
        page.evaluate(WATCH)
        page.focus("#prompt")
        for at in range(int(1000 * options.seconds / KEY_PAUSE_MS)):
            page.keyboard.press("abcdefg hij"[at % 11])
            page.wait_for_timeout(KEY_PAUSE_MS)
        seen: Any = page.evaluate("seen")
    print(f"{f'keys, {options.tokens_s:.0f} tok/s stream':40} to the end of the next frame {spread(seen['keys'])}")
    for stores, times in seen["writes"].items():
        print(f"{f'writes to {stores}':40} thread {spread(times['thread'])}, committed {spread(times['committed'])}")
    sys.stdout.flush()


def measure_list(browser: Browser, origin: str, options: argparse.Namespace) -> None:
    # A page of the same origin with nothing in it has no icon.
    with opened_page(browser, origin, known="404") as page:
        page.evaluate(SEED, options.chats)
        page.goto(f"{origin}/health")
        first, *times = page.evaluate(READ, NUM_READS)
    print(f"{f'the newest 60 of {options.chats} chats':40} first with the opening {first:.1f} ms, then {spread(times)}")


def measure_memory(
    browser: Browser, server: Server, origin: str, options: argparse.Namespace, has_formulas: bool
) -> None:
    text = long_text(int(options.tokens * CHARACTERS_A_TOKEN))
    with opened_page(browser, origin, viewport={"width": 1440, "height": 900}) as page:
        processes = Processes(browser, page.context.new_cdp_session(page))
        page.evaluate(KEEP, [text if has_formulas else text.replace("$", ""), 1])
        page.reload()
        page.locator(".list li a").wait_for()
        start = processes.held_mb(page)

        def tell(name: str) -> None:
            heap, own = processes.held_mb(page)
            more = f"({heap - start[0]:+.1f}), process {own:.0f} MB ({own - start[1]:+.0f})"
            print(f"{name:40} heap {heap:.1f} MB {more}", flush=True)

        def open_chat() -> None:
            page.evaluate(OPEN)
            page.evaluate(QUIET)

        open_chat()
        tell(f"a chat, formulas {'drawn' if has_formulas else 'as text'}")
        page.evaluate("location.hash = '#/monitor'")
        page.locator(".uplot").first.wait_for()
        if has_formulas:
            tell("Monitor in its place")
            return
        samples, series = page.evaluate(HOUR)
        tell(f"an hour of Monitor, {samples} x {series}")
        for name, span in (("15 minutes shown", "15 min"), ("an hour shown", "1 h")):
            page.get_by_label(span, exact=True).check()
            page.wait_for_timeout(3000)
            with watched(processes, f"Monitor, {name}, server idle", options.seconds):
                page.wait_for_timeout(1000 * options.seconds)
            with asked(server), watched(processes, f"Monitor, {name}, server answers", options.seconds):
                page.wait_for_timeout(1000 * options.seconds)
        page.evaluate("location.hash = '#/chat/new'")
        page.locator("#prompt").wait_for()
        open_chat()
        tell("the chat again")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--tokens", type=int, default=100_000)
    parser.add_argument("--tokens-s", type=float, default=200)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--chats", type=int, default=5000)
    options = parser.parse_args()
    root = Path(__file__).resolve().parents[2]
    paced = [sys.executable, "-m", "tests.e2e.paced", str(options.tokens_s)]
    command = [*paced, "--model-artifact", str(options.model.resolve())]
    environment = {"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin"}
    server = Server(command, free_port(), free_port(), Path(tempfile.mkdtemp()) / "log", environment)
    with server, started_browser() as browser:
        server.wait_ready()
        origin = f"http://127.0.0.1:{server.port}"
        measure_keys(browser, origin, options)
        measure_list(browser, origin, options)
        measure_memory(browser, server, origin, options, has_formulas=False)
        measure_memory(browser, server, origin, options, has_formulas=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
