"""E4M3 with block scales as numpy computes it: what F8_E4M3 weights are held against."""

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]

BLOCK = 128
LARGEST = 448.0


def _values() -> Floats:
    codes = np.arange(256)
    exponent, mantissa = codes >> 3 & 15, codes & 7
    magnitudes = np.where(exponent == 0, mantissa * 2.0**-9, (8 + mantissa) * np.exp2(exponent - 10.0))
    magnitudes[(codes & 127) == 127] = np.nan
    return np.where(codes >= 128, -magnitudes, magnitudes).astype(np.float32)


VALUES: Floats = _values()
"""[256], by code."""


def num_blocks(size: int) -> int:
    return -(-size // BLOCK)


def spread(scales: Floats, rows: int, cols: int) -> Floats:
    """Block scales [row blocks, column blocks] for each value, [rows, cols]."""
    return scales.repeat(BLOCK, axis=0).repeat(BLOCK, axis=1)[:rows, :cols]


def dequantized(codes: Bytes, scales: Floats) -> Floats:
    """codes [rows, cols]; each product rounded to float32 once."""
    return VALUES[codes] * spread(scales, *codes.shape)


def as_bfloat(values: Floats) -> Floats:
    """Cut to what bfloat16 says."""
    return (np.ascontiguousarray(values).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def quantized(values: Floats) -> tuple[Bytes, Floats]:
    """Codes [rows, cols] nearest to float32 values, and scales that bring a block's largest near the largest code."""
    rows, cols = values.shape
    padded = np.zeros((num_blocks(rows) * BLOCK, num_blocks(cols) * BLOCK), np.float32)
    padded[:rows, :cols] = np.abs(values)
    largest = padded.reshape(num_blocks(rows), BLOCK, num_blocks(cols), BLOCK).max((1, 3))
    scales = np.maximum(as_bfloat(largest / np.float32(0.98 * LARGEST)), np.float32(2.0**-100))
    return nearest_codes(values / spread(scales, rows, cols)), scales


def nearest_codes(values: Floats) -> Bytes:
    """Of values within the largest code; of two as near, the even one."""
    positive = VALUES[:127]
    upper = np.clip(np.searchsorted(positive, np.abs(values)), 1, 126)
    below, above = np.abs(values) - positive[upper - 1], positive[upper] - np.abs(values)
    is_lower = (below < above) | ((below == above) & (upper % 2 == 1))
    return (np.where(is_lower, upper - 1, upper) + 128 * (values < 0)).astype(np.uint8)


def activations(x: npt.NDArray[np.floating]) -> Floats:
    """Rows as an FP8 product takes them: E4M3 codes with a scale for each 128 columns of a row. [T, K] any K."""
    rows, cols = x.shape
    padded = np.zeros((rows, num_blocks(cols), BLOCK), np.float32)
    padded.reshape(rows, -1)[:, :cols] = x
    largest = np.maximum(np.abs(padded).max(-1, keepdims=True), np.float32(2.0**-100))
    codes = nearest_codes(np.clip(padded * (np.float32(LARGEST) / largest), -LARGEST, LARGEST))
    return (VALUES[codes] * (largest / np.float32(LARGEST))).reshape(rows, -1)[:, :cols]


def as_bytes(codes: Bytes, scales: Floats) -> Bytes:
    """Codes with their float32 scales behind, as the tests' stored tensors have them."""
    return np.concatenate([codes.reshape(-1), np.ascontiguousarray(scales, np.float32).view(np.uint8).reshape(-1)])


def split(data: Bytes, rows: int, cols: int) -> tuple[Bytes, Floats]:
    """What `as_bytes` put together."""
    scales = np.ascontiguousarray(data[rows * cols :]).view(np.float32)
    return data[: rows * cols].reshape(rows, cols), scales.reshape(num_blocks(rows), num_blocks(cols))
