"""Clients that keep a connection without using it are sent away, each wait with its own limit."""

import trio
import trio.testing

from tests.settings import server_limits
from tests.wire.rig import rig

HELLO = b"GET /hello HTTP/1.1\r\nhost: a\r\n\r\n"


async def test_a_new_connection_without_a_byte_is_closed(autojump_clock: trio.testing.MockClock) -> None:
    async with rig(server_limits(header_timeout_s=10)) as opened:
        await trio.sleep(9)
        assert await opened.settle() == b""
        assert not opened.has_ended
        await trio.sleep(2)
        assert await opened.settle() == b""
        assert opened.has_ended


async def test_a_header_that_drips_gets_a_408(autojump_clock: trio.testing.MockClock) -> None:
    async with rig(server_limits(header_timeout_s=10)) as opened:
        for byte in HELLO:
            await opened.send(bytes([byte]))
            await trio.sleep(1)
        answer = await opened.settle()
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b"connection: close" in answer
        assert opened.has_ended
        assert opened.handler.begun == []


async def test_empty_lines_do_not_keep_a_connection_open(autojump_clock: trio.testing.MockClock) -> None:
    async with rig(server_limits(header_timeout_s=10)) as opened:
        for _ in range(12):
            await opened.send(b"\r\n")
            await trio.sleep(1)
        assert await opened.settle() == b""
        assert opened.has_ended


async def test_a_kept_connection_may_be_idle_for_longer(autojump_clock: trio.testing.MockClock) -> None:
    async with rig(server_limits(header_timeout_s=10, idle_timeout_s=75)) as opened:
        await opened.send(HELLO)
        await trio.sleep(74)
        await opened.send(HELLO)
        assert (await opened.settle()).count(b"hello\n") == 2
        await trio.sleep(76)
        assert await opened.settle() == b""
        assert opened.has_ended


async def test_a_body_that_pauses_gets_a_408(autojump_clock: trio.testing.MockClock) -> None:
    async with rig(server_limits(body_timeout_s=20)) as opened:
        await opened.send(b"POST /count HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nabc")
        await trio.sleep(19)
        await opened.send(b"d")
        await trio.sleep(0.5)
        assert await opened.settle() == b""
        await trio.sleep(20)
        answer = await opened.settle()
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b"connection: close" in answer
        assert opened.has_ended


async def test_a_body_that_drips_gets_a_408(autojump_clock: trio.testing.MockClock) -> None:
    async with rig(server_limits(body_timeout_s=20)) as opened:
        await opened.send(b"POST /count HTTP/1.1\r\nhost: a\r\ncontent-length: 900\r\n\r\n")
        for _ in range(25):
            await opened.send(b"x")
            await trio.sleep(1)
        assert (await opened.settle()).startswith(b"HTTP/1.1 408 ")


async def test_a_slow_but_steady_body_is_read(autojump_clock: trio.testing.MockClock) -> None:
    async with rig(server_limits(body_timeout_s=1)) as opened:
        await opened.send(b"POST /count HTTP/1.1\r\nhost: a\r\ncontent-length: 900\r\n\r\n")
        for _ in range(10):
            await trio.sleep(0.3)
            await opened.send(b"x" * 90)
        assert (await opened.settle()).endswith(b"900 108000\n")


async def test_a_skipped_body_is_not_waited_for_either(autojump_clock: trio.testing.MockClock) -> None:
    async with rig(server_limits(body_timeout_s=20)) as opened:
        await opened.send(b"POST /none HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nabc")
        await trio.sleep(21)
        assert (await opened.settle()).count(b"HTTP/1.1") == 1
        assert opened.has_ended


async def test_a_client_that_does_not_close_is_not_waited_for(autojump_clock: trio.testing.MockClock) -> None:
    async with rig() as opened:
        await opened.send(b"GET /hello HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        assert opened.roster.num_connections == 1
        await trio.sleep(3)
        assert opened.roster.num_connections == 0
