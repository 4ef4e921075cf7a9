"""What one step is: a span of one prompt, a round of the decode lanes, or nothing. It names objects, copies nothing."""

from dataclasses import dataclass

from ignis._core import Row, SamplingTable
from ignis.scheduler.live import Live


@dataclass(frozen=True, slots=True)
class PrefillSpan:
    """Positions [start, stop) of one prompt; the last span of a prompt also draws its first token."""

    live: Live
    start: int
    stop: int
    is_last: bool
    sampling: SamplingTable


@dataclass(frozen=True, slots=True)
class DecodeRound:
    """One more token for every decode lane; rows[i] is the row of lives[i]."""

    lives: tuple[Live, ...]
    rows: tuple[Row, ...]
    sampling: SamplingTable


@dataclass(frozen=True, slots=True)
class Idle:
    """No request is there. What ended without a step still comes out of its commit."""


Step = PrefillSpan | DecodeRound | Idle
