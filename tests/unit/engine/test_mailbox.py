"""A mailbox from its reader's side."""

import pytest
import trio
import trio.testing

from ignis.engine.mailbox import Mailbox
from ignis.scheduler.request import FinishReason, TokenEvent, Usage

USAGE = Usage(10, 0, 1, 0.0, 0.0, 0.0)


@pytest.fixture
def left() -> list[tuple[int, FinishReason]]:
    return []


@pytest.fixture
def mailbox(left: list[tuple[int, FinishReason]]) -> Mailbox:
    return Mailbox(1, lambda request_id, reason: left.append((request_id, reason)))


async def test_events_come_in_order_and_then_the_channel_ends(mailbox: Mailbox) -> None:
    events = [TokenEvent(1, (5,)), TokenEvent(1, (6,), finish=FinishReason.LENGTH)]
    for event in events:
        mailbox.put(event)
    assert [await mailbox.receive(), await mailbox.receive()] == events
    with pytest.raises(trio.EndOfChannel):
        await mailbox.receive()


async def test_a_reader_that_waits_is_woken(mailbox: Mailbox, nursery: trio.Nursery) -> None:
    got: list[TokenEvent] = []

    async def read() -> None:
        got.append(await mailbox.receive())

    nursery.start_soon(read)
    await trio.testing.wait_all_tasks_blocked()
    mailbox.put(TokenEvent(1, (5,)))
    await trio.testing.wait_all_tasks_blocked()
    assert got == [TokenEvent(1, (5,))]


async def test_leaving_the_block_cancels_once(mailbox: Mailbox, left: list[tuple[int, FinishReason]]) -> None:
    with mailbox:
        mailbox.put(TokenEvent(1, (5,)))
    mailbox.cancel()
    assert left == [(1, FinishReason.CANCELLED)]
    assert (await mailbox.receive()).finish is FinishReason.CANCELLED


async def test_an_ended_request_is_not_cancelled(mailbox: Mailbox, left: list[tuple[int, FinishReason]]) -> None:
    with mailbox:
        mailbox.put(TokenEvent(1, finish=FinishReason.STOP))
    assert left == []


async def test_a_stop_keeps_the_usage_of_the_first_token(
    mailbox: Mailbox, left: list[tuple[int, FinishReason]]
) -> None:
    mailbox.put(TokenEvent(1, (5,), usage=USAGE))
    mailbox.stop()
    mailbox.put(TokenEvent(1, (6,)))
    assert await mailbox.receive() == TokenEvent(1, finish=FinishReason.STOP, usage=USAGE)
    assert (left, mailbox.usage) == ([(1, FinishReason.STOP)], USAGE)


async def test_a_waiting_reader_can_be_cancelled(mailbox: Mailbox) -> None:
    with trio.move_on_after(0) as scope:
        await mailbox.receive()
    assert scope.cancelled_caught
