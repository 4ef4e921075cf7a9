"""`config generate`, `print` and `patch`, and the texts that they and the route write."""

import json
import tomllib
from pathlib import Path

import pytest

from ignis.cli import main
from ignis.config import load_config
from ignis.config_fields import FIELDS
from ignis.config_table import document_of
from ignis.config_text import changes_text, effective_text, file_text, hidden_text

Output = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("IGNIS_CONFIG", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def run(capsys: Output, *words: str, status: int = 0) -> str:
    assert main(["config", *words]) == status
    captured = capsys.readouterr()
    return captured.out if status == 0 else captured.err


def test_a_generated_file_has_every_field_and_what_was_chosen(capsys: Output, tmp_path: Path) -> None:
    flags = ["--model-decode-lanes", "3", "--qwen3-model-kv-format", "fp8", "--switch-known-models", "a=/a.gguf"]
    text = run(capsys, "generate", *flags, "--download-token", "hf-mine")
    (tmp_path / "ignis.config.toml").write_text(text)
    document = tomllib.loads(text)
    assert document["model"] == {"decode_lanes": 3, "qwen3": {"kv_format": "fp8"}}
    assert document["switch"] == {"known_models": {"a": "/a.gguf"}} and document["download"] == {"token": "hf-mine"}
    assert document_of(load_config([], {}, tmp_path)) == document_of(load_config(flags, {}, tmp_path))
    assert all(
        f"\n{field.name} = " in text or f"\n#{field.name} = " in text or f"\n#{field.name} =" in text
        for field in FIELDS
    )
    assert max(map(len, text.splitlines())) <= 120


def test_what_is_commented_out_is_the_default(capsys: Output, tmp_path: Path) -> None:
    text, expected = run(capsys, "generate"), document_of(load_config([], {}, tmp_path))
    lines = [
        line[1:] if line.startswith("#") and line[1:2].isalpha() and " = " in line else line
        for line in text.splitlines()
    ]
    (tmp_path / "ignis.config.toml").write_text("\n".join(lines))
    assert len(load_config([], {}, tmp_path).layers.keys) > 30
    assert document_of(load_config([], {}, tmp_path)) == expected


def test_a_file_that_is_there_is_overwritten_by_force_alone(capsys: Output, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    assert run(capsys, "generate", "--out", "mine.toml") == "mine.toml\n"
    assert run(capsys, "generate", "--out=mine.toml", "--dry-run", "--cpu-threads", "3").endswith("\n")
    assert "is there already; --force overwrites it" in run(capsys, "generate", "--out", "mine.toml", status=2)
    before = file.read_text()
    run(capsys, "generate", "--out", "mine.toml", "--force", "--cpu-threads", "3")
    assert file.read_text() == before.replace("#threads = 0", "threads = 3")
    run(capsys, "generate", "--out", "mine.json", "--model-id", "m")
    assert json.loads((tmp_path / "mine.json").read_text())["model"]["id"] == "m"
    assert load_config(["--config", "mine.json"], {}, tmp_path).model.id == "m"


def test_a_patched_file_keeps_the_rest_and_its_paths_are_whole(capsys: Output, tmp_path: Path) -> None:
    folder = tmp_path / "etc"
    folder.mkdir()
    file = folder / "ignis.toml"
    file.write_text("# mine\n[model]\ndecode_lanes = 2 # few\n")
    out = run(capsys, "patch", "--file", "etc/ignis.toml", "--model-decode-lanes=4", "--download-path", "m")
    assert Path(out.strip()) == file
    assert file.read_text() == f'# mine\n[model]\ndecode_lanes = 4 # few\n\n[download]\npath = "{tmp_path}/m"\n'
    run(capsys, "patch", "--file", "etc/ignis.toml", "--out", "new.toml", "--cpu-threads", "2")
    assert "threads" not in file.read_text() and "threads = 2" in (tmp_path / "new.toml").read_text()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["patch", "--model-decode-lanes", "2"], "there is no configuration file to change; config generate --out"),
        (["patch", "--file", "gone.toml", "--model-decode-lanes", "2"], "is not there"),
        (["patch", "--file", "mine.toml"], "nothing to change: name a field and its value, as --server-ui false"),
        (["patch", "--file", "mine.toml", "--model-decode-lanes", "9"], "must be 1 to 8"),
        (["patch", "--file", "mine.toml", "--vram-allow-oversubscription"], "needs a vram.budget_bytes"),
        (["patch", "--config", "mine.toml"], "--config is no option of this command; --file"),
        (["generate", "--format", "yaml"], "must be toml or json"),
        (["generate", "--profile", "no"], "unknown profile 'no'"),
        (["print", "--file", "gone.toml"], "is not there"),
        (["print", "--out"], "unknown option --out"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(
    capsys: Output, tmp_path: Path, words: list[str], says: str
) -> None:
    (tmp_path / "mine.toml").write_text("[cpu]\nthreads = 1\n")
    assert says in run(capsys, *words, status=2)
    assert (tmp_path / "mine.toml").read_text() == "[cpu]\nthreads = 1\n"


def test_a_file_that_cannot_be_written_is_a_failure(capsys: Output, tmp_path: Path) -> None:
    assert "cannot be written" in run(capsys, "generate", "--out", "nowhere/mine.toml", status=1)


def test_print_reads_the_file_that_it_is_told(capsys: Output, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('profile = "cpu"\n[model.qwen3]\nmax_context = 64\n')
    text = run(capsys, "print", "--file", "mine.toml")
    assert "decode_lanes = 4  # model.decode_lanes of profile cpu" in text
    assert f"[model.qwen3]\nmax_context = 64  # model.qwen3.max_context in {tmp_path}/mine.toml" in text
    shown = json.loads(run(capsys, "print", "--file", "mine.toml", "--json"))
    assert shown["config"]["model"]["qwen3"] == {"max_context": 64}


def test_no_text_tells_a_secret(tmp_path: Path) -> None:
    file = tmp_path / "ignis.config.toml"
    file.write_text(
        '# mine\n[download]\ntoken = "hf-hush" # of the mirror\nendpoint = "https://me:hush@mirror.example"\n'
        '[server]\napi_key = "sk-hush"\nrequest_timeout = 5\n'
    )
    config = load_config([], {}, tmp_path)
    assert hidden_text(file.read_text(), file) == (
        '# mine\n[download]\ntoken = "(set, not shown)" # of the mirror\n'
        'endpoint = "https://(not shown)@mirror.example"\n'
        '[server]\napi_key = "(set, not shown)"\nrequest_timeout = 5\n'
    )
    assert tomllib.loads(changes_text(config)) == {
        "download": {"endpoint": "https://(not shown)@mirror.example"},
        "server": {"request_timeout": 5},
    }
    assert "hush" not in effective_text(config) and 'api_key = "(set, not shown)"' in effective_text(config)


def test_secrets_of_profiles_and_comments_are_hidden_too(tmp_path: Path) -> None:
    text = (
        '# token = "hf-hush"\n#api_key = sk-hush\n# a token of mine\n[profiles.mine.download]\ntoken = "hf-hush"\n'
        "[profiles.mine.cpu]\nthreads = 1 # one\n"
    )
    assert hidden_text(text, tmp_path / "a.toml") == (
        "# token = (set, not shown)\n#api_key = (set, not shown)\n# a token of mine\n[profiles.mine.download]\n"
        'token = "(set, not shown)"\n[profiles.mine.cpu]\nthreads = 1 # one\n'
    )
    document = {"profiles": {"mine": {"download": {"token": "hf-hush"}}}, "server": {"api_key": "sk-hush"}}
    assert "hush" not in hidden_text(json.dumps(document), tmp_path / "a.json")


def test_a_generated_text_survives_every_kind_of_value(tmp_path: Path) -> None:
    flags = ["--server-bind", "127.0.0.1:1,unix:/s", "--server-unix-mode", "600", "--vram-kv-pool-bytes", "64tok"]
    flags += ["--server-origins", "https://a.example", "--sampling-temperature", "0.5", "--model-idle-unload", "0"]
    config = load_config(flags, {}, tmp_path)
    file = tmp_path / "ignis.config.toml"
    file.write_text(file_text(config))
    assert document_of(load_config([], {}, tmp_path)) == document_of(config)


@pytest.mark.parametrize(
    "text",
    [
        '[switch]\nknown_models = { mine = "m.gguf" }\n',
        '[switch.known_models]\nmine = "m.gguf"\n',
        '[switch]\nknown_models = "mine=m.gguf"\n',
    ],
)
def test_a_file_that_knows_models_is_shown_as_it_is(tmp_path: Path, text: str) -> None:
    assert hidden_text(text, tmp_path / "a.toml") == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{\n  "profiles": {\n    "mine": {\n      "download": null,\n      "model": 5\n    }\n  }\n}\n'),
        ("a.json", '{\n  "profiles": {\n    "mine": {\n      "model": "\\ud800"\n    }\n  }\n}\n'),
        ("a.toml", "[profiles.mine]\nmodel = { id = 5 }\ndownload = 'token'\n"),
    ],
)
def test_what_an_unused_profile_has_is_shown_whatever_it_is(tmp_path: Path, name: str, text: str) -> None:
    assert hidden_text(text, tmp_path / name) == text
