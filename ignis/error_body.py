"""Errors as clients read them, whoever answers: one JSON shape, and the headers that go with it. Sends nothing."""

import re

import msgspec

from ignis.errors import IgnisError, InvalidApiKeyError, UnsupportedEncodingError, WebSocketVersionError

# A folder of this machine in a text: kept out of answers, the name at its end stays.
_FOLDER = re.compile(r"(?<![\w.:/])/(?:[\w.+@~-]+/)+")


class ErrorDetail(msgspec.Struct, kw_only=True):
    """What went wrong. `code` is stable, `message` is for people."""

    message: str
    type: str
    code: str
    param: str | None = None


class ErrorBody(msgspec.Struct, kw_only=True):
    """The body of every answer that is not a success."""

    error: ErrorDetail


def detail(error: IgnisError) -> ErrorDetail:
    """Says of an error what a client may read."""
    told = error.public if error.told is None else error.told
    message = error.message if told is None else told
    return ErrorDetail(
        message=_echo(message),
        type=error.type,
        code=error.code,
        param=None if error.param is None else _echo(error.param),
    )


def encode(error: IgnisError) -> bytes:
    """The JSON body, also the data of an error event in a stream."""
    return msgspec.json.encode(ErrorBody(error=detail(error)))


def headers(error: IgnisError) -> list[tuple[str, str]]:
    """The headers that go with the status."""
    found = []
    if error.retry_after_s is not None:
        found.append(("Retry-After", str(error.retry_after_s)))
    if isinstance(error, InvalidApiKeyError):
        found.append(("WWW-Authenticate", "Bearer"))
    if isinstance(error, UnsupportedEncodingError):
        found.append(("Accept-Encoding", "gzip, identity"))
    if isinstance(error, WebSocketVersionError):
        found += [("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13")]
    return found


def first_of(error: BaseException) -> BaseException:
    """The error that a person should read: of a group ours if there is one, else the first."""
    leaves: list[BaseException] = []
    pending = [error]
    while pending:
        inner = pending.pop(0)
        if isinstance(inner, BaseExceptionGroup):
            pending += inner.exceptions
        else:
            leaves.append(inner)
    return next((inner for inner in leaves if isinstance(inner, IgnisError)), leaves[0])


def _echo(text: str) -> str:
    """Text with a client's own words in it, which may hold what has no UTF-8: half a surrogate pair."""
    return text.encode(errors="replace").decode()


def without_folders(text: str) -> str:
    """Cuts the folders off the absolute paths in a text."""
    return _FOLDER.sub("", text)
