"""What one rendering may cost. Every operation of the sandbox that could grow is charged here before it runs.

The unit is a character or an element made or looked at; a turn of a loop or a call costs a few. Charging before the
work is what makes it end: Python cannot be stopped inside `"a" * 10**10`. Time is looked at too, as a second bound for
work that is cheap in units and slow.
"""

import time
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, ValuesView
from typing import TypeVar

Item = TypeVar("Item")

_STEP_COST = 8
_CLOCK_EVERY = 64
"""Steps between two looks at the clock."""

_BASE_WORK = 1 << 20
_WORK_FOR_EACH_CHARACTER = 64
_BASE_TEXT = 1 << 20
_TEXT_FOR_EACH_CHARACTER = 8
_BASE_TIME_S = 5.0
_TIME_FOR_EACH_CHARACTER_S = 2e-5
"""Ten times what the slowest of the field's templates takes for a history of short messages."""

MAX_WIDTH = 1 << 12
"""Of a padding, an indent, a format field or a batch."""
MAX_INT_BITS = 1 << 10


_SEQUENCES = (list, tuple, ItemsView, KeysView, ValuesView)


class TemplateCut(Exception):
    """The rendering was ended because it cost too much."""


class Budget:
    """One rendering's purse. The limits grow with the input, so that no honest history meets them."""

    __slots__ = ("_clock", "_deadline", "_steps", "_text_limit", "_work")

    def __init__(self, input_characters: int, *, divisor: int = 1, clock: Callable[[], float] = time.monotonic) -> None:
        """`divisor`: by how much the limits are cut."""
        self._work = (_BASE_WORK + _WORK_FOR_EACH_CHARACTER * input_characters) // divisor
        self._text_limit = (_BASE_TEXT + _TEXT_FOR_EACH_CHARACTER * input_characters) // divisor
        self._clock = clock
        self._deadline = clock() + (_BASE_TIME_S + _TIME_FOR_EACH_CHARACTER_S * input_characters) / divisor
        self._steps = _CLOCK_EVERY

    def step(self, units: int = 0) -> None:
        """Charges one operation that makes or looks at `units` characters or elements.

        Raises:
            TemplateCut: the purse is empty or the time is up.
        """
        self._work -= units + _STEP_COST
        if self._work < 0:
            raise TemplateCut("it does too much work")
        self._steps -= 1
        if self._steps == 0:
            self._steps = _CLOCK_EVERY
            if self._clock() > self._deadline:
                raise TemplateCut("it runs for too long")

    def make(self, size: int) -> None:
        """Charges a text or list of `size` that is about to be made."""
        if size > self._text_limit:
            raise TemplateCut(f"it makes a text or list longer than {self._text_limit}")
        self.step(size)

    def width(self, value: object) -> None:
        """Checks a number that asks for space."""
        if isinstance(value, int) and abs(value) > MAX_WIDTH:
            raise TemplateCut(f"it asks for a width of {value}, more than {MAX_WIDTH}")

    def whole(self, value: object) -> None:
        """Checks that an integer stays small: arithmetic on huge ones takes unbounded time."""
        if isinstance(value, int) and value.bit_length() > MAX_INT_BITS:
            raise TemplateCut(f"it makes a number of more than {MAX_INT_BITS} bits")

    def walk(self, *values: object) -> None:
        """Charges a look at everything inside the values, as str(), tojson or a comparison of containers takes.

        A container counts as often as it occurs: nested sharing makes a small value a huge text.
        """
        pending = list(values)
        while pending:
            value = pending.pop()
            kind = type(value)
            if kind is str:
                self.step(len(value))  # type: ignore[arg-type]
            elif kind is dict:
                self.step(2 * len(value))  # type: ignore[arg-type]
                for pair in value.items():  # type: ignore[attr-defined]
                    pending.extend(pair)
            elif isinstance(value, _SEQUENCES):
                self.step(len(value))
                pending.extend(value)

    def metered(self, items: Iterable[Item]) -> Iterator[Item]:
        """Charges each item of an iterable that makes them one by one."""
        for item in items:
            self.step()
            yield item
