"""A file by its content, in a folder: whole and verified, or not there. Fetches nothing.

Its name is only ever that of the verified file. Beside it may lie `<name>.part`, as far as it has come, and
`<name>.verified`, which says when and as what the file was last found to be right.
"""

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ignis.errors import ModelFileError

BLOCK_BYTES = 1 << 20

Progress = Callable[[int, int], None]
"""Called with the bytes that have come and the bytes there will be (0: not known)."""


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """A file by its name and content."""

    name: str
    size_bytes: int
    sha256: str


def verified(wanted: PinnedFile, folder: Path) -> Path | None:
    """Returns the file's path if it is in the folder, None if it is not there.

    Hashes it once; after that a stamp of size, time and inode says that it is still the same.

    Raises:
        ModelFileError: another file has its name, or it cannot be read.
    """
    path = folder / wanted.name
    try:
        facts = _facts(wanted, path)
        stamp = path.with_name(f"{wanted.name}.verified")
        with contextlib.suppress(OSError, ValueError):
            if json.loads(stamp.read_text()) == facts:
                return path
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while block := file.read(BLOCK_BYTES):
                digest.update(block)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error}") from error
    if facts["size_bytes"] != wanted.size_bytes or digest.hexdigest() != wanted.sha256:
        raise ModelFileError(
            f"{path} is not the catalog's file: it has {facts['size_bytes']} bytes and SHA-256 {digest.hexdigest()},"
            f" not {wanted.size_bytes} bytes and {wanted.sha256}; move it away, and the right one is fetched"
        )
    _write_stamp(stamp, facts)
    return path


def settle(wanted: PinnedFile, part: Path, path: Path) -> None:
    """Gives a file that was found to be right its name, for good: a power cut does not undo it."""
    part.replace(path)
    _sync_folder(path.parent)
    _write_stamp(path.with_name(f"{wanted.name}.verified"), _facts(wanted, path))


def remove(wanted: PinnedFile, folder: Path) -> list[Path]:
    """Removes the file where it is of the wanted size, and what a download left beside it; returns what is gone.

    Raises:
        ModelFileError: it cannot be removed.
    """
    path = folder / wanted.name
    gone = []
    try:
        is_ours = path.exists() and path.stat().st_size == wanted.size_bytes
        ends = (".part", ".wheel.part", ".verified") + (("",) if is_ours else ())
        for file in (folder / f"{wanted.name}{end}" for end in ends):
            if file.exists():
                file.unlink()
                gone.append(file)
    except OSError as error:
        raise ModelFileError(f"{path} cannot be removed: {error}") from error
    return gone


@contextlib.contextmanager
def locked(path: Path) -> Iterator[BinaryIO]:
    """Opens a file for reading and writing that no other process has open this way; waits for one that has."""
    while True:
        with path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            # Whoever held it may have removed it meanwhile; a lock on a nameless file keeps nobody out.
            try:
                is_same = path.stat().st_ino == os.fstat(file.fileno()).st_ino
            except FileNotFoundError:
                is_same = False
            if is_same:
                yield file
                return


def _facts(wanted: PinnedFile, path: Path) -> dict[str, object]:
    status = path.stat()
    return {
        "sha256": wanted.sha256,
        "size_bytes": status.st_size,
        "mtime_ns": status.st_mtime_ns,
        "inode": status.st_ino,
        "device": status.st_dev,
    }


def _write_stamp(stamp: Path, facts: dict[str, object]) -> None:
    """Remembers that the file was right. A folder that cannot be written costs a hash at each start, no more."""
    with contextlib.suppress(OSError):
        part = stamp.with_name(f"{stamp.name}.{os.getpid()}.part")
        part.write_text(json.dumps(facts))
        part.replace(stamp)


def _sync_folder(folder: Path) -> None:
    """Makes a rename outlast a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
