"""Full-size shapes with random weights that cost no download: all matrices of a type share the bytes of one file."""

import ctypes
from dataclasses import dataclass

import numpy as np

from tests.abi import leaf
from tests.cuda import stored


@dataclass(frozen=True, slots=True)
class FullShape:
    name: str
    architecture: int
    num_layers: int
    hidden: int
    ffn: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    vocab_size: int
    is_tied: bool = False

    def matrices(self) -> dict[str, tuple[int, int]]:
        """Rows and columns by name."""
        queries, keys = self.num_heads * self.head_dim, self.num_kv_heads * self.head_dim
        result = {"token_embd.weight": (self.vocab_size, self.hidden)}
        if not self.is_tied:
            result["output.weight"] = (self.vocab_size, self.hidden)
        for layer in range(self.num_layers):
            block = {
                "attn_q": (queries, self.hidden),
                "attn_k": (keys, self.hidden),
                "attn_v": (keys, self.hidden),
                "attn_output": (self.hidden, queries),
                "ffn_gate": (self.ffn, self.hidden),
                "ffn_up": (self.ffn, self.hidden),
                "ffn_down": (self.hidden, self.ffn),
            }
            result |= {f"blk.{layer}.{name}.weight": size for name, size in block.items()}
        return result

    def vectors(self) -> dict[str, int]:
        result = {"output_norm.weight": self.hidden}
        for layer in range(self.num_layers):
            result |= {f"blk.{layer}.{name}.weight": self.hidden for name in ("attn_norm", "ffn_norm")}
            if self.architecture == leaf.QWEN3:
                result |= {f"blk.{layer}.{name}.weight": self.head_dim for name in ("attn_q_norm", "attn_k_norm")}
        return result


QWEN3_8B = FullShape("Qwen3-8B", leaf.QWEN3, 36, 4096, 12288, 32, 8, 128, 151936)
QWEN3_32B = FullShape("Qwen3-32B", leaf.QWEN3, 64, 5120, 25600, 64, 8, 128, 151936)
SMOLLM2 = FullShape("SmolLM2-135M", leaf.LLAMA, 30, 576, 1536, 9, 3, 64, 49152, is_tied=True)


def weights_of(shape: FullShape, name: str) -> leaf.Weights:
    """Random weights of one stored type, scaled so that activations keep their size."""
    number, values, size_bytes, scales_at = stored.TYPES[name]
    largest = max(rows * cols for rows, cols in shape.matrices().values())
    made = stored.random(name, 1024, 4096, seed=1)
    scale = 1.0 / (np.sqrt(shape.hidden) * made.values().std())
    if name in stored.FLOATS:
        floats = np.multiply(np.random.default_rng(1).standard_normal((1024, 4096)), scale).astype(np.float32)
        if name == "BF16":
            tile = (floats.view(np.uint32) >> 16).astype(np.uint16).view(np.uint8).reshape(-1)
        else:
            tile = floats.astype(np.float16 if name == "F16" else np.float32).view(np.uint8).reshape(-1)
    else:
        blocks = made.data.reshape(-1, size_bytes).copy()
        for at in scales_at:
            own = np.ascontiguousarray(blocks[:, at : at + 2]).view(np.float16).astype(np.float32) * scale
            blocks[:, at : at + 2] = own.astype(np.float16).view(np.uint8)
        tile = blocks.reshape(-1)
    data = np.resize(tile, largest // values * size_bytes)
    tensors = [
        leaf.StoredTensor(matrix, number, rows, cols, data[: rows * cols // values * size_bytes])
        for matrix, (rows, cols) in shape.matrices().items()
    ]
    ones = np.ones(shape.hidden, np.float32).view(np.uint8)
    tensors += [
        leaf.StoredTensor(vector, leaf.F32, 1, size, ones[: 4 * size]) for vector, size in shape.vectors().items()
    ]
    header = leaf.Shape(
        ctypes.sizeof(leaf.Shape),
        shape.architecture,
        shape.num_layers,
        shape.hidden,
        shape.ffn,
        shape.num_heads,
        shape.num_kv_heads,
        shape.head_dim,
        shape.vocab_size,
        1e-6,
        leaf.HALVES,
        1.0,
    )
    inv_freq = (1e6 ** -(np.arange(0, shape.head_dim, 2) / shape.head_dim)).astype(np.float32)
    return leaf.Weights(header, tuple(tensors), inv_freq)
