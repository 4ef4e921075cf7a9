"""Single operators of a leaf (cuda/include/ignis_ops.h) through ctypes, on numpy arrays."""

import ctypes
import enum
from collections.abc import Sequence
from ctypes import POINTER, c_double, c_float, c_int32, c_uint32, c_uint64, c_void_p
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tests.abi import leaf
from tests.cuda.stored import Stored

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int32]


def at(array: npt.NDArray[np.generic]) -> c_void_p:
    assert array.flags.c_contiguous
    return c_void_p(array.ctypes.data)


class Phase(enum.Enum):
    """Whose kernels an operator takes; the values are ignis_ops_phase's."""

    PREFILL = 0
    DECODE = 1


class Choice(NamedTuple):
    """Which kernel of prefill a linear layer takes: a block's tile of outputs, and whether it multiplies E4M3 codes."""

    rows: int
    tokens: int
    takes_eights: bool


class Operators:
    """A device and memory for one call at a time. A context manager. `seconds`: of the last call that was timed."""

    def __init__(self, library: ctypes.CDLL, memory_bytes: int = 1 << 30, num_threads: int = 2) -> None:
        self.library = library
        self.seconds = 0.0
        self._ops = c_void_p()
        self._max_pages = 0
        self._check(library.ignis_ops_open(num_threads, c_uint64(memory_bytes), ctypes.byref(self._ops)))

    def __enter__(self) -> "Operators":
        return self

    def __exit__(self, *_: object) -> None:
        self.library.ignis_ops_close(self._ops)

    def _check(self, status: int) -> None:
        leaf.check(self.library, status)

    def _take_phase(self, phase: Phase) -> None:
        self.library.ignis_ops_phase(self._ops, phase.value)

    def linear(
        self,
        weights: Sequence[Stored],
        x: Floats,
        *,
        onto: Sequence[Floats] | None = None,
        phase: Phase | None = None,
        num_rounds: int = 0,
    ) -> list[Floats]:
        """Returns x [T, cols] times each weight, or `onto` plus that. Without a phase: decode's where a round may be so
        wide."""
        rows = len(x)
        self._take_phase(phase or (Phase.DECODE if rows <= leaf.MAX_LANES else Phase.PREFILL))
        ys = [np.empty((rows, weight.rows), np.float32) for weight in weights]
        for y, before in zip(ys, onto or (), strict=False):
            y[:] = before
        files = [weight.file() for weight in weights]
        data = np.concatenate(files)
        tensors = (leaf.Tensor * len(weights))()
        offset = 0
        for i, (weight, file) in enumerate(zip(weights, files, strict=True)):
            tensors[i] = weight.tensor(offset)
            offset += file.nbytes
        seconds = c_double()
        self._check(
            self.library.ignis_ops_linear(
                self._ops,
                (c_void_p * len(ys))(*[y.ctypes.data for y in ys]),
                tensors,
                len(weights),
                at(data),
                at(x),
                rows,
                int(onto is not None),
                num_rounds,
                ctypes.byref(seconds),
            )
        )
        self.seconds = seconds.value
        return ys

    def choice(self, weights: Sequence[Stored], num_rows: int) -> Choice:
        """What `linear` of so many rows takes in prefill."""
        tensors = (leaf.Tensor * len(weights))(*[weight.tensor(0) for weight in weights])
        found = [c_uint32() for _ in range(3)]
        self._check(
            self.library.ignis_ops_linear_choice(self._ops, tensors, len(weights), num_rows, *map(ctypes.byref, found))
        )
        rows, tokens, takes_eights = (number.value for number in found)
        return Choice(rows, tokens, bool(takes_eights))

    def embed(self, table: Stored, tokens: Ids, *, is_head: bool = False) -> Floats:
        x = np.empty((len(tokens), table.cols), np.float32)
        tensor = table.tensor(0)
        status = self.library.ignis_ops_embed(
            self._ops, at(x), ctypes.byref(tensor), at(table.data), at(tokens), len(tokens), is_head
        )
        self._check(status)
        return x

    def rms_norm(self, x: Floats, weight: Floats, eps: float) -> Floats:
        y = np.empty_like(x)
        self._check(
            self.library.ignis_ops_rms_norm(self._ops, at(y), at(x), at(weight), len(x), x.shape[1], c_float(eps))
        )
        return y

    def swiglu(self, gate: Floats, up: Floats) -> Floats:
        y = np.empty_like(gate)
        self._check(self.library.ignis_ops_swiglu(self._ops, at(y), at(gate), at(up), len(gate), gate.shape[1]))
        return y

    def open_pages(
        self, kv_dtype: int, num_pages: int, max_context: int, num_heads: int, num_kv_heads: int, head_dim: int
    ) -> None:
        self._max_pages = (max_context + leaf.PAGE_TOKENS - 1) // leaf.PAGE_TOKENS
        self._check(
            self.library.ignis_ops_pages(self._ops, kv_dtype, num_pages, max_context, num_heads, num_kv_heads, head_dim)
        )

    def attend(
        self,
        q: Floats,
        k: Floats,
        v: Floats,
        groups: Sequence[tuple[int, int, Sequence[int]]],
        inv_freq: Floats,
        *,
        norms: tuple[Floats, Floats] | None = None,
        scale: float = 1.0,
        pairs: int = leaf.HALVES,
        phase: Phase | None = None,
        num_rounds: int = 0,
    ) -> Floats:
        """q [T, NH, D], k and v [T, NK, D]; groups of (rows, first position, pages). Returns [T, NH, D].

        Without a phase one group is prefill, several are decode.
        """
        self._take_phase(phase or (Phase.PREFILL if len(groups) == 1 else Phase.DECODE))
        out = np.empty_like(q)
        tables = np.zeros((len(groups), self._max_pages), np.int32)
        for row, (*_, pages) in zip(tables, groups, strict=True):
            row[: len(pages)] = pages
        counts = np.array([count for count, *_ in groups], np.uint32)
        positions = np.array([position for _, position, _ in groups], np.uint32)
        seconds = c_double()
        self._check(
            self.library.ignis_ops_attend(
                self._ops,
                at(out),
                at(q),
                at(k),
                at(v),
                at(counts),
                at(positions),
                at(tables),
                len(groups),
                None if norms is None else at(norms[0]),
                None if norms is None else at(norms[1]),
                c_float(1e-6),
                at(inv_freq),
                c_float(scale),
                pairs,
                num_rounds,
                ctypes.byref(seconds),
            )
        )
        self.seconds = seconds.value
        return out

    def sample(
        self,
        logits: Floats,
        sampling: Sequence[leaf.Sampling],
        positions: Sequence[int],
        prompts: Sequence[Ids],
        outputs: Sequence[Ids],
        *,
        num_rounds: int = 0,
    ) -> list[leaf.Draw]:
        num_rows, vocab_size = logits.shape
        draws = (leaf.Draw * num_rows)()
        seconds = c_double()

        def pointers(arrays: Sequence[Ids]) -> "ctypes.Array[ctypes._Pointer[c_int32]]":
            return (POINTER(c_int32) * num_rows)(*[leaf.int_pointer(array) for array in arrays])

        def lengths(arrays: Sequence[Ids]) -> "ctypes.Array[c_uint32]":
            return (c_uint32 * num_rows)(*[len(array) for array in arrays])

        self._check(
            self.library.ignis_ops_sample(
                self._ops,
                draws,
                at(logits),
                (leaf.Sampling * num_rows)(*sampling),
                (c_uint32 * num_rows)(*positions),
                pointers(prompts),
                lengths(prompts),
                pointers(outputs),
                lengths(outputs),
                num_rows,
                vocab_size,
                num_rounds,
                ctypes.byref(seconds),
            )
        )
        self.seconds = seconds.value
        return list(draws)
