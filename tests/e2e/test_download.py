"""From an empty folder, with a static mirror and no other network: fetch, serve, another model, a kill on the way."""

import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.e2e.cut_off import CutOff
from tests.e2e.mirrored import ROOT, attempts, environment, fill, serve
from tests.e2e.server import Server, parse_events
from tests.fakes.mirror import Handler, Mirror, serving
from tests.ports import free_port

FIRST = "/owner/first/resolve/v1/first.gguf"


@pytest.fixture
def mirror(real_model: Path, tmp_path: Path) -> Iterator[Mirror]:
    with serving() as mirror:
        fill(mirror, real_model, tmp_path)
        yield mirror


def wait_row(server: Server, id: str, presence: str) -> Any:
    end = time.perf_counter() + 30
    while True:
        rows = {row["id"]: row for row in server.client.json("GET", "/v1/models/catalog")["data"]}
        if rows[id]["presence"] == presence:
            return rows[id]
        assert time.perf_counter() < end, rows[id]
        time.sleep(0.02)


def test_from_an_empty_folder_to_two_models_that_come_and_go(mirror: Mirror, tmp_path: Path) -> None:
    """Fetched, verified, served; another by its name, and back; unloaded when idle, woken. No client tries again, nor
    looks whether the server is ready."""
    with serve(mirror, tmp_path).at_once() as server:
        assert CutOff.of(tmp_path).holds(server.process.pid)
        client = openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0)

        def ask(name: str) -> str:
            answer = client.chat.completions.create(
                model=name, messages=[{"role": "user", "content": "Hi"}], max_tokens=2
            )
            assert answer.choices[0].finish_reason == "length"
            return answer.model

        assert ask("first") == "first"
        with pytest.raises(openai.NotFoundError):
            ask("second")
        status, _, _ = server.client.request("POST", "/v1/models/download", {"model": "second"})
        assert status == 202
        wait_row(server, "second", "complete")
        assert [ask(name) for name in ("second", "first", "second", "first")] == ["second", "first", "second", "first"]
        lines = parse_events(server.log_text(), "ignis.model.download_ended")
        assert [(line["id"], line["outcome"]) for line in lines] == [("first", "complete"), ("second", "complete")]
        # What it does when nobody asks.
        serving_bytes = server.resident_bytes()
        status, _, content = server.client.request("PATCH", "/v1/config", {"model": {"idle_unload": 1}})
        assert status == 200, content
        server.wait_metric("ignis_model_state", 1, state="unloaded", limit_s=30)
        # The files of the first one are 98 MB, and its pages come on top.
        assert server.resident_bytes() < serving_bytes - (80 << 20)
        assert ask("first") == "first"
        changes = server.client.json("GET", "/v1/models")["switches"]
        assert [change["outcome"] for change in changes] == ["loaded", "unloaded", *["switched"] * 4, "loaded"]
        client.close()
    # A second start asks for nothing.
    mirror.asked.clear()
    with serve(mirror, tmp_path) as server:
        assert {entry["id"] for entry in server.client.json("GET", "/v1/models")["data"]} == {"first", "second"}
    assert mirror.asked == []
    assert attempts(tmp_path) == []


def test_a_server_that_is_killed_in_a_download_goes_on_with_it(mirror: Mirror, tmp_path: Path) -> None:
    body = mirror.files[FIRST]
    reached, release = threading.Event(), threading.Event()

    def half(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body[: len(body) // 2])
        handler.wfile.flush()
        reached.set()
        release.wait(60)

    mirror.answers = [half]
    killed = serve(mirror, tmp_path)
    try:
        assert reached.wait(30)
        progress = killed.client.json("GET", "/v1/models/catalog")["data"][1]
        assert (progress["id"], progress["download"]["state"]) == ("first", "running")
    finally:
        killed.process.send_signal(signal.SIGKILL)
        killed.process.wait()
        killed.stop()
        release.set()
    assert {file.name for file in (tmp_path / "models").iterdir()} == {"first.gguf.part"}
    with serve(mirror, tmp_path) as server:
        assert server.client.chat(messages=[{"role": "user", "content": "Hi"}], max_tokens=1).finish == "length"
    start = mirror.asked[-1].range
    assert start is not None and int(start.removeprefix("bytes=").removesuffix("-")) > 1 << 20


def test_a_stop_in_a_download_ends_at_once(mirror: Mirror, tmp_path: Path) -> None:
    reached, release = threading.Event(), threading.Event()

    def silent(_handler: Handler) -> None:
        reached.set()
        release.wait(60)

    mirror.answer = silent
    server = serve(mirror, tmp_path)
    try:
        assert reached.wait(30)
        assert server.stop(limit_s=20) == 0
    finally:
        release.set()


def test_the_walk_of_the_guide_without_a_network(mirror: Mirror, tmp_path: Path) -> None:
    """The commands of the page as they stand there. None can reach anything but this machine, and none tries; after the
    first, nobody is told of the mirror either."""
    page = (ROOT / "spec" / "guide" / "models.md").read_text(encoding="utf-8")
    section = page.partition("## Without a network")[2]
    lines = [shlex.split(line) for line in section.splitlines() if line.startswith("    ignis-server ")]
    download, verify, serve_there = ([sys.executable, "-m", "ignis", *words[1:]] for words in lines)
    here = environment(mirror, tmp_path)
    # The page's commands say themselves what they need.
    del here["IGNIS_DOWNLOAD_PATH"], here["IGNIS_DOWNLOAD_CATALOG"], here["IGNIS_MODEL_ID"]
    fetched = subprocess.run(download, env=here, cwd=tmp_path, capture_output=True, text=True)
    assert (fetched.returncode, len(fetched.stdout.split())) == (0, 2), fetched.stderr
    mirror.asked.clear()
    there = {name: value for name, value in here.items() if name != "IGNIS_DOWNLOAD_ENDPOINT"}
    verified = subprocess.run(verify, env=there, cwd=tmp_path, capture_output=True, text=True)
    assert (verified.returncode, verified.stdout) == (0, "first: verified\nsecond: verified\n"), verified.stderr
    with Server(serve_there, free_port(), free_port(), tmp_path / "log", there, folder=tmp_path) as server:
        assert CutOff.of(tmp_path).holds(server.process.pid)
        for name in ("first", "second"):
            answer = server.client.chat(model=name, messages=[{"role": "user", "content": "Hi"}], max_tokens=1)
            assert answer.error is None
        refused, _, _ = server.client.request("POST", "/v1/models/download", {"model": "smollm2-135m-instruct"})
        assert refused == 403
    assert mirror.asked == []
    assert attempts(tmp_path) == []
