"""Collects the licences of what the executable has inside and is not ours: a folder `licenses/<name>/` for each.

A Python package brings its own; those of the system's libraries lie where the system's package manager puts them.
"""

import importlib.metadata
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NAMED = re.compile(r"(LICEN[CS]E|COPYING|NOTICE)[^/]*", re.IGNORECASE)

Entry = tuple[str, str, str]
"""(place in the bundle, file on this machine, PyInstaller's kind)"""


def collect(folder: Path, binaries: Iterable[Entry], zstd: Path) -> list[tuple[str, str]]:
    """Fills the folder; returns PyInstaller's pairs (file, folder in the bundle). zstd: the folder of its source."""
    shutil.rmtree(folder, ignore_errors=True)
    pins = tomllib.loads((ROOT / "packaging" / "lock.toml").read_text(encoding="utf-8"))["runtime"]
    # PyInstaller's is there for the bootloader, which starts Python.
    for name in [*(pin.partition("==")[0] for pin in pins), "pyinstaller"]:
        put(folder / name, package_licences(name))
    put(folder / "python", [python_licence()])
    put(folder / "zstd", [zstd / "LICENSE"])
    for name, files in page_licences().items():
        put(folder / name, files)
    for library in system_libraries(binaries):
        found = system_licences(library)
        if not found:
            print(f"licences.py: this system has no licence file of {library}", file=sys.stderr)
        put(folder / library, found)
    return [
        (str(file), str(Path("licenses") / file.parent.relative_to(folder)))
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    ]


def put(folder: Path, files: Sequence[Path]) -> None:
    for file in files:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, folder / file.name)


def page_licences() -> dict[str, list[Path]]:
    """The texts of the page's libraries, by their names. The fonts of KaTeX have one of their own."""
    files = {file.stem: [file] for file in sorted((ROOT / "ui" / "vendor" / "licences").iterdir())}
    # It is not in KaTeX's package, and is one text for everybody.
    files["katex"].append(ROOT / "packaging" / "OFL-1.1.txt")
    return files


def package_licences(name: str) -> list[Path]:
    distribution = importlib.metadata.distribution(name)
    listed = [file for file in distribution.files or () if ".dist-info" in file.parts[0] and NAMED.fullmatch(file.name)]
    if listed:
        return [Path(str(distribution.locate_file(file))) for file in listed]
    fields = (distribution.metadata.get_all(field) or () for field in ("License-Expression", "License", "Classifier"))
    if not any("Apache" in value for values in fields for value in values):
        sys.exit(f"licences.py: {name} has no licence file in its wheel; put its text beside this script")
    # Apache-2.0 is one text for everybody, and our own.
    return [ROOT / "LICENSE"]


def python_licence() -> Path:
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    places = (Path(sysconfig.get_path("stdlib")) / "LICENSE.txt", Path("/usr/share/doc") / version / "copyright")
    for place in places:
        if place.is_file():
            return place
    sys.exit(f"licences.py: Python's licence is in neither {places[0]} nor {places[1]}")


def system_libraries(binaries: Iterable[Entry]) -> list[str]:
    """The names of shared libraries that are neither in a package nor Python's own."""
    environment = sysconfig.get_path("platlib")
    return sorted(
        name
        for name, source, kind in binaries
        if kind == "BINARY" and "/" not in name and not name.startswith("libpython") and environment not in source
    )


def system_licences(library: str) -> list[Path]:
    """Asks Debian's package manager, else RPM."""
    if shutil.which("dpkg-query"):
        asked = subprocess.run(["dpkg-query", "--search", f"*/{library}"], capture_output=True, text=True)
        packages = {line.partition(":")[0] for line in asked.stdout.splitlines()}
        files = [Path("/usr/share/doc") / package / "copyright" for package in sorted(packages)]
    elif shutil.which("rpm"):
        asked = subprocess.run(
            ["rpm", "--query", "--licensefiles", "--whatprovides", f"{library}()(64bit)"],
            capture_output=True,
            text=True,
        )
        files = [Path(line) for line in asked.stdout.splitlines()]
    else:
        files = []
    return [file for file in files if file.is_file()][:1]
