"""GET /v1/responses as a WebSocket: responses on streams, in order within one and beside each other across them.

What goes out are the events of the HTTP stream, one message each. A response that finds every lane taken waits its turn
among all sockets of the server. What the connection knows of earlier responses is gone with it.
"""

import re
from collections import deque
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import trio

from ignis.api.answering import Answering, Event
from ignis.api.auth import choose_subprotocol
from ignis.api.body import check_body, decode, parse_body
from ignis.api.generation import release
from ignis.api.orders import Orders
from ignis.api.refusal import spell
from ignis.api.response_run import Earlier, ResponseRun, ResponseRuns
from ignis.api.response_shape import PrewarmShape, ResponseShape
from ignis.api.response_store import StoredResponse
from ignis.api.schema.response_events import SocketError
from ignis.api.schema.responses import CancelEvent, CreateEvent
from ignis.api.serving import Serving
from ignis.error_body import detail
from ignis.errors import (
    EngineFullError,
    Fault,
    IgnisError,
    InternalError,
    InvalidRequestError,
    InvalidStreamIdError,
    ResponseNotFoundError,
    SteeringNotSupportedError,
    StreamLimitError,
)
from ignis.exchange import Exchange, Socket
from ignis.limits import MAX_ACTIVE_RESPONSES, MAX_STREAM_ID_CHARACTERS, MAX_STREAMS, MAX_WAITING_RESPONSES
from ignis.log import Log

_STREAM_ID = re.compile(r"[A-Za-z0-9_.-]+")
_EVENTS = ("response.create", "response.cancel")
_STEER = "response.steer"


class ResponseSocket:
    """The endpoint."""

    def __init__(
        self,
        serving: Serving,
        orders: Orders,
        answering: Answering,
        runs: ResponseRuns,
        log: Log,
        max_body_bytes: int,
    ) -> None:
        self.serving = serving
        self.orders = orders
        self.answering = answering
        self.runs = runs
        self.log = log
        self._max_body_bytes = max_body_bytes

    async def serve(self, exchange: Exchange) -> None:
        if not exchange.is_upgrade:
            raise InvalidRequestError("GET is served here as a WebSocket only: the request asks for no upgrade")
        socket = await exchange.accept(self._max_body_bytes, choose_subprotocol(exchange))
        await _Connection(self, exchange, socket).run()


@dataclass(frozen=True, slots=True)
class _Asked:
    """A response.create that waits for its turn."""

    fields: CreateEvent
    raw: dict[str, object]
    earlier: Earlier
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    """Gives it up."""


class _Stream:
    """One stream of a connection."""

    def __init__(self, stream_id: str | None) -> None:
        self.stream_id = stream_id
        self.latest: StoredResponse | None = None
        """The last one that finished: what the next may go on from."""
        self.active: ResponseRun | None = None
        self.line: deque[_Asked] = deque()
        """What was asked and is not answered; the first one's turn it is, though it may not be active yet."""
        self.put, self.asked = trio.open_memory_channel[_Asked](MAX_WAITING_RESPONSES)


class _Connection:
    """One WebSocket."""

    def __init__(self, endpoint: ResponseSocket, exchange: Exchange, socket: Socket) -> None:
        self._endpoint = endpoint
        self._exchange = exchange
        self._socket = socket
        self._streams: dict[str | None, _Stream] = {}
        self._num_waiting = 0
        self._places = trio.Semaphore(MAX_ACTIVE_RESPONSES)

    async def run(self) -> None:
        """Returns once the server drains and what was begun has ended; a client that leaves cancels all of it."""
        async with trio.open_nursery() as tasks:
            while (message := await self._socket.receive()) is not None:
                await self._take(message, tasks)
            for stream in self._streams.values():
                stream.put.close()

    async def _take(self, message: str | bytes, tasks: trio.Nursery) -> None:
        head = _Head()
        try:
            head = _read_head(message)
            data = message.encode() if isinstance(message, str) else message
            if head.type == _STEER:
                raise SteeringNotSupportedError("a response takes no input once it has begun")
            if head.type == "response.cancel":
                self._cancel(parse_body(data, CancelEvent).fields)
            else:
                await self._ask(data, tasks)
        except IgnisError as error:
            stream_id = head.stream_id if isinstance(head.stream_id, str) else None
            self._forget(stream_id, head.previous_response_id)
            await self._send_error(error, stream_id)

    def _forget(self, stream_id: str | None, response_id: object) -> None:
        """A response that was to go on from the latest of its own stream has failed: it cannot be gone on from."""
        stream = self._streams.get(stream_id)
        if stream is not None and stream.latest is not None and stream.latest.id == response_id:
            stream.latest = None

    # Asking

    async def _ask(self, data: bytes, tasks: trio.Nursery) -> None:
        read = await check_body(data, CreateEvent)
        fields = read.fields
        self._endpoint.orders.report_ignored(read.ignored, self._exchange)
        stream = self._streams.get(fields.stream_id) or _Stream(fields.stream_id)
        if fields.stream_id not in self._streams:
            self._check_new(fields.stream_id)
        earlier = self._earlier(fields.previous_response_id)
        if self._num_waiting == MAX_WAITING_RESPONSES:
            raise EngineFullError(f"{MAX_WAITING_RESPONSES} responses of this connection wait already")
        asked = _Asked(fields, read.raw, earlier)
        stream.put.send_nowait(asked)
        stream.line.append(asked)
        self._num_waiting += 1
        if fields.stream_id not in self._streams:
            # Only what is accepted takes a name.
            self._streams[fields.stream_id] = stream
            tasks.start_soon(self._serve, stream)

    def _check_new(self, stream_id: str | None) -> None:
        if stream_id is None:
            return
        if not _STREAM_ID.fullmatch(stream_id) or len(stream_id) > MAX_STREAM_ID_CHARACTERS:
            raise InvalidStreamIdError(
                f"stream_id must be 1 to {MAX_STREAM_ID_CHARACTERS} letters, digits, points, _ and -, "
                f"not {stream_id[:60]!r}"
            )
        if len(self._streams.keys() - {None}) == MAX_STREAMS:
            raise StreamLimitError(f"a connection has at most {MAX_STREAMS} named streams")

    def _earlier(self, response_id: str | None) -> Earlier:
        """What a response goes on from: the latest of a stream of this connection, or a response that was stored."""
        if response_id is None:
            return Earlier()
        for stream in self._streams.values():
            if stream.latest is not None and stream.latest.id == response_id:
                return Earlier(stream.latest.items, stream.latest.items_bytes)
        return self._endpoint.runs.earlier(response_id)

    def _cancel(self, fields: CancelEvent) -> None:
        """Gives up the response that is named, or the one that runs on the stream."""
        if fields.response_id is None:
            stream = self._streams.get(fields.stream_id)
            scope = stream.line[0].scope if stream is not None and stream.line else None
            name = "runs on this stream"
        else:
            actives = [stream.active for stream in self._streams.values() if stream.active is not None]
            scope = next((run.scope for run in actives if run.response.id == fields.response_id), None)
            name = f"{fields.response_id[:80]!r} runs on this connection"
        if scope is None:
            raise ResponseNotFoundError(f"no response {name}")
        scope.cancel()

    # Answering

    async def _serve(self, stream: _Stream) -> None:
        async for asked in stream.asked:
            async with self._places:
                self._num_waiting -= 1
                has_ended_well = await self._answer(stream, asked)
            stream.line.popleft()
            if not has_ended_well:
                self._forget(stream.stream_id, asked.fields.previous_response_id)

    async def _answer(self, stream: _Stream, asked: _Asked) -> bool:
        """Answers one response.create; False where it failed."""
        fields = asked.fields
        # On a socket a response is kept for the connection only, unless the client wants it stored.
        fields.store = bool(fields.store)
        request_id = self._exchange.request_id
        shape: ResponseShape | None = None
        try:
            run = await self._endpoint.runs.make(fields, asked.raw, asked.earlier, request_id)
            run.scope = asked.scope
            if fields.generate is False:
                # One token is drawn where a prompt is read to its end.
                run.order = replace(run.order, max_tokens=1)
                shape = PrewarmShape(run.tale, fields.stream_id)
            else:
                shape = ResponseShape(run.tale, fields.stream_id)
            stream.active = run
            with self._endpoint.runs.running(run):
                with run.scope:
                    await self._tell(run, shape)
                if run.scope.cancelled_caught:
                    for event in shape.cancel():
                        await self._send(event)
        except IgnisError as error:
            await self._send_error(error, fields.stream_id)
            return False
        except Exception as error:
            # The border of this response: the others of the connection go on.
            self._endpoint.log.emit("ignis.request.fault", request_id=request_id, error=error)
            failure = InternalError("a handler failed")
            if shape is None or not shape.tale.has_begun:
                await self._send_error(failure, fields.stream_id)
                return False
            for event in shape.fail(failure):
                await self._send(event)
            return False
        finally:
            stream.active = None
        if run.response.status == "failed":
            return False
        stream.latest = run.conversation()
        return True

    async def _tell(self, run: ResponseRun, shape: ResponseShape) -> None:
        endpoint = self._endpoint

        async def queue(place: int) -> None:
            for event in shape.queue(place):
                await self._send(event)

        try:
            mailboxes = await endpoint.serving.submit_in_turn(run.order.submissions(), run.order.model, queue)
        except IgnisError as error:
            if not run.tale.has_begun:
                raise
            for event in shape.fail(error):
                await self._send(event)
            return
        try:
            await endpoint.answering.tell([run.order], mailboxes, shape, self._send, self._exchange.request_id)
        finally:
            release(mailboxes)

    async def _send(self, event: Event) -> None:
        await self._socket.send(event.data)

    async def _send_error(self, error: IgnisError, stream_id: str | None) -> None:
        if isinstance(error, Fault):
            self._endpoint.log.emit("ignis.request.fault", request_id=self._exchange.request_id, error=error)
        told = SocketError(
            status=error.status,
            error=detail(error),
            stream_id=msgspec.UNSET if stream_id is None else stream_id[:MAX_STREAM_ID_CHARACTERS],
        )
        await self._socket.send(msgspec.json.encode(told))


def _read_head(message: str | bytes) -> "_Head":
    """What the message is.

    Raises:
        InvalidRequestError: it is no event that a client may send.
    """
    if isinstance(message, bytes):
        raise InvalidRequestError("a message must be text, not binary")
    try:
        head = decode(message.encode(), _Head)
    except msgspec.ValidationError as error:
        raise InvalidRequestError("the message must be a JSON object") from error
    except msgspec.DecodeError as error:
        raise InvalidRequestError(f"the message is not valid JSON: {error}") from error
    except RecursionError as error:
        raise InvalidRequestError("the message is nested too deeply") from error
    if not isinstance(head.type, str) or head.type not in (*_EVENTS, _STEER):
        allowed = " or ".join(_EVENTS)
        raise InvalidRequestError(f"type must be {allowed}, not {spell(head.type)}", "type")
    return head


class _Head(msgspec.Struct):
    """What is read of a message before it is known what it is; the rest of it, which may be long, is skipped."""

    type: Any = None
    stream_id: Any = None
    previous_response_id: Any = None
