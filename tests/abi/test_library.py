"""What a leaf's file gives and needs: the functions of its headers and no others, and libc alone."""

import re
import subprocess
from pathlib import Path

import pytest

from ignis import bundle

HEADERS = bundle.ROOT / "cuda" / "include"
FOR_ALL = ("ignis_step.h", "ignis_ops.h")
LIBC = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}


@pytest.fixture(params=["libignis_cpu.so", "libignis_cuda.so"])
def library(request: pytest.FixtureRequest) -> Path:
    path = bundle.library(request.param)
    if not path.exists():
        assert "cuda" in path.name
        pytest.skip("no CUDA leaf was built here")
    return path


def declared(*headers: str) -> set[str]:
    text = "".join((HEADERS / header).read_text(encoding="utf-8") for header in headers)
    return set(re.findall(r"^IGNIS_API [\w \*]*?(\w+)\(", text, re.MULTILINE))


def told(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_leaf_exports_what_its_headers_declare(library: Path) -> None:
    """The parts of the CUDA run time that are in it must not meet another library's."""
    exported = {line.split()[-1] for line in told("nm", "-D", "--defined-only", library).splitlines()}
    headers = FOR_ALL if "cuda" in library.name else (*FOR_ALL, "ignis_kernels.h")
    assert exported == declared(*headers)


def test_a_leaf_needs_libc_alone(library: Path) -> None:
    """So that it loads where there is no driver, and on any machine with a libc."""
    needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", told("readelf", "-d", library)))
    assert needed and needed <= LIBC
