"""The tail of the log: the last lines in order, bounded, and nothing in it that a caller said."""

import io
from threading import Thread

from ignis.errors import EngineError, ModelFileError
from ignis.log import open_log
from ignis.log_tail import TAIL_LINES, LogLine, LogTail


def only(tail: LogTail) -> LogLine:
    (line,) = tail.since(0)
    return line


def test_lines_are_numbered_and_read_from_a_number_on() -> None:
    tail = LogTail()
    for pid in range(3):
        tail.add("info", "ignis.process.started", {"pid": pid})
    assert [(line.number, line.fields["pid"]) for line in tail.since(1)] == [(1, 1), (2, 2)]
    assert tail.since(3) == []


def test_the_oldest_lines_are_forgotten() -> None:
    tail = LogTail()
    for pid in range(TAIL_LINES + 5):
        tail.add("info", "ignis.process.started", {"pid": pid})
    lines = tail.since(0)
    assert (len(lines), lines[0].number, lines[-1].number) == (TAIL_LINES, 5, TAIL_LINES + 4)


def test_a_long_value_is_cut() -> None:
    tail = LogTail()
    tail.add("info", "ignis.process.stopped", {"reason": "x" * 100_000})
    assert only(tail).fields["reason"] == "x" * 500


def test_the_generated_key_is_not_in_it() -> None:
    tail = LogTail()
    tail.add("info", "ignis.process.key_generated", {"key": "sk-ignis-1"})
    assert only(tail).fields == {"key": "set, not shown"}


def test_an_error_of_a_request_is_told_by_kind_and_place_alone() -> None:
    tail = LogTail()
    try:
        raise ValueError("my prompt")
    except ValueError as error:
        tail.add("error", "ignis.http.fault", {"error": error})
    tail.add("error", "ignis.request.fault", {"error": "a constraint broke: my prompt"})
    tail.add("error", "ignis.http.fault", {"error": EngineError("my prompt")})
    told = [str(line.fields["error"]) for line in tail.since(0)]
    assert not any("prompt" in text for text in told)
    assert told[0].startswith("ValueError at test_an_error_of_a_request_is_told_by_kind_and_place_alone:")


def test_an_error_that_is_not_ours_is_told_by_kind_and_place_alone() -> None:
    tail = LogTail()
    tail.add("error", "ignis.engine.fault", {"error": RuntimeError("my prompt")})
    assert only(tail).fields["error"] == "RuntimeError, told in the server's own log"


def test_an_error_of_a_model_says_what_is_wrong_without_folders() -> None:
    tail = LogTail()
    tail.add("error", "ignis.model.load_failed", {"error": ModelFileError("/home/me/models/a.gguf: is cut short")})
    assert only(tail).fields["error"] == "a.gguf: is cut short"


def test_the_path_of_a_request_stays_whole() -> None:
    tail = LogTail()
    tail.add("debug", "ignis.http.request", {"path": "/v1/chat/completions", "status": 200, "peer": None})
    assert only(tail).fields == {"path": "/v1/chat/completions", "status": 200}


def test_a_log_keeps_what_it_writes_and_no_more() -> None:
    log = open_log(io.StringIO(), level="info")
    log.emit("ignis.request.ttft", tokens=3)
    log.emit("ignis.request.done", class_="agent", tok_s=1.5)
    line = only(log.tail)
    assert (line.level, line.event, line.fields) == ("info", "ignis.request.done", {"class": "agent", "tok_s": 1.5})


def test_a_level_can_be_changed() -> None:
    log = open_log(io.StringIO(), level="warning")
    log.emit("ignis.request.done", tok_s=1.0)
    log.set_level("info")
    log.emit("ignis.request.done", tok_s=2.0)
    assert only(log.tail).fields == {"tok_s": 2.0}


def test_threads_give_each_line_a_number_of_its_own() -> None:
    tail = LogTail()

    def add() -> None:
        for _ in range(400):
            tail.add("info", "ignis.process.started", {})

    threads = [Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [line.number for line in tail.since(0)] == list(range(1600))
