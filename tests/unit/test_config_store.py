"""A configuration file is changed where it has to be, and is the old one or the new one at any moment."""

import cProfile
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ignis import config_store
from ignis.config import load_config
from ignis.config_file import content_of
from ignis.config_store import ConfigStore, merge_json, merge_toml
from ignis.errors import ConfigError

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


GENERATED = """\
# What clients may do.
[server] # mine
# the Playground (true or false)
#ui = true

# What the model is.
[model]
# seconds
# idle_unload = 300
#id =

# What it runs on.
[device]
kind = "cpu"
"""


@pytest.mark.parametrize(
    ("key", "value", "before", "added"),
    [
        ("server.ui", False, "#ui = true\n", "ui = false\n"),
        ("model.idle_unload", 0, "# idle_unload = 300\n", "idle_unload = 0\n"),
        ("model.decode_lanes", 4, "#id =\n", "decode_lanes = 4\n"),
        ("model.qwen3.max_context", 64, "#id =\n", "\n[model.qwen3]\nmax_context = 64\n"),
    ],
)
def test_a_new_value_stands_below_its_own_comment_and_never_below_that_of_the_next_table(
    key: str, value: Any, before: str, added: str
) -> None:
    merged = merge_toml(GENERATED, {key: value})
    assert merged == GENERATED.replace(before, before + added)
    assert merge_toml(merged, {key: None}) == GENERATED


@pytest.mark.parametrize("key", ["cpu.threads", "model.llama.max_context", "log.level", "server.idle_timeout"])
def test_a_value_that_is_set_and_taken_out_again_leaves_the_file_as_it_was(key: str) -> None:
    value = "debug" if key == "log.level" else 64
    for text in (TEXT, "", "# mine\n"):
        assert merge_toml(merge_toml(text, {key: value}), {key: None}) == text
    for document in ("{}\n", '{\n  "server": {\n    "ui": true\n  }\n}\n'):
        assert merge_json(merge_json(document, {key: value}), {key: None}) == document


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("[model]\ndecode_lanes = 2\n", ""),
        ("[model]\ndecode_lanes = 2\n\n# threads\n[cpu]\nthreads = 2\n", "# threads\n[cpu]\nthreads = 2\n"),
        ("[cpu]\nthreads = 2\n\n[ model ]\ndecode_lanes = 2\n\n", "[cpu]\nthreads = 2\n"),
        ("[model] # mine\ndecode_lanes = 2\n", "[model] # mine\n"),
        ("[model]\ndecode_lanes = 2\nid = 'a'\n", "[model]\nid = 'a'\n"),
        ("model = {decode_lanes = 2}\n", ""),
        ("[model]\ndecode_lanes = 2\n[model.qwen3]\nmax_context = 64\n", "[model.qwen3]\nmax_context = 64\n"),
        (
            '[server]\nbind = """\n[model]\n"""\n[model]\ndecode_lanes = 2\n',
            '[server]\nbind = """\n[model]\n"""\n[model]\n',
        ),
    ],
)
def test_a_group_goes_with_its_last_value(text: str, left: str) -> None:
    assert merge_toml(text, {"model.decode_lanes": None}) == left


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
        '{\n    "server": {\n        "ui": false\n    },\n    "model": {\n        "qwen3": {\n'
        '            "max_context": 64\n        }\n    }\n}\n'
    )


def test_half_a_character_of_a_json_file_stays_its_escape() -> None:
    text = '{\n  "profiles": {\n    "a\\ud800": {}\n  },\n  "model": {\n    "id": "\U0001f600"\n  }\n}\n'
    changed = merge_json(text, {"cpu.threads": 1})
    assert changed == text[:-3] + ',\n  "cpu": {\n    "threads": 1\n  }\n}\n'
    assert changed.encode()


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        (
            "a.toml",
            "# mine\r\n[model]\r\nmax_context = 256\r\n",
            "# mine\r\n[model]\r\nmax_context = 256\r\nidle_unload = 7\r\n",
        ),
        ("a.json", '{\r\n  "model": {}\r\n}\r\n', '{\r\n  "model": {\r\n    "idle_unload": 7\r\n  }\r\n}\r\n'),
    ],
)
def test_what_is_added_has_the_ends_of_lines_of_the_rest(tmp_path: Path, name: str, text: str, wanted: str) -> None:
    file = tmp_path / name
    file.write_bytes(text.encode())
    store = ConfigStore(file)
    store.write(store.merged({"model.idle_unload": 7}))
    assert file.read_bytes().decode() == wanted


def test_a_file_that_became_a_pipe_is_refused_and_waited_for_by_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.toml")
    with pytest.raises(ConfigError, match="it is no regular file"):
        ConfigStore(tmp_path / "a.toml").merged({"model.idle_unload": 7})


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


def test_what_is_no_regular_file_is_never_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.toml"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="no regular file"):
        ConfigStore(pipe).write("new")
    assert pipe.is_fifo() and os.listdir(tmp_path) == ["pipe.toml"]


def test_what_a_broken_write_left_is_removed_and_is_in_nobodys_way(tmp_path: Path) -> None:
    file, beside = tmp_path / "ignis.config.toml", tmp_path / ".ignis.config.toml.new"
    file.write_text("old")
    beside.write_text("half")
    ConfigStore(file).clean()
    assert os.listdir(tmp_path) == ["ignis.config.toml"]
    beside.write_text("half")
    ConfigStore(file).write("new")
    assert file.read_text() == "new" and os.listdir(tmp_path) == ["ignis.config.toml"]


CONTENT: dict[str, dict[str, Any]] = {
    "model": {"decode_lanes": 3, "decode_share": 4, "idle_unload": 5},
    "server": {"ui": True, "request_timeout": 7},
    "cpu": {"threads": 2},
    "switch": {"max_wait": 4, "known_models": {"a": "/x"}},
    "sampling": {"temperature": 0.5},
}
CHANGES: dict[str, Any] = {
    "model.decode_lanes": 2,
    "model.qwen3.decode_lanes": 1,
    "model.llama.decode_share": 9,
    "server.ui": False,
    "cpu.threads": 1,
    "switch.known_models": {"b": "/y"},
    "sampling.llama.temperature": 0.2,
    "device.kind": "cpu",
}


def _spelled(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_spelled(entry)}" for name, entry in value.items()) + " }"
    return json.dumps(value)


def _any_file(chance: random.Random) -> str:
    """A file in any mixture of the ways in which TOML spells a table."""
    top: list[str] = []
    tables: list[str] = []
    for group in chance.sample(list(CONTENT), chance.randint(0, len(CONTENT))):
        fields = {name: value for name, value in CONTENT[group].items() if chance.random() < 0.6}
        scoped = {name: value for name, value in fields.items() if name.startswith(("decode", "temp"))}
        families = [family for family in ("llama", "qwen3") if scoped and chance.random() < 0.5]
        style = chance.choice(["head", "dotted", "inline"])
        if style == "inline":
            top.append(f"{group} = {_spelled(fields | dict.fromkeys(families, scoped))}  # c {group}")
            continue
        prefix = f"{group}." if style == "dotted" else ""
        body = [f"{prefix}{name} = {_spelled(value)} # c {group}.{name}" for name, value in fields.items()]
        for family in families:
            match chance.choice(["head", "dotted", "inline"]):
                case "head":
                    rows = "\n".join(f"{name} = {value}" for name, value in scoped.items())
                    tables.append(f"[{group}.{family}] # head\n{rows}")
                case "dotted":
                    body += [f"{prefix}{family}.{name} = {value}" for name, value in scoped.items()]
                case "inline":
                    body.append(f"{prefix}{family} = {_spelled(scoped)}")
        if style == "dotted":
            top += body
        else:
            tables.append("\n".join([f"[{group}]", *body]))
    chance.shuffle(top)
    chance.shuffle(tables)
    return "\n\n".join(["# the first line", "\n".join(top), *tables, "# the last line"])


def test_twice_as_many_named_models_take_twice_as_long_to_write() -> None:
    def num_calls(num_models: int) -> int:
        known = {f"m{number}": f"/models/{number}.gguf" for number in range(num_models)}
        profile = cProfile.Profile()
        profile.runcall(merge_toml, "[model]\nid = 'a'\n", {"switch.known_models": known})
        return sum(entry.callcount for entry in profile.getstats())

    assert num_calls(400) < 2.5 * num_calls(200)


@given(st.integers(0, 2**32))
def test_a_file_of_any_form_is_changed_and_keeps_its_comments(seed: int) -> None:
    chance = random.Random(seed)
    text = _any_file(chance)
    values = {key: None if chance.random() < 0.3 else value for key, value in CHANGES.items() if chance.random() < 0.5}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ignis.config.toml"
        file.write_text(text)
        # It refuses a file whose text would come out as anything else.
        merged = ConfigStore(file).merged(values)
    kept = [line for line in text.splitlines() if "# " in line]
    changed = {key.rpartition(".")[2] for key in values}
    assert all(line in merged for line in kept if not any(name in line for name in (*changed, "= {")))


@pytest.mark.parametrize("text", ["[model]\nmax_context = 64\n", '{\n  "model": {\n    "max_context": 64\n  }\n}\n'])
def test_the_mark_that_an_editor_begins_a_text_with_is_passed_over(tmp_path: Path, text: str) -> None:
    file = tmp_path / ("a.json" if text.startswith("{") else "a.toml")
    file.write_text("\ufeff" + text, encoding="utf-8")
    assert load_config(["--config", str(file)], {}, tmp_path).model.max_context == 64
    store = ConfigStore(file)
    store.write(store.merged({"model.max_context": 128}))
    assert file.read_bytes() == text.replace("64", "128").encode()


_CHANGES = """
import sys
from pathlib import Path
from ignis.config_store import ConfigStore
store = ConfigStore(Path(sys.argv[1]))
print(flush=True)
sys.stdin.read(1)
for number in range(64, 114):
    with store.alone():
        store.write(store.merged({sys.argv[2]: number}))
"""


def test_changes_of_two_processes_at_once_are_both_kept(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text("# mine\n")
    keys = ("model.max_context", "model.default_max_tokens")
    command = [sys.executable, "-c", _CHANGES, str(file)]
    both = [subprocess.Popen([*command, key], stdin=subprocess.PIPE, stdout=subprocess.PIPE) for key in keys]
    for process in both:
        assert process.stdout is not None and process.stdout.readline()
    for process in both:
        assert process.stdin is not None
        process.stdin.write(b"!")
        process.stdin.flush()
    for process in both:
        process.communicate(timeout=60)
    assert [process.returncode for process in both] == [0, 0]
    assert set(content_of(file.read_text(), file).values) == set(keys)
    assert file.read_text().count("113") == 2


def test_a_lock_that_stays_is_not_waited_for_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_store, "_LOOK_S", 0)
    first, second = (ConfigStore(tmp_path / "a.toml") for _ in range(2))
    with first.alone(), pytest.raises(OSError, match="another process is changing it"), second.alone():
        pass
    with second.alone():
        pass
