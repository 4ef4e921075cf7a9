"""One conversation over every route: the same call, the same reuse, the same refusal."""

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest

from tests.e2e.server import Server
from tests.fakes.response_reader import read_response

SCHEMA = {
    "type": "object",
    "properties": {
        "place": {
            "type": "object",
            "properties": {"city": {"type": "string", "maxLength": 12}, "zone": {"enum": ["north", "south"]}},
            "required": ["city", "zone"],
            "additionalProperties": False,
        },
        "days": {"type": "integer", "minimum": 1, "maximum": 9},
    },
    "required": ["place", "days"],
    "additionalProperties": False,
}
FUNCTION = {"name": "weather", "description": "The weather of a place", "parameters": SCHEMA}
ASKED = "Will it rain in Oslo?"
DRAW: dict[str, Any] = {"temperature": 0.8, "extra_body": {"seed": 3}}


@pytest.fixture
def sdk(server: Server) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=server.base_url, api_key="unused", max_retries=0) as opened:
        yield opened


def over_socket(sdk: openai.OpenAI, **fields: Any) -> list[dict[str, Any]]:
    """All events of one response."""
    with sdk.responses.connect() as connection:
        connection.send_raw(json.dumps({"type": "response.create", **fields}))
        events = []
        while True:
            events.append(connection.recv().to_dict(mode="json"))
            if "response" in events[-1] and events[-1]["response"]["status"] not in ("queued", "in_progress"):
                return events


def arguments_of(events: list[dict[str, Any]]) -> list[str]:
    return [event["delta"] for event in events if event["type"] == "response.function_call_arguments.delta"]


@pytest.mark.filterwarnings("ignore:connect.. must be used as a context manager:DeprecationWarning")
def test_a_forced_call_is_one_text_over_chat_responses_and_a_socket(sdk: openai.OpenAI) -> None:
    chat = sdk.chat.completions.create(
        model="",
        messages=[{"role": "user", "content": ASKED}],
        tools=[{"type": "function", "function": FUNCTION}],  # type: ignore[list-item]
        tool_choice="required",
        parallel_tool_calls=False,
        max_tokens=200,
        stream=True,
        **DRAW,
    )
    over_chat = [
        call.function.arguments or ""
        for chunk in chat
        for choice in chunk.choices
        for call in choice.delta.tool_calls or ()
        if call.function is not None
    ]
    fields: Any = {
        "model": "",
        "input": ASKED,
        "tools": [{"type": "function", **FUNCTION}],
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "max_output_tokens": 200,
    }
    over_http = [event.to_dict(mode="json") for event in sdk.responses.create(**fields, **DRAW, stream=True)]
    on_socket = over_socket(sdk, **fields, temperature=0.8, seed=3)
    texts = {"".join(pieces) for pieces in (over_chat, arguments_of(over_http), arguments_of(on_socket))}
    assert len(texts) == 1
    assert set(json.loads(texts.pop())) == {"place", "days"}
    for events in (over_http, on_socket):
        # Only what is new is sent, and the last event holds what the deltas said: the reader asserts both.
        response = read_response(events)
        pieces = arguments_of(events)
        assert len(pieces) > 1
        assert sum(map(len, pieces)) == len(response["output"][0]["arguments"])


@pytest.mark.filterwarnings("ignore:connect.. must be used as a context manager:DeprecationWarning")
def test_what_a_chat_has_read_is_found_by_responses_over_http_and_a_socket(sdk: openai.OpenAI) -> None:
    story = "Routes share what they have read of hens and foxes. " * 20
    messages: Any = [{"role": "user", "content": story}]
    list(sdk.chat.completions.create(model="", messages=messages, max_tokens=4, temperature=0, stream=True))
    again = sdk.chat.completions.create(model="", messages=messages, max_tokens=4, temperature=0).usage
    whole = sdk.responses.create(model="", input=story, max_output_tokens=4, temperature=0).usage
    on_socket = over_socket(sdk, input=story, max_output_tokens=4, temperature=0)[-1]["response"]["usage"]
    assert again is not None and again.prompt_tokens_details is not None and whole is not None
    cached = again.prompt_tokens_details.cached_tokens
    assert cached is not None and cached > again.prompt_tokens - 64
    assert whole.input_tokens_details.cached_tokens == on_socket["input_tokens_details"]["cached_tokens"] == cached


@pytest.mark.filterwarnings("ignore:connect.. must be used as a context manager:DeprecationWarning")
def test_a_prompt_that_is_too_long_is_one_error_on_every_route(sdk: openai.OpenAI, server: Server) -> None:
    text = "word " * 40_000
    with pytest.raises(openai.BadRequestError) as over_chat:
        sdk.chat.completions.create(model="", messages=[{"role": "user", "content": text}])
    with pytest.raises(openai.BadRequestError) as over_http:
        sdk.responses.create(model="", input=text)
    with pytest.raises(openai.BadRequestError) as over_stream:
        sdk.responses.create(model="", input=text, stream=True, truncation="auto")
    with sdk.responses.connect() as connection:
        connection.send_raw(json.dumps({"type": "response.create", "input": text}))
        on_socket = connection.recv().to_dict(mode="json")
    codes = [caught.value.code for caught in (over_chat, over_http, over_stream)]
    assert [*codes, on_socket["error"]["code"]] == ["context_length_exceeded"] * 4
