"""How the running server is reached: WebSockets at a shutdown, HTTPS, Unix sockets, and two servers on one machine."""

import http.client
import json
import signal
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import websockets.exceptions
from openai import DefaultHttpxClient, OpenAI
from websockets.sync.client import connect

from tests.e2e.server import Server, parse_events
from tests.ports import free_port

TLS = Path(__file__).parents[1] / "data" / "tls"
ASK = {"type": "response.create", "input": "Count", "max_output_tokens": 40}


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=60)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self._path))


def test_a_shutdown_closes_idle_websockets_at_once_and_lets_responses_end(start_server: Any) -> None:
    with start_server() as server:
        url = f"ws://127.0.0.1:{server.port}/v1/responses"
        with connect(url) as idle, connect(url) as busy:
            busy.send(json.dumps(ASK))
            while "output_text.delta" not in json.loads(busy.recv(30))["type"]:
                pass
            server.process.send_signal(signal.SIGTERM)
            with pytest.raises(websockets.exceptions.ConnectionClosedOK) as closed:
                idle.recv(20)
            assert closed.value.rcvd is not None and closed.value.rcvd.code == 1001
            while json.loads(busy.recv(30))["type"] not in ("response.completed", "response.incomplete"):
                pass
            with pytest.raises(websockets.exceptions.ConnectionClosedOK) as closed:
                busy.recv(20)
            assert closed.value.rcvd is not None and closed.value.rcvd.code == 1001
        assert server.process.wait(20) == 0


def test_a_client_that_leaves_its_websocket_frees_its_lane(server: Server) -> None:
    with connect(f"ws://127.0.0.1:{server.port}/v1/responses") as leaver:
        leaver.send(json.dumps({**ASK, "ignore_eos": True, "max_output_tokens": 4000}))
        while "output_text.delta" not in json.loads(leaver.recv(30))["type"]:
            pass
        # One that an earlier test left may be there a moment longer.
        server.wait_metric("ignis_http_websockets", 1)
        leaver.socket.shutdown(socket.SHUT_RDWR)
    server.wait_metric("ignis_scheduler_requests", 0, state="running")
    server.wait_metric("ignis_http_websockets", 0)


def test_https_and_a_unix_socket_serve_the_same(start_server: Any, tmp_path: Path) -> None:
    path, port = tmp_path / "ignis.sock", free_port()
    flags = ["--server-tls-cert", str(TLS / "certificate.pem"), "--server-tls-key", str(TLS / "key.pem")]
    server: Server = start_server(*flags, also_bind=[f"unix:{path}", f"127.0.0.1:{port}"])
    try:
        while not path.exists() or _ask_unix(path, "GET", "/health")[0] != 200:
            assert server.process.poll() is None, server.log_text()
            time.sleep(0.05)
        body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 5, "temperature": 0}
        status, answer = _ask_unix(path, "POST", "/v1/chat/completions", body)
        assert status == 200
        context = ssl.create_default_context(cafile=TLS / "certificate.pem")
        client = OpenAI(
            base_url=f"https://localhost:{port}/v1", api_key="none", http_client=DefaultHttpxClient(verify=context)
        )
        stream = client.chat.completions.create(model="", stream=True, **body)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
        assert text == answer["choices"][0]["message"]["content"]
        urls = [event["url"] for event in parse_events(server.log_text(), "ignis.process.listening")]
        assert urls[:3] == [f"https://127.0.0.1:{server.port}", f"unix:{path}", f"https://127.0.0.1:{port}"]
        assert f"ignis is listening on https://127.0.0.1:{server.port}/v1" in server.log_text()
    finally:
        assert server.stop() == 0
    assert not path.exists()


def test_two_servers_with_nothing_but_their_ports_chosen_run_on_one_machine(real_model: Path, tmp_path: Path) -> None:
    logs = [(tmp_path / name).open("w+b") for name in ("first", "second")]
    command = [sys.executable, "-m", "ignis", "--model-artifact", str(real_model), "--log-format", "json"]
    servers = [
        subprocess.Popen([*command, "--server-bind", f"127.0.0.1:{free_port()}"], stdout=log, stderr=subprocess.STDOUT)
        for log in logs
    ]
    try:
        urls = set()
        for server, log in zip(servers, logs, strict=True):
            text = Path(log.name)
            deadline = time.monotonic() + 60
            while not parse_events(text.read_text(), "ignis.process.ready"):
                assert server.poll() is None and time.monotonic() < deadline, text.read_text()
                time.sleep(0.05)
            urls |= {event["url"] for event in parse_events(text.read_text(), "ignis.process.listening")}
        assert len(urls) == 4
        moved = [
            event for log in logs for event in parse_events(Path(log.name).read_text(), "ignis.process.metrics_moved")
        ]
        assert moved and "--server-metrics-bind names another address" in str(moved[0]["error"])
    finally:
        for server, log in zip(servers, logs, strict=True):
            server.send_signal(signal.SIGTERM)
            assert server.wait(20) == 0
            log.close()


def test_a_server_that_anybody_may_use_says_so(start_server: Any) -> None:
    with start_server(also_bind=[f"0.0.0.0:{free_port()}"]) as server:
        [warning] = parse_events(server.log_text(), "ignis.process.open_to_all")
        assert str(warning["url"]).startswith("0.0.0.0:")
        # A terminal shows the values alone.
        assert warning["reason"] == "no key is asked for: whoever reaches it may use it; --server-api-key sets one"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--server-tls-cert", "none.pem", "--server-tls-key", "none.pem"], "server.tls_cert"),
        (["--server-tls-key", "key.pem"], "the path of server.tls_cert is not set"),
        (["--server-bind", "unix:/nowhere/at/all.sock"], "cannot listen on unix:/nowhere/at/all.sock: No such file"),
    ],
)
def test_what_cannot_be_listened_on_ends_the_start_by_its_field(
    real_model: Path, tmp_path: Path, flags: list[str], words: str
) -> None:
    command = [sys.executable, "-m", "ignis", "--model-artifact", str(real_model), *flags]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path, env={**_environment()})
    assert ended.returncode != 0
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "is listening" not in ended.stdout


def _environment() -> dict[str, str]:
    return {"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": ""}


def _ask_unix(path: Path, method: str, target: str, body: Any = None) -> tuple[int, Any]:
    connection = UnixConnection(path)
    connection.request(method, target, None if body is None else json.dumps(body))
    response = connection.getresponse()
    found = json.loads(response.read())
    connection.close()
    return response.status, found
