"""When what is coming will serve, as far as one can tell."""

from pathlib import Path
from types import SimpleNamespace

from ignis.engine.course import Asked, Course, LastLoad
from ignis.engine.switching import SwitchPhase, SwitchWatch
from ignis.models.local import LocalModel
from tests.fakes.engine import byte_model

DRAIN_TIMEOUT_S = 20.0
END_S = 60.0
"""What runs would take a minute more, whenever it is asked."""
LOAD_S = 3.0


def test_a_drain_that_goes_on_brings_the_next_model_nearer(tmp_path: Path) -> None:
    now = 100.0
    engine = SimpleNamespace(load_status=None)
    course = Course(engine, lambda: now)  # type: ignore[arg-type]
    course.coming = LocalModel("next", tmp_path / "next.gguf")
    course.loads[course.coming.path] = LastLoad(byte_model().facts(), LOAD_S, 0, 0)
    course.watch = watch = SwitchWatch("tiny", "next", lambda: now)
    told = [course.seconds_to_land(END_S, DRAIN_TIMEOUT_S)]
    now += 2
    watch.mark(SwitchPhase.PREPARE)
    told.append(course.seconds_to_land(END_S, DRAIN_TIMEOUT_S))
    for _ in range(2):
        now += 15
        told.append(course.seconds_to_land(END_S, DRAIN_TIMEOUT_S))
    watch.mark(SwitchPhase.DRAIN)
    now += 1
    told.append(course.seconds_to_land(END_S, DRAIN_TIMEOUT_S))
    assert told == [23.0, 23.0, 8.0, 3.0, 2.0]


def test_of_an_unload_what_was_drained_is_counted_and_of_what_comes_after_nothing() -> None:
    now = 100.0
    engine = SimpleNamespace(load_status=None)
    course = Course(engine, lambda: now)  # type: ignore[arg-type]
    told = [course.seconds_to_turn(END_S, DRAIN_TIMEOUT_S)]
    course.drained_since_s = now
    for _ in range(2):
        now += 15
        told.append(course.seconds_to_turn(END_S, DRAIN_TIMEOUT_S))
    course.asked = Asked(None)
    told.append(course.seconds_to_turn(END_S, DRAIN_TIMEOUT_S))
    assert told == [20.0, 5.0, 0.0, 20.0]


def test_what_is_loaded_back_takes_a_load_of_its_own(tmp_path: Path) -> None:
    now = 100.0
    engine = SimpleNamespace(load_status=None)
    course = Course(engine, lambda: now)  # type: ignore[arg-type]
    course.coming = LocalModel("old", tmp_path / "old.gguf")
    course.loads[course.coming.path] = LastLoad(byte_model().facts(), LOAD_S, 0, 0)
    course.watch = watch = SwitchWatch("old", "next", lambda: now)
    for phase in (SwitchPhase.PREPARE, SwitchPhase.DRAIN, SwitchPhase.TEARDOWN):
        watch.mark(phase)
    # So long the load took that failed.
    now += 10
    course.return_reason = "the card is full"
    assert course.seconds_to_land(END_S, DRAIN_TIMEOUT_S) == LOAD_S
