"""Scripts that complete the command line in bash, zsh and fish, made of the declared commands and fields.

Each is whole by itself and asks the server's program for nothing but the catalog's ids: a model of one's own may be
called what a shell would run.
"""

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ignis.commands import COMMANDS, Command
from ignis.config_fields import PROFILES, Kind
from ignis.config_profile import AUTO
from ignis.config_slots import SLOTS
from ignis.program import NAME as PROGRAM

_PATH_KINDS = frozenset({Kind.PATH, Kind.PATHS})


@dataclass(frozen=True, slots=True)
class _Flag:
    name: str
    text: str
    takes_value: bool
    words: tuple[str, ...] = ()
    """Its value is one of them."""
    is_path: bool = False


def script(shell: str) -> str:
    """Returns the script of one of commands.SHELLS."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]()


def _field_flags() -> Iterator[_Flag]:
    for slot in SLOTS.values():
        field = slot.field
        words = tuple(choice.value for choice in field.choices) if field.choices is not None else ()
        if field.kind is Kind.BOOL:
            words = ("true", "false")
        # A switch may stand bare, yet whoever asks what its value may be is told.
        yield _Flag(slot.flag, field.text, True, words, field.kind in _PATH_KINDS)
    yield _Flag("--config", "path of the configuration file", True, is_path=True)
    yield _Flag("--profile", "name of the profile", True, (AUTO, *PROFILES))


def _own_flags(command: Command) -> Iterator[_Flag]:
    for option in command.options:
        yield _Flag(option.flag, option.text, bool(option.value), option.choices, option.is_path)


def _next_words(words: str) -> list[str]:
    """What may follow these words of commands."""
    before = f"{words} " if words else ""
    found = (command.words.removeprefix(before) for command in COMMANDS if command.words.startswith(before))
    return list(dict.fromkeys(word.split()[0] for word in found if word))


_GROUPS = sorted({command.words.split()[0] for command in COMMANDS if " " in command.words})
_ASK_IDS = "model list --ids 2>/dev/null"


def _value_cases(indent: str, words: str, paths: str, nothing: str) -> list[str]:
    """The branches of a shell's `case "command:flag"` that complete a flag's value."""
    lines = []
    fields = {flag.name for flag in _field_flags()}
    for command in COMMANDS:
        for flag in _own_flags(command):
            # Whichever is the command's own comes first; no field has the name of one.
            assert flag.name not in fields
            lines += _value_case(f"'{command.words}:{flag.name}'", flag, words, paths, nothing)
    for flag in _field_flags():
        lines += _value_case(f"*:{flag.name}", flag, words, paths, nothing)
    return [indent + line for line in lines]


def _value_case(pattern: str, flag: _Flag, words: str, paths: str, nothing: str) -> list[str]:
    if not flag.takes_value:
        return []
    action = paths if flag.is_path else words.format(" ".join(flag.words)) if flag.words else nothing
    return [f"{pattern}) {action} ;;"]


def _place_cases(indent: str, words: str, ids: str, paths: str) -> list[str]:
    """The branches of a shell's `case "$command"` that complete what follows a command."""
    fields = [flag.name for flag in _field_flags()]
    places = {"": [*_next_words(""), "--help", "--version", *fields]} | {name: _next_words(name) for name in _GROUPS}
    lines = [f"{shlex.quote(place)}) {words.format(' '.join(found))} ;;" for place, found in places.items()]
    for command in COMMANDS:
        own = [flag.name for flag in _own_flags(command)]
        found = [*command.choices, *own, "--help", *(fields if command.takes_fields else ())]
        if command.words == "help":
            found += [word for word in _next_words("") if word != "help"]
        actions = [words.format(" ".join(found))]
        if command.takes_ids:
            actions.append(ids)
        if command.takes_path:
            actions.append(paths)
        lines.append(f"{shlex.quote(command.words)}) {'; '.join(actions)} ;;")
    return [indent + line for line in lines]


def _bash() -> str:
    return "\n".join(
        [
            f"# Completes {PROGRAM} in bash: source <({PROGRAM} completion bash)",
            "_ignis_server() {",
            "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command='' word",
            "    # Words are parted at = too.",
            "    if [[ $current == = ]]; then current=''",
            "    elif [[ $previous == = ]]; then previous=${COMP_WORDS[COMP_CWORD-2]}; fi",
            '    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
            "        [[ $word == -* ]] && break",
            f"        case $command in ''|{'|'.join(_GROUPS)}) command+=${{command:+ }}$word ;; esac",
            "    done",
            "    COMPREPLY=()",
            "    case $command:$previous in",
            *_value_cases("        ", '_ignis_server_add "{}"; return', "_ignis_server_files; return", "return"),
            "    esac",
            "    case $command in",
            *_place_cases(
                "        ",
                '_ignis_server_add "{}"',
                f'_ignis_server_add "$("${{COMP_WORDS[0]}}" {_ASK_IDS})"',
                "_ignis_server_files",
            ),
            "    esac",
            "}",
            "_ignis_server_add() {",
            "    local IFS=$' \\t\\n'",
            '    COMPREPLY+=($(compgen -W "$1" -- "$current"))',
            "}",
            "_ignis_server_files() {",
            "    local IFS=$'\\n'",
            '    COMPREPLY+=($(compgen -f -- "$current"))',
            "    compopt -o filenames 2>/dev/null",
            "}",
            f"complete -F _ignis_server {PROGRAM}",
            "",
        ]
    )


def _zsh() -> str:
    return "\n".join(
        [
            f"#compdef {PROGRAM}",
            f"# Completes {PROGRAM} in zsh: source <({PROGRAM} completion zsh), or a file _{PROGRAM} in $fpath.",
            "_ignis_server() {",
            "    local previous=${words[CURRENT-1]} place='' word",
            "    if [[ $PREFIX == --*=* ]]; then",
            "        previous=${PREFIX%%=*}",
            "        compset -P '*='",
            "    fi",
            '    for word in "${(@)words[2,CURRENT-1]}"; do',
            "        [[ $word == -* ]] && break",
            f"        case $place in ''|{'|'.join(_GROUPS)}) place+=${{place:+ }}$word ;; esac",
            "    done",
            "    case $place:$previous in",
            *_value_cases("        ", "compadd -- {}; return", "_files; return", "return"),
            "    esac",
            "    case $place in",
            *_place_cases("        ", "compadd -- {}", f'compadd -- ${{(f)"$("${{words[1]}}" {_ASK_IDS})"}}', "_files"),
            "    esac",
            "}",
            'if [[ ${funcstack[1]} == _ignis_server ]]; then _ignis_server "$@"; else',
            f"    compdef _ignis_server {PROGRAM}",
            "fi",
            "",
        ]
    )


def _fish() -> str:
    lines = [
        f"# Completes {PROGRAM} in fish: {PROGRAM} completion fish | source",
        "function __ignis_server_place",
        "    # The words of the command, as far as they are typed.",
        "    for word in (commandline -opc)[2..-1]",
        "        string match -q -- '-*' $word; and break",
        "        echo $word",
        "    end",
        "end",
        "function __ignis_server_at",
        "    set -l place (string join ' ' -- (__ignis_server_place))",
        '    test "$place" = "$argv"',
        "end",
        "function __ignis_server_in",
        "    set -l place (string join ' ' -- (__ignis_server_place))",
        '    string match -q -- "$argv *" "$place "',
        "end",
        f"complete -c {PROGRAM} -f",
    ]
    lines += _fish_words("__ignis_server_at", _next_words(""), "")
    for name in _GROUPS:
        lines += _fish_words(f"__ignis_server_at {name}", _next_words(name), f"{name} ")
    with_fields = ["__ignis_server_at"]
    for command in COMMANDS:
        place = f"__ignis_server_in {command.words}"
        lines += [f"{_fish_at(place)} {_fish_flag(flag)}" for flag in _own_flags(command)]
        if command.choices:
            lines.append(f"{_fish_at(place)} -a {shlex.quote(' '.join(command.choices))}")
        if command.takes_ids:
            lines.append(f"{_fish_at(place)} -a '({PROGRAM} {_ASK_IDS})'")
        if command.takes_path:
            lines.append(f"{_fish_at(place)} -F")
        if command.takes_fields:
            with_fields.append(place)
    condition = "; or ".join(with_fields)
    lines += [f"{_fish_at(condition)} {_fish_flag(flag)}" for flag in _field_flags()]
    return "\n".join([*lines, ""])


def _fish_at(condition: str) -> str:
    return f"complete -c {PROGRAM} -n {shlex.quote(condition)}"


def _fish_words(condition: str, words: Iterable[str], before: str) -> list[str]:
    texts = {command.words: command.text for command in COMMANDS}
    return [
        f"{_fish_at(condition)} -a {word}" + (f" -d {_fish_text(text)}" if (text := texts.get(before + word)) else "")
        for word in words
    ]


def _fish_flag(flag: _Flag) -> str:
    described = f"-l {flag.name.removeprefix('--')} -d {_fish_text(flag.text)}"
    if not flag.takes_value:
        return described
    if flag.is_path:
        return f"{described} -rF"
    return f"{described} -x" + (f" -a {shlex.quote(' '.join(flag.words))}" if flag.words else "")


def _fish_text(text: str) -> str:
    """fish knows two escapes within single quotes."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
