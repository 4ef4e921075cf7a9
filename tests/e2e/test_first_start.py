"""The first start, with no model on the disk: a person at a terminal is asked, anybody else is told, and the server is
up in any case."""

import contextlib
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.client import Client
from tests.e2e.mirrored import environment, fill, serve
from tests.e2e.server import Server, parse_events
from tests.fakes.mirror import Handler, Mirror, serving
from tests.ports import free_port

TYPED = f"{sys.executable} -m ignis"
"""As the servers here are started."""

HI = [{"role": "user", "content": "Hi"}]
QUESTION = "There is no model in {folder}/models yet. Fetch second ("


@pytest.fixture
def mirror(real_model: Path, tmp_path: Path) -> Iterator[Mirror]:
    with serving() as mirror:
        fill(mirror, real_model, tmp_path)
        yield mirror


class Terminal:
    """A server at a terminal of its own. It ends by itself on Ctrl-C."""

    def __init__(self, mirror: Mirror, folder: Path, *flags: str) -> None:
        self.port = free_port()
        self.client = Client("127.0.0.1", self.port)
        self.shown = ""
        self._has_ended = False
        bind = ["--server-bind", f"127.0.0.1:{self.port}", "--server-metrics", "false"]
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            command = [sys.executable, "-m", "ignis", *bind, *flags]
            os.execve(sys.executable, command, environment(mirror, folder, "second"))

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        if not self._has_ended:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.terminal)

    def wait_shown(self, text: str) -> None:
        while text not in re.sub(r"\x1b\[[\d;]*[A-Za-z]", "", self.shown):
            ready, _, _ = select.select([self.terminal], [], [], 60)
            assert ready, self.shown
            part = os.read(self.terminal, 4096).decode(errors="replace")
            self.shown += part

    def type(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def wait_end(self) -> int:
        """The exit status."""
        with contextlib.suppress(OSError):
            # Linux says so where nobody has the other side any more.
            while os.read(self.terminal, 4096):
                pass
        _, status = os.waitpid(self.pid, 0)
        self._has_ended = True
        return os.waitstatus_to_exitcode(status)

    def wait_answer(self) -> str:
        """Which model answers, once one does."""
        end = time.perf_counter() + 60
        while True:
            body = {"messages": HI, "max_tokens": 1}
            status, _, content = self.client.request("POST", "/v1/chat/completions", body)
            if status == 200:
                return str(json.loads(content)["model"])
            assert time.perf_counter() < end, content
            time.sleep(0.05)


class Gated:
    """Answers with half of a file, and with the rest when it is let."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.is_reached, self.go_on = threading.Event(), threading.Event()

    def __call__(self, handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(self.body)))
        handler.end_headers()
        handler.wfile.write(self.body[: len(self.body) // 2])
        handler.wfile.flush()
        self.is_reached.set()
        self.go_on.wait(60)
        handler.wfile.write(self.body[len(self.body) // 2 :])


def first_answer(server: Server, **body: Any) -> tuple[int, Any]:
    """Of the first request that the server can read: nobody has looked whether it is ready."""
    end = time.perf_counter() + 60
    while True:
        try:
            asked = {"messages": HI, "max_tokens": 1, **body}
            status, _, content = server.client.request("POST", "/v1/chat/completions", asked)
        except ConnectionError:
            assert time.perf_counter() < end and server.process.poll() is None, server.log_text()
            time.sleep(0.01)
            continue
        return status, json.loads(content)


def state(client: Client) -> dict[str, Any]:
    return {name: value for name, value in client.json("GET", "/v1/models").items() if name in ("status", "reason")}


@pytest.mark.parametrize("yes", ["y\n", "YES\n"])
def test_whoever_says_yes_has_the_model_fetched_and_served(mirror: Mirror, tmp_path: Path, yes: str) -> None:
    with Terminal(mirror, tmp_path) as terminal:
        terminal.wait_shown(QUESTION.format(folder=tmp_path))
        terminal.wait_shown("[y/N] ")
        # The server is up while it asks.
        assert terminal.client.request("GET", "/ui/")[0] == 200
        assert mirror.asked == []
        terminal.type(yes)
        terminal.wait_shown("100 %")
        assert terminal.wait_answer() == "second"
        terminal.type("\x03")
        assert terminal.wait_end() == 0


@pytest.mark.parametrize("no", ["\n", "n\n", "yesterday\n", "\x04"])
def test_whoever_says_no_has_a_server_that_offers_the_download(mirror: Mirror, tmp_path: Path, no: str) -> None:
    with Terminal(mirror, tmp_path) as terminal:
        terminal.wait_shown("[y/N] ")
        terminal.type(no)
        terminal.wait_shown("There is no model yet, and none is fetched.")
        terminal.wait_shown(f"http://127.0.0.1:{terminal.port}/ui/")
        terminal.wait_shown(f"{TYPED} model download second")
        reason = "there is no model yet: second is not fetched"
        assert state(terminal.client) == {"status": "unloaded", "reason": reason}
        for path, body in (("/health", None), ("/v1/chat/completions", {"messages": HI})):
            status, _, content = terminal.client.request("GET" if body is None else "POST", path, body)
            assert (status, json.loads(content)["error"]["message"]) == (503, reason)
        catalog = terminal.client.json("GET", "/v1/models/catalog")
        assert catalog["can_download"] and mirror.asked == []
        # What the page does.
        assert terminal.client.request("POST", "/v1/models/download", {"model": "second"})[0] == 202
        assert terminal.wait_answer() == "second"
        assert state(terminal.client) == {"status": "serving"}


def test_a_download_in_the_page_answers_for_the_terminal(mirror: Mirror, tmp_path: Path) -> None:
    with Terminal(mirror, tmp_path) as terminal:
        terminal.wait_shown("[y/N] ")
        assert terminal.client.request("POST", "/v1/models/download", {"model": "second"})[0] == 202
        assert terminal.wait_answer() == "second"


def test_another_model_is_served_while_the_question_stands(mirror: Mirror, tmp_path: Path) -> None:
    with Terminal(mirror, tmp_path, "--switch-known-models", f"here={tmp_path}/source/second") as terminal:
        terminal.wait_shown("[y/N] ")
        answer = terminal.client.chat(model="here", messages=HI, max_tokens=1)
        assert answer.error is None
        terminal.type("y\n")
        assert state(terminal.client) == {"status": "serving"}
        terminal.type("\x03")
        assert terminal.wait_end() == 0
    assert mirror.asked == []


def test_another_model_is_served_while_the_first_one_is_fetched_and_keeps_its_place(
    mirror: Mirror, tmp_path: Path
) -> None:
    gated = Gated(mirror.files["/owner/first/resolve/v1/first.gguf"])
    mirror.answers = [gated]
    server = serve(mirror, tmp_path, "--switch-known-models", f"here={tmp_path}/source/second")
    held: list[tuple[int, Any]] = []
    try:
        assert gated.is_reached.wait(30)
        thread = threading.Thread(target=lambda: held.append(first_answer(server, model="first")))
        thread.start()
        server.wait_metric("ignis_model_waiting_requests", 1)
        assert state(server.client) == {"status": "loading", "reason": "the model first is being fetched"}
        assert server.client.request("GET", "/health")[0] == 503
        status, found = first_answer(server, model="here")
        assert (status, found["model"]) == (200, "here")
        assert server.client.request("POST", "/v1/models/unload")[0] == 202
        server.wait_metric("ignis_model_state", 1, state="unloaded")
        assert server.client.request("POST", "/v1/models/switch", {"model": "here"})[0] == 202
        headers = {"Prefer": "wait=60", "Content-Type": "application/json"}
        changed = urllib.request.Request(
            f"{server.base_url}/config", b'{"model": {"decode_lanes": 2}}', headers, method="PATCH"
        )
        server.wait_metric("ignis_model_state", 1, state="serving")
        with urllib.request.urlopen(changed) as answer:
            assert json.load(answer)["applied"] == "reload"
        assert first_answer(server)[1]["model"] == "here" and held == []
        gated.go_on.set()
        thread.join()
        assert [(status, found["model"]) for status, found in held] == [(200, "first")]
    finally:
        gated.go_on.set()
        assert server.stop() == 0


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"model": {"reasoning_effort": "low"}}, "the chat template of this model takes no effort"),
        ({"vram": {"kv_pool_bytes": "64tok"}}, "holds 64 tokens, less than one context"),
    ],
)
def test_a_change_while_the_first_model_is_fetched_ends_no_server(
    mirror: Mirror, tmp_path: Path, change: dict[str, Any], why: str
) -> None:
    gated = Gated(mirror.files["/owner/first/resolve/v1/first.gguf"])
    mirror.answers = [gated]
    server = serve(mirror, tmp_path)
    try:
        assert gated.is_reached.wait(30)
        assert server.client.request("PATCH", "/v1/config", change)[0] == 200
        gated.go_on.set()
        server.wait_metric("ignis_model_state", 1, state="failed")
        assert why in state(server.client)["reason"]
        undone = {group: dict.fromkeys(fields) for group, fields in change.items()}
        assert server.client.request("PATCH", "/v1/config", undone)[0] in (200, 202)
        assert first_answer(server)[0] == 200
    finally:
        gated.go_on.set()
        assert server.stop() == 0


def test_the_first_request_of_all_is_held_until_its_model_is_found(
    mirror: Mirror, real_model: Path, tmp_path: Path
) -> None:
    # Copied there, so that it is hashed first.
    (tmp_path / "models").mkdir()
    shutil.copy(real_model, tmp_path / "models" / "first.gguf")
    server = serve(mirror, tmp_path)
    try:
        status, found = first_answer(server)
        assert (status, found["model"]) == (200, "first")
    finally:
        assert server.stop() == 0


def test_a_first_download_that_is_stopped_failed_of_nothing_and_may_be_begun_again(
    mirror: Mirror, tmp_path: Path
) -> None:
    gated = Gated(mirror.files["/owner/first/resolve/v1/first.gguf"])
    mirror.answers = [gated]
    server = serve(mirror, tmp_path)
    told: list[tuple[int, Any]] = []
    try:
        assert gated.is_reached.wait(30)
        thread = threading.Thread(target=lambda: told.append(first_answer(server)))
        thread.start()
        server.wait_metric("ignis_model_waiting_requests", 1)
        assert server.client.request("DELETE", "/v1/models/download/first")[0] == 202
        thread.join()
        reason = "there is no model yet: the download of first was stopped"
        assert [(status, found["error"]["message"]) for status, found in told] == [(503, reason)]
        assert state(server.client) == {"status": "unloaded", "reason": reason}
        assert parse_events(server.log_text(), "ignis.model.load_failed") == []
        assert server.client.request("POST", "/v1/models/download", {"model": "first"})[0] == 202
        assert first_answer(server)[0] == 200
    finally:
        gated.go_on.set()
        assert server.stop() == 0


def test_ctrl_c_at_the_question_ends_the_server(mirror: Mirror, tmp_path: Path) -> None:
    with Terminal(mirror, tmp_path) as terminal:
        terminal.wait_shown("[y/N] ")
        terminal.type("\x03")
        assert terminal.wait_end() == 0


def test_without_a_terminal_it_is_told_and_fetched(mirror: Mirror, tmp_path: Path) -> None:
    with serve(mirror, tmp_path) as server:
        server.wait_ready()
        text = server.log_text()
    assert f"There is no model in {tmp_path}/models yet: first (" in text
    assert "[y/N]" not in text
    # The way there has the shape of the log, as whoever collects it reads it.
    *_, last = parse_events(text, "ignis.model.download_progress")
    assert last["done_bytes"] == last["total_bytes"] > 0 and {"timestamp", "level", "id"} <= last.keys()
    assert '"ignis.model.download"' not in text


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--download-enabled", "false"], "download.enabled is false"),
        ([], "first.gguf"),
    ],
)
def test_without_a_terminal_a_model_that_is_not_to_be_had_is_explained(
    mirror: Mirror, tmp_path: Path, flags: list[str], why: str
) -> None:
    mirror.files.clear()
    server = serve(mirror, tmp_path, *flags)
    end = time.perf_counter() + 60
    while f"    {TYPED} --model-artifact model.gguf\n" not in server.log_text():
        assert time.perf_counter() < end and server.process.poll() is None, server.log_text()
        time.sleep(0.02)
    text = server.log_text()
    assert "There is no model: " in text and why in text
    # A line of its own is pasted; the log has the same one, at its end.
    folders = f"--download-path {tmp_path}/models --download-catalog {tmp_path}/catalog.json"
    command = f"{TYPED} model download first {folders} --download-endpoint {mirror.url}"
    assert f"\n    {command}\n" in text
    [failed] = parse_events(text, "ignis.model.load_failed")
    assert str(failed["error"]).endswith(f"; in a shell this fetches it: {command}") == (flags != [])
    assert set(re.findall(r"\S+ -m ignis model download .*?(?=[\n\"])", text)) == {command}
    # The page is named where it could help.
    assert ("In the page" in text) == (flags == [])
    found = state(server.client)
    assert found["status"] == "failed" and why in found["reason"] and "model download" not in found["reason"]
    assert found["reason"].endswith("; the server's log has the command that fetches it") == (flags != [])
    assert server.client.request("GET", "/ui/")[0] == 200
    assert len(parse_events(text, "ignis.model.load_failed")) == 1
    assert server.stop() == 0


@pytest.mark.parametrize("is_allowed", [True, False])
def test_what_the_shell_fetched_after_a_failed_start_answers_whoever_names_nothing(
    mirror: Mirror, tmp_path: Path, is_allowed: bool
) -> None:
    files = dict(mirror.files)
    mirror.files.clear()
    flags = ("--download-enabled", "false") if not is_allowed else ()
    server = serve(mirror, tmp_path, *flags)
    try:
        end = time.perf_counter() + 60
        while f"    {TYPED} --model-artifact model.gguf\n" not in server.log_text():
            assert time.perf_counter() < end and server.process.poll() is None, server.log_text()
            time.sleep(0.02)
        assert server.client.request("POST", "/v1/chat/completions", {"messages": HI, "max_tokens": 1})[0] == 503
        mirror.files.update(files)
        # As it is told, in a shell elsewhere, which has nothing of what this server was told by its environment.
        (told,) = re.findall(r"^ +(.* model download .*)$", server.log_text(), re.MULTILINE)
        its_own = environment(mirror, tmp_path)
        elsewhere = {name: value for name, value in its_own.items() if not name.startswith("IGNIS_")}
        (tmp_path / "elsewhere").mkdir()
        command = ["sh", "-c", told]
        subprocess.run(command, env=elsewhere, cwd=tmp_path / "elsewhere", check=True, capture_output=True)
        assert server.client.chat(messages=HI, max_tokens=1).error is None
        assert state(server.client) == {"status": "serving"}
    finally:
        assert server.stop() == 0


def test_a_server_of_an_unknown_id_serves_others_and_that_one_once_it_is_brought(
    mirror: Mirror, tmp_path: Path
) -> None:
    here = tmp_path / "source" / "second"
    server = serve(mirror, tmp_path, "--model-id", "late", "--switch-known-models", f"here={here}")
    try:
        end = time.perf_counter() + 60
        while f"    {TYPED} --model-artifact model.gguf\n" not in server.log_text():
            assert time.perf_counter() < end and server.process.poll() is None, server.log_text()
            time.sleep(0.02)
        reason = (
            "the model late is not known here; here is; the catalog has smollm2-135m-instruct, first, second; "
            "--model-id names another, or is left out"
        )
        assert state(server.client) == {"status": "failed", "reason": f"the model failed: {reason}"}
        stays = f"The server stays up: it serves others by their names, and late as soon as it is in {tmp_path}/models."
        assert f"No model is loaded: {reason}.\n{stays}\n" in server.log_text()
        assert "There is no model" not in server.log_text() and "model download" not in server.log_text()
        assert server.client.chat(model="here", messages=HI, max_tokens=1).error is None
        shutil.copytree(here, tmp_path / "models" / "late")
        answer = server.client.chat(model="late", messages=HI, max_tokens=1)
        assert answer.error is None
    finally:
        assert server.stop() == 0


def test_a_download_that_is_begun_again_beside_another_model_holds_who_names_the_first(
    mirror: Mirror, tmp_path: Path
) -> None:
    gated = Gated(mirror.files["/owner/first/resolve/v1/first.gguf"])
    mirror.answers = [gated]
    server = serve(mirror, tmp_path, "--switch-known-models", f"here={tmp_path}/source/second")
    told: list[tuple[int, Any]] = []
    try:
        assert gated.is_reached.wait(30)
        assert server.client.request("DELETE", "/v1/models/download/first")[0] == 202
        assert first_answer(server, model="here")[1]["model"] == "here"
        # Known by its name, and why it is not here.
        status, found = first_answer(server, model="first")
        assert (status, found["error"]["message"].partition(": ")[2]) == (503, "the download of first was stopped")
        gated.go_on.set()
        again = Gated(mirror.files["/owner/first/resolve/v1/first.gguf"])
        mirror.answers = [again]
        assert server.client.request("POST", "/v1/models/download", {"model": "first"})[0] == 202
        assert again.is_reached.wait(30)
        thread = threading.Thread(target=lambda: told.append(first_answer(server, model="first")))
        thread.start()
        server.wait_metric("ignis_model_waiting_requests", 1)
        again.go_on.set()
        thread.join()
        assert [(status, found["model"]) for status, found in told] == [(200, "first")]
    finally:
        gated.go_on.set()
        assert server.stop() == 0
