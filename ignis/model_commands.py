"""The commands below `ignis-server model`: the catalog, and what of it is on this disk. Serves nothing."""

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ignis.catalog import Catalog, CatalogModel, Presence, load_catalog
from ignis.config import Config, load_config
from ignis.config_values import join_words, nearest
from ignis.errors import ConfigError, DownloadError, ModelFileError
from ignis.fetching import fetch_model
from ignis.halt import Halt
from ignis.models.local import LocalModel, LocalModels, measured, readable
from ignis.on_disk import named_models, whole_models
from ignis.pinned import check_idle, forget, remove
from ignis.progress import ProgressReport
from ignis.terminal import complain
from ignis.units import shown_file_size


def run_model_command(command: str, words: Sequence[str]) -> int:
    """Runs one of MODEL_COMMANDS; returns the exit status.

    Raises:
        ConfigError: the command line, the configuration or the catalog is wrong.
        DownloadError: a model could not be fetched.
        ModelFileError: what is there is not what it should be.
    """
    return MODEL_COMMANDS[command](list(words))


def _download(words: list[str]) -> int:
    """Prints the path of each model on standard output, once it is whole; progress goes to standard error."""
    is_all, words = _take(words, "--all")
    config, catalog, ids = _read(_renamed(words, "--out", "--download-path"))
    if is_all and ids:
        raise ConfigError("--all means every model, and others are named beside it")
    entries = list(catalog.models.values()) if is_all else _entries(config, catalog, ids, "it is here")
    failures = []
    for entry in entries:
        try:
            halt = Halt(on_wait=partial(_say_waiting, entry.id))
            print(fetch_model(entry, config.download, ProgressReport(entry.id, sys.stderr), halt), flush=True)
        except (DownloadError, ModelFileError) as error:
            # The others are fetched all the same: whoever let this run overnight has them then.
            failures.append(f"{entry.id}: {error.message}")
    if failures:
        raise DownloadError("; ".join(failures))
    return 0


def _say_waiting(id: str, why: str) -> None:
    complain(f"{id}: {why}")


def _list(words: list[str]) -> int:
    is_json, words = _take_json(words)
    has_only_ids, words = _take(words, "--ids")
    config, catalog, ids = _read(words)
    _refuse_ids("list", ids)
    if has_only_ids:
        print("\n".join(catalog.models))
        return 0
    rows = [_facts(entry, catalog, config) for entry in catalog.models.values()]
    rows += [_local_facts(model, catalog, config) for model in _locals(catalog, config)]
    if is_json:
        print(json.dumps(rows, indent=2))
        return 0
    for row in rows:
        size = shown_file_size(row["size_bytes"])
        if row["is_local"]:
            print(f"{row['id']}  {row['format']}, {size}, local, {row['presence']}: {row['path']}")
        else:
            why = f" ({row['reason']})" if row["reason"] else ""
            licence = row["licence"] or "licence not stated"
            print(f"{row['id']}  {row['title']}, {licence}, {size}, {row['presence']}{why}")
    return 0


def _info(words: list[str]) -> int:
    is_json, words = _take_json(words)
    config, catalog, ids = _read(words)
    own = {model.name: model for model in _locals(catalog, config)} if set(ids) - set(catalog.models) else {}
    rows = [
        _local_facts(own[id], catalog, config) | {"files": []}
        if id in own
        else _facts(catalog.models[id], catalog, config)
        | {"files": [{"name": f.name, "bytes": f.size_bytes, "sha256": f.sha256} for f in catalog.models[id].files]}
        for id in _ids(config, catalog, ids, own)
    ]
    if is_json:
        print(json.dumps(rows, indent=2))
        return 0
    for row in rows:
        files = row.pop("files")
        print("\n".join(f"{name}: {value}" for name, value in row.items() if value is not None and value != ""))
        print("\n".join(f"file: {file['name']}, {file['bytes']} bytes, SHA-256 {file['sha256']}" for file in files))
    return 0


def _verify(words: list[str]) -> int:
    """Hashes anew; without ids all that is there. Exit status 1 when a named one is missing, or any is wrong."""
    is_json, words = _take_json(words)
    config, catalog, ids = _read(words)
    found: dict[str, str] = {}
    own = "no digest of it is known that it could be held against"
    for entry in _entries(config, catalog, ids, own) if ids else catalog.models.values():
        for file in entry.files:
            forget(file, entry.folder(config.download.path))
        try:
            path = entry.verified(config.download.path)
            found[entry.id] = "verified" if path is not None else entry.presence(config.download.path).value
        except ModelFileError as error:
            found[entry.id] = error.message
    if is_json:
        print(json.dumps(found, indent=2))
    else:
        print("\n".join(f"{id}: {state}" for id, state in found.items()))
    right = {"verified"} if ids else {"verified", "absent", "partial"}
    return 0 if set(found.values()) <= right else 1


def _remove(words: list[str]) -> int:
    """Removes what a download has written of the named models: files, parts and stamps. A foreign file stays."""
    config, catalog, ids = _read(words)
    if not ids:
        raise ConfigError("model remove takes the ids of models, as model list shows them")
    for entry in _entries(config, catalog, ids, "only what was fetched is removed; it is yours to delete"):
        kept = {
            file.name
            for other in catalog.models.values()
            if other is not entry and other.presence(config.download.path) is Presence.COMPLETE
            for file in other.files
            if other.folder(config.download.path) == entry.folder(config.download.path)
        }
        folder = entry.folder(config.download.path)
        own = [file for file in entry.files if file.name not in kept]
        for file in own:
            check_idle(file, folder)
        for file in own:
            for path in remove(file, folder):
                print(path)
        if folder != config.download.path:
            with contextlib.suppress(OSError):
                # Not where something else lies in it.
                folder.rmdir()
    return 0


MODEL_COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "list": _list,
    "info": _info,
    "download": _download,
    "verify": _verify,
    "remove": _remove,
}


def _facts(entry: CatalogModel, catalog: Catalog, config: Config) -> dict[str, Any]:
    presence = entry.presence(config.download.path)
    return {
        "id": entry.id,
        "title": entry.title,
        "is_default": entry.id == catalog.default,
        "is_built_in": entry.is_built_in,
        "is_local": False,
        "licence": entry.licence,
        "architecture": entry.architecture,
        "format": entry.format,
        "parameters": entry.parameters,
        "context_tokens": entry.context_tokens,
        "needs_bytes": entry.needs_bytes,
        "origin": entry.origin,
        "size_bytes": entry.size_bytes,
        "presence": presence.value,
        "reason": entry.foreign(config.download.path) if presence is Presence.FOREIGN else "",
        "path": str(entry.path(config.download.path)) if presence is Presence.COMPLETE else None,
    }


def _locals(catalog: Catalog, config: Config) -> list[LocalModel]:
    """What a server would know by name beside the catalog's models. Names folders that it cannot read on standard
    error."""
    folder = config.download.path
    whole = list(whole_models(catalog, folder))
    models = LocalModels(folder, named_models(config.switch), lambda: whole, _warn_unreadable)
    of_catalog = {os.path.realpath(model.path) for model in whole if isinstance(model, LocalModel)}
    return measured(model for model in models.all() if os.path.realpath(model.path) not in of_catalog)


def _warn_unreadable(folder: Path, error: OSError) -> None:
    print(
        f"ignis-server: {readable(folder)} is left out: {error.strerror}",
        file=sys.stderr,
    )


def _local_facts(model: LocalModel, catalog: Catalog, config: Config) -> dict[str, Any]:
    """As _facts; what only its files could say is left empty, for none is opened.

    In the place of a catalog's model it is a foreign one.
    """
    reason = next(
        (
            f"not the catalog's: {entry.foreign(config.download.path)}"
            for entry in catalog.models.values()
            if os.path.realpath(entry.path(config.download.path)) == os.path.realpath(model.path)
            and entry.presence(config.download.path) is Presence.FOREIGN
        ),
        "",
    )
    presence = Presence.FOREIGN if reason else Presence.COMPLETE if os.path.exists(model.path) else Presence.ABSENT
    return {
        "id": model.name,
        "title": model.name,
        "is_default": False,
        "is_built_in": False,
        "is_local": True,
        "licence": "",
        "architecture": "",
        "format": model.format,
        "parameters": None,
        "context_tokens": None,
        "needs_bytes": None,
        "origin": "",
        "size_bytes": model.size_bytes(),
        "presence": presence.value,
        "reason": reason,
        "path": str(model.path),
    }


def _read(words: list[str]) -> tuple[Config, Catalog, list[str]]:
    """Parts the ids, which come first, from the options."""
    first = next((position for position, word in enumerate(words) if word.startswith("-")), len(words))
    config = load_config(words[first:], os.environ, Path.cwd())
    return config, load_catalog(config.download.catalog), words[:first]


def _entries(config: Config, catalog: Catalog, ids: Sequence[str], own: str) -> list[CatalogModel]:
    """The catalog's entries of the ids. own: what to say where one is the name of a model of the user's own."""
    for model in _locals(catalog, config) if set(ids) - set(catalog.models) else ():
        if model.name in ids and model.name not in catalog.models:
            where = readable(model.path)
            raise ConfigError(f"{readable(model.name)!r} is a model of your own, at {where}: {own}")
    return [catalog.models[id] for id in _ids(config, catalog, ids, ())]


def _ids(config: Config, catalog: Catalog, ids: Sequence[str], own: Iterable[str]) -> list[str]:
    """The ids that are meant, each once: known ones of the catalog, or of `own`."""
    if not ids:
        # A model of one's own has a name that the catalog need not know.
        id = config.model.id
        is_its = id is not None and (id in catalog.models or config.model.artifact is None)
        ids = [id if id is not None and is_its else catalog.default]
    known = [*catalog.models, *own]
    unknown = next((id for id in ids if id not in known), None)
    if unknown is not None:
        more = "" if config.download.catalog else "; --download-catalog names a file with others"
        hint = nearest(unknown, known) or f"; it has {join_words(list(catalog.models))}{more}"
        raise ConfigError(f"the catalog has no model {unknown!r}{hint}")
    return list(dict.fromkeys(ids))


def _refuse_ids(command: str, ids: Sequence[str]) -> None:
    if ids:
        raise ConfigError(f"unexpected argument {ids[0]!r}; model {command} takes none")


def _take(words: list[str], option: str) -> tuple[bool, list[str]]:
    return option in words, [word for word in words if word != option]


def _take_json(words: list[str]) -> tuple[bool, list[str]]:
    """Takes --json, or --format json as the other commands spell it."""
    is_json, words = _take(words, "--json")
    for position, word in enumerate(words):
        if word == "--format" or word.startswith("--format="):
            after = position + 1 if "=" in word else position + 2
            style = word.partition("=")[2] or "".join(words[position + 1 : after])
            if style not in ("text", "json"):
                raise ConfigError(f"--format {style!r}: must be text or json")
            return style == "json", words[:position] + words[after:]
    return is_json, words


def _renamed(words: list[str], before: str, after: str) -> list[str]:
    return [after + word.removeprefix(before) if word.partition("=")[0] == before else word for word in words]
