"""Brings a file that is fetched over a network onto the disk; goes on where an earlier transfer ended.

Of a hub's file: whole and verified, or not at all. `<name>.part` is what has come, and is locked while somebody writes
it. It is hashed as it comes, and what was there before is hashed first. It gets its name only when size and digest are
right; with a wrong digest or too many bytes it is forgotten.
"""

import errno
import hashlib
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import BinaryIO

from ignis.clock import Clock, monotonic_s
from ignis.errors import DownloadError
from ignis.halt import Halt
from ignis.hub import HubClient, HubFile
from ignis.pinned import BLOCK_BYTES, locked, settle, verified
from ignis.web import FinalError, RefusedError, count_in, is_passing, redact, why

ATTEMPTS = 6
"""Without progress; with the waits between them, a mirror may be gone for half a minute."""
_WHOLE_ATTEMPTS = 2
"""That end in the wrong content: a flipped bit on the way is mended by the second."""
_PROGRESS_BYTES = 1 << 20
"""An attempt that brought less was none: else a mirror that sends one byte a connection is asked for ever."""
_MAX_WAIT_S = 60.0
_SLOW_S = 60.0
_SLOW_BYTES = 64 << 10
"""Less than this in that time is a mirror that hangs, though each read brings a byte and so ends in time."""
_RANGE_REFUSED = 416
_PARTIAL = 206
_HINTS = {
    401: "; set download.token, or HF_TOKEN for huggingface.co",
    403: "; the token may not read it, or its terms are to be accepted on the hub first",
    404: "; a mirror is named by --download-endpoint",
}

Moved = Callable[[int, int], None]
"""Called with the bytes of a file that are here, and those that this fetch has brought."""
Wait = Callable[[float], None]
"""Between attempts, in seconds."""


def fetch_file(
    file: HubFile,
    folder: Path,
    client: HubClient,
    moved: Moved,
    halt: Halt,
    wait: Wait | None = None,
    clock: Clock = monotonic_s,
) -> Path:
    """Returns the verified file's path, fetching it if it is not there. Blocks; of two who fetch it, one waits.

    Args:
        wait: halt.wait unless told otherwise.

    Raises:
        DownloadError: it could not be had, or what came was not it; nothing half done is left in use.
        StoppedError: it was stopped.
        ModelFileError: another file has its name.
    """
    path, part = folder / file.name, folder / f"{file.name}.part"
    source = Source(
        redact(client.address(file)),
        lambda start: client.open(file, start),
        file.size_bytes,
        file.size_bytes,
        file.sha256,
        _HINTS,
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(part, halt, lambda here: moved(min(here, file.size_bytes), 0)) as output:
            is_kept = True
            try:
                if verified(file, folder) is None:
                    Transfer(
                        source, output, lambda here, came, _: moved(here, came), halt, wait or halt.wait, clock
                    ).run()
                    output.flush()
                    os.fsync(output.fileno())
                    settle(file, part, path)
                else:
                    moved(file.size_bytes, 0)
                    is_kept = False
            finally:
                if part.exists() and (not is_kept or output.seek(0, os.SEEK_END) == 0):
                    part.unlink(missing_ok=True)
        return path
    except OSError as error:
        hint = "; free some disk space" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        raise DownloadError(f"{file.name} cannot be kept in {folder}: {why(error)}{hint}") from error


def backoff_s(failures: int, failure: DownloadError) -> float:
    """How long to wait after so many failures in turn, the last of which may have asked for a time itself."""
    asked_s = failure.wait_s if isinstance(failure, RefusedError) else 0.0
    return min(max(2.0 ** (failures - 1), asked_s), _MAX_WAIT_S)


def again_in(why: str, seconds: float) -> str:
    return f"{why}; tried again in {seconds:.0f} s"


@dataclass(frozen=True, slots=True)
class Source:
    """Where bytes come from, and what is known of them before they do."""

    place: str
    """As messages have it."""
    open: Callable[[int], HTTPResponse]
    """Asks for them from a byte on. Raises as web.open_address."""
    most_bytes: int
    size_bytes: int | None = None
    """None: as the answer says, if it does."""
    sha256: str | None = None
    """None: whoever takes them looks at what they are."""
    hints: Mapping[int, str] = field(default_factory=dict)
    """What to say of a refusal, by its HTTP status."""


@dataclass(slots=True)
class Transfer:
    """Bytes on their way. Holds that `digest` is that of the first `size` bytes of the part, which has no others."""

    source: Source
    part: BinaryIO
    moved: Callable[[int, int, int | None], None]
    """Called with the bytes that are here, those that this transfer has brought, and those there will be, if known."""
    halt: Halt
    wait: Wait
    clock: Clock = monotonic_s
    size: int = 0
    total: int | None = None
    """What there will be, as far as the source or its last answer has said."""
    came: int = 0
    digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    def run(self) -> None:
        """Brings the whole of it. Raises DownloadError; what is left then is a beginning, as far as one can tell."""
        place, sha256 = self.source.place, self.source.sha256
        for attempt in range(_WHOLE_ATTEMPTS):
            self._read_part()
            self._bring()
            found = self.digest.hexdigest()
            if sha256 in (None, found):
                return
            self._forget()
            failure = FinalError(f"{place}: has SHA-256 {found}, not {sha256}")
            if attempt + 1 < _WHOLE_ATTEMPTS:
                self.wait(1.0)
        raise failure

    def _read_part(self) -> None:
        """Hashes what an earlier transfer left."""
        most_bytes = self.source.most_bytes
        self.total = self.source.size_bytes
        self.part.seek(0)
        self.digest, self.size = hashlib.sha256(), 0
        if self.source.sha256 is None:
            self.size = self.part.seek(0, os.SEEK_END)
        while self.size < most_bytes and (block := self.part.read(BLOCK_BYTES)):
            self.halt.check()
            self.digest.update(block)
            self.size += len(block)
        if self.size > most_bytes or self.part.read(1):
            self._forget()
        self._tell()

    def _bring(self) -> None:
        """Attempts until all bytes are there."""
        failures, failure, is_first = 0, DownloadError(f"{self.source.place}: nothing came"), True
        while self.source.size_bytes is None or self.size < self.source.size_bytes:
            if failures == ATTEMPTS:
                raise failure
            if not is_first:
                seconds = backoff_s(failures, failure)
                self.halt.on_wait(again_in(failure.message, seconds))
                self.wait(seconds)
            is_first = False
            before = self.size
            try:
                self._attempt()
                return
            except DownloadError as error:
                if isinstance(error, RefusedError) and error.http_status == _RANGE_REFUSED and self.size:
                    # What is there is no beginning of what is offered now.
                    self._forget()
                elif isinstance(error, RefusedError) and not is_passing(error):
                    hint = self.source.hints.get(error.http_status, "")
                    raise RefusedError(f"{error.message}{hint}", error.http_status) from error
                elif not is_passing(error):
                    raise
                failure = error
            failures = 1 if self.size - before >= _PROGRESS_BYTES else failures + 1

    def _attempt(self) -> None:
        """Asks once, and takes what comes. Raises DownloadError when that is not all that is missing."""
        place = self.source.place
        with self.source.open(self.size) as response:
            self._check_length(response)
            if self.size and not self._goes_on(response):
                self._forget()
            self._check_start(response)
            looked_s, looked_at = self.clock(), self.size
            for block in self._blocks(response):
                self.halt.check()
                most_bytes = self.source.most_bytes if self.total is None else self.total
                if self.size + len(block) > most_bytes:
                    self._forget()
                    raise FinalError(f"{place}: has more than {most_bytes} bytes")
                self.part.write(block)
                if self.source.sha256 is not None:
                    self.digest.update(block)
                self.size += len(block)
                self.came += len(block)
                self._tell()
                now_s = self.clock()
                if now_s - looked_s > _SLOW_S:
                    if self.size - looked_at < _SLOW_BYTES:
                        raise DownloadError(f"{place}: fell asleep after {self.size} bytes")
                    looked_s, looked_at = now_s, self.size
        # Without a length a connection that a stop has ended looks like the end of what was to come.
        self.halt.check()
        if self.total is not None and self.size < self.total:
            raise DownloadError(f"{place}: ended after {self.size} of {self.total} bytes")
        self.part.flush()

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
        said, wanted = count_in(total), self.source.size_bytes
        if wanted is None:
            self.total = said
            if said is not None and said > self.source.most_bytes:
                raise FinalError(f"{self.source.place}: has {said} bytes, more than {self.source.most_bytes}")
        elif said is not None and said != wanted:
            raise FinalError(f"{self.source.place}: has {said} bytes, not {wanted}")

    def _check_start(self, response: HTTPResponse) -> None:
        """Raises DownloadError where a range comes that is not the one that is missing."""
        span = response.headers.get("Content-Range", "")
        if response.status == _PARTIAL and not span.startswith(f"bytes {self.size}-"):
            raise DownloadError(f"{self.source.place}: answered with bytes that were not asked for")

    def _blocks(self, response: HTTPResponse) -> Iterator[bytes]:
        """Yields the content as it comes, unpacked where it was packed for the way. Raises DownloadError."""
        place = self.source.place
        encoding = response.headers.get("Content-Encoding", "identity").lower()
        if encoding not in ("identity", "gzip", "x-gzip"):
            raise FinalError(f"{place}: comes with the content encoding {encoding!r}, which was not asked for")
        # 16: with the head of gzip.
        unpack = None if encoding == "identity" else zlib.decompressobj(16 + zlib.MAX_WBITS)
        try:
            # read1 gives what is there: a slow mirror is seen to move, and a stop is heeded.
            while block := response.read1(BLOCK_BYTES):
                if unpack is None:
                    yield block
                    continue
                yield unpack.decompress(block, BLOCK_BYTES)
                # Past its end zlib neither takes nor drops the rest.
                while unpack.unconsumed_tail and not unpack.eof:
                    yield unpack.decompress(unpack.unconsumed_tail, BLOCK_BYTES)
                if unpack.eof:
                    # What follows is kept by zlib, however much it is.
                    return
        except (OSError, HTTPException, zlib.error) as error:
            raise DownloadError(f"{place}: broke off after {self.size} bytes: {error}") from error
        if unpack is not None:
            raise DownloadError(f"{place}: ended in the middle of its packing, after {self.size} bytes")

    def _forget(self) -> None:
        self.part.truncate(0)
        self.part.seek(0)
        self.digest, self.size = hashlib.sha256(), 0
        self._tell()

    def _tell(self) -> None:
        self.moved(self.size, self.came, self.total)
