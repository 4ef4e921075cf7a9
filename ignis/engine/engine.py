"""The engine as the event loop's thread sees it: load and unload, submit, mailboxes, and what it says of itself."""

import contextlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

import trio

from ignis import machine
from ignis._core import MAX_LANES
from ignis.clock import Clock, monotonic_s
from ignis.engine.cut_off import MODEL_FAILED
from ignis.engine.device_memory import DeviceMemory, memory_of
from ignis.engine.estimate import Estimate
from ignis.engine.flight import Account, Flight
from ignis.engine.host_memory import available_bytes
from ignis.engine.leaf import Leaf
from ignis.engine.lifecycle import TABLE, EngineEvent, EngineState
from ignis.engine.limits import REJECTIONS, check_bounds, check_lanes, check_state
from ignis.engine.load import Loaded, LoadStatus, LoadWatch
from ignis.engine.loop import Attach, Delivery, Detach, Leave, Quit, StepLoop, Submit
from ignis.engine.mailbox import Mailbox
from ignis.engine.settings import EngineSettings
from ignis.engine.snapshot import EngineSnapshot
from ignis.engine.vram import BudgetMode, LoadPlan, Measured, check_need, measure, plan_load
from ignis.errors import EngineError, IgnisError, LoadPlanError, ModelLoadError
from ignis.log import Log
from ignis.metrics import Metrics
from ignis.models.base import Checkpoint
from ignis.scheduler.plan import CopyPage, DecodeRound, Idle, MovePages, PrefillSpan
from ignis.scheduler.request import Admitted, FinishReason, Parked, Restored, Submission, TokenEvent
from ignis.scheduler.reuse_counts import ReuseCounts
from ignis.scheduler.scheduler import Scheduler, SchedulerSettings

_REPORT_INTERVAL_S = 1.0
_LOOK_INTERVAL_S = 0.01
_MEMORY_LIMIT_S = 1.0


class Engine:
    """One model at a time, its step loop on a thread of its own. Everything here belongs to the event loop's thread."""

    def __init__(
        self,
        settings: EngineSettings,
        open_leaf: Callable[[], Leaf],
        log: Log,
        metrics: Metrics,
        clock: Clock = monotonic_s,
        watch: Callable[[Delivery], None] | None = None,
    ) -> None:
        """Starts nothing. `open_leaf` opens the device; it is called at the first load, in a worker thread.

        watch: is shown every turn of the step loop, in the event loop's thread, after it was taken.
        """
        assert 1 <= settings.decode_lanes <= MAX_LANES
        assert settings.prefill_chunk is None or settings.prefill_chunk % 64 == 0
        self.state = EngineState.UNLOADED
        self.reason = ""
        """Why it FAILED, or why nothing was ever loaded: a line for a person."""
        self.on_change: Callable[[], None] = lambda: None
        """Called, in the event loop's thread, when the state moves and when the last request has ended."""
        self._settings = settings
        self._open_leaf = open_leaf
        self._log = log
        self._metrics = metrics
        self._clock = clock
        self._watch = watch
        self._account = Account(log, metrics)
        self._estimate = Estimate()
        self._leaf: Leaf | None = None
        self._opening = threading.Lock()
        self._memory = DeviceMemory()
        self._loaded: Loaded | None = None
        self._load: LoadWatch | None = None
        self._has_no_load = trio.Event()
        self._has_no_load.set()
        self._scheduler: Scheduler | None = None
        self._loop: StepLoop | None = None
        self._flights: dict[int, Flight] = {}
        self._num_submitted = 0
        self._num_held = 0
        self._room = trio.lowlevel.ParkingLot()
        """Those who wait for a lane."""
        self._counted_reuse = ReuseCounts()
        self._num_steps = 0
        self._logged_load = (0, 0)
        metrics.read_gauge_from("ignis_oldest_waiting_seconds", self._oldest_waiting_s, "admission")

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
                # A load that was cancelled ends soon; until then the leaf is its.
                await self._has_no_load.wait()
                await self._detach()
                loop.post(Quit())
                await trio.to_thread.run_sync(self._unload_leaf)
            self._end_flights(FinishReason.CANCELLED)

    @property
    def settings(self) -> EngineSettings:
        """What the latest load went by."""
        return self._settings

    async def load(self, checkpoint: Checkpoint, settings: EngineSettings | None = None) -> LoadPlan:
        """Loads a model in a worker thread; `run` has started. The checkpoint stays open until `unload` or `run` ends.

        Settings are the engine's from then on; None: as before.

        Cancelled, it frees what it has taken before it ends; the state is UNLOADED then.

        Raises:
            ModelLoadError: the plan does not fit, or the leaf refuses the model. The state is FAILED then.
            DeviceLoadError: the device failed; FAILED too, and the next load may go well.
        """
        assert self._loop is not None, "load before run"
        # A shutdown may have ended `run` since the caller last waited.
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._loop.has_ended:
            raise EngineError("the step loop broke, and only a new process has another")
        self._advance(EngineEvent.LOAD)
        self._settings = settings or self._settings
        self._load = watch = LoadWatch(self._clock)
        self._has_no_load = trio.Event()
        try:
            loaded = await self._load_watched(checkpoint, watch)
        except Exception as error:
            self.reason = str(error)
            self._advance(EngineEvent.ERROR)
            raise
        except BaseException:
            # Cancelled, perhaps just after the leaf was done.
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(self._unload_leaf)
            self._advance(EngineEvent.CANCEL)
            raise
        finally:
            self._load = None
            self._has_no_load.set()
        self._loaded = loaded
        plan = loaded.plan
        self._scheduler = Scheduler(
            SchedulerSettings(
                num_pages=plan.layout.num_pages,
                num_lanes=self._settings.decode_lanes,
                prefill_chunk=plan.layout.max_span,
                decode_share=self._settings.decode_share / 100,
                has_prefix_cache=self._settings.has_prefix_cache,
                phases_agree=plan.device.phases_agree,
                num_host_pages=plan.layout.num_host_pages,
            )
        )
        self._counted_reuse = ReuseCounts()
        self._num_steps = 0
        self.reason = ""
        self._loop.post(Attach(self._scheduler, self._leaf_in_use()))
        self._advance(EngineEvent.READY)
        self._log_loaded(loaded)
        return plan

    async def check_plan(self, checkpoint: Checkpoint, settings: EngineSettings) -> None:
        """Makes the plan of a load that would follow the model that serves, and holds nothing.

        Raises:
            LoadPlanError, ModelLoadError: it cannot be; the message names the line of the plan and the field to change.
        """
        loaded, leaf = self._loaded, self._leaf
        if loaded is None or leaf is None:
            # Nothing would be torn down for it: the load itself tells as much.
            return
        # What the driver saw going may be more than the plan says.
        freed = max(loaded.plan.allocated_bytes, loaded.measured.taken_bytes)
        host = available_bytes()
        # Beside a card that is what it pins; on the CPU nobody asks.
        host_bytes = None if host is None else host + loaded.plan.kv_ram_bytes
        await trio.to_thread.run_sync(plan_load, leaf, checkpoint, settings, freed, host_bytes)

    async def check_need(self, name: str, need_bytes: int) -> None:
        """Sees whether a load of so many bytes at least could ever be on this device; opens it where it is not yet.

        Raises:
            ModelTooLargeError: it could not, whatever else is unloaded.
        """
        with contextlib.suppress(ModelLoadError, LoadPlanError):
            # Without a device there is nothing to compare with, and a load says so by itself.
            await trio.to_thread.run_sync(self._check_need, name, need_bytes)

    def _check_need(self, name: str, need_bytes: int) -> None:
        check_need(name, need_bytes, self._opened_leaf().probe(), self._settings)

    def leave(self) -> None:
        """The model is to go: `submit` still takes what began before, and whoever reads the state lets no more in."""
        self._advance(EngineEvent.LEAVE)

    def stay(self) -> None:
        """The model is to stay after all."""
        self._advance(EngineEvent.STAY)

    async def unload(self, told: str | None = None) -> None:
        """Ends what is in flight with FAULT, and tells its clients so, and frees the model. Is not broken off: there is
        nothing to go back to."""
        self._advance(EngineEvent.UNLOAD)
        with trio.CancelScope(shield=True):
            await self._detach("the model was unloaded before the answer was done", told)
            await trio.to_thread.run_sync(self._unload_leaf)
        self.reason = ""
        self._advance(EngineEvent.DONE)

    def note_unloadable(self, reason: str) -> None:
        """The model that was to be loaded could not even be opened: FAILED, as after a load that failed."""
        self._advance(EngineEvent.LOAD)
        self.reason = reason
        self._advance(EngineEvent.ERROR)

    def note_empty(self, reason: str) -> None:
        """There is nothing to load, and why; what FAILED before does not count any more."""
        if self.state is EngineState.FAILED:
            self._advance(EngineEvent.UNLOAD)
            self._advance(EngineEvent.DONE)
        self.reason = reason
        self.on_change()

    def drain(self) -> None:
        """From now on submissions are refused; what is in flight goes on. For the shutdown."""
        self._advance(EngineEvent.DRAIN)

    def give_up(self) -> None:
        """Ends what is in flight with CANCELLED; its readers are told. For the shutdown, when waiting is over."""
        assert self._loop is not None
        for request_id, flight in self._flights.items():
            if not flight.has_left:
                self._loop.post(Leave(request_id, FinishReason.CANCELLED))

    @property
    def max_context(self) -> int:
        """Tokens of one request, prompt and cap; 0 while nothing is loaded."""
        return 0 if self._loaded is None else self._loaded.plan.layout.max_context

    @property
    def num_requests(self) -> int:
        """Submitted and not ended yet."""
        return len(self._flights)

    def seconds_to_end(self) -> float:
        """An estimate of when everything in flight has ended, by the rate of late; 0 where nothing is."""
        held = [flight for flight in self._flights.values() if not flight.has_left]
        return self._estimate.seconds_to_end((flight.num_drawn, flight.submission.max_tokens) for flight in held)

    @property
    def loaded(self) -> Loaded | None:
        """The load of the model that serves; None where none does."""
        return self._loaded

    @property
    def load_status(self) -> LoadStatus | None:
        """How far the load under way is; None where there is none."""
        return None if self._load is None else self._load.status()

    def is_alive(self, now: float | None = None) -> bool:
        """Whether the step loop turns: not where a step takes over settings.step_limit_s or the loop broke, but where
        it waits for work. Says nothing about the state."""
        loop = self._loop
        if loop is None or loop.has_ended:
            return False
        return loop.step_age_s(self._clock() if now is None else now) < self._settings.step_limit_s

    async def look_at_memory(self) -> None:
        """Reads the device's memory for the next snapshot, in a worker thread: a driver takes a while, and one that has
        lost its card may never answer."""
        leaf = self._leaf
        if leaf is None or self._load is not None:
            # A load may be recording, which no other thread should come near.
            return
        with trio.move_on_after(_MEMORY_LIMIT_S), contextlib.suppress(ModelLoadError):
            # A card that does not answer leaves the last reading; who needs the card hears of it there.
            self._memory = memory_of(await trio.to_thread.run_sync(leaf.probe, abandon_on_cancel=True))

    def snapshot(self) -> EngineSnapshot:
        """Reads the gauges. The engine's thread may move on meanwhile; each number is whole."""
        loaded, scheduler, loop = self._loaded, self._scheduler, self._loop
        plan = None if loaded is None else loaded.plan
        lines = {} if plan is None else plan.lines
        measured = Measured() if loaded is None else loaded.measured
        load = self.load_status
        return EngineSnapshot(
            waiting=0 if scheduler is None else scheduler.num_waiting,
            running=0 if scheduler is None else scheduler.num_running,
            lanes=0 if scheduler is None else self._settings.decode_lanes,
            lanes_prefilling=0 if scheduler is None else scheduler.num_prefilling,
            lanes_decoding=0 if scheduler is None else scheduler.num_decoding,
            kv_pages=0 if plan is None else plan.layout.num_pages,
            kv_used_pages=0 if scheduler is None else scheduler.residency.num_used,
            kv_retained_pages=0 if scheduler is None else scheduler.residency.index.num_idle,
            kv_page_bytes=0 if plan is None else plan.footprint.kv_page_bytes,
            kv_ram_bytes=0 if plan is None else plan.kv_ram_bytes,
            kv_ram_used_bytes=0
            if plan is None or scheduler is None
            else scheduler.residency.kv_ram.num_used * plan.footprint.kv_page_bytes,
            weights_bytes=lines.get("weights", 0),
            embedding_bytes=lines.get("embedding", 0),
            mapped_files_bytes=lines.get("mapped_files", 0),
            cuda_context_bytes=lines.get("cuda_context", 0),
            workspace_bytes=lines.get("workspace", 0),
            sampling_bytes=lines.get("sampling", 0),
            decode_graph_bytes=lines.get("decode_graph", 0),
            lane_state_bytes=lines.get("lane_state", 0),
            kv_ram_line_bytes=lines.get("kv_ram", 0),
            kv_pool_bytes=lines.get("kv_pool", 0),
            budget_bytes=0 if plan is None else plan.budget.size_bytes,
            unplanned_bytes=measured.unplanned_bytes,
            free_after_load_bytes=measured.free_bytes,
            device_used_bytes=self._memory.used_bytes,
            device_total_bytes=self._memory.total_bytes,
            load_done_bytes=0 if load is None else load.done_bytes,
            load_total_bytes=0 if load is None else load.total_bytes,
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
            check_state(self.state, self.reason)
            check_bounds(submissions, self._loaded_plan().layout)
            check_lanes(len(submissions), self._settings.decode_lanes, self._num_held, self._retry_after_s)
        except IgnisError as error:
            self._account.rejected(submissions[0], REJECTIONS[type(error)], error.code, error.retry_after_s)
            raise
        return [self._accept(submission) for submission in submissions]

    @property
    def num_lanes(self) -> int:
        return self._settings.decode_lanes

    def has_room(self, count: int) -> bool:
        """Whether so many submissions would find lanes now. Where no model serves nobody has to wait to be told so."""
        return self.state is not EngineState.SERVING or self._num_held + count <= self._settings.decode_lanes

    async def wait_room(self) -> None:
        """Returns when a lane was given back, or no model serves any more."""
        await self._room.park()

    def _give_back(self) -> None:
        self._num_held -= 1
        self._room.unpark_all()

    def _retry_after_s(self) -> int:
        held = [flight for flight in self._flights.values() if not flight.has_left]
        return self._estimate.retry_after_s((flight.num_drawn, flight.submission.max_tokens) for flight in held)

    def _oldest_waiting_s(self) -> float:
        waiting = (flight.accepted_at_s for flight in self._flights.values() if flight.lane is None)
        now = self._clock()
        return now - min(waiting, default=now)

    def _loaded_plan(self) -> LoadPlan:
        assert self._loaded is not None
        return self._loaded.plan

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
        self._give_back()
        self._loop.post(Leave(request_id, reason))

    def _take(self, delivery: Delivery) -> None:
        """Takes what one turn of the loop did. The engine's thread calls it here once a step."""
        now = delivery.ended_at_s
        self._note_step(delivery)
        num_drawn = 0
        for event in delivery.events:
            flight = self._flights.get(event.request_id)
            if flight is None:
                continue
            if isinstance(event, Admitted):
                flight.lane = event.lane
                self._account.admitted(event, flight)
            elif isinstance(event, Parked | Restored):
                self._account.moved(event, flight)
            else:
                num_drawn += self._take_event(flight, event, now)
        if num_drawn:
            self._metrics.count("ignis_decoded_tokens", num_drawn)
        if delivery.failure is not None:
            self._fail(delivery.failure)
        if self._watch is not None:
            self._watch(delivery)

    def _take_event(self, flight: Flight, event: TokenEvent, now: float) -> int:
        was_silent = flight.num_drawn == 0
        drawn = flight.note(event, now)
        if drawn and was_silent:
            self._account.begun(event.request_id, flight, now)
        elif drawn:
            self._metrics.observe("ignis_inter_token_seconds", flight.gap_s)
        flight.mailbox.put(event)
        if event.finish is not None:
            self._end(event.request_id, event, now)
        return drawn

    def _note_step(self, delivery: Delivery) -> None:
        for work_s in delivery.work_s:
            self._metrics.observe("ignis_mask_seconds", work_s)
        if delivery.num_late:
            self._metrics.count("ignis_late_lanes", delivery.num_late)
        if isinstance(delivery.step, DecodeRound):
            self._metrics.count("ignis_engine_steps", label="decode")
            if delivery.times is not None:
                self._account.round(delivery.times)
            self._estimate.note_round(delivery.ended_at_s)
        elif isinstance(delivery.step, PrefillSpan):
            self._metrics.count("ignis_engine_steps", label="prefill")
            self._metrics.count("ignis_prefilled_tokens", delivery.step.stop - delivery.step.start)
        elif isinstance(delivery.step, CopyPage):
            self._metrics.count("ignis_engine_steps", label="copy")
        elif isinstance(delivery.step, MovePages):
            self._metrics.count("ignis_engine_steps", label="move")
        self._num_steps += not isinstance(delivery.step, Idle)
        scheduler = self._scheduler
        if scheduler is None:
            return
        residency = scheduler.residency
        counts = replace(residency.counts)
        if counts != self._counted_reuse:
            self._account.reuse(counts, self._counted_reuse)
            self._counted_reuse = counts
        if (scheduler.num_waiting, scheduler.num_running) != self._logged_load:
            self._logged_load = scheduler.num_waiting, scheduler.num_running
            self._log.emit(
                "ignis.scheduler.interval",
                tick=self._num_steps,
                waiting=self._logged_load[0],
                running=self._logged_load[1],
                kv_used_pct=round(100 * residency.num_used / residency.pool.num_pages, 1),
                kv_cache_evictions=residency.counts.evictions,
            )

    def _end(self, request_id: int, event: TokenEvent, now: float) -> None:
        flight = self._flights.pop(request_id)
        if not flight.has_left:
            self._give_back()
        if event.finish in (FinishReason.STOP, FinishReason.LENGTH):
            self._estimate.note_answer(flight.num_drawn)
        self._account.ended(request_id, flight, event, now)
        if not self._flights:
            self._estimate.note_pause()
            self.on_change()

    def _fail(self, failure: IgnisError) -> None:
        """The device is lost or the loop broke. Submissions that crossed the failure end too."""
        self.reason = failure.message
        self._advance(EngineEvent.ERROR)
        self._log.emit("ignis.engine.fault", error=failure.__cause__ or failure)
        self._end_flights(FinishReason.FAULT, failure.message, failure.told or MODEL_FAILED)

    def _end_flights(self, reason: FinishReason, fault: str = "", told: str | None = None) -> None:
        now = self._clock()
        for request_id, flight in list(self._flights.items()):
            event = TokenEvent(request_id, finish=reason, fault=fault, told=told, usage=flight.usage)
            flight.mailbox.put(event)
            self._end(request_id, event, now)

    async def _detach(self, fault: str | None = None, told: str | None = None) -> None:
        """Ends every request and takes the leaf from the loop; it is not called again."""
        loop = self._loop
        if loop is not None and not loop.has_ended:
            done = trio.Event()
            loop.post(Detach(done.set, fault, told))
            await done.wait()
        # Submissions that crossed it.
        self._end_flights(FinishReason.CANCELLED if fault is None else FinishReason.FAULT, fault or "", told)
        self._scheduler = None
        self._loaded = None

    async def _load_watched(self, checkpoint: Checkpoint, watch: LoadWatch) -> Loaded:
        """Loads in a worker thread, reports how far it is, and has a cancelled load end soon."""
        outcome: Loaded | Exception | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._report_load, watch)
            # Not abandoned where it is cancelled: what it holds must be freed before anybody goes on.
            outcome = await trio.to_thread.run_sync(self._try_load, checkpoint, watch)
            nursery.cancel_scope.cancel()
        try:
            if isinstance(outcome, Exception):
                raise outcome
            assert outcome is not None
            return outcome
        finally:
            # Else the error's traceback holds this frame, and the frame the error and the checkpoint.
            del outcome

    async def _report_load(self, watch: LoadWatch) -> None:
        next_report_at = trio.current_time() + _REPORT_INTERVAL_S
        try:
            while True:
                await trio.sleep(_LOOK_INTERVAL_S)
                watch.look()
                if trio.current_time() >= next_report_at:
                    next_report_at += _REPORT_INTERVAL_S
                    watch.report(self._log_progress)
        finally:
            # At the end of a load nobody reads it any more; before, the load is cancelled.
            watch.progress.cancel()

    def _try_load(self, checkpoint: Checkpoint, watch: LoadWatch) -> Loaded | Exception:
        """Gives an error back, and one of ours without its way through the worker thread.

        An error that a thread raises is in a cycle with the thread's frames, and the checkpoint would be too.
        """
        try:
            return self._load_leaf(checkpoint, watch)
        except IgnisError as error:
            cause: BaseException | None = error
            while cause is not None:
                cause.__traceback__ = None
                cause = cause.__cause__ or cause.__context__
            return error
        except Exception as error:
            return error

    def _load_leaf(self, checkpoint: Checkpoint, watch: LoadWatch) -> Loaded:
        """In a worker thread. Whatever goes wrong, nothing is held afterwards."""
        started = self._clock()
        leaf = self._opened_leaf()
        leaf.unload()
        plan = plan_load(leaf, checkpoint, self._settings, host_bytes=available_bytes())
        self._log_plan(plan)
        try:
            leaf.load(checkpoint, plan.layout, watch.progress)
            measured = measure(plan, leaf.probe())
        except BaseException:
            leaf.unload()
            raise
        watch.look()
        return Loaded(plan, measured, self._clock() - started, watch.warm_up_s)

    def _opened_leaf(self) -> Leaf:
        """In a worker thread, of which there may be two."""
        with self._opening:
            if self._leaf is None:
                self._leaf = self._open_leaf()
            return self._leaf

    def _unload_leaf(self) -> None:
        """In a worker thread. Nothing may be held."""
        if self._leaf is not None:
            self._leaf.unload()

    def _leaf_in_use(self) -> Leaf:
        assert self._leaf is not None
        return self._leaf

    def _log_progress(self, status: LoadStatus) -> None:
        self._log.emit(
            "ignis.model.load_progress",
            phase=status.phase.value,
            done_bytes=status.done_bytes,
            total_bytes=status.total_bytes,
            duration_ms=round(status.age_s * 1e3, 1),
        )

    def _log_plan(self, plan: LoadPlan) -> None:
        budget, lines = plan.budget, plan.lines
        is_explicit = budget.mode is BudgetMode.EXPLICIT
        if budget.is_oversubscribed:
            self._log.emit(
                "ignis.runtime.vram_oversubscribed",
                budget_bytes=budget.size_bytes,
                free_at_start_bytes=plan.device.free_bytes,
            )
        if plan.lacking_host_bytes:
            self._log.emit(
                "ignis.runtime.kv_ram_lowered",
                kv_host_pages=plan.layout.num_host_pages,
                kv_host_bytes=plan.kv_ram_bytes,
                lacking_bytes=plan.lacking_host_bytes,
            )
        self._log.emit(
            "ignis.runtime.vram_plan",
            mode=budget.mode.value,
            free_at_start_bytes=plan.device.free_bytes,
            headroom_bytes=None if is_explicit else budget.headroom_bytes,
            allow_oversubscription=self._settings.can_oversubscribe if is_explicit else None,
            budget_bytes=budget.size_bytes,
            cuda_context_bytes=lines["cuda_context"],
            weights_bytes=lines["weights"],
            embedding_bytes=lines["embedding"],
            mapped_files_bytes=lines["mapped_files"],
            workspace_bytes=lines["workspace"],
            sampling_bytes=lines["sampling"],
            lane_state_bytes=lines["lane_state"],
            kv_ram_bytes=lines["kv_ram"],
            decode_graph_bytes=lines["decode_graph"],
            kv_pool_bytes=lines["kv_pool"],
            kv_pages=plan.layout.num_pages,
            kv_pool_policy=plan.pool_policy.value,
            total_bytes=plan.total_bytes,
            allocated_at_load_bytes=plan.allocated_bytes,
            oversubscribed=budget.is_oversubscribed,
        )

    def _log_loaded(self, loaded: Loaded) -> None:
        plan, measured = loaded.plan, loaded.measured
        if plan.device.has_own_memory:
            self._log.emit(
                "ignis.runtime.vram_loaded",
                allocated_at_load_bytes=plan.allocated_bytes,
                free_memory_delta_bytes=measured.taken_bytes,
                unplanned_bytes=measured.unplanned_bytes,
                free_after_load_bytes=measured.free_bytes,
            )
        self._log.emit(
            "ignis.runtime.kv_pool",
            kv_pages=plan.layout.num_pages,
            kv_tokens=plan.pool_tokens,
            kv_page_bytes=plan.footprint.kv_page_bytes,
            kv_pool_bytes=plan.footprint.kv_pool_bytes,
            kv_host_pages=plan.layout.num_host_pages,
            kv_host_bytes=plan.kv_ram_bytes,
            decode_lanes=self._settings.decode_lanes,
            prefill_chunk=plan.layout.max_span,
        )

    def _advance(self, event: EngineEvent) -> None:
        self._room.unpark_all()
        self.state = machine.advance(TABLE, self.state, event)
        self.on_change()
