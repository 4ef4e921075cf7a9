"""The tail of the log of a running server: what happened is in it, and nothing that anybody said."""

import http.client
import json
from collections.abc import Callable
from typing import Any

from tests.e2e.client import Client
from tests.e2e.server import Server

KEY = "sk-tail"
MARK = "xyzzy-prompt"
SAID = [{"role": "user", "content": f"Say {MARK}"}]
TOOL = {"type": "function", "function": {"name": MARK, "parameters": {"type": "object"}}}


def read_tail(server: Server, until: Callable[[list[dict[str, Any]]], bool]) -> tuple[list[dict[str, Any]], str]:
    """The lines of the tail until they are enough, and all bytes that came."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("GET", "/ui/log?last=2000", headers={"Authorization": f"Bearer {KEY}"})
    response = connection.getresponse()
    assert (response.status, response.getheader("content-type")) == (200, "text/event-stream; charset=utf-8")
    lines: list[dict[str, Any]] = []
    came = ""
    while not until(lines):
        text = response.readline().decode()
        came += text
        if text.startswith("data: "):
            lines.append(json.loads(text[6:]))
    connection.close()
    return lines, came


def test_no_prompt_is_in_the_tail_whatever_becomes_of_its_request(start_server: Callable[..., Server]) -> None:
    bodies: list[tuple[str, dict[str, Any]]] = [
        ("/v1/chat/completions", {"messages": SAID}),
        ("/v1/chat/completions", {"messages": SAID, "stream": True, "stop": [MARK]}),
        ("/v1/chat/completions", {"messages": SAID, "tools": [TOOL], "user": MARK}),
        ("/v1/chat/completions", {"messages": SAID, "guided_choice": [MARK]}),
        ("/v1/chat/completions", {"messages": SAID, "guided_regex": f"({MARK}"}),
        ("/v1/chat/completions", {"messages": SAID, "temperature": MARK}),
        ("/v1/chat/completions", {"messages": [{"role": MARK, "content": MARK}]}),
        ("/v1/chat/completions", {"messages": SAID, "model": MARK}),
        ("/v1/completions", {"prompt": MARK}),
        ("/v1/messages", {"messages": SAID}),
        ("/v1/responses", {"input": f"Say {MARK}", "instructions": MARK}),
        ("/v1/tokenize", {"messages": SAID}),
        ("/v1/chat/completions", {"messages": SAID, "metadata": {MARK: MARK}}),
    ]
    caps = {"/v1/responses": "max_output_tokens", "/v1/tokenize": "add_generation_prompt"}
    with start_server("--server-api-key", KEY, "--log-level", "debug") as server:
        server.wait_ready()
        client = Client("127.0.0.1", server.port, KEY)
        for path, body in bodies:
            client.request("POST", path, {**body, caps.get(path, "max_tokens"): 4})
        lines, came = read_tail(server, lambda lines: sum(is_ended(line) for line in lines) == len(bodies))
        assert MARK not in came
        assert MARK not in server.log_text()
    events = {line["event"] for line in lines}
    assert {"ignis.process.started", "ignis.model.loaded", "ignis.request.done", "ignis.http.request"} <= events
    assert [line["number"] for line in lines] == list(range(len(lines)))


def is_ended(line: dict[str, Any]) -> bool:
    return (line["event"], line["fields"].get("method")) == ("ignis.http.request", "POST")


def test_nobody_reads_the_tail_without_the_key(start_server: Callable[..., Server]) -> None:
    with start_server("--server-api-key", KEY) as server:
        server.wait_ready()
        status, _, content = server.client.request("GET", "/ui/log")
        assert (status, json.loads(content)["error"]["code"]) == (401, "invalid_api_key")
