"""Finds stop strings in text that comes in pieces, and holds back what may become one."""

from collections.abc import Sequence
from dataclasses import dataclass, field


def _failure_table(stop: str) -> list[int]:
    """For each prefix, the length of its longest proper suffix that is a prefix too (Knuth, Morris, Pratt 1977)."""
    table = [0] * len(stop)
    matched = 0
    for index in range(1, len(stop)):
        while matched and stop[index] != stop[matched]:
            matched = table[matched - 1]
        matched += stop[index] == stop[matched]
        table[index] = matched
    return table


@dataclass(slots=True)
class _Matcher:
    stop: str
    failure: list[int]
    matched: int = field(default=0)
    """Length of the longest suffix of the text so far that is a prefix of `stop`."""

    def step(self, character: str) -> bool:
        while self.matched and self.stop[self.matched] != character:
            self.matched = self.failure[self.matched - 1]
        self.matched += self.stop[self.matched] == character
        return self.matched == len(self.stop)


class StopMatcher:
    """The match that is complete first wins; of two that end together, the longer one. Characters are compared exactly.

    It works one character at a time, so the result cannot depend on where the text was cut.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        """`stops`: none of them empty."""
        assert all(stops)
        # The longest first: of two that end together it is found first.
        self._matchers = [_Matcher(stop, _failure_table(stop)) for stop in sorted(set(stops), key=len, reverse=True)]
        self._held = ""
        self.found: str | None = None
        """The stop string that was met."""

    def push(self, text: str) -> tuple[str, bool]:
        """Returns the text that is free to go, and whether a stop string is complete; then nothing comes any more.

        Held back is exactly the longest suffix that is a prefix of a stop string.
        """
        if self.found is not None:
            return "", True
        if not self._matchers:
            return text, False
        for index, character in enumerate(text):
            complete = [matcher for matcher in self._matchers if matcher.step(character)]
            if complete:
                self.found = complete[0].stop
                known = self._held + text[: index + 1]
                self._held = ""
                return known[: len(known) - len(self.found)], True
        known = self._held + text
        free = len(known) - max(matcher.matched for matcher in self._matchers)
        self._held = known[free:]
        return known[:free], False

    def finish(self) -> str:
        """Returns what was held back: the text has ended, or a tag parts it from what follows."""
        held, self._held = self._held, ""
        for matcher in self._matchers:
            matcher.matched = 0
        return held
