"""A model whose logits a test chooses, and what ignis_sampling's comment makes of them, in numpy float64."""

import ctypes
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tests.abi import leaf, philox

Wide = npt.NDArray[np.float64]
HIDDEN = 16


def chooser(rows: Sequence[leaf.Floats]) -> leaf.Weights:
    """Token i's logits are rows[i], i < 16, whatever came before it.

    The layer adds nothing, the embedding of token i is 4 e_i, whose norm is 4 e_i again, and the head's column i is
    rows[i] / 4.
    """
    vocab_size = len(rows[0])
    embedding = np.zeros((vocab_size, HIDDEN), np.float32)
    np.fill_diagonal(embedding, 4.0)
    head = np.zeros((vocab_size, HIDDEN), np.float32)
    for index, row in enumerate(rows):
        head[:, index] = row / 4
    zeros = np.zeros((HIDDEN, HIDDEN), np.float32)
    ones = np.ones(HIDDEN, np.float32)
    arrays = {"token_embd.weight": embedding, "output.weight": head, "output_norm.weight": ones}
    arrays |= {f"blk.0.{name}.weight": ones for name in ("attn_norm", "ffn_norm")}
    matrices = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
    arrays |= {f"blk.0.{name}.weight": zeros for name in matrices}
    tensors = tuple(
        leaf.StoredTensor(
            name, leaf.F32, len(values) if values.ndim == 2 else 1, HIDDEN, np.ascontiguousarray(values).view(np.uint8)
        )
        for name, values in arrays.items()
    )
    shape = leaf.Shape(
        ctypes.sizeof(leaf.Shape), leaf.LLAMA, 1, HIDDEN, HIDDEN, 1, 1, HIDDEN, vocab_size, 1e-12, leaf.HALVES, 1.0
    )
    return leaf.Weights(shape, tensors, np.zeros(HIDDEN // 2, np.float32))


def adjusted(
    logits: leaf.Floats,
    *,
    prompt: Sequence[int] = (),
    output: Sequence[int] = (),
    repetition: float = 1.0,
    presence: float = 0.0,
    frequency: float = 0.0,
    bias: Mapping[int, float] | None = None,
    permitted: npt.NDArray[np.bool_] | None = None,
) -> leaf.Floats:
    """Logits after penalties, bias and mask, in float32 in the order of the header."""
    values = logits.astype(np.float32).copy()
    for token in {*prompt, *output}:
        value = values[token]
        values[token] = value / np.float32(repetition) if value > 0 else value * np.float32(repetition)
        if (count := list(output).count(token)) > 0:
            values[token] -= np.float32(presence)
            values[token] -= np.float32(frequency) * np.float32(count)
    for token, amount in (bias or {}).items():
        values[token] += np.float32(amount)
    if permitted is not None:
        values[~permitted] = -np.inf
    return values


def kept(
    values: leaf.Floats, temperature: float, top_k: int, top_p: float, min_p: float
) -> tuple[npt.NDArray[np.intp], Wide]:
    """The tokens that may be drawn, in falling probability (ties: lower id first), and their probabilities."""
    top_p, min_p = float(np.float32(top_p)), float(np.float32(min_p))  # as they cross the border
    order = np.argsort(-values, kind="stable")
    scaled = (values[order].astype(np.float64) - values.max()) / temperature
    if top_k > 0:
        order, scaled = order[:top_k], scaled[:top_k]
    weights = np.exp(scaled)
    probabilities = weights / weights.sum()
    if top_p < 1:
        count = int(np.searchsorted(np.cumsum(probabilities), top_p)) + 1
        order, probabilities = order[:count], probabilities[:count]
    if min_p > 0:
        count = int((probabilities >= min_p * probabilities[0]).sum())
        order, probabilities = order[:count], probabilities[:count]
    return order, probabilities / probabilities.sum()


def drawn(order: npt.NDArray[np.intp], probabilities: Wide, seed: int, position: int) -> tuple[int, float]:
    """The token of the inverse CDF, and how near the number was to a border between two tokens."""
    number = philox.uniform(seed, position)
    borders = np.cumsum(probabilities)
    index = min(int(np.searchsorted(borders, number, side="right")), len(order) - 1)
    return int(order[index]), float(np.abs(borders[:-1] - number).min(initial=1.0))
