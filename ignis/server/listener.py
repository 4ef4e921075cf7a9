"""The server: opens the listeners, accepts under a cap, and stops in order. One task for each listener and connection.

Stopping: who has connected by then is still let in, nobody after; streams that only watch are closed at once, and idle
connections where no request was on its way; running exchanges go on, each saying that its connection ends, but none
waits long for a client that takes nothing; after the drain timeout what they wait for is given up, so that they end
with their own words for it, and so is a request whose head has not come whole; a second later handlers are cut, those
without an answer get a 503, and shortly after that whatever is left is closed.
"""

import errno
import math
import select
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import trio

from ignis.errors import ConnectionsFullError
from ignis.log import Log
from ignis.server.answer import error_answer, new_request_id
from ignis.server.binding import BACKLOG, Bound, Listen, bind, spell
from ignis.server.connection import Connection
from ignis.server.limits import ServerLimits
from ignis.server.roster import Count, Roster, ServerStatistics
from ignis.server.wire import ClientLeft, ClientStalled, Wire

_FULL = ConnectionsFullError("too many connections are open")
_NUM_REFUSALS = 64
"""Newcomers over the cap that are told so at a time; more are reset."""
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_BACKOFF_S = (0.05, 1.0)
_WARNING_EVERY_S = 5.0
_LAST_WORD_S = 1.0
_LAST_GRACE_S = 3.0
_REFUSAL_S = 5.0
"""How long a newcomer over the cap may take to shake hands before it is told."""
# A client whose machine vanished sends no end; TCP's own probes find it out within a minute.
_PROBE_IDLE_S, _PROBE_EVERY_S, _NUM_PROBES = 30, 10, 3


class Server:
    """Serves several listeners as one: they start, drain and stop together. `serve` is called once."""

    def __init__(
        self,
        limits: ServerLimits,
        log: Log,
        give_up: Callable[[], None] = lambda: None,
        count: Count = lambda _family, _label: None,
    ) -> None:
        """`give_up` is called when a drain has waited long enough: it ends what the handlers wait for, in order.
        `count` adds one to a metric family, under a label."""
        self._give_up = give_up
        self._count = count
        self.limits = limits
        """May be replaced: a connection keeps those that it was accepted under."""
        self._log = log
        self._rosters: list[Roster] = []
        self._drain_asked = trio.Event()

    @property
    def is_draining(self) -> bool:
        return self._drain_asked.is_set()

    def drain(self) -> None:
        """Starts to stop; `serve` returns when it is done. Does nothing when called again."""
        self._drain_asked.set()
        for roster in self._rosters:
            roster.drain()

    def statistics(self) -> ServerStatistics:
        return ServerStatistics(
            num_connections=sum(roster.num_connections for roster in self._rosters),
            num_idle=sum(roster.num_idle for roster in self._rosters),
            num_exchanges=sum(len(roster.running) for roster in self._rosters),
            num_websockets=sum(roster.num_websockets for roster in self._rosters),
            is_draining=self.is_draining,
        )

    async def serve(
        self, listens: Sequence[Listen], *, task_status: trio.TaskStatus[tuple[Bound, ...]] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Serves until drained or cancelled. Once everything listens, reports what is bound, in order.

        Raises:
            ConfigError: an address is malformed, taken, or not this machine's.
        """
        opened: list[Bound] = []
        try:
            for listen in listens:
                opened.append(await bind(listen))
            task_status.started(tuple(opened))
            await self.serve_on(opened)
        finally:
            for bound in opened:
                bound.close()

    async def serve_on(self, opened: Sequence[Bound]) -> None:
        """Serves on what is bound already, until drained or cancelled, and closes it."""
        async with trio.open_nursery() as connections:
            doors = [
                _Door(listener, bound.listen, Roster(self._count), connections)
                for bound in opened
                for listener in bound.listeners
            ]
            self._rosters += [door.roster for door in doors]
            async with trio.open_nursery() as accepting:
                for door in doors:
                    if self.is_draining:
                        door.roster.drain()
                    accepting.start_soon(self._accept, door)
                await self._drain_asked.wait()
                accepting.cancel_scope.cancel()
            for door in doors:
                await self._accept_waiting(door)
            for bound in opened:
                bound.close()
            await self._wind_down()
            connections.cancel_scope.cancel()

    async def _wind_down(self) -> None:
        with trio.move_on_after(self.limits.drain_timeout_s):
            await self._wait_empty()
        for roster in self._rosters:
            roster.give_up_requests()
        self._give_up()
        with trio.move_on_after(_LAST_WORD_S):
            await self._wait_empty()
        for roster in self._rosters:
            roster.cut_exchanges()
        with trio.move_on_after(_LAST_GRACE_S):
            await self._wait_empty()

    async def _wait_empty(self) -> None:
        for roster in self._rosters:
            await roster.wait_empty()

    async def _accept(self, door: "_Door") -> None:
        backoff_s = _BACKOFF_S[0]
        while True:
            try:
                stream = await door.listener.accept()
            except OSError as error:
                if error.errno == errno.ECONNABORTED:
                    # One connection that broke before it was taken.
                    await trio.lowlevel.checkpoint()
                    continue
                if error.errno in _EXHAUSTED:
                    # Out of descriptors or memory: an idle connection is worth less than a new one.
                    door.roster.make_room()
                self._log.emit("ignis.http.listener_fault", url=door.listen.address, error=error)
                await trio.sleep(backoff_s)
                backoff_s = min(2 * backoff_s, _BACKOFF_S[1])
                continue
            backoff_s = _BACKOFF_S[0]
            self._let_in(stream, door)

    async def _accept_waiting(self, door: "_Door") -> None:
        """Lets in who has connected and was not accepted yet: the kernel would reset them, whatever they have sent.

        No more than there can be at once: others go on to connect meanwhile, and a flood of them would have no end.
        """
        waiting = select.poll()
        waiting.register(door.listener.socket, select.POLLIN)
        for _ in range(BACKLOG + 1):
            if not waiting.poll(0):
                return
            try:
                self._let_in(await door.listener.accept(), door)
            except OSError:
                # Out of descriptors for one, and there is no time left to wait for some.
                return

    def _let_in(self, stream: trio.SocketStream, door: "_Door") -> None:
        """Gives a client its connection, or tells it that there are too many."""
        peer = _set_up(stream, self.limits)
        roster, listen = door.roster, door.listen
        if roster.num_connections < self.limits.max_connections or roster.make_room():
            connection = Connection(stream, peer, listen.handler, roster, self.limits, self._log, listen.tls)
            door.connections.start_soon(connection.run)
            return
        if trio.current_time() >= door.next_warning_at:
            door.next_warning_at = trio.current_time() + _WARNING_EVERY_S
            self._log.emit("ignis.http.connections_full", peer=peer, connections=roster.num_connections)
        roster.note_refusal(_FULL)
        wire = Wire(stream, self.limits.write_timeout_s, listen.tls)
        try:
            door.refusals.acquire_on_behalf_of_nowait(wire)
        except trio.WouldBlock:
            wire.cut()
        else:
            door.connections.start_soon(_refuse, wire, door.refusals, self.limits.origins)


@dataclass(slots=True)
class _Door:
    """Where clients of one listener come in."""

    listener: trio.SocketListener
    listen: Listen
    roster: Roster
    connections: trio.Nursery
    refusals: trio.CapacityLimiter = field(default_factory=lambda: trio.CapacityLimiter(_NUM_REFUSALS))
    next_warning_at: float = -math.inf


def _set_up(stream: trio.SocketStream, limits: ServerLimits) -> str:
    """Sets the socket's options and returns the client's address. trio has set TCP_NODELAY."""
    connection = stream.socket
    if connection.family == socket.AF_UNIX:
        return spell(None)
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _PROBE_IDLE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _PROBE_EVERY_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _NUM_PROBES)
        return spell(connection.getpeername())
    except OSError:
        # It left already; its first read will say so.
        return "unknown"


async def _refuse(wire: Wire, refusals: trio.CapacityLimiter, origins: frozenset[str] | None) -> None:
    """Tells a newcomer over the cap that the server is full."""
    try:
        async with trio.open_nursery() as tasks:
            tasks.start_soon(wire.watch)
            try:
                with trio.move_on_after(_REFUSAL_S):
                    await wire.ready()
                await wire.send(error_answer(_FULL, new_request_id(), None, origins))
                await wire.finish()
            except (ClientLeft, ClientStalled):
                wire.cut()
            tasks.cancel_scope.cancel()
    finally:
        wire.close()
        refusals.release_on_behalf_of(wire)
