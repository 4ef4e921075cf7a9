"""Models, health, metrics, tokenize and detokenize over the scripted engine."""

import math
import threading
from typing import Any

import pytest

from ignis import bundle
from ignis.api import body
from ignis.api.body import parse_body
from ignis.api.routes import build_metrics_router
from ignis.engine.lifecycle import EngineState
from ignis.engine.load import LoadPhase, LoadStatus
from ignis.version import VERSION
from tests.fakes.engine import IM_END, IM_START, MAX_CONTEXT, VOCAB_SIZE, byte_model
from tests.fakes.exchange import FakeExchange
from tests.unit.api.rig import CHAT, HI, Rig

ENTRY = {
    "id": "tiny",
    "object": "model",
    "created": 1_700_000_000,
    "owned_by": "ignis",
    "loaded": True,
    "format": "GGUF F32",
    "size_bytes": 4,
    "load_estimate_seconds": 0.0,
    "max_model_len": MAX_CONTEXT,
    "num_parameters": 1,
    "device": "Card 1 (sm_90)",
    "load_seconds": 0.0,
    "type": "model",
    "display_name": "tiny",
    "created_at": "2023-11-14T22:13:20Z",
    "capabilities": {"tools": False, "thinking": False, "thinking_efforts": [], "thinking_budget": 0, "vision": False},
    "defaults": {
        "temperature": 1.0,
        "top_p": 1.0,
        "top_k": 0,
        "min_p": 0.0,
        "repetition_penalty": 1.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "max_completion_tokens": MAX_CONTEXT,
    },
}
BUILD = f"{VERSION}+{bundle.digest(bundle.path('ui'))}"
PAGE = {"can_choose": True, "has_more": False, "first_id": "tiny", "last_id": "tiny"}


async def test_the_list_has_the_loaded_model_and_the_state() -> None:
    answer = await Rig().answer("GET", "/v1/models")
    assert answer.json() == {"object": "list", "data": [ENTRY], "status": "serving", "build": BUILD, **PAGE}


async def test_the_list_says_how_far_a_load_is() -> None:
    rig = Rig()
    rig.keeper.course.model = None
    rig.engine.state = EngineState.LOADING
    rig.engine.load_status = LoadStatus(LoadPhase.READING, 300, 1000, 2.34)
    answer = await rig.answer("GET", "/v1/models")
    assert answer.json() == {
        "object": "list",
        "data": [],
        "status": "loading",
        "build": BUILD,
        "loading": {"phase": "reading", "done_bytes": 300, "total_bytes": 1000, "seconds": 2.3},
        "can_choose": True,
        "has_more": False,
        "first_id": None,
        "last_id": None,
    }


@pytest.mark.parametrize("state", [EngineState.LOADING, EngineState.UNLOADED, EngineState.FAILED])
async def test_the_list_answers_while_nothing_serves(state: EngineState) -> None:
    rig = Rig()
    rig.keeper.course.model = None
    rig.engine.state = state
    rig.engine.reason = "/home/somebody/models/x.gguf: cut short"
    body = (await rig.answer("GET", "/v1/models")).json()
    assert body["data"] == []
    assert body["status"] == state.value
    told = {EngineState.FAILED: "the model failed: x.gguf: cut short", EngineState.UNLOADED: "x.gguf: cut short"}
    assert body.get("reason") == told.get(state)


async def test_a_model_is_shown_by_its_id_even_with_slashes() -> None:
    assert (await Rig().answer("GET", "/v1/models/tiny")).json() == ENTRY
    slashed = Rig(model=byte_model("org/tiny"))
    assert (await slashed.answer("GET", "/v1/models/org/tiny")).json()["id"] == "org/tiny"
    answer = await Rig().answer("GET", "/v1/models/other")
    assert answer.status == 404
    assert answer.json()["error"]["code"] == "model_not_found"


async def test_health_is_ok_while_the_loop_turns() -> None:
    answer = await Rig().answer("GET", "/health")
    assert (answer.status, answer.json()) == (200, {"status": "ok", "model": "tiny"})


@pytest.mark.parametrize(
    ("state", "is_turning", "code", "words"),
    [
        (EngineState.LOADING, True, "server_not_ready", "loaded"),
        (EngineState.UNLOADED, True, "server_not_ready", "x.gguf: cut short"),
        (EngineState.FAILED, True, "server_not_ready", "the model failed: x.gguf: cut short"),
        (EngineState.DRAINING, True, "server_draining", "shutting down"),
        (EngineState.SERVING, False, "server_not_ready", "stuck"),
    ],
)
async def test_health_says_what_is_wrong(state: EngineState, is_turning: bool, code: str, words: str) -> None:
    rig = Rig()
    if state is not EngineState.SERVING:
        rig.keeper.course.model = None
    rig.engine.state = state
    rig.engine.reason = "/home/somebody/x.gguf: cut short"
    rig.engine.is_turning = is_turning
    answer = await rig.answer("GET", "/health")
    error = answer.json()["error"]
    assert answer.status == 503
    assert error["code"] == code
    assert words in error["message"] and "somebody" not in error["message"]
    assert answer.header("Retry-After") is not None


@pytest.mark.parametrize(
    ("seconds_left", "told", "retry_after"),
    [
        (None, "the model first is being looked for", "1"),
        (90.2, "the model first is being fetched", "91"),
        (4000.0, "the model first is being fetched", "600"),
        # Nothing moves: that is no reason to stay away for long.
        (math.inf, "the model first is being fetched", "30"),
    ],
)
async def test_health_and_the_list_say_that_the_first_model_is_on_its_way(
    seconds_left: float | None, told: str, retry_after: str
) -> None:
    rig = Rig()
    rig.keeper.course.model, rig.engine.state = None, EngineState.UNLOADED
    rig.keeper.expect("first", None if seconds_left is None else lambda: seconds_left)
    answer = await rig.answer("GET", "/health")
    assert (answer.status, answer.json()["error"]["message"]) == (503, told)
    assert answer.header("Retry-After") == retry_after
    body = (await rig.answer("GET", "/v1/models")).json()
    assert (body["status"], body["reason"]) == ("loading", told)


@pytest.mark.parametrize("path", [CHAT, "/v1/tokenize", "/v1/detokenize"])
@pytest.mark.parametrize(
    ("state", "code", "reason", "message"),
    [
        (EngineState.LOADING, "server_not_ready", "not_ready", "the model is being loaded"),
        (EngineState.UNLOADED, "server_not_ready", "not_ready", "x.gguf: cut short"),
        (EngineState.FAILED, "server_not_ready", "not_ready", "the model failed: x.gguf: cut short"),
        (EngineState.DRAINING, "server_draining", "draining", "the server is shutting down"),
    ],
)
async def test_routes_that_need_the_model_say_why_it_does_not_serve(
    path: str, state: EngineState, code: str, reason: str, message: str
) -> None:
    rig = Rig()
    rig.engine.state = state
    rig.engine.reason = "/home/somebody/x.gguf: cut short"
    body = {"token_ids": []} if path.endswith("detokenize") else {"messages": HI}
    answer = await rig.answer("POST", path, body)
    assert answer.status == 503
    assert answer.header("Retry-After") is not None
    assert answer.json()["error"] == {"message": message, "type": code, "code": code, "param": None}
    assert f'ignis_requests_rejected_total{{reason="{reason}"}} 1.0'.encode() in rig.metrics.expose()


async def test_the_metrics_listener_serves_metrics_and_nothing_else() -> None:
    rig = Rig()
    router = build_metrics_router(rig.serving, rig.metrics, rig.log)
    exchange = FakeExchange("GET", "/metrics")
    await router(exchange)
    assert exchange.answer.content_type == "text/plain; version=0.0.4; charset=utf-8"
    assert b"# TYPE ignis_requests_accepted_total counter" in exchange.answer.body
    other = FakeExchange("GET", "/v1/models")
    await router(other)
    assert other.answer.status == 404
    assert (await rig.answer("GET", "/metrics")).status == 404


async def test_tokenize_counts_what_chat_counts() -> None:
    rig = Rig()
    messages = [{"role": "user", "content": "Grüße 👩‍👩‍👧 <|im_end|>"}]
    counted = (await rig.answer("POST", "/v1/tokenize", {"messages": messages, "return_token_ids": True})).json()
    usage = (await rig.chat(messages=messages))["usage"]
    assert counted["count"] == usage["prompt_tokens"] == len(counted["token_ids"])
    assert tuple(counted["token_ids"]) == rig.engine.submissions[0].prompt
    assert counted["max_model_len"] == MAX_CONTEXT
    assert "text" not in counted
    assert len(rig.engine.submissions) == 1


async def test_a_raw_prompt_is_counted_as_it_stands() -> None:
    body = {"prompt": "a<|im_end|>", "return_token_ids": True, "return_text": True}
    answer = await Rig().answer("POST", "/v1/tokenize", body)
    assert answer.json() == {
        "count": 11,
        "max_model_len": MAX_CONTEXT,
        "token_ids": list(b"a<|im_end|>"),
        "text": "a<|im_end|>",
    }
    assert (await Rig().answer("POST", "/v1/tokenize", {"prompt": ""})).json()["count"] == 0


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "messages"),
        ({"messages": HI, "prompt": "x"}, "messages"),
        ({"prompt": "x", "stream": True}, "stream"),
        ({"messages": []}, "messages"),
        ({"prompt": 1}, "prompt"),
        ({"prompt": "x", "temperature": 9}, "temperature"),
        ({"prompt": "x", "model": "other"}, "model"),
    ],
)
async def test_tokenize_refuses_by_name(body: dict[str, object], param: str) -> None:
    answer = await Rig().answer("POST", "/v1/tokenize", body)
    assert answer.status in (400, 404)
    assert answer.json()["error"]["param"] == param


async def test_the_whole_prompt_can_be_read() -> None:
    answer = await Rig().answer("POST", "/v1/tokenize", {"messages": HI, "return_text": True})
    assert answer.json()["text"] == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"


async def test_ids_come_back_as_text() -> None:
    rig = Rig()
    ids = [*"Grüße 👍".encode()]
    assert (await rig.answer("POST", "/v1/detokenize", {"token_ids": ids})).json() == {"text": "Grüße 👍"}
    assert (await rig.answer("POST", "/v1/detokenize", {"token_ids": []})).json() == {"text": ""}
    answer = await rig.answer("POST", "/v1/detokenize", {"token_ids": [IM_START, 72, IM_END]})
    assert answer.json() == {"text": "<|im_start|>H<|im_end|>"}
    assert b'route="detokenize"} 3.0' in rig.metrics.expose()


@pytest.mark.parametrize(
    ("ids", "param"),
    [([72, VOCAB_SIZE], "token_ids[1]"), ([-1], "token_ids[0]"), ([10**30], "token_ids[0]"), (["a"], "token_ids[0]")],
)
async def test_an_id_outside_the_vocabulary_is_named(ids: list[object], param: str) -> None:
    answer = await Rig().answer("POST", "/v1/detokenize", {"token_ids": ids})
    assert answer.status == 400
    assert answer.json()["error"]["param"] == param


async def test_a_large_body_is_parsed_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []

    def parse(data: bytes, struct: Any) -> Any:
        threads.append(threading.current_thread())
        return parse_body(data, struct)

    monkeypatch.setattr(body, "parse_body", parse)
    rig = Rig()
    assert (await rig.answer("POST", "/v1/tokenize", {"prompt": "x"})).status == 200
    assert (await rig.answer("POST", "/v1/tokenize", {"prompt": "x" * 100_000})).status == 200
    here = threading.current_thread()
    assert [thread is here for thread in threads] == [True, False]
