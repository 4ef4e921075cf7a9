"""A round's linear layers with what their results become in one launch: norms and SwiGLU. rounds.cu checks them."""

import shutil
import subprocess
from pathlib import Path

import pytest

from ignis import bundle
from tests.cuda import card

NVCC = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
SOURCE = Path(__file__).with_name("rounds.cu")
BUILT = bundle.ROOT / ".build" / "leaf"
UNITS = (
    "pack",
    "round_input",
    "linear",
    "linear_round",
    "linear_round_floats",
    "linear_round_four",
    "linear_round_five",
)
OBJECTS = [*(BUILT / f"kernels-{unit}.90a.o" for unit in UNITS), BUILT / "quant-dequantize.portable.o"]

pytestmark = [
    card.needs_card,
    pytest.mark.skipif(card.why_not() is None and not card.multiplies_eights(), reason="rounds.cu is for an sm_90"),
    pytest.mark.skipif(not Path(NVCC).exists(), reason="no nvcc to compile rounds.cu with"),
    pytest.mark.skipif(not all(map(Path.exists, OBJECTS)), reason="the kernels' objects for sm_90a are not in .build"),
]


def test_rows_that_a_round_leaves_for_the_next_layer_are_exact_and_their_own(tmp_path: Path) -> None:
    """Of every type, plain, normed and gated, with one, two and three tiles at a time, in each width."""
    rounds = tmp_path / "rounds"
    flags = ["-std=c++20", "-O3", "-fmad=false", "-gencode=arch=compute_90a,code=sm_90a"]
    subprocess.run([NVCC, *flags, "-o", str(rounds), str(SOURCE), *map(str, OBJECTS)], check=True)
    run = subprocess.run([str(rounds), "check"], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr
