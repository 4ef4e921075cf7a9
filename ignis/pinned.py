"""A file by its content, in a folder: whole and verified, or not there. Fetches nothing.

Its name is only ever that of the verified file. Beside it may lie `<name>.part`, as far as it has come, and
`<name>.verified`, which says when and as what the file was last found to be right.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ignis.errors import ModelFileError
from ignis.halt import Halt
from ignis.regular_file import clear_odd, kind_of, read_regular

BLOCK_BYTES = 1 << 20
_LOCK_LOOK_S = 0.1
_STAMP_BYTES = 4096
_PARTS = (".part", ".wheel.part")
"""Of what is on its way."""

Progress = Callable[[int, int, int], None]
"""Called with the bytes of a model's files that are here, that there will be, and that this fetch has brought."""


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """A file by its name and content."""

    name: str
    size_bytes: int
    sha256: str


def verified(wanted: PinnedFile, folder: Path) -> Path | None:
    """Returns the file's path if it is in the folder, None if it is not there.

    Hashes it once, however many ask for it at a time; after that a stamp of size, time and inode says that it is still
    the same, right or wrong.

    Raises:
        ModelFileError: another file has its name, or it cannot be read.
    """
    path = folder / wanted.name
    try:
        status = path.stat()
        other = differs(wanted, status)
        if other is not None:
            # Not hashed: whoever has a model of their own under this name pays for it at every look.
            raise ModelFileError(
                f"{path} is not the catalog's file: it {other}; move it away, and the right one is fetched"
            )
        stamp = _Stamp.of(path, status)
        found = stamp.read()
        if found is None:
            with _HASHING.setdefault(path.absolute(), threading.Lock()):
                # Whoever had the lock before may have written it.
                found = stamp.read()
                if found is None:
                    found = _hash(path)
                    stamp.write(found)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror or error}") from error
    if found != wanted.sha256:
        raise ModelFileError(
            f"{path} is not the catalog's file: it has SHA-256 {found}, not {wanted.sha256};"
            f" move it away, and the right one is fetched"
        )
    return path


def differs(wanted: PinnedFile, status: os.stat_result) -> str | None:
    """What a file is that has the name and cannot be it, as far as its kind and size say; None where it may be."""
    kind = kind_of(status.st_mode)
    if kind is not None:
        return f"is {kind}"
    return None if status.st_size == wanted.size_bytes else f"has {status.st_size} bytes, not {wanted.size_bytes}"


def known_to_differ(wanted: PinnedFile, folder: Path) -> str | None:
    """As `differs`, and by the digest where the file was hashed as it is now. Hashes nothing.

    Raises:
        OSError: it is not there, or may not be looked at.
    """
    path = folder / wanted.name
    status = path.stat()
    other = differs(wanted, status)
    found = _Stamp.of(path, status).read() if other is None else None
    return other if found in (None, wanted.sha256) else f"has SHA-256 {found}, not {wanted.sha256}"


def was_right(wanted: PinnedFile, folder: Path) -> bool:
    """Whether it is there, and was hashed as it is now, and right. Hashes nothing."""
    path = folder / wanted.name
    try:
        status = path.stat()
    except OSError:
        return False
    return differs(wanted, status) is None and _Stamp.of(path, status).read() == wanted.sha256


def forget(wanted: PinnedFile, folder: Path) -> None:
    """Has the file hashed anew when somebody next asks for it."""
    stamp = folder / f"{wanted.name}.verified"
    _REMEMBERED.pop(stamp.absolute(), None)
    try:
        stamp.unlink(missing_ok=True)
    except OSError:
        # Where it cannot be removed it counts for nothing from now on.
        _FORGOTTEN.add(stamp.absolute())


def settle(wanted: PinnedFile, part: Path, path: Path) -> None:
    """Gives a file that was found to be right its name, for good: a power cut does not undo it."""
    part.replace(path)
    _sync_folder(path.parent)
    _Stamp.of(path, path.stat()).write(wanted.sha256)


def tidy(wanted: PinnedFile, folder: Path) -> None:
    """Removes what a killed fetch has left beside the whole file, such as its wheel, which is as large. Leaves what
    somebody else is at, or may not be removed."""
    for part in (folder / f"{wanted.name}{end}" for end in _PARTS):
        with contextlib.suppress(OSError):
            if kind_of(part.lstat().st_mode) is None:
                with part.open("rb") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    part.unlink()


def check_idle(wanted: PinnedFile, folder: Path) -> None:
    """Raises ModelFileError while somebody fetches the file: what came would have no name at the end."""
    for part in (folder / f"{wanted.name}{end}" for end in _PARTS):
        is_held = False
        with contextlib.suppress(OSError):
            if kind_of(part.lstat().st_mode) is None:
                with part.open("rb") as file:
                    try:
                        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    except BlockingIOError:
                        is_held = True
        if is_held:
            raise ModelFileError(f"{wanted.name} is being fetched: its download has to be stopped first")


def remove(wanted: PinnedFile, folder: Path) -> list[Path]:
    """Removes the file where it is of the wanted size, and what a download left beside it; returns what is gone.

    Raises:
        ModelFileError: it cannot be removed.
    """
    path = folder / wanted.name
    gone = []
    try:
        is_ours = path.exists() and differs(wanted, path.stat()) is None
        ends = (*_PARTS, ".verified", ".verified.part") + (("",) if is_ours else ())
        for file in (folder / f"{wanted.name}{end}" for end in ends):
            if file.exists():
                file.unlink()
                gone.append(file)
    except OSError as error:
        raise ModelFileError(f"{path} cannot be removed: {error.strerror or error}") from error
    return gone


@contextlib.contextmanager
def locked(path: Path, halt: Halt, look: Callable[[int], None] = lambda _size_bytes: None) -> Iterator[BinaryIO]:
    """Opens a file for reading and writing that nobody else has open this way; waits for one who has.

    Args:
        look: called now and then meanwhile, with the bytes that the other has brought.

    Raises:
        StoppedError: it was stopped meanwhile.
    """
    has_said = False
    while True:
        clear_odd(path)
        with path.open("a+b") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                # Not a wait in the system: no stop would end that, and its thread would be held for as long.
                if not has_said:
                    halt.on_wait(f"{path.name} is being written by somebody else, who is waited for")
                has_said = True
                look(os.fstat(file.fileno()).st_size)
                halt.wait(_LOCK_LOOK_S)
                continue
            # Whoever held it may have removed it meanwhile; a lock on a nameless file keeps nobody out.
            try:
                is_same = path.stat().st_ino == os.fstat(file.fileno()).st_ino
            except FileNotFoundError:
                is_same = False
            if is_same:
                yield file
                return


@dataclass(frozen=True, slots=True)
class _Stamp:
    """What a file was when it was hashed. Where it says the same now, its digest is known."""

    place: Path
    facts: Mapping[str, int]

    @classmethod
    def of(cls, path: Path, status: os.stat_result) -> "_Stamp":
        facts = {
            "size_bytes": status.st_size,
            "mtime_ns": status.st_mtime_ns,
            "inode": status.st_ino,
            "device": status.st_dev,
        }
        return cls(path.with_name(f"{path.name}.verified"), facts)

    def read(self) -> str | None:
        """The digest; None where the file was never hashed as it is now."""
        try:
            written = json.loads(read_regular(self.place, _STAMP_BYTES))
        except (OSError, ValueError):
            written = None
        if self.place.absolute() in _FORGOTTEN:
            written = None
        # An older one that cannot be written over says nothing.
        for stamp in (written, _REMEMBERED.get(self.place.absolute())):
            if isinstance(stamp, dict) and {name: stamp.get(name) for name in self.facts} == self.facts:
                return str(stamp.get("sha256"))
        return None

    def write(self, sha256: str) -> None:
        """In a folder that cannot be written it is remembered for as long as this process lives."""
        written: dict[str, str | int] = {"sha256": sha256, **self.facts}
        try:
            # One name for all who write at once: they write the same, and half of it is no stamp.
            part = self.place.with_name(f"{self.place.name}.part")
            clear_odd(part)
            part.write_text(json.dumps(written))
            part.replace(self.place)
            _FORGOTTEN.discard(self.place.absolute())
        except OSError:
            _REMEMBERED[self.place.absolute()] = written


_HASHING: dict[Path, threading.Lock] = {}
"""By file: the disk is read once, not for each who waits for it."""
_FORGOTTEN: set[Path] = set()
"""Stamps that lie there and are not to be believed."""
_REMEMBERED: dict[Path, dict[str, str | int]] = {}
"""Stamps that could not be written, by where they should lie."""


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync_folder(folder: Path) -> None:
    """Makes a rename outlast a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
