"""The OpenAI Python SDK over Responses against the running server, HTTP and WebSocket: what a user's program does."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import openai
import pydantic
import pytest
from openai.types.responses import Response
from websockets.exceptions import ConnectionClosed

from tests.e2e.conftest import ANSWER
from tests.e2e.server import Server
from tests.fakes.response_reader import ResponseReader, read_response, without_ids

# Of how the SDK opens its sockets, which is not ours to mend.
pytestmark = pytest.mark.filterwarnings("ignore:connect.. must be used as a context manager:DeprecationWarning")

PARIS = "What is the capital of France?"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
WEATHER: Any = {"type": "function", "name": "weather", "description": "The weather of a city", "parameters": SCHEMA}
ARGUMENTS = {"city": "Köln", "days": 2}
PAGE_TOKENS = 64


class City(pydantic.BaseModel):
    name: str
    inhabitants: int


def client(server: Server) -> openai.OpenAI:
    return openai.OpenAI(base_url=server.base_url, api_key="unused", max_retries=0)


@pytest.fixture
def sdk(server: Server) -> Iterator[openai.OpenAI]:
    with client(server) as opened:
        yield opened


@pytest.fixture
def agent(agent_server: Server) -> Iterator[openai.OpenAI]:
    with client(agent_server) as opened:
        yield opened


def test_the_capital_of_france_is_answered(sdk: openai.OpenAI) -> None:
    response = sdk.responses.create(model="", input=PARIS, temperature=0)
    assert "Paris" in response.output_text
    assert response.status == "completed" and response.error is None
    assert response.usage is not None and response.usage.output_tokens > 3


def test_the_stream_helper_puts_together_what_the_whole_answer_is(sdk: openai.OpenAI) -> None:
    fields: Any = {"model": "", "input": PARIS, "temperature": 0.8, "max_output_tokens": 40, "extra_body": {"seed": 5}}
    with sdk.responses.stream(**fields) as stream:
        pieces = [event.delta for event in stream if event.type == "response.output_text.delta"]
        gathered = stream._state._completed_response
    whole = sdk.responses.create(**fields)
    text = "".join(pieces)
    assert len(pieces) > 3
    assert text == whole.output_text
    if whole.status == "completed":
        assert gathered is not None and gathered.output_text == text


def test_events_are_in_order_and_their_last_one_is_the_whole_answer(sdk: openai.OpenAI) -> None:
    fields: Any = {
        "model": "",
        "input": PARIS,
        "temperature": 0.8,
        "max_output_tokens": 30,
        "include": ["message.output_text.logprobs"],
        "top_logprobs": 3,
        "extra_body": {"seed": 7},
    }
    events = [event.to_dict(mode="json") for event in sdk.responses.create(**fields, stream=True)]
    streamed = read_response(events)
    whole = sdk.responses.create(**fields).to_dict(mode="json")
    assert without_ids(streamed) == without_ids(whole)
    part = streamed["output"][0]["content"][0]
    assert "".join(entry["token"] for entry in part["logprobs"]) == part["text"]


def test_it_says_what_chat_completions_say(server: Server, sdk: openai.OpenAI) -> None:
    fields = {"temperature": 0.7, "seed": 11}
    system = "Answer in one word."
    ours = sdk.responses.create(model="", instructions=system, input=PARIS, max_output_tokens=30, extra_body=fields)
    messages = [{"role": "system", "content": system}, {"role": "user", "content": PARIS}]
    theirs = server.client.chat(messages=messages, max_tokens=30, **fields)
    assert ours.output_text == theirs.text


def test_the_cap_leaves_it_incomplete(sdk: openai.OpenAI) -> None:
    response = sdk.responses.create(model="", input=PARIS, temperature=0, max_output_tokens=3)
    assert response.status == "incomplete"
    assert response.incomplete_details is not None and response.incomplete_details.reason == "max_output_tokens"
    assert response.usage is not None and response.usage.output_tokens == 3


def test_a_second_turn_finds_the_first_and_its_answer_in_the_cache(sdk: openai.OpenAI) -> None:
    story = "Tell me a long story of a fox and a hen. " * 8
    first = sdk.responses.create(model="", input=story, temperature=0, max_output_tokens=200)
    second = sdk.responses.create(
        model="", input="And then?", previous_response_id=first.id, temperature=0, max_output_tokens=4
    )
    assert first.usage is not None and second.usage is not None
    # All but the last page, which the first turn did not fill.
    known = first.usage.input_tokens + first.usage.output_tokens - 1
    cached = second.usage.input_tokens_details.cached_tokens
    assert first.usage.output_tokens > PAGE_TOKENS
    assert known - PAGE_TOKENS < cached <= known
    # Sent again by the client, the conversation is the same prompt.
    history: Any = [{"role": "user", "content": story}, *[item.to_dict() for item in first.output]]
    again = sdk.responses.create(
        model="", input=[*history, {"role": "user", "content": "And then?"}], temperature=0, max_output_tokens=4
    )
    assert again.usage is not None and again.usage.input_tokens == second.usage.input_tokens
    assert again.output_text == second.output_text


def test_a_tool_is_called_and_its_result_leads_to_an_answer(agent: openai.OpenAI) -> None:
    first = agent.responses.create(model="", input="Will it rain in Köln?", tools=[WEATHER])
    (call,) = first.output
    assert call.type == "function_call"
    assert (call.name, json.loads(call.arguments), call.status) == ("weather", ARGUMENTS, "completed")
    output: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "rain"}
    second = agent.responses.create(model="", input=[output], previous_response_id=first.id, tools=[WEATHER])
    assert second.output_text == ANSWER
    # A client that keeps the conversation itself.
    history: Any = [{"role": "user", "content": "Will it rain in Köln?"}, call.to_dict(), output]
    alone = agent.responses.create(model="", input=history, tools=[WEATHER], store=False)
    assert alone.output_text == ANSWER


def test_a_call_is_streamed_in_pieces_that_make_its_arguments(agent: openai.OpenAI) -> None:
    events = list(agent.responses.create(model="", input="Rain?", tools=[WEATHER], stream=True))
    deltas = [event.delta for event in events if event.type == "response.function_call_arguments.delta"]
    assert len(deltas) > 1
    assert json.loads("".join(deltas)) == ARGUMENTS
    response = read_response(event.to_dict(mode="json") for event in events)
    assert response["output"][0]["arguments"] == "".join(deltas)


def test_a_strict_tool_of_the_sdk_is_parsed(sdk: openai.OpenAI) -> None:
    tool: Any = openai.pydantic_function_tool(City, name="city")["function"]
    with sdk.responses.stream(
        model="",
        input="Tell me of Paris.",
        tools=[{"type": "function", **tool}],
        tool_choice="required",
        parallel_tool_calls=False,
        temperature=0,
        max_output_tokens=300,
    ) as stream:
        response = stream.get_final_response()
    (call,) = [item for item in response.output if item.type == "function_call"]
    assert call.name == "city"
    assert City.model_validate(call.parsed_arguments)


def test_the_text_is_held_to_a_model_of_pydantic(sdk: openai.OpenAI) -> None:
    parsed = sdk.responses.parse(
        model="", input="Tell me of Paris as JSON.", text_format=City, temperature=0, max_output_tokens=200
    )
    assert parsed.status == "completed"
    assert isinstance(parsed.output_parsed, City)
    with sdk.responses.stream(
        model="", input="Tell me of Paris as JSON.", text_format=City, temperature=0, max_output_tokens=200
    ) as stream:
        assert stream.get_final_response().output_parsed == parsed.output_parsed


def test_text_that_the_cap_cuts_is_not_passed_off_as_whole(sdk: openai.OpenAI) -> None:
    form: Any = {"format": {"type": "json_object"}}
    response = sdk.responses.create(model="", input="A JSON object, please.", text=form, max_output_tokens=3)
    assert response.status == "incomplete"


@pytest.mark.parametrize("choice", ["required", {"type": "function", "name": "weather"}])
def test_a_call_is_forced_from_a_model_that_would_not_make_it(sdk: openai.OpenAI, choice: Any) -> None:
    response = sdk.responses.create(
        model="",
        input="Say hello.",
        tools=[WEATHER],
        tool_choice=choice,
        temperature=0,
        max_output_tokens=300,
        parallel_tool_calls=False,
    )
    (call,) = [item for item in response.output if item.type == "function_call"]
    assert call.name == "weather"
    if call.status == "completed":
        assert set(json.loads(call.arguments)) <= {"city", "days"}
    else:
        assert response.status == "incomplete"


def test_what_is_kept_is_retrieved_listed_and_deleted(sdk: openai.OpenAI) -> None:
    made = sdk.responses.create(model="", input=PARIS, temperature=0, max_output_tokens=5, metadata={"a": "b"})
    found = sdk.responses.retrieve(made.id)
    assert isinstance(found, Response)
    assert (found.output_text, found.metadata) == (made.output_text, {"a": "b"})
    items = list(sdk.responses.input_items.list(made.id))
    assert [item.to_dict()["content"] for item in items] == [[{"type": "input_text", "text": PARIS}]]
    sdk.responses.delete(made.id)
    with pytest.raises(openai.NotFoundError) as caught:
        sdk.responses.retrieve(made.id)
    assert caught.value.body["code"] == "response_not_found"  # type: ignore[index]


def test_input_tokens_are_counted_as_they_are_used(sdk: openai.OpenAI) -> None:
    counted = sdk.responses.input_tokens.count(model="", input=PARIS, instructions="Be brief.")
    used = sdk.responses.create(model="", input=PARIS, instructions="Be brief.", max_output_tokens=1).usage
    assert used is not None and counted.input_tokens == used.input_tokens


def test_a_running_response_is_cancelled_by_its_id(server: Server, sdk: openai.OpenAI) -> None:
    stream = sdk.responses.create(
        model="", input=PARIS, stream=True, max_output_tokens=4000, extra_body={"ignore_eos": True}
    )
    reader = ResponseReader()
    for event in stream:
        reader.read(event.to_dict(mode="json"))
        if len(reader.names) == 8:
            canceller = threading.Thread(target=sdk.responses.cancel, args=(reader.created["id"],))
            canceller.start()
    canceller.join(10)
    assert reader.names[-1] == "response.incomplete"
    assert reader.response["status"] == "cancelled"
    assert reader.response["output"][0]["content"][0]["text"] != ""
    server.wait_metric("ignis_scheduler_requests", 0, state="running")


@pytest.mark.parametrize(
    ("fields", "kind", "param"),
    [
        ({"temperature": 2.5}, openai.BadRequestError, "temperature"),
        ({"background": True}, openai.BadRequestError, "background"),
        ({"tools": [{"type": "file_search", "vector_store_ids": ["a"]}]}, openai.BadRequestError, "tools"),
        ({"previous_response_id": "resp_0"}, openai.BadRequestError, "previous_response_id"),
        ({"max_output_tokens": 100_000}, openai.BadRequestError, "max_output_tokens"),
        ({"conversation": "conv_1"}, openai.BadRequestError, "conversation"),
        ({"model": "another"}, openai.NotFoundError, "model"),
    ],
)
def test_a_refusal_is_typed_and_names_its_field(
    sdk: openai.OpenAI, fields: dict[str, Any], kind: type[openai.APIStatusError], param: str
) -> None:
    with pytest.raises(kind) as caught:
        sdk.responses.create(**{"model": "", "input": PARIS, **fields})
    assert caught.value.body["param"].split("[")[0] == param  # type: ignore[index]
    assert param in str(caught.value)


# Over a WebSocket


def over_socket(connection: Any, **fields: Any) -> dict[str, Any]:
    connection.response.create(**fields)
    reader = ResponseReader()
    while not reader.has_ended:
        event = connection.recv().to_dict(mode="json")
        event.pop("stream_id", None)
        reader.read(event)
    return reader.response


def test_a_socket_answers_as_http_does(sdk: openai.OpenAI) -> None:
    fields: Any = {"model": "", "input": PARIS, "temperature": 0, "max_output_tokens": 20, "store": False}
    with sdk.responses.connect() as connection:
        told = over_socket(connection, **fields)
    assert without_ids(told) == without_ids(sdk.responses.create(**fields).to_dict(mode="json"))


def test_a_tool_loop_over_a_socket_sends_only_what_is_new(agent: openai.OpenAI) -> None:
    with agent.responses.connect() as connection:
        first = over_socket(connection, model="", input="Rain?", tools=[WEATHER])
        (call,) = first["output"]
        output = {"type": "function_call_output", "call_id": call["call_id"], "output": "rain"}
        second = over_socket(connection, model="", input=[output], previous_response_id=first["id"], tools=[WEATHER])
    assert second["output"][0]["content"][0]["text"] == ANSWER


def test_streams_of_a_socket_run_beside_each_other_and_one_is_cancelled(server: Server, sdk: openai.OpenAI) -> None:
    with sdk.responses.connect() as connection:
        for name in ("a", "b"):
            extra: Any = {"ignore_eos": True} if name == "a" else {}
            connection.send(
                {
                    "type": "response.create",
                    "input": PARIS,
                    "stream_id": name,
                    "temperature": 0,
                    "max_output_tokens": 4000 if name == "a" else 5,
                    **extra,
                }
            )
        readers = {"a": ResponseReader(), "b": ResponseReader()}
        while not all(reader.has_ended for reader in readers.values()):
            event = connection.recv().to_dict(mode="json")
            name = event.pop("stream_id")
            readers[name].read(event)
            if name == "b" and readers["b"].has_ended:
                connection.send({"type": "response.cancel", "stream_id": "a"})
    assert readers["b"].response["status"] == "incomplete"
    assert readers["a"].response["status"] == "cancelled"
    server.wait_metric("ignis_scheduler_requests", 0, state="running")


def test_a_prompt_is_read_ahead_over_a_socket(sdk: openai.OpenAI) -> None:
    fields: Any = {"model": "", "input": "Tell me of foxes and hens. " * 30, "temperature": 0, "max_output_tokens": 4}
    with sdk.responses.connect() as connection:
        warm = over_socket(connection, **fields, generate=False)
        made = over_socket(connection, **fields)
    assert (warm["output"], warm["usage"]["output_tokens"]) == ([], 0)
    num_prompt = warm["usage"]["input_tokens"]
    assert made["usage"]["input_tokens_details"]["cached_tokens"] > num_prompt - PAGE_TOKENS


def test_a_refusal_over_a_socket_leaves_it_open(sdk: openai.OpenAI) -> None:
    with sdk.responses.connect() as connection:
        connection.send({"type": "response.create", "input": PARIS, "temperature": 9})
        error = connection.recv().to_dict(mode="json")
        assert (error["type"], error["status"], error["error"]["param"]) == ("error", 400, "temperature")
        assert over_socket(connection, model="", input=PARIS, max_output_tokens=2)["status"] == "incomplete"


def test_a_socket_waits_for_a_lane_where_http_is_told_to_come_back(start_server: Any) -> None:
    with start_server("--model-decode-lanes", "1") as running, client(running) as sdk:
        endless: Any = {"ignore_eos": True}
        stream = sdk.responses.create(
            model="", input=PARIS, stream=True, max_output_tokens=4000, temperature=0, extra_body=endless
        )
        started = next(iter(stream))
        with pytest.raises(openai.InternalServerError) as caught:
            sdk.responses.create(model="", input=PARIS)
        assert (caught.value.status_code, caught.value.code) == (503, "engine_full")
        assert int(caught.value.response.headers["retry-after"]) > 0
        with sdk.responses.connect() as connection:
            connection.response.create(model="", input=PARIS, max_output_tokens=4)
            reader = ResponseReader()
            for _ in range(2):
                reader.read(connection.recv().to_dict(mode="json"))
            assert reader.names == ["response.created", "response.queued"]
            assert started.type == "response.created"
            sdk.responses.cancel(started.response.id)
            while not reader.has_ended:
                reader.read(connection.recv().to_dict(mode="json"))
        assert reader.response["status"] == "incomplete"
        stream.close()


def test_a_server_that_stops_lets_a_socket_read_its_response_to_the_end(start_server: Any) -> None:
    with start_server() as running, client(running) as sdk, sdk.responses.connect() as connection:
        asked = {"type": "response.create", "input": PARIS, "max_output_tokens": 300, "ignore_eos": True}
        connection.send_raw(json.dumps(asked))
        reader = ResponseReader()
        reader.read(connection.recv().to_dict(mode="json"))
        running.process.terminate()
        while not reader.has_ended:
            reader.read(connection.recv().to_dict(mode="json"))
        assert reader.response["usage"]["output_tokens"] == 300
        with pytest.raises(ConnectionClosed) as caught:
            connection.recv_bytes()
        assert caught.value.rcvd is not None and caught.value.rcvd.code == 1001
        running.process.wait(40)
