"""The sampling kernels of cuda/numba under Numba's simulator of a card, started as cuda/kernels/sampling.cu does.

conftest.py has chosen the simulator.
"""

import ctypes
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
from numba.cuda.simulator import kernelapi

from cuda.numba import arithmetic, choose, count, falling, gather, patch, rows, weigh
from tests.abi import leaf

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint32]

# A block's threads are threads of Python here: few, with few tokens each and many bins.
THREADS = 8
OWN_TOKENS = 8
PAD = 64  # words between arrays, so that nothing begins at 0

_lock = threading.Lock()


def shared_array(self: Any, shape: int, dtype: type) -> "npt.NDArray[Any]":
    """Instead of the simulator's own, where two threads that come at once may get one each."""
    frame = sys._getframe(1)
    with _lock:
        return self._allocations.setdefault((frame.f_code, frame.f_lineno), np.empty(shape, dtype))


kernelapi.FakeCUDAShared.array = shared_array


def resize(set_attribute: Callable[[ModuleType, str, int], None], own_tokens: int, num_bins: int) -> None:
    """Sizes the kernels for blocks of THREADS."""
    set_attribute(rows, "SLICE", THREADS * own_tokens)
    for module in (patch, weigh, gather):
        set_attribute(module, "OWN_TOKENS", own_tokens)
    for module in (arithmetic, patch, weigh, choose):
        set_attribute(module, "BINS", num_bins)
    for module in (falling, gather):
        set_attribute(module, "OWN_BINS", num_bins // THREADS)


resize(setattr, OWN_TOKENS, rows.BINS)


@dataclass(frozen=True, slots=True)
class Row:
    """What a row is drawn with; its lane has seen a prompt and made an output."""

    settings: dict[str, float]
    position: int = 0
    prompt: Sequence[int] = ()
    output: Sequence[int] = ()
    bias: Sequence[tuple[int, float]] = ()
    permitted: Sequence[int] | None = None

    def mask(self, vocab_size: int) -> Words | None:
        if self.permitted is None:
            return None
        words = np.zeros((vocab_size + 31) // 32, np.uint32)
        for token in self.permitted:
            words[token // 32] |= np.uint32(1 << token % 32)
        return words

    def sampling(self, vocab_size: int) -> leaf.Sampling:
        """The same for the leaf, with arrays that live as long as it."""
        row = leaf.greedy(**self.settings)
        ids = np.array([token for token, _ in self.bias], np.int32)
        values = np.array([value for _, value in self.bias], np.float32)
        mask = self.mask(vocab_size)
        row.bias_ids, row.bias_values, row.num_bias = leaf.int_pointer(ids), leaf.float_pointer(values), len(ids)
        if mask is not None:
            row.permitted = mask.ctypes.data_as(ctypes.POINTER(ctypes.c_uint32))
        row.arrays = ids, values, mask
        return row


class Memory:
    """A card's memory as words from address 0."""

    def __init__(self, num_words: int) -> None:
        self.words = np.full(num_words, 0xDEADBEEF, np.uint32)
        self._next = PAD

    def put(self, values: "npt.NDArray[Any]") -> int:
        """Returns the address of a copy."""
        start = self._next
        self.words[start : start + len(values)] = values.view(np.uint32)
        self._next += len(values) + PAD
        return 4 * start

    def at(self, address: int, num: int) -> Words:
        return self.words[address // 4 : address // 4 + num]


@dataclass(frozen=True, slots=True)
class Drawn:
    """One row's draw, and what its lane's counts are then."""

    token: int
    logprob: float
    top_ids: list[int]
    top_logprobs: list[float]
    counts: list[int]
    seen: set[int]


def params_of(row: Row, memory: Memory, vocab_size: int) -> "npt.NDArray[Any]":
    """A row of SampleParams; its lane's counts are made by the kernel that makes them on a card."""
    mask = row.mask(vocab_size)
    own = np.zeros(1, rows.PARAMS)
    for name, value in ({"top_p": 1, "repetition_penalty": 1, "top_logprobs": -1} | row.settings).items():
        own[name] = value
    own["position"], own["num_bias"], own["has_mask"] = row.position, len(row.bias), mask is not None
    own["bias_ids"] = memory.put(np.array([token for token, _ in row.bias], np.int32))
    own["bias_values"] = memory.put(np.array([value for _, value in row.bias], np.float32))
    if mask is not None:
        own["permitted"] = memory.put(mask)
    own["output_counts"] = counts = memory.put(np.zeros(vocab_size, np.uint32))
    own["is_seen"] = seen = memory.put(np.zeros((vocab_size + 31) // 32, np.uint32))
    for tokens, adds in ((row.prompt, 0), (row.output, 1)):
        staged = memory.put(np.array(tokens, np.int32))
        arguments = memory.words, np.uint64(counts), np.uint64(seen), np.uint64(staged), len(tokens), adds
        count.count_tokens[1, THREADS](*arguments)
    return own


def sample(logits: Floats, wanted: Sequence[Row]) -> list[Drawn]:
    """Draws for each row of logits [rows, V]."""
    # The simulator's keeper of a block polls: with the usual interval each thread waits 5 ms for its turn.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        return launch(logits, wanted)
    finally:
        sys.setswitchinterval(interval)


def launch(logits: Floats, wanted: Sequence[Row]) -> list[Drawn]:
    num_rows, vocab_size = logits.shape
    num_slices = (vocab_size + rows.SLICE - 1) // rows.SLICE
    memory = Memory(num_rows * (8 * PAD + 3 * vocab_size + sum(map(room, wanted))))
    params = np.concatenate([params_of(row, memory, vocab_size) for row in wanted])
    wide = np.full(num_rows * (rows.CODES + 2 * vocab_size + 2 * num_slices), -0x5A5A5A5A5A5A, np.int64)
    narrow = np.full(num_rows * rows.NARROW_WORDS, -0x5A5A5A, np.int32)
    patched = np.full(num_rows * vocab_size, np.nan, np.float32)
    draws = np.full(num_rows * rows.DRAW_WORDS, 0x5A5A5A, np.int32)
    raw = logits.reshape(-1)
    slices = (num_slices, num_rows)
    patch.patch[slices, THREADS](patched, wide, narrow, memory.words, raw, params, vocab_size)
    weigh.weigh[slices, THREADS](wide, narrow, patched, raw, params, vocab_size)
    gather.gather[slices, THREADS](wide, narrow, patched, raw, params, vocab_size)
    choose.choose[num_rows, THREADS](draws, wide, narrow, memory.words, raw, params, vocab_size)
    return [drawn(draw, own, memory, vocab_size) for draw, own in zip(draws.reshape(num_rows, -1), params, strict=True)]


def room(row: Row) -> int:
    """Words for what a row's caller gave."""
    return len(row.prompt) + len(row.output) + 2 * len(row.bias)


def drawn(draw: Ids, own: "npt.NDArray[Any]", memory: Memory, vocab_size: int) -> Drawn:
    num_top = int(draw[rows.DRAW_NUM_TOP])
    floats = draw.view(np.float32)
    seen = memory.at(int(own["is_seen"]), (vocab_size + 31) // 32)
    return Drawn(
        int(draw[rows.DRAW_TOKEN]),
        float(floats[rows.DRAW_LOGPROB]),
        draw[rows.DRAW_TOP_IDS :][:num_top].tolist(),
        floats[rows.DRAW_TOP_LOGPROBS :][:num_top].tolist(),
        memory.at(int(own["output_counts"]), vocab_size).tolist(),
        {token for token in range(vocab_size) if seen[token // 32] >> (token % 32) & 1},
    )
