"""Random stored weights of every format, and what they mean by the `gguf` package."""

from dataclasses import dataclass

import gguf
import numpy as np
import numpy.typing as npt

from tests.abi import leaf
from tests.kernels.native import Bytes, Floats, Weights
from tests.models import fp8

Doubles = npt.NDArray[np.float64]

QUANTIZED = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K")
FLOATS = ("F32", "F16", "BF16", "F8_E4M3")
# Where in a block the float16 scales are, and where the codes start and stop.
SCALES_AT = {"Q4_1": (0, 2), "Q5_1": (0, 2), "Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,)}
CODES_AT = {
    "Q4_0": (2, 18),
    "Q4_1": (4, 20),
    "Q5_0": (2, 22),
    "Q5_1": (4, 24),
    "Q8_0": (2, 34),
    "Q4_K": (16, 144),
    "Q5_K": (16, 176),
    "Q6_K": (0, 192),
}


def number(name: str) -> int:
    if name == "F8_E4M3":
        return leaf.F8_E4M3
    return int(gguf.GGMLQuantizationType[name].value)


def block(name: str) -> tuple[int, int]:
    """(values, bytes) of a block."""
    values, size_bytes = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]]
    return int(values), int(size_bytes)


def dequantized(name: str, data: Bytes) -> Floats:
    """float32 of stored rows, uint8 [rows, bytes of a row], bit for bit as the format defines them."""
    return np.asarray(gguf.quants.dequantize(data, gguf.GGMLQuantizationType[name]), np.float32)


def set_scales(name: str, blocks: Bytes, scales: npt.NDArray[np.float16]) -> None:
    """Writes each scale of each block [..., bytes of a block]; scales [..., scales of a block]."""
    for i, at in enumerate(SCALES_AT.get(name, (0,))):
        blocks[..., at : at + 2] = np.ascontiguousarray(scales[..., i : i + 1]).view(np.uint8)


def num_scales(name: str) -> int:
    return len(SCALES_AT.get(name, (0,)))


@dataclass(frozen=True, slots=True)
class Matrix:
    """Stored weights, their exact values, and for each the largest magnitude of a term that its value is a sum of."""

    weights: Weights
    values: Doubles  # [rows, cols]
    magnitudes: Doubles  # [rows, cols]: |d q| + |m|


def matrix_of(name: str, data: Bytes, cols: int) -> Matrix:
    values = dequantized(name, data).reshape(len(data), cols).astype(np.float64)
    magnitudes = np.abs(values)
    if name in QUANTIZED:
        start, stop = CODES_AT[name]
        floor = data.reshape(len(data), -1, block(name)[1]).copy()
        floor[..., start:stop] = 0
        magnitudes += 2 * np.abs(dequantized(name, floor.reshape(data.shape)).reshape(values.shape))
    return Matrix(Weights(number(name), cols, data), values, magnitudes)


def random_matrix(name: str, rows: int, cols: int, seed: int) -> Matrix:
    random = np.random.default_rng(seed)
    if name == "F8_E4M3":
        codes = random.integers(0, 127, (rows, cols)).astype(np.uint8) + np.uint8(128) * random.integers(
            0, 2, (rows, cols), np.uint8
        )
        scales = random.normal(0, 0.01, (fp8.num_blocks(rows), fp8.num_blocks(cols))).astype(np.float32)
        values = fp8.dequantized(codes, scales).astype(np.float64)
        return Matrix(Weights(leaf.F8_E4M3, cols, codes, scales), values, np.abs(values))
    if name == "F32":
        data = random.standard_normal((rows, cols)).astype(np.float32).view(np.uint8)
    elif name == "F16":
        data = random.standard_normal((rows, cols)).astype(np.float16).view(np.uint8)
    elif name == "BF16":
        bits = random.standard_normal((rows, cols)).astype(np.float32).view(np.uint32)
        data = (bits >> 16).astype(np.uint16).view(np.uint8)
    else:
        per_block, block_bytes = block(name)
        blocks = random.integers(0, 256, (rows, cols // per_block, block_bytes), dtype=np.uint8)
        scales = random.normal(0, 0.05, (rows, cols // per_block, num_scales(name))).astype(np.float16)
        set_scales(name, blocks, scales)
        data = blocks.reshape(rows, -1)
    return matrix_of(name, data, cols)
