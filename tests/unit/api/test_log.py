"""GET /ui/log: the last lines, those that come, and what a slow reader missed."""

import pytest
import trio
import trio.testing

from ignis.log_tail import TAIL_LINES
from tests.fakes.exchange import FakeExchange
from tests.unit.api.rig import Rig

LOG = "/ui/log"


def emit(rig: Rig, first: int, stop: int) -> None:
    for pid in range(first, stop):
        rig.log.emit("ignis.process.started", pid=pid)


def pids(exchange: FakeExchange) -> list[int]:
    return [event.json()["fields"]["pid"] for event in exchange.events if event.event == "log"]


async def watch(rig: Rig, nursery: trio.Nursery, **query: str) -> FakeExchange:
    exchange = FakeExchange("GET", LOG, query=query)
    nursery.start_soon(rig.router, exchange)
    await exchange.wait_opened()
    await trio.testing.wait_all_tasks_blocked()
    return exchange


async def test_the_last_lines_come_first_and_then_what_happens(autojump_clock: trio.testing.MockClock) -> None:
    rig = Rig()
    emit(rig, 0, 5)
    async with trio.open_nursery() as nursery:
        exchange = await watch(rig, nursery, last="2")
        assert pids(exchange) == [3, 4]
        emit(rig, 5, 7)
        await exchange.stream.wait_sent(4)
        assert pids(exchange) == [3, 4, 5, 6]
        assert exchange.events[-1].json()["number"] == 6
        nursery.cancel_scope.cancel()


async def test_a_level_leaves_the_lesser_ones_out(autojump_clock: trio.testing.MockClock) -> None:
    rig = Rig()
    async with trio.open_nursery() as nursery:
        exchange = await watch(rig, nursery, level="warning")
        emit(rig, 0, 3)
        rig.log.emit("ignis.process.open_to_all", url="http://0.0.0.0:1")
        await exchange.stream.wait_sent(1)
        (event,) = exchange.events
        line = event.json()
        assert (line["number"], line["level"], line["event"]) == (3, "warning", "ignis.process.open_to_all")
        assert line["fields"] == {"url": "http://0.0.0.0:1"}
        nursery.cancel_scope.cancel()


async def test_a_reader_that_was_overtaken_is_told_what_it_missed(autojump_clock: trio.testing.MockClock) -> None:
    rig = Rig()
    async with trio.open_nursery() as nursery:
        exchange = await watch(rig, nursery)
        emit(rig, 0, TAIL_LINES + 30)
        await exchange.stream.wait_sent(TAIL_LINES + 1)
        gap = exchange.events[0]
        assert (gap.event, gap.json()) == ("gap", {"lost": 30})
        assert pids(exchange) == list(range(30, TAIL_LINES + 30))
        nursery.cancel_scope.cancel()


async def test_no_drain_waits_for_it(autojump_clock: trio.testing.MockClock) -> None:
    rig = Rig()
    async with trio.open_nursery() as nursery:
        exchange = await watch(rig, nursery)
        assert exchange.is_watch
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("query", [{"level": "trace"}, {"last": "-1"}, {"last": "2001"}, {"last": "ten"}])
async def test_a_wrong_query_is_refused_by_name(query: dict[str, str]) -> None:
    answer = await Rig().answer("GET", LOG, query=query)
    assert answer.status == 400
    assert answer.json()["error"]["param"] == next(iter(query))


async def test_it_is_behind_the_key() -> None:
    answer = await Rig(api_key="sk-1").answer("GET", LOG)
    assert answer.status == 401
