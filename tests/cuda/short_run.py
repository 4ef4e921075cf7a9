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
    """Two prompts in spans short and long, a copied page, and rounds of one and two rows, one of them sampled."""
    weights = tiny.make(config).weights(as_stored(name))
    tokens = tiny.prompt(config, 330)
    with open_model(weights, library, kv_dtype=leaf.F16) as model:
        model.sampling[1] = leaf.greedy(temperature=1, top_k=20, top_p=0.9, repetition_penalty=1.2, top_logprobs=5)
        drawn = []
        for lane, pages in enumerate((PAGES, ROUND_PAGES)):
            model.open_lane(lane, [int(token) for token in tokens])
            model.prefill(tokens[:70], pages)
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


def main() -> None:
    library = leaf.open_library(Path(sys.argv[1]))
    for number, name in enumerate(sys.argv[2:]):
        run(library, (tiny.WIDE, tiny.WIDE_QWEN3)[number % 2], name)
    run(library, tiny.LLAMA, "F32")


if __name__ == "__main__":
    main()
