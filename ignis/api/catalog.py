"""The routes of the catalog: what can be fetched, a download's start and its stop. Ids only, never an address."""

from collections.abc import Awaitable, Callable

import msgspec
import trio

from ignis.api.body import read_body
from ignis.api.progress import progress_of
from ignis.api.schema.models import CatalogEntry, DownloadRequest, ModelCatalog
from ignis.downloads import Downloads
from ignis.exchange import Exchange

CheckNeed = Callable[[str, int, str], Awaitable[None]]

PREFIX = "/v1/models/download/"
_ACCEPTED = 202


class CatalogRoutes:
    """The endpoints."""

    def __init__(self, downloads: Downloads, check_need: CheckNeed, max_body_bytes: int) -> None:
        """check_need: refuses a model, by its name, that takes more bytes than there could be for its family."""
        self._downloads = downloads
        self._check_need = check_need
        self._max_body_bytes = max_body_bytes

    async def show(self, exchange: Exchange) -> None:
        entries = await trio.to_thread.run_sync(self._entries, abandon_on_cancel=True)
        body = ModelCatalog(object="list", data=entries, can_download=self._downloads.is_enabled)
        await exchange.respond(200, msgspec.json.encode(body))

    async def start(self, exchange: Exchange) -> None:
        read = await read_body(exchange, self._max_body_bytes, DownloadRequest)
        entry = self._downloads.entry(read.fields.model)
        if self._downloads.is_enabled:
            await self._check_need(entry.id, entry.least_bytes, entry.architecture)
        download = self._downloads.start(entry.id)
        await exchange.respond(_ACCEPTED, msgspec.json.encode(progress_of(download)), headers=read.headers)

    async def stop(self, exchange: Exchange) -> None:
        download = self._downloads.stop(exchange.path.removeprefix(PREFIX))
        await exchange.respond(_ACCEPTED, msgspec.json.encode(progress_of(download)))

    def _entries(self) -> list[CatalogEntry]:
        """Looks at the disk, so it blocks."""
        catalog, known = self._downloads.catalog, dict(self._downloads.known)
        return [
            CatalogEntry(
                id=entry.id,
                object="model",
                title=entry.title,
                size_bytes=entry.size_bytes,
                presence=entry.presence(self._downloads.folder).value,
                is_verified=entry.is_verified(self._downloads.folder),
                origin=entry.origin,
                is_default=entry.id == catalog.default,
                licence=entry.licence,
                architecture=entry.architecture,
                format=entry.format,
                parameters=entry.parameters,
                context_tokens=entry.context_tokens,
                needs_bytes=entry.needs_bytes,
                download=progress_of(known[entry.id]) if entry.id in known else None,
            )
            for entry in catalog.models.values()
        ]
