"""One value of the configuration: read by its kind, its rule in words, and written again. Knows no flag and no file."""

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ignis.config_fields import Field, Kind
from ignis.units import (
    NamedPaths,
    format_size,
    parse_address,
    parse_binds,
    parse_mode,
    parse_origins,
    parse_pool_size,
    parse_size,
)

Number = TypeVar("Number", int, float)

TRUE_WORDS = frozenset({"true", "1", "on", "yes"})
FALSE_WORDS = frozenset({"false", "0", "off", "no"})
_MOST_SHOWN = 200
"""Characters of a value."""


def parse_value(field: Field, text: str, folder: Path) -> object:
    """Reads a value by its kind; a ValueError says only that it breaks the rule, or is one of text that no file and no
    answer could hold."""
    text = text.strip()
    text.encode()
    match field.kind:
        case Kind.ADDRESS:
            return parse_address(text)
        case Kind.BINDS:
            return parse_binds(text, folder)
        case Kind.MODE:
            return parse_mode(text)
        case Kind.ORIGINS:
            return parse_origins(text)
        case Kind.BOOL:
            if text.lower() not in TRUE_WORDS | FALSE_WORDS:
                raise ValueError
            return text.lower() in TRUE_WORDS
        case Kind.CHOICE:
            assert field.choices is not None
            return field.choices(text.lower())
        case Kind.INTEGER:
            if text.lower() == field.zero:
                return 0
            if not (text.isascii() and text.isdigit()):
                raise ValueError
            return _in_range(field, int(text))
        case Kind.NUMBER:
            return _in_range(field, float(text))
        case Kind.SECONDS:
            return _in_range(field, float(text.removesuffix("s")))
        case Kind.SIZE:
            return _in_range(field, parse_size(text))
        case Kind.POOL_SIZE:
            pool = parse_pool_size(text)
            _in_range(field, (pool.tokens or 0) + (pool.size_bytes or 0))
            return pool
        case Kind.PATH:
            return parse_path(text, folder)
        case Kind.PATHS:
            return _parse_paths(text, folder)
        case Kind.SECRET:
            # It travels in a header field, where nothing else survives.
            if not text or not all("!" <= character <= "~" for character in text):
                raise ValueError
            return text
        case Kind.TEXT:
            if not text or not text.isprintable():
                raise ValueError
            return text


def rule(field: Field) -> str:
    """Says which values a field takes."""
    zero = f"; 0: {field.zero}" if field.zero is not None else ""
    match field.kind:
        case Kind.ADDRESS:
            return "host:port, with a port from 0 to 65535"
        case Kind.BINDS:
            return "host:port, with a port from 0 to 65535, or unix:/path; several with commas, each once"
        case Kind.MODE:
            return "three octal digits, like 660"
        case Kind.ORIGINS:
            return "* or scheme://host[:port], several with commas"
        case Kind.BOOL:
            return "true or false"
        case Kind.CHOICE:
            assert field.choices is not None
            return join_words([choice.value for choice in field.choices])
        case Kind.INTEGER:
            multiple = f", a multiple of {field.multiple}" if field.multiple is not None else ""
            return f"{_number(field.minimum)} to {_number(field.maximum)}{multiple}{zero}"
        case Kind.NUMBER:
            return f"{_number(field.minimum)} to {_number(field.maximum)}{zero}"
        case Kind.SECONDS:
            return f"{_number(field.minimum)} to {_number(field.maximum)} seconds{zero}"
        case Kind.SIZE:
            return f"{format_size(int(field.minimum or 0))} to {format_size(int(field.maximum or 0))} bytes"
        case Kind.POOL_SIZE:
            return "bytes with an optional K, M, G or T, or <n>tok"
        case Kind.PATH:
            return "path"
        case Kind.PATHS:
            return "<name>=<path>, with ; between several; a flag may be repeated, and a file may have a table"
        case Kind.SECRET:
            return "visible ASCII characters"
        case Kind.TEXT:
            return "text"


def written(field: Field, value: Any) -> str | float | bool | None:
    """Writes a value as a file has it; None is unset."""
    match field.kind:
        case Kind.BINDS:
            return ",".join(map(str, value))
        case Kind.MODE:
            return f"{value:o}"
        case Kind.ORIGINS:
            return "*" if value is None else ",".join(sorted(value))
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def join_words(words: Sequence[str]) -> str:
    """Lists words: `a`, `a or b`, `a, b or c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def port_hint(text: str) -> str:
    """Says what an address is that has a port alone; nothing of any other text, a number that is no port's included."""
    port = text.strip().removeprefix(":")
    try:
        parse_address(f"127.0.0.1:{port}")
    except ValueError:
        return ""
    return f"; 127.0.0.1:{port} is for this machine alone, 0.0.0.0:{port} for all"


def text_hint(error: ValueError, text: str) -> str:
    """Says of a value that it is no text, or what it comes to is none, where a name of the system's makes up the rest;
    nothing of any other."""
    if not isinstance(error, UnicodeEncodeError):
        return ""
    whole = error.object[:_MOST_SHOWN]
    return "; it is not UTF-8" if error.object == text.strip() else f"; it comes to {whole!r}, which is not UTF-8"


def nearest(name: str, known: Iterable[str]) -> str:
    """Returns `; did you mean <name>?` for the most similar known name, or nothing where none is similar."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; did you mean {close[0]}?" if close else ""


def parse_path(text: str, folder: Path) -> Path:
    """Reads a path, `~` and `~user` included.

    Raises:
        ValueError: no file can have that name, or there is no such user.
        UnicodeEncodeError: as a whole it is no UTF-8.
    """
    if not text or b"\0" in text.encode():
        raise ValueError
    try:
        path = folder / Path(text).expanduser()
    except RuntimeError as error:
        raise ValueError from error
    str(path).encode()
    return path


def _parse_paths(text: str, folder: Path) -> NamedPaths:
    """Reads name=path;name=path. Raises ValueError where a name is empty or there twice, or no file can have a path."""
    entries: dict[str, Path] = {}
    for entry in filter(None, map(str.strip, text.split(";"))):
        name, equals, path = entry.partition("=")
        if not equals or not name.strip() or not name.isprintable() or name.strip() in entries:
            raise ValueError
        entries[name.strip()] = parse_path(path.strip(), folder)
    return NamedPaths(tuple(entries.items()))


def _in_range(field: Field, value: Number) -> Number:
    if value == 0 and field.zero is not None:
        return value
    is_in = (field.minimum is None or value >= field.minimum) and (field.maximum is None or value <= field.maximum)
    if not is_in or (field.multiple is not None and value % field.multiple):
        raise ValueError
    return value


def _number(value: float | None) -> str:
    assert value is not None
    return f"{value:g}" if value < 1 else str(int(value))
