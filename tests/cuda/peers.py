"""What others reach on this card, beside ours in the same run.

python3 -m tests.cuda.peers products      Qwen3-8B's linear layers: torch.matmul, which is cuBLAS, and the leaf's, which
                                          prepares its input in that time
python3 -m tests.cuda.peers generate [n]  transformers (which must be there) with a Qwen3-8B of random weights: prefill,
                                          and n sequences by generate with a static cache, compiled
"""

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
import torch

from tests.cuda import card, stored
from tests.cuda.operators import Operators, Phase
from tests.cuda.synthetic import QWEN3_8B

PRODUCTS = {"qkv": (6144, 4096), "o": (4096, 4096), "gate_up": (24576, 4096), "down": (4096, 12288)}
ROWS = (8, 512, 2048)
"""Spans are no longer than the last."""
TYPES = ("BF16", "F8_E4M3", "Q4_K")
WARM_S = 0.05
ANSWER = 130
PEER = "cuBLAS BF16"


def torch_s(call: Callable[[int], object]) -> float:
    """The median seconds of a call, of 20 behind each other. `call` gets their number, to take another weight by."""
    start_s = time.perf_counter()
    while time.perf_counter() - start_s < WARM_S:
        call(0)
        torch.cuda.synchronize()
    times = []
    for _ in range(5):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for number in range(20):
            call(number)
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop) / 20 * 1e-3)
    return statistics.median(times)


def stored_weight(name: str, rows: int, cols: int) -> stored.Stored:
    """Random weights of a type whose bytes repeat."""
    made = stored.random(name, 256, cols, seed=1)
    data = np.resize(made.data, (rows, made.data.shape[1]))
    scales = None if made.scales is None else np.resize(made.scales, (rows // 128, cols // 128))
    return stored.Stored(made.name, rows, cols, data, scales)


def ours_s(operators: Operators, weight: stored.Stored, rows: int) -> float:
    x = np.resize(np.random.default_rng(1).standard_normal((8, weight.cols), np.float32), (rows, weight.cols))
    operators.linear([weight], x, phase=Phase.DECODE if rows <= 8 else Phase.PREFILL, num_rounds=50)
    return operators.seconds


def products() -> None:
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}: linear layers of {QWEN3_8B.name}, us (TFLOP/s)")
    known = [name for name in TYPES if name in stored.TYPES]
    sums: dict[int, dict[str, float]] = {rows: {} for rows in ROWS}
    with Operators(card.cuda(), 6 << 30) as operators:
        for name, (rows, cols) in PRODUCTS.items():
            weights = [torch.randn(rows, cols, dtype=torch.bfloat16, device="cuda") for _ in range(4)]
            for tokens in ROWS:
                x = torch.randn(tokens, cols, dtype=torch.bfloat16, device="cuda")
                times = {PEER: torch_s(lambda number, x=x, weights=weights: x @ weights[number % 4].T)}
                times |= {each: ours_s(operators, stored_weight(each, rows, cols), tokens) for each in known}
                for each, took_s in times.items():
                    sums[tokens][each] = sums[tokens].get(each, 0.0) + took_s
                print(f"  {name:7} x {tokens:4}: {shown(times, 2 * rows * cols * tokens)}", flush=True)
    flops = 2 * sum(rows * cols for rows, cols in PRODUCTS.values())
    for tokens, times in sums.items():
        print(f"  all     x {tokens:4}: {shown(times, flops * tokens)}")
        shares = ", ".join(f"{each} {times[PEER] / took_s:.3f}" for each, took_s in times.items())
        print(f"                 cuBLAS's time by ours: {shares}", flush=True)


def shown(times: dict[str, float], flops: int) -> str:
    return ", ".join(f"{name} {took_s * 1e6:.1f} ({flops / took_s / 1e12:.0f})" for name, took_s in times.items())


def generate(sequences: int) -> None:
    import transformers  # noqa: PLC0415 -- only this part needs it

    shape = QWEN3_8B
    config = transformers.Qwen3Config(
        vocab_size=shape.vocab_size,
        hidden_size=shape.hidden,
        intermediate_size=shape.ffn,
        num_hidden_layers=shape.num_layers,
        num_attention_heads=shape.num_heads,
        num_key_value_heads=shape.num_kv_heads,
        head_dim=shape.head_dim,
        max_position_embeddings=40960,
        rope_theta=1e6,
        tie_word_embeddings=False,
        eos_token_id=None,
        bos_token_id=None,
    )
    torch.set_default_dtype(torch.bfloat16)
    torch.set_float32_matmul_precision("high")
    with torch.device("cuda"), torch.no_grad():
        model = transformers.Qwen3ForCausalLM(config).eval()
        long = torch.randint(0, shape.vocab_size, (1, 8192))
        for _ in range(2):
            torch.cuda.synchronize()
            start = time.perf_counter()
            model(long, logits_to_keep=1)
            torch.cuda.synchronize()
            prefill_s = time.perf_counter() - start
        print(f"transformers {transformers.__version__}: prefill of 8192 tokens {prefill_s * 1e3:.1f} ms", flush=True)
        prompt = torch.randint(0, shape.vocab_size, (sequences, 1024))

        def ask(tokens: int) -> float:
            torch.cuda.synchronize()
            start = time.perf_counter()
            model.generate(
                prompt,
                attention_mask=torch.ones_like(prompt),
                max_new_tokens=tokens,
                min_new_tokens=tokens,
                do_sample=False,
                cache_implementation="static",
                pad_token_id=0,
            )
            torch.cuda.synchronize()
            return time.perf_counter() - start

        first_s = ask(ANSWER)
        answer_s = min(ask(ANSWER), ask(ANSWER))
        start = time.perf_counter()
        model(prompt, logits_to_keep=1)
        torch.cuda.synchronize()
        prefill_s = time.perf_counter() - start
        rate = sequences * (ANSWER - 1) / (answer_s - prefill_s)
        print(
            f"  {sequences} sequences of 1024 tokens: {rate:.1f} tok/s ({first_s:.0f} s for the first call)", flush=True
        )


def main() -> None:
    words = sys.argv[1:] or ["products"]
    if words[0] == "generate":
        generate(int(words[1]) if len(words) > 1 else 1)
    else:
        products()


if __name__ == "__main__":
    main()
