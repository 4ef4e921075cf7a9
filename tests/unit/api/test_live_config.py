"""Every live field of the configuration: what it changes of a server that runs, from the next request on."""

import io
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio

from ignis.api import routes
from ignis.app import _App
from ignis.config import load_config
from ignis.config_fields import FIELDS, Effect
from ignis.engine.course import LastLoad
from ignis.engine.lifecycle import EngineState
from ignis.log import LogFormat, open_log
from ignis.models.base import Architecture
from ignis.models.local import LocalModel
from tests.fakes.engine import byte_model, script
from tests.unit.api.rig import HI, Rig

THINKING = "{{ [enable_thinking, reasoning_effort is defined and reasoning_effort] }}{{ messages[0].content }}</think>"
EFFORTS = (
    "{% if reasoning_effort is defined and reasoning_effort not in ['low', 'high'] %}{{ raise_exception('no') }}"
    "{% endif %}"
)
SYSTEM = {"role": "system", "content": "S"}
DEVELOPER = {"role": "developer", "content": "D"}


async def patched(rig: Rig, document: dict[str, Any]) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(rig.running.run)
        answer = await rig.answer("PATCH", "/v1/config", document)
        assert answer.status == 200, answer.body
        nursery.cancel_scope.cancel()


def thinker(*scripts: Any) -> Rig:
    return Rig(*scripts, model=replace(byte_model(template=EFFORTS + THINKING), max_context=16384))


async def prompt_of(rig: Rig, **fields: Any) -> str:
    await rig.chat(**fields)
    return bytes(token for token in rig.engine.submissions[-1].prompt if token < 256).decode()


async def test_the_cap_of_an_answer_that_names_none() -> None:
    rig = Rig()
    await patched(rig, {"model": {"default_max_tokens": 7}})
    await rig.chat()
    assert rig.engine.submissions[-1].max_tokens == 7


async def test_how_tokens_are_drawn_and_by_family() -> None:
    rig = Rig(model=byte_model(temperature=0.6, top_p=0.9))
    await patched(rig, {"sampling": {"temperature": 0.2, "top_k": 5, "presence_penalty": -0.5}})
    await rig.chat(top_k=9)
    sampling = rig.engine.submissions[-1].sampling
    assert (sampling.temperature, sampling.top_p, sampling.top_k, sampling.presence_penalty) == (0.2, 0.9, 9, -0.5)
    (shown,) = (await rig.answer("GET", "/v1/models")).json()["data"]
    assert (shown["defaults"]["temperature"], shown["defaults"]["top_p"], shown["defaults"]["top_k"]) == (0.2, 0.9, 5)
    await patched(rig, {"sampling": {"min_p": 0.1, "repetition_penalty": 1.1, "frequency_penalty": 1, "top_p": 0.3}})
    await rig.chat()
    sampling = rig.engine.submissions[-1].sampling
    assert (sampling.min_p, sampling.repetition_penalty, sampling.frequency_penalty, sampling.top_p) == (
        0.1,
        1.1,
        1,
        0.3,
    )
    await patched(rig, {"sampling": {"temperature": None}})
    await rig.chat()
    assert rig.engine.submissions[-1].sampling.temperature == 0.6


async def test_a_familys_own_draw_is_for_its_models_alone() -> None:
    llama = replace(byte_model(), architecture=Architecture.LLAMA)
    for architecture, temperature in ((Architecture.LLAMA, 0.3), (Architecture.QWEN3, 0.1)):
        rig = Rig(model=replace(llama, architecture=architecture))
        await patched(rig, {"sampling": {"temperature": 0.1, "llama": {"temperature": 0.3}}})
        await rig.chat()
        assert rig.engine.submissions[-1].sampling.temperature == temperature


async def test_the_time_that_a_request_has() -> None:
    rig = Rig()
    await patched(rig, {"server": {"request_timeout": 5}})
    await rig.chat()
    assert rig.engine.submissions[-1].timeout_s == 5


async def test_where_instructions_may_stand() -> None:
    rig = Rig()
    await patched(rig, {"server": {"system_message_policy": "strict"}})
    assert await rig.refusal(messages=[*HI, SYSTEM]) == (400, "system_message_position", "messages[1]")
    await patched(rig, {"server": {"developer_message_policy": "reject"}})
    assert await rig.refusal(messages=[*HI, DEVELOPER]) == (400, "developer_message_position", "messages[1]")


async def test_whether_and_how_a_model_thinks() -> None:
    rig = thinker(script("a</think>b"))
    assert (await prompt_of(rig)).startswith("[True, False]")
    await patched(rig, {"model": {"reasoning_effort": "low"}})
    assert (await prompt_of(rig)).startswith("[True, 'low']")
    await patched(rig, {"model": {"enable_thinking": False}})
    assert (await prompt_of(rig)).startswith("[False, False]")


async def test_what_a_sleeping_model_could_not_be_woken_with_is_refused_as_of_one_that_serves(tmp_path: Path) -> None:
    refusals = []
    for is_asleep in (False, True):
        rig = Rig(model=byte_model(template=THINKING.replace("reasoning_effort", "x")))
        course, home = rig.keeper.course, LocalModel("tiny", tmp_path / "tiny.gguf")
        await rig.chat()
        if is_asleep:
            assert course.model is not None
            course.home = home
            course.loads[home.path] = LastLoad(course.model.facts(), 1.0, home.changed_ns(), home.size_bytes())
            course.model, rig.engine.state = None, EngineState.UNLOADED
        async with trio.open_nursery() as nursery:
            nursery.start_soon(rig.running.run)
            answer = await rig.answer("PATCH", "/v1/config", {"model": {"reasoning_effort": "low"}})
            nursery.cancel_scope.cancel()
        refusals.append((answer.status, answer.json()["error"]["param"], rig.running.config.model.reasoning_effort))
    assert refusals == [(400, "model.reasoning_effort", None)] * 2


async def test_the_budget_of_thinking_and_its_guard() -> None:
    rig = thinker(script("a</think>b"))
    reasoning = rig.engine.submissions

    async def held() -> tuple[Any, bool]:
        await rig.chat(max_tokens=8000)
        constraint = reasoning[-1].constraint
        assert constraint is not None
        return constraint._budget, constraint._guard is not None

    assert await held() == (5952, True)
    await patched(rig, {"model": {"thinking_budget": 100}})
    assert await held() == (100, True)
    await patched(rig, {"model": {"loop_guard": False}})
    assert await held() == (100, False)


async def test_how_the_models_text_is_read() -> None:
    rig = thinker(script("<think>a</think>b"))
    assert (await rig.chat())["choices"][0]["message"]["content"] == "b"
    await patched(rig, {"model": {"dialect": "none"}})
    assert (await rig.chat())["choices"][0]["message"]["content"] == "<think>a</think>b"


async def test_how_much_is_kept_of_responses_and_how_long(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(routes, "monotonic_s", lambda: now[0])
    rig = Rig()

    async def kept() -> int:
        made = (await rig.answer("POST", "/v1/responses", {"input": "Hi"})).json()
        return (await rig.answer("GET", f"/v1/responses/{made['id']}")).status

    assert await kept() == 200
    await patched(rig, {"server": {"response_store_bytes": 0}})
    assert await kept() == 404
    await patched(rig, {"server": {"response_store_bytes": None, "response_store_ttl": 1}})
    made = (await rig.answer("POST", "/v1/responses", {"input": "Hi"})).json()
    now[0] += 1
    assert (await rig.answer("GET", f"/v1/responses/{made['id']}")).status == 404


# What the server's parts read, of the fields that are no route's: a value, and where it has to arrive.
PARTS: dict[str, tuple[Any, Callable[[_App], Any]]] = {
    "server.header_timeout": (7, lambda app: app._server.limits.header_timeout_s),
    "server.idle_timeout": (7, lambda app: app._server.limits.idle_timeout_s),
    "server.write_timeout": (7, lambda app: app._server.limits.write_timeout_s),
    "server.keepalive_interval": (7, lambda app: app._server.limits.keepalive_comment_s),
    "server.max_connections": (7, lambda app: app._server.limits.max_connections),
    "server.drain_timeout": (7, lambda app: app._server.limits.drain_timeout_s),
    "model.idle_unload": (7, lambda app: app._keeper.gate.settings.idle_unload_s),
    "switch.allow_implicit": (False, lambda app: app._keeper.gate.settings.is_implicit),
    "switch.known_models": ({"a": "/a.gguf"}, lambda app: {m.name: str(m.path) for m in app._keeper.models.named}),
    "switch.drain_timeout": (7, lambda app: app._keeper.gate.settings.drain_timeout_s),
    "switch.max_wait": (7, lambda app: app._keeper.gate.settings.max_wait_s),
    "download.token": ("hf-token", lambda app: app._downloads.config.token),
    "log.level": ("error", lambda app: {10: "debug", 20: "info", 30: "warning", 40: "error"}[app._log._threshold]),
}


@pytest.mark.parametrize("key", PARTS)
async def test_a_part_of_the_server_reads_a_live_field_anew(key: str, tmp_path: Path) -> None:
    log = open_log(io.StringIO(), LogFormat.JSON, "info")
    app = _App(load_config(["--download-path", str(tmp_path)], {}, tmp_path), log)
    value, read = PARTS[key]
    assert read(app) != value
    group, _, name = key.partition(".")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(app._running.run)
        await app._running.patch({group: {name: value}}, 0)
        nursery.cancel_scope.cancel()
    assert read(app) == value


def test_every_live_field_is_held_by_one_of_these() -> None:
    source = Path(sys.modules[__name__].__file__ or "").read_text(encoding="utf-8")
    for field in FIELDS:
        if field.effect is Effect.LIVE and field.key not in PARTS:
            assert f'"{field.group}": {{' in source and f'"{field.name}"' in source, field.key
