"""A small client on the standard library: what end-to-end tests need below the OpenAI SDK (raw frames, cuts, times)."""

import contextlib
import http.client
import json
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Answer:
    """A chat completion, whichever way it came."""

    text: str = ""
    finish: str | None = None
    usage: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    is_done: bool = False
    times: list[float] = field(default_factory=list)
    """Seconds from the request to each piece of text."""


class Client:
    """Talks to one server on loopback."""

    def __init__(self, host: str, port: int, key: str | None = None) -> None:
        self.host, self.port, self.key = host, port, key

    def request(
        self, method: str, path: str, body: Any = None, timeout: float = 120
    ) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        headers = {"Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, data, headers)
        response = connection.getresponse()
        content = response.read()
        found = {name.lower(): value for name, value in response.getheaders()}
        connection.close()
        return response.status, found, content

    def json(self, method: str, path: str, body: Any = None) -> Any:
        status, _, content = self.request(method, path, body)
        assert status == 200, (status, content)
        return json.loads(content)

    def chat(self, **body: Any) -> Answer:
        """One non-streamed completion with one choice."""
        value = self.json("POST", "/v1/chat/completions", body)
        choice = value["choices"][0]
        return Answer(choice["message"]["content"], choice["finish_reason"], value["usage"], is_done=True)

    def events(self, body: dict[str, Any]) -> Iterator[dict[str, Any] | str]:
        """The data of each event of a stream, as JSON; the last one is the string [DONE]."""
        headers = {"Content-Type": "application/json"}
        with contextlib.closing(http.client.HTTPConnection(self.host, self.port, timeout=120)) as connection:
            connection.request("POST", "/v1/chat/completions", json.dumps({**body, "stream": True}), headers)
            with connection.getresponse() as response:
                assert response.status == 200, (response.status, response.read())
                while line := response.readline():
                    if line.startswith(b"data: "):
                        data = line[6:].strip()
                        yield "[DONE]" if data == b"[DONE]" else json.loads(data)

    def stream(self, **body: Any) -> Answer:
        answer = Answer()
        start = time.perf_counter()
        for event in self.events({"stream_options": {"include_usage": True}, **body}):
            if isinstance(event, str):
                answer.is_done = True
                continue
            if "error" in event:
                answer.error = event["error"]
                continue
            answer.usage = event.get("usage") or answer.usage
            for choice in event["choices"]:
                if piece := choice["delta"].get("content"):
                    answer.text += piece
                    answer.times.append(time.perf_counter() - start)
                answer.finish = choice["finish_reason"] or answer.finish
        return answer

    def cut(self, body: dict[str, Any], after_bytes: int, until: Callable[[], None] | None = None) -> None:
        """Sends a chat request and drops the connection once that many bytes have come and `until` returned."""
        data = json.dumps(body).encode()
        lines = (
            "POST /v1/chat/completions HTTP/1.1",
            "Host: x",
            "Connection: close",
            f"Content-Length: {len(data)}",
            "",
            "",
        )
        head = "\r\n".join(lines).encode()
        with socket.create_connection((self.host, self.port), timeout=60) as connection:
            connection.sendall(head + data)
            received = 0
            while received < after_bytes:
                piece = connection.recv(4096)
                if not piece:
                    return
                received += len(piece)
            if until is not None:
                until()
