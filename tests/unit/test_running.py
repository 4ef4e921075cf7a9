"""Changes of a running configuration: checked as a whole, in effect at once or by one reload, and then in the file."""

import io
import os
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import tomlkit
import trio
import trio.testing

from ignis.config import Config, load_config
from ignis.config_change import is_changeable
from ignis.config_fields import FIELDS, Effect, Kind
from ignis.config_table import document_of, plain, value_of
from ignis.engine.engine import Engine
from ignis.engine.gate import KeeperSettings, Patience
from ignis.engine.keeper import ModelKeeper
from ignis.engine.settings import EngineSettings, LoadSettings
from ignis.error_body import detail
from ignis.errors import (
    ConfigError,
    ConfigFieldNotPatchableError,
    ConfigNotWrittenError,
    DeviceLoadError,
    IgnisError,
    InternalError,
    ReloadFailedError,
    SwitchInProgressError,
)
from ignis.log import LogFormat, open_log
from ignis.metrics import Metrics
from ignis.models.local import LocalModel, LocalModels
from ignis.running import Patch, RunningConfig
from tests.fakes.leaf import ScriptedLeaf
from tests.unit.models.writers import tiny_gguf

FILE = """\
# mine
[model]
prefill_chunk = 64 # short
decode_share = 10
"""


class Bench:
    """A running configuration over an engine with a scripted leaf, one model loaded."""

    def __init__(self, folder: Path, *flags: str, text: str | None = FILE) -> None:
        self.file = folder / "ignis.config.toml"
        if text is not None:
            self.file.write_text(text)
        tiny_gguf().write(folder / "a.gguf")
        self.config = load_config(flags, {"IGNIS_LOG_LEVEL": "info"}, folder)
        log = open_log(io.StringIO(), LogFormat.JSON, "debug")
        self.leaf = ScriptedLeaf()
        self.loaded: list[str] = []
        self.engine = Engine(EngineSettings.from_config(self.config), lambda: self.leaf, log, Metrics("test"))
        self.keeper = ModelKeeper(
            self.engine,
            LocalModels(folder),
            KeeperSettings.from_config(self.config),
            log,
            Metrics("test"),
            prepare=_prepare_nothing,
            load_settings=LoadSettings.make(self.config, EngineSettings.from_config),
            on_loaded=lambda model, _: self.loaded.append(model.name),
        )
        self.running = RunningConfig(self.config, self.keeper, log)
        self.applied: list[Config] = []
        self.running.on_change(self.applied.append)
        self.model = LocalModel("a", folder / "a.gguf")

    async def start(self, nursery: trio.Nursery) -> None:
        await nursery.start(self.engine.run)
        nursery.start_soon(self.keeper.run)
        nursery.start_soon(self.running.run)
        self.keeper.start_with(self.model)
        await self.keeper.gate.enter("a", Patience())
        self.keeper.gate.leave()

    async def patch(self, wait_s: float = 60, **document: Any) -> Patch:
        return await self.running.patch(document, wait_s)

    async def refused(self, **document: Any) -> IgnisError:
        before, text = self.running.config, self.file.read_text() if self.file.exists() else None
        num_applied = len(self.applied)
        with pytest.raises(IgnisError) as caught:
            await self.patch(**document)
        assert self.running.config is before and len(self.applied) == num_applied
        assert (self.file.read_text() if self.file.exists() else None) == text
        return caught.value


async def _prepare_nothing(_model: object) -> None:
    return


@pytest.fixture
async def bench(tmp_path: Path, nursery: trio.Nursery) -> AsyncIterator[Bench]:
    bench = Bench(tmp_path)
    await bench.start(nursery)
    yield bench
    bench.leaf.is_load_held = False
    bench.leaf.release()


async def test_a_live_change_is_in_effect_and_in_the_file(bench: Bench) -> None:
    patch = await bench.patch(model={"idle_unload": 0}, server={"request_timeout": 5})
    assert not patch.is_reload and patch.persisted.path == str(bench.file)
    assert bench.applied == [patch.change.config]
    assert (bench.running.config.model.idle_unload, bench.running.config.server.request_timeout) == (0, 5)
    assert bench.file.read_text() == FILE + "idle_unload = 0\n\n[server]\nrequest_timeout = 5\n"
    assert bench.running.config.origins["model.idle_unload"].source.value == "file"


async def test_a_reload_field_takes_effect_with_one_load(bench: Bench) -> None:
    patch = await bench.patch(model={"decode_share": 50, "decode_lanes": 2, "idle_unload": 7})
    assert patch.is_reload and bench.engine.num_lanes == 2
    assert bench.running.config.model.idle_unload == 7
    assert bench.loaded == ["a", "a"]
    assert bench.file.read_text() == FILE.replace("10", "50") + "decode_lanes = 2\nidle_unload = 7\n"


async def test_a_reload_that_fails_leaves_nothing_behind_and_says_why(bench: Bench) -> None:
    bench.leaf.load_faults["reading"] = DeviceLoadError("the card is full")
    error = await bench.refused(model={"decode_lanes": 2, "idle_unload": 7})
    assert error.param == "model.decode_lanes"
    assert isinstance(error, ReloadFailedError) and error.message.endswith("is in effect again: the card is full")
    assert bench.engine.num_lanes == 8 and bench.engine.state.value == "serving"


async def test_a_reload_that_fails_of_one_field_is_told_of_that_one(bench: Bench) -> None:
    error = await bench.refused(vram={"budget_bytes": 1500})
    assert error.param == "vram.budget_bytes" and "lower model.prefill_chunk or model.max_context" in error.message


async def test_a_value_taken_out_is_the_default_again(bench: Bench) -> None:
    await bench.patch(model={"decode_share": None})
    assert bench.running.config.model.decode_share == 25
    assert "decode_share" not in bench.file.read_text()


async def test_the_value_that_there_is_reloads_nothing(bench: Bench) -> None:
    patch = await bench.patch(model={"decode_share": 10, "decode_lanes": 8})
    assert not patch.is_reload and bench.loaded == ["a"]
    assert bench.file.read_text() == FILE + "decode_lanes = 8\n"


async def test_another_familys_value_reloads_nothing(bench: Bench) -> None:
    patch = await bench.patch(model={"qwen3": {"decode_lanes": 2}})
    assert not patch.is_reload and bench.loaded == ["a"]
    assert bench.running.config.of("qwen3").model.decode_lanes == 2
    assert (await bench.patch(model={"llama": {"decode_lanes": 3}})).is_reload
    assert bench.engine.num_lanes == 3


async def test_what_needs_a_restart_is_written_and_not_in_effect(bench: Bench) -> None:
    patch = await bench.patch(server={"ui": False}, switch={"max_wait": 3})
    assert patch.change.restart == ("server.ui",)
    assert bench.running.config.server.ui and not bench.running.next_config.server.ui
    assert bench.running.config.switch.max_wait == 3
    assert "ui = false" in bench.file.read_text()
    # A later change does not bring it into effect either.
    await bench.patch(switch={"max_wait": 4})
    assert bench.running.config.server.ui and not bench.running.next_config.server.ui


@pytest.mark.parametrize(
    ("document", "param", "says"),
    [
        ({"model": {"decode_lanes": 9}}, "model.decode_lanes", "model.decode_lanes '9': must be 1 to 8"),
        ({"model": {"decode_lanes": True}}, "model.decode_lanes", "must be 1 to 8"),
        ({"model": {"decode_lanes": [1]}}, "model.decode_lanes", "must be 1 to 8"),
        ({"model": {"decode_lane": 1}}, "model.decode_lane", "did you mean model.decode_lanes?"),
        ({"model": {"x" * 1_000_000: 1}}, f"model.{'x' * 94}", "unknown field model.xxx"),
        ({"y" * 1_000_000: {}}, "y" * 100, "unknown group yyy"),
        ({"modell": {"decode_lanes": 1}}, "modell", "did you mean model?"),
        ({"model": 5}, "model", "model must be a group of fields"),
        ({"model": {"qwen3": {"idle_unload": 1}}}, "model.qwen3.idle_unload", "the same for every family"),
        ({"server": {"system_message_policy": "x"}}, "server.system_message_policy", "must be merge or strict"),
        ({"switch": {"known_models": {"a": "/x\udcff"}}}, "switch.known_models", "; it is not UTF-8"),
        ({"download": {"token": "hush hush"}}, "download.token", "download.token: must be visible ASCII characters"),
        ({}, None, "names no field"),
        ({"vram": {"allow_oversubscription": True}}, "vram.allow_oversubscription", "needs a vram.budget_bytes"),
        ({"vram": {"headroom_bytes": "1G", "budget_bytes": "2G"}}, "vram.headroom_bytes", "are both set"),
    ],
)
async def test_a_change_is_refused_as_a_whole(
    bench: Bench, document: dict[str, Any], param: str | None, says: str
) -> None:
    error = await bench.refused(**{"switch": {"max_wait": 1}, **document} if document else {})
    assert isinstance(error, ConfigError) or error.code == "config_field_not_patchable"
    assert error.param == param and says in error.message


@pytest.mark.parametrize(
    ("document", "param", "says"),
    [
        ({"server": {"bind": "0.0.0.0:80"}}, "server.bind", "is the operator's to choose: --server-bind"),
        ({"server": {"api_key": "sk-mine"}}, "server.api_key", "is the operator's to choose"),
        ({"download": {"endpoint": "https://me.example"}}, "download.endpoint", "is the operator's to choose"),
        ({"log": {"level": "debug"}}, "log.level", "is set by IGNIS_LOG_LEVEL, which would say it again"),
        ({"profile": "cpu"}, "profile", "is read at the start"),
    ],
)
async def test_some_fields_are_no_clients_choice(bench: Bench, document: dict[str, Any], param: str, says: str) -> None:
    error = await bench.refused(**document)
    assert isinstance(error, ConfigFieldNotPatchableError) and error.param == param and says in error.message


async def test_a_flag_for_all_families_locks_those_of_one_too(tmp_path: Path, nursery: trio.Nursery) -> None:
    bench = Bench(tmp_path, "--model-decode-lanes", "4", "--llama-model-kv-format", "f16")
    await bench.start(nursery)
    error = await bench.refused(model={"llama": {"decode_lanes": 2}})
    assert isinstance(error, ConfigFieldNotPatchableError) and "--model-decode-lanes" in error.message
    await bench.patch(model={"kv_format": "fp8"})
    assert (bench.running.config.model.kv_format.value, bench.running.config.of("llama").model.kv_format.value) == (
        "fp8",
        "f16",
    )


async def test_changes_at_once_are_made_one_after_the_other(bench: Bench) -> None:
    async with trio.open_nursery() as clients:
        for lanes in (2, 3):
            clients.start_soon(lambda lanes=lanes: bench.patch(model={"decode_lanes": lanes}))
        clients.start_soon(lambda: bench.patch(switch={"max_wait": 9}))
    assert bench.loaded == ["a", "a", "a"]
    assert bench.engine.num_lanes == bench.running.config.model.decode_lanes
    assert f"decode_lanes = {bench.engine.num_lanes}" in bench.file.read_text()
    assert "max_wait = 9" in bench.file.read_text()


async def test_a_change_that_comes_while_another_is_written_takes_nothing_of_it_away(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync, has_begun, may_end = os.fsync, threading.Event(), threading.Event()

    def held(descriptor: int) -> None:
        monkeypatch.setattr(os, "fsync", sync)
        has_begun.set()
        may_end.wait(20)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", held)
    async with trio.open_nursery() as clients:
        clients.start_soon(lambda: bench.patch(model={"decode_lanes": 2}))
        assert await trio.to_thread.run_sync(has_begun.wait, 20)
        clients.start_soon(lambda: bench.patch(switch={"max_wait": 9}))
        await trio.testing.wait_all_tasks_blocked(0.05)
        may_end.set()
    config = bench.running.config
    assert (config.model.decode_lanes, config.switch.max_wait) == (2, 9)
    assert bench.file.read_text() == FILE + "decode_lanes = 2\n\n[switch]\nmax_wait = 9\n"


@pytest.mark.parametrize("fails", [False, True])
async def test_a_live_change_does_not_wait_for_a_load_and_outlives_it(bench: Bench, fails: bool) -> None:
    bench.leaf.is_load_held = True
    begun = await bench.patch(0, model={"decode_lanes": 2, "idle_unload": 5})
    assert await trio.to_thread.run_sync(bench.leaf.has_held.wait, 10)
    with trio.fail_after(20):
        patch = await bench.patch(switch={"max_wait": 9}, server={"ui": False})
    assert not patch.is_reload and patch.persisted.path is not None and not begun.over.is_set()
    assert bench.running.config.switch.max_wait == bench.applied[-1].switch.max_wait == 9
    assert bench.running.config.model.decode_lanes == 8
    assert (await bench.refused(switch={"max_wait": -1})).param == "switch.max_wait"
    assert (await bench.refused(switch={"max_weight": 1})).param == "switch.max_weight"
    only_live = FILE + "\n[switch]\nmax_wait = 9\n\n[server]\nui = false\n"
    assert bench.file.read_text() == only_live
    if fails:
        bench.leaf.load_faults["recording"] = DeviceLoadError("the card is full")
    bench.leaf.is_load_held = False
    await begun.over.wait()
    config = bench.running.config
    assert config.switch.max_wait == 9 and not bench.running.next_config.server.ui
    if fails:
        assert isinstance(begun.error, ReloadFailedError) and bench.file.read_text() == only_live
        assert (config.model.decode_lanes, config.model.idle_unload) == (8, 300)
    else:
        assert begun.error is None and bench.applied[-1].model == config.model
        assert (config.model.decode_lanes, config.model.idle_unload) == (2, 5)
        assert load_config([], {"IGNIS_LOG_LEVEL": "info"}, bench.file.parent).model == config.model


async def test_what_contradicts_a_change_that_came_meanwhile_has_the_old_load_back(bench: Bench) -> None:
    async def check(config: Config) -> None:
        if config.model.decode_lanes == 2 and config.switch.max_wait == 9:
            raise ConfigError("they do not go together", "model.decode_lanes")

    bench.running.check_with(check)
    bench.leaf.is_load_held = True
    begun = await bench.patch(0, model={"decode_lanes": 2})
    assert await trio.to_thread.run_sync(bench.leaf.has_held.wait, 10)
    await bench.patch(switch={"max_wait": 9})
    bench.leaf.is_load_held = False
    await begun.over.wait()
    assert isinstance(begun.error, ConfigError) and bench.loaded == ["a", "a", "a"] and bench.engine.num_lanes == 8
    assert bench.running.config.model.decode_lanes == 8 and "decode_lanes" not in bench.file.read_text()


async def test_who_does_not_wait_hears_that_it_began_and_it_goes_on(bench: Bench) -> None:
    patch = await bench.patch(wait_s=0, model={"decode_lanes": 2})
    assert not patch.over.is_set()
    await patch.over.wait()
    assert bench.engine.num_lanes == 2 and "decode_lanes = 2" in bench.file.read_text()


async def test_a_client_that_leaves_before_its_turn_takes_its_change_along(bench: Bench) -> None:
    begun = await bench.patch(wait_s=0, model={"decode_lanes": 2})
    with trio.move_on_after(0):
        await bench.patch(model={"decode_lanes": 3})
    await begun.over.wait()
    await bench.patch(model={"decode_share": 9})
    assert bench.running.config.model.decode_lanes == bench.engine.num_lanes == 2


async def test_a_reload_comes_after_a_load_that_a_request_began_and_after_no_order(bench: Bench) -> None:
    bench.leaf.is_load_held = True
    bench.keeper.ask_unload()
    while bench.keeper.course.opened is not None:
        await bench.keeper.course.wait_change()
    async with trio.open_nursery() as client:
        client.start_soon(bench.keeper.gate.enter, "a", Patience())
        while bench.keeper.course.coming is None:
            await bench.keeper.course.wait_change()
        begun = await bench.patch(0, model={"decode_lanes": 2})
        assert begun.is_reload and not begun.over.is_set()
        bench.leaf.is_load_held = False
        await begun.over.wait()
    assert bench.loaded == ["a", "a", "a"] and bench.engine.num_lanes == 2
    bench.keeper.ask_unload()
    error = await bench.refused(model={"decode_lanes": 3, "idle_unload": 5})
    assert isinstance(error, SwitchInProgressError) and error.param == "model.decode_lanes"


async def test_without_a_file_a_change_is_in_effect_and_says_that_it_is_not_kept(
    tmp_path: Path, nursery: trio.Nursery
) -> None:
    bench = Bench(tmp_path, text=None)
    await bench.start(nursery)
    patch = await bench.patch(switch={"max_wait": 9})
    assert patch.persisted.path is None and "without a configuration file" in (patch.persisted.reason or "")
    assert bench.running.config.origins["switch.max_wait"].source.value == "changed"
    error = await bench.refused(server={"ui": False})
    assert isinstance(error, ConfigFieldNotPatchableError) and error.param == "server.ui"


@pytest.mark.parametrize("is_reload", [False, True])
async def test_a_file_that_cannot_be_written_keeps_no_change(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, is_reload: bool
) -> None:
    def refuse(_old: object, _new: object) -> None:
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(os, "replace", refuse)
    patch = await bench.patch(switch={"max_wait": 9})
    assert patch.persisted.reason == "ignis.config.toml: it could not be written: Device or resource busy"
    document: dict[str, Any] = {"server": {"ui": False}, "switch": {"max_wait": 10}}
    if is_reload:
        document["model"] = {"decode_lanes": 2}
    with pytest.raises(ConfigNotWrittenError, match="Device or resource busy") as refused:
        await bench.patch(**document)
    # A client is told why, as by a change that can do without the file.
    assert detail(refused.value).message == f"{ConfigNotWrittenError.public}: {patch.persisted.reason}"
    assert bench.running.config.switch.max_wait == 9 and bench.engine.num_lanes == 8
    assert bench.file.read_text() == FILE


async def test_a_change_that_fails_of_a_fault_is_not_in_effect(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_document: object) -> str:
        raise RuntimeError("as no library should")

    monkeypatch.setattr(tomlkit, "dumps", fail)
    with pytest.raises(InternalError):
        await bench.patch(model={"decode_lanes": 2}, switch={"max_wait": 10})
    assert bench.running.config.switch.max_wait == 300 and bench.running.config.model.decode_lanes == 8
    assert bench.applied[-1].switch.max_wait == 300 and bench.engine.num_lanes == 8
    assert bench.file.read_text() == FILE


async def test_the_old_load_comes_back_after_an_order_that_came_before_the_write_failed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_old: object, _new: object) -> None:
        raise OSError(16, "Device or resource busy")

    num_checks = 0

    async def order(_config: Config) -> None:
        nonlocal num_checks
        num_checks += 1
        if num_checks == 2:
            # It serves by the new settings already.
            bench.keeper.ask_unload()

    bench.running.check_with(order)
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(ConfigNotWrittenError, match="Device or resource busy"):
        await bench.patch(server={"ui": False}, model={"decode_lanes": 2})
    assert bench.engine.num_lanes == bench.running.config.model.decode_lanes == 8


async def test_what_the_operator_has_written_meanwhile_is_kept(bench: Bench) -> None:
    bench.file.write_text(FILE + "# by hand\nmax_context = 128\n")
    await bench.patch(switch={"max_wait": 9})
    assert bench.file.read_text() == FILE + "# by hand\nmax_context = 128\n\n[switch]\nmax_wait = 9\n"
    assert bench.running.config.model.max_context == 0 and bench.running.next_config.model.max_context == 128
    bench.file.write_text("[model\n")
    patch = await bench.patch(switch={"max_wait": 10})
    reason = patch.persisted.reason or ""
    assert reason.startswith("the configuration file ignis.config.toml cannot be read: ")
    assert bench.file.read_text() == "[model\n"
    bench.file.write_text("[model]\nnope = 1\n")
    patch = await bench.patch(switch={"max_wait": 10})
    assert (patch.persisted.reason or "").startswith("ignis.config.toml: unknown field model.nope")


async def test_what_could_not_be_honoured_is_refused_before_anything_is_done(bench: Bench) -> None:
    async def check(config: Config) -> None:
        if not config.model.enable_thinking:
            raise ConfigError("this model always thinks", "model.enable_thinking")

    bench.running.check_with(check)
    error = await bench.refused(model={"enable_thinking": False, "decode_lanes": 2})
    assert error.param == "model.enable_thinking" and bench.loaded == ["a"]


def test_what_a_load_goes_by_is_what_asks_for_a_reload(tmp_path: Path) -> None:
    """A field says reload if and only if the engine's settings change with it."""
    config = load_config([], {}, tmp_path)
    for field in FIELDS:
        if field.kind is Kind.SECRET:
            continue
        changed = load_config(_other_than(field, plain(field, value_of(config, field))), {}, tmp_path)
        assert document_of(changed) != document_of(config), field.key
        is_reload = EngineSettings.from_config(changed) != EngineSettings.from_config(config)
        assert is_reload is (field.effect is Effect.RELOAD), field.key


def _other_than(field: Any, value: Any) -> list[str]:
    """Flags that give the field another value."""
    match field.kind:
        case Kind.BOOL:
            text = str(not value).lower()
        case Kind.CHOICE:
            text = next(choice.value for choice in field.choices if choice.value != value)
        case Kind.INTEGER:
            text = str(field.maximum if value != field.maximum else field.minimum)
        case Kind.NUMBER | Kind.SECONDS | Kind.SIZE:
            text = str(int(field.maximum))
        case Kind.POOL_SIZE:
            text = "4096tok"
        case Kind.PATHS:
            text = "a=/b"
        case Kind.ADDRESS | Kind.BINDS:
            text = "127.0.0.1:1"
        case Kind.MODE:
            text = "600"
        case Kind.ORIGINS:
            text = "https://a.example"
        case _:
            text = "/another"
    together = {
        "server.tls_cert": ["--server-tls-key", "/k"],
        "server.tls_key": ["--server-tls-cert", "/c"],
        "vram.allow_oversubscription": ["--vram-budget-bytes", "1G"],
    }
    return [f"{field.flag}={text}", *together.get(field.key, [])]


async def test_a_context_past_the_model_s_own_is_kept_for_whichever_model_has_it(bench: Bench) -> None:
    patch = await bench.patch(model={"max_context": 1 << 20})
    assert patch.persisted.path == str(bench.file) and bench.loaded == ["a", "a"]
    assert bench.running.config.model.max_context == 1 << 20 and bench.engine.max_context == 128


async def test_what_the_file_says_can_have_been_a_client_s_and_what_the_start_was_given_cannot(tmp_path: Path) -> None:
    def changeable(*flags: str, text: str = "", key: str | None = None) -> bool:
        (tmp_path / "ignis.config.toml").write_text(text)
        return is_changeable(load_config(flags, {"IGNIS_MODEL_DECODE_LANES": "2"}, tmp_path), key)

    assert not changeable("--vram-budget-bytes", "1M")
    assert changeable(text="[vram]\nbudget_bytes = 1\n")
    assert changeable(text="[vram.llama]\nbudget_bytes = 1\n")
    assert not changeable("--vram-budget-bytes", "1M", text="[vram]\nbudget_bytes = 1\n[switch]\nmax_wait = 1\n")
    # One field is what it is about.
    text = "[model]\nreasoning_effort = 'low'\n"
    assert changeable("--device", "cuda", text=text, key="model.reasoning_effort")
    assert not changeable("--device", "cuda", text=text, key="device.kind")
    assert changeable(text="[device]\nkind = 'cuda'\n", key="device.kind")
    # Or two that are held against each other.
    pool = ("--vram-kv-pool-bytes", "64tok")
    assert not changeable(*pool, text="[model]\ndecode_lanes = 2\n", key="vram.kv_pool_bytes")
    assert changeable(*pool, text="[model]\nmax_context = 512\n", key="vram.kv_pool_bytes")
    # So are a line of the plan and the budget.
    host = ("--reuse-kv-host-pool-bytes", "900G")
    assert not changeable(*host, text="[model]\ndecode_lanes = 2\n", key="reuse.kv_host_pool_bytes")
    assert changeable(*host, text="[vram]\nbudget_bytes = '1G'\n", key="reuse.kv_host_pool_bytes")
    assert not changeable("--vram-budget-bytes", "1M", text="[reuse]\nprompt = false\n", key="model.prefill_chunk")
    assert changeable("--vram-budget-bytes", "1M", text="[model]\nmax_context = 512\n", key="model.prefill_chunk")
    assert not changeable(*host, text="[model]\nprefill_chunk = 64\n", key="model.decode_lanes")
    assert changeable(text="[vram]\nheadroom_bytes = 1\n", key="model.decode_lanes")
    assert changeable(text="[vram]\nheadroom_bytes = 1\n", key="model.max_context")
