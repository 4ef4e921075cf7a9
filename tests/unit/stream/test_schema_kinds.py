"""How the text of an argument becomes JSON, by the schema of the request."""

from typing import Any

import pytest

from ignis.stream.schema_kinds import json_text, kinds_of

COLOR = {"$defs": {"Color": {"enum": ["red", "12"]}}}


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"type": "string"}, "12", '"12"'),
        ({"type": "string"}, " true ", '" true "'),
        ({"type": "integer"}, "12", "12"),
        ({"type": "integer"}, " 12\n", "12"),
        ({"type": "integer"}, "twelve", '"twelve"'),
        ({"type": "number"}, "1.50", "1.50"),
        ({"type": "number"}, "NaN", '"NaN"'),
        ({"type": "boolean"}, "True", "true"),
        ({"type": "boolean"}, "false", "false"),
        ({"type": "boolean"}, "1", '"1"'),
        ({"type": ["string", "null"]}, "None", "null"),
        ({"type": ["string", "null"]}, "null", "null"),
        ({"type": ["string", "null"]}, "12", '"12"'),
        ({"type": ["string", "null"]}, '"a"', '"\\"a\\""'),
        ({"type": "number"}, "7e2295694882321", "7e2295694882321"),
        ({"type": "array"}, '["a", 1]', '["a", 1]'),
        ({"type": "array"}, "['a']", "\"['a']\""),
        ({"type": "object"}, '{"a":\n1}', '{"a":\n1}'),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "3", "3"),
        ({"anyOf": [{"type": "string"}, {"type": "array"}]}, "[1]", "[1]"),
        ({"enum": [1, 2]}, "2", "2"),
        ({"enum": ["1", "2"]}, "2", '"2"'),
        ({"const": "2"}, "2", '"2"'),
        ({"$ref": "#/$defs/Color"}, "12", '"12"'),
        ({"$ref": "#/$defs/None"}, "12", "12"),
        ({}, "12", "12"),
        ({}, "a b", '"a b"'),
        ({}, '"a"', '"a"'),
        ("nonsense", "12", "12"),
    ],
)
def test_a_value_is_spelled_as_its_schema_says(schema: Any, value: str, expected: str) -> None:
    kinds = kinds_of({"properties": {"x": schema}, **COLOR}, "x")
    assert json_text(value, kinds) == expected


@pytest.mark.parametrize("itself", [{}, {"anyOf": [{"$ref": "#/properties/x"}] * 1000}])
def test_a_schema_that_refers_to_itself_says_nothing(itself: Any) -> None:
    schema = {"properties": {"x": itself or {"$ref": "#/properties/x"}}}
    assert kinds_of(schema, "x") == frozenset()
