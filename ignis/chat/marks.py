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
from collections.abc import Iterable, Mapping, Sequence

# Caseless, printable, neither letters, digits nor space: no string method treats them in a special way.
_POOL = [*map(chr, range(0x1D800, 0x1DA00)), *map(chr, range(0x1D000, 0x1D0F6)), *map(chr, range(0x2800, 0x2900))]
_IN_POOL = re.compile(f"[{_POOL[0]}-{_POOL[511]}{_POOL[512]}-{_POOL[757]}⠀-⣿]")
_PLAIN_KEYS = frozenset({"role", "type"})
"""Words that templates compare, not text that they print between brackets of their own."""
_NAMED_BY_USERS = frozenset({"arguments", "properties"})
"""Objects whose keys users choose."""


class Marks:
    """Which characters of user text need twins, for one vocabulary's control spellings. Immutable."""

    def __init__(self, spellings: Iterable[str], template: str) -> None:
        """`template`: its source; what it writes itself cannot serve as a twin."""
        spellings = [spelling for spelling in spellings if spelling]
        ends = {spelling[index] for spelling in spellings for index in (0, -1)}
        markers = {character for character in ends if not _is_plain(character)}
        # A spelling between two plain characters is broken where a user writes it whole.
        words = [word for word in spellings if not markers.intersection((word[0], word[-1]))]
        self.names = frozenset(name for spelling in spellings for name in _inner_names(spelling, markers))
        """What stands between the brackets of a spelling: a template that writes <{{ key }}> must not be given it."""
        self._marker_pattern = re.compile(f"[{re.escape(''.join(sorted(markers)))}]") if markers else None
        self._word_pattern = (
            re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True)))) if words else None
        )
        starts = {word[0] for word in words} | {name[0] for name in self.names}
        self._twinned = "".join(sorted(markers | starts | {chr(code) for code in range(0x21, 0x7F)} - {'"', "\\"}))
        self._free = [symbol for symbol in _POOL if symbol not in template]

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
        return (
            (self._marker_pattern is not None and self._marker_pattern.search(text) is not None)
            or (self._word_pattern is not None and self._word_pattern.search(text) is not None)
            or text.strip() in self.names
        )

    def twin_places(self, text: str, is_name: bool) -> list[int]:
        """Where text needs twins."""
        places = [match.start() for match in self._marker_pattern.finditer(text)] if self._marker_pattern else []
        if self._word_pattern is not None:
            places += [match.start() for match in self._word_pattern.finditer(text)]
        if is_name and text.strip() in self.names:
            places.append(len(text) - len(text.lstrip()))
        return places


class Marking:
    """The twins of one rendering."""

    def __init__(self, marks: Marks, twins: Mapping[str, str]) -> None:
        self._marks = marks
        self._twins = twins
        self._originals = {twin: character for character, twin in twins.items()}
        self._twin_pattern = re.compile(f"[{''.join(self._originals)}]")

    def mark(self, text: str, is_name: bool = True) -> str:
        """Puts twins into user text. `is_name`: it may be printed between brackets that the template writes."""
        places = self._marks.twin_places(text, is_name)
        if not places:
            return text
        characters = list(text)
        for place in places:
            characters[place] = self._twins.get(text[place], text[place])
        return "".join(characters)

    def mark_value(self, value: object, key: str | None = None) -> object:
        """Puts twins into every string of a value of JSON. `key`: under which it stands."""
        if isinstance(value, str):
            return self.mark(value, is_name=key not in _PLAIN_KEYS)
        if isinstance(value, Mapping):
            names = key in _NAMED_BY_USERS
            return {self.mark(inner, is_name=names): self.mark_value(child, inner) for inner, child in value.items()}
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


def _is_plain(character: str) -> bool:
    """Letters, digits and space have meaning to string methods; quotes and backslashes have it in JSON."""
    return character.isalnum() or character.isspace() or character in '_"\\'


def _inner_names(spelling: str, markers: set[str]) -> Iterable[str]:
    """The parts of a spelling that hold no marker and stand between its ends: </s> has /s and s, <|im_end|> im_end."""
    if len(spelling) > 2 and markers.intersection((spelling[0], spelling[-1])):
        inner = spelling[1:-1]
        stripped = inner.strip("".join(character for character in inner if not character.isalnum()))
        yield from {name for name in (inner, stripped) if name and not markers.intersection(name)}


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
