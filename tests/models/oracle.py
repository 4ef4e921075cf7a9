"""The dense decoders' forward pass in numpy float64, one whole sequence at a time: what the leaf is held against."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tests.abi import leaf
from tests.models.tiny import Tiny

Wide = npt.NDArray[np.float64]


def rms_norm(x: Wide, weight: Wide, eps: float) -> Wide:
    normed: Wide = weight * x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps)
    return normed


def rope(x: Wide, inv_freq: Wide, scale: float) -> Wide:
    """x [T, heads, D], row t at position t; dims i and i + D/2 turn together."""
    angles = np.arange(len(x))[:, None, None] * inv_freq
    cos, sin = np.cos(angles) * scale, np.sin(angles) * scale
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def attention(q: Wide, k: Wide, v: Wide) -> Wide:
    """q [T, NH, D], k and v [T, NK, D] -> [T, NH * D]; each row sees its own position and those before."""
    num_rows, num_heads, head_dim = q.shape
    repeats = num_heads // k.shape[1]
    keys, values = np.repeat(k, repeats, axis=1), np.repeat(v, repeats, axis=1)
    scores = np.einsum("thd,shd->hts", q, keys) / np.sqrt(head_dim)
    scores = np.where(np.tri(num_rows, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    mixed: Wide = np.einsum("hts,shd->thd", weights, values).reshape(num_rows, -1)
    return mixed


def kept(values: Wide, kv_dtype: int) -> Wide:
    """What pages of that type give back: the nearest, ties to even; e4m3 has nothing beyond 448."""
    if kv_dtype == leaf.F16:
        return values.astype(np.float16).astype(np.float64)
    if kv_dtype == leaf.BF16:
        bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
        rounded = (bits + 0x7FFF + (bits >> np.uint64(16) & np.uint64(1))) >> np.uint64(16) << np.uint64(16)
        return rounded.astype(np.uint32).view(np.float32).astype(np.float64)
    if kv_dtype == leaf.F8_E4M3:
        magnitude = np.minimum(np.abs(values.astype(np.float32).astype(np.float64)), 448)
        step = np.exp2(np.maximum(np.floor(np.log2(np.maximum(magnitude, 2.0**-20))), -6) - 3)
        return np.copysign(np.rint(magnitude / step) * step, values)
    return values


def forward(
    tiny: Tiny,
    tokens: leaf.Ids,
    *,
    kv_dtype: int = leaf.F32,
    rounds_input: Callable[[Wide], npt.NDArray[np.floating]] | None = None,
) -> Wide:
    """Logits [T, V] of every position; K and V are kept as kv_dtype, or as they are where it is F32.

    rounds_input: what becomes of the rows that linear layers take, but for an embedding as a head.
    """
    config = tiny.config
    arrays = {name: values.astype(np.float64) for name, values in tiny.arrays.items()}
    inv_freq = tiny.inv_freq.astype(np.float64)
    num_rows = len(tokens)

    def linear(name: str, rows: Wide) -> Wide:
        taken = rows if rounds_input is None or name == "token_embd.weight" else rounds_input(rows).astype(np.float64)
        product: Wide = taken @ arrays[name].T
        return product

    def heads(name: str, normed: Wide) -> Wide:
        return linear(name, normed).reshape(num_rows, -1, config.head_dim)

    x = arrays["token_embd.weight"][tokens]
    for layer in range(config.num_layers):
        block = f"blk.{layer}."
        normed = rms_norm(x, arrays[block + "attn_norm.weight"], config.rms_eps)
        q, k, v = (heads(f"{block}attn_{part}.weight", normed) for part in "qkv")
        if config.architecture == leaf.QWEN3:
            q = rms_norm(q, arrays[block + "attn_q_norm.weight"], config.rms_eps)
            k = rms_norm(k, arrays[block + "attn_k_norm.weight"], config.rms_eps)
        q, k = rope(q, inv_freq, config.rope_scale), rope(k, inv_freq, config.rope_scale)
        x = x + linear(block + "attn_output.weight", attention(q, kept(k, kv_dtype), kept(v, kv_dtype)))
        normed = rms_norm(x, arrays[block + "ffn_norm.weight"], config.rms_eps)
        gate, up = linear(block + "ffn_gate.weight", normed), linear(block + "ffn_up.weight", normed)
        x = x + linear(block + "ffn_down.weight", gate / (1 + np.exp(-gate)) * up)
    normed = rms_norm(x, arrays["output_norm.weight"], config.rms_eps)
    return linear("token_embd.weight" if config.is_tied else "output.weight", normed)


def relative_error(got: npt.NDArray[np.floating], expected: npt.NDArray[np.floating]) -> float:
    """Largest difference over the largest expected magnitude."""
    return float(np.abs(got - expected).max() / np.abs(expected).max())
