"""The models that ignis knows by name, and the way from a name to a verified file. Loads none."""

import os
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from ignis import bundle
from ignis.clock import Clock, monotonic_s
from ignis.config_fields import DownloadConfig, ModelConfig
from ignis.download import Progress, WantedFile, fetch, verified
from ignis.errors import ModelFileError
from ignis.package_index import IndexClient, index_settings, pip_files


@dataclass(frozen=True, slots=True)
class CatalogModel:
    """One entry of spec/catalog.toml. `sampling` holds what its authors recommend, by the API's field names."""

    id: str
    title: str
    licence: str
    parameters: int
    context_tokens: int
    wanted: WantedFile
    sampling: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Catalog:
    """All entries, and which of them is served when nobody names one."""

    default: str
    models: Mapping[str, CatalogModel]


def load_catalog() -> Catalog:
    """Reads the catalog that is shipped."""
    document = tomllib.loads(bundle.path("spec/catalog.toml").read_text(encoding="utf-8"))
    models = {}
    for entry in document["model"]:
        source = entry["source"]
        assert source["kind"] == "package-index", source
        models[entry["id"]] = CatalogModel(
            id=entry["id"],
            title=entry["title"],
            licence=entry["licence"],
            parameters=entry["parameters"],
            context_tokens=entry["context_tokens"],
            wanted=WantedFile(
                name=entry["file"],
                size_bytes=entry["size_bytes"],
                sha256=entry["sha256"],
                package=source["package"],
                version=source["version"],
                member=source["member"],
            ),
            sampling=entry.get("sampling", {}),
        )
    assert document["default"] in models
    return Catalog(document["default"], models)


@dataclass(frozen=True, slots=True)
class ModelSource:
    """What a server will load, and what the catalog says of it; None for a file or folder of the user's own."""

    path: Path
    entry: CatalogModel | None


def served_name(model: ModelConfig) -> str:
    """Returns the id that clients use, which is known before anything is fetched or opened.

    A model that nobody named is called what a person calls its file or folder, which a GGUF's own title is not.
    """
    if model.id is not None:
        return model.id
    if model.artifact is None:
        return load_catalog().default
    return model.artifact.stem if model.artifact.suffix == ".gguf" else model.artifact.resolve().name


def resolve_model(model: ModelConfig, download: DownloadConfig, progress: Progress) -> ModelSource:
    """Returns the file or folder that the configuration means, fetching the default model where it is allowed. Blocks.

    Raises:
        ModelFileError: what is there is not what it should be, or it is not there and may not be fetched.
        DownloadError: fetching failed.
    """
    if model.artifact is not None:
        if not os.path.exists(model.artifact):
            raise ModelFileError(
                f"{model.artifact} is not there; --model-artifact takes a GGUF file or a model's folder"
            )
        return ModelSource(model.artifact, None)
    catalog = load_catalog()
    entry = catalog.models[catalog.default]
    path = verified(entry.wanted, download.path)
    if path is None:
        if not download.enabled:
            raise ModelFileError(
                f"{entry.wanted.name} is not in {download.path} and download.enabled is false;"
                f" name another by --model-artifact, or fetch it with: ignis-server model fetch"
            )
        path = fetch_model(entry, download, progress)
    return ModelSource(path, entry)


def fetch_model(entry: CatalogModel, download: DownloadConfig, progress: Progress) -> Path:
    """Returns the entry's verified file, fetching it if it is not there. Blocks.

    Raises:
        ModelFileError: another file has its name.
        DownloadError: fetching failed.
    """
    settings = index_settings(download.package_index, os.environ, pip_files(os.environ, sys.prefix))
    return fetch(entry.wanted, download.path, IndexClient(settings), progress)


class ProgressReport:
    """Says how far a fetch has come: one line that is redrawn on a terminal, else a line every tenth of the way."""

    def __init__(self, title: str, output: TextIO, clock: Clock = monotonic_s) -> None:
        self._title = title
        self._output = output
        self._clock = clock
        self._started_s = clock()
        self._shown_s = float("-inf")
        self._shown_tenths = -1

    def __call__(self, done_bytes: int, total_bytes: int) -> None:
        now_s = self._clock()
        is_done = done_bytes == total_bytes
        if self._output.isatty():
            if now_s - self._shown_s >= 0.1 or is_done:
                self._shown_s = now_s
                self._output.write(f"\r\x1b[K{self._line(done_bytes, total_bytes, now_s)}" + ("\n" if is_done else ""))
                self._output.flush()
            return
        tenths = done_bytes * 10 // total_bytes if total_bytes else done_bytes >> 24
        if tenths != self._shown_tenths:
            self._shown_tenths = tenths
            self._output.write(self._line(done_bytes, total_bytes, now_s) + "\n")
            self._output.flush()

    def _line(self, done_bytes: int, total_bytes: int, now_s: float) -> str:
        rate = done_bytes / max(now_s - self._started_s, 1e-3)
        share = (
            f"{100 * done_bytes // total_bytes:3d} % of {total_bytes // 10**6} MB"
            if total_bytes
            else f"{done_bytes // 10**6} MB"
        )
        return f"fetching {self._title}: {share}, {rate / 1e6:.1f} MB/s"
