"""Responses that were kept, in memory: the least recently used ones go when their bytes are over the bound, old ones
when their time is. Reads no clock of its own and does no I/O.
"""

import heapq
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from ignis.clock import Clock

Item = Mapping[str, Any]
"""An item as plain JSON values."""


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A response with the whole conversation that led to it."""

    id: str
    body: bytes
    """The response as JSON."""
    items: Sequence[Item]
    """What the model read, then what it answered."""
    num_earlier: int
    """How many of the items belong to the responses before it."""
    num_read: int
    """How many of the items the model read."""
    items_bytes: int
    """Of the items as JSON. Responses of one conversation share them, and each counts them: a bound that holds."""

    @property
    def size_bytes(self) -> int:
        return len(self.body) + self.items_bytes


class ResponseStore:
    """Kept responses by id, and their items by theirs."""

    def __init__(self, max_bytes: int, ttl_s: float | None, clock: Clock) -> None:
        """
        Args:
            max_bytes: 0: nothing is kept.
            ttl_s: how long after its end a response is kept; None: until its bytes are needed.
        """
        self._max_bytes = max_bytes
        self._ttl_s = ttl_s
        self._clock = clock
        self._kept: OrderedDict[str, tuple[float, StoredResponse]] = OrderedDict()
        """With the time at which each goes; the least recently used one first."""
        self._ends: list[tuple[float, str]] = []
        """The same times as a heap, with those of responses that went before their time."""
        self._items: dict[str, tuple[str, Item]] = {}
        """Of each item the response that it came with, and the item."""
        self.size_bytes = 0

    def limit(self, max_bytes: int, ttl_s: float | None) -> None:
        """Has it keep so much, so long, from now on; what is kept already keeps its time."""
        self._max_bytes, self._ttl_s = max_bytes, ttl_s
        self._drop_old()
        while self.size_bytes > self._max_bytes:
            self.remove(next(iter(self._kept)))

    @property
    def keeps(self) -> bool:
        """Whether anything is kept at all."""
        return self._max_bytes > 0

    def __len__(self) -> int:
        return len(self._kept)

    def put(self, stored: StoredResponse) -> None:
        """Keeps a response. One that is over the bound alone is not kept."""
        if stored.size_bytes > self._max_bytes:
            return
        self.remove(stored.id)
        end = self._clock() + (float("inf") if self._ttl_s is None else self._ttl_s)
        self._kept[stored.id] = (end, stored)
        heapq.heappush(self._ends, (end, stored.id))
        self.size_bytes += stored.size_bytes
        for item in stored.items[stored.num_earlier :]:
            self._items.setdefault(item["id"], (stored.id, item))
        self._drop_old()
        while self.size_bytes > self._max_bytes:
            self.remove(next(iter(self._kept)))

    def get(self, response_id: str) -> StoredResponse | None:
        """Looks a response up, which counts as a use."""
        self._drop_old()
        found = self._kept.get(response_id)
        if found is None:
            return None
        self._kept.move_to_end(response_id)
        return found[1]

    def item(self, item_id: str) -> Item | None:
        """Looks an item of a kept response up, which counts as a use of the response."""
        self._drop_old()
        found = self._items.get(item_id)
        if found is None:
            return None
        self._kept.move_to_end(found[0])
        return found[1]

    def remove(self, response_id: str) -> bool:
        """Forgets a response; returns whether it was there."""
        found = self._kept.pop(response_id, None)
        if found is None:
            return False
        self.size_bytes -= found[1].size_bytes
        for item in found[1].items[found[1].num_earlier :]:
            if self._items.get(item["id"], ("",))[0] == response_id:
                del self._items[item["id"]]
        return True

    def _drop_old(self) -> None:
        now = self._clock()
        while self._ends and self._ends[0][0] <= now:
            end, response_id = heapq.heappop(self._ends)
            if self._kept.get(response_id, (None,))[0] == end:
                self.remove(response_id)


def json_bytes(items: Sequence[Item]) -> int:
    """Counts the bytes of items as JSON."""
    return sum(len(msgspec.json.encode(item)) for item in items)
