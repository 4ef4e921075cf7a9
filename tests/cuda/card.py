"""The two leaves side by side, and whether this machine has a card for one of them."""

import ctypes
import functools

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


def multiplies_eights() -> bool:
    """Whether its tensor cores multiply E4M3 codes in prefill (cuda/kernels/linear_span_eight.h)."""
    _, info = probe(cuda())
    return bool(info.isa == b"sm_90")


needs_card = pytest.mark.skipif(why_not() is not None, reason=why_not() or "")
