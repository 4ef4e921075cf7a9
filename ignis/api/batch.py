"""More answers at once than there are lanes: the orders take turns, and each is answered as if it came alone."""

from collections.abc import Sequence
from dataclasses import replace

import trio

from ignis.api.generation import Delta, OnDelta, Outcome, follow, release
from ignis.api.order import Order
from ignis.api.serving import Serving
from ignis.engine.mailbox import Mailbox


async def follow_in_turn(
    serving: Serving, orders: Sequence[Order], mailboxes: Sequence[Mailbox], on_delta: OnDelta
) -> Outcome:
    """Reads every answer to its end, as `follow`.

    Waits in the row for lanes with one order at a time, so that others who wait there come between two orders, and
    leaves one lane to those who do not wait: over HTTP they would be sent away as long as this goes on.

    Args:
        mailboxes: of the first order, which is submitted already.

    Raises:
        EngineFullError, RequestTooLargeError: an order was not taken.
        RequestTimeoutError, EngineError, CutOffError, DrainingError: an answer did not end on its own.
    """
    started = trio.current_time()
    outcomes: list[Outcome] = []
    failures: list[Exception] = []
    lock = trio.Lock()
    running = orders[0].num_answers
    ended = trio.lowlevel.ParkingLot()

    async def run(order: Order, taken: Sequence[Mailbox], first: int) -> None:
        async def in_turn(delta: Delta) -> None:
            async with lock:
                await on_delta(replace(delta, answer=first + delta.answer))

        # The first failure ends the others and is raised bare: callers know errors, not groups of them.
        try:
            outcomes.append(await follow([order], taken, in_turn))
        except Exception as error:
            fail(error)
        finally:
            release(taken)
            nonlocal running
            running -= order.num_answers
            ended.unpark_all()

    def fail(error: Exception) -> None:
        failures.append(error)
        tasks.cancel_scope.cancel()

    async with trio.open_nursery() as tasks:
        tasks.start_soon(run, orders[0], mailboxes, 0)
        first = orders[0].num_answers
        for order in orders[1:]:
            while running and running + order.num_answers > serving.num_lanes - 1:
                await ended.park()
            try:
                taken = await serving.submit_in_turn(order.submissions(), order.model)
            except Exception as error:
                fail(error)
                break
            tasks.start_soon(run, order, taken, first)
            first += order.num_answers
            running += order.num_answers
    if failures:
        raise failures[0]
    return Outcome(
        prompt_tokens=sum(outcome.prompt_tokens for outcome in outcomes),
        cached_tokens=sum(outcome.cached_tokens for outcome in outcomes),
        completion_tokens=sum(outcome.completion_tokens for outcome in outcomes),
        reasoning_tokens=sum(outcome.reasoning_tokens for outcome in outcomes),
        rewound_tokens=sum(outcome.rewound_tokens for outcome in outcomes),
        queued_s=outcomes[0].queued_s,
        prefill_s=sum(outcome.prefill_s for outcome in outcomes),
        # Many take turns: what matters is how long all of them took.
        decode_s=trio.current_time() - started,
        num_answers=first,
    )
