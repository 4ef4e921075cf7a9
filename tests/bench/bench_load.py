"""How fast models are loaded, as shares of what disk and memory give in the same run, and what a switch costs.

    python -m tests.bench.bench_load [--layers 6] [--repeats 3] [--device cpu]

The running server switches between two BF16 models of random weights, some 100 MB a layer, and says itself what the
parts took. Before a cold load the kernel is told to forget the file. Prints figures and asserts nothing.
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.abi import leaf
from tests.e2e.server import Server
from tests.e2e.small_folder import write_small_folder
from tests.models.tiny import TinyConfig
from tests.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
BLOCK_BYTES = 8 << 20
COPY_BYTES = 512 << 20
WEIGHTS = "model.safetensors"


def forget(file: Path) -> None:
    """Has the kernel drop the file's pages, which nobody may have mapped."""
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def read_s(file: Path) -> float:
    """Seconds to read a file from end to end into one buffer."""
    buffer = bytearray(BLOCK_BYTES)
    begun = time.perf_counter()
    with file.open("rb", buffering=0) as source:
        while source.readinto(buffer):
            pass
    return time.perf_counter() - begun


def copy_rate() -> float:
    """Bytes a second of one thread that copies memory."""
    source, target = np.ones(COPY_BYTES, np.uint8), np.zeros(COPY_BYTES, np.uint8)
    return COPY_BYTES / min(timed(lambda: np.copyto(target, source)) for _ in range(5))


def timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def switch(server: Server, name: str) -> dict[str, Any]:
    """Has the server switch, and returns what it says of it."""
    answer = server.client.chat(model=name, messages=[{"role": "user", "content": "Hi"}], max_tokens=1)
    assert answer.error is None
    found: dict[str, Any] = server.client.json("GET", "/v1/models")["last_switch"]
    assert (found["to"], found["outcome"]) == (name, "switched")
    return found


def show(title: str, switches: list[dict[str, Any]], size_bytes: int, bound: float, of: str) -> None:
    medians = {
        part: statistics.median(one[f"{part}_ms"] for one in switches)
        for part in ("prepare", "drain", "teardown", "load", "warm_up")
    }
    rate = size_bytes / (medians["load"] / 1e3)
    parts = ", ".join(f"{part} {ms:.0f} ms" for part, ms in medians.items())
    print(f"{title}: {rate / 1e9:.2f} GB/s, {100 * rate / bound:.0f} % of {of} ({bound / 1e9:.2f} GB/s); {parts}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--folder", type=Path, help="on the disk that is measured; the system's for temporary files")
    chosen = parser.parse_args()
    config = TinyConfig("load", leaf.LLAMA, chosen.layers, 2048, 5632, 16, 16, 128, 260)
    with tempfile.TemporaryDirectory(dir=chosen.folder) as name:
        folder = Path(name)
        write_small_folder(folder / "models" / "one", config, "BF16")
        shutil.copytree(folder / "models" / "one", folder / "models" / "two")
        size_bytes = (folder / "models" / "one" / WEIGHTS).stat().st_size
        print(f"{size_bytes / 1e9:.2f} GB of weights, BF16, {chosen.layers} layers; medians of {chosen.repeats}")
        command = [sys.executable, "-m", "ignis", "--model-artifact", str(folder / "models" / "one")]
        flags = ["--download-path", str(folder / "models"), "--device", chosen.device, "--model-max-context", "256"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "IGNIS_LOG_FORMAT": "json"}
        with Server([*command, *flags], free_port(), free_port(), folder / "log", environment) as server:
            server.wait_ready(600)
            measure(server, folder / "models", size_bytes, chosen.repeats)


def measure(server: Server, folder: Path, size_bytes: int, repeats: int) -> None:
    cold, cached, disk_s, cache_s, copies = [], [], [], [], []
    for _ in range(repeats):
        other = folder / "two" / WEIGHTS
        forget(other)
        disk_s.append(read_s(other))
        cache_s.append(read_s(other))
        forget(other)
        cold.append(switch(server, "two"))
        copies.append(copy_rate())
        read_s(folder / "one" / WEIGHTS)
        cached.append(switch(server, "one"))
    disk, cache = size_bytes / min(disk_s), size_bytes / min(cache_s)
    print(f"read from the disk {disk / 1e9:.2f} GB/s, from the page cache {cache / 1e9:.2f} GB/s, by one thread")
    show("load, file not in memory", cold, size_bytes, disk, "the disk's rate")
    show("load, file in the page cache", cached, size_bytes, max(copies), "a memory copy by one thread")


if __name__ == "__main__":
    main()
