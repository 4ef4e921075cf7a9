"""Reads the text of tool calls as it comes. It passes on only what will stand, and never a call's text as content.

The rule for a call that goes wrong:

    before its name and the start of its arguments are known     it is dropped whole, as if it had not been there
    after that                                                    it stays as far as it came, and stays open: the answer
                                                                  does not end with tool_calls
    after its arguments are complete                              it is closed; what follows up to its tag is skipped
"""

import enum
import json
from collections.abc import Collection, Mapping
from typing import Protocol

import msgspec

from ignis.limits import MAX_TOOL_NAME_CHARACTERS
from ignis.stream.json_walker import At, JsonWalker
from ignis.stream.parts import CallArguments, CallBegin, Part
from ignis.stream.schema_kinds import is_text, json_text, kinds_of
from ignis.stream.tags import find_tag

Schemas = Mapping[str, Mapping[str, object]]
"""The tools of a request: the name of each with the JSON schema of its arguments."""


class CallWriter:
    """The calls of one answer, as parts. One is open at a time."""

    def __init__(self, max_calls: int | None = None) -> None:
        self._parts: list[Part] = []
        self.num_begun = 0
        self.num_closed = 0
        self._max_calls = max_calls

    def is_full(self) -> bool:
        """The last call that is allowed is complete: nothing is read any more."""
        return self.num_closed == self._max_calls

    def begin(self, name: str) -> None:
        self._parts.append(CallBegin(self.num_begun, name))
        self.num_begun += 1

    def arguments(self, text: str) -> None:
        if not text:
            return
        last = self._parts[-1] if self._parts else None
        if isinstance(last, CallArguments):
            text = last.text + text
            self._parts.pop()
        self._parts.append(CallArguments(self.num_begun - 1, text))

    def close(self) -> None:
        self.num_closed += 1

    def take(self) -> list[Part]:
        """Returns the parts that came since it was last called."""
        parts, self._parts = self._parts, []
        return parts


class CallBody(Protocol):
    """What stands between the tags of calls."""

    @property
    def is_whole(self) -> bool:
        """No call is half read: the text may end here."""
        ...

    def push(self, text: str) -> str | None:
        """Takes text; returns the rest from where it stops being a call, or None while it does not."""
        ...


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


class _Xml(enum.Enum):
    OUTSIDE = enum.auto()
    NAME = enum.auto()
    FUNCTION = enum.auto()
    """Inside a call, between its parameters."""
    PARAMETER = enum.auto()
    """Inside the name of a parameter."""
    VALUE = enum.auto()


_FUNCTION, _FUNCTION_END = "<function=", "</function>"
_PARAMETER, _PARAMETER_END = "<parameter=", "</parameter>"
_VALUE_ENDS = tuple(
    line + tag for tag in (_PARAMETER_END, _PARAMETER, _FUNCTION_END) for line in ("\n", "")
)  # one line break before the tag is not part of the value


class XmlBody:
    """Functions with parameters. Values become JSON by the schema of the request; text is passed on as it comes."""

    def __init__(self, writer: CallWriter, schemas: Schemas, close_tag: str) -> None:
        self._writer = writer
        self._schemas = schemas
        self._close_tag = close_tag
        self._at = _Xml.OUTSIDE
        self._text = ""
        self._function = ""
        self._given: set[str] = set()
        """Parameters of this call so far. One that comes again is skipped: the first one has been passed on."""
        self._kinds: frozenset[str] = frozenset()
        self._is_skipped = False
        self._value: list[str] = []
        self._is_fresh = False
        """No character of the value has come."""

    @property
    def is_whole(self) -> bool:
        return self._at is _Xml.OUTSIDE and not self._text and self._function != ""

    def push(self, text: str) -> str | None:
        self._text += text
        steps = {
            _Xml.OUTSIDE: self._outside,
            _Xml.NAME: self._name,
            _Xml.FUNCTION: self._inside,
            _Xml.PARAMETER: self._parameter,
            _Xml.VALUE: self._in_value,
        }
        while self._text and not self._writer.is_full():
            going = steps[self._at]()
            if going is None:
                rest, self._text = self._text, ""
                return rest
            if not going:
                return None
        return None

    def _take(self, length: int) -> str:
        taken, self._text = self._text[:length], self._text[length:]
        return taken

    def _outside(self) -> bool | None:
        self._text = self._text.lstrip()
        if self._text.startswith(_FUNCTION):
            self._take(len(_FUNCTION))
            self._at = _Xml.NAME
            return True
        return False if _FUNCTION.startswith(self._text) else None

    def _name(self) -> bool | None:
        name = self._named()
        if name is None:
            return False
        if not name:
            return None
        self._function = name
        self._given.clear()
        self._writer.begin(name)
        self._at = _Xml.FUNCTION
        return True

    def _named(self) -> str | None:
        """Takes a name with the bracket after it: None while it is not whole, "" where it is none."""
        at = self._text.find(">", 0, MAX_TOOL_NAME_CHARACTERS + 1)
        if "\n" in self._text[: at if at >= 0 else MAX_TOOL_NAME_CHARACTERS + 1]:
            return ""
        if at < 0:
            return "" if len(self._text) > MAX_TOOL_NAME_CHARACTERS else None
        return self._take(at + 1)[:-1].strip()

    def _inside(self) -> bool | None:
        at, tag = find_tag(self._text, (_PARAMETER, _FUNCTION_END, self._close_tag))
        self._take(at)
        if not tag:
            return False
        if tag == _PARAMETER:
            self._take(len(tag))
            self._at = _Xml.PARAMETER
            return True
        self._end_function()
        if tag == _FUNCTION_END:
            self._take(len(tag))
            return True
        return None

    def _end_function(self) -> None:
        self._writer.arguments("}" if self._given else "{}")
        self._writer.close()
        self._at = _Xml.OUTSIDE

    def _parameter(self) -> bool | None:
        name = self._named()
        if name is None:
            return False
        if not name:
            return None
        self._is_skipped = name in self._given
        self._kinds = kinds_of(self._schemas.get(self._function, {}), name)
        if not self._is_skipped:
            self._writer.arguments(
                f"{', ' if self._given else '{'}{json.dumps(name, ensure_ascii=False)}: "
                + ('"' if is_text(self._kinds) else "")
            )
            self._given.add(name)
        self._is_fresh = True
        self._value.clear()
        self._at = _Xml.VALUE
        return True

    def _in_value(self) -> bool:
        if self._is_fresh:
            self._is_fresh = False
            if self._text[0] == "\n":
                self._take(1)
                # The line break before the value; that one may also be the one before its end.
                return True
        at, tag = find_tag(self._text, _VALUE_ENDS)
        text = self._take(at)
        if text and is_text(self._kinds) and not self._is_skipped:
            self._writer.arguments(json.dumps(text, ensure_ascii=False)[1:-1])
        elif text:
            self._value.append(text)
        if not tag:
            return False
        if not self._is_skipped:
            self._writer.arguments('"' if is_text(self._kinds) else json_text("".join(self._value), self._kinds))
        self._at = _Xml.FUNCTION
        # A parameter that was not closed ends where the next one begins, or its function ends.
        self._take(len(tag) if tag.endswith(_PARAMETER_END) else int(tag[0] == "\n"))
        return True
