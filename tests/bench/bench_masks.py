"""Measures what held answers cost: a mask a token, and the rounds of the lanes beside them, on the CPU leaf.

    python -m tests.bench.bench_masks MODEL.gguf [--tokens N] [--lanes N]

Prints figures and asserts nothing. A mask's time is that of `work`: the token taken and the mask of the next one. A
round's is from one round's end to the next one's, as lanes feel it; rounds with and without held lanes take turns.
"""

import argparse
import functools
import itertools
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import trio

from ignis.config_fields import DeviceKind
from ignis.engine.device import open_leaf
from ignis.engine.engine import Engine
from ignis.engine.loop import SWITCH_INTERVAL_S
from ignis.engine.turn import Delivery
from ignis.grammar.forms import Form, Freedom, JsonForm, RegexForm
from ignis.grammar.grammar import compile_grammar
from ignis.grammar.vocabulary import Vocabulary
from ignis.log import LogFormat, open_log
from ignis.metrics import Metrics
from ignis.models.registry import open_checkpoint
from ignis.scheduler.constraint import Constraint
from ignis.scheduler.plan import DecodeRound
from ignis.scheduler.request import SamplingParams, Submission
from ignis.tokenizer import load_tokenizer
from tests.settings import engine_settings

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "email": {"type": "string", "format": "email"},
        "tags": {"type": "array", "items": {"enum": ["new", "old", "paid"]}},
        "address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}},
    },
    "required": ["name", "age", "email", "tags", "address"],
    "additionalProperties": False,
}
LONG: Form = JsonForm("bench", {"type": "array", "items": PERSON, "minItems": 1000})
FORMS: dict[str, Form] = {
    "any object": JsonForm("bench"),
    "list of people": LONG,
    "enum of 1000": JsonForm("bench", {"enum": [f"item number {index} of the list" for index in range(1000)]}),
    "regex of words": RegexForm("bench", r"([a-z]{2,12} ){1,500}\."),
}
PROMPT = tuple(range(100, 160))


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("model", type=Path)
    options.add_argument("--tokens", type=int, default=200)
    options.add_argument("--lanes", type=int, default=8)
    chosen = options.parse_args()
    checkpoint = open_checkpoint(chosen.model)
    tokenizer = load_tokenizer(checkpoint.vocabulary, checkpoint.special, checkpoint.shape.vocab_size)
    begun = time.perf_counter()
    vocabulary = Vocabulary(tokenizer, checkpoint.special.stop_ids, checkpoint.shape.vocab_size)
    print(f"vocabulary of {vocabulary.vocab_size} tokens: {time.perf_counter() - begun:.2f} s, once a model")
    for name, form in FORMS.items():
        print_masks(name, form, vocabulary)
    trio.run(functools.partial(measure_rounds, chosen, vocabulary))


def print_masks(name: str, form: Form, vocabulary: Vocabulary) -> None:
    begun = time.perf_counter()
    constraint = compile_grammar(vocabulary, form, None, Freedom.FORM).start()
    compiled_s = time.perf_counter() - begun
    times: list[float] = []
    while len(times) < 300:
        token = likely(constraint, vocabulary)
        if token is None:
            break
        constraint.take(token)
        begun = time.perf_counter()
        constraint.work()
        times.append(time.perf_counter() - begun)
    times.sort()
    middle, high = (times[int(len(times) * part)] * 1e6 for part in (0.5, 0.99))
    print(f"  {name:16} compiled {compiled_s * 1e3:6.1f} ms   mask median {middle:5.0f} us   99 % {high:6.0f} us")


def likely(constraint: Constraint, vocabulary: Vocabulary) -> int | None:
    """A token that a model could draw: the longest one of letters that is permitted, else the first one."""
    permitted = constraint.permitted
    assert permitted is not None
    ids = [token for token in range(vocabulary.vocab_size) if token in permitted and token not in vocabulary.stop_ids]
    return max(ids[::17] or ids, key=lambda token: len(vocabulary.tokenizer.token_bytes(token)), default=None)


async def measure_rounds(chosen: argparse.Namespace, vocabulary: Vocabulary) -> None:
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    log = open_log(sys.stderr, LogFormat.JSON, "error")
    ends: list[tuple[float, int]] = []

    def watch(delivery: Delivery) -> None:
        if isinstance(delivery.step, DecodeRound):
            ends.append((delivery.ended_at_s, len(delivery.step.lives)))

    engine = Engine(
        engine_settings(decode_lanes=chosen.lanes),
        lambda: open_leaf(DeviceKind.CPU, log),
        log,
        Metrics("bench"),
        watch=watch,
    )
    checkpoint = open_checkpoint(chosen.model)
    async with trio.open_nursery() as nursery:
        await nursery.start(engine.run)
        await engine.load(checkpoint)
        gaps: dict[int, list[float]] = {0: [], 1: [], chosen.lanes: []}
        widths: dict[int, list[int]] = {0: [], 1: [], chosen.lanes: []}
        for _ in range(5):
            for num_held, kept in gaps.items():
                ends.clear()
                await run_all(engine, submissions(chosen, vocabulary, num_held))
                full = ends[len(ends) // 4 : -len(ends) // 4]
                kept += [late[0] - early[0] for early, late in itertools.pairwise(full)]
                widths[num_held] += [width for _, width in full]
        for num_held, kept in gaps.items():
            middle, high = statistics.median(kept) * 1e3, sorted(kept)[int(len(kept) * 0.99)] * 1e3
            print(
                f"{chosen.lanes} lanes, {num_held} of them held: a round every {middle:.2f} ms (99 % {high:.2f}), "
                f"{statistics.mean(widths[num_held]):.2f} lanes in it"
            )
        nursery.cancel_scope.cancel()
    checkpoint.close()


def submissions(chosen: argparse.Namespace, vocabulary: Vocabulary, num_held: int) -> Sequence[Submission]:
    return [
        Submission(
            PROMPT,
            chosen.tokens,
            SamplingParams(temperature=0.8, seed=index),
            frozenset() if index >= num_held else frozenset(vocabulary.stop_ids),
            constraint=compile_grammar(vocabulary, LONG, None, Freedom.FORM).start() if index < num_held else None,
        )
        for index in range(chosen.lanes)
    ]


async def run_all(engine: Engine, wanted: Sequence[Submission]) -> None:
    for mailbox in engine.submit(wanted):
        while (await mailbox.receive()).finish is None:
            pass


if __name__ == "__main__":
    main()
