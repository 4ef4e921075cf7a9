"""A request that runs gives its pages up for one of a higher class, and goes on as if nothing had been."""

import pytest

from ignis.errors import InternalError
from ignis.scheduler.plan import MovePages
from ignis.scheduler.request import FinishReason, Parked, RequestClass, Restored
from tests.unit.scheduler.test_scheduler import Player, answer_to

AGENT, INTERACTIVE = RequestClass.AGENT, RequestClass.INTERACTIVE
LONG, OTHER, SHORT = range(1, 101), range(301, 401), range(901, 1001)


def playing(num_places: int = 16, num_pages: int = 8, **settings: object) -> Player:
    return Player(num_pages=num_pages, num_host_pages=num_places, **settings)


def begun(play: Player, prompt: range, max_tokens: int, request_class: RequestClass, least: int = 3) -> int:
    """A request that has drawn so many tokens."""
    request_id = play.submit(prompt, max_tokens, request_class=request_class)
    play.run(until=lambda: len(play.tokens(request_id)) >= least)
    return request_id


def kinds(play: Player) -> list[type]:
    return [type(event) for event in play.moved]


@pytest.mark.parametrize("phases_agree", [True, False])
@pytest.mark.parametrize("least", [1, 27, 28, 29, 60])
def test_a_parked_request_goes_on_as_if_nothing_had_been(phases_agree: bool, least: int) -> None:
    play = playing(phases_agree=phases_agree)
    agent = begun(play, LONG, 300, AGENT, least)  # its bound is seven of eight pages
    user = play.submit(SHORT, 200)
    play.run()
    assert kinds(play) == [Parked, Restored]
    assert play.tokens(agent) == answer_to(LONG, 300)
    assert play.tokens(user) == answer_to(SHORT, 200)
    ended = [event.request_id for event in play.events if event.finish]
    assert ended == [user, agent]


def test_the_one_it_is_parked_for_has_its_first_token_at_once() -> None:
    play = playing()
    begun(play, LONG, 300, AGENT)
    steps = len(play.leaf.steps)
    user = play.submit(SHORT, 200)
    play.run(until=lambda: bool(play.tokens(user)))
    assert [kind for kind, _ in play.leaf.steps[steps:] if kind != "decode"] == ["move", "prefill"]


def test_nobody_is_parked_for_one_of_its_own_class_or_a_lower_one() -> None:
    for first, second in ((AGENT, AGENT), (INTERACTIVE, INTERACTIVE), (INTERACTIVE, AGENT)):
        play = playing()
        one = begun(play, LONG, 300, first)
        two = play.submit(SHORT, 200, request_class=second)
        play.run()
        assert play.moved == []
        assert [event.request_id for event in play.events if event.finish] == [one, two]


def test_nobody_is_parked_for_one_who_fits_or_where_it_is_not_enough() -> None:
    play = playing(num_pages=16)
    begun(play, LONG, 300, AGENT)
    play.submit(SHORT, 200)
    play.run()
    assert play.moved == []
    play = playing(num_pages=12)
    begun(play, range(501, 510), 400, INTERACTIVE)  # seven pages, which nobody takes
    begun(play, LONG, 100, AGENT)  # four
    play.submit(SHORT, 300)  # seven, and giving up four would leave five
    play.run()
    assert play.moved == []


def test_the_latest_is_parked_first_and_no_more_than_are_needed() -> None:
    play = playing(num_pages=10)
    begun(play, LONG, 200, AGENT)
    late = begun(play, OTHER, 200, AGENT)
    play.submit(SHORT, 200)
    play.run()
    assert [event.request_id for event in play.moved] == [late, late]


def test_several_are_parked_and_come_back_in_the_order_of_their_ranks() -> None:
    play = playing(num_pages=10)
    early = begun(play, LONG, 200, AGENT)
    late = begun(play, OTHER, 200, AGENT)
    user = play.submit(SHORT, 540)
    play.run()
    assert [(type(event), event.request_id) for event in play.moved] == [
        (Parked, late),
        (Parked, early),
        (Restored, early),
        (Restored, late),
    ]
    for request_id, prompt, count in ((early, LONG, 200), (late, OTHER, 200), (user, SHORT, 540)):
        assert play.tokens(request_id) == answer_to(prompt, count)


def test_a_parked_request_keeps_its_rank() -> None:
    play = playing()
    agent = begun(play, LONG, 300, AGENT)
    user = begun(play, SHORT, 200, INTERACTIVE)
    newer = play.submit(OTHER, 200, request_class=AGENT)
    play.run()
    assert [event.request_id for event in play.events if event.finish] == [user, agent, newer]


def test_where_host_memory_is_too_small_the_newcomer_waits() -> None:
    for places in (0, 1):
        play = playing(places)
        agent = begun(play, LONG, 300, AGENT)
        user = play.submit(SHORT, 200)
        play.run()
        assert play.moved == []
        assert [event.request_id for event in play.events if event.finish] == [agent, user]


def test_retained_pages_make_room_for_parked_ones() -> None:
    play = playing(3)
    for prompt in (range(2001, 2301), range(3001, 3451)):
        play.submit(prompt)
        play.run()
    assert play.scheduler.residency.kv_ram.num_used == 3
    agent = begun(play, LONG, 300, AGENT)
    play.submit(SHORT, 200)
    play.run()
    assert kinds(play) == [Parked, Restored]
    assert play.tokens(agent) == answer_to(LONG, 300)


@pytest.mark.parametrize("steps", range(12))
@pytest.mark.parametrize("reason", [FinishReason.CANCELLED, FinishReason.STOP])
def test_a_cancel_of_a_parked_request_gives_everything_back(steps: int, reason: FinishReason) -> None:
    play = playing(prefill_chunk=64)
    agent = begun(play, LONG, 300, AGENT, 80)
    user = play.submit(SHORT, 150)
    play.run(until=lambda: kinds(play) == [Parked] if steps < 6 else play.last_ended == user)
    for _ in range(steps % 6):
        play.step()
    play.scheduler.cancel(agent, play.now, reason)
    play.run()
    assert play.last(agent).finish is reason
    assert play.tokens(user) == answer_to(SHORT, 150)
    residency = play.scheduler.residency
    assert (residency.reserved, residency.num_used) == (0, residency.index.num_idle)
    residency.kv_ram.check([])


def test_a_deadline_reaches_a_parked_request() -> None:
    play = playing()
    agent = play.submit(LONG, 300, request_class=AGENT, timeout_s=50.0)
    play.run(until=lambda: len(play.tokens(agent)) > 3)
    play.submit(SHORT, 200)
    play.run()
    assert kinds(play) == [Parked]
    assert play.last(agent).finish is FinishReason.EXPIRED


def test_a_move_out_that_fails_ends_the_parked_request_and_not_the_newcomer() -> None:
    play = playing()
    agent = begun(play, LONG, 300, AGENT)
    user = play.submit(SHORT, 200)
    step = play.scheduler.plan(play.now)
    assert isinstance(step, MovePages) and step.live.request_id == agent
    play.leaf.faults.append(InternalError("no"))
    with pytest.raises(InternalError):
        play.leaf.move_pages(step)
    play.tell(play.scheduler.fail([step.live.request_id], "no", play.now))
    play.scheduler.check()
    assert play.last(agent).finish is FinishReason.FAULT
    assert play.scheduler.residency.kv_ram.num_used == 0
    play.run()
    assert play.tokens(user) == answer_to(SHORT, 200)


def test_a_request_is_parked_as_often_as_it_takes() -> None:
    play = playing()
    agent = begun(play, LONG, 300, AGENT)
    for count in range(4):
        user = play.submit(range(1000 * count, 1000 * count + 100), 150)
        play.run(until=lambda user=user: play.last_ended == user)  # type: ignore[misc]
        play.run(until=lambda count=count: kinds(play).count(Restored) > count)  # type: ignore[misc]
        for _ in range(5):
            play.step()
    play.run()
    assert kinds(play) == [Parked, Restored] * 4
    assert play.tokens(agent) == answer_to(LONG, 300)
