"""SamplingTable: a row is what was written, and its biases live as long as the row."""

import gc

import pytest

from ignis._core import SamplingTable
from ignis.scheduler.request import SamplingParams


def test_a_row_is_what_was_written() -> None:
    table = SamplingTable(2)
    params = SamplingParams(0.5, 40, 0.75, 0.25, 1.5, -0.5, 2.0, 2**64 - 1, ((7, -100.0), (9, 1.5)), 20)
    table.write(1, params)
    assert table.row(1) == {
        "temperature": 0.5,
        "top_k": 40,
        "top_p": 0.75,
        "min_p": 0.25,
        "repetition_penalty": 1.5,
        "presence_penalty": -0.5,
        "frequency_penalty": 2.0,
        "seed": 2**64 - 1,
        "logit_bias": ((7, -100.0), (9, 1.5)),
        "top_logprobs": 20,
        "permitted": None,
    }


def test_no_log_probabilities_are_minus_one() -> None:
    table = SamplingTable(1)
    table.write(0, SamplingParams())
    assert table.row(0)["top_logprobs"] == -1


def test_what_must_be_more_than_nothing_stays_so_in_a_float() -> None:
    table = SamplingTable(1)
    table.write(0, SamplingParams(top_p=5e-324, repetition_penalty=1e-60))
    assert 0 < table.row(0)["top_p"] < 1e-37
    assert 0 < table.row(0)["repetition_penalty"] < 1e-37


def test_biases_live_as_long_as_their_row() -> None:
    table = SamplingTable(2)
    for lane in (0, 1, 0):
        table.write(lane, SamplingParams(logit_bias=tuple((i, float(lane)) for i in range(300))))
        gc.collect()
    assert table.row(1)["logit_bias"] == tuple((i, 1.0) for i in range(300))


def test_a_refused_row_leaves_the_one_before() -> None:
    table = SamplingTable(1)
    table.write(0, SamplingParams(temperature=0.5, seed=5))
    for refused in (SamplingParams(logit_bias=((2**40, 0.0),)), SamplingParams(top_k=2**40), SamplingParams(seed=-1)):
        with pytest.raises(OverflowError):
            table.write(0, refused)
    assert (table.row(0)["temperature"], table.row(0)["seed"]) == (0.5, 5)


@pytest.mark.parametrize("lane", [-1, 2])
def test_a_lane_outside_the_table_is_refused(lane: int) -> None:
    with pytest.raises(IndexError):
        SamplingTable(2).write(lane, SamplingParams())
