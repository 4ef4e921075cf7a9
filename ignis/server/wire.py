"""One socket: its only reader, which notices at once that the client left, and its only writer. Knows no HTTP.

With TLS what is read and written passes its codec; the handshake is done by the reader, before it has any byte to give.

A connection's `watch` task reads all the time and puts what comes into a bounded inbox, so that the end of the stream
is seen whatever the connection's own task waits for. An end of the client's side alone (a half-close) counts as
leaving, as uvicorn has it: a client that is gone and one that only stopped sending look the same until something is
sent, and a generation for nobody costs more than `nc -N` is worth.
"""

import os
import socket
import ssl
import struct

import trio

from ignis.server.tls import TlsCodec

INBOX_BYTES = 256 << 10
"""How much a client may send ahead of being read."""

_READ_BYTES = 64 << 10
_LINGER_S = 30.0
_LINGER_SILENCE_S = 2.0
# After the last answer the client is read, and forgotten, until it closes: closing over unread bytes is a reset, which
# takes the answer from a client that is still sending (RFC 9112 section 9.6). So long in all, and so long without a
# byte.


class ClientLeft(Exception):
    """The client closed or lost its connection."""


class ClientStalled(Exception):
    """The client took no byte for the write timeout."""


class Wire:
    """Owns the stream that it is given. Runs on the thread of its trio loop."""

    def __init__(self, stream: trio.SocketStream, write_timeout_s: float, tls: ssl.SSLContext | None = None) -> None:
        self._stream = stream
        self._fileno = stream.socket.fileno()
        self._write_timeout_s = write_timeout_s
        self._inbox = bytearray()
        self._outbox = bytearray()
        self._flushing = trio.Lock()
        self._patience = trio.CancelScope()
        """Of the wait under way for a slow client."""
        self._arrivals = trio.lowlevel.ParkingLot()
        self._room = trio.lowlevel.ParkingLot()
        self._has_left = False
        self._is_closed = False
        self._is_first = True
        self._is_finishing = False
        self._is_dropping = False
        self._has_dropped = False
        self._exchange_scope: trio.CancelScope | None = None
        self.heard_at = trio.current_time()
        """When the client's last bytes came."""
        self._tls = None if tls is None else TlsCodec(tls)
        self.tls_fault: ssl.SSLError | None = None
        """Why the client left, where it was TLS."""
        self.is_plain = False
        """Whether a client does not speak TLS where it should. It is answered without."""

    @property
    def has_left(self) -> bool:
        """Whether the client closed its side, or the connection broke."""
        return self._has_left

    @property
    def has_dropped(self) -> bool:
        """Whether bytes were thrown away, so that no further request can be read."""
        return self._has_dropped

    async def watch(self) -> None:
        """Reads until the client leaves; then cancels the guarded scope and returns."""
        while True:
            while len(self._inbox) >= INBOX_BYTES and not self._is_dropping:
                await self._room.park()
            try:
                data = await self._stream.receive_some(_READ_BYTES)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                data = b""
            if not data:
                break
            self.heard_at = trio.current_time()
            if self._tls is not None:
                data = await self._decrypt(data, self._tls)
                if self._has_left:
                    break
            if len(self._inbox) >= INBOX_BYTES:
                self._has_dropped = True
            else:
                self._inbox += data
            self._arrivals.unpark_all()
        self._has_left = True
        self._arrivals.unpark_all()
        if self._exchange_scope is not None:
            self._exchange_scope.cancel()

    async def ready(self) -> None:
        """Waits until something can be sent: until TLS has shaken hands, or the client has left."""
        while self._tls is not None and not self._tls.is_ready and not self._has_left:
            await self._arrivals.park()

    async def _decrypt(self, data: bytes, tls: TlsCodec) -> bytes:
        if self._is_finishing:
            # Nothing is read any more, and the codec is done.
            return b""
        if self._is_first:
            self._is_first = False
            if tls.is_plain(data):
                self._tls, self.is_plain = None, True
                return data
        plain = b""
        try:
            plain = tls.decrypt(data)
        except ssl.SSLError as error:
            self.tls_fault = error
            self._has_left = True
        answer = tls.take_answer()
        if answer:
            self._outbox += answer
            try:
                await self.flush()
            except (ClientLeft, ClientStalled):
                self._has_left = True
        if tls.has_ended:
            # Its last word, as a half-close is.
            self._has_left = True
        return plain

    def guard(self, scope: trio.CancelScope | None) -> None:
        """Names the scope that is cancelled when the client leaves. None: nobody's."""
        self._exchange_scope = scope
        if scope is not None and self._has_left:
            scope.cancel()

    def drop_excess(self, *, is_dropping: bool) -> None:
        """Chooses for a full inbox: drop what comes, and so go on watching, or let the client wait."""
        self._is_dropping = is_dropping
        self._room.unpark_all()

    def take(self) -> bytes:
        """Takes what is in the inbox; empty when nothing is."""
        data = bytes(self._inbox)
        self._inbox.clear()
        self._room.unpark_all()
        return data

    async def receive(self) -> bytes:
        """Waits for bytes and takes them. Empty: the client left and nothing is unread."""
        while not self._inbox and not self._has_left:
            await self._arrivals.park()
        return self.take()

    @property
    def is_sending(self) -> bool:
        """Whether bytes wait for a slow client."""
        return bool(self._outbox)

    async def send(self, data: bytes) -> None:
        """Sends all of it. Waits while the client is slow, and is a checkpoint only then.

        What was handed over is sent as a whole and in order even if this is cancelled: the rest goes ahead of the next
        `send` or `flush`, so that a handler whose deadline strikes inside an event can still end its stream properly.

        Raises:
            ClientLeft, ClientStalled: the stream is of no use any more.
        """
        if self._tls is not None:
            if not self._tls.is_ready:
                # Its handshake failed, or it never began one.
                raise ClientLeft
            data = self._tls.encrypt(data)
        sent_bytes = 0 if self._outbox else self._write(data)
        if sent_bytes < len(data):
            self._outbox += memoryview(data)[sent_bytes:]
            await self.flush()

    async def flush(self) -> None:
        """Waits until everything handed over was taken by the kernel.

        Raises:
            ClientLeft, ClientStalled: as `send` does.
        """
        if not self._outbox:
            return
        async with self._flushing:
            while self._outbox:
                if self._is_closed:
                    raise ClientLeft
                with trio.move_on_after(self._write_timeout_s) as self._patience:
                    try:
                        await trio.lowlevel.wait_writable(self._fileno)
                    except trio.ClosedResourceError:
                        # Closed meanwhile by the connection's own task: a comment waited here.
                        raise ClientLeft from None
                if self._patience.cancelled_caught:
                    raise ClientStalled
                del self._outbox[: self._write(self._outbox)]

    def hurry(self, write_timeout_s: float) -> None:
        """Waits no longer than this for a client that takes nothing, from now on."""
        self._write_timeout_s = min(self._write_timeout_s, write_timeout_s)
        self._patience.deadline = min(self._patience.deadline, trio.current_time() + write_timeout_s)

    def _write(self, data: bytes | bytearray) -> int:
        # A direct write, with no turn of the event loop, is what halves the cost of a stream (2.9 % against 6.7 % of a
        # core for 8 streams of 200 events/s). The flag matters: the number of a closed socket may be another client's
        # by now.
        if self._is_closed:
            raise ClientLeft
        try:
            return os.write(self._fileno, data)
        except BlockingIOError:
            return 0
        except OSError:
            raise ClientLeft from None

    async def finish(self) -> None:
        """Closes after the last answer, in a way that lets the client read it."""
        try:
            self._is_finishing = True
            if self._tls is not None and self._tls.is_ready:
                self._outbox += self._tls.end()
            await self.flush()
            self._stream.socket.shutdown(socket.SHUT_WR)
        except (ClientLeft, ClientStalled, OSError):
            self.cut()
            return
        self.drop_excess(is_dropping=True)
        with trio.move_on_after(_LINGER_S) as linger:
            while not self._has_left and not linger.cancel_called:
                with trio.move_on_after(_LINGER_SILENCE_S) as silence:
                    await self._arrivals.park()
                self._inbox.clear()
                if silence.cancelled_caught:
                    break
        self.close()

    def close(self) -> None:
        """Closes now. Bytes that the kernel has taken are still delivered. Does nothing when closed."""
        if not self._is_closed:
            self._is_closed = True
            self._stream.socket.close()

    def cut(self) -> None:
        """Resets the connection: what is under way is lost, and a client that takes nothing costs no more."""
        if not self._is_closed:
            self._stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close()
