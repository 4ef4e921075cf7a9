"""Tools on the default model, whose own template knows none: told in its words, called, and gone on from."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.server import Server

PLACE = {"type": "object", "properties": {"city": {"enum": ["Paris", "Köln"]}}, "required": ["city"]}
DAYS = {"type": "integer", "minimum": 1, "maximum": 9}
SCHEMA = {"type": "object", "properties": {"place": PLACE, "days": DAYS}, "required": ["place", "days"]}
TOOL = {"type": "function", "function": {"name": "weather", "description": "The weather", "parameters": SCHEMA}}
NAMED = {"type": "function", "function": {"name": "weather"}}
ASKED: dict[str, Any] = {
    "messages": [
        {"role": "system", "content": "You know the weather of every city, and you say it in few words."},
        {"role": "user", "content": "What is the weather in Paris, for two days?"},
    ],
    "tools": [TOOL],
    "temperature": 0,
    "max_tokens": 200,
}


def chat(server: Server, **fields: Any) -> Any:
    return server.client.json("POST", "/v1/chat/completions", {**ASKED, **fields})


def test_tools_are_told_and_do_not_force_a_call(server: Server) -> None:
    with_tools = chat(server)
    without = chat(server, tools=None)
    assert with_tools["usage"]["prompt_tokens"] > without["usage"]["prompt_tokens"] + 150
    assert with_tools["choices"][0]["finish_reason"] in ("stop", "tool_calls", "length")


def test_a_call_and_its_result_are_found_in_the_cache_when_the_conversation_goes_on(server: Server) -> None:
    made = chat(server, tool_choice=NAMED)
    message = made["choices"][0]["message"]
    (call,) = message["tool_calls"]
    told = [*ASKED["messages"], message, {"role": "tool", "tool_call_id": call["id"], "content": "rain, then sun"}]
    after = chat(server, messages=told, max_tokens=16)
    # Into the call. Text comes back as text: where a model cut it into other tokens than a tokenizer would, reuse ends.
    drawn = made["usage"]["completion_tokens"]
    cached = after["usage"]["prompt_tokens_details"]["cached_tokens"]
    assert cached > made["usage"]["prompt_tokens"] + drawn // 2
    again = chat(server, messages=told, max_tokens=16)
    assert again["choices"][0]["message"]["content"] == after["choices"][0]["message"]["content"]


def chat_pieces(server: Server) -> Iterator[str]:
    for event in server.client.events({**ASKED, "tool_choice": NAMED, "stream": True}):
        for choice in event["choices"] if isinstance(event, dict) else ():
            for call in choice["delta"].get("tool_calls", ()):
                yield call["function"]["arguments"]


def response_pieces(server: Server) -> Iterator[str]:
    flat = {"type": "function", **TOOL["function"], "strict": False}  # type: ignore[dict-item]
    body = {
        "input": ASKED["messages"],
        "tools": [flat],
        "tool_choice": {"type": "function", "name": "weather"},
        "temperature": 0,
        "max_output_tokens": 200,
        "stream": True,
    }
    for event in events_of(server, "/v1/responses", body):
        if event["type"] == "response.function_call_arguments.delta":
            yield event["delta"]


def message_pieces(server: Server) -> Iterator[str]:
    system, user = ASKED["messages"]
    body = {
        "system": system["content"],
        "messages": [user],
        "tools": [{"name": "weather", "description": "The weather", "input_schema": SCHEMA}],
        "tool_choice": {"type": "tool", "name": "weather"},
        "temperature": 0,
        "max_tokens": 200,
        "stream": True,
    }
    for event in events_of(server, "/v1/messages", body):
        if event["type"] == "content_block_delta" and event["delta"]["type"] == "input_json_delta":
            yield event["delta"]["partial_json"]


def events_of(server: Server, path: str, body: Any) -> list[Any]:
    status, _, content = server.client.request("POST", path, json.dumps(body).encode())
    assert status == 200, content
    return [json.loads(line[6:]) for line in content.decode().splitlines() if line.startswith("data: {")]


@pytest.mark.parametrize("pieces", [response_pieces, message_pieces])
def test_the_pieces_of_a_call_join_to_the_same_arguments_on_every_route(server: Server, pieces: Any) -> None:
    whole = chat(server, tool_choice=NAMED)["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(whole)["place"]["city"] in ("Paris", "Köln")
    for stream in (chat_pieces(server), pieces(server)):
        parts = list(stream)
        assert "".join(parts) == whole
        assert len([part for part in parts if part]) > 3
        assert sum(map(len, parts)) == len(whole)
