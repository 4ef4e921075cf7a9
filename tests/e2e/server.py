"""Starts the real server as a process of its own and stops it."""

import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from tests.e2e.client import Client

RUNNING: set["Server"] = set()
"""Those that were started and not stopped yet."""


class Server:
    """A running server. As a context manager it is stopped by SIGTERM and must end by itself with status 0."""

    def __init__(
        self,
        command: Sequence[str],
        port: int,
        metrics_port: int,
        log: Path,
        environment: dict[str, str],
        folder: Path | None = None,
        also_bind: Sequence[str] = (),
    ) -> None:
        """Starts it. log: what it writes, in a folder where it runs unless told another; also_bind: further addresses
        of the API."""
        self.port, self.metrics_port, self.log_path = port, metrics_port, log
        self.folder = folder or log.parent
        self.client = Client("127.0.0.1", port)
        self.base_url = f"http://127.0.0.1:{port}/v1"
        addresses = ",".join([f"127.0.0.1:{port}", *also_bind])
        bind = ["--server-bind", addresses, "--server-metrics-bind", f"127.0.0.1:{metrics_port}"]
        self._wait = self.wait_ready
        self.started = time.perf_counter()
        self._log = log.open("wb")
        self.process = subprocess.Popen(
            [*command, *bind], stdout=self._log, stderr=subprocess.STDOUT, env=environment, cwd=self.folder
        )
        RUNNING.add(self)

    def at_once(self) -> "Server":
        """The same, to be entered as soon as it listens: what it is asked for then, it has to hold."""
        self._wait = self.wait_listening
        return self

    def wait_listening(self, limit_s: float = 60) -> None:
        asked = time.perf_counter()
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 5).close()
                return
            except OSError:
                assert self.process.poll() is None and time.perf_counter() - asked < limit_s, self.log_text()
                time.sleep(0.01)

    def wait_ready(self, limit_s: float = 60) -> None:
        """Returns once a model serves."""
        asked = time.perf_counter()
        while time.perf_counter() - asked < limit_s:
            assert self.process.poll() is None, self.log_text()
            try:
                status, _, _ = self.client.request("GET", "/health", timeout=5)
            except OSError:
                status = 0
            if status == 200:
                return
            time.sleep(0.02)
        raise AssertionError(f"not ready after {limit_s} s\n{self.log_text()}")

    def log_text(self) -> str:
        return self.log_path.read_text(errors="replace")

    def metric(self, name: str, **labels: str) -> float:
        """The value of one sample on the metrics listener."""
        status, _, content = Client("127.0.0.1", self.metrics_port).request("GET", "/metrics")
        assert status == 200
        for line in content.decode().splitlines():
            match = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line)
            if match and match[1] == name:
                found = dict(re.findall(r'(\w+)="([^"]*)"', match[2] or ""))
                if found == labels:
                    return float(match[3])
        raise AssertionError(f"no sample {name} {labels}\n{content.decode()}")

    def wait_metric(self, name: str, value: float, limit_s: float = 30, **labels: str) -> None:
        end = time.perf_counter() + limit_s
        while (found := self.metric(name, **labels)) != value:
            assert time.perf_counter() < end, f"{name} {labels} is {found}, not {value}"
            time.sleep(0.02)

    def open_files(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def resident_bytes(self) -> int:
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        match = re.search(r"VmRSS:\s+(\d+) kB", text)
        assert match
        return int(match[1]) * 1024

    def stop(self, number: int = signal.SIGTERM, limit_s: float = 40) -> int:
        try:
            if self.process.poll() is None:
                self.process.send_signal(number)
                self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"did not stop within {limit_s} s\n{self.log_text()}") from None
        self._log.close()
        RUNNING.discard(self)
        return self.process.returncode

    def kill(self) -> None:
        """For what a test that failed has left: the next one is told nothing of it."""
        self.process.kill()
        self.process.wait()
        self._log.close()
        RUNNING.discard(self)

    def __enter__(self) -> "Server":
        try:
            self._wait()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        status = self.stop()
        if kind is None:
            assert status == 0, f"exit status {status}\n{self.log_text()}"
            assert "Traceback" not in self.log_text(), self.log_text()


def parse_events(text: str, name: str) -> list[dict[str, object]]:
    """The JSON log lines of one event."""
    found = []
    for line in text.splitlines():
        if line.startswith("{") and f'"{name}"' in line:
            value = json.loads(line)
            if value.get("event") == name:
                found.append(value)
    return found
