"""The log: declared events only, one line each, JSON or pretty, and never the end of a request."""

import ast
import io
import json
import os
import threading

import pytest

from ignis import bundle
from ignis.errors import EngineError
from ignis.log import LogFormat, UndeclaredEventError, open_log
from ignis.log_events import EVENTS


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Broken(io.StringIO):
    def write(self, _text: str) -> int:
        raise BrokenPipeError


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_json_lines_begin_with_time_level_and_event() -> None:
    stream = io.StringIO()
    open_log(stream).emit("ignis.request.done", request_id="r", class_="agent", tok_s=1.5, prefill_ms=None)
    (line,) = lines(stream)
    assert list(line)[:3] == ["timestamp", "level", "event"]
    assert {key: line[key] for key in list(line)[1:]} == {
        "level": "info",
        "event": "ignis.request.done",
        "request_id": "r",
        "class": "agent",
        "tok_s": 1.5,
    }


def test_a_terminal_gets_colours_and_a_pipe_that_asks_for_pretty_gets_none() -> None:
    terminal, pipe = Terminal(), io.StringIO()
    open_log(terminal).emit("ignis.process.ready", id="tiny", load_ms=12.5)
    open_log(pipe, LogFormat.PRETTY).emit("ignis.process.ready", id="tiny", load_ms=12.5)
    assert "\x1b[" in terminal.getvalue()
    assert "\x1b[" not in pipe.getvalue()
    assert pipe.getvalue().endswith("info    ignis.process.ready {id=tiny, load_ms=12.5}\n")


@pytest.mark.parametrize("log_format", [LogFormat.JSON, LogFormat.PRETTY])
def test_no_value_can_forge_a_line_or_a_colour(log_format: LogFormat) -> None:
    stream = io.StringIO()
    open_log(stream, log_format, "debug").emit("ignis.http.request", path="/a\n12:00 error forged\x1b[31m\udcff")
    assert len(stream.getvalue().splitlines()) == 1
    assert "\x1b" not in stream.getvalue()


def test_events_under_the_level_are_not_written() -> None:
    stream = io.StringIO()
    log = open_log(stream, LogFormat.JSON, "warning")
    log.emit("ignis.process.ready", id="tiny")
    log.emit("ignis.http.request", path="/")
    log.emit("ignis.process.fault", error="x")
    assert [line["event"] for line in lines(stream)] == ["ignis.process.fault"]


def test_an_exception_is_its_text_with_a_traceback_unless_it_is_ours() -> None:
    stream = io.StringIO()
    log = open_log(stream, LogFormat.JSON)
    log.emit("ignis.process.fault", error=EngineError("the device is lost"))
    try:
        raise ZeroDivisionError("by zero")
    except ZeroDivisionError as error:
        log.emit("ignis.process.fault", error=error)
    ours, theirs = lines(stream)
    assert ours["error"] == "the device is lost"
    assert "traceback" not in ours
    assert theirs["error"] == "ZeroDivisionError: by zero"
    assert "test_log.py" in str(theirs["traceback"])


def test_what_is_not_declared_is_refused() -> None:
    log = open_log(io.StringIO())
    with pytest.raises(UndeclaredEventError, match=r"ignis\.no\.such"):
        log.emit("ignis.no.such")
    with pytest.raises(UndeclaredEventError, match="colour"):
        log.emit("ignis.process.ready", colour="red")


def test_a_log_that_cannot_be_written_ends_nothing() -> None:
    closed = io.StringIO()
    closed.close()
    open_log(Broken()).emit("ignis.process.ready", id="tiny")
    log = open_log(io.StringIO())
    log._logger._logger._stream = closed
    log.emit("ignis.process.ready", id="tiny")


def emitted() -> dict[str, set[str]]:
    """Event to the fields that the source emits it with."""
    found: dict[str, set[str]] = {}
    for path in sorted(bundle.path("ignis").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_emit = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "emit"
            if is_emit and node.args and isinstance(node.args[0], ast.Constant):
                names = {keyword.arg.rstrip("_") for keyword in node.keywords if keyword.arg is not None}
                found.setdefault(node.args[0].value, set()).update(names)
    return found


def test_a_log_that_nobody_reads_holds_nobody_and_tells_later_what_is_missing() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as reader, os.fdopen(writing, "w") as stream:
        log = open_log(stream)

        def emit() -> None:
            for number in range(3000):
                log.emit("ignis.http.fault", request_id=str(number), error="x" * (number % 9000))

        thread = threading.Thread(target=emit, daemon=True)
        thread.start()
        thread.join(60)
        assert not thread.is_alive()
        seen = os.read(reading, 1 << 20)
        log.emit("ignis.process.stopped")
        seen += os.read(reading, 1 << 20)
        assert len(seen) > 50_000
        *whole, last, stopped, lost, end = seen.decode().split("\n")
        assert end == "" and json.loads(stopped)["event"] == "ignis.process.stopped"
        numbers = [int(json.loads(line)["request_id"]) for line in whole]
        # Of the last line that was begun there may be a part; it counts as lost.
        is_torn = not last.endswith("}")
        numbers += [] if is_torn else [int(json.loads(last)["request_id"])]
        assert numbers == sorted(set(numbers))
        assert json.loads(lost) | {"timestamp": ""} == {
            "timestamp": "",
            "level": "warning",
            "event": "ignis.log.lost",
            "lines": 3000 - len(numbers),
        }
        reader.close()
        log.emit("ignis.process.stopped")


def test_what_the_source_emits_is_what_is_declared() -> None:
    assert emitted() == {name: set(fields) for name, (_, fields) in EVENTS.items()}
