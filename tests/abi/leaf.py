"""The step ABI (cuda/include/ignis_step.h) through ctypes, on numpy arrays: a leaf as tests and benches drive it."""

import ctypes
from collections.abc import Callable, Iterable, Sequence
from ctypes import POINTER, Structure, c_char, c_char_p, c_float, c_int32, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ignis import bundle

OK, INVALID, UNSUPPORTED, NO_MEMORY, NO_DEVICE, FAULT, CANCELLED = range(7)
ABI_VERSION = 4
PAGE_TOKENS = 64
MAX_LANES = 8
MAX_TOP_LOGPROBS = 20
F32, F16, BF16, F8_E4M3 = 0, 1, 30, 256
KV_DTYPES = (F32, F16, BF16, F8_E4M3)
SCALE_BLOCK = 128
LLAMA, QWEN3 = 1, 2
HALVES, ADJACENT = 0, 1

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int32]


class DeviceInfo(Structure):
    _fields_ = (
        ("size", c_uint32),
        ("num_cores", c_uint32),
        ("memory_bytes", c_uint64),
        ("free_bytes", c_uint64),
        ("context_bytes", c_uint64),
        ("name", c_char * 96),
        ("isa", c_char * 32),
        ("phases_agree", c_uint32),
        ("has_own_memory", c_uint32),
        ("gains_ahead", c_uint32),
        ("reserved", c_uint32),
    )


class File(Structure):
    _fields_ = (("base", c_void_p), ("size_bytes", c_uint64), ("descriptor", c_int32), ("reserved", c_uint32))


class Tensor(Structure):
    _fields_ = (
        ("name", c_char_p),
        ("dtype", c_uint32),
        ("file", c_uint32),
        ("offset", c_uint64),
        ("size_bytes", c_uint64),
        ("rows", c_uint64),
        ("cols", c_uint64),
        ("scale_dtype", c_uint32),
        ("scale_file", c_uint32),
        ("scale_offset", c_uint64),
        ("scale_size_bytes", c_uint64),
    )


class Shape(Structure):
    _fields_ = (
        ("size", c_uint32),
        ("architecture", c_uint32),
        ("num_layers", c_uint32),
        ("hidden_size", c_uint32),
        ("ffn_size", c_uint32),
        ("num_heads", c_uint32),
        ("num_kv_heads", c_uint32),
        ("head_dim", c_uint32),
        ("vocab_size", c_uint32),
        ("rms_eps", c_float),
        ("rope_pairs", c_uint32),
        ("rope_scale", c_float),
        ("rope_inv_freq", POINTER(c_float)),
    )


class LoadProgress(Structure):
    _fields_ = (
        ("size", c_uint32),
        ("phase", c_uint32),
        ("done_bytes", c_uint64),
        ("total_bytes", c_uint64),
        ("is_cancelled", c_uint32),
        ("reserved", c_uint32),
    )


class LoadParams(Structure):
    _fields_ = (
        ("size", c_uint32),
        ("num_files", c_uint32),
        ("shape", POINTER(Shape)),
        ("files", POINTER(File)),
        ("tensors", POINTER(Tensor)),
        ("num_tensors", c_uint32),
        ("num_pages", c_uint32),
        ("kv_dtype", c_uint32),
        ("max_context", c_uint32),
        ("max_span", c_uint32),
        ("max_lanes", c_uint32),
        ("num_threads", c_uint32),
        ("seed", c_uint32),
        ("num_host_pages", c_uint32),
        ("reserved", c_uint32),
        ("progress", POINTER(LoadProgress)),
    )


class MemoryPlan(Structure):
    _fields_ = (
        ("size", c_uint32),
        ("reserved", c_uint32),
        ("weights_bytes", c_uint64),
        ("embedding_bytes", c_uint64),
        ("mapped_bytes", c_uint64),
        ("workspace_bytes", c_uint64),
        ("sampling_bytes", c_uint64),
        ("lane_bytes", c_uint64),
        ("round_bytes", c_uint64),
        ("kv_page_bytes", c_uint64),
        ("kv_pool_bytes", c_uint64),
        ("kv_host_bytes", c_uint64),
    )


class Sampling(Structure):
    _fields_ = (
        ("temperature", c_float),
        ("top_p", c_float),
        ("min_p", c_float),
        ("repetition_penalty", c_float),
        ("presence_penalty", c_float),
        ("frequency_penalty", c_float),
        ("top_k", c_int32),
        ("top_logprobs", c_int32),
        ("seed", c_uint64),
        ("bias_ids", POINTER(c_int32)),
        ("bias_values", POINTER(c_float)),
        ("num_bias", c_uint32),
        ("reserved", c_uint32),
        ("permitted", POINTER(c_uint32)),
    )


class Draw(Structure):
    _fields_ = (
        ("token", c_int32),
        ("num_top", c_int32),
        ("logprob", c_float),
        ("top_ids", c_int32 * MAX_TOP_LOGPROBS),
        ("top_logprobs", c_float * MAX_TOP_LOGPROBS),
    )


class Span(Structure):
    _fields_ = (
        ("size", c_uint32),
        ("start", c_uint32),
        ("stop", c_uint32),
        ("num_pages", c_uint32),
        ("tokens", POINTER(c_int32)),
        ("page_table", POINTER(c_int32)),
        ("lane", c_int32),
        ("reserved", c_uint32),
        ("sampling", POINTER(Sampling)),
        ("logits", POINTER(c_float)),
    )


class RowStruct(Structure):
    _fields_ = (
        ("lane", c_int32),
        ("token", c_int32),
        ("position", c_uint32),
        ("num_pages", c_uint32),
        ("page_table", POINTER(c_int32)),
    )


class Round(Structure):
    _fields_ = (
        ("size", c_uint32),
        ("num_rows", c_uint32),
        ("rows", POINTER(RowStruct)),
        ("sampling", POINTER(Sampling)),
        ("logits", POINTER(c_float)),
    )


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """data: uint8, whatever the dtype, of F8_E4M3 with its float32 block scales behind; rows and cols in values."""

    name: str
    dtype: int
    rows: int
    cols: int
    data: npt.NDArray[np.uint8]

    def described(self, file: int, offset: int = 0) -> Tensor:
        """As the step ABI describes it, where the data lies at that offset of that file."""
        codes_bytes = self.rows * self.cols if self.dtype == F8_E4M3 else self.data.nbytes
        tensor = Tensor(self.name.encode(), self.dtype, file, offset, codes_bytes, self.rows, self.cols)
        if self.dtype == F8_E4M3:
            tensor.scale_file, tensor.scale_offset = file, offset + codes_bytes
            tensor.scale_size_bytes = self.data.nbytes - codes_bytes
        return tensor


@dataclass(frozen=True, slots=True)
class Weights:
    """A model's shape and tensors, each tensor in a file of its own."""

    shape: Shape
    tensors: tuple[StoredTensor, ...]
    inv_freq: Floats


class LeafError(Exception):
    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"status {status}: {text}")
        self.status = status
        self.text = text


def open_library(path: Path | None = None) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path or bundle.library("libignis_cpu.so")))
    library.ignis_last_error.restype = c_char_p
    library.ignis_unload.argtypes = [c_void_p]
    library.ignis_unload.restype = None
    return library


def check(library: ctypes.CDLL, status: int) -> None:
    if status != OK:
        raise LeafError(status, library.ignis_last_error().decode())


def ints(values: Sequence[int] | Ids) -> Ids:
    return np.ascontiguousarray(values, np.int32)


def int_pointer(values: Ids) -> "ctypes._Pointer[c_int32]":
    return values.ctypes.data_as(POINTER(c_int32))


def float_pointer(values: Floats) -> "ctypes._Pointer[c_float]":
    assert values.dtype == np.float32
    return values.ctypes.data_as(POINTER(c_float))


def load_params(
    weights: Weights,
    *,
    num_pages: int = 16,
    kv_dtype: int = F32,
    max_context: int = 512,
    max_span: int = 256,
    max_lanes: int = 8,
    num_threads: int = 1,
    num_host_pages: int = 0,
) -> LoadParams:
    """Borrows the weights' arrays: they must outlive the model."""
    weights.shape.rope_inv_freq = float_pointer(weights.inv_freq)
    files = (File * len(weights.tensors))()
    tensors = (Tensor * len(weights.tensors))()
    for index, tensor in enumerate(weights.tensors):
        files[index] = File(tensor.data.ctypes.data, tensor.data.nbytes, -1)
        tensors[index] = tensor.described(index)
    return LoadParams(
        ctypes.sizeof(LoadParams),
        len(files),
        ctypes.pointer(weights.shape),
        files,
        tensors,
        len(tensors),
        num_pages,
        kv_dtype,
        max_context,
        max_span,
        max_lanes,
        num_threads,
        num_host_pages=num_host_pages,
    )


class Model:
    """A loaded model and its sampling table. A context manager: unloads at the end."""

    def __init__(self, weights: Weights, params: LoadParams, library: ctypes.CDLL | None = None) -> None:
        self.library = library or open_library()
        self.weights = weights
        self.vocab_size = int(weights.shape.vocab_size)
        self.max_lanes = int(params.max_lanes)
        self.sampling = (Sampling * self.max_lanes)()
        for lane in range(self.max_lanes):
            self.sampling[lane] = greedy()
        self._model = c_void_p()
        check(self.library, self.library.ignis_load(ctypes.byref(params), ctypes.byref(self._model)))

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, *_: object) -> None:
        self.library.ignis_unload(self._model)

    @property
    def handle(self) -> c_void_p:
        """What the functions of the ABI call model."""
        return self._model

    def open_lane(self, lane: int, prompt: Sequence[int] = (), output: Sequence[int] = ()) -> None:
        prompt_ids, output_ids = ints(prompt), ints(output)
        status = self.library.ignis_lane_open(
            self._model, lane, int_pointer(prompt_ids), len(prompt_ids), int_pointer(output_ids), len(output_ids)
        )
        check(self.library, status)

    def copy_page(self, source: int, target: int) -> None:
        check(self.library, self.library.ignis_copy_page(self._model, source, target))

    def pages_out(self, pages: Sequence[int], places: Sequence[int]) -> None:
        check(self.library, self.library.ignis_pages_out(self._model, *self._moves(pages, places)))

    def pages_in(self, pages: Sequence[int], places: Sequence[int]) -> None:
        check(self.library, self.library.ignis_pages_in(self._model, *self._moves(pages, places)))

    @staticmethod
    def _moves(
        pages: Sequence[int], places: Sequence[int]
    ) -> "tuple[ctypes.Array[c_int32], ctypes.Array[c_int32], int]":
        assert len(pages) == len(places)
        return (c_int32 * len(pages))(*pages), (c_int32 * len(places))(*places), len(pages)

    def prefill(
        self,
        tokens: Sequence[int] | Ids,
        pages: Sequence[int],
        *,
        start: int = 0,
        lane: int = -1,
        wants_logits: bool = False,
    ) -> tuple[Draw, Floats]:
        """Runs tokens at [start, start + len). Returns the draw (where lane >= 0) and the logits [len, V] or [0, V]."""
        ids, table, draw = ints(tokens), ints(pages), Draw()
        logits = np.full((len(ids) if wants_logits else 0, self.vocab_size), np.nan, np.float32)
        span = Span(
            ctypes.sizeof(Span), start, start + len(ids), len(table), int_pointer(ids), int_pointer(table), lane, 0
        )
        span.sampling = self.sampling
        if wants_logits:
            span.logits = float_pointer(logits)
        check(self.library, self.library.ignis_prefill(self._model, ctypes.byref(span), ctypes.byref(draw)))
        return draw, logits

    def decode(
        self,
        rows: Iterable[tuple[int, int, int, Sequence[int]]],
        *,
        wants_logits: bool = False,
        meanwhile: Callable[[], None] | None = None,
    ) -> tuple[list[Draw], Floats]:
        """Runs one round of (lane, token, position, pages). Returns a draw a row and the logits [rows, V] or [0, V].

        meanwhile: the round is run in two halves, and this between them.
        """
        rows = list(rows)
        structs, _tables = row_structs(rows)
        draws = (Draw * len(rows))()
        logits = np.full((len(rows) if wants_logits else 0, self.vocab_size), np.nan, np.float32)
        batch = Round(ctypes.sizeof(Round), len(rows), structs, self.sampling)
        if wants_logits:
            batch.logits = float_pointer(logits)
        if meanwhile is None:
            check(self.library, self.library.ignis_decode(self._model, ctypes.byref(batch), draws))
        else:
            check(self.library, self.library.ignis_decode_begin(self._model, ctypes.byref(batch)))
            try:
                meanwhile()
            finally:
                check(self.library, self.library.ignis_decode_end(self._model, draws))
        return list(draws), logits

    def decode_on(self, rows: Iterable[tuple[int, int, int, Sequence[int]]], count: int) -> list[list[Draw]]:
        """Runs a round and others behind it, `count` in all, each begun before the draws of the one before are known.
        Returns each round's draws."""
        rows = list(rows)
        structs, _tables = row_structs(rows)
        batch = Round(ctypes.sizeof(Round), len(rows), structs, self.sampling)
        check(self.library, self.library.ignis_decode_begin(self._model, ctypes.byref(batch)))
        found = []
        for index in range(count):
            if index < count - 1:
                check(self.library, self.library.ignis_decode_ahead(self._model))
            draws = (Draw * len(rows))()
            check(self.library, self.library.ignis_decode_end(self._model, draws))
            found.append(list(draws))
        return found


def row_structs(rows: Sequence[tuple[int, int, int, Sequence[int]]]) -> "tuple[ctypes.Array[RowStruct], list[Ids]]":
    """Rows as the ABI takes them, and the page tables that they point to, which have to live as long."""
    tables = [ints(pages) for *_, pages in rows]
    structs = (RowStruct * len(rows))(
        *(
            RowStruct(lane, token, position, len(table), int_pointer(table))
            for (lane, token, position, _), table in zip(rows, tables, strict=True)
        )
    )
    return structs, tables


def greedy(**fields: float) -> Sampling:
    """A sampling row with everything off, and `fields` set on it."""
    row = Sampling(temperature=0, top_p=1, min_p=0, repetition_penalty=1, top_logprobs=-1)
    for name, value in fields.items():
        setattr(row, name, value)
    return row
