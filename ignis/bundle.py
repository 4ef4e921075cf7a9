"""Where the files that are not Python lie: in a checkout, an installed package, the executable."""

import hashlib
import sys
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def _find_root() -> Path:
    """Returns the folder that holds spec/ and ui/."""
    if getattr(sys, "frozen", False):
        return Path(sys._MEIPASS)  # type: ignore[attr-defined]  # set by PyInstaller's bootloader
    if (_PACKAGE.parent / "spec" / "config.toml").is_file():
        return _PACKAGE.parent
    return _PACKAGE / "data"


ROOT = _find_root()


def path(name: str) -> Path:
    """Returns the place of a shipped file, e.g. `spec/catalog.toml` or `ui/index.html`. It may not exist."""
    return ROOT / name


def library(name: str) -> Path:
    """Returns the place of a leaf, e.g. `libignis_cpu.so`."""
    return _PACKAGE / "data" / name


def digest(folder: Path) -> str:
    """Returns 12 hex digits that tell one state of a folder from another, by the names and contents of its files."""
    found = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        name, content = str(file.relative_to(folder)).encode(), file.read_bytes()
        found.update(b"%d %b %d " % (len(name), name, len(content)) + content)
    return found.hexdigest()[:12]
