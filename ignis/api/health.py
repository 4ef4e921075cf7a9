"""GET /health: 200 while requests are served, or would be once their model is back; else 503 and why. Needs no key."""

import msgspec

from ignis.api.schema.models import Health as HealthBody
from ignis.api.serving import Serving
from ignis.errors import ServerNotReadyError
from ignis.exchange import Exchange


class Health:
    """The endpoint."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving

    async def show(self, exchange: Exchange) -> None:
        name = self._serving.ready()
        if not self._serving.is_alive:
            # The event loop answers, so a check of the listener alone would see nothing.
            raise ServerNotReadyError("the step loop of the engine is stuck")
        await exchange.respond(200, msgspec.json.encode(HealthBody(model=name)))
