"""Linear layers of every format, on every instruction set: right within a bound, and the same bits for every batch.

The bound for y = sum_k w_k x_k, with the exact values w of the stored weights (spec/adr/0005):

- Quantised weights see x rounded to codes of d = (largest |x| of its 32 columns) / 16256, so each x is off by at most
  d / 2 and y by at most sum_k |w_k| d / 2.
- Float32 arithmetic rounds each block's terms a few times and each step of the sum once. With u = 2^-24 that is at most
  (blocks + 8) u times the sum of the terms' magnitudes, |d q| + |m| a weight, for quantised weights, and
  (K + 8) u sum |w_k x_k| for float weights, whatever the order.
- BF16 weights may see x as the sum of two bfloat16, off by at most 2^-17 |x|.
"""

import numpy as np
import pytest

from tests.kernels import stored
from tests.kernels.native import POISON, Bench, Floats, Library

TOKENS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 64)
UNIT = 2.0**-24


def tolerance(name: str, matrix: stored.Matrix, x: Floats) -> stored.Doubles:
    """The bound on |y - exact|, [T, rows]."""
    exact = np.abs(x.astype(np.float64))
    if name in stored.FLOATS:
        relative = (x.shape[1] + 8) * UNIT + (2.0**-17 if name == "BF16" else 0)
        return np.asarray(relative * exact @ np.abs(matrix.values).T)
    num_blocks = x.shape[1] // 32
    steps = np.repeat(exact.reshape(len(x), num_blocks, 32).max(-1) / 16256, 32, axis=1)
    coding = (0.5 + 1e-3) * steps @ np.abs(matrix.values).T
    return np.asarray(coding + (num_blocks + 8) * UNIT * (exact + steps) @ matrix.magnitudes.T)


def random_x(tokens: int, cols: int) -> Floats:
    random = np.random.default_rng(7)
    x = random.standard_normal((tokens, cols)).astype(np.float32)
    x[:, :: cols // 3] *= 30  # outliers, as real activations have them
    return x


def cols_of(name: str) -> int:
    if name == "F8_E4M3":
        return 300
    return 75 if name in stored.FLOATS else 3 * stored.block(name)[0]


@pytest.mark.parametrize("rows", [1, 15, 16, 50])
@pytest.mark.parametrize("name", stored.QUANTIZED + stored.FLOATS)
def test_every_batch_and_thread_count_has_the_same_bits_within_the_bound(
    library: Library, isa: str, name: str, rows: int
) -> None:
    matrix = stored.random_matrix(name, rows, cols_of(name), seed=3)
    x = random_x(max(TOKENS), cols_of(name))
    reference = None
    for num_threads in (1, 2, 3):
        with Bench(library, isa, num_threads) as bench:
            packed = bench.matrix(matrix.weights)
            for tokens in reversed(TOKENS):
                y = np.full((tokens, rows + 5), POISON)
                bench.linear([y], [packed], x[:tokens])
                if reference is None:
                    reference = y[:, :rows].copy()
                assert np.array_equal(y[:, :rows].view(np.uint32), reference[:tokens].view(np.uint32))
                assert np.isnan(y[:, rows:]).all()
    assert reference is not None
    assert (np.abs(reference - x.astype(np.float64) @ matrix.values.T) <= tolerance(name, matrix, x)).all()


@pytest.mark.parametrize("name", stored.QUANTIZED + stored.FLOATS)
def test_what_y_held_is_added_last(library: Library, isa: str, name: str) -> None:
    matrix = stored.random_matrix(name, 21, cols_of(name), seed=4)
    x = random_x(9, cols_of(name))
    residual = np.random.default_rng(5).standard_normal((9, 21)).astype(np.float32)
    with Bench(library, isa, 2) as bench:
        packed = bench.matrix(matrix.weights)
        product, y = np.full((9, 21), POISON), residual.copy()
        bench.linear([product], [packed], x)
        bench.linear([y], [packed], x, accumulates=True)
    assert np.array_equal(y, residual + product)


def test_matrices_of_different_formats_share_one_call(library: Library, isa: str) -> None:
    names = ("Q4_K", "Q6_K", "F32", "Q8_0", "BF16", "Q4_1", "F16", "Q5_0", "Q5_1")
    matrices = [stored.random_matrix(name, 33, 256, seed) for seed, name in enumerate(names)]
    x = random_x(13, 256)
    with Bench(library, isa, 2) as bench:
        packed = [bench.matrix(matrix.weights) for matrix in matrices]
        together = [np.full((13, 40), POISON) for _ in names]
        bench.linear(together, packed, x)
        for y, one in zip(together, packed, strict=True):
            alone = np.full((13, 40), POISON)
            bench.linear([alone], [one], x)
            assert np.array_equal(alone, y, equal_nan=True)


@pytest.mark.parametrize("code_byte", [0x00, 0x7F, 0x80, 0xFF])
@pytest.mark.parametrize("name", stored.QUANTIZED)
def test_the_largest_codes_do_not_saturate(library: Library, isa: str, name: str, code_byte: int) -> None:
    """Activations whose codes are known: d is 1, and every hi is +-127 or +-126, every lo 0, 63 or -64."""
    per_block, block_bytes = stored.block(name)
    cols = 2 * per_block
    blocks = np.full((16, 2, block_bytes), code_byte, np.uint8)
    if name in ("Q4_K", "Q5_K"):
        blocks[..., 4:16] = 0xFF
    if name == "Q6_K":
        blocks[..., 192:208] = np.array([127, 128], np.uint8).repeat(8)
    stored.set_scales(name, blocks, np.ones((16, 2, stored.num_scales(name)), np.float16))
    matrix = stored.matrix_of(name, blocks.reshape(16, -1), cols)
    patterns = ([16256], [-16256], [16256, 16191], [-16256, -16192], [16256, -16256, 16191, -16192])
    x = np.array([np.resize(pattern, cols) for pattern in patterns], np.float32)
    with Bench(library, isa, 1) as bench:
        y = np.full((len(x), 16), POISON)
        bench.linear([y], [bench.matrix(matrix.weights)], x)
    exact = x.astype(np.float64) @ matrix.values.T
    rounding = (cols // 32 + 8) * UNIT * np.abs(x).astype(np.float64) @ matrix.magnitudes.T
    assert (np.abs(y - exact) <= rounding).all()


@pytest.mark.parametrize("name", stored.QUANTIZED + stored.FLOATS)
def test_zeros_give_zeros(library: Library, isa: str, name: str) -> None:
    matrix = stored.random_matrix(name, 17, cols_of(name), seed=6)
    with Bench(library, isa, 1) as bench:
        y = np.full((3, 17), POISON)
        bench.linear([y], [bench.matrix(matrix.weights)], np.zeros((3, cols_of(name)), np.float32))
    assert not y.any()


def test_columns_that_are_no_whole_blocks_are_refused(library: Library) -> None:
    weights = stored.random_matrix("Q4_1", 4, 64, seed=8).weights
    with Bench(library, "portable", 1) as bench, pytest.raises(RuntimeError, match="4 rows of 48 values"):
        bench.matrix(type(weights)(weights.dtype, 48, weights.data))
