"""Finds the keys of a body that its struct does not declare, however deep: a slip is refused, the others are named."""

import functools
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import inspect

from ignis.errors import InvalidRequestError
from ignis.limits import MAX_IGNORED

MAX_NAME_LENGTH = 64
_NO_SLIPS = frozenset({"models", "top_a"})
"""Fields of other servers, close to a known name and yet not meant as it."""


def unknown_fields(body: Mapping[str, Any], struct: type[msgspec.Struct]) -> tuple[str, ...]:
    """Returns the dotted names of unknown keys, each once, in the order of their first use: `messages[].foo`.

    A key with null asks for nothing, known or not. Objects that a struct leaves open, as a tool's parameters, are not
    looked into, nor is what has another type than the struct declares.

    Raises:
        InvalidRequestError: a name is a slip of a known one, or there are too many.
    """
    found: dict[str, None] = {}
    for name, place, key, known in _walk(body, _layout(struct), "", ""):
        if name in found:
            continue
        if len(found) == MAX_IGNORED:
            raise InvalidRequestError(f"the body holds more than {MAX_IGNORED} unknown fields")
        if meant := nearest(key, known):
            raise InvalidRequestError(f"{place} is not a known field, did you mean {meant}", place)
        found[name] = None
    return tuple(found)


def nearest(name: str, known: frozenset[str]) -> str | None:
    """Returns the known name that this one is a slip of: one edit, or two in a long name; a swap is one edit."""
    allowed = 2 if len(name) > 7 else 1
    if len(name) < 4 or len(name) > MAX_NAME_LENGTH or name in _NO_SLIPS:
        return None
    best = min(known, key=lambda other: (_distance(name, other, allowed + 1), other))
    return best if _distance(name, best, allowed + 1) <= allowed else None


class _Layout:
    """The fields of a struct by name, and for those that hold structs, theirs."""

    __slots__ = ("inner", "known")

    def __init__(self, struct: type[msgspec.Struct]) -> None:
        info = inspect.type_info(struct)
        assert isinstance(info, inspect.StructType)
        self.known = frozenset(field.encode_name for field in info.fields)
        self.inner = {field.encode_name: _layout(inner) for field in info.fields for inner in _structs(field.type)}


@functools.cache
def _layout(struct: type[msgspec.Struct]) -> _Layout:
    return _Layout(struct)


def _structs(declared: inspect.Type) -> Iterator[type[msgspec.Struct]]:
    """The structs that a value of the type may be or list; one at most, or msgspec could not tell them apart."""
    match declared:
        case inspect.Metadata():
            yield from _structs(declared.type)
        case inspect.UnionType():
            for kind in declared.types:
                yield from _structs(kind)
        case inspect.ListType():
            yield from _structs(declared.item_type)
        case inspect.StructType():
            yield declared.cls


def _walk(
    body: Mapping[str, Any], layout: _Layout, name: str, place: str
) -> Iterator[tuple[str, str, str, frozenset[str]]]:
    """Gives (dotted name, the same with places in lists, key, known keys beside it) of every unknown key."""
    for key, value in body.items():
        if value is None:
            continue
        if key not in layout.known:
            yield name + key, place + key, key, layout.known
        elif key in layout.inner:
            inner = layout.inner[key]
            if isinstance(value, dict):
                yield from _walk(value, inner, f"{name}{key}.", f"{place}{key}.")
            elif isinstance(value, list):
                for index, item in enumerate(value):
                    if isinstance(item, dict):
                        yield from _walk(item, inner, f"{name}{key}[].", f"{place}{key}[{index}].")


def _distance(left: str, right: str, limit: int) -> int:
    """Optimal string alignment distance, at most `limit`."""
    if abs(len(left) - len(right)) >= limit:
        return limit
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        before, row, last = row, [i], before
        for j, b in enumerate(right, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return min(row[-1], limit)
