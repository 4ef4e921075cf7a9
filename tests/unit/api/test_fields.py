"""The field table of a chat body: every field is honoured, inert or refused by name, and slips are caught."""

import json
from typing import Any

import msgspec
import pytest

from ignis.api.body import parse_body
from ignis.api.schema.chat_completions import ChatCompletionRequest
from ignis.api.unknown import nearest
from ignis.errors import RequestError
from ignis.limits import MAX_MESSAGES, MAX_STOPS
from tests.fakes.engine import byte_model
from tests.unit.api.rig import CHAT, HI, Rig

INVALID = "invalid_request_error"
SAMPLING = "invalid_sampling_parameter"
UNSUPPORTED = "unsupported_value"
EFFORT = "reasoning_effort_unsupported"
WEATHER = {"type": "function", "function": {"name": "weather"}}
NAMELESS = {"type": "function", "function": {"name": ""}}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}

INERT = {
    "store": False,
    "service_tier": "auto",
    "modalities": ["text"],
    "metadata": {"a": "b"},
    "user": "somebody",
    "safety_identifier": "x",
    "prompt_cache_key": "k",
    "prompt_cache_retention": "24h",
    "verbosity": "low",
}
OFF = {
    "repeat_penalty": 1.0,
    "typical_p": 1,
    "tfs_z": 1,
    "mirostat": 0,
    "xtc_probability": 0,
    "dry_multiplier": 0.0,
    "dynatemp_range": 0,
    "use_beam_search": False,
    "length_penalty": 1.0,
    "min_tokens": 0,
    "stop_token_ids": [],
    "bad_words": [],
    "include_stop_str_in_output": False,
    "best_of": 1,
    "echo": False,
    "add_generation_prompt": True,
    "continue_final_message": False,
}
"""Fields of other servers, and the values that switch them off."""
REFUSED = [
    "audio",
    "prediction",
    "web_search_options",
    "functions",
    "function_call",
    "suffix",
    "prompt",
    "repeat_last_n",
    "samplers",
    "allowed_token_ids",
    "n_predict",
    "max_new_tokens",
    "prompt_logprobs",
    "chat_template",
    "documents",
    "truncate_prompt_tokens",
    "num_ctx",
]


def read(**fields: Any) -> ChatCompletionRequest:
    return parse_body(json.dumps({"messages": HI, **fields}).encode(), ChatCompletionRequest).fields


def refusal_of(body: bytes) -> RequestError:
    with pytest.raises(RequestError) as caught:
        parse_body(body, ChatCompletionRequest)
    return caught.value


async def test_null_is_the_same_as_absent_for_every_optional_field() -> None:
    names = set(ChatCompletionRequest.__struct_encode_fields__) - {"messages"}
    rig = Rig()
    await rig.chat(**dict.fromkeys(names))
    await rig.chat()
    first, second = rig.engine.submissions
    assert (first.prompt, first.max_tokens, first.stop_ids) == (second.prompt, second.max_tokens, second.stop_ids)


@pytest.mark.parametrize(("name", "value"), [*INERT.items(), *OFF.items()])
async def test_an_inert_field_changes_nothing(name: str, value: Any) -> None:
    rig = Rig()
    await rig.chat(seed=1)
    body = await rig.chat(seed=1, **{name: value})
    assert rig.engine.submissions[0] == rig.engine.submissions[1]
    assert name not in body


@pytest.mark.parametrize("name", [*REFUSED, *OFF])
async def test_a_refused_field_is_refused_by_name(name: str) -> None:
    assert await Rig().refusal(**{name: {"any": "thing"}}) == (400, UNSUPPORTED, name)


def test_every_field_is_in_one_of_the_three_kinds() -> None:
    document = msgspec.json.schema(ChatCompletionRequest)
    fields = document["$defs"]["ChatCompletionRequest"]["properties"]
    kinds: dict[str, set[str]] = {"honoured": set(), "inert": set(), "refused": set()}
    for name, schema in fields.items():
        kind = schema.get("x-ignis") or next(part["x-ignis"] for part in schema["anyOf"] if "x-ignis" in part)
        kinds[kind].add(name)
    assert kinds["inert"] == set(INERT) | set(OFF)
    assert kinds["refused"] == set(REFUSED)


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"temperature": 2.5}, SAMPLING, "temperature"),
        ({"temperature": -0.1}, SAMPLING, "temperature"),
        ({"temperature": "hot"}, SAMPLING, "temperature"),
        ({"temperature": True}, SAMPLING, "temperature"),
        ({"top_p": -0.01}, SAMPLING, "top_p"),
        ({"top_p": 1.01}, SAMPLING, "top_p"),
        ({"top_k": -2}, SAMPLING, "top_k"),
        ({"top_k": 1.5}, SAMPLING, "top_k"),
        ({"top_k": 10**30}, SAMPLING, "top_k"),
        ({"min_p": 2}, SAMPLING, "min_p"),
        ({"repetition_penalty": 0}, SAMPLING, "repetition_penalty"),
        ({"presence_penalty": 3}, SAMPLING, "presence_penalty"),
        ({"frequency_penalty": -3}, SAMPLING, "frequency_penalty"),
        ({"seed": 2**64}, SAMPLING, "seed"),
        ({"seed": -(2**63) - 1}, SAMPLING, "seed"),
        ({"seed": "1"}, SAMPLING, "seed"),
        ({"logprobs": 1}, SAMPLING, "logprobs"),
        ({"logprobs": True, "top_logprobs": 21}, SAMPLING, "top_logprobs"),
        ({"top_logprobs": 2}, SAMPLING, "top_logprobs"),
        ({"logit_bias": {"1": 101}}, SAMPLING, "logit_bias.1"),
        ({"logit_bias": {"1": 0, "2": "x"}}, SAMPLING, "logit_bias.2"),
        ({"logit_bias": {"999999": 1}}, SAMPLING, "logit_bias.999999"),
        ({"logit_bias": {"-1": 1}}, SAMPLING, "logit_bias.-1"),
        ({"logit_bias": {"word": 1}}, SAMPLING, "logit_bias.word"),
        ({"logit_bias": {"²": 1}}, SAMPLING, "logit_bias.²"),
        ({"logit_bias": [1]}, SAMPLING, "logit_bias"),
        ({"n": 0}, INVALID, "n"),
        ({"n": 9}, INVALID, "n"),
        ({"n": "2"}, INVALID, "n"),
        ({"max_tokens": 0}, INVALID, "max_tokens"),
        ({"max_completion_tokens": -1}, INVALID, "max_completion_tokens"),
        ({"max_tokens": 10**40}, "context_length_exceeded", "max_tokens"),
        ({"stop": ""}, INVALID, "stop"),
        ({"stop": ["a", ""]}, INVALID, "stop[1]"),
        ({"stop": ["x"] * (MAX_STOPS + 1)}, INVALID, "stop"),
        ({"stop": ["x" * 5000]}, INVALID, "stop[0]"),
        ({"stop": {"a": 1}}, INVALID, "stop"),
        ({"stop": [1]}, INVALID, "stop"),
        ({"stream": "yes"}, INVALID, "stream"),
        ({"stream_options": {"include_usage": 1}}, INVALID, "stream_options.include_usage"),
        ({"messages": []}, INVALID, "messages"),
        ({"messages": None}, INVALID, "messages"),
        ({"messages": "Hi"}, INVALID, "messages"),
        ({"messages": [{"content": "Hi"}]}, INVALID, "messages[0].role"),
        ({"messages": [*HI, {"role": "robot", "content": ""}]}, INVALID, "messages[1].role"),
        ({"messages": [{"role": "user"}]}, INVALID, "messages[0].content"),
        ({"messages": [{"role": "user", "content": None}]}, INVALID, "messages[0].content"),
        ({"messages": [{"role": "user", "content": 1}]}, INVALID, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, INVALID, "messages[0].content[0].text"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
            "vision_disabled",
            "messages[0].content[0].type",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "video_url"}]}]},
            "video_unsupported",
            "messages[0].content[0].type",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]},
            UNSUPPORTED,
            "messages[0].content[0].type",
        ),
        (
            {"messages": [{"role": "user", "content": "", "tool_calls": [{"function": {"name": "f"}}]}]},
            INVALID,
            "messages[0].tool_calls",
        ),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{"}}]}]},
            INVALID,
            "messages[0].tool_calls[0].function.arguments",
        ),
        ({"tools": [WEATHER]}, UNSUPPORTED, "tools"),
        ({"tools": [WEATHER], "tool_choice": "auto"}, UNSUPPORTED, "tools"),
        (
            {"tools": [{"type": "function", "function": {"name": ""}}], "tool_choice": "none"},
            INVALID,
            "tools[0].function.name",
        ),
        ({"tools": [{"type": "web"}], "tool_choice": "none"}, INVALID, "tools[0].type"),
        ({"tool_choice": "sometimes"}, INVALID, "tool_choice"),
        ({"tool_choice": "required"}, INVALID, "tool_choice"),
        ({"tool_choice": WEATHER}, INVALID, "tool_choice"),
        ({"response_format": {"type": "xml"}}, INVALID, "response_format.type"),
        ({"response_format": "text"}, INVALID, "response_format"),
        ({"store": True}, UNSUPPORTED, "store"),
        ({"service_tier": "priority"}, UNSUPPORTED, "service_tier"),
        ({"modalities": ["text", "audio"]}, UNSUPPORTED, "modalities[1]"),
        ({"enable_thinking": True}, EFFORT, "enable_thinking"),
        ({"enable_thinking": 1}, INVALID, "enable_thinking"),
        ({"chat_template_kwargs": {"tone": "dry"}}, INVALID, "chat_template_kwargs.tone"),
        ({"chat_template_kwargs": {"messages": []}}, INVALID, "chat_template_kwargs.messages"),
        ({"chat_template_kwargs": {"enable_thinking": "no"}}, INVALID, "chat_template_kwargs.enable_thinking"),
        ({"chat_template_kwargs": {"enable_thinking": True}}, EFFORT, "chat_template_kwargs.enable_thinking"),
        ({"reasoning_effort": "low"}, EFFORT, "reasoning_effort"),
        ({"reasoning_effort": 1}, INVALID, "reasoning_effort"),
        ({"reasoning_effort": "huge"}, INVALID, "reasoning_effort"),
        ({"thinking_budget": -1}, INVALID, "thinking_budget"),
        ({"thinking_budget": False}, INVALID, "thinking_budget"),
        ({"thinking_budget": 1.5}, INVALID, "thinking_budget"),
        ({"preserve_thinking": True}, UNSUPPORTED, "preserve_thinking"),
        ({"preserve_thinking": "yes"}, INVALID, "preserve_thinking"),
        ({"messages": [{"role": "assistant", "function_call": {}}]}, UNSUPPORTED, "messages[0].function_call"),
        ({"messages": [{"role": "assistant", "audio": {"id": "a"}}]}, UNSUPPORTED, "messages[0].audio"),
        ({"messages": [*HI, {"role": "user", "contnt": "Hi"}]}, INVALID, "messages[1].contnt"),
        ({"stream_options": {"include_usages": True}}, INVALID, "stream_options.include_usages"),
        ({"temprature": 1}, INVALID, "temprature"),
        ({"maxtokens": 1}, INVALID, "maxtokens"),
        ({"max_token": 1}, INVALID, "max_token"),
        ({"message": []}, INVALID, "message"),
    ],
)
async def test_a_bad_value_is_refused_with_its_code_and_name(fields: dict[str, Any], code: str, param: str) -> None:
    rig = Rig()
    assert await rig.refusal(**fields) == (400, code, param)
    assert rig.engine.submissions == []


@pytest.mark.parametrize(
    "fields",
    [
        {"temperature": 0, "top_p": 0.9, "top_k": 40},
        {"top_k": 0},
        {"n": 1.0},
        {"max_tokens": 8.0},
        {"stop": []},
        {"stop": ["a"] * MAX_STOPS},
        {"logit_bias": {}},
        {"logprobs": False, "top_logprobs": 0},
        {"seed": 2**64 - 1},
        {"seed": -(2**63)},
        {"logprobs": True, "top_logprobs": 0},
        {"tools": []},
        {"tools": [], "tool_choice": "auto"},
        {"tools": [WEATHER], "tool_choice": "none"},
        {"tool_choice": "auto"},
        {"parallel_tool_calls": False},
        {"enable_thinking": False},
        {"reasoning_effort": "none", "thinking_budget": 0, "enable_thinking": False},
        {"thinking_budget": 0.0},
        {"thinking_budget": 100},
        {"preserve_thinking": False},
        {"chat_template_kwargs": {"enable_thinking": False, "tone": None}},
        {"stream_options": {"include_obfuscation": False}},
        {"messages": [*HI, {"role": "assistant", "content": None}, *HI]},
        {
            "messages": [
                *HI,
                {
                    "role": "assistant",
                    "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
                },
                {"role": "tool", "tool_call_id": "c", "content": "4"},
            ]
        },
        {"messages": [{"role": "user", "content": "Hi", "name": "ann", "cache_control": {"type": "ephemeral"}}]},
    ],
)
async def test_what_is_easy_to_serve_is_served(fields: dict[str, Any]) -> None:
    await Rig().chat(**fields)


async def test_a_variable_that_the_template_mentions_reaches_it() -> None:
    rig = Rig(model=byte_model(template="{{ tone }} {{ enable_thinking }} {{ messages[0].content }}"))
    await rig.chat(chat_template_kwargs={"tone": "dry"}, enable_thinking=True)
    assert bytes(rig.engine.submissions[0].prompt) == b"dry True Hi"
    assert (await rig.refusal(chat_template_kwargs={"enable_thinking": True}, enable_thinking=False))[
        2
    ] == "enable_thinking"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"[]",
        b'"text"',
        b"null",
        b"{",
        b'{"messages": [}',
        b"\xff\xfe",
        b'{"messages": "\\ud800"}',
        b'{"temperature": NaN}',
        b'{"temperature": Infinity}',
        b'{"temperature": 1e999}',
        b'{"max_tokens": ' + b"9" * 5000 + b"}",
        b'{"messages": ' + b"[" * 100_000,
        b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"messages": []} trailing',
        b"messages=Hi",
    ],
)
async def test_a_body_that_is_no_json_object_is_a_400_and_never_a_fault(body: bytes) -> None:
    answer = await Rig().answer("POST", CHAT, body)
    assert answer.status == 400
    assert answer.json()["error"]["code"] == INVALID


def test_deep_nesting_inside_a_known_field_is_no_fault() -> None:
    depth = 100
    nested = json.loads("[" * depth + "]" * depth)
    assert refusal_of(json.dumps({"messages": nested}).encode()).param == "messages[0]"


@pytest.mark.parametrize("depth", [100, 700, 950, 2000, 50_000])
async def test_values_that_a_template_walks_are_shallow(depth: int) -> None:
    nest = "[" * depth + "]" * depth
    arguments = json.dumps('{"a": ' + nest + "}")
    rig = Rig(model=byte_model(template="{{ tone is defined }}{{ messages[0].content }}"))
    for body in (
        f'{{"messages": {json.dumps(HI)}, "chat_template_kwargs": {{"tone": {nest}}}}}',
        f'{{"messages": [{{"role": "assistant", "tool_calls": [{{"function": {{"name": "f", '
        f'"arguments": {arguments}}}}}]}}]}}',
        f'{{"messages": {json.dumps(HI)}, "metadata": {nest}, "unheard_of": {nest}}}',
    ):
        answer = await rig.answer("POST", CHAT, body)
        is_inert = "metadata" in body and depth < 900
        assert answer.status == (200 if depth == 100 or is_inert else 400), answer.body


async def test_unknown_fields_without_end_are_refused() -> None:
    fields = {f"unknown_{number}": 1 for number in range(33)}
    assert await Rig().refusal(**fields) == (400, INVALID, None)


def test_too_many_messages_are_refused() -> None:
    assert refusal_of(json.dumps({"messages": HI * (MAX_MESSAGES + 1)}).encode()).param == "messages"
    assert len(read(messages=HI * MAX_MESSAGES).messages) == MAX_MESSAGES


def test_the_last_of_a_repeated_key_counts() -> None:
    body = b'{"messages": [{"role": "user", "content": "Hi"}], "n": 1, "n": 2}'
    assert parse_body(body, ChatCompletionRequest).fields.n == 2


async def test_an_unknown_field_is_ignored_aloud() -> None:
    rig = Rig()
    body = {"messages": HI, "provider": {"order": []}, "thinking": {"type": "disabled"}, "new\nline": 1, "é": 1}
    for _ in range(2):
        answer = await rig.answer("POST", CHAT, body)
        assert answer.header("X-Ignis-Ignored") == "provider, thinking"
    assert [line["field"] for line in rig.logged("ignis.request.field_ignored")] == [
        "provider",
        "thinking",
        "new\nline",
        "é",
    ]
    exchange = await rig.call("POST", CHAT, {**body, "stream": True})
    assert exchange.stream.header("X-Ignis-Ignored") == "provider, thinking"


async def test_an_unknown_field_is_ignored_aloud_however_deep_it_is() -> None:
    rig = Rig()
    parts = [{"type": "text", "text": "a", "cache_control": {}}, {"type": "text", "text": "b", "cache_control": {}}]
    body = {
        "messages": [{"role": "user", "content": parts}, {**HI[0], "weight": 1}, {**HI[0], "weight": 0}],
        "stream_options": {"bar": 1},
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"x": 1}, "note": 1}}],
        "tool_choice": "none",
    }
    names = ["messages[].content[].cache_control", "messages[].weight", "stream_options.bar", "tools[].function.note"]
    answer = await rig.answer("POST", CHAT, body)
    assert (answer.status, answer.header("X-Ignis-Ignored")) == (200, ", ".join(names))
    assert [line["field"] for line in rig.logged("ignis.request.field_ignored")] == names


async def test_an_unknown_field_with_null_asks_for_nothing() -> None:
    said = {"role": "assistant", "content": "a", "refusal": None, "audio": None, "function_call": None}
    answer = await Rig().answer("POST", CHAT, {"messages": [*HI, said, *HI], "provider": None, "temprature": None})
    assert (answer.status, answer.header("X-Ignis-Ignored")) == (200, None)


def test_a_slip_is_a_small_distance_from_a_known_name() -> None:
    known = frozenset({"temperature", "max_tokens", "stop", "seed", "n"})
    slips = {
        "temprature": "temperature",
        "tempreature": "temperature",
        "stpo": "stop",
        "seeds": "seed",
        "maxTokens": "max_tokens",
    }
    assert {name: nearest(name, known) for name in slips} == slips
    assert nearest("models", frozenset({"model"})) is None and nearest("top_a", frozenset({"top_p", "top_k"})) is None
    for name in ("m", "top", "seedling", "provider", "thinking", "x" * 100_000, "stops_at"):
        assert nearest(name, known) is None


def test_a_message_names_field_value_and_what_is_allowed() -> None:
    cases = {
        b'{"messages": [], "n": 1}': "messages must be an array of 1 to 10000, not an empty array",
        b'{"n": 1}': "messages is missing",
        b'{"messages": [1]}': "messages[0] must be an object, not 1",
    }
    assert {body: refusal_of(body).message for body in cases} == cases
    hi = json.dumps(HI).encode()
    error = refusal_of(b'{"messages": ' + hi + b', "temperature": 3}')
    assert error.message == "temperature must be a number from 0 to 2, not 3"
    many = json.dumps({str(id): 1 for id in range(1025)}).encode()
    error = refusal_of(b'{"messages": ' + hi + b', "logit_bias": ' + many + b"}")
    assert error.message == "logit_bias must be an object of at most 1024, not an object of 1025"
    error = refusal_of(b'{"messages": ' + hi + b', "audio": {}}')
    assert error.message == "audio is not served: output is text"
    error = refusal_of(b'{"messages": ' + hi + b', "user": "x", "stream": "' + b"y" * 500 + b'"}')
    assert len(error.message) < 120
