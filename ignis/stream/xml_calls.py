"""Reads tool calls that are tags as they come. What becomes of one that goes wrong, tool_calls.py says."""

import enum
import json

from ignis.limits import MAX_TOOL_NAME_CHARACTERS
from ignis.stream.schema_kinds import is_text, json_text, kinds_of
from ignis.stream.tags import find_tag
from ignis.stream.tool_calls import CallWriter, Schemas


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
