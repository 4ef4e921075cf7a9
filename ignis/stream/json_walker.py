"""Reads JSON one character at a time: it says where a text stops being JSON, and keeps no values."""

import enum
import re

from ignis.limits import MAX_DEPTH

_SPACE = " \t\n\r"
_ESCAPED = '"\\/bfnrt'
_HEX = "0123456789abcdefABCDEF"
_WORD_FIRST = "-0123456789tfn"
_WORD_END = _SPACE + ",]}"
_WORD = re.compile(r"true|false|null|-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


class At(enum.Enum):
    """What may come next."""

    VALUE = enum.auto()
    FIRST_ITEM = enum.auto()
    """A value, or the end of an empty array."""
    FIRST_KEY = enum.auto()
    KEY = enum.auto()
    COLON = enum.auto()
    AFTER = enum.auto()
    """A value is complete: a comma or an end."""
    STRING = enum.auto()
    ESCAPE = enum.auto()
    HEX = enum.auto()
    WORD = enum.auto()
    """Inside a number, true, false or null."""
    DONE = enum.auto()
    BAD = enum.auto()


class JsonWalker:
    """One object or array. A raw control character inside a string is let pass: models write them."""

    def __init__(self) -> None:
        self.at = At.VALUE
        self.depth = 0
        """How many containers are open."""
        self.is_key = False
        """The string that is read, or was read last, is a key."""
        self._stack: list[str] = []
        self._word = ""
        self._num_hex = 0

    @property
    def is_in_string(self) -> bool:
        return self.at in (At.STRING, At.ESCAPE, At.HEX)

    def push(self, character: str) -> None:
        """Takes the next character; after a wrong one `at` is BAD for good."""
        match self.at:
            case At.STRING:
                if character == '"':
                    self.at = At.COLON if self.is_key else At.AFTER
                elif character == "\\":
                    self.at = At.ESCAPE
            case At.ESCAPE:
                self._num_hex = 0
                self.at = At.HEX if character == "u" else At.STRING if character in _ESCAPED else At.BAD
            case At.HEX:
                self._num_hex += 1
                self.at = At.BAD if character not in _HEX else At.STRING if self._num_hex == 4 else At.HEX
            case At.WORD if character not in _WORD_END:
                self._word += character
            case At.WORD:
                self.at = At.AFTER if _WORD.fullmatch(self._word) else At.BAD
                self._mark(character)
            case _:
                self._mark(character)

    def _mark(self, character: str) -> None:
        """Takes a character between strings and words."""
        if character in _SPACE or self.at is At.BAD:
            return
        match self.at:
            case At.VALUE | At.FIRST_ITEM:
                self._begin(character)
            case At.KEY | At.FIRST_KEY if character == '"':
                self.is_key, self.at = True, At.STRING
            case At.FIRST_KEY if character == "}":
                self._close(character)
            case At.COLON:
                self.at = At.VALUE if character == ":" else At.BAD
            case At.AFTER if character == ",":
                self.at = At.KEY if self._stack[-1] == "}" else At.VALUE
            case At.AFTER:
                self._close(character)
            case _:
                self.at = At.BAD

    def _begin(self, character: str) -> None:
        if character in "{[" and len(self._stack) < MAX_DEPTH:
            self._stack.append("}" if character == "{" else "]")
            self.depth += 1
            self.at = At.FIRST_KEY if character == "{" else At.FIRST_ITEM
        elif character == "]" and self.at is At.FIRST_ITEM:
            self._close(character)
        elif not self._stack:
            self.at = At.BAD
        elif character == '"':
            self.is_key, self.at = False, At.STRING
        elif character in _WORD_FIRST:
            self._word, self.at = character, At.WORD
        else:
            self.at = At.BAD

    def _close(self, character: str) -> None:
        if self._stack[-1] != character:
            self.at = At.BAD
            return
        self._stack.pop()
        self.depth -= 1
        self.at = At.AFTER if self._stack else At.DONE
