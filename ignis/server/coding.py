"""Content codings (RFC 9110 section 8.4): gzip for large answers to clients that take it, and for bodies that come so.

An event stream is never coded: a coder that holds bytes back to find repetition is a buffer between two tokens.
"""

import re
import zlib
from collections.abc import Sequence
from functools import lru_cache

import trio

from ignis.errors import InvalidRequestError, RequestTooLargeError, UnsupportedEncodingError
from ignis.exchange import IMMUTABLE

MIN_BYTES = 1 << 10
"""Shorter answers fit one packet either way."""
_INLINE_BYTES = 32 << 10
"""Coding so much takes under a millisecond; more is a worker thread's work, so that no stream waits."""
_LEVEL = 5
_KEPT_LEVEL = 9
_NUM_KEPT = 512
"""A page and its parts are about half as many files, under a megabyte when coded."""
_GZIP_WINDOW = 31
_TYPES = re.compile(r"text/.*|application/(?:json|javascript|manifest\+json|openmetrics-text)|image/svg\+xml")
_QUALITY = re.compile(r"0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?")


def takes_gzip(accept_encoding: str) -> bool:
    """Whether a client takes gzip and likes it no less than the plain answer (RFC 9110 section 12.5.3)."""
    qualities = {"identity": 0.0}
    for entry in accept_encoding.lower().split(","):
        coding, _, parameters = entry.partition(";")
        name, _, value = parameters.replace(" ", "").partition("=")
        if name == "q" and not _QUALITY.fullmatch(value):
            continue
        qualities[coding.strip()] = float(value) if name == "q" else 1.0
    gzip = qualities.get("gzip", qualities.get("x-gzip", qualities.get("*", 0.0)))
    return gzip > 0 and gzip >= qualities["identity"]


async def encode(
    body: bytes, content_type: str, headers: Sequence[tuple[str, str]], accept_encoding: str
) -> tuple[bytes, list[tuple[str, str]]]:
    """Codes an answer where that is worth while. Returns its body and its headers."""
    if len(body) < MIN_BYTES or not _TYPES.fullmatch(content_type.partition(";")[0]):
        return body, list(headers)
    # A cache has to tell the two forms apart, whichever this one is.
    vary = [*headers, ("Vary", "Accept-Encoding")]
    if not takes_gzip(accept_encoding):
        return body, vary
    deflate = _deflate_once if ("Cache-Control", IMMUTABLE) in headers else _deflate
    coded = deflate(body) if len(body) <= _INLINE_BYTES else await trio.to_thread.run_sync(deflate, body)
    return coded, [(name, _weak(name, value)) for name, value in vary] + [("Content-Encoding", "gzip")]


def is_gzip(content_encoding: str) -> bool:
    """Whether a request's body comes as gzip; otherwise it comes plain.

    Raises:
        UnsupportedEncodingError: it comes in another coding, or in several.
    """
    codings = [coding.strip() for coding in content_encoding.lower().split(",")]
    codings = [coding for coding in codings if coding not in ("", "identity")]
    if codings and codings not in (["gzip"], ["x-gzip"]):
        raise UnsupportedEncodingError("a body is read as it is or as gzip, in no other content encoding")
    return bool(codings)


async def decode(body: bytes, limit_bytes: int) -> bytes:
    """Takes gzip off a request's body, in a worker thread: how much comes out nobody knows before.

    Raises:
        InvalidRequestError: it is no gzip.
        RequestTooLargeError: it is larger than the limit; no more than that was decoded.
    """
    return await trio.to_thread.run_sync(_inflate, body, limit_bytes)


def _deflate(body: bytes, level: int = _LEVEL) -> bytes:
    coder = zlib.compressobj(level, wbits=_GZIP_WINDOW)
    return coder.compress(body) + coder.flush()


@lru_cache(_NUM_KEPT)
def _deflate_once(body: bytes) -> bytes:
    """As `_deflate`, and keeps it.

    Not coded when the executable is packed: that would be a second place for each file, and none for a page that is run
    from source. Here it costs the first browser a few milliseconds more.
    """
    return _deflate(body, _KEPT_LEVEL)


def _inflate(body: bytes, limit_bytes: int) -> bytes:
    # A thousandfold bomb is decoded up to the limit and a byte, and no further.
    decoder = zlib.decompressobj(wbits=_GZIP_WINDOW)
    try:
        plain = decoder.decompress(body, limit_bytes + 1)
    except zlib.error as error:
        raise InvalidRequestError("the body is not the gzip that its Content-Encoding says") from error
    if len(plain) > limit_bytes:
        raise RequestTooLargeError(f"the decoded body is longer than the {limit_bytes} bytes that are taken")
    if not decoder.eof or decoder.unused_data:
        raise InvalidRequestError("the body's gzip is cut, or something follows it")
    return plain


def _weak(name: str, value: str) -> str:
    """The tag of the plain form is no strong one of the coded form (RFC 9110 section 8.8.3)."""
    return f"W/{value}" if name.lower() == "etag" and not value.startswith("W/") else value
