"""Every operator of the card against float64 or the CPU leaf, and row invariance bit for bit, in each phase."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

from tests.abi import leaf
from tests.cuda import card, stored
from tests.cuda.operators import Floats, Operators, Phase
from tests.models import fp8
from tests.models.oracle import kept

pytestmark = card.needs_card

WIDTHS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 33, 64, 65, 127, 128, 129, 200, 300)
# Activations meet the tensor cores as one float16 plane: 11 bits.
TOLERANCE = 1e-3
# rows, cols: tiny and odd ones, SmolLM2's, Qwen3-8B's
FLOAT_SHAPES = ((97, 72), (72, 160), (130, 64), (75, 48), (576, 576), (192, 576), (1024, 4096))
SHAPES = ((64, 256), (97, 512), (576, 768), (1536, 1024), (1024, 4096), (256, 12288))
QUANTIZED = tuple(name for name in stored.TYPES if name not in stored.FLOATS)
CASES = [(name, shape) for name in stored.FLOATS for shape in (*FLOAT_SHAPES, *SHAPES)]
CASES += [(name, shape) for name in QUANTIZED for shape in SHAPES]
CASES += [(name, (576, 576)) for name in ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0")]
CASES += [("F8_E4M3", shape) for shape in FLOAT_SHAPES]


@pytest.fixture(scope="module")
def cuda() -> Iterator[Operators]:
    with Operators(card.cuda()) as operators:
        yield operators


@pytest.fixture(scope="module")
def host() -> Iterator[Operators]:
    with Operators(card.host()) as operators:
        yield operators


def randoms(seed: int, *shape: int) -> Floats:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def error(got: Floats, expected: np.ndarray) -> float:
    assert np.isfinite(got).all()
    return float(np.linalg.norm(got - expected) / np.linalg.norm(expected))


def product(x: Floats, weight: stored.Stored, phase: Phase) -> np.ndarray:
    """float64 [T, rows], of the rows as the phase's kernels are meant to take them."""
    takes_eights = weight.name == "F8_E4M3" and phase is Phase.PREFILL and card.multiplies_eights()
    return (fp8.activations(x) if takes_eights else x).astype(np.float64) @ weight.values().T


def tolerance(name: str) -> float:
    # The sums of 128 products of E4M3 codes have fewer bits than float32 has.
    return 1e-5 if name == "F32" else 3e-3 if name == "F8_E4M3" else TOLERANCE


def outliers(seed: int, rows: int, cols: int) -> Floats:
    """As a decoder's hidden states are: a few columns are far larger than the rest, and rows differ in size."""
    x = randoms(seed, rows, cols)
    x[:, :: max(1, cols // 3)] *= 60
    x *= np.exp2(np.arange(rows) % 17 - 8)[:, None].astype(np.float32)
    return x


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_a_linear_layer_is_exact_to_its_format_and_its_rows_know_nothing_of_each_other(
    cuda: Operators, name: str, shape: tuple[int, int]
) -> None:
    weight = stored.random(name, *shape, seed=1)
    x = outliers(2, max(WIDTHS), shape[1])
    (whole,) = cuda.linear([weight], x, phase=Phase.PREFILL)
    for phase, widths in ((Phase.PREFILL, WIDTHS), (Phase.DECODE, range(1, leaf.MAX_LANES + 1))):
        expected = product(x, weight, phase)
        if phase is Phase.DECODE:
            whole[: leaf.MAX_LANES] = cuda.linear([weight], x[: leaf.MAX_LANES], phase=phase)[0]
        worst = max(error(whole[t], expected[t]) for t in range(len(x) if phase is Phase.PREFILL else leaf.MAX_LANES))
        assert worst < tolerance(name)
        for width in widths:
            start = (7 * width) % ((len(x) if phase is Phase.PREFILL else leaf.MAX_LANES) - width + 1)
            (part,) = cuda.linear([weight], x[start : start + width], phase=phase)
            np.testing.assert_array_equal(part, whole[start : start + width], err_msg=f"{phase} {width}")


# Blocks' tiles of outputs in prefill, rows and tokens, where there is wgmma (cuda/kernels/linear_span_shapes.cuh):
# which one serves follows from the number of outputs, and a request moves between them: cold its rows are in the
# largest, cached in the smallest.
TILES = ((128, 256), (128, 128), (64, 128), (64, 64), (64, 8))
TALLEST = 2048
"""Rows of the longest span: as long as a server's."""


def num_rows_of(cuda: Operators, weights: list[stored.Stored], tile: tuple[int, int]) -> int:
    """Rows of a span for which a launch of the weights takes the tile; all of its last blocks are cut."""
    for num_rows in (TALLEST - 7, 1400, 1000, 700, 500, 290, 250, 200, 130, 100, 60, 40, 20, 7, 3):
        if cuda.choice(weights, num_rows)[:2] == tile:
            return num_rows
    pytest.fail(f"no span takes the tile {tile}")


@pytest.mark.parametrize("tile", TILES, ids=lambda tile: "x".join(map(str, tile)))
@pytest.mark.parametrize("name", [name for name in stored.TYPES if name != "F32"])
def test_each_tile_of_prefill_is_exact_and_gives_a_row_the_bits_of_the_others(
    cuda: Operators, name: str, tile: tuple[int, int]
) -> None:
    if not card.has_wgmma():
        pytest.skip("this code has no wgmma, and two tiles of its own, which the tests above take")
    # 4099 rows: the last block is cut, and results are not written by tensor copies.
    for rows in (4096, 4099):
        weight = stored.random(name, rows, 512, seed=1)
        num_rows = num_rows_of(cuda, [weight], tile)
        assert cuda.choice([weight], num_rows) == (*tile, name == "F8_E4M3")
        x = outliers(2, TALLEST, 512)
        (got,) = cuda.linear([weight], x[:num_rows], phase=Phase.PREFILL)
        some = np.unique(np.linspace(0, num_rows - 1, 150).astype(int))
        expected = product(x[some], weight, Phase.PREFILL)
        assert max(error(got[t], row) for t, row in zip(some, expected, strict=True)) < tolerance(name)
        for other in TILES:
            count = min(num_rows_of(cuda, [weight], other), num_rows)
            (part,) = cuda.linear([weight], np.ascontiguousarray(x[num_rows - count : num_rows]), phase=Phase.PREFILL)
            np.testing.assert_array_equal(part, got[num_rows - count :], err_msg=f"{other} {count}")


@pytest.mark.parametrize("name", [name for name in stored.TYPES if name != "F32"])
def test_the_largest_tile_of_several_weights_adds_to_what_is_there(cuda: Operators, name: str) -> None:
    weights = [stored.random(name, rows, 256, seed=rows) for rows in (4096, 1024, 1000)]
    num_rows = num_rows_of(cuda, weights, TILES[0]) if card.has_wgmma() else 700
    x = randoms(3, num_rows, 256)
    before = [randoms(4, num_rows, weight.rows) for weight in weights]
    alone = [cuda.linear([weight], x, phase=Phase.PREFILL)[0] for weight in weights]
    added = cuda.linear(weights, x, onto=before, phase=Phase.PREFILL)
    for was, own, got in zip(before, alone, added, strict=True):
        np.testing.assert_array_equal(got, was + own)


# Qwen3-32B's widest matrix has 25,600 columns: rows of more than 16,384 are prepared by kernels of their own.
@pytest.mark.parametrize("cols", [17408, 25600, 65536])
@pytest.mark.parametrize("name", [name for name in stored.TYPES if name != "F32"])
def test_long_rows_are_exact_and_know_nothing_of_each_other(cuda: Operators, name: str, cols: int) -> None:
    weight = stored.random(name, 72, cols, seed=1)
    x = outliers(2, 40, cols)
    for phase, widths in ((Phase.PREFILL, (40, 9, 8, 1)), (Phase.DECODE, (8, 5, 1))):
        (whole,) = cuda.linear([weight], np.ascontiguousarray(x[: widths[0]]), phase=phase)
        expected = product(x[: widths[0]], weight, phase)
        assert max(error(*pair) for pair in zip(whole, expected, strict=True)) < tolerance(name)
        for width in widths[1:]:
            start = widths[0] - width
            (part,) = cuda.linear([weight], np.ascontiguousarray(x[start : widths[0]]), phase=phase)
            np.testing.assert_array_equal(part, whole[start:], err_msg=f"{phase} {width}")


@pytest.mark.parametrize("name", stored.TYPES)
def test_a_linear_layer_of_any_shape_is_exact_to_its_format(cuda: Operators, name: str) -> None:
    random = np.random.default_rng(sum(name.encode()))
    block = stored.TYPES[name][1]
    for _ in range(8):
        rows, cols, width = (int(random.integers(1, most)) for most in (700, 1 + 1500 // block, 90))
        weight, x = stored.random(name, rows, cols * block, seed=rows), outliers(rows, width, cols * block)
        (whole,) = cuda.linear([weight], x, phase=Phase.PREFILL)
        for phase, got in ((Phase.PREFILL, whole), (Phase.DECODE, cuda.linear([weight], x[:8], phase=Phase.DECODE)[0])):
            expected = product(x[: len(got)], weight, phase)
            # Of the sums' terms: a sum of few of them may be far smaller.
            bound = np.linalg.norm(np.abs(x[: len(got)]).astype(np.float64) @ np.abs(weight.values()).T, axis=1)
            assert np.isfinite(got).all()
            assert (np.linalg.norm(got - expected, axis=1) <= tolerance(name) * bound).all(), (rows, cols, width, phase)
            start = int(random.integers(len(got)))
            (part,) = cuda.linear([weight], np.ascontiguousarray(x[start : len(got)]), phase=phase)
            np.testing.assert_array_equal(part, got[start:], err_msg=f"{rows} {cols} {width} {phase} {start}")


@pytest.mark.parametrize("name", ["F32", "BF16", "Q4_1", "Q4_K", "Q6_K", "Q8_0", "F8_E4M3"])
def test_several_weights_share_their_input_and_add_to_what_is_there(cuda: Operators, name: str) -> None:
    weights = [stored.random(name, rows, 512, seed=rows) for rows in (256, 64, 80)]
    for phase, width in ((Phase.DECODE, 1), (Phase.DECODE, 5), (Phase.PREFILL, 1), (Phase.PREFILL, 40)):
        x = randoms(3, width, 512)
        before = [randoms(4, width, weight.rows) for weight in weights]
        alone = [cuda.linear([weight], x, phase=phase)[0] for weight in weights]
        together = cuda.linear(weights, x, phase=phase)
        added = cuda.linear(weights, x, onto=before, phase=phase)
        for i in range(3):
            np.testing.assert_array_equal(together[i], alone[i])
            np.testing.assert_array_equal(added[i], before[i] + alone[i])


@pytest.mark.parametrize("names", [("Q4_K", "Q6_K"), ("F32", "Q8_0"), ("F16", "BF16"), ("F8_E4M3", "BF16")])
def test_weights_of_different_types_share_their_input(cuda: Operators, names: tuple[str, str]) -> None:
    weights = [stored.random(name, 128, 512, seed=5) for name in names]
    for phase, width in ((Phase.DECODE, 1), (Phase.PREFILL, 1), (Phase.PREFILL, 30)):
        x = randoms(6, width, 512)
        for got, weight in zip(cuda.linear(weights, x, phase=phase), weights, strict=True):
            assert error(got, product(x, weight, phase)) < max(tolerance(weight.name), TOLERANCE)


@pytest.mark.parametrize("name", [name for name in stored.TYPES if name != "F8_E4M3"])
def test_an_embedding_has_the_formats_own_values(cuda: Operators, name: str) -> None:
    table = stored.random(name, 300, 512, seed=7)
    tokens = np.random.default_rng(8).integers(0, 300, 70).astype(np.int32)
    np.testing.assert_array_equal(cuda.embed(table, tokens), table.values()[tokens])


@pytest.mark.parametrize("cols", [256, 768, 1280])
@pytest.mark.parametrize("name", [name for name in stored.TYPES if name != "F8_E4M3"])
def test_an_embedding_that_is_the_head_has_them_too(cuda: Operators, name: str, cols: int) -> None:
    table = stored.random(name, 300, cols, seed=7)
    tokens = np.random.default_rng(8).integers(0, 300, 70).astype(np.int32)
    np.testing.assert_array_equal(cuda.embed(table, tokens, is_head=True), table.values()[tokens])


def test_every_e4m3_code_and_scale_is_read_exactly(cuda: Operators) -> None:
    codes = np.resize(np.arange(256, dtype=np.uint8), (300, 384))
    codes[(codes & 127) == 127] = 0
    codes += (np.arange(300) % 2 * 128).astype(np.uint8)[:, None]
    scales = np.exp2(np.arange(9).reshape(3, 3) * 5 - 20).astype(np.float32) * np.float32(-1.375)
    weight = stored.Stored("F8_E4M3", 300, 384, codes, scales)
    # One column at a time: no sum rounds.
    for start in range(0, 384, leaf.MAX_LANES):
        x = np.zeros((leaf.MAX_LANES, 384), np.float32)
        x[np.arange(leaf.MAX_LANES), start + np.arange(leaf.MAX_LANES)] = 1
        (got,) = cuda.linear([weight], x, phase=Phase.DECODE)
        np.testing.assert_array_equal(got, weight.values()[:, start : start + leaf.MAX_LANES].T)
        (got,) = cuda.linear([weight], x, phase=Phase.PREFILL)
        np.testing.assert_allclose(got, weight.values()[:, start : start + leaf.MAX_LANES].T, rtol=TOLERANCE)


@pytest.mark.parametrize("code", [0x7F, 0xFF])
def test_a_code_that_is_nan_gives_nan(cuda: Operators, code: int) -> None:
    weight = stored.random("F8_E4M3", 96, 512, seed=3)
    weight.data[40, 333] = code
    for phase in Phase:
        (got,) = cuda.linear([weight], randoms(4, 3, 512), phase=phase)
        assert np.isnan(got[:, 40]).all()
        assert np.isfinite(got[:, :32]).all()
        assert np.isfinite(got[:, 48:]).all()


@pytest.mark.parametrize("size", [48, 72, 576, 4096, 5120])
def test_a_norm_is_close_to_float64_and_its_rows_know_nothing_of_each_other(cuda: Operators, size: int) -> None:
    x, weight = outliers(9, 33, size), randoms(10, size)
    wide = x.astype(np.float64)
    expected = weight * wide / np.sqrt(np.mean(wide * wide, axis=1, keepdims=True) + 1e-5)
    whole = cuda.rms_norm(x, weight, 1e-5)
    assert error(whole, expected) < 1e-6
    for start, stop in ((7, 8), (0, 2), (25, 33), (1, 32)):
        np.testing.assert_array_equal(cuda.rms_norm(x[start:stop], weight, 1e-5), whole[start:stop])


def test_swiglu_is_close_to_float64_and_its_rows_know_nothing_of_each_other(cuda: Operators) -> None:
    gate, up = 8 * randoms(13, 37, 1536), randoms(14, 37, 1536)
    wide = gate.astype(np.float64)
    whole = cuda.swiglu(gate, up)
    assert error(whole, wide / (1 + np.exp(-wide)) * up) < 1e-6
    for start, stop in ((7, 8), (0, 2), (29, 37), (1, 36)):
        np.testing.assert_array_equal(cuda.swiglu(gate[start:stop], up[start:stop]), whole[start:stop])
    extreme = np.array([[-200, -90, 90, 200, 0]], np.float32)
    assert np.isfinite(cuda.swiglu(extreme, np.ones_like(extreme))).all()


# Of a row, by the type of pages: the operands' bits, and a K that float32 and float64 round to neighbours, which are
# far apart in BF16 and FP8.
ATTENTION_LIMITS = {leaf.F32: 2e-4, leaf.F16: 2e-3, leaf.BF16: 1.5e-2, leaf.F8_E4M3: 2e-2}

# query heads, kv heads, head size
HEADS = ((9, 3, 8), (4, 2, 20), (6, 2, 16), (4, 4, 32), (9, 3, 64), (4, 2, 64), (32, 8, 128), (4, 1, 128), (8, 8, 80))


def normed(x: Floats, weight: Floats | None) -> np.ndarray:
    wide = x.astype(np.float64)
    return wide if weight is None else weight * wide / np.sqrt(np.mean(wide * wide, axis=-1, keepdims=True) + 1e-6)


def turned(x: np.ndarray, positions: np.ndarray, inv_freq: Floats, pairs: int) -> np.ndarray:
    angles = (positions[:, None].astype(np.float32) * inv_freq).astype(np.float64)[:, None, :]
    cos, sin = np.cos(angles), np.sin(angles)
    result = x.astype(np.float64)
    half = x.shape[-1] // 2
    first, second = (
        (slice(0, None, 2), slice(1, None, 2)) if pairs == leaf.ADJACENT else (slice(half), slice(half, None))
    )
    a, b = result[..., first].copy(), result[..., second].copy()
    result[..., first], result[..., second] = a * cos - b * sin, b * cos + a * sin
    return result


def attended(q: np.ndarray, k: np.ndarray, v: np.ndarray, position: int) -> np.ndarray:
    """q [NH, D] against k and v [S, NK, D] up to the position."""
    repeats = len(q) // k.shape[1]
    keys = np.repeat(k[: position + 1], repeats, axis=1)
    scores = np.einsum("hd,shd->hs", q, keys) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return np.einsum("hs,shd->hd", weights, np.repeat(v[: position + 1], repeats, axis=1))


@pytest.mark.parametrize("kv_dtype", leaf.KV_DTYPES)
@pytest.mark.parametrize("heads", HEADS)
def test_attention_is_close_to_float64_and_its_rows_know_nothing_of_each_other(
    cuda: Operators, heads: tuple[int, int, int], kv_dtype: int
) -> None:
    num_heads, num_kv_heads, dims = heads
    length = 700
    pages = list(np.random.default_rng(15).permutation(16))
    q, k = 3 * randoms(16, length, num_heads, dims), 3 * randoms(17, length, num_kv_heads, dims)
    v = randoms(18, length, num_kv_heads, dims)
    inv_freq = (1e4 ** -(np.arange(0, dims, 2) / dims)).astype(np.float32)
    pairs = leaf.ADJACENT if num_heads == 9 else leaf.HALVES
    norms = (randoms(30, dims), randoms(31, dims)) if num_heads in (6, 32) else None
    results = {}
    for cuts in ((0, 700), (0, 256, 512, 700), (0, 1, 64, 127, 300, 301, 448, 700)):
        cuda.open_pages(kv_dtype, 16, 1024, num_heads, num_kv_heads, dims)
        parts = [
            cuda.attend(q[a:b], k[a:b], v[a:b], [(b - a, a, pages)], inv_freq, norms=norms, pairs=pairs)
            for a, b in pairwise(cuts)
        ]
        results[cuts] = np.concatenate(parts)
    whole = results[0, 700]
    for cuts, result in results.items():
        np.testing.assert_array_equal(result, whole, err_msg=str(cuts))
    positions = np.arange(length)
    exact_q = turned(normed(q, norms and norms[0]), positions, inv_freq, pairs)
    exact_k = kept(turned(normed(k, norms and norms[1]), positions, inv_freq, pairs), kv_dtype)
    exact_v = kept(v, kv_dtype)
    for position in (0, 1, 63, 64, 300, 511, 512, 699):
        expected = attended(exact_q[position], exact_k, exact_v, position)
        assert error(whole[position], expected) < ATTENTION_LIMITS[kv_dtype], position
    # Rounds: rows of one sequence at several of its positions, alone and beside each other.
    chosen = [699, 5, 64, 448, 130, 0, 63, 512]

    def attend_round(at: list[int]) -> Floats:
        groups = [(1, position, pages) for position in at]
        return cuda.attend(q[at], k[at], v[at], groups, inv_freq, norms=norms, pairs=pairs, phase=Phase.DECODE)

    alone = np.concatenate([attend_round([position]) for position in chosen])
    for position, row in zip(chosen, alone, strict=True):
        expected = attended(exact_q[position], exact_k, exact_v, position)
        assert error(row, expected) < ATTENTION_LIMITS[kv_dtype], position
    for width in range(2, 9):
        np.testing.assert_array_equal(attend_round(chosen[:width]), alone[:width], err_msg=str(width))
        np.testing.assert_array_equal(attend_round(chosen[-width:]), alone[-width:], err_msg=str(width))


def test_long_attention_is_close_to_float64(cuda: Operators) -> None:
    length, inv_freq = 5000, np.zeros(64, np.float32)
    q, k, v = randoms(19, length, 32, 128), 2 * randoms(20, length, 8, 128), randoms(21, length, 8, 128)
    cuda.open_pages(leaf.F16, 80, 5120, 32, 8, 128)
    pages = list(range(80))
    step = 250
    whole = np.concatenate(
        [
            cuda.attend(q[a : a + step], k[a : a + step], v[a : a + step], [(step, a, pages)], inv_freq)
            for a in range(0, length, step)
        ]
    )
    exact_k, exact_v = kept(k, leaf.F16), kept(v, leaf.F16)
    for position in (4999, 4096, 2047, 2048):
        expected = attended(q[position].astype(np.float64), exact_k, exact_v, position)
        assert error(whole[position], expected) < 2e-3
        at = [position]
        for phase in Phase:
            got = cuda.attend(q[at], k[at], v[at], [(1, position, pages)], inv_freq, phase=phase)
            assert error(got[0], expected) < 2e-3
            if phase is Phase.PREFILL:
                np.testing.assert_array_equal(got, whole[at])


# One lane's positions are on both sides of where runs of pages grow: 16, 17, 32 and 33 pages, 64 and 65.
MANY_ITEMS = [1023, 1024, 2047, 2048, 4031, 4095, 4096, 3968]


@pytest.mark.parametrize(
    ("heads", "kv_dtype"),
    [((32, 8, 128), leaf.F16), ((32, 8, 128), leaf.F8_E4M3), ((40, 40, 64), leaf.BF16)],
    ids=["128-f16", "128-fp8", "64-bf16"],
)
def test_rounds_of_many_runs_of_pages_are_close_to_float64_and_their_rows_are_their_own(
    cuda: Operators, heads: tuple[int, int, int], kv_dtype: int
) -> None:
    """A block has five and more of them one after the other; of 40 heads more than it looks for at once."""
    num_heads, num_kv_heads, dims = heads
    length = max(MANY_ITEMS) + 1
    q, k = randoms(40, length, num_heads, dims), 2 * randoms(41, length, num_kv_heads, dims)
    v = randoms(42, length, num_kv_heads, dims)
    inv_freq = np.zeros(dims // 2, np.float32)
    pages = list(np.random.default_rng(43).permutation(-(-length // leaf.PAGE_TOKENS)))
    cuda.open_pages(kv_dtype, len(pages), len(pages) * leaf.PAGE_TOKENS, num_heads, num_kv_heads, dims)
    for a in range(0, length, 512):
        b = min(a + 512, length)
        cuda.attend(q[a:b], k[a:b], v[a:b], [(b - a, a, pages)], inv_freq)

    def attend_round(at: list[int]) -> Floats:
        groups = [(1, position, pages) for position in at]
        return cuda.attend(q[at], k[at], v[at], groups, inv_freq, phase=Phase.DECODE)

    alone = np.concatenate([attend_round([position]) for position in MANY_ITEMS])
    exact_k, exact_v = kept(k, kv_dtype), kept(v, kv_dtype)
    for position, row in zip(MANY_ITEMS, alone, strict=True):
        expected = attended(q[position].astype(np.float64), exact_k, exact_v, position)
        assert error(row, expected) < ATTENTION_LIMITS[kv_dtype], position
    for width in (2, 5, 8):
        np.testing.assert_array_equal(attend_round(MANY_ITEMS[-width:]), alone[-width:], err_msg=str(width))
    np.testing.assert_array_equal(attend_round(MANY_ITEMS[::-1]), alone[::-1])


# head size, type of pages
LONG = ((128, leaf.F16), (128, leaf.BF16), (128, leaf.F8_E4M3), (64, leaf.F16))


@pytest.mark.parametrize(("dims", "kv_dtype"), LONG)
def test_rounds_past_32768_positions_are_close_to_float64(cuda: Operators, dims: int, kv_dtype: int) -> None:
    """From there on one of the sixteen runs of pages has more than 32, whose numbers a warp asks for in turns."""
    length, step, inv_freq = 66560, 4160, np.zeros(dims // 2, np.float32)
    q, k = 3 * randoms(19, length, 2, dims), randoms(20, length, 1, dims)
    v = randoms(21, length, 1, dims)
    pages = list(np.random.default_rng(22).permutation(length // leaf.PAGE_TOKENS))
    cuda.open_pages(kv_dtype, len(pages), length, 2, 1, dims)
    whole = np.concatenate(
        [
            cuda.attend(q[a : a + step], k[a : a + step], v[a : a + step], [(step, a, pages)], inv_freq)
            for a in range(0, length, step)
        ]
    )
    exact_k, exact_v = kept(k, kv_dtype), kept(v, kv_dtype)
    at = [32767, 32768, 40959, 65536, 66559]
    together = cuda.attend(q[at], k[at], v[at], [(1, p, pages) for p in at], inv_freq, phase=Phase.DECODE)
    for position, got in zip(at, together, strict=True):
        expected = attended(q[position].astype(np.float64), exact_k, exact_v, position)
        assert error(got, expected) < ATTENTION_LIMITS[kv_dtype], position
        assert error(whole[position], expected) < ATTENTION_LIMITS[kv_dtype], position
        own = [position]
        alone = cuda.attend(q[own], k[own], v[own], [(1, position, pages)], inv_freq, phase=Phase.DECODE)
        np.testing.assert_array_equal(alone[0], got, err_msg=str(position))


# query heads, kv heads, head size, rows: blocks of one warpgroup and, where there are many, of two; the plain kernel.
SPANS = ((4, 1, 128, 300), (32, 8, 128, 1500), (4, 2, 64, 300), (32, 8, 64, 1500), (6, 2, 16, 200))


@pytest.mark.parametrize("kv_dtype", leaf.KV_DTYPES)
@pytest.mark.parametrize("shape", SPANS, ids=lambda shape: "-".join(map(str, shape)))
def test_what_is_not_a_number_reaches_no_row_before_it(
    cuda: Operators, shape: tuple[int, int, int, int], kv_dtype: int
) -> None:
    """A weight of 0 times NaN is NaN: V beyond a row's position must not be multiplied, nor what pages hold there."""
    num_heads, num_kv_heads, dims, length = shape
    pages, inv_freq = list(range(2 + length // leaf.PAGE_TOKENS)), np.zeros(dims // 2, np.float32)
    q, k = randoms(16, length, num_heads, dims), randoms(17, length, num_kv_heads, dims)
    v = randoms(18, length, num_kv_heads, dims)
    cuda.open_pages(kv_dtype, len(pages), leaf.PAGE_TOKENS * len(pages), num_heads, num_kv_heads, dims)

    def span(v: Floats, start: int = 0, stop: int = length) -> Floats:
        group = [(stop - start, start, pages)]
        return cuda.attend(q[start:stop], k[start:stop], v[start:stop], group, inv_freq, phase=Phase.PREFILL)

    clean = span(v)
    for bad in (np.nan, np.inf, -np.inf):
        for place in (length - 1, length - 70, 130, 5):
            broken = v.copy()
            broken[place, -1, dims // 3] = bad
            got = span(broken)
            np.testing.assert_array_equal(got[:place], clean[:place], err_msg=f"{bad} at {place}")
            # E4M3 has no infinity: that is 448 there.
            if kv_dtype != leaf.F8_E4M3:
                own = got[place:, -num_heads // num_kv_heads :].reshape(length - place, -1)
                assert not np.isfinite(own).all(axis=1).any(), f"{bad} at {place}"
            others = slice(0, num_heads - num_heads // num_kv_heads)
            np.testing.assert_array_equal(got[:, others], clean[:, others])
    # Beyond the end of a span, and of a round's row, a page holds what it held before: here what rounds left.
    nothing = np.full_like(v, np.nan)

    def poison(start: int) -> None:
        for first in range(start, min(start // 64 * 64 + 64, length), leaf.MAX_LANES):
            at = list(range(first, min(first + leaf.MAX_LANES, length)))
            cuda.attend(q[at], k[at], nothing[at], [(1, p, pages) for p in at], inv_freq, phase=Phase.DECODE)

    parts = []
    for start, stop in pairwise((0, 1, 66, length // 2 + 20, length)):
        poison(stop)
        parts.append(span(v, start, stop))
    np.testing.assert_array_equal(np.concatenate(parts), clean)

    def round_of(position: int) -> Floats:
        at = [position]
        return cuda.attend(q[at], k[at], v[at], [(1, position, pages)], inv_freq, phase=Phase.DECODE)

    for place in (0, 30, 62, 63, 64, 150):
        expected = round_of(place)
        poison(place + 1)
        np.testing.assert_array_equal(round_of(place), expected, err_msg=str(place))


@pytest.mark.parametrize("seed", range(12))
def test_attention_of_any_shape_is_close_to_float64_and_its_rows_are_their_own(cuda: Operators, seed: int) -> None:
    random = np.random.default_rng(seed)
    num_kv_heads, shared = int(random.integers(1, 5)), int(random.integers(1, 18))
    dims = (64, 128, 2 * int(random.integers(1, 100)))[seed % 3]
    num_heads, length = num_kv_heads * shared, int(random.integers(1, 400))
    kv_dtype = leaf.KV_DTYPES[seed // 3 % len(leaf.KV_DTYPES)]
    pages = list(random.permutation(8))
    q, k = 2 * randoms(seed, length, num_heads, dims), 2 * randoms(seed + 1, length, num_kv_heads, dims)
    v, inv_freq = randoms(seed + 2, length, num_kv_heads, dims), np.zeros(dims // 2, np.float32)
    cuda.open_pages(kv_dtype, 8, 512, num_heads, num_kv_heads, dims)
    whole = cuda.attend(q, k, v, [(length, 0, pages)], inv_freq, phase=Phase.PREFILL)
    cut = int(random.integers(length))
    tail = cuda.attend(q[cut:], k[cut:], v[cut:], [(length - cut, cut, pages)], inv_freq, phase=Phase.PREFILL)
    np.testing.assert_array_equal(tail, whole[cut:])
    chosen = [int(position) for position in random.permutation(length)[:8]]

    def attend_round(at: list[int]) -> Floats:
        groups = [(1, position, pages) for position in at]
        return cuda.attend(q[at], k[at], v[at], groups, inv_freq, phase=Phase.DECODE)

    together = attend_round(chosen)
    exact_k, exact_v = kept(k, kv_dtype), kept(v, kv_dtype)
    for i, position in enumerate(chosen):
        expected = attended(q[position].astype(np.float64), exact_k, exact_v, position)
        assert error(whole[position], expected) < ATTENTION_LIMITS[kv_dtype]
        assert error(together[i], expected) < ATTENTION_LIMITS[kv_dtype]
        np.testing.assert_array_equal(attend_round([position])[0], together[i])
