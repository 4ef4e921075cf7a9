"""build.py: what it rebuilds, and what it says when something is missing."""

import ast
import fcntl
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from ignis.commands import BY_WORDS, usage
from ignis.config import load_config
from ignis.precheck import check_addresses

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def build(tmp_path: Path) -> ModuleType:
    """build.py of an empty checkout."""
    shutil.copy(ROOT / "build.py", tmp_path / "build.py")
    spec = importlib.util.spec_from_file_location("build_under_test", tmp_path / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / ".build").mkdir()
    return module


def copy_with(build: ModuleType, root: Path, source: str) -> int:
    """Has the compiler copy a file; returns how many commands it ran."""
    (root / "in.txt").write_text(source)
    compiler = build.Compiler(root / ".build" / "memory.json")
    output = root / "out.txt"
    compiler.build(output, ["cp", str(root / "in.txt"), f"{output}.new"], [root / "in.txt"])
    compiler.remember()
    assert output.read_text() == source
    return int(compiler.num_run)


def test_an_output_is_made_again_only_when_an_input_has_other_content(build: ModuleType, tmp_path: Path) -> None:
    assert copy_with(build, tmp_path, "one") == 1
    assert copy_with(build, tmp_path, "one") == 0
    assert copy_with(build, tmp_path, "two") == 1
    (tmp_path / "out.txt").unlink()
    assert copy_with(build, tmp_path, "two") == 1
    (tmp_path / ".build" / "memory.json").write_text("{rubbish")
    assert copy_with(build, tmp_path, "two") == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--port", "9000"], "unknown option --port; did you mean --server-bind 127.0.0.1:9000?"),
        (["--model-artifact", "/no.gguf"], "--model-artifact /no.gguf: there is no such file or folder"),
    ],
)
def test_what_is_mistyped_is_refused_before_anything_is_compiled(
    words: list[str],
    says: str,
    build: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr(build, "PYTHON", Path("/nowhere"))
    monkeypatch.setattr(build, "install", lambda groups: pytest.fail("it installed"))
    monkeypatch.setattr(build, "native", lambda: pytest.fail("it compiled"))
    with pytest.raises(SystemExit) as ended:
        build.serve(words)
    assert ended.value.code == 2
    assert capfd.readouterr().err == f"ignis-server: {says}\n"


def test_an_address_that_is_taken_is_told_before_anything_is_compiled(
    build: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr(build, "CORE", tmp_path / "not compiled")
    monkeypatch.setattr(build, "install", lambda groups: pytest.fail("it installed"))
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        for option in ("--server-bind", "--server-metrics-bind"):
            with pytest.raises(SystemExit) as ended:
                build.serve([option, address, *(["--server-bind", "127.0.0.1:0"] if "metrics" in option else [])])
            assert ended.value.code == 2
            told = f"cannot listen on {address}: Address already in use; {option} names another address"
            assert capfd.readouterr().err == f"ignis-server: {told}\n"


def test_an_address_that_is_free_is_left_free(free_port: int) -> None:
    config = load_config(["--server-bind", f"127.0.0.1:{free_port}"], {}, Path("/"))
    check_addresses(config)
    check_addresses(config)
    socket.create_server(("127.0.0.1", free_port)).close()


def test_the_configuration_is_read_without_any_package() -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1]); import ignis.config, ignis.commands, ignis.precheck"
    assert subprocess.run([sys.executable, "-S", "-P", "-c", code, str(ROOT)]).returncode == 0


def test_help_comes_before_anything_is_compiled(
    build: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr(build, "install", lambda groups: pytest.fail("it installed"))
    monkeypatch.setattr(build, "native", lambda: pytest.fail("it compiled"))
    with pytest.raises(SystemExit) as ended:
        build.serve(["--help"])
    assert ended.value.code == 0
    assert capfd.readouterr().out == usage() + "\n"


def test_the_tests_fetch_the_model_by_a_command_that_there_is(
    build: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(build, "prepare", lambda *_: None)
    monkeypatch.setattr(build, "run", lambda command: commands.append([str(word) for word in command]) or 0)
    assert build.test(["-x"]) == 0
    fetch, run = commands
    assert " ".join(fetch[3:]) in BY_WORDS and run[1:] == ["-m", "pytest", "-x"]


def test_a_build_that_is_terminated_remembers_what_it_made(build: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("one")
    script = (
        "import build, os, pathlib, signal, sys\n"
        "def generate(arguments):\n"
        "    compiler = build.Compiler(pathlib.Path('.build/memory.json'))\n"
        "    try:\n"
        "        output, source = build.ROOT / 'out.txt', build.ROOT / 'in.txt'\n"
        "        compiler.build(output, ['cp', str(source), f'{output}.new'], [source])\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "    finally:\n"
        "        compiler.remember()\n"
        "build.generate = generate\n"
        "build.unwind_when_terminated()\n"
        "build.main(['gen'])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True)
    assert done.returncode == 128 + signal.SIGTERM
    assert copy_with(build, tmp_path, "one") == 0


def test_one_run_writes_all_that_is_derived_from_a_changed_declaration(tmp_path: Path) -> None:
    for folder in ("spec", "ignis"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("*.png", "data", "__pycache__"))
    declared = tmp_path / "spec" / "config.toml"
    declared.write_text(declared.read_text().replace("serve the Playground at /ui/", "serve the page at /ui/"))
    command = [sys.executable, "-B", str(tmp_path / "spec" / "generate.py")]
    written = subprocess.run(command, capture_output=True, text=True)
    assert written.stdout == "wrote ignis/config_fields.py\nwrote spec/openapi.json\n", written.stderr
    checked = subprocess.run([*command, "--check"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


def test_a_failing_command_shows_itself_and_keeps_the_old_output(build: ModuleType, tmp_path: Path) -> None:
    copy_with(build, tmp_path, "one")
    compiler = build.Compiler(tmp_path / ".build" / "memory.json")
    with pytest.raises(build.Problem, match="this failed: cp /nonexistent"):
        compiler.build(tmp_path / "out.txt", ["cp", "/nonexistent", f"{tmp_path / 'out.txt'}.new"], [])
    assert (tmp_path / "out.txt").read_text() == "one"


def test_a_depfile_names_the_headers(build: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "x.d").write_text("out.o.new: /a/b.cpp \\\n /a/with\\ space.h \\\n  /a/c.h\n")
    assert build.read_depfile(tmp_path / "x.d") == ["/a/b.cpp", "/a/with space.h", "/a/c.h"]


def test_a_missing_compiler_is_named_with_the_way_to_get_it(build: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(build.Problem, match=r"no-such-compiler is not on PATH; on Debian and Ubuntu: apt-get install"):
        build.find_tool("CXX", "g++")


@pytest.fixture
def toolkit(build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with CUDA's compiler and without a card."""
    nvcc = tmp_path / "nvcc"
    nvcc.write_text(f"#!/bin/sh\necho release 13.0\necho '#$ TOP={tmp_path}' >&2\n")
    nvcc.chmod(0o755)
    (tmp_path / "lib64").mkdir()
    (tmp_path / "lib64" / "libcudart_static.a").touch()
    monkeypatch.setenv("NVCC", str(nvcc))
    monkeypatch.delenv("IGNIS_CUDA_ARCHS", raising=False)
    monkeypatch.setattr(build, "SIGNS_OF_A_CARD", [tmp_path / "no-such-device", tmp_path / "no-such-library"])


@pytest.mark.usefixtures("toolkit")
def test_a_cuda_leaf_is_made_where_it_is_asked_for_or_there_already(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert build.find_toolkit(is_wanted=False) is None
    assert build.find_toolkit(is_wanted=True) is not None
    (tmp_path / "no-such-library").touch()
    assert build.find_toolkit(is_wanted=False) is not None
    (tmp_path / "no-such-library").unlink()
    monkeypatch.setenv("IGNIS_CUDA_ARCHS", "90a")
    assert build.find_toolkit(is_wanted=False) is not None


def test_targets_that_are_named_need_a_compiler(build: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """An executable without the CUDA leaf that it was asked to have would be taken for one with it."""
    shutil.copytree(ROOT / "cuda", build.ROOT / "cuda", ignore=shutil.ignore_patterns("*.cu", "*.cuh"))
    monkeypatch.setattr(build, "find_toolkit", lambda is_wanted: None)
    monkeypatch.setenv("IGNIS_CUDA_ARCHS", "all")
    build.CUDA_LEAF.parent.mkdir(parents=True)
    build.CUDA_LEAF.touch()
    with pytest.raises(build.Problem, match="IGNIS_CUDA_ARCHS is all, and there is no CUDA compiler"):
        build.build_leaves(build.Compiler(build.WORK / "native.json"))
    assert build.CUDA_LEAF.exists()


@pytest.mark.parametrize(
    ("card", "text"),
    [
        (
            "def why_not(): return 'the driver shows none'",
            "there is no card to test: the driver shows none; with --without",
        ),
        (
            "import no_such_module",
            "cannot run the tests of the card: ModuleNotFoundError: No module named 'no_such_module'",
        ),
    ],
)
def test_tests_of_a_card_that_is_not_there_fail_unless_that_is_asked_for(
    build: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], card: str, text: str
) -> None:
    folder = build.ROOT / "tests" / "cuda"
    folder.mkdir(parents=True)
    for package in (folder, folder.parent):
        (package / "__init__.py").touch()
    (folder / "card.py").write_text(card + "\n")
    commands: list[list[str]] = []
    monkeypatch.setattr(build, "run", lambda command: commands.append(command) or 0)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert build.main(["gpu-test", "--built"]) == 1
    assert text in capsys.readouterr().err
    assert not commands
    assert build.main(["gpu-test", "--built", "--without-card", "-x"]) == 0
    assert commands[0][-1] == "-x" and "--without-card" not in commands[0]


def test_the_cards_tests_build_nothing_without_a_driver_and_wait_for_who_builds(
    build: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[str] = []

    def no_driver(name: str) -> None:
        raise OSError(name)

    def build_leaves(compiler: object) -> None:
        with (build.WORK / "lock").open("w") as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        done.append("leaves")

    monkeypatch.setattr(build, "build_leaves", build_leaves)
    monkeypatch.setattr(build, "build_checked_leaf", lambda compiler: None)
    monkeypatch.setattr(build, "has_module", lambda name: False)
    monkeypatch.setattr(build, "run", lambda command: 0)
    monkeypatch.setattr(build.ctypes, "CDLL", no_driver)
    assert build.main(["gpu-test"]) == 1
    assert "no card to test: no NVIDIA driver" in capsys.readouterr().err
    assert not done
    assert build.main(["gpu-test", "--without-card"]) == 0
    assert done == ["leaves"]


@pytest.mark.usefixtures("toolkit")
def test_a_cuda_leaf_keeps_its_targets_until_others_are_named(
    build: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaf = {"cuda": {"archs": ["80", "90a", "ptx"], "default_archs": ["90a"]}}
    assert build.cuda_archs(leaf) == ["90a"]
    build.BUILT_ARCHS.write_text("80,ptx")
    assert build.cuda_archs(leaf) == ["90a"]
    build.CUDA_LEAF.parent.mkdir(parents=True)
    build.CUDA_LEAF.touch()
    assert build.cuda_archs(leaf) == ["80", "ptx"]
    monkeypatch.setenv("IGNIS_CUDA_ARCHS", "all")
    assert build.cuda_archs(leaf) == ["80", "90a", "ptx"]
    monkeypatch.setenv("IGNIS_CUDA_ARCHS", "90a,75")
    with pytest.raises(build.Problem, match="there is no CUDA target '75'; there are 80, 90a, ptx, and all"):
        build.cuda_archs(leaf)


@pytest.mark.usefixtures("toolkit")
def test_a_new_cuda_leaf_is_for_the_cards_that_are_there(
    build: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tool = tmp_path / "nvidia-smi"
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    leaf = {"cuda": {"archs": ["80", "90a", "ptx"], "default_archs": ["90a"]}}
    for listed, targets in (("8.0\\n9.0\\n9.0", ["80", "90a"]), ("12.1", ["ptx"]), ("No devices were found", ["90a"])):
        tool.write_text(f"#!/bin/sh\nprintf '{listed}\\n'\n")
        tool.chmod(0o755)
        assert build.cuda_archs(leaf) == targets


def test_kernels_of_numba_are_stale_when_a_source_or_its_ptx_has_changed(build: ModuleType, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "cuda" / "numba", tmp_path / "cuda" / "numba")
    assert build.stale_ptx() == []
    (tmp_path / "cuda" / "numba" / "patch.py").write_text("another")
    (tmp_path / "cuda" / "numba" / "new.py").write_text("")
    (tmp_path / "cuda" / "numba" / "ptx" / "weigh.ptx").unlink()
    assert build.stale_ptx() == ["new.py", "patch.py", "weigh.ptx"]


def test_too_little_disk_is_said_before_anything_is_installed(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "packaging").mkdir()
    shutil.copy(ROOT / "packaging" / "lock.toml", tmp_path / "packaging" / "lock.toml")
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 5 << 20})())
    with pytest.raises(build.Problem, match="has 5 MB free; free some disk space"):
        build.install(["runtime"])
    assert not (tmp_path / ".venv").exists()


def test_packages_that_cannot_be_had_end_with_the_word_mirror(tmp_path: Path) -> None:
    shutil.copy(ROOT / "build.py", tmp_path / "build.py")
    (tmp_path / "packaging").mkdir()
    (tmp_path / "packaging" / "lock.toml").write_text('runtime = ["ignis-no-such-package==1"]\nbuild = []\n')
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": "/dev/null"}
    done = subprocess.run(
        [sys.executable, "build.py", "native"], cwd=tmp_path, env=environ, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "point pip to a mirror: PIP_INDEX_URL=" in done.stderr
    assert "Traceback" not in done.stderr


def test_clean_leaves_models_and_the_environment(build: ModuleType, tmp_path: Path) -> None:
    for folder in ("models", ".venv", "dist"):
        (tmp_path / folder).mkdir()
    assert build.main(["clean"]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"build.py", "models", ".venv"}
    assert build.main(["clean", "--all"]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"build.py"}


@pytest.mark.parametrize(("arguments", "status"), [([], 2), (["--help"], 0), (["sreve"], 2)])
def test_an_unknown_command_lists_the_known(
    build: ModuleType, arguments: list[str], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert build.main(arguments) == status
    captured = capsys.readouterr()
    assert "serve" in captured.out + captured.err


def test_an_old_python_gets_as_far_as_the_line_that_refuses_it() -> None:
    source = (ROOT / "build.py").read_text()
    ast.parse(source, feature_version=(3, 7))
    before_check = source.partition("sys.version_info")[0]
    assert [line for line in before_check.splitlines() if line.startswith(("import", "from"))] == ["import sys"]
