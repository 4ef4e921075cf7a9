"""One connection: reads requests one after the other, runs a handler for each, and decides what follows the answer.

    idle -> head -> handler -> answer -+-> idle
                                       +-> finish (said `connection: close`, the server's own refusal, or a WebSocket)
                                       +-> close or cut (the client left or stalled, a stream ended early)

The handler runs in the connection's own task; beside it, for as long as the connection lives, `Wire.watch` reads.
Pipelined requests wait in the wire's inbox and are answered in order. A client that pipelines more than the inbox holds
gets its current answer and is then closed: it has to repeat the rest (RFC 9112 section 9.3.2).
"""

import math
import ssl
from collections.abc import Awaitable, Callable

import trio
from wsproto.frame_protocol import CloseReason

from ignis.errors import (
    DrainingError,
    IgnisError,
    InternalError,
    InvalidRequestError,
    RequestError,
    SlowRequestError,
)
from ignis.exchange import Exchange
from ignis.log import Log
from ignis.server.answer import Framing, error_answer, error_parts, new_request_id
from ignis.server.cut import Cut
from ignis.server.exchange import AnswerState, HttpExchange
from ignis.server.http11 import RequestHead, RequestReader
from ignis.server.limits import ServerLimits
from ignis.server.roster import Roster
from ignis.server.websocket import WebSocket
from ignis.server.wire import ClientLeft, ClientStalled, Wire

Handler = Callable[[Exchange], Awaitable[None]]

_CLIENT_LEFT_STATUS = 499
"""For the log alone: nginx's word for a client that left before its answer."""
_LAST_LINGER_S = 0.2
"""For a client that has not sent its request when the server ends, to take the answer and close."""
_BROKEN = frozenset({Cut.CLIENT_LEFT, Cut.CLIENT_STALLED})
_SKIPPED_BYTES = 64 << 10
"""A body that the handler did not read is read and thrown away up to this size, so that the connection can be kept."""


class Connection:
    """Owns the stream that it is given; `run` returns once it is closed. In the roster from the start."""

    def __init__(
        self,
        stream: trio.SocketStream,
        peer: str,
        handler: Handler,
        roster: Roster,
        limits: ServerLimits,
        log: Log,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._peer = peer
        self._handler = handler
        self._roster = roster
        self._limits = limits
        self._log = log
        self._wire = Wire(stream, limits.write_timeout_s, tls)
        self._reader = RequestReader(limits.header_bytes)
        self._num_exchanges = 0
        roster.enter()

    async def run(self) -> None:
        try:
            async with trio.open_nursery() as tasks:
                tasks.start_soon(self._wire.watch)
                await self._serve(tasks)
                tasks.cancel_scope.cancel()
        except Exception as error:
            # The last resort: one connection must not end the others. Every known end is handled below this.
            self._log.emit("ignis.http.fault", error=error)
        finally:
            if self._wire.tls_fault is not None:
                self._log.emit("ignis.http.tls_failed", peer=self._peer, error=self._wire.tls_fault)
            self._wire.close()
            self._roster.leave()

    async def _serve(self, tasks: trio.Nursery) -> None:
        try:
            while (head := await self._next_head()) is not None:
                if not await self._exchange(head, tasks):
                    return
                self._reader.start_next()
        except RequestError as error:
            await self._refuse(error)
        except DrainingError as error:
            # The server's end waits for this one alone, perhaps, and it may be as silent as before.
            with trio.move_on_after(_LAST_LINGER_S):
                await self._refuse(error)

    async def _next_head(self) -> RequestHead | None:
        """Waits for the next request. None: there is none, and the connection can be closed.

        Raises:
            RequestError: it is malformed, too large, or did not come in time.
            DrainingError: the server shuts down, and waits no longer for it.
        """
        self._wire.drop_excess(is_dropping=False)
        if self._reader.has_begun:
            # A pipelined request must not keep the other connections waiting.
            await trio.lowlevel.checkpoint()
        elif not await self._first_bytes():
            return None
        if self._wire.is_plain:
            raise InvalidRequestError("this port speaks TLS, use https://")
        with (
            trio.move_on_after(self._limits.header_timeout_s) as reading,
            self._roster.read_head(reading),
        ):
            while (head := self._reader.next_head()) is None:
                data = await self._wire.receive()
                if not data:
                    return None
                self._reader.feed(data)
            return head
        if trio.current_time() < reading.deadline:
            raise DrainingError("the server shut down before the request header had come")
        raise SlowRequestError("the request header did not come in time")

    async def _first_bytes(self) -> bool:
        """Waits, idle, for the first bytes of a request. False: it is time to close."""
        timeout_s = self._limits.idle_timeout_s if self._num_exchanges else self._limits.header_timeout_s
        with trio.move_on_after(timeout_s) as idle:
            self._roster.rest(idle, is_used=self._num_exchanges > 0)
            try:
                while not self._reader.has_begun:
                    data = await self._wire.receive()
                    if not data:
                        return False
                    self._reader.feed(data)
            finally:
                self._roster.wake(idle)
        return self._reader.has_begun

    async def _exchange(self, head: RequestHead, tasks: trio.Nursery) -> bool:
        """Runs one exchange to its end. True: another request may follow."""
        try:
            first_part = self._reader.take_body()
        except RequestError as error:
            await self._refuse(error, head)
            return False
        started_at = trio.current_time()
        exchange = HttpExchange(head, first_part, self._reader, self._wire, self._limits, tasks, self._is_last)
        self._num_exchanges += 1
        self._roster.add(exchange)
        try:
            await self._handle(exchange)
            return await self._conclude(exchange)
        finally:
            self._roster.discard(exchange)
            self._log.emit(
                "ignis.http.request",
                request_id=head.request_id,
                method=head.method,
                path=head.path,
                status=exchange.status or _CLIENT_LEFT_STATUS,
                duration_ms=round((trio.current_time() - started_at) * 1000, 3),
                peer=self._peer,
            )

    def _is_last(self, head: RequestHead) -> bool:
        """Whether the answer under way is the connection's last."""
        if not head.keeps_alive or self._roster.is_draining or self._wire.has_dropped or self._reader.is_broken:
            return True
        if self._reader.is_body_complete:
            return False
        # An unread rest: a short one is read and thrown away, but one that may never be sent can only be closed upon.
        is_short = head.content_length is not None and head.content_length <= _SKIPPED_BYTES
        return not is_short or self._reader.is_continue_awaited

    async def _handle(self, exchange: HttpExchange) -> None:
        """Runs the handler while the client is watched. Faults of the handler are logged and end here."""
        try:
            with exchange.scope:
                self._wire.guard(exchange.scope)
                self._wire.drop_excess(is_dropping=self._reader.is_body_complete)
                await self._handler(exchange)
                if exchange.state not in (AnswerState.ENDED, AnswerState.SWITCHED):
                    raise RuntimeError("the handler returned before it ended its answer")
        except Exception as error:
            # The border of style.md: a connection's last resort. No text of it reaches the client.
            exchange.has_failed = True
            self._log.emit(
                "ignis.http.fault",
                request_id=exchange.request_id,
                method=exchange.head.method,
                path=exchange.path,
                error=error,
            )
        finally:
            self._wire.guard(None)

    async def _conclude(self, exchange: HttpExchange) -> bool:
        """Gives the answer that the handler could not give, and sees to the rest of the request."""
        if exchange.socket is not None:
            await self._conclude_socket(exchange, exchange.socket)
            return False
        if self._wire.has_left:
            if exchange.state is AnswerState.ENDED and exchange.cut_reason is None and not self._wire.is_sending:
                # It left with its answer.
                return False
            exchange.cut(Cut.CLIENT_LEFT)
        try:
            if exchange.state is AnswerState.PENDING and exchange.cut_reason is Cut.DRAINED:
                await self._answer_error(exchange, DrainingError("the server shut down before the request was done"))
            elif exchange.state is AnswerState.PENDING and exchange.cut_reason is None:
                await self._answer_error(exchange, InternalError("the handler failed"))
            if exchange.cut_reason is Cut.DRAINED:
                await exchange.end_watch()
            if exchange.state is not AnswerState.ENDED or exchange.cut_reason in _BROKEN:
                self._cut(exchange)
                return False
            if exchange.is_last or self._wire.has_dropped:
                with trio.move_on_after(_LAST_LINGER_S if exchange.was_given_up else math.inf):
                    await self._wire.finish()
                return False
            await self._wire.flush()
            await exchange.skip_body()
        except (RequestError, DrainingError, ClientLeft, ClientStalled, trio.BrokenResourceError):
            # The answer is out, or nobody is there to read it; the connection cannot be kept.
            return False
        return True

    async def _conclude_socket(self, exchange: HttpExchange, socket: WebSocket) -> None:
        """Closes a WebSocket, where neither side has, and the connection behind the close frames."""
        if self._wire.has_left and socket.is_open:
            exchange.cut(Cut.CLIENT_LEFT)
        if exchange.cut_reason in _BROKEN:
            self._cut(exchange)
        else:
            if exchange.has_failed:
                await socket.end(CloseReason.INTERNAL_ERROR)
            elif self._roster.is_draining:
                await socket.end(CloseReason.GOING_AWAY, "the server shuts down")
            else:
                await socket.end(CloseReason.NORMAL_CLOSURE)
            await self._wire.finish()
        socket.stop()
        self._roster.note_close(socket.close_code)
        self._log.emit(
            "ignis.http.websocket",
            request_id=exchange.request_id,
            path=exchange.path,
            close_code=socket.close_code,
            reason=socket.close_reason,
            received=socket.num_received,
            sent=socket.num_sent,
            peer=self._peer,
        )

    def _cut(self, exchange: HttpExchange) -> None:
        """Closes in the middle of an answer, so that the client sees that something is missing."""
        reason = "handler_failed" if exchange.cut_reason is None else exchange.cut_reason.value
        self._log.emit("ignis.http.connection_cut", peer=self._peer, reason=reason, request_id=exchange.request_id)
        if exchange.cut_reason is Cut.CLIENT_STALLED or exchange.head.framing is Framing.CLOSE:
            # What the kernel still holds would wait for a stalled client; and to HTTP/1.0 a plain close is a good end.
            self._wire.cut()
        else:
            self._wire.close()

    async def _refuse(self, error: IgnisError, head: RequestHead | None = None) -> None:
        """Answers in place of a handler, and closes. Without a head the request was never understood."""
        request_id = new_request_id() if head is None else head.request_id
        has_body = head is None or not head.is_head
        self._roster.note_refusal(error)
        self._log.emit(
            "ignis.http.request",
            request_id=request_id,
            method=None if head is None else head.method,
            path=None if head is None else head.path,
            status=error.status,
            peer=self._peer,
        )
        try:
            origin = None if head is None else head.headers.get("origin")
            await self._wire.send(error_answer(error, request_id, origin, self._limits.origins, has_body=has_body))
            await self._wire.finish()
        except (ClientLeft, ClientStalled):
            self._wire.cut()

    async def _answer_error(self, exchange: HttpExchange, error: IgnisError) -> None:
        status, body, fields = error_parts(error, exchange.headers.get("origin"), self._limits.origins)
        await exchange.respond(status, body, headers=fields)
