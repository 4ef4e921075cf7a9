"""The routes of the configuration."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio

from ignis.config import Config, load_config
from ignis.config_fields import FAMILIES, FIELDS, GROUPS, Effect, Kind
from ignis.models.base import Architecture
from ignis.models.local import LocalModel
from tests.fakes.engine import byte_model
from tests.unit.api.rig import Rig


def configured(*arguments: str, environ: dict[str, str] | None = None, folder: Path = Path("/srv")) -> Config:
    return load_config(arguments, environ or {}, folder)


async def test_the_values_in_effect_are_shown_by_group_and_no_secret() -> None:
    flags = ["--server-api-key", "sk-hidden", "--download-token", "hf-hidden", "--model-max-context", "4096"]
    flags += [
        "--download-endpoint",
        "https://me:pass@word@mirror.example/models",
        "--switch-known-models",
        "a=/m/a.gguf",
    ]
    answer = await Rig(config=configured(*flags)).answer("GET", "/v1/config")
    document = answer.json()
    assert list(document) == list(GROUPS)
    assert document["model"]["max_context"] == 4096 and document["model"]["artifact"] is None
    assert document["switch"]["known_models"] == {"a": "/m/a.gguf"}
    assert document["download"]["endpoint"] == "https://(not shown)@mirror.example/models"
    assert "hidden" not in answer.body.decode() and "pass" not in answer.body.decode()
    assert "api_key" not in document["server"] and "token" not in document["download"]


async def test_what_is_in_effect_can_be_had_as_yaml_and_what_was_chosen_as_toml() -> None:
    rig = Rig(config=configured("--model-max-context", "4096", "--download-token", "hf-hidden"))
    shown = await rig.answer("GET", "/v1/config", query={"format": "yaml"})
    assert msgspec.yaml.decode(shown.body) == (await rig.answer("GET", "/v1/config")).json()
    chosen = await rig.answer("GET", "/v1/config", query={"format": "toml"})
    assert chosen.body == b"[model]\nmax_context = 4096\n"


async def test_a_family_has_an_object_of_its_own_where_it_differs() -> None:
    config = configured("--qwen3-model-max-context", "4096", environ={"IGNIS_LLAMA_MODEL_KV_FORMAT": "fp8"})
    document = (await Rig(config=config).answer("GET", "/v1/config")).json()
    assert document["model"]["qwen3"] == {"max_context": 4096}
    assert document["model"]["llama"] == {"kv_format": "fp8"}
    assert document["model"]["max_context"] == 0


async def test_every_field_is_listed_with_what_it_takes() -> None:
    listed = (await Rig().answer("GET", "/v1/config/fields")).json()
    assert [row["key"] for row in listed["data"]] == [field.key for field in FIELDS]
    assert [group["name"] for group in listed["groups"]] == list(GROUPS)
    rows = {row["key"]: row for row in listed["data"]}
    chunk, share = rows["model.prefill_chunk"], rows["model.decode_share"]
    assert (chunk["minimum"], chunk["maximum"], chunk["multiple"], chunk["default"]) == (64, 8192, 64, None)
    assert (share["default"], share["effect"], share["reload_required"]) == (25, "reload", True)
    assert share["scoped_flags"] == [f"--{family}-model-decode-share" for family in FAMILIES]
    assert (rows["server.max_body_bytes"]["default"], rows["server.metrics"]["default"]) == (16 << 20, True)
    assert rows["log.level"]["choices"] == ["debug", "info", "warning", "error"]
    assert [key for key, row in rows.items() if not row["visible"]] == ["server.api_key", "download.token"]


async def test_each_value_says_where_it_came_from(tmp_path: Path) -> None:
    file = tmp_path / "ignis.config.toml"
    file.write_text(
        'profile = "mine"\n[model]\ndecode_share = 10\nqwen3 = {decode_share = 50}\n[profiles.mine.cpu]\nthreads = 3\n'
    )
    environ = {"IGNIS_SERVER_API_KEY": "sk-hidden"}
    config = configured("--model-decode-lanes", "2", environ=environ, folder=tmp_path)
    shown = (await Rig(config=config).answer("GET", "/v1/config/origins")).json()
    rows = {row.pop("key"): row for row in shown["data"]}
    assert (shown["file"], shown["profile"]) == (str(file), "mine")
    assert rows["model.decode_lanes"] == {
        "source": "flag",
        "place": "--model-decode-lanes",
        "is_set": True,
        "is_locked": True,
    }
    assert rows["server.api_key"] == {
        "source": "env",
        "place": "IGNIS_SERVER_API_KEY",
        "is_set": True,
        "is_locked": True,
    }
    assert rows["model.decode_share"]["source"] == rows["model.qwen3.decode_share"]["source"] == "file"
    assert (rows["cpu.threads"]["source"], rows["cpu.threads"]["is_locked"]) == ("profile", False)
    assert (rows["model.artifact"]["source"], rows["model.artifact"]["is_set"]) == ("default", False)
    assert "sk-hidden" not in json.dumps(shown)


@pytest.mark.parametrize("key", ["model.max_context", "model.llama.max_context"])
async def test_a_context_that_the_loaded_model_has_not_is_shown_with_what_holds_instead(key: str) -> None:
    flag = "--llama-model-max-context" if "llama" in key else "--model-max-context"
    model = replace(byte_model(), architecture=Architecture.LLAMA)
    for asked, held in (("2000", {key: 512}), ("512", {})):
        shown = (await Rig(config=configured(flag, asked), model=model).answer("GET", "/v1/config/origins")).json()
        assert {row["key"]: row["in_force"] for row in shown["data"] if "in_force" in row} == held


async def test_the_routes_are_behind_the_key() -> None:
    rig = Rig(api_key="sk-test")
    for path in ("", "/fields", "/origins"):
        assert (await rig.answer("GET", f"/v1/config{path}")).status == 401


def test_the_families_are_the_architectures() -> None:
    assert list(FAMILIES) == [architecture.value for architecture in Architecture]


def test_who_may_reach_the_server_and_where_files_go_is_no_clients_choice() -> None:
    fixed = {field.key for field in FIELDS if not field.is_patchable}
    paths = {field.key for field in FIELDS if field.kind in (Kind.PATH, Kind.ADDRESS, Kind.BINDS, Kind.ORIGINS)}
    assert paths | {"server.api_key", "download.endpoint", "download.enabled"} <= fixed
    assert all(field.effect is Effect.RESTART for field in FIELDS if not field.is_patchable)


async def test_whoever_does_not_wait_is_told_too_what_waits_for_a_restart(tmp_path: Path) -> None:
    (tmp_path / "ignis.config.toml").write_text("")
    rig = Rig(config=configured(folder=tmp_path))
    rig.keeper.course.home = LocalModel("tiny", tmp_path / "tiny.gguf")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(rig.running.run)
        document = {"model": {"decode_lanes": 2}, "server": {"ui": False}, "switch": {"max_wait": 1}}
        answer = await rig.answer("PATCH", "/v1/config", document)
        nursery.cancel_scope.cancel()
    assert (answer.status, answer.json()["applied"]) == (202, "reload")
    assert answer.json()["restart_required"] == ["server.ui"]
    assert answer.json()["persisted"] == "after_reload"


async def test_whoever_does_not_wait_is_told_too_that_no_file_keeps_it(tmp_path: Path) -> None:
    rig = Rig(config=configured(folder=tmp_path))
    rig.keeper.course.home = LocalModel("tiny", tmp_path / "tiny.gguf")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(rig.running.run)
        answer = await rig.answer("PATCH", "/v1/config", {"model": {"decode_lanes": 2}})
        nursery.cancel_scope.cancel()
    assert (answer.status, answer.json()["applied"], answer.json()["persisted"]) == (202, "reload", "no")
    assert "without a configuration file" in answer.json()["reason"]


@pytest.mark.parametrize(
    ("settings", "origin", "status"),
    [
        ({}, None, 200),
        ({}, "http://me.example:8000", 200),
        ({}, "https://elsewhere.example", 403),
        ({"origins": frozenset({"https://elsewhere.example"})}, "https://elsewhere.example", 200),
        ({"api_key": "sk-test"}, "https://elsewhere.example", 200),
    ],
)
async def test_a_page_of_anybody_changes_no_server_without_a_key(
    settings: dict[str, Any], origin: str | None, status: int
) -> None:
    rig = Rig(**settings)
    headers = {"host": "me.example:8000", "authorization": "Bearer sk-test", **({"origin": origin} if origin else {})}
    async with trio.open_nursery() as nursery:
        nursery.start_soon(rig.running.run)
        answer = await rig.answer("PATCH", "/v1/config", {"switch": {"max_wait": 1}}, headers=headers)
        nursery.cancel_scope.cancel()
    assert answer.status == status
    for method, path, body in (
        ("POST", "/v1/models/unload", None),
        ("POST", "/v1/models/switch", {"model": "none"}),
        ("POST", "/v1/models/download", {"model": "none"}),
        ("DELETE", "/v1/models/download/none", None),
    ):
        answer = await rig.answer(method, path, body, headers=headers)
        assert (answer.status == 403) is (status == 403), path
    assert (await rig.answer("GET", "/v1/config", headers=headers)).status == 200
