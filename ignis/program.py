"""The words that start this program again, as whoever started it would type them. Knows nothing of commands."""

import os
import shlex
import shutil
import sys
from pathlib import Path

NAME = "ignis-server"
"""Its name in usages, and where nobody typed it: another program has called `main`."""


def typed() -> str:
    """Returns what starts it in a shell of this folder and environment, quoted: `ignis-server`,
    `.venv/bin/ignis-server`, `python3 -m ignis`. It can be sent and printed: what is no text in a path, or would move a
    terminal's cursor, is `?`."""
    return "".join(letter if letter.isprintable() else "?" for letter in _typed())


def _typed() -> str:
    script = sys.argv[0]
    if getattr(sys, "frozen", False):
        # The single-file executable runs from where it was unpacked to.
        return _shortest(os.environ.get("IGNIS_SELF") or script)
    if _is_module(script):
        python, *rest = sys.orig_argv[: len(sys.orig_argv) - len(sys.argv) + 1]
        return f"{_shortest(python)} {shlex.join(rest)}"
    return _shortest(script) if _real_name(script) == NAME else NAME


def _is_module(script: str) -> bool:
    """Whether Python was told to run the package: by -m, or by the path of its folder or of its `__main__.py`."""
    main = Path(__file__).with_name("__main__.py")
    try:
        return Path(os.path.realpath(script)) in (main.resolve(), main.parent.resolve())
    except OSError:
        return False


def _real_name(script: str) -> str:
    try:
        return os.path.basename(os.path.realpath(script))
    except OSError:
        # The folder that the path begins in is gone.
        return os.path.basename(script)


def _shortest(path: str) -> str:
    """A path that the shell finds by the name, or that lies below this folder, was hardly typed in full."""
    name = os.path.basename(path)
    if shutil.which(name) == path:
        return shlex.quote(name)
    try:
        folder = Path.cwd()
    except OSError:
        return shlex.quote(path)
    if folder == folder.parent or not Path(path).is_relative_to(folder):
        return shlex.quote(path)
    below = str(Path(path).relative_to(folder))
    return shlex.quote(below if os.sep in below else os.path.join(os.curdir, below))
