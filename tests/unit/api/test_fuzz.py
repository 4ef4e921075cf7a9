"""Whatever JSON comes in a body, the answer is a success or a typed refusal, never a fault of ours."""

import json
from typing import Any

import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ignis.api.schema.anthropic_request import MessagesRequest
from ignis.api.schema.chat_completions import ChatCompletionRequest
from ignis.api.schema.completions import CompletionRequest
from ignis.api.schema.tokenize import DetokenizeRequest, TokenizeRequest
from tests.fakes.exchange import FakeAnswer, FakeExchange
from tests.unit.api.rig import CHAT, HI, MESSAGES, Rig, code_of

# Texts hold lone surrogates too: JSON can spell them.
TEXTS = st.text(max_size=20)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=12
)
ROLES = st.sampled_from(["system", "developer", "user", "assistant", "tool", "robot"])
PARTS = st.fixed_dictionaries({"type": st.sampled_from(["text", "refusal", "image_url"])}, optional={"text": VALUES})
HISTORIES = st.lists(
    st.fixed_dictionaries(
        {"role": ROLES}, optional={"content": TEXTS | VALUES | st.lists(PARTS, max_size=3), "tool_calls": VALUES}
    ),
    max_size=4,
)


def bodies(struct: type[Any]) -> st.SearchStrategy[dict[str, Any]]:
    names = st.sampled_from(sorted(struct.__struct_encode_fields__)) | TEXTS
    return st.tuples(st.dictionaries(names, VALUES, max_size=4), st.none() | st.just(HI) | HISTORIES).map(
        lambda pair: pair[0] if pair[1] is None else {**pair[0], "messages": pair[1]}
    )


def ask(path: str, body: bytes) -> None:
    rig = Rig(default_max_tokens=8)
    exchange = FakeExchange("POST", path, body=body)
    trio.run(rig.router, exchange)
    if exchange._stream is not None:
        assert exchange.stream.is_closed
        assert exchange.events[-1].data == b"[DONE]" or exchange.events[-1].event == "message_stop"
        return
    answer: FakeAnswer = exchange.answer
    assert answer.status < 500, (answer.body, rig.log_stream.getvalue())
    if answer.status != 200:
        error = answer.json()["error"]
        assert error["message"] and error["type"] and code_of(answer.json())


fuzz = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])


@fuzz
@given(bodies(ChatCompletionRequest))
def test_chat_bodies(body: dict[str, Any]) -> None:
    ask(CHAT, json.dumps(body).encode())


PROMPTS = TEXTS | st.lists(TEXTS, max_size=3) | st.lists(st.integers(-1, 300), max_size=4) | VALUES


@fuzz
@given(bodies(CompletionRequest), PROMPTS)
def test_completion_bodies(body: dict[str, Any], prompt: Any) -> None:
    ask("/v1/completions", json.dumps({**body, "prompt": prompt}).encode())


@fuzz
@given(bodies(TokenizeRequest))
def test_tokenize_bodies(body: dict[str, Any]) -> None:
    ask("/v1/tokenize", json.dumps(body).encode())


@fuzz
@given(bodies(DetokenizeRequest))
def test_detokenize_bodies(body: dict[str, Any]) -> None:
    ask("/v1/detokenize", json.dumps(body).encode())


BLOCKS = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "tool_use", "tool_result", "thinking", "redacted_thinking", "image"])},
    optional=dict.fromkeys(["text", "input", "content", "thinking", "id", "name", "tool_use_id", "signature"], VALUES),
)
TURNS = st.lists(
    st.fixed_dictionaries({"role": ROLES, "content": TEXTS | VALUES | st.lists(BLOCKS, max_size=3)}), max_size=4
)


@fuzz
@given(bodies(MessagesRequest), TURNS | st.just(HI), st.sampled_from([MESSAGES, f"{MESSAGES}/count_tokens"]))
def test_messages_bodies(body: dict[str, Any], turns: list[Any], path: str) -> None:
    ask(path, json.dumps({"max_tokens": 8, **body, "messages": turns}).encode())


@fuzz
@given(st.binary(max_size=200))
def test_bytes(body: bytes) -> None:
    ask(CHAT, body)
