"""The models that are on this machine, by name. Opens none; looks for them again whenever it is asked.

A name is the stem of a GGUF file, of a split one without its part number, or the name of a folder with `config.json`
and safetensors. Where several have one name, the first counts of: what the server was started on, what the operator
named, the catalog's, what lies in the models' folder: the shallower before the deeper, and there a GGUF file before a
folder. A name of the catalog's means its files and no others, be they here or not. Whatever has no name then is called
by its place below that folder, `sub/model.gguf` or `sub/model/`, by which all others can be called too. What lies too
deep, or comes after too much else, is not listed, but told.
"""

import difflib
import errno
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ignis.errors import ModelNotFoundError
from ignis.models.files import shown
from ignis.models.gguf_parts import PROJECTOR, checkpoint_stem, first_part, is_later_part, series
from ignis.models.hf_folder import CONFIG, INDEX, WEIGHTS

_DEPTH = 4
"""Of folders that are looked into: the models' own, a hub's owner, its repository, and a folder of that."""
_MAX_ENTRIES = 10_000
"""After so many no further folder is looked into; one is always read whole."""
_MAX_TOLD = 5
_CLOSE = 0.8
"""Of difflib's ratio: a slip of a name, and not another one of the same family."""
_MAX_COMPARED, _MAX_COMPARED_CHARACTERS = 1000, 200
_GGUF, _SAFETENSORS = ".gguf", ".safetensors"
_SHARD = re.compile(r"model-\d{5}-of-\d{5}\.safetensors")
"""As an index's shards are called."""


OnUnreadable = Callable[[Path, OSError], None]
Seen = tuple[int, int, str, int]
"""What `measured` has found of a model: its size_bytes, modified_unix_s, format and changed_ns."""


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model that can be loaded."""

    name: str
    """The id that clients use and read."""
    path: Path
    sampling: Mapping[str, float] = field(default_factory=dict)
    """What its authors recommend, where somebody knows it who is not its files."""
    seen: Seen | None = field(default=None, compare=False, repr=False)
    """None: whoever asks has the disk looked at."""

    @property
    def format(self) -> str:
        if self.seen is not None:
            return self.seen[2]
        if self.path.suffix == _GGUF:
            return "GGUF"
        return "GGUF" if any(file.name.endswith(_GGUF) for file in _folder_weights(self.path)) else "safetensors"

    def size_bytes(self) -> int:
        """Of its weights' files; 0 where they are gone."""
        if self.seen is not None:
            return self.seen[0]
        if self.path.suffix != _GGUF:
            return sum(map(_size_bytes, _folder_weights(self.path)))
        return _sizes_by_series(self.path.parent).get(series(self.path), 0)

    def modified_unix_s(self) -> int:
        if self.seen is not None:
            return self.seen[1]
        try:
            return int(self.path.stat().st_mtime)
        except OSError:
            return 0

    def changed_ns(self) -> int:
        """When the latest of its files was written, a folder's others beside the weights too: what was read of them
        then may be another now."""
        if self.seen is not None:
            return self.seen[3]
        inside = [] if self.path.suffix == _GGUF else _listed(self.path)
        return max(_written_ns(self.path), max(map(_written_ns, inside), default=0))


@dataclass(frozen=True, slots=True)
class Claim:
    """A name that means one model alone, where that is not here as it should be: no other is called so."""

    name: str
    path: Path
    """Where it would lie."""
    reason: str = ""
    """What is wrong with what lies there, if anything does."""
    is_begun: bool = False
    """What lies there is a part of it, and no model of its own."""


class LocalModels:
    """The registry. `find` and `all` read folders, so they block."""

    def __init__(
        self,
        folder: Path,
        named: Iterable[LocalModel] = (),
        others: Callable[[], Iterable[LocalModel | Claim]] = tuple,
        on_unreadable: OnUnreadable = lambda _folder, _error: None,
    ) -> None:
        """
        Args:
            named: by the operator.
            others: what somebody else knows to be on the disk, or has names for, the catalog for one.
            on_unreadable: called, in the thread of whoever looks, when something is found to be left out, with why; of
                what stays so once.
        """
        self._folder = folder
        self.named: Sequence[LocalModel] = tuple(named)
        self._others = others
        self._started: LocalModel | None = None
        self._on_unreadable = on_unreadable
        self._unreadable: Mapping[Path, OSError] = {}

    def start_with(self, model: LocalModel) -> None:
        """Makes the model that the server was started on known, before all others."""
        self._started = model

    def all(self) -> list[LocalModel]:
        """Every model once, though it may have several names."""
        return _once(self._known(self._in_folder())[0].values())

    def there(self) -> list[LocalModel]:
        """As `all`, measured, and without what an operator named and is gone."""
        return measured(model for model in self.all() if os.path.exists(model.path))

    @property
    def unreadable(self) -> Sequence[str]:
        """What was left out when last looked: folders that cannot be read, lie too deep or come after too much else,
        and models whose name is no text or ends in capitals; from the models' folder's own name on."""
        above = self._folder.absolute().parent
        names = (str(folder.absolute().relative_to(above)) for folder in self._unreadable)
        return tuple(readable(name) for name in names)

    def find(self, name: str) -> LocalModel:
        """Returns the model of that name. Of several names of one model, the first is the one that clients read.

        Raises:
            ModelNotFoundError: there is none, or its file is gone.
        """
        in_folder = self._in_folder()
        known, claims = self._known(in_folder)
        model = known.get(name)
        if model is None:
            self._check_claims(name, claims, known)
            # Its place, or its file's own name, for whoever copies it from a listing.
            begun = _begun(claims)
            whole = (other for other in in_folder if _real(other.path) not in begun)
            model = next((other for other in whole if name in self._other_names(other)), None)
        if model is None:
            there = [other for other in _once(known.values()) if os.path.exists(other.path)]
            inside = [other.name for other in there if other.path.suffix == _GGUF and other.path.parent.name == name]
            if inside:
                raise ModelNotFoundError(f"the model {shown(name)} is not known here; of that folder {_told(inside)}")
            self._check_whole(name)
            names = [other.name for other in there]
            raise ModelNotFoundError(f"the model {shown(name)} is not known here; {_told(names)}{_meant(name, names)}")
        if not os.path.exists(model.path):
            raise ModelNotFoundError(f"the model {shown(name)} is known here, but {shown(model.path.name)} is gone")
        real = _real(model.path)
        return next((other for other in known.values() if _real(other.path) == real), model)

    def _other_names(self, model: LocalModel) -> tuple[str, ...]:
        place = self._place_of(model)
        return model.path.name, place, place.rstrip("/")

    def _check_claims(self, name: str, claims: Mapping[str, Claim], known: Mapping[str, LocalModel]) -> None:
        """Raises ModelNotFoundError where the name is of a model that something is wrong with, or that another one of
        that name is not."""
        claim = claims.get(name)
        if claim is None:
            return
        others = [other.name for other in _once(known.values()) if self._is_called(other, name)]
        hint = f"; {shown(', '.join(others[:_MAX_TOLD]))} can be named" if others else ""
        if claim.reason:
            raise ModelNotFoundError(f"the model {shown(name)} is not here as the catalog has it: {claim.reason}{hint}")
        if others:
            raise ModelNotFoundError(f"the model {shown(name)} is the catalog's, and not here{hint}")

    def _is_called(self, model: LocalModel, name: str) -> bool:
        """Whether it would have that name, were it nobody else's."""
        stem = checkpoint_stem(model.path) if model.path.suffix == _GGUF else model.path.name
        return stem == name and model.path.is_relative_to(self._folder)

    def _check_whole(self, name: str) -> None:
        """Raises ModelNotFoundError where a file or folder of that name would be a model, if it were called as it
        should be, or had all files."""
        for folder, entries in self._folders():
            names = {entry.name for entry in entries}
            is_named = folder.name == name and folder != self._folder
            if is_named and (CONFIG in names or any(file.endswith(_SAFETENSORS) for file in names)):
                lacks = f"no {_SAFETENSORS} file" if CONFIG in names else f"no {CONFIG}"
                raise ModelNotFoundError(f"the model {shown(name)} is not whole: its folder has {lacks}")
            for path in (folder / file for file in sorted(names)):
                if _has_other_case(path.name) and (is_named or name in (path.stem, path.name)):
                    raise ModelNotFoundError(
                        f"the model {shown(name)} is not known here: {shown(path.name)} has to end in {_GGUF}"
                    )
                if is_later_part(path) and (is_named or name in (checkpoint_stem(path), path.name)):
                    first = first_part(path).name
                    if first not in names:
                        raise ModelNotFoundError(f"the model {shown(name)} is not whole: {shown(first)} is missing")

    def _folders(self) -> Iterator[tuple[Path, list[os.DirEntry[str]]]]:
        """Every folder that models are looked for in, or may be one, with what it holds."""
        level, num_seen = [self._folder], 0
        for _ in range(_DEPTH + 1):
            below: list[Path] = []
            for folder in level:
                entries = _listed(folder)
                yield folder, entries
                num_seen += len(entries)
                below += (folder / entry.name for entry in entries if _is_looked_into(entry))
            if num_seen > _MAX_ENTRIES:
                return
            level = sorted(below)

    def _known(self, in_folder: Iterable[LocalModel]) -> tuple[dict[str, LocalModel], dict[str, Claim]]:
        """The models by name, and the names that are none's."""
        known: dict[str, LocalModel] = {}
        claims: dict[str, Claim] = {}
        started = () if self._started is None else (self._started,)
        for meant in (*started, *self.named, *self._others()):
            if isinstance(meant, LocalModel):
                known.setdefault(meant.name, meant)
            else:
                claims[meant.name] = meant
        begun = _begun(claims)
        for model in in_folder:
            if _real(model.path) in begun:
                continue
            other = known.get(model.name) if model.name in claims else known.setdefault(model.name, model)
            if other is None or (other is not model and _real(other.path) != _real(model.path)):
                # The name is another's: this one has its place for a name.
                known.setdefault(self._place_of(model), replace(model, name=self._place_of(model)))
        return known, claims

    def _place_of(self, model: LocalModel) -> str:
        """Where it lies below the models' folder; a folder's place ends with a slash, so that it is no other's name."""
        return model.path.relative_to(self._folder).as_posix() + ("" if model.path.suffix == _GGUF else "/")

    def _in_folder(self) -> list[LocalModel]:
        """What lies in the folder: level by level, on each level GGUF files first, then in the order of names."""
        found: list[LocalModel] = []
        unreadable: dict[Path, OSError] = {}
        level, num_seen = {self._folder: _sorted(self._folder, unreadable)}, 0
        for depth in range(1, _DEPTH + 1):
            below: dict[Path, list[os.DirEntry[str]]] = {}
            folders: list[LocalModel] = []
            for folder, entries in level.items():
                if num_seen > _MAX_ENTRIES:
                    why = f"{_MAX_ENTRIES} files and folders come before it; it and all after it are left out"
                    unreadable[folder] = OSError(errno.E2BIG, why)
                    return self._noted(found, unreadable)
                num_seen += len(entries)
                for entry in entries:
                    path = folder / entry.name
                    if _is_model_file(entry):
                        if not is_later_part(path):
                            found.append(LocalModel(checkpoint_stem(path), path))
                    elif _has_other_case(entry.name) and _is_file(entry):
                        unreadable[path] = OSError(errno.EINVAL, f"its name has to end in {_GGUF}")
                    elif _is_looked_into(entry) and not _leads_round(entry, folder):
                        below[path] = _sorted(path, unreadable)
                        if _is_checkpoint(below[path]):
                            folders.append(LocalModel(entry.name, path))
                        elif depth == _DEPTH and any(map(_is_model_file, below[path])):
                            unreadable[path] = OSError(errno.E2BIG, f"it lies more than {_DEPTH - 1} folders deep")
            found += folders
            level = below
        return self._noted(found, unreadable)

    def _noted(self, found: list[LocalModel], unreadable: Mapping[Path, OSError]) -> list[LocalModel]:
        known, self._unreadable = self._unreadable, unreadable
        for folder in unreadable.keys() - known.keys():
            self._on_unreadable(folder, unreadable[folder])
        return found


def measured(models: Iterable[LocalModel]) -> list[LocalModel]:
    """The models with what their files have; each folder is read once for all of them. Blocks."""
    sizes: dict[Path, dict[tuple[str, str], int]] = {}
    found = []
    for model in models:
        if model.path.suffix == _GGUF:
            folder = model.path.parent
            if folder not in sizes:
                sizes[folder] = _sizes_by_series(folder)
            size_bytes = sizes[folder].get(series(model.path), 0)
        else:
            size_bytes = model.size_bytes()
        seen = size_bytes, model.modified_unix_s(), model.format, model.changed_ns()
        found.append(replace(model, seen=seen))
    return found


def _sizes_by_series(folder: Path) -> dict[tuple[str, str], int]:
    sizes: dict[tuple[str, str], int] = {}
    for file in _listed(folder):
        if file.name.endswith(_GGUF):
            of = series(Path(file.name))
            sizes[of] = sizes.get(of, 0) + _size_bytes(file)
    return sizes


def _folder_weights(folder: Path) -> list[os.DirEntry[str]]:
    """The files that are loaded of a folder, as `open_folder` takes them, but by their names alone."""
    files = _listed(folder)
    names = {file.name for file in files}
    weights = [file for file in files if file.name.endswith(_SAFETENSORS)]
    if WEIGHTS in names:
        return [file for file in weights if file.name == WEIGHTS]
    if INDEX in names:
        # Its authors' own form of the same weights may lie beside them.
        return [file for file in weights if _SHARD.fullmatch(file.name)] or weights
    return weights or [file for file in files if file.name.endswith(_GGUF) and not file.name.startswith(PROJECTOR)]


def _begun(claims: Mapping[str, Claim]) -> frozenset[Path]:
    return frozenset(_real(claim.path) for claim in claims.values() if claim.is_begun)


def _once(models: Iterable[LocalModel]) -> list[LocalModel]:
    """Each by the first of its names."""
    found: dict[Path, LocalModel] = {}
    for model in models:
        found.setdefault(_real(model.path), model)
    return list(found.values())


def _told(names: Sequence[str]) -> str:
    if not names:
        return "none is"
    more = f" and {len(names) - _MAX_TOLD} more" if len(names) > _MAX_TOLD else ""
    return f"{shown(', '.join(names[:_MAX_TOLD]))}{more} {'is' if len(names) == 1 else 'are'}"


def _meant(name: str, names: Sequence[str]) -> str:
    """Asks whether one of them was meant, where it is spelled nearly so, in capitals for one."""
    by_lower = {other.lower(): other for other in reversed(names[:_MAX_COMPARED])}
    close = difflib.get_close_matches(name[:_MAX_COMPARED_CHARACTERS].lower(), by_lower, n=1, cutoff=_CLOSE)
    return f"; did you mean {shown(by_lower[close[0]])}?" if close else ""


def _is_checkpoint(entries: Iterable[os.DirEntry[str]]) -> bool:
    names = {entry.name for entry in entries}
    return CONFIG in names and any(name.endswith(_SAFETENSORS) for name in names)


def _is_model_file(entry: os.DirEntry[str]) -> bool:
    return entry.name.endswith(_GGUF) and not entry.name.startswith(PROJECTOR) and _is_file(entry)


def _has_other_case(name: str) -> bool:
    """Whether it would be a model's file, were its ending not in capitals."""
    return name.lower().endswith(_GGUF) and not name.endswith(_GGUF) and not name.lower().startswith(PROJECTOR)


def _is_looked_into(entry: os.DirEntry[str]) -> bool:
    return not entry.name.startswith(".") and _is_folder(entry)


def _leads_round(entry: os.DirEntry[str], folder: Path) -> bool:
    if not entry.is_symlink():
        return False
    real = _real(folder)
    return _real(folder / entry.name) in (real, *real.parents)


def _sorted(folder: Path, unreadable: dict[Path, OSError]) -> list[os.DirEntry[str]]:
    return sorted(_listed(folder, unreadable), key=lambda entry: entry.name)


def _listed(folder: Path, unreadable: dict[Path, OSError] | None = None) -> list[os.DirEntry[str]]:
    """What the folder holds; nothing where it is gone, or cannot be read, which is noted: it is somebody else's. A name
    that is no text cannot be told to a client, nor named by one: a model of such a name is noted in the same way."""
    try:
        with os.scandir(folder) as entries:
            listed = list(entries)
        told = [entry for entry in listed if _is_text(entry.name)]
        if unreadable is not None:
            for entry in listed:
                if entry not in told and entry.name.endswith(_GGUF):
                    unreadable[folder / entry.name] = OSError(errno.EILSEQ, "its name is not UTF-8")
        return told
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        if unreadable is not None:
            unreadable[folder] = error
        return []


def readable(path: Path | str) -> str:
    """A path for a person: what is no text in it is spelled out."""
    return str(path).encode(errors="backslashreplace").decode()


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _size_bytes(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat().st_size
    except OSError:
        return 0


def _written_ns(file: Path | os.DirEntry[str]) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
