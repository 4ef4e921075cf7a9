"""A row's result is a function of its own tokens, pages and the weights: bit for bit, however the work is cut."""

import ctypes
import itertools
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from tests.abi import leaf
from tests.models import stores, tiny

LENGTH = 150
PAGES = (11, 4, 9)
CASES = [(tiny.WIDE, store) for store in stores.STORES] + [(config, "f32") for config in tiny.CONFIGS]
IDS = [f"{config.name}-{store}" for config, store in CASES]


@contextmanager
def opened(
    config: tiny.TinyConfig,
    store: str,
    library: ctypes.CDLL,
    *,
    num_threads: int = 1,
    kv_dtype: int = leaf.F16,
    num_pages: int = 40,
    num_host_pages: int = 0,
) -> Iterator[leaf.Model]:
    weights = tiny.make(config).weights(stores.STORES[store])
    params = leaf.load_params(
        weights, num_threads=num_threads, kv_dtype=kv_dtype, num_pages=num_pages, num_host_pages=num_host_pages
    )
    with leaf.Model(weights, params, library) as model:
        yield model


def in_spans(model: leaf.Model, tokens: leaf.Ids, cuts: tuple[int, ...], pages: tuple[int, ...] = PAGES) -> leaf.Floats:
    """Logits [T, V] of a prompt that is cut at `cuts`."""
    edges = (0, *cuts, len(tokens))
    return np.concatenate(
        [
            model.prefill(tokens[start:stop], pages, start=start, wants_logits=True)[1]
            for start, stop in itertools.pairwise(edges)
        ]
    )


def in_steps(
    model: leaf.Model, tokens: leaf.Ids, first: int, lane: int = 0, pages: tuple[int, ...] = PAGES
) -> leaf.Floats:
    """Logits [T - first, V] of single decode rounds after a prompt of `first` tokens."""
    rounds = [model.decode([(lane, tokens[p], p, pages)], wants_logits=True)[1] for p in range(first, len(tokens))]
    return np.concatenate(rounds)


def assert_same_bits(left: leaf.Floats, right: leaf.Floats) -> None:
    np.testing.assert_array_equal(left.view(np.uint32), right.view(np.uint32))


@pytest.mark.parametrize(("config", "store"), CASES, ids=IDS)
def test_spans_rounds_and_threads_give_the_same_bits(config: tiny.TinyConfig, store: str, library: ctypes.CDLL) -> None:
    tokens = tiny.prompt(config, LENGTH)
    with opened(config, store, library) as model:
        whole = in_spans(model, tokens, ())
        assert np.isfinite(whole).all()
        assert_same_bits(in_spans(model, tokens, (1, 2, 63, 65, 72, 128, 149)), whole)
        assert_same_bits(in_steps(model, tokens, first=0), whole)
    for num_threads in (2, 3, 4):
        with opened(config, store, library, num_threads=num_threads) as model:
            assert_same_bits(in_spans(model, tokens, (64,)), whole)
            assert_same_bits(in_steps(model, tokens, first=120), whole[120:])


@pytest.mark.parametrize("num_threads", [1, 2, 4])
@pytest.mark.parametrize("config", [tiny.WIDE, tiny.QWEN3], ids=lambda config: config.name)
def test_a_rounds_rows_do_not_see_each_other(config: tiny.TinyConfig, num_threads: int, library: ctypes.CDLL) -> None:
    prompts = [tiny.prompt(config, 20 + 17 * lane, seed=lane) for lane in range(8)]
    pages = [tuple(range(4 * lane, 4 * lane + 4)) for lane in range(8)]
    with opened(config, "f32", library, num_threads=num_threads) as model:
        alone = []
        for lane, tokens in enumerate(prompts):
            model.prefill(tokens[:-1], pages[lane])
            alone.append(in_steps(model, tokens, len(tokens) - 1, lane, pages[lane])[0])
        for lanes in ([0, 1], [7, 3, 5], [2, 1, 0, 6], range(8)):
            rows = [(lane, prompts[lane][-1], len(prompts[lane]) - 1, pages[lane]) for lane in lanes]
            _, together = model.decode(rows, wants_logits=True)
            assert_same_bits(together, np.stack([alone[lane] for lane in lanes]))


@pytest.mark.parametrize("config", [tiny.WIDE, tiny.QWEN3], ids=lambda config: config.name)
def test_a_round_that_is_begun_ahead_draws_as_one_that_is_not(config: tiny.TinyConfig, library: ctypes.CDLL) -> None:
    prompts = [tiny.prompt(config, 20 + 3 * lane, seed=lane) for lane in range(4)]
    pages = [(2 * lane, 2 * lane + 1) for lane in range(4)]
    with opened(config, "f32", library, num_threads=2) as model:
        for lane in range(4):
            # Each draw depends on the counts of those before it, and on its position.
            model.sampling[lane] = leaf.greedy(
                temperature=1.5, repetition_penalty=1.4, frequency_penalty=0.5, seed=lane
            )

        def begun() -> list[tuple[int, int, int, tuple[int, ...]]]:
            for lane, tokens in enumerate(prompts):
                model.open_lane(lane, tokens)
                model.prefill(tokens[:-1], pages[lane])
            return [(lane, int(tokens[-1]), len(tokens) - 1, pages[lane]) for lane, tokens in enumerate(prompts)]

        rows, singly = begun(), []
        for _ in range(12):
            draws = [draw.token for draw in model.decode(rows)[0]]
            singly.append(draws)
            rows = [
                (lane, token, position + 1, own) for (lane, _, position, own), token in zip(rows, draws, strict=True)
            ]
        ahead = [[draw.token for draw in draws] for draws in model.decode_on(begun(), 12)]
        assert ahead == singly
        # It stays so where one follows that is not.
        after = model.decode(rows, wants_logits=True)[1]
        model.decode_on(begun(), 12)
        assert_same_bits(model.decode(rows, wants_logits=True)[1], after)


@pytest.mark.parametrize("kv_dtype", leaf.KV_DTYPES)
@pytest.mark.parametrize("config", [tiny.WIDE, tiny.LLAMA], ids=lambda config: config.name)
def test_what_pages_hold_beyond_a_row_never_reaches_it(
    config: tiny.TinyConfig, kv_dtype: int, library: ctypes.CDLL
) -> None:
    # A token whose embedding is NaN writes NaN into its position of the pages.
    checkpoint = tiny.make(config)
    tokens = tiny.prompt(config, LENGTH) % (config.vocab_size - 1)
    poison = config.vocab_size - 1
    checkpoint.arrays["output.weight"] = checkpoint.arrays["token_embd.weight"].copy()
    checkpoint.arrays["token_embd.weight"][poison] = np.nan
    weights = checkpoint.weights()
    with leaf.Model(weights, leaf.load_params(weights, kv_dtype=kv_dtype), library) as model:
        fresh = in_spans(model, tokens, ())
        model.prefill([poison] * 192, PAGES)
        after = in_spans(model, tokens, (10, 11, 90))
        assert_same_bits(after, fresh)
        model.prefill([poison] * 192, PAGES)
        assert_same_bits(in_steps(model, tokens, 0), fresh)
        # A later row of the same span.
        beside = in_spans(model, np.append(tokens, poison), (100,))[:LENGTH]
        assert_same_bits(beside, fresh)


def test_a_shared_prefix_serves_as_an_own_one(library: ctypes.CDLL) -> None:
    config, tokens = tiny.WIDE, tiny.prompt(tiny.WIDE, LENGTH)
    other = np.concatenate([tokens[:128], tiny.prompt(config, 30, seed=5)])
    with opened(config, "q4_1", library, num_threads=2) as model:
        alone = in_spans(model, other, (), pages=(1, 2, 3))
        model.prefill(tokens, PAGES)
        _, shared = model.prefill(other[128:], (*PAGES[:2], 20), start=128, wants_logits=True)
    assert_same_bits(shared, alone[128:])


@pytest.mark.parametrize("kv_dtype", leaf.KV_DTYPES)
@pytest.mark.parametrize("config", [tiny.WIDE, tiny.QWEN3], ids=lambda config: config.name)
def test_a_copied_page_serves_as_an_own_one(config: tiny.TinyConfig, kv_dtype: int, library: ctypes.CDLL) -> None:
    tokens = tiny.prompt(config, LENGTH)
    with opened(config, "f32", library, kv_dtype=kv_dtype, num_threads=2) as model:
        whole = in_spans(model, tokens, ())
        # What the target held before, and what the source holds behind the shared head, is nobody's.
        other = np.concatenate([tokens[:100], tiny.prompt(config, 92, seed=5)])
        behind = in_spans(model, other, (70,), pages=(1, 2, 3))
        model.prefill(tiny.prompt(config, 64, seed=7), (20,))
        model.copy_page(2, 20)
        _, resumed = model.prefill(tokens[100:], (1, 20, 21), start=100, wants_logits=True)
        assert_same_bits(resumed, whole[100:])
        model.copy_page(2, 22)
        assert_same_bits(in_steps(model, tokens, 100, pages=(1, 22, 23)), whole[100:])
        # The source is as it was.
        _, again = model.prefill(other[128:], (1, 2, 24), start=128, wants_logits=True)
        assert_same_bits(again, behind[128:])


@pytest.mark.parametrize("kv_dtype", leaf.KV_DTYPES)
def test_pages_that_were_in_host_memory_serve_as_if_they_had_stayed(kv_dtype: int, library: ctypes.CDLL) -> None:
    tokens = tiny.prompt(tiny.WIDE, LENGTH)
    with opened(tiny.WIDE, "f32", library, kv_dtype=kv_dtype, num_threads=2, num_host_pages=3) as model:
        whole = in_spans(model, tokens, ())
        model.pages_out(PAGES[:2], (2, 0))
        # The pages are somebody else's meanwhile, and others come and go.
        model.prefill(tiny.prompt(tiny.WIDE, LENGTH, seed=5), PAGES)
        model.pages_out(PAGES[:1], (1,))
        model.pages_in((20, 21), (2, 0))
        _, resumed = model.prefill(tokens[128:], (20, 21, 22), start=128, wants_logits=True)
        assert_same_bits(resumed, whole[128:])
        # They are still there.
        model.pages_in((7, 8), (2, 0))
        assert_same_bits(in_steps(model, tokens, 128, pages=(7, 8, 9)), whole[128:])


def test_asking_for_logits_or_a_draw_changes_no_bit(library: ctypes.CDLL) -> None:
    tokens = tiny.prompt(tiny.WIDE, LENGTH)
    with opened(tiny.WIDE, "q8_0", library) as model:
        whole = in_spans(model, tokens, ())
        model.open_lane(0)
        model.prefill(tokens[:100], PAGES)  # no row of its last layer is wanted
        draw, _ = model.prefill(tokens[100:-1], PAGES, start=100, lane=0)  # one is
        assert draw.token == whole[-2].argmax()
        assert_same_bits(in_steps(model, tokens, LENGTH - 1), whole[-1:])
