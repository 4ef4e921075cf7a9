"""One request to the server, with a limit to how long it may take in all, and what became of it."""

import contextlib
import http.client
import json
import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.attack.wants import Want


@dataclass
class Outcome:
    """One of: an answer; an error of a type; lost (a cut without a word); hung."""

    answer: dict[str, Any] | None = None
    status: int = 0
    code: str = ""
    message: str = ""
    retry_after: str | None = None
    lost: str = ""
    """Why there is neither an answer nor an error."""
    hung: bool = False
    began: float = 0
    connected: float = 0
    ended: float = 0
    got_bytes: bool = False
    """Whether anything came before it was lost."""

    @property
    def seconds(self) -> float:
        return self.ended - self.began


@dataclass
class _Chosen:
    text: str = ""
    finish: str | None = None
    calls: list[tuple[str, str]] = field(default_factory=list)
    logprobs: list[Any] = field(default_factory=list)


class Late(Exception):
    pass


class Line:
    """A connection whose every wait ends at one moment."""

    def __init__(self, port: int, limit_s: float) -> None:
        self.end = time.monotonic() + limit_s
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=limit_s)
        self.http = http.client.HTTPConnection("127.0.0.1", port)
        self.http.sock = self.socket

    def arm(self) -> None:
        left = self.end - time.monotonic()
        if left <= 0:
            raise Late
        self.socket.settimeout(left)

    def lines(self, response: http.client.HTTPResponse) -> Iterator[bytes]:
        while True:
            self.arm()
            line = response.readline()
            if not line:
                return
            yield line

    def close(self, reset: bool = False) -> None:
        if reset:
            with contextlib.suppress(OSError):
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.http.close()
        self.socket.close()


def ask(
    port: int, path: str, body: Any = None, limit_s: float = 30, method: str | None = None, **headers: str
) -> Outcome:
    """Asks, and waits for the end: of a stream, the last event."""
    outcome = Outcome(began=time.monotonic())
    line = None
    try:
        line = Line(port, limit_s)
        outcome.connected = time.monotonic()
        data = None if body is None else json.dumps(body).encode()
        sent = {"Content-Type": "application/json", "Connection": "close", **headers}
        line.http.request(method or ("GET" if body is None else "POST"), path, data, sent)
        line.arm()
        response = line.http.getresponse()
        outcome.status, outcome.got_bytes = response.status, True
        outcome.retry_after = response.getheader("Retry-After")
        if "event-stream" in (response.getheader("Content-Type") or ""):
            _read_stream(line, response, outcome)
        else:
            line.arm()
            _read_whole(response.read(), outcome)
    except (Late, TimeoutError):
        outcome.hung = True
    except (OSError, http.client.HTTPException) as error:
        outcome.lost = f"{type(error).__name__}: {error}"
    finally:
        outcome.ended = time.monotonic()
        if line is not None:
            line.close()
    return outcome


def _read_whole(content: bytes, outcome: Outcome) -> None:
    try:
        value = json.loads(content)
    except ValueError:
        value = content.decode(errors="replace")
    if outcome.status >= 400:
        note_error(value["error"] if isinstance(value, dict) and "error" in value else {}, outcome)
        if not outcome.code:
            outcome.lost = f"{outcome.status} without a code: {content[:200]!r}"
        return
    outcome.answer = answer_of(value) if isinstance(value, dict) else {"text": value}


def note_error(error: Any, outcome: Outcome) -> None:
    if isinstance(error, dict) and error.get("type") and error.get("code"):
        outcome.code, outcome.message = str(error["code"]), str(error.get("message"))


def answer_of(value: dict[str, Any]) -> dict[str, Any]:
    """What of a body has to be the same each time."""
    if value.get("object") == "chat.completion":
        chosen = {}
        for choice in value["choices"]:
            message, scores = choice["message"], choice["logprobs"]
            calls = [
                (call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls", ())
            ]
            logprobs = [] if scores is None else scores["content"]
            chosen[choice["index"]] = _Chosen(message["content"] or "", choice["finish_reason"], calls, logprobs)
        return _settled(value["model"], chosen, value["usage"]["completion_tokens"])
    if value.get("object") == "text_completion":
        first = value["choices"][0]
        answer = {"model": value["model"], "text": first["text"], "tokens": value["usage"]["completion_tokens"]}
        return {**answer, "choices": [{"finish": first["finish_reason"], "logprobs": first["logprobs"]}]}
    if value.get("object") == "response":
        texts = [part["text"] for item in value["output"] if item["type"] == "message" for part in item["content"]]
        return {"model": value["model"], "text": "".join(texts), "tokens": value["usage"]["output_tokens"]}
    return value


def _settled(model: str, chosen: dict[int, _Chosen], tokens: int) -> dict[str, Any]:
    listed = [vars(chosen[index]) for index in sorted(chosen)]
    return {"model": model, "text": listed[0]["text"], "tokens": tokens, "choices": listed}


def _read_stream(line: Line, response: http.client.HTTPResponse, outcome: Outcome) -> None:
    chosen: dict[int, _Chosen] = {}
    tokens, model, is_over = 0, "", False
    for raw in line.lines(response):
        if not raw.startswith(b"data: "):
            continue
        data = raw[6:].strip()
        if data == b"[DONE]":
            is_over = True
            continue
        event = json.loads(data)
        kind = event.get("type", "")
        if event.get("error"):
            note_error(event["error"], outcome)
        elif kind in ("response.completed", "response.incomplete", "response.failed"):
            is_over = True
            if kind == "response.failed":
                note_error({"type": "in the stream", **event["response"]["error"]}, outcome)
                continue
            outcome.answer = answer_of(event["response"])
        elif "choices" in event:
            model = event["model"]
            for choice in event["choices"]:
                _take(chosen.setdefault(choice["index"], _Chosen()), choice)
            if event.get("usage"):
                tokens = event["usage"]["completion_tokens"]
    if outcome.code:
        outcome.answer = None
    elif not is_over:
        outcome.answer, outcome.lost = None, "the stream ended without its last event"
    elif chosen:
        outcome.answer = _settled(model, chosen, tokens)


def _take(chosen: _Chosen, choice: dict[str, Any]) -> None:
    delta = choice["delta"]
    chosen.text += delta.get("content") or ""
    chosen.finish = choice["finish_reason"] or chosen.finish
    if choice.get("logprobs"):
        chosen.logprobs += choice["logprobs"]["content"]
    for call in delta.get("tool_calls") or ():
        while len(chosen.calls) <= call["index"]:
            chosen.calls.append(("", ""))
        name, arguments = chosen.calls[call["index"]]
        function = call["function"]
        chosen.calls[call["index"]] = name + (function.get("name") or ""), arguments + (function.get("arguments") or "")


def ask_for(port: int, want: Want, way: str, limit_s: float, **more: Any) -> Outcome:
    """Asks for a known answer one of three ways: whole, stream or response."""
    body = {**want.body, **more}
    if want.path != "/v1/chat/completions":
        return ask(port, want.path, body, limit_s)
    if way == "stream":
        return ask(
            port, "/v1/chat/completions", {**body, "stream": True, "stream_options": {"include_usage": True}}, limit_s
        )
    if way == "response" and want.as_response:
        body["input"] = body.pop("messages")
        body["max_output_tokens"] = body.pop("max_tokens")
        return ask(port, "/v1/responses", {**body, "stream": True, "store": False}, limit_s)
    return ask(port, "/v1/chat/completions", body, limit_s)


def difference(known: dict[str, Any], got: dict[str, Any]) -> str:
    """Where an answer is another than the known one; empty where it is not."""
    for key in ("model", "text", "tokens", "choices"):
        if key in got and got[key] != known[key]:
            return f"{key}: {short(got[key])} in place of {short(known[key])}"
    return ""


def short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 200 else f"{text[:120]} ... {text[-60:]}"
