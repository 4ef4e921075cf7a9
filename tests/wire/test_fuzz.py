"""Any bytes, in any pieces, with any end: answers or a clean close, no fault in the log, no task left behind."""

import re

import trio
import trio.testing
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.settings import server_limits
from tests.wire.rig import rig

LIMITS = server_limits(header_bytes=2048, write_timeout_s=20)
FUZZ = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
HOST = b"host: a\r\n"
PATHS = (b"/hello", b"/count", b"/events", b"/empty", b"/seen?a=b", b"/hang", b"/late", b"/none", b"/hang-open")
VALID = tuple(
    request
    for path in PATHS
    for request in (
        b"GET " + path + b" HTTP/1.1\r\n" + HOST + b"\r\n",
        b"HEAD " + path + b" HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET " + path + b" HTTP/1.0\r\n\r\n",
        b"POST " + path + b" HTTP/1.1\r\n" + HOST + b"content-length: 5\r\n\r\nhello",
        b"POST " + path + b" HTTP/1.1\r\n" + HOST + b"expect: 100-continue\r\ncontent-length: 3\r\n\r\nabc",
        b"PUT " + path + b" HTTP/1.1\r\n" + HOST + b"transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nx: y\r\n\r\n",
        b"GET " + path + b" HTTP/1.1\r\n" + HOST + b"connection: close\r\n\r\n",
        b"GET http://a" + path + b" HTTP/1.1\r\n" + HOST + b"upgrade: h2c\r\nconnection: upgrade\r\n\r\n",
    )
)
SPLICES = (
    b"\r\n",
    b"\n",
    b"\r",
    b"\0",
    b"\r\n\r\n",
    b"%",
    b"%zz",
    b":",
    b" ",
    b"\t",
    b"0\r\n\r\n",
    b"ffffffffffffffff\r\n",
    b"content-length: 5\r\n",
    b"transfer-encoding: chunked\r\n",
    b"host: b\r\n",
    b"\xff\xfe",
    b"a" * 3000,
    b"HTTP/9.9",
)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """One to three valid requests with up to four changes."""
    data = bytearray(b"".join(draw(st.lists(st.sampled_from(VALID), min_size=1, max_size=3))))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        stop = min(len(data), start + draw(st.integers(0, 12)))
        data[start:stop] = draw(st.one_of(st.just(b""), st.sampled_from(SPLICES), st.binary(max_size=6)))
    return bytes(data)


@st.composite
def pieces(draw: st.DrawFn, data: st.SearchStrategy[bytes]) -> list[bytes]:
    """The data, cut at up to five places."""
    whole = draw(data)
    cuts = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=5)))
    return [whole[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(whole)], strict=True)]


async def _converse(sent: list[bytes], wait_s: float, *, is_leaving: bool) -> bytes:
    """Sends the pieces, waiting between them, and returns all that came back. Holds what must be true of any talk."""
    async with rig(LIMITS) as opened:
        for piece in sent:
            await opened.send(piece)
            if wait_s:
                await trio.sleep(wait_s)
        if not is_leaving:
            # Longer than every limit: whatever still runs by then, runs because its client wants it to.
            await trio.sleep(200)
            still_running = len(opened.handler.begun) - len(opened.handler.ends)
            assert opened.roster.num_connections == still_running == len(opened.roster.running)
        received = await opened.settle()
        await opened.leave()
        assert opened.roster.num_connections == 0
        assert opened.events("ignis.http.fault") == []
    return received


def _assert_answers(received: bytes) -> None:
    """Holds the bytes to be whole answers, one after the other; only the last may be an unended stream."""
    rest = received
    while rest:
        match = re.match(rb"HTTP/1\.1 (\d{3}) [A-Za-z -]+\r\n((?:[A-Za-z-]+: [^\r\n]*\r\n)*)\r\n", rest)
        assert match is not None, rest
        rest = rest[match.end() :]
        fields = dict(line.split(b": ", 1) for line in match[2].splitlines())
        if match[1] == b"100" or not rest or rest.startswith(b"HTTP/1.1 "):
            continue
        if b"content-length" in fields:
            length = int(fields[b"content-length"])
            assert len(rest) >= length
            rest = rest[length:]
        elif b"transfer-encoding" in fields:
            body = re.match(rb"(?:[0-9a-f]+\r\n(?:event: .*\n)?(?:data: .*|: keep-alive)\n\n\r\n)*(0\r\n\r\n)?", rest)
            assert body is not None
            rest = rest[body.end() :]
            assert body[1] or not rest
        else:
            assert fields[b"connection"] == b"close"
            return


def _talk(sent: list[bytes], wait_s: float, *, is_leaving: bool) -> None:
    clock = trio.testing.MockClock(autojump_threshold=0)

    async def main() -> bytes:
        return await _converse(sent, wait_s, is_leaving=is_leaving)

    received = trio.run(main, clock=clock)
    _assert_answers(received)
    assert b"Traceback" not in received


@FUZZ
@given(pieces(st.binary(max_size=300)), st.sampled_from([0.0, 3.0, 30.0]), st.booleans())
@example([b"\r"], 0.0, False)
@example([b"\r\n" * 100], 0.0, True)
def test_random_bytes_end_in_an_answer_or_a_close(sent: list[bytes], wait_s: float, is_leaving: bool) -> None:
    _talk(sent, wait_s, is_leaving=is_leaving)


@FUZZ
@given(pieces(mutated()), st.sampled_from([0.0, 0.0, 3.0, 30.0]), st.booleans())
def test_mutated_requests_end_in_answers_or_a_close(sent: list[bytes], wait_s: float, is_leaving: bool) -> None:
    _talk(sent, wait_s, is_leaving=is_leaving)


@FUZZ
@given(pieces(st.lists(st.sampled_from(VALID), min_size=1, max_size=6).map(b"".join)), st.booleans())
def test_valid_requests_in_any_pieces_end_in_answers_or_a_close(sent: list[bytes], is_leaving: bool) -> None:
    _talk(sent, 0.0, is_leaving=is_leaving)
