"""The engine as the event loop's thread sees it: load and unload, submit, mailboxes, and what it says of itself."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import trio

from ignis import machine
from ignis._core import MAX_LANES
from ignis.clock import Clock, monotonic_s
from ignis.engine.estimate import Estimate
from ignis.engine.flight import Account, Flight
from ignis.engine.leaf import Leaf
from ignis.engine.lifecycle import TABLE, EngineEvent, EngineState
from ignis.engine.loop import Attach, Delivery, Detach, Leave, Quit, StepLoop, Submit
from ignis.engine.mailbox import Mailbox
from ignis.engine.settings import EngineSettings
from ignis.engine.vram import LoadPlan, plan_load
from ignis.errors import (
    ContextLengthExceededError,
    DrainingError,
    EngineFullError,
    IgnisError,
    InvalidRequestError,
    RequestTooLargeError,
    ServerNotReadyError,
)
from ignis.log import Log
from ignis.metrics import Metrics
from ignis.models.base import Checkpoint
from ignis.scheduler.live import pages_of
from ignis.scheduler.plan import DecodeRound, PrefillSpan
from ignis.scheduler.request import FinishReason, Submission, TokenEvent
from ignis.scheduler.scheduler import Scheduler, SchedulerSettings


@dataclass(frozen=True, slots=True)
class EngineSnapshot:
    """The numbers that gauges read. Zero where nothing is loaded."""

    waiting: int
    running: int
    free_lanes: int
    kv_pages: int
    kv_used_pages: int
    kv_page_bytes: int
    weights_bytes: int
    workspace_bytes: int
    kv_pool_bytes: int
    step_age_s: float


class Engine:
    """One model at a time, its step loop on a thread of its own. Everything here belongs to the event loop's thread."""

    def __init__(
        self,
        settings: EngineSettings,
        open_leaf: Callable[[], Leaf],
        log: Log,
        metrics: Metrics,
        clock: Clock = monotonic_s,
    ) -> None:
        """Starts nothing. `open_leaf` opens the device; it is called at the first load, in a worker thread."""
        assert 1 <= settings.decode_lanes <= MAX_LANES
        assert settings.prefill_chunk % 64 == 0
        self.state = EngineState.UNLOADED
        self.reason = ""
        """Why it FAILED: a line for a person."""
        self._settings = settings
        self._open_leaf = open_leaf
        self._log = log
        self._metrics = metrics
        self._clock = clock
        self._account = Account(log, metrics)
        self._estimate = Estimate()
        self._leaf: Leaf | None = None
        self._loaded: LoadPlan | None = None
        self._scheduler: Scheduler | None = None
        self._loop: StepLoop | None = None
        self._flights: dict[int, Flight] = {}
        self._num_submitted = 0
        self._num_held = 0
        self._counted_evictions = 0
        self._emptied = trio.Event()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Runs the step loop until cancelled, then ends what is in flight and frees the model.

        A step that never comes back is waited for settings.stop_limit_s, then left to its thread, which holds the leaf.
        """
        self._loop = loop = StepLoop(self._clock, trio.lowlevel.current_trio_token(), self._take)
        loop.start()
        try:
            task_status.started()
            await trio.sleep_forever()
        finally:
            with trio.move_on_after(self._settings.stop_limit_s, shield=True):
                await self._detach()
                loop.post(Quit())
                if self._leaf is not None:
                    await trio.to_thread.run_sync(self._leaf.unload)
            self._end_flights(FinishReason.CANCELLED)

    async def load(self, checkpoint: Checkpoint) -> LoadPlan:
        """Loads a model in a worker thread; `run` has started. The checkpoint stays open until `unload` or `run` ends.

        Raises:
            ModelLoadError: the plan does not fit, or the leaf refuses the model. The state is FAILED then.
        """
        assert self._loop is not None, "load before run"
        self._advance(EngineEvent.LOAD)
        try:
            plan = await trio.to_thread.run_sync(self._load_leaf, checkpoint)
        except BaseException as error:
            self.reason = str(error)
            self._advance(EngineEvent.ERROR)
            raise
        self._loaded = plan
        self._scheduler = Scheduler(
            SchedulerSettings(
                num_pages=plan.layout.num_pages,
                num_lanes=self._settings.decode_lanes,
                prefill_chunk=self._settings.prefill_chunk,
                decode_share=self._settings.decode_share / 100,
                has_prefix_cache=self._settings.has_prefix_cache,
            )
        )
        self._counted_evictions = 0
        self._loop.post(Attach(self._scheduler, self._leaf_in_use()))
        self._advance(EngineEvent.READY)
        self._log_plan(plan)
        return plan

    async def unload(self) -> None:
        """Ends what is in flight with CANCELLED and frees the model."""
        self._advance(EngineEvent.UNLOAD)
        await self._detach()
        if self._leaf is not None:
            await trio.to_thread.run_sync(self._leaf.unload)

    def drain(self) -> None:
        """From now on submissions are refused; what is in flight goes on. For the shutdown."""
        self._advance(EngineEvent.DRAIN)

    async def wait_empty(self) -> None:
        """Waits until nothing is in flight."""
        while self._flights:
            self._emptied = trio.Event()
            await self._emptied.wait()

    @property
    def max_context(self) -> int:
        """Tokens of one request, prompt and cap; 0 while nothing is loaded."""
        return 0 if self._loaded is None else self._loaded.layout.max_context

    @property
    def num_lanes(self) -> int:
        return self._settings.decode_lanes

    def is_alive(self, now: float | None = None) -> bool:
        """Whether the step loop turns: not where a step takes over settings.step_limit_s or the loop broke, but where
        it waits for work. Says nothing about the state."""
        loop = self._loop
        if loop is None or loop.has_ended:
            return False
        return loop.step_age_s(self._clock() if now is None else now) < self._settings.step_limit_s

    def snapshot(self) -> EngineSnapshot:
        """Reads the gauges. The engine's thread may move on meanwhile; each number is whole."""
        plan, scheduler, loop = self._loaded, self._scheduler, self._loop
        return EngineSnapshot(
            waiting=0 if scheduler is None else scheduler.num_waiting,
            running=0 if scheduler is None else scheduler.num_running,
            free_lanes=0 if scheduler is None else self._settings.decode_lanes - self._num_held,
            kv_pages=0 if plan is None else plan.layout.num_pages,
            kv_used_pages=0 if scheduler is None else scheduler.residency.num_used,
            kv_page_bytes=0 if plan is None else plan.footprint.kv_page_bytes,
            weights_bytes=0 if plan is None else plan.footprint.weights_bytes,
            workspace_bytes=0 if plan is None else plan.footprint.workspace_bytes,
            kv_pool_bytes=0 if plan is None else plan.footprint.kv_pool_bytes,
            step_age_s=0.0 if loop is None else loop.step_age_s(self._clock()),
        )

    def submit(self, submissions: Sequence[Submission]) -> list[Mailbox]:
        """Takes all of them, or none.

        Raises:
            ServerNotReadyError: no model serves.
            DrainingError: the server shuts down.
            InvalidRequestError: there are more of them than lanes, so they never fit.
            ContextLengthExceededError: a bound is past the context.
            RequestTooLargeError: a bound is past the whole pool.
            EngineFullError: too few lanes are free; retry_after_s is an estimate of when they are.
        """
        try:
            self._check_state()
            for submission in submissions:
                self._check_bound(submission)
            self._check_lanes(len(submissions))
        except IgnisError as error:
            self._account.rejected(
                submissions[0], _REJECTIONS.get(type(error), "oversized"), error.code, error.retry_after_s
            )
            raise
        return [self._accept(submission) for submission in submissions]

    def _check_state(self) -> None:
        if self.state is EngineState.DRAINING:
            raise DrainingError("The server is shutting down")
        if self.state is not EngineState.SERVING:
            raise ServerNotReadyError(
                "The model could not be loaded" if self.state is EngineState.FAILED else "The model is being loaded"
            )

    def _check_bound(self, submission: Submission) -> None:
        assert self._loaded is not None
        layout = self._loaded.layout
        bound_tokens = len(submission.prompt) + submission.max_tokens
        if not submission.prompt or submission.max_tokens < 1:
            raise InvalidRequestError("A request needs a token of prompt and a cap of one token at least")
        if bound_tokens > layout.max_context:
            raise ContextLengthExceededError(
                f"{len(submission.prompt)} tokens of prompt and {submission.max_tokens} of answer are more than the "
                f"context of {layout.max_context} tokens"
            )
        if pages_of(bound_tokens) > layout.num_pages:
            raise RequestTooLargeError(f"{bound_tokens} tokens are more than the KV pool holds")

    def _check_lanes(self, count: int) -> None:
        lanes = self._settings.decode_lanes
        if count > lanes:
            raise InvalidRequestError(
                f"{count} answers at once are more than the {lanes} lanes of this server", param="n"
            )
        if self._num_held + count > lanes:
            held = ((flight.num_drawn, flight.submission.max_tokens) for flight in self._held())
            raise EngineFullError(
                f"All {lanes} lanes are taken"
                if self._num_held == lanes
                else f"Only {lanes - self._num_held} lanes are free",
                retry_after_s=self._estimate.retry_after_s(held),
            )

    def _held(self) -> list[Flight]:
        return [flight for flight in self._flights.values() if not flight.has_left]

    def _accept(self, submission: Submission) -> Mailbox:
        assert self._loop is not None
        self._num_submitted += 1
        mailbox = Mailbox(self._num_submitted, self._leave)
        self._flights[mailbox.request_id] = Flight(mailbox, submission, self._clock())
        self._num_held += 1
        self._account.accepted(1)
        self._loop.post(Submit(mailbox.request_id, submission))
        return mailbox

    def _leave(self, request_id: int, reason: FinishReason) -> None:
        """A reader ended its request. Commands keep their order, so the next submission may have the lane now."""
        flight = self._flights[request_id]
        assert self._loop is not None
        flight.has_left = True
        self._num_held -= 1
        self._loop.post(Leave(request_id, reason))

    def _take(self, delivery: Delivery) -> None:
        """Takes what one turn of the loop did. The engine's thread calls it here once a step."""
        now = delivery.ended_at_s
        self._note_step(delivery)
        num_drawn = 0
        for event in delivery.events:
            flight = self._flights.get(event.request_id)
            if flight is not None:
                num_drawn += self._take_event(flight, event, now)
        if num_drawn:
            self._metrics.count("ignis_decoded_tokens", num_drawn)
        if delivery.failure is not None:
            self._fail(delivery.failure)

    def _take_event(self, flight: Flight, event: TokenEvent, now: float) -> int:
        was_silent = flight.num_drawn == 0
        drawn = flight.note(event, now)
        if drawn and was_silent:
            self._account.begun(event.request_id, flight, now)
        flight.mailbox.put(event)
        if event.finish is not None:
            self._end(event.request_id, event, now)
        return drawn

    def _note_step(self, delivery: Delivery) -> None:
        if isinstance(delivery.step, DecodeRound):
            self._metrics.count("ignis_engine_steps", label="decode")
            self._estimate.note_round(delivery.ended_at_s)
        elif isinstance(delivery.step, PrefillSpan):
            self._metrics.count("ignis_engine_steps", label="prefill")
        if self._scheduler is not None and self._scheduler.residency.evictions > self._counted_evictions:
            evictions = self._scheduler.residency.evictions
            self._metrics.count("ignis_kv_cache_evictions", evictions - self._counted_evictions)
            self._counted_evictions = evictions

    def _end(self, request_id: int, event: TokenEvent, now: float) -> None:
        flight = self._flights.pop(request_id)
        if not flight.has_left:
            self._num_held -= 1
        if event.finish in (FinishReason.STOP, FinishReason.LENGTH):
            self._estimate.note_answer(flight.num_drawn)
        self._account.ended(request_id, flight, event, now)
        if not self._flights:
            self._emptied.set()
            self._estimate.note_pause()

    def _fail(self, failure: IgnisError) -> None:
        """The device is lost or the loop broke. Submissions that crossed the failure end too."""
        self.reason = failure.message
        self._advance(EngineEvent.ERROR)
        self._log.emit("ignis.engine.fault", error=failure.__cause__ or failure)
        self._end_flights(FinishReason.FAULT, failure.message)

    def _end_flights(self, reason: FinishReason, fault: str = "") -> None:
        now = self._clock()
        for request_id, flight in list(self._flights.items()):
            event = TokenEvent(request_id, finish=reason, fault=fault, usage=flight.usage)
            flight.mailbox.put(event)
            self._end(request_id, event, now)

    async def _detach(self) -> None:
        """Ends every request and takes the leaf from the loop; it is not called again."""
        loop = self._loop
        if loop is not None and not loop.has_ended:
            done = trio.Event()
            loop.post(Detach(done.set))
            await done.wait()
        self._end_flights(FinishReason.CANCELLED)
        self._scheduler = None
        self._loaded = None

    def _load_leaf(self, checkpoint: Checkpoint) -> LoadPlan:
        if self._leaf is None:
            self._leaf = self._open_leaf()
        self._leaf.unload()
        plan = plan_load(self._leaf, checkpoint, self._settings)
        self._leaf.load(checkpoint, plan.layout)
        return plan

    def _leaf_in_use(self) -> Leaf:
        assert self._leaf is not None
        return self._leaf

    def _log_plan(self, plan: LoadPlan) -> None:
        held = plan.footprint
        self._log.emit(
            "ignis.runtime.vram_plan",
            weights_bytes=held.weights_bytes,
            workspace_bytes=held.workspace_bytes,
            kv_pool_bytes=held.kv_pool_bytes,
            total_bytes=plan.total_bytes,
        )
        self._log.emit(
            "ignis.runtime.kv_pool",
            kv_pages=plan.layout.num_pages,
            kv_tokens=plan.layout.num_pages * 64,
            kv_page_bytes=held.kv_page_bytes,
            kv_pool_bytes=held.kv_pool_bytes,
            decode_lanes=self._settings.decode_lanes,
            prefill_chunk=self._settings.prefill_chunk,
        )

    def _advance(self, event: EngineEvent) -> None:
        self.state = machine.advance(TABLE, self.state, event)


_REJECTIONS: dict[type[IgnisError], str] = {
    EngineFullError: "full",
    ServerNotReadyError: "not_ready",
    DrainingError: "not_ready",
}
