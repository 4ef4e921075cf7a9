"""Any frames, in any pieces, with any end: the messages that were whole are answered, then comes one close or none."""

import itertools
import zlib

import trio
import trio.testing
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.settings import server_limits
from tests.wire.frames import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, Frame, close, frame, opening, read_frames
from tests.wire.rig import rig

FUZZ = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
LIMITS = server_limits(write_timeout_s=20)
WORDS = st.text(max_size=200).map(str.encode)
BAD = (
    frame(TEXT, b"hi", mask=None),
    frame(TEXT, b"hi", reserved=4),
    frame(3, b"hi"),
    frame(CONTINUATION, b"hi"),
    frame(PING, b"x" * 126),
    frame(TEXT, b"\xff"),
    close(1005),
    b"GET / HTTP/1.1\r\n\r\n",
    b"\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff",
)


@st.composite
def message(draw: st.DrawFn) -> tuple[bytes, Frame]:
    """A message in one to four frames, control frames between them, and what the handler says to it."""
    is_text = draw(st.booleans())
    data = draw(WORDS if is_text else st.binary(max_size=200))
    cuts = [0, *sorted(draw(st.lists(st.integers(0, len(data)), max_size=3))), len(data)]
    parts = [data[start:stop] for start, stop in itertools.pairwise(cuts)]
    sent = b""
    for index, part in enumerate(parts):
        opcode = CONTINUATION if index else TEXT if is_text else BINARY
        sent += frame(opcode, part, is_final=index == len(parts) - 1)
        sent += draw(st.sampled_from([b"", b"", frame(PING, b"now"), frame(PONG)]))
    length = len(data.decode()) if is_text else len(data)
    said = f"{'text' if is_text else 'binary'} {length} {zlib.crc32(data):08x}"
    return sent, Frame(TEXT, said.encode())


@st.composite
def pieces(draw: st.DrawFn, whole: bytes) -> list[bytes]:
    cuts = [0, *sorted(draw(st.lists(st.integers(0, len(whole)), max_size=6))), len(whole)]
    return [whole[start:stop] for start, stop in itertools.pairwise(cuts)]


async def _converse(sent: list[bytes], *, is_leaving: bool) -> list[Frame]:
    async with rig(LIMITS) as opened:
        for piece in sent:
            await opened.send(piece)
        received = await opened.settle()
        if not is_leaving:
            # No ping is answered: by then the server has closed whatever the client has not.
            await trio.sleep(200)
            assert opened.roster.num_connections == 0
        await opened.leave()
        assert opened.events("ignis.http.fault") == []
        assert len(opened.events("ignis.http.websocket")) == 1
    return read_frames(received.partition(b"\r\n\r\n")[2])


@FUZZ
@given(st.data(), st.lists(message(), max_size=6), st.sampled_from([b"", close(1000), *BAD]), st.booleans())
def test_whole_messages_are_answered_and_what_is_wrong_closes(
    data: st.DataObject, messages: list[tuple[bytes, Frame]], end: bytes, is_leaving: bool
) -> None:
    sent = data.draw(pieces(opening() + b"".join(sent for sent, _ in messages) + end))

    async def main() -> list[Frame]:
        return await _converse(sent, is_leaving=is_leaving)

    received = trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    texts = [frame for frame in received if frame.opcode == TEXT]
    expected = [said for _, said in messages]
    if end:
        # A message behind which the close came at once may be answered or not; none is answered twice or out of order.
        assert texts == expected[: len(texts)]
        assert [frame.opcode for frame in received].count(CLOSE) == 1
        assert received[-1].opcode == CLOSE
    else:
        assert texts == expected
        assert CLOSE not in [frame.opcode for frame in received]


@FUZZ
@given(st.data(), st.binary(max_size=300))
def test_random_bytes_on_a_websocket_end_in_a_close_or_in_waiting(data: st.DataObject, junk: bytes) -> None:
    sent = data.draw(pieces(opening() + junk))

    async def main() -> list[Frame]:
        return await _converse(sent, is_leaving=False)

    received = trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    closes = [index for index, frame in enumerate(received) if frame.opcode == CLOSE]
    assert closes in ([], [len(received) - 1])
