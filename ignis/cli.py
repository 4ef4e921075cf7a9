"""The command line: which command is meant, its answer and its exit status. Serving itself is app's."""

import errno
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from ignis import app, bundle
from ignis.bench.options import help_text, read_options
from ignis.bench.report import as_json, as_text
from ignis.bench.run import run as run_bench
from ignis.catalog import load_catalog
from ignis.commands import BY_WORDS, COMMANDS, SHELLS, below, spoken, usage, usage_of
from ignis.completion import script
from ignis.config import Config, load_config
from ignis.config_commands import CONFIG_COMMANDS, run_config_command
from ignis.config_fields import ENVIRONMENT, FAMILIES, FIELDS, PROFILE_TEXTS, Effect
from ignis.config_flags import UnexpectedArgumentError
from ignis.config_slots import Slot
from ignis.config_table import describe_fields
from ignis.config_values import join_words, nearest, rule
from ignis.errors import ConfigError, IgnisError
from ignis.model_commands import MODEL_COMMANDS, run_model_command
from ignis.precheck import check_model, meant_model
from ignis.program import NAME, typed
from ignis.terminal import complain, have_streams
from ignis.version import VERSION

FOREIGN_COMMANDS = {
    "run": "serve",
    "start": "serve",
    "pull": "model download",
    "model fetch": "model download",
    "list": "model list",
    "ls": "model list",
    "models": "model list",
    "rm": "model remove",
    "show": "model info",
}
"""Commands of other servers, and what does the like here."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns one of commands.EXIT_STATUSES."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    have_streams()
    try:
        status = _run(words)
        # There is none where it was closed before the start.
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except ConfigError as error:
        complain(error.message)
        return 2
    except IgnisError as error:
        complain(error.message)
        return 1
    except KeyboardInterrupt:
        # Ctrl-C where nobody had taken over yet: in the first moments of a server, or in a download.
        return 130
    except BrokenPipeError:
        # Whoever read our output left, as `help --fields | head` does. The interpreter would complain at exit.
        _let_go_of_output()
        return 1
    except OSError as error:
        # Such as an output on a disk that is full.
        complain(str(error))
        _let_go_of_output()
        return 1


def _let_go_of_output() -> None:
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(words: list[str]) -> int:
    if words[:1] == ["help"]:
        return _help(words[1:])
    if not words or (words[0].startswith("-") and words[0] not in ("--version", "-V")):
        words = ["serve", *words]
    command, rest = spoken(["version", *words[1:]] if words[0] in ("--version", "-V") else words)
    if any(word in ("--help", "-h") for word in rest):
        meant = [words[0]] if command is None else command.words.split()
        return _help([] if meant == ["serve"] else meant)
    if command is not None and any(word in ("--version", "-V") for word in rest):
        return _version([])
    if command is None:
        raise ConfigError(_unknown(words))
    if sys.stdout is None and command.words != "serve":
        raise OSError(errno.EBADF, "standard output is closed")
    return HANDLERS[command.words](rest)


def _unknown(words: Sequence[str]) -> str:
    """Says what is wrong with words that begin with no command, and what may have been meant."""
    found = below(words[0])
    given = " ".join(words[:2]) if found else words[0]
    if _meant_model(words[0]):
        return f"unexpected argument {words[0]!r}{_meant_model(words[0])}"
    meant = FOREIGN_COMMANDS.get(given)
    # Before what is there: a checkout has a folder that is called models.
    if meant is not None:
        return f"unknown command {given!r}; did you mean {meant}?"
    if not found and _meant_path(words[0]):
        return f"unexpected argument {words[0]!r}{_meant_path(words[0])}"
    if found and len(words) == 1:
        return f"{given} is followed by {join_words([command.words.partition(' ')[2] for command in found])}"
    return f"unknown command {given!r}{nearest(given, BY_WORDS) or f'; there are {join_words(list(BY_WORDS))}'}"


def _meant_model(word: str) -> str:
    """What to say of a word that is an id of the catalog, or looks like a hub's repository and leads to no file."""
    if word in load_catalog().models:
        return f"; did you mean --model-id {word}?"
    return meant_model(word) if "/" in word and not os.path.exists(word) else ""


def _meant_path(word: str) -> str:
    """What to say of a word that is a file's or a folder's, or looks like one."""
    is_path = Path(word).exists() or "/" in word or word.endswith(".gguf")
    return f"; a model is named by --model-artifact {word}" if is_path else ""


def _serve(words: list[str]) -> int:
    try:
        return app.run(_load(words))
    except UnexpectedArgumentError as error:
        position = words.index(error.argument)
        command, rest = spoken(words[position:])
        if command is None or position == 0:
            hint = _meant_model(error.argument) or _meant_path(error.argument)
            if not hint:
                raise
            raise ConfigError(f"unexpected argument {error.argument!r}{hint}") from error
        ordered = " ".join([typed(), command.words, *words[:position], *rest])
        raise ConfigError(f"a command comes before its options: {ordered}") from error


def _version(words: list[str]) -> int:
    is_json, words = _take_switch(words, "--json")
    has_licences, words = _take_switch(words, "--licenses")
    _refuse_rest("version", words)
    files = sorted(str(file) for file in bundle.path("licenses").rglob("*") if file.is_file()) if has_licences else []
    if is_json:
        print(json.dumps({"version": VERSION} | ({"licenses": files} if has_licences else {})))
    else:
        print(f"{NAME} {VERSION}", *files, sep="\n")
    return 0


def _completion(words: list[str]) -> int:
    if len(words) != 1 or words[0] not in SHELLS:
        raise ConfigError(f"completion takes the name of a shell: {join_words(SHELLS)}")
    print(script(words[0]), end="")
    return 0


def _load(flags: Sequence[str]) -> Config:
    return load_config(flags, os.environ, Path.cwd())


_HELP_OPTIONS = [option.flag for option in BY_WORDS["help"].options]


def _help(words: list[str]) -> int:
    has_fields, words = _take_switch([word for word in words if word not in ("--help", "-h")], "--fields")
    style, words = _take_format(words, ("text", "json"))
    if has_fields:
        _refuse_rest("help --fields", words)
        print(json.dumps(describe_fields(), indent=2) if style == "json" else _fields_text())
        return 0
    command, rest = spoken(words)
    group = below(words[0]) if command is None and len(words) == 1 else ()
    if command is None and words and not group:
        if words[0].startswith("-") or words == ["fields"]:
            raise ConfigError(f"unknown option {words[0]} of help{nearest(words[0], _HELP_OPTIONS)}")
        raise ConfigError(_unknown(words))
    if not group:
        _refuse_rest("help", rest)
    if style == "json":
        meant = group or (COMMANDS if command is None else (command,))
        print(json.dumps([asdict(command) | {"usage": command.usage} for command in meant], indent=2))
        return 0
    if group:
        print("\n\n".join(f"{command.usage}\n    {command.told}" for command in group))
        return 0
    if command is not None and command.words == "bench":
        print(help_text())
    else:
        print(usage() if command is None else usage_of(command))
    return 0


def _refuse_rest(command: str, words: Sequence[str]) -> None:
    if words:
        raise ConfigError(f"unexpected argument {words[0]!r} of {command}")


def _take_switch(words: Sequence[str], switch: str) -> tuple[bool, list[str]]:
    return switch in words, [word for word in words if word != switch]


_CHANGES = {
    Effect.LIVE: "at once, in a server that runs",
    Effect.RELOAD: "by a reload of the model, in a server that runs",
    Effect.RESTART: "at the next start",
}


def _fields_text() -> str:
    blocks = []
    for field in FIELDS:
        default = "unset" if field.default is None else field.default
        names = f"{field.env}, {field.key} in a file"
        change = _CHANGES[field.effect]
        blocks.append(
            f"{field.flag}\n    {field.text}\n    default {default}; {rule(field)}\n    changes {change}\n    {names}"
        )
        if field.is_scoped:
            blocks[-1] += f"\n    by family: {', '.join(Slot(field, family).flag for family in FAMILIES)}"
    blocks.append("Profiles, for --profile; auto takes that of the card")
    blocks += [f"{name}\n    {text}" for name, text in PROFILE_TEXTS.items()]
    blocks.append("Further environment variables")
    blocks += [f"{name}\n    {text}" for name, text in ENVIRONMENT.items()]
    return "\n\n".join(blocks)


def _take_format(words: list[str], styles: Sequence[str]) -> tuple[str, list[str]]:
    """Takes `--format style` out of the words, and `--json` for json; the first style is the default."""
    is_json, rest = _take_switch(words, "--json")
    style = "json" if is_json else styles[0]
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
    folder = Path.cwd()
    options, flags = read_options(words, folder)
    config = _load(flags)
    if options.model is not None:
        # What it was named by, though a path of another folder has no shorter name.
        check_model("bench", os.path.relpath(options.model, folder), options.model)
    figures = run_bench(options, config)
    print(as_json(figures) if options.is_json else as_text(figures))
    return 0


HANDLERS: dict[str, Callable[[list[str]], int]] = {
    "serve": _serve,
    **{f"model {name}": partial(run_model_command, name) for name in MODEL_COMMANDS},
    **{f"config {name}": partial(run_config_command, name) for name in CONFIG_COMMANDS},
    "bench": _bench,
    "help": _help,
    "version": _version,
    "completion": _completion,
}
"""What runs each of commands.COMMANDS."""
