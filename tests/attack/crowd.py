"""Clients that run at once: some want answers that are known, some behave badly. They count what they got."""

import contextlib
import json
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence

from tests.attack.calls import Line, Outcome, ask, ask_for, difference, short
from tests.attack.sockets import ask_by_socket, leave_socket
from tests.attack.wants import Want

WAYS = ("whole", "stream", "response")


class Tally:
    """What came of requests. A fault is what must not be; the first few are told."""

    def __init__(self) -> None:
        self.equal = 0
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []
        self.slowest_s = self.slowest_look_s = 0.0
        self._lock = threading.Lock()

    def note(self, what: str) -> None:
        with self._lock:
            self.counts[what] += 1

    def fault(self, text: str) -> None:
        with self._lock:
            self.faults.append(text)

    def judge(self, want: Want, model: str, outcome: Outcome, allowed: Sequence[str], may_lose_after: float) -> None:
        """Takes the outcome of a request for a known answer.

        Args:
            allowed: error codes that may be.
            may_lose_after: a moment; from then on a connection on which nothing has come may be lost.
        """
        self.slowest_s = max(self.slowest_s, outcome.seconds)
        if outcome.answer is not None:
            known = want.known[model]
            wrong = difference(known, outcome.answer)
            if wrong:
                self.fault(f"{want.name} ({model}) differs: {wrong}")
            else:
                with self._lock:
                    self.equal += 1
        elif outcome.hung:
            self.fault(f"{want.name}: no end after {outcome.seconds:.1f} s, status {outcome.status}")
        elif outcome.lost:
            if outcome.ended >= may_lose_after and not outcome.got_bytes:
                self.note(f"{outcome.lost.partition(':')[0]} at the end")
            else:
                since = (
                    "" if may_lose_after == float("inf") else f", {outcome.ended - may_lose_after:+.3f} s of the end"
                )
                self.fault(f"{want.name}: lost, {outcome.lost}{since}")
        else:
            self.note(outcome.code)
            if outcome.code not in allowed:
                self.fault(f"{want.name}: {outcome.status} {outcome.code}: {outcome.message}")
            elif outcome.status == 503 and not outcome.retry_after:
                self.fault(f"{want.name}: {outcome.code} without Retry-After")

    def figures(self) -> str:
        counts = ", ".join(f"{count} {name}" for name, count in sorted(self.counts.items()))
        return f"{self.equal} equal" + (f", {counts}" if counts else "") + f"; slowest {self.slowest_s:.1f} s"


def _chat(body: object) -> bytes:
    """A chat request as it is on the wire, the last of its connection: who reads it to the end is not left waiting."""
    data = json.dumps(body).encode()
    return (
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(data)
        + data
    )


class Crowd:
    """Threads that stop when told to."""

    def __init__(
        self, port: int, wants: Sequence[Want], limit_s: float, allowed: Sequence[str] = ("engine_full",)
    ) -> None:
        self.port, self.wants, self.limit_s, self.allowed = port, wants, limit_s, tuple(allowed)
        self.tally = Tally()
        self.is_over = threading.Event()
        self.may_lose_after = float("inf")
        self._threads: list[threading.Thread] = []
        self._seed = 0

    def start(self, deed: Callable[[random.Random], None], count: int = 1, pause_s: float = 0) -> None:
        """Has a deed done again and again by each of so many threads."""

        def loop(choose: random.Random) -> None:
            while not self.is_over.is_set():
                try:
                    deed(choose)
                except Exception as error:
                    if time.monotonic() < self.may_lose_after:
                        self.tally.fault(f"{deed.__name__}: {type(error).__name__}: {error}")
                    self.is_over.wait(0.05)
                self.is_over.wait(pause_s)

        for _ in range(count):
            self._seed += 1
            thread = threading.Thread(target=loop, args=(random.Random(self._seed),), daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> Tally:
        """Lets each end what it is at."""
        self.is_over.set()
        end = time.monotonic() + self.limit_s + 5
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
            if thread.is_alive():
                self.tally.fault("a client did not come to its end")
        return self.tally

    def together(self, wants: Sequence[Want], model: str = "first", way: str | None = None) -> None:
        """Asks for all of them at the same moment."""
        gate = threading.Barrier(len(wants))

        def run(number: int, want: Want) -> None:
            chosen = way or WAYS[number % len(WAYS)]
            gate.wait()
            self._ask(want, model, chosen)

        threads = [threading.Thread(target=run, args=pair, daemon=True) for pair in enumerate(wants)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(self.limit_s + 5)

    def _ask(self, want: Want, model: str, way: str, is_agent: bool = False) -> Outcome:
        more = {"class": "agent"} if is_agent else {}
        outcome = ask_for(self.port, want, way, self.limit_s, model=model, **more)
        self.tally.judge(want, model, outcome, self.allowed, self.may_lose_after)
        if outcome.code or outcome.lost:
            self.is_over.wait(0.1)
        return outcome

    # What clients do

    def wanting(self, choose: random.Random) -> None:
        self._ask(choose.choice(self.wants), "first", choose.choice(WAYS), choose.random() < 0.4)

    def wanting_either(self, choose: random.Random) -> None:
        model = choose.choice(("first", "twin"))
        wants = [want for want in self.wants if model in want.known]
        self._ask(choose.choice(wants), model, choose.choice(WAYS), choose.random() < 0.4)

    def wanting_by_socket(self, choose: random.Random) -> None:
        """One to four at once over one socket: they wait for a lane there, and none is told to come again."""
        wants = choose.choices([want for want in self.wants if want.as_response], k=choose.randrange(1, 5))
        for want, outcome in zip(wants, ask_by_socket(self.port, wants, "first", self.limit_s), strict=True):
            allowed = [code for code in self.allowed if code != "engine_full"]
            self.tally.judge(want, "first", outcome, allowed, self.may_lose_after)
            if outcome.code or outcome.lost:
                self.is_over.wait(0.1)

    def leaving_socket(self, choose: random.Random) -> None:
        want = next(want for want in self.wants if want.as_response)
        leave_socket(self.port, want, self.limit_s, choose.random(), reset=choose.random() < 0.5)
        self.tally.note("left a socket")

    def leaving_in_prefill(self, choose: random.Random) -> None:
        want = next(want for want in self.wants if want.name == "full")
        text = f"{choose.random()} " + str(want.body["messages"][0]["content"])[:-40]
        self._leave(
            {"messages": [{"role": "user", "content": text}], "max_tokens": 9, "stream": choose.random() < 0.5},
            0,
            choose,
        )

    def leaving_in_stream(self, choose: random.Random) -> None:
        want = next(want for want in self.wants if want.name == "long")
        self._leave(
            {**want.body, "seed": choose.randrange(9999), "stream": True, "n": choose.choice((1, 1, 3))}, 1, choose
        )

    def leaving_while_held(self, choose: random.Random) -> None:
        """Goes while another model is loaded for it, or not long after."""
        want, model = self.wants[0], choose.choice(("first", "twin"))
        self._leave({**want.body, "model": model, "stream": choose.random() < 0.5}, 0, choose)

    def _leave(self, body: object, least: int, choose: random.Random) -> None:
        with contextlib.closing(Line(self.port, self.limit_s)) as line:
            line.socket.sendall(_chat(body))
            if least:
                line.socket.recv(1)
            left = choose.random() * 0.6
            end = time.monotonic() + left
            while least and time.monotonic() < end:
                line.socket.settimeout(left)
                with contextlib.suppress(TimeoutError):
                    if not line.socket.recv(choose.choice((1, 100, 4096))):
                        break
            if not least:
                time.sleep(left)
            line.close(reset=choose.random() < 0.5)
        self.tally.note("left in stream" if least else "left before it")

    def half_writing(self, choose: random.Random) -> None:
        """A head or a body that does not come to its end: it is answered 408, or its sender goes first."""
        whole = b'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 90\r\n\r\n{"messages": [{"role"'
        with contextlib.closing(Line(self.port, self.limit_s)) as line:
            line.socket.sendall(whole[: choose.choice((3, 30, 60, len(whole)))])
            if choose.random() < 0.5:
                time.sleep(choose.random())
                self.tally.note("half written and left")
                return
            got = line.socket.recv(4096)
        if got.startswith(b"HTTP/1.1 503") or (not got and time.monotonic() >= self.may_lose_after):
            self.tally.note("half written and told to go")
        elif b" 408 " not in got[:20]:
            self.tally.fault(f"half a request is answered {got[:120]!r}")
        else:
            self.tally.note("half written, 408")

    def reading_slowly(self, choose: random.Random) -> None:
        """Takes a long answer in crumbs, and then goes."""
        want = next(want for want in self.wants if want.name == "logprobs")
        body = {**want.body, "max_tokens": 200, "ignore_eos": True, "top_logprobs": 20, "stream": True}
        with contextlib.closing(socket.socket()) as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            slow.settimeout(self.limit_s)
            slow.connect(("127.0.0.1", self.port))
            slow.sendall(_chat(body))
            end = time.monotonic() + choose.choice((1, 3, 6))
            with contextlib.suppress(ConnectionError):
                while time.monotonic() < end and not self.is_over.is_set() and slow.recv(64):
                    time.sleep(0.05)
        self.tally.note("read slowly")

    def bursting(self, choose: random.Random) -> None:
        """A hundred at once: each is answered, or told when to come back."""
        self.together([self.wants[choose.randrange(2)]] * 100, way="whole")
        self.tally.note("bursts of 100")

    def overlong(self, choose: random.Random) -> None:
        want = next(want for want in self.wants if want.name == "full")
        text = 2 * str(want.body["messages"][0]["content"])
        outcome = ask(
            self.port, "/v1/chat/completions", {"messages": [{"role": "user", "content": text}]}, self.limit_s
        )
        if outcome.code != "context_length_exceeded" and outcome.code not in self.allowed:
            if time.monotonic() < self.may_lose_after:
                self.tally.fault(
                    f"twice the context: {outcome.status} {outcome.code} {outcome.lost} {short(outcome.answer)}"
                )
        else:
            self.tally.note("twice the context, refused")

    def watching(self, choose: random.Random) -> None:
        """What monitors do: it loads nothing, and is answered at once."""
        path = choose.choice(("/v1/models", "/health", "/v1/config", "/ui/metrics", "/v1/models/catalog"))
        outcome = ask(self.port, path, None, self.limit_s)
        if time.monotonic() < self.may_lose_after:
            if outcome.hung or outcome.lost:
                self.tally.fault(f"{path}: {'hung' if outcome.hung else outcome.lost}")
            self.tally.slowest_look_s = max(self.tally.slowest_look_s, outcome.seconds)
        self.tally.note("looks")

    def start_nuisances(self) -> None:
        for deed in (
            self.leaving_in_prefill,
            self.leaving_in_stream,
            self.half_writing,
            self.reading_slowly,
            self.leaving_socket,
            self.overlong,
        ):
            self.start(deed, pause_s=0.2)
        self.start(self.watching, pause_s=0.1)
