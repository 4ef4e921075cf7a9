"""gzip on the wire: large answers, coded bodies, and streams that stay plain."""

import gzip

import trio.testing

from tests.wire.rig import rig

ACCEPT = b"host: a\r\naccept-encoding: gzip, br\r\n\r\n"


async def _answer(request: bytes) -> tuple[bytes, bytes]:
    async with rig() as opened:
        await opened.send(request)
        await opened.answered()
        head, _, body = (await opened.settle()).partition(b"\r\n\r\n")
        return head.lower(), body


async def test_a_large_answer_is_coded_and_its_length_is_the_coded_one(autojump_clock: trio.testing.MockClock) -> None:
    head, body = await _answer(b"GET /large HTTP/1.1\r\n" + ACCEPT)
    assert b"content-encoding: gzip" in head
    assert b"vary: accept-encoding" in head
    assert b"content-length: %d\r\n" % len(body) in head
    assert gzip.decompress(body) == b"x" * 5_000_000


async def test_head_tells_what_get_would(autojump_clock: trio.testing.MockClock) -> None:
    get_head, _ = await _answer(b"GET /large HTTP/1.1\r\n" + ACCEPT)
    head, body = await _answer(b"HEAD /large HTTP/1.1\r\n" + ACCEPT)
    assert body == b""
    assert [line for line in head.split(b"\r\n") if line.startswith(b"content-")] == [
        line for line in get_head.split(b"\r\n") if line.startswith(b"content-")
    ]


async def test_a_stream_is_never_coded(autojump_clock: trio.testing.MockClock) -> None:
    head, body = await _answer(b"GET /events?n=100 HTTP/1.1\r\n" + ACCEPT)
    assert b"content-encoding" not in head
    assert body.count(b"data: ") == 100


async def test_a_coded_body_is_read_up_to_the_limit(autojump_clock: trio.testing.MockClock) -> None:
    def post(plain: bytes, coding: bytes = b"gzip") -> bytes:
        body = gzip.compress(plain)
        return (
            b"POST /count HTTP/1.1\r\nhost: a\r\ncontent-encoding: %b\r\ncontent-length: %d\r\n\r\n"
            % (coding, len(body))
        ) + body

    assert (await _answer(post(b"\x01" * 900)))[1] == b"900 900\n"
    head, body = await _answer(post(b"\x01" * 100_000))
    assert head.startswith(b"http/1.1 413 ")
    assert body == b"request_too_large: the decoded body is longer than the 1000 bytes that are taken\n"
    head, body = await _answer(post(b"x", b"br"))
    assert head.startswith(b"http/1.1 415 ")
    assert body.startswith(b"unsupported_content_encoding: ")
