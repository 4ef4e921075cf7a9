"""Rounds ahead in the CPU's leaf; the card's are in tests/cuda/test_requests.py."""

from pathlib import Path

from ignis import bundle
from tests.cuda import ahead


def test_what_is_ahead_goes_with_its_model_and_is_no_other_round(tmp_path: Path) -> None:
    ahead.bear(bundle.library("libignis_cpu.so"), tmp_path)
