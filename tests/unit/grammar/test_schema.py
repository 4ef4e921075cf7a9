"""JSON schemas: what cannot be held is refused with its place, and nothing is ignored."""

import json
from typing import Any

import pytest

from ignis.errors import InvalidRequestError, RequestError, UnsupportedValueError
from tests.unit.grammar.rig import JsonForm, accepts, held

INTEGER = {"type": "integer"}
UUID = "123e4567-e89b"


def closed(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def within(schema: Any) -> Any:
    return held(JsonForm("rf.schema", schema))


def refusal(schema: Any) -> RequestError:
    with pytest.raises(RequestError) as caught:
        within(schema)
    assert caught.value.param == "rf.schema"
    return caught.value


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        (closed(a={"type": "array", "uniqueItems": True}), "rf.schema.properties.a.uniqueItems"),
        ({"not": INTEGER}, "rf.schema.not"),
        ({"if": {}, "then": {}}, "rf.schema.if"),
        ({"type": "object", "propertyNames": {"pattern": "a"}}, "rf.schema.propertyNames"),
        ({"type": "object", "propertyNames": {"type": "integer"}}, "rf.schema.propertyNames"),
        ({"anyOf": [INTEGER, {"type": "array", "contains": INTEGER}]}, "rf.schema.anyOf[1].contains"),
        ({"$defs": {"A": {"dependentRequired": {"a": ["b"]}}}, "$ref": "#/$defs/A"}, "rf.schema.$defs.A"),
        ({"type": "object", "additionalProperties": {"maxlength": 3}}, "rf.schema.additionalProperties.maxlength"),
        ({"type": "object", "x-guidance": {"lenient": True}}, "rf.schema.x-guidance"),
        ({"$ref": "https://example.com/schema"}, "rf.schema.$ref"),
        ({"type": "object", "unevaluatedProperties": False}, "rf.schema.unevaluatedProperties"),
    ],
)
def test_a_keyword_that_cannot_be_held_is_refused_with_its_place(schema: Any, place: str) -> None:
    error = refusal(schema)
    assert isinstance(error, UnsupportedValueError)
    assert str(error).startswith(place)


@pytest.mark.parametrize(
    ("schema", "start"),
    [
        (closed(a={"type": "string", "pattern": "(a"}), "rf.schema.properties.a cannot be compiled: regex parse error"),
        (closed(a={"type": "string", "pattern": "(?=a)b"}), "rf.schema.properties.a cannot be compiled: regex"),
        (closed(a=closed(b={"type": "strin"})), "rf.schema.properties.a.properties.b cannot be compiled: Invalid type"),
        ({"anyOf": [INTEGER, {"type": "string", "format": "zip"}]}, "rf.schema.anyOf[1] cannot be compiled: Unknown"),
        ({"type": "integer", "minimum": 3, "maximum": 1}, "rf.schema cannot be compiled: Unsatisfiable"),
        ({"$ref": "#/$defs/none"}, "rf.schema cannot be compiled"),
        (False, "rf.schema must be an object, or true"),
        ([], "rf.schema must be an object, or true"),
        ({"properties": 1}, "rf.schema.properties must be an object"),
        ({"anyOf": {}}, "rf.schema.anyOf must be an array"),
        ({"items": 3}, "rf.schema.items must be a schema"),
    ],
)
def test_a_schema_that_does_not_compile_is_refused_with_what_and_where(schema: Any, start: str) -> None:
    error = refusal(schema)
    assert isinstance(error, InvalidRequestError)
    assert str(error).startswith(start)


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = INTEGER
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return schema


@pytest.mark.parametrize(
    ("schema", "word"),
    [
        (nested(100), "nested"),
        ({"type": "object", "properties": {f"p{i}": INTEGER for i in range(1025)}}, "1024 properties"),
        ({"enum": ["x" * 1000] * 300}, "bytes of JSON"),
        ({"type": "integer", "multipleOf": 10**9 + 7}, "too long to compile"),
        ({"anyOf": [{"type": "integer", "multipleOf": 9973 + i} for i in range(10)]}, "too long to compile"),
        ({"anyOf": [{"type": "integer", "minimum": 10**16 + i, "maximum": 10**17} for i in range(99)]}, "too long"),
        ({"allOf": [{"anyOf": [{"properties": {f"{i}_{k}": INTEGER}} for k in range(10)]} for i in range(8)]}, "large"),
    ],
)
def test_a_schema_has_bounds(schema: Any, word: str) -> None:
    assert word in str(refusal(schema))


def test_annotations_are_no_rules() -> None:
    schema = {
        **closed(a={"type": "integer", "title": "A", "description": "b", "default": 1, "examples": [1], "x-order": 1}),
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "https://example.com/a",
    }
    assert accepts(within(schema), '{"a": 5}')


@pytest.mark.parametrize(
    "branches",
    [
        [closed(kind={"const": "a"}, x=INTEGER), closed(kind={"enum": ["b", "c"]})],
        [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}],
        [{"type": "string"}, INTEGER],
        [{"const": 1}, {"const": 2}],
    ],
)
def test_branches_that_exclude_each_other_may_be_one_of(branches: Any) -> None:
    within({"oneOf": branches, "$defs": {"A": closed(k={"const": 1}), "B": closed(k={"const": 2})}})


@pytest.mark.parametrize(
    "branches",
    [
        [{"type": "number"}, INTEGER],
        [closed(kind={"const": "a"}), closed(kind={"enum": ["a", "b"]})],
        [{"type": "object", "properties": {"k": {"const": 1}}}, {"type": "object", "properties": {"k": {"const": 2}}}],
        [{"const": True}, {"type": "boolean"}],
        [{"$ref": "#"}, {"$ref": "#"}],
    ],
)
def test_branches_that_may_both_fit_are_no_one_of(branches: Any) -> None:
    assert "oneOf" in str(refusal({"oneOf": branches}))


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer", "format": "int32"}, 2**31 - 1, 2**31),
        ({"type": "integer", "format": "int32", "minimum": 5}, 5, 4),
        ({"type": "string", "format": "uuid4"}, f"{UUID}-42d3-a456-426614174000", f"{UUID}-12d3-a456-426614174000"),
        ({"type": "string", "format": "date"}, "2026-11-29", "2026-13-29"),
        ({"type": "string", "format": "date"}, "2024-02-29", "2026-02-29"),
        ({"type": "string", "format": "date"}, "2000-02-29", "0000-01-01"),
        ({"type": "string", "format": "time"}, "23:59:59.123456Z", "23:59:60Z"),
        ({"type": "string", "format": "time"}, "00:00:00+01:00", "00:00:00"),
        ({"type": "string", "format": "duration"}, "P1Y2M3DT4H5M6S", "P"),
        ({"type": "string", "format": "duration"}, "P3W", "P3W1D"),
        ({"type": "string", "format": "duration"}, "PT90000S", "PT1234567890S"),
        ({"type": "string", "format": "date-time"}, "2026-11-29T08:00:00.5Z", "1900-02-29T08:00:00Z"),
        ({"type": "string", "format": "date-time"}, "2026-11-29t08:00:00-11:30", "2026-11-29T08:00:00.1234567Z"),
        ({"type": "string", "format": "password"}, "hunter2", 2),
        ({"type": ["string", "null"]}, None, 1),
        ({"enum": [1, "a", None]}, "a", "b"),
        ({"type": "array", "items": INTEGER, "minItems": 1, "maxItems": 2}, [1, 2], []),
    ],
)  # fmt: skip
def test_what_is_declared_is_held(schema: Any, good: Any, bad: Any) -> None:
    assert accepts(within(closed(v=schema)), json.dumps({"v": good}))
    assert not accepts(within(closed(v=schema)), json.dumps({"v": bad}))


def test_a_reference_holds_what_the_same_schema_holds_in_place() -> None:
    kind, name = {"enum": ["zib", "wurb"]}, {"type": "string", "pattern": "^[a-c]{2}$"}
    inline = closed(kind=kind, names={"type": "array", "items": name})
    named = {
        **closed(kind={"$ref": "#/$defs/Kind"}, names={"type": "array", "items": {"$ref": "#/$defs/Name"}}),
        "$defs": {"Kind": kind, "Name": name},
    }
    texts = [
        json.dumps({"kind": kind, "names": names})
        for kind in ("zib", "wurb", "zi", 1)
        for names in ([], ["ab"], ["ab", "cc"], ["abc"], {})
    ]
    held = [accepts(within(inline), text) for text in texts]
    assert held == [accepts(within(named), text) for text in texts]
    assert held.count(True) == 6


NODE = closed(next={"$ref": "#/$defs/Node"})


@pytest.mark.parametrize(
    "schema",
    [
        closed(a={"$ref": "#"}),
        {"$ref": "#"},
        {"$ref": "#/$defs/Node", "$defs": {"Node": NODE}},
        {"$ref": "#/$defs/A", "$defs": {"A": closed(b={"$ref": "#/$defs/B"}), "B": closed(a={"$ref": "#/$defs/A"})}},
        {"type": "array", "items": {"$ref": "#"}, "minItems": 1},
        {"type": "array", "prefixItems": [INTEGER, {"$ref": "#"}], "minItems": 2},
        {"anyOf": [closed(a={"$ref": "#"}), closed(b={"$ref": "#"})]},
        closed(a={"allOf": [{"$ref": "#"}, {"type": "object"}]}),
    ],
)
def test_a_schema_whose_values_have_no_end_is_refused(schema: Any) -> None:
    assert str(refusal(schema)).startswith("rf.schema has no end")


@pytest.mark.parametrize(
    ("schema", "good"),
    [
        (closed(next={"anyOf": [{"$ref": "#"}, {"type": "null"}]}), {"next": {"next": None}}),
        ({"type": "object", "properties": {"a": {"$ref": "#"}}}, {"a": {"a": {}}}),
        ({"type": "array", "items": {"$ref": "#"}}, [[], [[]]]),
        ({"type": "array", "prefixItems": [INTEGER], "items": {"$ref": "#"}, "minItems": 1}, [1]),
        ({"$ref": "#/$defs/N", "$defs": {"N": closed(kids={"type": "array", "items": {"$ref": "#/$defs/N"}})}},
         {"kids": [{"kids": []}]}),
    ],
)  # fmt: skip
def test_a_schema_that_holds_itself_and_can_end_is_held(schema: Any, good: Any) -> None:
    assert accepts(within(schema), json.dumps(good))


@pytest.mark.parametrize("names", [True, {}, {"type": "string"}, {"type": "string", "description": "a name"}])
def test_a_map_may_say_that_its_names_are_texts(names: Any) -> None:
    schema = {"type": "object", "propertyNames": names, "additionalProperties": INTEGER}
    assert accepts(within(schema), '{"a": 1}')
    assert not accepts(within(schema), '{"a": "b"}')


def test_without_a_schema_any_object_will_do() -> None:
    assert accepts(held(JsonForm("rf")), '{"a": [1, {"b": null}]}')
    assert not accepts(held(JsonForm("rf")), "[1]")
