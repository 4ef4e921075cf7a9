"""The commands below `config`: a file to begin with, what would run, and a file changed in place."""

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ignis.config import load_config, read_layers, resolve
from ignis.config_change import file_value
from ignis.config_fields import Kind
from ignis.config_file import content_of, find_file
from ignis.config_flags import Flags, read_flags
from ignis.config_profile import read_profile
from ignis.config_slots import SLOTS, Given, Layers
from ignis.config_store import ConfigStore
from ignis.config_table import document_of
from ignis.config_text import effective_document, effective_text, file_text
from ignis.config_values import join_words, parse_value
from ignis.errors import ConfigError, ConfigNotWrittenError

CONFIG_COMMANDS = ("generate", "print", "patch")
_FORMATS = ("toml", "json")
_NAME = "ignis.config.toml"


def run_config_command(command: str, words: Sequence[str]) -> int:
    """Runs one of them; returns its exit status.

    Raises:
        ConfigError: an option or a value is wrong, or a file is there or is not.
        ConfigNotWrittenError: a file cannot be written.
    """
    match command:
        case "generate":
            return _generate(list(words))
        case "print":
            return _print(list(words))
        case _:
            return _patch(list(words))


def _generate(words: list[str]) -> int:
    """Writes a file with every field; on standard output where no place is given."""
    out, words = _take_value(words, "--out")
    style, words = _take_format(words)
    is_forced, words = _take_switch(words, "--force")
    is_dry, words = _take_switch(words, "--dry-run")
    file = None if out is None else Path(out)
    style = style or ("json" if file is not None and file.suffix == ".json" else "toml")
    flags = read_flags(words, Path.cwd())
    _check_own(flags)
    profile, values = read_profile(flags.profile, {}, Path.cwd())
    config = resolve(Layers(keys={**values, **flags.values}, folder=Path.cwd(), profile_name=profile))
    text = file_text(config) if style == "toml" else json.dumps(document_of(config), indent=2) + "\n"
    if file is None or is_dry:
        print(text, end="")
        return 0
    if file.exists() and not is_forced:
        raise ConfigError(f"{file} is there already; --force overwrites it, and config patch changes it in place")
    _write(ConfigStore(file), text)
    print(file)
    return 0


def _print(words: list[str]) -> int:
    """Shows what would run, and where each value comes from."""
    style, words = _take_format(words)
    file, words = _take_value(words, "--file")
    config = load_config([*words, *([] if file is None else ["--config", file])], os.environ, Path.cwd())
    if style == "json":
        places = {key: origin.place for key, origin in config.origins.items()}
        print(json.dumps({"config": effective_document(config), "origins": places}, indent=2))
    else:
        print(effective_text(config))
    return 0


def _patch(words: list[str]) -> int:
    """Writes the flags into a file, and leaves the rest of it as it is."""
    named, words = _take_value(words, "--file")
    out, words = _take_value(words, "--out")
    flags = read_flags(words, Path.cwd())
    _check_own(flags)
    if not flags.values and out is None:
        raise ConfigError("config patch has nothing to change: name a field and its value, as --server-ui false")
    file = find_file(named, os.environ, Path.cwd())
    if file is None:
        raise ConfigError(f"there is no configuration file to change; config generate --out {_NAME} makes one")
    store, target = ConfigStore(file), file if out is None else Path(out)
    with _told(store), store.alone():
        text = store.merged({key: _written(key, given) for key, given in flags.values.items()})
        # What would not start is not written. Flags and variables of a later start are not known here.
        content = content_of(text, target)
        resolve(replace(read_layers(["--config", str(file)], {}, Path.cwd()), keys=content.values))
        _write(ConfigStore(target), text)
    print(target)
    return 0


def _written(key: str, given: Given) -> Any:
    """A flag's value for a file, whose folder may be another: paths are whole."""
    slot = SLOTS[key]
    value = file_value(slot, given.text, given.folder)
    if slot.field.kind in (Kind.PATH, Kind.BINDS):
        parsed = parse_value(slot.field, given.text, given.folder)
        return ",".join(map(str, parsed)) if isinstance(parsed, tuple) else str(parsed)
    if slot.field.kind is Kind.PATHS:
        parsed = parse_value(slot.field, given.text, given.folder)
        return {name: str(path) for name, path in parsed.entries}  # type: ignore[attr-defined]
    return value


def _write(store: ConfigStore, text: str) -> None:
    with _told(store):
        store.write(text)


@contextlib.contextmanager
def _told(store: ConfigStore) -> Iterator[None]:
    """Raises ConfigNotWrittenError of what a disk has against it."""
    try:
        yield
    except OSError as error:
        raise ConfigNotWrittenError(f"{store.file} cannot be written: {error.strerror}") from error


def _check_own(flags: Flags) -> None:
    if flags.file is not None:
        raise ConfigError(
            "--config is no option of this command; --file names the file that is read, --out the new one"
        )


def _take_format(words: Sequence[str]) -> tuple[str | None, list[str]]:
    is_json, rest = _take_switch(words, "--json")
    style, rest = _take_value(rest, "--format")
    if style is not None and style not in _FORMATS:
        raise ConfigError(f"--format {style!r}: must be {join_words(_FORMATS)}")
    return "json" if is_json else style, rest


def _take_value(words: Sequence[str], name: str) -> tuple[str | None, list[str]]:
    """Takes `name value` or `name=value` out of the words."""
    rest = list(words)
    for position, word in enumerate(rest):
        if word.startswith(f"{name}="):
            del rest[position]
            return word.partition("=")[2], rest
        if word == name:
            if position + 1 == len(rest):
                raise ConfigError(f"{name} needs a value")
            value = rest[position + 1]
            del rest[position : position + 2]
            return value, rest
    return None, rest


def _take_switch(words: Sequence[str], name: str) -> tuple[bool, list[str]]:
    return name in words, [word for word in words if word != name]
