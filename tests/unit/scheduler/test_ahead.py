"""Rounds that the device begins before the draws of the one before are known: what is drawn is the same."""

import pytest

from ignis.errors import InternalError
from ignis.scheduler.plan import DecodeRound
from ignis.scheduler.request import FinishReason, SamplingParams
from tests.fakes.leaf import mixed
from tests.unit.scheduler.test_scheduler import Player, answer_to


def playing(**settings: object) -> Player:
    return Player(gains_ahead=True, **settings)


def test_all_rounds_but_those_at_an_end_of_a_page_or_of_an_answer_are_begun_ahead() -> None:
    play = playing()
    one = play.submit(range(10), max_tokens=100)
    play.run()
    assert play.tokens(one) == answer_to(range(10), 100)
    # 99 rounds after the prompt's own draw. Behind the end of a page, and behind the last token, none is known.
    assert [kind for kind, _ in play.leaf.steps].count("decode") == 99
    assert play.num_ahead == 97


def test_nothing_is_begun_ahead_where_the_device_gains_nothing() -> None:
    play = Player()
    play.submit(range(10), max_tokens=100)
    play.run()
    assert play.num_ahead == 0


def test_a_stop_token_costs_a_round_that_is_nobodys() -> None:
    context = list(range(10))
    for _ in range(8):
        context.append(mixed(context, 10))
    play = playing()
    one = play.submit(range(10), max_tokens=100, stop_ids=frozenset(context[-1:]))
    play.run()
    assert (play.tokens(one), play.last(one).finish) == (context[10:-1], FinishReason.STOP)
    # Seven rounds draw what follows the first token; the eighth had begun.
    assert [kind for kind, _ in play.leaf.steps] == ["prefill"] + 8 * ["decode"]
    # Its lane, its pages and the round are free for the next.
    two = play.submit(range(10), max_tokens=70)
    play.run()
    assert play.tokens(two) == answer_to(range(10), 70)


def test_those_who_stay_lose_no_round_by_one_who_ends() -> None:
    play = playing()
    one = play.submit(range(10), max_tokens=30)
    two = play.submit(range(200, 220), max_tokens=30)
    play.run(until=lambda: len(play.tokens(two)) >= 5)
    play.scheduler.cancel(one, play.now)
    step = play.step()
    # It had begun with both.
    assert isinstance(step, DecodeRound) and len(step.rows) == 2
    assert len(play.tokens(two)) == 6
    play.run()
    assert play.tokens(two) == answer_to(range(200, 220), 30)
    assert play.last(one).finish is FinishReason.CANCELLED
    assert play.tokens(one) == answer_to(range(10), 30)[: len(play.tokens(one))]


def test_who_comes_waits_for_the_round_that_has_begun_and_no_longer() -> None:
    play = playing()
    play.submit(range(10), max_tokens=60)
    play.run(until=lambda: play.num_ahead >= 5)
    steps = len(play.leaf.steps)
    play.submit(range(300, 310), max_tokens=3)
    play.step()
    play.step()
    assert [kind for kind, _ in play.leaf.steps[steps:]] == ["decode", "prefill"]


@pytest.mark.parametrize("after", [3, 4, 5])
def test_a_lane_that_is_taken_again_at_once_has_nothing_of_the_one_before(after: int) -> None:
    play = playing(num_lanes=1, num_pages=4)
    one = play.submit(range(10), max_tokens=60)
    play.run(until=lambda: len(play.tokens(one)) >= after)
    play.scheduler.cancel(one, play.now)
    two = play.submit(range(400, 410), max_tokens=60)
    play.run()
    assert play.tokens(two) == answer_to(range(400, 410), 60)


def test_log_probabilities_are_asked_for_round_by_round() -> None:
    play = playing()
    play.submit(range(10), max_tokens=20, sampling=SamplingParams(temperature=0.0, top_logprobs=1))
    play.run()
    assert play.num_ahead == 0


@pytest.mark.parametrize("has_left", [True, False])
def test_a_round_that_the_device_refuses_has_no_next_one(has_left: bool) -> None:
    play = playing()
    one = play.submit(range(10), max_tokens=60)
    two = play.submit(range(200, 210), max_tokens=60)
    play.run(until=lambda: play.num_ahead >= 5)
    step = play.scheduler.plan(play.now)
    assert isinstance(step, DecodeRound)
    if has_left:
        play.scheduler.cancel(one, play.now)
    play.leaf.faults.append(InternalError("no"))
    with pytest.raises(InternalError):
        play.leaf.decode(step, goes_on=play.scheduler.goes_on(step))
    play.tell(play.scheduler.refuse(step, "no", play.now))
    assert [play.last(each).finish for each in (one, two)] == [
        FinishReason.CANCELLED if has_left else FinishReason.FAULT,
        FinishReason.FAULT,
    ]
    three = play.submit(range(400, 410), max_tokens=10)
    play.run()
    assert play.tokens(three) == answer_to(range(400, 410), 10)
