"""Tiny checkpoints on the card: against the oracle, and in each phase the same bits for every width and chunking."""

import ctypes
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from tests.abi import leaf
from tests.cuda import card, stored
from tests.models import fp8, oracle, tiny
from tests.models.tiny import TinyConfig

pytestmark = card.needs_card

PAGES = [3, 0, 5, 1, 7, 2]
LENGTH = 150
# As SmolLM2-135M is, with fewer layers.
SMOL = TinyConfig("smol", leaf.LLAMA, 4, 576, 1536, 9, 3, 64, 49152)
# As wide as an 8B: a norm summed in another order gives other logits in one row of eight.
BROAD = TinyConfig("broad", leaf.LLAMA, 1, 4096, 256, 32, 1, 128, 320)


def open_model(weights: leaf.Weights, library: ctypes.CDLL | None = None, **fields: int) -> leaf.Model:
    return leaf.Model(weights, leaf.load_params(weights, **fields), library or card.cuda())


def as_stored(name: str) -> Callable[[str, tiny.Array], tuple[int, stored.Bytes]]:
    """Stores matrices as random numbers of a type, whatever their own: to compare leaves, not for the oracle."""

    def store(tensor: str, values: tiny.Array) -> tuple[int, stored.Bytes]:
        if values.ndim != 2:
            return leaf.F32, tiny.as_bytes(values)
        if name == "F8_E4M3":
            return rounded("BF16", values) if tensor == "token_embd.weight" else float8(values)
        made = stored.random(name, *values.shape, seed=sum(tensor.encode()))
        scale = 1.0 / np.sqrt(values.shape[1]) / made.values().std()
        if name in stored.FLOATS:
            return rounded(name, values)
        blocks = made.data.reshape(-1, stored.TYPES[name][2]).copy()
        for at in stored.TYPES[name][3]:
            scales = np.ascontiguousarray(blocks[:, at : at + 2]).view(np.float16).astype(np.float32) * scale
            blocks[:, at : at + 2] = scales.astype(np.float16).view(np.uint8)
        return made.number, blocks.reshape(-1)

    return store


def float8(values: tiny.Array) -> tuple[int, stored.Bytes]:
    return leaf.F8_E4M3, fp8.as_bytes(*fp8.quantized(values))


def rounded(name: str, values: tiny.Array) -> tuple[int, stored.Bytes]:
    if name == "F32":
        return leaf.F32, tiny.as_bytes(values)
    if name == "F16":
        return leaf.F16, tiny.as_bytes(values.astype(np.float16))
    return 30, tiny.as_bytes((np.ascontiguousarray(values).view(np.uint32) >> 16).astype(np.uint16))


# Relative to the oracle, by the type of pages: the operands' bits (11 in F16 pages' layers, of which the widest shape
# leaves 2.1e-3), and a K or V that float32 and float64 round to neighbours, which are far apart in BF16 and FP8.
LIMITS = {leaf.F32: 2e-4, leaf.F16: 3e-3, leaf.BF16: 1.5e-2, leaf.F8_E4M3: 3e-2}


@pytest.mark.parametrize("kv_dtype", leaf.KV_DTYPES)
@pytest.mark.parametrize("config", [*tiny.CONFIGS, tiny.adjacent(tiny.LLAMA)], ids=lambda config: config.name)
def test_logits_are_the_oracles(config: TinyConfig, kv_dtype: int) -> None:
    checkpoint = tiny.make(config)
    tokens = tiny.prompt(config, LENGTH)
    expected = oracle.forward(checkpoint, tokens, kv_dtype=kv_dtype)
    with open_model(checkpoint.weights(), kv_dtype=kv_dtype) as model:
        _, got = model.prefill(tokens, PAGES, wants_logits=True)
    assert oracle.relative_error(got, expected) < LIMITS[kv_dtype]


@pytest.mark.parametrize("config", [tiny.WIDE_QWEN3, tiny.QWEN3, tiny.LLAMA_UNTIED], ids=lambda config: config.name)
def test_one_layer_of_fp8_weights_gives_the_logits_of_its_values(config: TinyConfig) -> None:
    checkpoint = tiny.make(replace(config, num_layers=1))
    arrays = {
        name: fp8.dequantized(*fp8.quantized(values)) if values.ndim == 2 and name != "token_embd.weight" else values
        for name, values in checkpoint.arrays.items()
    }

    def store(name: str, values: tiny.Array) -> tuple[int, stored.Bytes]:
        return (leaf.F32, tiny.as_bytes(values)) if arrays[name] is values else float8(values)

    tokens = tiny.prompt(config, LENGTH)
    takes_eights = card.multiplies_eights()
    expected = oracle.forward(
        tiny.Tiny(checkpoint.config, arrays), tokens, rounds_input=fp8.activations if takes_eights else None
    )
    with open_model(checkpoint.weights(store), kv_dtype=leaf.F32) as model:
        _, got = model.prefill(tokens, PAGES, wants_logits=True)
    # What is 1e-4 beside a value may be rounded to another code: in float64 that moves these logits by 4 % in the norm.
    assert np.linalg.norm(got - expected) < (8e-2 if takes_eights else 2e-3) * np.linalg.norm(expected)


@pytest.mark.parametrize("name", ["F32", "BF16", "F8_E4M3", "Q4_0", "Q4_1", "Q8_0", "Q4_K", "Q6_K"])
@pytest.mark.parametrize("config", [tiny.WIDE, tiny.WIDE_QWEN3], ids=lambda config: config.name)
def test_bits_do_not_depend_on_cuts_or_widths(config: TinyConfig, name: str) -> None:
    weights = tiny.make(config).weights(as_stored(name))
    tokens = tiny.prompt(config, LENGTH)
    with open_model(weights, kv_dtype=leaf.F16) as model:
        _, whole = model.prefill(tokens, PAGES, wants_logits=True)
        for cuts in ((0, 64, 128, 150), (0, 1, 2, 77, 150), tuple(range(0, 151, 5)), (0, 149, 150)):
            parts = [model.prefill(tokens[a:b], PAGES, start=a, wants_logits=True)[1] for a, b in pairwise(cuts)]
            np.testing.assert_array_equal(np.concatenate(parts), whole, err_msg=str(cuts))
    with open_model(weights, kv_dtype=leaf.F16, num_pages=24) as model:
        # Eight sequences of different lengths. A round writes its own position, which nobody else reads.
        rows = []
        for lane in range(8):
            length, pages = 1 + 18 * lane, [3 * lane, 3 * lane + 1, 3 * lane + 2]
            model.prefill(tokens[:length], pages)
            rows.append((lane, int(tokens[length]), length, pages))
        alone = np.concatenate([model.decode([row], wants_logits=True)[1] for row in rows])
        for width in range(2, 9):
            for chosen in (slice(width), slice(8 - width, 8)):
                _, logits = model.decode(rows[chosen], wants_logits=True)
                np.testing.assert_array_equal(logits, alone[chosen], err_msg=f"{width} {chosen}")
        # The other phase's logits are other bits of the same numbers, but where its activations are E4M3.
        if name != "F8_E4M3":
            assert oracle.relative_error(alone, whole[[row[2] for row in rows]]) < 2e-2


def test_a_span_of_one_row_gives_the_bits_of_a_long_one() -> None:
    """A prompt that is cached but for its last token is such a span."""
    tokens = tiny.prompt(BROAD, LENGTH)
    with open_model(tiny.make(BROAD).weights(as_stored("BF16")), kv_dtype=leaf.F16) as model:
        _, whole = model.prefill(tokens, PAGES, wants_logits=True)
        rows = [model.prefill(tokens[t : t + 1], PAGES, start=t, wants_logits=True)[1] for t in range(LENGTH)]
    np.testing.assert_array_equal(np.concatenate(rows), whole)


@pytest.mark.parametrize("kv_dtype", leaf.KV_DTYPES)
@pytest.mark.parametrize("config", [tiny.WIDE, tiny.WIDE_QWEN3, tiny.LLAMA], ids=lambda config: config.name)
def test_what_pages_hold_beyond_a_row_never_reaches_it(config: TinyConfig, kv_dtype: int) -> None:
    # A token whose embedding is NaN writes NaN into its position of the pages.
    checkpoint = tiny.make(config)
    tokens, poison = tiny.prompt(config, LENGTH) % (config.vocab_size - 1), config.vocab_size - 1
    checkpoint.arrays["output.weight"] = checkpoint.arrays["token_embd.weight"].copy()
    checkpoint.arrays["token_embd.weight"][poison] = np.nan
    nothing = [poison] * (leaf.PAGE_TOKENS * 3)
    with open_model(checkpoint.weights(), kv_dtype=kv_dtype) as model:

        def in_spans(tokens: leaf.Ids, cuts: tuple[int, ...]) -> leaf.Floats:
            edges = pairwise((0, *cuts, len(tokens)))
            return np.concatenate([model.prefill(tokens[a:b], PAGES, start=a, wants_logits=True)[1] for a, b in edges])

        def in_rounds() -> leaf.Floats:
            return np.concatenate(
                [model.decode([(0, int(token), p, PAGES)], wants_logits=True)[1] for p, token in enumerate(tokens)]
            )

        spans, rounds = in_spans(tokens, ()), in_rounds()
        assert np.isfinite(spans).all() and np.isfinite(rounds).all()
        model.prefill(nothing, PAGES)
        np.testing.assert_array_equal(in_spans(tokens, (10, 11, 90)), spans)
        model.prefill(nothing, PAGES)
        np.testing.assert_array_equal(in_rounds(), rounds)
        # A later row of the same span.
        np.testing.assert_array_equal(in_spans(np.append(tokens, poison), (100,))[:LENGTH], spans)


@pytest.mark.parametrize("kv_dtype", leaf.KV_DTYPES)
def test_a_copied_page_serves_as_an_own_one(kv_dtype: int) -> None:
    tokens = tiny.prompt(tiny.WIDE, LENGTH)
    other = np.concatenate([tokens[:100], tiny.prompt(tiny.WIDE, 92, seed=5)])
    with open_model(tiny.make(tiny.WIDE).weights(as_stored("Q4_1")), kv_dtype=kv_dtype) as model:
        _, whole = model.prefill(tokens, PAGES, wants_logits=True)
        model.prefill(other, [8, 9, 10])
        model.copy_page(9, 11)
        _, resumed = model.prefill(tokens[100:], [8, 11, 12], start=100, wants_logits=True)
        np.testing.assert_array_equal(resumed, whole[100:])


@pytest.mark.parametrize("kv_dtype", leaf.KV_DTYPES)
def test_pages_that_were_in_host_memory_serve_as_if_they_had_stayed(kv_dtype: int) -> None:
    tokens = tiny.prompt(tiny.WIDE, LENGTH)
    with open_model(tiny.make(tiny.WIDE).weights(as_stored("Q4_1")), kv_dtype=kv_dtype, num_host_pages=3) as model:
        _, whole = model.prefill(tokens, PAGES, wants_logits=True)
        model.pages_out(PAGES[:2], [2, 0])
        # The pages are somebody else's before the copies are waited for.
        model.prefill(tiny.prompt(tiny.WIDE, LENGTH, seed=5), PAGES)
        model.pages_out(PAGES[:1], [1])
        model.pages_in([8, 9], [2, 0])
        _, resumed = model.prefill(tokens[128:], [8, 9, 10], start=128, wants_logits=True)
        np.testing.assert_array_equal(resumed, whole[128:])


def generate(model: leaf.Model, prompt: leaf.Ids, count: int, lane: int, pages: list[int]) -> list[int]:
    model.open_lane(lane, [int(token) for token in prompt])
    draw, _ = model.prefill(prompt, pages, lane=lane)
    tokens = [draw.token]
    for step in range(count - 1):
        draws, _ = model.decode([(lane, tokens[-1], len(prompt) + step, pages)])
        tokens.append(draws[0].token)
    return tokens


def test_a_request_among_others_gives_the_tokens_that_it_gives_alone() -> None:
    weights = tiny.make(tiny.WIDE).weights(as_stored("Q4_1"))
    prompts = [tiny.prompt(tiny.WIDE, 20 + 9 * lane, seed=lane) for lane in range(8)]
    count = 40
    sampled = [leaf.greedy(temperature=0.9, top_p=0.95, repetition_penalty=1.1, seed=lane) for lane in range(8)]
    with open_model(weights, num_pages=32, kv_dtype=leaf.F16) as model:
        for lane, row in enumerate(sampled):
            model.sampling[lane] = row
        pages = [[4 * lane + i for i in range(4)] for lane in range(8)]
        alone = [generate(model, prompts[lane], count, lane, pages[lane]) for lane in range(8)]
        tokens: list[list[int]] = []
        for lane in range(8):
            model.open_lane(lane, [int(token) for token in prompts[lane]])
            draw, _ = model.prefill(prompts[lane], pages[lane], lane=lane)
            tokens.append([draw.token])
        while any(len(own) < count for own in tokens):
            # Requests come and go: a round has those that are not done.
            rows = [
                (lane, own[-1], len(prompts[lane]) + len(own) - 1, pages[lane])
                for lane, own in enumerate(tokens)
                if len(own) < count - 3 * lane
            ] or [
                (lane, own[-1], len(prompts[lane]) + len(own) - 1, pages[lane])
                for lane, own in enumerate(tokens)
                if len(own) < count
            ]
            draws, _ = model.decode(rows)
            for (lane, *_), draw in zip(rows, draws, strict=True):
                tokens[lane].append(draw.token)
    assert tokens == alone


@pytest.mark.parametrize("name", ["F16", "BF16", "Q4_0", "Q8_0"])
def test_smollm2s_shapes_give_the_cpu_leafs_logits(name: str) -> None:
    weights = tiny.make(SMOL).weights(as_stored(name))
    tokens = tiny.prompt(SMOL, 100)
    results = []
    for library in (card.host(), card.cuda()):
        with open_model(weights, library, kv_dtype=leaf.F16, num_threads=2) as model:
            _, logits = model.prefill(tokens, PAGES, wants_logits=True)
            results.append(logits)
    assert oracle.relative_error(results[1], results[0]) < 1e-2
