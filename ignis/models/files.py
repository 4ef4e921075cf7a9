"""Opens the files of a checkpoint: maps weights, reads small JSON and text, and words the faults found in them.

Refuses what is not a regular file, what is larger than it may be, and JSON that means two things at once (a repeated
name) or nothing (NaN).
"""

import json
import mmap
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from ignis.errors import ModelFileError
from ignis.models.base import MappedFile

MAX_SHOWN_CHARACTERS = 100
MAX_SHOWN_ITEMS = 8


def shown(value: object) -> str:
    """A value out of a file, made fit for a message: one line, printable, not long."""
    if isinstance(value, Mapping):
        text = f"an object of {len(value)} members"
    elif isinstance(value, list) and (len(value) > MAX_SHOWN_ITEMS or any(map(_is_nested, value))):
        text = f"a list of {len(value)} items"
    else:
        text = value if isinstance(value, str) else repr(value)
    if len(text) > MAX_SHOWN_CHARACTERS:
        text = text[:MAX_SHOWN_CHARACTERS] + "..."
    return text if text.isprintable() else "".join(letter if letter.isprintable() else "?" for letter in text)


def refusal(path: Path, fault: str) -> ModelFileError:
    """The error for a fault of that file. It names the file without its folder: messages may reach clients."""
    return ModelFileError(f"{shown(path.name or str(path))}: {fault}")


def map_file(path: Path) -> MappedFile:
    """Maps a file read-only; the caller closes it.

    Raises:
        ModelFileError: it is missing, empty, unreadable or not a regular file.
    """
    descriptor, size_bytes = _open_regular(path)
    if size_bytes == 0:
        os.close(descriptor)
        raise refusal(path, "is empty")
    try:
        return MappedFile(path, mmap.mmap(descriptor, size_bytes, access=mmap.ACCESS_READ), size_bytes, descriptor)
    except (OSError, ValueError) as error:
        os.close(descriptor)
        raise refusal(path, f"cannot be mapped: {_reason(error)}") from error


def read_at(file: MappedFile, start: int, size_bytes: int) -> bytes:
    """Reads a part of an open file, which its header says is there. Not through the mapping, where a file that is cut
    short meanwhile would end the process by a signal.

    Raises:
        ModelFileError: it is no longer there, or cannot be read.
    """
    data = b""
    try:
        while len(data) < size_bytes:
            piece = os.pread(file.descriptor, size_bytes - len(data), start + len(data))
            if not piece:
                raise refusal(file.path, f"ends at byte {start + len(data)}: it changed while it was read")
            data = data + piece if data else piece
    except OSError as error:
        raise refusal(file.path, f"cannot be read: {_reason(error)}") from error
    return data


def read_bytes(path: Path, limit_bytes: int) -> bytes:
    """Reads a whole small file.

    Raises:
        ModelFileError: it is missing, unreadable, not a regular file, or larger than the limit.
    """
    descriptor, size_bytes = _open_regular(path)
    with os.fdopen(descriptor, "rb") as file:
        if size_bytes > limit_bytes:
            raise refusal(path, f"has {size_bytes} bytes, at most {limit_bytes} are read")
        try:
            data = file.read(limit_bytes + 1)
        except OSError as error:
            raise refusal(path, f"cannot be read: {_reason(error)}") from error
    if len(data) > limit_bytes:
        raise refusal(path, f"grew past {limit_bytes} bytes while it was read")
    return data


def read_text(path: Path, limit_bytes: int) -> str:
    """Reads a small UTF-8 file. Raises ModelFileError as `read_bytes`, and where it is not UTF-8."""
    try:
        return read_bytes(path, limit_bytes).decode()
    except UnicodeDecodeError as error:
        raise refusal(path, f"is not UTF-8 at byte {error.start}") from error


def read_json(path: Path, limit_bytes: int) -> dict[str, object]:
    """Reads a small JSON file that holds one object. Raises ModelFileError as `read_text` and `parse_json`."""
    return parse_json(path, read_text(path, limit_bytes), "")


def parse_json(path: Path, text: str, where: str) -> dict[str, object]:
    """Parses text of the file `path` as one JSON object; `where` is put before the fault.

    Raises:
        ModelFileError: it is not JSON, not an object, nested too deep, repeats a name or holds NaN or Infinity.
    """
    try:
        parsed: object = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except RecursionError as error:
        raise refusal(path, f"{where}is JSON nested too deep") from error
    except ValueError as error:
        raise refusal(path, f"{where}is not valid JSON: {shown(str(error))}") from error
    if not isinstance(parsed, dict):
        raise refusal(path, f"{where}is JSON but not an object")
    return parsed


def _is_nested(value: object) -> bool:
    return isinstance(value, (list, Mapping))


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ValueError(f"the name {shown(name)} is there twice")
            seen.add(name)
    return members


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not a JSON value")


def _open_regular(path: Path) -> tuple[int, int]:
    try:
        # Without O_NONBLOCK, opening a FIFO would wait for a writer for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError as error:
        raise refusal(path, "is missing") from error
    except (OSError, ValueError) as error:
        raise refusal(path, f"cannot be opened: {_reason(error)}") from error
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise refusal(path, "is not a regular file")
    return descriptor, status.st_size


def _reason(error: Exception) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else shown(str(error))
