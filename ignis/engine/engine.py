"""The engine as the event loop's thread sees it: its one model's states, and the way to the step loop."""

from collections.abc import Callable, Sequence

import trio

from ignis import machine
from ignis._core import MAX_LANES
from ignis.clock import Clock, monotonic_s
from ignis.engine.cut_off import MODEL_FAILED
from ignis.engine.flight import Account
from ignis.engine.flights import Flights
from ignis.engine.leaf import Leaf
from ignis.engine.leaf_loader import LeafLoader
from ignis.engine.lifecycle import TABLE, EngineEvent, EngineState
from ignis.engine.limits import REJECTIONS, check_bounds, check_state
from ignis.engine.load import Loaded, LoadStatus
from ignis.engine.loop import Attach, Command, Detach, Quit, StepLoop
from ignis.engine.mailbox import Mailbox
from ignis.engine.settings import EngineSettings
from ignis.engine.snapshot import EngineSnapshot, take_snapshot
from ignis.engine.step_account import StepAccount
from ignis.engine.turn import Delivery
from ignis.engine.vram import LoadPlan
from ignis.errors import EngineError, IgnisError
from ignis.log import Log
from ignis.metrics import Metrics
from ignis.models.base import Checkpoint
from ignis.scheduler.request import FinishReason, Submission
from ignis.scheduler.scheduler import Scheduler, SchedulerSettings


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
        self._log = log
        self._clock = clock
        self._watch = watch
        self._loader = LeafLoader(open_leaf, log, clock)
        self._loaded: Loaded | None = None
        self._scheduler: Scheduler | None = None
        self._loop: StepLoop | None = None
        self._account = Account(log, metrics)
        self._step_account = StepAccount(log, metrics)
        self._flights = Flights(self._account, clock, self._post, lambda: self.on_change())
        metrics.read_gauge_from("ignis_oldest_waiting_seconds", self._flights.oldest_waiting_s, "admission")

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
                await self._loader.wait_idle()
                await self._detach()
                loop.post(Quit())
                await self._loader.unload()
            self._flights.end_all(FinishReason.CANCELLED)

    @property
    def settings(self) -> EngineSettings:
        """What the latest load went by."""
        return self._settings

    async def open_device(self) -> None:
        """Opens the device in a worker thread, which the first load would do else.

        Raises:
            LoadPlanError: the device that is wanted cannot be used.
        """
        await self._loader.open()

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
        try:
            self._loaded = loaded = await self._loader.load(checkpoint, self._settings)
        except Exception as error:
            self.reason = str(error)
            self._advance(EngineEvent.ERROR)
            raise
        except BaseException:
            # Cancelled.
            self._advance(EngineEvent.CANCEL)
            raise
        plan = loaded.plan
        self._scheduler = Scheduler(
            SchedulerSettings(
                num_pages=plan.layout.num_pages,
                num_lanes=self._settings.decode_lanes,
                prefill_chunk=plan.layout.max_span,
                decode_share=self._settings.decode_share / 100,
                has_prefix_cache=self._settings.has_prefix_cache,
                phases_agree=plan.device.phases_agree,
                gains_ahead=plan.device.gains_ahead,
                num_host_pages=plan.layout.num_host_pages,
            )
        )
        self._step_account.note_attach()
        self.reason = ""
        self._loop.post(Attach(self._scheduler, self._loader.leaf))
        self._advance(EngineEvent.READY)
        return plan

    async def check_plan(self, checkpoint: Checkpoint, settings: EngineSettings) -> None:
        """Makes the plan of a load that would follow the model that serves, and holds nothing.

        Raises:
            LoadPlanError, ModelLoadError: it cannot be; the message names the line of the plan and the field to change.
        """
        # Where none serves nothing would be torn down for it: the load itself tells as much.
        if self._loaded is not None:
            await self._loader.check_plan(self._loaded, checkpoint, settings)

    async def check_need(self, name: str, need_bytes: int, settings: EngineSettings) -> None:
        """Sees whether a load of so many bytes at least could ever be on this device; opens it where it is not yet.

        Raises:
            ModelTooLargeError: it could not, whatever else is unloaded.
        """
        await self._loader.check_need(name, need_bytes, settings)

    def leave(self) -> None:
        """The model is to go: `submit` still takes what began before, and whoever reads the state lets no more in."""
        self._advance(EngineEvent.LEAVE)

    def stay(self) -> None:
        """The model is to stay after all."""
        self._advance(EngineEvent.STAY)

    async def unload(self, told: str | None = None) -> None:
        """Ends what is in flight with CUT_OFF, and tells its clients so, and frees the model. Is not broken off: there
        is nothing to go back to."""
        self._advance(EngineEvent.UNLOAD)
        with trio.CancelScope(shield=True):
            await self._detach("the model was unloaded before the answer was done", told)
            await self._loader.unload()
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
        self._flights.give_up()

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
        return self._flights.seconds_to_end()

    def most_seconds_to_end(self) -> float:
        """As `seconds_to_end`, where each draws all that it may; infinite where no rate is known yet."""
        return self._flights.most_seconds_to_end()

    @property
    def loaded(self) -> Loaded | None:
        """The load of the model that serves; None where none does."""
        return self._loaded

    @property
    def load_status(self) -> LoadStatus | None:
        """How far the load under way is; None where there is none."""
        return self._loader.status

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
        await self._loader.look_at_memory()

    def snapshot(self) -> EngineSnapshot:
        """Reads the gauges, the memory as it was last looked at."""
        step_age_s = 0.0 if self._loop is None else self._loop.step_age_s(self._clock())
        return take_snapshot(self._loader.memory, self._loader.status, step_age_s, self._loaded, self._scheduler)

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
            assert self._loaded is not None
            check_bounds(submissions, self._loaded.plan.layout)
            self._flights.check_room(len(submissions), self._settings.decode_lanes)
        except IgnisError as error:
            self._account.rejected(submissions[0], REJECTIONS[type(error)], error.code, error.retry_after_s)
            raise
        return [self._flights.begin(submission) for submission in submissions]

    @property
    def num_lanes(self) -> int:
        return self._settings.decode_lanes

    def has_room(self, count: int) -> bool:
        """Whether so many submissions would find lanes now. Where no model serves nobody has to wait to be told so; one
        that is to go serves whoever waits for its lanes."""
        is_taking = self.state in (EngineState.SERVING, EngineState.LEAVING)
        return not is_taking or self._flights.has_room(count, self.num_lanes)

    async def wait_room(self) -> None:
        """Returns when a lane was given back, or no model serves any more."""
        await self._flights.wait_room()

    def _post(self, command: Command) -> None:
        assert self._loop is not None
        self._loop.post(command)

    def _take(self, delivery: Delivery) -> None:
        """Takes what one turn of the loop did. The engine's thread calls it here once a step."""
        self._step_account.note(delivery, self._scheduler)
        self._flights.take(delivery)
        if delivery.failure is not None:
            self._fail(delivery.failure)
        if self._watch is not None:
            self._watch(delivery)

    def _fail(self, failure: IgnisError) -> None:
        """The device is lost or the loop broke. Submissions that crossed the failure end too."""
        self.reason = failure.message
        self._advance(EngineEvent.ERROR)
        self._log.emit("ignis.engine.fault", error=failure.__cause__ or failure)
        self._flights.end_all(FinishReason.FAULT, failure.message, failure.told or MODEL_FAILED)

    async def _detach(self, why: str | None = None, told: str | None = None) -> None:
        """Ends every request and takes the leaf from the loop; it is not called again. why, told: as Detach."""
        loop = self._loop
        if loop is not None and not loop.has_ended:
            done = trio.Event()
            loop.post(Detach(done.set, why, told))
            await done.wait()
        # Submissions that crossed it.
        self._flights.end_all(FinishReason.CANCELLED if why is None else FinishReason.CUT_OFF, why or "", told)
        self._scheduler = None
        self._loaded = None

    def _advance(self, event: EngineEvent) -> None:
        self._flights.wake()
        self.state = machine.advance(TABLE, self.state, event)
        self.on_change()
