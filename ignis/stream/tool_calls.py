"""What the readers of tool calls share. They pass on only what will stand, and never a call's text as content.

The rule for a call that goes wrong:

    before its name and the start of its arguments are known     it is dropped whole, as if it had not been there
    after that                                                    it stays as far as it came, and stays open: the answer
                                                                  does not end with tool_calls
    after its arguments are complete                              it is closed; what follows up to its tag is skipped
"""

from collections.abc import Mapping
from typing import Protocol

from ignis.stream.parts import CallArguments, CallBegin, Part

Schemas = Mapping[str, Mapping[str, object]]
"""The tools of a request: the name of each with the JSON schema of its arguments."""


class CallWriter:
    """The calls of one answer, as parts. One is open at a time."""

    def __init__(self, max_calls: int | None = None) -> None:
        self._parts: list[Part] = []
        self.num_begun = 0
        self.num_closed = 0
        self._max_calls = max_calls

    def is_full(self) -> bool:
        """The last call that is allowed is complete: nothing is read any more."""
        return self.num_closed == self._max_calls

    def begin(self, name: str) -> None:
        self._parts.append(CallBegin(self.num_begun, name))
        self.num_begun += 1

    def arguments(self, text: str) -> None:
        if not text:
            return
        last = self._parts[-1] if self._parts else None
        if isinstance(last, CallArguments):
            text = last.text + text
            self._parts.pop()
        self._parts.append(CallArguments(self.num_begun - 1, text))

    def close(self) -> None:
        self.num_closed += 1

    def take(self) -> list[Part]:
        """Returns the parts that came since it was last called."""
        parts, self._parts = self._parts, []
        return parts


class CallBody(Protocol):
    """What stands between the tags of calls."""

    @property
    def is_whole(self) -> bool:
        """No call is half read: the text may end here."""
        ...

    def push(self, text: str) -> str | None:
        """Takes text; returns the rest from where it stops being a call, or None while it does not."""
        ...
