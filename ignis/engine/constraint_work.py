"""Works constraints out on threads of their own, beside the device's steps, and says when each is done."""

import os
import queue
from collections.abc import Callable
from dataclasses import dataclass

from ignis.clock import Clock
from ignis.engine.deep_thread import start_deep
from ignis.scheduler.constraint import Constraint, ConstraintError
from ignis.scheduler.request import FinishReason

_MAX_THREADS = 4
"""Masks of eight lanes take some 0.2 ms together on one; more threads would want cores that a leaf on the CPU has."""


@dataclass(frozen=True, slots=True)
class Worked:
    """A constraint is up to date, or has failed."""

    request_id: int
    duration_s: float
    failure: FinishReason | None = None
    text: str = ""


class ConstraintWorkers:
    """The threads. They start with the first work, and one that is slow leaves the others to the rest."""

    def __init__(self, clock: Clock, done: Callable[[Worked], None]) -> None:
        """`done` is called in a worker's thread."""
        self._clock = clock
        self._done = done
        self._work: queue.SimpleQueue[tuple[int, Constraint] | None] = queue.SimpleQueue()
        self._num_threads = 0

    def put(self, request_id: int, constraint: Constraint) -> None:
        """Has a late constraint worked out. Until it is done nobody else touches it."""
        try:
            self._start()
        except RuntimeError as error:
            # Out of threads or of address space, which the other requests need not hear of.
            self._done(Worked(request_id, 0.0, FinishReason.FAULT, f"no thread works on constraints: {error}"))
            return
        self._work.put((request_id, constraint))

    def close(self) -> None:
        """Ends the threads after what they have."""
        for _ in range(self._num_threads):
            self._work.put(None)
        self._num_threads = 0

    def _start(self) -> None:
        # Daemons, as the step loop's: a grammar that never ends must not keep the process from ending.
        while self._num_threads < min(_MAX_THREADS, os.cpu_count() or 1):
            start_deep(self._run, f"ignis-masks-{self._num_threads}")
            self._num_threads += 1

    def _run(self) -> None:
        while (item := self._work.get()) is not None:
            request_id, constraint = item
            begun = self._clock()
            failure, text = _work(constraint)
            self._done(Worked(request_id, self._clock() - begun, failure, text))


def _work(constraint: Constraint) -> tuple[FinishReason | None, str]:
    try:
        constraint.work()
    except ConstraintError as error:
        return FinishReason.BLOCKED, str(error)
    except BaseException as error:  # a native library's panic is no Exception; whoever waits must hear of it
        return FinishReason.FAULT, f"a constraint broke: {type(error).__name__}: {error}"
    return None, ""
