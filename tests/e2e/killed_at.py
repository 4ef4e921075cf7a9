"""Runs the server and kills it, as a power cut would, at one stage of a change of its configuration.

python -m tests.e2e.killed_at <stage> <the server's arguments>
"""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from ignis import cli
from ignis.config_store import ConfigStore
from ignis.engine.engine import Engine
from ignis.running import RunningConfig


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _before(place: Any, name: str, number: int = 1) -> None:
    """Has the process killed when that is called for the n-th time."""
    original: Callable[..., Any] = getattr(place, name)
    calls = [0]

    def killing(*arguments: Any, **options: Any) -> Any:
        calls[0] += 1
        if calls[0] == number:
            _kill()
        return original(*arguments, **options)

    setattr(place, name, killing)


def _after(place: Any, name: str) -> None:
    original: Callable[..., Any] = getattr(place, name)

    def killing(*arguments: Any, **options: Any) -> Any:
        original(*arguments, **options)
        _kill()

    setattr(place, name, killing)


STAGES: dict[str, Callable[[], None]] = {
    "asked": lambda: _before(RunningConfig, "_make"),
    "torn down": lambda: _before(Engine, "load", 2),
    "in effect": lambda: _before(ConfigStore, "write"),
    "new file made": lambda: _before(os, "fchmod"),
    "new file filled": lambda: _before(os, "fsync"),
    "new file on disk": lambda: _before(os, "replace"),
    "renamed": lambda: _after(os, "replace"),
    "written": lambda: _after(ConfigStore, "write"),
}
"""Each is a moment of a change; the file is the old one before `renamed`, and from then on the new one."""

if __name__ == "__main__":
    STAGES[sys.argv[1]]()
    sys.exit(cli.main(sys.argv[2:]))
