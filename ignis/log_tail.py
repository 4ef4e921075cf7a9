"""The last lines of the log, for whoever watches it from a page: bounded, and with no word of a caller's in it."""

import itertools
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from ignis.error_body import without_folders
from ignis.errors import IgnisError

TAIL_LINES = 2000
_MAX_TEXT = 500
"""Characters of one value: 2,000 lines of errors are a few megabytes at most."""
_UNTOLD = "set, not shown"
_CALLERS = ("ignis.request.", "ignis.http.")
"""Events of one caller's request. What went wrong there may quote what the caller said."""


@dataclass(frozen=True, slots=True)
class LogLine:
    number: int
    """Counts up by one from 0, over all levels."""
    at_unix_s: float
    level: str
    event: str
    fields: Mapping[str, object]


class LogTail:
    """Keeps the last TAIL_LINES lines and forgets the older ones, whoever reads. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lines: deque[LogLine] = deque(maxlen=TAIL_LINES)
        self._numbers = itertools.count()
        # A line's number is its place: both are given in one go.
        self._lock = threading.Lock()

    def add(self, level: str, event: str, fields: Mapping[str, object]) -> None:
        """Keeps a line. Errors that are not ours, and all errors of a caller's request, are kept by their kind and
        place alone; keys are not kept."""
        shown = {name: _shown(event, name, value) for name, value in fields.items() if value is not None}
        now = time.time()
        with self._lock:
            self._lines.append(LogLine(next(self._numbers), now, level, event, shown))

    def since(self, number: int) -> list[LogLine]:
        """The lines from this number on, as far as they are still there."""
        with self._lock:
            if not self._lines or number > self._lines[-1].number:
                return []
            first = self._lines[0].number
            return list(itertools.islice(self._lines, max(0, number - first), None))


def _shown(event: str, name: str, value: object) -> object:
    if name == "key":
        return _UNTOLD
    if isinstance(value, bool | int | float):
        return value
    is_callers = event.startswith(_CALLERS)
    if name == "error" and (is_callers or (isinstance(value, BaseException) and not isinstance(value, IgnisError))):
        return _kind(value)
    text = value.message if isinstance(value, IgnisError) else str(value)
    # A path of a caller's request is the API's; any other is of this machine, and only its end is told.
    text = text if is_callers or name == "url" else without_folders(text)
    return text[:_MAX_TEXT].encode(errors="replace").decode()


def _kind(error: object) -> str:
    """Says what an error is and where it arose, without its text."""
    if not isinstance(error, BaseException):
        return "told in the server's own log"
    trace, place = error.__traceback__, ""
    while trace is not None:
        place = f" at {trace.tb_frame.f_code.co_name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{type(error).__name__}{place}, told in the server's own log"
