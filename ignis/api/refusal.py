"""Turns a value that a struct does not take into the error that its field declares, naming field and allowed values."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import inspect

from ignis.api.schema.fields import ALLOWED, CODE, CODES, WHY_NOT
from ignis.errors import InvalidRequestError, RequestError

_PATH = re.compile(r" - at `\$\.?(.*)`$")
_MISSING = re.compile(r"missing required field `([^`]*)`")
_STEP = re.compile(r"\[(\d+|\.\.\.)\]|([^.\[\]]+)")
_SPELLED_LENGTH = 60


def refuse(error: msgspec.ValidationError, body: object, struct: type) -> RequestError:
    """Makes the error for what `msgspec.convert(body, struct)` refused."""
    text = str(error)
    where = _PATH.search(text)
    path = where[1] if where else ""
    if missing := _MISSING.search(text):
        param = f"{path}.{missing[1]}" if path else missing[1]
        return InvalidRequestError(f"{param} is missing", param)
    if not path:
        return InvalidRequestError(f"the body must be a JSON object, not {spell(body)}")
    found = _Search(inspect.type_info(struct), body)
    for step in _STEP.finditer(path):
        found.enter(step[1] or step[2])
    param = found.path
    kind = found.codes.get(found.value) if isinstance(found.value, str) else None
    kind = kind or found.code or InvalidRequestError
    if found.why_not:
        return kind(f"{param} is not served: {found.why_not}", param)
    # An object where one is allowed has too many entries.
    count = f" of {len(found.value)}" if isinstance(found.value, Mapping) and _is_sized(found.type) else ""
    return kind(f"{param} must be {found.allowed or describe(found.type)}, not {spell(found.value)}{count}", param)


def describe(declared: inspect.Type) -> str:
    """Says in words which values a type takes, null aside."""
    match declared:
        case inspect.Metadata():
            return (declared.extra or {}).get(ALLOWED) or describe(declared.type)
        case inspect.UnionType():
            return " or ".join(describe(kind) for kind in declared.types if not isinstance(kind, inspect.NoneType))
        case inspect.IntType():
            return "an integer" + _range(declared)
        case inspect.FloatType():
            return "a number" + _range(declared)
        case inspect.StrType():
            if declared.max_length:
                return f"a string of {declared.min_length or 0} to {declared.max_length} characters"
            return "a non-empty string" if declared.min_length else "a string"
        case inspect.BoolType():
            return "true or false"
        case inspect.NoneType():
            return "null"
        case inspect.LiteralType():
            return " or ".join(spell(value) for value in declared.values)
        case inspect.ListType():
            return "an array" + _lengths(declared) + _of(declared.item_type)
        case inspect.DictType():
            return "an object" + _lengths(declared)
        case inspect.StructType():
            return "an object"
        case _:
            return "of another type"


def spell(value: object) -> str:
    """Shows a value as JSON, shortened."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return f"an array of {len(value)}" if value else "an empty array"
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _SPELLED_LENGTH else text[:_SPELLED_LENGTH] + "..."


class _Search:
    """Walks from the body's root to the refused value, in value and declared type at once."""

    def __init__(self, declared: inspect.Type, value: object) -> None:
        self.value: Any = value
        self.path = ""
        self.code: type[RequestError] | None = None
        self.codes: Mapping[str, type[RequestError]] = {}
        self.allowed: str | None = None
        self.why_not: str | None = None
        self.type = self._open(declared)

    def enter(self, step: str) -> None:
        for candidate in self.type.types if isinstance(self.type, inspect.UnionType) else (self.type,):
            inner = candidate.type if isinstance(candidate, inspect.Metadata) else candidate
            if isinstance(inner, inspect.StructType):
                for field in inner.fields:
                    if field.encode_name == step:
                        self._step(step, f".{step}" if self.path else step, field.type)
                        return
            elif isinstance(inner, inspect.ListType) and isinstance(self.value, list) and step.isdigit():
                self._step(int(step), f"[{step}]", inner.item_type)
                return
            elif isinstance(inner, inspect.DictType) and isinstance(self.value, Mapping):
                # msgspec does not say which key; the first value that the type refuses is the one that it met.
                key = next(key for key, value in self.value.items() if not _takes(inner.value_type, value))
                self._step(key, f".{key}", inner.value_type)
                return

    def _step(self, key: str | int, suffix: str, declared: inspect.Type) -> None:
        self.path += suffix
        self.value = self.value.get(key) if isinstance(self.value, Mapping) else self.value[key]
        self.codes, self.allowed, self.why_not = {}, None, None
        self.type = self._open(declared)

    def _open(self, declared: inspect.Type) -> inspect.Type:
        """Takes what the metadata of a type says and returns the type inside. An inner field inherits the error."""
        candidates: Sequence[inspect.Type] = declared.types if isinstance(declared, inspect.UnionType) else (declared,)
        for candidate in candidates:
            if isinstance(candidate, inspect.Metadata):
                extra = candidate.extra or {}
                self.code = extra.get(CODE, self.code)
                self.codes = extra.get(CODES, {})
                self.allowed = extra.get(ALLOWED)
                self.why_not = extra.get(WHY_NOT)
        return declared.type if isinstance(declared, inspect.Metadata) else declared


def _is_sized(declared: inspect.Type) -> bool:
    """Whether it is an object that has at most so many entries."""
    if isinstance(declared, inspect.UnionType):
        return any(_is_sized(each) for each in declared.types)
    inner = declared.type if isinstance(declared, inspect.Metadata) else declared
    return isinstance(inner, inspect.DictType) and bool(_lengths(inner))


def _takes(declared: inspect.Type, value: object) -> bool:
    inner = declared.type if isinstance(declared, inspect.Metadata) else declared
    if not isinstance(inner, inspect.FloatType):
        return False
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and (inner.ge is None or value >= inner.ge) and (inner.le is None or value <= inner.le)  # type: ignore[operator]


def _range(declared: inspect.IntType | inspect.FloatType) -> str:
    if declared.le is None:
        return "" if declared.ge is None else f" of at least {declared.ge}"
    if declared.gt is not None:
        return f" above {declared.gt} and up to {declared.le}"
    return f" from {declared.ge} to {declared.le}"


def _lengths(declared: inspect.ListType | inspect.DictType) -> str:
    if declared.min_length and declared.max_length:
        return f" of {declared.min_length} to {declared.max_length}"
    return f" of at most {declared.max_length}" if declared.max_length else ""


def _of(item: inspect.Type) -> str:
    inner = item.type if isinstance(item, inspect.Metadata) else item
    match inner:
        case inspect.StrType():
            return " of strings"
        case inspect.IntType():
            return " of integers"
        case inspect.LiteralType():
            return f" of {describe(inner)}"
        case _:
            return ""
