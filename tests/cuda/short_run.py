"""A short life of models on the card, for compute-sanitizer: every kernel once or twice. Arguments: leaf, types."""

import ctypes
import sys
from pathlib import Path

import numpy as np

from tests.abi import leaf
from tests.cuda.test_models import PAGES, as_stored, open_model
from tests.models import tiny

ROUND_PAGES = [8, 9, 10, 11, 12, 13]


def run(library: ctypes.CDLL, config: tiny.TinyConfig, name: str) -> None:
    """Two prompts in spans short and long, one with all its logits, a copied page, and rounds of one and two rows, one
    of them sampled from what a mask permits, with biases; then its lane is opened again."""
    weights = tiny.make(config).weights(as_stored(name))
    tokens = tiny.prompt(config, 330)
    with open_model(weights, library, kv_dtype=leaf.F16) as model:
        model.sampling[1] = leaf.greedy(temperature=1, top_k=20, top_p=0.9, repetition_penalty=1.2, top_logprobs=5)
        mask = np.full((config.vocab_size + 31) // 32, 0x55555555, np.uint32)
        ids, values = np.arange(40, dtype=np.int32), np.linspace(-2, 2, 40, dtype=np.float32)
        model.sampling[1].permitted = mask.ctypes.data_as(ctypes.POINTER(ctypes.c_uint32))
        model.sampling[1].bias_ids, model.sampling[1].bias_values = leaf.int_pointer(ids), leaf.float_pointer(values)
        model.sampling[1].num_bias = len(ids)
        drawn = []
        for lane, pages in enumerate((PAGES, ROUND_PAGES)):
            model.open_lane(lane, [int(token) for token in tokens])
            model.prefill(tokens[:70], pages, wants_logits=lane == 1)
            model.prefill(tokens[70:71], pages, start=70)
            model.prefill(tokens[71:300], pages, start=71)
            draw, _ = model.prefill(tokens[300:], pages, start=300, lane=lane)
            drawn.append(draw.token)
        model.copy_page(ROUND_PAGES[-1], 14)
        rows = [(0, drawn[0], len(tokens), PAGES), (1, drawn[1], len(tokens), [*ROUND_PAGES[:-1], 14])]
        for chosen in (rows[:1], rows):
            draws, logits = model.decode(chosen, wants_logits=True)
            assert np.isfinite(logits).all()
            assert all(draw.token >= 0 for draw in draws)
            assert draws[-1].token % 2 == 0 or len(draws) == 1
        model.open_lane(1, [int(token) for token in tokens])
        model.decode([(1, drawn[1], len(tokens), [*ROUND_PAGES[:-1], 14])])


def main() -> None:
    library = leaf.open_library(Path(sys.argv[1]))
    for number, name in enumerate(sys.argv[2:]):
        run(library, (tiny.WIDE, tiny.WIDE_QWEN3)[number % 2], name)
    run(library, tiny.LLAMA, "F32")


if __name__ == "__main__":
    main()
