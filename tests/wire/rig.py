"""One connection over a socket pair, a scripted handler behind it, and a clock that jumps. What wire tests stand on."""

import io
import json
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import trio
import trio.testing

from ignis.errors import IgnisError
from ignis.exchange import Exchange
from ignis.log import LogFormat, open_log
from ignis.server.connection import Connection
from ignis.server.limits import ServerLimits
from ignis.server.roster import Roster
from tests.settings import server_limits

LIMITS = server_limits(header_bytes=16 << 10)
BODY_BYTES = 1000
SOCKET_BYTES = 100_000


class ScriptedHandler:
    """Answers by path. `ends` tells how each exchange ended: done, cancelled, or the name of what was raised."""

    def __init__(self) -> None:
        self.router: Callable[[Exchange], Awaitable[None]] | None = None
        """Answers the paths of the API, where there is one."""
        self.begun: list[str] = []
        self.ends: list[str] = []

    async def __call__(self, exchange: Exchange) -> None:
        self.begun.append(exchange.path)
        try:
            await self._answer(exchange)
        except trio.Cancelled:
            self.ends.append("cancelled")
            raise
        except Exception as error:
            self.ends.append(type(error).__name__)
            raise
        except BaseExceptionGroup:
            # A handler with tasks of its own is cancelled in each of them.
            self.ends.append("cancelled")
            raise
        self.ends.append("done")

    async def _answer(self, exchange: Exchange) -> None:
        match exchange.path:
            case "/hello":
                await exchange.respond(200, b"hello\n", "text/plain")
            case "/seen":
                body = json.dumps([exchange.method, exchange.path, exchange.query, exchange.headers])
                await exchange.respond(200, body.encode())
            case "/count":
                await self._count(exchange)
            case "/empty":
                await exchange.respond(204)
            case "/events":
                await self._events(exchange)
            case "/hang":
                await trio.sleep_forever()
            case "/hang-open":
                await exchange.open_events()
                await trio.sleep_forever()
            case "/watch":
                stream = await exchange.open_watch()
                await stream.send(b"now")
                await trio.sleep_forever()
            case "/watch-flood":
                stream = await exchange.open_watch()
                while True:
                    await stream.send(b"x" * 1000)
            case "/flood":
                stream = await exchange.open_events()
                while True:
                    await stream.send(b"x" * 1000)
            case "/deadline":
                stream = await exchange.open_events()
                with trio.move_on_after(5):
                    while True:
                        await stream.send(b"x" * 999)
                await stream.send(b"too late")
                await stream.close()
            case "/fail-stuck":
                stream = await exchange.open_events()
                with trio.move_on_after(5):
                    while True:
                        await stream.send(b"x" * 999)
                await trio.sleep(20)
                raise KeyError("a secret")
            case "/large":
                await exchange.respond(200, b"x" * 5_000_000, "text/plain")
            case "/late":
                await trio.sleep(5)
                await exchange.respond(200, b"late\n", "text/plain")
            case "/fail":
                raise KeyError("a secret")
            case "/fail-open":
                stream = await exchange.open_events()
                await stream.send(b"one")
                raise KeyError("a secret")
            case "/nothing":
                return
            case "/socket":
                await self._socket(exchange)
            case "/socket-cancel":
                socket = await exchange.accept(SOCKET_BYTES)
                while True:
                    await trio.sleep(1)
                    await socket.send(b"tick")
            case "/socket-say":
                socket = await exchange.accept(SOCKET_BYTES)
                await socket.send(b"x" * int(exchange.query["n"]))
            case "/socket-fail":
                socket = await exchange.accept(SOCKET_BYTES)
                await socket.send(b"soon")
                raise KeyError("a secret")
            case "/socket-flood":
                socket = await exchange.accept(SOCKET_BYTES)
                while True:
                    await socket.send(b"x" * 1000)
            case "/socket-deaf":
                await exchange.accept(SOCKET_BYTES)
                await trio.sleep_forever()
            case "/forge":
                await exchange.respond(200, headers=[("x-a", exchange.query["value"])])
            case path if self.router is not None and path.startswith(("/v1", "/health")):
                await self.router(exchange)
            case _:
                await exchange.respond(404, b"nothing here\n", "text/plain")

    async def _count(self, exchange: Exchange) -> None:
        try:
            body = await exchange.read_body(BODY_BYTES)
        except IgnisError as error:
            await exchange.respond(error.status, f"{error.code}: {error.message}\n".encode(), "text/plain")
        else:
            await exchange.respond(200, b"%d %d\n" % (len(body), sum(body)), "text/plain")

    async def _socket(self, exchange: Exchange) -> None:
        """Says of each message what it was; one that names a code closes, and one that says so ends the handler."""
        if not exchange.is_upgrade:
            await exchange.respond(400, b"no socket\n", "text/plain")
            return
        try:
            socket = await exchange.accept(SOCKET_BYTES, exchange.query.get("protocol"))
        except IgnisError as error:
            await exchange.respond(error.status, f"{error.code}: {error.message}\n".encode(), "text/plain")
            return
        while (message := await socket.receive()) is not None:
            if message == "return":
                return
            if isinstance(message, str) and message.startswith("close "):
                await socket.close(int(message.split()[1]), "as you wish")
                return
            kind = "text" if isinstance(message, str) else "binary"
            crc = zlib.crc32(message.encode() if isinstance(message, str) else message)
            await socket.send(f"{kind} {len(message)} {crc:08x}".encode())
        await trio.sleep(1)
        await socket.send(b"the end")

    async def _events(self, exchange: Exchange) -> None:
        stream = await exchange.open_events([("x-extra", "1")])
        for number in range(int(exchange.query.get("n", "2"))):
            await trio.sleep(float(exchange.query.get("every_s", "0")))
            await stream.send(b"%d" % number, exchange.query.get("event"))
        await stream.close()


class Rig:
    """The client's end, and what the server did."""

    def __init__(
        self,
        client: trio.SocketStream,
        handler: ScriptedHandler,
        roster: Roster,
        written: io.StringIO,
        counts: list[tuple[str, str]],
    ) -> None:
        self.counts = counts
        """What was counted: metric family and label, in order."""
        self.client = client
        self.handler = handler
        self.roster = roster
        self.received = bytearray()
        self.has_ended = False
        self._written = written
        self.until_end = trio.CancelScope()
        self.tasks: trio.Nursery

    async def keep(self, work: Callable[[], Awaitable[None]]) -> None:
        """Does what has no end of its own, until the client has left."""
        with self.until_end:
            await work()

    async def collect(self) -> None:
        """Takes whatever the server sends, until its end."""
        while True:
            try:
                data = await self.client.receive_some(65536)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                data = b""
            if not data:
                self.has_ended = True
                return
            self.received += data

    async def send(self, data: bytes, piece_bytes: int = 1 << 20) -> None:
        """Sends in pieces, each taken by the server before the next; what a closed server does not take is dropped."""
        for start in range(0, len(data), piece_bytes):
            try:
                await self.client.send_all(data[start : start + piece_bytes])
            except trio.BrokenResourceError:
                return
            await trio.testing.wait_all_tasks_blocked()

    async def settle(self) -> bytes:
        """What was received since the last call, once nothing moves any more without the clock."""
        await trio.testing.wait_all_tasks_blocked()
        data = bytes(self.received)
        self.received.clear()
        return data

    async def answered(self) -> None:
        """Waits for the end of what was begun; its prompt may be made in a thread, which the clock does not see."""
        while len(self.handler.ends) < len(self.handler.begun):
            await trio.lowlevel.checkpoint()

    async def told(self) -> None:
        """Waits until something was received since it was last looked."""
        while not self.received:
            await trio.lowlevel.checkpoint()

    async def leave(self) -> None:
        await self.client.aclose()
        await trio.testing.wait_all_tasks_blocked()

    def events(self, name: str) -> list[dict[str, Any]]:
        """The log's events of a name."""
        lines = [json.loads(line) for line in self._written.getvalue().splitlines()]
        return [line for line in lines if line["event"] == name]


@asynccontextmanager
async def rig(limits: ServerLimits = LIMITS, *, is_reading: bool = True) -> AsyncIterator[Rig]:
    """Opens a connection to the scripted handler. At the end the client leaves, and every task has to end by itself.

    Without `is_reading` nothing reads what the server sends.
    """
    failure: Exception | None = None
    counts: list[tuple[str, str]] = []
    roster = Roster(lambda family, label: counts.append((family, label)))
    handler, written = ScriptedHandler(), io.StringIO()
    ours, theirs = trio.socket.socketpair()
    client = trio.SocketStream(ours)
    log = open_log(written, LogFormat.JSON, "debug")
    async with trio.open_nursery() as nursery:
        connection = Connection(trio.SocketStream(theirs), "a peer", handler, roster, limits, log)
        nursery.start_soon(connection.run)
        opened = Rig(client, handler, roster, written, counts)
        opened.tasks = nursery
        if is_reading:
            nursery.start_soon(opened.collect)
        try:
            yield opened
        except Exception as error:
            failure = error
        finally:
            ours.close()
            opened.until_end.cancel()
    if failure is not None:
        # Raised out here, it is not wrapped by the nursery.
        raise failure
    assert roster.num_connections == roster.num_idle == len(roster.running) == 0
    assert len(handler.begun) == len(handler.ends)
