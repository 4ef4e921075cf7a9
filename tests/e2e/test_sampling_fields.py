"""Every sampling field on every generation route of the running server: the same request, the same tokens."""

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.e2e.client import Client
from tests.e2e.server import Server

CAP = 16
PARIS = "What is the capital of France?"
YES = "Repeat after me: yes yes yes yes yes yes yes yes"


@dataclass(frozen=True)
class Route:
    """How one route spells what all of them have."""

    path: str
    ask: Callable[[Client, str], dict[str, Any]]
    """The prompt as a part of the body."""
    text: Callable[[Any], str]
    count: Callable[[Any], int]
    """Of drawn tokens."""
    piece: Callable[[Any], str]
    """The text in one event of a stream."""
    cap: str = "max_tokens"
    stop: str = "stop"

    def __str__(self) -> str:
        return self.path


def messages(client: Client, question: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": question}]}


def rendered(client: Client, question: str) -> dict[str, Any]:
    body = client.json("POST", "/v1/tokenize", {**messages(client, question), "return_text": True})
    return {"prompt": body["text"]}


def _delta(event: Any) -> str:
    return "".join(choice["delta"].get("content") or "" for choice in event["choices"])


def _named(kind: str, *path: str) -> Callable[[Any], str]:
    def piece(event: Any) -> str:
        return str(functools.reduce(lambda value, key: value.get(key, {}), path, event) or "") * (event["type"] == kind)

    return piece


CHAT = Route(
    "/v1/chat/completions",
    messages,
    lambda body: body["choices"][0]["message"]["content"],
    lambda body: body["usage"]["completion_tokens"],
    _delta,
    cap="max_completion_tokens",
)
TEXT = Route(
    "/v1/completions",
    rendered,
    lambda body: body["choices"][0]["text"],
    lambda body: body["usage"]["completion_tokens"],
    lambda event: "".join(choice["text"] for choice in event["choices"]),
)
RESPONSES = Route(
    "/v1/responses",
    lambda client, question: {"input": question},
    lambda body: body["output"][0]["content"][0]["text"],
    lambda body: body["usage"]["output_tokens"],
    _named("response.output_text.delta", "delta"),
    cap="max_output_tokens",
)
MESSAGES = Route(
    "/v1/messages",
    messages,
    lambda body: "".join(block["text"] for block in body["content"]),
    lambda body: body["usage"]["output_tokens"],
    _named("content_block_delta", "delta", "text"),
    stop="stop_sequences",
)
ROUTES = (CHAT, TEXT, RESPONSES, MESSAGES)


def body_of(client: Client, route: Route, question: str, fields: dict[str, Any]) -> dict[str, Any]:
    fields = {route.stop if name == "stop" else name: value for name, value in fields.items()}
    return {**route.ask(client, question), route.cap: CAP, **fields}


def answer(client: Client, route: Route, question: str, **fields: Any) -> Any:
    return client.json("POST", route.path, body_of(client, route, question, fields))


def streamed(client: Client, route: Route, question: str, **fields: Any) -> str:
    body = {**body_of(client, route, question, fields), "stream": True}
    status, _, content = client.request("POST", route.path, body)
    assert status == 200, content
    lines = [line.removeprefix("data: ") for line in content.decode().splitlines() if line.startswith("data: ")]
    return "".join(route.piece(json.loads(line)) for line in lines if line != "[DONE]")


def texts(client: Client, question: str, **fields: Any) -> set[str]:
    """What the routes say, whole and streamed."""
    whole = {route.text(answer(client, route, question, **fields)) for route in ROUTES}
    return whole | {streamed(client, route, question, **fields) for route in ROUTES}


def the_text(client: Client, question: str, **fields: Any) -> str:
    return _the_text(client, question, json.dumps(fields))


@functools.cache
def _the_text(client: Client, question: str, fields: str) -> str:
    found = texts(client, question, **json.loads(fields))
    assert len(found) == 1, found
    return found.pop()


def first_token(client: Client, text: str) -> str:
    """The id of the first token of a text, as logit_bias spells it."""
    body = client.json("POST", "/v1/tokenize", {"prompt": text, "return_token_ids": True})
    return str(body["token_ids"][0])


@pytest.mark.parametrize(
    "fields",
    [
        {"temperature": 0, "seed": 9},
        {"temperature": 2, "top_k": 1},
        {"temperature": 2, "top_p": 1e-6},
        {"temperature": 2, "top_p": 0},
        {"temperature": 2, "min_p": 1},
    ],
)
def test_what_leaves_one_token_is_greedy(server: Server, fields: dict[str, Any]) -> None:
    assert the_text(server.client, YES, **fields) == the_text(server.client, YES, temperature=0)


@pytest.mark.parametrize(
    "fields",
    [
        {"temperature": 1.5, "seed": 5},
        {"temperature": 1.5, "seed": -6},
        {"temperature": 1.5, "seed": 2**64 - 1},
        {"temperature": 0, "presence_penalty": 2},
        {"temperature": 0, "frequency_penalty": 2},
        {"temperature": 0, "repetition_penalty": 5},
        {"temperature": 0, "logit_bias": {"FIRST": -100}},
    ],
)
def test_what_shapes_the_drawing_changes_the_text_in_the_same_way_everywhere(
    server: Server, fields: dict[str, Any]
) -> None:
    greedy = the_text(server.client, YES, temperature=0)
    if "logit_bias" in fields:
        fields = {**fields, "logit_bias": {first_token(server.client, greedy): -100}}
    assert the_text(server.client, YES, **fields) != greedy


def test_seeds_give_different_texts_and_each_the_same_again(server: Server) -> None:
    found = {the_text(server.client, YES, temperature=1.5, seed=seed) for seed in (1, 2, 3)}
    assert len(found) == 3


@pytest.mark.parametrize("route", ROUTES, ids=str)
def test_the_end_of_the_turn_is_ignored_up_to_the_cap(server: Server, route: Route) -> None:
    client = server.client
    assert route.count(answer(client, route, PARIS, temperature=0)) < CAP
    assert route.count(answer(client, route, PARIS, temperature=0, ignore_eos=True)) == CAP


def test_a_stop_string_ends_the_text_before_it(server: Server) -> None:
    greedy = the_text(server.client, PARIS, temperature=0)
    assert "France" in greedy
    assert the_text(server.client, PARIS, temperature=0, stop=["zzz", "France"]) == greedy[: greedy.index("France")]


@pytest.mark.parametrize(
    ("route", "name"),
    [
        (CHAT, "max_tokens"),
        (CHAT, "max_completion_tokens"),
        (TEXT, "max_tokens"),
        (TEXT, "max_completion_tokens"),
        (RESPONSES, "max_output_tokens"),
        (MESSAGES, "max_tokens"),
    ],
    ids=str,
)
def test_a_cap_of_any_name_holds(server: Server, route: Route, name: str) -> None:
    body = {**route.ask(server.client, YES), name: 5, "temperature": 0}
    assert route.count(server.client.json("POST", route.path, body)) == 5


@pytest.mark.parametrize("route", [CHAT, TEXT], ids=str)
def test_answers_of_one_request_draw_with_seeds_that_follow(server: Server, route: Route) -> None:
    client = server.client
    both = answer(client, route, YES, temperature=1.5, seed=1, n=2)["choices"]
    alone = [route.text(answer(client, route, YES, temperature=1.5, seed=seed)) for seed in (1, 2)]
    assert [route.text({"choices": [choice]}) for choice in both] == alone


@pytest.mark.parametrize("route", [RESPONSES, MESSAGES], ids=str)
def test_a_route_with_room_for_one_answer_refuses_two_by_name(server: Server, route: Route) -> None:
    status, _, content = server.client.request("POST", route.path, body_of(server.client, route, YES, {"n": 2}))
    assert status == 400 and "n must be" in json.loads(content)["error"]["message"]


def test_log_probabilities_are_the_same_on_every_route_that_has_room_for_them(server: Server) -> None:
    client = server.client
    fields = {"temperature": 0.7, "seed": 4}
    chat = answer(client, CHAT, PARIS, logprobs=True, top_logprobs=3, **fields)["choices"][0]["logprobs"]["content"]
    text = answer(client, TEXT, PARIS, logprobs=3, **fields)["choices"][0]["logprobs"]
    include = ["message.output_text.logprobs"]
    response = answer(client, RESPONSES, PARIS, include=include, top_logprobs=3, **fields)
    spelled = response["output"][0]["content"][0]["logprobs"]
    assert answer(client, MESSAGES, PARIS, logprobs=True, top_logprobs=3, **fields)["logprobs"] == chat
    expected = [(token["token"], token["logprob"]) for token in chat]
    assert expected
    assert list(zip(text["tokens"], text["token_logprobs"], strict=True)) == expected
    assert [(token["token"], token["logprob"]) for token in spelled] == expected
    best = [{entry["token"]: entry["logprob"] for entry in token["top_logprobs"]} for token in chat]
    assert [{**top, token: value} for top, (token, value) in zip(best, expected, strict=True)] == text["top_logprobs"]
    assert best == [{entry["token"]: entry["logprob"] for entry in token["top_logprobs"]} for token in spelled]


@pytest.mark.parametrize("route", ROUTES, ids=str)
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("temperature", 2.01),
        ("temperature", "warm"),
        ("top_p", -0.1),
        ("top_k", 0.5),
        ("min_p", -0.1),
        ("repetition_penalty", 0),
        ("presence_penalty", 2.5),
        ("frequency_penalty", -2.5),
        ("seed", 2**64),
        ("seed", "1"),
        ("logit_bias", {"-1": 0}),
        ("ignore_eos", 1),
        ("class", 5),
        ("stop", [""]),
        ("logprobs", 30),
        ("typical_p", 0.5),
        ("min_tokens", 4),
        ("mirostat", 2),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(server: Server, route: Route, field: str, value: Any) -> None:
    body = body_of(server.client, route, PARIS, {field: value})
    status, _, content = server.client.request("POST", route.path, body)
    if route is RESPONSES and field == "logprobs":
        # The Responses API has no such field: what is unknown is ignored, and said so.
        assert status == 200
        return
    assert status == 400, content
    assert (route.stop if field == "stop" else field) in json.loads(content)["error"]["message"]
