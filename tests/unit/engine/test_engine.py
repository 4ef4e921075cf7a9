"""The engine under trio, its loop thread on the scripted leaf."""

import contextlib
import gc
import io
import json
import random
import resource
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from ignis.engine.cut_off import LOOP_BROKE, MODEL_FAILED
from ignis.engine.engine import Engine
from ignis.engine.lifecycle import EngineState
from ignis.engine.limits import REJECTIONS
from ignis.engine.load import LoadPhase
from ignis.engine.mailbox import Mailbox
from ignis.engine.settings import EngineSettings
from ignis.errors import (
    ContextLengthExceededError,
    DeviceLoadError,
    DrainingError,
    EngineError,
    EngineFullError,
    InternalError,
    InvalidRequestError,
    ModelLoadError,
    ServerNotReadyError,
)
from ignis.log import LogFormat, open_log
from ignis.metric_families import FAMILIES
from ignis.metrics import Metrics
from ignis.models.base import Checkpoint
from ignis.scheduler.constraint import ConstraintError
from ignis.scheduler.request import FinishReason, RequestClass, SamplingParams, Submission, TokenEvent
from ignis.units import PoolSize
from tests.fakes.constraint import RuledConstraint, ends_in
from tests.fakes.leaf import PHASES, ScriptedLeaf, bare_checkpoint, saying
from tests.settings import engine_settings


class Hands:
    """A clock that only the test turns."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Bench:
    """An engine, its leaf, its clock and what it wrote."""

    def __init__(self, leaf: ScriptedLeaf, settings: EngineSettings) -> None:
        self.leaf = leaf
        self.clock = Hands()
        self.log = io.StringIO()
        self.metrics = Metrics("test")
        self.engine = Engine(
            settings, lambda: leaf, open_log(self.log, LogFormat.JSON, "debug"), self.metrics, clock=self.clock
        )
        self.metrics.read_snapshots_from(self.engine.snapshot)

    async def emptied(self) -> None:
        """Waits until every request that was accepted has ended."""
        ends = ("completed", "cancelled")
        await until(
            lambda: (
                self.metric("ignis_requests_accepted_total")
                == sum(self.metric(f"ignis_requests_{end}_total") for end in ends)
            )
        )

    def metric(self, line: str) -> float:
        (found,) = [row for row in self.metrics.expose().decode().splitlines() if row.startswith(line + " ")]
        return float(found.split()[-1])


@pytest.fixture(autouse=True, params=[False, True], ids=["", "ahead"])
def gains_ahead(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it on a device that begins rounds ahead, too."""
    monkeypatch.setattr(ScriptedLeaf, "gains_ahead", request.param)


@pytest.fixture
def leaf() -> Iterator[ScriptedLeaf]:
    leaf = ScriptedLeaf()
    yield leaf
    leaf.release()


@pytest.fixture
async def bench(leaf: ScriptedLeaf, nursery: trio.Nursery) -> AsyncIterator[Bench]:
    bench = Bench(leaf, engine_settings(prefill_chunk=64))
    await nursery.start(bench.engine.run)
    await bench.engine.load(bare_checkpoint())
    yield bench
    leaf.release()


def ask(prompt: range = range(10), max_tokens: int = 4, **more: object) -> Submission:
    return Submission(tuple(prompt), max_tokens, SamplingParams(temperature=0.0), frozenset(), **more)  # type: ignore[arg-type]


async def read(mailbox: Mailbox) -> tuple[list[int], TokenEvent]:
    tokens: list[int] = []
    while True:
        event = await mailbox.receive()
        tokens += event.tokens
        if event.finish is not None:
            return tokens, event


def card_leaf() -> ScriptedLeaf:
    """A leaf whose pool takes all that is left, so that there is little of it."""
    return ScriptedLeaf(memory_bytes=1 << 17, has_own_memory=True)


def logged(bench: Bench) -> list[dict[str, Any]]:
    return [json.loads(line) for line in bench.log.getvalue().splitlines()]


async def begun(bench: Bench, steps: int) -> None:
    """Waits until so many steps have begun."""
    await trio.to_thread.run_sync(bench.leaf.wait_steps, steps)


async def until(claim: Callable[[], bool]) -> None:
    """Waits for the few instructions that the engine's thread has left to do, which wake nobody."""
    with trio.fail_after(30):
        while not claim():  # noqa: ASYNC110 - it is a thread that changes it, and it sets no event
            # A loop that only yields takes the GIL back before the engine's thread can have it.
            await trio.sleep(0.001)


async def test_a_request_is_answered(bench: Bench) -> None:
    (mailbox,) = bench.engine.submit([ask()])
    tokens, last = await read(mailbox)
    assert (len(tokens), last.finish) == (4, FinishReason.LENGTH)
    assert mailbox.usage is not None
    assert mailbox.usage.completion_tokens == 4
    with pytest.raises(trio.EndOfChannel):
        await mailbox.receive()


async def test_eight_at_once_are_answered_and_counted(bench: Bench) -> None:
    mailboxes = bench.engine.submit([ask(range(i, i + 70), 20) for i in range(8)])
    for mailbox in mailboxes:
        await read(mailbox)
    assert bench.metric("ignis_requests_accepted_total") == bench.metric("ignis_requests_completed_total") == 8
    assert bench.metric("ignis_generated_tokens_total") == bench.metric("ignis_decoded_tokens_total") == 160
    assert bench.engine.snapshot().running == 0
    assert bench.log.getvalue().count('"ignis.request.done"') == 8


async def test_a_request_that_left_the_queue_is_in_the_log_before_its_first_token(bench: Bench) -> None:
    bench.leaf.hold()
    (mailbox,) = bench.engine.submit([ask(range(200), trace="req-1")])
    bench.leaf.allow(1)
    await begun(bench, 2)
    await until(lambda: "ignis.request.admitted" in bench.log.getvalue())
    assert bench.metric("ignis_decoded_tokens_total") == 0
    bench.leaf.release()
    await read(mailbox)
    (line,) = [line for line in bench.log.getvalue().splitlines() if "ignis.request.admitted" in line]
    event = json.loads(line)
    assert (event["request_id"], event["lane"], event["prompt_tokens"], event["cached_tokens"]) == ("req-1", 0, 200, 0)


async def test_a_full_engine_takes_all_or_none(bench: Bench) -> None:
    bench.leaf.hold()
    bench.engine.submit([ask() for _ in range(7)])
    with pytest.raises(EngineFullError) as refused:
        bench.engine.submit([ask(), ask()])
    assert refused.value.retry_after_s is not None
    assert 1 <= refused.value.retry_after_s <= 60
    bench.engine.submit([ask()])
    assert bench.metric('ignis_requests_rejected_total{reason="full"}') == 1


async def test_a_model_that_is_to_go_has_no_more_room_than_before(bench: Bench) -> None:
    """Whoever waits for a lane keeps the model, and waits on."""
    bench.leaf.hold()
    bench.engine.submit([ask() for _ in range(7)])
    bench.engine.leave()
    assert bench.engine.has_room(1) and not bench.engine.has_room(2)
    bench.engine.submit([ask()])
    assert not bench.engine.has_room(1)
    bench.leaf.release()
    await bench.engine.unload()
    assert bench.engine.has_room(1), "it would be told at once that none serves"


async def test_a_cancel_frees_its_lane_for_the_next_submission_at_once(bench: Bench) -> None:
    bench.leaf.hold()
    mailboxes = bench.engine.submit([ask() for _ in range(8)])
    mailboxes[2].cancel()
    mailboxes[2].cancel()
    (late,) = bench.engine.submit([ask()])
    bench.leaf.release()
    assert (await read(late))[1].finish is FinishReason.LENGTH
    assert (await read(mailboxes[2]))[1].finish is FinishReason.CANCELLED


@pytest.mark.parametrize("steps", [0, 1, 3, 6])
async def test_a_reader_that_leaves_at_any_stage_leaves_nothing_behind(bench: Bench, steps: int) -> None:
    bench.leaf.hold()
    (mailbox,) = bench.engine.submit([ask(range(200), 500)])
    with mailbox:
        bench.leaf.allow(steps)
        await begun(bench, steps + 1)
    bench.leaf.release()
    await bench.emptied()
    assert bench.engine.snapshot().running == bench.engine.snapshot().waiting == 0
    assert bench.metric("ignis_requests_cancelled_total") == 1
    # A round that had begun is nobody's.
    assert steps + 1 <= len(bench.leaf.steps) <= steps + 1 + bench.leaf.gains_ahead


async def test_a_reader_that_has_seen_enough_counts_as_completed(bench: Bench) -> None:
    bench.leaf.hold()
    (mailbox,) = bench.engine.submit([ask(max_tokens=3000)])
    bench.leaf.allow(2)
    await mailbox.receive()
    mailbox.stop()
    bench.leaf.release()
    assert (await read(mailbox))[1].finish is FinishReason.STOP
    await bench.emptied()
    assert bench.metric("ignis_requests_completed_total") == 1
    assert bench.metric("ignis_requests_cancelled_total") == 0


async def test_a_deadline_cuts_a_request(bench: Bench) -> None:
    bench.leaf.hold()
    (mailbox,) = bench.engine.submit([ask(max_tokens=3000, timeout_s=10.0)])
    await begun(bench, 1)
    bench.clock.now += 11
    bench.leaf.release()
    assert (await read(mailbox))[1].finish is FinishReason.EXPIRED


async def test_a_refused_step_ends_its_own_requests_and_no_others(bench: Bench) -> None:
    bench.leaf.faults = [InternalError("a bad page")]
    first, second = bench.engine.submit([ask(), ask()])
    assert (await read(first))[1].fault == "a bad page"
    assert (await read(second))[1].finish is FinishReason.LENGTH
    assert bench.engine.state is EngineState.SERVING


async def test_a_lost_device_ends_all_and_fails_the_engine(bench: Bench) -> None:
    bench.leaf.hold()
    mailboxes = bench.engine.submit([ask(), ask()])
    await begun(bench, 1)
    bench.leaf.faults = [EngineError("the card is gone")]
    crossed = bench.engine.submit([ask()])
    bench.leaf.release()
    for mailbox in [*mailboxes, *crossed]:
        last = (await read(mailbox))[1]
        assert (last.finish, last.told) == (FinishReason.FAULT, MODEL_FAILED)
    assert (bench.engine.state, bench.engine.reason) == (EngineState.FAILED, "the card is gone")
    with pytest.raises(ServerNotReadyError, match="the model failed: the card is gone"):
        bench.engine.submit([ask()])


async def test_a_broken_loop_ends_all_and_is_not_alive(bench: Bench) -> None:
    bench.leaf.faults = [ZeroDivisionError("bug")]  # type: ignore[list-item]  # what no leaf should raise
    (mailbox,) = bench.engine.submit([ask()])
    last = (await read(mailbox))[1]
    assert (last.finish, last.told) == (FinishReason.FAULT, LOOP_BROKE)
    await until(lambda: not bench.engine.is_alive())
    assert bench.engine.state is EngineState.FAILED
    assert "ZeroDivisionError" in bench.log.getvalue()


async def test_a_failed_engine_loads_again(bench: Bench) -> None:
    bench.leaf.faults = [EngineError("the card is gone")]
    (mailbox,) = bench.engine.submit([ask()])
    await read(mailbox)
    await bench.engine.load(bare_checkpoint())
    (mailbox,) = bench.engine.submit([ask()])
    assert (await read(mailbox))[1].finish is FinishReason.LENGTH


async def test_a_frozen_leaf_is_not_alive_and_an_idle_one_is(bench: Bench) -> None:
    (mailbox,) = bench.engine.submit([ask()])
    await read(mailbox)
    bench.clock.now += 1000
    await until(bench.engine.is_alive)
    bench.leaf.hold()
    steps = len(bench.leaf.steps)
    bench.engine.submit([ask()])
    await begun(bench, steps + 1)
    assert bench.engine.is_alive()
    bench.clock.now += 61
    assert not bench.engine.is_alive()
    assert bench.engine.snapshot().step_age_s >= 61
    bench.leaf.release()
    await bench.emptied()
    await until(bench.engine.is_alive)


async def test_bounds_are_refused_where_they_never_fit(bench: Bench) -> None:
    with pytest.raises(ContextLengthExceededError):
        bench.engine.submit([ask(range(4000), 97)])
    with pytest.raises(InvalidRequestError):
        bench.engine.submit([ask() for _ in range(9)])
    assert bench.metric('ignis_requests_rejected_total{reason="oversized"}') == 1
    assert bench.metric('ignis_requests_rejected_total{reason="invalid"}') == 1


def test_every_reason_of_a_rejection_is_some_errors_and_no_other() -> None:
    assert set(REJECTIONS.values()) == set(FAMILIES["ignis_requests_rejected"].values)


async def test_a_draining_engine_ends_what_runs_and_takes_nothing_new(bench: Bench) -> None:
    (mailbox,) = bench.engine.submit([ask()])
    bench.engine.drain()
    with pytest.raises(DrainingError):
        bench.engine.submit([ask()])
    assert bench.metric('ignis_requests_rejected_total{reason="draining"}') == 1
    assert (await read(mailbox))[1].finish is FinishReason.LENGTH
    await bench.emptied()


async def test_what_a_drain_waits_for_no_longer_ends_cancelled(bench: Bench) -> None:
    bench.leaf.hold()
    mailboxes = bench.engine.submit([ask(), ask()])
    bench.engine.drain()
    bench.engine.give_up()
    mailboxes[0].cancel()
    bench.engine.give_up()
    bench.leaf.release()
    assert [(await read(mailbox))[-1].finish for mailbox in mailboxes] == [FinishReason.CANCELLED] * 2
    await bench.emptied()


async def test_an_unload_ends_what_runs_and_frees_the_leaf(bench: Bench) -> None:
    bench.leaf.hold()
    (mailbox,) = bench.engine.submit([ask(max_tokens=3000)])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bench.engine.unload)
        await trio.testing.wait_all_tasks_blocked()
        bench.leaf.release()
    last = (await read(mailbox))[1]
    assert last.finish is FinishReason.CUT_OFF and "unloaded" in last.fault
    assert not bench.leaf.is_loaded
    assert bench.engine.snapshot().kv_pages == 0
    assert bench.engine.state is EngineState.UNLOADED


async def test_a_shutdown_ends_what_runs_and_frees_the_leaf() -> None:
    bench = Bench(ScriptedLeaf(), engine_settings())
    async with trio.open_nursery() as nursery:
        await nursery.start(bench.engine.run)
        await bench.engine.load(bare_checkpoint())
        bench.leaf.hold()
        (mailbox,) = bench.engine.submit([ask(max_tokens=3000)])
        nursery.cancel_scope.cancel()
        with trio.CancelScope(shield=True):
            await trio.testing.wait_all_tasks_blocked()
            bench.leaf.release()
    assert (await read(mailbox))[1].finish is FinishReason.CANCELLED
    assert not bench.leaf.is_loaded


async def test_a_shutdown_does_not_wait_for_a_frozen_leaf(autojump_clock: trio.testing.MockClock) -> None:
    bench = Bench(ScriptedLeaf(), engine_settings())
    bench.leaf.hold()
    async with trio.open_nursery() as nursery:
        await nursery.start(bench.engine.run)
        with trio.CancelScope(shield=True):
            await bench.engine.load(bare_checkpoint())
        (mailbox,) = bench.engine.submit([ask()])
        nursery.cancel_scope.cancel()
    assert (await read(mailbox))[1].finish is FinishReason.CANCELLED
    bench.leaf.release()


async def test_a_failed_load_says_why_and_can_be_tried_again(nursery: trio.Nursery) -> None:
    bench = Bench(ScriptedLeaf(), engine_settings())
    await nursery.start(bench.engine.run)
    with pytest.raises(ServerNotReadyError):
        bench.engine.submit([ask()])
    bench.leaf.load_faults["reading"] = ModelLoadError("no such tensor")
    with pytest.raises(ModelLoadError):
        await bench.engine.load(bare_checkpoint())
    assert (bench.engine.state, bench.engine.reason) == (EngineState.FAILED, "no such tensor")
    await bench.engine.load(bare_checkpoint())
    assert bench.engine.state is EngineState.SERVING


@pytest.mark.parametrize("place", ["probe", "plan", *PHASES])
async def test_a_load_that_fails_anywhere_leaves_nothing_and_the_next_one_serves(
    place: str, nursery: trio.Nursery
) -> None:
    bench = Bench(card_leaf(), engine_settings(headroom_bytes=0))
    await nursery.start(bench.engine.run)
    free_bytes = bench.leaf.probe().free_bytes
    bench.leaf.load_faults[place] = DeviceLoadError("the card is full")
    with pytest.raises(DeviceLoadError):
        await bench.engine.load(bare_checkpoint())
    assert (bench.engine.state, bench.engine.reason) == (EngineState.FAILED, "the card is full")
    assert bench.engine.load_status is bench.engine.loaded is None
    with pytest.raises(ServerNotReadyError, match="the model failed: the card is full"):
        bench.engine.submit([ask()])
    assert bench.leaf.probe().free_bytes == free_bytes and not bench.leaf.is_loaded
    await bench.engine.load(bare_checkpoint())
    (mailbox,) = bench.engine.submit([ask()])
    assert (await read(mailbox))[1].finish is FinishReason.LENGTH


async def test_a_failed_load_leaves_nothing_for_the_collector(nursery: trio.Nursery) -> None:
    bench = Bench(ScriptedLeaf(), engine_settings())
    await nursery.start(bench.engine.run)

    async def fail() -> None:
        bench.leaf.load_faults["reading"] = ModelLoadError("no such tensor")
        with contextlib.suppress(ModelLoadError):
            await bench.engine.load(bare_checkpoint())

    await fail()
    gc.collect()
    gc.disable()
    try:
        before = num_checkpoints()
        for _ in range(3):
            await fail()
        # A worker thread keeps the last thing that it did until it has another.
        await trio.to_thread.run_sync(int)
        assert num_checkpoints() <= before
    finally:
        gc.enable()


def num_checkpoints() -> int:
    return sum(isinstance(item, Checkpoint) for item in gc.get_objects())


async def test_a_load_that_takes_far_more_than_its_plan_is_refused_and_freed(nursery: trio.Nursery) -> None:
    bench = Bench(card_leaf(), engine_settings(headroom_bytes=0))
    await nursery.start(bench.engine.run)
    bench.leaf.stolen_bytes = 600 << 20
    with pytest.raises(ModelLoadError, match="another process took memory"):
        await bench.engine.load(bare_checkpoint())
    assert bench.engine.state is EngineState.FAILED and not bench.leaf.is_loaded
    bench.leaf.stolen_bytes = 100 << 20
    await bench.engine.load(bare_checkpoint())
    (event,) = [event for event in logged(bench) if event["event"] == "ignis.runtime.vram_loaded"]
    assert 99 << 20 < event["unplanned_bytes"] == bench.engine.snapshot().unplanned_bytes <= 100 << 20


async def test_the_metrics_have_the_plan_line_by_line_and_what_the_driver_says(nursery: trio.Nursery) -> None:
    bench = Bench(card_leaf(), engine_settings(headroom_bytes=1000))
    await nursery.start(bench.engine.run)
    bench.leaf.stolen_bytes = 77
    await bench.engine.load(bare_checkpoint())
    loaded = bench.engine.loaded
    assert loaded is not None
    lines = loaded.plan.lines
    assert {line: bench.metric(f'ignis_vram_reserved_bytes{{line="{line}"}}') for line in lines} == lines
    assert bench.metric("ignis_vram_budget_bytes") == (1 << 17) - 1000 >= sum(lines.values()) > lines["kv_pool"] > 0
    assert bench.metric("ignis_vram_unplanned_bytes") == loaded.measured.unplanned_bytes != 0
    assert bench.metric("ignis_vram_free_after_load_bytes") == bench.leaf.probe().free_bytes > 0
    await bench.engine.unload()
    assert bench.metric('ignis_vram_reserved_bytes{line="weights"}') == 0


async def test_a_load_under_way_says_how_far_it_is(nursery: trio.Nursery) -> None:
    bench = Bench(ScriptedLeaf(), engine_settings())
    await nursery.start(bench.engine.run)
    assert bench.engine.load_status is None
    bench.leaf.is_load_held = True
    nursery.start_soon(bench.engine.load, bare_checkpoint())
    await until(lambda: bench.engine.load_status is not None and bench.engine.load_status.total_bytes > 0)
    status = bench.engine.load_status
    assert status is not None
    assert (status.phase, status.done_bytes, status.total_bytes) == (LoadPhase.READING, 0, 1300)
    assert bench.engine.snapshot().load_total_bytes == 1300
    assert bench.metric('ignis_model_load_bytes{state="total"}') == 1300
    bench.leaf.is_load_held = False
    await until(lambda: bench.engine.state is EngineState.SERVING)
    assert bench.engine.load_status is None and bench.engine.loaded is not None
    assert bench.engine.snapshot().load_total_bytes == 0


async def test_a_load_reports_once_a_second_while_it_moves(autojump_clock: trio.testing.MockClock) -> None:
    bench = Bench(ScriptedLeaf(), engine_settings())
    async with trio.open_nursery() as nursery:
        await nursery.start(bench.engine.run)
        bench.leaf.is_load_held = True
        nursery.start_soon(bench.engine.load, bare_checkpoint())
        assert await trio.to_thread.run_sync(bench.leaf.has_held.wait, 10)
        await trio.sleep(10)
        nursery.cancel_scope.cancel()
    reports = [event for event in logged(bench) if event["event"] == "ignis.model.load_progress"]
    assert 1 <= len(reports) <= 3 and reports[-1]["phase"] == "reading" and reports[-1]["total_bytes"] == 1300


async def test_a_cancelled_load_ends_and_frees_what_it_took(nursery: trio.Nursery) -> None:
    bench = Bench(card_leaf(), engine_settings(headroom_bytes=0))
    await nursery.start(bench.engine.run)
    free_bytes = bench.leaf.probe().free_bytes
    bench.leaf.is_load_held = True
    async with trio.open_nursery() as loading:
        loading.start_soon(bench.engine.load, bare_checkpoint())
        await until(lambda: bench.leaf.probe().free_bytes < free_bytes)
        loading.cancel_scope.cancel()
    assert (bench.engine.state, bench.leaf.probe().free_bytes) == (EngineState.UNLOADED, free_bytes)
    bench.leaf.is_load_held = False
    await bench.engine.load(bare_checkpoint())
    assert bench.engine.state is EngineState.SERVING


async def test_a_shutdown_ends_a_load_under_way() -> None:
    bench = Bench(ScriptedLeaf(), engine_settings())
    bench.leaf.is_load_held = True
    async with trio.open_nursery() as nursery:
        await nursery.start(bench.engine.run)
        nursery.start_soon(bench.engine.load, bare_checkpoint())
        await until(lambda: bench.engine.load_status is not None and bench.engine.load_status.total_bytes > 0)
        bench.engine.drain()
        nursery.cancel_scope.cancel()
    assert bench.engine.state is EngineState.DRAINING and not bench.leaf.is_loaded


async def test_a_load_that_a_shutdown_comes_before_is_cancelled() -> None:
    bench = Bench(ScriptedLeaf(), engine_settings())

    async def load_late() -> None:
        with trio.CancelScope(shield=True):
            await until(lambda: not bench.engine.is_alive())
        await bench.engine.load(bare_checkpoint())

    async with trio.open_nursery() as nursery:
        await nursery.start(bench.engine.run)
        nursery.start_soon(load_late)
        bench.engine.drain()
        nursery.cancel_scope.cancel()
    assert bench.engine.state is EngineState.DRAINING and not bench.leaf.is_loaded


async def test_the_plan_is_one_event_and_its_lines_are_metrics(nursery: trio.Nursery) -> None:
    bench = Bench(card_leaf(), engine_settings(headroom_bytes=0))
    bench.metrics.read_snapshots_from(bench.engine.snapshot)
    await nursery.start(bench.engine.run)
    plan = await bench.engine.load(bare_checkpoint())
    (event,) = [event for event in logged(bench) if event["event"] == "ignis.runtime.vram_plan"]
    assert event["total_bytes"] == plan.total_bytes == sum(event[f"{line}_bytes"] for line in plan.lines)
    assert event["budget_bytes"] == event["free_at_start_bytes"] - event["headroom_bytes"]
    for line, size_bytes in plan.lines.items():
        assert bench.metric(f'ignis_vram_reserved_bytes{{line="{line}"}}') == size_bytes
    assert bench.metric("ignis_vram_budget_bytes") == event["budget_bytes"]
    await bench.engine.unload()
    assert bench.metric('ignis_vram_reserved_bytes{line="weights"}') == 0


async def test_one_wake_of_the_event_loop_a_step(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    wakes: list[object] = []
    token_type = type(trio.lowlevel.current_trio_token())
    real = token_type.run_sync_soon

    def counted(token: trio.lowlevel.TrioToken, *call: Any, **more: Any) -> None:
        wakes.append(call)
        real(token, *call, **more)

    monkeypatch.setattr(token_type, "run_sync_soon", counted)
    mailboxes = bench.engine.submit([ask() for _ in range(8)])
    for mailbox in mailboxes:
        await read(mailbox)
    assert len(wakes) == len(bench.leaf.steps)


async def test_a_scripted_answer_reaches_its_reader() -> None:
    bench = Bench(ScriptedLeaf(saying([7, 8, 9], last=0)), engine_settings())
    async with trio.open_nursery() as nursery:
        await nursery.start(bench.engine.run)
        await bench.engine.load(bare_checkpoint())
        submission = Submission((1, 2), 100, SamplingParams(), frozenset({0}))
        (mailbox,) = bench.engine.submit([submission])
        tokens, last = await read(mailbox)
        assert (tokens, last.finish) == ([7, 8, 9], FinishReason.STOP)
        nursery.cancel_scope.cancel()


async def test_a_request_without_a_token_ends_alone() -> None:
    def reply(tokens: Sequence[int], num_prompt: int) -> int:
        return -1 if tokens[0] == 5 and len(tokens) == num_prompt + 2 else 9

    bench = Bench(ScriptedLeaf(reply), engine_settings())
    async with trio.open_nursery() as nursery:
        await nursery.start(bench.engine.run)
        await bench.engine.load(bare_checkpoint())
        sick, well = bench.engine.submit([ask(range(5, 9)), ask(range(8), max_tokens=6)])
        tokens, last = await read(sick)
        assert (tokens, last.finish) == ([9, 9], FinishReason.FAULT) and "NaN" in last.fault
        assert (await read(well))[0] == [9] * 6
        assert bench.engine.state is EngineState.SERVING
        nursery.cancel_scope.cancel()


async def test_readers_that_leave_at_random_leave_nothing_behind(bench: Bench) -> None:
    choices = random.Random(3)

    async def reader() -> None:
        for _ in range(10):
            with trio.move_on_after(choices.random() * 0.01) as patience:
                prompt = range(choices.choice((0, 500)), 700)
                try:
                    mailboxes = bench.engine.submit([ask(prompt, choices.randint(1, 60))] * choices.randint(1, 3))
                except EngineFullError:
                    continue
                with contextlib.ExitStack() as held:
                    for mailbox in mailboxes:
                        held.enter_context(mailbox)
                    for mailbox in mailboxes:
                        await read(mailbox)
            assert patience.cancelled_caught or all(mailbox.usage for mailbox in mailboxes)

    async with trio.open_nursery() as readers:
        for _ in range(6):
            readers.start_soon(reader)
    await bench.emptied()
    snapshot = bench.engine.snapshot()
    assert (snapshot.waiting, snapshot.running) == (0, 0)
    for mailbox in bench.engine.submit([ask()] * 8):
        await read(mailbox)


async def test_metrics_say_where_rounds_spend_their_time(bench: Bench) -> None:
    (mailbox,) = bench.engine.submit([ask(max_tokens=5)])
    await read(mailbox)
    # The last round's turn is told when the next one begins, or when there is nothing left to do.
    await until(lambda: bench.metric("ignis_decode_host_seconds_count") == 4)
    assert bench.metric("ignis_decode_gap_seconds_count") == 4
    assert bench.metric('ignis_decode_seconds_total{part="wait"}') == pytest.approx(4 * 0.001)
    assert bench.metric('ignis_decode_seconds_total{part="device"}') == pytest.approx(4 * 0.0009)


async def test_metrics_say_what_lanes_do_and_how_long_requests_wait(bench: Bench) -> None:
    lanes = [f'ignis_lanes{{state="{state}"}}' for state in ("capacity", "prefill", "decode")]
    oldest = 'ignis_oldest_waiting_seconds{for="admission"}'
    assert [bench.metric(lane) for lane in lanes] == [8, 0, 0]
    bench.leaf.hold()
    mailboxes = bench.engine.submit([ask(max_tokens=3)] * 3)
    # The first one has decoded a round, the second prefills, the third waits.
    await begun(bench, 1)
    bench.leaf.allow(1)
    await begun(bench, 2)
    bench.clock.now += 2
    bench.leaf.allow(1)
    await begun(bench, 3)
    await until(lambda: bench.metric(lanes[1]) == 1)
    assert [bench.metric(lane) for lane in lanes] == [8, 1, 1]
    assert bench.metric(oldest) == 2
    bench.leaf.release()
    for mailbox in mailboxes:
        await read(mailbox)
    assert [bench.metric(lane) for lane in lanes] == [8, 0, 0]
    assert bench.metric(oldest) == 0
    assert bench.metric("ignis_request_queue_seconds_count") == 3
    assert bench.metric("ignis_request_queue_seconds_sum") == 4
    await bench.engine.unload()
    assert bench.metric(lanes[0]) == 0


async def test_metrics_count_the_gaps_between_tokens_and_the_prompt_tokens_that_were_computed(bench: Bench) -> None:
    for _ in range(2):
        (mailbox,) = bench.engine.submit([ask(range(130), max_tokens=5)])
        await read(mailbox)
    # Four gaps an answer. All but the last token of the second prompt's whole pages come out of the cache.
    assert bench.metric("ignis_inter_token_seconds_count") == 8
    assert bench.metric("ignis_prompt_tokens_total") == 260
    assert bench.metric("ignis_kv_pool_retained_pages") == bench.metric("ignis_kv_pool_used_pages") > 0
    cached = bench.metric('ignis_retained_reused_tokens_total{tier="device"}')
    assert bench.metric("ignis_prefilled_tokens_total") == 260 - cached < 260


async def test_metrics_have_the_memory_of_a_card_as_its_driver_tells_it(nursery: trio.Nursery) -> None:
    bench = Bench(card_leaf(), engine_settings(prefill_chunk=64, headroom_bytes=1000))
    used, total = (f'ignis_device_memory_bytes{{state="{state}"}}' for state in ("used", "total"))
    await bench.engine.look_at_memory()
    assert bench.metric(used) == bench.metric(total) == 0
    await nursery.start(bench.engine.run)
    await bench.engine.load(bare_checkpoint())
    await bench.engine.look_at_memory()
    full = bench.metric(used)
    assert bench.metric(total) == 1 << 17
    await bench.engine.unload()
    await bench.engine.look_at_memory()
    assert full > bench.metric(used) > 0
    bench.leaf.load_faults["probe"] = ModelLoadError("the card is lost")
    await bench.engine.look_at_memory()
    assert bench.metric(total) == 1 << 17


async def test_constraints_are_worked_out_on_other_threads(bench: Bench) -> None:
    slow = RuledConstraint(ends_in(3), is_slow=True)
    (mailbox,) = bench.engine.submit([ask(max_tokens=6, constraint=slow)])
    tokens, last = await read(mailbox)
    assert ([token % 10 for token in tokens], last.finish) == ([3] * 6, FinishReason.LENGTH)
    assert len(slow.workers) == 5 and {name.rpartition("-")[0] for name in slow.workers} == {"ignis-masks"}
    await until(lambda: bench.metric("ignis_mask_seconds_count") == 5)


async def test_a_constraint_that_is_worked_on_for_long_stops_no_other_lane(bench: Bench) -> None:
    stuck = RuledConstraint(ends_in(3), is_slow=True)
    stuck.gate = threading.Semaphore(0)
    held, free = bench.engine.submit([ask(max_tokens=4, constraint=stuck), ask(max_tokens=200)])
    tokens, last = await read(free)
    assert (len(tokens), last.finish) == (200, FinishReason.LENGTH)
    await until(lambda: bench.metric("ignis_late_lanes_total") == 199)
    stuck.gate.release(4)
    tokens, last = await read(held)
    assert ([token % 10 for token in tokens], last.finish) == ([3] * 4, FinishReason.LENGTH)


@pytest.mark.parametrize(
    ("error", "reason"),
    [(ConstraintError("too large"), FinishReason.BLOCKED), (KeyError("a bug"), FinishReason.FAULT)],
)
async def test_a_constraint_that_fails_ends_its_request_and_no_other(
    bench: Bench, error: Exception, reason: FinishReason
) -> None:
    failing = RuledConstraint(ends_in(3), is_slow=True, fails_at=2, error=error)
    broken, other = bench.engine.submit([ask(max_tokens=9, constraint=failing), ask(max_tokens=9)])
    tokens, last = await read(broken)
    assert (len(tokens), last.finish) == (2, reason)
    assert str(error) in last.fault
    assert len((await read(other))[0]) == 9
    assert bench.engine.state is EngineState.SERVING


async def test_a_late_request_can_be_cancelled(bench: Bench) -> None:
    stuck = RuledConstraint(ends_in(3), is_slow=True)
    stuck.gate = threading.Semaphore(0)
    (mailbox,) = bench.engine.submit([ask(constraint=stuck)])
    await mailbox.receive()
    mailbox.cancel()
    await bench.emptied()
    stuck.gate.release(1)
    (after,) = bench.engine.submit([ask()])
    assert len((await read(after))[0]) == 4


def address_space_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


async def test_without_a_thread_for_constraints_only_held_requests_end(bench: Bench) -> None:
    limit = resource.getrlimit(resource.RLIMIT_AS)
    # Room for what Python needs, and not for the stack of one more thread.
    resource.setrlimit(resource.RLIMIT_AS, (address_space_bytes() + (64 << 20), limit[1]))
    try:
        slow = RuledConstraint(ends_in(3), is_slow=True)
        held, free = bench.engine.submit([ask(max_tokens=9, constraint=slow), ask(max_tokens=9)])
        _, last = await read(held)
        assert last.finish is FinishReason.FAULT and "thread" in last.fault
        assert len((await read(free))[0]) == 9
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limit)
    again = RuledConstraint(ends_in(3), is_slow=True)
    (mailbox,) = bench.engine.submit([ask(max_tokens=9, constraint=again)])
    assert len((await read(mailbox))[0]) == 9


async def test_the_metrics_tell_what_became_of_pages_that_the_device_gave_up(nursery: trio.Nursery) -> None:
    settings = engine_settings(
        prefill_chunk=128, max_context=512, kv_pool=PoolSize(tokens=512), kv_host_bytes=64 * 8, decode_lanes=2
    )
    bench = Bench(ScriptedLeaf(), settings)
    await nursery.start(bench.engine.run)
    await bench.engine.load(bare_checkpoint())
    assert bench.metric('ignis_kv_ram_arena_bytes{state="capacity"}') == 64 * 8
    for prompt in (range(300), range(300, 750), range(300)):
        await answered(bench, prompt)
    tiers = {
        name: [bench.metric(f'ignis_retained_{name}_total{{tier="{tier}"}}') for tier in ("device", "kv_ram")]
        for name in ("reused_tokens", "state_hits", "state_misses")
    }
    assert tiers == {"reused_tokens": [0, 256], "state_hits": [0, 1], "state_misses": [3, 2]}
    assert bench.metric('ignis_retained_state_restores_total{tier="kv_ram"}') == 4
    spills = bench.metric('ignis_retained_state_spills_total{tier="device"}')
    lost = bench.metric('ignis_retained_state_discards_total{tier="device"}')
    discards = bench.metric('ignis_retained_state_discards_total{tier="kv_ram"}')
    # What went there and is not there any more was discarded; tails never went.
    assert spills - discards == bench.metric('ignis_kv_ram_arena_bytes{state="used"}') / 64
    assert bench.metric("ignis_kv_cache_evictions_total") == spills + lost > spills > 4
    assert bench.metric('ignis_engine_steps_total{kind="move"}') >= 4


async def test_a_request_that_was_parked_is_told_in_the_log_and_counted(nursery: trio.Nursery) -> None:
    settings = engine_settings(
        prefill_chunk=128, max_context=512, kv_pool=PoolSize(tokens=512), kv_host_bytes=64 * 8, decode_lanes=2
    )
    leaf = ScriptedLeaf()
    bench = Bench(leaf, settings)
    await nursery.start(bench.engine.run)
    await bench.engine.load(bare_checkpoint())
    leaf.hold()
    (agent,) = bench.engine.submit([ask(range(100), 300, request_class=RequestClass.AGENT, trace="the agent's")])
    # Its prompt and a round; the user comes while it still has far to go.
    leaf.allow(2)
    await agent.receive()
    (user,) = bench.engine.submit([ask(range(500, 600), 200)])
    leaf.release()
    _, first_end = await read(user)
    assert bench.metric("ignis_kv_lane_parks_total") == 1
    tokens, last = await read(agent)
    assert (first_end.finish, last.finish, len(tokens)) == (FinishReason.LENGTH, FinishReason.LENGTH, 299)
    evicted, restored = (
        [event for event in logged(bench) if event["event"] == f"ignis.request.{name}"]
        for name in ("evicted", "restored")
    )
    assert evicted[0]["request_id"] == restored[0]["request_id"] == "the agent's"
    assert evicted[0]["tokens"] == restored[0]["tokens"] >= 100


async def answered(bench: Bench, prompt: range) -> None:
    (mailbox,) = bench.engine.submit([ask(prompt)])
    with mailbox:
        await read(mailbox)
