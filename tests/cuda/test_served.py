"""The real server with the real model on the card, over HTTP: the executable where it is built, else this Python."""

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ignis import bundle
from tests.cuda import card
from tests.e2e.client import Answer, Client
from tests.e2e.server import Server, parse_events
from tests.ports import free_port

EXECUTABLE = bundle.ROOT / "dist" / "ignis-server"
MODELS = sorted((bundle.ROOT / "models").glob("SmolLM2*.gguf"))
STORY = (
    "You are a careful librarian. The catalogue of the old harbour library lists ships, storms, maps and letters; "
    "every entry has a year, a place and a short remark. Answer in plain English and name the year first. "
) * 6
QUESTIONS = (
    "What is the capital of France?",
    "Explain photosynthesis in two sentences.",
    "Write a short poem about the sea.",
    STORY + "Tell me about the storm of 1871 and the lighthouse.",
)
REQUESTS: dict[str, dict[str, Any]] = {
    "greedy": {"temperature": 0, "max_tokens": 80},
    "seeded": {"temperature": 0.9, "top_p": 0.95, "top_k": 50, "seed": 42, "repetition_penalty": 1.1, "max_tokens": 80},
}
KINDS = ("ship", "storm", "map", "letter")
ENTRY = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "maxLength": 40},
        "kind": {"enum": list(KINDS)},
        "year": {"type": "integer", "minimum": 1600, "maximum": 1999},
        "places": {"type": "array", "items": {"type": "string", "maxLength": 20}, "minItems": 1, "maxItems": 3},
    },
    "required": ["title", "kind", "year", "places"],
    "additionalProperties": False,
}
"""A schema whose every answer ends within the cap below."""
BUDGET = "8GiB"
NEAR = 0.1
"""Nats. Where two tokens are as close on the CPU leaf the card may take the other: only tolerance is promised there."""

pytestmark = [
    card.needs_card,
    pytest.mark.skipif(not MODELS, reason="the default model is not in models/"),
    pytest.mark.skipif(
        not EXECUTABLE.exists() and importlib.util.find_spec("trio") is None,
        reason="neither dist/ignis-server nor the packages that the server needs are there",
    ),
]


def test_what_is_served_is_the_executable() -> None:
    """Else the tests below are of this checkout's packages, and say nothing of what is downloaded."""
    if not EXECUTABLE.exists():
        pytest.skip("dist/ignis-server is not there: the servers of these tests run from this checkout")
    if EXECUTABLE.stat().st_mtime < card.CUDA_LEAF.stat().st_mtime:
        pytest.skip("dist/ignis-server is older than this checkout's leaf, which it may not have")


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Server]:
    def start(*flags: str, device: str = "cuda") -> Server:
        command = [str(EXECUTABLE)] if EXECUTABLE.exists() else [sys.executable, "-m", "ignis"]
        # Two servers run side by side here, and each would plan with all that is free.
        budget = ("--vram-budget-bytes", BUDGET) if device == "cuda" else ()
        flags = ("serve", "--device", device, "--model-artifact", str(MODELS[0]), *budget, *flags)
        folder = tmp_path_factory.mktemp("server")
        path = os.pathsep.join([str(bundle.ROOT), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "IGNIS_LOG_FORMAT": "json", "PYTHONPATH": path}
        return Server([*command, *flags], free_port(), free_port(), folder / "log", environment)

    return start


@pytest.fixture(scope="module")
def server(start: Callable[..., Server]) -> Iterator[Server]:
    with start() as running:
        yield running


def body(name: str, salt: str = "", question: str = QUESTIONS[3]) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": salt + question}], **REQUESTS[name]}


def digest(answer: Answer) -> str:
    assert answer.finish in ("stop", "length"), answer
    assert answer.usage is not None
    return hashlib.sha256(f"{answer.finish} {answer.usage['completion_tokens']} {answer.text}".encode()).hexdigest()


def cached(answer: Answer) -> int:
    assert answer.usage is not None
    return int(answer.usage["prompt_tokens_details"]["cached_tokens"])


def together(client: Client, bodies: list[dict[str, Any]]) -> list[Answer]:
    """Runs them all at once, as streams."""
    answers: list[Answer | None] = [None] * len(bodies)

    def run(index: int) -> None:
        answers[index] = client.stream(**bodies[index])

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(bodies))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    got = [answer for answer in answers if answer is not None and answer.error is None]
    assert len(got) == len(bodies)
    return got


def among_seven(client: Client, wanted: dict[str, Any], place: int) -> Answer:
    others = [
        {
            "messages": [{"role": "user", "content": f"Write a long story about a {thing}. " * (1 + 11 * index)}],
            "temperature": 0.8,
            "max_tokens": 40 + 20 * index,
        }
        for index, thing in enumerate(("river", "stone", "garden", "harbour", "lantern", "meadow", "anchor"))
    ]
    return together(client, [*others[:place], wanted, *others[place:]])[place]


def test_the_log_says_which_card_was_taken(server: Server) -> None:
    (event,) = parse_events(server.log_text(), "ignis.runtime.device")
    assert event["kind"] == "cuda"
    assert str(event["isa"]).startswith("sm_")


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_has_one_digest_however_it_is_served(server: Server, name: str) -> None:
    client, wanted = server.client, body(name, f"[{name}] ")
    answers = {"cold": client.stream(**wanted)}
    answers["cached"] = client.stream(**wanted)
    answers["whole"] = client.chat(**wanted)
    answers |= {f"among seven, {place}": among_seven(client, wanted, place) for place in (0, 3, 7)}
    answers |= {f"one of eight, {i}": answer for i, answer in enumerate(together(client, [wanted] * 8))}
    assert cached(answers["cold"]) < 64
    assert answers["cached"].usage is not None
    assert cached(answers["cached"]) == answers["cached"].usage["prompt_tokens"] - 1
    assert {key: digest(answer) for key, answer in answers.items()} == dict.fromkeys(answers, digest(answers["cold"]))


def held_body(name: str) -> dict[str, Any]:
    form = {"type": "json_schema", "json_schema": {"name": "entry", "schema": ENTRY, "strict": True}}
    return {**body(name, f"[held {name}] "), "response_format": form, "max_tokens": 300}


def check_entry(text: str) -> None:
    """Holds an answer against the schema, by hand."""
    entry = json.loads(text)
    assert list(entry) == ENTRY["required"]
    assert isinstance(entry["title"], str) and len(entry["title"]) <= 40
    assert entry["kind"] in KINDS
    assert type(entry["year"]) is int and 1600 <= entry["year"] <= 1999
    assert 1 <= len(entry["places"]) <= 3
    assert all(isinstance(place, str) and len(place) <= 20 for place in entry["places"])


@pytest.mark.parametrize("name", REQUESTS)
def test_an_answer_that_is_held_to_a_schema_has_one_digest_however_it_is_served(server: Server, name: str) -> None:
    """Its masks are worked out beside the rounds, and a late one leaves its lane out of some."""
    client, wanted = server.client, held_body(name)
    answers = {"cold": client.stream(**wanted)}
    answers["cached"] = client.stream(**wanted)
    answers["whole"] = client.chat(**wanted)
    answers |= {f"among seven, {place}": among_seven(client, wanted, place) for place in (0, 7)}
    answers |= {f"one of eight, {i}": answer for i, answer in enumerate(together(client, [wanted] * 8))}
    assert answers["cold"].finish == "stop"
    check_entry(answers["cold"].text)
    assert {key: digest(answer) for key, answer in answers.items()} == dict.fromkeys(answers, digest(answers["cold"]))


def test_several_choices_are_those_of_their_own_seeds(server: Server) -> None:
    value = server.client.json("POST", "/v1/chat/completions", {**body("greedy", "[n] "), "n": 4})
    assert len({choice["message"]["content"] for choice in value["choices"]}) == 1
    assert value["choices"][0]["message"]["content"] == server.client.chat(**body("greedy", "[n] ")).text


@pytest.mark.parametrize("chunk", [64, 192])
def test_the_prefill_chunk_is_no_input(server: Server, start: Callable[..., Server], chunk: int) -> None:
    with start("--model-prefill-chunk", str(chunk), "--model-decode-lanes", "2") as other:
        for name in REQUESTS:
            wanted = body(name, "[chunk] ")
            assert digest(other.client.stream(**wanted)) == digest(server.client.stream(**wanted))


def test_the_next_turn_equals_a_cold_one(server: Server, start: Callable[..., Server]) -> None:
    """The answer of the turn before is prefilled again, since decode's bits are not prefill's."""
    opening = body("greedy", "[turn] ")["messages"]
    first = server.client.chat(messages=opening, temperature=0, max_tokens=150)
    assert first.usage is not None
    turn = [
        *opening,
        {"role": "assistant", "content": first.text},
        {"role": "user", "content": "Which of them is the oldest?"},
    ]
    resumed = server.client.chat(messages=turn, temperature=0, max_tokens=60)
    assert first.usage["prompt_tokens"] - 8 <= cached(resumed) <= first.usage["prompt_tokens"]
    with start() as other:
        assert digest(other.client.chat(messages=turn, temperature=0, max_tokens=60)) == digest(resumed)


def drawn(client: Client, question: str) -> list[dict[str, Any]]:
    """The tokens of a greedy answer, each with the two best of its place."""
    wanted = {**body("greedy", question=question), "max_tokens": 64, "logprobs": True, "top_logprobs": 2}
    entries = client.json("POST", "/v1/chat/completions", wanted)["choices"][0]["logprobs"]["content"]
    assert isinstance(entries, list)
    return entries


def test_greedy_text_is_the_cpu_leafs(server: Server, start: Callable[..., Server]) -> None:
    with start(device="cpu") as other:
        num_equal = 0
        for question in QUESTIONS:
            on_card, on_cpu = drawn(server.client, question), drawn(other.client, question)
            pairs = zip(on_card, on_cpu, strict=False)
            parted = next((cpu for ours, cpu in pairs if ours["token"] != cpu["token"]), None)
            num_equal += parted is None
            if parted is not None:
                best, second = parted["top_logprobs"]
                assert best["logprob"] - second["logprob"] < NEAR, (question, parted)
    assert num_equal >= len(QUESTIONS) - 1


def test_a_client_that_is_killed_while_its_prompt_prefills_ends_the_work(start: Callable[..., Server]) -> None:
    words = "harbour lantern anchor meadow copper signal winter summer planet ladder " * 600
    with start("--model-prefill-chunk", "64") as running:
        wanted = {"messages": [{"role": "user", "content": words}], "max_tokens": 1000, "ignore_eos": True}
        before = running.metric("ignis_requests_cancelled_total")
        for number in range(5):
            salted = {**wanted, "messages": [{"role": "user", "content": f"{number} {words}"}], "stream": True}
            running.client.cut(
                salted, 0, lambda: running.wait_metric("ignis_scheduler_requests", 1, state="running", limit_s=5)
            )
            running.wait_metric("ignis_requests_cancelled_total", before + number + 1, limit_s=3)
        running.wait_metric("ignis_scheduler_requests", 0, state="running", limit_s=3)
        started = time.perf_counter()
        assert running.client.chat(**body("greedy")).finish is not None
        assert time.perf_counter() - started < 5


def used_bytes() -> int:
    """What all processes have of the first card, by the driver's account."""
    query = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "--id=0"]
    return int(subprocess.run(query, capture_output=True, text=True, check=True).stdout) << 20


@pytest.mark.skipif(shutil.which("nvidia-smi") is None, reason="the driver's nvidia-smi is not there to ask")
def test_an_idle_model_gives_the_cards_memory_back_and_the_next_request_wakes_it(start: Callable[..., Server]) -> None:
    with start("--model-idle-unload", "2") as running:
        running.wait_ready()
        wanted = body("greedy", "[idle] ")
        first = digest(running.client.chat(**wanted))
        serving = used_bytes()
        planned = sum(running.metric("ignis_vram_reserved_bytes", line=line) for line in ("weights", "kv_pool"))
        assert planned > 2 << 30
        running.wait_metric("ignis_kv_pool_pages", 0, limit_s=20)
        time.sleep(0.5)
        idle = used_bytes()
        # Other tests may use the card at the same time, with models far smaller than this pool.
        assert serving - idle > 0.8 * planned, (serving, idle, planned)
        assert digest(running.client.chat(**wanted)) == first
        woken = used_bytes()
        assert abs(woken - serving) < 0.2 * planned, (serving, idle, woken)
        mib = [used >> 20 for used in (serving, idle, woken)]
        print(f"MiB used by all: serving, idle, woken {mib}; plan {planned / 2**20:.0f}")


def test_a_pool_that_the_card_cannot_hold_is_refused_by_name(start: Callable[..., Server], tmp_path: Path) -> None:
    server = start("--vram-kv-pool-bytes", "4000GiB")
    assert server.process.wait(60) == 1
    assert "vram.kv_pool_bytes" in server.log_text()
    assert "Traceback" not in server.log_text()
