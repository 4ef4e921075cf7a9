"""Carries an order to its client: whole, or as events over whatever sends them. Routes differ in their shape only."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

import trio

from ignis.api.batch import follow_in_turn
from ignis.api.generation import Delta, OnDelta, Outcome, follow, release
from ignis.api.order import Order, submissions_of
from ignis.api.serving import Serving
from ignis.api.thoughts import Thoughts
from ignis.engine.mailbox import Mailbox
from ignis.errors import Fault, IgnisError
from ignis.exchange import Exchange
from ignis.log import Log


class Event(NamedTuple):
    """One event of a stream."""

    data: bytes
    """JSON without a line break."""
    name: str | None = None
    """The `event:` field, where the route's clients read it."""


class Shape(Protocol):
    """How a route writes a stream. Each call gives the events that go out then."""

    def begin(self) -> Iterable[Event]: ...

    def delta(self, delta: Delta) -> Iterable[Event]: ...

    def end(self, outcome: Outcome) -> Iterable[Event]:
        """All answers have ended in order."""
        ...

    def fail(self, error: IgnisError) -> Iterable[Event]:
        """The status has gone out long ago: the error is an event, and the last one."""
        ...


Send = Callable[[Event], Awaitable[None]]


class Answering:
    """Submits orders and sees to it that none is left behind."""

    def __init__(self, serving: Serving, log: Log) -> None:
        self._serving = serving
        self._log = log

    @contextmanager
    def submitted(self, orders: Sequence[Order]) -> Iterator[list[Mailbox]]:
        """Submits; whatever has not ended when the block is left is cancelled.

        Of more answers than there are lanes only the first order is submitted; the others take turns.

        Raises:
            EngineFullError, RequestTooLargeError, ModelSwitchingError: it was not taken.
        """
        submissions = submissions_of(orders)
        has_turns = len(submissions) > self._serving.num_lanes
        models = [order.model for order in orders]
        mailboxes = self._serving.submit(orders[0].submissions() if has_turns else submissions, models)
        try:
            yield mailboxes
        finally:
            release(mailboxes)

    async def whole(self, orders: Sequence[Order], keep: Callable[[Delta], None]) -> Outcome:
        """Submits and reads to the end.

        Raises:
            EngineFullError, RequestTooLargeError: it was not taken.
            RequestTimeoutError, EngineError, CutOffError, DrainingError: an answer did not end on its own.
        """

        async def pass_on(delta: Delta) -> None:
            keep(delta)

        with self.submitted(orders) as mailboxes:
            return await self._follow(orders, mailboxes, pass_on)

    async def stream(
        self, exchange: Exchange, orders: Sequence[Order], shape: Shape, headers: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Submits and answers with server-sent events. What is not taken has its own status: nothing was sent yet.

        Raises:
            EngineFullError, RequestTooLargeError: it was not taken.
        """
        with self.submitted(orders) as mailboxes:
            events = await exchange.open_events(headers)

            async def send(event: Event) -> None:
                await events.send(event.data, event.name)

            await self.tell(orders, mailboxes, shape, send, exchange.request_id)
            await events.close()

    async def _follow(self, orders: Sequence[Order], mailboxes: Sequence[Mailbox], on_delta: OnDelta) -> Outcome:
        thoughts = Thoughts(orders[0].trace, self._log)

        async def watched(delta: Delta) -> None:
            thoughts.note(delta)
            await on_delta(delta)

        try:
            if len(mailboxes) < sum(order.num_answers for order in orders):
                return await follow_in_turn(self._serving, orders, mailboxes, watched)
            return await follow(orders, mailboxes, watched)
        except trio.Cancelled:
            thoughts.leave()
            raise

    async def tell(
        self, orders: Sequence[Order], mailboxes: Sequence[Mailbox], shape: Shape, send: Send, request_id: str
    ) -> Outcome | None:
        """Writes what was submitted as events, to its end or to its failure; None after a failure.

        The caller releases the mailboxes.
        """

        async def pass_on(delta: Delta) -> None:
            for event in shape.delta(delta):
                await send(event)

        try:
            for event in shape.begin():
                await send(event)
            outcome = await self._follow(orders, mailboxes, pass_on)
        except IgnisError as error:
            if isinstance(error, Fault):
                self._log.emit("ignis.request.fault", request_id=request_id, error=error)
            for event in shape.fail(error):
                await send(event)
            return None
        for event in shape.end(outcome):
            await send(event)
        return outcome
