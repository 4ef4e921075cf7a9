"""A client that leaves ends its handler at once, wherever that waits; one that takes nothing is cut."""

import pytest
import trio
import trio.testing

from ignis.server.wire import INBOX_BYTES
from tests.settings import server_limits
from tests.wire.rig import rig

GET = b"GET %b HTTP/1.1\r\nhost: a\r\n\r\n"
STAGES = {
    "waiting for its turn": GET % b"/hang",
    "before the answer": GET % b"/late",
    "in an open stream": GET % b"/hang-open",
    "between two events": GET % b"/events?n=9&every_s=5",
    "inside a body that is read": b"POST /count HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nabc",
    "inside a body that is not read": b"POST /hang HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nabc",
    "with a body": b"POST /hang HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabc",
    "with a request behind it": GET % b"/hang" + GET % b"/hello",
}


@pytest.mark.parametrize("stage", STAGES)
async def test_a_client_that_leaves_cancels_its_handler_at_once(
    stage: str, autojump_clock: trio.testing.MockClock
) -> None:
    async with rig() as opened:
        await opened.send(STAGES[stage])
        assert len(opened.handler.begun) == 1
        assert opened.handler.ends == []
        before = trio.current_time()
        await opened.leave()
        assert opened.handler.ends == ["cancelled"]
        assert trio.current_time() == before
        assert opened.roster.num_connections == 0
        assert [event["reason"] for event in opened.events("ignis.http.connection_cut")] == ["client_left"]


async def test_a_half_close_counts_as_leaving(autojump_clock: trio.testing.MockClock) -> None:
    async with rig() as opened:
        await opened.send(GET % b"/hang")
        await opened.client.send_eof()
        assert await opened.settle() == b""
        assert opened.handler.ends == ["cancelled"]


async def test_a_client_that_asks_and_leaves_in_one_breath_is_not_served(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with rig() as opened:
        await opened.client.send_all(GET % b"/hang")
        await opened.leave()
        assert opened.handler.ends == ["cancelled"]


async def test_a_client_that_leaves_after_its_answer_leaves_nothing(autojump_clock: trio.testing.MockClock) -> None:
    async with rig() as opened:
        await opened.send(GET % b"/hello")
        await opened.leave()
        assert opened.roster.num_connections == 0
        assert opened.events("ignis.http.connection_cut") == []


async def test_pipelined_bytes_beyond_the_inbox_do_not_blind_the_watch(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with rig() as opened:
        await opened.send(GET % b"/hang" + (GET % b"/hello") * (2 * INBOX_BYTES // 32))
        assert opened.handler.ends == []
        await opened.leave()
        assert opened.handler.ends == ["cancelled"]


async def test_more_pipelined_requests_than_the_inbox_holds_end_the_connection_after_the_answer(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with rig() as opened:
        await opened.send(GET % b"/late" + (GET % b"/hello") * (2 * INBOX_BYTES // 32))
        await trio.sleep(6)
        answer = await opened.settle()
        assert answer.count(b"HTTP/1.1 200") == 1
        assert b"connection: close" in answer
        assert opened.has_ended


async def test_many_pipelined_requests_are_all_answered(autojump_clock: trio.testing.MockClock) -> None:
    async with rig() as opened:
        await opened.send((GET % b"/hello") * 2000)
        assert (await opened.settle()).count(b"hello\n") == 2000
        assert not opened.has_ended


@pytest.mark.parametrize("path", [b"/flood", b"/large"])
async def test_a_client_that_takes_nothing_is_cut(path: bytes, autojump_clock: trio.testing.MockClock) -> None:
    async with rig(server_limits(write_timeout_s=60), is_reading=False) as opened:
        await opened.send(GET % path)
        await trio.sleep(59)
        assert opened.handler.ends == []
        await trio.sleep(2)
        assert opened.handler.ends == ["cancelled"]
        assert opened.roster.num_connections == 0
        assert [event["reason"] for event in opened.events("ignis.http.connection_cut")] == ["client_stalled"]


async def test_a_silent_stream_to_a_client_that_takes_nothing_is_cut_too(
    autojump_clock: trio.testing.MockClock,
) -> None:
    limits = server_limits(write_timeout_s=60, keepalive_comment_s=0.001)
    async with rig(limits, is_reading=False) as opened:
        await opened.send(GET % b"/hang-open")
        await trio.sleep(500)
        assert opened.handler.ends == ["cancelled"]


async def test_a_slow_client_gets_everything(autojump_clock: trio.testing.MockClock) -> None:
    async with rig(server_limits(write_timeout_s=60), is_reading=False) as opened:
        await opened.send(GET % b"/large")
        received_bytes = 0
        while received_bytes < 5_000_000:
            await trio.sleep(50)
            received_bytes += len(await opened.client.receive_some(300_000))
        assert opened.handler.ends == ["done"]


async def test_a_deadline_inside_an_event_tears_nothing(autojump_clock: trio.testing.MockClock) -> None:
    async with rig(is_reading=False) as opened:
        await opened.send(GET % b"/deadline")
        await trio.sleep(10)
        received = bytearray()
        while not received.endswith(b"0\r\n\r\n"):
            received += await opened.client.receive_some(65536)
        body = bytes(received).partition(b"\r\n\r\n")[2]
        event = b"3ef\r\ndata: " + b"x" * 999 + b"\n\n\r\n"
        num_events = body.count(event)
        assert num_events > 10
        assert body == event * num_events + b"10\r\ndata: too late\n\n\r\n0\r\n\r\n"


async def test_a_comment_that_waits_for_a_slow_client_ends_with_its_connection(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with rig(is_reading=False) as opened:
        await opened.send(GET % b"/fail-stuck")
        await trio.sleep(30)
        assert opened.roster.num_connections == 0
        assert [event["error"] for event in opened.events("ignis.http.fault")] == ["KeyError: 'a secret'"]
