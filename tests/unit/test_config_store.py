"""A configuration file is changed where it has to be, and is the old one or the new one at any moment."""

import os
from pathlib import Path

import pytest

from ignis.config_file import content_of
from ignis.config_store import ConfigStore, merge_json, merge_toml

TEXT = """\
# my server
profile = "cpu"  # a slow one

[server] # listens
bind = "0.0.0.0:8000"  # everywhere
request_timeout = 60   # a minute

# the model
[model]
decode_lanes = 2
qwen3 = { max_context = 64 } # inline

[switch.known_models]
a = "x.gguf"
"""


def test_a_changed_value_keeps_its_place_its_comment_and_all_the_rest() -> None:
    assert merge_toml(TEXT, {"server.request_timeout": 90}) == TEXT.replace("= 60", "= 90")
    assert merge_toml(TEXT, {"model.qwen3.max_context": 128}) == TEXT.replace("= 64", "= 128")
    assert merge_toml(TEXT, {"model.decode_lanes": None}) == TEXT.replace("decode_lanes = 2\n", "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# only a comment\n",
        TEXT,
        "model.id = 'a'\nserver.ui = true",
        "[model]\nid = 'a'\n[server]\nui = true\n[model.qwen3]\nmax_context = 64\n",
        "server = {ui = true}\n",
        "[model]\nid = 'a'\nqwen3.max_context = 64\n[cpu]\n",
        "model.qwen3.max_context = 64\nmodel.id = 'a'\n[cpu]\nthreads = 1",
        "[switch.known_models]\na = 'b'\n[model.qwen3]\nmax_context = 64\n# end",
    ],
)
def test_new_values_are_read_back_whatever_the_file_looks_like(text: str) -> None:
    values = {
        "log.level": "debug",
        "model.llama.max_context": 64,
        "model.decode_share": 30,
        "server.ui": False,
        "switch.known_models": {"b": "/b.gguf"},
        "vram.kv_pool_bytes": "4096tok",
        "device.kind": None,
    }
    merged = content_of(merge_toml(text, values), Path("/etc/ignis.toml")).values
    before = content_of(text, Path("/etc/ignis.toml")).values
    assert {key: merged[key].text for key in values if values[key] is not None} == {
        "log.level": "debug",
        "model.llama.max_context": "64",
        "model.decode_share": "30",
        "server.ui": "false",
        "switch.known_models": "b=/b.gguf",
        "vram.kv_pool_bytes": "4096tok",
    }
    assert {key: merged[key] for key in before if key not in values} == {
        key: given for key, given in before.items() if key not in values
    }


def test_a_json_file_keeps_its_order_and_indentation() -> None:
    text = '{\n    "server": {\n        "ui": true\n    },\n    "cpu": {\n        "threads": 1\n    }\n}\n'
    changed = merge_json(text, {"server.ui": False, "model.qwen3.max_context": 64, "cpu.threads": None})
    assert changed == (
        '{\n    "server": {\n        "ui": false\n    },\n    "cpu": {},\n    "model": {\n        "qwen3": {\n'
        '            "max_context": 64\n        }\n    }\n}\n'
    )


def test_a_write_replaces_the_file_behind_a_link_and_keeps_its_mode(tmp_path: Path) -> None:
    real, link = tmp_path / "real.toml", tmp_path / "ignis.config.toml"
    real.write_text("[cpu]\nthreads = 1\n")
    real.chmod(0o640)
    link.symlink_to(real)
    ConfigStore(link).write("[cpu]\nthreads = 2\n")
    assert link.is_symlink() and real.read_text() == "[cpu]\nthreads = 2\n"
    assert real.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tmp_path)) == ["ignis.config.toml", "real.toml"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "ignis.config.toml"
    file.write_text("old")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        ConfigStore(file).write("new")
    assert file.read_text() == "old" and os.listdir(tmp_path) == ["ignis.config.toml"]


def test_what_a_broken_write_left_is_removed_and_is_in_nobodys_way(tmp_path: Path) -> None:
    file, beside = tmp_path / "ignis.config.toml", tmp_path / ".ignis.config.toml.new"
    file.write_text("old")
    beside.write_text("half")
    ConfigStore(file).clean()
    assert os.listdir(tmp_path) == ["ignis.config.toml"]
    beside.write_text("half")
    ConfigStore(file).write("new")
    assert file.read_text() == "new" and os.listdir(tmp_path) == ["ignis.config.toml"]
