"""Ways to store a tiny checkpoint's tensors: the element types that a leaf reads."""

from collections.abc import Callable, Mapping

import gguf
import numpy as np
import numpy.typing as npt

from tests.abi import leaf
from tests.models import fp8
from tests.models.tiny import Array, as_bytes

Bytes = npt.NDArray[np.uint8]
Store = Callable[[str, Array], tuple[int, Bytes]]


def float32(_name: str, values: Array) -> tuple[int, Bytes]:
    return leaf.F32, as_bytes(values)


def float16(_name: str, values: Array) -> tuple[int, Bytes]:
    return leaf.F16, as_bytes(values.astype(np.float16))


def bfloat16(_name: str, values: Array) -> tuple[int, Bytes]:
    """Norms too, as safetensors have them. Truncated, which a test's own weights may be."""
    return int(gguf.GGMLQuantizationType.BF16), as_bytes((values.view(np.uint32) >> 16).astype(np.uint16))


def float8(name: str, values: Array) -> tuple[int, Bytes]:
    """Linear layers alone, as Hugging Face's folders have them: norms and embeddings keep what they had."""
    if values.ndim == 1 or name == "token_embd.weight":
        return leaf.F32, as_bytes(values)
    return leaf.F8_E4M3, fp8.as_bytes(*fp8.quantized(values))


def quantized(kind: gguf.GGMLQuantizationType) -> Store:
    """Matrices in blocks, vectors in float32, as GGUF files have them."""

    def store(_name: str, values: Array) -> tuple[int, Bytes]:
        if values.ndim == 1:
            return leaf.F32, as_bytes(values)
        return int(kind), as_bytes(gguf.quants.quantize(values, kind))

    return store


def random_blocks(kind: gguf.GGMLQuantizationType) -> Store:
    """Blocks of random codes with small scales: for the types that the gguf package reads and does not write."""

    def store(name: str, values: Array) -> tuple[int, Bytes]:
        if values.ndim == 1:
            return leaf.F32, as_bytes(values)
        block_values, block_bytes = gguf.GGML_QUANT_SIZES[kind]
        random = np.random.Generator(np.random.PCG64(sum(name.encode())))
        blocks = random.integers(0, 256, (values.size // block_values, block_bytes), np.uint8)
        scale = np.array([0.3 / np.sqrt(values.shape[1]) / 500], np.float16).view(np.uint8)
        if kind is gguf.GGMLQuantizationType.Q6_K:
            blocks[:, -2:] = scale
        else:
            blocks[:, 0:2] = blocks[:, 2:4] = scale
        return int(kind), as_bytes(blocks)

    return store


_KINDS = gguf.GGMLQuantizationType
STORES: Mapping[str, Store] = {
    "f32": float32,
    "f16": float16,
    "bf16": bfloat16,
    "fp8": float8,
    **{
        kind.name.lower(): quantized(kind) for kind in (_KINDS.Q4_0, _KINDS.Q4_1, _KINDS.Q5_0, _KINDS.Q5_1, _KINDS.Q8_0)
    },
    **{kind.name.lower(): random_blocks(kind) for kind in (_KINDS.Q4_K, _KINDS.Q5_K, _KINDS.Q6_K)},
}


def dequantized(weights: leaf.Weights) -> dict[str, Array]:
    """Each tensor's float32 values as the gguf package reads them, or `fp8`."""
    arrays = {}
    for tensor in weights.tensors:
        if tensor.dtype == leaf.F8_E4M3:
            arrays[tensor.name] = fp8.dequantized(*fp8.split(tensor.data, tensor.rows, tensor.cols))
            continue
        kind = gguf.GGMLQuantizationType(tensor.dtype)
        values = gguf.quants.dequantize(tensor.data.reshape(tensor.rows, -1), kind).astype(np.float32)
        arrays[tensor.name] = values.reshape(tensor.rows, tensor.cols) if tensor.rows > 1 else values.reshape(-1)
    return arrays
