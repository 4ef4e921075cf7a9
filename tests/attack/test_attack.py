"""The attack itself: it tells what is wrong from what may be, and a short one is held."""

import math
import sys
from pathlib import Path

import pytest

from tests.attack.attack import Attack
from tests.attack.calls import Outcome
from tests.attack.crowd import Tally
from tests.attack.wants import Want

ANSWER = {"model": "first", "text": "It is Paris.", "tokens": 4, "choices": []}
WANT = Want("greedy", {}, known={"first": ANSWER})


@pytest.mark.parametrize(
    ("outcome", "fault"),
    [
        (Outcome(answer=ANSWER), ""),
        (Outcome(answer={**ANSWER, "text": "It is paris."}), "differs"),
        (Outcome(answer={**ANSWER, "model": "twin"}), "differs"),
        (Outcome(status=503, code="engine_full", retry_after="1"), ""),
        (Outcome(status=503, code="engine_full"), "without Retry-After"),
        (Outcome(status=500, code="engine_error", message="a fault"), "a fault"),
        (Outcome(lost="ConnectionResetError"), "lost"),
        (Outcome(hung=True), "no end"),
    ],
)
def test_an_outcome_is_a_fault_or_it_is_none(outcome: Outcome, fault: str) -> None:
    tally = Tally()
    tally.judge(WANT, "first", outcome, ("engine_full",), math.inf)
    assert len(tally.faults) == bool(fault) and all(fault in text for text in tally.faults)


@pytest.mark.parametrize(("got_bytes", "is_fault"), [(False, False), (True, True)])
def test_what_is_lost_at_the_end_may_be_where_nothing_has_come(got_bytes: bool, is_fault: bool) -> None:
    tally = Tally()
    tally.judge(WANT, "first", Outcome(lost="reset", ended=2.0, got_bytes=got_bytes), (), may_lose_after=1.0)
    assert bool(tally.faults) == is_fault


def test_a_short_attack_is_held(real_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    attack = Attack([sys.executable, "-m", "ignis"], real_model, (), tmp_path / "logs", seed=1)
    try:
        attack.references(0)
        for part in (attack.terminated, attack.final):
            part(0)
    finally:
        attack.kill_all()
    assert attack.num_failed == 0 and attack.num_checks > 7, capsys.readouterr().out
