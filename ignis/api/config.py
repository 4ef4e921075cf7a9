"""The routes of the configuration: the fields, their values, where these came from, and their changes."""

import re

import msgspec

from ignis.api.body import read_json
from ignis.api.schema.config import (
    ConfigField,
    ConfigFieldList,
    ConfigGroup,
    ConfigOrigin,
    ConfigOrigins,
    ConfigPatched,
)
from ignis.api.schema.models import Switching
from ignis.config_fields import GROUP_TEXTS
from ignis.config_table import describe_fields, document_of, origins_of
from ignis.config_values import join_words
from ignis.errors import InvalidRequestError
from ignis.exchange import Exchange
from ignis.running import NO_FILE, RunningConfig

_ACCEPTED = 202
_FORMATS = ("json", "toml", "yaml")
_WAIT = re.compile(r"(?:^|[,;\s])wait=\"?(\d{1,6})")
_MOST_WAIT_S = 3600.0
_FIELDS = msgspec.json.encode(
    ConfigFieldList(
        object="list",
        data=msgspec.convert(describe_fields(), list[ConfigField]),
        groups=[ConfigGroup(name=name, description=text) for name, text in GROUP_TEXTS.items()],
    )
)


class ConfigRoutes:
    """The endpoints."""

    def __init__(self, running: RunningConfig, max_body_bytes: int) -> None:
        self._running = running
        self._max_body_bytes = max_body_bytes

    async def show(self, exchange: Exchange) -> None:
        style = exchange.query.get("format", "json")
        if style not in _FORMATS:
            raise InvalidRequestError(f"format must be {join_words(_FORMATS)}", "format")
        if style == "toml":
            text = await self._running.text()
            await exchange.respond(200, text.encode(), "application/toml")
            return
        document = document_of(self._running.config)
        if style == "yaml":
            await exchange.respond(200, msgspec.yaml.encode(document), "application/yaml")
            return
        await exchange.respond(200, msgspec.json.encode(document))

    async def patch(self, exchange: Exchange) -> None:
        document = await read_json(exchange, self._max_body_bytes)
        course = self._running.course
        before = course.home
        patch = await self._running.patch(document, _wait_s(exchange.headers.get("prefer", "")))
        change = patch.change
        assert change is not None
        if not patch.over.is_set():
            name = "" if before is None else before.name
            begun = ConfigPatched(
                applied="reload",
                persisted="no" if self._running.config.file is None else "after_reload",
                reason=NO_FILE if self._running.config.file is None else None,
                switching=Switching(before=name, to=name),
                restart_required=change.restart,
            )
            await exchange.respond(_ACCEPTED, msgspec.json.encode(begun))
            return
        persisted = patch.persisted
        is_restart = len(change.restart) == len(change.values)
        body = ConfigPatched(
            applied="reload" if patch.is_reload else "restart" if is_restart else "live",
            persisted="no" if persisted.path is None else "yes",
            path=persisted.path,
            reason=persisted.reason,
            restart_required=change.restart,
            config=document_of(self._running.config),
        )
        await exchange.respond(200, msgspec.json.encode(body))

    async def fields(self, exchange: Exchange) -> None:
        await exchange.respond(200, _FIELDS)

    async def origins(self, exchange: Exchange) -> None:
        config = self._running.config
        rows = msgspec.convert(origins_of(config, self._running.next_config), list[ConfigOrigin])
        self._note_context(rows)
        body = ConfigOrigins(
            object="list",
            data=rows,
            file=None if config.file is None else str(config.file),
            profile=config.layers.profile_name,
        )
        await exchange.respond(200, msgspec.json.encode(body))

    def _note_context(self, rows: list[ConfigOrigin]) -> None:
        """Says so where the loaded model has less context than is asked for."""
        config, model = self._running.config, self._running.course.model
        if model is None or model.family is None or config.of(model.family).model.max_context <= model.max_context:
            return
        by_key = {row.key: row for row in rows}
        row = by_key.get(f"model.{model.family}.max_context") or by_key["model.max_context"]
        row.in_force = model.max_context


def _wait_s(prefer: str) -> float:
    """Seconds that the client would wait for the outcome (RFC 7240, section 4.3); 0 where it does not say."""
    match = _WAIT.search(prefer.lower())
    return min(float(match[1]), _MOST_WAIT_S) if match else 0.0
