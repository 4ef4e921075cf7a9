"""The step loop, on its own OS thread: commands, plan, run, deliver. It knows no sockets, no tasks and no policy."""

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import trio

from ignis._core import Draw
from ignis.clock import Clock
from ignis.engine.constraint_work import ConstraintWorkers, Worked
from ignis.engine.cut_off import LOOP_BROKE, MODEL_FAILED
from ignis.engine.leaf import Leaf
from ignis.engine.turn import Delivery, Stamps, Turn
from ignis.errors import EngineError, InternalError
from ignis.scheduler.plan import CopyPage, DecodeRound, Idle, MovePages, PrefillSpan
from ignis.scheduler.request import FinishReason, Submission
from ignis.scheduler.scheduler import Scheduler

SWITCH_INTERVAL_S = 0.0005
"""For sys.setswitchinterval, by whoever runs an engine: its thread has to get the interpreter back when a step ends.
The default lets the event loop keep it for 5 ms, which is longer than a step of a small model."""


@dataclass(frozen=True, slots=True)
class Attach:
    """A model is loaded: steps run from now on."""

    scheduler: Scheduler
    leaf: Leaf


@dataclass(frozen=True, slots=True)
class Detach:
    """The model goes: what runs is ended, then `done` is delivered, and the leaf is not called again."""

    done: Callable[[], None]
    why: str | None = None
    """For those who are ended: with CUT_OFF. None: with CANCELLED."""
    told: str | None = None
    """The same, for their clients."""


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


Command = Attach | Detach | Submit | Leave | Worked | Quit

_PATIENCE = 0.02
"""Of the last round: so long the next one waits for lanes that are late, and then it goes without them."""
_HELD_PATIENCE = 0.1
"""The same where every lane has a constraint: going apart they would take twice as many rounds."""
_SOON_S = 0.002
"""So long the last round's tokens are kept, and prompts held up, where every lane is late."""
_LATE_LIMIT_S = 1.0
"""So long nothing happens where every lane is late, before deadlines are looked at again."""


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
        self._pending: Turn | None = None
        self._deliver_s = 0.0
        """What the last delivery took."""
        self._is_running = True
        self._is_waiting = False
        self._turned_at_s = clock()
        self._round_s = 0.0
        """What the last round took."""
        self._workers = ConstraintWorkers(clock, self.post)
        self._work_s: list[float] = []
        """What constraints took that nobody was told of yet."""
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
            failure = EngineError(f"the step loop broke: {type(error).__name__}: {error}", told=LOOP_BROKE)
            failure.__cause__ = error
            self._scheduler = self._leaf = None
            self._flush()
            self._hand_over(Delivery((), Idle(), self._turned_at_s, self._clock(), failure))
        finally:
            self._workers.close()

    def _turn(self) -> None:
        self._apply_commands()
        self._wait_for_late()
        scheduler, leaf = self._scheduler, self._leaf
        if scheduler is None or leaf is None:
            self._wait_for_command()
            return
        started = self._clock()
        step = scheduler.plan(started)
        num_late = scheduler.num_late if isinstance(step, DecodeRound) else 0
        planned = self._clock()
        failure = None
        draws: Sequence[Draw] = ()
        try:
            if isinstance(step, DecodeRound):
                # Waking the event loop before the device has its work would hand it the GIL just when the device waits.
                draws = leaf.decode(step, self._flush, goes_on=scheduler.goes_on(step))
            else:
                self._flush()
                if isinstance(step, PrefillSpan):
                    draws = leaf.prefill(step)
                elif isinstance(step, CopyPage):
                    leaf.copy_page(step)
                elif isinstance(step, MovePages):
                    leaf.move_pages(step)
            ran = self._clock()
            events = scheduler.commit(step, draws, ran)
            for live in scheduler.take_late():
                assert live.constraint is not None
                self._workers.put(live.request_id, live.constraint)
            is_run = True
            if isinstance(step, DecodeRound):
                self._round_s = ran - planned
        except InternalError as error:
            is_run = False
            ran = self._clock()
            events = scheduler.refuse(step, error.message, ran)
        except EngineError as error:
            failure = error
            is_run = False
            ran = self._clock()
            events = scheduler.fail(scheduler.request_ids(), error.message, ran, MODEL_FAILED)
            self._scheduler = self._leaf = None
        if events or not isinstance(step, Idle):
            self._flush()
            stamps = Stamps(self._turned_at_s, started, planned, ran, self._clock())
            self._pending = Turn(events, step, is_run, failure, stamps, self._deliver_s, num_late)
        if isinstance(step, Idle):
            if scheduler.num_late:
                self._wait_for_work()
            else:
                self._wait_for_command()

    def _flush(self) -> None:
        """Hands over what the turn before did: one wake of the event loop a step. Runs beside the device's work on the
        next round, which is why the leaf's times of the step before are asked for here."""
        pending, self._pending = self._pending, None
        if pending is None:
            return
        begun = self._clock()
        times = None
        if self._leaf is not None and pending.is_run and isinstance(pending.step, DecodeRound | PrefillSpan):
            times = pending.times(self._leaf.last_step())
        stamps = pending.stamps
        work_s, self._work_s = self._work_s, []
        self._hand_over(
            Delivery(
                pending.events,
                pending.step,
                stamps.planning,
                stamps.done,
                pending.failure,
                times,
                work_s,
                pending.num_late,
            )
        )
        self._deliver_s = self._clock() - begun

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

    def _wait_for_late(self) -> None:
        """Waits for lanes that are late, as long as those that are ready can bear it."""
        begun = self._clock()
        while self._scheduler is not None and self._scheduler.num_late and self._scheduler.num_ready:
            patience = _PATIENCE if self._scheduler.has_free_lane else _HELD_PATIENCE
            left_s = begun + patience * self._round_s - self._clock()
            if left_s <= 0:
                return
            try:
                command = self._commands.get(timeout=left_s)
            except queue.Empty:
                return
            self._apply(command)

    def _wait_for_command(self) -> None:
        self._flush()
        if not self._is_running:
            return
        self._is_waiting = True
        command = self._commands.get()
        self._turned_at_s = self._clock()
        self._is_waiting = False
        self._apply(command)

    def _wait_for_work(self) -> None:
        """Waits where every lane is late. The event loop hears of the last round beside the next one, as ever, unless
        that does not come soon: it would take the interpreter from the workers."""
        is_first = self._pending is not None
        try:
            command = self._commands.get(timeout=_SOON_S if is_first else _LATE_LIMIT_S)
        except queue.Empty:
            self._flush()
            if self._scheduler is not None:
                self._scheduler.skip_late()
        else:
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
        elif isinstance(command, Worked):
            self._work_s.append(command.duration_s)
            if scheduler is not None:
                scheduler.end_work(command.request_id, command.failure, command.text, now)
        elif isinstance(command, Attach):
            self._scheduler, self._leaf = command.scheduler, command.leaf
        elif isinstance(command, Detach):
            self._flush()
            if scheduler is not None:
                if command.why is None:
                    for request_id in scheduler.request_ids():
                        scheduler.cancel(request_id, now)
                    ended = scheduler.commit(Idle(), (), now)
                else:
                    ended = scheduler.fail(
                        scheduler.request_ids(), command.why, now, command.told, FinishReason.CUT_OFF
                    )
                self._hand_over(Delivery(ended, Idle(), now, now))
            self._scheduler = self._leaf = None
            self._wake(command.done)
        else:
            self._is_running = False
