"""A WebSocket library that people use, against the server on a real socket."""

import zlib

import pytest
import trio
import websockets.exceptions
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

from tests.settings import server_limits
from tests.wire.rig import SOCKET_BYTES
from tests.wire.test_server import Running, running


def _connect(it: Running, path: str = "/socket", **options: object) -> ClientConnection:
    return connect(f"ws://{it.address}{path}", **options)  # type: ignore[arg-type]


def _said(kind: str, message: bytes) -> str:
    return f"{kind} {len(message)} {zlib.crc32(message):08x}"


async def test_messages_fragments_pings_and_an_orderly_close() -> None:
    def talk(it: Running) -> None:
        # Compression is what the library offers unless told not to.
        with _connect(it, "/socket?protocol=b", subprotocols=[Subprotocol("a"), Subprotocol("b")]) as socket:
            assert socket.subprotocol == "b"
            assert socket.protocol.extensions == []
            socket.send("hello")
            assert socket.recv(10) == _said("text", b"hello")
            socket.send(b"\x00\xff")
            assert socket.recv(10) == _said("binary", b"\x00\xff")
            socket.send(["one, ", "two, ", "three"])
            assert socket.recv(10) == _said("text", b"one, two, three")
            large = "x" * SOCKET_BYTES
            socket.send(large)
            assert socket.recv(10) == _said("text", large.encode())
            assert socket.ping("are you there").wait(10)
        assert socket.close_code == 1000

    async with running() as it:
        await trio.to_thread.run_sync(talk, it)
    assert it.events("ignis.http.websocket")[0]["received"] == 4


async def test_the_server_s_reasons_reach_the_client() -> None:
    def talk(it: Running) -> None:
        with _connect(it) as socket:
            socket.send("x" * (SOCKET_BYTES + 1))
            with pytest.raises(websockets.exceptions.ConnectionClosedError) as closed:
                socket.recv(10)
            assert closed.value.rcvd is not None
            assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1009, "a message has at most 100000 bytes")
        with _connect(it) as socket:
            socket.send("close 1013")
            with pytest.raises(websockets.exceptions.ConnectionClosedError) as closed:
                socket.recv(10)
            assert closed.value.rcvd is not None
            assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1013, "as you wish")
        with pytest.raises(websockets.exceptions.InvalidStatus, match="403"):
            _connect(it, origin=Origin("https://evil.example"))

    async with running(server_limits(origins=frozenset(), drain_timeout_s=2)) as it:
        await trio.to_thread.run_sync(talk, it)


async def test_a_drain_closes_open_sockets_with_1001() -> None:
    closes: list[int] = []

    def talk(it: Running, token: trio.lowlevel.TrioToken) -> None:
        with _connect(it) as socket:
            socket.send("hello")
            socket.recv(10)
            token.run_sync_soon(it.server.drain)
            assert socket.recv(10) == "the end"
            with pytest.raises(websockets.exceptions.ConnectionClosedOK) as closed:
                socket.recv(10)
            assert closed.value.rcvd is not None
            closes.append(closed.value.rcvd.code)

    async with running() as it:
        await trio.to_thread.run_sync(talk, it, trio.lowlevel.current_trio_token())
    assert closes == [1001]
