"""What is done to the servers, part after part, and what is checked after each."""

import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.attack.calls import Outcome, ask, ask_for, difference, short
from tests.attack.crowd import WAYS, Crowd, Tally
from tests.attack.twin import write_twin
from tests.attack.wants import Want, make
from tests.e2e.server import Server
from tests.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
DRAIN_S = 10
GROWTH_BYTES = 24 << 20
AWAY = ("engine_full", "model_switching", "server_not_ready")
"""What requests may be told while models come and go."""
LOAD_EVENTS = ("ignis.model.load_failed", "ignis.model.switch_failed")
"""Errors in the log where a model cannot be loaded."""
ORDERED = ("greedy", "seeded", "shared greedy", "held", "call", "logprobs")
"""What the twin is asked, too."""


class Attack:
    """On the CPU leaf; CardAttack says what is other on a card."""

    device = "cpu"
    context, pool_tokens, answer_tokens, chunk = 1024, 1536, 24, 64
    host_pool = "256M"
    limit_s = 120.0
    """Of each request. Above it a request hangs."""

    def __init__(self, command: Sequence[str], model: Path, flags: Sequence[str], logs: Path | None, seed: int) -> None:
        self.command, self.model, self.flags = list(command), model, list(flags)
        self.folder = Path(tempfile.mkdtemp(prefix="attack-"))
        self.logs = logs or self.folder
        self.logs.mkdir(parents=True, exist_ok=True)
        self.choose = random.Random(seed)
        self.part = "start"
        self.num_checks = self.num_failed = 0
        self._servers: list[Server] = []
        self.server: Server | None = None
        self._read_bytes: dict[Path, int] = {}
        self.wants: list[Want] = []

    # The frame

    def parts(self) -> list[tuple[str, float, Callable[[float], None]]]:
        """Name, share of the time, and what is called with the moment at which it should be over."""
        return [
            ("widths", 3, self.widths),
            ("storm", 6, self.storm),
            ("bursts", 1, self.bursts),
            ("deadlines", 1, self.deadlines),
            ("stopped", 1.5, self.stopped),
            ("patches", 3, self.patches),
            ("switches", 4, self.switches),
            ("cut", 1.5, self.cut),
            ("damaged", 1.5, self.damaged),
            ("idle", 3, self.idle),
            ("terminated", 4, self.terminated),
            ("killed", 2, self.killed),
        ]

    def run(self, end: float, only: Sequence[str]) -> None:
        parts = [part for part in self.parts() if not only or part[0] in only]
        self._guarded("references", self.references, end)
        if not self.wants:
            return
        for number, (name, share, deed) in enumerate(parts):
            left = sum(part[1] for part in parts[number:])
            now = time.monotonic()
            if now > end - 1:
                print(f"skip {', '.join(part[0] for part in parts[number:])}: the time is over", flush=True)
                break
            self._guarded(name, deed, now + max(1.0, (end - now) * share / left))
        self._guarded("end", self.final, end)

    def _guarded(self, name: str, deed: Callable[[float], None], until: float) -> None:
        """A part that breaks is a failed check, and the next one has a new server."""
        self.part = name
        try:
            deed(until)
        except Exception as error:
            text = str(error)
            self.check(
                name, False, f"{type(error).__name__}: {text[:600]}{' ... ' + text[-1500:] if len(text) > 600 else ''}"
            )
            if self.server is not None:
                self.server.process.kill()
                self.server.stop()
                self.server = None

    def check(self, name: str, is_right: bool, figures: str) -> None:
        self.num_checks += 1
        self.num_failed += not is_right
        print(f"{'ok  ' if is_right else 'FAIL'} {name}: {figures}", flush=True)

    def check_tally(self, name: str, tally: Tally, figures: str = "", least: int = 1) -> None:
        kinds = Counter(text.partition(":")[0] for text in tally.faults)
        told = "".join(f"\n       {text[:700]}" for text in tally.faults[:8])
        more = f"; {len(tally.faults)} faults {dict(kinds)}" if tally.faults else ""
        self.check(name, not tally.faults and tally.equal >= least, f"{tally.figures()}{figures}{more}{told}")

    def start(self, *flags: str, name: str = "server", is_awaited: bool = True, **environment: str) -> Server:
        folder = self.logs / f"{len(self._servers):02}-{self.part}-{name}"
        folder.mkdir(parents=True)
        path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        settings = {**os.environ, "IGNIS_LOG_FORMAT": "json", "PYTHONPATH": path, **environment}
        given = ["--model-artifact", str(self.model), "--model-id", "first", "--download-enabled", "false"]
        words = [*self.command, "serve", "--device", self.device, *given, *self.flags, *flags]
        server = Server(words, free_port(), free_port(), folder / "log", settings)
        self._servers.append(server)
        if is_awaited:
            server.wait_ready(60)
        return server

    def kill_all(self) -> None:
        for server in self._servers:
            if server.process.poll() is None:
                server.process.kill()
                server.process.wait()
        shutil.rmtree(self.folder, ignore_errors=self.logs != self.folder)

    @property
    def main_settings(self) -> dict[str, dict[str, Any]]:
        """In a file, since a field that is given as an option cannot be patched."""
        return {
            "model": {
                "max_context": self.context,
                "prefill_chunk": self.chunk,
                "decode_lanes": 8,
                "decode_share": 25,
                "idle_unload": 0,
            },
            "vram": {"kv_pool_bytes": f"{self.pool_tokens}tok"},
            "reuse": {"kv_host_pool_bytes": self.host_pool, "prompt": True},
            "switch": {"known_models": f"twin={self.folder / 'twin.gguf'}", "drain_timeout": 60},
            "server": {
                "drain_timeout": DRAIN_S,
                "write_timeout": 4,
                "header_timeout": 2,
                "keepalive_interval": 1,
                "request_timeout": 600,
            },
        }

    def start_main(self, *flags: str, name: str = "server") -> Server:
        path = self.folder / f"{len(self._servers)}.toml"
        lines = []
        for group, values in self.main_settings.items():
            lines += [f"[{group}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
        path.write_text("\n".join(lines))
        return self.start("--config", str(path), *flags, name=name)

    @property
    def running(self) -> Server:
        if self.server is None:
            self.server = self.start_main()
        return self.server

    def crowd(self, wants: Sequence[Want] | None = None, allowed: Sequence[str] = ("engine_full",)) -> Crowd:
        return Crowd(self.running.port, self.wants if wants is None else wants, self.limit_s, allowed)

    def settle(self, server: Server, name: str, faults_allowed: Sequence[str] = ()) -> None:
        """Checks that nothing is left of what was asked, and that the log tells of no fault."""
        limit_s = self.limit_s
        for family, value, labels in (
            ("ignis_scheduler_requests", 0, {"state": "running"}),
            ("ignis_scheduler_requests", 0, {"state": "waiting"}),
            ("ignis_model_waiting_requests", 0, {}),
            ("ignis_http_connections", 1, {}),
            ("ignis_responses_queued_requests", 0, {}),
        ):
            server.wait_metric(family, value, limit_s, **labels)
        accepted, completed, cancelled = (
            server.metric(f"ignis_requests_{name}_total") for name in ("accepted", "completed", "cancelled")
        )
        used, retained = server.metric("ignis_kv_pool_used_pages"), server.metric("ignis_kv_pool_retained_pages")
        parks = server.metric("ignis_kv_lane_parks_total")
        spills = server.metric("ignis_retained_state_spills_total", tier="device")
        restores = server.metric("ignis_retained_state_restores_total", tier="kv_ram")
        faults = self.log_faults(server, faults_allowed)
        is_right = accepted == completed + cancelled and used == retained and not faults
        figures = f"accepted {accepted:.0f} = {completed:.0f} ended + {cancelled:.0f} cancelled; pages {used:.0f} used"
        figures += f" = {retained:.0f} retained; {parks:.0f} parks, {spills:.0f} pages to host, {restores:.0f} back"
        told = "".join(f"\n       log: {fault}" for fault in faults[:6])
        self.check(f"{name}, after", is_right, f"{figures}; {len(faults)} errors in the log{told}")

    def log_faults(self, server: Server, allowed: Sequence[str] = ()) -> list[str]:
        """Lines of its log since the last look that tell of an error."""
        with server.log_path.open("rb") as log:
            log.seek(self._read_bytes.get(server.log_path, 0))
            content = log.read()
            self._read_bytes[server.log_path] = log.tell()
        found = []
        for line in content.decode(errors="replace").splitlines():
            value = json.loads(line) if line.startswith("{") else {}
            if value.get("level") == "error" and value["event"] not in allowed:
                found.append(short({key: value[key] for key in value if key not in ("timestamp", "level")}))
            elif "Traceback" in line or "Error:" in line:
                found.append(short(line))
        return found

    def end(self, server: Server, name: str, limit_s: float = DRAIN_S + 15) -> None:
        """SIGTERM to an idle server."""
        began = time.monotonic()
        status = server.stop(limit_s=limit_s)
        faults = self.log_faults(server)
        self.check(
            f"{name}, exit",
            status == 0 and not faults,
            f"status {status}, {time.monotonic() - began:.1f} s {faults or ''}",
        )
        if server is self.server:
            self.server = None

    # The parts

    def references(self, until: float) -> None:
        """What each request gives alone, without a prompt cache, in a pool with room."""
        began = time.monotonic()
        write_twin(self.model, self.folder / "twin.gguf")
        known = f"twin={self.folder / 'twin.gguf'}"
        context = ("--model-max-context", str(self.context))
        server = self.start("--reuse-prompt", "false", *context, "--switch-known-models", known, name="alone")
        ready_s = time.monotonic() - began

        def count(text: str) -> int:
            body = {"messages": [{"role": "user", "content": text}]}
            outcome = ask(server.port, "/v1/tokenize", body, self.limit_s)
            assert outcome.answer is not None, outcome
            return int(outcome.answer["count"])

        wants = make(count, self.context, self.answer_tokens)
        faults = []
        for model in ("first", "twin"):
            for want in wants:
                if model == "twin" and want.name not in ORDERED:
                    continue
                outcome = ask_for(server.port, want, "whole", self.limit_s, model=model)
                if outcome.answer is None:
                    faults.append(f"{want.name}: {outcome.code} {outcome.message} {outcome.lost}")
                    continue
                want.known[model] = outcome.answer
                again = ask_for(server.port, want, "stream", self.limit_s, model=model)
                wrong = "none" if again.answer is None else difference(outcome.answer, again.answer)
                if wrong:
                    faults.append(f"{want.name}, streamed: {wrong}")
        same = sum(want.known["first"]["text"] == want.known["twin"]["text"] for want in wants if "twin" in want.known)
        tokens = sum(want.known["first"]["tokens"] for want in wants if want.known)
        figures = f"{len(wants)} requests, {tokens} tokens; the twin says the same to {same} of {len(ORDERED)}"
        self.check(
            "references", not faults and same < len(ORDERED), f"{figures}; ready after {ready_s:.1f} s {faults or ''}"
        )
        self.settle(server, "references")
        self.end(server, "references")
        if not faults:
            self.wants = wants

    def widths(self, until: float) -> None:
        """Each width from one to eight, of any requests, until the time is over; one round at least."""
        crowd, rounds = self.crowd(), 0
        single = [want for want in self.wants if want.lanes == 1]
        while rounds < 1 or time.monotonic() < until - 1:
            for width in random.Random(rounds).sample(range(1, 9), 8):
                crowd.together([self.choose.choice(single) for _ in range(width)])
                if rounds and time.monotonic() > until:
                    break
            if time.monotonic() < until - 1:
                crowd.together([self.choose.choice(single)] * 8)
            rounds += 1
        self.check_tally("widths 1 to 8", crowd.stop(), f"; {rounds} rounds")
        self.settle(self.running, "widths")

    def storm(self, until: float) -> None:
        crowd = self.crowd()
        crowd.start(crowd.wanting, 5)
        crowd.start(crowd.wanting_by_socket, 2)
        crowd.start_nuisances()
        time.sleep(max(1.0, until - time.monotonic()))
        tally = crowd.stop()
        self.check_tally("storm", tally, f", a look {tally.slowest_look_s:.2f} s")
        self.settle(self.running, "storm")

    def bursts(self, until: float) -> None:
        crowd = self.crowd()
        while True:
            crowd.bursting(self.choose)
            if time.monotonic() > until - 1:
                break
        tally = crowd.stop()
        asked = 100 * tally.counts["bursts of 100"]
        self.check_tally("bursts of 100", tally, f"; {asked} asked", least=8)
        self.settle(self.running, "bursts")

    def deadlines(self, until: float) -> None:
        """Requests that take longer than they may are told so, stream and whole."""
        self.must_patch({"server": {"request_timeout": 1}})
        crowd = self.crowd()
        body = {"messages": [{"role": "user", "content": "Go on."}], "max_tokens": 900, "ignore_eos": True}
        codes: Counter[str] = Counter()
        longest = 0.0

        def run(number: int) -> None:
            nonlocal longest
            outcome = ask(self.running.port, "/v1/chat/completions", {**body, "stream": number % 2 == 0}, self.limit_s)
            codes[outcome.code or outcome.lost or ("hung" if outcome.hung else "answered")] += 1
            longest = max(longest, outcome.seconds)

        threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.must_patch({"server": {"request_timeout": 600}})
        is_right = set(codes) <= {"request_timeout", "answered"} and longest < 4
        self.check("deadlines", is_right, f"of 1 s: {dict(codes)}, the last after {longest:.2f} s")
        crowd.together(self.wants[:4])
        self.check_tally("deadlines, then", crowd.stop())
        self.settle(self.running, "deadlines")

    def stopped(self, until: float) -> None:
        """The process is halted for three seconds, as a suspended machine is, and goes on."""
        crowd = self.crowd()
        crowd.start(crowd.wanting, 6)
        crowd.start(crowd.wanting_by_socket, 1)
        crowd.start(crowd.leaving_in_stream, 1)
        time.sleep(1)
        self.running.process.send_signal(signal.SIGSTOP)
        time.sleep(3)
        self.running.process.send_signal(signal.SIGCONT)
        time.sleep(max(1.0, until - time.monotonic()))
        self.check_tally("halted for 3 s", crowd.stop())
        self.settle(self.running, "halted")

    def patch(self, document: dict[str, Any], wait_s: int = 30) -> str:
        outcome = ask(self.running.port, "/v1/config", document, self.limit_s, "PATCH", Prefer=f"wait={wait_s}")
        if outcome.answer is None:
            assert outcome.code, f"PATCH {document}: hung {outcome.hung} {outcome.lost}"
            return outcome.code
        return str(outcome.answer["applied"])

    def must_patch(self, document: dict[str, Any]) -> None:
        applied = self.patch(document)
        assert applied in ("live", "reload"), f"PATCH {document}: {applied}"

    def patches(self, until: float) -> None:
        """Fields that load the model anew, while requests come: none of them changes an answer."""
        wants = [want for want in self.wants if want.lanes == 1]
        crowd = self.crowd(wants, AWAY)
        crowd.start(crowd.wanting, 4)
        crowd.start(crowd.wanting_by_socket, 1)
        crowd.start(crowd.leaving_in_stream, 1, 0.3)
        crowd.start(crowd.watching, 1, 0.1)
        applied: Counter[str] = Counter()
        while True:
            document: dict[str, Any] = self.choose.choice(
                (
                    {"model": {"decode_lanes": self.choose.randrange(1, 9)}},
                    {
                        "model": {
                            "prefill_chunk": 64 * self.choose.randrange(1, 9),
                            "decode_share": self.choose.choice((0, 50)),
                        }
                    },
                    {"vram": {"kv_pool_bytes": f"{self.context * self.choose.choice((2, 3))}tok"}},
                    {"reuse": {"prompt": self.choose.random() < 0.5}},
                    {"reuse": {"kv_host_pool_bytes": self.choose.choice(("0", "64M"))}},
                    {"model": {"max_context": self.context}, "server": {"write_timeout": 5}},
                )
            )
            applied[self.patch(document)] += 1
            if time.monotonic() > until - 2:
                break
            time.sleep(0.3)
        back = {group: self.main_settings[group] for group in ("model", "vram", "reuse")}
        applied["back: " + self.patch(back)] += 1
        self.check_tally("patches under load", crowd.stop(), f"; applied {dict(applied)}")
        is_right = set(applied) <= {"reload", "live", "switch_in_progress", "back: reload"}
        self.check("patches", is_right, f"{dict(applied)}")
        self.settle(self.running, "patches")

    def switches(self, until: float) -> None:
        """Two models by name, back and forth, while their requests come, and orders beside them."""
        crowd = self.crowd(allowed=(*AWAY, "model_switching"))
        before = self.running.metric("ignis_model_switches_total", outcome="switched")
        crowd.start(crowd.wanting_either, 4)
        crowd.start(crowd.leaving_in_stream, 1, 0.3)
        crowd.start(crowd.leaving_while_held, 2, 0.3)
        crowd.start(crowd.watching, 1, 0.1)
        orders: Counter[str] = Counter()
        while time.monotonic() < until - 1.5:
            time.sleep(self.choose.random())
            if self.choose.random() < 0.7:
                body = {"model": self.choose.choice(("first", "twin"))}
                outcome = ask(self.running.port, "/v1/models/switch", body, self.limit_s)
            else:
                outcome = ask(self.running.port, "/v1/models/unload", {}, self.limit_s)
            orders[outcome.code or (outcome.answer or {}).get("status") or outcome.lost or "hung"] += 1
        tally = crowd.stop()
        made = self.running.metric("ignis_model_switches_total", outcome="switched") - before
        self.check_tally("switches", tally, f"; {made:.0f} switches, orders {dict(orders)}")
        is_right = not set(orders) - {"serving", "switching", "loading", "unloading", "unloaded", "switch_in_progress"}
        self.check("orders", is_right and made > 0, f"{dict(orders)}")
        self.settle(self.running, "switches")

    def cut(self, until: float) -> None:
        """Orders that have no patience: what runs is cut with a word, and what comes then is right."""
        self.must_patch({"switch": {"drain_timeout": 0}})
        crowd = self.crowd(allowed=(*AWAY, "engine_error"))
        crowd.start(crowd.wanting_either, 5)
        crowd.start(crowd.wanting_by_socket, 1)
        orders: Counter[str] = Counter()
        impossible: dict[str, dict[str, Any]] = {
            "a pool of one page": {"vram": {"kv_pool_bytes": "64tok"}},
            "a budget of nothing": {"vram": {"budget_bytes": 1 << 20}},
            "another context": {"model": {"max_context": 1 << 20}},
        }
        while True:
            choice = self.choose.random()
            if choice < 0.4:
                body = {"model": self.choose.choice(("first", "twin"))}
                outcome = ask(self.running.port, "/v1/models/switch", body, self.limit_s)
                orders[outcome.code or "switched"] += 1
            elif choice < 0.6:
                outcome = ask(self.running.port, "/v1/models/unload", {}, self.limit_s)
                orders[outcome.code or "unloaded"] += 1
            else:
                what, document = self.choose.choice(list(impossible.items()))
                orders[f"{what}: {self.patch(document)}"] += 1
            if time.monotonic() > until - 1.5:
                break
            time.sleep(self.choose.random() * 0.4)
        tally = crowd.stop()
        self.must_patch({"switch": {"drain_timeout": 60}})
        taken = [name for name in orders if name.endswith(("live", "reload"))]
        self.check_tally("cut by orders", tally, f"; {dict(orders)}", least=0)
        self.check("cut by orders, what cannot be", not taken, f"{taken or 'none of it was taken'}")
        again = self.crowd()
        for model in ("twin", "first"):
            again.together([want for want in self.wants if model in want.known and want.lanes == 1][:4], model)
        self.check_tally("cut by orders, then", again.stop(), least=8)
        self.settle(self.running, "cut", LOAD_EVENTS)

    def damaged(self, until: float) -> None:
        """The twin's file loses its end while it is read: its requests are told so, and the first model serves."""
        twin = self.folder / "twin.gguf"
        whole = twin.read_bytes()
        told: Counter[str] = Counter()
        crowd = self.crowd()
        while True:
            answers: list[Outcome] = []

            def want(answers: list[Outcome] = answers) -> None:
                answers.append(ask_for(self.running.port, self.wants[0], "stream", self.limit_s, model="twin"))

            thread = threading.Thread(target=want, daemon=True)
            thread.start()
            time.sleep(self.choose.random() * 0.3)
            os.truncate(twin, self.choose.choice((0, 1000, len(whole) // 5, len(whole) // 2, len(whole) - 1)))
            thread.join(self.limit_s + 1)
            (outcome,) = answers
            told[outcome.code or outcome.lost or ("hung" if outcome.hung else "answered")] += 1
            # The old file is no longer the one that is written.
            twin.unlink()
            twin.write_bytes(whole)
            crowd.together([self.wants[0], self.wants[2]])
            if time.monotonic() > until - 1:
                break
        is_right = set(told) <= {"model_load_failed", "answered", "model_not_found"}
        self.check("damaged", is_right, f"the twin, cut while it is loaded: {dict(told)}")
        crowd.together([self.wants[0]], "twin")
        self.check_tally("damaged, the first", crowd.stop(), least=3)
        self.settle(self.running, "damaged", LOAD_EVENTS)

    def memory(self, server: Server) -> dict[str, int]:
        return {"resident": server.resident_bytes()}

    def idle(self, until: float) -> None:
        """Unloaded after a second of rest, and woken by eight at once, again and again."""
        server, crowd = self.running, self.crowd()
        single = [want for want in self.wants if want.lanes == 1]
        self.must_patch({"model": {"idle_unload": 1}})
        asleep: list[dict[str, int]] = []
        awake: list[dict[str, int]] = []
        coming = self.crowd(single)
        coming.start(lambda choose: self._come_as_it_leaves(coming, choose), 3)
        time.sleep(min(6.0, max(0.0, until - time.monotonic()) / 3))
        self.check_tally("coming as it is unloaded", coming.stop(), f"; {self._unloads(server):.0f} unloads so far")
        while len(asleep) < 2 or time.monotonic() < until - 3:
            crowd.together([self.choose.choice(single) for _ in range(8)])
            awake.append(self.memory(server))
            server.wait_metric("ignis_model_state", 1, self.limit_s, state="unloaded")
            time.sleep(0.3)
            asleep.append(self.memory(server))
        self.must_patch({"model": {"idle_unload": 0}})
        self.check_tally("idle and woken", crowd.stop(), f"; {len(asleep)} times")
        for kind in asleep[0]:
            grown = asleep[-1][kind] - asleep[0][kind]
            figures = (
                f"awake {[each[kind] >> 20 for each in awake]}, asleep {[each[kind] >> 20 for each in asleep]} MiB"
            )
            fell = all(up[kind] > down[kind] for up, down in zip(awake, asleep, strict=True))
            self.check(f"idle, {kind} memory", fell and grown < GROWTH_BYTES, figures)
        self.settle(server, "idle")

    def _come_as_it_leaves(self, crowd: Crowd, choose: random.Random) -> None:
        crowd.wanting(choose)
        crowd.is_over.wait(choose.uniform(0.95, 1.1))

    def _unloads(self, server: Server) -> float:
        return server.metric("ignis_model_unloads_total", reason="idle")

    def terminated(self, until: float) -> None:
        """SIGTERM in the middle of everything: each request ends with a word, and the process with status 0."""
        kinds = (
            ("load", self._load_it),
            ("a switch", self._switch_it),
            ("a load", self._wake_it),
            ("load, no patience", self._drain_out),
        )
        for number, (what, deed) in enumerate(kinds):
            if number and time.monotonic() > until - 2:
                break
            server = self.running
            crowd = self.crowd(allowed=(*AWAY, "server_draining"))
            deed(crowd)
            crowd.may_lose_after = time.monotonic() - 0.05
            began = time.monotonic()
            server.process.send_signal(signal.SIGTERM)
            crowd.is_over.wait(0.3)
            try:
                status = server.process.wait(DRAIN_S + 15)
            except subprocess.TimeoutExpired:
                status = -1000
                server.process.kill()
            took = time.monotonic() - began
            tally = crowd.stop()
            server.stop()
            faults = self.log_faults(server)
            self.server = None
            self.check_tally(f"SIGTERM in {what}", tally, f"; over after {took:.1f} s", least=0)
            self.check(
                f"SIGTERM in {what}, exit",
                status == 0 and took < DRAIN_S + 5 and not faults,
                f"status {status} {faults[:4] or ''}",
            )
        crowd = self.crowd()
        crowd.together(self.wants[:4])
        self.check_tally("started again", crowd.stop(), least=4)

    def _load_it(self, crowd: Crowd) -> None:
        crowd.start(crowd.wanting, 5)
        crowd.start(crowd.wanting_by_socket, 2)
        crowd.start_nuisances()
        time.sleep(2)

    def _switch_it(self, crowd: Crowd) -> None:
        crowd.start(crowd.wanting_either, 6)
        time.sleep(1)
        ask(crowd.port, "/v1/models/switch", {"model": "twin"}, self.limit_s)

    def _wake_it(self, crowd: Crowd) -> None:
        ask(crowd.port, "/v1/models/unload", {}, self.limit_s)
        self.running.wait_metric("ignis_model_state", 1, self.limit_s, state="unloaded")
        crowd.start(crowd.wanting, 6)
        time.sleep(self.choose.random() * 0.5)

    def _drain_out(self, crowd: Crowd) -> None:
        self.must_patch({"server": {"drain_timeout": 0}})
        crowd.start(crowd.wanting, 6)
        crowd.allowed += ("engine_error",)
        time.sleep(2)

    def killed(self, until: float) -> None:
        """kill -9 under load; the next one on the same ports serves, whatever was left."""
        rounds = 0
        while rounds < 1 or time.monotonic() < until - 3:
            rounds += 1
            server = self.running
            crowd = self.crowd(allowed=AWAY)
            crowd.start(crowd.wanting, 5)
            crowd.start(crowd.leaving_in_stream, 1)
            time.sleep(self.choose.uniform(0.5, 2))
            crowd.may_lose_after = 0.0
            server.process.kill()
            tally = crowd.stop()
            server.process.wait(10)
            server.stop()
            self.server = None
            tally.faults = [fault for fault in tally.faults if "lost" not in fault]
            self.check_tally("kill -9", tally, least=0)
            self.after_kill()
            began = time.monotonic()
            self.server = self.start_main()
            ready_s = time.monotonic() - began
            again = self.crowd()
            again.together([self.wants[index] for index in (0, 1, 5, 8)], way="stream")
            self.check_tally("after kill -9", again.stop(), f"; ready after {ready_s:.1f} s", least=4)
        self.settle(self.running, "killed")

    def after_kill(self) -> None:
        """What is to be looked at once a killed server is gone."""

    def final(self, until: float) -> None:
        if self.server is not None:
            crowd = self.crowd()
            for way in WAYS:
                crowd.together(self.wants[:3], way=way)
            self.check_tally("at the end", crowd.stop(), least=9)
            self.settle(self.server, "end")
            self.end(self.server, "end")
