"""What the server was told to be: flags, environment, file and defaults, each value with its origin. Opens no model.

Per field the first of flag, environment variable, file key and default that is there decides; an empty environment
variable is not there. Every refusal is one line that names the flag, variable or key and says what is allowed.
"""

import dataclasses
import difflib
import enum
import json
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ignis.config_fields import ENVIRONMENT, FIELDS, GROUPS, ConfigFields, Field, Kind
from ignis.errors import ConfigError
from ignis.units import (
    NamedPaths,
    format_size,
    parse_address,
    parse_binds,
    parse_mode,
    parse_origins,
    parse_pool_size,
    parse_size,
)

FILE_NAMES = ("ignis.config.toml", "ignis.config.json")
USER_FILE_NAMES = ("config.toml", "config.json")
Number = TypeVar("Number", int, float)

YAML_SUFFIXES = (".yaml", ".yml")
_LISTS = frozenset({Kind.BINDS, Kind.ORIGINS})
"""Kinds that a file may give as a list."""
TRUE_WORDS = frozenset({"true", "1", "on", "yes"})
FALSE_WORDS = frozenset({"false", "0", "off", "no"})

# Options of llama-server and vLLM, and what they are called here.
FOREIGN_FLAGS = {
    "--host": "--server-bind",
    "--port": "--server-bind",
    "--ssl-cert-file": "--server-tls-cert",
    "--ssl-certfile": "--server-tls-cert",
    "--ssl-key-file": "--server-tls-key",
    "--ssl-keyfile": "--server-tls-key",
    "--allowed-origins": "--server-origins",
    "--uds": "--server-bind",
    "--api-key": "--server-api-key",
    "-m": "--model-artifact",
    "--model": "--model-artifact",
    "-a": "--model-id",
    "--alias": "--model-id",
    "--served-model-name": "--model-id",
    "-c": "--model-max-context",
    "--ctx-size": "--model-max-context",
    "--max-model-len": "--model-max-context",
    "-n": "--model-default-max-tokens",
    "--n-predict": "--model-default-max-tokens",
    "-np": "--model-decode-lanes",
    "--parallel": "--model-decode-lanes",
    "--max-num-seqs": "--model-decode-lanes",
    "-t": "--cpu-threads",
    "-ub": "--model-prefill-chunk",
    "--ubatch-size": "--model-prefill-chunk",
    "--max-num-batched-tokens": "--model-prefill-chunk",
    "-ctk": "--model-kv-format",
    "--cache-type-k": "--model-kv-format",
    "--kv-cache-dtype": "--model-kv-format",
    "--reasoning-budget": "--model-thinking-budget",
    "--reasoning-parser": "--model-dialect",
    "--tool-call-parser": "--model-dialect",
    "--enable-prefix-caching": "--reuse-prompt",
    "-ngl": "--device",
    "--n-gpu-layers": "--device",
    "--gpu-memory-utilization": "--vram-budget-bytes",
    "--download-dir": "--download-path",
    "--models-dir": "--download-path",
    "-to": "--server-request-timeout",
    "--timeout": "--server-request-timeout",
    "-v": "--log-level",
    "--verbose": "--log-level",
}


class Source(enum.Enum):
    """Where a value came from, strongest first."""

    FLAG = "flag"
    ENVIRONMENT = "environment"
    FILE = "file"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Origin:
    """A value's source and its spelling there: `--server-bind`, `IGNIS_SERVER_BIND`, `server.bind in /etc/x.toml`."""

    source: Source
    place: str


@dataclass(frozen=True, slots=True)
class Config(ConfigFields):
    """The effective configuration: the fields by group, and how each came to its value."""

    origins: Mapping[str, Origin] = dataclasses.field(default_factory=dict)
    file: Path | None = None


@dataclass(frozen=True, slots=True)
class _Given:
    """A value as it was written, not yet read."""

    text: str
    origin: Origin
    folder: Path


def load_config(arguments: Sequence[str], environ: Mapping[str, str], folder: Path) -> Config:
    """Reads the configuration of a server that is started in `folder`.

    Raises:
        ConfigError: something is unknown, unreadable or out of its range.
    """
    flags, flag_file = _read_flags(arguments, folder)
    variables = _read_environment(environ, folder)
    file = _find_file(flag_file, environ, folder)
    keys = _read_file(file) if file is not None else {}
    values: dict[str, dict[str, object]] = {group: {} for group in GROUPS}
    origins: dict[str, Origin] = {}
    for field in FIELDS:
        given = flags.get(field.key) or variables.get(field.key) or keys.get(field.key)
        if given is None:
            given = _Given(field.default or "", Origin(Source.DEFAULT, "default"), folder)
        origins[field.key] = given.origin
        if given.text or given.origin.source is not Source.DEFAULT:
            values[field.group][field.name] = _read_value(field, given)
    groups: dict[str, Any] = {group: make(**values[group]) for group, make in GROUPS.items()}
    config = Config(**groups, origins=origins, file=file)
    server = config.server
    if server.metrics and server.metrics_bind.port and server.metrics_bind in server.bind:
        raise ConfigError(
            f"server.metrics_bind is the API's own address {server.metrics_bind}; "
            "it must be another, or server.metrics false",
            param="server.metrics_bind",
        )
    if (server.tls_cert is None) != (server.tls_key is None):
        lacking = "server.tls_cert" if server.tls_cert is None else "server.tls_key"
        raise ConfigError(
            f"server.tls_cert and server.tls_key go together: the path of {lacking} is not set", param=lacking
        )
    vram = config.vram
    if vram.headroom_bytes is not None and vram.budget_bytes is not None:
        raise ConfigError(
            "vram.headroom_bytes and vram.budget_bytes are both set, and a budget leaves none to choose; give one",
            param="vram.headroom_bytes",
        )
    if vram.allow_oversubscription and vram.budget_bytes is None:
        raise ConfigError(
            "vram.allow_oversubscription needs a vram.budget_bytes: without one the budget is what is free",
            param="vram.allow_oversubscription",
        )
    return config


def rule(field: Field) -> str:
    """Says which values a field takes."""
    zero = f"; 0: {field.zero}" if field.zero is not None else ""
    match field.kind:
        case Kind.ADDRESS:
            return "host:port"
        case Kind.BINDS:
            return "host:port or unix:/path, several with commas, each once"
        case Kind.MODE:
            return "three octal digits, like 660"
        case Kind.ORIGINS:
            return "* or scheme://host[:port], several with commas"
        case Kind.BOOL:
            return "true or false"
        case Kind.CHOICE:
            assert field.choices is not None
            return join_words([choice.value for choice in field.choices])
        case Kind.INTEGER:
            multiple = f", a multiple of {field.multiple}" if field.multiple is not None else ""
            return f"{_number(field.minimum)} to {_number(field.maximum)}{multiple}{zero}"
        case Kind.SECONDS:
            return f"{_number(field.minimum)} to {_number(field.maximum)} seconds{zero}"
        case Kind.SIZE:
            return f"{format_size(int(field.minimum or 0))} to {format_size(int(field.maximum or 0))} bytes"
        case Kind.POOL_SIZE:
            return "bytes with an optional K, M, G or T, or <n>tok"
        case Kind.PATH:
            return "path"
        case Kind.PATHS:
            return "<name>=<path>, with ; between several; a flag may be repeated, and a file may have a table"
        case Kind.SECRET:
            return "visible ASCII characters"
        case Kind.TEXT:
            return "text"


def written(field: Field, value: Any) -> str | float | bool | None:
    """Writes a value as a file has it; None is unset."""
    match field.kind:
        case Kind.BINDS:
            return ",".join(map(str, value))
        case Kind.MODE:
            return f"{value:o}"
        case Kind.ORIGINS:
            return "*" if value is None else ",".join(sorted(value))
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def join_words(words: Sequence[str]) -> str:
    """Lists words: `a`, `a or b`, `a, b or c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def nearest(name: str, known: Iterable[str]) -> str:
    """Returns `; did you mean <name>?` for the most similar known name, or nothing where none is similar."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; did you mean {close[0]}?" if close else ""


def _meant(flag: str, known: Sequence[str]) -> str:
    """As `nearest`, for a flag: one of another server, one that lacks its group, or a slip; else where they all are."""
    bare = flag.lstrip("-")
    whole = FOREIGN_FLAGS.get(flag) or next((name for name in known if name.endswith(f"-{bare}")), None)
    if whole is None:
        # Without the dashes, which every flag has in common.
        close = difflib.get_close_matches(bare, [name.removeprefix("--") for name in known], n=1, cutoff=0.6)
        whole = f"--{close[0]}" if close else None
    return f"; did you mean {whole}?" if whole is not None else "; help --fields lists them all"


def _read_flags(arguments: Sequence[str], folder: Path) -> tuple[dict[str, _Given], Path | None]:
    """Reads `--flag value`, `--flag=value` and bare switches; of a flag given twice the last one counts."""
    known = {field.flag: field for field in FIELDS}
    given: dict[str, _Given] = {}
    file = None
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        flag, has_value, value = argument.partition("=")
        field = known.get(flag)
        if field is None and flag != "--config":
            if not flag.startswith("-"):
                raise ConfigError(
                    f"unexpected argument {argument!r}; options start with --, and --model-artifact names a model"
                )
            raise ConfigError(f"unknown option {flag}{_meant(flag, [*known, '--config'])}")
        if not has_value:
            if (
                field is not None
                and field.kind is Kind.BOOL
                and not (rest and rest[0].lower() in TRUE_WORDS | FALSE_WORDS)
            ):
                value = "true"
            elif not rest or rest[0].startswith("--"):
                raise ConfigError(f"{flag} needs a value: {rule(field) if field is not None else 'path'}")
            else:
                value = rest.pop(0)
        if field is None:
            file = _read_place("--config", value, folder)
        else:
            if field.kind is Kind.PATHS and field.key in given:
                value = f"{given[field.key].text};{value}"
            given[field.key] = _Given(value, Origin(Source.FLAG, flag), folder)
    return given, file


def _read_environment(environ: Mapping[str, str], folder: Path) -> dict[str, _Given]:
    known = {field.env: field for field in FIELDS}
    given = {}
    for name, value in environ.items():
        if name.startswith("IGNIS_") and name not in ENVIRONMENT and value:
            field = known.get(name)
            if field is None:
                raise ConfigError(f"unknown environment variable {name}{nearest(name, [*known, *ENVIRONMENT])}")
            given[field.key] = _Given(value, Origin(Source.ENVIRONMENT, name), folder)
    return given


def _find_file(flag_file: Path | None, environ: Mapping[str, str], folder: Path) -> Path | None:
    """Returns the named file, else the first that is found in the working folder or the user's configuration folder."""
    named = flag_file
    if named is None and environ.get("IGNIS_CONFIG"):
        named = _read_place("IGNIS_CONFIG", environ["IGNIS_CONFIG"], folder)
    if named is not None:
        if not os.path.isfile(named):
            raise ConfigError(f"the configuration file {named} is not there")
        return named
    places = [folder / name for name in (*FILE_NAMES, "ignis.config.yaml", "ignis.config.yml")]
    home = environ.get("XDG_CONFIG_HOME") or (f"{environ['HOME']}/.config" if environ.get("HOME") else "")
    if home:
        places += [Path(home) / "ignis" / name for name in (*USER_FILE_NAMES, "config.yaml", "config.yml")]
    # Path.is_file would raise where a folder may not be entered.
    return next((place for place in places if os.path.isfile(place)), None)


def _read_file(file: Path) -> dict[str, _Given]:
    if file.suffix in YAML_SUFFIXES:
        raise ConfigError(f"{file}: YAML is not read; write it as TOML or JSON, e.g. {file.with_suffix('.toml').name}")
    try:
        text = file.read_text(encoding="utf-8")
        document = json.loads(text) if file.suffix == ".json" else tomllib.loads(text)
    except RecursionError as error:
        raise ConfigError(f"the configuration file {file} cannot be read: it is nested too deeply") from error
    except (OSError, ValueError) as error:
        raise ConfigError(f"the configuration file {file} cannot be read: {error}") from error
    if not isinstance(document, dict):
        raise ConfigError(f"{file}: must hold groups of fields, like [server]")
    known = {field.key: field for field in FIELDS}
    given = {}
    for group, entries in document.items():
        if group not in GROUPS:
            raise ConfigError(f"{file}: unknown group {group}{nearest(group, GROUPS)}")
        if not isinstance(entries, dict):
            raise ConfigError(f"{file}: {group} must be a group of fields, like [{group}]")
        for name, value in entries.items():
            key = f"{group}.{name}"
            if key not in known:
                raise ConfigError(f"{file}: unknown field {key}{nearest(key, known)}")
            if value is None:
                continue
            if isinstance(value, dict) and known[key].kind is Kind.PATHS:
                value = ";".join(f"{name}={path}" for name, path in value.items())
            if isinstance(value, bool):
                value = str(value).lower()
            elif known[key].kind in _LISTS and isinstance(value, list) and all(isinstance(item, str) for item in value):
                value = ",".join(value)
            elif not isinstance(value, str | int | float):
                raise ConfigError(f"{file}: {key} must be {rule(known[key])}", param=key)
            given[key] = _Given(str(value), Origin(Source.FILE, f"{key} in {file}"), file.parent)
    return given


def _read_value(field: Field, given: _Given) -> object:
    try:
        return _parse(field, given.text, given.folder)
    except ValueError:
        shown = "" if field.kind is Kind.SECRET else f" {given.text!r}"
        raise ConfigError(f"{given.origin.place}{shown}: must be {rule(field)}", param=field.key) from None


def _parse(field: Field, text: str, folder: Path) -> object:
    """Reads a value by its kind; a ValueError says only that it breaks the rule."""
    text = text.strip()
    match field.kind:
        case Kind.ADDRESS:
            return parse_address(text)
        case Kind.BINDS:
            return parse_binds(text, folder)
        case Kind.MODE:
            return parse_mode(text)
        case Kind.ORIGINS:
            return parse_origins(text)
        case Kind.BOOL:
            if text.lower() not in TRUE_WORDS | FALSE_WORDS:
                raise ValueError
            return text.lower() in TRUE_WORDS
        case Kind.CHOICE:
            assert field.choices is not None
            return field.choices(text.lower())
        case Kind.INTEGER:
            if text.lower() == field.zero:
                return 0
            if not (text.isascii() and text.isdigit()):
                raise ValueError
            return _in_range(field, int(text))
        case Kind.SECONDS:
            return _in_range(field, float(text.removesuffix("s")))
        case Kind.SIZE:
            return _in_range(field, parse_size(text))
        case Kind.POOL_SIZE:
            pool = parse_pool_size(text)
            _in_range(field, (pool.tokens or 0) + (pool.size_bytes or 0))
            return pool
        case Kind.PATH:
            return _parse_path(text, folder)
        case Kind.PATHS:
            return _parse_paths(text, folder)
        case Kind.SECRET:
            # It travels in a header field, where nothing else survives.
            if not text or not all("!" <= character <= "~" for character in text):
                raise ValueError
            return text
        case Kind.TEXT:
            if not text or not text.isprintable():
                raise ValueError
            return text


def _read_place(name: str, text: str, folder: Path) -> Path:
    """Reads the path of the configuration file itself."""
    try:
        return _parse_path(text, folder)
    except ValueError:
        raise ConfigError(f"{name} {text!r}: must be path") from None


def _parse_path(text: str, folder: Path) -> Path:
    """Reads a path, `~` and `~user` included.

    Raises:
        ValueError: no file can have that name, or there is no such user.
    """
    if not text or b"\0" in os.fsencode(text):
        raise ValueError
    try:
        return folder / Path(text).expanduser()
    except RuntimeError as error:
        raise ValueError from error


def _parse_paths(text: str, folder: Path) -> NamedPaths:
    """Reads name=path;name=path. Raises ValueError where a name is empty or there twice, or no file can have a path."""
    entries: dict[str, Path] = {}
    for entry in filter(None, map(str.strip, text.split(";"))):
        name, equals, path = entry.partition("=")
        if not equals or not name.strip() or not name.isprintable() or name.strip() in entries:
            raise ValueError
        entries[name.strip()] = _parse_path(path.strip(), folder)
    return NamedPaths(tuple(entries.items()))


def _in_range(field: Field, value: Number) -> Number:
    if value == 0 and field.zero is not None:
        return value
    is_in = (field.minimum is None or value >= field.minimum) and (field.maximum is None or value <= field.maximum)
    if not is_in or (field.multiple is not None and value % field.multiple):
        raise ValueError
    return value


def _number(value: float | None) -> str:
    assert value is not None
    return f"{value:g}" if value < 1 else str(int(value))
