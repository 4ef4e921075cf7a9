"""The connections of one listener: how many, the idle ones, running exchanges. Says who has to go; closes nothing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import trio

from ignis.errors import IgnisError
from ignis.server.cut import Cut
from ignis.server.exchange import HttpExchange

Count = Callable[[str, str], None]
_UNUSED_GRACE_S = 0.5
"""Who has just connected is about to ask, and would be told nothing: so long it has once the server stops."""
_USED_GRACE_S = 0.05
"""The same of a connection that was used: for a request that lies unread in the kernel, or is a packet away."""
_CLOSE_CODES = frozenset({1000, 1001, 1002, 1003, 1005, 1006, 1007, 1008, 1009, 1011, 1012, 1013})


@dataclass(frozen=True, slots=True)
class ServerStatistics:
    """Of every listener together, at one moment."""

    num_connections: int
    """Open, idle ones included."""
    num_idle: int
    """Waiting for the first byte of a request."""
    num_exchanges: int
    """Handlers that run."""
    num_websockets: int
    """Of these, the ones that are WebSockets."""
    is_draining: bool


class Roster:
    """Its methods are called by the connections and by the listener's own task, all on one thread."""

    def __init__(self, count: Count = lambda _family, _label: None) -> None:
        """`count` adds one to a metric family, under a label."""
        self._count = count
        self.num_connections = 0
        self.is_draining = False
        self.running: set[HttpExchange] = set()
        self._idle: dict[trio.CancelScope, float] = {}
        """Each with its grace once the server stops, in seconds."""
        self._heads: set[trio.CancelScope] = set()
        """Of connections where a request has begun to come."""
        self._waits_for_requests = True
        self._left = trio.lowlevel.ParkingLot()

    @property
    def num_websockets(self) -> int:
        return sum(exchange.socket is not None for exchange in self.running)

    @property
    def num_idle(self) -> int:
        return len(self._idle)

    def enter(self) -> None:
        """Counts a connection in."""
        self.num_connections += 1

    def leave(self) -> None:
        """Counts a connection out."""
        self.num_connections -= 1
        self._left.unpark_all()

    def add(self, exchange: HttpExchange) -> None:
        """Notes an exchange whose handler is about to run."""
        self.running.add(exchange)
        if self.is_draining:
            exchange.drain()
        if not self._waits_for_requests:
            exchange.give_up_body()

    def discard(self, exchange: HttpExchange) -> None:
        """Forgets an exchange that is over."""
        self.running.discard(exchange)

    def note_refusal(self, error: IgnisError) -> None:
        """Counts a request that the server itself answers."""
        self._count("ignis_http_refusals", error.code)

    def note_close(self, close_code: int) -> None:
        """Counts a WebSocket that ended."""
        self._count("ignis_http_websocket_closes", str(close_code) if close_code in _CLOSE_CODES else "other")

    def rest(self, scope: trio.CancelScope, *, is_used: bool) -> None:
        """Notes an idle connection; the scope is cancelled when it has to go, or ends soon."""
        self._idle[scope] = _USED_GRACE_S if is_used else _UNUSED_GRACE_S
        if self.is_draining:
            self._send_off(scope)

    def _send_off(self, scope: trio.CancelScope) -> None:
        scope.deadline = min(scope.deadline, trio.current_time() + self._idle[scope])

    def wake(self, scope: trio.CancelScope) -> None:
        """Notes that the connection is idle no longer. Does nothing when it was told to go."""
        self._idle.pop(scope, None)

    @contextmanager
    def read_head(self, scope: trio.CancelScope) -> Iterator[None]:
        """Notes that a request has begun to come; the scope is cancelled when it is waited for no longer."""
        self._heads.add(scope)
        if not self._waits_for_requests:
            scope.cancel()
        try:
            yield
        finally:
            self._heads.discard(scope)

    def give_up_requests(self) -> None:
        """Waits for the rest of no request any more, nor for those that begin to come."""
        self._waits_for_requests = False
        for scope in self._heads:
            scope.cancel()
        for exchange in self.running:
            exchange.give_up_body()

    def make_room(self) -> bool:
        """Tells the connection that has been idle longest to go. False: none is idle."""
        if not self._idle:
            return False
        scope = next(iter(self._idle))
        del self._idle[scope]
        scope.cancel()
        return True

    def drain(self) -> None:
        """Tells idle connections to go, unless a request is on its way, and others to go after their exchange."""
        self.is_draining = True
        for exchange in self.running:
            exchange.drain()
        for scope in self._idle:
            self._send_off(scope)

    def cut_exchanges(self) -> None:
        """Ends the handlers that still run."""
        for exchange in self.running:
            exchange.cut(Cut.DRAINED)

    async def wait_empty(self) -> None:
        while self.num_connections:
            await self._left.park()
