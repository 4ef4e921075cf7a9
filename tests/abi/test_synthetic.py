"""Random weights of a real shape, without a file: a function of the seed and of nothing else."""

import ctypes
import time

import numpy as np
import pytest

from tests.abi import leaf, synthetic
from tests.abi.ceilings import Ceilings, StepTimes
from tests.models import tiny


@pytest.mark.parametrize("name", synthetic.NAMES)
def test_every_type_is_made(name: str) -> None:
    found = synthetic.logits(leaf.open_library(), tiny.WIDE, name, 1)
    assert np.isfinite(found).all()
    # Values of such a deviation give logits of about 1, whatever the type.
    assert 0.3 < found.std() < 3


@pytest.mark.parametrize("name", ["BF16", "Q4_K", "Q8_0"])
def test_the_seed_is_the_model(name: str) -> None:
    library = leaf.open_library()
    one = synthetic.logits(library, tiny.WIDE_QWEN3, name, 1)
    assert (one == synthetic.logits(library, tiny.WIDE_QWEN3, name, 1, num_threads=2)).all()
    assert (one != synthetic.logits(library, tiny.WIDE_QWEN3, name, 2)).mean() > 0.99


def test_odd_sizes_are_made_whole() -> None:
    found = synthetic.logits(leaf.open_library(), tiny.LLAMA_UNTIED, "F32", 7)
    assert np.isfinite(found).all()


def test_the_plan_counts_what_no_file_holds() -> None:
    library = leaf.open_library()
    weights, params = synthetic.load_params(tiny.WIDE, "BF16", 1)
    plan = leaf.MemoryPlan(ctypes.sizeof(leaf.MemoryPlan))
    leaf.check(library, library.ignis_plan(ctypes.byref(params), ctypes.byref(plan)))
    assert plan.mapped_bytes == 0
    assert plan.weights_bytes >= sum(tensor.data.nbytes for tensor in weights.tensors)


def test_without_a_seed_a_file_must_be_there() -> None:
    library = leaf.open_library()
    weights, params = synthetic.load_params(tiny.WIDE, "F16", 0)
    with pytest.raises(leaf.LeafError, match=r"files\[0\].base is null") as caught:
        leaf.Model(weights, params, library)
    assert caught.value.status == leaf.INVALID


def test_a_leaf_says_what_its_device_can_do() -> None:
    library = leaf.open_library()
    ceilings = Ceilings(ctypes.sizeof(Ceilings))
    started = time.monotonic()
    leaf.check(library, library.ignis_measure(1, ctypes.byref(ceilings)))
    # A quarter second each: in less a neighbour's burst is all that is seen.
    assert time.monotonic() - started > 0.75
    assert min(ceilings.read_bytes_s, ceilings.copy_bytes_s, ceilings.matrix_flops_s) > 1e8


def test_a_leaf_says_where_a_step_spent_its_time() -> None:
    library = leaf.open_library()
    weights, params = synthetic.load_params(tiny.WIDE, "F32", 1)
    times = StepTimes(ctypes.sizeof(StepTimes))
    with leaf.Model(weights, params, library) as model:
        model.prefill(tiny.prompt(tiny.WIDE, 40), [2, 0, 1])
        leaf.check(library, library.ignis_last_step(model.handle, ctypes.byref(times)))
    assert 0 < times.device_s < 10
