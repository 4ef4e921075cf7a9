"""Pages that the device gave up: they go to host memory, and come back to whoever asks for the same prompt again."""

import pytest

from ignis.errors import InternalError
from ignis.scheduler.kv_ram import KvRam
from ignis.scheduler.plan import MovePages
from ignis.scheduler.request import RequestClass
from tests.unit.scheduler.test_scheduler import Player, answer_to

FIRST = range(1, 301)
"""Four full pages and a tail."""
SECOND = range(301, 751)
"""Seven full pages and a tail: with its answer the whole pool."""


def playing(num_places: int = 16, **settings: object) -> Player:
    return Player(num_pages=8, num_host_pages=num_places, **settings)


def moves(play: Player) -> list[tuple[int, int]]:
    """Pages out and pages in of each move."""
    return [numbers[1:] for kind, numbers in play.leaf.steps if kind == "move"]  # type: ignore[misc]


def ask(play: Player, prompt: range, max_tokens: int = 4) -> int:
    request_id = play.submit(prompt, max_tokens)
    play.run()
    assert play.tokens(request_id) == answer_to(prompt, max_tokens)
    return request_id


def test_a_prompt_whose_pages_were_given_up_gets_them_back() -> None:
    play = playing()
    ask(play, FIRST)
    ask(play, SECOND)
    again = ask(play, FIRST)
    assert play.cached(again) == 256
    assert play.admitted[2].restored_tokens == 256
    assert sum(num_in for _, num_in in moves(play)) == 4


def test_without_host_memory_they_are_computed_again() -> None:
    play = playing(0)
    ask(play, FIRST)
    ask(play, SECOND)
    assert play.cached(ask(play, FIRST)) == 0
    assert moves(play) == []


def test_what_is_still_there_is_claimed_and_only_the_rest_comes_back() -> None:
    play = playing()
    ask(play, FIRST)
    ask(play, range(301, 601))  # takes three free pages and two: the tail, and the last full page
    again = ask(play, FIRST)
    assert (play.cached(again), play.admitted[2].restored_tokens) == (256, 64)
    assert play.scheduler.residency.counts.device_hits == 1
    assert play.scheduler.residency.counts.host_hits == 1


def test_a_tail_is_not_kept() -> None:
    play = playing()
    ask(play, range(1, 40))
    ask(play, SECOND)
    assert play.scheduler.residency.counts.spills == 0
    assert play.scheduler.residency.counts.discards == 1


def test_a_full_memory_discards_what_was_kept_longest() -> None:
    play = playing(4)
    ask(play, FIRST)
    ask(play, SECOND)
    assert play.scheduler.residency.kv_ram.num_used == 4
    ask(play, range(801, 1251))  # its pages take those of SECOND, which take the places of FIRST's
    assert play.scheduler.residency.kv_ram.discards == 7 - 4 + 4
    assert play.cached(ask(play, FIRST)) == 0


def test_the_end_of_a_path_is_discarded_before_its_beginning() -> None:
    play = playing(3)
    ask(play, FIRST)
    ask(play, SECOND)
    assert play.cached(ask(play, FIRST)) == 192


def test_a_page_that_came_back_is_given_up_again_without_a_copy() -> None:
    play = playing()
    ask(play, FIRST)
    ask(play, SECOND)
    ask(play, FIRST)
    spilled = play.scheduler.residency.counts.spills
    ask(play, SECOND)
    # SECOND's pages were there; FIRST's four still are.
    assert play.scheduler.residency.counts.spills == spilled
    assert play.cached(ask(play, FIRST)) == 256


def test_lanes_decode_between_the_chunks_that_come_back() -> None:
    play = Player(num_pages=10, num_host_pages=16)
    ask(play, range(1, 450))
    ask(play, range(501, 1090))
    decoding = play.submit(range(2001, 2011), 40)
    play.run(until=lambda: len(play.tokens(decoding)) > 2)
    again = play.submit(range(1, 450), 4)
    play.run(until=lambda: len(play.tokens(again)) > 0)
    kinds = [kind for kind, numbers in play.leaf.steps if kind == "decode" or (kind == "move" and numbers[2])]
    first = kinds.index("move")
    last = len(kinds) - kinds[::-1].index("move")
    assert kinds[first:last].count("move") == 4  # seven pages, two in a chunk of 128 tokens
    assert all("decode" in pair for pair in zip(kinds[first:last], kinds[first + 1 : last], strict=False))
    play.run()
    assert play.tokens(again) == answer_to(range(1, 450), 4)


@pytest.mark.parametrize("steps", range(6))
def test_a_cancel_while_pages_come_back_gives_everything_back(steps: int) -> None:
    play = playing()
    ask(play, FIRST)
    ask(play, SECOND)
    again = play.submit(FIRST)
    for _ in range(steps):
        play.step()
    play.scheduler.cancel(again, play.now)
    play.run()
    play.scheduler.check()
    residency = play.scheduler.residency
    assert (residency.reserved, residency.num_used) == (0, residency.index.num_idle)
    assert play.cached(ask(play, FIRST)) >= 256


def test_pages_that_a_request_waits_for_are_not_discarded() -> None:
    play = playing(4)
    ask(play, FIRST)
    ask(play, SECOND)
    # Its pages need those of SECOND, for which there is no place at first.
    discards = play.scheduler.residency.counts.discards
    again = ask(play, FIRST)
    assert play.admitted[2].restored_tokens == play.cached(again) == 256
    assert play.scheduler.residency.counts.discards > discards


def test_what_a_failed_move_was_to_keep_is_not_found() -> None:
    play = playing()
    ask(play, FIRST)
    broken = play.submit(SECOND)
    step = play.scheduler.plan(play.now)
    while not isinstance(step, MovePages):
        play.tell(play.scheduler.commit(step, play.leaf.prefill(step), play.now))  # type: ignore[arg-type]
        step = play.scheduler.plan(play.now)
    play.leaf.faults.append(InternalError("no"))
    with pytest.raises(InternalError):
        play.leaf.move_pages(step)
    play.tell(play.scheduler.fail([step.live.request_id], "no", play.now))
    assert step.live.request_id == broken
    play.scheduler.check()
    assert play.scheduler.residency.kv_ram.num_used == 0
    ask(play, FIRST)


def test_a_waiting_agent_s_pages_are_not_held_before_it_is_admitted() -> None:
    play = playing(4)
    ask(play, FIRST)
    ask(play, SECOND)
    long = play.submit(range(1001, 1011), 400)
    waits = play.submit(FIRST, request_class=RequestClass.AGENT)
    play.run()
    assert play.tokens(long) == answer_to(range(1001, 1011), 400)
    assert play.tokens(waits) == answer_to(FIRST, 4)


def test_a_memory_all_of_whose_pages_are_held_takes_no_other() -> None:
    memory = KvRam(2)
    assert {memory.put(b"a"), memory.put(b"b")} == {0, 1}
    memory.hold(b"a")
    memory.hold(b"b")
    assert memory.put(b"c") is None
    memory.release(b"b")
    assert memory.put(b"c") is not None
    assert b"b" not in memory
    assert b"a" in memory
    memory.check([b"a"])


def test_the_page_that_was_found_last_is_discarded_last() -> None:
    memory = KvRam(2)
    memory.put(b"a")
    memory.put(b"b")
    memory.touch(b"a")
    memory.put(b"c")
    assert b"a" in memory
    assert b"b" not in memory
