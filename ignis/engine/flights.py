"""All requests in flight, from acceptance to their ends: the lanes that they hold, and what is delivered to them.

The step loop has the same requests in its own thread: they cross by commands and events, and both keep their order.
"""

from collections.abc import Callable, Iterator

import trio

from ignis.clock import Clock
from ignis.engine.estimate import Estimate
from ignis.engine.flight import Account, Flight
from ignis.engine.limits import check_lanes
from ignis.engine.loop import Command, Leave, Submit
from ignis.engine.mailbox import Mailbox
from ignis.engine.turn import Delivery
from ignis.scheduler.plan import DecodeRound
from ignis.scheduler.request import Admitted, FinishReason, Parked, Restored, Submission, TokenEvent


class Flights:
    """Belongs to the event loop's thread."""

    def __init__(
        self, account: Account, clock: Clock, post: Callable[[Command], None], on_empty: Callable[[], None]
    ) -> None:
        """
        Args:
            post: has the step loop take a command.
            on_empty: called when the last request has ended.
        """
        self._account = account
        self._clock = clock
        self._post = post
        self._on_empty = on_empty
        self._estimate = Estimate()
        self._flights: dict[int, Flight] = {}
        self._num_submitted = 0
        self._num_held = 0
        """Lanes that are not free for the next submission."""
        self._room = trio.lowlevel.ParkingLot()
        """Those who wait for a lane."""

    def __len__(self) -> int:
        """Submitted and not ended yet."""
        return len(self._flights)

    def check_room(self, count: int, num_lanes: int) -> None:
        """Refuses what finds no lanes; raises as limits.check_lanes."""
        check_lanes(count, num_lanes, self._num_held, lambda: self._estimate.retry_after_s(self._left()))

    def has_room(self, count: int, num_lanes: int) -> bool:
        """Whether so many submissions would find lanes now."""
        return self._num_held + count <= num_lanes

    async def wait_room(self) -> None:
        """Returns when a lane was given back, or at the next `wake`."""
        await self._room.park()

    def wake(self) -> None:
        """Has those who wait for a lane look again."""
        self._room.unpark_all()

    def begin(self, submission: Submission) -> Mailbox:
        """Takes a submission that `check_room` let pass."""
        self._num_submitted += 1
        mailbox = Mailbox(self._num_submitted, self._leave)
        self._flights[mailbox.request_id] = Flight(mailbox, submission, self._clock())
        self._num_held += 1
        self._account.accepted()
        self._post(Submit(mailbox.request_id, submission))
        return mailbox

    def take(self, delivery: Delivery) -> None:
        """Hands out what one turn of the loop did."""
        if isinstance(delivery.step, DecodeRound):
            self._estimate.note_round(delivery.ended_at_s)
        num_drawn = 0
        for event in delivery.events:
            flight = self._flights.get(event.request_id)
            if flight is None:
                continue
            if isinstance(event, Admitted):
                flight.lane = event.lane
                self._account.admitted(event, flight)
            elif isinstance(event, Parked | Restored):
                self._account.moved(event, flight)
            else:
                num_drawn += self._take_event(flight, event, delivery.ended_at_s)
        if num_drawn:
            self._account.drawn(num_drawn)

    def give_up(self) -> None:
        """Has everything end with CANCELLED, as if its readers had left; they are told."""
        for request_id, flight in self._flights.items():
            if not flight.has_left:
                self._post(Leave(request_id, FinishReason.CANCELLED))

    def end_all(self, reason: FinishReason, fault: str = "", told: str | None = None) -> None:
        """Ends at once what the step loop has no more events for."""
        now = self._clock()
        for request_id, flight in list(self._flights.items()):
            event = TokenEvent(request_id, finish=reason, fault=fault, told=told, usage=flight.usage)
            flight.mailbox.put(event)
            self._end(request_id, event, now)

    def seconds_to_end(self) -> float:
        """An estimate of when all have ended, by the rate of late; 0 where there is none."""
        return self._estimate.seconds_to_end(self._left())

    def most_seconds_to_end(self) -> float:
        """As `seconds_to_end`, where each draws all that it may; infinite where no rate is known yet."""
        return self._estimate.most_seconds_to_end(self._left())

    def oldest_waiting_s(self) -> float:
        """How long the one has waited for its admission that waits longest; 0 where none does."""
        waiting = (flight.accepted_at_s for flight in self._flights.values() if flight.lane is None)
        now = self._clock()
        return now - min(waiting, default=now)

    def _left(self) -> Iterator[tuple[int, int]]:
        """(tokens drawn, cap) of each that holds a lane."""
        held = (flight for flight in self._flights.values() if not flight.has_left)
        return ((flight.num_drawn, flight.submission.max_tokens) for flight in held)

    def _leave(self, request_id: int, reason: FinishReason) -> None:
        """A reader ended its request. Commands keep their order, so the next submission may have the lane now."""
        self._flights[request_id].has_left = True
        self._give_back()
        self._post(Leave(request_id, reason))

    def _give_back(self) -> None:
        self._num_held -= 1
        self.wake()

    def _take_event(self, flight: Flight, event: TokenEvent, now: float) -> int:
        was_silent = flight.num_drawn == 0
        drawn = flight.note(event, now)
        if drawn and was_silent:
            self._account.begun(event.request_id, flight, now)
        elif drawn:
            self._account.went_on(flight)
        flight.mailbox.put(event)
        if event.finish is not None:
            self._end(event.request_id, event, now)
        return drawn

    def _end(self, request_id: int, event: TokenEvent, now: float) -> None:
        flight = self._flights.pop(request_id)
        if not flight.has_left:
            self._give_back()
        if event.finish in (FinishReason.STOP, FinishReason.LENGTH):
            self._estimate.note_answer(flight.num_drawn)
        self._account.ended(request_id, flight, event, now)
        if not self._flights:
            self._estimate.note_pause()
            self._on_empty()
