"""Constraints in the scheduler: what a lane may draw, and what becomes of one that is late."""

import pytest

from ignis.scheduler.constraint import Constraint
from ignis.scheduler.plan import DecodeRound, Idle, PrefillSpan
from ignis.scheduler.request import FinishReason, ReasoningRecord, Submission
from tests.fakes.constraint import Replacing, Rewinding, RuledConstraint, ends_in
from tests.fakes.leaf import mixed
from tests.unit.scheduler.test_scheduler import GREEDY, Player


class Bound(Player):
    """Plays requests with a constraint, and their work when a test says so."""

    def bind(self, constraint: Constraint, max_tokens: int = 4, **more: object) -> int:
        stop_ids = more.pop("stop_ids", frozenset())
        submission = Submission(tuple(range(10)), max_tokens, GREEDY, stop_ids, constraint=constraint, **more)  # type: ignore[arg-type]
        request_id, self._next_id = self._next_id, self._next_id + 1
        self.scheduler.submit(request_id, submission, self.now)
        return request_id

    def work(self) -> None:
        for live in self.scheduler.take_late():
            assert live.constraint is not None
            live.constraint.work()
            self.scheduler.end_work(live.request_id, None, "", self.now)

    def run_all(self) -> None:
        while self.scheduler.num_running or self.scheduler.num_waiting:
            self.step()
            self.work()


def test_a_lane_draws_what_its_constraint_permits() -> None:
    play = Bound()
    one = play.bind(RuledConstraint(ends_in(3)))
    other = play.submit(range(10))
    play.run()
    assert {token % 10 for token in play.tokens(one)} == {3}
    assert {token % 10 for token in play.tokens(other)} != {3}


def test_the_first_token_is_constrained_too() -> None:
    play = Bound()
    one = play.bind(RuledConstraint(lambda tokens: [42] if not tokens else None), max_tokens=1)
    play.run()
    assert play.tokens(one) == [42]


def test_the_next_request_in_a_lane_is_free() -> None:
    play = Bound(num_lanes=1)
    play.bind(RuledConstraint(ends_in(3)))
    play.run()
    free = play.submit(range(10))
    play.run()
    assert play.tokens(free) == answer_alone()


def answer_alone() -> list[int]:
    play = Bound(num_lanes=1)
    alone = play.submit(range(10))
    play.run()
    return play.tokens(alone)


def test_a_token_that_takes_anothers_place_goes_in_and_is_counted_by_its_lane() -> None:
    play = Bound()
    one = play.bind(Replacing({1: 77}), max_tokens=4)
    other = play.submit(range(30), max_tokens=6)
    rounds = []
    while play.scheduler.num_running or play.scheduler.num_waiting:
        step = play.step()
        if isinstance(step, DecodeRound):
            rounds.append([live.request_id for live in step.replaced])
    assert play.tokens(one)[1] == 77
    assert rounds.count([one]) == 1 and all(replaced in ([], [one]) for replaced in rounds)
    assert len(play.tokens(other)) == 6


def test_a_stop_token_that_is_replaced_ends_nothing() -> None:
    play = Bound()
    first = answer_alone()[0]
    one = play.bind(Replacing({0: 77}), max_tokens=3, stop_ids=frozenset({first}))
    play.run()
    assert play.tokens(one)[0] == 77 and len(play.tokens(one)) == 3


@pytest.mark.parametrize("phases_agree", [True, False])
@pytest.mark.parametrize(("surplus", "kept"), [(150, 64), (100, 128), (20, 192), (5, 200), (199, 64)])
def test_tokens_that_are_given_up_leave_the_context_in_whole_pages(surplus: int, kept: int, phases_agree: bool) -> None:
    """The scripted leaf reads everything back through the pages: whatever is wrong with them is a wrong answer."""
    play = Bound(phases_agree=phases_agree)
    record = ReasoningRecord()
    # Ten tokens of prompt and 190 of answer when it is told.
    one = play.bind(Rewinding(190, surplus, 777), max_tokens=300, reasoning=record)
    other = play.submit(range(30), max_tokens=250)
    while play.scheduler.num_running or play.scheduler.num_waiting:
        play.step()
        play.scheduler.check()
    tokens = play.tokens(one)
    assert len(tokens) == 300 and len(play.tokens(other)) == 250
    assert tokens[190] == 777
    assert record.rewound_tokens == 200 - kept
    # What follows is what follows that context and nothing else.
    context = [*range(10), *tokens[: kept - 10], 777]
    for token in tokens[191:]:
        assert token == mixed(context, 10)
        context.append(token)


def test_pages_that_another_request_reads_stay() -> None:
    play = Bound(num_lanes=2)
    record = ReasoningRecord()
    one = play.bind(Rewinding(190, 150, 777), max_tokens=300, reasoning=record)
    play.run(lambda: len(play.tokens(one)) >= 180)
    # It goes on from the first one's answer, out of its pages.
    play.submit([*range(10), *play.tokens(one)[:170]], max_tokens=200)
    while play.scheduler.num_running or play.scheduler.num_waiting:
        play.step()
        play.scheduler.check()
    assert record.rewound_tokens == 0
    assert play.tokens(one)[190] == 777


def test_a_late_lane_is_left_out_and_the_others_go_on() -> None:
    play = Bound()
    play.bind(RuledConstraint(ends_in(3), is_slow=True), max_tokens=9)
    play.submit(range(20), max_tokens=9)
    assert isinstance(play.step(), PrefillSpan)
    assert isinstance(play.step(), Idle)
    play.scheduler.skip_late()
    play.run(lambda: len(play.leaf.steps) > 6)
    assert [step for step in play.leaf.steps if step[0] == "decode"] == [("decode", (1,))] * 5
    play.work()
    play.step()
    assert play.leaf.steps[-1] == ("decode", (0, 1))


def test_being_late_changes_no_token() -> None:
    answers = []
    for is_slow in (False, True):
        play = Bound()
        one = play.bind(RuledConstraint(ends_in(7), is_slow=is_slow), max_tokens=80)
        other = play.submit(range(30), max_tokens=80)
        play.run_all()
        answers.append((play.tokens(one), play.tokens(other)))
    assert answers[0] == answers[1]
    assert {token % 10 for token in answers[0][0]} == {7}


def test_a_lane_without_a_constraint_is_known_while_it_decodes() -> None:
    play = Bound()
    play.bind(RuledConstraint(ends_in(3)), max_tokens=9)
    play.step()
    assert not play.scheduler.has_free_lane
    play.submit(range(20), max_tokens=3)
    play.run(lambda: play.scheduler.has_free_lane)
    play.run(lambda: not play.scheduler.has_free_lane)
    assert play.scheduler.num_running == 1


def test_with_every_lane_late_nothing_runs() -> None:
    play = Bound()
    play.bind(RuledConstraint(ends_in(3), is_slow=True))
    assert isinstance(play.step(), PrefillSpan)
    assert isinstance(play.step(), Idle)
    assert (play.scheduler.num_late, play.scheduler.num_ready) == (1, 0)
    play.work()
    assert isinstance(play.step(), DecodeRound)


def test_a_late_lane_keeps_its_turn_before_the_next_span() -> None:
    play = Bound(prefill_chunk=64)
    play.bind(RuledConstraint(ends_in(3), is_slow=True), max_tokens=9)
    play.step()
    play.work()
    play.submit(range(300), max_tokens=1)
    kinds = []
    for _ in range(6):
        kinds.append(type(play.step(takes_s=1.0)))
        play.work()
    assert kinds[:4] == [DecodeRound, PrefillSpan, DecodeRound, PrefillSpan]


def test_lanes_that_are_late_for_long_hold_up_no_prompt() -> None:
    play = Bound()
    play.bind(RuledConstraint(ends_in(3), is_slow=True))
    other = play.submit(range(20), max_tokens=3)
    play.step()
    assert isinstance(play.step(), Idle)
    play.scheduler.skip_late()
    play.run()
    assert play.last(other).finish is FinishReason.LENGTH


def test_a_failed_constraint_ends_its_request_alone() -> None:
    play = Bound()
    one = play.bind(RuledConstraint(ends_in(3), is_slow=True))
    other = play.submit(range(20))
    play.step()
    assert isinstance(play.step(), Idle)
    (late,) = play.scheduler.take_late()
    play.scheduler.end_work(late.request_id, FinishReason.BLOCKED, "too large", play.now)
    play.run()
    assert (play.last(one).finish, play.last(one).fault) == (FinishReason.BLOCKED, "too large")
    assert play.last(other).finish is FinishReason.LENGTH


@pytest.mark.parametrize("reason", [FinishReason.CANCELLED, FinishReason.EXPIRED])
def test_a_late_request_may_end_and_its_work_comes_after(reason: FinishReason) -> None:
    play = Bound(num_lanes=1)
    play.bind(RuledConstraint(ends_in(3), is_slow=True), timeout_s=10.0)
    play.step()
    (late,) = play.scheduler.take_late()
    if reason is FinishReason.CANCELLED:
        play.scheduler.cancel(late.request_id, play.now)
    else:
        play.now += 10.0
    play.step()
    assert play.last(late.request_id).finish is reason
    next_one = play.submit(range(10))
    play.step()
    play.scheduler.end_work(late.request_id, None, "", play.now)
    play.run()
    assert play.tokens(next_one) == answer_alone()


def test_a_constraint_may_put_another_token_in_the_place_of_the_drawn_one() -> None:
    class Replacing(RuledConstraint):
        def take(self, token: int) -> int:
            return super().take(token) and 5

    play = Bound()
    one = play.bind(Replacing(lambda tokens: None), max_tokens=3)
    play.run()
    assert play.tokens(one) == [5, 5, 5]
