"""How a download is stopped from another thread. Stops no thread by itself: whoever works looks at it."""

import threading
from dataclasses import dataclass, field

from ignis.errors import DownloadError

STOPPED = "the download was stopped; the next one goes on where it ended"


class StoppedError(DownloadError):
    """Somebody stopped it. What has come is kept."""


@dataclass(slots=True)
class Halt:
    """Stops transfers, and the waits between their attempts."""

    _event: threading.Event = field(default_factory=threading.Event)

    def stop(self) -> None:
        self._event.set()

    def check(self) -> None:
        """Raises StoppedError once it was stopped."""
        if self._event.is_set():
            raise StoppedError(STOPPED)

    def wait(self, seconds: float) -> None:
        """Waits, and raises StoppedError as soon as it was stopped."""
        self._event.wait(seconds)
        self.check()
