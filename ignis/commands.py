"""Every command of the command line, declared once: the usage, the help of one, hints and completion come from here.

Runs nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ignis.config_values import join_words
from ignis.program import NAME as PROGRAM
from ignis.program import typed

EXIT_STATUSES = {
    0: "done; of a server: it was told to stop, and has ended",
    1: "it failed: what was wanted could not be had, or a model is not what it should be",
    2: "the command line, the configuration or the catalog is wrong; nothing was begun",
    130: "Ctrl-C broke it off; of a server: a second signal, and nothing was waited for",
}


@dataclass(frozen=True, slots=True)
class Option:
    """One of a command's own, beside the fields of the configuration."""

    flag: str
    text: str
    value: str = ""
    """What stands for its value; none: it is a switch."""
    choices: tuple[str, ...] = ()
    is_path: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    words: str
    text: str
    arguments: str = ""
    """As the usage has them."""
    options: tuple[Option, ...] = ()
    takes_fields: bool = False
    """Takes the options of the configuration."""
    takes_ids: bool = False
    """Its arguments are ids of the catalog."""
    takes_path: bool = False
    """Its argument is a file or a folder."""
    choices: tuple[str, ...] = ()
    """Of its argument."""

    @property
    def told(self) -> str:
        """Its text for whoever started this program: what is to be typed is typed as that was."""
        return self.text.replace(PROGRAM, typed())

    @property
    def usage(self) -> str:
        parts = [PROGRAM, self.words, self.arguments, *map(_spelled, self.options)]
        return " ".join(part for part in parts if part) + (" [options]" if self.takes_fields else "")


SHELLS = ("bash", "zsh", "fish")
_JSON = Option("--json", "one JSON document, for a program")
_TABLE_FORMAT = Option("--format", "how it is written", "format", ("text", "json"))
_CONFIG_FORMAT = Option("--format", "how it is written", "format", ("toml", "json"))
_BENCH_OPTIONS = (
    Option("--synthetic", "random weights of the shape that a config.json has", "config", is_path=True),
    Option("--format", "of the synthetic matrices", "format"),
    Option("--seed", "of the synthetic weights", "n"),
    Option("--widths", "decode lanes at once, such as 1-8 or 1,8", "list"),
    Option("--contexts", "tokens of context that lanes decode at", "list"),
    Option("--prompts", "tokens of the prompts whose first token is waited for", "list"),
    Option("--rounds", "decode rounds measured at each width", "n"),
    Option("--repeats", "prompts of each length", "n"),
    Option("--temperature", "0: the most likely token", "x"),
)

COMMANDS: tuple[Command, ...] = (
    Command(
        "serve",
        "serve, as no command at all does; Ctrl-C ends it after running answers, twice at once",
        takes_fields=True,
    ),
    Command(
        "model list",
        "the catalog, what of it is here, and the models of your own",
        options=(_JSON, Option("--ids", "the catalog's ids alone, one a line")),
        takes_fields=True,
    ),
    Command(
        "model info",
        "all that the catalog says of models, and what is known of your own",
        "[id ...]",
        (_JSON,),
        takes_fields=True,
        takes_ids=True,
    ),
    Command(
        "model download",
        "fetch models of the catalog; goes on where it was broken off, and prints the path of each that is whole",
        "[id ...]",
        (Option("--all", "every model of the catalog"), Option("--out", "where to", "folder", is_path=True)),
        takes_fields=True,
        takes_ids=True,
    ),
    Command(
        "model verify",
        "hash anew what is here; status 1 where something is wrong, or a named one is not here",
        "[id ...]",
        (_JSON,),
        takes_fields=True,
        takes_ids=True,
    ),
    Command(
        "model remove",
        "remove what was fetched of models",
        "id ...",
        takes_fields=True,
        takes_ids=True,
    ),
    Command(
        "config generate",
        "a configuration file with every field and what it takes; the options are in it as chosen",
        options=(
            Option("--out", "where to; else it is printed", "file", is_path=True),
            Option("--force", "overwrites a file that is there"),
            Option("--dry-run", "prints it, and writes nothing"),
            _CONFIG_FORMAT,
            _JSON,
        ),
        takes_fields=True,
    ),
    Command(
        "config print",
        "what would run, and where each value comes from",
        options=(Option("--file", "the file that is read, as --config", "file", is_path=True), _CONFIG_FORMAT, _JSON),
        takes_fields=True,
    ),
    Command(
        "config patch",
        "the options into the configuration file, whose other lines and comments are kept",
        options=(
            Option("--file", "the file that is changed; else the one that a server would read", "file", is_path=True),
            Option("--out", "where to, in place of the file itself", "file", is_path=True),
        ),
        takes_fields=True,
    ),
    Command(
        "bench",
        "how fast a model is here, or a shape with random weights; bench --help says more",
        "[model]",
        (*_BENCH_OPTIONS, _JSON),
        takes_fields=True,
        takes_path=True,
    ),
    Command(
        "help",
        "this text; of one command; or every option, its variable, file key, default and range",
        "[command]",
        (Option("--fields", "every option of the configuration"), _TABLE_FORMAT, _JSON),
    ),
    Command(
        "version",
        "the version, or where the licences lie of what the executable has inside",
        options=(Option("--licenses", "their files"), _JSON),
    ),
    Command(
        "completion",
        "a script that a shell completes commands by: source <(ignis-server completion bash)",
        "bash|zsh|fish",
        choices=SHELLS,
    ),
)
BY_WORDS = {command.words: command for command in COMMANDS}

_ABOUT_OPTIONS = """\
An option is --<group>-<field> value, or IGNIS_<GROUP>_<FIELD>=value in the environment, or a key of ignis.config.toml
(or .json; another file: --config path). Most used: --server-bind, --server-api-key, --model-artifact,
--model-max-context."""


def usage() -> str:
    """Returns the text of `help`."""
    lines = [f"{PROGRAM}: a server of large language models with an OpenAI-compatible API", ""]
    for command in COMMANDS:
        lines += [f"  {_short(command)}", f"      {command.told}"]
    return "\n".join([*lines, "", _ABOUT_OPTIONS, "", *_statuses()])


def usage_of(command: Command) -> str:
    """Returns the help of one command."""
    lines = [command.usage, "", f"  {command.told}", ""]
    for option in command.options:
        choices = f": {join_words(option.choices)}" if option.choices else ""
        lines.append(f"  {f'{option.flag} {option.value}'.strip():<20} {option.text}{choices}")
    if command.takes_fields:
        lines += ["", _ABOUT_OPTIONS]
    return "\n".join([*lines, "", *_statuses()])


def below(word: str) -> tuple[Command, ...]:
    """Returns the commands of two words whose first one it is."""
    return tuple(command for command in COMMANDS if command.words.startswith(f"{word} "))


def spoken(words: Sequence[str]) -> tuple[Command | None, list[str]]:
    """Parts the command from what follows it; None: the words begin with none."""
    for length in (2, 1):
        command = BY_WORDS.get(" ".join(words[:length])) if len(words) >= length else None
        if command is not None:
            return command, list(words[length:])
    return None, list(words)


def _short(command: Command) -> str:
    name = "[serve]" if command.words == "serve" else command.words
    options = "".join(f" {_spelled(option)}" for option in command.options if option not in _BENCH_OPTIONS)
    return " ".join(part for part in (PROGRAM, name, command.arguments) if part) + options + _rest(command)


def _rest(command: Command) -> str:
    return " [options]" if command.words in ("serve", "bench") else ""


def _spelled(option: Option) -> str:
    return f"[{f'{option.flag} {option.value}'.strip()}]"


def _statuses() -> list[str]:
    return ["Exit status:", *(f"  {status:<4} {text}" for status, text in EXIT_STATUSES.items())]
