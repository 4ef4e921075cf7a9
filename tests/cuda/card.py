"""The two leaves side by side, and whether this machine has a card for one of them."""

import ctypes
import functools

import numpy as np
import pytest

from ignis import bundle
from tests.abi import leaf

CUDA_LEAF = bundle.library("libignis_cuda.so")


def probe(library: ctypes.CDLL) -> tuple[int, leaf.DeviceInfo]:
    info = leaf.DeviceInfo(ctypes.sizeof(leaf.DeviceInfo))
    return library.ignis_probe(ctypes.byref(info)), info


@functools.cache
def host() -> ctypes.CDLL:
    return leaf.open_library()


@functools.cache
def cuda() -> ctypes.CDLL:
    return leaf.open_library(CUDA_LEAF)


@functools.cache
def why_not() -> str | None:
    """Says why there is no card to test; None where there is one."""
    if not CUDA_LEAF.exists():
        return "the CUDA leaf was not built"
    status, _ = probe(cuda())
    return None if status == leaf.OK else str(cuda().ignis_last_error().decode())


@functools.cache
def multiplies_eights() -> bool:
    """Whether its tensor cores multiply E4M3 codes in prefill (cuda/kernels/linear_span_eight.h): the code that runs
    there decides, which may be that of an older card."""
    weight = leaf.StoredTensor("w", leaf.F8_E4M3, 128, 128, np.zeros(128 * 128 + 4, np.uint8)).described(0)
    ops, rows, tokens, takes_eights = ctypes.c_void_p(), ctypes.c_uint32(), ctypes.c_uint32(), ctypes.c_uint32()
    library, by = cuda(), ctypes.byref
    leaf.check(library, library.ignis_ops_open(1, ctypes.c_uint64(1 << 20), by(ops)))
    try:
        status = library.ignis_ops_linear_choice(ops, by(weight), 1, 64, by(rows), by(tokens), by(takes_eights))
        leaf.check(library, status)
    finally:
        library.ignis_ops_close(ops)
    return bool(takes_eights.value)


def has_wgmma() -> bool:
    """Whether the code that runs there is sm_90a's, whose prefill is another than that of all other cards."""
    return why_not() is None and multiplies_eights()


needs_card = pytest.mark.skipif(why_not() is not None, reason=why_not() or "")
