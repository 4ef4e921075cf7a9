"""The row for lanes: its order, who is told what, and that nobody waits for a client that is slow to hear."""

import trio
import trio.testing

from ignis.api.row import Row


class Lanes:
    """Free ones, and a row for them whose members are known by name."""

    def __init__(self) -> None:
        self.row = Row()
        self.num_free = 0
        self.served: list[str] = []
        self.told: list[tuple[str, int]] = []
        self.deaf: dict[str, trio.Event] = {}
        self._room = trio.lowlevel.ParkingLot()

    async def ask(self, name: str) -> None:
        async def hear(number: int) -> None:
            self.told.append((name, number))
            if name in self.deaf:
                await self.deaf[name].wait()

        place = self.row.enter()
        try:
            await self.row.turn(place, lambda: self.num_free > 0, self._room.park, hear)
            self.num_free -= 1
            self.served.append(name)
        finally:
            self.row.leave(place)

    async def free(self, num_lanes: int) -> None:
        self.num_free += num_lanes
        self._room.unpark_all()
        await trio.testing.wait_all_tasks_blocked()


async def test_whoever_came_first_is_served_first_and_the_others_are_told_that_they_move_up() -> None:
    lanes = Lanes()
    async with trio.open_nursery() as nursery:
        for name in "abc":
            nursery.start_soon(lanes.ask, name)
            await trio.testing.wait_all_tasks_blocked()
        assert lanes.told == [("a", 1), ("b", 2), ("c", 3)]
        await lanes.free(1)
        assert lanes.served == ["a"]
        assert sorted(lanes.told[3:]) == [("b", 1), ("c", 2)]
        await lanes.free(2)
        assert lanes.served == ["a", "b", "c"] and len(lanes.row) == 0


async def test_whoever_leaves_the_row_moves_those_behind_it_up() -> None:
    lanes = Lanes()
    async with trio.open_nursery() as nursery:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as first:
                first.start_soon(lanes.ask, "a")
                await trio.testing.wait_all_tasks_blocked()
                nursery.start_soon(lanes.ask, "b")
                await trio.testing.wait_all_tasks_blocked()
                scope.cancel()
        await trio.testing.wait_all_tasks_blocked()
        assert lanes.told == [("a", 1), ("b", 2), ("b", 1)]
        await lanes.free(1)
        assert lanes.served == ["b"]


async def test_nobody_waits_for_a_client_that_does_not_hear_its_place() -> None:
    lanes = Lanes()
    lanes.deaf["a"] = trio.Event()
    async with trio.open_nursery() as nursery:
        for name in "ab":
            nursery.start_soon(lanes.ask, name)
            await trio.testing.wait_all_tasks_blocked()
        await lanes.free(1)
        assert lanes.served == ["b"]
        lanes.deaf.pop("a").set()
        await lanes.free(1)
        assert lanes.served == ["b", "a"]
