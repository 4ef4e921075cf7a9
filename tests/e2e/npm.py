"""Clients from npm: installed once, kept beside pytest's own cache, run under a time limit."""

import shutil
import subprocess
from pathlib import Path

import pytest

_INSTALL_LIMIT_S = 240
_RUN_LIMIT_S = 120


def install(folder: Path, *packages: str) -> Path:
    """Installs packages, each as name@version, into a folder, unless they are there. Returns its node_modules.

    Where there is no node, or no registry, the test is skipped with what is missing.
    """
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("node and npm are not installed")
    marker = folder / "installed"
    wanted = "\n".join(packages)
    if not marker.exists() or marker.read_text() != wanted:
        command = [npm, "install", "--no-audit", "--no-fund", "--no-save", "--prefix", str(folder), *packages]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_INSTALL_LIMIT_S)
        except subprocess.TimeoutExpired:
            pytest.skip(f"npm install took longer than {_INSTALL_LIMIT_S} s")
        if done.returncode:
            pytest.skip(f"npm install failed: {done.stderr[-300:]}")
        marker.write_text(wanted)
    return folder / "node_modules"


def run(command: list[str], environment: dict[str, str], folder: Path) -> str:
    """Runs a client to its end, which must be a good one; returns what it printed."""
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        timeout=_RUN_LIMIT_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr
