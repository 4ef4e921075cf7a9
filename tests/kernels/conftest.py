"""The CPU leaf's library, built by build.py, and Numba's simulator of a card."""

import os

import pytest

from ignis import bundle
from tests.kernels.native import ISAS, Library

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"  # read when Numba is imported, by the tests' modules


@pytest.fixture(scope="session")
def library() -> Library:
    return Library(bundle.library("libignis_cpu.so"))


@pytest.fixture(params=ISAS)
def isa(request: pytest.FixtureRequest, library: Library) -> str:
    """Every instruction set; one that this machine lacks stands for its best one, which is then tested again."""
    name = str(request.param)
    return name if library.has(name) else [known for known in ISAS if library.has(known)][-1]
