"""Draws of the card against the CPU leaf's: the same order of operations, the same random numbers."""

import ctypes
from collections.abc import Iterator

import numpy as np
import pytest

from tests.abi import leaf
from tests.cuda import card
from tests.cuda.operators import Floats, Operators
from tests.models import tiny

pytestmark = card.needs_card

VOCABULARIES = (75, 97, 49152, 151936)


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[Operators, Operators]]:
    with Operators(card.host()) as host, Operators(card.cuda()) as cuda:
        yield host, cuda


def logits_of(seed: int, rows: int, vocab_size: int, spread: float) -> Floats:
    return (spread * np.random.default_rng(seed).standard_normal((rows, vocab_size))).astype(np.float32)


def same(
    both: tuple[Operators, Operators], logits: Floats, sampling: list[leaf.Sampling], seed: int
) -> tuple[list[leaf.Draw], list[leaf.Draw]]:
    random = np.random.default_rng(seed)
    rows, vocab_size = logits.shape
    prompts = [random.integers(0, vocab_size, 40).astype(np.int32) for _ in range(rows)]
    outputs = [random.integers(0, vocab_size, 30).astype(np.int32) for _ in range(rows)]
    for row in range(rows):  # so that penalties meet what would win
        best = np.argsort(-logits[row])[:5].astype(np.int32)
        prompts[row][:5], outputs[row][:3] = best, best[:3]
    positions = [int(position) for position in random.integers(0, 10000, rows)]
    host, cuda = (each.sample(logits, sampling, positions, prompts, outputs) for each in both)
    return host, cuda


SETTINGS: list[dict[str, float]] = [
    {"temperature": 0},
    {"temperature": 1},
    {"temperature": 0.3},
    {"temperature": 2.5},
    {"temperature": 1e-40},
    {"temperature": 1, "top_k": 1},
    {"temperature": 1, "top_k": 40},
    {"temperature": 1, "top_p": 0.9},
    {"temperature": 1, "top_p": 1e-6},
    {"temperature": 1, "min_p": 0.1},
    {"temperature": 1, "min_p": 1},
    {"temperature": 0.8, "top_k": 50, "top_p": 0.95, "min_p": 0.02},
    {"temperature": 0, "repetition_penalty": 1.5, "presence_penalty": 1, "frequency_penalty": 0.5},
    {"temperature": 1, "repetition_penalty": 0.7, "presence_penalty": -1, "frequency_penalty": 3e38},
]


@pytest.mark.parametrize("vocab_size", VOCABULARIES)
@pytest.mark.parametrize("setting", SETTINGS)
def test_the_card_draws_what_the_cpu_draws(
    both: tuple[Operators, Operators], setting: dict[str, float], vocab_size: int
) -> None:
    total = different = 0
    for seed in range(6):
        logits = logits_of(seed, 8, vocab_size, (1.0, 3.0, 8.0)[seed % 3])
        sampling = [leaf.greedy(**setting) for _ in range(8)]
        for lane, row in enumerate(sampling):
            row.seed = 1000 * seed + lane
        host, cuda = same(both, logits, sampling, seed)
        assert all(0 <= draw.token < vocab_size for draw in cuda)
        different += sum(a.token != b.token for a, b in zip(host, cuda, strict=True))
        total += 8
    # A sum that ends within rounding of a draw's place may fall on the other side.
    assert different <= 1, f"{different} of {total}"


@pytest.mark.parametrize("vocab_size", VOCABULARIES)
def test_bias_and_mask_are_applied(both: tuple[Operators, Operators], vocab_size: int) -> None:
    logits = logits_of(3, 4, vocab_size, 3.0)
    ids = np.array([5, 9, 5, 40, 41], np.int32)
    values = np.array([30, 20, 35, 3e38, 3e38], np.float32)
    mask = np.zeros((vocab_size + 31) // 32, np.uint32)
    mask[1] = 0b1111 << 8  # 40 to 43
    sampling = [leaf.greedy() for _ in range(4)]
    for row in sampling[:2]:
        row.bias_ids, row.bias_values, row.num_bias = leaf.int_pointer(ids), leaf.float_pointer(values), 3
    for row in sampling[1:]:
        row.permitted = mask.ctypes.data_as(ctypes.POINTER(ctypes.c_uint32))
    sampling[3].bias_ids, sampling[3].bias_values = leaf.int_pointer(ids), leaf.float_pointer(values)
    sampling[3].num_bias = 5
    host, cuda = same(both, logits, sampling, 4)
    assert [draw.token for draw in cuda] == [draw.token for draw in host]
    assert cuda[0].token == 5
    assert cuda[3].token == 40
    assert all(40 <= draw.token < 44 for draw in cuda[1:])


@pytest.mark.parametrize("vocab_size", VOCABULARIES)
def test_log_probabilities_are_those_of_the_raw_logits(both: tuple[Operators, Operators], vocab_size: int) -> None:
    logits = logits_of(5, 3, vocab_size, 3.0)
    logits[:, 20] = logits[:, 10] = logits.max(axis=1) + 1  # a tie: the lower id first
    sampling = [leaf.greedy(temperature=1, repetition_penalty=2, top_logprobs=count) for count in (0, 5, 20)]
    host, cuda = same(both, logits, sampling, 6)
    for ours, theirs in zip(cuda, host, strict=True):
        assert (ours.token, ours.num_top) == (theirs.token, theirs.num_top)
        assert list(ours.top_ids) == list(theirs.top_ids)
        assert ours.logprob == pytest.approx(theirs.logprob, rel=1e-5, abs=1e-5)
        assert list(ours.top_logprobs) == pytest.approx(list(theirs.top_logprobs), rel=1e-5, abs=1e-5)


def test_ties_are_drawn_by_their_ids(both: tuple[Operators, Operators]) -> None:
    logits = np.zeros((8, 1000), np.float32)
    sampling = [leaf.greedy(temperature=1, seed=seed) for seed in range(8)]
    host, cuda = same(both, logits, sampling, 7)
    assert [draw.token for draw in cuda] == [draw.token for draw in host]
    sampling = [leaf.greedy(temperature=1, seed=seed, top_k=3) for seed in range(8)]
    assert all(draw.token < 3 for draw in same(both, logits, sampling, 7)[1])


def test_every_token_of_a_long_prompt_and_output_is_counted(both: tuple[Operators, Operators]) -> None:
    logits = logits_of(12, 2, 49152, 1.0)
    random = np.random.default_rng(13)
    prompts = [random.integers(0, 49152, 20000).astype(np.int32) for _ in range(2)]
    outputs = [random.integers(0, 300, 20000).astype(np.int32) for _ in range(2)]
    logits[:, :300] += 300
    logits[:, 300:] += 100
    sampling = [leaf.greedy(frequency_penalty=3, repetition_penalty=1.7) for _ in range(2)]
    host, cuda = (each.sample(logits, sampling, [1, 2], prompts, outputs) for each in both)
    assert [draw.token for draw in cuda] == [draw.token for draw in host]
    unseen = np.setdiff1d(np.arange(300, 49152), prompts[0])
    assert cuda[0].token == unseen[logits[0, unseen].argmax()]


def test_a_row_of_ties_is_cut_and_drawn_like_any_other(both: tuple[Operators, Operators]) -> None:
    logits = np.zeros((8, 151936), np.float32)
    logits[4:, ::2] = 1e-7  # below it no bin tells them apart
    sampling = [leaf.greedy(temperature=1, top_p=0.3, seed=seed, top_logprobs=20) for seed in range(8)]
    for row in sampling[2:6]:
        row.top_k = 100000
    host, cuda = same(both, logits, sampling, 14)
    assert [list(draw.top_ids) for draw in cuda] == [list(draw.top_ids) for draw in host]
    # Sums of equal weights are exact on the card; the CPU's end within a few tokens of them.
    assert all(abs(ours.token - theirs.token) <= 8 for ours, theirs in zip(cuda, host, strict=True))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_logits_without_a_token_give_none(both: tuple[Operators, Operators], value: float) -> None:
    logits = logits_of(8, 2, 500, 1.0)
    logits[1, 77] = value
    host, cuda = same(both, logits, [leaf.greedy(), leaf.greedy()], 8)
    assert [draw.token for draw in cuda] == [draw.token for draw in host]
    assert cuda[1].token == -1


def test_a_row_is_drawn_alone_as_among_others(both: tuple[Operators, Operators]) -> None:
    logits = logits_of(9, 8, 49152, 3.0)
    sampling = [leaf.greedy(temperature=1, top_p=0.9, seed=lane) for lane in range(8)]
    empty = [np.array([], np.int32)] * 8
    cuda = both[1]
    together = cuda.sample(logits, sampling, range(8), empty, empty)
    for row in range(8):
        (alone,) = cuda.sample(logits[row : row + 1], sampling[row : row + 1], [row], empty[:1], empty[:1])
        assert bytes(alone) == bytes(together[row])


def test_masks_and_biases_that_stay_and_that_change_are_the_rounds_own() -> None:
    """Only what changed goes up: whichever lanes are in a round, each draws by what it was given last."""
    random = np.random.default_rng(15)
    weights = tiny.make(tiny.WIDE).weights()
    vocab_size = tiny.WIDE.vocab_size
    wanted = [0] * 8
    kept: list[object] = []  # what the table points to

    def give(row: leaf.Sampling) -> int:
        """Has a row draw one token, by a mask or by biases; returns it."""
        token, is_masked = int(random.integers(vocab_size)), random.random() < 0.5
        mask = np.zeros((vocab_size + 31) // 32, np.uint32)
        mask[token // 32] = 1 << token % 32
        count = int(random.integers(1, 40))
        ids = np.array([*random.integers(0, vocab_size, count), token], np.int32)
        values = np.array([*random.uniform(-9, 9, count), 3e38], np.float32)
        row.permitted = mask.ctypes.data_as(ctypes.POINTER(ctypes.c_uint32)) if is_masked else None
        row.bias_ids, row.bias_values = leaf.int_pointer(ids), leaf.float_pointer(values)
        row.num_bias = 0 if is_masked else len(ids)
        kept.append((mask, ids, values))
        return token

    with leaf.Model(weights, leaf.load_params(weights), card.cuda()) as model:
        for lane in range(8):
            model.open_lane(lane)
            wanted[lane] = give(model.sampling[lane])
        for turn in range(100):
            lanes = [int(lane) for lane in random.permutation(8)[: random.integers(1, 9)]]
            for lane in lanes:
                if random.random() < 0.4:
                    wanted[lane] = give(model.sampling[lane])
            draws, _ = model.decode([(lane, 3, 0, [lane]) for lane in lanes])
            assert [draw.token for draw in draws] == [wanted[lane] for lane in lanes], turn
