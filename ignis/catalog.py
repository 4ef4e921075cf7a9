"""The models that ignis knows by name: what is shipped, and the operator's own file. Fetches and loads none."""

import contextlib
import enum
import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import msgspec

from ignis import bundle
from ignis.config_fields import FIELDS, Kind
from ignis.config_values import rule
from ignis.download import WantedFile
from ignis.errors import ConfigError
from ignis.hub import HubFile, is_repository
from ignis.pinned import known_to_differ, verified, was_right
from ignis.regular_file import read_regular

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
"""Of an id and of a file: it is one part of a path, and no hidden one."""
_LIMIT_BYTES = 16 << 20
_OWN_ENDINGS = (".part", ".verified", ".wheel")
"""Of files that a download writes beside the ones that are wanted."""

_SAMPLING = {field.name: field for field in FIELDS if field.group == "sampling"}

_Name = Annotated[str, msgspec.Meta(min_length=1)]
_Count = Annotated[int, msgspec.Meta(ge=1, le=2**53)]
"""Every reader of JSON has it whole."""


class Presence(enum.Enum):
    """What of a model is on the disk."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    ABSENT = "absent"
    FOREIGN = "foreign"
    """A file of its name is another one, or no file."""
    UNREADABLE = "unreadable"
    """The server may not look into its folder."""


@dataclass(frozen=True, slots=True)
class CatalogModel:
    """One entry. `sampling` holds what its authors recommend, by the API's field names."""

    id: str
    files: tuple[WantedFile | HubFile, ...]
    artifact: str | None = None
    """The file that is loaded; None: the folder."""
    title: str = ""
    licence: str = ""
    architecture: str = ""
    format: str = ""
    parameters: int | None = None
    context_tokens: int | None = None
    needs_bytes: int | None = None
    sampling: Mapping[str, float] = field(default_factory=dict)
    is_built_in: bool = True

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)

    @property
    def least_bytes(self) -> int:
        """Memory that a load takes at least: as the entry says, else what its files have."""
        return self.needs_bytes or self.size_bytes

    @property
    def origin(self) -> str:
        """Where it comes from, as a person writes it."""
        first = self.files[0]
        return f"{first.repo}@{first.revision}" if isinstance(first, HubFile) else f"{first.package} {first.version}"

    def folder(self, models: Path) -> Path:
        """Where its files lie: a single one among the others, several in a folder of their own."""
        return models if len(self.files) == 1 else models / self.id

    def path(self, models: Path) -> Path:
        """What is loaded."""
        folder = self.folder(models)
        return folder if self.artifact is None else folder / self.artifact

    def verified(self, models: Path) -> Path | None:
        """Returns what is loaded, None while a file is missing. Hashes what was not hashed yet.

        Raises:
            ModelFileError: a file of the entry's name is another one, or cannot be read.
        """
        folder = self.folder(models)
        # All, that one which is wrong is told though another is missing.
        is_here = [verified(file, folder) is not None for file in self.files]
        return self.path(models) if all(is_here) else None

    def presence(self, models: Path) -> Presence:
        """Says what of it is on the disk, by names, sizes, and the digest of what was hashed. Hashes nothing."""
        folder, num_whole, is_begun = self.folder(models), 0, False
        for file in self.files:
            try:
                if known_to_differ(file, folder) is not None:
                    return Presence.FOREIGN
                num_whole += 1
            except (FileNotFoundError, NotADirectoryError):
                is_begun |= any((folder / f"{file.name}{end}").exists() for end in (".part", ".wheel.part"))
            except OSError:
                # One model's folder is no reason to tell nothing of the others.
                return Presence.UNREADABLE
        if num_whole == len(self.files):
            return Presence.COMPLETE
        return Presence.PARTIAL if num_whole or is_begun else Presence.ABSENT

    def is_verified(self, models: Path) -> bool:
        """Whether all of it is on the disk, and was hashed as it is now, and right. Hashes nothing."""
        return all(was_right(file, self.folder(models)) for file in self.files)

    def foreign(self, models: Path) -> str:
        """Says which file has the name of one and is another; nothing where `presence` knows of none."""
        for file in self.files:
            with contextlib.suppress(OSError):
                other = known_to_differ(file, self.folder(models))
                if other is not None:
                    return f"{file.name} {other}"
        return ""

    def lacking(self, models: Path) -> list[str]:
        """The files that are not there, by name."""
        return [file.name for file in self.files if not os.path.exists(self.folder(models) / file.name)]


@dataclass(frozen=True, slots=True)
class Catalog:
    """All entries, and which of them is served when nobody names one."""

    default: str
    models: Mapping[str, CatalogModel]


class _File(msgspec.Struct, forbid_unknown_fields=True):
    name: _Name
    bytes: _Count
    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-fA-F]{64}$")]


class _Wheel(msgspec.Struct, forbid_unknown_fields=True):
    package: _Name
    version: _Name
    member: _Name


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    id: _Name
    files: Annotated[list[_File], msgspec.Meta(min_length=1)]
    repo: str | None = None
    revision: str | None = None
    source: _Wheel | None = None
    artifact: str | None = None
    title: str = ""
    licence: str = ""
    architecture: str = ""
    format: str = ""
    parameters: _Count | None = None
    context_tokens: _Count | None = None
    needs_bytes: _Count | None = None
    sampling: dict[str, float] = {}


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    model: list[_Entry]
    default: str | None = None


def load_catalog(operator_file: Path | None = None) -> Catalog:
    """Reads the catalog that is shipped, and the operator's beside it.

    Raises:
        ConfigError: the operator's file cannot be read, or is no catalog.
    """
    shipped = _read(bundle.path("spec/catalog.toml"))
    assert shipped.default is not None
    models: dict[str, CatalogModel] = {}
    _add(models, shipped.model, is_built_in=True)
    if operator_file is not None:
        try:
            document = _read(operator_file)
            if document.default is not None:
                raise ValueError("default: only the built-in catalog has one; the model is named by --model-id")
            _add(models, document.model, is_built_in=False)
        except RecursionError as error:
            raise ConfigError(f"the catalog {operator_file}: it is nested too deeply", "download.catalog") from error
        except OSError as error:
            raise ConfigError(f"the catalog {operator_file}: {error.strerror or error}", "download.catalog") from error
        except (ValueError, msgspec.MsgspecError) as error:
            raise ConfigError(f"the catalog {operator_file}: {error}", "download.catalog") from error
    assert shipped.default in models
    return Catalog(shipped.default, models)


def _read(file: Path) -> _Document:
    content = read_regular(file, _LIMIT_BYTES)
    document: Any
    match file.suffix.lower():
        case ".toml":
            document = tomllib.loads(content.decode("utf-8-sig"))
        case ".json":
            document = json.loads(content)
        case ".yaml" | ".yml":
            document = msgspec.yaml.decode(content)
        case _:
            raise ValueError("its name must end in .toml, .yaml, .yml or .json")
    return msgspec.convert(document, _Document)


def _add(models: dict[str, CatalogModel], entries: Iterable[_Entry], *, is_built_in: bool) -> None:
    """Raises ValueError when an entry contradicts itself, or another one, or says what no model has."""
    ids = {id.lower() for id in models}
    # Where each file will lie: two entries may share one, but not have two of one place.
    places = {_place(model, file.name): file.sha256 for model in models.values() for file in model.files}
    for entry in entries:
        where = f"the entry {entry.id!r}"
        if not _NAME.fullmatch(entry.id) or entry.id.endswith(_OWN_ENDINGS):
            raise ValueError(f"{where}: an id is letters, digits, '.', '_' and '-', and begins with a letter or digit")
        if entry.id.lower() in ids:
            raise ValueError(f"{where}: there is another of that id")
        ids.add(entry.id.lower())
        if not all(map(str.isprintable, (entry.title, entry.licence, entry.architecture, entry.format))):
            raise ValueError(f"{where}: has characters that cannot be printed")
        _check_sampling(entry, where)
        model = CatalogModel(
            id=entry.id,
            files=tuple(_pinned(entry, file, where) for file in entry.files),
            artifact=_artifact(entry, where),
            title=entry.title or entry.id,
            licence=entry.licence,
            architecture=entry.architecture,
            format=entry.format,
            parameters=entry.parameters,
            context_tokens=entry.context_tokens,
            needs_bytes=entry.needs_bytes,
            sampling=entry.sampling,
            is_built_in=is_built_in,
        )
        if len({file.name.lower() for file in model.files}) != len(model.files):
            raise ValueError(f"{where}: two of its files have one name")
        for pinned in model.files:
            if places.setdefault(_place(model, pinned.name), pinned.sha256) != pinned.sha256:
                raise ValueError(f"{where}: another entry has a file {pinned.name!r} with another content")
        models[entry.id] = model


def _check_sampling(entry: _Entry, where: str) -> None:
    """Raises ValueError where something recommended is not what a configuration may have."""
    for name, value in entry.sampling.items():
        field = _SAMPLING.get(name)
        if field is None:
            raise ValueError(f"{where}: there is no sampling.{name}; there are {', '.join(_SAMPLING)}")
        # Not-a-number is in no range.
        is_in_range = (field.minimum or 0) <= value <= (field.maximum or 0)
        if not is_in_range or (field.kind is Kind.INTEGER and not value.is_integer()):
            raise ValueError(f"{where}: sampling.{name} {value:g}: must be {rule(field)}")


def _place(model: CatalogModel, name: str) -> str:
    return str(model.folder(Path()) / name).lower()


def _pinned(entry: _Entry, file: _File, where: str) -> WantedFile | HubFile:
    if not _NAME.fullmatch(file.name) or file.name.lower().endswith(_OWN_ENDINGS):
        raise ValueError(f"{where}: the file name {file.name!r} must be plain: no folders, not hidden")
    if entry.source is not None:
        if entry.repo is not None or entry.revision is not None:
            raise ValueError(f"{where}: has a repo and a source; one of them is meant")
        if len(entry.files) != 1:
            raise ValueError(f"{where}: a package index gives one file, not {len(entry.files)}")
        source = entry.source
        digest = file.sha256.lower()
        return WantedFile(file.name, file.bytes, digest, source.package, source.version, source.member)
    if entry.repo is None or not is_repository(entry.repo):
        raise ValueError(f"{where}: repo must be owner/name")
    if not entry.revision or not entry.revision.isprintable():
        raise ValueError(f"{where}: revision must name a commit, a tag or a branch")
    return HubFile(file.name, file.bytes, file.sha256.lower(), entry.repo, entry.revision)


def _artifact(entry: _Entry, where: str) -> str | None:
    names = [file.name for file in entry.files]
    if entry.artifact is not None:
        if entry.artifact not in names:
            raise ValueError(f"{where}: its artifact {entry.artifact!r} is none of its files")
        return entry.artifact
    return names[0] if len(names) == 1 else None
