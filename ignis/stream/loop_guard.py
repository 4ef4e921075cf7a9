"""Sees reasoning that goes in circles: the same tokens over and over, exactly. What follows is not decided here.

A cycle counts once its repetitions have `LEAST_REPEATED` tokens and are `LEAST_REPETITIONS`: a list, a table or a
matrix repeats words, and seldom that much to the token.
"""

LEAST_REPEATED = 256
LEAST_REPETITIONS = 3
MAX_PERIOD = 512
"""Tokens of the longest cycle that is seen."""
_EVERY = 16
"""Tokens between two looks, and those at the end that are looked for further in front."""
_MAX_TRIES = 8
_WIDTH = 4
"""Bytes of a token."""


class LoopGuard:
    """The reasoning of one answer. A look compares bytes, so that it costs microseconds."""

    def __init__(self) -> None:
        self._data = bytearray()

    def forget(self) -> None:
        """Begins anew: what comes now is held against nothing before it."""
        self._data.clear()

    def push(self, token: int) -> int:
        """Takes the next token; returns how many at the end, this one included, only repeat what stands before them."""
        data = self._data
        data += token.to_bytes(_WIDTH, "little")
        if len(data) % (_EVERY * _WIDTH) or len(data) < LEAST_REPEATED * _WIDTH:
            return 0
        ending = bytes(data[-_EVERY * _WIDTH :])
        lowest = max(0, len(data) - (MAX_PERIOD + _EVERY) * _WIDTH)
        end = len(data) - 1
        for _ in range(_MAX_TRIES):
            at = data.rfind(ending, lowest, end)
            if at < 0:
                break
            end = at + len(ending) - 1
            # The period in bytes. A match between two tokens is none.
            period = len(data) - len(ending) - at
            if period % _WIDTH == 0 and (repeated := self._repeated(period)):
                return repeated // _WIDTH
        return 0

    def _repeated(self, period: int) -> int:
        """Bytes at the end that repeat with this period; 0 where they are too few."""
        data = self._data
        least = max(LEAST_REPEATED * _WIDTH, LEAST_REPETITIONS * period)
        if len(data) < least + period or data[-least:] != data[-least - period : -period]:
            return 0
        repeated = least
        while (
            repeated + 2 * period <= len(data)
            and data[-repeated - period : -repeated] == data[-repeated - 2 * period : -repeated - period]
        ):
            repeated += period
        return repeated
