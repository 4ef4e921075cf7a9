"""The downloads that a running server makes, of its catalog's models alone. Loads none.

One task each, its work in a thread; whoever asks for a model that is on its way joins it. What they come to is kept by
id until the next download of that model.
"""

import enum
import math
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import trio

from ignis.catalog import Catalog, CatalogModel
from ignis.clock import Clock, monotonic_s
from ignis.config_fields import DownloadConfig
from ignis.errors import DownloadDisabledError, DownloadNotFoundError, IgnisError, ModelNotFoundError
from ignis.fetching import fetch_model
from ignis.halt import STOPPED, Halt, StoppedError
from ignis.log import Log
from ignis.metrics import Metrics
from ignis.pinned import Progress
from ignis.progress import Rate

_AT_ONCE = 2
"""Models; each brings several files at once. More would only share the line."""
_MAX_TOLD = 5


class DownloadState(enum.Enum):
    WAITING = "waiting"
    """For one of those before it to end."""
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    STOPPED = "stopped"


_OVER = frozenset({DownloadState.COMPLETE, DownloadState.FAILED, DownloadState.STOPPED})


@dataclass(slots=True)
class Download:
    """One of them. Written by its thread, read by the event loop: each field by itself is right."""

    entry: CatalogModel
    state: DownloadState = DownloadState.WAITING
    done_bytes: int = 0
    total_bytes: int = 0
    rate: Rate | None = None
    """Once it runs; of what it brings itself."""
    growth: Rate | None = None
    """Likewise, of what is here, whoever brings it: another process may, which is waited for."""
    reason: str = ""
    """Why it failed, or waits just now."""
    error: IgnisError | None = None
    path: Path | None = None
    """What is loaded, once it is complete."""
    halt: Halt = field(default_factory=Halt)
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    over: trio.Event = field(default_factory=trio.Event)

    @property
    def is_over(self) -> bool:
        return self.state in _OVER

    @property
    def bytes_per_second(self) -> float:
        return 0.0 if self.rate is None or self.is_over else self.rate.now()

    @property
    def seconds_left(self) -> float:
        """As far as one can tell; infinite where nothing moves."""
        rate = self.bytes_per_second or (0.0 if self.growth is None else self.growth.now())
        return max(0, self.total_bytes - self.done_bytes) / rate if rate else math.inf


class Downloads:
    """`run` is started once; without it nothing moves."""

    def __init__(
        self,
        catalog: Catalog,
        config: DownloadConfig,
        log: Log,
        metrics: Metrics,
        on_change: Callable[[], None] = lambda: None,
        clock: Clock = monotonic_s,
    ) -> None:
        """on_change: called in the event loop when one begins or ends; bytes come without telling."""
        self.catalog = catalog
        self.config = config
        """May be replaced; a download under way keeps its own."""
        self._log = log
        self._metrics = metrics
        self._on_change = on_change
        self._clock = clock
        self._known: dict[str, Download] = {}
        self._room = trio.CapacityLimiter(_AT_ONCE)
        metrics.read_gauge_from("ignis_model_disk_free_bytes", self._free_bytes)
        self._send, self._receive = trio.open_memory_channel[tuple[Download, Progress | None]](math.inf)

    @property
    def known(self) -> Mapping[str, Download]:
        """The latest of each model that has had one, by id."""
        return self._known

    @property
    def is_enabled(self) -> bool:
        """Whether clients may start one."""
        return self.config.enabled

    @property
    def folder(self) -> Path:
        """Where models lie."""
        return self.config.path

    def _free_bytes(self) -> int:
        """The folder itself may be made by the first download only."""
        place = next(place for place in (self.folder, *self.folder.absolute().parents) if os.path.exists(place))
        return shutil.disk_usage(place).free

    @property
    def is_moving(self) -> bool:
        return any(not download.is_over for download in self._known.values())

    async def run(self) -> None:
        """Runs them until it is cancelled; what has come then is kept for the next time."""
        try:
            async with trio.open_nursery() as nursery:
                async for download, progress in self._receive:
                    nursery.start_soon(self._run_one, download, progress)
        finally:
            for download in self._known.values():
                download.halt.stop()

    def entry(self, id: str) -> CatalogModel:
        """Raises ModelNotFoundError: the catalog has no such id, and nothing else is ever fetched."""
        entry = self.catalog.models.get(id)
        if entry is None:
            names = list(self.catalog.models)
            more = f" and {len(names) - _MAX_TOLD} more" if len(names) > _MAX_TOLD else ""
            raise ModelNotFoundError(
                f"the catalog has no model of that id; it has {', '.join(names[:_MAX_TOLD])}{more}"
            )
        return entry

    def start(self, id: str) -> Download:
        """Begins a download for a client, or joins the one under way.

        Raises:
            ModelNotFoundError: the catalog has no such id.
            DownloadDisabledError: the operator allows none.
        """
        entry = self.entry(id)
        if not self.is_enabled:
            raise DownloadDisabledError("download.enabled is false: models are put in place by the operator")
        return self._begin(entry, None)

    def stop(self, id: str) -> Download:
        """Stops a download; what has come is kept, and the next one goes on there.

        Raises:
            ModelNotFoundError: the catalog has no such id.
            DownloadNotFoundError: none is under way.
        """
        entry = self.entry(id)
        download = self._known.get(entry.id)
        if download is None or download.is_over:
            raise DownloadNotFoundError(f"no download of {entry.id} is under way")
        download.state = DownloadState.STOPPED
        # Its thread ends as soon as it sees it; nobody waits for that.
        download.halt.stop()
        download.scope.cancel()
        self._on_change()
        return download

    async def fetch(self, entry: CatalogModel, progress: Progress) -> Path:
        """Downloads a model, and waits for it; returns what is loaded.

        Raises:
            DownloadError, ModelFileError, ConfigError: as fetch_model.
        """
        download = self._begin(entry, progress)
        await download.over.wait()
        if download.path is None:
            assert download.error is not None
            raise download.error
        return download.path

    def _begin(self, entry: CatalogModel, progress: Progress | None) -> Download:
        current = self._known.get(entry.id)
        if current is not None and not current.is_over:
            return current
        # The thread of one that was stopped holds its file locked until it ends: the new one goes on there.
        download = Download(entry, total_bytes=entry.size_bytes)
        download.halt.on_wait = partial(self._note_wait, download)
        self._known[entry.id] = download
        self._send.send_nowait((download, progress))
        self._on_change()
        return download

    def _note_wait(self, download: Download, why: str) -> None:
        """Called in the download's threads."""
        download.reason = why
        self._log.emit("ignis.model.download_waits", id=download.entry.id, reason=why)

    async def _run_one(self, download: Download, progress: Progress | None) -> None:
        id = download.entry.id
        began_s = self._clock()
        with download.scope:
            try:
                async with self._room:
                    download.state = DownloadState.RUNNING
                    self._on_change()
                    download.rate = Rate(self._clock)
                    download.growth = Rate(self._clock)
                    note = Note(download, self._metrics, progress, download.rate, download.growth)
                    # Abandoned by a stop and by a shutdown: its part is gone on with by the next one.
                    download.path = await trio.to_thread.run_sync(
                        fetch_model, download.entry, self.config, note, download.halt, abandon_on_cancel=True
                    )
                    download.state, download.reason = DownloadState.COMPLETE, ""
            except StoppedError as error:
                # The thread saw the stop before its scope was cancelled.
                download.state, download.error = DownloadState.STOPPED, error
            except IgnisError as error:
                download.state, download.error, download.reason = DownloadState.FAILED, error, error.message
        if download.scope.cancelled_caught:
            download.error = StoppedError(STOPPED)
        duration_ms = round((self._clock() - began_s) * 1e3, 1)
        done_bytes, outcome = download.done_bytes, download.state.value
        self._metrics.count("ignis_model_downloads", label=outcome)
        self._log.emit(
            "ignis.model.download_ended",
            id=id,
            outcome=outcome,
            done_bytes=done_bytes,
            duration_ms=duration_ms,
            error=download.error if download.state is DownloadState.FAILED else None,
        )
        download.over.set()
        self._on_change()


@dataclass(slots=True)
class Note:
    """Progress that is noted, counted, and passed on. Called in the download's threads, one at a time."""

    download: Download
    metrics: Metrics
    progress: Progress | None
    rate: Rate
    growth: Rate
    came_bytes: int = 0

    def __call__(self, done_bytes: int, total_bytes: int, came_bytes: int) -> None:
        download = self.download
        download.done_bytes, download.total_bytes = done_bytes, total_bytes
        self.rate(came_bytes)
        self.growth(done_bytes)
        if came_bytes > self.came_bytes:
            self.metrics.count("ignis_model_download_bytes", came_bytes - self.came_bytes)
            self.came_bytes = came_bytes
            # What it waited for is over.
            download.reason = ""
        if self.progress is not None:
            self.progress(done_bytes, total_bytes, came_bytes)
