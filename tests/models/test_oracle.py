"""The leaf's forward pass against numpy's, on tiny checkpoints made from a seed."""

import ctypes
from functools import cache

import numpy as np
import pytest

from tests.abi import leaf
from tests.models import oracle, tiny

CONFIGS = [*tiny.CONFIGS, *map(tiny.adjacent, (tiny.LLAMA, tiny.LLAMA_UNTIED, tiny.WIDE))]
IDS = [f"{config.name}-{'adjacent' if config.pairs == leaf.ADJACENT else 'halves'}" for config in CONFIGS]
PAGES = (11, 4, 9, 2)


@cache
def expected_logits(config: tiny.TinyConfig, kv_dtype: int) -> oracle.Wide:
    return oracle.forward(tiny.make(config), tiny.prompt(config, 150), kv_dtype=kv_dtype)


@pytest.mark.parametrize("config", CONFIGS, ids=IDS)
def test_prefill_decode_and_uneven_spans_give_the_oracles_logits(config: tiny.TinyConfig, library: ctypes.CDLL) -> None:
    model, tokens = tiny.make(config), tiny.prompt(config, 150)
    expected = expected_logits(config, leaf.F32)
    weights = model.weights()
    with leaf.Model(weights, leaf.load_params(weights, num_threads=2), library) as loaded:
        _, prefilled = loaded.prefill(tokens, PAGES, wants_logits=True)
        spans = [
            loaded.prefill(tokens[a:b], PAGES, start=a, wants_logits=True)[1] for a, b in ((0, 1), (1, 71), (71, 130))
        ]
        steps = [loaded.decode([(0, tokens[p], p, PAGES)], wants_logits=True)[1] for p in range(130, 150)]
    assert oracle.relative_error(prefilled, expected) < 1e-5
    assert oracle.relative_error(np.concatenate(spans + steps), expected) < 1e-5


# A value near the middle of two of the type's numbers may round the other way: seldom, by 2^-11, 2^-8 or 2^-4.
@pytest.mark.parametrize(("kv_dtype", "limit"), [(leaf.F16, 3e-4), (leaf.BF16, 3e-3), (leaf.F8_E4M3, 3e-2)])
@pytest.mark.parametrize("config", CONFIGS, ids=IDS)
def test_pages_round_k_and_v_and_nothing_else(
    config: tiny.TinyConfig, kv_dtype: int, limit: float, library: ctypes.CDLL
) -> None:
    model, tokens = tiny.make(config), tiny.prompt(config, 150)
    expected = expected_logits(config, kv_dtype)
    weights = model.weights()
    with leaf.Model(weights, leaf.load_params(weights, kv_dtype=kv_dtype), library) as loaded:
        _, prefilled = loaded.prefill(tokens, PAGES, wants_logits=True)
    assert oracle.relative_error(prefilled, expected) < limit
