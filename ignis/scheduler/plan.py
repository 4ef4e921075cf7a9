"""What one step is: a copied page, pages to host memory or back, a span of one prompt, a round of the decode lanes, or
nothing. It names objects."""

from dataclasses import dataclass

from ignis._core import Row, SamplingTable
from ignis.scheduler.live import Live


@dataclass(frozen=True, slots=True)
class CopyPage:
    """The cached part of a prompt ends inside a page: that page is copied, and prefill starts at position `stop`."""

    live: Live
    source: int
    target: int
    stop: int


@dataclass(frozen=True, slots=True)
class MovePages:
    """Pages go out to host memory, then others come in, as (page, place) pairs. After it the prompt's positions
    [0, stop) are in its pages."""

    live: Live
    """Who needs the pages."""
    outs: tuple[tuple[int, int], ...]
    ins: tuple[tuple[int, int], ...]
    stop: int


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
    """One more token for every decode lane that is not late; rows[i] is the row of lives[i]."""

    lives: tuple[Live, ...]
    rows: tuple[Row, ...]
    sampling: SamplingTable
    replaced: tuple[Live, ...] = ()
    """Those whose last token is not the one that was drawn: their lanes count it first."""


@dataclass(frozen=True, slots=True)
class Idle:
    """No request is there, or all that decode are late. What ended without a step still comes out of its commit."""


Step = CopyPage | MovePages | PrefillSpan | DecodeRound | Idle
