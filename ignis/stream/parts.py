"""What a text is made of once it is split: values that say nothing of any wire format."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reasoning:
    text: str


@dataclass(frozen=True, slots=True)
class Content:
    text: str


@dataclass(frozen=True, slots=True)
class CallBegin:
    """A tool call whose name is known. Its arguments follow, and nothing of it came before."""

    index: int
    """Of the calls of one answer, from 0."""
    name: str


@dataclass(frozen=True, slots=True)
class CallArguments:
    """More of the JSON text of a call's arguments. All of them joined are the object, if the call was closed."""

    index: int
    text: str


Part = Reasoning | Content | CallBegin | CallArguments
