"""One exchange as the router hands it on: adds headers, notes the status, and lets a stream begin early."""

from collections.abc import Mapping, Sequence

from ignis.exchange import EventStream, Exchange, Socket


class _EarlyStream:
    """A stream that was opened before anybody knew what it will say."""

    def __init__(self, stream: EventStream) -> None:
        self._stream = stream
        self.is_used = False
        """Whether an event was sent, or it was closed."""

    async def send(self, data: bytes, event: str | None = None) -> None:
        self.is_used = True
        await self._stream.send(data, event)

    async def close(self) -> None:
        self.is_used = True
        await self._stream.close()


class Reply:
    """An Exchange that adds headers to the answer. `status` is 0 until something was answered.

    `open_events` may be called a second time as long as nothing was sent, and gives the same stream: whoever lets a
    request wait opens it, so that its client sees comments, and the route opens it again when it begins to answer. What
    a route answers with a status after that goes out as the stream's only event, named `error`.
    """

    def __init__(self, exchange: Exchange, extra: Sequence[tuple[str, str]] = ()) -> None:
        self._exchange = exchange
        self._extra = tuple(extra)
        self.status = 0
        self._early: _EarlyStream | None = None

    @property
    def request_id(self) -> str:
        return self._exchange.request_id

    @property
    def method(self) -> str:
        return self._exchange.method

    @property
    def path(self) -> str:
        return self._exchange.path

    @property
    def query(self) -> Mapping[str, str]:
        return self._exchange.query

    @property
    def headers(self) -> Mapping[str, str]:
        return self._exchange.headers

    @property
    def is_upgrade(self) -> bool:
        return self._exchange.is_upgrade

    async def read_body(self, limit_bytes: int) -> bytes:
        return await self._exchange.read_body(limit_bytes)

    async def respond(
        self,
        status: int,
        body: bytes = b"",
        content_type: str = "application/json",
        headers: Sequence[tuple[str, str]] = (),
    ) -> None:
        if self._early is not None and not self._early.is_used:
            await self._early.send(body, "error")
            await self._early.close()
            return
        self.status = status
        await self._exchange.respond(status, body, content_type, (*headers, *self._extra))

    async def open_events(self, headers: Sequence[tuple[str, str]] = ()) -> EventStream:
        if self._early is None or self._early.is_used:
            self.status = 200
            self._early = _EarlyStream(await self._exchange.open_events((*headers, *self._extra)))
        return self._early

    async def open_watch(self, headers: Sequence[tuple[str, str]] = ()) -> EventStream:
        stream = await self._exchange.open_watch((*headers, *self._extra))
        self.status = 200
        return stream

    @property
    def is_undecided(self) -> bool:
        """Whether an error can still be told: nothing was answered, or nothing but a stream's head."""
        return self.status == 0 or (self._early is not None and not self._early.is_used)

    async def accept(self, limit_bytes: int, subprotocol: str | None = None) -> Socket:
        socket = await self._exchange.accept(limit_bytes, subprotocol)
        self.status = 101
        return socket
