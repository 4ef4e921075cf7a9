"""Prints which kernel has which share of a step of a full-size model: python3 -m tests.cuda.times [shape] [types].

ignis-server bench times whole steps. This needs torch, for its profiler, and nothing of it in what is measured. A
kernel may be on the card before the one in front of it is done, so each is given the time from that one's end to its
own.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from tests.abi import leaf
from tests.cuda import card
from tests.cuda.synthetic import LLAMA_3_8B, QWEN3_8B, QWEN3_32B, SMOLLM2, FullShape, load_params

CONTEXT = 1024
SPAN = 2048
ROUNDS = 2
SHOWN = 16


def kernels_of(function: Callable[[], object]) -> list[dict[str, object]]:
    """Runs it, and returns what ran on the card, in the order of the ends: name, ts, dur (us) and args."""
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        function()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(trace))
        events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    return sorted(
        (event for event in events if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")),
        key=lambda event: event["ts"] + event["dur"],
    )


def name_of(event: dict[str, object]) -> str:
    """The function and its template's arguments, and how many blocks it has."""
    name = str(event["name"]).removeprefix("void ").replace("ignis::", "").replace("(ignis_dtype)", "")
    args = event["args"]
    assert isinstance(args, dict)
    grid = " x ".join(str(size) for size in args.get("grid", []) if size != 1)
    return f"{name.partition('(')[0]} [{grid or 1}]"


def profile(title: str, function: Callable[[], object]) -> None:
    """Prints the shares of the kernels of one call, the mean of ROUNDS."""
    for _ in range(3):
        function()
    sums: dict[str, list[float]] = {}
    total = 0.0
    for _ in range(ROUNDS):
        ended = None
        for event in kernels_of(function):
            start, duration = float(event["ts"]), float(event["dur"])  # type: ignore[arg-type]
            own = duration if ended is None else max(0.0, start + duration - max(ended, start))
            gap = 0.0 if ended is None else max(0.0, start - ended)
            ended = start + duration if ended is None else max(ended, start + duration)
            sums.setdefault(name_of(event), []).append(own)
            sums.setdefault("nothing", []).append(gap)
            total += own + gap
    print(f"  {title}: {total / ROUNDS:.0f} us", flush=True)
    for name, times in sorted(sums.items(), key=lambda item: -sum(item[1]))[:SHOWN]:
        count = len(times) / ROUNDS
        print(f"    {sum(times) / total * 100:5.1f} %  {sum(times) / ROUNDS:8.1f} us  {count:5.0f} x  {name[:90]}")


def report(shape: FullShape, name: str) -> None:
    pages = CONTEXT // leaf.PAGE_TOKENS + 2
    weights, params = load_params(
        shape, name, num_pages=8 * pages + SPAN // leaf.PAGE_TOKENS, kv_dtype=leaf.F16, max_context=SPAN, max_span=SPAN
    )
    with leaf.Model(weights, params, card.cuda()) as model:
        print(f"{shape.name} {name}", flush=True)
        tokens = np.random.default_rng(2).integers(0, shape.vocab_size, SPAN).astype(np.int32)
        own = [list(range(lane * pages, (lane + 1) * pages)) for lane in range(8)]
        for lane in range(8):
            model.open_lane(lane, [1])
            model.prefill(tokens[:CONTEXT], own[lane])
        rows = [(lane, 5, CONTEXT, own[lane]) for lane in range(8)]
        profile(f"a round of one, {CONTEXT} tokens of context", lambda: model.decode(rows[:1]))
        profile("a round of eight", lambda: model.decode(rows))
        table = list(range(8 * pages, 8 * pages + SPAN // leaf.PAGE_TOKENS))
        profile(f"a span of {SPAN}", lambda: model.prefill(tokens, table))


def main() -> None:
    shapes = {shape.name: shape for shape in (QWEN3_8B, QWEN3_32B, LLAMA_3_8B, SMOLLM2)}
    shape = shapes[sys.argv[1]] if len(sys.argv) > 1 else QWEN3_8B
    for name in sys.argv[2].split(",") if len(sys.argv) > 2 else ["BF16", "F8_E4M3", "Q4_K"]:
        report(shape, name)


if __name__ == "__main__":
    main()
