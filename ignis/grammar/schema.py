"""Reads a JSON schema for llguidance. What it cannot hold an answer to is refused, with the place; nothing is ignored.

Four things are written otherwise, with the same meaning: a oneOf whose branches exclude each other is an anyOf, the
formats that OpenAPI gives to numbers are their ranges, some formats of text are their patterns, and what says nothing
about the value is left out.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from ignis.errors import InvalidRequestError, UnsupportedValueError
from ignis.grammar.endless import can_end, resolved
from ignis.grammar.text_formats import FORMATS
from ignis.limits import MAX_DEPTH, MAX_SCHEMA_COST, MAX_SCHEMA_PARTS, MAX_SCHEMA_PROPERTIES

Schema = dict[str, Any]

_MAPS = ("properties", "patternProperties", "$defs", "definitions")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLES = ("items", "additionalProperties", "additionalItems")
_PLAIN = frozenset(
    {
        "$ref",
        "type",
        "enum",
        "const",
        "required",
        "minProperties",
        "maxProperties",
        "minItems",
        "maxItems",
        "minLength",
        "maxLength",
        "pattern",
        "format",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
    }
)
_ANNOTATIONS = frozenset(
    {
        "$schema",
        "$id",
        "$anchor",
        "$comment",
        "title",
        "description",
        "default",
        "example",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "discriminator",
        "externalDocs",
        "xml",
        "nullable",  # OpenAPI 3.0's; without null the answer is right all the same
        "contentEncoding",
        "contentMediaType",
        "contentSchema",
        "enumNames",
        "enumDescriptions",
        "markdownDescription",
        "propertyOrdering",
        "errorMessage",
    }
)
_NO_FORMATS = frozenset({"password", "path", "file-path", "directory-path", "binary", "float", "double"})
"""Formats that any text or number has."""
_RANGES = {"int32": 31, "int64": 63, "uint32": 32, "uint64": 64}
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


def readable(schema: Mapping[str, Any] | bool, param: str) -> Schema:
    """Returns the schema as llguidance takes it.

    Raises:
        InvalidRequestError: it is no schema, or larger than the bounds.
        UnsupportedValueError: it uses what cannot be held; the message names it and its place.
    """
    if schema is True:
        return {}
    if not isinstance(schema, Mapping):
        raise InvalidRequestError(f"{param} must be an object, or true", param)
    return _Reader(schema, param).read()


def children(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The schemas inside a schema that are objects, each with its place: `.properties.a`, `.anyOf[0]`."""
    for name in _MAPS:
        inner = schema.get(name)
        if isinstance(inner, Mapping):
            yield from ((f".{name}.{key}", value) for key, value in inner.items() if isinstance(value, Mapping))
    for name in (*_LISTS, "items"):
        inner = schema.get(name)
        if isinstance(inner, list):
            yield from ((f".{name}[{i}]", value) for i, value in enumerate(inner) if isinstance(value, Mapping))
    for name in _SINGLES:
        inner = schema.get(name)
        if isinstance(inner, Mapping):
            yield f".{name}", inner


class _Reader:
    def __init__(self, root: Mapping[str, Any], param: str) -> None:
        self._root = root
        self._param = param
        self._num_properties = 0
        self._num_parts = 0
        self._cost = 0

    def read(self) -> Schema:
        read = self._read(self._root, self._param, 0)
        if not can_end(read):
            message = f"{self._param} has no end: whatever fits it holds more of it inside, without an alternative"
            raise InvalidRequestError(message, self._param)
        return read

    def _read(self, schema: Mapping[str, Any], place: str, depth: int) -> Schema:
        # A schema inside a schema is two levels of JSON at least.
        if depth > MAX_DEPTH // 2:
            raise InvalidRequestError(f"{self._param} is nested too deeply, at {place[:200]}", self._param)
        self._count_parts(1)
        read: Schema = {}
        for name, value in schema.items():
            where = f"{place}.{name}"
            if name in _MAPS:
                read[name] = self._read_map(name, value, where, depth)
            elif name in _LISTS or (name == "items" and isinstance(value, list)):
                read[name] = self._read_list(value, where, depth)
            elif name in _SINGLES:
                read[name] = self._read_any(value, where, depth)
            elif name in _PLAIN:
                if name in ("enum", "const"):
                    self._count_parts(_num_values(value))
                read[name] = value
            elif name == "propertyNames" and _is_any_text(value):
                continue
            elif name not in _ANNOTATIONS and (not name.startswith("x-") or name == "x-guidance"):
                raise self._unsupported(where)
        self._check_reference(read, place)
        self._read_format(read, place)
        self._count(read, place)
        if "oneOf" in read:
            self._read_one_of(read, place)
        return read

    def _read_map(self, name: str, value: object, where: str, depth: int) -> Schema:
        if not isinstance(value, Mapping):
            raise InvalidRequestError(f"{where} must be an object", self._param)
        if name == "properties":
            self._num_properties += len(value)
            if self._num_properties > MAX_SCHEMA_PROPERTIES:
                message = f"{self._param} has more than {MAX_SCHEMA_PROPERTIES} properties in all"
                raise InvalidRequestError(message, self._param)
        return {key: self._read_any(inner, f"{where}.{key}", depth) for key, inner in value.items()}

    def _read_list(self, value: object, where: str, depth: int) -> list[Any]:
        if not isinstance(value, list):
            raise InvalidRequestError(f"{where} must be an array", self._param)
        return [self._read_any(inner, f"{where}[{index}]", depth) for index, inner in enumerate(value)]

    def _read_any(self, value: object, where: str, depth: int) -> Schema | bool:
        if isinstance(value, bool):
            return value
        if not isinstance(value, Mapping):
            raise InvalidRequestError(f"{where} must be a schema: an object, true or false", self._param)
        return self._read(value, where, depth + 1)

    def _count_parts(self, num_parts: int) -> None:
        """The compiler goes down a level of its stack for each of them that stands below another."""
        self._num_parts += num_parts
        if self._num_parts > MAX_SCHEMA_PARTS:
            raise InvalidRequestError(f"{self._param} has more than {MAX_SCHEMA_PARTS} parts", self._param)

    def _check_reference(self, read: Schema, place: str) -> None:
        reference = read.get("$ref")
        if isinstance(reference, str) and not reference.startswith("#"):
            raise UnsupportedValueError(
                f"{place}.$ref is {reference[:100]!r}: only references inside the schema, from #, are followed",
                self._param,
            )

    def _read_format(self, read: Schema, place: str) -> None:
        form = read.get("format")
        if not isinstance(form, str):
            return
        if form in _NO_FORMATS:
            del read["format"]
        elif form in _RANGES:
            del read["format"]
            lowest, highest = (0 if form.startswith("u") else -(2 ** _RANGES[form])), 2 ** _RANGES[form] - 1
            for name, bound, narrower in (("minimum", lowest, max), ("maximum", highest, min)):
                own = read.get(name, bound)
                read[name] = narrower(bound, own) if _is_number(own) else own
        elif form in FORMATS and "pattern" not in read:
            del read["format"]
            read["pattern"] = FORMATS[form]

    def _count(self, read: Schema, place: str) -> None:
        """What a number's bounds and steps take to compile: the square of their digits, and the step itself."""
        digits = sum(len(str(read[name])) for name in _BOUNDS if _is_number(read.get(name)))
        self._cost += digits**2
        step = read.get("multipleOf")
        if isinstance(step, int | float) and math.isfinite(step):
            exponent = Decimal(str(step)).as_tuple().exponent
            self._cost += abs(int(Decimal(str(step)).scaleb(-min(0, int(exponent)))))
        if self._cost > MAX_SCHEMA_COST:
            raise InvalidRequestError(
                f"{self._param} takes too long to compile: the bounds and steps of its numbers have too many digits, "
                f"up to {place[:200]}",
                self._param,
            )

    def _read_one_of(self, read: Schema, place: str) -> None:
        """Branches that exclude each other make oneOf and anyOf the same; llguidance has anyOf."""
        branches = [resolved(branch, self._root) for branch in read["oneOf"]]
        if not all(_are_disjoint(one, other) for one, other in itertools.combinations(branches, 2)):
            raise UnsupportedValueError(
                f"{place}.oneOf is not served where an answer could fit two of its branches; give each a property that "
                "is required and has another const, or use anyOf",
                self._param,
            )
        if "anyOf" in read:
            raise UnsupportedValueError(f"{place}.oneOf is not served beside anyOf", self._param)
        read["anyOf"] = read.pop("oneOf")

    def _unsupported(self, where: str) -> UnsupportedValueError:
        return UnsupportedValueError(f"{where[:300]} is not served: an answer cannot be held to it", self._param)


def _is_any_text(schema: object) -> bool:
    """Whether a schema of names takes each of them: what is written of a map with any keys."""
    if not isinstance(schema, Mapping):
        return schema is True
    return schema.get("type", "string") == "string" and all(name in _ANNOTATIONS for name in schema if name != "type")


def _num_values(value: object) -> int:
    """How many values stand in a value."""
    count, pending = 0, [value]
    while pending and count <= MAX_SCHEMA_PARTS:
        item = pending.pop()
        # A text in a list costs nothing to speak of.
        count += not isinstance(item, str)
        pending += item.values() if isinstance(item, Mapping) else item if isinstance(item, list) else ()
    return count


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_disjoint(one: object, other: object) -> bool:
    """Whether it is certain that no value fits both. At most one reference deep: what is behind it was resolved."""
    if not (isinstance(one, Mapping) and isinstance(other, Mapping)):
        return one is False or other is False
    kinds = _kinds(one), _kinds(other)
    if kinds[0] is not None and kinds[1] is not None and not kinds[0] & kinds[1]:
        return True
    values = _values(one), _values(other)
    if values[0] is not None and values[1] is not None and not any(value in values[1] for value in values[0]):
        return True
    if kinds != ({"object"}, {"object"}):
        return False
    required = set(_names(one.get("required"))) & set(_names(other.get("required")))
    for name in required:
        inner = [schema.get("properties", {}).get(name) for schema in (one, other)]
        mine, theirs = (_values(schema) if isinstance(schema, Mapping) else None for schema in inner)
        if mine is not None and theirs is not None and not any(value in theirs for value in mine):
            return True
    return False


def _names(value: object) -> Sequence[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _kinds(schema: Mapping[str, Any]) -> set[str] | None:
    """The types that a schema names, "integer" as "number"; None where it names none."""
    kind = schema.get("type")
    named = [kind] if isinstance(kind, str) else _names(kind)
    return {"number" if name == "integer" else name for name in named} or None


def _values(schema: Mapping[str, Any]) -> list[tuple[str, object]] | None:
    """What const or enum allow, each with its JSON type, so that 1 and true differ; None where there is neither."""
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(values, list):
        return None
    return [("bool" if isinstance(value, bool) else "other", value) for value in values]
