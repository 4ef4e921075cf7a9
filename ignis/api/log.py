"""GET /ui/log: the tail of the log as server-sent events, behind the key, for the page."""

from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec
import trio

from ignis.errors import InvalidRequestError
from ignis.exchange import Exchange
from ignis.log import LEVELS
from ignis.log_tail import TAIL_LINES, LogLine, LogTail

_LOOK_INTERVAL_S = 0.1
"""A look costs a microsecond, and a line's writer need not know who watches."""
_USUAL_LINES = 200


class LogPage:
    """The endpoint. A reader has no queue: one that is slow finds the ring further on, and is told what it missed."""

    def __init__(self, tail: LogTail) -> None:
        self._tail = tail

    async def watch(self, exchange: Exchange) -> None:
        """Sends the last lines, then each as it comes, for as long as both are there."""
        least = LEVELS[_level(exchange.query)]
        last = _last(exchange.query)
        events = await exchange.open_watch()
        lines = self._tail.since(0)
        next_number = lines[-1].number + 1 if lines else 0
        meant = [line for line in lines if LEVELS[line.level] >= least]
        for line in meant[len(meant) - min(last, len(meant)) :]:
            await events.send(_encoded(line), "log")
        while True:
            await trio.sleep(_LOOK_INTERVAL_S)
            for line in self._tail.since(next_number):
                if line.number > next_number:
                    await events.send(b'{"lost":%d}' % (line.number - next_number), "gap")
                next_number = line.number + 1
                if LEVELS[line.level] >= least:
                    await events.send(_encoded(line), "log")


def _encoded(line: LogLine) -> bytes:
    at = datetime.fromtimestamp(line.at_unix_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return msgspec.json.encode(
        {"number": line.number, "timestamp": at, "level": line.level, "event": line.event, "fields": line.fields}
    )


def _level(query: Mapping[str, str]) -> str:
    level = query.get("level", "debug")
    if level not in LEVELS:
        raise InvalidRequestError(f"level must be one of {', '.join(LEVELS)}, not {level[:60]!r}", "level")
    return level


def _last(query: Mapping[str, str]) -> int:
    text = query.get("last", str(_USUAL_LINES))
    last = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else -1
    if not 0 <= last <= TAIL_LINES:
        raise InvalidRequestError(f"last must be an integer from 0 to {TAIL_LINES}, not {text[:60]!r}", "last")
    return last
