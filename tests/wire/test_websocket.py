"""WebSockets on the wire: what a client may send, what closes it and with which code, and what its leaving cancels."""

import zlib

import pytest
import trio
import trio.testing

from tests.settings import server_limits
from tests.wire.frames import (
    ACCEPT,
    BINARY,
    CLOSE,
    CONTINUATION,
    PING,
    PONG,
    TEXT,
    Frame,
    close,
    frame,
    opening,
    read_frames,
)
from tests.wire.rig import SOCKET_BYTES, Rig, rig


async def _open(opened: Rig, path: str = "/socket", *fields: str) -> str:
    """Returns the head that accepted."""
    await opened.send(opening(path, *fields))
    head, _, rest = (await opened.settle()).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 101 Switching Protocols\r\n")
    opened.received[:0] = rest
    return head.decode()


async def _frames(opened: Rig) -> list[Frame]:
    return read_frames(await opened.settle())


def _said(kind: str, message: bytes) -> Frame:
    length = len(message.decode()) if kind == "text" else len(message)
    return Frame(TEXT, f"{kind} {length} {zlib.crc32(message):08x}".encode())


async def test_the_handshake_is_the_rfc_s(autojump_clock: trio.testing.MockClock) -> None:
    async with rig() as opened:
        head = await _open(opened, "/socket?protocol=b", "sec-websocket-protocol: a, b", "x-request-id: mine")
        assert f"sec-websocket-accept: {ACCEPT}" in head
        assert "sec-websocket-protocol: b" in head
        assert "x-request-id: mine" in head
        assert "connection: upgrade\r\nupgrade: websocket" in head
        assert "extensions" not in head


@pytest.mark.parametrize("piece_bytes", [1 << 20, 1, 7])
async def test_messages_come_whole_however_they_are_cut(
    piece_bytes: int, autojump_clock: trio.testing.MockClock
) -> None:
    text = "Grüße 🚀".encode()
    sent = [
        frame(TEXT, text),
        frame(TEXT, text[:3], is_final=False),
        frame(PING, b"in between"),
        frame(CONTINUATION, text[3:9], is_final=False),
        frame(CONTINUATION, b"", is_final=False),
        frame(PONG, b"unasked"),
        frame(CONTINUATION, text[9:]),
        frame(BINARY, b"\xff\x00"),
        frame(TEXT, b""),
        frame(TEXT, b"x" * 300),
    ]
    async with rig() as opened:
        await opened.send(opening() + b"".join(sent), piece_bytes)
        frames = read_frames((await opened.settle()).partition(b"\r\n\r\n")[2])
        pongs = [frame for frame in frames if frame.opcode == PONG]
        assert pongs == [Frame(PONG, b"in between")]
        assert [frame for frame in frames if frame.opcode != PONG] == [
            _said("text", text),
            _said("text", text),
            _said("binary", b"\xff\x00"),
            _said("text", b""),
            _said("text", b"x" * 300),
        ]


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        pytest.param(frame(TEXT, b"hi", mask=None), 1002, id="an unmasked frame"),
        pytest.param(frame(TEXT, b"hi", reserved=1), 1002, id="a reserved bit"),
        pytest.param(frame(TEXT, b"\xca\x49\x04\x00", reserved=4), 1002, id="a compressed frame"),
        pytest.param(frame(3, b"hi"), 1002, id="a reserved opcode"),
        pytest.param(frame(11), 1002, id="a reserved control opcode"),
        pytest.param(frame(PING, b"hi", is_final=False), 1002, id="a fragmented ping"),
        pytest.param(frame(PING, b"x" * 126), 1002, id="a long ping"),
        pytest.param(frame(CONTINUATION, b"hi"), 1002, id="a continuation of nothing"),
        pytest.param(frame(TEXT, b"a", is_final=False) + frame(TEXT, b"b"), 1002, id="a message inside a message"),
        pytest.param(b"\x81\xfe\x00\x05\0\0\0\0hello", 1002, id="a length in the wrong form"),
        pytest.param(b"\x81\xff\xff" + b"\0" * 12, 1002, id="a length beyond 63 bits"),
        pytest.param(frame(CLOSE, b"\x03"), 1002, id="a close of one byte"),
        pytest.param(close(1005), 1002, id="a close with a code that is never sent"),
        pytest.param(close(999), 1002, id="a close with a code that is none"),
        pytest.param(close(1000, b"\xff"), 1007, id="a close whose reason is not UTF-8"),
        pytest.param(frame(TEXT, b"\xc3\x28"), 1007, id="text that is not UTF-8"),
        pytest.param(frame(TEXT, b"\xc3"), 1007, id="text that ends inside a character"),
        pytest.param(frame(TEXT, b"ab\xff", is_final=False), 1007, id="text that goes bad before its end"),
        pytest.param(frame(TEXT, b"\xed\xa0\x80"), 1007, id="a surrogate"),
        pytest.param(frame(TEXT, b"x" * (SOCKET_BYTES + 1)), 1009, id="a large frame"),
        pytest.param(frame(BINARY, b"\xff" * (SOCKET_BYTES + 1)), 1009, id="a large binary frame"),
        pytest.param(b"\x81\xff" + (1 << 40).to_bytes(8, "big") + bytes(4), 1009, id="a large frame that is announced"),
        pytest.param(
            frame(TEXT, b"x", is_final=False) + b"\x80\xff" + (SOCKET_BYTES + 1).to_bytes(8, "big") + b"abcdx",
            1009,
            id="a large fragment that is announced",
        ),
        pytest.param(
            frame(TEXT, b"x" * SOCKET_BYTES, is_final=False) + frame(CONTINUATION, "ü".encode()),
            1009,
            id="a large message",
        ),
        pytest.param(
            frame(TEXT, b"x", is_final=False) + frame(CONTINUATION, b"x", is_final=False) * 5000,
            1008,
            id="a message in tiny pieces",
        ),
        pytest.param(
            frame(TEXT, b"", is_final=False) + frame(CONTINUATION, b"", is_final=False) * 5000,
            1008,
            id="a message in empty pieces",
        ),
    ],
)
async def test_what_is_not_allowed_closes_with_its_code(
    sent: bytes, code: int, autojump_clock: trio.testing.MockClock
) -> None:
    async with rig() as opened:
        await _open(opened)
        await opened.send(sent)
        frames = await _frames(opened)
        assert [frame.opcode for frame in frames] == [CLOSE]
        assert frames[0].close_code == code
        frames[0].payload[2:].decode()
        await trio.sleep(3)
        assert await opened.settle() == b""
        assert opened.has_ended
        assert opened.handler.ends == ["cancelled"]
        assert opened.events("ignis.http.websocket")[0]["close_code"] == code
        assert opened.counts == [("ignis_http_websocket_closes", str(code))]


@pytest.mark.parametrize("size_bytes", [0, 1, 125, 126, 65535, 65536, 300_000])
async def test_a_message_of_ours_has_the_shortest_header_that_tells_its_length(
    size_bytes: int, autojump_clock: trio.testing.MockClock
) -> None:
    async with rig() as opened:
        await opened.send(opening(f"/socket-say?n={size_bytes}"))
        data = (await opened.settle()).partition(b"\r\n\r\n")[2]
        message, last = read_frames(data)
        assert message == Frame(TEXT, b"x" * size_bytes)
        assert len(data) == size_bytes + (2 if size_bytes < 126 else 4 if size_bytes < 1 << 16 else 10) + 4
        assert last.close_code == 1000


async def test_the_largest_message_is_taken(autojump_clock: trio.testing.MockClock) -> None:
    async with rig() as opened:
        await _open(opened)
        await opened.send(frame(TEXT, b"x" * SOCKET_BYTES))
        assert await _frames(opened) == [_said("text", b"x" * SOCKET_BYTES)]


@pytest.mark.parametrize(
    "payload", [b"\x03\xe8bye", b"\x03\xe9", b"\x10\xe1mine", b""], ids=["1000", "1001", "4321", "no code"]
)
async def test_a_client_s_close_is_answered_and_cancels(payload: bytes, autojump_clock: trio.testing.MockClock) -> None:
    async with rig() as opened:
        await _open(opened, "/socket-cancel")
        await opened.send(frame(CLOSE, payload))
        assert await _frames(opened) == [Frame(CLOSE, payload)]
        assert opened.handler.ends == ["cancelled"]
        assert len(opened.roster.running) == 1
        await opened.leave()
        assert opened.roster.num_connections == 0


async def test_a_client_that_leaves_cancels_the_handler(autojump_clock: trio.testing.MockClock) -> None:
    async with rig() as opened:
        await _open(opened, "/socket-cancel")
        await trio.sleep(2.5)
        assert opened.roster.num_websockets == 1
        await opened.leave()
        assert opened.handler.ends == ["cancelled"]
        assert opened.events("ignis.http.websocket")[0]["close_code"] == 1006
        assert opened.events("ignis.http.websocket")[0]["sent"] == 2
        assert opened.counts == [("ignis_http_websocket_closes", "1006")]


@pytest.mark.parametrize("code", [1000, 1001, 1003, 1008, 1011, 1012, 1013, 4000])
async def test_a_handler_closes_with_the_code_that_it_chose(code: int, autojump_clock: trio.testing.MockClock) -> None:
    async with rig() as opened:
        await _open(opened)
        await opened.send(frame(TEXT, b"close %d" % code))
        [last] = await _frames(opened)
        assert (last.close_code, last.payload[2:]) == (code, b"as you wish")
        await opened.send(close(code))
        await opened.leave()
        assert opened.handler.ends == ["done"]


async def test_a_handler_that_returns_closes_with_1000(autojump_clock: trio.testing.MockClock) -> None:
    async with rig() as opened:
        await _open(opened)
        await opened.send(frame(TEXT, b"return"))
        [last] = await _frames(opened)
        assert last.close_code == 1000


async def test_both_may_close_at_once(autojump_clock: trio.testing.MockClock) -> None:
    # In one of them the client's close is read just when the server's has been sent.
    for num_turns in range(24):
        async with rig() as opened:
            await _open(opened)
            await opened.client.send_all(frame(TEXT, b"return"))
            for _ in range(num_turns):
                await trio.lowlevel.checkpoint()
            await opened.send(close(1001))
            assert (await _frames(opened))[-1].close_code in (1000, 1001)
            await opened.leave()
            assert opened.events("ignis.http.fault") == []


async def test_a_handler_that_fails_closes_with_1011_and_tells_nothing(autojump_clock: trio.testing.MockClock) -> None:
    async with rig() as opened:
        await _open(opened, "/socket-fail")
        soon, last = await _frames(opened)
        assert soon == Frame(TEXT, b"soon")
        assert last == Frame(CLOSE, (1011).to_bytes(2, "big"))
        assert opened.handler.ends == ["KeyError"]


async def test_a_drain_lets_what_runs_end_and_closes_with_1001(autojump_clock: trio.testing.MockClock) -> None:
    async with rig() as opened:
        await _open(opened)
        opened.roster.drain()
        assert await _frames(opened) == []
        await trio.sleep(1.5)
        end, last = await _frames(opened)
        assert end == Frame(TEXT, b"the end")
        assert last.close_code == 1001
        assert opened.handler.ends == ["done"]


async def test_a_drain_that_waits_no_longer_closes_with_1001(autojump_clock: trio.testing.MockClock) -> None:
    async with rig() as opened:
        await _open(opened, "/socket-cancel")
        opened.roster.drain()
        opened.roster.cut_exchanges()
        [last] = await _frames(opened)
        assert last.close_code == 1001
        assert opened.handler.ends == ["cancelled"]


async def test_a_silent_client_is_pinged_and_stays(autojump_clock: trio.testing.MockClock) -> None:
    async with rig(server_limits(keepalive_comment_s=10, write_timeout_s=60)) as opened:
        await _open(opened)
        for _ in range(20):
            await trio.sleep(10.5)
            assert await _frames(opened) == [Frame(PING, b"")]
            await opened.send(frame(PONG))
        assert not opened.has_ended


async def test_a_client_that_answers_no_ping_is_closed(autojump_clock: trio.testing.MockClock) -> None:
    async with rig(server_limits(keepalive_comment_s=10, write_timeout_s=60)) as opened:
        await _open(opened)
        await trio.sleep(69)
        assert await _frames(opened) == [Frame(PING, b"")] * 6
        await trio.sleep(2)
        assert [frame.close_code for frame in await _frames(opened) if frame.opcode == CLOSE] == [1011]
        await trio.sleep(3)
        assert opened.has_ended
        assert opened.handler.ends == ["cancelled"]


async def test_a_client_that_takes_nothing_is_cut(autojump_clock: trio.testing.MockClock) -> None:
    async with rig(server_limits(write_timeout_s=5), is_reading=False) as opened:
        await opened.send(opening("/socket-flood"))
        await trio.sleep(4)
        assert opened.handler.ends == []
        await trio.sleep(2)
        assert opened.handler.ends == ["cancelled"]
        assert opened.roster.num_connections == 0
        assert opened.events("ignis.http.connection_cut")[0]["reason"] == "client_stalled"


async def test_a_close_cancels_at_once_though_its_answer_waits(autojump_clock: trio.testing.MockClock) -> None:
    async with rig(server_limits(write_timeout_s=20), is_reading=False) as opened:
        await opened.send(opening("/socket-flood"))
        await trio.sleep(1)
        assert opened.handler.ends == []
        await opened.send(close(1000))
        await trio.sleep(1)
        assert opened.handler.ends == ["cancelled"]
        await trio.sleep(60)
        assert opened.roster.num_connections == 0


async def test_a_message_that_pauses_is_not_waited_for(autojump_clock: trio.testing.MockClock) -> None:
    async with rig(server_limits(body_timeout_s=30)) as opened:
        await _open(opened)
        await opened.send(frame(TEXT, b"half", is_final=False))
        await trio.sleep(29)
        assert not opened.has_ended
        await trio.sleep(2)
        last = (await _frames(opened))[-1]
        assert (last.close_code, last.payload[2:]) == (1008, b"the message did not come in time")


async def test_a_message_that_drips_is_not_waited_for(autojump_clock: trio.testing.MockClock) -> None:
    async with rig(server_limits(body_timeout_s=30)) as opened:
        await _open(opened)
        await opened.send(frame(TEXT, b"", is_final=False))
        for _ in range(10):
            await opened.send(frame(CONTINUATION, b"x", is_final=False) + frame(PING))
            await trio.sleep(4)
        assert (await _frames(opened))[-1].close_code == 1008


async def test_between_messages_a_client_may_be_silent_for_long(autojump_clock: trio.testing.MockClock) -> None:
    async with rig(server_limits(body_timeout_s=30)) as opened:
        await _open(opened)
        for _ in range(3):
            await opened.send(frame(TEXT, b"whole"))
            for _ in range(10):
                await trio.sleep(9)
                await opened.send(frame(PONG))
        assert [frame for frame in await _frames(opened) if frame.opcode == TEXT] == [_said("text", b"whole")] * 3
        assert not opened.has_ended


async def test_what_nobody_receives_waits_at_the_client(autojump_clock: trio.testing.MockClock) -> None:
    async with rig(server_limits(write_timeout_s=60)) as opened:
        await _open(opened, "/socket-deaf")
        num_sent = 0
        with trio.move_on_after(600):
            while True:
                await opened.client.send_all(frame(TEXT, b"x" * 50_000))
                num_sent += 1
        # The bound of messages, the inbox and the kernel's buffers: far from what was tried.
        assert 2 <= num_sent < 40
        assert not opened.has_ended


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        pytest.param(opening().replace(b"sec-websocket-key", b"x-key"), 400, id="no key"),
        pytest.param(opening(key="c2hvcnQ="), 400, id="a short key"),
        pytest.param(opening(key="not base64 at all, is it"), 400, id="a key that is no base64"),
        pytest.param(opening(version="8"), 426, id="an old version"),
        pytest.param(opening().replace(b"sec-websocket-version", b"x-version"), 426, id="no version"),
        pytest.param(opening().replace(b"HTTP/1.1", b"HTTP/1.0"), 400, id="HTTP/1.0"),
        pytest.param(opening().replace(b": websocket", b": h2c"), 400, id="another upgrade"),
        pytest.param(opening().replace(b"keep-alive, Upgrade", b"keep-alive"), 400, id="no upgrade in connection"),
        pytest.param(opening("/socket", "content-length: 3") + b"abc", 400, id="a body"),
        pytest.param(opening().replace(b"GET", b"POST"), 400, id="a POST"),
    ],
)
async def test_a_bad_offer_is_refused_over_http(
    request_bytes: bytes, status: int, autojump_clock: trio.testing.MockClock
) -> None:
    async with rig() as opened:
        await opened.send(request_bytes)
        assert (await opened.settle()).startswith(b"HTTP/1.1 %d " % status)


@pytest.mark.parametrize(
    ("origin", "is_allowed"),
    [
        (None, True),
        ("http://a", True),
        ("https://good.example", True),
        ("https://evil.example", False),
        ("null", False),
    ],
)
async def test_only_pages_that_may_open_a_socket(
    origin: str | None, is_allowed: bool, autojump_clock: trio.testing.MockClock
) -> None:
    limits = server_limits(origins=frozenset({"https://good.example"}))
    async with rig(limits) as opened:
        await opened.send(opening("/socket", *([f"origin: {origin}"] if origin else [])))
        status = b"101" if is_allowed else b"403"
        assert (await opened.settle()).startswith(b"HTTP/1.1 %b " % status)


async def test_a_refused_offer_keeps_the_connection(autojump_clock: trio.testing.MockClock) -> None:
    async with rig() as opened:
        await opened.send(opening(version="8") + b"GET /hello HTTP/1.1\r\nhost: a\r\n\r\n")
        answers = await opened.settle()
        assert answers.startswith(b"HTTP/1.1 426 ")
        assert answers.endswith(b"hello\n")
