"""The commands as they are declared: each runs, each is in the help, and each status comes as the table says."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ignis import app, bundle
from ignis.bench.options import read_options
from ignis.cli import FOREIGN_COMMANDS, HANDLERS, main
from ignis.commands import BY_WORDS, COMMANDS, EXIT_STATUSES, usage
from ignis.errors import ConfigError
from ignis.version import VERSION

ROOT = Path(__file__).resolve().parents[2]


def test_every_declared_command_has_a_handler_and_a_place_in_the_help() -> None:
    assert set(HANDLERS) == set(BY_WORDS)
    text = usage()
    for command in COMMANDS:
        assert command.text in text
    for status, meaning in EXIT_STATUSES.items():
        assert f"  {status:<4} {meaning}" in text
    assert set(FOREIGN_COMMANDS.values()) <= set(BY_WORDS)


@pytest.mark.parametrize("words", list(BY_WORDS))
def test_every_command_says_how_it_is_used(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words.split(), "--help"]) == 0
    asked = capsys.readouterr().out
    assert main(["help", *words.split()]) == 0
    told = capsys.readouterr().out
    # The first two are asked for everything.
    assert told == asked or (words in ("serve", "help") and asked == usage() + "\n")
    for option in BY_WORDS[words].options:
        assert option.flag in told


def test_help_of_a_first_word_lists_what_is_below_it(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["model", "--help"], ["help", "model"]):
        assert main(words) == 0
        told = capsys.readouterr().out
        assert all(command.usage in told for command in COMMANDS if command.words.startswith("model "))


def test_what_a_machine_reads_is_one_json_document(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for command in COMMANDS:
        if "--json" in {option.flag for option in command.options} and command.words != "bench":
            assert main([*command.words.split(), "--json"]) in (0, 1)
            json.loads(capsys.readouterr().out)
    assert main(["help", "--fields", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["key"] == "server.bind"
    for words, expected in (
        ([], [command.words for command in COMMANDS]),
        (["config"], ["config generate", "config print", "config patch"]),
        (["model", "list"], ["model list"]),
    ):
        assert main(["help", *words, "--json"]) == 0
        assert [command["words"] for command in json.loads(capsys.readouterr().out)] == expected
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"ignis-server {VERSION}\n"
    assert main(["model", "list", "--ids"]) == 0
    assert capsys.readouterr().out.split() == ["smollm2-135m-instruct"]


def test_the_bench_takes_every_option_that_is_declared_of_it(tmp_path: Path) -> None:
    for option in BY_WORDS["bench"].options:
        if option.value and option.flag not in ("--synthetic", "--format"):
            with pytest.raises(ConfigError, match=option.flag):
                read_options(["model.gguf", option.flag, "no"], tmp_path)


@pytest.mark.parametrize("start", [["-m", "ignis"], ["-c", "from ignis.__main__ import main; main()"]])
def test_ctrl_c_while_the_program_is_imported_ends_it_as_ever(start: list[str], tmp_path: Path) -> None:
    """One of the modules that it imports stands for all."""
    lines = ["import os, signal, time", "try:", "    os.kill(os.getpid(), signal.SIGINT)", "    time.sleep(60)"]
    code = "\n".join([*lines, "finally:", "    no_error_of_its_own"])
    (tmp_path / "msgspec.py").write_text(code)
    environment = {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    command = [sys.executable, "-P", *start, "model", "download"]
    ran = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "")


def test_the_program_can_be_imported_by_any_thread(tmp_path: Path) -> None:
    start = "threading.Thread(target=importlib.import_module, args=['ignis.__main__']).start()"
    code = f"import importlib, threading; {start}"
    command = [sys.executable, "-P", "-c", code]
    ran = subprocess.run(command, env={"PYTHONPATH": str(ROOT)}, cwd=tmp_path, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["version"], 0, ""),
        # What was wanted could not be had.
        (["model", "verify", "smollm2-135m-instruct"], 1, ""),
        (["bench", "."], 1, "ignis-server: "),
        # Nothing was begun.
        (["frobnicate"], 2, "ignis-server: unknown command 'frobnicate'; there are serve, model list"),
        (
            ["models/x.gguf"],
            2,
            "'models/x.gguf'; a model is named by --model-artifact models/x.gguf",
        ),
        (["x.gguf"], 2, "a model is named by --model-artifact x.gguf"),
        (
            ["--profile", "cpu", "config", "print", "--json"],
            2,
            f"a command comes before its options: {sys.executable} -m ignis config print --profile cpu --json",
        ),
        (["--profile", "cpu", "frob"], 2, "unexpected argument 'frob'; options start with --"),
        (["model"], 2, "ignis-server: model is followed by list, info, download, verify or remove"),
        (["help", "frob"], 2, "ignis-server: unknown command 'frob'"),
        (["help", "version", "x"], 2, "ignis-server: unexpected argument 'x' of help"),
        (["version", "--frob"], 2, "ignis-server: unexpected argument '--frob' of version"),
        (["completion", "powershell"], 2, "ignis-server: completion takes the name of a shell: bash, zsh or fish"),
        (["--server-bind", "127.0.0.1:99999"], 2, "must be host:port, with a port from 0 to 65535, or unix:/path"),
        (["--server-metrics-bind", "127.0.0.1:99999"], 2, "must be host:port, with a port from 0 to 65535"),
        (["--download-catalog", "no.toml"], 2, "no.toml"),
        (["--model-artifact", "no.gguf"], 2, "no.gguf: there is no such file or folder"),
    ],
)
def test_a_command_ends_with_the_status_of_the_table(words: list[str], status: int, says: str, tmp_path: Path) -> None:
    environment = {"PYTHONPATH": str(ROOT), "IGNIS_DEVICE": "cpu"}
    command = [sys.executable, "-m", "ignis", *words]
    ran = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ran.returncode == status, ran.stderr
    assert says in ran.stderr and "Traceback" not in ran.stderr
    assert status != 2 or ran.stderr.count("\n") == 1


@pytest.mark.parametrize(("output", "says"), [("/dev/full", "No space left on device"), ("&-", "output is closed")])
def test_an_output_that_takes_nothing_is_status_1(output: str, says: str) -> None:
    command = f"{sys.executable} -m ignis version >{output}"
    ran = subprocess.run(["sh", "-c", command], env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert ran.returncode == 1 and ran.stderr.count("\n") == 1 and says in ran.stderr


def test_ctrl_c_before_anybody_listens_for_it_is_status_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(_config: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(app, "run", stopped)
    assert main([]) == 130
    assert set(EXIT_STATUSES) == {0, 1, 2, 130}


def test_a_model_in_a_place_that_cannot_be_entered_is_refused_by_its_field(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "round").symlink_to("round")
    assert main(["--model-artifact", f"{tmp_path}/round/a.gguf"]) == 2
    reason = f"--model-artifact {tmp_path}/round/a.gguf: Too many levels of symbolic links"
    assert capsys.readouterr().err == f"ignis-server: {reason}\n"


def test_a_mistyped_model_is_refused_before_anything_listens_with_what_lies_there(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "tiny-q4.gguf").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IGNIS_MODEL_ARTIFACT", "tiny-q5.gguf")
    assert main(["--server-bind", "127.0.0.1:0"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    expected = (
        f"IGNIS_MODEL_ARTIFACT {tmp_path}/tiny-q5.gguf: there is no such file or folder; did you mean tiny-q4.gguf?"
    )
    assert told.err == f"ignis-server: {expected}\n"


def test_a_command_of_another_server_is_understood_where_a_folder_has_its_name(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "models").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(["models"]) == 2
    assert capsys.readouterr().err == "ignis-server: unknown command 'models'; did you mean model list?\n"


@pytest.mark.parametrize("words", [["serve", "x.gguf"], ["x.gguf"]])
def test_a_file_that_nothing_names_is_told_with_its_option(
    capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert main(words) == 2
    expected = "unexpected argument 'x.gguf'; a model is named by --model-artifact x.gguf"
    assert capsys.readouterr().err == f"ignis-server: {expected}\n"


def test_the_licences_of_the_executable_are_listed_where_they_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "licenses").mkdir()
    (tmp_path / "licenses" / "h11").touch()
    monkeypatch.setattr(bundle, "ROOT", tmp_path)
    assert main(["version", "--licenses", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["licenses"] == [str(tmp_path / "licenses" / "h11")]
