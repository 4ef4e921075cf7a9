"""Fetching a file from a mirror that may be hostile: whole and verified, or not at all."""

import concurrent.futures
import contextlib
import gzip
import hashlib
import itertools
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ignis.config_fields import DownloadConfig
from ignis.errors import ConfigError, DownloadError, ModelFileError
from ignis.halt import Halt, StoppedError
from ignis.hub import HubClient, HubFile, is_repository
from ignis.pinned import locked
from ignis.resolver import look_up
from ignis.transfer import fetch_file
from ignis.web import UnfitAddressError
from tests.fakes.mirror import Handler, Mirror, reply, serving

CONTENT = bytes(range(256)) * 8192
SIZE = len(CONTENT)
FILE = HubFile("tiny.gguf", SIZE, hashlib.sha256(CONTENT).hexdigest(), "owner/tiny", "v1")
ADDRESS = "/owner/tiny/resolve/v1/tiny.gguf"
WHOLE = {"tiny.gguf", "tiny.gguf.verified"}


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with serving() as mirror:
        mirror.files[ADDRESS] = CONTENT
        yield mirror


def fetch(mirror: Mirror, folder: Path, file: HubFile = FILE, token: str | None = None) -> Path:
    waits: list[float] = []
    download = DownloadConfig(endpoint=mirror.url, token=token)
    client = HubClient.from_config(download, {}, timeout_s=0.5)
    return fetch_file(file, folder, client, lambda *_: None, Halt(), waits.append)


def left_in(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def breaking_after(num_bytes: int) -> Callable[[Handler], None]:
    """Promises the rest of the content, and ends after so many bytes of it."""

    def answer(handler: Handler) -> None:
        wanted = handler.headers.get("Range")
        start = 0 if wanted is None else int(wanted.removeprefix("bytes=").removesuffix("-"))
        handler.send_response(200 if wanted is None else 206)
        handler.send_header("Content-Length", str(SIZE - start))
        handler.send_header("Content-Range", f"bytes {start}-{SIZE - 1}/{SIZE}")
        handler.end_headers()
        handler.wfile.write(CONTENT[start : start + num_bytes])
        handler.close_connection = True

    return answer


def sending(body: bytes, headers: dict[str, str] | None = None, status: int = 200) -> Callable[[Handler], None]:
    return lambda handler: reply(handler, status, body, headers)


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


# --- what a good mirror gives


def test_a_file_comes_from_its_address_and_is_kept_under_its_name(mirror: Mirror, tmp_path: Path) -> None:
    path = fetch(mirror, tmp_path / "new" / "models")
    assert path.read_bytes() == CONTENT
    assert left_in(path.parent) == WHOLE
    assert [asked.path for asked in mirror.asked] == [ADDRESS]


def test_a_revision_is_one_part_of_the_address(mirror: Mirror, tmp_path: Path) -> None:
    mirror.files["/owner/tiny/resolve/refs%2Fpr%2F1/tiny.gguf"] = CONTENT
    file = HubFile("tiny.gguf", SIZE, FILE.sha256, "owner/tiny", "refs/pr/1")
    assert fetch(mirror, tmp_path, file).read_bytes() == CONTENT


def test_a_file_that_is_there_is_not_asked_for(mirror: Mirror, tmp_path: Path) -> None:
    fetch(mirror, tmp_path)
    mirror.asked.clear()
    fetch(mirror, tmp_path)
    assert mirror.asked == []


def test_a_file_of_the_name_that_is_another_is_left_alone(mirror: Mirror, tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(b"mine")
    with pytest.raises(ModelFileError, match="is not the catalog's file"):
        fetch(mirror, tmp_path)
    assert (tmp_path / "tiny.gguf").read_bytes() == b"mine"
    assert mirror.asked == []


def test_a_file_is_on_the_disk_before_it_has_its_name(
    mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[int, int, bool]] = []
    sync = os.fsync

    def note(descriptor: int) -> None:
        status = os.fstat(descriptor)
        synced.append((status.st_ino, status.st_size, (tmp_path / "tiny.gguf").exists()))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    path = fetch(mirror, tmp_path)
    folder = tmp_path.stat()
    # All of its bytes, then its name in the folder: a power cut leaves no file of zeros under it.
    assert [(inode, is_named) for inode, _, is_named in synced] == [(path.stat().st_ino, False), (folder.st_ino, True)]
    assert synced[0][1] == SIZE


# --- going on


def test_a_transfer_that_breaks_off_goes_on_where_it_ended(mirror: Mirror, tmp_path: Path) -> None:
    mirror.answers = [breaking_after(300_000), breaking_after(500_000)]
    assert fetch(mirror, tmp_path).read_bytes() == CONTENT
    assert [asked.range for asked in mirror.asked] == [None, "bytes=300000-", "bytes=800000-"]


def test_a_later_fetch_goes_on_where_an_earlier_one_gave_up(mirror: Mirror, tmp_path: Path) -> None:
    mirror.answers = [breaking_after(300_000)]
    mirror.answer = sending(b"", status=503)
    with pytest.raises(DownloadError, match="HTTP 503"):
        fetch(mirror, tmp_path)
    assert left_in(tmp_path) == {"tiny.gguf.part"}
    mirror.answer = None
    mirror.asked.clear()
    assert fetch(mirror, tmp_path).read_bytes() == CONTENT
    assert [asked.range for asked in mirror.asked] == ["bytes=300000-"]
    assert left_in(tmp_path) == WHOLE


def test_a_mirror_without_ranges_sends_it_from_the_start(mirror: Mirror, tmp_path: Path) -> None:
    mirror.answers = [breaking_after(300_000), sending(CONTENT)]
    assert fetch(mirror, tmp_path).read_bytes() == CONTENT
    assert len(mirror.asked) == 2


@pytest.mark.parametrize("span", [f"bytes 0-{SIZE - 1}/{SIZE}", f"bytes 7-{SIZE - 1}/{SIZE}", "rubbish", None])
def test_a_range_that_was_not_asked_for_is_not_taken(mirror: Mirror, tmp_path: Path, span: str | None) -> None:
    headers = {} if span is None else {"Content-Range": span}
    mirror.answers = [breaking_after(300_000), sending(CONTENT[7:], headers, 206)]
    assert fetch(mirror, tmp_path).read_bytes() == CONTENT


def test_another_file_costs_nothing_of_what_has_come(mirror: Mirror, tmp_path: Path) -> None:
    mirror.answers = [breaking_after(300_000), sending(b"x" * 10, {"Content-Range": "bytes 0-9/10"}, 206)]
    with pytest.raises(DownloadError, match=f"has 10 bytes, not {SIZE}"):
        fetch(mirror, tmp_path)
    assert (tmp_path / "tiny.gguf.part").stat().st_size == 300_000


def test_a_part_that_the_mirror_refuses_is_forgotten(mirror: Mirror, tmp_path: Path) -> None:
    mirror.answers = [breaking_after(300_000), sending(b"", {"Content-Range": f"bytes */{SIZE}"}, 416)]
    assert fetch(mirror, tmp_path).read_bytes() == CONTENT
    assert [asked.range for asked in mirror.asked] == [None, "bytes=300000-", None]


@pytest.mark.parametrize("leftover", [b"rubbish", b"x" * SIZE, CONTENT + b"more", CONTENT[:-1], CONTENT])
def test_whatever_an_earlier_fetch_left_ends_as_the_file(mirror: Mirror, tmp_path: Path, leftover: bytes) -> None:
    (tmp_path / "tiny.gguf.part").write_bytes(leftover)
    assert fetch(mirror, tmp_path).read_bytes() == CONTENT
    assert left_in(tmp_path) == WHOLE


@pytest.mark.parametrize("num_bytes", [0, 1, SIZE // 2, SIZE - 1])
def test_a_fetch_that_is_killed_leaves_nothing_in_use_and_is_taken_up(
    mirror: Mirror, tmp_path: Path, num_bytes: int
) -> None:
    reached, release = threading.Event(), threading.Event()

    def half(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(SIZE))
        handler.end_headers()
        handler.wfile.write(CONTENT[:num_bytes])
        handler.wfile.flush()
        reached.set()
        release.wait(30)

    mirror.answers = [half]
    code = (
        "import sys; from pathlib import Path\n"
        "from ignis.halt import *; from ignis.hub import *; from ignis.transfer import *\n"
        f"client = HubClient({mirror.url!r}, None, None, 30.0)\n"
        f"fetch_file({FILE!r}, Path(sys.argv[1]), client, lambda *_: None, Halt())\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)])
    try:
        assert reached.wait(20)
        process.send_signal(signal.SIGKILL)
    finally:
        process.wait()
        release.set()
    assert left_in(tmp_path) <= {"tiny.gguf.part"}
    assert fetch(mirror, tmp_path).read_bytes() == CONTENT
    assert left_in(tmp_path) == WHOLE


def test_of_two_that_fetch_one_file_one_waits(mirror: Mirror, tmp_path: Path) -> None:
    threads = [threading.Thread(target=fetch, args=(mirror, tmp_path)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "tiny.gguf").read_bytes() == CONTENT
    assert len(mirror.asked) == 1
    assert left_in(tmp_path) == WHOLE


# --- another content


def test_who_waits_for_another_sees_how_far_that_one_is(mirror: Mirror, tmp_path: Path) -> None:
    halt, seen = Halt(), list[tuple[int, int]]()
    client = HubClient.from_config(DownloadConfig(endpoint=mirror.url), {})
    with locked(tmp_path / "tiny.gguf.part", Halt()) as other:

        def moved(here: int, came: int) -> None:
            seen.append((here, came))
            other.write(CONTENT[:1000])
            other.flush()
            if len(seen) == 3:
                halt.stop()

        with pytest.raises(StoppedError):
            fetch_file(FILE, tmp_path, client, moved, halt)
    assert seen == [(0, 0), (1000, 0), (2000, 0)]


def test_a_bit_that_flips_on_the_way_costs_one_more_transfer(mirror: Mirror, tmp_path: Path) -> None:
    mirror.answers = [sending(flipped(CONTENT))]
    assert fetch(mirror, tmp_path).read_bytes() == CONTENT
    assert len(mirror.asked) == 2


def test_a_wrong_digest_leaves_nothing(mirror: Mirror, tmp_path: Path) -> None:
    mirror.files[ADDRESS] = flipped(CONTENT)
    with pytest.raises(DownloadError, match=rf"has SHA-256 [0-9a-f]{{64}}, not {FILE.sha256}"):
        fetch(mirror, tmp_path)
    assert left_in(tmp_path) == set()
    assert len(mirror.asked) == 2


@pytest.mark.parametrize("body", [CONTENT + b"more", b"<html>log in</html>"])
def test_a_body_that_says_another_length_is_not_read(mirror: Mirror, tmp_path: Path, body: bytes) -> None:
    mirror.files[ADDRESS] = body
    with pytest.raises(DownloadError, match=f"has {len(body)} bytes, not {SIZE}"):
        fetch(mirror, tmp_path)
    assert left_in(tmp_path) == set()
    assert len(mirror.asked) == 1


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (200, {"Content-Length": "9" * 5000}),
        (206, {"Content-Range": "bytes 0-1/" + "9" * 5000}),
        (302, {"Location": f"http://127.0.0.1:{10**23}/x"}),
        (302, {"Location": "http://[::1/x"}),
        (404, {"Retry-After": "9" * 5000}),
    ],
)
def test_numbers_beyond_all_numbers_end_as_a_failed_download(
    mirror: Mirror, tmp_path: Path, status: int, headers: dict[str, str]
) -> None:
    def boast(handler: Handler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.close_connection = True

    mirror.answer = boast
    with pytest.raises(DownloadError):
        fetch(mirror, tmp_path)
    assert left_in(tmp_path) == set()


def test_a_body_without_a_length_is_cut_where_it_is_too_long(mirror: Mirror, tmp_path: Path) -> None:
    def endless(handler: Handler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while True:
            handler.wfile.write(CONTENT)

    mirror.answer = endless
    with pytest.raises(DownloadError, match=f"has more than {SIZE} bytes"):
        fetch(mirror, tmp_path)
    assert left_in(tmp_path) == set()


def test_gzip_on_the_way_is_unpacked(mirror: Mirror, tmp_path: Path) -> None:
    mirror.answer = sending(gzip.compress(CONTENT), {"Content-Encoding": "gzip"})
    assert fetch(mirror, tmp_path).read_bytes() == CONTENT


def test_gzip_of_a_bomb_is_cut(mirror: Mirror, tmp_path: Path) -> None:
    mirror.answer = sending(gzip.compress(bytes(64 << 20)), {"Content-Encoding": "gzip"})
    with pytest.raises(DownloadError, match=f"has more than {SIZE} bytes"):
        fetch(mirror, tmp_path)
    assert left_in(tmp_path) == set()


def test_what_follows_a_packed_body_is_not_taken(mirror: Mirror, tmp_path: Path) -> None:
    def chatter(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Encoding", "gzip")
        handler.end_headers()
        # In one packet with the end of what is packed.
        handler.wfile.write(gzip.compress(CONTENT) + bytes(1000))
        while True:
            # Until the client has hung up.
            handler.wfile.write(bytes(1 << 20))

    mirror.answer = chatter
    assert fetch(mirror, tmp_path).read_bytes() == CONTENT


def test_a_packing_that_nobody_asked_for_is_refused(mirror: Mirror, tmp_path: Path) -> None:
    mirror.answer = sending(zlib.compress(CONTENT), {"Content-Encoding": "br"})
    with pytest.raises(DownloadError, match="content encoding 'br'"):
        fetch(mirror, tmp_path)


# --- attempts


def test_a_mirror_that_is_gone_for_a_while_is_waited_for_longer_each_time(mirror: Mirror, tmp_path: Path) -> None:
    waits: list[float] = []
    mirror.answers = [sending(b"", status=500), sending(b"", {"Retry-After": "7"}, 503), sending(b"", status=429)]
    client = HubClient.from_config(DownloadConfig(endpoint=mirror.url), {}, timeout_s=0.5)
    path = fetch_file(FILE, tmp_path, client, lambda *_: None, Halt(), waits.append)
    assert path.read_bytes() == CONTENT
    assert waits == [1.0, 7.0, 4.0]


def test_a_mirror_that_falls_silent_is_asked_again(mirror: Mirror, tmp_path: Path) -> None:
    release = threading.Event()

    def silent(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(SIZE))
        handler.end_headers()
        handler.wfile.write(CONTENT[:1000])
        handler.wfile.flush()
        release.wait(30)

    mirror.answers = [silent]
    try:
        assert fetch(mirror, tmp_path).read_bytes() == CONTENT
    finally:
        release.set()
    assert [asked.range for asked in mirror.asked] == [None, "bytes=1000-"]


def test_a_mirror_that_drips_is_asked_again(mirror: Mirror, tmp_path: Path) -> None:
    is_left = threading.Event()

    def drip(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(SIZE))
        handler.end_headers()
        for position in range(SIZE):
            handler.wfile.write(CONTENT[position : position + 1])
            if is_left.wait(0.01):
                break

    mirror.answers = [drip]
    client = HubClient.from_config(DownloadConfig(endpoint=mirror.url), {})
    # Half a minute goes by with each look at the clock.
    times = itertools.count(0, 30)
    path = fetch_file(
        FILE, tmp_path, client, lambda *_: None, Halt(), lambda _: is_left.set(), clock=lambda: float(next(times))
    )
    assert path.read_bytes() == CONTENT
    _, second = mirror.asked
    assert second.range is not None and 0 < int(second.range.removeprefix("bytes=").removesuffix("-")) < 1000


@pytest.mark.parametrize("piece", [b"x", b"HTTP/1.1 100 Continue\r\n\r\n"], ids=["drip", "continue"])
def test_a_head_that_never_ends_is_given_up(
    mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: bytes
) -> None:
    monkeypatch.setattr("ignis.web.HEAD_LIMIT_S", 0.2)
    is_left = threading.Event()

    def drip(handler: Handler) -> None:
        if piece == b"x":
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
        while not is_left.wait(0.01):
            handler.wfile.write(piece)

    mirror.answers = [drip]
    try:
        assert fetch(mirror, tmp_path).read_bytes() == CONTENT
    finally:
        is_left.set()
    assert len(mirror.asked) == 2


def test_a_mirror_that_sends_a_byte_a_time_is_given_up(mirror: Mirror, tmp_path: Path) -> None:
    mirror.answer = breaking_after(1)
    with pytest.raises(DownloadError, match=f"ended after 6 of {SIZE} bytes"):
        fetch(mirror, tmp_path)
    assert len(mirror.asked) == 6


def test_an_attempt_that_brought_much_begins_the_count_anew(mirror: Mirror, tmp_path: Path) -> None:
    mirror.answers = [*[breaking_after(1)] * 5, breaking_after(1 << 20), *[breaking_after(1)] * 4]
    assert fetch(mirror, tmp_path).read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("status", "words"), [(401, "set download.token"), (403, "its terms"), (404, "--download-endpoint")]
)
def test_a_refusal_is_final_and_says_what_may_help(mirror: Mirror, tmp_path: Path, status: int, words: str) -> None:
    mirror.answer = sending(b"", status=status)
    with pytest.raises(DownloadError, match=words):
        fetch(mirror, tmp_path)
    assert len(mirror.asked) == 1


def test_a_stop_ends_a_transfer_and_keeps_what_has_come(mirror: Mirror, tmp_path: Path) -> None:
    halt = Halt()
    client = HubClient.from_config(DownloadConfig(endpoint=mirror.url), {})
    with pytest.raises(StoppedError):
        fetch_file(FILE, tmp_path, client, lambda _here, came: halt.stop() if came else None, halt)
    assert left_in(tmp_path) == {"tiny.gguf.part"}
    assert CONTENT.startswith((tmp_path / "tiny.gguf.part").read_bytes())
    assert fetch(mirror, tmp_path).read_bytes() == CONTENT


@pytest.mark.parametrize("num_bytes", [0, 300_000])
def test_a_stop_ends_the_wait_for_a_silent_mirror_and_frees_the_part(
    mirror: Mirror, tmp_path: Path, num_bytes: int
) -> None:
    halt, is_silent, is_over = Halt(), threading.Event(), threading.Event()

    def fall_silent(handler: Handler) -> None:
        if num_bytes:
            handler.send_response(200)
            handler.send_header("Content-Length", str(SIZE))
            handler.end_headers()
            handler.wfile.write(CONTENT[:num_bytes])
        is_silent.set()
        assert is_over.wait(30)
        handler.close_connection = True

    mirror.answers = [fall_silent]
    client = HubClient.from_config(DownloadConfig(endpoint=mirror.url), {}, on_socket=halt.watch)
    with concurrent.futures.ThreadPoolExecutor() as threads:
        fetching = threads.submit(fetch_file, FILE, tmp_path, client, lambda *_: None, halt)
        assert is_silent.wait(20)
        halt.stop()
        with pytest.raises(StoppedError):
            fetching.result(5)
        # Nobody has the part locked any more, though the mirror is as silent as before.
        assert fetch(mirror, tmp_path).read_bytes() == CONTENT
        is_over.set()


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_stop_ends_the_making_of_a_connection_that_nobody_answers(tmp_path: Path, scheme: str) -> None:
    halt, is_making = Halt(), threading.Event()
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        # With room for it the kernel answers the connection, and nobody the handshake.
        listener.listen(0 if scheme == "http" else 8)
        for _ in range(2 * (scheme == "http")):
            filling = stack.enter_context(socket.socket())
            filling.setblocking(False)
            filling.connect_ex(listener.getsockname())

        def watch(made: socket.socket | None) -> None:
            halt.watch(made)
            if scheme == "http" or isinstance(made, ssl.SSLSocket):
                is_making.set()

        endpoint = f"{scheme}://127.0.0.1:{listener.getsockname()[1]}"
        client = HubClient.from_config(DownloadConfig(endpoint=endpoint), {}, on_socket=watch)
        threads = stack.enter_context(concurrent.futures.ThreadPoolExecutor())
        fetching = threads.submit(fetch_file, FILE, tmp_path, client, lambda *_: None, halt)
        assert is_making.wait(20)
        halt.stop()
        with pytest.raises(StoppedError):
            fetching.result(5)
        assert left_in(tmp_path) == set()


@pytest.fixture
def silent_resolver(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """It answers nobody. Set as soon as it is asked."""
    is_asked, is_over = threading.Event(), threading.Event()

    def resolve(*_asked: object) -> list[object]:
        is_asked.set()
        is_over.wait(60)
        return []

    with monkeypatch.context() as patching:
        patching.setattr(socket, "getaddrinfo", resolve)
        yield is_asked
    is_over.set()
    for lookup in lookups():
        lookup.join(20)


def lookups() -> list[threading.Thread]:
    """Those under way."""
    return [thread for thread in threading.enumerate() if thread.name == "lookup"]


def test_a_stop_ends_the_wait_for_a_name_that_nobody_finds(tmp_path: Path, silent_resolver: threading.Event) -> None:
    halt = Halt()
    client = HubClient.from_config(DownloadConfig(endpoint="http://hub.example"), {}, on_socket=halt.watch)
    with concurrent.futures.ThreadPoolExecutor() as threads:
        fetching = threads.submit(fetch_file, FILE, tmp_path, client, lambda *_: None, halt)
        assert silent_resolver.wait(20)
        halt.stop()
        with pytest.raises(StoppedError):
            fetching.result(10)
    # The part is nobody's any more: the next fetch does not wait for this one.
    assert left_in(tmp_path) == set()


@pytest.mark.parametrize(("host", "most"), [("hub.example", 1), ("hub{}.example", 16)])
def test_names_that_nobody_finds_hold_no_number_of_threads(
    tmp_path: Path, silent_resolver: threading.Event, monkeypatch: pytest.MonkeyPatch, host: str, most: int
) -> None:
    monkeypatch.setattr("ignis.resolver._LOOK_S", 0.01)
    for number in range(30):
        asked = iter(range(2))

        def stop_at_the_second_look(_connected: object, asked: Iterator[int] = asked) -> None:
            if next(asked, None) is None:
                raise StoppedError("stopped")

        endpoint = f"http://{host.format(number)}"
        client = HubClient.from_config(DownloadConfig(endpoint=endpoint), {}, on_socket=stop_at_the_second_look)
        with pytest.raises(StoppedError):
            fetch_file(FILE, tmp_path, client, lambda *_: None, Halt())
    assert len(lookups()) == most


def test_who_waits_for_a_place_among_lookups_has_it_when_one_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ignis.resolver._MOST_LOOKUPS", 1)
    is_held, is_waiting = threading.Event(), threading.Event()

    def resolve(host: str, *_: object) -> list[str]:
        assert host != "first" or is_held.wait(60)
        return [host]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with concurrent.futures.ThreadPoolExecutor() as threads:
        first = threads.submit(look_up, ("first", 1), lambda: None)
        while not lookups():
            pass
        same, other = (threads.submit(look_up, (host, 1), is_waiting.set) for host in ("first", "other"))
        assert is_waiting.wait(20) and len(lookups()) == 1
        is_held.set()
        assert (first.result(20), same.result(20), other.result(20)) == (["first"], ["first"], ["other"])


def test_a_name_is_looked_up_once_there_is_a_thread_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *_: [host])

    looks = iter(range(100))

    def look() -> None:
        if next(looks, None) is None:
            raise StoppedError("nobody looks it up")

    def start(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patching:
        patching.setattr(threading.Thread, "start", start)
        with pytest.raises(RuntimeError, match="new thread"):
            look_up(("hub.example", 1), look)
    assert look_up(("hub.example", 1), look) == ["hub.example"]


def test_a_name_that_nobody_finds_is_given_up(
    tmp_path: Path, silent_resolver: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ignis.web.HEAD_LIMIT_S", 0.2)
    client = HubClient.from_config(DownloadConfig(endpoint="http://hub.example"), {})
    with pytest.raises(DownloadError, match="no answer was whole after 0 s"):
        fetch_file(FILE, tmp_path, client, lambda *_: None, Halt(), lambda _: None)


def test_a_name_is_reached_by_the_address_that_answers(
    mirror: Mirror, tmp_path: Path, free_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve, closed = socket.getaddrinfo, ("127.0.0.1", free_port)
    # Of a kind that this machine has not, as IPv6 where it is switched off; then one where nobody listens.
    dead = [(socket.AF_UNSPEC, socket.SOCK_STREAM, 6, "", closed), (socket.AF_INET, socket.SOCK_STREAM, 6, "", closed)]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *asked: [*dead, *resolve(*asked)])
    assert fetch(mirror, tmp_path).read_bytes() == CONTENT
    assert len(mirror.asked) == 1


def test_a_stop_ends_a_wait(mirror: Mirror, tmp_path: Path) -> None:
    halt = Halt()

    def refuse(handler: Handler) -> None:
        halt.stop()
        reply(handler, 503, b"", {"Retry-After": "60"})

    mirror.answer = refuse
    client = HubClient.from_config(DownloadConfig(endpoint=mirror.url), {})
    with pytest.raises(StoppedError):
        fetch_file(FILE, tmp_path, client, lambda *_: None, halt)
    assert len(mirror.asked) == 1


# --- whose token


def test_a_token_goes_to_the_endpoint_and_to_no_other_host(mirror: Mirror, tmp_path: Path) -> None:
    with serving() as other:
        other.files["/blob"] = CONTENT
        mirror.answers = [
            sending(b"", {"Location": "/renamed"}, 307),
            sending(b"", {"Location": f"{other.url}/blob"}, 302),
        ]
        assert fetch(mirror, tmp_path, token="hf_secret").read_bytes() == CONTENT
        assert [asked.authorization for asked in mirror.asked] == ["Bearer hf_secret"] * 2
        assert [asked.authorization for asked in other.asked] == [None]


def test_a_range_follows_a_redirect(mirror: Mirror, tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf.part").write_bytes(CONTENT[:1000])
    with serving() as other:
        other.files["/blob"] = CONTENT
        mirror.answer = sending(b"", {"Location": f"{other.url}/blob"}, 302)
        assert fetch(mirror, tmp_path).read_bytes() == CONTENT
        assert [asked.range for asked in other.asked] == ["bytes=1000-"]


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/x", "data:,x"])
def test_a_redirect_to_no_web_address_is_not_followed(mirror: Mirror, tmp_path: Path, target: str) -> None:
    mirror.answer = sending(b"", {"Location": target}, 302)
    with pytest.raises(UnfitAddressError, match="a redirect that is not followed"):
        fetch(mirror, tmp_path)
    assert len(mirror.asked) == 1


def test_a_token_is_in_no_message(mirror: Mirror, tmp_path: Path) -> None:
    mirror.answer = sending(b"", status=403)
    download = DownloadConfig(endpoint=mirror.url.replace("//", "//user:pa%24s@"))
    client = HubClient.from_config(download, {})
    with pytest.raises(DownloadError) as caught:
        fetch_file(FILE, tmp_path, client, lambda *_: None, Halt())
    assert "pa%24s" not in caught.value.message
    assert mirror.asked[0].authorization == "Basic dXNlcjpwYSRz"


@pytest.mark.parametrize(
    ("endpoint", "token", "sent"),
    [
        ("https://huggingface.co", None, "Bearer hf_env"),
        ("https://huggingface.co/", "own", "Bearer own"),
        ("http://huggingface.co", None, None),
        ("https://huggingface.co.evil.test", None, None),
        ("https://huggingface.co:8443", None, None),
        ("https://mirror.test/api", None, None),
        ("https://mirror.test/api", "own", "Bearer own"),
    ],
)
def test_the_environments_token_is_for_hugging_face_alone(endpoint: str, token: str | None, sent: str | None) -> None:
    client = HubClient.from_config(DownloadConfig(endpoint=endpoint, token=token), {"HF_TOKEN": "hf_env\n"})
    assert client._authorization == sent


@pytest.mark.parametrize("endpoint", ["huggingface.co", "file:///models", "https://", "https://a/?x=1", "https://a/#x"])
def test_an_endpoint_is_a_web_address(endpoint: str) -> None:
    with pytest.raises(ConfigError, match="must be an http or https address"):
        HubClient.from_config(DownloadConfig(endpoint=endpoint), {})


def test_certificates_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"nowhere\.pem cannot be read"):
        HubClient.from_config(DownloadConfig(certificates=tmp_path / "nowhere.pem"), {})


TLS = Path(__file__).parents[1] / "data" / "tls"


@pytest.fixture
def tls_mirror() -> Iterator[Mirror]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "certificate.pem", TLS / "key.pem")
    with serving(context) as mirror:
        mirror.files[ADDRESS] = CONTENT
        yield mirror


def fetch_trusting(mirror: Mirror, folder: Path, certificates: Path | None) -> Path:
    waits: list[float] = []
    client = HubClient.from_config(DownloadConfig(endpoint=mirror.url, certificates=certificates), {})
    try:
        return fetch_file(FILE, folder, client, lambda *_: None, Halt(), waits.append)
    finally:
        assert waits == []


def test_a_mirror_with_a_certificate_of_the_operators_own(tls_mirror: Mirror, tmp_path: Path) -> None:
    path = fetch_trusting(tls_mirror, tmp_path, TLS / "certificate.pem")
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize("certificates", [None, TLS / "other_certificate.pem"])
def test_a_certificate_of_nobody_is_refused(tls_mirror: Mirror, tmp_path: Path, certificates: Path | None) -> None:
    with pytest.raises(UnfitAddressError, match="CERTIFICATE_VERIFY_FAILED"):
        fetch_trusting(tls_mirror, tmp_path, certificates)
    assert tls_mirror.asked == []


def test_a_redirect_into_the_clear_is_not_followed(tls_mirror: Mirror, mirror: Mirror, tmp_path: Path) -> None:
    tls_mirror.answer = sending(b"", {"Location": mirror.url + ADDRESS}, 302)
    with pytest.raises(UnfitAddressError, match="a redirect that is not followed"):
        fetch_trusting(tls_mirror, tmp_path, TLS / "certificate.pem")
    assert mirror.asked == []


def test_a_proxy_of_the_environment_is_asked(mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mirror.files["http://hub.test" + ADDRESS] = CONTENT
    monkeypatch.setenv("http_proxy", mirror.url)
    monkeypatch.setenv("no_proxy", "")
    client = HubClient.from_config(DownloadConfig(endpoint="http://hub.test"), {})
    assert fetch_file(FILE, tmp_path, client, lambda *_: None, Halt()).read_bytes() == CONTENT
    assert [asked.path for asked in mirror.asked] == ["http://hub.test" + ADDRESS]


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_is_not_there_is_named(free_port: int, monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    monkeypatch.setenv(f"{scheme}_proxy", f"http://me:secret@127.0.0.1:{free_port}")
    monkeypatch.setenv("no_proxy", "")
    client = HubClient.from_config(DownloadConfig(endpoint=f"{scheme}://hub.test"), {})
    with pytest.raises(DownloadError) as caught, client.open(FILE, 0):
        pass
    reason = f"Connection refused (by the proxy 127.0.0.1:{free_port})"
    assert caught.value.message == f"{scheme}://hub.test{ADDRESS}: {reason}"


@pytest.mark.parametrize(
    "text", ["owner", "a/b/c", "../b", "a/..", "a/b?c", "a b/c", "/b", "a/", "http://x/y", "a/b#c"]
)
def test_a_repository_leads_nowhere_else(text: str) -> None:
    assert not is_repository(text)


def test_a_repository_is_owner_and_name() -> None:
    assert is_repository("Qwen/Qwen3-0.6B-GGUF")
