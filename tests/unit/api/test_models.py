"""The routes below /v1/models, and requests that are held until their model serves, over the scripted engine."""

import json
import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from ignis.api.schema import operations
from ignis.config import load_config
from ignis.engine.course import LastLoad
from ignis.engine.lifecycle import EngineState, LoadedModel
from ignis.engine.load import LoadPhase, LoadStatus
from ignis.engine.settings import LoadSettings
from ignis.engine.switching import SwitchOutcome, SwitchPhase, SwitchWatch
from ignis.errors import SwitchFailedError
from ignis.models.base import Architecture
from ignis.models.local import LocalModel
from tests.e2e.small_folder import write_small_folder
from tests.fakes.engine import TEMPLATE, byte_model
from tests.fakes.exchange import FakeExchange
from tests.settings import engine_settings
from tests.unit.api.rig import CHAT, HI, MESSAGES, Rig
from tests.unit.api.test_prompt import THINKING
from tests.unit.api.test_router import concrete

SWITCH, UNLOAD, EVENTS = "/v1/models/switch", "/v1/models/unload", "/v1/models/events"
WATCHES = (EVENTS, "/ui/log")
LOOKING = [
    route.path
    for route in Rig(has_metrics=True).router.routes
    if route.method == "GET" and route.path != operations.OPEN_RESPONSES.path
]


def asleep(folder: Path, **options: Any) -> Rig:
    """A rig whose model was unloaded."""
    rig = Rig(folder=folder, **options)
    rig.keeper.course.model = None
    rig.keeper.course.home = LocalModel("tiny", folder / "tiny.gguf")
    rig.engine.state = EngineState.UNLOADED
    return rig


def wake(rig: Rig, model: LoadedModel | None = None) -> None:
    """The model serves, and whoever waits for it is let in."""
    rig.engine.state = EngineState.SERVING
    rig.keeper.course.model = woken = model or byte_model()
    gate = rig.keeper.gate
    assert rig.keeper.course.home is not None
    gate.num_using += gate.wishes.grant_nameless(woken) + gate.wishes.grant(rig.keeper.course.home.path, woken)


async def test_the_others_are_listed_behind_the_one_that_serves(tmp_path: Path) -> None:
    (tmp_path / "other.gguf").write_bytes(bytes(7))
    rig = Rig(folder=tmp_path)
    body = (await rig.answer("GET", "/v1/models")).json()
    assert [(entry["id"], entry["loaded"]) for entry in body["data"]] == [("tiny", True), ("other", False)]
    other = body["data"][1]
    assert (other["format"], other["size_bytes"], "max_model_len" in other) == ("GGUF", 7, False)
    assert (await rig.answer("GET", "/v1/models/other")).json() == other
    assert (await rig.answer("GET", "/v1/models/third")).status == 404


async def test_whether_a_request_may_choose_its_model_is_told() -> None:
    rig = Rig()
    assert (await rig.answer("GET", "/v1/models")).json()["can_choose"] is True
    gate = rig.keeper.gate
    gate.settings = replace(gate.settings, is_implicit=False)
    assert (await rig.answer("GET", "/v1/models")).json()["can_choose"] is False


async def test_of_an_idle_server_the_model_that_wakes_is_listed_first(tmp_path: Path) -> None:
    for name in ("tiny", "first"):
        (tmp_path / f"{name}.gguf").write_bytes(bytes(7))
    body = (await asleep(tmp_path).answer("GET", "/v1/models")).json()
    assert (body["status"], [entry["id"] for entry in body["data"]]) == ("unloaded", ["tiny", "first"])


async def test_what_a_load_found_out_stays_known_until_another_file_lies_there(tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(bytes(7))
    awake = (await Rig(model=byte_model(top_p=0.9)).answer("GET", "/v1/models/tiny")).json()
    rig = asleep(tmp_path)
    home = rig.keeper.models.find("tiny")
    model = byte_model(top_p=0.9)
    await rig.prompts.template(model)
    rig.keeper.course.loads[home.path] = LastLoad(model.facts(), 2.5, home.changed_ns(), home.size_bytes())
    rig.prompts.forget()
    entry = (await rig.answer("GET", "/v1/models")).json()["data"][0]
    names = ("max_model_len", "num_parameters", "device", "load_seconds", "capabilities", "defaults", "format")
    assert {name: entry[name] for name in names} == {name: awake[name] for name in names} | {"load_seconds": 2.5}
    assert (entry["loaded"], entry["load_estimate_seconds"], entry["defaults"]["top_p"]) == (False, 2.5, 0.9)
    changed_ns = home.changed_ns()
    os.utime(home.path, (1, 1))
    assert "capabilities" not in (await rig.answer("GET", "/v1/models/tiny")).json()
    # In a folder, whose own time says nothing of its files.
    os.utime(home.path, ns=(changed_ns, changed_ns))
    assert "capabilities" in (await rig.answer("GET", "/v1/models/tiny")).json()
    home.path.write_bytes(bytes(8))
    os.utime(home.path, ns=(changed_ns, changed_ns))
    assert "capabilities" not in (await rig.answer("GET", "/v1/models/tiny")).json()


async def test_why_a_switch_failed_is_told_while_the_old_model_is_loaded_back(tmp_path: Path) -> None:
    rig = asleep(tmp_path)
    course = rig.keeper.course
    rig.engine.state = EngineState.LOADING
    course.coming, course.return_reason = course.home, "the card is full"
    course.watch = SwitchWatch("tiny", "other", course.clock)
    exchange = FakeExchange("GET", EVENTS)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(rig.router, exchange)
        await trio.testing.wait_all_tasks_blocked(0.01)
        nursery.cancel_scope.cancel()
    says = "the model other could not be loaded, and tiny is being loaded back: the card is full"
    for body in (exchange.events[0].json(), (await rig.answer("GET", "/v1/models")).json()):
        assert (body["status"], body["reason"]) == ("switching", says)


async def test_each_model_tells_the_defaults_of_its_own_files_and_family(tmp_path: Path) -> None:
    flags = [
        *("--qwen3-sampling-temperature", "0.6", "--sampling-top-k", "40", "--model-thinking-budget", "1000"),
        *("--qwen3-model-default-max-tokens", "100", "--model-default-max-tokens", "0"),
    ]
    config = load_config(flags, {}, tmp_path)
    rig = Rig(folder=tmp_path, config=config, default_max_tokens=0, sampling={"top_k": 40.0})
    rig.keeper.course.model = None
    for name, family, template in (("tiny", Architecture.LLAMA, TEMPLATE), ("other", Architecture.QWEN3, THINKING)):
        (tmp_path / f"{name}.gguf").write_bytes(bytes(7))
        local = rig.keeper.models.find(name)
        model = replace(byte_model(name, template, top_p=0.9, temperature=0.2), architecture=family)
        await rig.prompts.template(model)
        rig.keeper.course.loads[local.path] = LastLoad(model.facts(), 2.5, local.changed_ns(), 7)
    found = {entry["id"]: entry["defaults"] for entry in (await rig.answer("GET", "/v1/models")).json()["data"]}
    names = ("temperature", "top_p", "top_k", "max_completion_tokens", "thinking_budget")
    assert {id: tuple(own.get(name) for name in names) for id, own in found.items()} == {
        "tiny": (0.2, 0.9, 40, 512, None),
        "other": (0.6, 0.9, 40, 100, 1000),
    }


async def test_the_event_loop_looks_at_no_disk_for_the_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        (tmp_path / f"m{number}.gguf").write_bytes(bytes(number))
    rig = asleep(tmp_path)
    loop, scan, asked = threading.get_ident(), os.scandir, []

    def watch(folder: Path) -> Any:
        asked.append(threading.get_ident())
        return scan(folder)

    monkeypatch.setattr(os, "scandir", watch)
    body = (await rig.answer("GET", "/v1/models")).json()
    assert [entry["size_bytes"] for entry in body["data"]] == [0, 1, 2]
    assert (await rig.answer("GET", "/v1/models/m2")).json()["size_bytes"] == 2
    assert asked and loop not in asked


@pytest.mark.parametrize(("asked", "told"), [(0, 512), (300, 300), (4096, 512)])
async def test_a_sleeping_model_has_the_context_that_is_asked_for_now(tmp_path: Path, asked: int, told: int) -> None:
    (tmp_path / "tiny.gguf").write_bytes(bytes(7))
    rig = asleep(tmp_path)
    home = rig.keeper.models.find("tiny")
    facts = byte_model().facts()
    rig.keeper.course.loads[home.path] = LastLoad(facts, 2.5, home.changed_ns(), home.size_bytes())
    rig.keeper.course.home = None
    # Where there is none to load anew it is the next load's at once.
    assert rig.keeper.ask_reload(LoadSettings(engine_settings(max_context=asked))).over.is_set()
    entry = (await rig.answer("GET", "/v1/models/tiny")).json()
    assert (entry["max_model_len"], entry["defaults"]["max_completion_tokens"]) == (told, told)


async def test_a_model_is_loaded_until_its_memory_is_back_and_serves_as_long(tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(bytes(7))
    rig = asleep(tmp_path)
    course = rig.keeper.course
    course.leaving = rig.keeper.models.find("tiny")
    rig.engine.state = EngineState.UNLOADING
    seen = []
    for _ in range(2):
        body = (await rig.answer("GET", "/v1/models")).json()
        seen.append((body["status"], body["data"][0]["loaded"]))
        course.leaving, rig.engine.state = None, EngineState.UNLOADED
    # A server that stops serves no model that it does not have.
    rig.engine.state = EngineState.DRAINING
    seen.append((course.status.value, False))
    assert seen == [("serving", True), ("unloaded", False), ("unloaded", False)]


async def test_a_load_under_way_is_told_with_its_phase_and_bytes(tmp_path: Path) -> None:
    rig = asleep(tmp_path)
    rig.engine.load_status = LoadStatus(LoadPhase.READING, 300, 1300, 2.04)
    rig.engine.state = EngineState.LOADING
    body = (await rig.answer("GET", "/v1/models")).json()
    assert body["loading"] == {"phase": "reading", "done_bytes": 300, "total_bytes": 1300, "seconds": 2.0}
    rig.engine.load_status = None
    assert "loading" not in (await rig.answer("GET", "/v1/models")).json()


async def test_a_switch_is_taken_or_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "other.gguf").write_bytes(bytes(7))
    rig = Rig(folder=tmp_path)
    assert (await rig.answer("POST", SWITCH, {"model": "third"})).json()["error"]["param"] == "model"
    assert (await rig.answer("POST", SWITCH, {})).json()["error"]["param"] == "model"
    answer = await rig.answer("POST", SWITCH, {"model": "other"})
    assert (answer.status, answer.json()) == (202, {"status": "switching", "to": "other", "from": "tiny"})
    for path in (SWITCH, UNLOAD):
        refused = await rig.answer("POST", path, {"model": "other"})
        assert (refused.status, refused.json()["error"]["code"]) == (409, "switch_in_progress")
        assert refused.json()["error"]["param"] == ("model" if path == SWITCH else None)
        assert refused.header("Retry-After") == "3"


async def test_there_may_be_nothing_to_unload(tmp_path: Path) -> None:
    answer = await asleep(tmp_path).answer("POST", UNLOAD)
    assert (answer.status, answer.json()) == (200, {"status": "unloaded"})


async def test_a_server_that_stops_takes_no_orders(tmp_path: Path) -> None:
    rig = Rig(folder=tmp_path)
    rig.engine.state = EngineState.DRAINING
    for path in (SWITCH, UNLOAD):
        answer = await rig.answer("POST", path, {"model": "tiny"})
        assert (answer.status, answer.json()["error"]["code"]) == (503, "server_draining")


async def test_events_tell_the_state_now_and_its_changes(autojump_clock: trio.testing.MockClock) -> None:
    rig = Rig()
    exchange = FakeExchange("GET", EVENTS)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(rig.router, exchange)
        stream = await exchange.wait_opened()
        await stream.wait_sent(1)
        rig.keeper.course.watch = SwitchWatch("tiny", "other", trio.current_time)
        rig.keeper.course.note_change()
        await stream.wait_sent(2)
        watch, rig.keeper.course.watch = rig.keeper.course.watch, None
        watch.mark(SwitchPhase.PREPARE)
        rig.keeper.course.last_switch = watch.over(SwitchOutcome.REFUSED, 2, "x.gguf: cut short")
        rig.keeper.course.note_change()
        await stream.wait_sent(3)
        # What changes nothing that is told is no event.
        rig.keeper.course.note_change()
        await trio.sleep(5)
        assert exchange.is_watch
        nursery.cancel_scope.cancel()
    states = [event.json() for event in exchange.events]
    assert {event.event for event in exchange.events} == {"status"} and len(states) == 3
    assert states[0] == {"status": "serving", "model": "tiny"}
    assert states[1]["switching"] == {"from": "tiny", "to": "other"} and states[1]["status"] == "switching"
    last = states[2]["last_switch"]
    assert (last["outcome"], last["waited"], last["reason"]) == ("refused", 2, "x.gguf: cut short")
    assert last["prepare_ms"] >= 0 and "load_ms" not in last


async def test_events_tell_how_far_a_load_is_while_it_lasts(
    autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    rig = asleep(tmp_path)
    rig.engine.state = EngineState.LOADING
    exchange = FakeExchange("GET", EVENTS)
    async with trio.open_nursery() as nursery:
        rig.engine.load_status = LoadStatus(LoadPhase.READING, 0, 1300, 0.0)
        nursery.start_soon(rig.router, exchange)
        stream = await exchange.wait_opened()
        # Nothing else happens meanwhile, and nobody says that it goes on.
        for number, (phase, done_bytes) in enumerate([(LoadPhase.READING, 700), (LoadPhase.WARMING, 1300)], 1):
            with trio.fail_after(30):
                await stream.wait_sent(number)
            rig.engine.load_status = LoadStatus(phase, done_bytes, 1300, 1.0 * number)
        with trio.fail_after(30):
            await stream.wait_sent(3)
        nursery.cancel_scope.cancel()
    told = [event.json()["loading"] for event in exchange.events]
    assert [(each["phase"], each["done_bytes"]) for each in told] == [
        ("reading", 0),
        ("reading", 700),
        ("warming", 1300),
    ]


@pytest.mark.parametrize("is_asleep", [False, True])
@pytest.mark.parametrize("path", LOOKING)
async def test_whoever_only_looks_uses_no_model_and_wakes_none(path: str, is_asleep: bool, tmp_path: Path) -> None:
    rig = asleep(tmp_path, has_metrics=True) if is_asleep else Rig(has_metrics=True)
    exchange = FakeExchange("GET", concrete(path))
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            if path in WATCHES:
                nursery.start_soon(rig.router, exchange)
                await exchange.wait_opened()
                await trio.testing.wait_all_tasks_blocked()
            else:
                await rig.router(exchange)
            gate = rig.keeper.gate
            assert (gate.num_using, len(gate.wishes), gate.used_at_s) == (0, 0, 0)
            nursery.cancel_scope.cancel()


async def test_the_list_has_what_came_and_went_the_newest_first() -> None:
    rig = Rig()
    changes = rig.keeper.course.changes
    changes.appendleft(SwitchWatch(None, "tiny", lambda: 0.0).over(SwitchOutcome.LOADED, 1))
    changes.appendleft(SwitchWatch("tiny", None, lambda: 0.0).over(SwitchOutcome.UNLOADED, reason="idle"))
    first, second = (await rig.answer("GET", "/v1/models")).json()["switches"]
    assert (first.pop("at") > 0, second.pop("at") > 0) == (True, True)
    assert first == {"from": "tiny", "outcome": "unloaded", "waited": 0, "reason": "idle"}
    assert second == {"to": "tiny", "outcome": "loaded", "waited": 1}


@pytest.mark.parametrize("path", [CHAT, MESSAGES, "/v1/completions", "/v1/responses"])
async def test_a_held_stream_is_opened_where_the_wait_is_long(
    path: str, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    rig = asleep(tmp_path)
    exchange = FakeExchange("POST", path, body=body_of(path, stream=True))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(rig.router, exchange)
        await trio.sleep(9)
        assert not exchange.is_answered and len(rig.keeper.gate.wishes) == 1
        await trio.sleep(2)
        assert exchange.stream.sent == []
        wake(rig)
    assert exchange.stream.is_closed and len(exchange.events) > 1
    assert not any(event.event == "error" for event in exchange.events)
    assert rig.keeper.gate.num_using == 0


@pytest.mark.parametrize("path", [CHAT, MESSAGES, "/v1/completions", "/v1/responses"])
async def test_a_held_stream_that_fails_says_so_in_an_event(
    path: str, tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    rig = asleep(tmp_path)
    exchange = FakeExchange("POST", path, body=body_of(path, stream=True))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(rig.router, exchange)
        await trio.sleep(11)
        rig.keeper.gate.wishes.refuse_all(lambda: SwitchFailedError("tiny could not be loaded"))
    [event] = exchange.events
    assert event.event == "error" and "could not be loaded" in event.json()["error"]["message"]
    assert exchange.stream.is_closed


@pytest.mark.parametrize("is_stream", [False, True])
async def test_a_held_request_that_fails_soon_has_its_status(is_stream: bool, tmp_path: Path) -> None:
    rig = asleep(tmp_path)
    exchange = FakeExchange("POST", CHAT, body=body_of(CHAT, stream=is_stream))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(rig.router, exchange)
        await trio.testing.wait_all_tasks_blocked()
        rig.keeper.gate.wishes.refuse_all(lambda: SwitchFailedError("tiny could not be loaded"))
    assert exchange.answer.status == 503 and exchange.answer.header("Retry-After") is not None
    assert exchange.answer.json()["error"]["code"] == "model_load_failed"


@pytest.mark.parametrize("path", [CHAT, MESSAGES, "/v1/completions", "/v1/responses", "/v1/tokenize"])
async def test_a_client_that_leaves_while_it_is_held_is_forgotten(path: str, tmp_path: Path) -> None:
    rig = asleep(tmp_path)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(rig.router, FakeExchange("POST", path, body=body_of(path)))
        await trio.testing.wait_all_tasks_blocked()
        assert len(rig.keeper.gate.wishes) == 1
        nursery.cancel_scope.cancel()
    assert len(rig.keeper.gate.wishes) == rig.keeper.gate.num_using == 0


async def test_the_wait_counts_against_the_time_of_the_request(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    rig = asleep(tmp_path)
    exchange = FakeExchange("POST", CHAT, body=body_of(CHAT))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(rig.router, exchange)
        await trio.sleep(250)
        wake(rig)
    [submission] = rig.engine.submissions
    assert submission.timeout_s == pytest.approx(350, abs=1)
    assert exchange.answer.json()["timings"]["queued_ms"] == pytest.approx(250_000, rel=0.01)
    late = FakeExchange("POST", CHAT, body=body_of(CHAT))
    rig.keeper.course.model = None
    await rig.router(late)
    assert (late.answer.status, late.answer.json()["error"]["code"]) == (504, "request_timeout")


async def test_what_was_made_for_a_model_is_not_answered_by_another(tmp_path: Path) -> None:
    rig = Rig(folder=tmp_path)
    order = await rig.answer("POST", "/v1/tokenize", {"prompt": "x"})
    assert order.status == 200
    stale = rig.keeper.course.model
    assert stale is not None
    rig.keeper.course.model = byte_model("other")
    with pytest.raises(Exception, match="unloaded before the request could begin"):
        rig.serving.submit([], [stale])


def body_of(path: str, **fields: Any) -> bytes:
    asked: dict[str, Any] = {"max_tokens": 5}
    if path == "/v1/responses":
        asked = {"input": "Hi"}
    elif path == "/v1/completions":
        asked |= {"prompt": "Hi"}
    elif path == "/v1/tokenize":
        asked = {"prompt": "Hi"}
    else:
        asked |= {"messages": HI, "model": "tiny"} if path == MESSAGES else {"messages": HI}
    return json.dumps({**asked, **fields}).encode()


@pytest.mark.parametrize(
    ("body", "status", "is_asked"),
    [
        (b"", 202, True),
        ({}, 202, True),
        ({"model": "tiny"}, 202, True),
        # Another came in its place meanwhile.
        ({"model": "other"}, 200, False),
        ({"model": "third"}, 404, False),
        ({"model": ""}, 400, False),
        ({"modle": "other"}, 400, False),
        ([], 400, False),
    ],
)
async def test_whoever_has_one_model_unloaded_has_no_other_unloaded(
    tmp_path: Path, body: Any, status: int, is_asked: bool
) -> None:
    for name in ("tiny", "other"):
        (tmp_path / f"{name}.gguf").write_bytes(bytes(7))
    rig = asleep(tmp_path)
    course = rig.keeper.course
    course.coming = rig.keeper.models.find("tiny")
    answer = await rig.answer("POST", UNLOAD, body)
    assert (answer.status, course.asked is not None) == (status, is_asked)
    if status < 400:
        assert answer.json() == {"status": "unloading" if is_asked else "unloaded"}


async def test_a_model_that_was_never_loaded_tells_what_its_files_say(tmp_path: Path) -> None:
    path = tmp_path / "owner" / "other"
    write_small_folder(path)
    (path / "generation_config.json").write_text('{"temperature": 0.3, "top_p": 0.7}')
    rig = Rig(folder=tmp_path, config=load_config(["--llama-sampling-top-p", "0.5"], {}, tmp_path))
    rig.keeper.ask_reload(LoadSettings(engine_settings(max_context=100)))
    listed = (await rig.answer("GET", "/v1/models")).json()["data"][1]
    assert (listed["id"], listed["loaded"], listed["max_model_len"]) == ("other", False, 100)
    defaults = listed["defaults"]
    assert (defaults["temperature"], defaults["top_p"], defaults["max_completion_tokens"]) == (0.3, 0.5, 100)
    assert listed["num_parameters"] > 0 and listed["format"] == "safetensors F32"
    assert not {"device", "load_seconds", "capabilities"} & listed.keys()
    assert (await rig.answer("GET", "/v1/models/other")).json() == listed
    # It is another one by now, and one that nobody serves.
    (path / "config.json").write_text("{}")
    os.utime(path, (1, 1))
    assert "defaults" not in (await rig.answer("GET", "/v1/models/other")).json()
