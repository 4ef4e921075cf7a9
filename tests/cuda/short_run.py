"""A short life of models on the card, for compute-sanitizer: every kernel once or twice.

Arguments: leaf, "short", "long" or "wide", type of the pages, types of weights. Long are the spans that take the
kernels of long prompts: the larger tiles, which many rows of weights and tokens take, and attention's blocks of two
warpgroups, which many heads and tokens do. Wide are rounds of eight lanes, in which a block of attention has several
runs of pages one after the other.
"""

import ctypes
import sys
from pathlib import Path

import numpy as np

from tests.abi import leaf
from tests.cuda.test_models import PAGES, as_stored, open_model
from tests.models import tiny

ROUND_PAGES = [8, 9, 10, 11, 12, 13]


PAGES_OF = {"f16": leaf.F16, "bf16": leaf.BF16, "fp8": leaf.F8_E4M3}
LONG = (
    tiny.TinyConfig("long", leaf.LLAMA, 1, 256, 2304, 32, 2, 64, 320),
    tiny.TinyConfig("long_qwen3", leaf.QWEN3, 1, 256, 2304, 32, 1, 128, 320, rms_eps=1e-6),
)
LONG_SPANS = (256, 512)


def run_long(library: ctypes.CDLL, config: tiny.TinyConfig, name: str, kv_dtype: int) -> None:
    weights = tiny.make(config).weights(as_stored(name))
    tokens = tiny.prompt(config, sum(LONG_SPANS) - 5)
    with open_model(weights, library, kv_dtype=kv_dtype, max_context=1024, max_span=512) as model:
        pages = list(range(12))
        model.open_lane(0, [int(token) for token in tokens])
        model.prefill(tokens[: LONG_SPANS[0]], pages)
        draw, _ = model.prefill(tokens[LONG_SPANS[0] :], pages, start=LONG_SPANS[0], lane=0)
        _, logits = model.decode([(0, draw.token, len(tokens), pages)], wants_logits=True)
        assert np.isfinite(logits).all()


WIDE_LANES, WIDE_TOKENS = 8, 460
WIDE = (
    tiny.TinyConfig("wide", leaf.LLAMA, 1, 256, 512, 16, 16, 64, 320),
    tiny.TinyConfig("wide_qwen3", leaf.QWEN3, 1, 256, 512, 16, 16, 128, 320, rms_eps=1e-6),
)
"""Eight lanes of eight pages: 512 runs of two."""


def run_wide(library: ctypes.CDLL, config: tiny.TinyConfig, name: str, kv_dtype: int) -> None:
    weights = tiny.make(config).weights(as_stored(name))
    tokens = tiny.prompt(config, WIDE_TOKENS)
    shared = list(range(WIDE_TOKENS // leaf.PAGE_TOKENS))
    own = [len(shared) + lane for lane in range(WIDE_LANES)]
    fields = {"num_pages": own[-1] + 1, "max_context": 512, "max_span": 512}
    with open_model(weights, library, kv_dtype=kv_dtype, **fields) as model:
        model.prefill(tokens, [*shared, own[0]])
        for lane, page in enumerate(own):
            model.open_lane(lane, [int(token) for token in tokens])
            if lane:
                model.copy_page(own[0], page)
        rows = [(lane, lane, len(tokens), [*shared, page]) for lane, page in enumerate(own)]
        draws, logits = model.decode(rows, wants_logits=True)
        assert np.isfinite(logits).all()
        go_on(model, rows, draws)


def go_on(model: leaf.Model, rows: list[tuple[int, int, int, list[int]]], draws: list[leaf.Draw]) -> None:
    """Three rounds, of which two are begun before the draws of the one before are known."""
    following = [(lane, draw.token, at + 1, pages) for (lane, _, at, pages), draw in zip(rows, draws, strict=True)]
    for each in model.decode_on(following, 3):
        assert all(draw.token >= 0 for draw in each)


def run(library: ctypes.CDLL, config: tiny.TinyConfig, name: str, kv_dtype: int) -> None:
    """Two prompts in spans short and long, one with all its logits, a copied page, and rounds of one and two rows, one
    of them sampled from what a mask permits, with biases, and rounds begun ahead; then its lane is opened again."""
    weights = tiny.make(config).weights(as_stored(name))
    tokens = tiny.prompt(config, 330)
    with open_model(weights, library, kv_dtype=kv_dtype) as model:
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
        go_on(model, rows, draws)
        model.open_lane(1, [int(token) for token in tokens])
        model.decode([(1, drawn[1], len(tokens), [*ROUND_PAGES[:-1], 14])])


def main() -> None:
    library = leaf.open_library(Path(sys.argv[1]))
    kv_dtype, length = PAGES_OF[sys.argv[3]], sys.argv[2]
    ways = {"short": (run, (tiny.WIDE, tiny.WIDE_QWEN3)), "long": (run_long, LONG), "wide": (run_wide, WIDE)}
    way, configs = ways[length]
    for number, name in enumerate(sys.argv[4:]):
        way(library, configs[number % 2], name, kv_dtype)
    if length == "short":
        run(library, tiny.LLAMA, "F32", kv_dtype)


if __name__ == "__main__":
    main()
