"""What the routes hold an answer to: the constraint that goes with its submission, and what is refused."""

import json
from dataclasses import replace
from typing import Any

import pytest

from ignis.scheduler.constraint import Constraint
from ignis.scheduler.request import FinishReason
from tests.fakes.engine import IM_END, TEMPLATE, byte_model, script
from tests.unit.api.rig import HI, Rig, text_of
from tests.unit.grammar.rig import accepts

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}
STRICT = {"type": "function", "function": {"name": "weather", "parameters": SCHEMA, "strict": True}}
NOW = {"type": "function", "function": {"name": "now"}}
UNHELD = {"type": "object", "properties": {"a": {"not": {}}}}
TOOLS = "{% for tool in tools or [] %}{{ tool | tojson }}{% endfor %}<tool_call>"
CITY = '{"city": "Bonn"}'
CALL = f'<tool_call>\n{{"name": "weather", "arguments": {CITY}}}\n</tool_call>'
WRONG = '<tool_call>\n{"name": "weather", "arguments": {}}\n</tool_call>'


def rig(answer: str = CITY) -> Rig:
    return Rig(script(answer), model=byte_model(template=TEMPLATE + TOOLS))


def json_schema(schema: Any) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}}


def allowed(mode: str, *tools: Any) -> dict[str, Any]:
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": list(tools)}}


async def constraint(**fields: Any) -> Constraint:
    asked = rig()
    await asked.chat(**fields)
    (submission,) = asked.engine.submissions
    assert submission.constraint is not None
    return submission.constraint


@pytest.mark.parametrize(
    "fields",
    [
        json_schema(SCHEMA),
        {"response_format": {"type": "json_object", "schema": SCHEMA}},
        {"structured_outputs": {"json": SCHEMA}},
        {"structured_outputs": {"json": json.dumps(SCHEMA)}},
        {"guided_json": SCHEMA},
        {"json_schema": SCHEMA},
    ],
)
async def test_a_schema_holds_whoever_spells_it(fields: dict[str, Any]) -> None:
    assert accepts(await constraint(**fields), CITY)
    assert not accepts(await constraint(**fields), "{}")


@pytest.mark.parametrize(
    ("fields", "good", "bad"),
    [
        ({"response_format": {"type": "json_object"}}, '{"a": []}', "[]"),
        ({"structured_outputs": {"json_object": True}}, "{}", "1"),
        ({"structured_outputs": {"regex": "a+"}}, "aa", "b"),
        ({"structured_outputs": {"choice": ["a", "b"]}}, "b", "c"),
        ({"structured_outputs": {"grammar": 'start: "x"'}}, "x", "y"),
        ({"guided_regex": "a+"}, "a", ""),
        ({"guided_choice": ["a"]}, "a", "b"),
        ({"guided_grammar": 'root ::= "x"'}, "x", "y"),
        ({"grammar": 'root ::= "x"'}, "x", "y"),
        ({"tools": [WEATHER], "tool_choice": "required"}, CALL, "Hi"),
        ({"tools": [WEATHER, NOW], "tool_choice": WEATHER}, CALL, CALL.replace("weather", "now")),
        ({"tools": [WEATHER], "tool_choice": "required"}, f"{CALL}\n{CALL}", WRONG),
        ({"tools": [WEATHER], "tool_choice": "required", "parallel_tool_calls": False}, CALL, f"{CALL}\n{CALL}"),
        ({"tools": [WEATHER], "tool_choice": WEATHER}, CALL, f"{CALL}\n{CALL}"),
        ({"tools": [WEATHER, NOW], "tool_choice": allowed("required", WEATHER)}, CALL, CALL.replace("weather", "now")),
        ({"tools": [STRICT]}, f"I ask. {CALL}", WRONG),
        ({"tools": [WEATHER], **json_schema(SCHEMA)}, CITY, "{}"),
        ({"tools": [WEATHER], **json_schema(SCHEMA)}, CALL, f"Hi {CALL}"),
        ({"tools": [WEATHER], "tool_choice": "none", **json_schema(SCHEMA)}, CITY, CALL),
    ],
)
async def test_an_answer_is_held_to_what_the_request_says(fields: dict[str, Any], good: str, bad: str) -> None:
    assert accepts(await constraint(**fields), good)
    assert not accepts(await constraint(**fields), bad)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"response_format": {"type": "text"}},
        {"tools": [WEATHER]},
        {"tools": [STRICT], "tool_choice": "none"},
        {"tools": [WEATHER], "tool_choice": "auto"},
    ],
)
async def test_an_answer_that_is_free_costs_no_mask(fields: dict[str, Any]) -> None:
    asked = rig()
    await asked.chat(**fields)
    assert asked.engine.submissions[0].constraint is None


async def test_every_answer_has_a_constraint_of_its_own() -> None:
    asked = rig()
    await asked.chat(n=3, **json_schema(SCHEMA))
    assert len({id(submission.constraint) for submission in asked.engine.submissions}) == 3


async def test_a_tag_inside_a_held_answer_is_text() -> None:
    text = '{"city": "<tool_call>{\\"name\\": \\"weather\\"}</tool_call>"}'
    body = await rig(text).chat(tools=[WEATHER], **json_schema(SCHEMA))
    assert body["choices"][0]["message"] == {"role": "assistant", "content": text, "refusal": None}
    events = await rig(text).stream(tools=[WEATHER], **json_schema(SCHEMA))
    deltas = [event["choices"][0]["delta"] for event in events if event != "[DONE]" and event["choices"]]
    assert "".join(delta.get("content", "") for delta in deltas) == text


async def test_a_call_beside_a_form_is_a_call() -> None:
    body = await rig(CALL).chat(tools=[WEATHER], **json_schema(SCHEMA))
    assert body["choices"][0]["finish_reason"] == "tool_calls"


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"response_format": {"type": "json_schema"}}, "invalid_request_error", "response_format.json_schema"),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}},
            "invalid_request_error",
            "response_format.json_schema.schema",
        ),
        (json_schema({"not": {}}), "unsupported_value", "response_format.json_schema.schema"),
        (json_schema(False), "invalid_request_error", "response_format.json_schema.schema"),
        ({"tools": [NOW], "tool_choice": allowed("auto", WEATHER)}, "invalid_request_error", "tool_choice"),
        (
            {"tools": [NOW], "tool_choice": allowed("none", NOW)},
            "invalid_request_error",
            "tool_choice.allowed_tools.mode",
        ),
        (
            {"tools": [NOW], "tool_choice": {"type": "allowed_tools"}},
            "invalid_request_error",
            "tool_choice.allowed_tools.mode",
        ),
        ({"tools": [NOW], "tool_choice": allowed("auto")}, "invalid_request_error", "tool_choice.allowed_tools.tools"),
        ({"guided_regex": "("}, "invalid_request_error", "guided_regex"),
        ({"guided_regex": ""}, "invalid_request_error", "guided_regex"),
        ({"guided_choice": []}, "invalid_request_error", "guided_choice"),
        ({"guided_choice": ["a", ""]}, "invalid_request_error", "guided_choice[1]"),
        ({"structured_outputs": {}}, "invalid_request_error", "structured_outputs"),
        ({"structured_outputs": {"json": "no"}}, "invalid_request_error", "structured_outputs.json"),
        ({"structured_outputs": {"json": {}, "regex": "a"}}, "invalid_request_error", "structured_outputs.regex"),
        ({"guided_json": {}, "grammar": 'start: "a"'}, "invalid_request_error", "grammar"),
        (
            {"response_format": {"type": "json_object"}, "ignore_eos": True, "max_tokens": 4},
            "invalid_request_error",
            "response_format",
        ),
        (
            {
                "tools": [{"type": "function", "function": {"name": "f", "parameters": UNHELD}}],
                "tool_choice": "required",
            },
            "unsupported_value",
            "tools[0].function.parameters",
        ),
    ],
)  # fmt: skip
async def test_what_cannot_be_held_is_refused_by_its_field(fields: dict[str, Any], code: str, param: str) -> None:
    asked = rig()
    assert await asked.refusal(**fields) == (400, code, param)
    assert not asked.engine.submissions


OPENING = '<tool_call>\n{"name": "'
NAMED_OPENING = f'{OPENING}weather", "arguments": '


@pytest.mark.parametrize(("choice", "opening"), [("required", OPENING), (WEATHER, NAMED_OPENING)])
async def test_a_cap_has_to_reach_beyond_the_opening_of_a_forced_call(choice: Any, opening: str) -> None:
    asked = rig()
    wish = {"tools": [WEATHER], "tool_choice": choice}
    num_tokens = len(opening)
    assert await asked.refusal(**wish, max_tokens=num_tokens) == (400, "invalid_request_error", "max_tokens")
    assert (await asked.refusal(**wish, max_completion_tokens=1))[2] == "max_completion_tokens"
    assert not asked.engine.submissions
    await asked.chat(**wish, max_tokens=num_tokens + 1)
    await asked.chat(tools=[WEATHER], max_tokens=1)


async def test_a_call_cannot_be_asked_of_a_model_whose_answers_have_no_end() -> None:
    model = byte_model(template=TEMPLATE + TOOLS)
    asked = Rig(script(CITY), model=replace(model, special=replace(model.special, stop_ids=frozenset())))
    refused = await asked.refusal(tools=[WEATHER], tool_choice="required")
    assert refused == (400, "tool_choice_unsupported", "tool_choice")


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        (json_schema(SCHEMA), "response_format.json_schema.schema"),
        ({"guided_regex": ".*"}, "guided_regex"),
        ({"tools": [WEATHER], "tool_choice": "required"}, "tool_choice"),
        ({"tools": [STRICT]}, "tools"),
    ],
)
async def test_what_reaches_its_bounds_inside_an_answer_is_named(fields: dict[str, Any], param: str) -> None:
    def blocked() -> Rig:
        return Rig(script("{", FinishReason.BLOCKED), model=byte_model(template=TEMPLATE + TOOLS))

    answer = await blocked().answer("POST", "/v1/chat/completions", {"messages": HI, **fields})
    error = answer.json()["error"]
    assert (answer.status, error["param"]) == (400, param)
    assert error["message"].startswith(f"{param} cannot be held: ")
    assert (await blocked().stream(**fields))[-1]["error"] == error


@pytest.mark.parametrize("text", ["<", "<to", "<tool_call>", '<tool_call>\n{"na'])
@pytest.mark.parametrize("choice", ["required", WEATHER])
async def test_a_forced_call_that_is_cut_leaks_no_text(choice: Any, text: str) -> None:
    def cut() -> Rig:
        return Rig(script(text, FinishReason.LENGTH), model=byte_model(template=TEMPLATE + TOOLS))

    (answered,) = (await cut().chat(tools=[WEATHER], tool_choice=choice))["choices"]
    assert (answered["message"]["content"] or "", answered["finish_reason"]) == ("", "length")
    assert not text_of(await cut().stream(tools=[WEATHER], tool_choice=choice))


async def test_a_stop_token_is_what_ends_a_held_answer() -> None:
    held = await constraint(guided_choice=["a"])
    assert held.permitted is not None and IM_END not in held.permitted
    held.take(ord("a"))
    held.work()
    assert held.permitted is not None and IM_END in held.permitted and held.permitted.count == 1


DEEP = 1000
CHAIN = {
    "$ref": "#/$defs/a0",
    "$defs": {
        **{f"a{i}": {"type": "object", "properties": {"p": {"$ref": f"#/$defs/a{i + 1}"}}} for i in range(DEEP)},
        f"a{DEEP}": {"type": "null"},
    },
}


async def test_a_schema_that_goes_as_deep_as_the_bounds_allow_is_compiled() -> None:
    """Each level takes one of the native compiler's stack; an ordinary thread's ends at some eight hundred."""
    assert accepts(await constraint(guided_json=CHAIN), '{"p": {"p": {}}}')


@pytest.mark.parametrize(
    "text",
    [
        "start: " + "(" * 2000 + '"a"' + ")" * 2000,
        "start: A\nA: " + "~(" * 1000 + "/a/" + ")" * 1000,
        "root ::= " + "(" * 2000 + '"a"' + ")" * 2000,
        "start: %json " + '{"items":' * 500 + "{}" + "}" * 500,
        'start: %json {"not": {}}',
        "start: %json x",
        "start: <[999999]>",
        "start: @other",
        'start: "\0',
        "%llguidance {",
        "",
        " ",
        "/",
    ],
)
async def test_no_text_of_a_grammar_is_more_than_a_refusal(text: str) -> None:
    assert (await rig().refusal(grammar=text))[::2] == (400, "grammar")


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        {"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}},
        {"type": "string", "pattern": "\\", "minLength": -1, "maxLength": "x"},
        {"type": "integer", "minimum": -(10**300), "maximum": 1e308},
        {"enum": 3},
        {"enum": []},
        {"required": "a", "type": "object"},
        {"properties": {"a": None}},
        {"type": 5},
        {"type": "string", "pattern": "(" * 400 + ")" * 400},
    ],
)
async def test_no_schema_is_more_than_a_refusal(schema: Any) -> None:
    assert (await rig().refusal(guided_json=schema))[::2] == (400, "guided_json")
