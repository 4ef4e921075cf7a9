"""A step whose arguments break their contract is refused by name, and changes nothing."""

import ctypes
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from tests.abi import leaf
from tests.models import tiny

Step = Callable[[leaf.Model], object]
NAN = float("nan")


@pytest.fixture(scope="module")
def model() -> Iterator[leaf.Model]:
    weights = tiny.make(tiny.LLAMA).weights()
    params = leaf.load_params(weights, num_pages=4, num_host_pages=2, max_context=200, max_span=100, max_lanes=3)
    with leaf.Model(weights, params) as loaded:
        yield loaded


def sampling(**fields: float) -> Step:
    def step(model: leaf.Model) -> None:
        model.sampling[0] = leaf.greedy(**fields)
        try:
            model.decode([(0, 1, 0, [0])])
        finally:
            model.sampling[0] = leaf.greedy()

    return step


BIAS_IDS, BIAS_VALUES = leaf.ints([97]), np.array([np.nan], np.float32)
BAD_STEPS: dict[str, tuple[Step, str]] = {
    "an empty span": (lambda m: m.prefill([], [0]), "is empty"),
    "a span past max_span": (lambda m: m.prefill([1] * 101, [0, 1]), "longer than max_span 100"),
    "a span past max_context": (lambda m: m.prefill([1] * 10, [0, 1, 2, 3], start=195), "past max_context 200"),
    "a span without its pages": (lambda m: m.prefill([1] * 65, [0]), "65 positions need 2"),
    "a page that is not there": (lambda m: m.prefill([1] * 65, [0, 4]), r"page_table\[1\] is 4"),
    "a negative page": (lambda m: m.prefill([1], [-1]), r"page_table\[0\] is -1"),
    "a token past the vocabulary": (lambda m: m.prefill([1, 97], [0]), r"tokens\[1\] is 97"),
    "a negative token": (lambda m: m.prefill([-1], [0]), r"tokens\[0\] is -1"),
    "a span for a lane that is not there": (lambda m: m.prefill([1], [0], lane=3), "lane 3"),
    "a start that overflows": (lambda m: m.prefill([1], [0], start=2**32 - 1), "is empty"),
    "a round without rows": (lambda m: m.decode([]), "num_rows is 0"),
    "a round of more rows than lanes": (lambda m: m.decode([(lane, 1, 0, [0]) for lane in range(4)]), "num_rows is 4"),
    "a lane twice": (lambda m: m.decode([(1, 1, 0, [0]), (1, 1, 0, [1])]), "lane 1 is there twice"),
    "a lane past the last": (lambda m: m.decode([(3, 1, 0, [0])]), "lane 3"),
    "a negative lane": (lambda m: m.decode([(-1, 1, 0, [0])]), "lane -1"),
    "a row's token past the vocabulary": (lambda m: m.decode([(0, 97, 0, [0])]), "is 97"),
    "a row past max_context": (lambda m: m.decode([(0, 1, 200, [0, 1, 2, 3])]), "position 200"),
    "a row at the last position of all": (lambda m: m.decode([(0, 1, 2**32 - 1, [0])]), "past max_context"),
    "a row without its page": (lambda m: m.decode([(0, 1, 64, [0])]), "65 positions need 2"),
    "a row with a page that is not there": (lambda m: m.decode([(0, 1, 64, [0, 9])]), r"page_table\[1\] is 9"),
    "a lane opened past the last": (lambda m: m.open_lane(3), "lane 3"),
    "a lane opened with an alien token": (lambda m: m.open_lane(0, [1], [97]), r"output\[0\] is 97"),
    "a copy of a page that is not there": (lambda m: m.copy_page(4, 0), "from is page 4"),
    "a copy into a negative page": (lambda m: m.copy_page(0, -1), "to is page -1"),
    "a copy of a page into itself": (lambda m: m.copy_page(2, 2), "into itself"),
    "a page that is not there going out": (lambda m: m.pages_out([4], [0]), "pages is page 4"),
    "a place that is not there": (lambda m: m.pages_out([0, 1], [1, 2]), r"places\[1\] is 2; there are 2 places"),
    "a negative place": (lambda m: m.pages_in([0], [-1]), r"places\[0\] is -1"),
    "a page that is not there coming in": (lambda m: m.pages_in([-1], [0]), "pages is page -1"),
    "a negative temperature": (sampling(temperature=-1), "temperature"),
    "a temperature of NaN": (sampling(temperature=NAN), "temperature"),
    "an endless temperature": (sampling(temperature=float("inf")), "temperature"),
    "a top_p of 0": (sampling(top_p=0), "top_p"),
    "a top_p above 1": (sampling(top_p=1.5), "top_p"),
    "a top_p of NaN": (sampling(top_p=NAN), "top_p"),
    "a min_p above 1": (sampling(min_p=1.01), "min_p"),
    "a negative min_p": (sampling(min_p=-0.1), "min_p"),
    "a repetition penalty of 0": (sampling(repetition_penalty=0), "repetition_penalty"),
    "a presence penalty of NaN": (sampling(presence_penalty=NAN), "presence_penalty"),
    "a frequency penalty of NaN": (sampling(frequency_penalty=NAN), "frequency_penalty"),
    "a negative top_k": (sampling(top_k=-1), "top_k"),
    "too many log probabilities": (sampling(top_logprobs=21), "top_logprobs"),
    "a bias without its arrays": (sampling(num_bias=1), "bias"),
}


@pytest.mark.parametrize("fault", BAD_STEPS)
def test_a_step_that_breaks_its_contract_is_refused_by_name(fault: str, model: leaf.Model) -> None:
    step, text = BAD_STEPS[fault]
    with pytest.raises(leaf.LeafError, match=text) as caught:
        step(model)
    assert caught.value.status == leaf.INVALID


def test_a_bias_must_be_of_the_vocabulary_and_finite(model: leaf.Model) -> None:
    row = leaf.greedy(num_bias=1)
    row.bias_ids, row.bias_values = leaf.int_pointer(BIAS_IDS), leaf.float_pointer(BIAS_VALUES)
    model.sampling[0] = row
    with pytest.raises(leaf.LeafError, match=r"bias_ids\[0\] is 97"):
        model.decode([(0, 1, 0, [0])])
    BIAS_IDS[0] = 96
    with pytest.raises(leaf.LeafError, match="not finite"):
        model.decode([(0, 1, 0, [0])])
    model.sampling[0] = leaf.greedy()


def test_a_refused_step_leaves_the_lane_and_the_pages_as_they_were(model: leaf.Model) -> None:
    model.open_lane(0, [1, 2])
    _, before = model.prefill([1, 2, 3], [0], wants_logits=True)
    for step, _ in BAD_STEPS.values():
        with pytest.raises(leaf.LeafError):
            step(model)
    _, after = model.prefill([3], [0], start=2, wants_logits=True)
    np.testing.assert_array_equal(after[0], before[2])


def test_structs_of_another_size_and_null_pointers_are_refused() -> None:
    library = leaf.open_library()
    info, plan = leaf.DeviceInfo(1), leaf.MemoryPlan(1)
    assert library.ignis_probe(ctypes.byref(info)) == leaf.INVALID
    assert library.ignis_probe(None) == leaf.INVALID
    assert library.ignis_plan(None, ctypes.byref(plan)) == leaf.INVALID
    assert library.ignis_prefill(None, None, None) == leaf.INVALID
    assert library.ignis_decode(None, None, None) == leaf.INVALID
    assert library.ignis_copy_page(None, 0, 1) == leaf.INVALID
    assert library.ignis_pages_out(None, None, None, 0) == leaf.INVALID
    assert library.ignis_pages_in(None, None, None, 0) == leaf.INVALID
    assert library.ignis_lane_open(None, 0, None, 0, None, 0) == leaf.INVALID


def test_the_probe_tells_cores_memory_and_instruction_set(libraries: dict[str, ctypes.CDLL]) -> None:
    for isa, library in libraries.items():
        info = leaf.DeviceInfo(ctypes.sizeof(leaf.DeviceInfo))
        leaf.check(library, library.ignis_probe(ctypes.byref(info)))
        assert info.isa.decode() == isa
        assert info.num_cores >= 1
        assert info.memory_bytes > 2**27
        assert info.name
        assert info.phases_agree == 1
    assert library.ignis_abi_version() == leaf.ABI_VERSION


@pytest.mark.parametrize(
    "step",
    [
        lambda m: m.decode([(1, 1, 0, [1])]),
        lambda m: m.prefill([1], [1]),
        lambda m: m.open_lane(1),
        lambda m: m.copy_page(0, 1),
        lambda m: m.pages_out([0], [0]),
        lambda m: m.pages_in([0], [0]),
    ],
)
def test_nothing_else_is_done_while_a_round_is_under_way(model: leaf.Model, step: Step) -> None:
    def meanwhile() -> None:
        with pytest.raises(leaf.LeafError, match="a round is under way") as caught:
            step(model)
        assert caught.value.status == leaf.INVALID

    whole, _ = model.decode([(0, 1, 0, [0])])
    halves, _ = model.decode([(0, 1, 0, [0])], meanwhile=meanwhile)
    assert halves[0].token == whole[0].token


def test_a_round_that_was_not_begun_has_no_end(model: leaf.Model) -> None:
    draws = (leaf.Draw * 8)()
    assert model.library.ignis_decode_end(model.handle, draws) == leaf.INVALID
    assert model.library.ignis_last_error() == b"no round is under way"


def test_a_round_is_begun_ahead_once_and_inside_its_page(model: leaf.Model) -> None:
    def refusal() -> str:
        assert model.library.ignis_decode_ahead(model.handle) == leaf.INVALID
        return str(model.library.ignis_last_error().decode())

    def twice() -> None:
        leaf.check(model.library, model.library.ignis_decode_ahead(model.handle))
        assert refusal() == "a round is queued ahead already"

    assert refusal() == "no round is under way"
    model.decode([(0, 1, 0, [0])], meanwhile=twice)
    # What was begun ahead is under way.
    draws = (leaf.Draw * 8)()
    with pytest.raises(leaf.LeafError, match="a round is under way"):
        model.decode([(0, 1, 0, [0])])
    leaf.check(model.library, model.library.ignis_decode_end(model.handle, draws))
    found = []
    model.decode([(0, 1, 63, [0, 1])], meanwhile=lambda: found.append(refusal()))
    model.decode([(0, 1, 0, [0])], wants_logits=True, meanwhile=lambda: found.append(refusal()))
    assert found == ["position 64 is of the next page", "the round under way asks for its logits"]


def test_a_model_goes_with_a_round_that_is_begun_ahead(library: ctypes.CDLL) -> None:
    weights = tiny.make(tiny.LLAMA).weights()
    with leaf.Model(weights, leaf.load_params(weights), library) as model:
        model.decode([(0, 1, 0, [0])], meanwhile=lambda: leaf.check(library, library.ignis_decode_ahead(model.handle)))
