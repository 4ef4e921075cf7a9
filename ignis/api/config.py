"""The routes of the configuration: the fields, their values, where these came from, and their changes."""

import msgspec

from ignis.api.schema.config import ConfigField, ConfigFieldList, ConfigGroup, ConfigOrigin, ConfigOrigins
from ignis.config_fields import GROUP_TEXTS
from ignis.config_table import describe_fields, document_of, origins_of
from ignis.exchange import Exchange
from ignis.running import RunningConfig

_FIELDS = msgspec.json.encode(
    ConfigFieldList(
        object="list",
        data=msgspec.convert(describe_fields(), list[ConfigField]),
        groups=[ConfigGroup(name=name, description=text) for name, text in GROUP_TEXTS.items()],
    )
)


class ConfigRoutes:
    """The endpoints."""

    def __init__(self, running: RunningConfig) -> None:
        self._running = running

    async def show(self, exchange: Exchange) -> None:
        await exchange.respond(200, msgspec.json.encode(document_of(self._running.config)))

    async def fields(self, exchange: Exchange) -> None:
        await exchange.respond(200, _FIELDS)

    async def origins(self, exchange: Exchange) -> None:
        config = self._running.config
        body = ConfigOrigins(
            object="list",
            data=msgspec.convert(origins_of(config), list[ConfigOrigin]),
            file=None if config.file is None else str(config.file),
            profile=config.layers.profile_name,
        )
        await exchange.respond(200, msgspec.json.encode(body))
