"""The leaf and the oracle against what transformers 5.24.0 (float32, eager) computed on the same tiny checkpoints.

data/transformers_logits.npz: for each config's name the logits [80, V] of tiny.prompt(config, 80) with the weights of
tiny.make(config) loaded into LlamaForCausalLM or Qwen3ForCausalLM.
"""

import ctypes
from pathlib import Path

import numpy as np
import pytest

from tests.abi import leaf
from tests.models import oracle, tiny

REFERENCE = Path(__file__).parents[1] / "data" / "transformers_logits.npz"
# Each with the rope pairs that its files have: GGUF llama's are adjacent, all others are halves.
CONFIGS = (tiny.LLAMA, tiny.adjacent(tiny.LLAMA), tiny.QWEN3, tiny.QWEN3_UNTIED)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.name}-{config.pairs}")
def test_logits_are_those_of_transformers(config: tiny.TinyConfig, library: ctypes.CDLL) -> None:
    model, tokens = tiny.make(config), tiny.prompt(config, 80)
    with np.load(REFERENCE) as reference:
        expected = reference[config.name]
    assert oracle.relative_error(oracle.forward(model, tokens), expected) < 1e-5
    weights = model.weights()
    with leaf.Model(weights, leaf.load_params(weights), library) as loaded:
        _, logits = loaded.prefill(tokens, (3, 1), wants_logits=True)
    assert oracle.relative_error(logits, expected) < 1e-5
