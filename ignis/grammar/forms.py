"""What an answer can be held to, as a request says it: plain values. `param` is the place in the body, for errors."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class JsonForm:
    """JSON that a schema accepts; without one any object."""

    param: str
    schema: Mapping[str, Any] | bool | None = None


@dataclass(frozen=True, slots=True)
class RegexForm:
    """Text that the expression matches from its first character to its last. No look-around, no back references."""

    param: str
    pattern: str


@dataclass(frozen=True, slots=True)
class ChoiceForm:
    """One of these texts."""

    param: str
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SyntaxForm:
    """Text of a grammar: Lark as llguidance reads it, or GBNF."""

    param: str
    text: str


Form = JsonForm | RegexForm | ChoiceForm | SyntaxForm


class Freedom(enum.Enum):
    """What an answer may be beside calls."""

    NONE = enum.auto()
    """It is made of calls."""
    FORM = enum.auto()
    """It is in its form, or made of calls."""
    ANY = enum.auto()
    """Any text, in which calls are held as soon as they begin."""


@dataclass(frozen=True, slots=True)
class CallTarget:
    """A tool that may be called."""

    name: str
    param: str
    """Where the request has the schema of its arguments."""
    schema: Mapping[str, Any] | None = None
    """None: it takes none."""
    is_held: bool = True
    """Its arguments fit the schema; else they are any."""
