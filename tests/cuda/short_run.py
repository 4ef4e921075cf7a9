"""A short life of a model on the card, for compute-sanitizer: every kernel once or twice."""

import numpy as np

from tests.abi import leaf
from tests.cuda import card
from tests.cuda.test_models import PAGES, as_stored, open_model
from tests.models import tiny


def main() -> None:
    for config, name in ((tiny.WIDE, "Q4_K"), (tiny.WIDE_QWEN3, "BF16"), (tiny.LLAMA, "F32"), (tiny.WIDE, "Q8_0")):
        weights = tiny.make(config).weights(as_stored(name))
        tokens = tiny.prompt(config, 100)
        with open_model(weights, card.cuda(), kv_dtype=leaf.F16) as model:
            model.sampling[1] = leaf.greedy(temperature=1, top_k=20, top_p=0.9, repetition_penalty=1.2, top_logprobs=5)
            for lane in range(2):
                model.open_lane(lane, [int(token) for token in tokens])
                model.prefill(tokens[:70], PAGES)
                draw, _ = model.prefill(tokens[70:], PAGES, start=70, lane=lane)
            rows = [(0, draw.token, 100, PAGES), (1, draw.token, 100, PAGES)]
            draws, logits = model.decode(rows, wants_logits=True)
            assert np.isfinite(logits).all()
            assert all(draw.token >= 0 for draw in draws)


if __name__ == "__main__":
    main()
