"""The lifecycle: its table, and the keeper through orders, requests, departures and faults in any order."""

import contextlib
from dataclasses import replace
from pathlib import Path

import pytest
import trio
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ignis import machine
from ignis.engine.course import Reload
from ignis.engine.gate import Patience
from ignis.engine.lifecycle import STATUS, TABLE, EngineEvent, EngineState, ModelStatus
from ignis.engine.settings import LoadSettings
from ignis.errors import BusyError, DeviceLoadError, IgnisError, RequestError
from ignis.machine import IllegalTransition
from ignis.models.local import LocalModel
from tests.unit.engine.test_engine import until
from tests.unit.engine.test_keeper import SETTINGS, Bench, num_open
from tests.unit.models.writers import tiny_gguf

S, E = EngineState, EngineEvent


@pytest.mark.parametrize(
    ("events", "state"),
    [
        ([E.LOAD, E.READY], S.SERVING),
        ([E.LOAD, E.ERROR], S.FAILED),
        ([E.LOAD, E.CANCEL], S.UNLOADED),
        ([E.LOAD, E.READY, E.LEAVE, E.UNLOAD, E.DONE, E.LOAD, E.READY], S.SERVING),
        ([E.LOAD, E.READY, E.LEAVE, E.STAY], S.SERVING),
        ([E.LOAD, E.READY, E.LEAVE, E.ERROR, E.UNLOAD, E.DONE], S.UNLOADED),
        ([E.LOAD, E.READY, E.UNLOAD, E.ERROR, E.DONE], S.UNLOADED),
        ([E.LOAD, E.ERROR, E.LOAD, E.READY], S.SERVING),
        ([E.LOAD, E.READY, E.DRAIN, E.UNLOAD, E.DONE, E.LOAD, E.READY], S.DRAINING),
    ],
)
def test_the_table_leads_where_a_life_goes(events: list[EngineEvent], state: EngineState) -> None:
    found = S.UNLOADED
    for event in events:
        found = machine.advance(TABLE, found, event)
    assert found is state


@pytest.mark.parametrize(
    ("state", "event"),
    [(S.UNLOADED, E.LEAVE), (S.LOADING, E.LOAD), (S.SERVING, E.LOAD), (S.LEAVING, E.LOAD), (S.UNLOADING, E.LOAD)],
)
def test_nothing_is_loaded_over_a_model(state: EngineState, event: EngineEvent) -> None:
    with pytest.raises(IllegalTransition):
        machine.advance(TABLE, state, event)


def test_every_state_has_its_row_and_its_word() -> None:
    assert set(TABLE) == set(STATUS) == set(S)
    assert {STATUS[state] for state in S} | {ModelStatus.SWITCHING} == set(ModelStatus)


def test_every_state_can_be_left_for_a_shutdown_and_that_for_none() -> None:
    assert all(TABLE[state][E.DRAIN] is S.DRAINING for state in S)
    assert {TABLE[S.DRAINING][event] for event in E} == {S.DRAINING}


_IDLE_S = 1000.0
_EACH = 2
"""Descriptors of a model that is open."""
NAMES = st.sampled_from(["a", "b", "c", "first", None])
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("request"), NAMES),
        st.tuples(st.just("impatient"), NAMES),
        st.tuples(st.just("cancel"), st.integers(0, 9)),
        st.tuples(st.just("switch"), st.sampled_from(["a", "b", "c", "x", "bad"])),
        st.tuples(st.just("unload"), st.none()),
        st.tuples(st.just("reload"), st.integers(1, 3)),
        st.tuples(st.just("idle"), st.none()),
        st.tuples(st.just("first"), st.sampled_from(["expect", "start_with", "have_none", "fail_start"])),
        st.tuples(st.just("fault"), st.sampled_from(["plan", "reading", "warming"])),
        st.tuples(st.just("hold"), st.none()),
        st.tuples(st.just("release"), st.none()),
        st.tuples(st.just("settle"), st.none()),
    ),
    max_size=14,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations=OPERATIONS)
@example(operations=[("request", "first"), ("request", None), ("settle", None)])
@example(
    operations=[("request", "first"), ("switch", "b"), ("settle", None), ("first", "start_with"), ("request", None)]
)
@example(
    operations=[("request", "first"), ("request", None), ("settle", None), ("first", "fail_start"), ("request", "b")]
)
@example(
    operations=[("request", "b"), ("settle", None), ("reload", 2), ("hold", None), ("idle", None), ("request", "b")]
)
def test_whatever_comes_everybody_is_answered_by_its_own_or_told_why(
    operations: list[tuple[str, object]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    trio.run(play, operations, tmp_path_factory.mktemp("models"))


async def play(operations: list[tuple[str, object]], folder: Path) -> None:
    """Plays the operations against a keeper; afterwards nothing may be left, and the next request is answered."""
    bench = Bench(folder, replace(SETTINGS, drain_timeout_s=0.2, idle_unload_s=_IDLE_S))
    reloads: list[Reload] = []
    (folder / "bad.gguf").write_bytes(b"GGUF" + bytes(60))
    # Where nobody finds it who looks for a name.
    (folder / ".here").mkdir()
    first = LocalModel("first", tiny_gguf().write(folder / ".here" / "first.gguf"))
    ends: list[tuple[str | None, str | IgnisError]] = []
    scopes: list[trio.CancelScope] = []

    async def request(name: str | None, timeout_s: float | None, scope: trio.CancelScope) -> None:
        with scope:
            try:
                ends.append((name, await bench.answer(name, Patience(timeout_s=timeout_s))))
            except IgnisError as error:
                ends.append((name, error))

    def tell(what: str) -> None:
        """How it goes with the first model, as far as that can come next."""
        keeper = bench.keeper
        if what == "expect" and keeper.course.expected is None and keeper.course.first is None:
            keeper.expect("first", lambda: 9.0)
        elif what == "start_with" and keeper.course.first is None:
            keeper.start_with(first)
        elif what in ("have_none", "fail_start") and keeper.course.expected is not None:
            getattr(keeper, what)("it was stopped")

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            await bench.start_without(nursery)
            tell("expect")
            async with trio.open_nursery() as requests:
                for kind, argument in operations:
                    match kind, argument:
                        case "request" | "impatient", str() | None as name:
                            scopes.append(trio.CancelScope())
                            requests.start_soon(request, name, None if kind == "request" else 0.002, scopes[-1])
                        case "cancel", int(index) if index < len(scopes):
                            scopes[index].cancel()
                        case "switch", str(name):
                            with contextlib.suppress(RequestError, BusyError):
                                await bench.keeper.ask_switch(name)
                        case "unload", _:
                            with contextlib.suppress(RequestError, BusyError):
                                bench.keeper.ask_unload()
                        case "reload", int(num_lanes):
                            with contextlib.suppress(RequestError, BusyError):
                                settings = LoadSettings(replace(bench.engine.settings, decode_lanes=num_lanes))
                                reloads.append(bench.keeper.ask_reload(settings))
                        case "first", str(what):
                            tell(what)
                        case "idle", _:
                            # As if so long had gone by.
                            bench.later_s += _IDLE_S
                            bench.keeper.course.note_change()
                        case "fault", str(place):
                            bench.leaf.load_faults[place] = DeviceLoadError("the card is full")
                        case "hold" | "release", _:
                            bench.leaf.is_load_held = kind == "hold"
                        case _:
                            await trio.sleep(0.003)
                    assert num_open(folder) <= 2 * _EACH, "more than the model and the one that takes its place"
                bench.leaf.is_load_held = False
                tell("start_with")
            await until(lambda: is_quiet(bench))
            bench.leaf.load_faults.clear()
            assert all(reload.over.is_set() for reload in reloads)
            # One that failed rests for no longer.
            bench.later_s += 60
            assert await bench.answer("c") == "c"
            await until(lambda: is_quiet(bench))
            assert num_open(folder) == _EACH
            taken = [reload.settings for reload in reloads if reload.error is None]
            if taken:
                assert bench.engine.num_lanes == taken[-1].of("llama").decode_lanes
            nursery.cancel_scope.cancel()
    assert all(isinstance(end, IgnisError) or name in (None, end) for name, end in ends)
    assert bench.keeper.course.opened is not None
    bench.keeper.course.opened.close()


def is_quiet(bench: Bench) -> bool:
    """Nobody uses or waits for a model, nothing runs and nothing is under way."""
    course, gate = bench.keeper.course, bench.keeper.gate
    is_resting = course.coming is None and course.asked is None and course.leaving is None
    return is_resting and gate.num_using == len(gate.wishes) == bench.engine.num_requests == 0
