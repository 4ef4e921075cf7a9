"""Draws: every parameter against a plain reading of the header, frequencies, keys, log probabilities, faults."""

import ctypes
import itertools
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from tests.abi import chooser, leaf, philox

V = 300
RANDOM = np.random.Generator(np.random.PCG64(7))
PEAKED = (RANDOM.standard_normal(V) * 3).astype(np.float32)
FLAT = (RANDOM.standard_normal(V) * 0.1).astype(np.float32)
STEPPED = np.floor(RANDOM.standard_normal(V) * 2).astype(np.float32)  # many ties
STEEP = (RANDOM.standard_normal(V) * 40).astype(np.float32)  # most lie beyond e^-12 of the best
ROWS = (PEAKED, FLAT, STEPPED, STEEP)


@contextmanager
def choosing(rows: tuple[leaf.Floats, ...], library: ctypes.CDLL, num_threads: int = 1) -> Iterator[leaf.Model]:
    weights = chooser.chooser(rows)
    with leaf.Model(weights, leaf.load_params(weights, max_context=4096, num_threads=num_threads), library) as model:
        yield model


def draw(model: leaf.Model, row: int, sampling: leaf.Sampling, position: int = 1, lane: int = 0) -> leaf.Draw:
    """The token at `position` after token `row`."""
    model.sampling[lane] = sampling
    pages = [0] * (position // leaf.PAGE_TOKENS + 1)
    return model.decode([(lane, row, position - 1, pages)])[0][0]


def test_philox_gives_its_authors_known_answers() -> None:
    assert philox.philox((0, 0, 0, 0), (0, 0)) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    ones = 0xFFFFFFFF
    assert philox.philox((ones,) * 4, (ones, ones)) == (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)


CUTS = list(itertools.product((0.3, 1.0, 2.5), (0, 1, 7, 299, 1000), (1.0, 0.9, 0.3), (0.0, 0.05, 1e-7)))


def test_temperature_top_k_top_p_and_min_p_cut_and_draw_as_declared(library: ctypes.CDLL) -> None:
    num_near = 0
    with choosing(ROWS, library) as model:
        for row, (temperature, top_k, top_p, min_p) in itertools.product(range(len(ROWS)), CUTS):
            order, probabilities = chooser.kept(ROWS[row], temperature, top_k, top_p, min_p)
            for seed in (0, 1, 2**40 + 3, 2**64 - 1):
                position = 1 + seed % 1000 + row
                fields = leaf.greedy(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p, seed=seed)
                expected, distance = chooser.drawn(order, probabilities, seed, position)
                got = draw(model, row, fields, position).token
                if distance > 1e-5:
                    assert got == expected, (row, temperature, top_k, top_p, min_p, seed)
                else:  # float32 weights may move a border by their rounding
                    num_near += 1
    assert num_near < 40


def test_penalties_bias_and_mask_change_the_logits_as_declared(library: ctypes.CDLL) -> None:
    prompt, output = (3, 5, 5, 290), (5, 17, 17, 17)
    permitted = np.ones(V, bool)
    permitted[::3] = False
    words = np.packbits(np.pad(permitted, (0, -V % 32)), bitorder="little").view(np.uint32)
    bias = {17: 4.0, 40: -100.0, 41: 7.5}
    ids, values = leaf.ints(list(bias)), np.array(list(bias.values()), np.float32)
    changes = itertools.product((1.0, 1.3, 0.8), (0.0, 1.5), (0.0, -0.7), (False, True), (False, True))
    with choosing(ROWS, library) as model:
        for row, (repetition, presence, frequency, is_biased, is_masked) in itertools.product(
            range(len(ROWS)), changes
        ):
            sampling = leaf.greedy(
                repetition_penalty=repetition, presence_penalty=presence, frequency_penalty=frequency, top_logprobs=3
            )
            if is_biased:
                sampling.bias_ids, sampling.bias_values = leaf.int_pointer(ids), leaf.float_pointer(values)
                sampling.num_bias = len(ids)
            if is_masked:
                sampling.permitted = words.ctypes.data_as(ctypes.POINTER(ctypes.c_uint32))
            expected = chooser.adjusted(
                ROWS[row],
                prompt=prompt,
                output=output,
                repetition=repetition,
                presence=presence,
                frequency=frequency,
                bias=bias if is_biased else None,
                permitted=permitted if is_masked else None,
            )
            model.open_lane(0, prompt, output)
            result = draw(model, row, sampling)
            assert result.token == expected.argmax()
            raw = ROWS[row].astype(np.float64)
            log_sum = np.log(np.exp(raw - raw.max()).sum()) + raw.max()
            assert result.logprob == pytest.approx(raw[result.token] - log_sum, abs=2e-5)
            order, probabilities = chooser.kept(expected, 0.8, 0, 0.95, 0)
            wanted, distance = chooser.drawn(order, probabilities, 9, 2)
            sampling.temperature, sampling.top_p, sampling.seed = 0.8, 0.95, 9
            model.open_lane(0, prompt, output)
            assert draw(model, row, sampling, position=2).token == wanted or distance < 1e-5


@pytest.mark.parametrize("temperature", [0.0, 1e-38, 1.0])
@pytest.mark.parametrize("repetition", [1.2e-38, 1e-45, 3e38])
@pytest.mark.parametrize("other", [-3e38, 0.0, 3e38])
def test_penalties_past_the_range_of_a_float_still_give_a_token(
    repetition: float, other: float, temperature: float, library: ctypes.CDLL
) -> None:
    masked = PEAKED.copy()
    masked[200:] = -np.inf
    ids, values = leaf.ints([3, 250]), np.array([3e38, 3e38], np.float32)
    sampling = leaf.greedy(
        repetition_penalty=repetition, presence_penalty=other, frequency_penalty=other, temperature=temperature
    )
    sampling.bias_ids, sampling.bias_values = leaf.int_pointer(ids), leaf.float_pointer(values)
    sampling.num_bias = len(ids)
    with choosing((PEAKED,), library) as model, np.errstate(invalid="ignore"), choosing((masked,), library) as holed:
        for each, most in ((model, V), (holed, 200)):
            each.open_lane(0, range(V), (5, 5, 5, 290))
            assert 0 <= draw(each, 0, sampling).token < most


def test_a_drawn_token_counts_as_output_and_opening_a_lane_forgets_it(library: ctypes.CDLL) -> None:
    best = [int(token) for token in np.argsort(-PEAKED, kind="stable")[:3]]
    sampling = leaf.greedy(presence_penalty=50)
    with choosing(ROWS, library) as model:
        for _ in range(2):
            model.open_lane(2)
            assert [draw(model, 0, sampling, lane=2).token for _ in range(3)] == best
        model.open_lane(2, output=best[:1])
        assert draw(model, 0, sampling, lane=2).token == best[1]
        model.open_lane(3)
        assert draw(model, 0, sampling, lane=3).token == best[0]


def test_equal_logits_go_to_the_lowest_id(library: ctypes.CDLL) -> None:
    tied = np.zeros(V, np.float32)
    tied[[37, 64, 255]] = 2
    with choosing((tied,), library) as model:
        greedy = leaf.greedy(top_logprobs=5)
        result = draw(model, 0, greedy)
        assert result.token == 37
        assert list(result.top_ids[:5]) == [37, 64, 255, 0, 1]
        for top_k, allowed in ((1, {37}), (2, {37, 64}), (4, {37, 64, 255, 0})):
            sampling = [leaf.greedy(temperature=5, top_k=top_k, seed=seed) for seed in range(60)]
            assert {draw(model, 0, each).token for each in sampling} == allowed


def test_log_probabilities_are_of_the_raw_logits_best_first(library: ctypes.CDLL) -> None:
    with choosing(ROWS, library) as model:
        for row, num_top in itertools.product(range(len(ROWS)), (0, 1, 20)):
            result = draw(model, row, leaf.greedy(temperature=1.5, seed=row, top_logprobs=num_top))
            raw = ROWS[row].astype(np.float64)
            expected = raw - raw.max() - np.log(np.exp(raw - raw.max()).sum())
            order = np.argsort(-ROWS[row], kind="stable")[:num_top]
            assert result.num_top == num_top
            assert list(result.top_ids[:num_top]) == list(order)
            np.testing.assert_allclose(result.top_logprobs[:num_top], expected[order], atol=2e-5)
            assert result.logprob == pytest.approx(expected[result.token], abs=2e-5)


def test_frequencies_are_the_probabilities(library: ctypes.CDLL) -> None:
    _, probabilities = chooser.kept(PEAKED, 1.0, 0, 1.0, 0.0)
    order = np.argsort(-PEAKED, kind="stable")
    num_draws, counts = 16_000, np.zeros(V)
    with choosing(ROWS, library) as model:
        for start in range(0, num_draws, 8):
            for lane in range(8):
                model.sampling[lane] = leaf.greedy(temperature=1, seed=start + lane)
            for result in model.decode([(lane, 0, 40, [0]) for lane in range(8)])[0]:
                counts[result.token] += 1
    # Chi-square over the cells that expect 10 draws or more, the others in one: its mean is the number of cells - 1.
    expected = probabilities * num_draws
    cells = int((expected >= 10).sum())
    observed = counts[order]
    squares = (observed[:cells] - expected[:cells]) ** 2 / expected[:cells]
    rest = (observed[cells:].sum() - expected[cells:].sum()) ** 2 / expected[cells:].sum()
    assert squares.sum() + rest < cells + 5 * np.sqrt(2 * cells)


def test_a_draw_is_a_function_of_seed_position_and_logits(library: ctypes.CDLL) -> None:
    sampling = leaf.greedy(temperature=1, seed=1234567890123)
    with choosing(ROWS, library) as one, choosing(ROWS, library, num_threads=4) as four:
        alone = [draw(one, 1, sampling, position).token for position in range(1, 60)]
        assert len(set(alone)) > 30
        for position, token in enumerate(alone, start=1):
            for lane in range(8):
                four.sampling[lane] = sampling if lane % 2 else leaf.greedy(temperature=2, seed=position * lane)
            rows = [(lane, 1 if lane % 2 else lane % 4, position - 1, [0]) for lane in range(8)]
            together = four.decode(rows)[0]
            assert {together[lane].token for lane in (1, 3, 5, 7)} == {token}
            model_span = four.prefill([1], [0], start=position - 1, lane=1)[0]
            assert model_span.token == token


def test_a_large_vocabulary_draws_the_same_as_the_oracle(library: ctypes.CDLL) -> None:
    logits = np.random.Generator(np.random.PCG64(3)).standard_normal(50_000).astype(np.float32) * 2
    with choosing((logits,), library) as model:
        for seed in range(40):
            temperature, top_k, top_p = (1.0, 0, 1.0) if seed % 2 else (3.0, 20_000, 0.99)
            order, probabilities = chooser.kept(logits, temperature, top_k, top_p, 0)
            expected, distance = chooser.drawn(order, probabilities, seed, 1)
            got = draw(model, 0, leaf.greedy(temperature=temperature, top_k=top_k, top_p=top_p, seed=seed)).token
            assert got == expected or distance < 2e-5


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_logits_that_are_no_numbers_are_a_fault_and_not_a_token(
    bad: float, temperature: float, library: ctypes.CDLL
) -> None:
    spoiled = PEAKED.copy()
    spoiled[123] = bad
    with choosing((PEAKED,), library) as model, np.errstate(invalid="ignore"), choosing((spoiled,), library) as sick:
        assert draw(model, 0, leaf.greedy()).token == PEAKED.argmax()
        assert draw(sick, 0, leaf.greedy(temperature=temperature)).token == -1
        assert sick.prefill([0], [0], lane=0)[0].token == -1


def test_only_permitted_tokens_are_drawn(library: ctypes.CDLL) -> None:
    words = np.zeros((V + 31) // 32, np.uint32)
    words[-1] = 1 << ((V - 1) % 32) | 1 << 31  # the last token, and a bit beyond the vocabulary
    sampling = leaf.greedy(temperature=1)
    sampling.permitted = words.ctypes.data_as(ctypes.POINTER(ctypes.c_uint32))
    with choosing(ROWS, library) as model:
        assert {draw(model, row, sampling).token for row in range(len(ROWS))} == {V - 1}
        words[-1] = 1 << 31
        with pytest.raises(leaf.LeafError, match="permits no token") as caught:
            draw(model, 0, sampling)
    assert caught.value.status == leaf.INVALID
