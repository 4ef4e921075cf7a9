"""The CPU leaf's single operators (cuda/include/ignis_kernels.h) through ctypes, on numpy arrays."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

ISAS = ("portable", "avx2", "avx512", "avx512-vnni", "avx512-vnni-bf16")
POISON = np.float32(np.nan)

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Weights:
    """A stored matrix. data: uint8 [rows, bytes of a row]; dtype: ignis_step.h's number of the type."""

    dtype: int
    cols: int
    data: Bytes
    scales: Floats | None = None
    """Of the blocks of F8_E4M3."""

    @property
    def rows(self) -> int:
        return len(self.data)


class Library:
    def __init__(self, path: Path) -> None:
        self.c = ctypes.CDLL(str(path))
        self.c.ignis_last_error.restype = ctypes.c_char_p

    def check(self, status: int) -> None:
        if status != 0:
            raise RuntimeError(f"status {status}: {self.c.ignis_last_error().decode()}")

    def has(self, isa: str) -> bool:
        bench = ctypes.c_void_p()
        if self.c.ignis_bench_open(ISAS.index(isa), 1, ctypes.c_uint64(0), ctypes.byref(bench)) != 0:
            return False
        self.c.ignis_bench_close(bench)
        return True

    def dequantize(self, dtype: int, data: Bytes, num_values: int) -> Floats:
        values = np.full(num_values, POISON)
        status = self.c.ignis_dequantize(
            dtype, pointer(data), ctypes.c_uint64(data.nbytes), pointer(values), ctypes.c_uint64(num_values)
        )
        self.check(status)
        return values


def pointer(array: npt.NDArray[np.generic]) -> ctypes.c_void_p:
    assert array.flags.c_contiguous
    return ctypes.c_void_p(array.ctypes.data)


class Bench:
    """A thread pool on one instruction set, and memory for packed matrices. A context manager."""

    def __init__(self, library: Library, isa: str, num_threads: int, size_bytes: int = 1 << 30) -> None:
        self.library = library
        self._bench = ctypes.c_void_p()
        self._data: list[Bytes] = []  # matrices of float weights are read where they are
        status = library.c.ignis_bench_open(
            ISAS.index(isa), num_threads, ctypes.c_uint64(size_bytes), ctypes.byref(self._bench)
        )
        library.check(status)

    def __enter__(self) -> "Bench":
        return self

    def __exit__(self, *_: object) -> None:
        self.library.c.ignis_bench_close(self._bench)

    def matrix(self, weights: Weights) -> ctypes.c_void_p:
        matrix = ctypes.c_void_p()
        data = weights.data
        if weights.scales is not None:
            data = np.concatenate([data.reshape(-1), weights.scales.view(np.uint8).reshape(-1)])
        status = self.library.c.ignis_bench_matrix_open(
            self._bench, weights.dtype, pointer(data), weights.rows, weights.cols, ctypes.byref(matrix)
        )
        self.library.check(status)
        self._data.append(data)
        return matrix

    def pack_s(self, matrix: ctypes.c_void_p, num_rounds: int) -> float:
        best_s = ctypes.c_double()
        self.library.check(self.library.c.ignis_bench_pack(self._bench, matrix, num_rounds, ctypes.byref(best_s)))
        return best_s.value

    def linear(
        self,
        ys: Sequence[Floats],
        matrices: Sequence[ctypes.c_void_p],
        x: Floats,
        *,
        accumulates: bool = False,
        num_rounds: int = 1,
    ) -> float:
        """ys[i] [T, ldy] = (or +=) x [T, cols] times matrix i, in one call; seconds of the fastest round."""
        best_s = ctypes.c_double()
        status = self.library.c.ignis_bench_linear(
            self._bench,
            (ctypes.c_void_p * len(ys))(*[y.ctypes.data for y in ys]),
            (ctypes.c_void_p * len(matrices))(*matrices),
            len(matrices),
            pointer(x),
            len(x),
            ys[0].shape[1],
            int(accumulates),
            num_rounds,
            ctypes.byref(best_s),
        )
        self.library.check(status)
        return best_s.value

    def sweep_s(self, matrices: Sequence[ctypes.c_void_p], x: Floats, ldy: int, num_rounds: int) -> float:
        """Seconds of the fastest round over all matrices, each its own call; x [T, the most columns], any values."""
        best_s = ctypes.c_double()
        y = np.zeros((len(x), ldy), np.float32)
        status = self.library.c.ignis_bench_sweep(
            self._bench,
            pointer(y),
            (ctypes.c_void_p * len(matrices))(*matrices),
            len(matrices),
            pointer(x),
            len(x),
            ldy,
            num_rounds,
            ctypes.byref(best_s),
        )
        self.library.check(status)
        return best_s.value
