"""The step loop, on its own OS thread: commands, plan, run, deliver. It knows no sockets, no tasks and no policy."""

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import trio

from ignis._core import Draw
from ignis.clock import Clock
from ignis.engine.leaf import Leaf, StepTimes
from ignis.errors import EngineError, InternalError
from ignis.scheduler.plan import CopyPage, DecodeRound, Idle, PrefillSpan, Step
from ignis.scheduler.request import Event, FinishReason, Submission
from ignis.scheduler.scheduler import Scheduler


@dataclass(frozen=True, slots=True)
class Attach:
    """A model is loaded: steps run from now on."""

    scheduler: Scheduler
    leaf: Leaf


@dataclass(frozen=True, slots=True)
class Detach:
    """The model goes: what runs ends with CANCELLED, then `done` is delivered, and the leaf is not called again."""

    done: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Submit:
    request_id: int
    submission: Submission


@dataclass(frozen=True, slots=True)
class Leave:
    """A reader is gone or has seen enough."""

    request_id: int
    reason: FinishReason


@dataclass(frozen=True, slots=True)
class Quit:
    """The thread ends."""


Command = Attach | Detach | Submit | Leave | Quit


class TurnTimes(NamedTuple):
    """Where a turn that ran a span or a round spent its time, in seconds of the host."""

    plan_s: float
    """Commands applied and the step planned."""
    deliver_s: float
    """What the turn before did handed to the event loop."""
    run_s: float
    """In the leaf: launch, wait, and the draws made into objects."""
    commit_s: float
    leaf: StepTimes

    @property
    def host_s(self) -> float:
        """All of the turn but the wait for the device."""
        return self.plan_s + self.deliver_s + self.run_s + self.commit_s - self.leaf.wait_s

    @property
    def gap_s(self) -> float:
        """The part of the turn in which the device does none of the step's work."""
        return self.plan_s + self.deliver_s + self.run_s + self.commit_s - self.leaf.device_s


@dataclass(frozen=True, slots=True)
class Delivery:
    """What one turn of the loop did, for the event loop's thread. Times are of the engine's clock."""

    events: Sequence[Event]
    step: Step
    started_at_s: float
    ended_at_s: float
    failure: EngineError | None = None
    """The device is lost, or the loop itself broke."""
    times: TurnTimes | None = None
    """Of a span or a round that the leaf ran."""


class StepLoop:
    """The thread. `post` may be called from any other; everything else here belongs to the thread, but for reading the
    plain numbers."""

    def __init__(self, clock: Clock, trio_token: trio.lowlevel.TrioToken, take: Callable[[Delivery], None]) -> None:
        """`take` is called in the event loop's thread, once a step."""
        self._clock = clock
        self._trio_token = trio_token
        self._take = take
        # A queue's own lock is the only one in the engine.
        self._commands: queue.SimpleQueue[Command] = queue.SimpleQueue()
        self._scheduler: Scheduler | None = None
        self._leaf: Leaf | None = None
        self._pending: Delivery | None = None
        self._is_running = True
        self._is_waiting = False
        self._turned_at_s = clock()
        # A daemon: a leaf that never comes back must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="ignis-steps", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def post(self, command: Command) -> None:
        self._commands.put(command)

    @property
    def has_ended(self) -> bool:
        return not self._thread.is_alive()

    def step_age_s(self, now: float) -> float:
        """Seconds since the loop last turned; 0 while it waits and nothing is there for it."""
        if self._is_waiting and self._commands.empty():
            return 0.0
        return max(0.0, now - self._turned_at_s)

    def _run(self) -> None:
        try:
            while self._is_running:
                self._turned_at_s = self._clock()
                self._turn()
        except Exception as error:  # the thread's last resort: whoever waits must hear of it
            failure = EngineError(f"the step loop broke: {type(error).__name__}: {error}")
            failure.__cause__ = error
            self._scheduler = self._leaf = None
            self._flush()
            self._hand_over(Delivery((), Idle(), self._turned_at_s, self._clock(), failure))

    def _turn(self) -> None:
        self._apply_commands()
        scheduler, leaf = self._scheduler, self._leaf
        if scheduler is None or leaf is None:
            self._wait_for_command()
            return
        started = self._clock()
        step = scheduler.plan(started)
        planned = self._clock()
        # Waking the event loop before the next step is planned would hand it the GIL just when the device waits for us.
        self._flush()
        delivered = self._clock()
        failure = times = None
        draws: Sequence[Draw] = ()
        try:
            if isinstance(step, DecodeRound):
                draws = leaf.decode(step)
            elif isinstance(step, PrefillSpan):
                draws = leaf.prefill(step)
            elif isinstance(step, CopyPage):
                leaf.copy_page(step)
            ran = self._clock()
            events = scheduler.commit(step, draws, ran)
            if isinstance(step, DecodeRound | PrefillSpan):
                leaf_times = leaf.last_step()
                times = TurnTimes(
                    planned - self._turned_at_s, delivered - planned, ran - delivered, self._clock() - ran, leaf_times
                )
        except InternalError as error:
            # The leaf refused this call and holds what it held: whoever was in the step ends, the others go on.
            lives = step.lives if isinstance(step, DecodeRound) else () if isinstance(step, Idle) else (step.live,)
            events = scheduler.fail([live.request_id for live in lives], error.message, self._clock())
        except EngineError as error:
            failure = error
            events = scheduler.fail(scheduler.request_ids(), error.message, self._clock())
            self._scheduler = self._leaf = None
        if events or not isinstance(step, Idle):
            self._pending = Delivery(events, step, started, self._clock(), failure, times)
        if isinstance(step, Idle):
            self._wait_for_command()

    def _flush(self) -> None:
        """Hands over what the turn before did: one wake of the event loop a step."""
        pending, self._pending = self._pending, None
        if pending is not None:
            self._hand_over(pending)

    def _hand_over(self, delivery: Delivery) -> None:
        self._wake(self._take, delivery)

    def _wake(self, call: Callable[..., None], *arguments: object) -> None:
        try:
            self._trio_token.run_sync_soon(call, *arguments)
        except trio.RunFinishedError:
            # Nobody is left to hear it.
            self._is_running = False

    def _apply_commands(self) -> None:
        while not self._commands.empty():
            self._apply(self._commands.get())

    def _wait_for_command(self) -> None:
        self._flush()
        if not self._is_running:
            return
        self._is_waiting = True
        command = self._commands.get()
        self._turned_at_s = self._clock()
        self._is_waiting = False
        self._apply(command)

    def _apply(self, command: Command) -> None:
        now = self._clock()
        scheduler = self._scheduler
        if isinstance(command, Submit):
            if scheduler is not None:
                scheduler.submit(command.request_id, command.submission, now)
        elif isinstance(command, Leave):
            if scheduler is not None:
                scheduler.cancel(command.request_id, now, command.reason)
        elif isinstance(command, Attach):
            self._scheduler, self._leaf = command.scheduler, command.leaf
        elif isinstance(command, Detach):
            self._flush()
            if scheduler is not None:
                for request_id in scheduler.request_ids():
                    scheduler.cancel(request_id, now)
                self._hand_over(Delivery(scheduler.commit(Idle(), (), now), Idle(), now, now))
            self._scheduler = self._leaf = None
            self._wake(command.done)
        else:
            self._is_running = False
