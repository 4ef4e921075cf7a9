"""Requests as values: bytes to heads and bodies, through h11. Does no I/O; answer.py is the other direction.

h11 reads requests and owns the state of the client's side. Answers are written as bytes by hand, in one piece with
their body: h11 would take 27 us for one request and its answer, and its chunk framing 1.9 us where 0.12 us do. So our
side of h11 never moves, and each request gets a fresh h11 connection (2 us), fed with what followed the one before.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

import h11

from ignis.errors import (
    ExpectationError,
    HeaderTooLargeError,
    HttpVersionError,
    InvalidRequestError,
    RequestError,
    TargetTooLongError,
    UnsupportedHttpError,
)
from ignis.limits import MAX_HEADER_FIELDS, MAX_TARGET_BYTES
from ignis.server.answer import Framing, new_request_id

_FREE_PIECES = 4096
_BYTES_PER_PIECE = 64
# A body in chunks of one byte would cost h11 about 8 us a byte. So after the free pieces a chunked body must bring so
# many bytes a piece on average, which no client misses by sending one write a chunk.

_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_ABSOLUTE = re.compile(r"https?://[^/?#@]+(?=[/?]|$)", re.IGNORECASE)
_QUOTE = re.compile(r":? (?:bytearray\()?b['\"].*", re.DOTALL)
_REQUEST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:+/=-]{0,127}")


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
    """Reads the requests of one connection, one after the other.

    A method that raises RequestError is the last: where the next request would start is unknown.
    """

    def __init__(self, header_bytes: int) -> None:
        self._header_bytes = header_bytes
        self._h11 = self._fresh()
        self._has_begun = False
        self._is_body_complete = True
        self._is_broken = False
        self._num_pieces = 0
        self._body_bytes = 0

    @property
    def is_body_complete(self) -> bool:
        """Whether the current request has come whole, so that further bytes belong to the next one."""
        return self._is_body_complete

    @property
    def is_broken(self) -> bool:
        """Whether nothing more can be read."""
        return self._is_broken

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
        """Takes the next head, or returns None while it is incomplete.

        Raises:
            RequestError: it is malformed, too large, or asks for what is not served.
        """
        try:
            event = self._h11.next_event()
            if event is h11.NEED_DATA:
                return None
            assert isinstance(event, h11.Request)
            head = _read_head(event, self._header_bytes)
        except h11.RemoteProtocolError as error:
            self._is_broken = True
            raise self._head_fault(error) from None
        except RequestError:
            self._is_broken = True
            raise
        self._is_body_complete = False
        self._num_pieces = self._body_bytes = 0
        return head

    def take_body(self) -> bytes:
        """Takes what has come of the body. Once `is_body_complete`, nothing follows.

        Raises:
            InvalidRequestError: it is malformed, or cut into too many pieces.
        """
        parts: list[bytes] = []
        while not self._is_body_complete:
            try:
                event = self._h11.next_event()
            except h11.RemoteProtocolError as error:
                self._is_broken = True
                raise InvalidRequestError(f"the request body is malformed: {_plain(error)}") from None
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
                self._is_broken = True
                raise InvalidRequestError("the request body comes in too many small chunks")
        return b"".join(parts)

    def give_up(self) -> None:
        """Reads no further: the rest of the request did not come in time."""
        self._is_broken = True

    def start_next(self) -> None:
        """Turns to the next request. The current one must have come whole."""
        assert self._is_body_complete
        assert not self._is_broken
        rest = self._h11.trailing_data[0]
        self._h11 = self._fresh()
        self._has_begun = False
        self.feed(rest)

    def take_rest(self) -> bytes:
        """Takes what came behind the current request, which is of another protocol from here on. The reader is done."""
        self._is_broken = True
        return self._h11.trailing_data[0]

    def _fresh(self) -> h11.Connection:
        return h11.Connection(h11.SERVER, max_incomplete_event_size=self._header_bytes)

    def _head_fault(self, error: h11.RemoteProtocolError) -> RequestError:
        if error.error_status_hint == 431:
            received = self._h11.trailing_data[0]
            if b"\n" not in received:
                return _too_long()
            return _too_large(self._header_bytes)
        if error.error_status_hint == 501:
            return UnsupportedHttpError("the only transfer coding that is read is chunked")
        return InvalidRequestError(f"the request is malformed: {_plain(error)}")


def _plain(error: h11.RemoteProtocolError) -> str:
    """What is wrong, without the client's own bytes, which h11 quotes at any length."""
    return _QUOTE.sub("", str(error))


def _too_large(header_bytes: int) -> RequestError:
    return HeaderTooLargeError(
        f"the header is too large, at most {MAX_HEADER_FIELDS} fields and {header_bytes} bytes are taken"
    )


def _too_long() -> RequestError:
    return TargetTooLongError(f"the request target is too long, at most {MAX_TARGET_BYTES} bytes are taken")


def _read_head(request: h11.Request, header_bytes: int) -> RequestHead:
    if not request.http_version.startswith(b"1."):
        raise HttpVersionError("the HTTP version is not served, use HTTP/1.1")
    if len(request.target) > MAX_TARGET_BYTES:
        raise _too_long()
    size_bytes = sum(len(name) + len(value) + 4 for name, value in request.headers)
    if len(request.headers) > MAX_HEADER_FIELDS or size_bytes > header_bytes:
        raise _too_large(header_bytes)
    headers: dict[str, str] = {}
    for raw_name, raw_value in request.headers:
        name, value = raw_name.decode("ascii"), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    is_old = request.http_version == b"1.0"
    if "transfer-encoding" in headers:
        # RFC 9112 section 6.1: either is how one request is smuggled past a proxy inside another.
        if "content-length" in headers:
            raise InvalidRequestError("Transfer-Encoding and Content-Length exclude each other")
        if is_old:
            raise InvalidRequestError("HTTP/1.0 knows no Transfer-Encoding")
    if not is_old and headers.get("expect", "100-continue").lower() != "100-continue":
        raise ExpectationError("the only expectation that is met is 100-continue")
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
        raise UnsupportedHttpError("this server is no proxy")
    if target == "*" and method == "OPTIONS":
        target = "/"
    if not target.startswith("/"):
        absolute = _ABSOLUTE.match(target)
        if absolute is None:
            raise InvalidRequestError("the request target is neither a path nor an http URL")
        target = target[absolute.end() :]
        if not target.startswith("/"):
            target = "/" + target
    if _BAD_ESCAPE.search(target) or "#" in target:
        raise InvalidRequestError("the request target holds a bad percent escape or a fragment")
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
        raise InvalidRequestError("the request target is not UTF-8") from None
    if "\0" in plain:
        raise InvalidRequestError("the request target holds a NUL")
    return plain


def _request_id(offered: str) -> str:
    return offered if _REQUEST_ID.fullmatch(offered) else new_request_id()
