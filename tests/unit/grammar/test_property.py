"""Random schemas: whatever is drawn under one that compiles validates against it, judged by another library."""

import json
from typing import Any

import hypothesis.strategies as st
import jsonschema_rs
from hypothesis import assume, given, settings

from ignis.errors import RequestError
from ignis.grammar.grammar import Calls
from ignis.stream.dialects import HERMES, LLAMA3, QWEN_XML, OutputDialect
from tests.unit.grammar.rig import CallTarget, JsonForm, calls_of, draw, held

DRAFT = "https://json-schema.org/draft/2020-12/schema"
NAMES = st.sampled_from(["a", "b", "name", "ä b", 'q"', "$ref"])
SCALARS = st.sampled_from([None, True, False, 0, -3, 2.5, "", "x", 'say "hi"\n', "é😀"])


def numbers(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    bounds = st.fixed_dictionaries(
        {"type": st.just(kind)},
        optional={
            "minimum": st.integers(-1000, 0),
            "maximum": st.integers(1, 100_000),
            "exclusiveMinimum": st.integers(-50, 0),
            "multipleOf": st.sampled_from([1, 2, 7]),
        },
    )
    return bounds.filter(lambda schema: not {"minimum", "exclusiveMinimum"} <= set(schema))


TEXTS = st.fixed_dictionaries(
    {"type": st.just("string")},
    optional={"minLength": st.integers(0, 3), "maxLength": st.integers(3, 8)},
) | st.sampled_from(
    [
        {"type": "string", "pattern": "^[a-c]{2,4}$"},
        {"type": "string", "pattern": "z"},
        {"type": "string", "format": "date"},
        {"type": "string", "format": "uuid"},
        {"type": "string", "format": "ipv4"},
        {"type": "string", "pattern": "^(a|<b>)*x", "maxLength": 6},
    ]
)
LEAVES = (
    TEXTS
    | numbers("integer")
    | numbers("number")
    | st.lists(SCALARS, min_size=1, max_size=4, unique_by=repr).map(lambda values: {"enum": values})
    | SCALARS.map(lambda value: {"const": value})
    | st.sampled_from([{"type": "boolean"}, {"type": "null"}, {"type": ["string", "null"]}, {"$ref": "#/$defs/tree"}])
)


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(NAMES, inner, max_size=4).flatmap(
        lambda properties: st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.just(properties)},
            optional={
                "required": st.lists(st.sampled_from(sorted(properties)), unique=True) if properties else st.just([]),
                "additionalProperties": st.just(False) | inner,
            },
        )
    )


def arrays(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"type": st.just("array"), "items": inner},
        optional={"minItems": st.integers(0, 2), "maxItems": st.integers(2, 4)},
    )


SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: (
        objects(inner)
        | arrays(inner)
        | st.lists(inner, min_size=1, max_size=3).map(lambda branches: {"anyOf": branches})
        | st.lists(inner, min_size=1, max_size=2).map(lambda parts: {"allOf": parts})
    ),
    max_leaves=8,
)
TREE = {
    "type": "object",
    "properties": {"v": {"type": "integer"}, "next": {"$ref": "#/$defs/tree"}},
    "required": ["v"],
    "additionalProperties": False,
}


def loads(text: bytes | str) -> Any:
    """JSON knows no bound for numbers, and neither does a schema; Python's floats do."""
    value = json.loads(text)
    assume("Infinity" not in json.dumps(value))
    return value


@settings(max_examples=150)
@given(schema=SCHEMAS, seed=st.integers(0, 2**32))
def test_what_is_drawn_validates(schema: dict[str, Any], seed: int) -> None:
    root = {**schema, "$defs": {"tree": TREE}}
    try:
        constraint = held(JsonForm("rf", root))
    except RequestError:
        # It permits nothing, or cannot be held; that such a one is refused is another test's.
        assume(False)
    drawn, has_ended = draw(constraint, seed, haste=0.7)
    assume(has_ended)
    value = loads(drawn)
    assert jsonschema_rs.is_valid({**root, "$schema": DRAFT}, value), value


@settings(max_examples=150)
@given(
    properties=st.dictionaries(st.sampled_from(["a", "city name", "ä"]), SCHEMAS, min_size=1, max_size=3),
    dialect=st.sampled_from([HERMES, LLAMA3, QWEN_XML]),
    seed=st.integers(0, 2**32),
)
def test_the_arguments_of_a_forced_call_validate(properties: dict[str, Any], dialect: OutputDialect, seed: int) -> None:
    schema = {"type": "object", "properties": properties, "required": ["a"] if "a" in properties else []}
    schema["$defs"] = {"tree": TREE}
    target = CallTarget("f", "tools[0]", schema)
    try:
        constraint = held(calls=Calls((target,), dialect, is_single=True))
    except RequestError:
        assume(False)
    drawn, has_ended = draw(constraint, seed, haste=0.7)
    assume(has_ended)
    ((name, text),), content, is_complete = calls_of(drawn, (target,), dialect)
    assert (name, content, is_complete) == ("f", "", True)
    arguments = loads(text)
    assert set(arguments) <= set(properties)
    assert jsonschema_rs.is_valid({**schema, "$schema": DRAFT}, arguments), (arguments, drawn)
