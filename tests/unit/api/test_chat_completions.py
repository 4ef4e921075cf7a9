"""POST /v1/chat/completions over the scripted engine: whole bodies, streams, and what both share."""

import json
from dataclasses import replace
from typing import Any

import msgspec
import pytest
import trio
import trio.testing

from ignis.api.schema.chat_completions import ChatCompletion, ChatCompletionChunk
from ignis.errors import EngineFullError
from ignis.scheduler.request import FinishReason, RequestClass
from tests.fakes.engine import IM_END, IM_START, MAX_CONTEXT, byte_model, script
from tests.fakes.exchange import FakeExchange
from tests.unit.api.rig import CHAT, HI, Rig, text_of

LOGPROBS = {"logprobs": True, "top_logprobs": 2}


async def test_a_whole_answer_has_text_reason_and_usage() -> None:
    rig = Rig(script("Paris"))
    body = await rig.chat()
    assert body["id"].startswith("chatcmpl-")
    assert body["object"] == "chat.completion"
    assert body["model"] == "tiny"
    assert body["choices"] == [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Paris", "refusal": None},
            "finish_reason": "stop",
            "logprobs": None,
        }
    ]
    prompt = len(rig.engine.submissions[0].prompt)
    assert body["usage"] == {
        "prompt_tokens": prompt,
        "completion_tokens": 6,
        "total_tokens": prompt + 6,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "rewound_tokens": 0},
    }


async def test_every_body_and_chunk_is_what_the_document_says() -> None:
    rig = Rig(script("Paris"))
    msgspec.convert(await rig.chat(**LOGPROBS), ChatCompletion)
    for event in (await rig.stream(stream_options={"include_usage": True}, **LOGPROBS))[:-1]:
        msgspec.convert(event, ChatCompletionChunk)


async def test_a_stream_begins_with_the_role_and_ends_with_done_once() -> None:
    events = await Rig(script("Hi")).stream()
    deltas = [(event["choices"][0]["delta"], event["choices"][0]["finish_reason"]) for event in events[:-1]]
    assert deltas == [
        ({"role": "assistant", "content": ""}, None),
        ({"content": "H"}, None),
        ({"content": "i"}, None),
        ({}, "stop"),
    ]
    assert events.count("[DONE]") == 1
    assert events[-1] == "[DONE]"
    assert {event["object"] for event in events[:-1]} == {"chat.completion.chunk"}
    assert len({(event["id"], event["created"], event["model"]) for event in events[:-1]}) == 1


async def test_usage_comes_in_a_last_chunk_where_it_was_asked_for() -> None:
    rig = Rig(script("Hi"))
    rig.engine.cached_tokens = 3
    events = await rig.stream(stream_options={"include_usage": True})
    assert [event["usage"] for event in events[:-2]] == [None] * (len(events) - 2)
    assert events[-2]["choices"] == []
    assert events[-2]["usage"]["completion_tokens"] == 3
    assert events[-2]["usage"]["prompt_tokens_details"] == {"cached_tokens": 3}
    assert all("usage" not in event for event in (await rig.stream())[:-1])


async def test_timings_name_the_seed_in_both_forms() -> None:
    rig = Rig(script("Hi"))
    assert (await rig.chat(seed=7))["timings"]["seed"] == 7
    assert (await rig.stream(seed=7))[-2]["timings"]["seed"] == 7
    assert (await rig.stream(seed=7, stream_options={"include_usage": True}))[-2]["timings"]["seed"] == 7
    drawn = (await rig.chat())["timings"]["seed"]
    assert rig.engine.submissions[-1].sampling.seed == drawn < 2**53


async def test_timings_are_rates_of_what_was_computed() -> None:
    rig = Rig(script("Hello"))
    rig.engine.cached_tokens = 4
    timings = (await rig.chat())["timings"]
    prompt = len(rig.engine.submissions[0].prompt)
    assert timings["cached_n"] == 4
    assert timings["prompt_n"] == prompt - 4
    assert timings["prompt_per_second"] == pytest.approx((prompt - 4) / 0.01)
    assert timings["predicted_n"] == 6
    assert timings["predicted_per_second"] == pytest.approx(5 / 0.1)


@pytest.mark.parametrize("tokens_per_event", [1, 2, 3, 100])
@pytest.mark.parametrize(
    ("text", "stop", "expected"),
    [
        ("Grüße 👩‍👩‍👧 数える", None, "Grüße 👩‍👩‍👧 数える"),
        ("one\nObservation: the end", "\nObservation: the", "one"),
        ("aaab!", ["aab", "zz"], "a"),
        ("abcDEFGHIJ", ["DEFGHIJ"], "abc"),
        ("ends in sto", ["stop"], "ends in sto"),
        (b"cut \xf0\x9f", None, "cut \ufffd"),
    ],
)
async def test_stream_and_whole_body_agree(text: str | bytes, stop: Any, expected: str, tokens_per_event: int) -> None:
    rig = Rig(script(text, tokens_per_event=tokens_per_event))
    whole = await rig.chat(stop=stop)
    events = await rig.stream(stop=stop, stream_options={"include_usage": True})
    assert whole["choices"][0]["message"]["content"] == text_of(events) == expected
    assert whole["usage"] == events[-2]["usage"]
    assert whole["choices"][0]["finish_reason"] == events[-3]["choices"][0]["finish_reason"] == "stop"


async def test_no_chunk_holds_half_a_character() -> None:
    events = await Rig(script("é👍")).stream()
    texts = [event["choices"][0]["delta"].get("content") for event in events[1:-2]]
    assert texts == ["é", "👍"]


async def test_a_stop_string_ends_the_request_as_a_stop_and_counts_only_its_tokens() -> None:
    rig = Rig(script("abXYcdef"), is_held=True)
    exchange = FakeExchange("POST", CHAT, body={"messages": HI, "stop": "XY"})
    async with trio.open_nursery() as tasks:
        tasks.start_soon(rig.router, exchange)
        await rig.engine.has_submitted.wait()
        rig.engine.deliver(1, 6)
    body = exchange.answer.json()
    assert body["choices"][0]["finish_reason"] == "stop"
    assert body["usage"]["completion_tokens"] == 4
    assert rig.engine.ended == [(1, FinishReason.STOP)]


async def test_a_stop_string_that_the_cap_completes_is_a_stop() -> None:
    body = await Rig(script("abXY")).chat(stop="XY", max_tokens=4)
    assert body["choices"][0]["finish_reason"] == "stop"
    assert body["choices"][0]["message"]["content"] == "ab"


async def test_text_that_cannot_become_a_stop_string_is_not_held_back() -> None:
    rig = Rig(script("Hello"), is_held=True)
    exchange = FakeExchange("POST", CHAT, body={"messages": HI, "stream": True, "stop": "ZZZZZZ"})
    async with trio.open_nursery() as tasks:
        tasks.start_soon(rig.router, exchange)
        stream = await exchange.wait_opened()
        rig.engine.deliver(1, 1)
        await stream.wait_sent(2)
        assert stream.sent[1].json()["choices"][0]["delta"] == {"content": "H"}
        rig.engine.deliver(1)


async def test_the_cap_ends_with_length() -> None:
    body = await Rig(script("Hello")).chat(max_tokens=3)
    assert body["choices"][0]["finish_reason"] == "length"
    assert body["choices"][0]["message"]["content"] == "Hel"
    assert body["usage"]["completion_tokens"] == 3


async def test_log_probabilities_join_to_the_text() -> None:
    rig = Rig(script("Hé"))
    logprobs = (await rig.chat(**LOGPROBS))["choices"][0]["logprobs"]
    assert logprobs["refusal"] is None
    assert bytes(byte for token in logprobs["content"] for byte in token["bytes"]).decode() == "Hé"
    first = logprobs["content"][0]
    assert first["token"] == "H"
    assert first["logprob"] == -0.5
    assert len(first["top_logprobs"]) == 2
    assert first["top_logprobs"][0] == {"token": "H", "logprob": -0.5, "bytes": [72]}


async def test_log_probabilities_without_a_number_have_no_others() -> None:
    rig = Rig(script("H"))
    content = (await rig.chat(logprobs=True))["choices"][0]["logprobs"]["content"]
    assert [token["top_logprobs"] for token in content] == [[]]
    assert rig.engine.submissions[0].sampling.top_logprobs == 0


@pytest.mark.parametrize(("text", "stop"), [("Hé!", None), ("abXYc", "XY"), ("ab XX", "XY"), (b"a\xf0\x9f", None)])
async def test_streamed_log_probabilities_are_those_of_the_whole_body(text: str | bytes, stop: str | None) -> None:
    rig = Rig(script(text))
    whole = (await rig.chat(stop=stop, **LOGPROBS))["choices"][0]["logprobs"]["content"]
    streamed = []
    for event in await rig.stream(stop=stop, **LOGPROBS):
        if isinstance(event, dict) and event["choices"]:
            streamed += (event["choices"][0].get("logprobs") or {"content": []})["content"]
    assert streamed == whole


async def test_log_probabilities_end_where_the_text_ends() -> None:
    logprobs = (await Rig(script("abXYc")).chat(stop="XY", **LOGPROBS))["choices"][0]["logprobs"]
    assert "".join(token["token"] for token in logprobs["content"]) == "ab"


async def test_n_answers_draw_with_seeds_that_follow() -> None:
    rig = Rig(script("one"), script("two"), script("three"))
    body = await rig.chat(n=3, seed=2**63 - 1)
    assert [choice["message"]["content"] for choice in body["choices"]] == ["one", "two", "three"]
    assert [choice["index"] for choice in body["choices"]] == [0, 1, 2]
    assert [s.sampling.seed for s in rig.engine.submissions] == [2**63 - 1, 2**63, 2**63 + 1]
    assert body["usage"]["prompt_tokens"] == len(rig.engine.submissions[0].prompt)
    assert body["usage"]["completion_tokens"] == 4 + 4 + 6


async def test_n_answers_are_streamed_under_their_index() -> None:
    rig = Rig(script("one"), script("other"))
    events = await rig.stream(n=2)
    assert (text_of(events, 0), text_of(events, 1)) == ("one", "other")
    ends = [c["index"] for e in events[:-1] for c in e["choices"] if c["finish_reason"] is not None]
    assert sorted(ends) == [0, 1]
    assert events[-1] == "[DONE]"


async def test_a_negative_seed_is_its_unsigned_twin() -> None:
    rig = Rig()
    await rig.chat(seed=-1)
    assert rig.engine.submissions[0].sampling.seed == 2**64 - 1


@pytest.mark.parametrize("num_answers", [1, 2])
@pytest.mark.parametrize(
    ("finish", "status", "code"),
    [
        (FinishReason.FAULT, 500, "engine_error"),
        (FinishReason.EXPIRED, 504, "request_timeout"),
        (FinishReason.CANCELLED, 503, "server_draining"),
    ],
)
async def test_an_answer_that_does_not_end_on_its_own_is_an_error_in_both_forms(
    finish: FinishReason, status: int, code: str, num_answers: int
) -> None:
    rig = Rig(script("ab"), script("ab", finish))
    extra = {"n": num_answers} if num_answers > 1 else {}
    if num_answers == 1:
        rig = Rig(script("ab", finish))
    assert (await rig.refusal(**extra))[:2] == (status, code)
    rig.engine.submissions.clear()
    events = await rig.stream(**extra)
    assert events[-1]["error"]["code"] == code
    assert "[DONE]" not in events


@pytest.mark.parametrize("finish", [FinishReason.FAULT, FinishReason.CUT_OFF])
async def test_whose_answer_is_cut_off_is_told_what_to_do_where_the_engine_knows(finish: FinishReason) -> None:
    rig = Rig(replace(script("ab", finish), told="the model went; send it again"))
    events = await rig.stream()
    error = events[-1]["error"]
    assert (error["code"], error["message"]) == ("engine_error", "the model went; send it again")


async def test_an_answer_that_another_model_cut_off_is_no_fault() -> None:
    rig = Rig(replace(script("ab", FinishReason.CUT_OFF), told="the model went; send it again"))
    assert (await rig.refusal())[:2] == (500, "engine_error")
    await rig.stream()
    assert not rig.logged("ignis.http.fault") and not rig.logged("ignis.request.fault")


async def test_a_fault_is_logged_and_not_told() -> None:
    rig = Rig(script("ab", FinishReason.FAULT))
    events = await rig.stream()
    assert events[-1]["error"] == {
        "message": "The answer was cut off by a fault at this request alone; sent again, it may go well",
        "type": "engine_error",
        "code": "engine_error",
        "param": None,
    }
    assert rig.logged("ignis.request.fault")[0]["error"] == "a fault"


async def test_a_client_that_leaves_cancels_every_answer() -> None:
    for is_stream in (False, True):
        rig = Rig(script("Hello"), is_held=True)
        exchange = FakeExchange("POST", CHAT, body={"messages": HI, "stream": is_stream, "n": 2})
        async with trio.open_nursery() as tasks:
            tasks.start_soon(rig.router, exchange)
            await rig.engine.has_submitted.wait()
            await trio.testing.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        assert sorted(rig.engine.ended) == [(1, FinishReason.CANCELLED), (2, FinishReason.CANCELLED)]


async def test_a_full_engine_says_when_to_come_back() -> None:
    rig = Rig()
    rig.engine.refusal = EngineFullError("all 8 lanes are taken", retry_after_s=4)
    answer = await rig.answer("POST", CHAT, {"messages": HI, "stream": True})
    assert answer.status == 503
    assert answer.header("retry-after") == "4"
    assert answer.json()["error"]["type"] == answer.json()["error"]["code"] == "engine_full"


async def test_absent_sampling_fields_take_the_models_defaults() -> None:
    rig = Rig(model=byte_model(temperature=0.6, top_p=0.9, top_k=20, repetition_penalty=1.1))
    await rig.chat()
    await rig.chat(temperature=0, top_k=-1)
    default, given = (submission.sampling for submission in rig.engine.submissions)
    assert (default.temperature, default.top_p, default.top_k, default.repetition_penalty) == (0.6, 0.9, 20, 1.1)
    assert (given.temperature, given.top_p, given.top_k) == (0.0, 0.9, 0)


async def test_sampling_fields_reach_the_engine() -> None:
    rig = Rig()
    fields = {
        "temperature": 0.5,
        "top_p": 0.25,
        "top_k": 40,
        "min_p": 0.125,
        "repetition_penalty": 1.5,
        "presence_penalty": -1,
        "frequency_penalty": 2,
        "seed": 9,
    }
    await rig.chat(**fields, logit_bias={"72": 5, "3": -100})
    sampling = rig.engine.submissions[0].sampling
    assert {name: getattr(sampling, name) for name in fields} == fields
    assert sampling.logit_bias == ((3, -100.0), (72, 5.0))


async def test_the_default_cap_is_cut_to_what_fits() -> None:
    rig = Rig()
    await rig.chat()
    small = Rig(default_max_tokens=10)
    await small.chat()
    free = Rig(default_max_tokens=0)
    await free.chat()
    prompt = len(rig.engine.submissions[0].prompt)
    assert rig.engine.submissions[0].max_tokens == MAX_CONTEXT - prompt
    assert small.engine.submissions[0].max_tokens == 10
    assert free.engine.submissions[0].max_tokens == MAX_CONTEXT - prompt


async def test_an_explicit_cap_must_fit_beside_the_prompt() -> None:
    rig = Rig()
    await rig.chat()
    room = MAX_CONTEXT - len(rig.engine.submissions[0].prompt)
    await rig.chat(max_completion_tokens=room)
    assert await rig.refusal(max_tokens=room + 1) == (400, "context_length_exceeded", "max_tokens")
    answer = await rig.answer("POST", CHAT, {"messages": HI, "max_completion_tokens": 10_000})
    message = answer.json()["error"]["message"]
    assert "max_completion_tokens is 10000" in message
    assert str(room) in message
    assert str(MAX_CONTEXT) in message


async def test_a_prompt_that_fills_the_context_is_refused_whatever_the_cap() -> None:
    messages = [{"role": "user", "content": "x" * MAX_CONTEXT}]
    rig = Rig()
    assert await rig.refusal(messages=messages) == (400, "context_length_exceeded", "messages")
    assert await rig.refusal(messages=messages, max_tokens=1) == (400, "context_length_exceeded", "messages")
    assert rig.engine.submissions == []


async def test_two_caps_must_agree() -> None:
    rig = Rig()
    await rig.chat(max_tokens=5, max_completion_tokens=5)
    assert rig.engine.submissions[0].max_tokens == 5
    assert (await rig.refusal(max_tokens=5, max_completion_tokens=6))[2] == "max_completion_tokens"


async def test_ignore_eos_needs_a_cap_and_takes_the_stop_ids_away() -> None:
    rig = Rig()
    await rig.chat(ignore_eos=True, max_tokens=5)
    await rig.chat(ignore_eos=False)
    assert [submission.stop_ids for submission in rig.engine.submissions] == [frozenset(), frozenset({IM_END})]
    assert [dict(submission.sampling.logit_bias).get(IM_END) for submission in rig.engine.submissions] == [-1e9, None]
    assert (await rig.refusal(ignore_eos=True))[2] == "ignore_eos"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, RequestClass.INTERACTIVE),
        ({"class": "agent"}, RequestClass.AGENT),
        ({"class": "something"}, RequestClass.INTERACTIVE),
        ({"model": "tiny@agent"}, RequestClass.AGENT),
        ({"model": "@agent"}, RequestClass.AGENT),
        ({"model": "tiny@agent", "class": "interactive"}, RequestClass.INTERACTIVE),
        ({"model": "tiny@interactive"}, RequestClass.INTERACTIVE),
    ],
)
async def test_the_class_comes_from_its_field_or_the_models_suffix(
    fields: dict[str, Any], expected: RequestClass
) -> None:
    rig = Rig()
    await rig.chat(**fields)
    assert rig.engine.submissions[0].request_class is expected


async def test_a_class_that_is_no_text_is_refused() -> None:
    assert (await Rig().refusal(**{"class": 1}))[2] == "class"


@pytest.mark.parametrize("name", ["tiny", "", None, " "])
async def test_the_loaded_model_answers_to_its_name_and_to_none(name: str | None) -> None:
    assert (await Rig().chat(model=name))["model"] == "tiny"


async def test_another_model_is_not_found() -> None:
    rig = Rig()
    assert await rig.refusal(model="gpt-4o") == (404, "model_not_found", "model")
    assert b'reason="unknown_model"} 1.0' in rig.metrics.expose()


async def test_the_prompt_is_the_template_and_users_write_no_control_token() -> None:
    rig = Rig()
    await rig.chat(messages=[{"role": "user", "content": "a<|im_end|>"}])
    head, tail = b"user\na<|im_end|>", b"assistant\n"
    assert rig.engine.submissions[0].prompt == (IM_START, *head, IM_END, 10, IM_START, *tail)


async def test_parts_are_joined_by_lines_and_developers_are_systems() -> None:
    rig = Rig()
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    messages = [{"role": "developer", "content": "Be brief"}, {"role": "user", "content": parts}]
    await rig.chat(messages=messages)
    text = bytes(token for token in rig.engine.submissions[0].prompt if token < 256)
    assert text == b"system\nBe brief\nuser\none\ntwo\nassistant\n"


async def test_a_template_that_refuses_is_the_callers_fault_and_speaks_for_itself() -> None:
    rig = Rig(model=byte_model(template="{{ raise_exception('roles must alternate') }}"))
    answer = await rig.answer("POST", CHAT, {"messages": HI})
    error = answer.json()["error"]
    assert answer.status == 400
    assert error["code"] == "invalid_request_error"
    assert error["param"] == "messages"
    assert "roles must alternate" in error["message"]
    assert rig.engine.submissions == []


@pytest.mark.parametrize(
    ("format", "lacks"),
    [
        ("GGUF F32", "tokenizer.chat_template"),
        ("safetensors BF16", "chat_template.jinja, or chat_template in its config"),
    ],
)
async def test_a_model_without_a_template_refuses_conversations_and_says_what_it_lacks(format: str, lacks: str) -> None:
    rig = Rig(model=replace(byte_model(template=None), format=format))
    answer = await rig.answer("POST", CHAT, {"messages": HI})
    error = answer.json()["error"]
    assert (answer.status, error["code"], error["param"]) == (400, "unsupported_value", "messages")
    assert error["message"] == (
        f"the model tiny has no chat template: it lacks {lacks}; /v1/completions takes plain text"
    )


async def test_the_deadline_and_the_request_id_go_with_the_submission() -> None:
    rig = Rig(request_timeout_s=12.5)
    await rig.call("POST", CHAT, json.dumps({"messages": HI}), request_id="req-7")
    assert rig.engine.submissions[0].timeout_s == 12.5
    assert rig.engine.submissions[0].trace == "req-7"
