"""Anthropic's Messages API on the wire: whole and streamed alike, in and out, and how it ends."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import anthropic.types
import msgspec
import pytest
import trio
from anthropic.lib.streaming._messages import accumulate_event
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from ignis.api.schema.anthropic_answer import AnthropicMessage, MessageEvent
from ignis.engine.lifecycle import LoadedModel
from ignis.errors import EngineFullError
from ignis.scheduler.request import FinishReason
from tests.fakes.engine import IM_END, byte_model, script
from tests.unit.api.rig import CHAT, HI, MESSAGES, Rig, code_of

QWEN3 = (Path(__file__).parents[2] / "data" / "chat" / "qwen3.jinja").read_text(encoding="utf-8")
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"name": "weather", "description": "Now", "input_schema": SCHEMA}
CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Köln"}}\n</tool_call>'
THOUGHT = "<think>\nhmm\n</think>\n\n"
COUNT = f"{MESSAGES}/count_tokens"
FRAGMENTS = [
    "<think>",
    "</think>",
    "\n",
    "It rains in Köln. ",
    "<tool_call>",
    "</tool_call>",
    '{"name": "weather", "arguments": ',
    '{"city": "Köln"}',
    "}",
    CALL,
    "<",
    "e",
]
EVENT: TypeAdapter[Any] = TypeAdapter(anthropic.types.RawMessageStreamEvent)


def model(template: str = QWEN3) -> LoadedModel:
    return replace(byte_model(template=template), max_context=8192)


def rig(text: str = "Hello", *, tokens_per_event: int = 1, **settings: Any) -> Rig:
    settings = {"model": model(), **settings}
    return Rig(script(text, tokens_per_event=tokens_per_event), **settings)


def body_of(**fields: Any) -> dict[str, Any]:
    return {"messages": HI, "max_tokens": 500, **fields}


async def whole(asked: Rig, **fields: Any) -> Any:
    answer = await asked.answer("POST", MESSAGES, body_of(**fields))
    assert answer.status == 200, answer.body
    msgspec.json.decode(answer.body, type=AnthropicMessage)
    return answer.json()


async def stream(asked: Rig, **fields: Any) -> list[Any]:
    exchange = await asked.call("POST", MESSAGES, body_of(stream=True, **fields))
    assert exchange.stream.is_closed
    for event in exchange.events:
        assert event.event == event.json()["type"]
        msgspec.json.decode(event.data, type=MessageEvent)
    return [event.json() for event in exchange.events]


async def refusal(asked: Rig, path: str = MESSAGES, **fields: Any) -> tuple[int, str, str | None]:
    answer = await asked.answer("POST", path, body_of(**fields))
    body = answer.json()
    assert body["type"] == "error" and body["request_id"] == "req-test" == answer.header("request-id")
    return answer.status, body["error"]["details"]["error_code"], body["error"]["details"].get("param")


def gathered(events: list[Any]) -> anthropic.types.Message:
    """What their SDK makes of a stream."""
    snapshot: Any = None
    buffers: dict[int, bytes] = {}
    for event in events:
        if event["type"] != "ping":
            snapshot = accumulate_event(
                event=EVENT.validate_python(event), current_snapshot=snapshot, json_bufs=buffers
            )
    return anthropic.types.Message.model_validate(snapshot.to_dict())


def plain(message: anthropic.types.Message) -> dict[str, Any]:
    """A message without its ids, its times and what is null."""
    value = message.to_dict(exclude_none=True)
    for name in ("id", "timings"):
        value.pop(name, None)
    for block in value["content"]:
        block.pop("id", None)
    return value


@pytest.mark.parametrize("max_tokens", [20, 60, 77, 10**9])
@pytest.mark.parametrize(
    "text",
    [
        "It rains.",
        f"{THOUGHT}It rains.",
        f"{THOUGHT}I look.\n{CALL}",
        f"{CALL}\n{CALL}",
        f"{CALL} and {CALL}",
        CALL[:-20],
        "<tool_call>oops</tool_call>",
        "<think>\nhmm",
        "<think>a</think>b<think>c</think>d",
        '<tool_call>{"name": "now"}</tool_call>',
        '<tool_call>{"name": "now", "arguments": {"a": [1, 22.5, {"b": null}], "c": {"d": tru',
        "",
    ],
)
async def test_a_stream_joins_to_the_whole_body(text: str, max_tokens: int) -> None:
    asked = rig(text, tokens_per_event=3)
    fields = {"tools": [WEATHER], "max_tokens": max_tokens, "stop_sequences": ["rains"]}
    message = anthropic.types.Message.model_validate(await whole(asked, **fields))
    assert plain(gathered(await stream(asked, **fields))) == plain(message)


@given(
    st.lists(st.sampled_from(FRAGMENTS), max_size=8).map("".join),
    st.integers(1, 9),
    st.integers(1, 300),
    st.lists(st.sampled_from(["rain", "e", "\n", "</think>", "ö", "city"]), max_size=2),
    st.booleans(),
    st.sampled_from(["summarized", "omitted"]),
)
def test_any_stream_joins_to_the_whole_body(
    text: str, tokens_per_event: int, max_tokens: int, stops: list[str], has_tools: bool, display: str
) -> None:
    fields = {
        "max_tokens": max_tokens,
        "stop_sequences": stops,
        "tools": [WEATHER] if has_tools else None,
        "thinking": {"type": "adaptive", "display": display},
    }

    async def ask() -> None:
        asked = rig(text, tokens_per_event=tokens_per_event)
        message = anthropic.types.Message.model_validate(await whole(asked, **fields))
        alone = await whole(rig(text), **fields)
        assert plain(anthropic.types.Message.model_validate(alone)) == plain(message)
        assert plain(gathered(await stream(asked, **fields))) == plain(message)

    trio.run(ask)


async def test_the_events_come_in_their_order() -> None:
    events = await stream(rig(f"{THOUGHT}ok\n{CALL}", tokens_per_event=1000), tools=[WEATHER])
    shown = [(e["type"], e.get("index"), e.get("delta", {}).get("type")) for e in events]
    assert shown[:4] == [
        ("message_start", None, None),
        ("content_block_start", 0, None),
        ("ping", None, None),
        ("content_block_delta", 0, "thinking_delta"),
    ]
    kept = [step for before, step in zip([None, *shown], shown, strict=False) if step != before]
    assert kept[3:] == [
        ("content_block_delta", 0, "thinking_delta"),
        ("content_block_delta", 0, "signature_delta"),
        ("content_block_stop", 0, None),
        ("content_block_start", 1, None),
        ("content_block_delta", 1, "text_delta"),
        ("content_block_stop", 1, None),
        ("content_block_start", 2, None),
        ("content_block_delta", 2, "input_json_delta"),
        ("content_block_stop", 2, None),
        ("message_delta", None, None),
        ("message_stop", None, None),
    ]
    assert events[0]["message"]["content"] == [] and events[0]["message"]["stop_reason"] is None
    assert [e["content_block"] for e in events if e["type"] == "content_block_start"][:2] == [
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "text", "text": ""},
    ]


async def test_a_whole_answer_has_thinking_text_and_calls() -> None:
    body = await whole(rig(f"{THOUGHT}I look.\n{CALL}\n{CALL}"), tools=[WEATHER])
    thinking, text, *calls = body["content"]
    assert thinking["thinking"] == "hmm" and thinking["signature"]
    assert text == {"type": "text", "text": "I look."}
    assert [(call["name"], call["input"]) for call in calls] == [("weather", {"city": "Köln"})] * 2
    assert len({call["id"] for call in calls}) == 2 and all(call["id"].startswith("toolu_") for call in calls)
    assert (body["stop_reason"], body["stop_sequence"]) == ("tool_use", None)
    assert body["id"].startswith("msg_") and body["model"] == "tiny"


async def test_input_is_streamed_as_the_model_made_it_and_never_twice() -> None:
    events = await stream(rig(CALL), tools=[WEATHER])
    texts = [e["delta"]["partial_json"] for e in events if e["type"] == "content_block_delta"]
    assert len(texts) > 10
    assert "".join(texts) == '{"city": "Köln"}'


async def test_usage_parts_the_prompt_into_cached_and_computed() -> None:
    asked = rig()
    asked.engine.cached_tokens = 7
    body = await whole(asked)
    num_prompt = len(asked.engine.submissions[0].prompt)
    assert body["usage"] == {
        "input_tokens": num_prompt - 7,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 7,
        "output_tokens": 6,
        "output_tokens_details": {"thinking_tokens": 0, "rewound_tokens": 0},
        "service_tier": "standard",
    }
    events = await stream(asked)
    assert events[0]["message"]["usage"]["input_tokens"] == num_prompt
    assert events[-2]["usage"] == body["usage"]
    assert (await asked.answer("POST", COUNT, {"messages": HI})).json() == {"input_tokens": num_prompt}


@pytest.mark.parametrize(
    ("fields", "reason", "sequence", "text"),
    [
        ({}, "end_turn", None, "one two three"),
        ({"max_tokens": 5}, "max_tokens", None, "one t"),
        ({"stop_sequences": ["four", " three"]}, "stop_sequence", " three", "one two"),
        ({"stop_sequences": ["two", "o three"], "max_tokens": 5}, "max_tokens", None, "one t"),
    ],
)
async def test_an_answer_says_why_it_ended(
    fields: dict[str, Any], reason: str, sequence: str | None, text: str
) -> None:
    asked = rig("one two three")
    body = await whole(asked, **fields)
    assert (body["stop_reason"], body["stop_sequence"]) == (reason, sequence)
    assert body["content"] == [{"type": "text", "text": text}]
    assert (await stream(asked, **fields))[-2]["delta"] == {"stop_reason": reason, "stop_sequence": sequence}


async def test_a_cap_larger_than_the_context_is_cut_and_its_end_is_named() -> None:
    small = replace(byte_model(), max_context=100)
    asked = rig("x" * 200, model=small)
    body = await whole(asked, max_tokens=10**9)
    assert body["stop_reason"] == "model_context_window_exceeded"
    assert body["usage"]["input_tokens"] + body["usage"]["output_tokens"] == 100
    assert (await whole(asked, max_tokens=body["usage"]["output_tokens"]))["stop_reason"] == "max_tokens"
    assert (await whole(rig("x", model=small), max_tokens=10**9))["stop_reason"] == "end_turn"


async def test_reasoning_is_counted_among_the_output() -> None:
    usage = (await whole(rig(f"{THOUGHT}It rains.")))["usage"]
    num_thought = usage["output_tokens_details"]["thinking_tokens"]
    assert len("hmm</think>") <= num_thought <= len("<think>\nhmm\n</think>")
    assert usage["output_tokens"] == len(f"{THOUGHT}It rains.") + 1


async def test_a_cap_of_nothing_reads_the_prompt_and_answers_nothing() -> None:
    asked = rig()
    body = await whole(asked, max_tokens=0, tools=[WEATHER])
    assert (body["content"], body["stop_reason"], body["usage"]["output_tokens"]) == ([], "max_tokens", 0)
    assert asked.engine.submissions[0].max_tokens == 1
    events = await stream(asked, max_tokens=0, tools=[WEATHER])
    assert [event["type"] for event in events] == ["message_start", "message_delta", "message_stop"]
    assert plain(gathered(events)) == plain(anthropic.types.Message.model_validate(body))
    await whole(asked, tools=[WEATHER])
    assert asked.engine.submissions[0].prompt == asked.engine.submissions[2].prompt
    forced = await whole(asked, max_tokens=0, tools=[WEATHER], tool_choice={"type": "any"})
    assert (forced["content"], asked.engine.submissions[3].max_tokens) == ([], 1)


async def test_the_body_of_a_message_is_counted_as_it_is() -> None:
    asked = rig()
    fields = {"max_tokens": 5, "stop_sequences": ["x"], "stream": True, "n": 1, "logprobs": True, "top_logprobs": 2}
    answer = await asked.answer("POST", COUNT, {"messages": HI, **fields})
    assert (answer.status, answer.header("X-Ignis-Ignored")) == (200, None)
    assert answer.json() == (await asked.answer("POST", COUNT, {"messages": HI})).json()


async def test_a_conversation_without_a_word_is_no_fault_of_ours() -> None:
    for path in (MESSAGES, f"{MESSAGES}/count_tokens"):
        answer = await rig().answer("POST", path, body_of(messages=[{"role": "user", "content": []}]))
        assert answer.status in (200, 400)


async def test_an_answer_goes_on_with_what_the_assistant_said_last() -> None:
    asked = rig(" fine.")
    begun = [*HI, {"role": "assistant", "content": "I am"}]
    body = await whole(asked, messages=begun)
    assert body["content"] == [{"type": "text", "text": " fine."}]
    await whole(asked, thinking={"type": "disabled"})
    assert gathered(await stream(asked, messages=begun)).content[0].to_dict()["text"] == " fine."
    continued, plain_prompt, _ = (submission.prompt for submission in asked.engine.submissions)
    assert continued == (*plain_prompt, *b"I am")
    count = (await asked.answer("POST", COUNT, {"messages": begun})).json()["input_tokens"]
    assert count == len(continued)


async def test_a_call_and_its_result_continue_the_prompt_that_made_it() -> None:
    written = f"{THOUGHT}I look.\n{CALL}"
    asked = rig(written)
    body = await whole(asked, tools=[WEATHER])
    # As a client sends it back: parsed, and written again without spaces.
    content = json.loads(json.dumps(body["content"], separators=(",", ":")))
    result = {"type": "tool_result", "tool_use_id": body["content"][2]["id"], "content": "rain"}
    history = [*HI, {"role": "assistant", "content": content}, {"role": "user", "content": [result]}]
    await whole(asked, tools=[WEATHER], messages=history)
    first, second = asked.engine.submissions
    assert second.prompt[: len(first.prompt) + len(written.encode()) + 1] == (*first.prompt, *written.encode(), IM_END)


async def test_thinking_that_is_left_out_comes_back_by_its_signature() -> None:
    asked = rig(f"{THOUGHT}I look.\n{CALL}")
    events = await stream(asked, tools=[WEATHER], thinking={"type": "adaptive", "display": "omitted"})
    message = gathered(events)
    assert message.content[0].to_dict()["thinking"] == ""
    assert not any(e.get("delta", {}).get("type") == "thinking_delta" for e in events)
    shown = gathered(await stream(asked, tools=[WEATHER]))
    prompts = []
    for answer in (message, shown):
        content = [block.to_dict() for block in answer.content]
        content[2]["id"] = "toolu_1"
        result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "rain"}
        history = [*HI, {"role": "assistant", "content": content}, {"role": "user", "content": [result]}]
        await whole(asked, tools=[WEATHER], messages=history)
        prompts.append(asked.engine.submissions[-1].prompt)
    assert prompts[0] == prompts[1]


async def test_without_parallel_use_the_answer_ends_with_its_first_call() -> None:
    choice = {"type": "auto", "disable_parallel_tool_use": True}
    body = await whole(rig(f"{CALL}\n{CALL}"), tools=[WEATHER], tool_choice=choice)
    assert [block["type"] for block in body["content"]] == ["tool_use"]
    assert body["stop_reason"] == "tool_use"


async def test_the_choice_none_forbids_calls() -> None:
    body = await whole(rig(CALL), tools=[WEATHER], tool_choice={"type": "none"})
    assert body["content"] == [{"type": "text", "text": CALL}]
    assert body["stop_reason"] == "end_turn"


async def test_sampling_fields_are_those_of_every_route() -> None:
    asked = rig()
    fields = {"temperature": 0.5, "top_p": 0.9, "top_k": 7, "min_p": 0.1, "seed": 3, "logit_bias": {"5": 1.0}}
    body = await whole(asked, **fields, **{"class": "agent"})
    chat = await asked.chat(**fields, **{"class": "agent"})
    ours, theirs = asked.engine.submissions
    assert (ours.sampling, ours.request_class, ours.prompt) == (theirs.sampling, theirs.request_class, theirs.prompt)
    assert body["timings"]["seed"] == chat["timings"]["seed"] == 3


@pytest.mark.parametrize("text", [f"{THOUGHT}It rains in Köln.", f"{CALL}", "one stop two", "", CALL[:-20]])
async def test_log_probabilities_join_to_what_the_model_wrote(text: str) -> None:
    asked = rig(text)
    fields = {"logprobs": True, "top_logprobs": 2, "tools": [WEATHER], "stop_sequences": ["stop"]}
    body = await whole(asked, **fields)
    assert all(len(token["top_logprobs"]) == 2 for token in body["logprobs"])
    written = bytes(byte for token in body["logprobs"] for byte in token["bytes"]).decode()
    assert written == text.partition("stop")[0]
    events = await stream(asked, **fields)
    assert [token for event in events for token in event.get("logprobs", ())] == body["logprobs"]
    assert "logprobs" not in await whole(asked)


@pytest.mark.parametrize("finish", [FinishReason.FAULT, FinishReason.CUT_OFF])
async def test_a_failure_inside_a_stream_is_an_error_event_and_no_end_follows(finish: FinishReason) -> None:
    asked = Rig(script("Hel", finish), model=model())
    exchange = await asked.call("POST", MESSAGES, body_of(stream=True))
    assert exchange.stream.is_closed
    assert exchange.events[-1].event == "error"
    assert exchange.events[-1].json()["error"]["type"] == "api_error"
    assert "message_stop" not in {event.event for event in exchange.events}


async def test_a_full_engine_is_overloaded_and_says_when_to_come_back() -> None:
    asked = rig()
    asked.engine.refusal = EngineFullError("all places are taken", retry_after_s=3)
    answer = await asked.answer("POST", MESSAGES, body_of(stream=True))
    assert (answer.status, answer.header("Retry-After")) == (503, "3")
    assert answer.json()["error"]["type"] == "overloaded_error"


@pytest.mark.parametrize(
    ("path", "headers", "kind"),
    [
        (MESSAGES, {}, "error"),
        (f"{MESSAGES}/batches", {}, "error"),
        ("/v1/models/x", {"anthropic-version": "2023-06-01"}, "error"),
        ("/v1/models/x", {}, None),
        ("/v1/messagesx", {}, None),
    ],
)
async def test_errors_have_the_shape_that_the_client_speaks(
    path: str, headers: dict[str, str], kind: str | None
) -> None:
    answer = await rig().answer("GET", path, headers=headers)
    assert answer.status in (404, 405)
    assert answer.json().get("type") == kind
    assert (answer.header("request-id") is not None) == (kind is not None)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"x-api-key": "sk"}, 200),
        ({"authorization": "Bearer sk"}, 200),
        ({"authorization": "Bearer another", "x-api-key": "sk"}, 200),
        ({"authorization": "Bearer sk", "x-api-key": "another"}, 200),
        ({"x-api-key": "another"}, 401),
        ({"x-api-key": ""}, 401),
        ({}, 401),
    ],
)
async def test_the_key_comes_in_either_header(headers: dict[str, str], status: int) -> None:
    answer = await rig(api_key="sk").answer("POST", MESSAGES, body_of(), headers=headers)
    assert answer.status == status
    if status == 401:
        assert answer.json()["error"]["type"] == "authentication_error"


@pytest.mark.parametrize(
    ("fields", "status", "kind"),
    [
        ({"model": "claude-opus-5"}, 404, "not_found_error"),
        ({"messages": [{"role": "user", "content": "x" * 9000}]}, 400, "invalid_request_error"),
        ({"max_tokens": -1}, 400, "invalid_request_error"),
        ({"metadata": "x" * 20_000}, 413, "request_too_large"),
    ],
)
async def test_each_kind_of_error_has_their_type(fields: dict[str, Any], status: int, kind: str) -> None:
    answer = await rig(max_body_bytes=16_000).answer("POST", MESSAGES, body_of(**fields))
    assert (answer.status, answer.json()["error"]["type"]) == (status, kind)


async def test_a_prompt_that_is_too_long_is_said_in_the_words_that_agents_look_for() -> None:
    answer = await rig().answer("POST", MESSAGES, body_of(messages=[{"role": "user", "content": "x" * 9000}]))
    assert answer.json()["error"]["message"].startswith("prompt is too long: ")
    assert answer.json()["error"]["details"]["error_code"] == "context_length_exceeded"


async def test_what_is_too_long_has_the_same_code_on_every_route() -> None:
    asked, long = rig(), [{"role": "user", "content": "x" * 9000}]
    answers = [
        await asked.answer("POST", MESSAGES, body_of(messages=long)),
        await asked.answer("POST", CHAT, {"messages": long}),
        await asked.answer("POST", "/v1/responses", {"input": long}),
    ]
    assert {(answer.status, code_of(answer.json())) for answer in answers} == {(400, "context_length_exceeded")}
    assert asked.engine.submissions == []


async def test_a_template_that_refuses_is_a_400_in_its_own_words() -> None:
    asked = rig(model=model("{{ raise_exception('roles must alternate') }}"))
    answer = await asked.answer("POST", MESSAGES, body_of())
    assert answer.status == 400
    assert "roles must alternate" in answer.json()["error"]["message"]


async def test_a_prompt_that_opens_reasoning_gives_thinking_first_after_results_too() -> None:
    opener = "{% if tools %}<tool_call></think>{% endif %}{{ messages[-1].content }}A:<think>\n"
    use = {"type": "tool_use", "id": "t", "name": "weather", "input": {"city": "Bonn"}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "rain"}
    history = [*HI, {"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    for messages in (HI, history):
        asked = rig("hmm\n</think>\n\nIt rains.", model=model(opener))
        thinking, text = (await whole(asked, messages=messages, tools=[WEATHER]))["content"]
        assert (thinking["thinking"], text["text"]) == ("hmm", "It rains.")
