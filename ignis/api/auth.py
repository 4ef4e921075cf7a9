"""The API key: one key, sent as a bearer token or in X-Api-Key, compared in constant time."""

import hmac
import secrets

from ignis.errors import InvalidApiKeyError
from ignis.exchange import Exchange

AUTO = "auto"
_PREFIX = "Bearer "
_SOCKET_PREFIX = "openai-insecure-api-key."
"""Of a subprotocol that carries the key, for pages: a browser's WebSocket sends no headers of its own."""


def generate_key() -> str:
    """Makes the key that `auto` asks for: sk-ignis- and 64 hexadecimal digits."""
    return "sk-ignis-" + secrets.token_hex(32)


class KeyGuard:
    """Lets an exchange pass that carries the key, or every exchange where there is none."""

    def __init__(self, key: str | None) -> None:
        self._key = None if key is None else key.encode()

    def check(self, exchange: Exchange) -> None:
        """Raises InvalidApiKeyError where the key is missing or wrong."""
        if self._key is None:
            return
        given = _given(exchange)
        if not given:
            raise InvalidApiKeyError("this server needs an API key, sent as Authorization: Bearer <key> or X-Api-Key")
        # All are compared, so that the time says nothing of which one was right.
        matches = [hmac.compare_digest(key, self._key) for key in given]
        if not any(matches):
            raise InvalidApiKeyError("the API key is wrong")


def _given(exchange: Exchange) -> list[bytes]:
    """The keys that came. Some clients send both headers, one of them with a key for another place."""
    bearer = exchange.headers.get("authorization", "")
    keys = [bearer.removeprefix(_PREFIX)] if bearer.startswith(_PREFIX) else []
    if "x-api-key" in exchange.headers:
        keys.append(exchange.headers["x-api-key"])
    if exchange.is_upgrade:
        keys += [name.removeprefix(_SOCKET_PREFIX) for name in _subprotocols(exchange) if _is_credential(name)]
    return [key.strip().encode(errors="surrogateescape") for key in keys]


def choose_subprotocol(exchange: Exchange) -> str | None:
    """The first subprotocol that a WebSocket offers and that is no credential, which is never sent back."""
    return next((name for name in _subprotocols(exchange) if not _is_credential(name)), None)


def _subprotocols(exchange: Exchange) -> list[str]:
    offered = exchange.headers.get("sec-websocket-protocol", "").split(",")
    return [name.strip() for name in offered if name.strip()]


def _is_credential(name: str) -> bool:
    return name.startswith(_SOCKET_PREFIX)
