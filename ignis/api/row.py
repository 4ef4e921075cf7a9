"""The row of requests that wait for lanes: first come, first served, and each is told its place whenever that changes.

Submits nothing. Belongs to the event loop's thread.
"""

from collections.abc import Awaitable, Callable

import trio

OnWait = Callable[[int], Awaitable[object]]


class Place:
    """One that waits."""

    __slots__ = ("is_telling", "told")

    def __init__(self) -> None:
        self.told = 0
        """The place that its client knows; 0: none yet."""
        self.is_telling = False
        """Its client is being told. Nobody waits for a slow one: whoever is behind it may go first meanwhile."""


class Row:
    """Entered and left; `turn` waits in it."""

    def __init__(self) -> None:
        self._places: dict[Place, None] = {}
        self._changed = trio.Event()

    def __len__(self) -> int:
        return len(self._places)

    def enter(self) -> Place:
        place = Place()
        self._places[place] = None
        return place

    def leave(self, place: Place) -> None:
        """Of whoever has entered, served or not: all behind it move up."""
        del self._places[place]
        self._note()

    async def turn(
        self,
        place: Place,
        has_room: Callable[[], bool],
        wait_room: Callable[[], Awaitable[None]],
        on_wait: OnWait | None,
    ) -> None:
        """Returns when it is this one's turn and there is room, without a checkpoint after it looked.

        Args:
            wait_room: returns when there may be room.
            on_wait: called with its place among all that wait, from 1 on, when it has come and when it moves up.
        """
        while True:
            await self._tell(place, on_wait)
            if self._next() is not place:
                await self._changed.wait()
            elif has_room():
                return
            else:
                await wait_room()

    async def _tell(self, place: Place, on_wait: OnWait | None) -> None:
        while on_wait is not None and (number := list(self._places).index(place) + 1) != place.told:
            place.told, place.is_telling = number, True
            try:
                await on_wait(number)
            finally:
                place.is_telling = False
                self._note()

    def _next(self) -> Place | None:
        return next((place for place in self._places if not place.is_telling), None)

    def _note(self) -> None:
        self._changed.set()
        self._changed = trio.Event()
