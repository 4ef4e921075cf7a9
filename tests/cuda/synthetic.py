"""Full-size shapes, whose random weights the card makes: no file, and no bytes on the host."""

import ctypes
from dataclasses import dataclass

import numpy as np

from tests.abi import leaf
from tests.cuda import stored
from tests.models import fp8


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
LLAMA_3_8B = FullShape("Llama-3-8B", leaf.LLAMA, 32, 4096, 14336, 32, 8, 128, 128256)
SMOLLM2 = FullShape("SmolLM2-135M", leaf.LLAMA, 30, 576, 1536, 9, 3, 64, 49152, is_tied=True)


def shape_of(shape: FullShape) -> leaf.Shape:
    """As the step ABI describes it, but for the rotary frequencies."""
    return leaf.Shape(
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


def load_params(shape: FullShape, name: str, **fields: int) -> tuple[leaf.Weights, leaf.LoadParams]:
    """What a load of the shape takes, with matrices of one stored type; of FP8, embedding and head in BF16. The weights
    hold its memory."""
    tensors = []
    for matrix, (rows, cols) in shape.matrices().items():
        is_outer = rows == shape.vocab_size
        own = "BF16" if name == "F8_E4M3" and is_outer else name
        number, values, size_bytes, _ = stored.TYPES[own]
        num_bytes = rows * cols // values * size_bytes
        if own == "F8_E4M3":
            num_bytes += 4 * fp8.num_blocks(rows) * fp8.num_blocks(cols)
        # Never touched, so that it is an address and no memory.
        tensors.append(leaf.StoredTensor(matrix, number, rows, cols, np.empty(num_bytes, np.uint8)))
    tensors += [
        leaf.StoredTensor(vector, leaf.F32, 1, size, np.empty(4 * size, np.uint8))
        for vector, size in shape.vectors().items()
    ]
    inv_freq = (1e6 ** -(np.arange(0, shape.head_dim, 2) / shape.head_dim)).astype(np.float32)
    weights = leaf.Weights(shape_of(shape), tuple(tensors), inv_freq)
    params = leaf.load_params(weights, **fields)
    params.seed = 1
    for index in range(params.num_files):
        params.files[index].base = None
    return weights, params
