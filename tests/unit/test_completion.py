"""What the shells complete: tried in bash as it is sourced there; the others' scripts have the same in them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ignis.commands import BY_WORDS, COMMANDS, SHELLS
from ignis.completion import script
from ignis.config_fields import FIELDS

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What bash calls for the ids of models."""
    path = tmp_path_factory.mktemp("bin") / "ignis-server"
    path.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m ignis "$@"\n')
    path.chmod(0o755)
    return path


def complete(program: Path, *words: str, folder: Path | None = None) -> list[str]:
    """What bash offers for the last word, as readline parts the words."""
    (program.parent / "script").write_text(script("bash"))
    typed = " ".join(f"'{word}'" for word in (str(program), *words))
    code = (
        f"source {program.parent}/script; COMP_WORDS=({typed}); COMP_CWORD={len(words)}; _ignis_server\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    bash = ["bash", "--norc", "--noprofile", "-u", "-c", code]
    ran = subprocess.run(bash, cwd=folder or program.parent, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr
    return ran.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["mo"], ["model"]),
        (["model", ""], ["list", "info", "download", "verify", "remove"]),
        (["model", "d"], ["download"]),
        (["model", "list", "--j"], ["--json"]),
        (["model", "info", "smol"], ["smollm2-135m-instruct"]),
        (["model", "remove", "smollm2-135m-instruct", "smol"], ["smollm2-135m-instruct"]),
        (["serve", "--log-l"], ["--log-level"]),
        (["--log-l"], ["--log-level"]),
        (["--log-level", ""], ["debug", "info", "warning", "error"]),
        (["--log-level", "=", "w"], ["warning"]),
        (["--log-level", "="], ["debug", "info", "warning", "error"]),
        (["serve", "--server-ui", "f"], ["false"]),
        (["--server-api-key", ""], []),
        (["help", "--format", ""], ["text", "json"]),
        (["bench", "--format", ""], []),
        (["help", "com"], ["completion"]),
        (["completion", ""], [*SHELLS, "--help"]),
        (["version", "--j"], ["--json"]),
        (["nonsense", ""], []),
    ],
)
def test_bash_offers_what_may_follow(program: Path, words: list[str], offered: list[str]) -> None:
    assert complete(program, *words) == offered


def test_bash_offers_every_command_and_every_option_of_the_configuration(program: Path) -> None:
    offered = complete(program, "")
    assert {words.split()[0] for words in BY_WORDS} <= set(offered)
    assert {field.flag for field in FIELDS} <= set(offered)
    assert len(offered) == len(set(offered))


@pytest.mark.parametrize("words", [["--model-artifact"], ["bench"], ["model", "download", "--out"], ["--config"]])
def test_bash_offers_files_where_a_path_belongs(program: Path, words: list[str], tmp_path: Path) -> None:
    (tmp_path / "my model.gguf").touch()
    assert complete(program, *words, "my", folder=tmp_path) == ["my", "model.gguf"]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_script_has_every_command_option_and_choice(shell: str) -> None:
    text = script(shell)
    words = set(re.findall(r"[\w.-]+", text))
    for command in COMMANDS:
        assert command.words in text and set(command.words.split()) <= words
        for option in command.options:
            assert option.flag.removeprefix("--" if shell == "fish" else "") in words
    for field in FIELDS:
        assert field.flag.removeprefix("--" if shell == "fish" else "") in words
        assert field.choices is None or {choice.value for choice in field.choices} <= words


def test_no_text_breaks_out_of_its_quotes_in_fish() -> None:
    for line in script("fish").splitlines():
        bare = re.sub(r"\\.", "", line)
        assert bare.count("'") % 2 == 0, line
