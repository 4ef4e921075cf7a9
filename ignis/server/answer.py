"""Answers as bytes: head, body, error bodies. Nothing that a handler passes can break out of its line."""

import enum
import functools
import http
import re
import secrets
import time
from collections.abc import Sequence
from email.utils import formatdate

from ignis import error_body
from ignis.errors import IgnisError
from ignis.origins import cors

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"

_FIELD_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FIELD_VALUE = re.compile(r"[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?|")
_PHRASES = {status.value: status.phrase for status in http.HTTPStatus}
# RFC 9110 renamed three, and Python followed in 3.13.
_PHRASES |= {413: "Content Too Large", 414: "URI Too Long", 422: "Unprocessable Content"}
_OWN_FIELDS = frozenset(
    {"connection", "content-length", "content-type", "date", "server", "transfer-encoding", "x-request-id"}
)


class Framing(enum.Enum):
    """How an answer of unknown length shows its end."""

    CHUNKED = "chunked"
    CLOSE = "close"
    """By closing: the client speaks HTTP/1.0."""


def new_request_id() -> str:
    return f"req-{secrets.token_hex(8)}"


def error_parts(
    error: IgnisError, origin: str | None, origins: frozenset[str] | None
) -> tuple[int, bytes, list[tuple[str, str]]]:
    """Status, JSON body and further fields of an error that the server itself answers with.

    It is readable from any page that may use the API: whether the request was meant for the API is not known, and
    nothing is told but how a request was bad or the server busy.
    """
    return error.status, error_body.encode(error), [*error_body.headers(error), *cors(origin, origins)]


def error_answer(
    error: IgnisError,
    request_id: str,
    origin: str | None,
    origins: frozenset[str] | None,
    *,
    has_body: bool = True,
) -> bytes:
    """The connection's last answer."""
    status, body, fields = error_parts(error, origin, origins)
    return whole_answer(status, body, "application/json", fields, request_id, closes=True, has_body=has_body)


def whole_answer(
    status: int,
    body: bytes,
    content_type: str,
    headers: Sequence[tuple[str, str]],
    request_id: str,
    *,
    closes: bool,
    has_body: bool,
) -> bytes:
    """A whole answer. Without `has_body` it is the answer to HEAD: its length is told, its body left out.

    Raises:
        ValueError: a name or value would break out of its line, or sets what the server itself sets.
    """
    lines = _head_lines(status, request_id, closes=closes)
    if status != 204 and status != 304:
        lines += f"content-type: {_checked_value(content_type)}\r\ncontent-length: {len(body)}\r\n"
    else:
        has_body = False
    head = (lines + _field_lines(headers) + "\r\n").encode("latin-1")
    return head + body if has_body else head


def events_head(headers: Sequence[tuple[str, str]], request_id: str, framing: Framing, *, closes: bool) -> bytes:
    """The head of a text/event-stream body, which follows.

    Raises:
        ValueError: as `whole_answer` does.
    """
    lines = _head_lines(200, request_id, closes=closes or framing is Framing.CLOSE)
    # x-accel-buffering keeps nginx, and cache-control everybody else, from holding events back: who may transform may
    # compress, and so wait for more. The charset is for clients that take text without one for ISO 8859-1.
    lines += (
        "content-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache, no-transform\r\n"
        "x-accel-buffering: no\r\n"
    )
    if framing is Framing.CHUNKED:
        lines += "transfer-encoding: chunked\r\n"
    return (lines + _field_lines(headers) + "\r\n").encode("latin-1")


def switching_head(accept_token: str, subprotocol: str | None, request_id: str) -> bytes:
    """The head after which both sides speak WebSocket.

    Raises:
        ValueError: as `whole_answer` does.
    """
    fields = [("sec-websocket-accept", accept_token)]
    if subprotocol is not None:
        fields.append(("sec-websocket-protocol", subprotocol))
    date = formatdate(usegmt=True)
    lines = (
        f"HTTP/1.1 101 Switching Protocols\r\ndate: {date}\r\nserver: ignis\r\nx-request-id: {request_id}\r\n"
        "connection: upgrade\r\nupgrade: websocket\r\n"
    )
    return (lines + _field_lines(fields) + "\r\n").encode("latin-1")


def _head_lines(status: int, request_id: str, *, closes: bool) -> str:
    connection = "connection: close\r\n" if closes else ""
    return f"{_fixed_lines(status, int(time.time()))}x-request-id: {request_id}\r\n{connection}"


@functools.lru_cache(maxsize=32)
def _fixed_lines(status: int, unix_s: int) -> str:
    if not 200 <= status <= 599:
        raise ValueError(f"{status} is not the status of an answer")
    phrase = _PHRASES.get(status, "")
    return f"HTTP/1.1 {status} {phrase}\r\ndate: {formatdate(unix_s, usegmt=True)}\r\nserver: ignis\r\n"


def _field_lines(headers: Sequence[tuple[str, str]]) -> str:
    return "".join(f"{_checked_name(name)}: {_checked_value(value)}\r\n" for name, value in headers)


def _checked_name(name: str) -> str:
    if not _FIELD_NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a header name")
    if name.lower() in _OWN_FIELDS:
        raise ValueError(f"the server itself sets {name}")
    return name


def _checked_value(value: str) -> str:
    # A line end here would let a handler's value forge headers, or a second answer.
    if not _FIELD_VALUE.fullmatch(value):
        raise ValueError(f"{value!r} is not a header value")
    return value
