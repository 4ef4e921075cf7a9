"""One exchange as the router hands it on: adds headers to the answer and notes its status."""

from collections.abc import Mapping, Sequence

from ignis.exchange import EventStream, Exchange, Socket


class Reply:
    """An Exchange that adds headers to the answer. `status` is 0 until something was answered."""

    def __init__(self, exchange: Exchange, extra: Sequence[tuple[str, str]] = ()) -> None:
        self._exchange = exchange
        self._extra = tuple(extra)
        self.status = 0

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
        self.status = status
        await self._exchange.respond(status, body, content_type, (*headers, *self._extra))

    async def open_events(self, headers: Sequence[tuple[str, str]] = ()) -> EventStream:
        self.status = 200
        return await self._exchange.open_events((*headers, *self._extra))

    async def accept(self, limit_bytes: int, subprotocol: str | None = None) -> Socket:
        socket = await self._exchange.accept(limit_bytes, subprotocol)
        self.status = 101
        return socket
