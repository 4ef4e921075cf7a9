"""Typed reading of what a file says about its model: GGUF keys and members of JSON objects, with their ranges.

A value that is there but of the wrong type or out of range is refused by its name, whether or not there is a default.
"""

import math
from collections.abc import Mapping
from pathlib import Path

from ignis.errors import ModelFileError
from ignis.models.files import refusal, shown

MAX_COUNT = (1 << 31) - 1
"""Sizes cross the step ABI as uint32; half of that leaves room for sums."""


class Fields:
    """The named values of one file. null in JSON counts as absent."""

    __slots__ = ("path", "prefix", "values")

    def __init__(self, path: Path, values: Mapping[str, object], prefix: str = "") -> None:
        self.path = path
        self.values = values
        self.prefix = prefix
        """Put before every name, in messages too; the names in `values` carry it."""

    def refused(self, name: str, fault: str) -> ModelFileError:
        return refusal(self.path, f"{shown(self.prefix + name)} {fault}")

    def has(self, name: str) -> bool:
        return self._get(name) is not None

    def integer(self, name: str, low: int = 1, high: int = MAX_COUNT) -> int | None:
        """An integer in [low, high]; None where absent."""
        value = self._get(name)
        if value is None:
            return None
        if type(value) is not int:
            raise self.refused(name, f"is {shown(value)}, an integer is expected")
        if not low <= value <= high:
            raise self.refused(name, f"is {shown(value)}, {low} to {high} is allowed")
        return value

    def required_integer(self, name: str, low: int = 1, high: int = MAX_COUNT) -> int:
        value = self.integer(name, low, high)
        if value is None:
            raise self.refused(name, "is missing")
        return value

    def number(self, name: str, low: float, high: float) -> float | None:
        """A finite number in [low, high]; None where absent."""
        value = self._get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.refused(name, f"is {shown(value)}, a number is expected")
        # An int out of a JSON file may be too large for a float, so it is compared before it is converted.
        if (isinstance(value, float) and not math.isfinite(value)) or not low <= value <= high:
            raise self.refused(name, f"is {shown(value)}, {low:g} to {high:g} is allowed")
        return float(value)

    def required_number(self, name: str, low: float, high: float) -> float:
        value = self.number(name, low, high)
        if value is None:
            raise self.refused(name, "is missing")
        return value

    def flag(self, name: str, default: bool) -> bool:
        value = self._get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.refused(name, f"is {shown(value)}, true or false is expected")
        return value

    def text(self, name: str) -> str | None:
        value = self._get(name)
        if value is None:
            return None
        if isinstance(value, bytes):
            raise self.refused(name, "is not UTF-8")
        if not isinstance(value, str):
            raise self.refused(name, f"is {shown(value)}, text is expected")
        return value

    def members(self, name: str) -> "Fields | None":
        """The fields of an object inside, named name.member in messages."""
        value = self._get(name)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self.refused(name, f"is {shown(value)}, an object is expected")
        inner = f"{self.prefix}{name}."
        return Fields(self.path, {inner + str(member): item for member, item in value.items()}, inner)

    def need_neutral(self, name: str, *neutral: object) -> None:
        """Refuses a field that asks for what the forward pass does not do: it may be absent or one of these."""
        value = self._get(name)
        if value is not None and not any(type(value) is type(item) and value == item for item in neutral):
            raise self.refused(name, f"is {shown(value)}, which this architecture's forward pass does not do")

    def _get(self, name: str) -> object:
        return self.values.get(self.prefix + name)
