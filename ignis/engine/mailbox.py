"""What a request's reader holds: its events, and the way to end it early. Belongs to the event loop's thread."""

from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

import trio

from ignis.scheduler.request import FinishReason, TokenEvent, Usage

Leave = Callable[[int, FinishReason], None]


class Mailbox:
    """The events of one request, in order, the last one with `finish`. One reader.

    It is unbounded: admission has counted the tokens that can come, so a slow reader costs memory that was reserved and
    never anybody's round. As a context manager it cancels what has not ended when the reader leaves.
    """

    def __init__(self, request_id: int, leave: Leave) -> None:
        self.request_id = request_id
        self.usage: Usage | None = None
        """Of the latest event that had one: the first token's, then the last event's."""
        self._leave = leave
        self._events: deque[TokenEvent] = deque()
        self._arrival: trio.Event | None = None
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cancel()

    async def receive(self) -> TokenEvent:
        """Waits for the next event.

        Raises:
            trio.EndOfChannel: the last event was received already.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        while not self._events:
            if self._is_closed:
                raise trio.EndOfChannel
            self._arrival = trio.Event()
            await self._arrival.wait()
        return self._events.popleft()

    def cancel(self) -> None:
        """Ends the request with CANCELLED, unless it has ended. Its lane is free for the next submission at once."""
        self._end(FinishReason.CANCELLED)

    def stop(self) -> None:
        """Ends the request with STOP, because its reader has seen enough: a stop string. It counts as completed.

        Nothing comes after that; `usage` of the first token has the prompt's figures, and how many tokens the answer
        took is the reader's own count.
        """
        self._end(FinishReason.STOP)

    def put(self, event: TokenEvent) -> None:
        """Adds an event, in the engine's name. What comes after the end is dropped."""
        if self._is_closed:
            return
        self._is_closed = event.finish is not None
        self.usage = event.usage or self.usage
        self._events.append(event)
        if self._arrival is not None:
            self._arrival.set()
            self._arrival = None

    def _end(self, reason: FinishReason) -> None:
        if not self._is_closed:
            self._events.clear()
            self.put(TokenEvent(self.request_id, finish=reason, usage=self.usage))
            self._leave(self.request_id, reason)
