"""Prints what streams cost above the engine: the processor's share of the whole server, but for its device.

    python -m tests.bench.bench_streams MODEL [seconds] [--tokens-s 200] [--route chat|completions|messages|...]

The server is the real one in a process of its own, with the model's tokenizer and template, and with a leaf that draws
the tokens of a text at a steady pace and costs nothing. The clients are plain sockets in this process. Figures, no
verdicts: each thread's share of one core, and how late the events come.
"""

import argparse
import itertools
import json
import multiprocessing
import os
import socket
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any

from ignis import app
from ignis._core import Draw
from ignis.config import load_config
from ignis.engine.leaf import StepTimes
from ignis.models.registry import open_checkpoint
from ignis.scheduler.plan import CopyPage, DecodeRound, PrefillSpan
from ignis.tokenizer import load_tokenizer
from tests.fakes.leaf import ScriptedLeaf
from tests.ports import free_port
from tests.wire.frames import TEXT, frame, opening

STORY = (
    "Photosynthesis turns light into sugar: in the chloroplasts of a leaf, water is split, and its electrons drive the "
    "making of ATP and NADPH, which in turn fix carbon dioxide in the Calvin cycle. Oxygen is what is left over. "
)
NUM_STREAMS = 8
PROMPT = [{"role": "user", "content": "Explain photosynthesis."}]
ROUTES: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": ("/v1/chat/completions", {"messages": PROMPT}),
    "completions": ("/v1/completions", {"prompt": "Photosynthesis"}),
    "messages": ("/v1/messages", {"messages": PROMPT}),
    "responses": ("/v1/responses", {"input": PROMPT}),
    "socket": ("/v1/responses", {"input": PROMPT, "type": "response.create"}),
}


class PacedLeaf(ScriptedLeaf):
    """Draws the tokens of a text, a round every so often; its wait frees the interpreter's lock, as a device's does."""

    def __init__(self, tokens: Sequence[int], rounds_s: float) -> None:
        super().__init__(page_bytes=1 << 10)
        self._draws = [Draw(token) for token in tokens]
        self._period_s = 1 / rounds_s
        self._next_at = 0.0
        self._num_rounds = 0

    def copy_page(self, step: CopyPage) -> None:
        """Has no pages."""

    def prefill(self, span: PrefillSpan) -> Sequence[Draw]:
        return self._draws[:1] if span.is_last else ()

    def decode(
        self, step: DecodeRound, meanwhile: Callable[[], None] = lambda: None, *, goes_on: bool = False
    ) -> Sequence[Draw]:
        meanwhile()
        self._num_rounds += 1
        now = time.perf_counter()
        self._next_at = max(self._next_at + self._period_s, now - self._period_s)
        if self._next_at > now:
            time.sleep(self._next_at - now)
        draw = self._draws[self._num_rounds % len(self._draws)]
        return [draw] * len(step.rows)

    def last_step(self) -> StepTimes:
        return StepTimes(0.0, self._period_s, self._period_s)


def _serve(model: Path, port: int, rounds_s: float, pipe: Pipe) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    checkpoint = open_checkpoint(model)
    tokens = load_tokenizer(checkpoint.vocabulary, checkpoint.special, checkpoint.shape.vocab_size).encode(STORY)
    app.open_leaf = lambda _kind, _log: PacedLeaf(tokens, rounds_s)  # type: ignore[assignment]
    threading.Thread(target=_report, args=(pipe,), daemon=True, name="report").start()
    flags = ["--model-artifact", str(model), "--server-bind", f"127.0.0.1:{port}", "--server-metrics", "false"]
    app.run(load_config(flags, {}, Path.cwd()))


def _report(pipe: Pipe) -> None:
    """Answers each question with the processor time of the event loop's thread and of the step loop's."""
    while True:
        pipe.recv()
        idents = {thread.name: thread.ident for thread in threading.enumerate()}
        seconds = [
            time.clock_gettime(time.pthread_getcpuclockid(idents[name])) for name in ("MainThread", "ignis-steps")
        ]
        pipe.send((*seconds, time.process_time()))


def _ask(pipe: Pipe) -> tuple[float, float, float]:
    pipe.send(None)
    found: tuple[float, float, float] = pipe.recv()
    return found


def _wait_ready(port: int) -> None:
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(b"GET /health HTTP/1.0\r\n\r\n")
                if connection.recv(64).startswith(b"HTTP/1.1 200"):
                    return
        except OSError:
            pass
        time.sleep(0.05)


def _read_stream(port: int, request: bytes, times: list[float]) -> None:
    """Notes when each event of a stream comes, to its end."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(request)
        connection.settimeout(20)
        first = connection.recv(65536)
        assert first.startswith((b"HTTP/1.1 200", b"HTTP/1.1 101")), first
        while data := connection.recv(65536):
            times += [time.perf_counter()] * (data.count(b"data: ") or data.count(b'"sequence_number"'))
            if data.endswith(b"0\r\n\r\n") or b'"type":"response.incomplete"' in data[-200_000:]:
                return


def _request(route: str, num_tokens: int) -> bytes:
    path, fields = ROUTES[route]
    limit = "max_output_tokens" if route in ("responses", "socket") else "max_tokens"
    body = json.dumps({**fields, "stream": True, limit: num_tokens}).encode()
    if route == "socket":
        return opening(path) + frame(TEXT, body)
    return b"POST %b HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n%b" % (path.encode(), len(body), body)


def _disturb(port: int, stopped: threading.Event, counts: list[int]) -> None:
    """Has long texts tokenised and long prompts refused or computed, one after the other, beside the streams."""
    bodies = [
        ("/v1/tokenize", {"prompt": STORY * 1500}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": STORY * 120}], "max_tokens": 1}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "hi"}] * 2000, "max_tokens": 1}),
    ]
    while not stopped.is_set():
        for path, fields in bodies:
            with socket.create_connection(("127.0.0.1", port)) as connection:
                body = json.dumps(fields).encode()
                head = f"POST {path} HTTP/1.0\r\ncontent-length: {len(body)}\r\n\r\n"
                connection.sendall(head.encode() + body)
                while connection.recv(65536):
                    pass
        counts.append(len(bodies))


def measure(port: int, pipe: Pipe, route: str, num_streams: int, num_tokens: int, *, is_disturbed: bool = False) -> str:
    """Runs the streams to their end and says what they cost and how late they came."""
    stopped, counts = threading.Event(), list[int]()
    disturber = threading.Thread(target=_disturb, args=(port, stopped, counts))
    if is_disturbed:
        disturber.start()
    times: list[list[float]] = [[] for _ in range(num_streams)]
    request = _request(route, num_tokens)
    started_at, before = time.perf_counter(), _ask(pipe)
    threads = [threading.Thread(target=_read_stream, args=(port, request, own)) for own in times]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    elapsed_s = time.perf_counter() - started_at
    loop, steps, whole = ((after - first) / elapsed_s for after, first in zip(_ask(pipe), before, strict=True))
    stopped.set()
    if is_disturbed:
        disturber.join()
    gaps = sorted(b - a for own in times for a, b in itertools.pairwise(own[1:]))
    num_events = sum(map(len, times))
    rate_s, cost_us = num_events / elapsed_s / num_streams, whole / num_events * elapsed_s * 1e6
    late = [share * 1e3 for share in (statistics.median(gaps), gaps[int(0.99 * len(gaps))], gaps[-1])]
    beside = f" beside {sum(counts) / elapsed_s:.0f} long requests/s" if is_disturbed else ""
    return (
        f"{route}, {num_streams} streams{beside}: {rate_s:.0f} events/s each, {whole:.1%} of a core "
        f"(event loop {loop:.1%}, step loop {steps:.1%}), {cost_us:.0f} us an event; "
        f"gaps p50 {late[0]:.2f}, p99 {late[1]:.2f}, longest {late[2]:.1f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("seconds", type=float, nargs="?", default=8.0)
    parser.add_argument("--tokens-s", type=float, default=200.0)
    parser.add_argument("--route", choices=ROUTES, default="chat")
    options = parser.parse_args()
    port = free_port()
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(options.model, port, options.tokens_s, theirs), daemon=True)
    process.start()
    try:
        _wait_ready(port)
        num_tokens = int(options.seconds * options.tokens_s)
        for num_streams in (1, NUM_STREAMS):
            print(measure(port, ours, options.route, num_streams, num_tokens), flush=True)
        print(measure(port, ours, options.route, NUM_STREAMS - 1, num_tokens, is_disturbed=True), flush=True)
    finally:
        process.terminate()
        process.join()


if __name__ == "__main__":
    main()
