"""The server's first model: found, or asked for and fetched, or explained where there is none. Loads nothing itself."""

import contextlib
import math
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import trio

from ignis.catalog import Catalog, CatalogModel
from ignis.config_fields import DownloadConfig, ModelConfig
from ignis.downloads import Downloads, DownloadState
from ignis.engine.keeper import ModelKeeper
from ignis.errors import IgnisError, ModelNotFoundError
from ignis.fetching import ModelSource, fetch_command, locate_model, served_name, wanted_entry
from ignis.halt import StoppedError
from ignis.log import Log
from ignis.models.local import LocalModel
from ignis.program import typed
from ignis.progress import ProgressReport
from ignis.terminal import ask, is_attended
from ignis.units import shown_file_size


class FirstModel:
    """`run` is started once, when the server listens."""

    def __init__(
        self,
        model: ModelConfig,
        download: DownloadConfig,
        catalog: Catalog,
        downloads: Downloads,
        keeper: ModelKeeper,
        log: Log,
        *,
        page: str | None,
        say: Callable[[str], None],
    ) -> None:
        """
        Args:
            page: where the Playground is; None where it is not served.
            say: prints a text for a person.
        """
        self._model = model
        self._download = download
        self._catalog = catalog
        self._downloads = downloads
        self._keeper = keeper
        self._log = log
        self._page = page
        self._say = say
        self._name = served_name(model)

    async def seek(self, name: str | None) -> None:
        """Has it loaded where a request means it, by its name or by none, and somebody has brought it meanwhile, by
        `model download` for one."""
        if name not in (None, self._name):
            return
        # What is wrong with it was told at the start, and is told to the request.
        with contextlib.suppress(IgnisError):
            source = await self._locate()
            if source.path is not None and not self._is_served_otherwise():
                self._start(source, source.path)

    async def run(self) -> None:
        """Has it loaded, as soon as it is here."""
        try:
            source = await self._locate()
        except IgnisError as error:
            self._fail(error, wanted_entry(self._model, self._catalog))
            return
        path = source.path
        if path is None:
            assert source.entry is not None
            path = await self._have(source.entry)
        if path is not None:
            self._start(source, path)

    async def _locate(self) -> ModelSource:
        return await trio.to_thread.run_sync(
            locate_model,
            self._model,
            self._download,
            self._catalog,
            lambda name: self._keeper.models.find(name).path,
            abandon_on_cancel=True,
        )

    def _start(self, source: ModelSource, path: Path) -> None:
        sampling = {} if source.entry is None else source.entry.sampling
        self._keeper.start_with(LocalModel(self._name, path, sampling))

    async def _have(self, entry: CatalogModel) -> Path | None:
        """Fetches it, where nobody at a terminal is against it, or waits until somebody else has. None: another model
        was loaded meanwhile."""
        try:
            await self._keeper.check_need(entry.id, entry.least_bytes, entry.architecture)
        except IgnisError as error:
            self._fail(error, None)
            return None
        if is_attended() and not await self._is_agreed(entry):
            if self._is_served_otherwise():
                return None
            self._log.emit("ignis.model.none_yet", id=self._name)
            self._say(self._ways("There is no model yet, and none is fetched.", entry))
            return await self._fetched(entry)
        self._expect(entry)
        self._say(
            f"There is no model in {self._download.path} yet: {_told(entry)} is fetched from {entry.origin}, and "
            "serves as soon as it is here. With --download-enabled false nothing is fetched at a start."
        )
        try:
            progress = ProgressReport(entry.id, sys.stderr, partial(self._tell_progress, entry.id))
            return await self._downloads.fetch(entry, progress)
        except IgnisError as error:
            self._miss(entry, error)
            return await self._fetched(entry)

    def _tell_progress(self, id: str, done_bytes: int, total_bytes: int, bytes_per_second: int) -> None:
        self._log.emit(
            "ignis.model.download_progress",
            id=id,
            done_bytes=done_bytes,
            total_bytes=total_bytes,
            bytes_per_second=bytes_per_second,
        )

    def _expect(self, entry: CatalogModel) -> None:
        """Has requests for it held, as long as its download lasts."""

        def seconds_left() -> float:
            download = self._downloads.known.get(entry.id)
            return math.inf if download is None else download.seconds_left

        self._keeper.expect(self._name, seconds_left)

    def _miss(self, entry: CatalogModel, error: IgnisError) -> None:
        """It was not fetched."""
        if not isinstance(error, StoppedError):
            self._fail(error, entry)
            return
        self._log.emit("ignis.model.none_yet", id=self._name)
        self._keeper.have_none(f"there is no model yet: the download of {entry.id} was stopped")
        self._say(self._ways("There is no model yet: the download was stopped.", entry))

    async def _is_agreed(self, entry: CatalogModel) -> bool:
        """Asks; whoever starts the download in the page meanwhile has answered for the terminal too."""
        self._keeper.have_none(f"there is no model yet: {entry.id} is not fetched")
        is_wanted = False

        async def hear() -> None:
            nonlocal is_wanted
            is_wanted = await ask(f"There is no model in {self._download.path} yet. Fetch {_told(entry)}?")
            questions.cancel_scope.cancel()

        async with trio.open_nursery() as questions:
            questions.start_soon(hear)
            while entry.id not in self._downloads.known and not self._is_served_otherwise():
                await self._keeper.course.wait_change()
            is_wanted = entry.id in self._downloads.known
            self._say("")
            questions.cancel_scope.cancel()
        return is_wanted

    def _is_served_otherwise(self) -> bool:
        """Somebody named a model that is here."""
        return self._keeper.course.next_one() is not None

    async def _fetched(self, entry: CatalogModel) -> Path:
        """Waits for somebody else's download of it, whatever serves meanwhile."""
        course = self._keeper.course
        while True:
            download = self._downloads.known.get(entry.id)
            is_moving = download is not None and not download.is_over
            if download is not None and download.path is not None and download.state is DownloadState.COMPLETE:
                return download.path
            if is_moving and course.expected is None:
                self._expect(entry)
            elif download is not None and not is_moving and course.expected is not None:
                # Its task has yet to say why, where it was stopped just now.
                await download.over.wait()
                assert download.error is not None
                self._miss(entry, download.error)
            else:
                await course.wait_change()

    def _fail(self, error: IgnisError, entry: CatalogModel | None) -> None:
        logged = told = error.message
        if entry is not None and not self._download.enabled:
            logged += f"; in a shell this fetches it: {fetch_command(entry, self._download)}"
            # What a client reads has no paths of this machine, and a command without its paths is another one.
            told += "; the server's log has the command that fetches it"
        self._log.emit("ignis.model.load_failed", id=self._name, error=logged)
        self._keeper.fail_start(told)
        if isinstance(error, ModelNotFoundError):
            # Nothing to end the server by: others are here, and this one may be brought while it runs.
            before = (
                f"No model is loaded: {error.message}.\nThe server stays up: it serves others by their names, and "
                f"{self._name} as soon as it is in {self._download.path}."
            )
        else:
            before = f"There is no model: {error.message}."
        self._say(self._ways(before, entry))

    def _ways(self, before: str, entry: CatalogModel | None) -> str:
        """Says how a model is to be had. entry: which one can be fetched, if any. A command has a line of its own, so
        that it can be pasted."""
        lines = [before]
        if self._page is not None and self._downloads.is_enabled:
            lines.append(f"  In the page: {self._page}")
        if entry is not None:
            lines.append("  In a shell, and the next request has it loaded:")
            lines.append(f"    {fetch_command(entry, self._download)}")
        lines.append("  Of your own, a GGUF file or a model's folder, once this server has ended:")
        lines.append(f"    {typed()} --model-artifact model.gguf")
        return "\n".join(lines)


def _told(entry: CatalogModel) -> str:
    licence = f", {entry.licence}" if entry.licence else ""
    return f"{entry.title} ({shown_file_size(entry.size_bytes)}{licence})"
