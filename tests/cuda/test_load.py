"""Loads on the card: what they take, what they leave, and what ends them early."""

import ctypes
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.abi import leaf
from tests.abi.files import StoredModel
from tests.cuda import card
from tests.cuda.first_prompts import LENGTHS as FIRST_PROMPTS
from tests.cuda.operators import Operators
from tests.cuda.test_models import PAGES, SMOL, as_stored, open_model
from tests.models import tiny

pytestmark = card.needs_card


def free_bytes() -> int:
    status, info = card.probe(card.cuda())
    assert status == leaf.OK
    return int(info.free_bytes - info.context_bytes)


def resident_bytes() -> int:
    """Of this process, pinned memory included."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


ROOT = Path(__file__).resolve().parents[2]
WARMING = 3
# Most that the driver may take beyond a plan: it gives memory in pieces of 2 MiB.
SLACK_BYTES = 32 << 20


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoredModel]:
    """56 MB of embedding among others: many chunks of the path to the card."""
    weights = tiny.make(SMOL).weights(as_stored("BF16"))
    with StoredModel(weights, tmp_path_factory.mktemp("load") / "model.bin") as model:
        yield model


@pytest.fixture(autouse=True)
def fresh(stored: StoredModel) -> None:
    stored.progress = leaf.LoadProgress(ctypes.sizeof(leaf.LoadProgress))


def plan_of(params: leaf.LoadParams) -> leaf.MemoryPlan:
    plan = leaf.MemoryPlan(ctypes.sizeof(leaf.MemoryPlan))
    leaf.check(card.cuda(), card.cuda().ignis_plan(ctypes.byref(params), ctypes.byref(plan)))
    return plan


def total(plan: leaf.MemoryPlan) -> int:
    lines = ("weights", "embedding", "workspace", "sampling", "lane", "round", "kv_pool")
    return sum(int(getattr(plan, f"{line}_bytes")) for line in lines)


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("span", [64, 512])
def test_a_load_takes_what_its_plan_says(stored: StoredModel, lanes: int, span: int) -> None:
    params = stored.params(num_pages=4000, kv_dtype=leaf.F16, max_lanes=lanes, max_span=span)
    with leaf.Model(stored.weights, params, card.cuda()):
        pass
    before = free_bytes()
    with leaf.Model(stored.weights, params, card.cuda()) as model:
        taken = before - free_bytes()
        model.open_lane(0, [1])
        draw, _ = model.prefill(list(range(1, span)), PAGES[:8] if span < 512 else list(range(8)), lane=0)
        model.decode([(0, draw.token, span - 1, list(range(8)))])
        assert before - free_bytes() == taken, "memory was taken while it served"
    plan = plan_of(params)
    assert plan.mapped_bytes == 0
    assert -int(plan.round_bytes) <= taken - total(plan) <= SLACK_BYTES


@pytest.mark.parametrize("kv_dtype", [leaf.F16, leaf.F8_E4M3])
@pytest.mark.parametrize("name", ["BF16", "Q4_K", "F8_E4M3"])
def test_a_processs_first_long_prompts_take_no_memory(name: str, kv_dtype: int) -> None:
    """Their kernels are others than a load warms up with: larger tiles, and attention's blocks of two warpgroups."""
    command = [sys.executable, "-m", "tests.cuda.first_prompts", name, str(kv_dtype)]
    environment = {key: value for key, value in os.environ.items() if key != "CUDA_MODULE_LOADING"}
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, env=environment)
    assert run.returncode == 0, run.stderr
    mode, *taken = run.stdout.splitlines()
    assert mode == "eager"
    assert taken == [f"{rows} 0" for rows in FIRST_PROMPTS]


def test_a_card_that_was_full_is_taken_by_the_same_thread_once_it_is_not() -> None:
    command = [sys.executable, "-m", "tests.cuda.crowded"]
    with Operators(card.cuda(), memory_bytes=free_bytes() - (40 << 20)):
        crowded = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert crowded.stdout is not None
        refused = crowded.stdout.readline()
    told, _ = crowded.communicate("\n", timeout=60)
    assert refused.startswith(f"probe: status {leaf.NO_DEVICE}"), refused
    assert told == "load: status 0\n"


def test_what_a_file_gives_is_what_memory_gives(stored: StoredModel) -> None:
    tokens = tiny.prompt(SMOL, 100)
    results = []
    for params in (stored.params(), leaf.load_params(stored.weights)):
        with leaf.Model(stored.weights, params, card.cuda()) as model:
            results.append(model.prefill(tokens, PAGES, wants_logits=True)[1])
    np.testing.assert_array_equal(*results)


def test_a_file_is_read_by_its_descriptor_and_so_are_block_scales(tmp_path: Path) -> None:
    """Its mapping would end the process where the file is cut short meanwhile."""
    weights = tiny.make(tiny.WIDE).weights(as_stored("F8_E4M3"))
    tokens = tiny.prompt(tiny.WIDE, 100)
    with StoredModel(weights, tmp_path / "model.bin") as stored:
        read, mapped = stored.params(), leaf.load_params(weights)
        nothing = np.zeros(read.files[0].size_bytes, np.uint8)
        read.files[0].base = nothing.ctypes.data
        results = []
        for params in (read, mapped):
            with leaf.Model(weights, params, card.cuda()) as model:
                results.append(model.prefill(tokens, PAGES, wants_logits=True)[1])
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("lanes", [1, 8])
def test_a_load_says_how_far_it_is(stored: StoredModel, lanes: int) -> None:
    with leaf.Model(stored.weights, stored.params(max_lanes=lanes), card.cuda()):
        pass
    assert stored.progress.phase == WARMING, "rounds are warmed up once that of every width is recorded"
    assert stored.progress.done_bytes == stored.progress.total_bytes > 56_000_000


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
def test_a_cancelled_load_leaves_nothing_wherever_it_was(stored: StoredModel, share: float) -> None:
    with leaf.Model(stored.weights, stored.params(), card.cuda()):
        pass
    before = free_bytes()
    stored.progress = progress = leaf.LoadProgress(ctypes.sizeof(leaf.LoadProgress))
    is_over = threading.Event()

    def cancel() -> None:
        while not is_over.is_set() and progress.done_bytes <= share * progress.total_bytes * (share > 0):
            pass
        progress.is_cancelled = 1

    thread = threading.Thread(target=cancel)
    thread.start()
    try:
        # The load may be over first: then it is simply done.
        with leaf.Model(stored.weights, stored.params(), card.cuda()):
            pass
    except leaf.LeafError as error:
        assert error.status == leaf.CANCELLED  # noqa: PT017 - either end is right
    finally:
        is_over.set()
        thread.join()
    assert free_bytes() == before


def test_a_file_that_ends_early_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    weights = tiny.make(SMOL).weights(as_stored("BF16"))
    with StoredModel(weights, tmp_path / "short.bin") as stored:
        with leaf.Model(weights, stored.params(), card.cuda()):
            pass
        before = free_bytes()
        with stored.path.open("r+b") as file:
            file.truncate(30_000_000)
        with pytest.raises(leaf.LeafError, match="ends before its last tensor") as refused:
            leaf.Model(weights, stored.params(), card.cuda())
        assert refused.value.status == leaf.INVALID
    assert free_bytes() == before


def test_a_load_that_does_not_fit_is_refused_and_leaves_nothing(stored: StoredModel) -> None:
    with leaf.Model(stored.weights, stored.params(), card.cuda()):
        pass
    before = free_bytes()
    page_bytes = int(plan_of(stored.params(kv_dtype=leaf.F16)).kv_page_bytes)
    with pytest.raises(leaf.LeafError, match="KV pages") as refused:
        leaf.Model(stored.weights, stored.params(num_pages=before // page_bytes + 1000, kv_dtype=leaf.F16), card.cuda())
    assert refused.value.status == leaf.NO_MEMORY
    # More than before where the driver gave up what it kept for itself.
    assert free_bytes() >= before
    with leaf.Model(stored.weights, stored.params(), card.cuda()) as model:
        model.prefill([1, 2, 3], PAGES)


def test_a_fault_of_the_card_gives_its_memory_back_and_is_told_to_the_next_load() -> None:
    before = free_bytes()
    command = [sys.executable, "-m", "tests.cuda.fault"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert len(run.stdout.splitlines()) == 2, run.stderr
    step, load = run.stdout.splitlines()
    assert step.startswith(f"step: status {leaf.FAULT}") and "the card failed" in step
    assert load.startswith(f"load: status {leaf.NO_DEVICE}") and "start the server again" in load
    assert free_bytes() >= before


def test_two_hundred_loads_leave_no_byte_behind() -> None:
    weights = tiny.make(tiny.WIDE).weights(as_stored("Q4_K"))

    def cycle() -> None:
        with open_model(weights) as model:
            model.open_lane(0, [1])
            model.prefill([1, 2, 3], PAGES, lane=0)
            model.decode([(0, 5, 3, PAGES)])

    # The first loads leave the driver's and the allocator's own pools behind.
    for _ in range(40):
        cycle()
    on_card, on_host = free_bytes(), resident_bytes()
    for _ in range(200):
        cycle()
    assert free_bytes() >= on_card
    # A leak of one page in each cycle would be 800 KB; the allocator may still move by a few.
    assert resident_bytes() - on_host < 400 << 10


def test_a_load_that_fits_its_plan_and_not_the_card_leaves_nothing() -> None:
    """Somebody else has taken the memory since the plan was made: every allocation of a load may fail."""
    weights = tiny.make(SMOL).weights(as_stored("BF16"))

    def load() -> None:
        with open_model(weights, num_pages=4000, kv_dtype=leaf.F16) as model:
            model.prefill([1, 2, 3], PAGES)

    load()
    before = free_bytes()
    for room_mb in (800, 500, 200, 100, 40):
        with Operators(card.cuda(), memory_bytes=before - (room_mb << 20)):
            left = free_bytes()
            with pytest.raises(leaf.LeafError) as refused:
                load()
            assert refused.value.status == leaf.NO_MEMORY
            assert free_bytes() >= left
    load()
    assert free_bytes() >= before
