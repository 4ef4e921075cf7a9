"""A load as its caller can watch and end it."""

import ctypes
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.abi import leaf
from tests.abi.files import StoredModel
from tests.models import stores, tiny

READING = 1
TOKENS = list(range(1, 90))


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[StoredModel]:
    weights = tiny.make(tiny.WIDE).weights(stores.STORES["q4_1"])
    with StoredModel(weights, tmp_path / "model.bin") as model:
        yield model


def test_a_load_counts_every_stored_byte(stored: StoredModel) -> None:
    with leaf.Model(stored.weights, stored.params()):
        pass
    progress = stored.progress
    # A tied head is made of the embedding once more.
    assert progress.done_bytes == progress.total_bytes >= sum(tensor.data.nbytes for tensor in stored.weights.tensors)
    assert progress.phase >= READING


def test_what_is_read_from_a_file_is_what_lies_in_memory(stored: StoredModel) -> None:
    results = []
    for params in (stored.params(), leaf.load_params(stored.weights)):
        with leaf.Model(stored.weights, params) as model:
            results.append(model.prefill(TOKENS, [0, 1], wants_logits=True)[1])
    np.testing.assert_array_equal(*results)


def test_a_load_that_was_cancelled_holds_nothing(stored: StoredModel) -> None:
    stored.progress.is_cancelled = 1
    library, model = leaf.open_library(), ctypes.c_void_p()
    assert library.ignis_load(ctypes.byref(stored.params()), ctypes.byref(model)) == leaf.CANCELLED
    assert model.value is None
    assert stored.progress.done_bytes == 0
    stored.progress.is_cancelled = 0
    with leaf.Model(stored.weights, stored.params()):
        pass


def test_a_progress_of_another_size_is_refused(stored: StoredModel) -> None:
    stored.progress.size = 8
    with pytest.raises(leaf.LeafError, match=r"ignis_load_progress\.size is 8"):
        leaf.Model(stored.weights, stored.params())
