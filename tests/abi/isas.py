"""Instruction sets of this machine, and the leaf opened on each: a library decides once, so each has its own copy."""

import ctypes
import os
import shutil
from pathlib import Path

from ignis import bundle
from tests.abi import leaf

NAMES = ("portable", "avx2", "avx512", "avx512-vnni", "avx512-vnni-bf16")


def open_on(isa: str, folder: Path) -> ctypes.CDLL:
    """The leaf's library on one instruction set; `folder` holds the copy, which must stay while it is open."""
    copy = folder / f"{isa}.so"
    shutil.copy(bundle.library("libignis_cpu.so"), copy)
    before = os.environ.get("IGNIS_ISA")
    os.environ["IGNIS_ISA"] = isa
    try:
        library = leaf.open_library(copy)
        probe(library)  # decides
    finally:
        if before is None:
            del os.environ["IGNIS_ISA"]
        else:
            os.environ["IGNIS_ISA"] = before
    return library


def probe(library: ctypes.CDLL) -> leaf.DeviceInfo:
    info = leaf.DeviceInfo(ctypes.sizeof(leaf.DeviceInfo))
    leaf.check(library, library.ignis_probe(ctypes.byref(info)))
    return info


def available() -> list[str]:
    """Those that this machine has, in rising order."""
    best = probe(leaf.open_library()).isa.decode()
    return list(NAMES[: NAMES.index(best) + 1])
