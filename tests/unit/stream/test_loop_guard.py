"""When a text goes in circles, and when it does not."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ignis.stream.loop_guard import LEAST_REPEATED, LEAST_REPETITIONS, MAX_PERIOD, LoopGuard


def first_found(tokens: list[int]) -> tuple[int, int] | None:
    """After how many tokens a loop is seen first, and how many of them repeat."""
    guard = LoopGuard()
    for place, token in enumerate(tokens, 1):
        if repeated := guard.push(token):
            return place, repeated
    return None


@pytest.mark.parametrize("period", [1, 2, 7, 16, 40, 100, 300, MAX_PERIOD])
@pytest.mark.parametrize("before", [0, 5, 333])
def test_a_cycle_is_seen_soon_after_it_counts(period: int, before: int) -> None:
    cycle = list(range(1000, 1000 + period))
    least = max(LEAST_REPEATED, LEAST_REPETITIONS * period) + period
    found = first_found([*range(before), *itertools.islice(itertools.cycle(cycle), least + 40)])
    assert found is not None
    place, repeated = found
    assert least <= place - before <= least + 16
    assert least - period <= repeated <= place - before - period


def test_a_cycle_with_the_same_words_in_it_is_seen_too() -> None:
    cycle = [1, 2, 1, 2, 3, 1, 2, 1, 2, 4] * 2 + [1, 2] * 20 + [9]
    assert first_found(cycle * 30) is not None


@pytest.mark.parametrize(
    "tokens",
    [
        [token for number in range(2000) for token in (11, 100 + number, 12)],
        [token for row in range(300) for token in (7, 8, 7, 8, 7, 5000 + row)],
        [5] * (LEAST_REPEATED - 20),
        list(range(MAX_PERIOD * 2)) * 3,
        [*([1, 2, 3] * 80), 4] * 3,
    ],
)
def test_a_list_a_table_and_a_short_repetition_are_no_loops(tokens: list[int]) -> None:
    assert first_found(tokens) is None


def test_after_forgetting_it_begins_anew() -> None:
    guard = LoopGuard()
    for _ in range(LEAST_REPEATED):
        guard.push(1)
    guard.forget()
    assert not any(guard.push(1) for _ in range(LEAST_REPEATED - 1))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.lists(st.integers(0, 3), max_size=200))
def test_what_is_said_to_repeat_does(cycle: list[int], before: list[int]) -> None:
    tokens = [*before, *itertools.islice(itertools.cycle(cycle), 600)]
    found = first_found(tokens)
    assert found is not None
    place, repeated = found
    seen = tokens[:place]
    assert any(
        seen[-repeated:] == seen[-repeated - period : -period]
        for period in range(1, MAX_PERIOD + 1)
        if repeated + period <= len(seen)
    )
