"""The leaf on every instruction set that this machine has."""

import ctypes
from pathlib import Path

import pytest

from tests.abi import isas


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ctypes.CDLL]:
    folder: Path = tmp_path_factory.mktemp("leaves")
    return {isa: isas.open_on(isa, folder) for isa in isas.available()}


@pytest.fixture(params=["portable", "avx2", "avx512", "avx512-vnni", "avx512-vnni-bf16"])
def library(request: pytest.FixtureRequest, libraries: dict[str, ctypes.CDLL]) -> ctypes.CDLL:
    """One leaf for each instruction set; those that this machine lacks run on its best one again."""
    return libraries.get(request.param, libraries[list(libraries)[-1]])
