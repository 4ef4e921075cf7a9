"""What tells a person what to type names the program as that person started it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ignis import program
from ignis.commands import usage

ROOT = Path(__file__).resolve().parents[2]
LAUNCHER = f"#!{sys.executable}\nimport sys\n\nfrom ignis.__main__ import main\n\nsys.exit(main())\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Has the command as an installed package has it, and a link to it."""
    command = tmp_path / "in it" / "ignis-server"
    command.parent.mkdir()
    command.write_text(LAUNCHER)
    command.chmod(0o755)
    (tmp_path / "in it" / "llm").symlink_to(command)
    return tmp_path


def told(folder: Path, *words: str, path: str = "", cwd: Path | None = None) -> str:
    """What a refusal tells to type."""
    environ = {"PYTHONPATH": str(ROOT), "PATH": path + os.environ["PATH"], "IGNIS_SELF": "somebody/else"}
    command = [*words, "--profile", "cpu", "config", "print"]
    ran = subprocess.run(command, env=environ, cwd=cwd or folder, capture_output=True, text=True)
    before, _, after = ran.stderr.partition("a command comes before its options: ")
    assert (ran.returncode, before) == (2, "ignis-server: "), ran.stderr
    return after.removesuffix(" config print --profile cpu\n")


def test_a_module_is_named_with_its_python(folder: Path) -> None:
    assert told(folder, sys.executable, "-P", "-m", "ignis") == f"{sys.executable} -P -m ignis"
    assert told(folder, sys.executable, "-m", "ignis", cwd=ROOT) in (
        f"{sys.executable} -m ignis",
        f"{os.path.relpath(sys.executable, ROOT)} -m ignis",
    )


def test_a_package_that_was_run_by_its_path_is_named_so(folder: Path) -> None:
    for path in ("ignis", "ignis/__main__.py"):
        assert told(folder, "python3", path, cwd=ROOT, path=f"{Path(sys.executable).parent}:") == f"python3 {path}"


def test_a_command_is_named_by_the_path_that_it_was_started_by(folder: Path) -> None:
    command = str(folder / "in it" / "ignis-server")
    assert told(folder, "in it/ignis-server") == "'in it/ignis-server'"
    assert told(folder, command) == "'in it/ignis-server'"
    assert told(folder, command, cwd=folder / "in it") == "./ignis-server"
    assert told(folder, command, cwd=Path("/")) == f"'{command}'"
    assert told(folder, "in it/llm") == "'in it/llm'"


def test_a_command_that_the_shell_finds_is_named_alone(folder: Path) -> None:
    assert told(folder, "sh", "-c", 'ignis-server "$@"', "sh", path=f"{folder}/in it:") == "ignis-server"


def test_the_executable_is_named_as_it_was_called_and_not_where_it_was_unpacked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "argv", ["/home/me/.cache/ignis/0123/ignis-server/ignis-server"])
    monkeypatch.setenv("IGNIS_SELF", "dist/ignis-server")
    assert program.typed() == "dist/ignis-server"
    assert "source <(dist/ignis-server completion bash)" in usage()


def test_a_command_is_named_where_its_folder_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A server that was started there, and whose first model cannot be fetched, goes on and tells how one is had.
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    monkeypatch.setattr(sys, "argv", [".venv/bin/ignis-server"])
    assert program.typed() == ".venv/bin/ignis-server"


def test_a_path_that_is_no_text_is_told_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    # It is part of what clients read of a model that may not be fetched.
    monkeypatch.setattr(sys, "argv", [os.fsdecode(b"/opt/\xff/ignis-server")])
    assert program.typed() == "'/opt/?/ignis-server'"
    monkeypatch.setattr(sys, "argv", ["/opt/\x1b[2J\n/ignis-server"])
    assert program.typed() == "'/opt/?[2J?/ignis-server'"


def test_another_programs_call_has_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["-c"])
    assert program.typed() == "ignis-server"
