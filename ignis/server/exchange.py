"""Port 1 over a connection: one request, its body, its one answer. Does not decide what becomes of the connection.

The connection runs the handler inside `scope`. Whatever makes the handler's work pointless is a cut: its first reason
is kept, the scope is cancelled, and the connection does what the reason asks for.
"""

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

import trio

from ignis.errors import DrainingError, RequestError, RequestTooLargeError, SlowRequestError
from ignis.exchange import EventStream, Socket
from ignis.machine import advance
from ignis.server import coding
from ignis.server.answer import CONTINUE, Framing, events_head, switching_head, whole_answer
from ignis.server.cut import Cut
from ignis.server.http11 import RequestHead, RequestReader
from ignis.server.limits import ServerLimits
from ignis.server.sse import SseStream
from ignis.server.upgrade import accept_token, asks_for_websocket
from ignis.server.websocket import WebSocket
from ignis.server.wire import ClientLeft, ClientStalled, Wire

_LAST_WRITE_S = 5.0
"""Longest wait for a client that takes nothing, once the server stops."""
_WATCH_WRITE_S = 1.0
"""The same, where what it does not take is the end of a stream that it only watches."""


class AnswerState(enum.Enum):
    PENDING = "pending"
    STREAMING = "streaming"
    SWITCHED = "switched"
    """It is a WebSocket, which has a state of its own."""
    ENDED = "ended"


class AnswerEvent(enum.Enum):
    RESPOND = "respond"
    OPEN = "open"
    SWITCH = "switch"
    FRAME = "frame"
    CLOSE = "close"


_TABLE = {
    AnswerState.PENDING: {
        AnswerEvent.RESPOND: AnswerState.ENDED,
        AnswerEvent.OPEN: AnswerState.STREAMING,
        AnswerEvent.SWITCH: AnswerState.SWITCHED,
    },
    AnswerState.STREAMING: {AnswerEvent.FRAME: AnswerState.STREAMING, AnswerEvent.CLOSE: AnswerState.ENDED},
    AnswerState.SWITCHED: {},
    AnswerState.ENDED: {},
}


class HttpExchange:
    """Made by the connection for each request; owned by it.

    `is_last` is asked when the head of the answer is written: whether it is to say that no further request is read.
    Comments of a stream run in `tasks`, the connection's nursery, and end with the stream or the connection.
    """

    def __init__(
        self,
        head: RequestHead,
        first_part: bytes,
        reader: RequestReader,
        wire: Wire,
        limits: ServerLimits,
        tasks: trio.Nursery,
        is_last: Callable[[RequestHead], bool],
    ) -> None:
        self.head = head
        self.scope = trio.CancelScope()
        self.state = AnswerState.PENDING
        self.status: int | None = None
        """What the client was told, once it was."""
        self.is_last = False
        """Whether the answer said `connection: close`."""
        self.cut_reason: Cut | None = None
        self.has_failed = False
        """Whether the handler raised."""
        self.socket: WebSocket | None = None
        """What the exchange became, once it was accepted."""
        self._is_draining = False
        self._is_endless = False
        """Whether its answer has no end of its own."""
        self._watch: SseStream | None = None
        """That answer, once its head is out."""
        self._first_part = first_part
        self._reader = reader
        self._wire = wire
        self._limits = limits
        self._tasks = tasks
        self._decide_last = is_last
        self.was_given_up = False
        """Whether the server stopped, and waited no longer for the rest of the body."""
        self._waits_for_body = True
        self._body_wait = trio.CancelScope()
        self._body_was_read = False
        self._body_started_at = trio.current_time()
        self._body_bytes = len(first_part)

    # The request

    @property
    def request_id(self) -> str:
        return self.head.request_id

    @property
    def method(self) -> str:
        return "GET" if self.head.is_head else self.head.method

    @property
    def path(self) -> str:
        return self.head.path

    @property
    def query(self) -> Mapping[str, str]:
        return self.head.query

    @property
    def headers(self) -> Mapping[str, str]:
        return self.head.headers

    @property
    def is_upgrade(self) -> bool:
        return asks_for_websocket(self.head)

    async def read_body(self, limit_bytes: int) -> bytes:
        assert not self._body_was_read, "the body is read once"
        self._body_was_read = True
        is_gzip = coding.is_gzip(self.headers.get("content-encoding", ""))
        announced_bytes = self.head.content_length
        if announced_bytes is not None and announced_bytes > limit_bytes:
            raise RequestTooLargeError(f"the body has {announced_bytes} bytes, at most {limit_bytes} are taken")
        if self._reader.is_continue_awaited:
            await self._send(CONTINUE)
        body = bytearray(self._first_part)
        try:
            while not self._reader.is_body_complete and len(body) <= limit_bytes:
                body += await self._next_part()
        except RequestError:
            self._wire.drop_excess(is_dropping=True)
            raise
        except ClientLeft:
            self.cut(Cut.CLIENT_LEFT)
            await self._abandon()
        except DrainingError:
            self.cut(Cut.DRAINED)
            await self._abandon()
        if len(body) > limit_bytes:
            raise RequestTooLargeError(f"the body is longer than the {limit_bytes} bytes that are taken")
        return await coding.decode(bytes(body), limit_bytes) if is_gzip else bytes(body)

    async def skip_body(self) -> None:
        """Reads on to the end of a body that nobody wants.

        Raises:
            RequestError: it is malformed, or does not come in time.
            ClientLeft: it does not come at all.
            DrainingError: the server stops, and waits no longer for it.
        """
        while not self._reader.is_body_complete:
            await self._next_part()

    async def _next_part(self) -> bytes:
        deadline = min(
            trio.current_time() + self._limits.body_timeout_s,
            self._body_started_at + self._limits.body_timeout_s + self._body_bytes / self._limits.body_bytes_s,
        )
        with trio.move_on_at(deadline) as self._body_wait:
            if not self._waits_for_body:
                self._body_wait.cancel()
            data = await self._wire.receive()
        if self._body_wait.cancelled_caught:
            self._reader.give_up()
            if not self._waits_for_body:
                self.was_given_up = True
                raise DrainingError("the server shut down before the request body had come")
            raise SlowRequestError("the request body did not come in time")
        if not data:
            raise ClientLeft
        self._reader.feed(data)
        part = self._reader.take_body()
        self._body_bytes += len(part)
        if self._reader.is_body_complete:
            self._wire.drop_excess(is_dropping=True)
        return part

    # The answer

    async def respond(
        self,
        status: int,
        body: bytes = b"",
        content_type: str = "application/json",
        headers: Sequence[tuple[str, str]] = (),
    ) -> None:
        accepted = self.headers.get("accept-encoding", "")
        body, headers = await coding.encode(body, content_type, headers, accepted)
        after = advance(_TABLE, self.state, AnswerEvent.RESPOND)
        is_last = self._decide_last(self.head)
        data = whole_answer(
            status, body, content_type, headers, self.request_id, closes=is_last, has_body=not self.head.is_head
        )
        self.state, self.status, self.is_last = after, status, is_last
        await self._send(data)

    async def open_events(self, headers: Sequence[tuple[str, str]] = ()) -> EventStream:
        return await self._open(headers)

    async def open_watch(self, headers: Sequence[tuple[str, str]] = ()) -> EventStream:
        if self._is_draining:
            raise DrainingError("the server shuts down")
        self._is_endless = True
        self._watch = await self._open(headers)
        return self._watch

    async def _open(self, headers: Sequence[tuple[str, str]]) -> SseStream:
        after = advance(_TABLE, self.state, AnswerEvent.OPEN)
        is_last = self._decide_last(self.head) or self.head.framing is Framing.CLOSE
        data = events_head(headers, self.request_id, self.head.framing, closes=is_last)
        self.state, self.status, self.is_last = after, 200, is_last
        await self._send(data)
        if self.head.is_head:
            # The answer is whole, and a stream that only ends with its client would never give the connection back.
            self.state = advance(_TABLE, self.state, AnswerEvent.CLOSE)
            self.scope.cancel()
            await trio.lowlevel.checkpoint()
        stream = SseStream(self._send_frame, self._end_events, self._transmit, self.head.framing)
        self._tasks.start_soon(stream.keep_alive, self._limits.keepalive_comment_s)
        return stream

    async def accept(self, limit_bytes: int, subprotocol: str | None = None) -> Socket:
        if self._is_draining:
            raise DrainingError("the server shuts down")
        token = accept_token(self.head, self._limits.origins)
        after = advance(_TABLE, self.state, AnswerEvent.SWITCH)
        data = switching_head(token, subprotocol, self.request_id)
        self.state, self.status, self.is_last = after, 101, True
        # What a full inbox holds are messages: the client has to wait, nothing is dropped.
        self._wire.drop_excess(is_dropping=False)
        self.socket = WebSocket(self._wire, self._reader.take_rest(), limit_bytes, self._limits, self.cut)
        await self._send(data)
        self._tasks.start_soon(self.socket.run)
        return self.socket

    async def _send_frame(self, frame: bytes) -> None:
        self.state = advance(_TABLE, self.state, AnswerEvent.FRAME)
        await self._send(frame)

    async def _end_events(self, last: bytes) -> None:
        self.state = advance(_TABLE, self.state, AnswerEvent.CLOSE)
        await self._send(last)

    async def _send(self, data: bytes) -> None:
        if not await self._transmit(data):
            await self._abandon()

    async def _transmit(self, data: bytes) -> bool:
        """Sends, or cuts the exchange and returns False."""
        try:
            await self._wire.send(data)
        except ClientLeft:
            self.cut(Cut.CLIENT_LEFT)
            return False
        except ClientStalled:
            self.cut(Cut.CLIENT_STALLED)
            return False
        return True

    # The end

    def drain(self) -> None:
        """The server stops: what runs may end, but what has no end is cut, and a WebSocket takes no more messages.

        A client that takes nothing has little time from here on.
        """
        self._is_draining = True
        self._wire.hurry(_WATCH_WRITE_S if self._is_endless else _LAST_WRITE_S)
        if self._is_endless:
            self.cut(Cut.DRAINED)
        if self.socket is not None:
            self.socket.drain()

    def give_up_body(self) -> None:
        """Waits for the rest of the body no longer, from now on."""
        self._waits_for_body = False
        self._body_wait.cancel()

    def cut(self, reason: Cut) -> None:
        """Cancels the handler. The first reason is kept."""
        if self.cut_reason is None:
            self.cut_reason = reason
        self.scope.cancel()

    async def end_watch(self) -> None:
        """Ends the stream that had no end of its own, where one is open.

        Raises:
            BrokenResourceError: its client does not take the end.
        """
        if self._watch is not None and self.state is AnswerState.STREAMING:
            await self._watch.close()

    async def _abandon(self) -> NoReturn:
        """Leaves a handler whose exchange was cut."""
        await trio.lowlevel.checkpoint()
        # Only a handler that shields itself from being cancelled comes this far.
        raise trio.BrokenResourceError("the exchange was cut")
