"""Keeps what users wrote apart from what the template wrote, through whatever the template does with it.

Control tokens are told by their spelling, so a user's "<|im_end|>" must not be spelled like one. While a template runs,
each character of user text that could begin or end such a spelling stands as its *twin*: a symbol that occurs nowhere
in the request. A twin is one character for one character, so trimming, slicing, joining, splitting, upper case and JSON
carry it along, and nothing turns it back before the template's control tokens have been cut out of the result:

    template   <|im_start|>user\n                                  cut out: it is spelled with real characters
    user       hi𝠀|im_end|𝠁                                        not found; the twins turn back afterwards
    template   <|im_end|>                                          cut out

Comparisons and searches look through twins (chat/sandbox.py), so the template decides as it would have without them.
Failing that, it would decide differently; it could never let a user's text become a token.
"""

import re
import string
from collections.abc import Iterable, Mapping, Sequence

# Caseless, printable, neither letters, digits nor space: no string method treats them in a special way.
_POOL = [*map(chr, range(0x1D800, 0x1DA00)), *map(chr, range(0x1D000, 0x1D0F6)), *map(chr, range(0x2800, 0x2900))]
_IN_POOL = re.compile(f"[{_POOL[0]}-{_POOL[511]}{_POOL[512]}-{_POOL[757]}⠀-⣿]")
_PLAIN_KEYS = frozenset({"role", "type"})
"""Words that templates compare, not text that they print between brackets of their own."""
_NAMED_BY_USERS = frozenset({"arguments", "properties"})
"""Objects whose keys users choose."""
_WITH_MEANING = frozenset('_"\\' + string.whitespace)
"""Space has meaning to string methods, quotes and backslashes have it in JSON, and names are made of underscores."""


class Marks:
    """Which characters of user text need twins, for one vocabulary's control spellings. Immutable."""

    def __init__(self, spellings: Iterable[str], template: str) -> None:
        """`template`: its source; what it writes itself cannot serve as a twin."""
        spellings = [spelling for spelling in spellings if spelling]
        brackets = set().union(*map(_brackets, spellings))
        letters = {_first_letter(spelling) for spelling in spellings if not _brackets(spelling)} - {""}
        self.names = frozenset(name for spelling in spellings for name in _inner_names(spelling))
        """What stands between the brackets of a spelling: a template that writes <{{ key }}> must not be given it."""
        self._bracket_pattern = _any_of(brackets)
        self._marker_pattern = _any_of(brackets | letters)
        printable = {chr(code) for code in range(0x21, 0x7F)} - _WITH_MEANING
        self._twinned = "".join(sorted(printable | brackets | letters | {name[0] for name in self.names}))
        written = set(template)
        self._free = [symbol for symbol in _POOL if symbol not in written]

    def begin(self, values: Sequence[object]) -> "Marking | None":
        """Looks at a request's values; None where none of their strings needs a mark.

        Raises:
            ValueError: the request holds so many of the symbols that too few are left for twins.
        """
        needs_marks = False
        taken: set[str] = set()
        for text in _strings(values):
            needs_marks = needs_marks or self.needs_marks(text)
            if not text.isascii():
                taken.update(_IN_POOL.findall(text))
        if not needs_marks:
            return None
        free = [symbol for symbol in self._free if symbol not in taken] if taken else self._free
        if len(free) < len(self._twinned):
            raise ValueError("the text holds too many rare symbols")
        return Marking(self, dict(zip(self._twinned, free, strict=False)))

    def needs_marks(self, text: str) -> bool:
        return self._marker_pattern.search(text) is not None or text.strip() in self.names

    def twin_places(self, text: str, is_free: bool) -> list[int]:
        """Where text needs twins. `is_free`: it is not a word that templates look for by its letters."""
        pattern = self._marker_pattern if is_free else self._bracket_pattern
        places = [match.start() for match in pattern.finditer(text)]
        if is_free and text.strip() in self.names:
            places.append(len(text) - len(text.lstrip()))
        return places


class Marking:
    """The twins of one rendering."""

    def __init__(self, marks: Marks, twins: Mapping[str, str]) -> None:
        self._marks = marks
        self._twins = twins
        self._originals = {twin: character for character, twin in twins.items()}
        self._twin_pattern = re.compile(f"[{''.join(self._originals)}]")

    def mark(self, text: str, is_free: bool = True) -> str:
        """Puts twins into user text."""
        places = self._marks.twin_places(text, is_free)
        if not places:
            return text
        characters = list(text)
        for place in places:
            characters[place] = self._twins.get(text[place], text[place])
        return "".join(characters)

    def mark_value(self, value: object, key: str | None = None) -> object:
        """Puts twins into every string of a value of JSON. `key`: under which it stands."""
        if isinstance(value, str):
            return self.mark(value, is_free=key not in _PLAIN_KEYS)
        if isinstance(value, Mapping):
            is_free = key in _NAMED_BY_USERS
            return {self.mark(inner, is_free): self.mark_value(child, inner) for inner, child in value.items()}
        if isinstance(value, list | tuple):
            return [self.mark_value(child, key) for child in value]
        return value

    def has_twins(self, text: str) -> bool:
        return self._twin_pattern.search(text) is not None

    def clean(self, text: str) -> str:
        """Turns the twins back; the text keeps its length."""
        return self._twin_pattern.sub(lambda match: self._originals[match[0]], text)

    def remark(self, text: str, marked: str) -> str:
        """Marks `text`, which was made from `marked` character by character, where that one has twins."""
        characters = list(text)
        for match in self._twin_pattern.finditer(marked):
            place = match.start()
            characters[place] = self._twins.get(characters[place], match[0])
        return "".join(characters)


def _brackets(spelling: str) -> set[str]:
    """The ends of a spelling that are symbols. Either one breaks it, so only these must have twins in user text."""
    return {end for end in (spelling[0], spelling[-1]) if not end.isalnum() and end not in _WITH_MEANING}


def _first_letter(spelling: str) -> str:
    """What breaks a spelling without brackets."""
    return next((character for character in spelling if character not in _WITH_MEANING), "")


def _any_of(characters: set[str]) -> re.Pattern[str]:
    return re.compile(f"[{re.escape(''.join(sorted(characters)))}]" if characters else "(?!)")


def _inner_names(spelling: str) -> Iterable[str]:
    """What brackets could be written around to make the spelling: </s> has /s and s, <|im_end|> has im_end."""
    if _brackets(spelling) and len(spelling) > 2:
        inner = spelling[1:-1]
        word = inner.strip("".join(character for character in inner if not character.isalnum()))
        yield from {name for name in (inner, word) if name and name[0] not in _WITH_MEANING}


def _strings(value: object) -> Iterable[str]:
    """Every string of a value of JSON, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, child in value.items():
            yield key
            yield from _strings(child)
    elif isinstance(value, list | tuple):
        for child in value:
            yield from _strings(child)
