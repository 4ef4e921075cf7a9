"""GET /metrics on its own listener, and the same text at /ui/metrics behind the key for the page."""

from collections.abc import Awaitable, Callable

from ignis.exchange import Exchange
from ignis.metrics import CONTENT_TYPE, Metrics

Look = Callable[[], Awaitable[None]]


class MetricsPage:
    """The endpoint."""

    def __init__(self, metrics: Metrics, look: Look) -> None:
        """look: reads what can only be read by waiting."""
        self._metrics = metrics
        self._look = look

    async def show(self, exchange: Exchange) -> None:
        await self._look()
        await exchange.respond(200, self._metrics.expose(), CONTENT_TYPE)
