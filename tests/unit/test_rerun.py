import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FAILS_TWICE = """import pytest

opened = []


@pytest.fixture(scope="session")
def server():
    opened.append("server")
    yield
    opened.append("end of server")


@pytest.fixture(scope="module")
def browser(server):
    opened.append("browser")
    yield
    opened.append("end of browser")


def test_before(browser):
    pass


def test_third_time(browser):
    assert opened == ["server", "browser", "end of browser", "end of server"] * 2 + ["server", "browser"]


def test_after(browser):
    assert len(opened) == 10


def test_never(browser):
    assert False
"""


def test_a_failed_test_of_the_page_runs_twice_more_each_time_from_the_start(tmp_path: Path) -> None:
    file = tmp_path / "test_page.py"
    file.write_text(FAILS_TWICE)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.e2e.rerun", "--rootdir", str(tmp_path), str(file)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert "1 failed, 3 passed, 4 rerun" in ended.stdout, ended.stdout + ended.stderr
    assert "::test_never" in ended.stdout.rpartition("FAILED")[2]
