"""The libraries of the page are the ones of the lock, byte by byte."""

import hashlib
import importlib.util
import io
import shutil
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def vendor(tmp_path: Path) -> ModuleType:
    """packaging/vendor.py at a copy of ui/vendor."""
    spec = importlib.util.spec_from_file_location("vendor_under_test", ROOT / "packaging" / "vendor.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    shutil.copytree(ROOT / "ui" / "vendor", tmp_path / "vendor")
    module.VENDOR = tmp_path / "vendor"
    return module


@pytest.fixture
def lock(vendor: ModuleType) -> dict[str, Any]:
    return tomllib.loads((vendor.VENDOR / "lock.toml").read_text())


def test_what_lies_there_is_what_the_lock_names(vendor: ModuleType, lock: dict[str, Any]) -> None:
    vendor.check(lock)


def test_a_changed_missing_or_further_file_is_found(vendor: ModuleType, lock: dict[str, Any]) -> None:
    (vendor.VENDOR / "more.js").write_text("")
    with pytest.raises(vendor.Mismatch, match=r"more\.js is not in the lock"):
        vendor.check(lock)
    (vendor.VENDOR / "more.js").unlink()
    with (vendor.VENDOR / "htm.js").open("a") as file:
        file.write("\n")
    with pytest.raises(vendor.Mismatch, match=r"htm\.js is not what the lock names"):
        vendor.check(lock)
    (vendor.VENDOR / "htm.js").unlink()
    with pytest.raises(vendor.Mismatch, match=r"htm\.js is missing"):
        vendor.check(lock)


def test_the_registry_is_the_one_that_npm_is_set_to(
    vendor: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def answer(url: str, timeout: float) -> io.BytesIO:
        asked.append(url)
        return io.BytesIO(b"tarball")

    monkeypatch.setattr(vendor.urllib.request, "urlopen", answer)
    npm = tmp_path / "bin" / "npm"
    npm.parent.mkdir()
    npm.write_text('#!/bin/sh\necho "https://npm.example/$1/$2/$3/"\n')
    npm.chmod(0o755)
    for name in ("NPM_CONFIG_REGISTRY", "npm_config_registry"):
        monkeypatch.delenv(name, raising=False)
    package = {"name": "@a/b", "version": "1"}
    for path, variable in ((npm.parent, ""), (npm.parent, "https://variable.example"), (tmp_path, "")):
        monkeypatch.setenv("PATH", str(path))
        monkeypatch.setenv("NPM_CONFIG_REGISTRY", variable)
        assert vendor.download(package) == b"tarball"
    assert [url.removesuffix("/@a/b/-/b-1.tgz") for url in asked] == [
        "https://npm.example/config/get/registry",
        "https://variable.example",
        "https://registry.npmjs.org",
    ]


def test_a_package_of_another_hash_is_refused(vendor: ModuleType, lock: dict[str, Any]) -> None:
    with pytest.raises(vendor.Mismatch, match=r"htm 3\.1\.1 is sha512-"):
        vendor.unpack(next(package for package in lock["package"] if package["name"] == "htm"), b"other")


def test_an_edit_that_finds_nothing_is_refused(vendor: ModuleType) -> None:
    package = {"name": "a", "version": "1"}
    taken = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"  # of x
    file = {"from": "a.js", "to": "a.js", "taken": taken, "edits": [{"replace": "y", "by": "z"}], "kept": taken}
    with pytest.raises(vendor.Mismatch, match="has no 'y'"):
        vendor.edited(package, file, {"a.js": b"x"})
    file["edits"] = [{"from": "x", "until": "y", "by": ""}]
    with pytest.raises(vendor.Mismatch, match="has no 'x' until 'y'"):
        vendor.edited(package, file, {"a.js": b"x"})


def test_an_edit_takes_what_lies_between_two_texts(vendor: ModuleType) -> None:
    edits = [{"from": "b", "until": "d", "by": "-"}]
    file = {"from": "a.js", "to": "a.js", "edits": edits}
    file["taken"], file["kept"] = (hashlib.sha256(text).hexdigest() for text in (b"abcded", b"a-ded"))
    assert vendor.edited({"name": "a", "version": "1"}, file, {"a.js": b"abcded"}) == b"a-ded"


def test_every_library_of_the_page_has_its_licence_in_the_executable(lock: dict[str, Any]) -> None:
    spec = importlib.util.spec_from_file_location("licences_under_test", ROOT / "packaging" / "licences.py")
    assert spec is not None and spec.loader is not None
    licences = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(licences)
    found: dict[str, list[Path]] = licences.page_licences()
    names = {
        package["name"].removeprefix("@").replace("preact/", "").replace("/cdn-assets", "")
        for package in lock["package"]
    }
    assert {name.removesuffix("js") if name == "highlightjs" else name for name in names} == set(found)
    assert all(file.stat().st_size > 0 for files in found.values() for file in files)
