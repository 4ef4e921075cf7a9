"""Stored weights have the values that the `gguf` package gives them, bit for bit."""

import numpy as np
import pytest

from tests.kernels import stored
from tests.kernels.native import Library
from tests.models import fp8

# float16: zero and minus zero, the smallest and largest subnormal, the smallest normal, one, the largest.
EXTREME_BITS = (0x0000, 0x8000, 0x0001, 0x03FF, 0x0400, 0x8401, 0x3C00, 0x7BFF, 0xFBFF)


@pytest.mark.parametrize("name", stored.QUANTIZED)
def test_random_blocks_have_the_values_of_their_format(library: Library, name: str) -> None:
    per_block, block_bytes = stored.block(name)
    random = np.random.default_rng(1)
    blocks = random.integers(0, 256, (4096, block_bytes), dtype=np.uint8)
    scales = random.normal(0, 1, (4096, stored.num_scales(name))).astype(np.float16)
    stored.set_scales(name, blocks, scales)
    got = library.dequantize(stored.number(name), blocks, len(blocks) * per_block)
    assert np.array_equal(got.view(np.uint32), stored.dequantized(name, blocks).ravel().view(np.uint32))


@pytest.mark.parametrize("name", stored.QUANTIZED)
def test_extreme_scales_have_the_values_of_their_format(library: Library, name: str) -> None:
    per_block, block_bytes = stored.block(name)
    count = stored.num_scales(name)
    pairs = np.array([(a, b) for a in EXTREME_BITS for b in EXTREME_BITS], np.uint16)
    blocks = np.random.default_rng(2).integers(0, 256, (len(pairs), block_bytes), dtype=np.uint8)
    stored.set_scales(name, blocks, pairs[:, :count].view(np.float16))
    got = library.dequantize(stored.number(name), blocks, len(blocks) * per_block)
    assert np.array_equal(got.view(np.uint32), stored.dequantized(name, blocks).ravel().view(np.uint32))


def test_every_float16_is_widened_exactly(library: Library) -> None:
    halves = np.arange(65536, dtype=np.uint16)
    got = library.dequantize(stored.number("F16"), halves.view(np.uint8), len(halves))
    assert np.array_equal(got, halves.view(np.float16).astype(np.float32), equal_nan=True)


def test_every_bfloat16_is_widened_exactly(library: Library) -> None:
    words = np.arange(65536, dtype=np.uint16)
    got = library.dequantize(stored.number("BF16"), words.view(np.uint8), len(words))
    assert np.array_equal(got.view(np.uint32), words.astype(np.uint32) << 16)


def test_every_e4m3_code_is_widened_exactly(library: Library) -> None:
    codes = np.arange(256, dtype=np.uint8)
    got = library.dequantize(stored.number("F8_E4M3"), codes, len(codes))
    assert np.array_equal(got, fp8.VALUES, equal_nan=True)
    assert (np.signbit(got) == np.signbit(fp8.VALUES))[~np.isnan(got)].all()


def test_float32_is_copied_from_any_address(library: Library) -> None:
    values = np.array([1.5, -0.0, np.inf, 1e-45], np.float32)
    odd = np.concatenate([np.zeros(1, np.uint8), values.view(np.uint8)])[1:]
    got = library.dequantize(stored.number("F32"), odd, len(values))
    assert np.array_equal(got.view(np.uint32), values.view(np.uint32))
