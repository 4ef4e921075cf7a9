"""Promise 1 on the running server and the real model: a request's tokens depend on that request alone."""

import hashlib
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.client import Answer, Client
from tests.e2e.server import Server, parse_events

STORY = (
    "You are a careful librarian. The catalogue of the old harbour library lists ships, storms, maps and letters; "
    "every entry has a year, a place and a short remark. Answer in plain English and name the year first. "
) * 6
TEMPLATE_HEAD = 8
"""Tokens, at most, before the salt of a request: any two prompts of the template have them in common."""
REQUESTS: dict[str, dict[str, Any]] = {
    "greedy": {"temperature": 0, "max_tokens": 48},
    "seeded": {"temperature": 0.9, "top_p": 0.95, "seed": 42, "max_tokens": 48},
    "penalised": {"temperature": 0.7, "seed": 7, "frequency_penalty": 0.6, "repetition_penalty": 1.1, "max_tokens": 48},
    "held": {"temperature": 0.9, "seed": 3, "max_tokens": 64, "response_format": {"type": "json_object"}},
}


def body(name: str, salt: str = "") -> dict[str, Any]:
    return {
        "messages": [
            {"role": "system", "content": salt + STORY},
            {"role": "user", "content": "Tell me about the storm of 1871 and the lighthouse."},
        ],
        **REQUESTS[name],
    }


def digest(answer: Answer) -> str:
    assert answer.finish in ("stop", "length"), answer
    assert answer.usage is not None
    return hashlib.sha256(f"{answer.finish} {answer.usage['completion_tokens']} {answer.text}".encode()).hexdigest()


def among_seven(client: Client, request: dict[str, Any], position: int) -> Answer:
    """Runs the request beside seven others that start before, with and after it."""
    answers: dict[str, Answer] = {}

    def run(name: str, wanted: dict[str, Any]) -> None:
        answers[name] = client.stream(**wanted)

    def other(index: int) -> dict[str, Any]:
        thing = ("river", "stone", "garden", "harbour", "lantern", "meadow", "anchor")[index]
        text = f"Write a long story about a {thing}. "
        return {
            "messages": [{"role": "user", "content": text * (1 + 11 * index)}],
            "temperature": 0.8,
            "max_tokens": 30 + 9 * index,
        }

    threads = [threading.Thread(target=run, args=(str(index), other(index))) for index in range(7)]
    threads.insert(position, threading.Thread(target=run, args=("wanted", request)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(answer.error is None for answer in answers.values())
    return answers["wanted"]


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_has_one_digest_alone_among_seven_cold_and_cached(server: Server, name: str) -> None:
    client = server.client
    salt = f"[{name}] "
    cold = client.stream(**body(name, salt))
    assert cold.usage is not None and cold.usage["prompt_tokens_details"]["cached_tokens"] < TEMPLATE_HEAD
    cached = client.stream(**body(name, salt))
    assert cached.usage is not None
    assert cached.usage["prompt_tokens_details"]["cached_tokens"] == cached.usage["prompt_tokens"] - 1
    whole = client.chat(**body(name, salt))
    crowded = [among_seven(client, body(name, salt), position) for position in (0, 3, 7)]
    assert len({digest(answer) for answer in (cold, cached, whole, *crowded)}) == 1


@pytest.fixture(scope="module", params=[64, 192, 512])
def other_server(start_server: Any, request: pytest.FixtureRequest) -> Iterator[Server]:
    """One server for each prefill chunk, with fewer lanes and threads too."""
    chunk = str(request.param)
    with start_server("--model-prefill-chunk", chunk, "--model-decode-lanes", "2", "--cpu-threads", "1") as other:
        yield other


@pytest.mark.parametrize("name", REQUESTS)
def test_the_prefill_chunk_and_the_lane_count_are_no_input(server: Server, other_server: Server, name: str) -> None:
    # A prefix of its own, so that each prefills the whole prompt in its own chunks.
    salt = f"[{name}, cold] "
    answer = other_server.client.stream(**body(name, salt))
    assert answer.usage is not None and answer.usage["prompt_tokens_details"]["cached_tokens"] < TEMPLATE_HEAD
    assert digest(answer) == digest(server.client.stream(**body(name, salt)))


def test_a_turn_that_resumes_generated_pages_equals_a_cold_one(server: Server, start_server: Any) -> None:
    """Pages that decode rounds wrote serve the next turn's prompt, where the device's phases agree; a server that never
    saw them must give the same."""
    opening = [{"role": "user", "content": "List twelve colours with a sentence for each."}]
    first = server.client.chat(messages=opening, temperature=0, max_tokens=200)
    turn = [
        *opening,
        {"role": "assistant", "content": first.text},
        {"role": "user", "content": "Which of them is warmest?"},
    ]
    resumed = server.client.chat(messages=turn, temperature=0, max_tokens=40)
    (device,) = parse_events(server.log_text(), "ignis.runtime.device")
    assert first.usage is not None and resumed.usage is not None
    least = 128 if device["kind"] == "cpu" else first.usage["prompt_tokens"] - TEMPLATE_HEAD
    assert resumed.usage["prompt_tokens_details"]["cached_tokens"] >= least
    with start_server() as other:
        assert digest(other.client.chat(messages=turn, temperature=0, max_tokens=40)) == digest(resumed)


def test_eight_equal_requests_have_one_answer(server: Server) -> None:
    answers: list[Answer] = []

    def run() -> None:
        answers.append(server.client.stream(**body("greedy", "eight ")))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({digest(answer) for answer in answers}) == 1
