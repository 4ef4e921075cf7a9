"""Grammars: what an answer may be in every form, and calls as each dialect reads them."""

import json
import random
import re
from typing import Any

import pytest

from ignis.errors import RequestError
from ignis.grammar.forms import Form
from ignis.grammar.grammar import Calls
from ignis.limits import MAX_FORCED_CALLS, MAX_HELD_BYTES
from ignis.scheduler.constraint import ConstraintError
from ignis.stream.dialects import HERMES, LLAMA3, QWEN_JSON, QWEN_XML, SMOLLM2, OutputDialect
from tests.unit.grammar.rig import (
    CallTarget,
    ChoiceForm,
    Freedom,
    JsonForm,
    RegexForm,
    SyntaxForm,
    accepts,
    calls_of,
    draw,
    held,
)

WEATHER = CallTarget(
    "weather",
    "tools[0].function.parameters",
    {
        "type": "object",
        "properties": {
            "city": {"type": "string", "maxLength": 8},
            "days": {"type": "integer", "minimum": 1, "maximum": 7},
            "unit": {"enum": ["C", "F"]},
            "places": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
        },
        "required": ["city", "days"],
    },
)
NOW = CallTarget("now", "tools[1].function.parameters")
FORMS = [HERMES, QWEN_JSON, SMOLLM2, LLAMA3, QWEN_XML]


@pytest.mark.parametrize(
    ("form", "good", "bad"),
    [
        (RegexForm("r", r"\d{4}-\d\d/[a-c]"), "2026-11/c", "2026-11/d"),
        (RegexForm("r", "a|bc"), "bc", "ab"),
        (RegexForm("r", r"\d"), "7", "\u0667"),
        (RegexForm("r", r"\w"), "e", "é"),
        (RegexForm("r", "a\nb"), "a\nb", "a b"),
        (ChoiceForm("c", ("yes", "yes!", 'say "no"\n', "é")), "yes!", "ye"),
        (ChoiceForm("c", ("yes", "yes!", 'say "no"\n', "é")), 'say "no"\n', "no"),
        (SyntaxForm("g", 'start: "a"+ tail\ntail: "!" | "?"'), "aaa?", "aaa"),
        (SyntaxForm("g", 'root ::= "a" root | "b"'), "aab", "aa"),
        (SyntaxForm("g", 'start[capture="x"]: "a" | "::="'), "::=", "b"),
        (SyntaxForm("g", 'start[capture="x"]: "a" | "b"'), "a", "ab"),
        (JsonForm("j", {"type": "array", "items": {"type": "integer"}}), "[1, 2]", "[1,2]"),
    ],
)
def test_an_answer_is_what_the_form_says_and_ends_there(form: Form, good: str, bad: str) -> None:
    assert accepts(held(form), good)
    assert not accepts(held(form), bad)
    assert not accepts(held(form), good + "x")


@pytest.mark.parametrize(
    ("form", "word"),
    [
        (RegexForm("r", "(a"), 'r cannot be compiled: invalid regex "(a" (in regex): regex parse error: (a ^ error'),
        (RegexForm("r", "(?<=a)b"), "look-around"),
        (RegexForm("r", "x" * 9000), "9000 characters"),
        (ChoiceForm("c", ()), "1 to 1024"),
        (ChoiceForm("c", ("x",) * 1025), "1 to 1024"),
        (ChoiceForm("c", ("x" * 70_000,)), "70000 characters"),
        (SyntaxForm("g", "start: foo"), 'unknown name: "foo"'),
        (SyntaxForm("g", 'foo: "a"'), "no start rule"),
        (SyntaxForm("g", "start: /a/ & /b/"), "g cannot be"),
        (SyntaxForm("g", "root ::= ("), "g cannot be"),
        (SyntaxForm("g", "x" * 70_000), "70000 characters"),
        (SyntaxForm("g", "start: A\nA: /a/ & /b/"), "g cannot be held"),
    ],
)
def test_a_form_that_cannot_be_held_is_refused_by_its_name(form: Form, word: str) -> None:
    with pytest.raises(RequestError) as caught:
        held(form)
    assert caught.value.param == form.param
    assert word in str(caught.value)


def test_two_answers_share_nothing() -> None:
    form = RegexForm("r", "ab|cd")
    one, other = held(form), held(form)
    one.take(ord("a"))
    one.work()
    assert one.permitted is not None and other.permitted is not None
    assert (ord("c") in one.permitted, ord("c") in other.permitted) == (False, True)


def test_a_grammar_past_its_bounds_while_drawing_is_a_constraint_error() -> None:
    # Which of the last twenty letters were a's: a million states, of which so many are kept.
    constraint, chance = held(RegexForm("r", "[ab]*a[ab]{20}c")), random.Random(1)

    def draw_on() -> None:
        for _ in range(100_000):
            constraint.take(chance.choice(b"ab"))
            constraint.work()

    with pytest.raises(ConstraintError, match="bounds"):
        draw_on()


@pytest.mark.parametrize("dialect", FORMS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("seed", range(6))
def test_a_forced_call_is_a_call_to_one_of_the_tools(dialect: OutputDialect, seed: int) -> None:
    targets = (WEATHER, NOW)
    drawn, has_ended = draw(held(calls=Calls(targets, dialect, is_single=False)), seed, haste=0.7)
    assert has_ended
    calls, content, are_complete = calls_of(drawn, targets, dialect)
    assert (content, are_complete) == ("", True)
    assert 1 <= len(calls) <= MAX_FORCED_CALLS
    for name, text in calls:
        check_arguments(name, json.loads(text))


def check_arguments(name: str, arguments: Any) -> None:
    if name == "now":
        assert arguments == {}
        return
    assert set(arguments) <= {"city", "days", "unit", "places"}
    assert isinstance(arguments["city"], str) and len(arguments["city"]) <= 8
    assert 1 <= arguments["days"] <= 7 and isinstance(arguments["days"], int)
    assert arguments.get("unit", "C") in ("C", "F")
    assert len(arguments.get("places", [])) <= 2


@pytest.mark.parametrize("dialect", FORMS, ids=lambda dialect: dialect.name)
def test_one_call_means_one(dialect: OutputDialect) -> None:
    for seed in range(4):
        drawn, has_ended = draw(held(calls=Calls((NOW,), dialect, is_single=True)), seed)
        assert has_ended
        assert calls_of(drawn, (NOW,), dialect)[0] == [("now", "{}")]


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        (HERMES, '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>\n<tool_call>\n'
                 '{"name": "weather", "arguments": {"city": "Bonn", "days": 2}}\n</tool_call>'),
        (LLAMA3, '{"name": "now", "parameters": {}}; {"name": "now", "parameters": {}}'),
        (SMOLLM2, '<tool_call>[\n{"name": "now", "arguments": {}},\n{"name": "now", "arguments": {}}\n]</tool_call>'),
        (QWEN_XML, "<tool_call>\n<function=weather>\n<parameter=city>\nBonn\n</parameter>\n<parameter=days>\n2\n"
                   '</parameter>\n<parameter=places>\n["a", "b"]\n</parameter>\n</function>\n</tool_call>'),
    ],
)  # fmt: skip
def test_calls_are_spelled_as_the_history_spells_them(dialect: OutputDialect, text: str) -> None:
    assert accepts(held(calls=Calls((WEATHER, NOW), dialect, is_single=False)), text)


def test_beside_a_form_a_call_is_the_models_choice() -> None:
    form = JsonForm("rf", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})
    calls = Calls((NOW,), HERMES, is_single=False)
    for text in ('{"a": 1}', '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>'):
        assert accepts(held(form, calls, Freedom.FORM), text)
        assert accepts(held(form, calls, Freedom.NONE), text) is text.startswith("<")


STRICT = CallTarget("f", "p", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})
LOOSE = CallTarget("g", "p", {"type": "object", "properties": {"a": {"type": "integer"}}}, is_held=False)


@pytest.mark.parametrize(
    ("dialect", "good", "bad"),
    [
        (
            HERMES,
            ["", "Hi <b> {}", 'I ask.\n<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>\nand so on',
             '<tool_call>\n{"name": "g", "arguments": {"x": [1]}}\n</tool_call>'],
            ["<tool_call>", '<tool_call>\n{"name": "f", "arguments": {"a": "1"}}\n</tool_call>',
             'a<tool_call>\n{"name": "h", "arguments": {}}\n</tool_call>'],
        ),
        (
            LLAMA3,
            ["", "Hi {}", '{"name": "f", "parameters": {"a": 1}}', " x",
             'x<|python_tag|>{"name": "g", "parameters": {}} y'],
            ['{"name": "f", "parameters": {}}', ' {"a": 1}', "{}", 'x<|python_tag|>{"name": "h"'],
        ),
        (
            QWEN_XML,
            ["a < b", "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>",
             "<tool_call>\n<function=g>\n<parameter=x>\nfree\n</parameter>\n</function>\n</tool_call>"],
            ["<tool_call>\n<function=f>\n<parameter=a>\nx\n</parameter>\n</function>\n</tool_call>"],
        ),
        (
            SMOLLM2,
            ['<tool_call>[\n{"name": "f", "arguments": {"a": 1}}\n]</tool_call>'],
            ["<tool_call>[\n]</tool_call>"],
        ),
    ],
)  # fmt: skip
def test_in_a_free_answer_what_begins_as_a_call_goes_on_as_one(
    dialect: OutputDialect, good: list[str], bad: list[str]
) -> None:
    calls = Calls((STRICT, LOOSE), dialect, is_single=False)
    for text in good:
        assert accepts(held(None, calls, Freedom.ANY), text), text
    for text in bad:
        assert not accepts(held(None, calls, Freedom.ANY), text), text


def test_a_bare_text_ends_nowhere_but_at_its_tag() -> None:
    free = CallTarget("say", "p", {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]})
    head = "<tool_call>\n<function=say>\n<parameter=text>\n"
    tail = "\n</parameter>\n</function>\n</tool_call>"
    for text, is_taken in (("a <b> \n c", True), ("a</function>", False), ("<parameter=x>", False), ("", True)):
        assert accepts(held(calls=Calls((free,), QWEN_XML, is_single=True)), head + text + tail) is is_taken


@pytest.mark.parametrize("seed", range(8))
def test_texts_inside_values_hold_no_tag(seed: int) -> None:
    free = CallTarget(
        "say",
        "p",
        {"type": "object", "properties": {"any": {}, "list": {"type": "array"}, "map": {"type": "object"}}},
    )
    drawn, has_ended = draw(held(calls=Calls((free,), QWEN_XML, is_single=True)), seed, haste=0.4)
    assert has_ended
    calls, _, are_complete = calls_of(drawn, (free,), QWEN_XML)
    assert are_complete
    arguments = json.loads(calls[0][1])
    assert isinstance(arguments.get("list", []), list) and isinstance(arguments.get("map", {}), dict)


@pytest.mark.parametrize(
    "inner",
    [
        {"type": "string", "pattern": "^a|b$"},
        {"type": "string", "pattern": "a$b"},
        {"type": "string", "format": "ipv6"},
        {"type": ["string", "object"]},
        {"type": "string", "allOf": [{"pattern": "a"}, {"pattern": "b"}]},
        {"enum": ["<a>"]},
        {"type": ["string", "boolean"], "enum": ["true", False]},
    ],
)
def test_a_bare_text_that_cannot_be_held_is_refused_with_its_place(inner: dict[str, Any]) -> None:
    target = CallTarget("say", "tools[0].p", {"type": "object", "properties": {"text": inner}})
    with pytest.raises(RequestError) as caught:
        held(calls=Calls((target,), QWEN_XML, is_single=True))
    assert caught.value.param == "tools[0].p"
    assert re.match(r"tools\[0\]\.p\.properties\.text ", str(caught.value))


def test_arguments_that_cannot_be_held_are_refused_with_their_place() -> None:
    target = CallTarget("f", "tools[0].function.parameters", {"properties": {"a": {"type": "wrong"}}})
    with pytest.raises(RequestError) as caught:
        held(calls=Calls((NOW, target), HERMES, is_single=True))
    assert str(caught.value).startswith("tools[0].function.parameters.properties.a cannot be compiled")


def test_the_schemas_of_all_tools_together_have_a_bound() -> None:
    large = {"type": "object", "description": "x" * 200_000}
    targets = tuple(CallTarget(f"f{index}", "p", large) for index in range(6))
    held(calls=Calls(targets[:5], HERMES, is_single=True))
    with pytest.raises(RequestError, match=str(MAX_HELD_BYTES)) as caught:
        held(calls=Calls(targets, HERMES, is_single=True))
    assert caught.value.param == "tools"


@pytest.mark.parametrize(
    ("inner", "good", "bad"),
    [
        ({"type": "string", "pattern": "^[a-c]+$"}, "abc", "abd"),
        ({"type": "string", "pattern": "(a|b)c"}, "x ac y", "x a y"),
        ({"type": "string", "pattern": r"^[$^]\$$"}, "$$", "$x"),
        ({"type": "string", "pattern": r"^a\\$"}, "a\\", "a"),
        ({"type": "string", "pattern": "^a", "maxLength": 3}, "abc", "abcd"),
        ({"type": "string", "minLength": 2}, "a\nb", "a"),
        ({"type": "string", "format": "date"}, "2026-11-29", "2026-13-29"),
        ({"type": "string", "format": "uri"}, "https://example.com/a?b=1", "no uri"),
        ({"$ref": "#/$defs/Kind"}, "cat", "cow"),
        ({"allOf": [{"$ref": "#/$defs/Kind"}]}, "dog", "cow"),
        ({"anyOf": [{"$ref": "#/$defs/Kind"}, {"type": "null"}]}, "null", "nil"),
        ({"anyOf": [{"type": "string", "maxLength": 3}, {"type": "null"}]}, "abc", "abcd"),
        ({"anyOf": [{"const": "a"}, {"const": "b"}]}, "b", "c"),
        ({"type": ["integer", "null"]}, "12", "x"),
        ({"$ref": "#/$defs/Point"}, '{"x": 1}', '{"x": "1"}'),
    ],
)
def test_a_parameter_that_is_written_bare_is_held_all_the_same(inner: dict[str, Any], good: str, bad: str) -> None:
    schema = {
        "type": "object",
        "properties": {"v": inner},
        "required": ["v"],
        "$defs": {
            "Kind": {"type": "string", "enum": ["cat", "dog"]},
            "Point": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
        },
    }
    calls = Calls((CallTarget("f", "p", schema),), QWEN_XML, is_single=True)
    text = "<tool_call>\n<function=f>\n<parameter=v>\n{}\n</parameter>\n</function>\n</tool_call>"
    assert accepts(held(calls=calls), text.replace("{}", good))
    assert not accepts(held(calls=calls), text.replace("{}", bad))
