"""HTTP/1.1 as values: bytes to a request head and body through h11, and an answer's head to bytes. Does no I/O.

h11 reads requests and owns the state of the client's side. Answers are written as bytes by hand, in one piece with
their body: h11 would take 27 us for one request and its answer, and its chunk framing 1.9 us where 0.12 us do. So our
side of h11 never moves, and each request gets a fresh h11 connection (2 us), fed with what followed the one before.
"""

import enum
import functools
import http
import json
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.utils import formatdate
from urllib.parse import unquote_to_bytes

import h11

TARGET_BYTES = 8 << 10
"""Longest request target, as nginx and Apache have it; a longer one is a 414."""
NUM_FIELDS = 128
"""Most header fields of one request; Apache takes 100, nginx counts bytes only."""
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"

_FREE_PIECES = 4096
_BYTES_PER_PIECE = 64
# A body in chunks of one byte would cost h11 about 8 us a byte. So after the free pieces a chunked body must bring so
# many bytes a piece on average, which no client misses by sending one write a chunk.

_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_ABSOLUTE = re.compile(r"https?://[^/?#@]+(?=[/?]|$)", re.IGNORECASE)
_REQUEST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:+/=-]{0,127}")
_FIELD_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FIELD_VALUE = re.compile(r"[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?|")
_FRAMING = frozenset(
    {"connection", "content-length", "transfer-encoding", "date", "server", "x-request-id", "content-type"}
)
_HEAD_CODES = {
    400: "bad_request",
    408: "request_timeout",
    413: "request_too_large",
    414: "uri_too_long",
    417: "expectation_failed",
    431: "headers_too_large",
    501: "not_implemented",
    505: "http_version_not_supported",
}


class Refused(Exception):
    """A request that the server itself answers, because no handler can. The connection is closed after it."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message

    def answer(self, request_id: str, *, has_body: bool = True) -> bytes:
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        body = error_body(self.message, kind, _HEAD_CODES[self.status])
        return answer(self.status, body, "application/json", (), request_id, closes=True, has_body=has_body)


class Framing(enum.Enum):
    """How an answer of unknown length shows its end."""

    CHUNKED = "chunked"
    CLOSE = "close"
    """By closing: the client speaks HTTP/1.0."""


@dataclass(frozen=True, slots=True)
class RequestHead:
    """A request without its body. Names and meanings are those of port 1, which sees most of it."""

    method: str
    """As sent, HEAD included."""
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    request_id: str
    content_length: int | None
    """What was announced; None for no body and for a chunked one."""
    framing: Framing
    keeps_alive: bool

    @property
    def is_head(self) -> bool:
        return self.method == "HEAD"


class RequestReader:
    """Reads the requests of one connection, one after the other. Any method may raise Refused; it is unusable then."""

    def __init__(self, header_bytes: int) -> None:
        self._header_bytes = header_bytes
        self._h11 = self._fresh()
        self._has_begun = False
        self._is_body_complete = True
        self._num_pieces = 0
        self._body_bytes = 0

    @property
    def is_body_complete(self) -> bool:
        """Whether the current request has come whole, so that further bytes belong to the next one."""
        return self._is_body_complete

    @property
    def is_continue_awaited(self) -> bool:
        """Whether the client holds its body back until it reads `100 Continue`, or an answer."""
        return self._h11.they_are_waiting_for_100_continue

    @property
    def has_begun(self) -> bool:
        """Whether bytes of the current request are here already."""
        return self._has_begun

    def feed(self, data: bytes) -> None:
        if not self._has_begun:
            # RFC 9112 section 2.2: empty lines before a request line are skipped; h11 does not.
            data = data.lstrip(b"\r\n")
            self._has_begun = bool(data)
        if data:
            # h11 takes empty bytes for the end of the connection.
            self._h11.receive_data(data)

    def next_head(self) -> RequestHead | None:
        """Takes the next head, or returns None while it is incomplete."""
        try:
            event = self._h11.next_event()
        except h11.RemoteProtocolError as error:
            raise self._head_fault(error) from None
        if event is h11.NEED_DATA:
            return None
        assert isinstance(event, h11.Request)
        head = _read_head(event, self._header_bytes)
        self._is_body_complete = False
        self._num_pieces = self._body_bytes = 0
        return head

    def take_body(self) -> bytes:
        """Takes what has come of the body. Once `is_body_complete`, nothing follows."""
        parts: list[bytes] = []
        while not self._is_body_complete:
            try:
                event = self._h11.next_event()
            except h11.RemoteProtocolError as error:
                raise Refused(400, f"the request body is malformed: {error}") from None
            if event is h11.NEED_DATA:
                break
            if isinstance(event, h11.EndOfMessage):
                self._is_body_complete = True
                break
            assert isinstance(event, h11.Data)
            parts.append(bytes(event.data))
            self._num_pieces += 1
            self._body_bytes += len(event.data)
            if self._num_pieces > _FREE_PIECES + self._body_bytes // _BYTES_PER_PIECE:
                raise Refused(400, "the request body comes in too many small chunks")
        return b"".join(parts)

    def start_next(self) -> None:
        """Turns to the next request. The current one must have come whole."""
        assert self._is_body_complete
        rest = self._h11.trailing_data[0]
        self._h11 = self._fresh()
        self._has_begun = False
        self.feed(rest)

    def _fresh(self) -> h11.Connection:
        return h11.Connection(h11.SERVER, max_incomplete_event_size=self._header_bytes)

    def _head_fault(self, error: h11.RemoteProtocolError) -> Refused:
        if error.error_status_hint == 431:
            received = self._h11.trailing_data[0]
            if b"\n" not in received:
                return Refused(414, f"the request line is too long, at most {TARGET_BYTES} bytes of target are taken")
            return _too_large(self._header_bytes)
        return Refused(501 if error.error_status_hint == 501 else 400, f"the request is malformed: {error}")


def _too_large(header_bytes: int) -> Refused:
    return Refused(431, f"the header is too large, at most {NUM_FIELDS} fields and {header_bytes} bytes are taken")


def _read_head(request: h11.Request, header_bytes: int) -> RequestHead:
    # Messages quote nothing that the client sent: it knows it, and a log or terminal need not.
    if not request.http_version.startswith(b"1."):
        raise Refused(505, "the HTTP version is not served, use HTTP/1.1")
    if len(request.target) > TARGET_BYTES:
        raise Refused(414, f"the request target is too long, at most {TARGET_BYTES} bytes are taken")
    size_bytes = sum(len(name) + len(value) + 4 for name, value in request.headers)
    if len(request.headers) > NUM_FIELDS or size_bytes > header_bytes:
        raise _too_large(header_bytes)
    headers: dict[str, str] = {}
    for raw_name, raw_value in request.headers:
        name, value = raw_name.decode("ascii"), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    is_old = request.http_version == b"1.0"
    if "transfer-encoding" in headers:
        # RFC 9112 section 6.1: either is how one request is smuggled past a proxy inside another.
        if "content-length" in headers:
            raise Refused(400, "Transfer-Encoding and Content-Length exclude each other")
        if is_old:
            raise Refused(400, "HTTP/1.0 knows no Transfer-Encoding")
    if not is_old and headers.get("expect", "100-continue").lower() != "100-continue":
        raise Refused(417, "the only expectation that is met is 100-continue")
    method = request.method.decode("ascii")
    path, query = _read_target(method, request.target.decode("ascii"))
    connection = {token.strip() for token in headers.get("connection", "").lower().split(",")}
    length = headers.get("content-length")
    return RequestHead(
        method=method,
        path=path,
        query=query,
        headers=headers,
        request_id=_request_id(headers.get("x-request-id", "")),
        content_length=None if length is None else int(length),
        framing=Framing.CLOSE if is_old else Framing.CHUNKED,
        keeps_alive=not is_old and "close" not in connection,
    )


def _read_target(method: str, target: str) -> tuple[str, dict[str, str]]:
    """Splits and decodes a request target in origin, absolute or asterisk form (RFC 9112 section 3.2)."""
    if method == "CONNECT":
        raise Refused(501, "this server is no proxy")
    if target == "*" and method == "OPTIONS":
        target = "/"
    if not target.startswith("/"):
        absolute = _ABSOLUTE.match(target)
        if absolute is None:
            raise Refused(400, "the request target is neither a path nor an http URL")
        target = target[absolute.end() :]
        if not target.startswith("/"):
            target = "/" + target
    if _BAD_ESCAPE.search(target) or "#" in target:
        raise Refused(400, "the request target holds a bad percent escape or a fragment")
    path, _, query = target.partition("?")
    return _unescape(path), _read_query(query)


def _read_query(query: str) -> dict[str, str]:
    """Decodes `a=1&b=2`; of a repeated name the last value counts."""
    if not query:
        return {}
    pairs = (field.replace("+", " ").partition("=") for field in query.split("&") if field)
    return {_unescape(name): _unescape(value) for name, _, value in pairs}


def _unescape(text: str) -> str:
    if "%" not in text:
        return text
    try:
        plain = unquote_to_bytes(text).decode("utf-8")
    except UnicodeDecodeError:
        raise Refused(400, "the request target is not UTF-8") from None
    if "\0" in plain:
        raise Refused(400, "the request target holds a NUL")
    return plain


def _request_id(offered: str) -> str:
    return offered if _REQUEST_ID.fullmatch(offered) else new_request_id()


def new_request_id() -> str:
    return f"req-{secrets.token_hex(8)}"


def error_body(message: str, kind: str, code: str) -> bytes:
    """The JSON that every error answer carries. `kind` is its type."""
    return json.dumps({"error": {"message": message, "type": kind, "code": code, "param": None}}).encode()


def answer(
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
        ValueError: as `answer` does.
    """
    lines = _head_lines(200, request_id, closes=closes or framing is Framing.CLOSE)
    # x-accel-buffering keeps nginx, and cache-control everybody else, from holding events back.
    lines += "content-type: text/event-stream\r\ncache-control: no-cache\r\nx-accel-buffering: no\r\n"
    if framing is Framing.CHUNKED:
        lines += "transfer-encoding: chunked\r\n"
    return (lines + _field_lines(headers) + "\r\n").encode("latin-1")


def _head_lines(status: int, request_id: str, *, closes: bool) -> str:
    connection = "connection: close\r\n" if closes else ""
    return f"{_fixed_lines(status, int(time.time()))}x-request-id: {request_id}\r\n{connection}"


@functools.lru_cache(maxsize=32)
def _fixed_lines(status: int, unix_s: int) -> str:
    if not 200 <= status <= 599:
        raise ValueError(f"{status} is not the status of an answer")
    try:
        phrase = http.HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    return f"HTTP/1.1 {status} {phrase}\r\ndate: {formatdate(unix_s, usegmt=True)}\r\nserver: ignis\r\n"


def _field_lines(headers: Sequence[tuple[str, str]]) -> str:
    return "".join(f"{_checked_name(name)}: {_checked_value(value)}\r\n" for name, value in headers)


def _checked_name(name: str) -> str:
    if not _FIELD_NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a header name")
    if name.lower() in _FRAMING:
        raise ValueError(f"the server itself sets {name}")
    return name


def _checked_value(value: str) -> str:
    # A line end here would let a handler's value forge headers, or a second answer.
    if not _FIELD_VALUE.fullmatch(value):
        raise ValueError(f"{value!r} is not a header value")
    return value
