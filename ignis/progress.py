"""Says how far a download has come, to whoever started it by hand: a person at a terminal, or a program."""

import json
from collections import deque
from collections.abc import Callable
from typing import TextIO

from ignis.clock import Clock, monotonic_s
from ignis.units import shown_file_size

_WINDOW_S = 5.0
_BAR_CELLS = 24


class Rate:
    """Bytes a second over the last seconds, of those that came: what was there before counts for nothing."""

    def __init__(self, clock: Clock = monotonic_s) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, int]] = deque()

    def __call__(self, came_bytes: int) -> float:
        """Notes how many have come; returns the rate, 0 until there are two notes."""
        now_s = self._clock()
        self._seen.append((now_s, came_bytes))
        while len(self._seen) > 2 and now_s - self._seen[0][0] > _WINDOW_S:
            self._seen.popleft()
        then_s, then_bytes = self._seen[0]
        return max(came_bytes - then_bytes, 0) / (now_s - then_s) if now_s > then_s else 0.0

    def now(self) -> float:
        """The rate as it is, though nothing may have been noted for long: of what is silent it falls to 0."""
        now_s, seen = self._clock(), list(self._seen)
        recent = [(then_s, then_bytes) for then_s, then_bytes in seen if now_s - then_s <= _WINDOW_S]
        if not recent or now_s == recent[0][0]:
            return 0.0
        return max(seen[-1][1] - recent[0][1], 0) / (now_s - recent[0][0])


class ProgressReport:
    """One line that is redrawn on a terminal, else a JSON object a line for every tenth of the way."""

    def __init__(
        self,
        title: str,
        output: TextIO,
        tell: Callable[[int, int, int], None] | None = None,
        clock: Clock = monotonic_s,
    ) -> None:
        """tell: called for every tenth in place of writing to an output that is no terminal, with the bytes that are
        here, those that there will be, and the rate."""
        self._title = title
        self._output = output
        self._tell = tell
        self._clock = clock
        self._rate = Rate(clock)
        self._shown_s = float("-inf")
        self._shown_tenths = -1

    def __call__(self, done_bytes: int, total_bytes: int, came_bytes: int) -> None:
        now_s = self._clock()
        rate = self._rate(came_bytes)
        is_done = done_bytes == total_bytes
        if self._output.isatty():
            if now_s - self._shown_s >= 0.1 or is_done:
                self._shown_s = now_s
                line = self._line(done_bytes, total_bytes, rate)
                self._output.write(f"\r\x1b[K{line}" + ("\n" if is_done else ""))
                self._output.flush()
            return
        tenths = done_bytes * 10 // total_bytes if total_bytes else done_bytes >> 24
        if tenths != self._shown_tenths:
            self._shown_tenths = tenths
            if self._tell is not None:
                self._tell(done_bytes, total_bytes, round(rate))
                return
            facts = {
                "event": "ignis.model.download",
                "id": self._title,
                "done_bytes": done_bytes,
                "total_bytes": total_bytes,
                "bytes_per_second": round(rate),
            }
            self._output.write(json.dumps(facts) + "\n")
            self._output.flush()

    def _line(self, done_bytes: int, total_bytes: int, rate: float) -> str:
        speed = f"{rate / 1e6:.1f} MB/s"
        if not total_bytes:
            return f"fetching {self._title}: {shown_file_size(done_bytes)}, {speed}"
        cells = _BAR_CELLS * done_bytes // total_bytes
        bar = "█" * cells + "░" * (_BAR_CELLS - cells)
        left = f", {(total_bytes - done_bytes) / rate:.0f} s left" if rate and done_bytes < total_bytes else ""
        share = 100 * done_bytes // total_bytes
        return f"fetching {self._title} {bar} {share:3d} % of {shown_file_size(total_bytes)}, {speed}{left}"
