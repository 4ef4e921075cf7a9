"""One turn of the step loop: what it did, where its time went, and both as they are delivered to the event loop."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ignis.engine.leaf import StepTimes
from ignis.errors import EngineError
from ignis.scheduler.plan import Step
from ignis.scheduler.request import Event


class TurnTimes(NamedTuple):
    """Where a turn that ran a span or a round spent its time, in seconds of the host."""

    plan_s: float
    """Commands applied and the step planned."""
    run_s: float
    """In the leaf: launch, wait, the draws made into objects, and between launch and wait deliver_s."""
    deliver_s: float
    """What the turn before did handed to the event loop; of a round, beside the device's work."""
    commit_s: float
    leaf: StepTimes

    @property
    def host_s(self) -> float:
        """The turn without its waiting for the device and without what is done beside the device's work."""
        return self.plan_s + self.run_s - self.deliver_s - self.leaf.wait_s + self.commit_s

    @property
    def gap_s(self) -> float:
        """The part of the turn in which the device does none of the step's work."""
        return self.plan_s + self.run_s + self.commit_s - self.leaf.device_s


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
    work_s: Sequence[float] = ()
    """What each constraint took that was worked out since the last turn that was told."""
    num_late: int = 0
    """Lanes that a round went without."""


class Stamps(NamedTuple):
    """When the parts of a turn began, by the engine's clock."""

    turning: float
    planning: float
    running: float
    committing: float
    done: float


class Turn(NamedTuple):
    """A turn that nobody was told of yet."""

    events: Sequence[Event]
    step: Step
    is_run: bool
    """The leaf did it."""
    failure: EngineError | None
    stamps: Stamps
    deliver_s: float
    num_late: int

    def times(self, leaf: StepTimes) -> TurnTimes:
        stamps = self.stamps
        return TurnTimes(
            plan_s=stamps.running - stamps.turning,
            run_s=stamps.committing - stamps.running,
            deliver_s=self.deliver_s,
            commit_s=stamps.done - stamps.committing,
            leaf=leaf,
        )
