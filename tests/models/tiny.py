"""Tiny random checkpoints, made from a seed: what the leaf loads, and the same numbers for the oracle."""

import ctypes
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from tests.abi import leaf
from tests.models.scalings import Llama3, Scaling, Yarn

Array = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class TinyConfig:
    """Sizes of a dense decoder. `name` also picks the seed."""

    name: str
    architecture: int
    num_layers: int
    hidden_size: int
    ffn_size: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    vocab_size: int
    rms_eps: float = 1e-5
    rope_theta: float = 1e5
    is_tied: bool = True
    pairs: int = leaf.HALVES
    rope_scale: float = 1.0
    scaling: Scaling | None = None
    """Of the frequencies; its attention scale is rope_scale."""


LLAMA = TinyConfig("llama", leaf.LLAMA, 3, 72, 160, 9, 3, 8, 97)
LLAMA_UNTIED = TinyConfig("llama_untied", leaf.LLAMA, 2, 64, 96, 4, 2, 20, 130, is_tied=False, rope_scale=1.2)
QWEN3 = TinyConfig("qwen3", leaf.QWEN3, 3, 80, 128, 6, 2, 16, 101, rms_eps=1e-6, rope_theta=1e6)
QWEN3_UNTIED = TinyConfig(
    "qwen3_untied", leaf.QWEN3, 2, 48, 64, 4, 4, 32, 75, rms_eps=1e-6, rope_theta=1e6, is_tied=False
)
# Rows of 256 columns, so that every stored type fits; a head as wide as real ones have.
WIDE = TinyConfig("wide", leaf.LLAMA, 2, 256, 512, 4, 2, 64, 320)
WIDE_QWEN3 = TinyConfig("wide_qwen3", leaf.QWEN3, 2, 256, 256, 4, 1, 128, 320, rms_eps=1e-6)

# Frequencies on both sides of either scaling's ramp, and on it.
LLAMA3_ROPE = TinyConfig(
    "llama3_rope", leaf.LLAMA, 2, 72, 160, 3, 1, 24, 97, rope_theta=5e5, is_tied=False, scaling=Llama3(8.0, 64)
)
YARN_ROPE = TinyConfig(
    "yarn_rope",
    leaf.LLAMA,
    2,
    64,
    96,
    4,
    2,
    20,
    130,
    rope_theta=1e4,
    rope_scale=Yarn(4.0, 48).attention_scale,
    scaling=Yarn(4.0, 48),
)

CONFIGS = (LLAMA, LLAMA_UNTIED, QWEN3, QWEN3_UNTIED, WIDE, WIDE_QWEN3)


@dataclass(frozen=True, slots=True)
class Tiny:
    """arrays: float32, by GGUF name, in the order of Hugging Face's dims (rope in halves), whatever config.pairs."""

    config: TinyConfig
    arrays: dict[str, Array] = field(repr=False)

    @property
    def base_freq(self) -> npt.NDArray[np.float64]:
        """The rope's frequencies before any scaling."""
        dims = np.arange(0, self.config.head_dim, 2, dtype=np.float64)
        return np.power(self.config.rope_theta, -dims / self.config.head_dim, dtype=np.float64)

    @property
    def inv_freq(self) -> Array:
        scaling, base = self.config.scaling, self.base_freq
        return (scaling.scale(base, self.config.rope_theta) if scaling else base).astype(np.float32)

    def weights(self, store: Callable[[str, Array], tuple[int, npt.NDArray[np.uint8]]] | None = None) -> leaf.Weights:
        """As the leaf takes them. store gives a tensor's dtype and bytes; float32 without it."""
        tensors = []
        for name, values in self.arrays.items():
            stored = permute(values, self.config.head_dim) if self.is_permuted(name) else values
            dtype, data = store(name, stored) if store else (leaf.F32, as_bytes(stored))
            rows, cols = stored.shape if stored.ndim == 2 else (1, len(stored))
            tensors.append(leaf.StoredTensor(name, dtype, rows, cols, data))
        return leaf.Weights(self.shape(), tuple(tensors), self.inv_freq)

    def is_permuted(self, name: str) -> bool:
        """Whether the file's rows are in the order of adjacent rope pairs (GGUF llama's q and k)."""
        return self.config.pairs == leaf.ADJACENT and name.endswith(("attn_q.weight", "attn_k.weight"))

    def shape(self) -> leaf.Shape:
        config = self.config
        return leaf.Shape(
            ctypes.sizeof(leaf.Shape),
            config.architecture,
            config.num_layers,
            config.hidden_size,
            config.ffn_size,
            config.num_heads,
            config.num_kv_heads,
            config.head_dim,
            config.vocab_size,
            config.rms_eps,
            config.pairs,
            config.rope_scale,
        )


def as_bytes(values: npt.NDArray[np.generic]) -> npt.NDArray[np.uint8]:
    return np.ascontiguousarray(values).view(np.uint8).reshape(-1)


def permute(rows: Array, head_dim: int) -> Array:
    """Rows in halves (i, i + D/2) of each head -> adjacent pairs (2i, 2i + 1), as GGUF stores llama's q and k."""
    heads = rows.reshape(-1, 2, head_dim // 2, rows.shape[1])
    return np.ascontiguousarray(heads.swapaxes(1, 2).reshape(rows.shape))


def make(config: TinyConfig) -> Tiny:
    """The checkpoint of a config: the same numbers on every machine."""
    random = np.random.Generator(np.random.PCG64(sum(config.name.encode())))

    def matrix(rows: int, cols: int, scale: float = 1.0) -> Array:
        return np.multiply(random.standard_normal((rows, cols)), scale / math.sqrt(cols)).astype(np.float32)

    def norm(size: int) -> Array:
        return np.add(1, 0.2 * random.standard_normal(size)).astype(np.float32)

    hidden, head_dim = config.hidden_size, config.head_dim
    queries, keys = config.num_heads * head_dim, config.num_kv_heads * head_dim
    arrays = {"token_embd.weight": matrix(config.vocab_size, hidden, 4.0), "output_norm.weight": norm(hidden)}
    if not config.is_tied:
        arrays["output.weight"] = matrix(config.vocab_size, hidden, 4.0)
    for layer in range(config.num_layers):
        block = {
            "attn_norm": norm(hidden),
            "attn_q": matrix(queries, hidden, 2.0),
            "attn_k": matrix(keys, hidden, 2.0),
            "attn_v": matrix(keys, hidden),
            "attn_output": matrix(hidden, queries),
            "ffn_norm": norm(hidden),
            "ffn_gate": matrix(config.ffn_size, hidden),
            "ffn_up": matrix(config.ffn_size, hidden),
            "ffn_down": matrix(hidden, config.ffn_size),
        }
        if config.architecture == leaf.QWEN3:
            block |= {"attn_q_norm": norm(head_dim), "attn_k_norm": norm(head_dim)}
        arrays |= {f"blk.{layer}.{name}.weight": values for name, values in block.items()}
    return Tiny(config, arrays)


def adjacent(config: TinyConfig) -> TinyConfig:
    return replace(config, pairs=leaf.ADJACENT)


def prompt(config: TinyConfig, length: int, seed: int = 0) -> leaf.Ids:
    random = np.random.Generator(np.random.PCG64(seed))
    return random.integers(0, config.vocab_size, length).astype(np.int32)
