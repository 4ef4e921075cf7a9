"""A place to write lines to that is never waited for: a reader that has stopped reading, as a pager or a terminal held
by Ctrl-S, must not stop a server.
"""

import os
import select
import threading
from typing import TextIO

_PIECE_BYTES = select.PIPE_BUF
"""So much goes into a pipe, a terminal or a socket that says that it has room, without waiting."""
_PATIENCE_MS = 100
"""A reader that is only slow reads something in this time."""


class Outlet:
    """Writes whole lines, from any thread. What cannot be written is lost."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._room: select.poll | None = None
        self._is_stuck = False
        """Nobody read in time, and nobody has since: there is no more waiting."""
        self._is_torn = False
        """The last line has no end."""
        self._num_lost = 0
        try:
            self._number = stream.fileno()
        except (OSError, ValueError):
            # None of the system's: it is written to as it is.
            return
        self._room = select.poll()
        self._room.register(self._number, select.POLLOUT)

    def write(self, line: str) -> int:
        """Writes a line; returns how many before it were lost since the last one that was written."""
        with self._lock:
            try:
                is_written = self._write(line + "\n")
            except (OSError, ValueError):
                # The terminal or pipe is gone, or the stream is closed: nobody reads any more.
                return 0
            self._num_lost += not is_written
            if not is_written:
                return 0
            num_lost, self._num_lost = self._num_lost, 0
            return num_lost

    def _write(self, text: str) -> bool:
        if self._room is None:
            self._stream.write(text)
            self._stream.flush()
            return True
        data = text.encode(self._stream.encoding or "utf-8", self._stream.errors or "backslashreplace")
        if self._is_torn:
            data = b"\n" + data
        is_begun = False
        while data:
            if not self._room.poll(0 if self._is_stuck else _PATIENCE_MS):
                self._is_stuck = True
                self._is_torn = self._is_torn or is_begun
                return False
            data = data[os.write(self._number, data[:_PIECE_BYTES]) :]
            is_begun, self._is_stuck, self._is_torn = True, False, False
        return True
