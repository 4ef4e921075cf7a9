"""Who may change a server that has no key: no web page that its visitor merely came upon. Knows no endpoint."""

from collections.abc import Awaitable, Callable

from ignis.errors import OriginNotAllowedError
from ignis.exchange import Exchange
from ignis.origins import may_use

Handler = Callable[[Exchange], Awaitable[None]]


class OwnPages:
    """Any page may ask a model; what changes the server takes its own pages, or those that the operator names."""

    def __init__(self, origins: frozenset[str] | None, *, has_key: bool) -> None:
        """origins: whose pages may use the API; None: any page's."""
        self._origins = origins if has_key or origins is not None else frozenset[str]()

    def only(self, handler: Handler) -> Handler:
        """Returns the handler behind this check; it raises OriginNotAllowedError."""

        async def checked(exchange: Exchange) -> None:
            origin = exchange.headers.get("origin")
            if not may_use(origin, exchange.headers.get("host", ""), self._origins):
                raise OriginNotAllowedError(
                    f"pages of {(origin or '')[:200]} may not change this server: it has no API key, and "
                    "server.origins does not name them"
                )
            await handler(exchange)

        return checked
