"""The executable's front: where it unpacks, what it trusts, what it removes. The program behind it is a script here."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = '#!/bin/sh\necho "{word} $0 $*"\nif [ "$1" = sleep ]; then read line; fi\n'


@pytest.fixture(scope="session")
def pack(executable: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Packs a program that says a word; the stub is the one in the real executable."""
    assert executable.exists()
    packed: dict[str, Path] = {}

    def make(word: str) -> Path:
        if word not in packed:
            folder = tmp_path_factory.mktemp(word)
            program = folder / "ignis-server" / "ignis-server"
            (program.parent / "_internal" / "deep").mkdir(parents=True)
            (program.parent / "_internal" / "deep" / "file").write_text("content")
            (program.parent / "_internal" / "link").symlink_to("deep/file")
            program.write_text(SCRIPT.format(word=word))
            program.chmod(0o755)
            command = [sys.executable, "packaging/pack.py", ".build/stub", program.parent, folder / "packed"]
            subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
            packed[word] = folder / "packed"
        return packed[word]

    return make


def run(program: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *arguments], env=environ, capture_output=True, text=True)


def builds(cache: Path) -> list[Path]:
    return sorted(path for path in cache.iterdir() if "." not in path.name)


def test_the_program_is_unpacked_once_and_gets_its_arguments(pack: Callable[[str], Path], tmp_path: Path) -> None:
    first = run(pack("one"), "a", "b c", IGNIS_CACHE=str(tmp_path / "cache"))
    [build] = builds(tmp_path / "cache")
    assert first.stdout == f"one {build}/ignis-server/ignis-server a b c\n"
    marker = build / "marker"
    marker.touch()
    assert run(pack("one"), "a", "b c", IGNIS_CACHE=str(tmp_path / "cache")).stdout == first.stdout
    assert marker.exists()


def test_files_folders_and_links_come_out_as_they_were(pack: Callable[[str], Path], tmp_path: Path) -> None:
    run(pack("one"), IGNIS_CACHE=str(tmp_path / "cache"))
    [build] = builds(tmp_path / "cache")
    assert (build / "ignis-server" / "_internal" / "link").read_text() == "content"
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("environ", "place"),
    [
        ({"XDG_CACHE_HOME": "{tmp}/xdg", "HOME": "{tmp}/home"}, "xdg/ignis"),
        ({"HOME": "{tmp}/home"}, "home/.cache/ignis"),
    ],
)
def test_the_cache_is_the_users(
    pack: Callable[[str], Path], tmp_path: Path, environ: dict[str, str], place: str
) -> None:
    run(pack("one"), **{name: value.format(tmp=tmp_path) for name, value in environ.items()})
    assert len(builds(tmp_path / place)) == 1


def test_it_runs_in_an_empty_environment(pack: Callable[[str], Path]) -> None:
    done = run(pack("one"))
    assert done.stdout.startswith(f"one /var/tmp/ignis-{os.geteuid()}/")
    shutil.rmtree(Path(done.stdout.split()[1]).parents[1])


def test_its_version_needs_no_unpacking(executable: Path, tmp_path: Path) -> None:
    done = run(executable, "--version", IGNIS_CACHE=str(tmp_path / "cache"))
    assert done.stdout.startswith("ignis-server ")
    assert not (tmp_path / "cache").exists()


def test_a_cache_that_is_a_link_is_not_followed(pack: Callable[[str], Path], tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "cache").symlink_to("elsewhere")
    done = run(pack("one"), IGNIS_CACHE=str(tmp_path / "cache"))
    assert done.returncode == 127
    assert "is not a folder" in done.stderr
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_cache_that_others_may_enter_is_closed(pack: Callable[[str], Path], tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir(mode=0o777)
    (tmp_path / "cache").chmod(0o777)
    assert run(pack("one"), IGNIS_CACHE=str(tmp_path / "cache")).returncode == 0
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_cache_of_another_user_is_refused(pack: Callable[[str], Path], tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    os.chown(tmp_path / "cache", 12345, 12345)
    done = run(pack("one"), IGNIS_CACHE=str(tmp_path / "cache"))
    assert done.returncode == 127
    assert "belongs to another user" in done.stderr


def test_a_new_build_removes_old_ones_but_not_under_a_running_program(
    pack: Callable[[str], Path], tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    run(pack("one"), IGNIS_CACHE=str(cache))
    environ = {"IGNIS_CACHE": str(cache)}
    with subprocess.Popen(
        [pack("two"), "sleep"], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        said = running.stdout.readline()
        [two] = builds(cache)
        assert str(two) in said
        run(pack("three"), IGNIS_CACHE=str(cache))
        assert len(builds(cache)) == 2
        assert two in builds(cache)
        running.communicate("go\n")
    run(pack("one"), IGNIS_CACHE=str(cache))
    assert len(builds(cache)) == 1


def test_what_a_killed_unpacking_left_is_removed(pack: Callable[[str], Path], tmp_path: Path) -> None:
    left = tmp_path / "cache" / f"{'0' * 32}.999999999.tmp" / "ignis-server"
    left.mkdir(parents=True)
    run(pack("one"), IGNIS_CACHE=str(tmp_path / "cache"))
    assert not left.parent.exists()


def test_files_of_other_owners_in_the_cache_folder_stay(pack: Callable[[str], Path], tmp_path: Path) -> None:
    (tmp_path / "cache" / "not-ours").mkdir(parents=True)
    run(pack("one"), IGNIS_CACHE=str(tmp_path / "cache"))
    assert (tmp_path / "cache" / "not-ours").exists()


def test_first_starts_at_once_all_run(pack: Callable[[str], Path], tmp_path: Path) -> None:
    environ = {"IGNIS_CACHE": str(tmp_path / "cache")}
    program = pack("one")
    processes = [subprocess.Popen([program], env=environ, stdout=subprocess.PIPE, text=True) for _ in range(6)]
    outputs = {process.communicate()[0] for process in processes}
    [build] = list((tmp_path / "cache").iterdir())
    assert outputs == {f"one {build}/ignis-server/ignis-server \n"}


def test_a_file_that_was_cut_short_says_so(pack: Callable[[str], Path], tmp_path: Path) -> None:
    cut = tmp_path / "cut"
    cut.write_bytes(pack("one").read_bytes()[:-1])
    cut.chmod(0o755)
    done = run(cut, IGNIS_CACHE=str(tmp_path / "cache"))
    assert done.returncode == 127
    assert "cut short: fetch it again" in done.stderr


def test_a_damaged_file_runs_nothing(pack: Callable[[str], Path], tmp_path: Path) -> None:
    content = bytearray(pack("one").read_bytes())
    content[-200] ^= 0xFF
    damaged = tmp_path / "damaged"
    damaged.write_bytes(content)
    damaged.chmod(0o755)
    done = run(damaged, IGNIS_CACHE=str(tmp_path / "cache"))
    assert done.returncode == 127
    assert "damaged: fetch it again" in done.stderr
    assert builds(tmp_path / "cache") == []
