"""What is other on a card, and what only a card can show."""

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.attack.attack import AWAY, LOAD_EVENTS, ROOT, Attack
from tests.attack.calls import ask, ask_for, difference, short
from tests.attack.crowd import Crowd
from tests.e2e.server import Server, parse_events

NEAR_BYTES = 32 << 20
"""What the driver keeps or gives back beside what was asked for."""
FULL = (*AWAY, "model_load_failed")
"""What requests may be told where the card's memory is somebody else's."""


def used_bytes() -> int:
    """What all processes have of the first card, by the driver's account."""
    query = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "--id=0"]
    return int(subprocess.run(query, capture_output=True, text=True, check=True, timeout=20).stdout) << 20


@contextmanager
def hog(keep_mib: int, *words: str) -> Iterator[None]:
    """Another process has the card's memory, but for so much."""
    command = [sys.executable, "-m", "tests.attack.hog", str(keep_mib), *words]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stdout is not None
    try:
        assert process.stdout.readline().startswith("free"), "nobody could take the card's memory"
        yield
    finally:
        process.stdin.close()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class CardAttack(Attack):
    """Small sizes as on the CPU, but for the context."""

    device = "cuda"
    context, pool_tokens, answer_tokens, chunk = 8192, 9216, 64, 256
    host_pool = "1G"
    limit_s = 30.0

    def parts(self) -> list[tuple[str, float, Callable[[float], None]]]:
        return [
            *super().parts(),
            ("refused", 2, self.refused),
            ("crowded", 4, self.crowded),
            ("two servers", 2, self.two),
        ]

    def references(self, until: float) -> None:
        self.used_before = used_bytes()
        super().references(until)
        self.check_gone("references")

    def memory(self, server: Server) -> dict[str, int]:
        return {**super().memory(server), "card": used_bytes()}

    def after_kill(self) -> None:
        self.check_gone("kill -9")

    def final(self, until: float) -> None:
        super().final(until)
        self.check_gone("end")

    def check_gone(self, name: str, limit_s: float = 5) -> None:
        """The driver has back what a process had that has ended."""
        end = time.monotonic() + limit_s
        while (left := used_bytes() - self.used_before) > NEAR_BYTES and time.monotonic() < end:
            time.sleep(0.1)
        self.check(f"{name}, the card", left <= NEAR_BYTES, f"{left >> 20} MiB more in use than before")

    # The parts

    def refused(self, until: float) -> None:
        """A start that cannot be ends with status 1 and a word; `auto` serves on the CPU where there is no card."""
        pool = ("--vram-kv-pool-bytes", "8192tok")
        cases: list[tuple[str, list[str], dict[str, str], str]] = [
            ("no card", [], {"CUDA_VISIBLE_DEVICES": ""}, "--device cuda"),
            ("a card that is not there", [], {"CUDA_VISIBLE_DEVICES": "7"}, "--device cuda"),
            ("a budget that is too small", ["--vram-budget-bytes", "64M"], {}, "vram.budget_bytes"),
            ("a budget for half a context", ["--vram-budget-bytes", "700M"], {}, "vram."),
            ("more than there is", ["--vram-budget-bytes", "900G"], {}, "vram."),
        ]
        servers = [
            self.start(*pool, *flags, name=name.replace(" ", "-"), is_awaited=False, **environment)
            for name, flags, environment, _ in cases
        ]
        for server, (name, _, _, word) in zip(servers, cases, strict=True):
            try:
                status = server.process.wait(30)
            except subprocess.TimeoutExpired:
                status = -1000
            server.stop()
            text = server.log_text()
            tail = text.strip().splitlines()[-1:] or [""]
            self.check(
                f"refused, {name}",
                status == 1 and word in text and "Traceback" not in text,
                f"status {status}: {tail[0][-400:]}",
            )
        flags = self.flags
        self.flags = [*flags, "--device", "auto"]
        server = self.start(*pool, "--model-max-context", "2048", name="auto", CUDA_VISIBLE_DEVICES="")
        self.flags = flags
        (event,) = parse_events(server.log_text(), "ignis.runtime.device")
        outcome = ask_for(server.port, self.wants[0], "whole", self.limit_s)
        self.check("auto without a card", event["kind"] == "cpu" and outcome.answer is not None, short(event))
        self.end(server, "auto without a card")

    def crowded(self, until: float) -> None:
        """Another process has the card's memory when a model is to be loaded; later it has not."""
        with self._lone("--vram-budget-bytes", "6G", "--vram-allow-oversubscription", "true") as server:
            self._fail_and_recover(server, "out of memory", oversubscribed=True)
        with self._lone("--vram-budget-bytes", "6G") as server:
            self._fail_and_recover(server, "a plan that does not fit", oversubscribed=False)
            self._steal_in_a_switch(server)
        self.check_gone("crowded")

    @contextmanager
    def _lone(self, *flags: str) -> Iterator[Server]:
        """A server of its own, and what it holds when it ends."""
        if self.server is not None:
            self.end(self.server, "before")
        known = f"twin={self.folder / 'twin.gguf'}"
        context = ("--model-max-context", str(self.context), "--vram-kv-pool-bytes", "4G", "--model-idle-unload", "0")
        self.server = server = self.start(*context, "--switch-known-models", known, *flags)
        yield server
        if server.process.poll() is None:
            self.settle(server, "crowded", LOAD_EVENTS)
            self.end(server, "crowded")

    def _fail_and_recover(self, server: Server, name: str, *, oversubscribed: bool) -> None:
        ask(server.port, "/v1/models/unload", {}, self.limit_s)
        server.wait_metric("ignis_model_state", 1, self.limit_s, state="unloaded")
        codes: Counter[str] = Counter()
        messages: set[str] = set()
        with hog(700):
            for number in range(4):
                outcome = ask_for(server.port, self.wants[0], ("whole", "stream")[number % 2], self.limit_s)
                codes[outcome.code or outcome.lost or "answered"] += 1
                messages.add(outcome.message)
            held = used_bytes()
            looks = [ask(server.port, path, None, self.limit_s) for path in ("/v1/models", "/health")]
        is_told = all(look.answer is not None or look.code for look in looks)
        self.check(
            f"{name}, refused", is_told and not set(codes) - set(FULL), f"{dict(codes)} {short(sorted(messages))}"
        )
        self._recovered(server, name)
        self.check(f"{name}, alive", server.process.poll() is None, f"{held >> 20} MiB of the card in use then")

    def _recovered(self, server: Server, name: str) -> None:
        """The memory is free again: what is asked for is served within what Retry-After says at the most, and right."""
        began = time.monotonic()
        outcome = ask_for(server.port, self.wants[0], "whole", self.limit_s, model="first")
        waits = []
        while outcome.code and time.monotonic() < began + 40:
            waits.append(outcome.retry_after)
            time.sleep(min(2.0, float(outcome.retry_after or 1)))
            outcome = ask_for(server.port, self.wants[0], "whole", self.limit_s, model="first")
        wrong = (
            short(vars(outcome)) if outcome.answer is None else difference(self.wants[0].known["first"], outcome.answer)
        )
        self.check(
            f"{name}, served again", not wrong, f"after {time.monotonic() - began:.1f} s, told to wait {waits} {wrong}"
        )

    def _steal_in_a_switch(self, server: Server) -> None:
        """Whoever waits for memory has it the moment that the old model is gone: neither can be loaded then."""
        codes: Counter[str] = Counter()
        with hog(700, "greedy"):
            crowd = Crowd(server.port, self.wants, self.limit_s)
            for model in ("twin", "first", "twin"):
                outcome = ask_for(crowd.port, self.wants[0], "stream", self.limit_s, model=model)
                codes[outcome.code or outcome.lost or "answered"] += 1
        self.check("stolen in a switch, refused", not set(codes) - {*FULL, "answered"}, f"{dict(codes)}")
        self._recovered(server, "stolen in a switch")

    def two(self, until: float) -> None:
        """Two servers share the card, and each gives the known answers while the other comes and goes."""
        if self.server is not None:
            self.end(self.server, "before")
        self.server, other = (self.start_main("--vram-budget-bytes", "8G", name=name) for name in ("one", "other"))
        crowds = [Crowd(server.port, self.wants, self.limit_s) for server in (self.server, other)]
        for crowd in crowds:
            crowd.start(crowd.wanting, 5)
        time.sleep(max(2.0, (until - time.monotonic()) / 2))
        other.process.kill()
        crowds[1].may_lose_after = 0.0
        killed: Any = crowds[1].stop()
        other.stop()
        killed.faults = [fault for fault in killed.faults if "lost" not in fault]
        self.check_tally("two servers, the one killed", killed)
        time.sleep(1)
        self.check_tally("two servers, the other", crowds[0].stop())
        self.settle(self.server, "two servers")
