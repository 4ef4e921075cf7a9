"""Brings one file of a hub into a folder: whole and verified, or not at all; goes on where an earlier transfer ended.

`<name>.part` is what has come, and is locked while somebody writes it. It is hashed as it comes, and what was there
before is hashed first. It gets its name only when size and digest are right; with a wrong digest or too many bytes it
is forgotten.
"""

import errno
import hashlib
import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import BinaryIO

from ignis.clock import Clock, monotonic_s
from ignis.errors import DownloadError
from ignis.halt import Halt, StoppedError
from ignis.hub import HubClient, HubFile
from ignis.pinned import BLOCK_BYTES, locked, settle, verified
from ignis.web import RefusedError, UnfitAddressError, count_in, redact

_ATTEMPTS = 6
"""Without progress; with the waits between them, a mirror may be gone for half a minute."""
_WHOLE_ATTEMPTS = 2
"""That end in the wrong content: a flipped bit on the way is mended by the second."""
_PROGRESS_BYTES = 1 << 20
"""An attempt that brought less was none: else a mirror that sends one byte a connection is asked for ever."""
_MAX_WAIT_S = 60.0
_SLOW_S = 60.0
_SLOW_BYTES = 64 << 10
"""Less than this in that time is a mirror that hangs, though each read brings a byte and so ends in time."""
_RETRIED = frozenset({408, 425, 429})
_RANGE_REFUSED = 416
_PARTIAL = 206

Came = Callable[[int], None]
"""Called with the bytes that have come since the last call; negative where some were forgotten."""


class _ForeignError(DownloadError):
    """What came is another file."""


def fetch_file(
    file: HubFile,
    folder: Path,
    client: HubClient,
    came: Came,
    halt: Halt,
    wait: Callable[[float], None] | None = None,
    clock: Clock = monotonic_s,
) -> Path:
    """Returns the verified file's path, fetching it if it is not there. Blocks; of two who fetch it, one waits.

    Args:
        wait: between attempts, in seconds; halt.wait unless told otherwise.

    Raises:
        DownloadError: it could not be had, or what came was not it; nothing half done is left in use.
        StoppedError: it was stopped.
        ModelFileError: another file has its name.
    """
    path, part = folder / file.name, folder / f"{file.name}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(part, halt) as output:
            is_kept = True
            try:
                if verified(file, folder) is None:
                    _Transfer(file, output, client, came, halt, wait or halt.wait, clock).run()
                    output.flush()
                    os.fsync(output.fileno())
                    settle(file, part, path)
                else:
                    came(file.size_bytes)
                    is_kept = False
            finally:
                if part.exists() and (not is_kept or output.seek(0, os.SEEK_END) == 0):
                    part.unlink(missing_ok=True)
        return path
    except OSError as error:
        hint = "; free some disk space" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        raise DownloadError(f"{file.name} cannot be kept in {folder}: {error}{hint}") from error


@dataclass(slots=True)
class _Transfer:
    """One file on its way. Holds that `digest` is that of the first `size` bytes of the part, which has no others."""

    file: HubFile
    part: BinaryIO
    client: HubClient
    came: Came
    halt: Halt
    wait: Callable[[float], None]
    clock: Clock
    size: int = 0
    digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    @property
    def place(self) -> str:
        return redact(self.client.address(self.file))

    def run(self) -> None:
        """Brings the whole of it. Raises DownloadError; what is left then is a beginning, as far as one can tell."""
        for attempt in range(_WHOLE_ATTEMPTS):
            self._read_part()
            self._bring()
            found = self.digest.hexdigest()
            if found == self.file.sha256:
                return
            self._forget()
            failure = _ForeignError(f"{self.place}: has SHA-256 {found}, not {self.file.sha256}")
            if attempt + 1 < _WHOLE_ATTEMPTS:
                self.wait(1.0)
        raise failure

    def _read_part(self) -> None:
        """Hashes what an earlier transfer left."""
        self.part.seek(0)
        self.digest, self.size = hashlib.sha256(), 0
        while self.size < self.file.size_bytes and (block := self.part.read(BLOCK_BYTES)):
            self.halt.check()
            self.digest.update(block)
            self.size += len(block)
        if self.size > self.file.size_bytes or self.part.read(1):
            self.size = 0
            self._forget()
        self.came(self.size)

    def _bring(self) -> None:
        """Attempts until all bytes are there."""
        failures, failure, is_first = 0, DownloadError(f"{self.place}: nothing came"), True
        while self.size < self.file.size_bytes:
            if failures == _ATTEMPTS:
                raise failure
            if not is_first:
                asked_s = failure.wait_s if isinstance(failure, RefusedError) else 0.0
                self.wait(min(max(2.0 ** (failures - 1), asked_s), _MAX_WAIT_S))
            is_first = False
            before = self.size
            try:
                self._attempt()
                return
            except (StoppedError, UnfitAddressError, _ForeignError):
                raise
            except RefusedError as error:
                if error.http_status == _RANGE_REFUSED and self.size:
                    # What is there is no beginning of what is offered now.
                    self._forget()
                elif error.http_status < 500 and error.http_status not in _RETRIED:
                    raise _explained(error) from error
                failure = error
            except DownloadError as error:
                failure = error
            failures = 1 if self.size - before >= _PROGRESS_BYTES else failures + 1

    def _attempt(self) -> None:
        """Asks once, and takes what comes. Raises DownloadError when that is not all that is missing."""
        with self.client.open(self.file, self.size) as response:
            self._check_length(response)
            if self.size and not self._goes_on(response):
                self._forget()
            self._check_start(response)
            looked_s, looked_at = self.clock(), self.size
            for block in self._blocks(response):
                self.halt.check()
                if self.size + len(block) > self.file.size_bytes:
                    self._forget()
                    raise _ForeignError(f"{self.place}: has more than {self.file.size_bytes} bytes")
                self.part.write(block)
                self.digest.update(block)
                self.size += len(block)
                self.came(len(block))
                now_s = self.clock()
                if now_s - looked_s > _SLOW_S:
                    if self.size - looked_at < _SLOW_BYTES:
                        raise DownloadError(f"{self.place}: fell asleep after {self.size} bytes")
                    looked_s, looked_at = now_s, self.size
        if self.size < self.file.size_bytes:
            raise DownloadError(f"{self.place}: ended after {self.size} of {self.file.size_bytes} bytes")

    def _goes_on(self, response: HTTPResponse) -> bool:
        """Tells whether what comes begins where the part ends; else it is the whole, or nothing that fits."""
        span = response.headers.get("Content-Range", "")
        is_plain = response.headers.get("Content-Encoding", "identity").lower() == "identity"
        return response.status == _PARTIAL and is_plain and span.startswith(f"bytes {self.size}-")

    def _check_length(self, response: HTTPResponse) -> None:
        """Refuses what says by itself that it is another file, before any of it is taken."""
        is_plain = response.headers.get("Content-Encoding", "identity").lower() == "identity"
        if response.status == _PARTIAL:
            total = response.headers.get("Content-Range", "").rpartition("/")[2]
        else:
            total = response.headers.get("Content-Length", "") if is_plain else ""
        said = count_in(total)
        if said is not None and said != self.file.size_bytes:
            raise _ForeignError(f"{self.place}: has {said} bytes, not {self.file.size_bytes}")

    def _check_start(self, response: HTTPResponse) -> None:
        """Raises DownloadError where a range comes that is not the one that is missing."""
        span = response.headers.get("Content-Range", "")
        if response.status == _PARTIAL and not span.startswith(f"bytes {self.size}-"):
            raise DownloadError(f"{self.place}: answered with bytes that were not asked for")

    def _blocks(self, response: HTTPResponse) -> Iterator[bytes]:
        """Yields the content as it comes, unpacked where it was packed for the way. Raises DownloadError."""
        encoding = response.headers.get("Content-Encoding", "identity").lower()
        if encoding not in ("identity", "gzip", "x-gzip"):
            raise _ForeignError(f"{self.place}: comes with the content encoding {encoding!r}, which was not asked for")
        # 16: with the head of gzip.
        unpack = None if encoding == "identity" else zlib.decompressobj(16 + zlib.MAX_WBITS)
        try:
            # read1 gives what is there: a slow mirror is seen to move, and a stop is heeded.
            while block := response.read1(BLOCK_BYTES):
                if unpack is None:
                    yield block
                    continue
                yield unpack.decompress(block, BLOCK_BYTES)
                while unpack.unconsumed_tail:
                    yield unpack.decompress(unpack.unconsumed_tail, BLOCK_BYTES)
                if unpack.eof:
                    # What follows is kept by zlib, however much it is.
                    return
        except (OSError, HTTPException, zlib.error) as error:
            raise DownloadError(f"{self.place}: broke off after {self.size} bytes: {error}") from error

    def _forget(self) -> None:
        self.part.truncate(0)
        self.part.seek(0)
        self.came(-self.size)
        self.digest, self.size = hashlib.sha256(), 0


def _explained(error: RefusedError) -> DownloadError:
    hints = {
        401: "; set download.token, or HF_TOKEN for huggingface.co",
        403: "; the token may not read it, or its terms are to be accepted on the hub first",
        404: "; a mirror is named by --download-endpoint",
    }
    return RefusedError(f"{error.message}{hints.get(error.http_status, '')}", error.http_status)
