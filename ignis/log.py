"""The log: events declared in spec/events.toml, as coloured text on a terminal and as JSON lines anywhere else.

Owns no global state: `open_log` makes a Log, and whoever emits is given it. Safe to use from any thread.
"""

import enum
import json
import traceback
from collections.abc import Mapping, MutableMapping
from typing import Any, TextIO

import structlog

from ignis.errors import IgnisError
from ignis.log_events import EVENTS
from ignis.log_tail import LogTail
from ignis.outlet import Outlet

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
_COLOURS = {"debug": "\x1b[2m", "info": "\x1b[32m", "warning": "\x1b[33m", "error": "\x1b[31m"}
_DIM = "\x1b[2m"
_BOLD = "\x1b[1m"
_RESET = "\x1b[0m"


class LogFormat(enum.Enum):
    AUTO = "auto"
    """Pretty on a terminal, JSON lines elsewhere."""
    PRETTY = "pretty"
    JSON = "json"


class UndeclaredEventError(AssertionError):
    """An event or field that spec/events.toml does not list: always our bug."""


class Log:
    """Emits declared events. A level under the log's own costs one dictionary look-up."""

    def __init__(self, logger: Any, level: str, lines: "_Lines") -> None:
        self.tail = LogTail()
        """What was written last."""
        self._logger = logger
        self._lines = lines
        self._threshold = LEVELS[level]

    def set_level(self, level: str) -> None:
        """Changes what is written from now on: debug, info, warning or error."""
        self._threshold = LEVELS[level]

    def emit(self, event: str, /, **fields: object) -> None:
        """Writes one event. Fields that are None are left out; `class_` and `from_` are spelled without
        the underscore.

        An exception as a value becomes its text, with a traceback beside it where it is not one of ours.

        Raises:
            UndeclaredEventError: the event, or one of the fields, is not declared.
        """
        declared = EVENTS.get(event)
        if declared is None:
            raise UndeclaredEventError(f"the event {event} is not in spec/events.toml")
        level, names = declared
        for keyword in ("class_", "from_"):
            if keyword in fields:
                fields[keyword[:-1]] = fields.pop(keyword)
        if not names.issuperset(fields):
            unknown = ", ".join(sorted(set(fields) - names))
            raise UndeclaredEventError(f"the event {event} has no field {unknown} in spec/events.toml")
        if LEVELS[level] >= self._threshold:
            self.tail.add(level, event, fields)
            self._logger.msg(event, level=level, **{name: value for name, value in fields.items() if value is not None})
            if self._lines.num_lost:
                lost, self._lines.num_lost = self._lines.num_lost, 0
                self.emit("ignis.log.lost", lines=lost)


def open_log(stream: TextIO, log_format: LogFormat = LogFormat.AUTO, level: str = "info") -> Log:
    """Makes a log that writes to the stream and never closes it. `level` is debug, info, warning or error."""
    is_terminal = stream.isatty()
    is_pretty = log_format is LogFormat.PRETTY or (log_format is LogFormat.AUTO and is_terminal)
    processors = (
        [structlog.processors.TimeStamper(fmt="%H:%M:%S.%f", utc=False), _name_exceptions, _Pretty(is_terminal)]
        if is_pretty
        else [structlog.processors.TimeStamper(fmt="iso", utc=True), _name_exceptions, _render_json]
    )
    lines = _Lines(stream)
    logger = structlog.wrap_logger(
        lines,
        processors=processors,  # type: ignore[arg-type]  # our renderers return text, as the last one may
        wrapper_class=structlog.BoundLogger,
        context_class=dict,
        cache_logger_on_first_use=True,
    )
    return Log(logger, level, lines)


class _Lines:
    """Writes one line at a time. A log that cannot be written is lost: it must neither end nor hold a request."""

    def __init__(self, stream: TextIO) -> None:
        self.num_lost = 0
        """Lines that nobody read in time, before the last one that was written; whoever tells of them sets it to 0."""
        self._outlet = Outlet(stream)

    def msg(self, line: str) -> None:
        self.num_lost += self._outlet.write(line)


def _name_exceptions(_logger: object, _method: str, fields: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    error = fields.get("error")
    if isinstance(error, IgnisError):
        fields["error"] = error.message
    elif isinstance(error, BaseException):
        fields["error"] = f"{type(error).__name__}: {error}"
        fields["traceback"] = "".join(traceback.format_exception(error))
    return fields


def _render_json(_logger: object, _method: str, fields: MutableMapping[str, Any]) -> str:
    head = {"timestamp": fields.pop("timestamp"), "level": fields.pop("level"), "event": fields.pop("event")}
    # Escaped to ASCII: a path may hold bytes that are no UTF-8, and the line must come out all the same.
    return json.dumps({**head, **fields}, default=str, separators=(",", ":"))


class _Pretty:
    """Renders `12:00:01.250 info  ignis.request.done {tokens=12, tok_s=101.5}`."""

    def __init__(self, has_colours: bool) -> None:
        self._has_colours = has_colours

    def __call__(self, _logger: object, _method: str, fields: MutableMapping[str, Any]) -> str:
        clock = fields.pop("timestamp")[:-3]
        level = fields.pop("level")
        event = fields.pop("event")
        trace = fields.pop("traceback", "")
        values = ", ".join(f"{name}={_spell(value)}" for name, value in fields.items())
        body = f" {{{values}}}" if values else ""
        if trace:
            body += "\n" + trace.rstrip()
        if not self._has_colours:
            return f"{clock} {level:<7} {event}{body}"
        return f"{_DIM}{clock}{_RESET} {_COLOURS[level]}{level:<7}{_RESET} {_BOLD}{event}{_RESET}{body}"


def _spell(value: object) -> str:
    """Spells a value so that no text from outside can forge a line or a colour."""
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"
    if isinstance(value, Mapping | list | tuple):
        return repr(value)
    text = str(value)
    return text if text.isprintable() and " " not in text else repr(text)
