"""`build.py serve` as a newcomer types it: no artifact, nothing set but the addresses. The default model answers."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.server import Server
from tests.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
_LISTENS_WITHIN_S = 10.0
"""Generous; what it took is in the test's report."""
_IMPORTS = 6
"""On a machine so busy that this is longer: times what it takes just now to read the server in."""


def wait_listening(server: Server) -> float:
    """Seconds from the command to the first answer, whatever it says."""
    while True:
        try:
            server.client.request("GET", "/health", timeout=5)
        except OSError:
            assert server.process.poll() is None, server.log_text()
            time.sleep(0.01)
        else:
            return time.perf_counter() - server.started


@pytest.mark.usefixtures("real_model")
def test_serve_without_an_artifact_serves_the_default_model(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    build = [sys.executable, "build.py"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("IGNIS_")}
    subprocess.run([*build, "native"], cwd=ROOT, check=True)
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import ignis.app"], cwd=ROOT, check=True)
    import_s = time.perf_counter() - begun
    server = Server([*build, "serve"], free_port(), free_port(), tmp_path / "log", environment, ROOT)
    listening_s = wait_listening(server)
    record_property("listening_s", listening_s)
    print(f"build.py serve listens after {listening_s:.2f} s")
    with server:
        [model] = server.client.json("GET", "/v1/models")["data"]
        messages = [{"role": "user", "content": "What is the capital of France?"}]
        answer = server.client.stream(messages=messages, temperature=0)
    assert model["id"] == "smollm2-135m-instruct"
    assert "Paris" in answer.text and len(answer.times) > 1
    assert (answer.finish, answer.is_done) == ("stop", True)
    assert listening_s < max(_LISTENS_WITHIN_S, _IMPORTS * import_s), import_s
