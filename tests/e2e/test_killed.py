"""kill -9 at every stage of a download, the command's and the server's own: the next start is clean and goes on."""

import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.mirrored import environment, fill
from tests.e2e.server import Server
from tests.fakes.mirror import Mirror, serving
from tests.ports import free_port

KILL = "import os, signal; kill = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
STAGES = {
    "before the part is opened": "from ignis import transfer; transfer.locked = kill\n",
    "before the first byte": "from ignis.hub import HubClient; HubClient.open = kill\n",
    "in the middle of a file": (
        "from ignis import transfer; attempt, wait = transfer.Transfer._attempt, transfer.Halt.check\n"
        "def check(halt, seen=[]):\n"
        "    seen.append(1)\n"
        "    len(seen) < 5 or kill()\n"
        "transfer.BLOCK_BYTES = 1000; transfer.Halt.check = check\n"
    ),
    "when the file is whole and hashed": "from ignis import transfer; transfer.settle = kill\n",
    "when it has its name": "from ignis import pinned; pinned._sync_folder = kill\n",
    "in the middle of its stamp": (
        "from pathlib import Path; write = Path.write_text\n"
        "def half(path, text):\n"
        "    write(path, text[: len(text) // 2])\n"
        "    kill()\n"
        "Path.write_text = half\n"
    ),
    "before the stamp has its name": (
        "from pathlib import Path; replace = Path.replace\n"
        "Path.replace = lambda path, to: kill() if path.name.endswith('.verified.part') else replace(path, to)\n"
    ),
    "between two files": (
        "from ignis import fetching; fetch = fetching.fetch_file\n"
        "def second(*words, seen=[]):\n"
        "    seen.append(1)\n"
        "    len(seen) < 2 or kill()\n"
        "    return fetch(*words)\n"
        "fetching.fetch_file = second; fetching._PARALLEL_FILES = 1\n"
    ),
    "before the last file": (
        "from ignis import fetching; fetch = fetching.fetch_file\n"
        "fetching.fetch_file = lambda file, *words: kill() if file.name == 'config.json' else fetch(file, *words)\n"
    ),
}
RUN = "import sys; from ignis.cli import main; sys.exit(main())"


@pytest.fixture
def mirror(real_model: Path, tmp_path: Path) -> Iterator[Mirror]:
    with serving() as mirror:
        fill(mirror, real_model, tmp_path)
        yield mirror


def check_left(mirror: Mirror, folder: Path) -> None:
    """A file that has its name is the right one, whatever happened; everything else is one of ours."""
    for file in folder.rglob("*"):
        if not file.is_file() or file.name.endswith((".part", ".verified")):
            continue
        right = mirror.files[f"/owner/second/resolve/v1/{file.name}"]
        assert hashlib.sha256(file.read_bytes()).digest() == hashlib.sha256(right).digest()


def check_clean(mirror: Mirror, folder: Path) -> None:
    check_left(mirror, folder)
    names = {path.rpartition("/")[2] for path in mirror.files if "/second/" in path}
    assert {file.name for file in (folder / "second").iterdir()} == names | {f"{name}.verified" for name in names}


@pytest.mark.parametrize("stage", STAGES)
def test_a_download_that_is_killed_is_taken_up_by_the_next(mirror: Mirror, tmp_path: Path, stage: str) -> None:
    words = ["model", "download", "second"]
    where = {"env": environment(mirror, tmp_path, "second"), "cwd": tmp_path, "capture_output": True, "text": True}
    killed = subprocess.run([sys.executable, "-c", KILL + STAGES[stage] + RUN, *words], **where)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    check_left(mirror, tmp_path / "models")
    listed = subprocess.run([sys.executable, "-m", "ignis", "model", "list"], **where)
    assert listed.returncode == 0, listed.stderr
    again = subprocess.run([sys.executable, "-m", "ignis", *words], **where)
    assert (again.returncode, again.stdout.strip()) == (0, str(tmp_path / "models" / "second")), again.stderr
    check_clean(mirror, tmp_path / "models")


@pytest.mark.parametrize("stage", ["in the middle of a file", "when the file is whole and hashed", "between two files"])
def test_a_server_that_is_killed_in_its_download_serves_after_the_next_start(
    mirror: Mirror, tmp_path: Path, stage: str
) -> None:
    where = environment(mirror, tmp_path, "second")
    command = [sys.executable, "-c", KILL + STAGES[stage] + RUN]
    killed = Server(command, free_port(), free_port(), tmp_path / "log", where)
    assert killed.process.wait(60) == -signal.SIGKILL, killed.log_text()
    killed.stop()
    check_left(mirror, tmp_path / "models")
    with Server([sys.executable, "-m", "ignis"], free_port(), free_port(), tmp_path / "log", where) as server:
        answer = server.client.chat(messages=[{"role": "user", "content": "Hi"}], max_tokens=1)
        assert answer.error is None
    check_clean(mirror, tmp_path / "models")
    assert os.listdir(tmp_path / "models") == ["second"]
