"""The field table of a Messages body, its blocks and its tools: honoured, inert or refused by name."""

import time
from typing import Any

import msgspec
import pytest

from ignis.api.anthropic_conversation import template_messages
from ignis.api.schema.anthropic_request import Block, InputMessage, MessagesRequest
from ignis.api.schema.sampling import ForeignFields
from tests.unit.api.rig import HI, MESSAGES, Rig
from tests.unit.api.test_messages import COUNT, WEATHER, body_of, refusal, rig, whole

INVALID = "invalid_request_error"
UNSUPPORTED = "unsupported_value"

INERT: dict[str, Any] = {
    "cache_control": {"type": "ephemeral", "ttl": "1h"},
    "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]},
    "diagnostics": {"previous_message_id": None},
    "inference_geo": "eu",
    "mcp_servers": [],
    "metadata": {"user_id": "somebody"},
    "n": 1,
    "service_tier": "standard_only",
    "speed": "standard",
    "user_profile_id": "u",
}
REFUSED = {"container", "prompt"}
FOREIGN = set(ForeignFields.__struct_encode_fields__)
"""Of other servers: refused, but for the values that switch them off."""
USE = {"type": "tool_use", "id": "t", "name": "weather", "input": {}}
BEGUN = [*HI, {"role": "assistant", "content": "I am"}]
FORMAT = {"type": "json_schema", "schema": {"type": "object"}}
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "rain"}


def user(*blocks: Any) -> list[Any]:
    return [{"role": "user", "content": list(blocks)}]


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


async def prompt_of(asked: Rig, **fields: Any) -> str:
    await whole(asked, **fields)
    return bytes(token for token in asked.engine.submissions[-1].prompt if token < 256).decode()


def test_every_field_is_in_one_of_the_three_kinds() -> None:
    fields = msgspec.json.schema(MessagesRequest)["$defs"]["MessagesRequest"]["properties"]
    kinds: dict[str, set[str]] = {"honoured": set(), "inert": set(), "refused": set()}
    for name, schema in fields.items():
        kind = schema.get("x-ignis") or next(part["x-ignis"] for part in schema["anyOf"] if "x-ignis" in part)
        kinds[kind].add(name)
    assert kinds["inert"] - FOREIGN == set(INERT)
    assert kinds["refused"] - FOREIGN == REFUSED


@pytest.mark.parametrize(("name", "value"), INERT.items())
async def test_an_inert_field_changes_nothing(name: str, value: Any) -> None:
    asked = rig()
    await whole(asked, seed=1)
    await whole(asked, seed=1, **{name: value})
    assert asked.engine.submissions[0] == asked.engine.submissions[1]


@pytest.mark.parametrize("name", sorted(REFUSED | FOREIGN))
async def test_a_refused_field_is_refused_by_name(name: str) -> None:
    assert await refusal(rig(), **{name: {"any": "thing"}}) == (400, UNSUPPORTED, name)


async def test_null_is_the_same_as_absent_for_every_optional_field() -> None:
    asked = rig()
    await whole(asked, **dict.fromkeys(set(MessagesRequest.__struct_encode_fields__) - {"messages", "max_tokens"}))
    await whole(asked)
    first, second = asked.engine.submissions
    assert (first.prompt, first.max_tokens) == (second.prompt, second.max_tokens)


async def test_a_field_from_the_future_is_named_and_ignored() -> None:
    fields = {"wisdom": 3, "messages": user({**text("Hi"), "mood": "dry"})}
    answer = await rig().answer("POST", MESSAGES, body_of(**fields))
    assert answer.status == 200
    assert answer.header("X-Ignis-Ignored") == "messages[].content[].mood, wisdom"


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"max_tokens": None}, INVALID, "max_tokens"),
        ({"max_tokens": -1}, INVALID, "max_tokens"),
        ({"max_tokens": "many"}, INVALID, "max_tokens"),
        ({"messages": []}, INVALID, "messages"),
        ({"messages": [{"role": "tool", "content": "x"}]}, INVALID, "messages[0].role"),
        ({"messages": [{"role": "user", "content": None}]}, INVALID, "messages[0].content"),
        ({"messages": [{"role": "user", "content": []}]}, INVALID, "messages[0].content"),
        ({"messages": [*HI, {"role": "assistant", "content": [USE]}]}, UNSUPPORTED, "messages[1]"),
        ({"messages": BEGUN, "thinking": {"type": "enabled"}}, UNSUPPORTED, "thinking"),
        ({"messages": BEGUN, "output_format": FORMAT}, UNSUPPORTED, "output_format"),
        ({"messages": BEGUN, "output_config": {"format": FORMAT}}, UNSUPPORTED, "output_config.format"),
        ({"messages": user({"type": "image", "source": {}})}, "vision_disabled", "messages[0].content[0].type"),
        ({"messages": user({"type": "document"})}, UNSUPPORTED, "messages[0].content[0].type"),
        ({"messages": user({"type": "hologram"})}, UNSUPPORTED, "messages[0].content[0].type"),
        ({"messages": user({"type": "text"})}, INVALID, "messages[0].content[0].text"),
        ({"messages": user(USE)}, INVALID, "messages[0].content[0]"),
        ({"messages": user({"type": "tool_result"})}, INVALID, "messages[0].content[0].tool_use_id"),
        (
            {"messages": user({**RESULT, "content": [text("a"), {"type": "image"}]})},
            "vision_disabled",
            "messages[0].content[0].content[1].type",
        ),
        ({"messages": user({**RESULT, "content": [{"type": "text"}]})}, INVALID,
         "messages[0].content[0].content[0].text"),
        (
            {"messages": [*HI, {"role": "assistant", "content": [{**USE, "input": None}]}, *HI]},
            INVALID,
            "messages[1].content[0].input",
        ),
        (
            {"messages": [*HI, {"role": "assistant", "content": [{**USE, "input": "x"}]}, *HI]},
            INVALID,
            "messages[1].content[0].input",
        ),
        ({"messages": [*HI, {"role": "assistant", "content": [RESULT]}, *HI]}, INVALID, "messages[1].content[0]"),
        ({"messages": [*HI, {"role": "assistant", "content": [{"type": "thinking"}]}, *HI]}, INVALID,
         "messages[1].content[0].thinking"),
        ({"system": 5}, INVALID, "system"),
        ({"system": [{"type": "image"}]}, "vision_disabled", "system[0].type"),
        ({"system": [{"type": "text"}]}, INVALID, "system[0].text"),
        ({"stop_sequences": [""]}, INVALID, "stop_sequences[0]"),
        ({"stop_sequences": "x"}, INVALID, "stop_sequences"),
        ({"stop_sequences": ["x"] * 17}, INVALID, "stop_sequences"),
        ({"temperature": 3}, "invalid_sampling_parameter", "temperature"),
        ({"n": 2}, UNSUPPORTED, "n"),
        ({"logprobs": 1}, "invalid_sampling_parameter", "logprobs"),
        ({"top_logprobs": 3}, "invalid_sampling_parameter", "top_logprobs"),
        ({"service_tier": "priority"}, UNSUPPORTED, "service_tier"),
        ({"speed": "fast"}, UNSUPPORTED, "speed"),
        ({"mcp_servers": [{}]}, UNSUPPORTED, "mcp_servers"),
        ({"tools": [{"name": ""}]}, INVALID, "tools[0].name"),
        ({"tools": [WEATHER, WEATHER]}, INVALID, "tools[1].name"),
        ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, UNSUPPORTED, "tools[0].type"),
        ({"tools": [{**WEATHER, "defer_loading": True}]}, UNSUPPORTED, "tools[0].defer_loading"),
        ({"tools": [{**WEATHER, "input_schema": "x"}]}, INVALID, "tools[0].input_schema"),
        ({"tool_choice": {"type": "sometimes"}}, INVALID, "tool_choice.type"),
        ({"tool_choice": {"type": "tool"}, "tools": [WEATHER]}, INVALID, "tool_choice.name"),
        ({"tool_choice": {"type": "auto", "name": "weather"}, "tools": [WEATHER]}, INVALID, "tool_choice.name"),
        ({"tool_choice": {"type": "any"}}, INVALID, "tool_choice"),
        ({"thinking": {"type": "deep"}}, INVALID, "thinking.type"),
        ({"thinking": {"type": "enabled", "budget_tokens": 0}}, INVALID, "thinking.budget_tokens"),
        ({"ignore_eos": True, "max_tokens": 10**9}, "context_length_exceeded", "max_tokens"),
        ({"stream": 1}, INVALID, "stream"),
        ({"sistem": "x"}, INVALID, "sistem"),
    ],
)  # fmt: skip
async def test_a_refusal_names_its_field(fields: dict[str, Any], code: str, param: str) -> None:
    assert await refusal(rig(), **fields) == (400, code, param)
    if not {"max_tokens", "stop_sequences", "n", "logprobs", "top_logprobs", "stream"} & set(fields):
        body = {"messages": HI, **fields}
        assert (await rig().answer("POST", COUNT, body)).status == 400


async def test_max_tokens_is_needed_for_an_answer_and_not_for_a_count() -> None:
    answer = await rig().answer("POST", MESSAGES, {"messages": HI})
    assert (answer.status, answer.json()["error"]["details"]["param"]) == (400, "max_tokens")
    assert (await rig().answer("POST", COUNT, {"messages": HI})).status == 200


async def test_the_system_prompt_is_a_string_or_blocks() -> None:
    asked = rig()
    whole_text = await prompt_of(asked, system="Be brief.\nBe kind.")
    assert "Be brief.\nBe kind." in whole_text
    cached = {"cache_control": {"type": "ephemeral"}}
    assert await prompt_of(asked, system=[{**text("Be brief."), **cached}, text("Be kind.")]) == whole_text
    without = await prompt_of(asked)
    assert "Be brief" not in without
    assert await prompt_of(asked, system="") == await prompt_of(asked, system=[]) == without


async def test_a_clients_bookkeeping_in_the_system_prompt_is_not_shown_to_the_model() -> None:
    asked = rig()
    plain = await prompt_of(asked, system=[text("Be brief.")])
    for number in (1, 2):
        line = f"x-anthropic-billing-header: cc_version=2.{number}; cch={number};"
        assert await prompt_of(asked, system=[text(line), text("Be brief.")]) == plain
        assert await prompt_of(asked, system=f"{line}\nBe brief.") == plain
    assert "x-anthropic" in await prompt_of(asked, system=[text("Say x-anthropic-billing-header: twice.")])


async def test_neighbours_of_one_role_are_one_turn() -> None:
    asked = rig()
    parts = [{"role": "user", "content": "one"}, {"role": "user", "content": [text("two"), text("three")]}]
    assert "user\none\ntwo\nthree" in await prompt_of(asked, messages=parts)
    split = [
        *HI,
        {"role": "assistant", "content": "I a"},
        {"role": "assistant", "content": [text("m"), text(".")]},
        *HI,
    ]
    joined = [*HI, {"role": "assistant", "content": "I am."}, *HI]
    assert await prompt_of(asked, messages=split) == await prompt_of(asked, messages=joined)


async def test_a_history_gives_the_prompt_of_the_same_chat_history() -> None:
    asked = rig()
    turns = [
        {"role": "user", "content": "Rain?"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"},
                                          {"type": "redacted_thinking", "data": "x"}, text("I look."), USE]},
        {"role": "user", "content": [RESULT, text("And?")]},
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Say."},
    ]  # fmt: skip
    ours = await prompt_of(asked, messages=turns, system="S", tools=[WEATHER])
    function = {"name": "weather", "arguments": "{}"}
    chat = [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "Rain?"},
        {"role": "assistant", "reasoning_content": "hm", "content": "I look.",
         "tool_calls": [{"id": "t", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "t", "content": "rain"},
        {"role": "user", "content": "And?"},
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Say."},
    ]  # fmt: skip
    tool = {"name": "weather", "description": "Now", "parameters": WEATHER["input_schema"]}
    await asked.chat(messages=chat, tools=[{"type": "function", "function": tool}])
    theirs = bytes(token for token in asked.engine.submissions[-1].prompt if token < 256).decode()
    assert ours == theirs


async def test_a_failed_result_says_so_before_its_content() -> None:
    asked = rig()
    history = [*HI, {"role": "assistant", "content": [USE]}]
    for content in ("no such city", [text("no such city")]):
        failed = {**RESULT, "content": content, "is_error": True}
        prompt = await prompt_of(asked, messages=[*history, *user(failed)], tools=[WEATHER])
        assert "<tool_response>\nError:\nno such city\n</tool_response>" in prompt
    empty = {"type": "tool_result", "tool_use_id": "t"}
    assert "<tool_response>\n\n</tool_response>" in await prompt_of(asked, messages=[*history, *user(empty)])


async def test_a_call_that_was_never_answered_leaves_a_history_that_is_served() -> None:
    await whole(rig(), messages=[*HI, {"role": "assistant", "content": [USE]}, *HI], tools=[WEATHER])


async def test_tools_may_carry_what_agents_send_with_them() -> None:
    extra = {"type": "custom", "cache_control": {"type": "ephemeral"}, "eager_input_streaming": True,
             "allowed_callers": ["direct"], "defer_loading": False, "input_examples": [{"city": "Bonn"}]}  # fmt: skip
    asked = rig()
    assert await prompt_of(asked, tools=[{**WEATHER, **extra}]) == await prompt_of(asked, tools=[WEATHER])


async def test_thinking_is_switched_by_the_templates_variable() -> None:
    asked = rig()
    plain = await prompt_of(asked)
    assert await prompt_of(asked, thinking={"type": "enabled"}) == plain
    assert await prompt_of(asked, thinking={"type": "adaptive"}) == plain
    assert await prompt_of(asked, thinking={"type": "disabled"}) == f"{plain}<think>\n\n</think>\n\n"


async def test_a_model_that_cannot_think_refuses_to_and_agrees_not_to() -> None:
    effort = "reasoning_effort_unsupported"
    assert await refusal(Rig(), thinking={"type": "enabled"}) == (400, effort, "thinking")
    for fields in ({}, {"thinking": {"type": "disabled"}}):
        body = body_of(max_tokens=9, output_config={"effort": "max"}, **fields)
        assert (await Rig().answer("POST", MESSAGES, body)).status == 200
    for kind in ("disabled", "adaptive"):
        assert (await Rig().answer("POST", MESSAGES, body_of(max_tokens=9, thinking={"type": kind}))).status == 200


@pytest.mark.parametrize(
    "fields",
    [
        {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}},
        {"output_format": {"type": "json_schema", "schema": {"type": "object"}}},
        {"tools": [{**WEATHER, "strict": True}]},
        {"tools": [WEATHER], "tool_choice": {"type": "any"}},
        {"tools": [WEATHER], "tool_choice": {"type": "tool", "name": "weather"}},
    ],
)
async def test_what_is_held_is_held_by_a_constraint(fields: dict[str, Any]) -> None:
    asked = rig()
    silent = {"thinking": {"type": "disabled"}}
    await asked.answer("POST", MESSAGES, body_of(**fields, **silent))
    await whole(asked, **silent)
    assert [submission.constraint is not None for submission in asked.engine.submissions] == [True, False]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"output_config": {"format": {"type": "json_schema"}}}, "output_config.format.schema"),
        ({"output_config": {"format": {"type": "xml"}}}, "output_config.format.type"),
        (
            {"output_config": {"format": {"type": "json_schema", "schema": {"type": "starfish"}}}},
            "output_config.format.schema",
        ),
        (
            {
                "output_config": {"format": {"type": "json_schema", "schema": True}},
                "output_format": {"type": "json_schema", "schema": True},
            },
            "output_format.schema",
        ),
        (
            {"tools": [{"name": "f", "input_schema": {"type": "starfish"}}], "tool_choice": {"type": "any"}},
            "tools[0].input_schema",
        ),
        ({"tools": [WEATHER], "tool_choice": {"type": "tool", "name": "now"}}, "tool_choice"),
    ],
)
async def test_what_nothing_can_be_held_to_is_refused_by_name(fields: dict[str, Any], param: str) -> None:
    status, _, named = await refusal(rig(), **fields)
    assert (status, named) == (400, param)


async def test_a_beta_in_the_query_and_headers_from_the_future_change_nothing() -> None:
    headers = {"anthropic-version": "2099-01-01", "anthropic-beta": "a-2030,b-2031"}
    answer = await rig().answer("POST", MESSAGES, body_of(), query={"beta": "true"}, headers=headers)
    assert answer.status == 200
    assert answer.header("request-id") == "req-test"


@pytest.mark.parametrize("role", ["user", "assistant", "system"])
@pytest.mark.parametrize("content", ["", [], [text("")]])
async def test_a_turn_that_holds_nothing_is_no_fault_of_ours(role: str, content: Any) -> None:
    for messages in ([{"role": role, "content": content}], [*HI, {"role": role, "content": content}]):
        for path in (MESSAGES, COUNT):
            body = body_of(messages=messages) if path == MESSAGES else {"messages": messages}
            assert (await rig().answer("POST", path, body)).status in (200, 400)


def test_a_turn_of_thousands_of_blocks_is_read_in_time_that_grows_with_them() -> None:
    def spent_s(num_blocks: int) -> float:
        blocks = [Block(type="text", text="x" * 400), Block(type="thinking", thinking="y" * 400)] * num_blocks
        turns = [InputMessage(role="assistant", content=blocks), InputMessage(role="user", content="Hi")]
        start_s = time.process_time()
        told, _ = template_messages(turns)
        assert len(told[0]["content"]) == 400 * num_blocks
        return time.process_time() - start_s

    # Copying what came before for each block, eight times as many took fifty times as long.
    assert spent_s(16_000) < 25 * spent_s(2_000)
