"""The Anthropic Python SDK against the running server: what a user's program does."""

import contextlib
import json
import threading
from collections.abc import Iterator
from typing import Any

import anthropic
import pydantic
import pytest

from tests.e2e.conftest import ANSWER
from tests.e2e.server import Server

PARIS: Any = [{"role": "user", "content": "What is the capital of France?"}]
RAIN: Any = [{"role": "user", "content": "Will it rain in Köln?"}]
GREEDY = {"temperature": 0}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
TOOLS: Any = [
    {"name": "weather", "description": "The weather of a city", "input_schema": SCHEMA},
    {"name": "now", "input_schema": {"type": "object"}},
]
INPUT = {"city": "Köln", "days": 2}


def client(server: Server, **options: Any) -> anthropic.Anthropic:
    settings = {"api_key": "unused", "max_retries": 0, **options}
    return anthropic.Anthropic(base_url=server.base_url.removesuffix("/v1"), **settings)


@pytest.fixture
def sdk(server: Server) -> Iterator[anthropic.Anthropic]:
    with client(server) as opened:
        yield opened


@pytest.fixture
def agent(agent_server: Server) -> Iterator[anthropic.Anthropic]:
    with client(agent_server) as opened:
        yield opened


def text_of(message: Any) -> str:
    return "".join(block.text for block in message.content if block.type == "text")


def test_the_capital_of_france_is_streamed(sdk: anthropic.Anthropic) -> None:
    with sdk.messages.stream(model="", max_tokens=40, messages=PARIS, extra_body=GREEDY) as stream:
        pieces = list(stream.text_stream)
        message = stream.get_final_message()
    assert len(pieces) > 3
    assert "".join(pieces) == text_of(message)
    assert "Paris" in text_of(message)
    assert (message.stop_reason, message.stop_sequence) == ("end_turn", None)
    assert message.usage.output_tokens > 3


def test_stream_and_non_stream_say_the_same(sdk: anthropic.Anthropic) -> None:
    fields: Any = {"model": "", "max_tokens": 40, "messages": PARIS, "extra_body": {"temperature": 0.8, "seed": 5}}
    whole = sdk.messages.create(**fields)
    with sdk.messages.stream(**fields) as stream:
        gathered = stream.get_final_message()
    assert text_of(gathered) == text_of(whole) != ""
    assert gathered.stop_reason == whole.stop_reason
    assert gathered.usage.output_tokens == whole.usage.output_tokens


def test_it_says_what_chat_completions_say(server: Server, sdk: anthropic.Anthropic) -> None:
    system = "Answer in one word."
    fields = {"temperature": 0.7, "seed": 11}
    ours = sdk.messages.create(model="", max_tokens=30, system=system, messages=PARIS, extra_body=fields)
    theirs = server.client.chat(messages=[{"role": "system", "content": system}, *PARIS], max_tokens=30, **fields)
    assert text_of(ours) == theirs.text


def test_a_second_turn_finds_the_first_in_the_cache(sdk: anthropic.Anthropic) -> None:
    first = sdk.messages.create(model="", max_tokens=30, system="x " * 300, messages=PARIS, extra_body=GREEDY)
    history: Any = [*PARIS, first.to_param(), {"role": "user", "content": "And of Italy?"}]
    second = sdk.messages.create(model="", max_tokens=8, system="x " * 300, messages=history)
    usage = second.usage
    assert usage.cache_read_input_tokens is not None and usage.cache_read_input_tokens > 300
    count = sdk.messages.count_tokens(model="", system="x " * 300, messages=history)
    assert count.input_tokens == usage.input_tokens + usage.cache_read_input_tokens


def test_a_prompt_that_was_read_ahead_is_found(sdk: anthropic.Anthropic) -> None:
    fields: Any = {"model": "", "system": "Read ahead. " * 100, "messages": PARIS}
    ahead = sdk.messages.create(max_tokens=0, **fields)
    assert (ahead.content, ahead.stop_reason, ahead.usage.output_tokens) == ([], "max_tokens", 0)
    after = sdk.messages.create(max_tokens=4, **fields)
    assert (after.usage.cache_read_input_tokens or 0) > 300


def test_reuse_is_the_same_whichever_route_came_first(server: Server, sdk: anthropic.Anthropic) -> None:
    for first, second in (("chat", "messages"), ("messages", "chat")):
        system = f"{first} came first. " * 100

        def cached(route: str, system: str = system) -> int:
            if route == "messages":
                fields: Any = {"system": system, "messages": PARIS, "extra_body": GREEDY}
                return sdk.messages.create(model="", max_tokens=4, **fields).usage.cache_read_input_tokens or 0
            body = {"messages": [{"role": "system", "content": system}, *PARIS], "max_tokens": 4, **GREEDY}
            answer = server.client.json("POST", "/v1/chat/completions", body)
            return int(answer["usage"]["prompt_tokens_details"]["cached_tokens"])

        assert cached(first) < 100
        assert cached(second) == cached(first) > 300


def test_models_are_listed_in_their_shape(sdk: anthropic.Anthropic) -> None:
    (model,) = list(sdk.models.list())
    assert (model.type, model.display_name) == ("model", model.id)
    assert sdk.models.retrieve(model.id).created_at.year >= 2024
    with pytest.raises(anthropic.NotFoundError):
        sdk.models.retrieve("claude-opus-5-5")


def test_an_answer_goes_on_with_its_own_beginning(sdk: anthropic.Anthropic) -> None:
    fields: Any = {"model": "", "max_tokens": 40, "extra_body": GREEDY}
    full = text_of(sdk.messages.create(messages=PARIS, **fields))
    begun = full[: full.index("Paris") - 1]
    history: Any = [*PARIS, {"role": "assistant", "content": begun}]
    assert begun + text_of(sdk.messages.create(messages=history, **fields)) == full


def test_the_cap_and_a_stop_sequence_are_told_apart(sdk: anthropic.Anthropic) -> None:
    fields: Any = {"model": "", "messages": PARIS, "extra_body": GREEDY}
    full = text_of(sdk.messages.create(max_tokens=30, **fields))
    capped = sdk.messages.create(max_tokens=3, **fields)
    assert (capped.stop_reason, capped.usage.output_tokens) == ("max_tokens", 3)
    stop = full[5:12]
    stopped = sdk.messages.create(max_tokens=30, stop_sequences=["no such words", stop], **fields)
    assert (stopped.stop_reason, stopped.stop_sequence) == ("stop_sequence", stop)
    assert text_of(stopped) == full[: full.index(stop)]
    with sdk.messages.stream(max_tokens=30, stop_sequences=[stop], **fields) as stream:
        gathered = stream.get_final_message()
    assert (gathered.stop_sequence, text_of(gathered)) == (stop, text_of(stopped))


def test_a_cap_beyond_the_context_is_cut(sdk: anthropic.Anthropic) -> None:
    with sdk.messages.stream(model="", max_tokens=64_000, messages=PARIS, extra_body=GREEDY) as stream:
        assert stream.get_final_message().stop_reason == "end_turn"


def test_a_tool_is_called_and_its_result_answered(agent: anthropic.Anthropic) -> None:
    first = agent.messages.create(model="", max_tokens=200, tools=TOOLS, messages=RAIN)
    (call,) = first.content
    assert call.type == "tool_use" and (call.name, call.input) == ("weather", INPUT)
    assert first.stop_reason == "tool_use"
    result: Any = {"type": "tool_result", "tool_use_id": call.id, "content": [{"type": "text", "text": "rain"}]}
    history: Any = [*RAIN, first.to_param(), {"role": "user", "content": [result]}]
    second = agent.messages.create(model="", max_tokens=200, tools=TOOLS, messages=history)
    assert (text_of(second), second.stop_reason) == (ANSWER, "end_turn")
    # All of the first prompt; the pieces that this model writes are no tokens of any prompt.
    prompt = first.usage.input_tokens + (first.usage.cache_read_input_tokens or 0)
    assert (second.usage.cache_read_input_tokens or 0) >= prompt


def test_a_streamed_call_has_the_same_input_piece_by_piece(agent: anthropic.Anthropic) -> None:
    pieces, snapshots = [], []
    with agent.messages.stream(model="", max_tokens=200, tools=TOOLS, messages=RAIN) as stream:
        for event in stream:
            if event.type == "input_json":
                pieces.append(event.partial_json)
                snapshots.append(event.snapshot)
        message = stream.get_final_message()
    assert len(pieces) > 2
    assert json.loads("".join(pieces)) == INPUT == snapshots[-1]
    assert message.content[0].type == "tool_use" and message.content[0].input == INPUT
    assert message.stop_reason == "tool_use"


def test_the_tool_runner_goes_through_a_whole_turn(agent: anthropic.Anthropic) -> None:
    seen = []

    @anthropic.beta_tool
    def weather(city: str, days: int) -> str:
        """The weather of a city."""
        seen.append((city, days))
        return "rain"

    runner = agent.beta.messages.tool_runner(model="", max_tokens=200, tools=[weather], messages=RAIN)
    last = runner.until_done()
    assert seen == [("Köln", 2)]
    assert text_of(last) == ANSWER


def test_without_tools_or_with_the_choice_none_nothing_is_called(agent: anthropic.Anthropic) -> None:
    plain = agent.messages.create(model="", max_tokens=200, messages=RAIN)
    assert (text_of(plain), plain.stop_reason) == (ANSWER, "end_turn")
    none = agent.messages.create(model="", max_tokens=200, messages=RAIN, tools=TOOLS, tool_choice={"type": "none"})
    assert (none.content, none.usage.output_tokens) == (plain.content, plain.usage.output_tokens)


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "weather"}])
def test_a_forced_call_is_one_by_construction(sdk: anthropic.Anthropic, choice: Any) -> None:
    # This model would never call anything by itself.
    needed = {**SCHEMA, "required": ["city", "days"], "additionalProperties": False}
    tools: Any = [{**TOOLS[0], "input_schema": needed}]
    fields: Any = {"model": "", "max_tokens": 300, "tools": tools, "tool_choice": choice, "messages": RAIN}
    fields["extra_body"] = {"temperature": 1, "seed": 4}
    whole = sdk.messages.create(**fields)
    assert whole.stop_reason == "tool_use"
    for call in whole.content:
        assert call.type == "tool_use" and call.name == "weather"
        assert set(call.input) == {"city", "days"} and isinstance(call.input["days"], int)
    with sdk.messages.stream(**fields) as stream:
        gathered = stream.get_final_message()
    inputs = [block.input for block in gathered.content if block.type == "tool_use"]
    assert inputs == [block.input for block in whole.content if block.type == "tool_use"]


class Animal(pydantic.BaseModel):
    name: str
    legs: int


def test_an_answer_is_held_to_a_pydantic_model(sdk: anthropic.Anthropic) -> None:
    fields: Any = {"model": "", "max_tokens": 200, "messages": [{"role": "user", "content": "Name an animal."}]}
    fields["extra_body"] = {"temperature": 1, "seed": 2}
    parsed = sdk.messages.parse(output_format=Animal, **fields)
    assert parsed.stop_reason == "end_turn"
    assert isinstance(parsed.parsed_output, Animal)
    with sdk.messages.stream(output_format=Animal, **fields) as stream:
        assert stream.get_final_message().parsed_output == parsed.parsed_output


@pytest.mark.parametrize(
    ("fields", "kind", "param"),
    [
        ({"max_tokens": -1}, anthropic.BadRequestError, "max_tokens"),
        ({"messages": []}, anthropic.BadRequestError, "messages"),
        ({"extra_body": {"temperature": 3}}, anthropic.BadRequestError, "temperature"),
        ({"stop_sequences": [""]}, anthropic.BadRequestError, "stop_sequences[0]"),
        ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, anthropic.BadRequestError, "thinking"),
        ({"model": "claude-opus-5-5"}, anthropic.NotFoundError, "model"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "x"}}]}]},
            anthropic.BadRequestError,
            "messages[0].content[0].type",
        ),
        ({"messages": [{"role": "user", "content": "x " * 20_000}]}, anthropic.BadRequestError, "messages"),
    ],
)
def test_a_refusal_is_of_its_class_and_names_its_field(
    sdk: anthropic.Anthropic, fields: Any, kind: type[anthropic.APIStatusError], param: str
) -> None:
    for is_stream in (False, True):
        with pytest.raises(kind) as caught:
            sdk.messages.create(**{"model": "", "max_tokens": 8, "messages": PARIS, "stream": is_stream, **fields})
        error = caught.value
        assert error.body["error"]["details"]["param"] == param  # type: ignore[index]
        assert error.request_id and error.request_id == error.body["request_id"]  # type: ignore[index]
        assert error.type == ("not_found_error" if kind is anthropic.NotFoundError else "invalid_request_error")


def test_a_refusal_is_not_tried_again(server: Server) -> None:
    before = server.metric("ignis_http_requests_total", status="4xx")
    with client(server, max_retries=2) as patient, pytest.raises(anthropic.BadRequestError):
        patient.messages.create(model="", max_tokens=8, messages=[])
    # It is counted a moment after it is answered.
    server.wait_metric("ignis_http_requests_total", before + 1, status="4xx")


def test_a_full_engine_is_overloaded_until_a_lane_is_free(server: Server, sdk: anthropic.Anthropic) -> None:
    endless: Any = {"model": "", "max_tokens": 2000, "messages": PARIS, "extra_body": {"ignore_eos": True}}
    with contextlib.ExitStack() as opened:
        for _ in range(8):
            stream = opened.enter_context(sdk.messages.stream(**endless))
            next(iter(stream.text_stream))
        with pytest.raises(anthropic.ServiceUnavailableError) as caught:
            sdk.messages.create(model="", max_tokens=4, messages=PARIS)
        assert caught.value.type == "overloaded_error"
        assert int(caught.value.response.headers["retry-after"]) >= 1
    with client(server, max_retries=5) as patient:
        assert patient.messages.create(model="", max_tokens=4, messages=PARIS).usage.output_tokens == 4


def test_the_key_is_taken_from_either_header(start_server: Any) -> None:
    with start_server("--server-api-key", "sk-right") as running:
        for options in ({"api_key": "sk-right"}, {"api_key": None, "auth_token": "sk-right"}):
            with client(running, **options) as sdk:
                assert sdk.messages.count_tokens(model="", messages=PARIS).input_tokens
        with client(running, api_key="sk-wrong") as sdk, pytest.raises(anthropic.AuthenticationError) as caught:
            sdk.messages.create(model="", max_tokens=8, messages=PARIS)
        assert caught.value.type == "authentication_error"


def test_a_stream_that_is_left_frees_its_lane(server: Server, sdk: anthropic.Anthropic) -> None:
    endless = {"ignore_eos": True}
    with sdk.messages.stream(model="", max_tokens=4000, messages=PARIS, extra_body=endless) as stream:
        next(iter(stream.text_stream))
    server.wait_metric("ignis_scheduler_requests", 0, state="running")


def test_a_whole_answer_that_nobody_waits_for_frees_its_lane(server: Server) -> None:
    with client(server, timeout=0.5) as hasty, pytest.raises(anthropic.APITimeoutError):
        hasty.messages.create(model="", max_tokens=4000, messages=PARIS, extra_body={"ignore_eos": True})
    server.wait_metric("ignis_scheduler_requests", 0, state="running")


def test_eight_at_once_say_what_one_says_alone(sdk: anthropic.Anthropic) -> None:
    fields: Any = {"model": "", "max_tokens": 24, "messages": PARIS, "extra_body": {"temperature": 1, "seed": 3}}
    alone = text_of(sdk.messages.create(**fields))
    texts: list[str] = []

    def ask() -> None:
        with sdk.messages.stream(**fields) as stream:
            texts.append(text_of(stream.get_final_message()))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == [alone] * 8
