"""Weights that no file holds: the leaf makes them out of a seed."""

import ctypes

import numpy as np

from ignis.quant.registry import FORMATS
from tests.abi import leaf
from tests.models import fp8, tiny

NAMES = [form.name for form in FORMATS]
BF16 = 30


def load_params(config: tiny.TinyConfig, name: str, seed: int, **fields: int) -> tuple[leaf.Weights, leaf.LoadParams]:
    """What a load of such a model takes; the weights hold its memory. Norms are float32, matrices of the named type.

    An F8_E4M3 model has its embedding in BF16.
    """
    form = next(form for form in FORMATS if form.name == name)

    def store(tensor: str, values: tiny.Array) -> tuple[int, np.ndarray[tuple[int], np.dtype[np.uint8]]]:
        if values.ndim == 1:
            return leaf.F32, np.zeros(4 * values.size, np.uint8)
        if name != "F8_E4M3":
            return form.number, np.zeros(values.size // form.values * form.size_bytes, np.uint8)
        if tensor == "token_embd.weight":
            return BF16, np.zeros(2 * values.size, np.uint8)
        rows, cols = values.shape
        return leaf.F8_E4M3, np.zeros(values.size + 4 * fp8.num_blocks(rows) * fp8.num_blocks(cols), np.uint8)

    weights = tiny.make(config).weights(store)
    params = leaf.load_params(weights, **fields)
    params.seed = seed
    for index in range(params.num_files):
        params.files[index].base = None
    return weights, params


def logits(library: ctypes.CDLL, config: tiny.TinyConfig, name: str, seed: int, **fields: int) -> leaf.Floats:
    """Of all positions of one prompt."""
    weights, params = load_params(config, name, seed, **fields)
    with leaf.Model(weights, params, library) as model:
        _, found = model.prefill(tiny.prompt(config, 40), [2, 0, 1], wants_logits=True)
    return found
