"""compute-sanitizer on a short run: no wrong access, and no race but those whose order the tool cannot see.

racecheck does not take __syncwarp() and then one lane's arrival at an mbarrier for the whole warp's. It is one:
bar.warp.sync orders the accesses of the warp (PTX ISA, "bar.warp.sync"), and the arrival releases what is before it.
tests/cuda/bulk_ring.cu shows it: one kernel, reported when one lane arrives for its warp, clean when each lane arrives.
So reports of that shape are left out, by the kernels that have such a ring and by what they report: a stage that is
written against the reads of the turn before.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cuda import card, stored

SANITIZER = shutil.which("compute-sanitizer")
NVCC = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
SOURCE = Path(__file__).with_name("bulk_ring.cu")

# Kernels with a ring of bulk copies whose stages are freed by one lane of each warp.
RINGS = ("group_kernel", "span_warpgroup_kernel")
FOUND = 9

pytestmark = [
    card.needs_card,
    pytest.mark.skipif(SANITIZER is None, reason="no compute-sanitizer on PATH"),
]


def sanitize(tool: str, *command: str) -> tuple[int, str]:
    arguments = [str(SANITIZER), "--tool", tool, "--error-exitcode", str(FOUND), *command]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def reports(text: str) -> list[str]:
    """The reports of a run of racecheck, each with the accesses that it is about."""
    lines = [line.removeprefix("=========").strip() for line in text.splitlines() if line.startswith("=========")]
    found: list[str] = []
    for line in lines:
        if line.startswith(("Error:", "Warning:")):
            found.append(line)
        elif line.startswith("and ") and found:
            found[-1] += "\n" + line
    return found


def is_of_a_ring(report: str) -> bool:
    kernels = set(re.findall(r"access at .*?(\w+)<", report))
    kinds = set(re.findall(r"(Read|Write) access", report))
    return kinds == {"Read", "Write"} and len(kernels) == 1 and kernels <= set(RINGS)


def test_no_access_is_wrong() -> None:
    status, text = sanitize("memcheck", sys.executable, "-m", "tests.cuda.short_run", *stored.TYPES)
    assert status == 0, text[-6000:]


@pytest.mark.parametrize("name", ["BF16", "Q8_0", "Q4_K"])
def test_no_access_races(name: str) -> None:
    status, text = sanitize("racecheck", sys.executable, "-m", "tests.cuda.short_run", name)
    strange = [report for report in reports(text) if not is_of_a_ring(report)]
    assert not strange, "\n".join(strange)[:6000]
    assert status in (0, FOUND), text[-3000:]
    assert status == 0 or reports(text), text[-3000:]


@pytest.mark.skipif(not Path(NVCC).exists(), reason="no nvcc to compile the ring with")
def test_racecheck_takes_one_lanes_arrival_for_no_other_lanes(tmp_path: Path) -> None:
    """Once this fails at `warps`, the tool has learned it, and nothing need be left out any more."""
    ring = tmp_path / "ring"
    target = "-gencode=arch=compute_90,code=compute_90"
    subprocess.run([NVCC, "-std=c++20", "-O3", "-lineinfo", target, str(SOURCE), "-o", str(ring)], check=True)
    for fill in ("stores", "copies"):
        for arrival, has_races in (("lanes", False), ("warps", True), ("late", True)):
            subprocess.run([ring, fill, arrival], check=arrival != "late")
            status, text = sanitize("racecheck", str(ring), fill, arrival)
            assert bool(reports(text)) == has_races, (fill, arrival, text)
            assert status == (FOUND if has_races else 0) or arrival == "late"
