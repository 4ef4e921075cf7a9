"""The configuration file: which one it is, its text as a document, and a document's values by key. Writes nothing."""

import json
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ignis.config_fields import FAMILIES, FIELDS, GROUPS, Kind
from ignis.config_flags import FOREIGN_FLAGS
from ignis.config_slots import SLOTS, Given, Origin, Slot, Source
from ignis.config_values import nearest, parse_path, rule, text_hint
from ignis.errors import ConfigError
from ignis.regular_file import read_regular

FILE_NAMES = ("ignis.config.toml", "ignis.config.json")
USER_FILE_NAMES = ("config.toml", "config.json")
YAML_SUFFIXES = (".yaml", ".yml")
_MOST_SHOWN = 100
_LIMIT_BYTES = 16 << 20
"""Characters of a name that nobody knows: it may come from anybody, and to look for one like it takes time."""
_LISTS = frozenset({Kind.BINDS, Kind.ORIGINS})
"""Kinds that a file may give as a list."""
PROFILE, PROFILES = "profile", "profiles"
"""Keys of a file beside its groups: the profile that is taken, and profiles of the operator's own."""


@dataclass(frozen=True, slots=True)
class FileContent:
    """What a configuration file says."""

    values: Mapping[str, Given]
    profile: str | None
    profiles: Mapping[str, Mapping[str, Any]]


def find_file(flag_file: str | None, environ: Mapping[str, str], folder: Path) -> Path | None:
    """Returns the named file, else the first that is found in the working folder or the user's configuration folder."""
    named = None
    if flag_file is not None:
        named = _read_place("--config", flag_file, folder)
    elif environ.get("IGNIS_CONFIG"):
        named = _read_place("IGNIS_CONFIG", environ["IGNIS_CONFIG"], folder)
    if named is not None:
        try:
            os.stat(named)
        except FileNotFoundError as error:
            raise ConfigError(f"the configuration file {named} is not there") from error
        except OSError as error:
            raise ConfigError(f"the configuration file {named} cannot be read: {error.strerror}") from error
        return named
    places = [folder / name for name in (*FILE_NAMES, "ignis.config.yaml", "ignis.config.yml")]
    home = environ.get("XDG_CONFIG_HOME") or (f"{environ['HOME']}/.config" if environ.get("HOME") else "")
    if home:
        places += [Path(home) / "ignis" / name for name in (*USER_FILE_NAMES, "config.yaml", "config.yml")]
    # Path.is_file would raise where a folder may not be entered.
    found = next((place for place in places if os.path.isfile(place)), None)
    if found is not None and str(found) != str(found).encode(errors="replace").decode():
        raise ConfigError(f"the configuration file {str(found)!r} is not read: its path is not UTF-8")
    return found


def read_file(file: Path) -> FileContent:
    """Reads a whole file.

    Raises:
        ConfigError: it cannot be read, or names what is unknown.
    """
    return content_of(read_text(file), file)


def read_text(file: Path) -> str:
    """Raises ConfigError where the file cannot be read as text."""
    _check_suffix(file)
    try:
        # As it is, its ends of lines too: a change keeps them. The mark that some editors put before it is none of it.
        return read_regular(file, _LIMIT_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"the configuration file {file} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise ConfigError(f"the configuration file {file} cannot be read: {error}") from error


def content_of(text: str, file: Path) -> FileContent:
    """Reads the text of a file.

    Raises:
        ConfigError: it is malformed, or names what is unknown.
    """
    try:
        document = json.loads(text) if file.suffix == ".json" else tomllib.loads(text)
    except RecursionError as error:
        raise ConfigError(f"the configuration file {file} cannot be read: it is nested too deeply") from error
    except ValueError as error:
        raise ConfigError(f"the configuration file {file} cannot be read: {error}") from error
    if not isinstance(document, dict):
        raise ConfigError(f"{file}: must hold groups of fields, like [server]")
    profile, profiles = document.pop(PROFILE, None), document.pop(PROFILES, {})
    if not isinstance(profile, str | None):
        raise ConfigError(f"{file}: {PROFILE} must be a name", param=PROFILE)
    if not isinstance(profiles, dict) or not all(isinstance(value, dict) for value in profiles.values()):
        raise ConfigError(f"{file}: {PROFILES} must hold groups of fields by name, like [{PROFILES}.mine.model]")
    values = read_document(document, f"{file}: ", lambda slot: in_file(slot, file), file.parent)
    return FileContent(values, profile, profiles)


def in_file(slot: Slot, file: Path) -> Origin:
    return Origin(Source.FILE, f"{slot.key} in {file}")


def read_document(
    document: Mapping[str, Any], where: str, origin: Callable[[Slot], Origin], folder: Path
) -> dict[str, Given]:
    """Reads groups of fields; one that is null is not there.

    Args:
        where: begins each message.

    Raises:
        ConfigError: a name is unknown, or a value no scalar; `param` is its key.
    """
    return {
        slot.key: Given(text_of(slot, value, where), origin(slot), folder)
        for slot, value in slots_of(document, where)
        if value is not None
    }


def slots_of(document: Mapping[str, Any], where: str) -> Iterator[tuple[Slot, Any]]:
    """Goes through groups of fields, and in a group through those of families. Raises as `read_document`."""
    for group, entries in document.items():
        if group not in GROUPS:
            group = group[:_MOST_SHOWN]
            raise ConfigError(f"{where}unknown group {group}{nearest(group, GROUPS)}", param=group)
        if not isinstance(entries, dict):
            raise ConfigError(f"{where}{group} must be a group of fields, like [{group}]", param=group)
        for name, value in entries.items():
            if isinstance(value, dict) and name in FAMILIES:
                for inner, own in value.items():
                    yield _slot(f"{group}.{name}.{inner}", where), own
            else:
                yield _slot(f"{group}.{name}", where), value


def text_of(slot: Slot, value: Any, where: str = "") -> str:
    """Spells a value as a flag would. Raises as `read_document`."""
    kind = slot.field.kind
    if isinstance(value, dict) and kind is Kind.PATHS and all(isinstance(path, str) for path in value.values()):
        return ";".join(f"{name}={path}" for name, path in value.items())
    if isinstance(value, bool):
        return str(value).lower()
    if kind in _LISTS and isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ",".join(value)
    if isinstance(value, float) and kind is Kind.INTEGER and value.is_integer():
        # JSON has one kind of number.
        return str(int(value))
    if not isinstance(value, str | int | float):
        raise ConfigError(f"{where}{slot.key} must be {rule(slot.field)}", param=slot.key)
    return str(value)


def _slot(key: str, where: str) -> Slot:
    slot = SLOTS.get(key)
    if slot is None:
        group, _, rest = key.partition(".")
        family, _, name = rest.rpartition(".")
        if family and any(field.group == group and field.name == name for field in FIELDS):
            raise ConfigError(f"{where}{group}.{name} is the same for every family of models", param=key)
        key = key[:_MOST_SHOWN]
        raise ConfigError(f"{where}unknown field {key}{_meant(key)}", param=key)
    return slot


def _meant(key: str) -> str:
    """As `nearest`, for a field: `server.port` is meant as `--server-port` is."""
    flag = FOREIGN_FLAGS.get("--" + key.replace(".", "-").replace("_", "-"))
    meant = next((own for own, slot in SLOTS.items() if slot.flag == flag), None)
    return f"; did you mean {meant}?" if meant is not None else nearest(key, SLOTS)


def _check_suffix(file: Path) -> None:
    if file.suffix in YAML_SUFFIXES:
        raise ConfigError(f"{file}: YAML is not read; write it as TOML or JSON, e.g. {file.with_suffix('.toml').name}")


def _read_place(name: str, text: str, folder: Path) -> Path:
    """Reads the path of the configuration file itself."""
    try:
        return parse_path(text, folder)
    except ValueError as error:
        raise ConfigError(f"{name} {text!r}: must be path{text_hint(error, text)}") from None
