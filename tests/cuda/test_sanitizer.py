"""compute-sanitizer on a short run: no wrong access and no race.

racecheck does not take __syncwarp() and then one lane's arrival at an mbarrier for the whole warp's. It is one: PTX's
bar.warp.sync orders the accesses of the warp, and the arrival releases what is before it. bulk_ring.cu shows it: one
kernel, reported when one lane arrives for its warp, clean when each lane arrives. So races are looked for in a leaf
that is built for it, in which each lane arrives (IGNIS_LANES_ARRIVE), and no report is left out.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ignis import bundle
from tests.cuda import card, stored
from tests.cuda.operators import Operators
from tests.cuda.short_run import LONG, LONG_SPANS

SANITIZER = shutil.which("compute-sanitizer")
NVCC = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
SOURCE = Path(__file__).with_name("bulk_ring.cu")

FOUND = 9
CHECKED_LEAF = bundle.ROOT / ".build" / "targets" / "libignis_cuda.racecheck.so"

pytestmark = [
    card.needs_card,
    pytest.mark.skipif(SANITIZER is None, reason="no compute-sanitizer on PATH"),
]


def sanitize(tool: str, *command: str) -> tuple[int, str]:
    arguments = [str(SANITIZER), "--tool", tool, "--error-exitcode", str(FOUND), *command]
    # A kernel is prepared for the tool when it is loaded: those that run are enough.
    environment = {**os.environ, "CUDA_MODULE_LOADING": "LAZY"}
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=300, env=environment)
    return done.returncode, done.stdout + done.stderr


# Each type of pages, and both head sizes of the long spans' attention.
@pytest.mark.parametrize(
    "run",
    [
        ("short", "f16", *stored.TYPES),
        ("short", "fp8", "BF16", "Q4_K"),
        ("short", "bf16", "BF16", "F8_E4M3"),
        ("long", "f16", "BF16", "F8_E4M3", "Q6_K", "Q4_K"),
        ("long", "fp8", "Q8_0", "F16"),
        ("wide", "f16", "BF16", "Q8_0"),
        ("wide", "fp8", "BF16", "Q8_0"),
    ],
    ids=lambda run: "-".join(run[:2]),
)
def test_no_access_is_wrong(run: tuple[str, ...]) -> None:
    status, text = sanitize("memcheck", sys.executable, "-m", "tests.cuda.short_run", str(card.CUDA_LEAF), *run)
    assert status == 0, text[-6000:]


@pytest.mark.skipif(not CHECKED_LEAF.exists(), reason="build.py gpu-test has not built the leaf for racecheck")
@pytest.mark.parametrize(
    "run",
    [
        ("short", "f16", "BF16", "Q8_0", "Q4_K"),
        ("short", "fp8", "F8_E4M3"),
        ("long", "f16", "BF16"),
        ("long", "fp8", "F8_E4M3", "Q4_K"),
        ("wide", "f16", "BF16", "Q8_0"),
        ("wide", "fp8", "BF16", "Q8_0"),
    ],
    ids="-".join,
)
def test_no_accesses_race(run: tuple[str, ...]) -> None:
    status, text = sanitize("racecheck", sys.executable, "-m", "tests.cuda.short_run", str(CHECKED_LEAF), *run)
    assert status == 0, text[:6000]


@pytest.mark.skipif(not card.has_wgmma(), reason="this code has no wgmma, and two tiles of its own")
def test_the_long_run_takes_the_larger_tiles() -> None:
    with Operators(card.cuda(), memory_bytes=1 << 20) as cuda:
        for config in LONG:
            heads = (config.num_heads, config.num_kv_heads, config.num_kv_heads)
            for name in ("BF16", "F8_E4M3", "Q4_K"):
                of = [stored.random(name, rows, 256, seed=1) for rows in (config.ffn_size, config.ffn_size)]
                to = [stored.random(name, rows * config.head_dim, 256, seed=1) for rows in heads]
                assert cuda.choice(of, LONG_SPANS[1] - 5)[:2] == (128, 256)
                found = {cuda.choice(to, length)[:2] for length in (LONG_SPANS[0], LONG_SPANS[1] - 5)}
                assert found & {(128, 128), (64, 128)}


@pytest.mark.skipif(not Path(NVCC).exists(), reason="no nvcc to compile the ring with")
def test_racecheck_takes_one_lanes_arrival_for_no_other_lanes(tmp_path: Path) -> None:
    """Once this fails at `warps` the tool has learned it, and needs no leaf of its own any more."""
    ring = tmp_path / "ring"
    target = "-gencode=arch=compute_90,code=compute_90"
    subprocess.run([NVCC, "-std=c++20", "-O3", "-lineinfo", target, str(SOURCE), "-o", str(ring)], check=True)
    for fill in ("stores", "copies"):
        for arrival, has_races in (("lanes", False), ("warps", True), ("late", True)):
            subprocess.run([ring, fill, arrival], check=arrival != "late")
            status, text = sanitize("racecheck", str(ring), fill, arrival)
            assert ("Race reported" in text) == has_races, (fill, arrival, text)
            assert status == (FOUND if has_races else 0) or arrival == "late"
