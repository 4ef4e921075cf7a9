"""Reads a JSON body into its struct: the known is checked, what looks mistyped refused, the unknown reported."""

import functools
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec
import trio
from msgspec import inspect

from ignis.api.refusal import refuse
from ignis.api.unknown import MAX_NAME_LENGTH, unknown_fields
from ignis.errors import InvalidRequestError, UnsupportedMediaTypeError
from ignis.exchange import Exchange

Body = TypeVar("Body", bound=msgspec.Struct)
Decoded = TypeVar("Decoded")

IGNORED_HEADER = "X-Ignis-Ignored"
_PLAIN = re.compile(r"(?:[A-Za-z0-9_.-]|\[\])+")
# A pair, half of one, or any other escape: each is taken whole, so that the u of an escaped backslash is none.
_ESCAPE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
    rb"|\\.",
    re.DOTALL,
)
_INLINE_BYTES = 64 << 10
"""Takes about a millisecond. 16 MiB would keep every stream waiting for a quarter of a second."""
_FORMS = ("multipart/form-data",)


@dataclass(frozen=True, slots=True)
class Read(Generic[Body]):
    """A checked body."""

    fields: Body
    raw: dict[str, Any]
    """The same as plain JSON values."""
    ignored: tuple[str, ...]
    """Unknown fields that asked for something, dotted, in order."""

    @property
    def headers(self) -> list[tuple[str, str]]:
        """Tells the client what was ignored."""
        shown = [name for name in self.ignored if _is_plain(name)]
        return [(IGNORED_HEADER, ", ".join(shown))] if shown else []


async def read_json(exchange: Exchange, limit_bytes: int) -> Any:
    """Reads a whole body as plain JSON values.

    Raises:
        RequestError: too large, of a foreign kind, or not JSON.
    """
    _check_kind(exchange)
    return _parse(await exchange.read_body(limit_bytes))


async def read_body(exchange: Exchange, limit_bytes: int, struct: type[Body]) -> Read[Body]:
    """Reads and checks a whole body.

    Raises:
        RequestError: too large, of a foreign kind, not JSON, or not what the struct declares.
    """
    _check_kind(exchange)
    return await check_body(await exchange.read_body(limit_bytes), struct)


async def check_body(data: bytes, struct: type[Body]) -> Read[Body]:
    """As `parse_body`, without making others wait: a large body is parsed in a worker thread.

    Raises:
        RequestError: as read_body.
    """
    if len(data) <= _INLINE_BYTES:
        return parse_body(data, struct)
    return await trio.to_thread.run_sync(parse_body, data, struct)


def opening(exchange: Exchange, read: Read[Body], streams: bool | None) -> Callable[[], Awaitable[object]] | None:
    """What a route does where its model is long in coming: it opens the stream, whose comments keep the client waiting.
    None where it answers as a whole."""
    return functools.partial(exchange.open_events, read.headers) if streams else None


def parse_body(data: bytes, struct: type[Body]) -> Read[Body]:
    """Parses and checks a body. Where a key is repeated the last one counts, as everywhere in JSON; half a surrogate
    pair, which JavaScript writes where it cut a text inside a character, becomes U+FFFD.

    Raises:
        RequestError: as read_body.
    """
    raw = _parse(data)
    if not isinstance(raw, dict):
        raise refuse(msgspec.ValidationError("Expected `object`"), raw, struct)
    ignored = unknown_fields(raw, struct)
    for name in _integers(struct):
        # JSON has one kind of number: 1.0 is an integer.
        if isinstance(value := raw.get(name), float) and value.is_integer():
            raw[name] = int(value)
    return Read(convert(raw, struct), raw, ignored)


def convert(raw: object, struct: type[Body]) -> Body:
    """Checks plain JSON values against a struct.

    Raises:
        RequestError: the one that the refused field declares.
    """
    try:
        return msgspec.convert(raw, struct)
    except msgspec.ValidationError as error:
        raise refuse(error, raw, struct) from error


def _check_kind(exchange: Exchange) -> None:
    # A missing or form content type is curl's default and means JSON here; only what cannot be JSON is refused.
    if exchange.headers.get("content-type", "").lower().startswith(_FORMS):
        raise UnsupportedMediaTypeError("the body must be JSON, not a multipart form")


def _parse(data: bytes) -> Any:
    try:
        return decode(data, Any)
    except msgspec.DecodeError as error:
        detail = "it is empty" if not data.strip() else str(error).removeprefix("JSON is malformed: ")
        raise InvalidRequestError(f"the body is not valid JSON: {detail}") from error
    except RecursionError as error:
        raise InvalidRequestError("the body is nested too deeply") from error


def decode(data: bytes, kind: type[Decoded]) -> Decoded:
    """Parses JSON. Raises msgspec.DecodeError, RecursionError."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        # msgspec takes no half pair; RFC 8259, section 8.2, leaves that to the reader.
        whole = _ESCAPE.sub(_replace_half, data)
        if whole == data:
            raise
        return msgspec.json.decode(whole, type=kind)


def _replace_half(escape: re.Match[bytes]) -> bytes:
    return rb"\ufffd" if escape["half"] else escape[0]


@functools.cache
def _integers(struct: type[msgspec.Struct]) -> tuple[str, ...]:
    info = inspect.type_info(struct)
    assert isinstance(info, inspect.StructType)
    return tuple(field.encode_name for field in info.fields if _is_integer(field.type))


def _is_integer(declared: inspect.Type) -> bool:
    match declared:
        case inspect.UnionType():
            return any(_is_integer(kind) for kind in declared.types)
        case inspect.Metadata():
            return _is_integer(declared.type)
        case _:
            return isinstance(declared, inspect.IntType) or (
                isinstance(declared, inspect.LiteralType) and type(declared.values[0]) is int
            )


def _is_plain(name: str) -> bool:
    """Whether a name may stand in a header."""
    return len(name) <= MAX_NAME_LENGTH and _PLAIN.fullmatch(name) is not None
