"""An accepted WebSocket: messages in through wsproto, frames out by hand, pings, and the close. RFC 6455.

Beside the handler one task reads and one pings. What the client does wrong is answered with a close frame and its code:
1002 for frames that are malformed, masked wrongly or of a reserved kind, 1007 for text that is not UTF-8, 1008 for a
message in absurdly many pieces or that does not come in time, 1009 for one that is too large, 1011 where no ping is
answered.
"""

import struct
from collections import deque
from collections.abc import Callable
from typing import Any, NoReturn

import trio
from wsproto.connection import Connection, ConnectionState, ConnectionType
from wsproto.events import CloseConnection, Message, Ping, TextMessage
from wsproto.frame_protocol import CloseReason

from ignis.server.cut import Cut
from ignis.server.limits import ServerLimits
from ignis.server.wire import ClientLeft, ClientStalled, Wire

_TEXT = 0x81
"""First byte of a whole text message: final, opcode 1."""
_MAX_WAITING = 64
"""Messages that wait for the handler; then the client has to."""
_FREE_PIECES = 4096
_BYTES_PER_PIECE = 64
# As for chunked bodies: a message in pieces of a byte, or of none, would cost more than its size lets expect.
_FRAMES_PER_TURN = 64
"""So many frames are read in one go; then the other connections have their turn."""


class WebSocket:
    """Port 1's Socket. The exchange that made it owns the wire, and hears through `cut` that the handler has to end."""

    def __init__(
        self, wire: Wire, first_bytes: bytes, limit_bytes: int, limits: ServerLimits, cut: Callable[[Cut], None]
    ) -> None:
        """`first_bytes` came behind the request. `limit_bytes` bounds a message."""
        self.num_received = 0
        self.num_sent = 0
        self.close_code: int = CloseReason.ABNORMAL_CLOSURE
        self.close_reason = ""
        self._wire = wire
        self._first_bytes = first_bytes
        self._limit_bytes = limit_bytes
        self._limits = limits
        self._cut = cut
        self._protocol = Connection(ConnectionType.SERVER)
        self._pieces: list[Any] = []
        """Of the message under way: all text, or all bytes."""
        self._size_bytes = 0
        self._num_pieces = 0
        self._message_began_at = 0.0
        self._waiting: deque[tuple[str | bytes, int]] = deque()
        self._waiting_bytes = 0
        self._arrivals = trio.lowlevel.ParkingLot()
        self._room = trio.lowlevel.ParkingLot()
        self._is_draining = False
        self._tasks = trio.CancelScope()

    # For the handler

    async def receive(self) -> str | bytes | None:
        await trio.lowlevel.checkpoint()
        while not self._waiting:
            if self._is_draining:
                return None
            if not self.is_open:
                await self._abandon()
            await self._arrivals.park()
        message, size_bytes = self._waiting.popleft()
        self._waiting_bytes -= size_bytes
        self._room.unpark_all()
        return message

    async def send(self, text: bytes) -> None:
        if not self.is_open:
            await self._abandon()
        self.num_sent += 1
        if not await self._transmit(_text_header(len(text)) + text):
            await self._abandon()

    async def close(self, code: int = CloseReason.NORMAL_CLOSURE, reason: str = "") -> None:
        assert 1000 <= code <= 4999 and code not in (1004, 1005, 1006, 1015), f"{code} is no close code to send"
        if not self.is_open:
            await self._abandon()
        await self.end(code, reason)

    # For the connection

    @property
    def is_open(self) -> bool:
        """Whether neither side has closed."""
        return self._protocol.state is ConnectionState.OPEN

    def drain(self) -> None:
        """Tells the handler that no message follows those that are here."""
        self._is_draining = True
        self._arrivals.unpark_all()

    async def end(self, code: int, reason: str = "") -> None:
        """Sends the close frame, where none was sent, and reads no more."""
        self.stop()
        if self.is_open:
            self.close_code, self.close_reason = code, reason
            await self._transmit(self._protocol.send(CloseConnection(code, reason)))

    def stop(self) -> None:
        """Reads and pings no more."""
        self._tasks.cancel()

    async def run(self) -> None:
        """Reads and pings until either side closes or the client leaves."""
        with self._tasks:
            async with trio.open_nursery() as tasks:
                tasks.start_soon(self._ping)
                await self._read()
                tasks.cancel_scope.cancel()

    # The client's side

    async def _read(self) -> None:
        first_bytes, self._first_bytes = self._first_bytes, b""
        await self._take(first_bytes)
        # No bytes: the client left without a close frame, and the wire cancels the handler.
        while self.is_open and (data := await self._next()):
            await self._take(data)

    async def _next(self) -> bytes:
        """Waits for bytes: for ever between two messages, and inside of one as long as inside a body."""
        if not self._num_pieces:
            return await self._wire.receive()
        timeout_s = self._limits.body_timeout_s
        on_average_at = self._message_began_at + timeout_s + self._size_bytes / self._limits.body_bytes_s
        with trio.move_on_at(min(trio.current_time() + timeout_s, on_average_at)) as patience:
            return await self._wire.receive()
        assert patience.cancelled_caught
        await self._fail(CloseReason.POLICY_VIOLATION, "the message did not come in time")
        return b""

    async def _take(self, data: bytes) -> None:
        self._protocol.receive_data(data)
        ping: Ping | None = None
        for number, event in enumerate(self._protocol.events(), 1):
            match event:
                case Message():
                    if not await self._add(event):
                        return
                case Ping():
                    # Only the last of several has to be answered (RFC 6455 section 5.5.3).
                    ping = event
                case CloseConnection():
                    await self._answer_close(event)
                    return
            if number % _FRAMES_PER_TURN == 0:
                await trio.lowlevel.checkpoint()
        if self._announced_bytes() > self._limit_bytes:
            await self._fail(CloseReason.MESSAGE_TOO_BIG, f"a message has at most {self._limit_bytes} bytes")
            return
        if ping is not None and self.is_open:
            await self._transmit(self._protocol.send(ping.response()))

    def _announced_bytes(self) -> int:
        """The size of the frame under way, of which little may have come. wsproto keeps its header to itself."""
        header = self._protocol._proto._frame_decoder.header
        return 0 if header is None else header.payload_len

    async def _add(self, piece: Message[Any]) -> bool:
        """Adds a piece of a message. False: it was one too many, and the socket is closed."""
        if not self._num_pieces:
            self._message_began_at = trio.current_time()
        self._num_pieces += 1
        self._size_bytes += _size_bytes(piece.data)
        if self._size_bytes > self._limit_bytes:
            await self._fail(CloseReason.MESSAGE_TOO_BIG, f"a message has at most {self._limit_bytes} bytes")
            return False
        if self._num_pieces > _FREE_PIECES + self._size_bytes // _BYTES_PER_PIECE:
            await self._fail(CloseReason.POLICY_VIOLATION, "the message comes in too many small pieces")
            return False
        self._pieces.append(piece.data)
        if piece.message_finished:
            message = ("" if isinstance(piece, TextMessage) else b"").join(self._pieces)
            size_bytes, self._size_bytes = self._size_bytes, 0
            self._pieces, self._num_pieces = [], 0
            await self._deliver(message, size_bytes)
        return True

    async def _deliver(self, message: str | bytes, size_bytes: int) -> None:
        while len(self._waiting) >= _MAX_WAITING or (self._waiting and self._waiting_bytes > self._limit_bytes):
            await self._room.park()
        self.num_received += 1
        self._waiting.append((message, size_bytes))
        self._waiting_bytes += size_bytes
        self._arrivals.unpark_all()

    async def _answer_close(self, event: CloseConnection) -> None:
        if self._protocol.state is ConnectionState.CLOSED:
            # Ours was sent while this one was on its way: each is the other's answer.
            return
        if self.is_open:
            # wsproto's word for frames that it cannot read.
            reason = event.reason or ""
            if event.code == CloseReason.INVALID_FRAME_PAYLOAD_DATA:
                reason = "the text is not UTF-8"
            await self._fail(event.code, reason)
            return
        self.close_code, self.close_reason = event.code, event.reason or ""
        # First of all: the answer may have to wait for a slow client, and nobody wants the handler's work any more.
        self._cut(Cut.CLIENT_CLOSED)
        await self._transmit(self._protocol.send(event.response()))

    async def _fail(self, code: int, reason: str) -> None:
        self.close_code, self.close_reason = code, reason
        self._cut(Cut.CLIENT_FAULT)
        await self._transmit(self._protocol.send(CloseConnection(code, reason)))

    async def _ping(self) -> None:
        """Pings a client that is silent for the interval; one that stays silent for the write timeout too is gone.

        While its own messages wait for the handler, or ours for it, silence is no sign; the latter has its own limit.
        """
        interval_s = self._limits.keepalive_comment_s
        patience_s = interval_s + self._limits.write_timeout_s
        counts_from = pinged_at = trio.current_time()
        while self.is_open:
            due_at = max(self._wire.heard_at, pinged_at) + interval_s
            await trio.sleep_until(due_at)
            now = trio.current_time()
            if self._wire.is_sending or self._room:
                counts_from = now
            if not self.is_open or now < max(self._wire.heard_at, pinged_at) + interval_s:
                continue
            if now - max(counts_from, self._wire.heard_at) >= patience_s:
                await self._fail(CloseReason.INTERNAL_ERROR, "no ping was answered")
                return
            pinged_at = now
            if not await self._transmit(self._protocol.send(Ping())):
                return

    # Ours

    async def _transmit(self, data: bytes) -> bool:
        """Sends, or cuts the exchange and returns False."""
        try:
            await self._wire.send(data)
        except ClientLeft:
            self._cut(Cut.CLIENT_LEFT)
            return False
        except ClientStalled:
            self._cut(Cut.CLIENT_STALLED)
            return False
        return True

    async def _abandon(self) -> NoReturn:
        """Leaves a handler whose socket is closed."""
        await trio.lowlevel.checkpoint()
        raise trio.ClosedResourceError("the WebSocket was closed")


def _text_header(size_bytes: int) -> bytes:
    """The header of a text message in one frame (RFC 6455 section 5.2); wsproto's takes 2.4 us."""
    if size_bytes < 126:
        return bytes((_TEXT, size_bytes))
    if size_bytes < 1 << 16:
        return struct.pack("!BBH", _TEXT, 126, size_bytes)
    return struct.pack("!BBQ", _TEXT, 127, size_bytes)


def _size_bytes(data: str | bytes) -> int:
    return len(data) if isinstance(data, bytes) or data.isascii() else len(data.encode())
