"""How long until a lane is free, from what the lanes have left to do and the measured rate. Pure arithmetic."""

import math
from collections.abc import Iterable

_WEIGHT = 0.1
"""Of the newest value in a moving average."""
_LEAST_S = 1
_MOST_S = 60


class Estimate:
    """Moving averages of the rounds and of the answers."""

    def __init__(self) -> None:
        self._token_s: float | None = None
        self._answer_tokens: float | None = None
        self._last_round_at_s: float | None = None

    def note_round(self, now_s: float) -> None:
        """A round ended, which gave every lane a token. The gap since the one before is what a token costs a lane now,
        prompts in between included."""
        if self._last_round_at_s is not None:
            self._token_s = _average(self._token_s, now_s - self._last_round_at_s)
        self._last_round_at_s = now_s

    def note_pause(self) -> None:
        """Nothing is in flight: the gap to the next round says nothing."""
        self._last_round_at_s = None

    def note_answer(self, tokens: int) -> None:
        """A request completed."""
        self._answer_tokens = _average(self._answer_tokens, tokens)

    def retry_after_s(self, lanes: Iterable[tuple[int, int]]) -> int:
        """Whole seconds, 1 to 60, until the first of the lanes is probably free.

        Args:
            lanes: (tokens drawn, cap) of every request in flight. Few answers use their cap, so the usual length
                counts, and half of it again where an answer is past that.
        """
        if self._token_s is None:
            return _LEAST_S
        left = min((self._left_tokens(drawn, cap) for drawn, cap in lanes), default=0)
        return min(_MOST_S, max(_LEAST_S, math.ceil(left * self._token_s)))

    def seconds_to_end(self, lanes: Iterable[tuple[int, int]]) -> float:
        """Seconds until the last of the lanes is probably free; 0 where none is taken.

        The last one may be far past the usual length, and has half as long to go as it went: who waits for it would be
        told the same few seconds over and over.
        """
        left = (min(cap - drawn, max(self._left_tokens(drawn, cap), drawn / 2)) for drawn, cap in lanes)
        return (self._token_s or 0.0) * max(left, default=0)

    def most_seconds_to_end(self, lanes: Iterable[tuple[int, int]]) -> float:
        """Seconds until the last of the lanes is free though each draws all that it may; 0 where none is taken,
        infinite where no rate is known yet."""
        left = max((cap - drawn for drawn, cap in lanes), default=0)
        if not left:
            return 0.0
        return math.inf if self._token_s is None else left * self._token_s

    def _left_tokens(self, drawn: int, cap: int) -> float:
        usual = cap if self._answer_tokens is None else self._answer_tokens
        return min(cap - drawn, max(usual - drawn, usual / 2))


def _average(before: float | None, value: float) -> float:
    return value if before is None else before + _WEIGHT * (value - before)
