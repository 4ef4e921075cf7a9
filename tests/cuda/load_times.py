"""How long a model of a real shape takes from its file to the card, and what that takes of its memory.

    python -m tests.cuda.load_times [folder for the file] [name of a shape] [cold]

The file is made sparse, so that no time goes into writing it: what is read are pages of zeros in the page cache, as
those of a file that was read before. With `cold` it is written, and the system is told before each load that its pages
are not needed: what is read comes from the disk, and beside the load stands what plain reads of the same file take.
Prints figures and asserts nothing.
"""

import ctypes
import itertools
import mmap
import os
import resource
import sys
import threading
import time
from pathlib import Path

import numpy as np

from tests.abi import leaf
from tests.cuda import card, synthetic

BF16 = 30
PHASES = ("preparing", "reading", "recording", "warming")


class SparseModel:
    """A file of zeros with every tensor of a shape at a place of its own, in BF16; norms in float32."""

    def __init__(self, shape: synthetic.FullShape, path: Path) -> None:
        self.path = path
        self._names: list[bytes] = []
        sizes = [(name, rows, cols, BF16) for name, (rows, cols) in shape.matrices().items()]
        sizes += [(name, 1, cols, leaf.F32) for name, cols in shape.vectors().items()]
        self._tensors = (leaf.Tensor * len(sizes))()
        offset = 0
        for index, (name, rows, cols, dtype) in enumerate(sizes):
            size_bytes = rows * cols * (2 if dtype == BF16 else 4)
            self._tensors[index] = leaf.Tensor(name.encode(), dtype, 0, offset, size_bytes, rows, cols)
            offset += -(-size_bytes // 4096) * 4096
        self.size_bytes = offset
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        os.ftruncate(self._descriptor, offset)
        self._map = mmap.mmap(self._descriptor, offset, access=mmap.ACCESS_READ)
        self._base = np.frombuffer(self._map, np.uint8)
        self._inv_freq = np.ones(shape.head_dim // 2, np.float32)
        self._shape = synthetic.shape_of(shape)
        self._shape.rope_inv_freq = leaf.float_pointer(self._inv_freq)

    def write(self) -> None:
        """Fills the file with numbers, and waits until the disk has them."""
        block = np.random.default_rng(1).integers(0, 256, 64 << 20, np.uint8).tobytes()
        for offset in range(0, self.size_bytes, len(block)):
            os.pwrite(self._descriptor, block[: self.size_bytes - offset], offset)
        os.fsync(self._descriptor)

    def forget(self) -> float:
        """Takes the file out of the page cache; returns the share of it that stayed."""
        os.posix_fadvise(self._descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        pages = -(-self.size_bytes // mmap.PAGESIZE)
        there = (ctypes.c_ubyte * pages)()
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mincore(ctypes.c_void_p(self._base.ctypes.data), ctypes.c_size_t(self.size_bytes), there):
            raise OSError(ctypes.get_errno(), "mincore")
        return float(np.frombuffer(there, np.uint8).mean())

    def read(self, num_threads: int) -> float:
        """Reads all of the file in pieces of 4 MB; returns bytes per second."""
        offsets = iter(range(0, self.size_bytes, 4 << 20))
        turn = threading.Lock()

        def work() -> None:
            piece = bytearray(4 << 20)
            while True:
                with turn:
                    offset = next(offsets, None)
                if offset is None:
                    return
                os.preadv(self._descriptor, [piece], offset)

        threads = [threading.Thread(target=work) for _ in range(num_threads)]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self.size_bytes / (time.perf_counter() - start)

    def close(self) -> None:
        del self._base
        self._map.close()
        os.close(self._descriptor)
        self.path.unlink()

    def params(self, progress: leaf.LoadProgress, **fields: int) -> leaf.LoadParams:
        files = (leaf.File * 1)(leaf.File(self._base.ctypes.data, self._base.nbytes, self._descriptor))
        sizes = {"num_pages": 256, "kv_dtype": leaf.F16, "max_context": 8192, "max_span": 2048, "max_lanes": 8} | fields
        params = leaf.LoadParams(ctypes.sizeof(leaf.LoadParams), 1, ctypes.pointer(self._shape), files, self._tensors)
        params.num_tensors = len(self._tensors)
        for name, value in sizes.items():
            setattr(params, name, value)
        params.progress = ctypes.pointer(progress)
        return params


def free_bytes() -> int:
    return int(card.probe(card.cuda())[1].free_bytes)


def load(stored: SparseModel, label: str, *, cancel_after_s: float | None = None, **fields: int) -> None:
    """Loads once, with a thread that looks at the progress, and prints what it saw."""
    library, model = card.cuda(), ctypes.c_void_p()
    progress = leaf.LoadProgress(ctypes.sizeof(leaf.LoadProgress))
    params = stored.params(progress, **fields)
    before, entered, is_over = free_bytes(), {0: time.perf_counter()}, threading.Event()
    asked_at_s = 0.0

    def watch() -> None:
        nonlocal asked_at_s
        start = time.perf_counter()
        while not is_over.wait(0.0005):
            entered.setdefault(int(progress.phase), time.perf_counter())
            if (
                cancel_after_s is not None
                and not progress.is_cancelled
                and time.perf_counter() - start > cancel_after_s
            ):
                asked_at_s = time.perf_counter()
                progress.is_cancelled = 1

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    status = library.ignis_load(ctypes.byref(params), ctypes.byref(model))
    stop = time.perf_counter()
    is_over.set()
    watcher.join()
    if status == leaf.CANCELLED:
        print(
            f"{label}: cancelled at {progress.done_bytes / 1e9:.1f} GB, back after {(stop - asked_at_s) * 1e3:.0f} ms, "
            f"{(before - free_bytes()) >> 20} MiB left behind"
        )
        return
    leaf.check(library, status)
    taken = before - free_bytes()
    plan = leaf.MemoryPlan(ctypes.sizeof(leaf.MemoryPlan))
    leaf.check(library, library.ignis_plan(ctypes.byref(params), ctypes.byref(plan)))
    lines = ("weights", "embedding", "workspace", "sampling", "lane", "kv_pool")
    arena = sum(int(getattr(plan, f"{line}_bytes")) for line in lines)
    times = [*sorted(entered.items()), (len(PHASES), stop)]
    phases = ", ".join(
        f"{PHASES[phase]} {(until - since) * 1e3:.0f} ms" for (phase, since), (_, until) in itertools.pairwise(times)
    )
    print(
        f"{label}: {stop - start:.3f} s, {stored.size_bytes / (stop - start) / 1e9:.1f} GB/s ({phases}); arena "
        f"{arena / 2**20:.1f} MiB, taken beside it {(taken - arena) / 2**20:.1f} MiB, rounds allowed "
        f"{plan.round_bytes / 2**20:.1f} MiB; resident {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB"
    )
    start = time.perf_counter()
    library.ignis_unload(model)
    print(
        f"    unloaded in {(time.perf_counter() - start) * 1e3:.0f} ms, {(before - free_bytes()) >> 20} MiB left behind"
    )


def cold(stored: SparseModel) -> None:
    start = time.perf_counter()
    stored.write()
    print(f"written in {time.perf_counter() - start:.1f} s")
    for turn in range(2):
        for num_threads in (1, 10):
            stayed = stored.forget()
            print(f"{num_threads} threads read {stored.read(num_threads) / 1e9:.2f} GB/s; {stayed:.1%} had stayed")
        print(f"before the load {stored.forget():.1%} had stayed")
        load(stored, f"from the disk, turn {turn + 1}")


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    name = sys.argv[2] if len(sys.argv) > 2 else synthetic.QWEN3_8B.name
    shape = next(shape for shape in (synthetic.QWEN3_8B, synthetic.QWEN3_32B, synthetic.SMOLLM2) if shape.name == name)
    start = time.perf_counter()
    status, info = card.probe(card.cuda())
    assert status == leaf.OK
    print(
        f"first probe {time.perf_counter() - start:.3f} s, context {info.context_bytes / 2**20:.1f} MiB, free "
        f"{info.free_bytes / 2**20:.1f} of {info.memory_bytes / 2**20:.1f} MiB"
    )
    stored = SparseModel(shape, folder / "load_times.bin")
    print(f"{shape.name}, {stored.size_bytes / 1e9:.2f} GB")
    try:
        if "cold" in sys.argv[3:]:
            cold(stored)
            return
        load(stored, "first (pages are made)")
        load(stored, "from the page cache")
        load(stored, "again")
        load(stored, "one lane", max_lanes=1)
        page_bytes = 36 * 2 * 64 * 8 * 128 * 2
        load(stored, "pool of 100 GB", num_pages=100 * 10**9 // page_bytes)
        load(stored, "cancelled", cancel_after_s=0.15)
        load(stored, "after it")
    finally:
        stored.close()


if __name__ == "__main__":
    main()
