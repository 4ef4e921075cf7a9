"""Requests that wait for the prefill lane, in rank order. The head is never passed: it gets the next pages."""

import bisect

from ignis.scheduler.live import Live
from ignis.scheduler.residency import Residency


class Admission:
    """The queue. Rank is class, then arrival."""

    def __init__(self, residency: Residency) -> None:
        self._residency = residency
        self._waiting: list[Live] = []
        self._refused: tuple[int, int] | None = None
        """(request id, releases) of the last refusal: it stands until pages come back or another head is there."""

    def __len__(self) -> int:
        return len(self._waiting)

    def push(self, live: Live) -> None:
        bisect.insort(self._waiting, live, key=lambda waiting: waiting.rank)

    def remove(self, live: Live) -> None:
        self._waiting.remove(live)

    @property
    def head(self) -> Live | None:
        """Who is next."""
        return self._waiting[0] if self._waiting else None

    def pop(self) -> Live | None:
        """Takes the head out if its bound fits now; its pages are reserved then."""
        if not self._waiting:
            return None
        head = self._waiting[0]
        if self._refused == (head.request_id, self._residency.releases):
            return None
        if not self._residency.admit(head):
            self._refused = (head.request_id, self._residency.releases)
            return None
        return self._waiting.pop(0)
