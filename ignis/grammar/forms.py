"""What an answer can be held to, as a request says it: plain values. `param` is the place in the body, for errors."""

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


@dataclass(frozen=True, slots=True)
class CallTarget:
    """A tool that may be called."""

    name: str
    param: str
    """Where the request has the schema of its arguments."""
    schema: Mapping[str, Any] | None = None
    """None: it takes none."""
