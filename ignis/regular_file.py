"""Files where somebody else may have put what is none: reads regular ones, up to a limit, and clears their places."""

import contextlib
import os
import stat
from pathlib import Path

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def read_regular(file: Path, limit_bytes: int) -> bytes:
    """Returns what the file holds. Blocks for no longer than its disk.

    Raises:
        OSError: it cannot be opened or read.
        ValueError: it is no regular file, or larger than the limit.
    """
    # Without O_NONBLOCK, opening a FIFO would wait for a writer for ever.
    with open(os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as opened:
        status = os.fstat(opened.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is no regular file")
        content = opened.read(limit_bytes + 1)
    if len(content) > limit_bytes:
        raise ValueError(f"it has {max(status.st_size, len(content))} bytes, at most {limit_bytes} are read")
    return content


def kind_of(mode: int) -> str | None:
    """What a file is, by its st_mode, as a person says it; None where it is a regular one."""
    return None if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "no regular file")


def clear_odd(file: Path) -> None:
    """Removes what has the file's name and is none: whoever opened a FIFO to write would wait for a reader for ever,
    and whoever opened a link would write into another file.

    Raises:
        OSError: it cannot be removed, as a folder.
    """
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(file.lstat().st_mode):
            file.unlink()
