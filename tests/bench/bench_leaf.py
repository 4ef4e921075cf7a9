"""Measures whole steps of the CPU leaf through the ABI: prefill, and decode rounds of 1 to 8 lanes at several contexts.

    python -m tests.bench.bench_leaf MODEL.gguf [--threads N] [--context 64 1024] [--seconds S] [--ops]

Prints figures and asserts nothing. Each figure is the best of several runs: other processes share the cores.
"""

import argparse
import ctypes
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from ignis.models.registry import open_weights
from tests.abi import leaf
from tests.bench import op_times


def read_weights(path: Path) -> leaf.Weights:
    """The checkpoint's tensors as the leaf takes them. The mapped files stay open with the arrays."""
    checkpoint = open_weights(path)
    shape = checkpoint.shape
    maps = [np.frombuffer(file.map, np.uint8) for file in checkpoint.files]
    tensors = tuple(
        leaf.StoredTensor(
            view.name, int(view.dtype), view.rows, view.cols, maps[view.file][view.offset :][: view.size_bytes]
        )
        for view in checkpoint.tensors
    )
    struct = leaf.Shape(
        ctypes.sizeof(leaf.Shape),
        {"llama": leaf.LLAMA, "qwen3": leaf.QWEN3}[shape.architecture.value],
        shape.num_layers,
        shape.hidden_size,
        shape.ffn_size,
        shape.num_heads,
        shape.num_kv_heads,
        shape.head_dim,
        shape.vocab_size,
        shape.rms_eps,
        int(shape.rope.pairs),
        shape.rope.scale,
    )
    return leaf.Weights(struct, tensors, np.array(shape.rope.inv_freq, np.float32))


def best_s(run: Callable[[], object], budget_s: float, clock: Callable[[], float]) -> float:
    """Seconds of the fastest run within the budget; at least three runs."""
    best, runs, start = float("inf"), 0, time.perf_counter()
    while runs < 3 or time.perf_counter() - start < budget_s:
        before = clock()
        run()
        best = min(best, clock() - before)
        runs += 1
    return best


def shares(library: ctypes.CDLL, is_wanted: bool) -> str:
    """What part of the time since the last call each operator had, the largest first; empty where it is not wanted."""
    if not is_wanted:
        return ""
    times = op_times.read(library)
    total = sum(times.values()) or 1.0
    parts = sorted(((seconds / total, name) for name, seconds in times.items() if seconds > 0), reverse=True)
    return "\n    " + ", ".join(f"{name} {share:.1%}" for share, name in parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--context", type=int, nargs="+", default=[64, 1024])
    parser.add_argument("--lanes", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--prefill", type=int, nargs="+", default=[64, 256, 512])
    parser.add_argument("--seconds", type=float, default=1.0, help="for each figure")
    parser.add_argument(
        "--ops", action="store_true", help="each operator's share too (needs build.py native's objects)"
    )
    options = parser.parse_args()

    # One thread: the time that it ran, which other processes do not touch.
    clock = time.thread_time if options.threads == 1 else time.perf_counter
    weights = read_weights(options.model)
    pages_each = max(*options.context, *options.prefill) // leaf.PAGE_TOKENS + 1
    params = leaf.load_params(
        weights,
        num_pages=8 * pages_each,
        kv_dtype=leaf.F16,
        max_context=pages_each * leaf.PAGE_TOKENS,
        max_span=512,
        num_threads=options.threads,
    )
    library = leaf.open_library(op_times.build(Path(tempfile.mkdtemp())) if options.ops else None)
    info = leaf.DeviceInfo(ctypes.sizeof(leaf.DeviceInfo))
    leaf.check(library, library.ignis_probe(ctypes.byref(info)))
    print(f"{info.name.decode()}, {info.num_cores} cores, {info.isa.decode()}")
    random = np.random.default_rng(0)
    pages = [list(range(lane * pages_each, (lane + 1) * pages_each)) for lane in range(8)]
    before = time.perf_counter()
    with leaf.Model(weights, params, library) as model:
        print(f"load {time.perf_counter() - before:.2f} s")
        for length in options.prefill:
            tokens = random.integers(0, model.vocab_size, length)
            spans = [tokens[start : start + 512] for start in range(0, length, 512)]

            def prefill(spans: list[np.ndarray] = spans) -> None:
                for number, span in enumerate(spans):
                    model.prefill(span, pages[0], start=512 * number, lane=0)

            rate = length / best_s(prefill, options.seconds, clock)
            print(f"prefill {length:5}: {rate:8.0f} tok/s{shares(library, options.ops)}")
        for context in options.context:
            # Pages that were never written would all be one page of zeros in the cache.
            for lane in range(max(options.lanes)):
                for start in range(0, context, 512):
                    tokens = random.integers(0, model.vocab_size, min(512, context - start))
                    model.prefill(tokens, pages[lane], start=start)
            shares(library, options.ops)
            for lanes in options.lanes:
                rows = [(lane, 7 + lane, context - 1, pages[lane]) for lane in range(lanes)]
                seconds = best_s(partial(model.decode, rows), options.seconds, clock)
                rate, round_ms = lanes / seconds, seconds * 1e3
                figures = f"{rate:8.0f} tok/s, {round_ms:7.2f} ms a round"
                print(f"decode {lanes} lanes at {context:5}: {figures}{shares(library, options.ops)}")


if __name__ == "__main__":
    main()
