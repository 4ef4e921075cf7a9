"""A text/event-stream body: frames of events, and comment lines while nothing is sent.

Frames follow the WHATWG HTML standard, section 9.2.6. Each is one HTTP chunk, written in one piece.
"""

from collections.abc import Awaitable, Callable

import trio

from ignis.server.answer import LAST_CHUNK, Framing

COMMENT = b": keep-alive\n\n"


class SseStream:
    """Port 1's EventStream. Owns the silence timer; the exchange that made it owns the answer's state and the wire.

    `send` and `end` raise when the exchange was cut; `transmit` then returns False.
    """

    def __init__(
        self,
        send: Callable[[bytes], Awaitable[None]],
        end: Callable[[bytes], Awaitable[None]],
        transmit: Callable[[bytes], Awaitable[bool]],
        framing: Framing,
    ) -> None:
        self._send = send
        self._end = end
        self._transmit = transmit
        self._is_chunked = framing is Framing.CHUNKED
        self._last_sent_at = trio.current_time()
        self._comments = trio.CancelScope()

    async def send(self, data: bytes, event: str | None = None) -> None:
        assert b"\n" not in data and b"\r" not in data, "an event's data holds no newline"
        if event is None:
            frame = b"data: %b\n\n" % data
        else:
            assert event.isprintable(), "an event's name holds no newline"
            frame = b"event: %b\ndata: %b\n\n" % (event.encode(), data)
        self._last_sent_at = trio.current_time()
        await self._send(self._chunk(frame))

    async def close(self) -> None:
        self._comments.cancel()
        await self._end(LAST_CHUNK if self._is_chunked else b"")

    async def keep_alive(self, interval_s: float) -> None:
        """Sends a comment whenever nothing was sent for the interval, until the stream is closed or its client is gone.

        A comment is a frame of its own and the wire sends frames whole, so that it never lands inside an event.
        """
        with self._comments:
            while True:
                silent_since = self._last_sent_at
                await trio.sleep_until(silent_since + interval_s)
                if self._last_sent_at == silent_since:
                    self._last_sent_at = trio.current_time()
                    if not await self._transmit(self._chunk(COMMENT)):
                        return

    def _chunk(self, frame: bytes) -> bytes:
        return b"%x\r\n%b\r\n" % (len(frame), frame) if self._is_chunked else frame
