"""Which turns of the step loop count as decode rounds of a width."""

from ignis._core import SamplingTable
from ignis.bench.recorder import Recorder
from ignis.engine.leaf import StepTimes
from ignis.engine.turn import Delivery, TurnTimes
from ignis.scheduler.live import Live
from ignis.scheduler.plan import DecodeRound, PrefillSpan, Step
from ignis.scheduler.request import SamplingParams, Submission

TIMES = TurnTimes(plan_s=0.001, run_s=0.1, deliver_s=0.002, commit_s=0.003, leaf=StepTimes(0.01, 0.08, 0.07))
TABLE = SamplingTable(2)


def live(lane: int) -> Live:
    return Live(lane, Submission((1, 2), 3, SamplingParams(), frozenset()), lane, 0, 0.0)


def turn(step: Step, ended_at_s: float) -> Delivery:
    return Delivery((), step, ended_at_s - 0.1, ended_at_s, times=TIMES)


def test_a_round_is_timed_from_the_end_of_the_same_round_before_it() -> None:
    recorder = Recorder()
    lanes = live(0), live(1)
    both = DecodeRound(lanes, tuple(one.row for one in lanes), TABLE)
    for number in range(3):
        recorder.take(turn(both, 1.0 + number * 0.25))
    assert recorder.rounds(2) == [(0.25, TIMES), (0.25, TIMES)]
    assert recorder.rounds(1) == []


def test_a_round_behind_anything_else_is_not_counted() -> None:
    recorder = Recorder()
    one = live(0)
    alone = DecodeRound((one,), (one.row,), TABLE)
    span = PrefillSpan(one, 0, 2, True, TABLE)
    for step in (alone, span, alone, DecodeRound((one,), (one.row,), TABLE)):
        recorder.take(turn(step, 1.0))
    assert recorder.rounds(1) == []
    assert recorder.prefill_device_s() == 0.07


def test_a_turn_is_the_hosts_but_for_its_wait() -> None:
    assert round(TIMES.host_s, 6) == 0.022
    assert round(TIMES.gap_s, 6) == 0.034
