"""The settings of a server that nobody configured, with what a test changes."""

from dataclasses import replace
from typing import Any

from ignis.config_fields import ConfigFields
from ignis.engine.settings import EngineSettings
from ignis.server.limits import ServerLimits


def server_limits(**changes: Any) -> ServerLimits:
    return replace(ServerLimits.from_config(ConfigFields().server), **changes)


def engine_settings(**changes: Any) -> EngineSettings:
    return replace(EngineSettings.from_config(ConfigFields()), **changes)
