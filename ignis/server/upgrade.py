"""A WebSocket's opening (RFC 6455 section 4): what a client's offer must say, and the head that accepts it. No I/O.

No extension is accepted: permessage-deflate would save little on events of a hundred bytes, costs each socket two
windows of 32 KiB, and lets 16 KiB on the wire become 16 MiB in memory.
"""

import base64
import binascii

from wsproto.utilities import generate_accept_token

from ignis.errors import InvalidRequestError, OriginNotAllowedError, WebSocketVersionError
from ignis.origins import may_use
from ignis.server.answer import Framing
from ignis.server.http11 import RequestHead

_VERSION = "13"
_KEY_BYTES = 16


def asks_for_websocket(head: RequestHead) -> bool:
    """Whether a request is an offer at all. An Upgrade of HTTP/1.0 counts as none (RFC 9110 section 7.8)."""
    headers = head.headers
    return (
        head.method == "GET"
        and head.framing is Framing.CHUNKED
        and "websocket" in _tokens(headers.get("upgrade", ""))
        and "upgrade" in _tokens(headers.get("connection", ""))
    )


def accept_token(head: RequestHead, origins: frozenset[str] | None) -> str:
    """Checks an offer and returns what proves to the client that it was understood.

    Args:
        origins: as `may_use` takes them. A browser keeps no page from opening a WebSocket, and only tells whose it is.

    Raises:
        InvalidRequestError: it is none, or malformed.
        WebSocketVersionError: it is of another version.
        OriginNotAllowedError: it comes from a page that may not.
    """
    headers = head.headers
    if not asks_for_websocket(head):
        raise InvalidRequestError("the request does not ask for a WebSocket: it is no GET with Upgrade: websocket")
    version = headers.get("sec-websocket-version", "")
    if version != _VERSION:
        raise WebSocketVersionError(
            f"a WebSocket of version {_VERSION} is served, not {version[:20] or 'of no version'}"
        )
    if head.content_length or "transfer-encoding" in headers:
        raise InvalidRequestError("a request for a WebSocket has no body")
    key = headers.get("sec-websocket-key", "")
    if not _is_key(key):
        raise InvalidRequestError(f"Sec-WebSocket-Key must be {_KEY_BYTES} bytes in base64")
    origin = headers.get("origin")
    if not may_use(origin, headers.get("host", ""), origins):
        raise OriginNotAllowedError(f"pages of {(origin or '')[:200]} may not open a WebSocket here")
    return generate_accept_token(key.encode("ascii")).decode("ascii")


def offered_subprotocols(head: RequestHead) -> list[str]:
    """Those that the client would speak, its favourite first."""
    return [token.strip() for token in head.headers.get("sec-websocket-protocol", "").split(",")]


def _is_key(key: str) -> bool:
    try:
        return len(base64.b64decode(key, validate=True)) == _KEY_BYTES
    except (binascii.Error, ValueError):
        return False


def _tokens(value: str) -> list[str]:
    return [token.strip().lower() for token in value.split(",")]
