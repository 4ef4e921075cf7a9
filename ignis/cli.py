"""The command line: which command is meant, its answer and its exit status. Serving itself is app's.

Exit status: 0 done, 1 it failed, 2 the command line or the configuration is wrong, 130 Ctrl-C broke it off.
"""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ignis import app, bundle
from ignis.bench.options import help_text, read_options
from ignis.bench.report import as_json, as_text
from ignis.bench.run import run as run_bench
from ignis.config import Config, load_config
from ignis.config_fields import ENVIRONMENT, FIELDS, Kind
from ignis.config_table import describe_fields
from ignis.config_values import join_words, nearest, rule, written
from ignis.errors import ConfigError, IgnisError
from ignis.model_commands import MODEL_COMMANDS, run_model_command
from ignis.version import VERSION

COMMANDS = (
    "serve",
    "help",
    "version",
    "config print",
    *(f"model {command}" for command in MODEL_COMMANDS),
    "bench",
)

FOREIGN_COMMANDS = {
    "run": "serve",
    "start": "serve",
    "pull": "model download",
    "model fetch": "model download",
    "list": "model list",
    "ls": "model list",
    "rm": "model remove",
    "show": "model info",
}
"""Commands of other servers, and what does the like here."""

USAGE = """\
ignis-server: a server of large language models with an OpenAI-compatible API

  ignis-server [serve] [options]     serve; Ctrl-C ends it after running answers, twice at once
  ignis-server help --fields         every option, its environment variable, file key, default and range
  ignis-server config print          what would run, and where each value comes from
  ignis-server model list            the catalog, and what of it is here (--json)
  ignis-server model info [id ...]   all that the catalog says of a model (--json)
  ignis-server model download [id ...] [--all] [--out folder]
                                     fetch models of the catalog; goes on where it was broken off
  ignis-server model verify [id ...] hash what is here anew (--json)
  ignis-server model remove id ...   remove what was fetched of a model
  ignis-server bench --help          how fast a model is here, or a shape with random weights
  ignis-server version [--licenses]  with the files of the licences of what the executable has inside

An option is --<group>-<field> value, or IGNIS_<GROUP>_<FIELD>=value in the environment, or a key of ignis.config.toml
(or .json; another file: --config path). Most used: --server-bind, --server-api-key, --model-artifact,
--model-max-context."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        status = _run(words)
        sys.stdout.flush()
        return status
    except ConfigError as error:
        print(f"ignis-server: {error.message}", file=sys.stderr)
        return 2
    except IgnisError as error:
        print(f"ignis-server: {error.message}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        # Ctrl-C where nobody had taken over yet: in the first moments of a server, or in a download.
        return 130
    except BrokenPipeError:
        # Whoever read our output left, as `help --fields | head` does. The interpreter would complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _run(words: list[str]) -> int:
    if words[:1] == ["bench"]:
        return _bench(words[1:])
    if any(word in ("--help", "-h") for word in words) or words[:1] == ["help"]:
        return _help(words)
    if not words or (words[0].startswith("-") and words[0] not in ("--version", "-V")):
        return app.run(_load(words))
    command, rest = words[0], words[1:]
    if command == "serve":
        return app.run(_load(rest))
    if command in ("version", "--version", "-V"):
        print(f"ignis-server {VERSION}")
        if rest == ["--licenses"]:
            print(*sorted(file for file in bundle.path("licenses").rglob("*") if file.is_file()), sep="\n")
        return 0
    if command == "config" and rest[:1] == ["print"]:
        return _print_config(rest[1:])
    if command == "model" and rest[:1] and rest[0] in MODEL_COMMANDS:
        return run_model_command(rest[0], rest[1:])
    given = " ".join(words[:2]) if command in ("config", "model") else command
    if Path(command).exists():
        raise ConfigError(f"unexpected argument {command!r}; --model-artifact names a model")
    meant = FOREIGN_COMMANDS.get(given)
    hint = f"; did you mean {meant}?" if meant is not None else nearest(given, COMMANDS)
    raise ConfigError(f"unknown command {given!r}{hint or f'; there are {join_words(COMMANDS)}'}")


def _load(flags: Sequence[str]) -> Config:
    return load_config(flags, os.environ, Path.cwd())


def _help(words: list[str]) -> int:
    rest = [word for word in words if word not in ("help", "--help", "-h")]
    is_fields = "--fields" in rest
    style, rest = _take_format([word for word in rest if word != "--fields"], ("text", "json"))
    if not is_fields:
        print(USAGE)
    elif style == "json":
        print(json.dumps(describe_fields(), indent=2))
    else:
        print(_fields_text())
    return 0


def _fields_text() -> str:
    blocks = []
    for field in FIELDS:
        default = "unset" if field.default is None else field.default
        names = f"{field.env}, {field.key} in a file"
        blocks.append(f"{field.flag}\n    {field.text}\n    default {default}; {rule(field)}\n    {names}")
    blocks.append("Further environment variables")
    blocks += [f"{name}\n    {text}" for name, text in ENVIRONMENT.items()]
    return "\n\n".join(blocks)


def _take_format(words: list[str], styles: Sequence[str]) -> tuple[str, list[str]]:
    """Takes `--format style` out of the words; the first style is the default."""
    style, rest = styles[0], list(words)
    for position, word in enumerate(rest):
        if word == "--format" or word.startswith("--format="):
            style = word.partition("=")[2] or (
                rest[position + 1] if word == "--format" and len(rest) > position + 1 else ""
            )
            if style not in styles:
                raise ConfigError(f"--format {style!r}: must be {join_words(styles)}")
            del rest[position : position + (1 if "=" in word else 2)]
            break
    return style, rest


def _bench(words: list[str]) -> int:
    if any(word in ("--help", "-h") for word in words):
        print(help_text())
        return 0
    options, flags = read_options(words, Path.cwd())
    figures = run_bench(options, _load(flags))
    print(as_json(figures) if options.is_json else as_text(figures))
    return 0


def _print_config(words: list[str]) -> int:
    style, flags = _take_format(words, ("toml", "json"))
    config = _load(flags)
    document: dict[str, dict[str, Any]] = {}
    origins: dict[str, str] = {}
    for field in FIELDS:
        value = getattr(getattr(config, field.group), field.name)
        is_hidden = field.kind is Kind.SECRET and value is not None
        value = "(set, not shown)" if is_hidden else written(field, value)
        document.setdefault(field.group, {})[field.name] = value
        origins[field.key] = config.origins[field.key].place
    if style == "json":
        print(json.dumps({"config": document, "origins": origins}, indent=2))
        return 0
    for group, values in document.items():
        print(f"[{group}]")
        for name, value in values.items():
            # A JSON string, number or boolean is TOML too; TOML has no null.
            line = f"# {name} is unset" if value is None else f"{name} = {json.dumps(value)}"
            print(f"{line}  # {origins[f'{group}.{name}']}")
        print()
    return 0
