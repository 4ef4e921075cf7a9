"""Rules of writing an answer that need no socket."""

import json

import pytest

from ignis import error_body
from ignis.errors import EngineFullError, InternalError, InvalidRequestError
from ignis.server.answer import Framing, error_answer, error_parts, events_head, whole_answer

INJECTIONS = ["a\r\nb: c", "a\nb", "a\rb", "a\0b", " a", "a ", "\x7f", "€", "\u2028"]


def answer(status: int = 200, content_type: str = "text/plain", fields: tuple[tuple[str, str], ...] = ()) -> bytes:
    return whole_answer(status, b"body", content_type, fields, "an-id", closes=False, has_body=True)


@pytest.mark.parametrize("value", INJECTIONS)
def test_no_value_breaks_out_of_its_line(value: str) -> None:
    with pytest.raises(ValueError, match="is not a header value"):
        answer(fields=(("x-a", value),))
    with pytest.raises(ValueError, match="is not a header value"):
        answer(content_type=value)
    with pytest.raises(ValueError, match="is not a header value"):
        events_head((("x-a", value),), "an-id", Framing.CHUNKED, closes=False)


@pytest.mark.parametrize("name", ["", "a b", "a:", "a\r\nb", "é", "a\0"])
def test_no_name_breaks_out_of_its_line(name: str) -> None:
    with pytest.raises(ValueError, match="is not a header name"):
        answer(fields=((name, "b"),))


@pytest.mark.parametrize(
    "name", ["Content-Length", "transfer-encoding", "connection", "date", "server", "X-Request-Id"]
)
def test_a_handler_cannot_set_what_frames_the_answer(name: str) -> None:
    with pytest.raises(ValueError, match="the server itself sets"):
        answer(fields=((name, "1"),))


@pytest.mark.parametrize("value", ["", "a", "a b\tc", 'W/"é"', "x" * 5000])
def test_a_good_value_is_sent_as_it_is(value: str) -> None:
    assert f"\r\nx-a: {value}\r\n".encode("latin-1") in answer(fields=(("x-a", value),))


@pytest.mark.parametrize("status", [0, 100, 199, 600])
def test_what_is_no_final_status_is_refused(status: int) -> None:
    with pytest.raises(ValueError, match="is not the status of an answer"):
        answer(status)


@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_that_has_no_body_has_none(status: int) -> None:
    assert b"content-" not in answer(status)
    assert answer(status).endswith(b"\r\n\r\n")


def test_an_unknown_status_has_no_phrase() -> None:
    assert answer(299).startswith(b"HTTP/1.1 299 \r\n")


def test_an_error_says_when_to_come_back() -> None:
    status, body, fields = error_parts(EngineFullError("all lanes are taken", retry_after_s=7), None, None)
    assert (status, fields[0]) == (503, ("Retry-After", "7"))
    assert body == (
        b'{"error":{"message":"all lanes are taken","type":"engine_full","code":"engine_full","param":null}}'
    )


def test_an_error_that_echoes_half_a_character_is_spelled_as_the_api_spells_it() -> None:
    echo = InvalidRequestError("the header \ud800 is malformed", param="\udfff")
    assert error_parts(echo, None, None)[1] == error_body.encode(echo)
    assert json.loads(error_parts(echo, None, None)[1])["error"]["message"] == "the header ? is malformed"


def test_a_fault_keeps_its_message_to_itself() -> None:
    assert b"a secret" not in error_answer(InternalError("a secret"), "an-id", None, None)
