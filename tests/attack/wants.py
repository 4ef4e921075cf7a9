"""Requests whose answers are known: what each gave alone, on a server without a prompt cache, it has to give always."""

import functools
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

STORY = (
    "You are a careful librarian. The catalogue of the old harbour library lists ships, storms, maps and letters; "
    "every entry has a year, a place and a short remark. Answer in plain English and name the year first. "
) * 4
ENTRY = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "maxLength": 24},
        "kind": {"enum": ["ship", "storm", "map", "letter"]},
        "year": {"type": "integer", "minimum": 1600, "maximum": 1999},
        "places": {"type": "array", "items": {"type": "string", "maxLength": 12}, "minItems": 1, "maxItems": 2},
    },
    "required": ["title", "kind", "year", "places"],
    "additionalProperties": False,
}
TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "maxLength": 12},
                "days": {"type": "integer", "minimum": 1, "maximum": 9},
            },
            "required": ["city", "days"],
            "additionalProperties": False,
        },
    },
}
WORDS = ("harbour", "lantern", "anchor", "meadow", "copper", "signal", "winter", "summer", "planet", "ladder", "river")
SEEDED = {"temperature": 0.9, "top_p": 0.95, "top_k": 50}


@dataclass
class Want:
    name: str
    body: dict[str, Any]
    as_response: bool = False
    """Whether it may also be asked for over /v1/responses."""
    path: str = "/v1/chat/completions"
    lanes: int = 1
    known: dict[str, Any] = field(default_factory=dict)
    """Its answer by model."""


def chat(text: str, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], **more}


def words(count: int, seed: int) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=count))


def fitting(count_of: Callable[[str], int], seed: int, tokens: int) -> str:
    """The longest text of those words whose chat has no more than so many tokens."""
    low, high = 1, tokens
    count_of = functools.cache(count_of)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_of(words(middle, seed)) <= tokens else (low, middle - 1)
    return words(low, seed)


def make(count_of: Callable[[str], int], context: int, tokens: int) -> list[Want]:
    """The requests.

    Args:
        count_of: tokens of a chat of that text.
        context: of one request, prompt and answer.
        tokens: of a usual answer.
    """
    greedy = {"temperature": 0, "max_tokens": tokens}
    held = {"response_format": {"type": "json_schema", "json_schema": {"name": "entry", "schema": ENTRY}}}
    full, other = (fitting(count_of, seed, context - 24) for seed in (1, 2))
    long = min(context // 2, 6 * tokens)
    return [
        Want("greedy", chat("What is the capital of France, and why?", **greedy), as_response=True),
        Want("seeded", chat("Write a poem about the sea.", seed=7, max_tokens=tokens, **SEEDED), as_response=True),
        Want("shared greedy", chat(STORY + "Tell me about the storm of 1871.", **greedy), as_response=True),
        Want(
            "shared penalised",
            chat(STORY + "Tell me about the map.", seed=8, max_tokens=tokens, repetition_penalty=1.2, **SEEDED)
            | {"presence_penalty": 0.5, "frequency_penalty": 0.3, "logit_bias": {"260": -3.0, "30": 1.5}},
        ),
        Want("logprobs", chat(STORY + "Which ship sank?", **greedy, logprobs=True, top_logprobs=3)),
        Want("held", chat(STORY + "Give one entry.", seed=9, max_tokens=160, **held, **SEEDED)),
        Want("held greedy", chat("Give one entry as JSON.", temperature=0, max_tokens=160, **held)),
        Want(
            "expression",
            chat(
                "When?", seed=10, max_tokens=40, guided_regex="[12][0-9]{3}-[01][0-9]-[0-3][0-9]( or never)?", **SEEDED
            ),
        ),
        Want("call", chat("Weather in Oslo?", seed=11, max_tokens=90, tools=[TOOL], tool_choice="required", **SEEDED)),
        Want("full", chat(full, temperature=0, max_tokens=16)),
        Want("other full", chat(other, seed=12, max_tokens=16, **SEEDED)),
        Want("half of full", chat(full[: len(full) // 2], **greedy), as_response=True),
        Want("three", chat("Name a river.", seed=13, max_tokens=tokens // 2, n=3, **SEEDED), lanes=3),
        Want("stopped", chat("Count from one to fifty.", seed=14, max_tokens=tokens * 2, stop=["9", "nine"], **SEEDED)),
        Want(
            "scored",
            {"prompt": STORY, "temperature": 0, "max_tokens": 8, "echo": True, "logprobs": 2},
            path="/v1/completions",
        ),
        Want("long", chat("Tell a long story.", seed=15, max_tokens=long, ignore_eos=True, **SEEDED)),
        Want("long greedy", chat(STORY + "Go on.", temperature=0, max_tokens=long, ignore_eos=True)),
    ]
