"""Tool calls and reasoning on the wire: whole and streamed alike, in and out, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletionChunk as SdkChunk
from openai.types.chat import ParsedChatCompletion

from ignis.api.schema.chat_completions import ChatCompletion, ChatCompletionChunk
from ignis.engine.lifecycle import LoadedModel
from tests.fakes.engine import IM_END, byte_model, script
from tests.unit.api.rig import CHAT, HI, Rig

QWEN3 = (Path(__file__).parents[2] / "data" / "chat" / "qwen3.jinja").read_text(encoding="utf-8")
OPENER = "{% if tools %}<tool_call>{{ tools | tojson }}</think>{% endif %}{{ messages[-1].content }}A:<think>\n"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"type": "function", "function": {"name": "weather", "description": "Now", "parameters": SCHEMA}}
NOW = {"type": "function", "function": {"name": "now"}}
CALL = '<tool_call>\n{"name": "weather", "arguments": {"city":"Köln"}}\n</tool_call>'


def model(template: str = QWEN3) -> LoadedModel:
    return replace(byte_model(template=template), max_context=8192)


def rig(text: str, *, tokens_per_event: int = 1, template: str = QWEN3, **settings: Any) -> Rig:
    return Rig(script(text, tokens_per_event=tokens_per_event), model=model(template), **settings)


def joined(events: list[Any]) -> dict[str, Any]:
    """What a client makes of a stream: the message, without ids, and why it ended."""
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    finish = None
    for event in events[:-1]:
        (choice,) = event["choices"]
        delta = choice["delta"]
        for name in ("content", "reasoning_content"):
            if name in delta:
                message[name] = message.get(name, "") + delta[name]
        for call in delta.get("tool_calls", ()):
            calls = message.setdefault("tool_calls", [])
            if call["index"] == len(calls):
                assert call["id"] and call["type"] == "function" and call["function"]["arguments"] == ""
                calls.append({"name": call["function"]["name"], "arguments": ""})
            else:
                assert set(call) == {"index", "function"} and set(call["function"]) == {"arguments"}
                calls[call["index"]]["arguments"] += call["function"]["arguments"]
        finish = choice["finish_reason"] or finish
    return {"message": message, "finish_reason": finish}


def plain(body: Any) -> dict[str, Any]:
    """A whole answer as `joined` gives a stream."""
    choice = body["choices"][0]
    message = {name: value for name, value in choice["message"].items() if name != "refusal"}
    message["content"] = message["content"] or ""
    if "tool_calls" in message:
        message["tool_calls"] = [call["function"] for call in message["tool_calls"]]
    return {"message": message, "finish_reason": choice["finish_reason"]}


@pytest.mark.parametrize("tokens_per_event", [1, 3, 1000])
@pytest.mark.parametrize(
    "text",
    [
        "<think>\nhmm\n</think>\n\nIt rains.",
        f"<think>\nhmm\n</think>\n\nI look.\n{CALL}",
        f"{CALL}\n{CALL}",
        CALL[:-20],
        "<tool_call>oops</tool_call>",
        "<think>\nhmm",
        "<think>a</think>b<think>c</think>d",
        "if a < b",
    ],
)
async def test_a_stream_joins_to_the_whole_body(text: str, tokens_per_event: int) -> None:
    asked = rig(text, tokens_per_event=tokens_per_event)
    whole = await asked.chat(tools=[WEATHER])
    events = await asked.stream(tools=[WEATHER])
    assert joined(events) == plain(whole)
    msgspec.convert(whole, ChatCompletion)
    for event in events[:-1]:
        msgspec.convert(event, ChatCompletionChunk)


async def test_a_whole_answer_has_reasoning_and_calls() -> None:
    body = await rig(f"<think>\nhmm\n</think>\n\n{CALL}\n{CALL}").chat(tools=[WEATHER])
    choice = body["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] is None
    assert choice["message"]["reasoning_content"] == "hmm"
    calls = choice["message"]["tool_calls"]
    assert [call["function"] for call in calls] == [{"name": "weather", "arguments": '{"city":"Köln"}'}] * 2
    assert len({call["id"] for call in calls}) == 2
    assert all(call["type"] == "function" and call["id"].startswith("call_") for call in calls)


async def test_the_sdk_gathers_a_stream_to_the_same_answer() -> None:
    asked = rig(f"<think>\nhmm\n</think>\n\nI look.\n{CALL}\n{CALL}")
    whole = ParsedChatCompletion[None].model_validate(await asked.chat(tools=[WEATHER]))
    state = ChatCompletionStreamState()
    for event in (await asked.stream(tools=[WEATHER], stream_options={"include_usage": True}))[:-1]:
        state.handle_chunk(SdkChunk.model_validate(event))
    gathered = state.get_final_completion()
    assert gathered.choices[0].finish_reason == whole.choices[0].finish_reason == "tool_calls"
    for completion in (whole, gathered):
        message = completion.choices[0].message
        assert message.content == "I look."
        assert [call.function.arguments for call in message.tool_calls or ()] == ['{"city":"Köln"}'] * 2
        assert (message.model_extra or {})["reasoning_content"] == "hmm"
    assert gathered.usage == whole.usage


async def test_an_answer_without_them_has_no_keys_for_them() -> None:
    message = (await rig("Hi").chat(tools=[WEATHER]))["choices"][0]["message"]
    assert message == {"role": "assistant", "content": "Hi", "refusal": None}


async def test_arguments_are_streamed_as_they_are_made_and_never_twice() -> None:
    events = await rig(CALL).stream(tools=[WEATHER])
    calls = [call for event in events[:-1] for call in event["choices"][0]["delta"].get("tool_calls", ())]
    texts = [call["function"]["arguments"] for call in calls[1:]]
    assert len(texts) > 10
    assert "".join(texts) == '{"city":"Köln"}'
    assert sum(map(len, texts)) == len('{"city":"Köln"}')


async def test_a_cap_inside_a_call_is_a_length() -> None:
    asked = rig(CALL)
    cap = CALL.encode().index(b"ln") + 1
    for answer in (plain(await asked.chat(tools=[WEATHER], max_tokens=cap)),
                   joined(await asked.stream(tools=[WEATHER], max_tokens=cap))):  # fmt: skip
        assert answer["finish_reason"] == "length"
        assert answer["message"]["tool_calls"] == [{"name": "weather", "arguments": '{"city":"Köl'}]


async def test_without_parallel_calls_the_answer_ends_with_its_first() -> None:
    asked = rig(f"{CALL}\n{CALL}")
    body = await asked.chat(tools=[WEATHER], parallel_tool_calls=False)
    assert body["choices"][0]["finish_reason"] == "tool_calls"
    assert len(body["choices"][0]["message"]["tool_calls"]) == 1
    assert body["usage"]["completion_tokens"] == len(CALL.removesuffix("}\n</tool_call>").encode())
    assert joined(await asked.stream(tools=[WEATHER], parallel_tool_calls=False)) == plain(body)


async def test_a_prompt_that_opens_reasoning_gives_reasoning_first() -> None:
    body = await rig("hmm\n</think>\n\nIt rains.", template=OPENER).chat()
    message = body["choices"][0]["message"]
    assert (message["reasoning_content"], message["content"]) == ("hmm", "It rains.")
    history = [*HI, {"role": "assistant", "content": None, "tool_calls": [call("c")]}, result("c")]
    events = await rig("hmm\n</think>\n\nIt rains.", template=OPENER).stream(messages=history, tools=[WEATHER])
    assert events[1]["choices"][0]["delta"] == {"reasoning_content": "h"}


async def test_log_probabilities_join_to_what_the_model_wrote() -> None:
    text = f"<think>a</think>b{CALL}"
    for tools in ([WEATHER], None):
        body = await rig(text).chat(tools=tools, logprobs=True)
        tokens = body["choices"][0]["logprobs"]["content"]
        assert bytes(byte for token in tokens for byte in token["bytes"]).decode() == text


async def test_the_template_sees_the_tools_and_none_drops_them() -> None:
    asked = rig("Hi")
    await asked.chat(tools=[WEATHER, NOW])
    await asked.chat(tools=[WEATHER, NOW], tool_choice="none")
    await asked.chat()
    with_tools, dropped, without = (prompt_of(submission) for submission in asked.engine.submissions)
    said = {"type": "function", "function": {**WEATHER["function"], "strict": False}}
    assert json.dumps(said) in with_tools
    assert '{"name": "now", "parameters": {"type": "object", "properties": {}}, "strict": false}' in with_tools
    assert dropped == without


async def test_null_parameters_and_null_strict_are_an_empty_object_and_false() -> None:
    asked = rig("Hi")
    nothing = {"type": "object", "properties": {}}
    for function in ({}, {"parameters": None, "strict": None}, {"parameters": nothing, "strict": False}):
        await asked.chat(tools=[{"type": "function", "function": {"name": "now", **function}}])
    first, *others = (submission.prompt for submission in asked.engine.submissions)
    assert others == [first, first]


async def test_the_choice_none_forbids_calls() -> None:
    message = (await rig(CALL).chat(tools=[WEATHER], tool_choice="none"))["choices"][0]["message"]
    assert message["content"] == CALL
    assert "tool_calls" not in message


async def test_a_call_and_its_result_continue_the_prompt_that_made_it() -> None:
    written = f"<think>\nhmm\n</think>\n\nI look.\n{CALL}"
    asked = rig(written)
    message = (await asked.chat(tools=[WEATHER]))["choices"][0]["message"]
    await asked.chat(tools=[WEATHER], messages=[*HI, message, result(message["tool_calls"][0]["id"])])
    first, second = asked.engine.submissions
    assert second.prompt[: len(first.prompt) + len(written.encode()) + 1] == (*first.prompt, *written.encode(), IM_END)


async def test_a_call_that_was_never_answered_leaves_a_history_that_is_served() -> None:
    history = [*HI, {"role": "assistant", "content": None, "tool_calls": [call("c")]}, *HI]
    await rig("Hi").chat(tools=[WEATHER], messages=history)


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"tools": [NOW], "tool_choice": WEATHER}, "invalid_request_error", "tool_choice"),
        ({"tools": [NOW], "tool_choice": {"type": "function"}}, "invalid_request_error", "tool_choice"),
        ({"tools": [WEATHER, NOW, WEATHER]}, "invalid_request_error", "tools[2].function.name"),
        ({"tools": [WEATHER, WEATHER], "tool_choice": "none"}, "invalid_request_error", "tools[1].function.name"),
    ],
)
async def test_what_cannot_be_kept_is_refused_by_name(fields: dict[str, Any], code: str, param: str) -> None:
    assert await rig("Hi").refusal(**fields) == (400, code, param)


async def test_a_model_that_cannot_be_told_of_tools_or_whose_calls_are_unknown_refuses_them() -> None:
    assert await Rig().refusal(tools=[WEATHER]) == (400, "unsupported_value", "tools")
    unknown = "{{ tools }}{{ messages[0].content }}"
    assert await rig("Hi", template=unknown).refusal(tools=[WEATHER]) == (400, "unsupported_value", "tools")


async def test_the_configured_dialect_wins_over_the_template() -> None:
    text = '{"name": "weather", "parameters": {"city": "Bonn"}}'
    body = await rig(text, dialect="llama3").chat(tools=[WEATHER])
    assert body["choices"][0]["finish_reason"] == "tool_calls"
    body = await rig("<think>a</think>b", dialect="none").chat()
    assert body["choices"][0]["message"]["content"] == "<think>a</think>b"


async def test_counting_tokens_counts_the_tools() -> None:
    asked = rig("Hi")
    body = {"messages": HI, "tools": [WEATHER]}
    counted = (await asked.answer("POST", "/v1/tokenize", body)).json()["count"]
    assert counted == (await asked.answer("POST", CHAT, body)).json()["usage"]["prompt_tokens"]


def call(call_id: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": "weather", "arguments": '{"city": "Bonn"}'}}


def result(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "rain"}


def prompt_of(submission: Any) -> str:
    return bytes(token for token in submission.prompt if token < 256).decode()
