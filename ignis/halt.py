"""How a download is stopped from another thread: whoever works looks at it, whoever waits for a mirror is waked."""

import contextlib
import socket
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field

from ignis.errors import DownloadError

STOPPED = "the download was stopped; the next one goes on where it ended"


class StoppedError(DownloadError):
    """Somebody stopped it. What has come is kept."""


def _say_nothing(_why: str) -> None:
    pass


@dataclass(slots=True)
class Halt:
    """Stops transfers, what they wait for, and the waits between their attempts."""

    on_wait: Callable[[str], None] = _say_nothing
    """Called with the reason before a wait: for the next attempt, or for another who fetches the same."""
    _event: threading.Event = field(default_factory=threading.Event)
    _sockets: "weakref.WeakSet[socket.socket]" = field(default_factory=weakref.WeakSet)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    """Of the sockets, so that none is added beside a stop."""

    def stop(self) -> None:
        self._event.set()
        with self._lock:
            for connected in self._sockets:
                # The plain one's: TLS would first take its own state away, under the thread that reads. Whoever waits
                # for a byte is told that none follows.
                with contextlib.suppress(OSError):
                    socket.socket.shutdown(connected, socket.SHUT_RDWR)

    def watch(self, connected: socket.socket | None) -> None:
        """Has a stop end the connection, or the making of it, whoever waits for it; None: there is none yet. Raises
        StoppedError once it was stopped."""
        if connected is not None:
            with self._lock:
                self._sockets.add(connected)
        self.check()

    def check(self) -> None:
        """Raises StoppedError once it was stopped."""
        if self._event.is_set():
            raise StoppedError(STOPPED)

    def wait(self, seconds: float) -> None:
        """Waits, and raises StoppedError as soon as it was stopped."""
        self._event.wait(seconds)
        self.check()
