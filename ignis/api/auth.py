"""The API key: one key, sent as a bearer token, compared in constant time."""

import hmac
import secrets

from ignis.errors import InvalidApiKeyError
from ignis.exchange import Exchange

AUTO = "auto"
_PREFIX = "Bearer "


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
        header = exchange.headers.get("authorization", "")
        if not header.startswith(_PREFIX):
            raise InvalidApiKeyError("this server needs an API key, sent as Authorization: Bearer <key>")
        given = header.removeprefix(_PREFIX).strip().encode(errors="surrogateescape")
        if not hmac.compare_digest(given, self._key):
            raise InvalidApiKeyError("the API key is wrong")
