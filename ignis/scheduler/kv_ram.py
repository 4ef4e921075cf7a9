"""Host memory for pages that the device gave up: which place holds which, and which goes first. Copies nothing.

    free   - nothing is there
    kept   - holds a page by name; the one that was put or found longest ago is discarded when a place is needed
    held   - kept, and a request will bring it back: it is not discarded

A page of the prefix index stays here when it comes back, so that giving it up again copies nothing. A parked request's
own pages are nobody else's, and are forgotten when it has them or ends.
"""

from ignis.scheduler.live import Name


class KvRam:
    """The places of one load."""

    def __init__(self, num_places: int) -> None:
        self.num_places = num_places
        self._free = list(range(num_places - 1, -1, -1))
        self._place_of: dict[Name, int] = {}
        """The oldest first."""
        self._holders: dict[Name, int] = {}
        self.discards = 0

    @property
    def num_used(self) -> int:
        return len(self._place_of)

    @property
    def room(self) -> int:
        """How many pages could be put and held."""
        return self.num_places - len(self._holders)

    def __contains__(self, name: Name) -> bool:
        return name in self._place_of

    def put(self, name: Name) -> int | None:
        """Takes a place for a page that is not here; None where all are held."""
        assert name not in self._place_of
        if not self._free:
            oldest = next((kept for kept in self._place_of if kept not in self._holders), None)
            if oldest is None:
                return None
            self.forget(oldest)
            self.discards += 1
        place = self._free.pop()
        self._place_of[name] = place
        return place

    def touch(self, name: Name) -> None:
        """Makes a page the newest."""
        self._place_of[name] = self._place_of.pop(name)

    def hold(self, name: Name) -> None:
        """Keeps a page until as many releases."""
        assert name in self._place_of
        self._holders[name] = self._holders.get(name, 0) + 1

    def release(self, name: Name) -> None:
        self._holders[name] -= 1
        if not self._holders[name]:
            del self._holders[name]
            if isinstance(name, tuple):
                self.forget(name)

    def place(self, name: Name) -> int:
        return self._place_of[name]

    def forget(self, name: Name) -> None:
        """Frees the place of a page that nobody holds."""
        assert name not in self._holders
        self._free.append(self._place_of.pop(name))

    def check(self, held: list[Name]) -> None:
        """Asserts that each place is free or holds one page, and that those are held which requests wait for."""
        places = [*self._free, *self._place_of.values()]
        assert sorted(places) == list(range(self.num_places)), "a place is lost or there twice"
        holders: dict[Name, int] = {}
        for name in held:
            holders[name] = holders.get(name, 0) + 1
        assert holders == self._holders, "holds differ"
        assert all(name in self._place_of for name in self._holders), "a held page is gone"
