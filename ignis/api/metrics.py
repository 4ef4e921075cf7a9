"""GET /metrics on its own listener, and the same text at /ui/metrics behind the key for the page."""

from ignis.exchange import Exchange
from ignis.metrics import CONTENT_TYPE, Metrics


class MetricsPage:
    """The endpoint."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    async def show(self, exchange: Exchange) -> None:
        await exchange.respond(200, self._metrics.expose(), CONTENT_TYPE)
