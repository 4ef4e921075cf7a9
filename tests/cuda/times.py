"""Prints what steps of full-size models take on this card: python3 -m tests.cuda.times [shape] [types].

Needs torch for the ceilings and for the share of each kernel, and nothing of it in what is measured.
"""

import ctypes
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
import torch

from tests.abi import leaf
from tests.cuda import card
from tests.cuda.synthetic import QWEN3_8B, QWEN3_32B, SMOLLM2, FullShape, weights_of

CONTEXT = 1024
SPAN = 1024


def median_s(function: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def ceilings() -> tuple[float, float]:
    """Bytes a second of a copy (read and written), FLOPs a second of a large bfloat16 product."""
    source = torch.randint(0, 255, (4 << 30,), dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)

    def copy() -> None:
        target.copy_(source)
        torch.cuda.synchronize()

    a = torch.randn(8192, 8192, dtype=torch.bfloat16, device="cuda")
    b = torch.randn(8192, 8192, dtype=torch.bfloat16, device="cuda")

    def multiply() -> None:
        for _ in range(10):
            torch.matmul(a, b)
        torch.cuda.synchronize()

    copy()
    multiply()
    return 2 * source.numel() / median_s(copy, 9), 10 * 2 * 8192**3 / median_s(multiply, 5)


def profile(name: str, function: Callable[[], object], rounds: int) -> None:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        for _ in range(rounds):
            function()
    rows = sorted(profiler.key_averages(), key=lambda row: -row.device_time_total)
    total = sum(row.device_time_total for row in rows)
    print(f"  kernels of {name}: {total / rounds:.0f} us a step on the card", flush=True)
    for row in rows[:14]:
        print(
            f"    {row.device_time_total / total * 100:5.1f} %  {row.device_time_total / rounds:8.1f} us"
            f"  {row.count / rounds:5.0f} x  {row.key[:100]}"
        )


def report(shape: FullShape, name: str, bytes_s: float, flops_s: float) -> None:
    weights = weights_of(shape, name)
    pages = CONTEXT // leaf.PAGE_TOKENS + 2
    long_pages = 8192 // leaf.PAGE_TOKENS + 2
    params = leaf.load_params(
        weights, num_pages=8 * pages + long_pages, kv_dtype=leaf.F16, max_context=8448, max_span=SPAN
    )
    plan = leaf.MemoryPlan(ctypes.sizeof(leaf.MemoryPlan))
    leaf.check(card.cuda(), card.cuda().ignis_plan(ctypes.byref(params), ctypes.byref(plan)))
    sizes = shape.matrices()
    embedding = sizes["token_embd.weight"]
    read = plan.weights_bytes * (1 - embedding[0] * embedding[1] / sum(rows * cols for rows, cols in sizes.values()))
    kv_bytes = plan.kv_page_bytes / leaf.PAGE_TOKENS * CONTEXT
    start = time.perf_counter()
    with leaf.Model(weights, params, card.cuda()) as model:
        load_s = time.perf_counter() - start
        print(f"\n{shape.name} {name}: load {load_s:.2f} s, {plan.weights_bytes / load_s / 1e9:.1f} GB/s", flush=True)
        tokens = np.random.default_rng(2).integers(0, shape.vocab_size, 8192).astype(np.int32)
        own = [list(range(lane * pages, (lane + 1) * pages)) for lane in range(8)]
        for lane in range(8):
            model.open_lane(lane, [1])
            model.prefill(tokens[:CONTEXT], own[lane])
        table = list(range(8 * pages, 8 * pages + long_pages))
        one_s = 0.0
        for width in range(1, 9):
            rows = [(lane, 5, CONTEXT, own[lane]) for lane in range(width)]
            for _ in range(5):
                model.decode(rows)
            took_s = median_s(lambda rows=rows: model.decode(rows), 20)
            one_s = one_s or took_s
            share = (read + width * kv_bytes) / took_s / bytes_s
            print(
                f"  decode T={width}: {took_s * 1e6:7.0f} us  {width / took_s:6.0f} tok/s"
                f"  {share * 100:5.1f} % of the copy rate  {took_s / one_s:.2f} x T=1",
                flush=True,
            )
        flops = 2 * sum(rows * cols for matrix, (rows, cols) in sizes.items() if matrix.startswith("blk."))
        for length in (128, 1024, 8192):

            def run(length: int = length) -> None:
                for a in range(0, length, SPAN):
                    b = min(a + SPAN, length)
                    model.prefill(tokens[a:b], table, start=a, lane=0 if b == length else -1)

            run()
            took_s = median_s(run, 3)
            attention = 4 * shape.num_layers * shape.num_heads * shape.head_dim * length * (length + 1) / 2
            rate = (flops * length + attention) / took_s / flops_s
            print(f"  prefill {length:5d}: {took_s * 1e3:8.1f} ms  {rate * 100:5.1f} % of the matrix rate", flush=True)
        profile("a round of one", lambda: model.decode([(0, 5, CONTEXT, own[0])]), 5)
        rows = [(lane, 5, CONTEXT, own[lane]) for lane in range(8)]
        profile("a round of eight", lambda: model.decode(rows), 5)
        profile(f"a span of {SPAN}", lambda: model.prefill(tokens[:SPAN], table), 2)


def main() -> None:
    shapes = {shape.name: shape for shape in (QWEN3_8B, QWEN3_32B, SMOLLM2)}
    shape = shapes[sys.argv[1]] if len(sys.argv) > 1 else QWEN3_8B
    names = sys.argv[2].split(",") if len(sys.argv) > 2 else ["BF16", "Q4_K", "Q4_0", "Q8_0"]
    bytes_s, flops_s = ceilings()
    torch.cuda.empty_cache()
    print(f"{torch.cuda.get_device_name()}: copies {bytes_s / 1e12:.2f} TB/s, {flops_s / 1e12:.0f} TFLOP/s", flush=True)
    for name in names:
        report(shape, name, bytes_s, flops_s)


if __name__ == "__main__":
    main()
