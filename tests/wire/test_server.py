"""The whole server on real sockets: listeners, the cap, draining, many connections."""

import io
import json
import os
import resource
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing

from ignis.errors import ConfigError
from ignis.log import LogFormat, open_log
from ignis.metrics import Metrics
from ignis.server.binding import Listen
from ignis.server.limits import ServerLimits
from ignis.server.listener import Server
from ignis.units import UNIX
from tests.settings import server_limits
from tests.wire.rig import ScriptedHandler

HELLO = b"GET /hello HTTP/1.1\r\nhost: a\r\n\r\n"


class Running:
    """A server with one listener on a free port."""

    def __init__(self, server: Server, handler: ScriptedHandler, address: str, written: io.StringIO) -> None:
        self.server = server
        self.handler = handler
        self.address = address
        self._written = written

    async def connect(self) -> trio.SocketStream:
        if self.address.startswith(UNIX):
            return await trio.open_unix_socket(self.address.removeprefix(UNIX))
        host, _, port = self.address.rpartition(":")
        return await trio.open_tcp_stream(host.strip("[]"), int(port))

    async def ask(self, request: bytes) -> bytes:
        """Sends a request on a connection of its own, and reads to the connection's end."""
        async with await self.connect() as stream:
            await stream.send_all(request)
            return await read_all(stream)

    def events(self, name: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self._written.getvalue().splitlines()]
        return [line for line in lines if line["event"] == name]


async def read_all(stream: trio.SocketStream) -> bytes:
    received = bytearray()
    with trio.fail_after(20):
        async for data in stream:
            received += data
    return bytes(received)


async def read_until(stream: trio.SocketStream, end: bytes) -> bytes:
    received = bytearray()
    with trio.fail_after(20):
        while not received.endswith(end):
            data = await stream.receive_some()
            assert data, bytes(received)
            received += data
    return bytes(received)


async def wait_until(condition: Callable[[], bool]) -> None:
    with trio.fail_after(20):
        while not condition():
            await trio.testing.wait_all_tasks_blocked()


@asynccontextmanager
async def running(
    limits: ServerLimits | None = None, address: str = "127.0.0.1:0", **options: Any
) -> AsyncIterator[Running]:
    written, handler = io.StringIO(), ScriptedHandler()
    # Of the server itself: it knows no label but those that are declared.
    metrics = Metrics("0")
    server = Server(
        limits or server_limits(drain_timeout_s=2),
        open_log(written, LogFormat.JSON, "debug"),
        count=lambda family, label: metrics.count(family, label=label),
    )
    async with trio.open_nursery() as nursery:
        (bound,) = await nursery.start(server.serve, [Listen(address, handler, **options)])
        yield Running(server, handler, bound.address, written)
        server.drain()
    assert server.statistics().num_connections == 0
    assert len(handler.begun) == len(handler.ends)


async def test_requests_are_answered_over_tcp() -> None:
    async with running() as it:
        answer = await it.ask(b"GET /hello HTTP/1.0\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert answer.endswith(b"\r\n\r\nhello\n")


async def test_ipv6_is_listened_on() -> None:
    async with running(address="[::1]:0") as it:
        assert it.address.startswith("[::1]:")
        assert (await it.ask(b"GET /hello HTTP/1.0\r\n\r\n")).endswith(b"hello\n")


async def test_each_listener_has_its_own_handler() -> None:
    async def other(exchange: Any) -> None:
        await exchange.respond(200, b"other\n", "text/plain")

    log = open_log(io.StringIO(), LogFormat.JSON, "debug")
    server = Server(server_limits(), log)
    async with trio.open_nursery() as nursery:
        listens = [Listen("127.0.0.1:0", ScriptedHandler()), Listen("localhost:0", other)]
        bounds = await nursery.start(server.serve, listens)
        answers = [
            await Running(server, ScriptedHandler(), bound.address, io.StringIO()).ask(b"GET /hello HTTP/1.0\r\n\r\n")
            for bound in bounds
        ]
        server.drain()
    assert [answer.rpartition(b"\r\n")[2] for answer in answers] == [b"hello\n", b"other\n"]


async def test_a_taken_port_is_named() -> None:
    async with running() as it:
        server = Server(server_limits(), open_log(io.StringIO()))
        with pytest.raises(ConfigError, match=f"cannot listen on {it.address}: Address already in use"):
            await server.serve([Listen("127.0.0.1:0", it.handler), Listen(it.address, it.handler)])
        with pytest.raises(ConfigError, match="in use; --server-bind names another address"):
            await server.serve([Listen(it.address, it.handler, "--server-bind")])


@pytest.mark.parametrize("address", ["8000", "127.0.0.1", "127.0.0.1:http", "::1:80", "127.0.0.1:65536", ":80", "a:+1"])
async def test_a_malformed_address_is_named(address: str) -> None:
    server = Server(server_limits(), open_log(io.StringIO()))
    with pytest.raises(ConfigError, match="is not an address to listen on"):
        await server.serve([Listen(address, ScriptedHandler())])


@pytest.mark.parametrize("host", ["a" * 64, "a..b", "\N{LATIN SMALL LETTER E WITH ACUTE}" * 70])
async def test_a_host_that_no_name_server_could_be_asked_for_is_named(host: str) -> None:
    server = Server(server_limits(), open_log(io.StringIO()))
    with pytest.raises(ConfigError, match=f"cannot listen on {host}:80: the host's name is malformed"):
        await server.serve([Listen(f"{host}:80", ScriptedHandler())])


async def test_a_foreign_address_is_named() -> None:
    server = Server(server_limits(), open_log(io.StringIO()))
    with pytest.raises(ConfigError, match=r"cannot listen on 192\.0\.2\.1:80: "):
        await server.serve([Listen("192.0.2.1:80", ScriptedHandler())])


async def test_two_hundred_connections_are_served_at_once() -> None:
    async with running() as it:
        answers: list[bytes] = []

        async def ask() -> None:
            answers.append(await it.ask(b"GET /events?n=20&every_s=0.01 HTTP/1.0\r\n\r\n"))

        async with trio.open_nursery() as nursery:
            for _ in range(200):
                nursery.start_soon(ask)
        assert len(answers) == 200
        assert {answer.count(b"data: ") for answer in answers} == {20}
        assert it.events("ignis.http.fault") == []


async def test_past_the_cap_the_longest_idle_connection_makes_room() -> None:
    async with running(server_limits(max_connections=2)) as it, await it.connect() as old, await it.connect() as young:
        for stream in (old, young):
            await stream.send_all(HELLO)
            await read_until(stream, b"hello\n")
        await wait_until(lambda: it.server.statistics().num_idle == 2)
        async with await it.connect() as third:
            await third.send_all(HELLO)
            await read_until(third, b"hello\n")
            assert await old.receive_some() == b""
            await young.send_all(HELLO)
            await read_until(young, b"hello\n")


async def test_past_the_cap_with_none_idle_a_newcomer_is_told() -> None:
    async with running(server_limits(max_connections=1)) as it, await it.connect() as busy:
        await busy.send_all(b"GET /hang HTTP/1.1\r\nhost: a\r\n\r\n")
        await wait_until(lambda: it.server.statistics().num_exchanges == 1)
        answer = await it.ask(b"POST /count HTTP/1.1\r\nhost: a\r\ncontent-length: 500\r\n\r\n" + b"x" * 500)
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503 ")
        assert b"\r\nRetry-After: 1\r\n" in head + b"\r\n"
        assert b"\r\nAccess-Control-Allow-Origin: *\r\n" in head + b"\r\n"
        assert json.loads(body)["error"]["code"] == "connections_full"
        assert len(it.events("ignis.http.connections_full")) == 1


async def test_idle_connections_hold_a_drain_up_for_a_moment_at_most(autojump_clock: trio.testing.MockClock) -> None:
    limits = server_limits(drain_timeout_s=1000)
    async with running(limits) as it, await it.connect() as unused, await it.connect() as used:
        await used.send_all(HELLO)
        await read_until(used, b"hello\n")
        await wait_until(lambda: it.server.statistics().num_idle == 2)
        it.server.drain()
        asked = trio.current_time()
        assert await read_all(used) == b""
        assert trio.current_time() - asked < 0.1
        assert await read_all(unused) == b""
        assert trio.current_time() - asked < 1


async def test_who_has_connected_before_a_drain_is_answered(autojump_clock: trio.testing.MockClock) -> None:
    """One that has not asked yet, some that are not let in yet, and one whose next request lies unread."""
    async with running() as it, await it.connect() as unused, await it.connect() as used:
        await used.send_all(HELLO)
        await read_until(used, b"hello\n")
        await wait_until(lambda: it.server.statistics().num_idle == 2)
        # No turn of the event loop between these and the drain.
        host, _, port = it.address.rpartition(":")
        waiting = [socket.create_connection((host, int(port))) for _ in range(5)]
        for late in waiting:
            late.sendall(HELLO)
        os.write(used.socket.fileno(), HELLO)
        it.server.drain()
        await trio.testing.wait_all_tasks_blocked()
        await unused.send_all(HELLO)
        for stream in (unused, used, *(trio.SocketStream(trio.socket.from_stdlib_socket(late)) for late in waiting)):
            async with stream:
                assert (await read_all(stream)).endswith(b"hello\n")


async def test_those_who_connect_while_others_are_let_in_hold_no_drain_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ignis.server.listener.BACKLOG", 3)
    flood: list[socket.socket] = []
    async with running() as it, await it.connect() as used:
        await used.send_all(HELLO)
        await read_until(used, b"hello\n")
        host, _, port = it.address.rpartition(":")
        let_in = it.server._let_in

        def connect_another(stream: trio.SocketStream, door: Any) -> None:
            if len(flood) < 50:
                flood.append(socket.create_connection((host, int(port))))
            let_in(stream, door)

        monkeypatch.setattr(it.server, "_let_in", connect_another)
        flood.append(socket.create_connection((host, int(port))))
        it.server.drain()
        await wait_until(lambda: it.server.statistics().num_connections == 0)
    # The task that accepts may have had a turn or two before.
    assert 5 <= len(flood) < 20
    for late in flood:
        late.close()


async def test_running_exchanges_are_finished_by_a_drain_and_nobody_new_is_let_in() -> None:
    async with running() as it, await it.connect() as stream:
        await stream.send_all(b"GET /events?n=5&every_s=0.05 HTTP/1.1\r\nhost: a\r\n\r\n")
        await read_until(stream, b"data: 0\n\n\r\n")
        it.server.drain()
        await wait_until(lambda: it.server.is_draining)
        assert (await read_all(stream)).endswith(b"data: 4\n\n\r\n0\r\n\r\n")
        with pytest.raises(OSError, match="all attempts to connect"):
            await it.connect()


async def test_a_stream_that_only_watches_is_ended_at_once_by_a_drain() -> None:
    async with running(server_limits(drain_timeout_s=30)) as it, await it.connect() as stream:
        await stream.send_all(b"GET /watch HTTP/1.1\r\nhost: a\r\n\r\n")
        await read_until(stream, b"data: now\n\n\r\n")
        it.server.drain()
        assert await read_all(stream) == b"0\r\n\r\n"
    assert it.events("ignis.http.fault") == it.events("ignis.http.connection_cut") == []


async def test_watchers_that_read_nothing_hold_no_drain_up(autojump_clock: trio.testing.MockClock) -> None:
    async with running(server_limits(drain_timeout_s=1000, write_timeout_s=1000)) as it:
        watchers = [await it.connect() for _ in range(20)]
        for watcher in watchers:
            await watcher.send_all(b"GET /watch-flood HTTP/1.1\r\nhost: a\r\n\r\n")
        await wait_until(lambda: it.server.statistics().num_exchanges == 20)
        await trio.sleep(1)
        it.server.drain()
        await trio.sleep(1.5)
        assert it.server.statistics().num_connections == 0
        for watcher in watchers:
            await watcher.aclose()


async def test_an_answer_that_nobody_reads_holds_no_drain_up(autojump_clock: trio.testing.MockClock) -> None:
    async with running(server_limits(drain_timeout_s=1000, write_timeout_s=1000)) as it:
        async with await it.connect() as deaf, await it.connect() as reading:
            await deaf.send_all(b"GET /flood HTTP/1.1\r\nhost: a\r\n\r\n")
            await reading.send_all(b"GET /events?n=10&every_s=1 HTTP/1.1\r\nhost: a\r\n\r\n")
            await wait_until(lambda: it.server.statistics().num_exchanges == 2)
            it.server.drain()
            assert (await read_all(reading)).endswith(b"data: 9\n\n\r\n0\r\n\r\n")
            assert it.server.statistics().num_connections == 0
        assert [cut["reason"] for cut in it.events("ignis.http.connection_cut")] == ["client_stalled"]


async def test_half_a_request_holds_a_drain_up_to_its_limit_and_is_told(
    autojump_clock: trio.testing.MockClock,
) -> None:
    limits = server_limits(drain_timeout_s=5, header_timeout_s=30)
    async with running(limits) as it, await it.connect() as half, await it.connect() as late:
        for stream in (half, late):
            await stream.send_all(b"GET /hello HT")
        await wait_until(lambda: it.server.statistics().num_connections == 2)
        it.server.drain()
        started_at = trio.current_time()
        await trio.sleep(3)
        # Whoever sends the rest in time is answered.
        await late.send_all(b"TP/1.1\r\nhost: a\r\n\r\n")
        assert (await read_all(late)).endswith(b"hello\n")
        told = await read_all(half)
        assert told.startswith(b"HTTP/1.1 503 ") and b'"server_draining"' in told
        assert 5 <= trio.current_time() - started_at < 5.1
        await trio.sleep(0.3)
        assert it.server.statistics().num_connections == 0
    assert it.events("ignis.http.fault") == []


async def test_half_a_body_holds_a_drain_up_to_its_limit_and_is_told(autojump_clock: trio.testing.MockClock) -> None:
    limits = server_limits(drain_timeout_s=5, body_timeout_s=30)
    async with (
        running(limits) as it,
        await it.connect() as half,
        await it.connect() as late,
        await it.connect() as answered,
    ):
        for stream in (half, late):
            await stream.send_all(b"POST /count HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\na")
        # Its answer does not wait for a body.
        await answered.send_all(b"POST /hello HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\na")
        assert (await answered.receive_some()).startswith(b"HTTP/1.1 200 ")
        await wait_until(lambda: it.server.statistics().num_exchanges == 3)
        it.server.drain()
        started_at = trio.current_time()
        await trio.sleep(3)
        # Whoever sends the rest in time is answered.
        await late.send_all(b"bc")
        assert (await read_all(late)).startswith(b"HTTP/1.1 200 ")
        told = await read_all(half)
        assert told.startswith(b"HTTP/1.1 503 ") and b'"server_draining"' in told
        assert await read_all(answered) == b""
        assert 5 <= trio.current_time() - started_at < 5.1
        await trio.sleep(0.3)
        assert it.server.statistics().num_connections == 0
    assert it.events("ignis.http.fault") == []


async def test_an_answer_during_a_drain_says_that_it_is_the_last() -> None:
    async with running() as it, await it.connect() as stream:
        await stream.send_all(b"POST /count HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\n")
        await wait_until(lambda: it.server.statistics().num_exchanges == 1)
        it.server.drain()
        await stream.send_all(b"abc")
        answer = await read_all(stream)
        assert b"\r\nconnection: close\r\n" in answer
        assert answer.endswith(b"3 294\n")


async def test_what_outlasts_a_drain_is_told_or_cut() -> None:
    limits = server_limits(drain_timeout_s=0.05)
    async with running(limits) as it, await it.connect() as waiting, await it.connect() as streaming:
        await waiting.send_all(b"GET /hang HTTP/1.1\r\nhost: a\r\n\r\n")
        await streaming.send_all(b"GET /hang-open HTTP/1.1\r\nhost: a\r\n\r\n")
        await wait_until(lambda: it.server.statistics().num_exchanges == 2)
        it.server.drain()
        told = await read_all(waiting)
        assert told.startswith(b"HTTP/1.1 503 ")
        assert b"\r\nAccess-Control-Allow-Origin: *\r\n" in told
        assert b'"server_draining"' in told
        assert (await read_all(streaming)).endswith(b"\r\n\r\n")
        assert it.handler.ends == ["cancelled", "cancelled"]


async def test_what_a_drain_waits_for_no_longer_can_end_in_its_own_words() -> None:
    given_up = trio.Event()

    async def handler(exchange: Any) -> None:
        stream = await exchange.open_events()
        await given_up.wait()
        await stream.send(b"given up")
        await stream.close()

    server = Server(server_limits(drain_timeout_s=0), open_log(io.StringIO()), given_up.set)
    async with trio.open_nursery() as nursery:
        (bound,) = await nursery.start(server.serve, [Listen("127.0.0.1:0", handler)])
        it = Running(server, ScriptedHandler(), bound.address, io.StringIO())
        async with await it.connect() as stream:
            await stream.send_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
            await wait_until(lambda: server.statistics().num_exchanges == 1)
            server.drain()
            assert (await read_all(stream)).endswith(b"\r\ndata: given up\n\n\r\n0\r\n\r\n")


async def test_a_cancelled_server_leaves_nothing_running() -> None:
    written, handler = io.StringIO(), ScriptedHandler()
    server = Server(server_limits(), open_log(written))
    async with trio.open_nursery() as nursery:
        (bound,) = await nursery.start(server.serve, [Listen("127.0.0.1:0", handler)])
        async with await Running(server, handler, bound.address, written).connect() as stream:
            await stream.send_all(b"GET /hang HTTP/1.1\r\nhost: a\r\n\r\n")
            await wait_until(lambda: server.statistics().num_exchanges == 1)
            nursery.cancel_scope.cancel()
    assert handler.ends == ["cancelled"]
    assert server.statistics().num_connections == 0


async def test_accepting_goes_on_when_descriptors_ran_out(autojump_clock: trio.testing.MockClock) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with running() as it:
        next_free = os.dup(0)
        os.close(next_free)
        # The client's own socket takes the last descriptor there is.
        resource.setrlimit(resource.RLIMIT_NOFILE, (next_free + 1, hard))
        try:
            stream = await it.connect()
            await stream.send_all(HELLO)
            await trio.sleep(0.12)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        async with stream:
            await read_until(stream, b"hello\n")
        assert len(it.events("ignis.http.listener_fault")) == 2
