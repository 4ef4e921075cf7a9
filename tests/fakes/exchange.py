"""The fake of port 1: one request built from literals, and what the handler answered. Does no I/O and keeps no time.

    exchange = FakeExchange("POST", "/v1/chat/completions", body={"messages": []})
    await handler(exchange)
    assert exchange.answer.status == 400

A handler that streams is read through `exchange.events`, afterwards or, from another task, while it runs.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import trio

from ignis.errors import RequestTooLargeError
from ignis.exchange import EventStream, Exchange, Socket

_LINE_END = re.compile(rb"[\r\n]")


@dataclass(frozen=True, slots=True)
class FakeAnswer:
    """What `respond` was given."""

    status: int
    body: bytes
    content_type: str
    headers: tuple[tuple[str, str], ...]

    def header(self, name: str) -> str | None:
        """The first value of a field, whatever its case."""
        return _first(self.headers, name)

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class FakeEvent:
    """One event that was sent on a stream."""

    data: bytes
    event: str | None = None

    def json(self) -> Any:
        return json.loads(self.data)


class FakeEventStream:
    """Keeps what is sent. Sending is a checkpoint, so that a cancelled handler stops here as it does on a slow socket:
    after the event, which still goes out."""

    def __init__(self, headers: Sequence[tuple[str, str]]) -> None:
        self.headers = tuple(headers)
        self.sent: list[FakeEvent] = []
        self.is_closed = False
        self._changed = trio.Event()

    async def send(self, data: bytes, event: str | None = None) -> None:
        assert not self.is_closed, "send after close"
        assert not _LINE_END.search(data), "an event's data holds no newline"
        self.sent.append(FakeEvent(bytes(data), event))
        self._wake()
        await trio.lowlevel.checkpoint()

    async def close(self) -> None:
        assert not self.is_closed, "closed twice"
        await trio.lowlevel.checkpoint()
        self.is_closed = True
        self._wake()

    def header(self, name: str) -> str | None:
        """The first value of a field, whatever its case."""
        return _first(self.headers, name)

    async def wait_sent(self, num_events: int) -> None:
        """Waits until so many events were sent, or the stream was closed."""
        while len(self.sent) < num_events and not self.is_closed:
            await self._changed.wait()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = trio.Event()


class FakeSocket:
    """The client's side of a socket: `say` to the handler, `hear` what it sent."""

    def __init__(self, subprotocol: str | None) -> None:
        self.subprotocol = subprotocol
        self.closed: tuple[int, str] | None = None
        self._said, self._to_handler = trio.open_memory_channel[str | bytes](1000)
        self._sent, self._heard = trio.open_memory_channel[bytes](100_000)

    async def receive(self) -> str | bytes | None:
        try:
            return await self._to_handler.receive()
        except trio.EndOfChannel:
            return None

    async def send(self, text: bytes) -> None:
        assert self.closed is None, "send after close"
        self._sent.send_nowait(bytes(text))
        await trio.lowlevel.checkpoint()

    async def close(self, code: int = 1000, reason: str = "") -> None:
        await trio.lowlevel.checkpoint()
        self.closed = (code, reason)

    # For the test

    def say(self, message: Any) -> None:
        """Sends a message: text or bytes as they are, anything else as JSON."""
        self._said.send_nowait(message if isinstance(message, str | bytes) else json.dumps(message))

    async def hear(self) -> Any:
        """The next message of the handler."""
        return json.loads(await self._heard.receive())

    def heard(self) -> list[Any]:
        """All that was sent and not yet heard."""
        found = []
        while True:
            try:
                found.append(json.loads(self._heard.receive_nowait()))
            except trio.WouldBlock:
                return found

    def drain(self) -> None:
        """The server stops: no more messages."""
        self._said.close()


class FakeExchange:
    """One exchange. `body` that is neither bytes nor text is sent as JSON."""

    def __init__(
        self,
        method: str = "GET",
        path: str = "/",
        *,
        body: Any = b"",
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        request_id: str = "req-test",
        is_upgrade: bool = False,
    ) -> None:
        self._body = (
            body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
        )
        self._method = "GET" if method == "HEAD" else method
        self._path = path
        self._query = dict(query or {})
        self._headers = {name.lower(): value for name, value in (headers or {}).items()}
        self._request_id = request_id
        self._body_was_read = False
        self._is_upgrade = is_upgrade
        self.is_watch = False
        """Whether the handler opened a stream without an end of its own."""
        self._socket: FakeSocket | None = None
        self._opened = trio.Event()
        self._answer: FakeAnswer | None = None
        self._stream: FakeEventStream | None = None

    @property
    def request_id(self) -> str:
        return self._request_id

    @property
    def method(self) -> str:
        return self._method

    @property
    def path(self) -> str:
        return self._path

    @property
    def query(self) -> Mapping[str, str]:
        return self._query

    @property
    def headers(self) -> Mapping[str, str]:
        return self._headers

    async def read_body(self, limit_bytes: int) -> bytes:
        assert not self._body_was_read, "the body is read once"
        self._body_was_read = True
        await trio.lowlevel.checkpoint()
        if len(self._body) > limit_bytes:
            raise RequestTooLargeError(f"the body holds {len(self._body)} bytes, at most {limit_bytes} are allowed")
        return self._body

    async def respond(
        self,
        status: int,
        body: bytes = b"",
        content_type: str = "application/json",
        headers: Sequence[tuple[str, str]] = (),
    ) -> None:
        self._assert_unanswered()
        await trio.lowlevel.checkpoint()
        self._answer = FakeAnswer(status, bytes(body), content_type, tuple(headers))

    async def open_events(self, headers: Sequence[tuple[str, str]] = ()) -> EventStream:
        self._assert_unanswered()
        await trio.lowlevel.checkpoint()
        self._stream = FakeEventStream(headers)
        self._opened.set()
        return self._stream

    async def open_watch(self, headers: Sequence[tuple[str, str]] = ()) -> EventStream:
        self.is_watch = True
        return await self.open_events(headers)

    @property
    def is_upgrade(self) -> bool:
        return self._is_upgrade

    async def accept(self, limit_bytes: int, subprotocol: str | None = None) -> Socket:
        self._assert_unanswered()
        assert self._is_upgrade, "the client asked for no upgrade"
        await trio.lowlevel.checkpoint()
        self._socket = FakeSocket(subprotocol)
        self._opened.set()
        return self._socket

    # For the test

    @property
    def is_answered(self) -> bool:
        return self._answer is not None or self._stream is not None or self._socket is not None

    async def wait_accepted(self) -> FakeSocket:
        """Waits until the handler has accepted the socket."""
        await self._opened.wait()
        assert self._socket is not None, "the handler opened no socket"
        return self._socket

    @property
    def answer(self) -> FakeAnswer:
        """What the handler responded."""
        assert self._answer is not None, "the handler did not respond"
        return self._answer

    @property
    def stream(self) -> FakeEventStream:
        """The stream that the handler opened."""
        assert self._stream is not None, "the handler opened no stream"
        return self._stream

    @property
    def events(self) -> list[FakeEvent]:
        """The events sent so far."""
        return self.stream.sent

    async def wait_opened(self) -> FakeEventStream:
        """Waits until the handler has opened its stream."""
        await self._opened.wait()
        return self.stream

    def _assert_unanswered(self) -> None:
        assert not self.is_answered, "an exchange is answered once"


def _first(headers: Sequence[tuple[str, str]], name: str) -> str | None:
    return next((value for key, value in headers if key.lower() == name.lower()), None)


def _is_an_exchange(fake: FakeExchange) -> Exchange:
    """Lets the type checker hold the fake to the port."""
    return fake
