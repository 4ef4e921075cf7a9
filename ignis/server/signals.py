"""SIGTERM and SIGINT, from the moment a server listens for them to the last one of its process. Ends nothing itself."""

import signal
from collections.abc import Callable
from types import FrameType

import trio

_STOPS = (signal.SIGTERM, signal.SIGINT)


class _Late:
    """Takes what comes when the event loop listens no more."""

    def __init__(self, last: Callable[[], None]) -> None:
        self._last = last

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        self._last()


async def on_signals(
    first: Callable[[str], None],
    second: Callable[[str], None],
    last: Callable[[], None],
    *,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Calls `first` with the name of the first SIGTERM or SIGINT, `second` with the later ones, until cancelled.

    From then on, until `ignore_signals`, each calls `last`, in the middle of whatever the main thread is at: it must
    not take a lock, nor write a log.
    """
    late, call = _Late(last), first
    for each in _STOPS:
        # What the receiver puts back when it closes. The default would end the process by the signal.
        signal.signal(each, late)
    with trio.open_signal_receiver(*_STOPS) as signals:
        task_status.started()
        async for number in signals:
            call(signal.Signals(number).name)
            call = second


def ignore_signals() -> None:
    """Has what `on_signals` left done no more: all is over, and the interpreter, which takes its own handlers away at
    its end, is to give the status that the server has ended with. Does nothing where it was never called."""
    for number in _STOPS:
        if isinstance(signal.getsignal(number), _Late):
            signal.signal(number, signal.SIG_IGN)
