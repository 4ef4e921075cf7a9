"""Runs the bench over the shapes and types of spec/reference/performance.md and prints its tables of whole steps.

    python tests/bench/figures.py [--only NAME ...] -- dist/ignis-server

Behind -- is the command that is measured; on one H200 all of it takes about a minute. A run that fails is named, and
the others go on.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SHAPES = Path(__file__).resolve().parent / "shapes"
LONG = ["--prompts", "512,2048,8192,16384", "--repeats", "2"]
SHORT = ["--widths", "1,8", "--prompts", "64", "--repeats", "1"]

RUNS: dict[str, list[str]] = {
    "Qwen3-8B BF16": ["qwen3-8b", "bf16", *LONG],
    "Qwen3-8B FP8": ["qwen3-8b", "fp8", "--widths", "1,2,4,8", *LONG],
    "Qwen3-8B Q8_0": ["qwen3-8b", "q8_0", "--widths", "1,8", "--prompts", "8192", "--repeats", "1"],
    "Qwen3-8B Q6_K": ["qwen3-8b", "q6_k", *SHORT],
    "Qwen3-8B Q4_0": ["qwen3-8b", "q4_0", "--widths", "1,8", "--prompts", "8192", "--repeats", "1"],
    "Qwen3-8B Q4_K": ["qwen3-8b", "q4_k", "--widths", "1,2,4,8", "--prompts", "8192", "--repeats", "1"],
    "Qwen3-8B BF16, drawn": ["qwen3-8b", "bf16", *SHORT, "--temperature", "0.8"],
    "Qwen3-8B BF16, long": ["qwen3-8b", "bf16", *SHORT, "--contexts", "8192,16384", "--rounds", "24"],
    "Llama-3-8B BF16": ["llama-3-8b", "bf16", "--widths", "1,8", "--prompts", "4096", "--repeats", "1"],
    "Qwen3-32B BF16": ["qwen3-32b", "bf16", "--widths", "1,8", "--prompts", "8192", "--repeats", "1", "--rounds", "24"],
    "Qwen3-32B FP8": ["qwen3-32b", "fp8", *SHORT, "--rounds", "32"],
    "Qwen3-32B Q4_0": ["qwen3-32b", "q4_0", *SHORT, "--rounds", "32"],
    "Qwen3-32B Q4_K": ["qwen3-32b", "q4_k", *SHORT, "--rounds", "32"],
}


def measure(command: list[str], words: list[str]) -> dict[str, Any] | None:
    """Returns the figures of one run, or None where it failed, which it says on stderr."""
    shape, form, *rest = words
    synthetic = ["bench", "--synthetic", str(SHAPES / f"{shape}.json"), "--format", form, "--json", *rest]
    done = subprocess.run([*command, *synthetic], capture_output=True, text=True)
    if done.returncode:
        print(f"{shape} {form}: status {done.returncode}\n{done.stderr[-2000:]}", file=sys.stderr)
        return None
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def table(titles: list[str], rows: list[list[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def us(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} us"


def ms(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms"


def percent(share: float) -> str:
    return f"{share * 100:.1f} %"


def decode_rows(name: str, figures: dict[str, Any]) -> list[list[str]]:
    rows = figures["decode"]
    return [
        [
            name,
            f"{row['lanes']} x {row['context_tokens']}",
            ms(row["round_s"]),
            f"{row['tokens_s']:.0f}",
            f"{row['round_s'] / rows[0]['round_s']:.2f}",
            percent(row["read_share"]),
            percent(row["device_read_share"]),
            f"{us(row['gap_s'])}, {percent(row['gap_share'])}",
            us(row["host_s"]),
            f"{us(row['plan_s'])}, {us(row['launch_s'])}, {us(row['commit_s'])}",
        ]
        for row in rows
    ]


def prompt_rows(name: str, figures: dict[str, Any]) -> list[list[str]]:
    return [
        [
            name,
            str(row["prompt_tokens"]),
            ms(row["cold_s"]),
            f"{row['tokens_s']:.0f}",
            percent(row["matrix_share"]),
            percent(row["device_matrix_share"]),
            ms(row["cached_s"]),
            percent(row["cached_share"]),
        ]
        for row in figures["prompts"]
    ]


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--only", nargs="+", choices=list(RUNS), default=list(RUNS))
    options.add_argument("command", nargs="+")
    chosen = options.parse_args()
    found = {name: measure(chosen.command, RUNS[name]) for name in chosen.only}
    runs = {name: figures for name, figures in found.items() if figures is not None}
    heads = []
    for name, figures in runs.items():
        ceilings = figures["ceilings"]
        rates = [f"{ceilings[key] / 1e12:.3g}" for key in ("read_bytes_s", "copy_bytes_s", "matrix_flops_s")]
        heads.append([name, f"{figures['step_bytes'] / 1e9:.2f}", *rates, f"{figures['load_s']:.2f}"])
    print(table(["", "GB a round", "reads TB/s", "copies TB/s", "TFLOP/s", "load s"], heads))
    titles = ["", "lanes x context", "round", "tok/s", "by the first", "of reads", "device alone", "gap", "host"]
    titles.append("plan, launch, commit")
    print(table(titles, [row for name, figures in runs.items() for row in decode_rows(name, figures)]))
    titles = ["", "prompt", "first token", "tok/s", "of matrices", "device alone", "repeated", "of the first"]
    print(table(titles, [row for name, figures in runs.items() for row in prompt_rows(name, figures)]))
    if len(runs) < len(found):
        sys.exit(1)


if __name__ == "__main__":
    main()
