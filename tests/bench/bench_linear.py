"""Measures the CPU leaf's linear layers against the machine's memory rate and int8 peak, read in the same run.

    python -m tests.bench.bench_linear [--library PATH] [--isa NAME] [--threads N] [--rounds N] [--all-formats]

The layers are those of a 135M llama (30 blocks of width 576, ffn 1536, Q4_1; a 49152 x 576 Q8_0 head): one sweep is
what a step multiplies with. Each figure is the best of several rounds, taken in turn with the roofs because the memory
rate of a machine changes. Int8 figures count a weight times an activation as two operations, though it takes two
products of bytes (spec/adr/0005): half of the peak is the roof.
"""

import argparse
import ctypes
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ignis import bundle
from tests.kernels.native import ISAS, Bench, Library, Weights

WIDTH, FFN, KV, VOCAB, BLOCKS = 576, 1536, 192, 49152, 30
BLOCK_SHAPES = [(WIDTH + 2 * KV, WIDTH), (WIDTH, WIDTH), (2 * FFN, WIDTH), (WIDTH, FFN)]
TOKENS = (1, 2, 4, 8, 64, 256)
# name: (number in GGUF, values of a block, bytes of a block, where its float16 scales are)
FORMATS = {
    "F32": (0, 1, 4, ()),
    "F16": (1, 1, 2, ()),
    "BF16": (30, 1, 2, ()),
    "Q4_0": (2, 32, 18, (0,)),
    "Q4_1": (3, 32, 20, (0, 2)),
    "Q5_0": (6, 32, 22, (0,)),
    "Q5_1": (7, 32, 24, (0, 2)),
    "Q8_0": (8, 32, 34, (0,)),
    "Q4_K": (12, 256, 144, (0, 2)),
    "Q5_K": (13, 256, 176, (0, 2)),
    "Q6_K": (14, 256, 210, (208,)),
}


def random_weights(name: str, rows: int, cols: int, seed: int) -> Weights:
    dtype, per_block, block_bytes, scales = FORMATS[name]
    random = np.random.default_rng(seed)
    data = random.integers(0, 64, (rows, cols // per_block, block_bytes), dtype=np.uint8)  # no NaN as floats either
    for at in scales:
        halves = (random.random((rows, cols // per_block, 1)) * 0.05).astype(np.float16)
        data[..., at : at + 2] = halves.view(np.uint8)
    return Weights(dtype, cols, data.reshape(rows, -1))


class Roof:
    """roof.c, compiled for this machine."""

    def __init__(self, threads: int, size_bytes: int) -> None:
        folder = tempfile.mkdtemp()
        library = Path(folder) / "roof.so"
        source = Path(__file__).with_name("roof.c")
        command = ["cc", "-O3", "-march=native", "-pthread", "-shared", "-fPIC", "-o", str(library), str(source)]
        subprocess.run(command, check=True)
        self._c = ctypes.CDLL(str(library))
        self._c.read_best_s.restype = ctypes.c_double
        self._c.int8_best_rate.restype = ctypes.c_double
        self._threads = threads
        unit = threads * 256
        self._size_bytes = size_bytes // unit * unit
        self._memory = np.ones(self._size_bytes + 64, np.uint8)

    def bytes_a_second(self) -> float:
        start = -self._memory.ctypes.data % 64
        address = ctypes.c_void_p(self._memory.ctypes.data + start)
        return self._size_bytes / float(
            self._c.read_best_s(address, ctypes.c_uint64(self._size_bytes), self._threads, 9)
        )

    def int8_ops_a_second(self) -> float:
        return float(self._c.int8_best_rate(self._threads, 5))


def measure(library: Library, isa: str, threads: int, title: str, layers: Sequence[Weights], rounds: int) -> None:
    size_bytes = sum(weights.data.nbytes for weights in layers)
    num_weights = sum(weights.rows * weights.cols for weights in layers)
    ldy = max(weights.rows for weights in layers)
    roof = Roof(threads, size_bytes)
    with Bench(library, isa, threads) as bench:
        matrices = [bench.matrix(weights) for weights in layers]
        pack_s = sum(bench.pack_s(matrix, 3) for matrix in matrices)
        best = dict.fromkeys(TOKENS, 1e9)
        read, peak = 0.0, 0.0
        for _ in range(rounds):
            read = max(read, roof.bytes_a_second())
            peak = max(peak, roof.int8_ops_a_second())
            for tokens in TOKENS:
                x = np.random.default_rng(0).standard_normal((tokens, max(w.cols for w in layers)), np.float32)
                best[tokens] = min(best[tokens], bench.sweep_s(matrices, x, ldy, 12 if tokens <= 8 else 2))
    print(f"{title} {isa} {threads} threads: {size_bytes / 1e6:.1f} MB, packed in {pack_s * 1e3:.1f} ms")
    print(f"  roofs: read {read / 1e9:.1f} GB/s, int8 {peak / 1e12:.2f} TOP/s")
    for tokens, took_s in best.items():
        bandwidth, rate = size_bytes / took_s, 2 * num_weights * tokens / took_s
        print(
            f"  T={tokens:<4d} {took_s * 1e3:8.3f} ms  x{took_s / best[1]:<6.2f} {bandwidth / 1e9:6.1f} GB/s"
            f" {bandwidth / read:6.1%} of read  {rate / 1e12:6.3f} TOP/s {rate / peak if peak else 0:6.1%} of int8"
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", type=Path, default=bundle.library("libignis_cpu.so"))
    parser.add_argument("--isa", choices=ISAS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--all-formats", action="store_true")
    arguments = parser.parse_args()
    library = Library(arguments.library)
    isa = arguments.isa or [name for name in ISAS if library.has(name)][-1]
    layers = [random_weights("Q4_1", rows, cols, seed) for seed in range(BLOCKS) for rows, cols in BLOCK_SHAPES]
    layers.append(random_weights("Q8_0", VOCAB, WIDTH, 0))
    measure(library, isa, arguments.threads, "135M llama, Q4_1 and a Q8_0 head", layers, arguments.rounds)
    if arguments.all_formats:
        for name in FORMATS:
            layers = [random_weights(name, 4096, 2048, seed) for seed in range(4)]
            measure(library, isa, arguments.threads, f"4 x 4096 x 2048 {name}", layers, arguments.rounds)


if __name__ == "__main__":
    main()
