"""Port 1: one HTTP request and its answer, as the API sees it. Implemented by server/ and by the tests' fake; no I/O.

The server runs one handler per exchange inside a cancel scope. A client that leaves cancels that scope, wherever the
handler waits, so a handler never has to ask whether anybody still listens.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

IMMUTABLE = "public, max-age=31536000, immutable"
"""A Cache-Control (RFC 8246) of what is never another under its path. The server keeps its coded form too."""


class EventStream(Protocol):
    """A text/event-stream body under way. While nothing is sent, the server keeps it alive with comment lines."""

    async def send(self, data: bytes, event: str | None = None) -> None:
        """Frames one event (data holds no newline) and sends it; waits while the client is slow.

        Is a checkpoint only when it waits. An event under way when its sender is cancelled still goes out whole, so
        that a deadline may strike here and the stream be ended properly after it.
        """
        ...

    async def close(self) -> None:
        """Ends the body. Leaving a handler without it cuts the connection, so that a client sees a broken stream."""
        ...


class Socket(Protocol):
    """An accepted WebSocket. Pings, fragments, malformed frames and the closing handshake are the server's own.

    A client that closes, in order or not, or that takes nothing any more, cancels the handler like one that leaves.
    Leaving the handler closes the socket: with 1000 where it returned, 1001 where the server drains, 1011 where it
    raised.
    """

    async def receive(self) -> str | bytes | None:
        """Waits for one whole message: text, or bytes where it was binary. One task receives.

        None: the server drains and takes no more messages; the handler ends what it has begun, then returns.
        Messages that nobody receives wait, up to a bound; then the client waits.
        """
        ...

    async def send(self, text: bytes) -> None:
        """Sends one text message, given as UTF-8. Waits while the client is slow; any number of tasks may send.

        A message under way when its sender is cancelled still goes out whole.
        """
        ...

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Closes (RFC 6455 section 7.4; the reason is cut to 123 bytes). Nothing can be sent after it.

        1003: the kind of message is not taken; 1008: a rule was broken; 1013: no room now; 4000 to 4999: the API's own.
        """
        ...


class Exchange(Protocol):
    """One request. Exactly one of `respond`, `open_events`, `open_watch` and `accept` is called, once."""

    @property
    def request_id(self) -> str:
        """From the client's X-Request-Id where that is sane, else made here; sent back in the answer."""
        ...

    @property
    def method(self) -> str:
        """Upper case. HEAD is seen as GET; the server drops the body."""
        ...

    @property
    def path(self) -> str:
        """Percent-decoded, without the query, always starting with a slash."""
        ...

    @property
    def query(self) -> Mapping[str, str]: ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Lower-case names; repeated fields are joined with a comma."""
        ...

    @property
    def is_upgrade(self) -> bool:
        """Whether the client asks for a WebSocket. Its offer may still be malformed: `accept` looks at it."""
        ...

    async def read_body(self, limit_bytes: int) -> bytes:
        """The whole body, read once, and decoded where it comes as gzip.

        Raises:
            RequestTooLargeError: more than limit_bytes were announced or came; nothing was parsed.
            InvalidRequestError: its framing or its coding is malformed.
            UnsupportedEncodingError: it comes in another coding.
            SlowRequestError: it did not come in time.
        """
        ...

    async def respond(
        self,
        status: int,
        body: bytes = b"",
        content_type: str = "application/json",
        headers: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Answers with a whole body. A large one of text goes out as gzip, where the client takes that.

        Under an IMMUTABLE Cache-Control it is coded once.
        """
        ...

    async def open_events(self, headers: Sequence[tuple[str, str]] = ()) -> EventStream:
        """Sends 200 with content type text/event-stream and leaves the body open."""
        ...

    async def open_watch(self, headers: Sequence[tuple[str, str]] = ()) -> EventStream:
        """As `open_events`, for a stream that has no end of its own: no drain waits for it.

        A server that drains cancels the handler like a client that leaves, and ends the stream in its place.

        Raises:
            DrainingError: nothing was answered yet.
        """
        ...

    async def accept(self, limit_bytes: int, subprotocol: str | None = None) -> Socket:
        """Answers 101 and becomes a WebSocket. `limit_bytes` is the size of the largest message that is taken.

        Raises:
            InvalidRequestError, WebSocketVersionError, OriginNotAllowedError, DrainingError: nothing was answered yet.
        """
        ...
