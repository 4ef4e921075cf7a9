"""Requests that wait for the prefill lane, in rank order, and who makes room for them. The head is never passed: it
gets the next pages."""

import bisect
from collections.abc import Sequence

from ignis.scheduler.live import Live, pages_of
from ignis.scheduler.residency import Residency


class Admission:
    """The queue. Rank is class, then arrival."""

    def __init__(self, residency: Residency) -> None:
        self._residency = residency
        self._waiting: list[Live] = []
        self._refused: tuple[int, int] | None = None
        """(request id, releases) of the last refusal: it stands until pages come back or another head is there."""
        self._no_victims: tuple[int, int, int, int] | None = None
        """Of the last look for victims that found too few: it stands until something changes."""

    def __len__(self) -> int:
        return len(self._waiting)

    def push(self, live: Live) -> None:
        bisect.insort(self._waiting, live, key=lambda waiting: waiting.rank)

    def remove(self, live: Live) -> None:
        self._waiting.remove(live)

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

    def victim(self, decoding: Sequence[Live]) -> Live | None:
        """Who gives its room up for the head next: of a lower class, and decoding; the latest one first. None where all
        of them together are not enough, or host memory does not take them. Asked after `pop` has refused the head."""
        if not self._waiting:
            return None
        head, residency = self._waiting[0], self._residency
        lower = [live for live in decoding if live.rank[0] > head.rank[0]]
        looked = (head.request_id, residency.releases, len(lower), residency.kv_ram.room)
        if not lower or looked == self._no_victims:
            return None
        missing, room = residency.missing, residency.kv_ram.room
        lower.sort(key=lambda live: live.rank, reverse=True)
        for live in lower:
            missing -= residency.gain(live)
            room -= pages_of(live.filled)
            if room < 0:
                break
            if missing <= 0:
                return lower[0]
        self._no_victims = looked
        return None
