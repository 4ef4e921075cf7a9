"""The real model's logits against numpy's forward pass over its dequantised weights (ADR 5 argues the tolerance)."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from ignis.models.base import Checkpoint, RopePairs
from ignis.models.registry import open_checkpoint
from ignis.tokenizer import load_tokenizer
from tests.abi import leaf
from tests.models import oracle, stores, tiny

PROMPT = "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n"


@pytest.fixture
def checkpoint(real_model: Path) -> Iterator[Checkpoint]:
    checkpoint = open_checkpoint(real_model)
    yield checkpoint
    checkpoint.close()


def config_of(checkpoint: Checkpoint) -> tiny.TinyConfig:
    shape = checkpoint.shape
    names = {tensor.name for tensor in checkpoint.tensors}
    return tiny.TinyConfig(
        "real",
        leaf.LLAMA,
        shape.num_layers,
        shape.hidden_size,
        shape.ffn_size,
        shape.num_heads,
        shape.num_kv_heads,
        shape.head_dim,
        shape.vocab_size,
        shape.rms_eps,
        # An unscaled rope: the second frequency is theta^(-2 / D).
        rope_theta=shape.rope.inv_freq[1] ** (-shape.head_dim / 2),
        is_tied="output.weight" not in names,
        pairs=leaf.ADJACENT if shape.rope.pairs is RopePairs.ADJACENT else leaf.HALVES,
    )


def weights_of(checkpoint: Checkpoint, described: tiny.Tiny) -> leaf.Weights:
    content = [np.frombuffer(file.map, np.uint8).copy() for file in checkpoint.files]
    tensors = tuple(
        leaf.StoredTensor(
            view.name,
            int(view.dtype),
            view.rows,
            view.cols,
            content[view.file][view.offset : view.offset + view.size_bytes],
        )
        for view in checkpoint.tensors
    )
    return leaf.Weights(described.shape(), tensors, np.array(checkpoint.shape.rope.inv_freq, np.float32))


def in_halves(rows: npt.NDArray[np.float32], head_dim: int) -> npt.NDArray[np.float32]:
    """Rows in adjacent rope pairs of each head -> halves, as the oracle has them: what tiny.permute undoes."""
    pairs = rows.reshape(-1, head_dim // 2, 2, rows.shape[1])
    return np.ascontiguousarray(pairs.swapaxes(1, 2).reshape(rows.shape))


def test_the_real_models_logits_are_those_of_its_dequantised_weights(checkpoint: Checkpoint) -> None:
    config = config_of(checkpoint)
    described = tiny.Tiny(config, {})
    weights = weights_of(checkpoint, described)
    arrays = stores.dequantized(weights)
    for name in arrays:
        if described.is_permuted(name):
            arrays[name] = in_halves(arrays[name], config.head_dim)
    tokenizer = load_tokenizer(checkpoint.vocabulary, checkpoint.special, config.vocab_size)
    tokens = np.array(tokenizer.encode(PROMPT, allow_special=True), np.int32)
    expected = oracle.forward(tiny.Tiny(config, arrays), tokens, kv_dtype=leaf.F16)
    with leaf.Model(weights, leaf.load_params(weights)) as loaded:
        _, logits = loaded.prefill(tokens, (0,), wants_logits=True)
    assert oracle.relative_error(logits, expected) < 1e-3
    assert np.array_equal(logits.argmax(axis=1)[-1:], expected.argmax(axis=1)[-1:])
