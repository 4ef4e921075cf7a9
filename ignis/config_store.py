"""Changes a configuration file and leaves the rest of it as it is: comments, order, spelling. Whole or not at all.

The new text goes into a file beside it, reaches the disk, and takes the old one's name: whoever opens the file at any
moment, a crash included, finds the old text or the new one.
"""

import contextlib
import errno
import fcntl
import json
import os
import re
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.items import InlineTable, Table

from ignis.config_file import content_of, read_text
from ignis.config_slots import SLOTS, Slot
from ignis.errors import ConfigError

_SUFFIX = ".new"
_OWN_MODE = 0o600
"""Of a new file: it may come to hold a token."""
_INDENT = re.compile(r"^([ \t]+)\S", re.MULTILINE)
_BARE_END = re.compile(r"(?<!\r)\n")
_HEAD = r"^[ \t]*\[[ \t]*{}[ \t]*\][ \t]*(?:\r?\n(?![ \t]*#)(?:[ \t]*\r?\n)*|\Z)"
"""Of a table by its name, on a line of its own, with the empty lines that follow; none that a comment follows at once,
for that may be a field of it."""
_HEAD_LINE = r"^[ \t]*\[[ \t]*{}[ \t]*\][ \t]*(?:#.*)?\n"
_LAST_LINES = re.compile(r"(?:(\r?\n)|\A)(?:[ \t]*\r?\n)+\Z")
"""Empty ones at the end, and the end of the line before."""
_NEXT_HEAD = re.compile(r"^[ \t]*\[", re.MULTILINE)
_LEAD = re.compile(r"(?<=\n)(?:[ \t]*\r?\n)*(?:[ \t]*#.*\n)*[ \t]*\Z")
"""What stands right before a head: the comment that belongs to it, and the empty lines that part it from the rest."""
_LONE_HALF = re.compile("[\ud800-\udfff]")
_FAMILY_DEPTH = 2
_LOOK_S, _NUM_LOOKS = 0.02, 250
"""At a file that another process changes, which takes it a moment."""


class ConfigStore:
    """One file. Everything here blocks."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def clean(self) -> None:
        """Removes what a write left behind that was broken off."""
        with contextlib.suppress(OSError), self.alone():
            self._beside().unlink(missing_ok=True)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Has no other process change the file between its reading and its writing, as long as that asks too: what it
        wrote meanwhile would be lost. A file system without locks has none of it.

        Raises:
            OSError: the folder is not there, or another process does not come to an end.
        """
        # The file itself is another one after each change.
        folder = os.open(self._beside().parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _lock(folder)
            yield
        finally:
            os.close(folder)

    def merged(self, values: Mapping[str, Any]) -> str:
        """Returns the file's text with these values, by the slot's key; None takes one out.

        Raises:
            ConfigError: the file cannot be read, or has a form that cannot be changed in place.
        """
        text = read_text(self.file)
        content_of(text, self.file)
        if self.file.suffix == ".json":
            return _with_ends_of(text, merge_json(text, values))
        merged = _with_ends_of(text, merge_toml(text, values))
        expected = tomllib.loads(text)
        _set(expected, values)
        # TOML has many ways to write a table, and a value under the wrong head would be another field.
        if _without_empty(tomllib.loads(merged)) != _without_empty(expected):
            raise ConfigError(f"{self.file} is written in a form that cannot be changed in place")
        return merged

    def write(self, text: str) -> None:
        """Replaces the file's text.

        Raises:
            OSError: it cannot be written, and is as it was.
        """
        # What a symbolic link leads to is replaced, not the link.
        file = Path(os.path.realpath(self.file))
        if file.exists() and not file.is_file():
            # Taking its name would be the end of a device or a pipe, for the whole machine.
            raise OSError(errno.EINVAL, "it is no regular file")
        beside = self._beside()
        with contextlib.suppress(FileNotFoundError):
            beside.unlink()
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _OWN_MODE)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as written:
                with contextlib.suppress(FileNotFoundError):
                    old = file.stat()
                    os.fchmod(written.fileno(), old.st_mode & 0o7777)
                    # Only root may give a file away; for anybody else it stays their own, as an editor leaves it.
                    with contextlib.suppress(PermissionError):
                        os.fchown(written.fileno(), old.st_uid, old.st_gid)
                written.write(text)
                written.flush()
                os.fsync(written.fileno())
            os.replace(beside, file)
        except BaseException:
            with contextlib.suppress(OSError):
                beside.unlink(missing_ok=True)
            raise
        _sync_folder(file.parent)

    def _beside(self) -> Path:
        file = Path(os.path.realpath(self.file))
        return file.with_name(f".{file.name}{_SUFFIX}")


def merge_toml(text: str, values: Mapping[str, Any]) -> str:
    """Returns the text with these values. A group whose last value is taken out goes with it; comments stay."""
    for key, value in values.items():
        if value is not None:
            text = _placed(text, key, value)
    document = tomlkit.parse(text)
    for key, value in values.items():
        *path, name = _path(SLOTS[key])
        table: Any = document
        is_flat = False
        for part in path:
            if part not in table:
                if value is None:
                    break
                table[part] = tomlkit.inline_table() if is_flat else _new_table(document, part)
            is_flat = is_flat or _is_flat(table, part)
            table = table[part]
        else:
            if value is None:
                table.pop(name, None)
                _drop_empty(document, path, InlineTable)
            elif isinstance(value, dict) and (name not in table or is_flat or _is_flat(table, name)):
                table[name] = _inline(value)
            else:
                table[name] = value
    merged = tomlkit.dumps(document)
    for key, value in values.items():
        path = _path(SLOTS[key])[:-1]
        for depth in range(len(path), 0, -1) if value is None else ():
            merged = _without_head(merged, path[:depth])
    return merged


def _placed(text: str, key: str, value: Any) -> str:
    """Returns the text with a value that its table lacks: below the line that has it as a comment, as a generated file
    has one for each field, else before the comment of the next head. The text as it is, where that is not to be had:
    tomlkit adds to the end of a table, which is below that comment."""
    *path, name = _path(SLOTS[key])
    written = _inline(value) if isinstance(value, dict) else tomlkit.item(value)
    line = f"{name} = {written.as_string()}\n"
    body = _body_of(text, path)
    if body is None and len(path) == _FAMILY_DEPTH:
        body, line = _body_of(text, path[:1]), f"\n[{'.'.join(path)}]\n{line}"
    if body is None:
        return text
    start, stop = body
    own = re.compile(rf"^[ \t]*#[ \t]*{re.escape(name)}[ \t]*=.*\n", re.MULTILINE).search(text, start, stop)
    lead = _LEAD.search(text, start, stop) if stop < len(text) else None
    if line.startswith(name) and own is not None:
        place = own.end()
    elif lead is not None:
        place = lead.start()
    else:
        return text
    placed = text[:place] + line + text[place:]
    expected = tomllib.loads(text)
    _set(expected, {key: value})
    try:
        # What looks like a head or a comment may be text, and the value may be there in another spelling.
        return placed if tomllib.loads(placed) == expected else text
    except tomllib.TOMLDecodeError:
        return text


def _body_of(text: str, path: Sequence[str]) -> tuple[int, int] | None:
    """Where what stands below a table's head begins and ends; None where the table has none."""
    head = re.search(_HEAD_LINE.format(_spelled(path)), text, re.MULTILINE)
    if head is None:
        return None
    following = _NEXT_HEAD.search(text, head.end())
    return head.end(), len(text) if following is None else following.start()


def _spelled(path: Sequence[str]) -> str:
    """A pattern of a table's name."""
    return r"[ \t]*\.[ \t]*".join(map(re.escape, path))


def _inline(value: Mapping[str, Any]) -> InlineTable:
    # Parsed, for the table looks through all that it holds at each value that is added.
    entries = (f"{tomlkit.key(name).as_string()} = {tomlkit.item(entry).as_string()}" for name, entry in value.items())
    parsed = tomlkit.parse(f"value = {{{', '.join(entries)}}}\n")["value"]
    assert isinstance(parsed, InlineTable)
    return parsed


def merge_json(text: str, values: Mapping[str, Any]) -> str:
    """Returns the text with these values; its indentation is kept."""
    document = json.loads(text)
    _set(document, values)
    return as_json(document, text)


def as_json(document: Any, text: str) -> str:
    """Writes a document, indented as that text is."""
    found = _INDENT.search(text)
    written = json.dumps(document, indent=found[1] if found else 2, ensure_ascii=False) + "\n"
    # Half of a character, which UTF-8 has not, stays the escape that it must have been.
    return _LONE_HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", written)


def _with_ends_of(text: str, merged: str) -> str:
    """What was added has the ends of lines of the rest."""
    is_crlf = "\r\n" in text and text.count("\r\n") == text.count("\n")
    return _BARE_END.sub("\r\n", merged) if is_crlf else merged


def _set(document: dict[str, Any], values: Mapping[str, Any]) -> None:
    for key, value in values.items():
        *path, name = _path(SLOTS[key])
        entries = document
        for part in path:
            if part not in entries:
                if value is None:
                    break
                entries[part] = {}
            entries = entries[part]
        else:
            if value is None:
                entries.pop(name, None)
                _drop_empty(document, path, dict)
            else:
                entries[name] = value


def _drop_empty(document: Any, path: Sequence[str], kind: type) -> None:
    """Takes what nothing is in any more out of a document, from the end of a path on, while it is of that kind."""
    for depth in range(len(path) - 1, -1, -1):
        entries = document
        for part in path[:depth]:
            entries = entries[part]
        if not isinstance(entries[path[depth]], kind) or len(entries[path[depth]]):
            return
        entries.pop(path[depth])


def _without_head(text: str, path: Sequence[str]) -> str:
    """Returns the text without the head of a table that holds nothing, else as it is. A comment beside the head or
    right below it keeps it, one that an empty line parts from it stays."""
    head = _HEAD.format(_spelled(path))
    shorter = re.sub(head, "", text, count=1, flags=re.MULTILINE)
    if shorter == text:
        return text
    shorter = _LAST_LINES.sub(r"\1", shorter)
    try:
        # The values of a table that was not empty would be another one's now; and what looks like a head may be text.
        is_same = _without_empty(tomllib.loads(shorter)) == _without_empty(tomllib.loads(text))
    except tomllib.TOMLDecodeError:
        return text
    return shorter if is_same else text


def _without_empty(value: Any) -> Any:
    """A table whose last value went away may go with it."""
    if not isinstance(value, dict):
        return value
    entries = {name: _without_empty(entry) for name, entry in value.items()}
    return {name: entry for name, entry in entries.items() if entry != {}}


def _is_flat(table: Any, name: str) -> bool:
    """Whether a table has no head of its own, for another head below it would swallow what follows: it is inline, or
    spelled as `name.field = value`."""
    body = table.value.body if isinstance(table, Table) else getattr(table, "body", ())
    is_dotted = any(key is not None and key.key == name and key.is_dotted() for key, _ in body)
    return is_dotted or isinstance(table[name], InlineTable)


def _path(slot: Slot) -> list[str]:
    return [slot.field.group, *([] if slot.family is None else [slot.family]), slot.field.name]


def _new_table(document: tomlkit.TOMLDocument, name: str) -> Table:
    """Parted from what stands before it by an empty line."""
    table = tomlkit.table()
    if name not in document and document.as_string().strip():
        document.add(tomlkit.nl())
    return table


def _sync_folder(folder: Path) -> None:
    """Has the new name reach the disk too."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _lock(folder: int) -> None:
    """Raises OSError where another process keeps it locked for seconds."""
    for _ in range(_NUM_LOOKS):
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_LOOK_S)
        except OSError:
            return
        else:
            return
    raise OSError(errno.EBUSY, "another process is changing it")
