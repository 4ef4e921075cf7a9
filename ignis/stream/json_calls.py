"""Reads tool calls that are JSON objects as they come. What becomes of one that goes wrong, tool_calls.py says."""

import enum
import json
from collections.abc import Collection

import msgspec

from ignis.limits import MAX_TOOL_NAME_CHARACTERS
from ignis.stream.json_walker import At, JsonWalker
from ignis.stream.tool_calls import CallWriter


class JsonBody:
    """Objects with name and arguments, one after another or in a list."""

    _BETWEEN = " \t\n\r,;[]"

    def __init__(self, writer: CallWriter, *, is_single: bool = False) -> None:
        """`is_single`: it ends with its first object, for no tag ends it."""
        self._writer = writer
        self._is_single = is_single
        self._call: JsonCall | None = None
        self._last: JsonCall | None = None

    @property
    def is_whole(self) -> bool:
        call = self._call or self._last
        return call is not None and call.is_closed

    def push(self, text: str) -> str | None:
        for index, character in enumerate(text):
            if self._call is None:
                if character in self._BETWEEN:
                    continue
                if character != "{":
                    return text[index:]
                self._call = JsonCall(self._writer)
            self._call.push(character)
            if self._call.is_bad:
                self._call.flush()
                return text[index:]
            if self._writer.is_full():
                return text[index + 1 :]
            if self._call.is_done:
                self._last, self._call = self._call, None
                if self._is_single:
                    return text[index + 1 :]
        if self._call is not None:
            self._call.flush()
        return None


class _Slot(enum.Enum):
    """Which value of a call's object is being read."""

    OTHER = enum.auto()
    NAME = enum.auto()
    OBJECT = enum.auto()
    """The arguments, as an object."""
    TEXT = enum.auto()
    """The arguments, as the JSON text of an object."""


class JsonCall:
    """One call. `known`: it must name one of these and hold nothing that a call does not, or it is none."""

    _ARGUMENTS = ("arguments", "parameters")
    _KEYS = ("name", "type", "id", *_ARGUMENTS)

    def __init__(self, writer: CallWriter, known: Collection[str] | None = None) -> None:
        self.is_bad = False
        """The last character does not belong to it."""
        self.is_done = False
        """The last character was its last one."""
        self.is_begun = False
        self.is_closed = False
        """The arguments are complete."""
        self._writer = writer
        self._known = known
        self._walker = JsonWalker()
        self._key = ""
        self._slot = _Slot.OTHER
        self._value: list[str] = []
        """Characters of the key or value that is read, as far as it is kept and not passed on."""
        self._name: str | None = None
        self._has_arguments = False
        self._pending: str | None = None
        """Complete arguments that wait for the name."""

    def push(self, character: str) -> None:
        walker = self._walker
        before, was_string = walker.at, walker.is_in_string
        walker.push(character)
        if was_string and character < " ":
            character = json.dumps(character)[1:-1]
        if walker.at is At.BAD:
            self.is_bad = True
        elif walker.depth == 0:
            self._end()
        elif (
            walker.depth == 1
            and walker.is_key
            and (character == '"' if before in (At.KEY, At.FIRST_KEY) else was_string)
        ):
            self._read_key(character, is_first=not was_string)
        else:
            self._read_value(character, before)

    def flush(self) -> None:
        """Passes on what was read of the arguments."""
        if self.is_begun and self._slot is _Slot.OBJECT and self._value:
            self._writer.arguments("".join(self._value))
            self._value.clear()

    def _read_key(self, character: str, *, is_first: bool) -> None:
        if is_first:
            self._value.clear()
        if self._walker.is_in_string or not is_first:
            self._value.append(character)
        if self._walker.at is At.COLON and not is_first:
            self._key = _string("".join(self._value))
            self._value.clear()
            if self._known is not None and self._key not in self._KEYS:
                self.is_bad = True

    def _read_value(self, character: str, before: At) -> None:
        walker = self._walker
        depth_before = walker.depth - (walker.at in (At.FIRST_ITEM, At.FIRST_KEY) and character in "{[")
        if before is At.VALUE and depth_before == 1 and walker.at is not At.VALUE:
            self._begin_value(character)
        if self._slot is not _Slot.OTHER and not self.is_bad:
            self._value.append(character)
            if walker.depth == 1 and walker.at is At.AFTER:
                self._end_value()

    def _begin_value(self, character: str) -> None:
        self._slot = _Slot.OTHER
        if self._key == "name" and self._name is None:
            self._slot = _Slot.NAME
            self.is_bad = character != '"'
        elif self._key in self._ARGUMENTS and not self._has_arguments and character != "n":
            # Null is no arguments, as if the key were not there.
            self._has_arguments = True
            self._slot = _Slot.OBJECT if character == "{" else _Slot.TEXT
            self.is_bad = character not in '{"'
            if self._slot is _Slot.OBJECT and not self.is_bad:
                self._begin()

    def _end_value(self) -> None:
        slot, self._slot = self._slot, _Slot.OTHER
        text = "".join(self._value)
        if slot is _Slot.NAME:
            self._value.clear()
            self._name = _string(text)
            is_known = self._known is None or self._name in self._known
            self.is_bad = not is_known or not 0 < len(self._name) <= MAX_TOOL_NAME_CHARACTERS
            if not self.is_bad and self._pending is not None:
                self._begin()
                self._write_whole(self._pending)
        elif slot is _Slot.OBJECT:
            self._value.clear()
            self._write_whole(text)
        elif slot is _Slot.TEXT:
            self._value.clear()
            value = _string(text)
            try:
                msgspec.json.decode(value, type=dict[str, object])
            except (msgspec.DecodeError, RecursionError):
                self.is_bad = True
                return
            self._write_whole(value)

    def _write_whole(self, text: str) -> None:
        """Passes on the arguments, or the rest of them: they are complete."""
        self._begin()
        if not self.is_begun:
            self._pending = text
            return
        self._writer.arguments(text)
        self._writer.close()
        self.is_closed = True

    def _begin(self) -> None:
        if self._name is not None and not self.is_begun:
            self.is_begun = True
            self._writer.begin(self._name)

    def _end(self) -> None:
        self.is_done = True
        if self.is_closed or self._name is None or self._has_arguments or self._known is not None:
            return
        # A call that has a name and nothing else is a call without arguments.
        self._write_whole("{}")


def _string(text: str) -> str:
    """A JSON string's value; "" for one that holds half a character."""
    try:
        return msgspec.json.decode(text, type=str)
    except msgspec.DecodeError:
        return ""
