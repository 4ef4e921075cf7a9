"""The configuration: precedence, origins, ranges, and what a refusal says."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ignis.api.routes import ApiSettings
from ignis.cli import main
from ignis.config import load_config
from ignis.config_change import plan_change
from ignis.config_fields import (
    FAMILIES,
    FIELDS,
    PROFILE_TEXTS,
    PROFILES,
    DeviceKind,
    Field,
    Kind,
    LogLevel,
    ModelKvFormat,
)
from ignis.config_flags import FOREIGN_FLAGS, FOREIGN_WORDS
from ignis.config_profile import read_profile
from ignis.config_slots import Origin, Source
from ignis.config_table import describe_fields
from ignis.config_values import rule
from ignis.engine.settings import EngineSettings
from ignis.errors import ConfigError
from ignis.server.limits import ServerLimits
from ignis.units import Address, NamedPaths, PoolSize, UnixPath, format_size, parse_address, parse_pool_size, parse_size

NOWHERE = Path("/nonexistent")
BINDS = "host:port, with a port from 0 to 65535, or unix:/path; several with commas, each once"


def refusal(*arguments: str, environ: dict[str, str] | None = None, folder: Path = NOWHERE) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config(arguments, environ or {}, folder)
    assert "\n" not in caught.value.message
    return caught.value.message


def test_every_field_has_its_default() -> None:
    config = load_config([], {}, Path("/srv"))
    assert config.server.bind == (Address("127.0.0.1", 8000),)
    assert config.server.api_key is None
    assert config.model.prefill_chunk is None
    assert config.model.kv_format is ModelKvFormat.F16
    assert config.download.path == Path("/srv/models")
    assert set(config.origins.values()) == {Origin(Source.DEFAULT, "default")}
    assert set(config.origins) == {field.key for field in FIELDS}


def test_every_default_keeps_its_own_rule() -> None:
    for field in FIELDS:
        if field.default is not None:
            load_config([f"{field.flag}={field.default}"], {}, NOWHERE)


def test_a_flag_beats_the_environment_and_the_environment_the_file(tmp_path: Path) -> None:
    (tmp_path / "ignis.config.toml").write_text("[model]\ndecode_lanes = 2\ndecode_share = 10\nprefill_chunk = 64\n")
    environ = {"IGNIS_MODEL_DECODE_LANES": "3", "IGNIS_MODEL_DECODE_SHARE": "20"}
    config = load_config(["--model-decode-lanes", "4"], environ, tmp_path)
    assert (config.model.decode_lanes, config.model.decode_share, config.model.prefill_chunk) == (4, 20, 64)
    assert config.origins["model.decode_lanes"] == Origin(Source.FLAG, "--model-decode-lanes")
    assert config.origins["model.decode_share"] == Origin(Source.ENVIRONMENT, "IGNIS_MODEL_DECODE_SHARE")
    assert config.origins["model.prefill_chunk"].source is Source.FILE
    assert config.file == tmp_path / "ignis.config.toml"


def test_an_empty_environment_variable_is_not_there() -> None:
    assert load_config([], {"IGNIS_SERVER_BIND": ""}, NOWHERE).server.bind == (Address("127.0.0.1", 8000),)


def test_of_a_flag_given_twice_the_last_counts() -> None:
    assert load_config(["--cpu-threads", "1", "--cpu-threads=2"], {}, NOWHERE).cpu.threads == 2


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        (["--server-ui"], True),
        (["--server-ui", "false"], False),
        (["--server-ui=off"], False),
        (["--server-ui", "--cpu-threads", "1"], True),
    ],
)
def test_a_switch_may_stand_bare(arguments: list[str], value: bool) -> None:
    assert load_config(arguments, {}, NOWHERE).server.ui is value


def test_paths_are_relative_to_where_they_were_written(tmp_path: Path) -> None:
    file = tmp_path / "etc" / "ignis.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"model": {"artifact": "a.gguf"}, "download": {"path": "/var/models"}}))
    config = load_config(["--config", "etc/ignis.json"], {}, tmp_path)
    assert config.model.artifact == tmp_path / "etc" / "a.gguf"
    assert config.download.path == Path("/var/models")
    assert load_config(["--model-artifact", "a.gguf"], {}, tmp_path).model.artifact == tmp_path / "a.gguf"


def test_models_are_named_by_repeated_flags_a_variable_or_a_table(tmp_path: Path) -> None:
    flags = ["--switch-known-models", "a=x.gguf", "--switch-known-models=b=/y/z"]
    known = NamedPaths((("a", tmp_path / "x.gguf"), ("b", Path("/y/z"))))
    assert load_config(flags, {}, tmp_path).switch.known_models == known
    variable = {"IGNIS_SWITCH_KNOWN_MODELS": "a=x.gguf; b=/y/z"}
    assert load_config([], variable, tmp_path).switch.known_models == known
    (tmp_path / "ignis.config.toml").write_text('[switch.known_models]\na = "x.gguf"\nb = "/y/z"\n')
    assert load_config([], {}, tmp_path).switch.known_models == known
    assert str(known) == f"a={tmp_path / 'x.gguf'};b=/y/z"


@pytest.mark.parametrize("text", ["a", "=x", "a=", "a=x;a=y", "a=x;b"])
def test_a_name_without_a_path_or_given_twice_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="must be <name>=<path>"):
        load_config(["--switch-known-models", text], {}, Path("/"))


def test_a_users_file_is_found_and_a_local_one_beats_it(tmp_path: Path) -> None:
    user = tmp_path / "home" / ".config" / "ignis" / "config.toml"
    user.parent.mkdir(parents=True)
    user.write_text("[cpu]\nthreads = 3\n")
    environ = {"HOME": str(tmp_path / "home")}
    assert load_config([], environ, tmp_path).cpu.threads == 3
    (tmp_path / "ignis.config.json").write_text('{"cpu": {"threads": 5}}')
    assert load_config([], environ, tmp_path).cpu.threads == 5


@pytest.mark.parametrize(
    ("text", "pool"),
    [("4096tok", PoolSize(tokens=4096)), ("2G", PoolSize(size_bytes=2 << 30)), ("512", PoolSize(size_bytes=512))],
)
def test_a_pool_is_sized_in_bytes_or_tokens(text: str, pool: PoolSize) -> None:
    assert load_config(["--vram-kv-pool-bytes", text], {}, NOWHERE).vram.kv_pool_bytes == pool


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--vram-budget-bytes", "8G", "--vram-headroom-bytes", "1G"], r"vram\.headroom_bytes and vram\.budget_bytes"),
        (["--vram-allow-oversubscription"], r"vram\.allow_oversubscription needs a vram\.budget_bytes"),
    ],
)
def test_fields_of_memory_that_contradict_each_other_are_refused(arguments: list[str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        load_config(arguments, {}, NOWHERE)


def test_zero_has_its_own_meaning_where_the_field_says_so() -> None:
    config = load_config(["--server-request-timeout", "0", "--model-max-context", "0"], {}, NOWHERE)
    assert (config.server.request_timeout, config.model.max_context) == (0, 0)


def test_words_of_a_choice_are_enums() -> None:
    assert load_config(["--log-level", "ERROR"], {}, NOWHERE).log.level is LogLevel.ERROR


def test_an_unknown_flag_names_the_nearest() -> None:
    assert refusal("--server-bnd", "x") == "unknown option --server-bnd; did you mean --server-bind?"


@pytest.mark.parametrize(
    ("flag", "meant"),
    [
        ("--uds", "--server-bind"),
        ("-m", "--model-artifact"),
        ("--model-path", "--model-artifact"),
        ("-hf", "--download-catalog"),
        ("--cache-type-v", "--model-kv-format"),
        ("--webui", "--server-ui"),
        ("--api-key", "--server-api-key"),
    ],
)
def test_a_flag_of_another_server_or_without_its_group_is_understood(flag: str, meant: str) -> None:
    assert f"; did you mean {meant}?" in refusal(flag, "x")


@pytest.mark.parametrize(
    ("flags", "address"),
    [
        (["--port", "9000"], "127.0.0.1:9000"),
        (["--port=9000"], "127.0.0.1:9000"),
        (["--host", "0.0.0.0"], "0.0.0.0:8000"),
        (["--host", "::", "--port", "9000"], "[::]:9000"),
        (["--port"], "127.0.0.1:8000"),
        (["--server-port", "9000"], "127.0.0.1:9000"),
        (["--server-host", "0.0.0.0", "--server-port=9000"], "0.0.0.0:9000"),
        (["-p", "9000"], "127.0.0.1:9000"),
    ],
)
def test_a_host_and_a_port_are_spelled_as_one_address(flags: list[str], address: str) -> None:
    assert refusal(*flags).endswith(f"; did you mean --server-bind {address}?")


@pytest.mark.parametrize("flag", ["--port", "--server-port"])
@pytest.mark.parametrize("port", ["65536", "eighty"])
def test_no_address_is_spelled_that_would_be_refused(flag: str, port: str) -> None:
    assert refusal(flag, port) == f"unknown option {flag}; did you mean --server-bind?"


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["--served-model-name", "x", "--model", "a b.gguf"], "'x=a b.gguf'"),
        (["--model-name=x"], "x=path"),
        (["--served-model-name"], "name=path"),
    ],
)
def test_a_further_name_of_a_model_is_told_with_its_path(flags: list[str], named: str) -> None:
    assert refusal(*flags).endswith(f"; did you mean --switch-known-models {named}?")


@pytest.mark.parametrize("flag", ["--server-bind", "--server-metrics-bind"])
def test_a_number_that_is_no_port_gets_no_address(flag: str) -> None:
    assert "for this machine alone" not in refusal(flag, "65536")
    assert "for this machine alone" not in refusal(flag, "9" * 5000)


@pytest.mark.parametrize("text", ["18110", ":18110", " :18110"])
@pytest.mark.parametrize("flag", ["--server-bind", "--server-metrics-bind"])
def test_a_port_alone_is_refused_with_the_whole_address(flag: str, text: str) -> None:
    assert refusal(flag, text).endswith("; 127.0.0.1:18110 is for this machine alone, 0.0.0.0:18110 for all")


def test_every_foreign_flag_has_one_of_ours() -> None:
    assert set(FOREIGN_FLAGS.values()) <= {field.flag for field in FIELDS}
    assert not set(FOREIGN_FLAGS) & set(FOREIGN_WORDS)


@pytest.mark.parametrize(
    ("flag", "words"),
    [
        ("--tensor-parallel-size", "a server takes one card, and --device chooses between it and the processor"),
        ("--dtype", "a model is computed as its files have it; of the cache alone it is --model-kv-format"),
        ("--enforce-eager", "there is nothing to choose here, leave it out"),
        ("--no-webui", "that is --server-ui false"),
        ("-ngl", "all layers are on the card, or none with --device cpu"),
        (
            "--gpu-memory-utilization",
            "the memory of the card is no share here, --vram-budget-bytes takes bytes, such as 20G",
        ),
    ],
)
def test_a_foreign_flag_that_has_none_of_ours_is_told_why(flag: str, words: str) -> None:
    assert refusal(flag, "2") == f"unknown option {flag}; {words}"


def test_a_flag_like_none_gets_no_guess() -> None:
    assert refusal("--bogus", "x") == "unknown option --bogus; help --fields lists them all"


def test_an_unknown_variable_names_the_nearest() -> None:
    message = refusal(environ={"IGNIS_SERVER_BIN": "x", "OTHER_VARIABLE": "y"})
    assert message == "unknown environment variable IGNIS_SERVER_BIN; did you mean IGNIS_SERVER_BIND?"


@pytest.mark.parametrize("name", ["IGNIS_PORT", "IGNIS_SERVER_PORT", "IGNIS_SERVER_HOST"])
def test_a_variable_of_another_server_or_a_guess_names_ours(name: str) -> None:
    assert refusal(environ={name: "1"}) == f"unknown environment variable {name}; did you mean IGNIS_SERVER_BIND?"


def test_a_variable_like_none_gets_no_guess() -> None:
    assert (
        refusal(environ={"IGNIS_BOGUS": "1"})
        == "unknown environment variable IGNIS_BOGUS; help --fields lists them all"
    )


def test_variables_that_are_no_fields_are_known() -> None:
    load_config([], {"IGNIS_ISA": "avx2", "IGNIS_SELF": "./ignis-server"}, NOWHERE)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[servr]\nbind = 'x'\n", "unknown group servr; did you mean server?"),
        ("[server]\nbindd = 'x'\n", "unknown field server.bindd; did you mean server.bind?"),
        ("[server]\nport = 9000\n", "unknown field server.port; did you mean server.bind?"),
        ("[server]\nhost = '::'\n", "unknown field server.host; did you mean server.bind?"),
        ("server = 3\n", "server must be a group of fields, like [server]"),
        ("[server]\nbind = [1]\n", f"server.bind must be {BINDS}"),
        ("[server]\nbind = 7\n", "server.bind in"),
        ("[server\n", "cannot be read"),
    ],
)
def test_a_bad_file_is_refused_by_name(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / "ignis.config.toml").write_text(content)
    message = refusal(folder=tmp_path)
    assert words in message
    assert str(tmp_path / "ignis.config.toml") in message


def test_a_yaml_file_is_not_passed_over_in_silence(tmp_path: Path) -> None:
    (tmp_path / "ignis.config.yaml").write_text("server: {bind: '0.0.0.0:80'}\n")
    assert "YAML is not read; write it as TOML or JSON, e.g. ignis.config.toml" in refusal(folder=tmp_path)


def test_a_place_that_no_file_can_have_is_refused(tmp_path: Path) -> None:
    for name in ("~nobody-of-this-name/x.toml", ""):
        assert refusal("--config", name, folder=tmp_path) == f"--config {name!r}: must be path"
    assert "IGNIS_CONFIG '~nobody" in refusal(environ={"IGNIS_CONFIG": "~nobody-of-this-name/x"}, folder=tmp_path)
    assert "must be path" in refusal("--model-artifact", "~nobody-of-this-name/x.gguf")
    assert "x cannot be read: File name too long" in refusal("--config", "x" * 5000, folder=tmp_path)
    (tmp_path / "x.json").write_text('{"model": {"artifact": "\\ud800"}}')
    assert "must be path" in refusal("--config", "x.json", folder=tmp_path)


@pytest.mark.parametrize("field", [field for field in FIELDS if field.kind in (Kind.PATH, Kind.PATHS, Kind.BINDS)])
def test_a_path_that_is_no_text_is_refused_wherever_it_comes_from(field: Field, tmp_path: Path) -> None:
    # Whoever asks for the configuration could not be sent it, and no file could hold it.
    head = {Kind.PATH: "", Kind.PATHS: "a=", Kind.BINDS: "unix:"}[field.kind]
    value = head + os.fsdecode(b"/x\xff")
    said = f"{value!r}: must be {rule(field)}; it is not UTF-8"
    assert refusal(f"{field.flag}={value}") == f"{field.flag} {said}"
    assert refusal(environ={field.env: value}) == f"{field.env} {said}"
    file = tmp_path / "ignis.config.json"
    file.write_text(json.dumps({field.group: {field.name: value}}))
    assert refusal(folder=tmp_path) == f"{field.key} in {file} {said}"
    folder = Path(os.fsdecode(b"/\xe9"))
    flags = () if field.key == "download.path" else ("--download-path", "/m")
    assert "it comes to '/\\udce9/x', which is not UTF-8" in refusal(f"{field.flag}={head}x", *flags, folder=folder)


def test_what_else_is_no_text_is_refused_with_it(tmp_path: Path) -> None:
    bad = os.fsdecode(b"\xff")
    assert "it is not UTF-8" in refusal("--server-metrics-bind", f"{bad}:1")
    assert "it is not UTF-8" in refusal("--server-origins", f"http://{bad}")
    assert refusal("--config", bad) == f"--config {bad!r}: must be path; it is not UTF-8"
    folder = tmp_path / bad
    folder.mkdir()
    (folder / "ignis.config.toml").touch()
    assert "its path is not UTF-8" in refusal("--download-path", "/m", folder=folder)
    # The default is below the folder of the start.
    assert "the default of --download-path 'models': must be path; it comes to" in refusal(folder=tmp_path / (bad * 2))
    assert bad not in refusal("--server-api-key", bad) and "\\udcff" not in refusal("--server-api-key", bad)


def test_a_profile_whose_name_is_no_text_is_not_taken(tmp_path: Path) -> None:
    bad = os.fsdecode(b"\xff")
    file = tmp_path / "ignis.config.json"
    said = f"profile {bad!r} is not taken: its name is not UTF-8"
    file.write_text(json.dumps({"profiles": {bad: {"model": {"decode_lanes": 2}}}}))
    assert refusal("--profile", bad, folder=tmp_path) == said
    assert refusal(environ={"IGNIS_PROFILE": bad}, folder=tmp_path) == said
    file.write_text(json.dumps({"profile": bad, "profiles": {bad: {"model": {"decode_lanes": 2}}}}))
    assert refusal(folder=tmp_path) == said


def test_a_home_that_cannot_be_looked_into_holds_no_file(tmp_path: Path) -> None:
    assert load_config((), {"HOME": "/" + "x" * 5000}, tmp_path).file is None


@pytest.mark.parametrize(("name", "opening"), [("x.json", "["), ("x.toml", "a=[")])
def test_a_file_that_is_nested_without_end_is_refused(tmp_path: Path, name: str, opening: str) -> None:
    (tmp_path / name).write_text(opening + "[" * 100_000)
    assert "nested too deeply" in refusal("--config", name, folder=tmp_path)


def test_a_named_file_must_be_there(tmp_path: Path) -> None:
    assert "x.toml is not there" in refusal("--config", "x.toml", folder=tmp_path)
    assert "y.toml is not there" in refusal(environ={"IGNIS_CONFIG": "y.toml"}, folder=tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--server-bind", "8o00"], f"--server-bind '8o00': must be {BINDS}"),
        (["--server-bind", "h:70000"], f"--server-bind 'h:70000': must be {BINDS}"),
        (["--server-bind", "::1:80"], f"--server-bind '::1:80': must be {BINDS}"),
        (["--server-bind"], f"--server-bind needs a value: {BINDS}"),
        (["--server-bind", "--server-ui"], f"--server-bind needs a value: {BINDS}"),
        (["--server-ui=maybe"], "--server-ui 'maybe': must be true or false"),
        (["--model-decode-lanes", "9"], "--model-decode-lanes '9': must be 1 to 8"),
        (["--model-decode-lanes", "-1"], "--model-decode-lanes '-1': must be 1 to 8"),
        (["--model-prefill-chunk", "100"], "--model-prefill-chunk '100': must be 64 to 8192, a multiple of 64"),
        (["--model-kv-format", "f8"], "--model-kv-format 'f8': must be f16, bf16, fp8 or f32"),
        (["--log-level", "loud"], "--log-level 'loud': must be debug, info, warning or error"),
        (["--server-request-timeout", "nan"], "--server-request-timeout 'nan': must be 1 to 86400 seconds; 0: never"),
        (["--server-request-timeout", "inf"], "--server-request-timeout 'inf': must be 1 to 86400 seconds; 0: never"),
        (["--server-max-body-bytes", "2G"], "--server-max-body-bytes '2G': must be 1K to 1G bytes"),
        (["--cpu-threads", "x"], "--cpu-threads 'x': must be 1 to 1024; 0: one for each physical core"),
        (["model.gguf"], "unexpected argument 'model.gguf'; options start with --, and a model is named by "
         "--model-artifact"),
    ],
)  # fmt: skip
def test_a_bad_value_says_what_is_allowed(arguments: list[str], message: str) -> None:
    assert refusal(*arguments) == message


def test_a_refused_key_is_not_shown() -> None:
    message = refusal("--server-api-key", "two words")
    assert message == "--server-api-key: must be visible ASCII characters"


def test_the_metrics_have_an_address_of_their_own() -> None:
    assert "server.metrics_bind" in refusal("--server-metrics-bind", "127.0.0.1:8000")
    load_config(["--server-metrics-bind", "127.0.0.1:8000", "--server-metrics", "false"], {}, NOWHERE)
    load_config(["--server-metrics-bind", "127.0.0.1:0", "--server-bind", "127.0.0.1:0"], {}, NOWHERE)


def message_of(arguments: list[str]) -> str | None:
    try:
        load_config(arguments, {}, NOWHERE)
    except ConfigError as error:
        return error.message
    return None


@given(st.lists(st.text(max_size=12), max_size=4))
def test_no_argument_does_worse_than_a_refusal(arguments: list[str]) -> None:
    assert message_of(arguments) != ""


@given(st.sampled_from(FIELDS), st.text(max_size=20))
def test_no_value_does_worse_than_a_refusal_that_states_the_rule(field: Field, text: str) -> None:
    message = message_of([f"{field.flag}={text}"])
    assert message is None or rule(field) in message


@given(st.integers(min_value=0, max_value=1 << 50))
def test_a_size_is_read_back_as_it_was_written(size_bytes: int) -> None:
    assert parse_size(format_size(size_bytes)) == size_bytes


@pytest.mark.parametrize("text", ["", "K", "1X", "-1", "1.5G", "0x10", "\uff11"])
def test_a_size_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="bytes"):
        parse_size(text)


def test_units_read_what_people_write() -> None:
    assert parse_size("16 MiB") == 16 << 20
    assert parse_pool_size("8 tokens") == PoolSize(tokens=8)
    assert parse_address("[::1]:80") == Address("::1", 80)
    assert str(Address("::1", 80)) == "[::1]:80"
    assert str(PoolSize(tokens=8)) == "8tok"


# --- the commands that show it


def test_help_lists_every_field(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "--fields", "--format", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [entry["flag"] for entry in shown] == [field.flag for field in FIELDS]
    assert shown == json.loads(json.dumps(describe_fields()))
    assert main(["help", "--fields"]) == 0
    text = capsys.readouterr().out
    assert all(field.flag in text and field.env in text for field in FIELDS)


def test_config_print_shows_values_and_origins_but_no_key(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IGNIS_SERVER_API_KEY", "sk-secret")
    assert main(["config", "print", "--server-bind", "127.0.0.1:9000"]) == 0
    text = capsys.readouterr().out
    assert 'bind = "127.0.0.1:9000"  # --server-bind' in text
    assert "# id is unset  # default" in text
    assert "sk-secret" not in text


def test_what_config_print_writes_is_read_back(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    flags = ["--server-bind", "h:1,unix:/s", "--server-origins", "http://b,http://a", "--server-unix-mode", "600"]
    assert main(["config", "print", "--vram-kv-pool-bytes", "100tok", "--log-level", "debug", *flags]) == 0
    (tmp_path / "ignis.config.toml").write_text(capsys.readouterr().out)
    config = load_config([], {}, tmp_path)
    assert config.vram.kv_pool_bytes == PoolSize(tokens=100)
    assert config.log.level is LogLevel.DEBUG
    assert config.server == load_config(flags, {}, tmp_path).server


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["version"], 0, "ignis-server 0"),
        (["--version"], 0, "ignis-server 0"),
        (["--help"], 0, "ignis-server [serve] [options]"),
        (["serve", "--help"], 0, "ignis-server [serve] [options]"),
        (["help", "--fields", "--format", "xml"], 2, "--format 'xml': must be text or json"),
        (["help", "--field"], 2, "unknown option --field of help; did you mean --fields?"),
        (["help", "fields"], 2, "did you mean --fields?"),
        (["help", "--all"], 2, "unknown option --all of help\n"),
        (["serve", "--version"], 0, "ignis-server 0"),
        (["model", "list", "-V"], 0, "ignis-server 0"),
        (["bench", "/nowhere.gguf"], 2, "bench /nowhere.gguf: there is no such file or folder\n"),
        (["bench", "Qwen/Qwen3-8B"], 2, "no such file or folder; a hub's repository is no name here: --model-artifact"),
        (["--model-artifact", "Qwen/Qwen3-8B"], 2, "--model-id an id that model list shows, and --download-catalog"),
        (
            ["--model-artifact", "smollm2"],
            2,
            "served by --model-id smollm2, and model download smollm2 prints its path",
        ),
        (["serve", "Qwen/Qwen3-8B"], 2, "unexpected argument 'Qwen/Qwen3-8B'; a hub's repository is no name here"),
        (["Qwen/Qwen3-8B"], 2, "unexpected argument 'Qwen/Qwen3-8B'; a hub's repository is no name here"),
        (["smollm2-135m-instruct"], 2, "did you mean --model-id smollm2-135m-instruct?"),
        (["serve", "smollm2-135m-instruct"], 2, "did you mean --model-id smollm2-135m-instruct?"),
        (["serv"], 2, "unknown command 'serv'; did you mean serve?"),
        (["pull", "smollm"], 2, "unknown command 'pull'; did you mean model download?"),
        (["frobnicate"], 2, "unknown command 'frobnicate'; there are serve, model list"),
        (["/"], 2, "unexpected argument '/'; a model is named by --model-artifact /"),
        (["model", "fetch"], 2, "did you mean model download?"),
        (["model", "downlod"], 2, "did you mean model download?"),
        (["model", "download", "smollm"], 2, "the catalog has no model 'smollm'"),
        (["model", "info", "qwen3-8b"], 2, "it has smollm2-135m-instruct; --download-catalog names a file with others"),
        (["model", "list", "smollm"], 2, "unexpected argument 'smollm'; model list takes none"),
        (["model", "remove"], 2, "model remove takes the ids of models"),
        (["--server-bindd", "x"], 2, "unknown option --server-bindd"),
    ],
)
def test_a_command_line_ends_with_its_status_and_one_line(
    arguments: list[str], status: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == status
    captured = capsys.readouterr()
    assert words in (captured.out if status == 0 else captured.err)
    assert status == 0 or captured.err.count("\n") == 1


def test_what_the_parts_are_told_is_what_the_configuration_says() -> None:
    flags = ["--server-idle-timeout", "7", "--model-decode-lanes", "3", "--server-request-timeout", "0"]
    config = load_config(flags, {}, NOWHERE)
    assert ServerLimits.from_config(config.server).idle_timeout_s == 7
    assert EngineSettings.from_config(config).decode_lanes == 3
    assert ApiSettings.from_config(config, "key").orders.request_timeout_s is None
    for settings in (ServerLimits, EngineSettings, ApiSettings):
        with pytest.raises(TypeError, match="required keyword-only"):
            settings()


def test_a_reader_that_leaves_early_is_no_traceback() -> None:
    command = f"{sys.executable} -m ignis help --fields | true"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert done.stderr == ""


def test_the_device_is_named_by_its_group_alone() -> None:
    assert load_config(["--device", "cpu"], {"IGNIS_DEVICE": "cuda"}, NOWHERE).device.kind is DeviceKind.CPU
    assert load_config([], {"IGNIS_DEVICE": "cuda"}, NOWHERE).device.kind is DeviceKind.CUDA


def test_an_address_list_is_read_from_flags_and_files(tmp_path: Path) -> None:
    binds = load_config(["--server-bind", "127.0.0.1:1, unix:run/a.sock,[::1]:0,[::1]:0"], {}, Path("/srv")).server.bind
    assert binds == (Address("127.0.0.1", 1), UnixPath(Path("/srv/run/a.sock")), Address("::1", 0), Address("::1", 0))
    (tmp_path / "ignis.config.toml").write_text(
        '[server]\nbind = ["127.0.0.1:1", "unix:/run/a.sock"]\norigins = ["https://a.example"]\nunix_mode = "600"\n'
    )
    server = load_config([], {}, tmp_path).server
    assert server.bind == (Address("127.0.0.1", 1), UnixPath(Path("/run/a.sock")))
    assert server.origins == frozenset({"https://a.example"})
    assert server.unix_mode == 0o600


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--server-bind", "127.0.0.1:1,127.0.0.1:1"),
        ("--server-bind", "127.0.0.1:1,"),
        ("--server-bind", "unix:"),
        ("--server-bind", "unix:/" + "x" * 107),
        ("--server-unix-mode", "888"),
        ("--server-unix-mode", "7"),
        ("--server-origins", "example.com"),
        ("--server-origins", "https://a.example/path"),
        ("--server-origins", "https://a.example,*"),
    ],
)
def test_a_listener_s_field_is_refused_by_name(flag: str, value: str) -> None:
    assert refusal(flag, value).startswith(f"{flag} {value!r}: must be ")


def test_certificate_and_key_go_together() -> None:
    assert (
        refusal("--server-tls-cert", "a.pem")
        == "server.tls_cert and server.tls_key go together: the path of server.tls_key is not set"
    )


def test_origins_are_any_unless_they_are_named() -> None:
    assert load_config([], {}, NOWHERE).server.origins is None
    origins = load_config(["--server-origins", "https://A.example, http://b:8080"], {}, NOWHERE).server.origins
    assert origins == frozenset({"https://a.example", "http://b:8080"})


def test_what_0_means_may_be_said_in_its_word() -> None:
    assert load_config(["--model-thinking-budget", "off"], {}, NOWHERE).model.thinking_budget == 0


@pytest.mark.parametrize(
    ("host", "is_loopback"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.5", False),
        ("gpu.example", False),
    ],
)
def test_what_this_machine_alone_reaches_is_told(host: str, is_loopback: bool) -> None:
    assert Address(host, 1).is_loopback is is_loopback


def test_a_profile_is_below_the_file_and_above_the_defaults(tmp_path: Path) -> None:
    file = tmp_path / "ignis.config.toml"
    file.write_text(
        'profile = "mine"\n[cpu]\nthreads = 2\n[profiles.mine.cpu]\nthreads = 3\n'
        "[profiles.mine.model]\ndecode_lanes = 5\nqwen3 = {decode_lanes = 6}\n"
        "[profiles.rtx5090.model]\ndecode_lanes = 1\n"
    )
    config = load_config([], {}, tmp_path)
    assert (config.cpu.threads, config.model.decode_lanes, config.of("qwen3").model.decode_lanes) == (2, 5, 6)
    assert config.origins["model.decode_lanes"] == Origin(Source.PROFILE, "model.decode_lanes of profile mine")
    # A flag beats a variable, and one of the file's own beats a built-in one.
    config = load_config(["--profile", "rtx5090"], {"IGNIS_PROFILE": "cpu"}, tmp_path)
    assert config.model.decode_lanes == 1 and config.model.prefill_chunk is None
    assert load_config([], {"IGNIS_PROFILE": "cpu"}, tmp_path).model.decode_lanes == 4
    assert "unknown profile 'rtx509'; did you mean rtx5090?" in refusal("--profile", "rtx509", folder=tmp_path)


@pytest.mark.parametrize(
    ("model", "profile"),
    [
        ("NVIDIA GeForce RTX 5090", "rtx5090"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", "rtx-24gb"),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtxpro6000"),
        ("NVIDIA L40S", None),
        ("NVIDIA H200", None),
        (None, "cpu"),
    ],
)
def test_auto_is_the_profile_of_the_card(tmp_path: Path, model: str | None, profile: str | None) -> None:
    if model is not None:
        (tmp_path / "0000:01:00.0").mkdir()
        (tmp_path / "0000:01:00.0" / "information").write_text(f"Model: \t\t {model}\nIRQ:   \t 24\n")
    assert read_profile("auto", {}, tmp_path, tmp_path)[0] == profile


def test_every_built_in_profile_can_be_taken() -> None:
    for name, values in PROFILES.items():
        config = load_config(["--profile", name], {}, NOWHERE)
        assert {origin.source for key, origin in config.origins.items() if key.partition(".")[0] in values} >= {
            Source.PROFILE
        }


def test_of_a_family_the_flag_beats_that_of_all_which_beats_the_familys_variable(tmp_path: Path) -> None:
    (tmp_path / "ignis.config.toml").write_text("[model]\nmax_context = 64\nqwen3 = {max_context = 128}\n")

    def contexts(*flags: str, **environ: str) -> tuple[int, int]:
        config = load_config(flags, environ, tmp_path)
        return config.model.max_context, config.of("qwen3").model.max_context

    assert contexts() == (64, 128)
    assert contexts(IGNIS_MODEL_MAX_CONTEXT="192") == (192, 192)
    assert contexts(IGNIS_MODEL_MAX_CONTEXT="192", IGNIS_QWEN3_MODEL_MAX_CONTEXT="256") == (192, 256)
    assert contexts("--model-max-context=320", IGNIS_QWEN3_MODEL_MAX_CONTEXT="256") == (320, 320)
    assert contexts("--qwen3-model-max-context=384", "--model-max-context=320") == (320, 384)


def test_the_guides_files_can_be_read_and_its_change_made(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "spec" / "guide" / "configuration.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        (tmp_path / "ignis.config.toml").write_text(block)
        config = load_config([], {}, tmp_path)
    (body,) = re.findall(r"-d '(.*?)'", text)
    assert plan_change(config, json.loads(body)).config.model.idle_unload == 0
    assert all(f"`{name}`" in text for name in (*PROFILE_TEXTS, *FAMILIES))
    # What it says of the operator's own is what the declaration says.
    outward = {Kind.PATH, Kind.PATHS, Kind.SECRET, Kind.ADDRESS, Kind.BINDS}
    patchable = {field.key for field in FIELDS if field.is_patchable and field.kind in outward}
    assert patchable == {"switch.known_models", "download.token"}
    assert "`switch.known_models` gives a name" in text and "`download.token` is what" in text
    assert PROFILES.keys() == PROFILE_TEXTS.keys()
