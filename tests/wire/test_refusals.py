"""Requests that the server answers in a handler's place: one clear answer in the one error shape, then a close."""

import json

import pytest
import trio.testing

from ignis.metric_families import FAMILIES
from tests.wire.rig import LIMITS, rig

HOST = b"host: a\r\n"
REFUSED = {
    "no request line": (b"hello\r\n\r\n", 400),
    "a TLS client": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
    "no host": (b"GET / HTTP/1.1\r\n\r\n", 400),
    "two hosts": (b"GET / HTTP/1.1\r\nhost: a\r\nhost: a\r\n\r\n", 400),
    "a space before a colon": (b"GET / HTTP/1.1\r\nhost : a\r\n\r\n", 400),
    "a NUL in a value": (b"GET / HTTP/1.1\r\nhost: a\r\nx: a\0b\r\n\r\n", 400),
    "a bad escape": (b"GET /%zz HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "half an escape": (b"GET /a%2 HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "a bad escape in the query": (b"GET /?a=%g0 HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "bytes that are not UTF-8": (b"GET /%ff HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "an escaped NUL": (b"GET /a%00 HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "a fragment": (b"GET /#a HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "a raw byte in the target": (b"GET /\xc3\xa9 HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "a target of another scheme": (b"GET ftp://a/ HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "a target that is a name": (b"GET a/b HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "an asterisk for GET": (b"GET * HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "length and chunks": (
        b"POST / HTTP/1.1\r\n" + HOST + b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
    ),
    "two lengths": (b"POST / HTTP/1.1\r\n" + HOST + b"content-length: 1\r\ncontent-length: 2\r\n\r\n", 400),
    "a negative length": (b"POST / HTTP/1.1\r\n" + HOST + b"content-length: -1\r\n\r\n", 400),
    "a signed length": (b"POST / HTTP/1.1\r\n" + HOST + b"content-length: +1\r\n\r\n", 400),
    "a huge length": (b"POST / HTTP/1.1\r\n" + HOST + b"content-length: " + b"9" * 30 + b"\r\n\r\n", 400),
    "chunks to HTTP/1.0": (b"POST / HTTP/1.0\r\n" + HOST + b"transfer-encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    "a malformed first chunk": (b"POST / HTTP/1.1\r\n" + HOST + b"transfer-encoding: chunked\r\n\r\nxyz\r\n", 400),
    "another coding": (b"POST / HTTP/1.1\r\n" + HOST + b"transfer-encoding: gzip, chunked\r\n\r\n", 501),
    "CONNECT": (b"CONNECT a:80 HTTP/1.1\r\n" + HOST + b"\r\n", 501),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    "another expectation": (b"GET / HTTP/1.1\r\n" + HOST + b"expect: 200-ok\r\n\r\n", 417),
    "a long target": (b"GET /" + b"a" * (9 << 10) + b" HTTP/1.1\r\n" + HOST + b"\r\n", 414),
    "a request line without end": (b"GET /" + b"a" * (LIMITS.header_bytes + 1), 414),
    "a large header": (b"GET / HTTP/1.1\r\n" + HOST + b"x: " + b"a" * LIMITS.header_bytes + b"\r\n\r\n", 431),
    "a header without end": (b"GET / HTTP/1.1\r\n" + HOST + b"x: " + b"a" * LIMITS.header_bytes, 431),
    "many fields": (b"GET / HTTP/1.1\r\n" + HOST + b"a: b\r\n" * 128 + b"\r\n", 431),
}


@pytest.mark.parametrize("piece_bytes", [1 << 20, 97])
@pytest.mark.parametrize("name", REFUSED)
async def test_a_bad_request_gets_one_clear_answer_and_a_close(
    name: str, piece_bytes: int, autojump_clock: trio.testing.MockClock
) -> None:
    request, status = REFUSED[name]
    async with rig() as opened:
        follower = b"GET /hello HTTP/1.1\r\nhost: a\r\n\r\n" if request.endswith(b"\n") else b""
        await opened.send(request + follower, piece_bytes)
        head, _, body = (await opened.settle()).partition(b"\r\n\r\n")
        assert opened.has_ended
        assert opened.events("ignis.http.fault") == []
        assert opened.handler.begun in ([], ["/"])
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert b"\r\nconnection: close\r\n" in head
    assert b"\r\ncontent-type: application/json\r\n" in head
    assert b"\r\nAccess-Control-Allow-Origin: *\r\n" in head
    error = json.loads(body)["error"]
    assert error.keys() == {"message", "type", "code", "param"}
    if not opened.handler.begun:
        assert opened.counts == [("ignis_http_refusals", error["code"])]
        assert error["code"] in FAMILIES["ignis_http_refusals"].values
    assert "bytearray" not in error["message"]


async def test_a_refused_head_request_gets_no_body(autojump_clock: trio.testing.MockClock) -> None:
    async with rig() as opened:
        await opened.send(b"HEAD / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n")
        assert (await opened.settle()).endswith(b"\r\n\r\n")


async def test_a_body_that_turns_out_malformed_is_told_to_the_handler(autojump_clock: trio.testing.MockClock) -> None:
    async with rig() as opened:
        await opened.send(b"POST /count HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n")
        await opened.send(b"oh no\r\n")
        answer = await opened.settle()
        assert b"connection: close" in answer
        assert answer.endswith(b"invalid_request_error: the request body is malformed: illegal chunk header\n")
        assert opened.has_ended


async def test_a_body_that_turns_out_too_long_is_refused_before_it_is_whole(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with rig() as opened:
        await opened.send(b"POST /count HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n")
        for _ in range(5):
            await opened.send(b"fa\r\n" + b"x" * 250 + b"\r\n")
        answer = await opened.settle()
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert b"connection: close" in answer


async def test_a_body_in_crumbs_is_refused(autojump_clock: trio.testing.MockClock) -> None:
    async with rig() as opened:
        await opened.send(
            b"POST /none HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 5000
        )
        assert b"too many small chunks" in await opened.settle()


async def test_the_rest_of_a_refused_upload_is_read_so_that_the_answer_arrives(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with rig() as opened:
        await opened.send(b"POST /count HTTP/1.1\r\nhost: a\r\ncontent-length: 9000000\r\n\r\n")
        for _ in range(9):
            await opened.client.send_all(b"x" * 1_000_000)
        assert (await opened.settle()).startswith(b"HTTP/1.1 413 ")
