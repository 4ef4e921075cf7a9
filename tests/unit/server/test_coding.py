"""Which answers are coded, for whom, and what a coded body may be."""

import gzip
import zlib

import pytest

from ignis.errors import InvalidRequestError, RequestTooLargeError, UnsupportedEncodingError
from ignis.exchange import IMMUTABLE
from ignis.server.coding import decode, encode, is_gzip, takes_gzip

LARGE = b'{"text": "' + b"word " * 5000 + b'"}'


@pytest.mark.parametrize(
    ("header", "takes"),
    [
        ("", False),
        ("gzip", True),
        ("GZIP", True),
        ("x-gzip", True),
        ("gzip, deflate, br, zstd", True),
        ("br;q=1.0, gzip;q=0.8, *;q=0.1", True),
        ("*", True),
        ("*;q=0", False),
        ("gzip;q=0", False),
        ("gzip;q=0.000", False),
        ("gzip; q=0.5, identity", False),
        ("gzip;q=0.5, identity;q=0.5", True),
        ("identity", False),
        ("deflate, br", False),
        ("gzip;q=nan", False),
        ("gzip;q=2", False),
        (";;,,=", False),
    ],
)
def test_accept_encoding_is_read_with_its_qualities(header: str, takes: bool) -> None:
    assert takes_gzip(header) is takes


@pytest.mark.parametrize("size_bytes", [1 << 10, 1 << 20])
async def test_a_large_json_answer_is_coded(size_bytes: int) -> None:
    body = b"x" * size_bytes
    coded, headers = await encode(body, "application/json", [("ETag", '"a"')], "gzip")
    assert gzip.decompress(coded) == body
    assert headers == [("ETag", 'W/"a"'), ("Vary", "Accept-Encoding"), ("Content-Encoding", "gzip")]
    assert (await encode(body, "application/json", [], "gzip"))[0] == coded


@pytest.mark.parametrize(
    ("body", "content_type", "accepted", "varies"),
    [
        (LARGE[:1000], "application/json", "gzip", False),
        (LARGE, "image/png", "gzip", False),
        (LARGE, "text/plain; charset=utf-8", "br", True),
    ],
)
async def test_what_is_not_worth_it_goes_out_as_it_is(
    body: bytes, content_type: str, accepted: str, varies: bool
) -> None:
    sent, headers = await encode(body, content_type, [], accepted)
    assert sent == body
    assert headers == ([("Vary", "Accept-Encoding")] if varies else [])


async def test_a_coded_body_is_decoded() -> None:
    assert await decode(gzip.compress(LARGE), len(LARGE)) == LARGE


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"no gzip", InvalidRequestError),
        (b"", InvalidRequestError),
        (zlib.compress(LARGE), InvalidRequestError),
        (gzip.compress(LARGE)[:-1], InvalidRequestError),
        (gzip.compress(LARGE) + b"more", InvalidRequestError),
        (gzip.compress(b"\0" * (64 << 20)), RequestTooLargeError),
    ],
)
async def test_a_coded_body_that_lies_is_refused(body: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        await decode(body, 1 << 20)


@pytest.mark.parametrize(("header", "coded"), [("", False), ("identity", False), ("gzip", True), ("X-GZIP", True)])
def test_a_body_s_coding_is_read(header: str, coded: bool) -> None:
    assert is_gzip(header) is coded


@pytest.mark.parametrize("header", ["br", "deflate", "zstd", "gzip, gzip", "identity, br"])
def test_another_coding_is_refused(header: str) -> None:
    with pytest.raises(UnsupportedEncodingError):
        is_gzip(header)


@pytest.mark.parametrize("size", [5_000, 500_000])
async def test_what_never_changes_is_coded_once(size: int) -> None:
    body = b"let a = 1;" * (size // 10)
    kept, asked_each_time = [("Cache-Control", IMMUTABLE)], [("Cache-Control", "no-cache")]
    first, headers = await encode(body, "text/javascript", kept, "gzip")
    assert (gzip.decompress(first), dict(headers)["Content-Encoding"]) == (body, "gzip")
    assert (await encode(body, "text/javascript", kept, "gzip"))[0] is first
    assert (await encode(body, "text/javascript", kept, ""))[0] is body
    assert (await encode(body, "text/javascript", asked_each_time, "gzip"))[0] is not first
