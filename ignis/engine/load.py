"""A load, under way and done: how far it is, for whoever asks meanwhile, and what came of it. Nothing here waits."""

import enum
from collections.abc import Callable
from dataclasses import dataclass

from ignis import _core
from ignis._core import LoadProgress
from ignis.clock import Clock
from ignis.engine.vram import LoadPlan, Measured


class LoadPhase(enum.Enum):
    PREPARING = "preparing"
    """The plan, the device and its memory."""
    READING = "reading"
    """The weights: from the files to the device, repacked on the way."""
    RECORDING = "recording"
    """Decode rounds are captured for replay."""
    WARMING = "warming"
    """Every kind of step once."""


_PHASES = {
    _core.LOAD_PREPARING: LoadPhase.PREPARING,
    _core.LOAD_READING: LoadPhase.READING,
    _core.LOAD_RECORDING: LoadPhase.RECORDING,
    _core.LOAD_WARMING: LoadPhase.WARMING,
}


@dataclass(frozen=True, slots=True)
class LoadStatus:
    """How far a load is."""

    phase: LoadPhase
    done_bytes: int
    """Of the tensors, as they are stored."""
    total_bytes: int
    """0 until the plan is made."""
    age_s: float


@dataclass(frozen=True, slots=True)
class Loaded:
    """A load that is done."""

    plan: LoadPlan
    measured: Measured
    duration_s: float
    warm_up_s: float
    """Of it, recording rounds and running each kind of step once; 0 where the device does neither."""

    @property
    def weights_s(self) -> float:
        """Of it, until the weights were there."""
        return max(0.0, self.duration_s - self.warm_up_s)


class LoadWatch:
    """A load, as others see it."""

    def __init__(self, clock: Clock) -> None:
        self.progress = LoadProgress()
        self._clock = clock
        self._started_at_s = clock()
        self._reported: tuple[LoadPhase, int] | None = None
        self._warm_at_s: float | None = None

    def status(self) -> LoadStatus:
        progress = self.progress
        return LoadStatus(
            _PHASES[progress.phase], progress.done_bytes, progress.total_bytes, self._clock() - self._started_at_s
        )

    def look(self) -> None:
        """Notes when the weights were there: to be called often, for the leaf keeps no times."""
        if self._warm_at_s is None and _PHASES[self.progress.phase] in (LoadPhase.RECORDING, LoadPhase.WARMING):
            self._warm_at_s = self._clock()

    @property
    def warm_up_s(self) -> float:
        """Since the weights were there; 0 before."""
        return 0.0 if self._warm_at_s is None else self._clock() - self._warm_at_s

    def report(self, emit: Callable[[LoadStatus], None]) -> None:
        """Emits the status where it has moved since the last report."""
        status = self.status()
        if (status.phase, status.done_bytes) != self._reported:
            self._reported = status.phase, status.done_bytes
            emit(status)
