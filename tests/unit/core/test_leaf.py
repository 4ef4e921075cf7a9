"""The ABI's caller, where it refuses before it calls."""

import subprocess
from pathlib import Path

import pytest

from ignis import _core
from ignis._core import Leaf, LeafError, LoadParams
from ignis.config_fields import ModelKvFormat
from ignis.engine.leaf import Layout, NativeLeaf, step_error
from ignis.errors import EngineError, InternalError, ModelLoadError
from tests.fakes.leaf import bare_checkpoint


def test_a_library_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(LeafError, match=r"nothing\.so"):
        Leaf(str(tmp_path / "nothing.so"))


def test_a_library_that_is_no_leaf_is_refused() -> None:
    with pytest.raises(LeafError, match="ignis_abi_version"):
        Leaf("libm.so.6")


def test_a_leaf_of_another_version_is_refused_by_both_numbers(tmp_path: Path) -> None:
    library = tmp_path / "old.so"
    source = "unsigned ignis_abi_version(void) { return 1; }"
    subprocess.run(["gcc", "-shared", "-x", "c", "-", "-o", library], input=source, text=True, check=True)
    with pytest.raises(ModelLoadError, match=rf"old\.so .*speaks step ABI 1, not {_core.ABI_VERSION}"):
        NativeLeaf(library)


def test_the_border_says_which_leaf_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(ModelLoadError, match=r"nothing\.so"):
        NativeLeaf(tmp_path / "nothing.so")


def test_parameters_are_made_of_a_checkpoint() -> None:
    layout = Layout(4, ModelKvFormat.F16, 256, 64, 8, 0)
    params = LoadParams(
        bare_checkpoint(),
        num_pages=layout.num_pages,
        kv_dtype=1,
        max_context=layout.max_context,
        max_span=layout.max_span,
        max_lanes=layout.num_lanes,
        num_threads=layout.num_threads,
    )
    assert params is not None


@pytest.mark.parametrize("status", ["FAULT", "NO_DEVICE", "NO_MEMORY"])
def test_a_step_that_the_device_failed_in_loses_the_device(status: str) -> None:
    error = step_error(LeafError(getattr(_core, f"STATUS_{status}"), "gone"))
    assert isinstance(error, EngineError)


def test_a_step_that_is_refused_loses_nothing() -> None:
    assert isinstance(step_error(LeafError(_core.STATUS_INVALID, "empty")), InternalError)
