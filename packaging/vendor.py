"""The libraries of ui/vendor/, fetched from the npm registry and held to ui/vendor/lock.toml. Standard library only.

vendor.py fetch    take each package again, check it, cut the files out, edit them as the lock says, write them
vendor.py check    compare what lies in ui/vendor/ with the lock; no network
"""

import base64
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

VENDOR = Path(__file__).resolve().parent.parent / "ui" / "vendor"
LOCK = VENDOR / "lock.toml"
# Ours: what a type checker reads beside the libraries, and the lock itself.
OWN_SUFFIXES = (".d.ts", ".toml")
MAX_TARBALL_BYTES = 64 << 20
USUAL_REGISTRY = "https://registry.npmjs.org/"


class Mismatch(Exception):
    """A file or package is not the one that the lock names; its text says which."""


def main(arguments: list[str]) -> int:
    commands = {"fetch": fetch, "check": check}
    if len(arguments) != 1 or arguments[0] not in commands:
        print(__doc__, file=sys.stderr)
        return 2
    lock = tomllib.loads(LOCK.read_text())
    try:
        commands[arguments[0]](lock)
    except (Mismatch, urllib.error.URLError) as error:
        print(f"vendor: {error}", file=sys.stderr)
        return 1
    return 0


def fetch(lock: dict[str, Any]) -> None:
    """Writes every file of the lock anew. Raises Mismatch before anything of a package that differs is written."""
    for package in lock["package"]:
        members = unpack(package, download(package))
        for file in package["file"]:
            content = edited(package, file, members)
            target = VENDOR / file["to"]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        print(f"{package['name']} {package['version']}: {len(package['file'])} files")
    check(lock)


def check(lock: dict[str, Any]) -> None:
    """Raises Mismatch for a file that is missing, that has other content, or that the lock does not name."""
    expected = {file["to"]: file["kept"] for package in lock["package"] for file in package["file"]}
    for name, digest in expected.items():
        path = VENDOR / name
        if not path.is_file():
            raise Mismatch(f"ui/vendor/{name} is missing; run: python3 build.py vendor")
        if hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            raise Mismatch(f"ui/vendor/{name} is not what the lock names; run: python3 build.py vendor")
    for path in VENDOR.rglob("*"):
        name = path.relative_to(VENDOR).as_posix()
        if path.is_file() and name not in expected and not name.endswith(OWN_SUFFIXES):
            raise Mismatch(f"ui/vendor/{name} is not in the lock")


def download(package: dict[str, Any]) -> bytes:
    """Returns the tarball of that package from the registry that npm would use."""
    registry = named_registry()
    base = package["name"].rpartition("/")[2]
    url = f"{registry.rstrip('/')}/{package['name']}/-/{base}-{package['version']}.tgz"
    if not url.startswith("https://"):
        raise Mismatch(f"the registry {registry} is not https")
    with urllib.request.urlopen(url, timeout=60) as answer:
        content: bytes = answer.read(MAX_TARBALL_BYTES + 1)
    if len(content) > MAX_TARBALL_BYTES:
        raise Mismatch(f"{url} is larger than {MAX_TARBALL_BYTES} bytes")
    return content


def named_registry() -> str:
    """Returns the registry that npm is set to, by a variable or by its own files."""
    for name in ("NPM_CONFIG_REGISTRY", "npm_config_registry"):
        if registry := os.environ.get(name):
            return registry
    npm = shutil.which("npm")
    if npm is None:
        return USUAL_REGISTRY
    said = subprocess.run([npm, "config", "get", "registry"], capture_output=True, text=True, check=False, timeout=60)
    return said.stdout.strip() or USUAL_REGISTRY


def unpack(package: dict[str, Any], tarball: bytes) -> dict[str, bytes]:
    """Returns the files of the tarball by their path in the package. Raises Mismatch unless it has the lock's hash."""
    found = "sha512-" + base64.b64encode(hashlib.sha512(tarball).digest()).decode()
    if found != package["integrity"]:
        raise Mismatch(f"{package['name']} {package['version']} is {found}, the lock names {package['integrity']}")
    members = {}
    with tarfile.open(fileobj=io.BytesIO(tarball), mode="r:gz") as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None:
                members[member.name.partition("/")[2]] = file.read()
    return members


def edited(package: dict[str, Any], file: dict[str, Any], members: dict[str, bytes]) -> bytes:
    """Returns the file with the lock's edits. An edit that finds nothing to replace is a mismatch too."""
    place = f"{package['name']} {package['version']}: {file['from']}"
    content = members.get(file["from"])
    if content is None:
        raise Mismatch(f"{place} is not in the package")
    if hashlib.sha256(content).hexdigest() != file["taken"]:
        raise Mismatch(f"{place} is not what the lock names")
    for edit in file.get("edits", []):
        if "first" in edit:
            content = edit["first"].encode() + b"\n" + content
        elif "last" in edit:
            content = content.rstrip(b"\n") + b"\n" + edit["last"].encode() + b"\n"
        elif "from" in edit:
            before, start, rest = content.partition(edit["from"].encode())
            _, stop, after = rest.partition(edit["until"].encode())
            if not start or not stop:
                raise Mismatch(f"{place} has no {edit['from']!r} until {edit['until']!r}")
            content = before + edit["by"].encode() + stop + after
        else:
            old = edit["replace"].encode()
            if old not in content:
                raise Mismatch(f"{place} has no {edit['replace']!r}")
            content = content.replace(old, edit["by"].encode())
    if hashlib.sha256(content).hexdigest() != file["kept"]:
        raise Mismatch(f"{place} is other than the lock names once it is edited")
    return content


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
