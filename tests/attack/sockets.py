"""Responses over one WebSocket: a client of few lines, which takes whole text frames."""

import contextlib
import json
import os
import struct
import time
from collections.abc import Iterator, Sequence
from typing import Any

from tests.attack.calls import Late, Line, Outcome, answer_of, note_error
from tests.attack.wants import Want

_HEAD = (
    "GET /v1/responses HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
_TEXT, _CLOSE, _PING, _PONG = 1, 8, 9, 10
_OVER = ("response.completed", "response.incomplete", "response.failed")


class _Socket:
    def __init__(self, line: Line) -> None:
        self._line, self._data = line, b""

    def _take(self, size: int) -> bytes:
        while len(self._data) < size:
            self._line.arm()
            got = self._line.socket.recv(65536)
            if not got:
                raise ConnectionError("closed without a close frame")
            self._data += got
        taken, self._data = self._data[:size], self._data[size:]
        return taken

    def open(self) -> int:
        """Asks for the upgrade; returns the status."""
        self._line.socket.sendall(_HEAD.encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self._take(1)
        return int(head.split()[1])

    def send(self, content: bytes, opcode: int = _TEXT) -> None:
        size = len(content)
        small = size if size < 126 else 126 if size < 1 << 16 else 127
        length = b"" if small == size else struct.pack(">H" if small == 126 else ">Q", size)
        mask = os.urandom(4)
        whole = (mask * (size // 4 + 1))[:size]
        masked = (int.from_bytes(content, "big") ^ int.from_bytes(whole, "big")).to_bytes(size, "big")
        self._line.socket.sendall(bytes([0x80 | opcode, 0x80 | small]) + length + mask + masked)

    def events(self) -> Iterator[dict[str, Any]]:
        while True:
            first, small = self._take(2)
            assert first & 0x80 and small < 128, "a frame in pieces, or masked"
            size = small if small < 126 else int.from_bytes(self._take(2 if small == 126 else 8), "big")
            content, opcode = self._take(size), first & 15
            if opcode == _PING:
                self.send(content, _PONG)
            elif opcode == _CLOSE:
                code = int.from_bytes(content[:2], "big")
                raise ConnectionError(f"closed, {code} {content[2:].decode(errors='replace')}")
            elif opcode == _TEXT:
                yield json.loads(content)


def ask_by_socket(port: int, wants: Sequence[Want], model: str, limit_s: float) -> list[Outcome]:
    """Asks for all of them over one socket, each in a stream of its own, and waits for every end."""
    outcomes = [Outcome(began=time.monotonic(), status=200) for _ in wants]
    waiting = dict(enumerate(outcomes))
    line = None
    try:
        line = Line(port, limit_s)
        socket = _Socket(line)
        status = socket.open()
        if status != 101:
            raise ConnectionError(f"the upgrade is answered {status}")
        for number, want in enumerate(wants):
            body = {**want.body, "type": "response.create", "stream_id": f"s{number}", "model": model, "store": False}
            body["input"] = body.pop("messages")
            body["max_output_tokens"] = body.pop("max_tokens")
            socket.send(json.dumps(body).encode())
        for event in socket.events():
            number = int(str(event.get("stream_id", "s0"))[1:])
            outcome, kind = outcomes[number], event["type"]
            outcome.got_bytes = True
            if kind == "error":
                outcome.status = event["status"]
                # A socket has no header fields: its clients wait in the server.
                outcome.retry_after = "none"
                note_error(event["error"], outcome)
            elif kind == "response.failed":
                note_error({"type": "in the stream", **event["response"]["error"]}, outcome)
            elif kind in _OVER:
                outcome.answer = answer_of(event["response"])
            if kind == "error" or kind in _OVER:
                outcome.ended = time.monotonic()
                waiting.pop(number, None)
            if not waiting:
                socket.send(struct.pack(">H", 1000), _CLOSE)
                break
    except (Late, TimeoutError):
        for outcome in waiting.values():
            outcome.hung = True
    except (OSError, ValueError, KeyError) as error:
        for outcome in waiting.values():
            outcome.lost = f"{type(error).__name__}: {error}"
    finally:
        for outcome in waiting.values():
            outcome.ended = time.monotonic()
        if line is not None:
            line.close()
    return outcomes


def leave_socket(port: int, want: Want, limit_s: float, seconds: float, *, reset: bool) -> None:
    """Asks for three answers, and goes without a word."""
    with contextlib.closing(Line(port, limit_s)) as line:
        socket = _Socket(line)
        socket.open()
        for number in range(3):
            body = {**want.body, "type": "response.create", "stream_id": f"s{number}", "input": want.body["messages"]}
            body["max_output_tokens"] = body.pop("max_tokens")
            del body["messages"]
            socket.send(json.dumps(body).encode())
        time.sleep(seconds)
        line.close(reset=reset)
