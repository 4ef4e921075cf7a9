"""The log probabilities of a prompt's own tokens, out of logits that the test knows."""

import math

import numpy
import pytest

from ignis._core import MAX_TOP_LOGPROBS, TokenLog, score


def log_of(*tokens: int) -> TokenLog:
    return TokenLog(tokens, len(tokens) + 1)


def test_each_row_scores_the_token_behind_its_position() -> None:
    logits = numpy.random.default_rng(1).normal(0, 4, (3, 50)).astype(numpy.float32)
    wide = logits.astype(numpy.float64)
    expected = wide - numpy.log(numpy.exp(wide).sum(axis=1, keepdims=True))
    draws = score(logits, log_of(9, 3, 49, 0, 7), 1, 3, 4)
    assert [draw.token for draw in draws] == [49, 0, 7]
    for row, draw in enumerate(draws):
        assert draw.logprob == pytest.approx(expected[row, draw.token], abs=1e-6)
        best = numpy.argsort(-expected[row], kind="stable")[:4]
        assert [token for token, _ in draw.top] == best.tolist()
        assert [value for _, value in draw.top] == pytest.approx(expected[row, best].tolist(), abs=1e-6)


def test_of_equal_tokens_the_lower_id_comes_first() -> None:
    logits = numpy.array([[1, 2, 2, 1, 2]], numpy.float32)
    assert [token for token, _ in score(logits, log_of(0, 0), 0, 1, 4)[0].top] == [1, 2, 4, 0]


def test_large_logits_and_forbidden_tokens_are_numbers() -> None:
    logits = numpy.array([[30_000, 30_000, -math.inf]], numpy.float32)
    (draw,) = score(logits, log_of(0, 1), 0, 1, 3)
    assert draw.logprob == pytest.approx(-math.log(2), abs=1e-6)
    assert draw.top[2] == (2, -math.inf)


def test_more_best_ones_than_tokens_are_all_of_them() -> None:
    logits = numpy.zeros((1, 2), numpy.float32)
    assert len(score(logits, log_of(0, 1), 0, 1, MAX_TOP_LOGPROBS)[0].top) == 2


@pytest.mark.parametrize(("start", "num_rows", "num_top"), [(1, 2, 0), (-1, 1, 0), (0, 3, 0), (0, 1, 21), (0, -1, 0)])
def test_what_is_not_there_is_not_scored(start: int, num_rows: int, num_top: int) -> None:
    with pytest.raises((IndexError, ValueError)):
        score(numpy.zeros((2, 4), numpy.float32), log_of(0, 1, 2), start, num_rows, num_top)


def test_a_token_outside_the_vocabulary_is_not_scored() -> None:
    with pytest.raises(IndexError):
        score(numpy.zeros((1, 4), numpy.float32), log_of(0, 4), 0, 1, 0)
