"""The keeper over the real engine, whose loop thread runs the scripted leaf; models are tiny files on disk."""

import contextlib
import gc
import io
import json
import math
import re
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio

from ignis.config_fields import ConfigFields
from ignis.engine.course import LastLoad
from ignis.engine.engine import Engine
from ignis.engine.gate import KeeperSettings, Patience
from ignis.engine.keeper import ModelKeeper
from ignis.engine.lifecycle import EngineState, LoadedModel, ModelStatus
from ignis.engine.settings import LoadSettings
from ignis.engine.switching import SwitchOutcome, SwitchPhase
from ignis.errors import (
    BusyError,
    DeviceLoadError,
    DrainingError,
    EngineError,
    LoadPlanError,
    ModelNotFoundError,
    ModelSwitchingError,
    RequestTimeoutError,
    ServerNotReadyError,
    SwitchFailedError,
    SwitchInProgressError,
)
from ignis.log import LogFormat, open_log
from ignis.metrics import Metrics
from ignis.models.local import LocalModel, LocalModels
from ignis.process import resident_bytes
from ignis.scheduler.request import FinishReason
from ignis.units import PoolSize
from tests.fakes.leaf import ScriptedLeaf
from tests.settings import engine_settings
from tests.unit.engine.test_engine import ask, read, until
from tests.unit.models.writers import tiny_gguf, u32

SETTINGS = replace(KeeperSettings.from_config(ConfigFields()), idle_unload_s=0)

AT_EASE = Patience()


class Bench:
    """A keeper, its engine and leaf, and a folder with the models a, b and c."""

    def __init__(self, folder: Path, settings: KeeperSettings = SETTINGS) -> None:
        for name in ("a", "b", "c"):
            tiny_gguf().write(folder / f"{name}.gguf")
        self.folder = folder
        self.leaf = ScriptedLeaf()
        self.log = io.StringIO()
        self.metrics = Metrics("test")
        self.loaded: list[str] = []
        self.num_forgotten = 0
        self.later_s = 0.0
        """By how much the keeper's clock is ahead."""
        log = open_log(self.log, LogFormat.JSON, "debug")
        self.engine = Engine(engine_settings(prefill_chunk=64), lambda: self.leaf, log, self.metrics)
        self.keeper = ModelKeeper(
            self.engine,
            LocalModels(folder),
            settings,
            log,
            self.metrics,
            prepare=self._prepare,
            forget=self._forget,
            on_loaded=lambda model, _: self.loaded.append(model.name),
            clock=lambda: trio.current_time() + self.later_s,
        )

    async def _prepare(self, _model: LoadedModel) -> None:
        await trio.lowlevel.checkpoint()

    def _forget(self) -> None:
        self.num_forgotten += 1

    async def start(self, nursery: trio.Nursery, name: str = "a") -> None:
        await self.start_without(nursery)
        self.find(name)

    async def start_without(self, nursery: trio.Nursery) -> None:
        """With no first model yet."""
        await nursery.start(self.engine.run)
        nursery.start_soon(self.keeper.run)

    def find(self, name: str) -> None:
        """The first model is here."""
        self.keeper.start_with(LocalModel(name, self.folder / f"{name}.gguf"))

    async def answer(self, name: str | None, patience: Patience = AT_EASE) -> str:
        """Waits for a model, has it answer, and returns which one it was."""
        use = await self.keeper.gate.enter(name, patience)
        self.keeper.gate.leave()
        (mailbox,) = self.engine.submit([ask()])
        assert (await read(mailbox))[1].finish is FinishReason.LENGTH
        return use.model.name

    def outcome(self) -> SwitchOutcome | None:
        """Of the last switch."""
        switch = self.keeper.course.last_switch
        return None if switch is None else switch.outcome

    def metric(self, line: str) -> float:
        (found,) = [row for row in self.metrics.expose().decode().splitlines() if row.startswith(line + " ")]
        return float(found.split()[-1])

    def counted(self, family: str) -> dict[str, float]:
        """What a counter has come to, by its one label's value; without those of which there was nothing."""
        rows = re.findall(rf'^{family}_total{{\w+="(\w+)"}} (\S+)$', self.metrics.expose().decode(), re.MULTILINE)
        return {value: float(number) for value, number in rows if float(number)}

    def logged(self, event: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.log.getvalue().splitlines()]
        return [line for line in lines if line["event"] == event]


def num_open(folder: Path) -> int:
    """Descriptors that this process has of a folder's files."""
    found = []
    for link in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            found.append(link.readlink())
    return sum(path.is_relative_to(folder) for path in found)


@pytest.fixture
def cold(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.leaf.is_load_held = False
    bench.leaf.release()


@pytest.fixture
async def bench(cold: Bench, nursery: trio.Nursery) -> AsyncIterator[Bench]:
    """With a serving."""
    await cold.start(nursery)
    assert await cold.answer(None) == "a"
    yield cold
    cold.leaf.is_load_held = False
    cold.leaf.release()


async def test_a_request_waits_for_the_first_load(cold: Bench, nursery: trio.Nursery) -> None:
    await cold.start(nursery)
    assert await cold.answer(None) == "a"
    assert cold.keeper.course.status is ModelStatus.SERVING
    assert cold.metric('ignis_model_state{state="serving"}') == 1


async def test_what_comes_before_the_first_model_is_found_waits_for_it(cold: Bench, nursery: trio.Nursery) -> None:
    await cold.start_without(nursery)
    cold.keeper.expect("first")
    told: list[str] = []
    answered: list[str] = []

    async def tell() -> None:
        told.append(cold.keeper.course.status.value)
        await trio.lowlevel.checkpoint()

    async def client(name: str | None) -> None:
        answered.append(await cold.answer(name, Patience(long_s=0.01, on_long=tell)))

    async with trio.open_nursery() as requests:
        for name in (None, "first"):
            requests.start_soon(client, name)
        await until(lambda: len(told) == 2)
        with pytest.raises(RequestTimeoutError):
            await cold.answer("first", Patience(timeout_s=0.01))
        assert told == ["loading"] * 2 and len(cold.keeper.gate.wishes) == 2
        cold.keeper.start_with(LocalModel("first", cold.folder / "a.gguf"))
    assert answered == ["first"] * 2 and cold.loaded == ["first"]


async def test_while_the_first_model_is_fetched_others_are_served_and_it_takes_no_place(
    cold: Bench, nursery: trio.Nursery
) -> None:
    await cold.start_without(nursery)
    cold.keeper.expect("first", lambda: 90.0)
    assert not cold.keeper.ask_unload()
    reload = cold.keeper.ask_reload(LoadSettings(replace(cold.engine.settings, decode_lanes=2)))
    assert reload.over.is_set() and reload.error is None
    with pytest.raises(ModelNotFoundError, match="the model first is being fetched"):
        await cold.keeper.ask_switch("first")
    assert await cold.answer("b") == "b" and cold.engine.num_lanes == 2
    assert cold.keeper.course.status is ModelStatus.SERVING
    await cold.keeper.ask_switch("c")
    # Whatever serves is what it means that names none.
    assert await cold.answer(None) == "c"
    assert cold.keeper.ask_unload()
    await until(lambda: cold.keeper.course.status is ModelStatus.UNLOADED)
    assert await cold.answer("c") == "c"
    held: list[str] = []

    async def client() -> None:
        held.append(await cold.answer("first"))

    cold.find("a")
    assert await cold.answer(None) == "c" and cold.loaded == ["b", "c", "c"]
    cold.keeper.expect("first", lambda: 90.0)
    async with trio.open_nursery() as requests:
        requests.start_soon(client)
        await until(lambda: len(cold.keeper.gate.wishes) == 1)
        cold.keeper.start_with(LocalModel("first", cold.folder / "a.gguf"))
    assert held == ["first"] and cold.loaded == ["b", "c", "c", "first"]


async def test_a_bad_model_named_meanwhile_stops_nobody_from_waiting_for_the_first_one(
    cold: Bench, nursery: trio.Nursery
) -> None:
    await cold.start_without(nursery)
    cold.keeper.expect("a")
    answered: list[str] = []

    async def client(name: str | None) -> None:
        answered.append(await cold.answer(name))

    async with trio.open_nursery() as requests:
        for name in (None, "a"):
            requests.start_soon(client, name)
        for fault in ("plan", "reading"):
            cold.leaf.load_faults[fault] = LoadPlanError("the card is full")
            # Not the server's end, though nothing was loaded before.
            with pytest.raises(SwitchFailedError):
                await cold.answer("b")
        assert cold.keeper.course.status is ModelStatus.LOADING
        cold.find("a")
    assert answered == ["a"] * 2


@pytest.mark.parametrize("how", ["have_none", "fail_start"])
async def test_whoever_waits_for_a_first_model_that_does_not_come_is_told_so(
    cold: Bench, nursery: trio.Nursery, how: str
) -> None:
    await cold.start_without(nursery)
    cold.keeper.expect("first", lambda: 90.0)
    told: list[str] = []

    async def client(name: str | None) -> None:
        with pytest.raises(ServerNotReadyError) as refused:
            await cold.answer(name)
        told.append(refused.value.message)

    async with trio.open_nursery() as requests:
        for name in (None, "first"):
            requests.start_soon(client, name)
        await until(lambda: len(cold.keeper.gate.wishes) == 2)
        getattr(cold.keeper, how)("the download was stopped")
    says = "the download was stopped"
    assert told == [says if how == "have_none" else f"the model failed: {says}"] * 2
    # Whoever names it later is told the same, not that there is no such model.
    with pytest.raises(ServerNotReadyError, match=says):
        await cold.answer("first")
    cold.keeper.have_none(says)
    assert cold.keeper.course.status is ModelStatus.UNLOADED
    assert await cold.answer("b") == "b"
    # Nor does it touch what serves by then.
    getattr(cold.keeper, how)("it is gone")
    assert await cold.answer(None) == "b"


async def test_naming_another_model_is_answered_by_that_one(bench: Bench) -> None:
    assert await bench.answer("b") == "b"
    assert await bench.answer("b") == "b"
    assert await bench.answer(None) == "b"
    assert bench.loaded == ["a", "b"]
    await until(lambda: bench.keeper.course.last_switch is not None)
    switch = bench.keeper.course.last_switch
    assert switch is not None
    assert (switch.before, switch.to, switch.outcome, switch.waited) == ("a", "b", SwitchOutcome.SWITCHED, 1)
    assert set(switch.seconds) == set(SwitchPhase)
    assert bench.counted("ignis_model_switches") == {"switched": 1}
    assert bench.counted("ignis_model_loads") == {"loaded": 2} and bench.counted("ignis_model_unloads") == {"switch": 1}
    seconds = {phase.value: each for phase, each in switch.seconds.items() if each}
    assert seconds.keys() >= {"load"}
    assert bench.counted("ignis_model_switch_seconds") == pytest.approx(seconds, rel=1e-3)


async def test_whoever_comes_while_a_model_is_loaded_has_waited_for_it_too(bench: Bench, nursery: trio.Nursery) -> None:
    bench.leaf.is_load_held = True
    await bench.keeper.ask_switch("b")
    assert await trio.to_thread.run_sync(bench.leaf.has_held.wait, 10)
    for name in ("b", "b", None):
        nursery.start_soon(bench.answer, name)
    await until(lambda: len(bench.keeper.gate.wishes) == 3)
    bench.leaf.is_load_held = False
    await until(lambda: bench.keeper.course.last_switch is not None)
    assert bench.keeper.course.last_switch is not None and bench.keeper.course.last_switch.waited == 3
    assert [line["waited"] for line in bench.logged("ignis.model.switched")] == [3]


async def test_a_switch_that_is_asked_for_is_under_way_at_once(bench: Bench) -> None:
    assert (await bench.keeper.ask_switch("b")).name == "b"
    with pytest.raises(SwitchInProgressError):
        await bench.keeper.ask_switch("c")
    with pytest.raises(SwitchInProgressError):
        bench.keeper.ask_unload()
    assert await bench.answer(None) == "b"
    assert (await bench.keeper.ask_switch("b")).name == "b"
    assert bench.keeper.course.status is ModelStatus.SERVING


async def test_an_order_has_the_next_turn_whatever_requests_have_come_and_go(bench: Bench) -> None:
    """Two clients name two models in turn, so that a switch is nearly always under way."""
    is_over, changes = False, bench.keeper.course.changes

    async def client(name: str) -> None:
        while not is_over:
            assert await bench.answer(name) == name

    async def obeyed(done: Callable[[], bool]) -> None:
        num_loads = len(bench.loaded)
        await until(done)
        assert len(bench.loaded) <= num_loads + 2, "what was under way, and the one that was ordered"

    async with trio.open_nursery() as requests:
        for name in ("a", "b"):
            requests.start_soon(client, name)
        for number in range(5):
            await until(lambda: bench.keeper.course.coming is not None)
            num_loads = len(bench.loaded)
            await bench.keeper.ask_switch("c")
            await obeyed(lambda start=num_loads: "c" in bench.loaded[start:])  # type: ignore[misc]
            await until(lambda: bench.keeper.course.coming is not None and not bench.keeper.course.is_asked)
            changes.clear()
            assert bench.keeper.ask_unload()
            await obeyed(lambda: any(change.to is None for change in changes))
            await until(lambda: bench.keeper.course.coming is not None)
            settings = LoadSettings(replace(bench.engine.settings, decode_lanes=2 + number % 2))
            reload = bench.keeper.ask_reload(settings)
            await obeyed(reload.over.is_set)
            assert reload.error is None and bench.engine.num_lanes == 2 + number % 2
        is_over = True


async def test_an_order_for_what_comes_anyway_keeps_it_coming(bench: Bench) -> None:
    await bench.keeper.gate.enter("a", AT_EASE)
    async with trio.open_nursery() as requests:
        requests.start_soon(bench.answer, "b")
        await until(lambda: bench.engine.state is EngineState.LEAVING)
        await bench.keeper.ask_switch("b")
        requests.cancel_scope.cancel()
    bench.keeper.gate.leave()
    assert await bench.answer(None) == "b" and bench.loaded == ["a", "b"]


async def test_an_order_for_what_serves_by_its_turn_loads_nothing(bench: Bench) -> None:
    await bench.keeper.gate.enter("a", AT_EASE)
    async with trio.open_nursery() as requests:
        requests.start_soon(bench.answer, "b")
        await until(lambda: bench.engine.state is EngineState.LEAVING)
        # The switch to b is called off, so that a serves on.
        await bench.keeper.ask_switch("a")
        requests.cancel_scope.cancel()
    assert await bench.answer(None) == "a" and bench.loaded == ["a"]
    bench.keeper.gate.leave()


async def test_whoever_has_to_come_back_is_told_what_is_under_way(bench: Bench, nursery: trio.Nursery) -> None:
    await bench.keeper.ask_switch("b")
    for order in (bench.keeper.ask_unload, lambda: bench.keeper.ask_reload(LoadSettings(bench.engine.settings))):
        with pytest.raises(SwitchInProgressError, match="the model b is to be loaded"):
            order()
    assert await bench.answer(None) == "b"
    use = await bench.keeper.gate.enter("b", AT_EASE)
    assert use.model.name == "b" and bench.keeper.ask_unload()
    with pytest.raises(SwitchInProgressError, match="the model is to be unloaded"):
        bench.keeper.ask_unload()
    await until(lambda: bench.engine.state is EngineState.LEAVING)
    with pytest.raises(SwitchInProgressError, match="the model is being unloaded"):
        bench.keeper.ask_unload()
    bench.keeper.gate.leave()
    assert await bench.answer("a") == "a"
    # Where one failed, it is the old one that is loaded.
    bench.keeper.gate.settings = replace(SETTINGS, max_wait_s=0)
    bench.leaf.load_faults["reading"] = DeviceLoadError("the card is full")
    bench.leaf.is_load_held = True
    await bench.keeper.ask_switch("b")
    with trio.fail_after(20):
        while bench.keeper.course.coming is None or bench.keeper.course.coming.name != "a":
            await bench.keeper.course.wait_change()
    says = "the model b could not be loaded, and a is being loaded back"
    with pytest.raises(SwitchInProgressError, match=says) as refused:
        await bench.keeper.ask_switch("c")
    assert refused.value.param == "model"
    with pytest.raises(ModelSwitchingError, match=says) as late:
        await bench.answer("c")
    assert late.value.param == "model"
    assert bench.keeper.course.return_reason == "the card is full"
    bench.leaf.is_load_held = False
    assert await bench.answer(None) == "a" and bench.keeper.course.return_reason is None


async def test_whoever_has_to_come_back_is_told_when(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def told() -> int | None:
        with pytest.raises(SwitchInProgressError) as refused:
            bench.keeper.ask_unload()
        return refused.value.retry_after_s

    # A load of what was never loaded takes two seconds and what its size says.
    await bench.keeper.ask_switch("b")
    assert told() == 3
    assert await bench.answer(None) == "b"
    # An answer is waited for, as long as it may take.
    use = await bench.keeper.gate.enter("b", AT_EASE)
    assert use.model.name == "b"
    monkeypatch.setattr(type(bench.engine), "most_seconds_to_end", lambda _engine: 7.0)
    await bench.keeper.ask_switch("c")
    assert told() == 10
    await until(lambda: bench.engine.state is EngineState.LEAVING)
    assert told() in (9, 10)
    bench.keeper.gate.settings = replace(SETTINGS, drain_timeout_s=4)
    assert told() in (6, 7)
    monkeypatch.setattr(type(bench.engine), "most_seconds_to_end", lambda _engine: 0.0)
    bench.keeper.gate.leave()
    assert await bench.answer(None) == "c"
    # What was loaded before takes as long as it did then.
    loads, path = bench.keeper.course.loads, bench.folder / "b.gguf"
    loads[path] = replace(loads[path], seconds=20.5)
    await bench.keeper.ask_switch("b")
    assert told() == 21
    assert await bench.answer(None) == "b"
    # An unload waits no longer than the drain has left.
    await bench.keeper.gate.enter("b", AT_EASE)
    monkeypatch.setattr(type(bench.engine), "most_seconds_to_end", lambda _engine: 7.0)
    bench.keeper.ask_unload()
    await until(lambda: bench.engine.state is EngineState.LEAVING)
    assert bench.keeper.course.drained_since_s is not None and told() in (3, 4)
    bench.keeper.course.drained_since_s -= 2.5
    assert told() in (1, 2)
    bench.keeper.gate.leave()
    await until(lambda: bench.keeper.course.status is ModelStatus.UNLOADED)
    assert bench.keeper.course.drained_since_s is None


@pytest.mark.parametrize("is_idle", [False, True])
async def test_whoever_comes_while_the_old_settings_are_gone_back_to_is_told_so(bench: Bench, is_idle: bool) -> None:
    if is_idle:
        bench.keeper.ask_unload()
        await until(lambda: bench.keeper.course.status is ModelStatus.UNLOADED)
    bench.leaf.load_faults["reading"] = DeviceLoadError("the card is full")
    bench.leaf.is_load_held = True
    reload = bench.keeper.ask_reload(LoadSettings(replace(bench.engine.settings, decode_lanes=2)))
    says = "the model a could not be loaded by other settings, and is being loaded back by the old"
    with trio.fail_after(20):
        while not bench.keeper.course.is_returning:
            await bench.keeper.course.wait_change()
    with pytest.raises(SwitchInProgressError, match=says):
        await bench.keeper.ask_switch("c")
    bench.leaf.is_load_held = False
    await reload.over.wait()
    assert isinstance(reload.error, DeviceLoadError) and await bench.answer(None) == "a"


async def test_requests_for_the_same_model_join_one_load(bench: Bench) -> None:
    answered: list[str] = []

    async def one() -> None:
        answered.append(await bench.answer("b"))

    async with trio.open_nursery() as requests:
        for _ in range(6):
            requests.start_soon(one)
    assert answered == ["b"] * 6 and bench.loaded == ["a", "b"]


async def test_requests_for_many_models_are_all_answered_by_their_own(bench: Bench) -> None:
    answered: list[tuple[str, str]] = []

    async def client(names: str) -> None:
        for name in names:
            answered.append((name, await bench.answer(name)))

    async with trio.open_nursery() as requests:
        for names in ("abcabc", "bcabca", "cabcab", "aaabbb"):
            requests.start_soon(client, names)
    assert len(answered) == 24 and all(wanted == got for wanted, got in answered)
    assert bench.metric("ignis_model_ping_pongs_total") > 0
    assert len(bench.logged("ignis.model.ping_pong")) == 1


async def test_what_runs_may_end_before_another_model_comes(bench: Bench, nursery: trio.Nursery) -> None:
    bench.leaf.hold()
    (mailbox,) = bench.engine.submit([ask()])
    nursery.start_soon(bench.answer, "b")
    await until(lambda: bench.engine.state is EngineState.LEAVING)
    assert bench.keeper.course.status is ModelStatus.SWITCHING
    bench.leaf.release()
    assert (await read(mailbox))[1].finish is FinishReason.LENGTH
    await until(lambda: bench.loaded == ["a", "b"])


@pytest.mark.parametrize(
    ("order", "why"),
    [
        (lambda bench, nursery: nursery.start_soon(bench.answer, "b"), "another model was asked for"),
        (lambda bench, _: bench.keeper.ask_unload(), "its model was unloaded by order"),
        (
            lambda bench, _: bench.keeper.ask_reload(LoadSettings(engine_settings(prefill_chunk=128))),
            "its model is loaded anew by other settings",
        ),
    ],
)
async def test_what_runs_too_long_is_ended_and_told_why_and_what_to_do(
    bench: Bench, nursery: trio.Nursery, order: Callable[[Bench, trio.Nursery], object], why: str
) -> None:
    bench.keeper.gate.settings = replace(SETTINGS, drain_timeout_s=0)
    bench.leaf.hold()
    num_steps = len(bench.leaf.steps)
    (mailbox,) = bench.engine.submit([ask(max_tokens=100)])
    # In a step, for only that holds the unload up.
    await trio.to_thread.run_sync(bench.leaf.wait_steps, num_steps + 1)
    order(bench, nursery)
    await until(lambda: bench.engine.state is EngineState.UNLOADING)
    bench.leaf.release()
    last = (await read(mailbox))[1]
    assert last.finish is FinishReason.CUT_OFF and last.told is not None
    assert why in last.told and "running answers had 0 s to end; sent again" in last.told
    # An end like another: an alert on faults is none of it.
    done = bench.logged("ignis.request.done")[-1]
    assert (done["finish_reason"], done["reason"]) == ("cut_off", last.told)
    assert not bench.logged("ignis.request.fault")


async def test_whoever_entered_keeps_the_model_until_it_leaves(bench: Bench, nursery: trio.Nursery) -> None:
    await bench.keeper.gate.enter("a", AT_EASE)
    nursery.start_soon(bench.answer, "b")
    await until(lambda: bench.engine.state is EngineState.LEAVING)
    (mailbox,) = bench.engine.submit([ask()])
    bench.keeper.gate.leave()
    assert (await read(mailbox))[1].finish is FinishReason.LENGTH
    await until(lambda: bench.loaded == ["a", "b"])


async def test_a_client_that_leaves_withdraws_its_wish(bench: Bench) -> None:
    await bench.keeper.gate.enter("a", AT_EASE)
    async with trio.open_nursery() as requests:
        requests.start_soon(bench.answer, "b")
        await until(lambda: bench.engine.state is EngineState.LEAVING)
        requests.cancel_scope.cancel()
    await until(lambda: bench.engine.state is EngineState.SERVING)
    bench.keeper.gate.leave()
    assert await bench.answer(None) == "a"
    assert bench.loaded == ["a"] and len(bench.keeper.gate.wishes) == 0
    assert bench.counted("ignis_model_switches") == {"called_off": 1}
    # A mapping has a descriptor of its own.
    assert num_open(bench.folder) == 2


async def test_a_bad_target_never_touches_the_loaded_model(bench: Bench) -> None:
    (bench.folder / "bad.gguf").write_bytes(b"GGUF" + bytes(60))
    with pytest.raises(SwitchFailedError, match=r"bad could not be loaded: bad\.gguf") as refused:
        await bench.answer("bad")
    assert refused.value.param == "model"
    assert bench.loaded == ["a"] and bench.leaf.is_loaded
    assert bench.keeper.course.last_switch is not None
    assert bench.keeper.course.last_switch.outcome is SwitchOutcome.REFUSED
    assert bench.counted("ignis_model_switches") == {"refused": 1}
    # It was not loaded, so no load of it failed; the log has what is wrong with it.
    assert bench.counted("ignis_model_loads") == {"loaded": 1}
    assert [line["id"] for line in bench.logged("ignis.model.load_failed")] == ["bad"]
    assert await bench.answer("a") == "a"


async def test_a_target_that_does_not_fit_never_touches_the_loaded_model(bench: Bench) -> None:
    bench.leaf.load_faults["plan"] = LoadPlanError("the plan's line weights needs 9 GiB")
    with pytest.raises(SwitchFailedError, match="line weights needs 9 GiB"):
        await bench.answer("b")
    assert bench.outcome() is SwitchOutcome.REFUSED and bench.loaded == ["a"]
    assert await bench.answer(None) == "a"
    assert bench.loaded == ["a"]


async def test_a_load_that_fails_brings_the_old_model_back(bench: Bench) -> None:
    bench.leaf.load_faults["reading"] = DeviceLoadError("the card is full")
    with pytest.raises(SwitchFailedError, match="the card is full"):
        await bench.answer("b")
    assert await bench.answer(None) == "a"
    assert bench.loaded == ["a", "a"]
    await until(lambda: bench.outcome() is SwitchOutcome.RETURNED)
    assert bench.counted("ignis_model_switches") == {"returned": 1}
    assert bench.counted("ignis_model_loads") == {"loaded": 2, "failed": 1}


async def test_where_the_old_one_fails_too_it_is_failed_and_another_may_come(bench: Bench) -> None:
    bench.leaf.load_faults["reading"] = DeviceLoadError("the card is full")
    (bench.folder / "a.gguf").write_bytes(b"GGUF" + bytes(60))
    with pytest.raises(SwitchFailedError):
        await bench.answer("b")
    await until(lambda: bench.keeper.course.status is ModelStatus.FAILED)
    assert bench.counted("ignis_model_switches") == {"failed": 1}
    # The load back is one too.
    assert bench.counted("ignis_model_loads") == {"loaded": 1, "failed": 2}
    assert [line["id"] for line in bench.logged("ignis.model.load_failed")] == ["b", "a"]
    with pytest.raises(ServerNotReadyError, match="the model failed"):
        await bench.answer(None)
    with pytest.raises(ServerNotReadyError, match="the model failed"):
        await bench.answer("a")
    assert await bench.answer("c") == "c"


async def test_an_unknown_model_is_refused_at_once(bench: Bench) -> None:
    with pytest.raises(ModelNotFoundError, match="x is not known here; a, b, c are"):
        await bench.answer("x")
    with pytest.raises(ModelNotFoundError):
        await bench.keeper.ask_switch("x")
    assert bench.loaded == ["a"]


async def test_requests_may_be_kept_from_choosing(bench: Bench) -> None:
    bench.keeper.gate.settings = replace(SETTINGS, is_implicit=False)
    with pytest.raises(ModelNotFoundError, match=r"switch\.allow_implicit is false"):
        await bench.answer("b")
    await bench.keeper.ask_switch("b")
    assert await bench.answer("b") == "b"


async def test_whoever_has_to_wait_too_long_for_its_turn_is_told_when_to_come_back(bench: Bench) -> None:
    bench.keeper.gate.settings = replace(SETTINGS, max_wait_s=0)
    bench.leaf.is_load_held = True
    await bench.keeper.ask_switch("b")
    assert await trio.to_thread.run_sync(bench.leaf.has_held.wait, 10)
    with pytest.raises(ModelSwitchingError, match="the model b is being loaded") as refused:
        await bench.answer("c")
    assert refused.value.retry_after_s is not None and 1 <= refused.value.retry_after_s <= 600
    bench.leaf.is_load_held = False
    assert await bench.answer(None) == "b"


async def test_who_may_be_served_in_time_waits_and_others_are_told_when_it_is_at_the_latest(
    bench: Bench, nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(bench.engine), "seconds_to_end", lambda _engine: 1.0)
    monkeypatch.setattr(type(bench.engine), "most_seconds_to_end", lambda _engine: 100.0)
    bench.keeper.gate.settings = replace(SETTINGS, max_wait_s=60, drain_timeout_s=200)
    bench.leaf.hold()
    bench.engine.submit([ask(max_tokens=100)])
    await bench.keeper.ask_switch("b")
    await until(lambda: bench.engine.state is EngineState.LEAVING)
    nursery.start_soon(bench.answer, "c")
    await until(lambda: len(bench.keeper.gate.wishes) == 1)
    bench.keeper.gate.settings = replace(bench.keeper.gate.settings, max_wait_s=0)
    with pytest.raises(ModelSwitchingError) as refused:
        await bench.answer("c")
    assert refused.value.retry_after_s is not None and refused.value.retry_after_s > 100
    bench.leaf.release()


@pytest.mark.parametrize("is_woken", [False, True])
async def test_when_to_come_back_is_what_the_load_has_left(bench: Bench, nursery: trio.Nursery, is_woken: bool) -> None:
    """Of a load in the place of another model, and of one where nothing is loaded."""
    bench.keeper.gate.settings = replace(SETTINGS, max_wait_s=0, drain_timeout_s=20)
    course, path = bench.keeper.course, bench.folder / "b.gguf"
    model = course.model
    assert model is not None
    course.loads[path] = LastLoad(model.facts(), 40.0, path.stat().st_mtime_ns, path.stat().st_size)

    async def told() -> int:
        with pytest.raises(ModelSwitchingError) as refused:
            await bench.answer("c")
        assert refused.value.retry_after_s is not None
        return refused.value.retry_after_s

    bench.leaf.is_load_held = True
    if is_woken:
        await slept(bench)
    else:
        bench.leaf.hold()
        bench.engine.submit([ask(max_tokens=100)])
    await bench.keeper.ask_switch("b")
    if not is_woken:
        # The running answer has its time before that; nobody knows yet how fast it is.
        await until(lambda: bench.engine.state is EngineState.LEAVING)
        assert await told() == math.ceil(40 + min(20, bench.engine.most_seconds_to_end()))
        bench.leaf.release()
    assert await trio.to_thread.run_sync(bench.leaf.has_held.wait, 10)
    assert 39 <= await told() <= 40
    if not is_woken:
        bench.later_s += 15
        assert 24 <= await told() <= 25
        # Later than it was thought.
        bench.later_s += 100
        assert await told() == 1
    course.loads[path] = LastLoad(model.facts(), 4000.0, path.stat().st_mtime_ns, path.stat().st_size)
    assert await told() == 600
    bench.leaf.is_load_held = False


async def test_the_wait_counts_against_the_requests_time(bench: Bench) -> None:
    bench.leaf.is_load_held = True
    with pytest.raises(RequestTimeoutError):
        await bench.answer("b", Patience(timeout_s=0.05))
    assert len(bench.keeper.gate.wishes) == 0


async def test_a_long_wait_is_told_once(bench: Bench) -> None:
    told: list[int] = []
    oldest = 'ignis_oldest_waiting_seconds{for="model"}'

    async def tell() -> None:
        told.append(len(bench.keeper.gate.wishes))
        assert bench.metric(oldest) >= 0.02
        bench.leaf.is_load_held = False
        await trio.lowlevel.checkpoint()

    bench.leaf.is_load_held = True
    assert await bench.answer("b", Patience(long_s=0.02, on_long=tell)) == "b"
    assert told == [1]
    assert bench.metric(oldest) == 0


async def test_an_idle_model_is_unloaded_and_the_next_request_wakes_it(bench: Bench) -> None:
    bench.keeper.gate.settings = replace(SETTINGS, idle_unload_s=0.02)
    assert await bench.answer("a") == "a"
    await until(lambda: bench.keeper.course.status is ModelStatus.UNLOADED)
    assert not bench.leaf.is_loaded and bench.keeper.course.model is None
    await until(lambda: bench.counted("ignis_model_unloads") == {"idle": 1})
    assert await bench.answer(None) == "a"
    assert bench.loaded == ["a", "a"]


async def slept(bench: Bench) -> None:
    bench.keeper.ask_unload()
    await until(lambda: bench.keeper.course.status is ModelStatus.UNLOADED)


async def test_a_wake_that_fails_is_tried_anew_when_the_client_was_told_to_come_back(bench: Bench) -> None:
    failed = 'ignis_model_loads_total{outcome="failed"}'
    path = bench.folder / "a.gguf"
    for _ in range(2):
        await slept(bench)
        path.rename(bench.folder / "gone")
        waits = []
        for number in range(1, 7):
            # By its name or by none; both are told.
            with pytest.raises(BusyError) as refused:
                await bench.answer("a" if number % 2 else None)
            assert refused.value.retry_after_s is not None
            waits.append(refused.value.retry_after_s)
            num_failed = bench.metric(failed)
            bench.later_s += waits[-1] - 1
            for name in ("a", None):
                with pytest.raises(ServerNotReadyError, match=r"the model failed: a\.gguf") as resting:
                    await bench.answer(name)
                assert resting.value.retry_after_s == 1
            assert bench.metric(failed) == num_failed
            bench.later_s += 1
        assert waits == [5, 10, 20, 40, 60, 60]
        (bench.folder / "gone").rename(path)
        assert await bench.answer(None) == "a"
        assert bench.keeper.course.status is ModelStatus.SERVING


async def test_another_one_that_fails_leaves_the_idle_model_asleep_and_not_failed(bench: Bench) -> None:
    await slept(bench)
    bench.leaf.load_faults["reading"] = DeviceLoadError("the card is full")
    with pytest.raises(SwitchFailedError):
        await bench.answer("b")
    await until(lambda: bench.keeper.course.status is ModelStatus.UNLOADED)
    assert await bench.answer(None) == "a"


class Cell:
    """Only the collector finds one that holds itself."""

    def __init__(self) -> None:
        self.own = self


async def test_an_unload_lets_go_of_all_and_gives_the_memory_back(bench: Bench) -> None:
    # As a vocabulary is: a hundred thousand small objects, of which a few are somebody else's.
    blocks = [bytes(1000) for _ in range(100_000)]
    kept = blocks[::50]
    cell = weakref.ref(Cell())
    gc.disable()
    try:
        cell = weakref.ref(Cell())
        assert cell() is not None
        blocks.clear()
        before_bytes = resident_bytes()
        await slept(bench)
        assert cell() is None and len(kept) == 2000
        assert resident_bytes() < before_bytes - (50 << 20)
        assert bench.num_forgotten == 1
        # A switch as well, but not one that comes to nothing.
        assert await bench.answer("a") == "a" and await bench.answer("b") == "b"
        assert bench.num_forgotten == 2
        (bench.folder / "c.gguf").write_bytes(b"GGUF")
        with pytest.raises(SwitchFailedError):
            await bench.answer("c")
        assert bench.num_forgotten == 2
    finally:
        gc.enable()


async def test_loads_unloads_and_switches_are_on_record_the_newest_first(bench: Bench) -> None:
    assert await bench.answer("b") == "b"
    (bench.folder / "c.gguf").write_bytes(b"GGUF" + bytes(60))
    with pytest.raises(SwitchFailedError):
        await bench.answer("c")
    bench.keeper.gate.settings = replace(SETTINGS, idle_unload_s=0.02)
    assert await bench.answer(None) == "b"
    await until(lambda: bench.keeper.course.status is ModelStatus.UNLOADED)
    bench.keeper.gate.settings = SETTINGS
    (bench.folder / "b.gguf").write_bytes(b"GGUF" + bytes(60))
    with pytest.raises(SwitchFailedError):
        await bench.answer("b")
    found = [(change.before, change.to, change.outcome.value) for change in bench.keeper.course.changes]
    assert found == [
        (None, "b", "failed"),
        ("b", None, "unloaded"),
        ("b", "c", "refused"),
        ("a", "b", "switched"),
        (None, "a", "loaded"),
    ]
    failed, unloaded, _, _, loaded = bench.keeper.course.changes
    assert failed.reason.startswith("b.gguf: ") and unloaded.reason == "idle"
    assert set(unloaded.seconds) == {SwitchPhase.TEARDOWN}
    assert set(loaded.seconds) == {SwitchPhase.PREPARE, SwitchPhase.LOAD, SwitchPhase.WARM_UP}


async def test_what_a_load_took_is_one_number_wherever_it_is_told(bench: Bench) -> None:
    for name, event in (("a", "ignis.model.loaded"), ("b", "ignis.model.switched")):
        assert await bench.answer(name) == name
        await until(lambda name=name: bench.keeper.course.changes[0].to == name)  # type: ignore[misc]
        change, line = bench.keeper.course.changes[0], bench.logged(event)[-1]
        took_ms = bench.keeper.course.load_s * 1e3
        assert took_ms > 0 and bench.metric("ignis_model_load_seconds") * 1e3 == pytest.approx(took_ms)
        load_ms, warm_up_ms = change.ms(SwitchPhase.LOAD), change.ms(SwitchPhase.WARM_UP)
        assert load_ms is not None and warm_up_ms is not None
        # Each is rounded to a tenth.
        assert load_ms + warm_up_ms == pytest.approx(took_ms, abs=0.2)
        assert line["load_ms"] == pytest.approx(load_ms, abs=0.1)
        assert line["warm_up_ms"] == pytest.approx(warm_up_ms, abs=0.1)
    await slept(bench)
    assert bench.metric("ignis_model_load_seconds") == 0


async def test_the_weights_and_the_warm_up_of_a_switch_are_told_apart(bench: Bench, nursery: trio.Nursery) -> None:
    bench.leaf.held_phase, bench.leaf.is_load_held = "warming", True
    nursery.start_soon(bench.answer, "b")
    await until(bench.leaf.has_held.is_set)
    # Whoever looks when the weights were there has its turn within the first two.
    for _ in range(10):
        await trio.sleep(0.01)
    bench.leaf.is_load_held = False
    await until(lambda: bench.outcome() is SwitchOutcome.SWITCHED)
    (change, _), (line,) = bench.keeper.course.changes, bench.logged("ignis.model.switched")
    load_ms, warm_up_ms = change.ms(SwitchPhase.LOAD), change.ms(SwitchPhase.WARM_UP)
    assert load_ms is not None and warm_up_ms is not None
    assert warm_up_ms > 50 and load_ms <= bench.keeper.course.load_s * 1e3 - 50
    assert (line["load_ms"], line["warm_up_ms"]) == (load_ms, warm_up_ms)


async def test_a_model_in_use_is_not_idle(bench: Bench) -> None:
    bench.keeper.gate.settings = replace(SETTINGS, idle_unload_s=0.01)
    await bench.keeper.gate.enter("a", AT_EASE)
    await trio.sleep(0.05)
    assert bench.leaf.is_loaded
    bench.leaf.hold()
    (mailbox,) = bench.engine.submit([ask()])
    bench.keeper.gate.leave()
    await trio.sleep(0.05)
    assert bench.leaf.is_loaded
    bench.leaf.release()
    assert (await read(mailbox))[1].finish is FinishReason.LENGTH


async def test_an_unload_that_is_asked_for_leaves_the_model_known(bench: Bench) -> None:
    assert bench.keeper.ask_unload()
    await until(lambda: bench.keeper.course.status is ModelStatus.UNLOADED)
    assert not bench.keeper.ask_unload()
    assert bench.counted("ignis_model_unloads") == {"asked": 1}
    assert await bench.answer(None) == "a"


async def test_a_reload_goes_by_new_settings_and_comes_back_to_the_old_ones(bench: Bench) -> None:
    old = bench.engine.settings
    reload = bench.keeper.ask_reload(LoadSettings(replace(old, decode_lanes=2)))
    assert await bench.answer("a") == "a"
    await reload.over.wait()
    assert reload.error is None and bench.loaded == ["a", "a"]
    # Clients that name two models in turn are what a person is warned of.
    assert bench.metric("ignis_model_ping_pongs_total") == 0 and not bench.logged("ignis.model.ping_pong")
    assert await bench.answer(None) == "a" and bench.engine.num_lanes == 2
    bench.leaf.load_faults["reading"] = DeviceLoadError("the card is full")
    reload = bench.keeper.ask_reload(LoadSettings(replace(old, decode_lanes=3)))
    # By its name or by none: it is not lost, for the model comes back.
    assert await bench.answer("a") == await bench.answer(None) == "a"
    await reload.over.wait()
    assert isinstance(reload.error, DeviceLoadError)
    assert bench.outcome() is SwitchOutcome.RETURNED and bench.engine.num_lanes == 2
    # As a reader of the metrics is told: a load by other settings is a switch.
    assert bench.counted("ignis_model_switches") == {"switched": 1, "returned": 1}
    assert bench.counted("ignis_model_unloads") == {"switch": 2}


async def test_an_idle_model_is_woken_to_see_whether_new_settings_will_do(bench: Bench) -> None:
    bench.keeper.ask_unload()
    await until(lambda: bench.keeper.course.status is ModelStatus.UNLOADED)
    old = bench.engine.settings
    bench.leaf.load_faults["reading"] = DeviceLoadError("the card is full")
    reload = bench.keeper.ask_reload(LoadSettings(replace(old, decode_lanes=3)))
    await reload.over.wait()
    assert isinstance(reload.error, DeviceLoadError)
    assert await bench.answer(None) == "a" and bench.engine.num_lanes == old.decode_lanes
    bench.keeper.ask_unload()
    await until(lambda: bench.keeper.course.status is ModelStatus.UNLOADED)
    reload = bench.keeper.ask_reload(LoadSettings(replace(old, decode_lanes=2)))
    await reload.over.wait()
    assert reload.error is None and bench.leaf.is_loaded and bench.engine.num_lanes == 2


async def test_settings_of_another_family_reload_nothing(bench: Bench) -> None:
    old = bench.engine.settings
    reload = bench.keeper.ask_reload(LoadSettings(old, {"qwen3": replace(old, decode_lanes=2)}))
    assert reload.over.is_set() and reload.error is None
    await bench.answer("a")
    assert bench.loaded == ["a"]
    reload = bench.keeper.ask_reload(LoadSettings(old, {"llama": replace(old, decode_lanes=2)}))
    await reload.over.wait()
    assert bench.loaded == ["a", "a"] and bench.engine.num_lanes == 2


async def test_a_model_is_loaded_by_its_familys_settings(bench: Bench) -> None:
    tiny_gguf("qwen3").write(bench.folder / "q.gguf")
    old = bench.engine.settings
    await bench.keeper.ask_reload(LoadSettings(old, {"qwen3": replace(old, decode_lanes=2)})).over.wait()
    assert await bench.answer("q") == "q" and bench.engine.num_lanes == 2
    assert await bench.answer("a") == "a" and bench.engine.num_lanes == old.decode_lanes


async def test_a_shutdown_ends_a_reload_that_has_not_begun(bench: Bench) -> None:
    reload = bench.keeper.ask_reload(LoadSettings(replace(bench.engine.settings, decode_lanes=2)))
    bench.engine.drain()
    bench.keeper.stop()
    await reload.over.wait()
    assert isinstance(reload.error, DrainingError)


async def test_a_model_that_has_less_context_than_is_asked_for_is_served_with_its_own(
    cold: Bench, nursery: trio.Nursery
) -> None:
    tiny_gguf().with_keys(llama__context_length=u32(64)).write(cold.folder / "small.gguf")
    tiny_gguf().with_keys(llama__context_length=u32(512)).write(cold.folder / "large.gguf")
    before = cold.engine.settings

    async def ask_for(max_context: int) -> None:
        reload = cold.keeper.ask_reload(LoadSettings(replace(before, max_context=max_context)))
        await reload.over.wait()
        assert reload.error is None

    # The first one too, and whichever served when it was asked for.
    await ask_for(500)
    await cold.start(nursery)
    for name, context in (("a", 128), ("small", 64), ("large", 500), ("a", 128)):
        assert await cold.answer(name) == name and cold.engine.max_context == context
    await ask_for(2000)
    assert cold.engine.max_context == 128
    assert await cold.answer("large") == "large" and cold.engine.max_context == 512
    told = [(line["max_context"], line["context_tokens"]) for line in cold.logged("ignis.runtime.context_lowered")]
    assert told == [(500, 128), (500, 64), (500, 128), (2000, 128), (2000, 512)]


async def test_a_first_model_that_is_bad_leaves_a_server_that_says_so(cold: Bench, nursery: trio.Nursery) -> None:
    (cold.folder / "a.gguf").write_bytes(b"GGUF" + bytes(60))
    await cold.start(nursery)
    await until(lambda: cold.keeper.course.status is ModelStatus.FAILED)
    with pytest.raises(ServerNotReadyError, match=r"the model failed: a\.gguf"):
        await cold.answer("a")
    assert await cold.answer("b") == "b"


async def test_a_plan_that_cannot_be_ends_the_start(cold: Bench) -> None:
    cold.leaf.load_faults["plan"] = LoadPlanError("line kv_pool")
    with pytest.raises(BaseExceptionGroup) as ended:
        async with trio.open_nursery() as nursery:
            await cold.start(nursery)
    assert ended.group_contains(LoadPlanError)


async def test_what_a_client_has_changed_since_does_not_end_the_start(cold: Bench, nursery: trio.Nursery) -> None:
    await cold.start_without(nursery)
    cold.keeper.expect("a", lambda: 90.0)
    settings = LoadSettings(replace(cold.engine.settings, kv_pool=PoolSize(tokens=64)))
    assert cold.keeper.ask_reload(settings).error is None
    cold.find("a")
    await until(lambda: cold.keeper.course.status is ModelStatus.FAILED)
    with pytest.raises(ServerNotReadyError, match=r"vram\.kv_pool_bytes"):
        await cold.answer("a")


async def test_a_shutdown_tells_those_who_wait(bench: Bench) -> None:
    bench.leaf.is_load_held = True
    ends: list[str] = []

    async def client() -> None:
        with pytest.raises(DrainingError):
            await bench.answer("b")
        ends.append("told")

    async with trio.open_nursery() as requests:
        requests.start_soon(client)
        assert await trio.to_thread.run_sync(bench.leaf.has_held.wait, 10)
        bench.engine.drain()
        bench.keeper.stop()
    assert ends == ["told"]
    with pytest.raises(DrainingError):
        await bench.answer("c")


async def test_whoever_is_told_of_a_bad_model_may_order_another_at_once(bench: Bench) -> None:
    (bench.folder / "bad.gguf").write_bytes(b"GGUF")
    with pytest.raises(SwitchFailedError):
        await bench.answer("bad")
    await bench.keeper.ask_switch("b")
    assert await bench.answer("b") == "b"


async def test_a_device_that_is_lost_is_failed_and_the_next_request_mends_it(bench: Bench) -> None:
    bench.leaf.faults.append(EngineError("the card is gone"))
    use = await bench.keeper.gate.enter("a", AT_EASE)
    bench.keeper.gate.leave()
    assert use.model.name == "a"
    (mailbox,) = bench.engine.submit([ask()])
    assert (await read(mailbox))[1].finish is FinishReason.FAULT
    assert bench.keeper.course.status is ModelStatus.FAILED
    assert await bench.answer(None) == "a" and bench.loaded == ["a", "a"]


async def test_what_a_load_takes_is_known_from_the_last_one(bench: Bench) -> None:
    never, once = (LocalModel(name, bench.folder / f"{name}.gguf") for name in ("b", "a"))
    assert bench.keeper.course.load_estimate_s(never) > 1 > bench.keeper.course.load_estimate_s(once) > 0
