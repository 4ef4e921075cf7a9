"""The threads that read a model's file ahead of a card."""

import ctypes
import errno
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ignis import bundle
from tests.kernels.native import Library

SIZE_BYTES = 1_000_003


@pytest.fixture
def file(tmp_path: Path) -> Iterator[tuple[int, bytes]]:
    """An open file, and what it holds."""
    content = np.random.default_rng(1).integers(0, 256, SIZE_BYTES, np.uint8).tobytes()
    path = tmp_path / "weights.bin"
    path.write_bytes(content)
    descriptor = os.open(path, os.O_RDONLY)
    yield descriptor, content
    os.close(descriptor)


def read(descriptor: int, size_bytes: int, *, job_bytes: int, buffers: int, threads: int) -> tuple[int, bytes]:
    library = Library(bundle.library("libignis_cpu.so"))
    data, error = ctypes.create_string_buffer(size_bytes), ctypes.c_int32(-1)
    sizes = ctypes.c_uint64(size_bytes), ctypes.c_uint64(job_bytes)
    library.check(library.c.ignis_bench_read(descriptor, data, *sizes, buffers, threads, ctypes.byref(error)))
    return error.value, data.raw


@pytest.mark.parametrize(("buffers", "threads"), [(1, 1), (3, 1), (3, 2), (8, 3), (24, 16)])
@pytest.mark.parametrize("job_bytes", [1000, 65536, 2_000_000])
def test_every_byte_arrives_at_its_place(file: tuple[int, bytes], job_bytes: int, buffers: int, threads: int) -> None:
    descriptor, content = file
    assert read(descriptor, SIZE_BYTES, job_bytes=job_bytes, buffers=buffers, threads=threads) == (0, content)


def test_a_file_that_ends_early_is_told(file: tuple[int, bytes]) -> None:
    error, _ = read(file[0], SIZE_BYTES + 1, job_bytes=65536, buffers=4, threads=2)
    assert error == errno.ENODATA


def test_a_file_that_cannot_be_read_is_told_with_its_reason() -> None:
    error, _ = read(-1 & 0x7FFFFFFF, 1000, job_bytes=100, buffers=4, threads=2)
    assert error == errno.EBADF


def test_nothing_to_read_is_read(file: tuple[int, bytes]) -> None:
    assert read(file[0], 0, job_bytes=100, buffers=2, threads=2)[0] == 0
