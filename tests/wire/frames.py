"""WebSocket frames as a client writes them and reads them, by hand: RFC 6455 section 5.2, good and bad ones."""

import struct
from dataclasses import dataclass

KEY = "dGhlIHNhbXBsZSBub25jZQ=="
ACCEPT = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
"""The answer to that key, by the example in section 1.3."""

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
_MASK = bytes((7, 99, 200, 3))


@dataclass(frozen=True, slots=True)
class Frame:
    opcode: int
    payload: bytes

    @property
    def close_code(self) -> int:
        assert self.opcode == CLOSE
        return int.from_bytes(self.payload[:2], "big")


def opening(path: str = "/socket", *fields: str, version: str = "13", key: str = KEY) -> bytes:
    lines = [
        f"GET {path} HTTP/1.1",
        "host: a",
        "connection: keep-alive, Upgrade",
        "upgrade: websocket",
        f"sec-websocket-version: {version}",
        f"sec-websocket-key: {key}",
        *fields,
    ]
    return "".join(f"{line}\r\n" for line in [*lines, ""]).encode("latin-1")


def frame(
    opcode: int, payload: bytes = b"", *, is_final: bool = True, reserved: int = 0, mask: bytes | None = _MASK
) -> bytes:
    """One frame. Without a mask it is one that only a server may send."""
    size = len(payload)
    short = size if size < 126 else 126 if size < 1 << 16 else 127
    head = bytes((is_final << 7 | reserved << 4 | opcode, (mask is not None) << 7 | short))
    head += b"" if size < 126 else struct.pack("!H", size) if size < 1 << 16 else struct.pack("!Q", size)
    if mask is None:
        return head + payload
    return head + mask + bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))


def close(code: int, reason: bytes = b"") -> bytes:
    return frame(CLOSE, struct.pack("!H", code) + reason)


def read_frames(data: bytes) -> list[Frame]:
    """Reads what a server sent: whole, final frames without a mask."""
    frames = []
    while data:
        assert data[0] & 0x70 == 0 and data[0] & 0x80, "a server's frames are final, with no reserved bit"
        size, start = data[1], 2
        if size == 126:
            size, start = int.from_bytes(data[2:4], "big"), 4
        elif size == 127:
            size, start = int.from_bytes(data[2:10], "big"), 10
        assert len(data) >= start + size, "a frame is cut"
        frames.append(Frame(data[0] & 15, data[start : start + size]))
        data = data[start + size :]
    return frames
