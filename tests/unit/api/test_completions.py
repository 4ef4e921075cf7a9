"""POST /v1/completions over the scripted engine: prompts of every kind, whole bodies, streams, and refusals by name."""

import json
from dataclasses import replace
from typing import Any

import msgspec
import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from ignis.api.schema.completions import DEFAULT_MAX_TOKENS, Completion, CompletionChunk
from ignis.errors import EngineFullError
from ignis.limits import MAX_PROMPTS, MAX_SCORED_TOKENS
from ignis.scheduler.request import FinishReason
from tests.fakes.engine import IM_END, IM_START, MAX_CONTEXT, VOCAB_SIZE, byte_model, script
from tests.fakes.exchange import FakeExchange
from tests.fakes.vocabulary import byte_tokenizer
from tests.unit.api.rig import Rig

COMPLETIONS = "/v1/completions"


async def complete(rig: Rig, **fields: Any) -> Any:
    answer = await rig.answer("POST", COMPLETIONS, {"prompt": "Say", "max_tokens": 64, **fields})
    assert answer.status == 200, answer.body
    return answer.json()


async def stream(rig: Rig, **fields: Any) -> list[Any]:
    body = {"prompt": "Say", "max_tokens": 64, "stream": True, **fields}
    exchange = await rig.call("POST", COMPLETIONS, body)
    assert exchange.stream.is_closed
    return [e.data.decode() if e.data == b"[DONE]" else json.loads(e.data) for e in exchange.events]


async def refusal(rig: Rig, **fields: Any) -> tuple[int, str, str | None]:
    answer = await rig.answer("POST", COMPLETIONS, {"prompt": "Say", "max_tokens": 64, **fields})
    assert answer.status >= 400, answer.body
    error = answer.json()["error"]
    return answer.status, error["code"], error.get("param")


def text_of(events: list[Any], index: int = 0) -> str:
    chunks = [event for event in events if isinstance(event, dict)]
    return "".join(c["text"] for chunk in chunks for c in chunk["choices"] if c["index"] == index)


def filler(*controls: str, user_defined: tuple[str, ...] = ()) -> Rig:
    tokenizer = byte_tokenizer(controls, user_defined=user_defined)
    return Rig(script("mid"), model=replace(byte_model(), tokenizer=tokenizer, vocab_size=tokenizer.vocab_size))


async def test_a_whole_answer_has_text_reason_and_usage() -> None:
    rig = Rig(script(" hello"))
    body = await complete(rig)
    assert body["id"].startswith("cmpl-")
    assert body["object"] == "text_completion"
    assert body["choices"] == [{"text": " hello", "index": 0, "logprobs": None, "finish_reason": "stop"}]
    assert body["usage"]["prompt_tokens"] == 3 and body["usage"]["completion_tokens"] == 7
    assert rig.engine.submissions[0].prompt == tuple(b"Say")


async def test_every_body_and_chunk_is_what_the_document_says() -> None:
    rig = Rig(script("Paris"))
    msgspec.convert(await complete(rig, logprobs=2), Completion)
    for event in (await stream(rig, logprobs=2, stream_options={"include_usage": True}))[:-1]:
        msgspec.convert(event, CompletionChunk)


async def test_a_control_token_may_be_spelled_in_a_prompt() -> None:
    rig = Rig()
    await complete(rig, prompt="<|im_start|>a<|im_end|>")
    assert rig.engine.submissions[0].prompt == (IM_START, ord("a"), IM_END)


async def test_bos_is_added_once_where_the_model_wants_it() -> None:
    tokenizer = byte_tokenizer(["<s>"], bos="<s>", adds_bos=True)
    rig = Rig(model=replace(byte_model(), tokenizer=tokenizer))
    await complete(rig, prompt="a")
    await complete(rig, prompt="<s>a")
    await complete(rig, prompt=[ord("a")])
    assert [s.prompt for s in rig.engine.submissions] == [(256, 97), (256, 97), (97,)]


async def test_the_first_space_of_an_answer_is_kept() -> None:
    tokenizer = byte_tokenizer(leads_with_space=True)
    rig = Rig(script(" there"), model=replace(byte_model(), tokenizer=tokenizer))
    assert (await complete(rig, prompt="Hello"))["choices"][0]["text"] == " there"
    assert text_of(await stream(rig, prompt="Hello")) == " there"


@pytest.mark.parametrize("prompt", ["ab", [97, 98], ["ab"], [[97, 98]]])
async def test_text_and_ids_are_the_same_prompt(prompt: Any) -> None:
    rig = Rig()
    await complete(rig, prompt=prompt)
    assert [s.prompt for s in rig.engine.submissions] == [(97, 98)]


async def test_each_prompt_of_a_list_has_its_answers_and_its_seeds() -> None:
    rig = Rig(script("one"), script("two"), script("three"), script("four"))
    body = await complete(rig, prompt=["a", "bc"], n=2, seed=7)
    assert [(c["index"], c["text"]) for c in body["choices"]] == [(0, "one"), (1, "two"), (2, "three"), (3, "four")]
    assert [s.sampling.seed for s in rig.engine.submissions] == [7, 8, 7, 8]
    assert [s.prompt for s in rig.engine.submissions] == [(97,), (97,), (98, 99), (98, 99)]
    assert body["usage"]["prompt_tokens"] == 3
    assert body["timings"]["seed"] == 7


async def test_prompts_without_a_seed_share_a_fresh_one() -> None:
    rig = Rig()
    body = await complete(rig, prompt=["a", "b"])
    assert {s.sampling.seed for s in rig.engine.submissions} == {body["timings"]["seed"]}


@pytest.mark.parametrize("fields", [{}, {"echo": True}, {"stop": "l"}, {"n": 2}, {"prompt": ["a"]}, {"logprobs": 1}])
async def test_the_stream_joined_is_the_whole(fields: dict[str, Any]) -> None:
    rig = Rig(script("hello é"))
    whole = (await complete(rig, **fields))["choices"]
    events = await stream(rig, **fields)
    assert [text_of(events, choice["index"]) for choice in whole] == [choice["text"] for choice in whole]
    if "logprobs" in fields:
        pieces = [c["logprobs"] for e in events[:-1] for c in e["choices"] if c["logprobs"]]
        joined = {key: [value for piece in pieces for value in piece[key]] for key in pieces[0]}
        assert joined == whole[0]["logprobs"]


async def test_echo_begins_with_the_prompt_as_it_was_sent() -> None:
    rig = Rig(script("!"))
    assert (await complete(rig, prompt="<|im_start|>a", echo=True))["choices"][0]["text"] == "<|im_start|>a!"
    assert (await complete(rig, prompt=[104, 105], echo=True))["choices"][0]["text"] == "hi!"
    assert [c["text"] for c in (await complete(rig, prompt=["x", "y"], echo=True))["choices"]] == ["x!", "y!"]


async def test_a_stop_string_in_the_echoed_prompt_ends_nothing() -> None:
    assert (await complete(Rig(script("ab.")), prompt="x.", echo=True, stop="."))["choices"][0]["text"] == "x.ab"


async def test_log_probabilities_come_as_four_lists() -> None:
    found = (await complete(Rig(script("aé")), logprobs=2))["choices"][0]["logprobs"]
    assert found["tokens"] == ["a", "bytes:\\xc3", "bytes:\\xa9"]
    assert found["token_logprobs"] == [-0.5, -0.5, -0.5]
    assert found["text_offset"] == [0, 1, 1]
    assert found["top_logprobs"][0] == {"a": -0.5, "b": -2.0}


async def test_the_drawn_token_is_among_the_best_where_none_was_asked_for() -> None:
    found = (await complete(Rig(script("a")), logprobs=0))["choices"][0]["logprobs"]
    assert found["top_logprobs"] == [{"a": -0.5}]


async def test_an_echo_has_the_log_probabilities_of_its_own_tokens() -> None:
    rig = Rig(script("!"))
    choice = (await complete(rig, prompt="<|im_start|>é", echo=True, logprobs=2))["choices"][0]
    assert choice["text"] == "<|im_start|>é!"
    assert choice["logprobs"]["tokens"] == ["<|im_start|>", "bytes:\\xc3", "bytes:\\xa9", "!"]
    assert choice["logprobs"]["token_logprobs"] == [None, -1.0, -2.0, -0.5]
    assert choice["logprobs"]["text_offset"] == [0, 12, 12, 13]
    best = choice["logprobs"]["top_logprobs"]
    assert best[0] is None and best[1] == {"\x01": -0.1, "\x02": -0.2, "bytes:\\xc3": -1.0}
    assert rig.engine.submissions[0].prompt_logprobs == 2


async def test_a_bos_that_was_added_takes_no_place_in_the_echo() -> None:
    tokenizer = byte_tokenizer(["<s>"], bos="<s>", adds_bos=True)
    rig = Rig(script("!"), model=replace(byte_model(), tokenizer=tokenizer))
    for prompt, offsets in (("ab", [0, 0, 1, 2]), ("<s>ab", [0, 3, 4, 5])):
        choice = (await complete(rig, prompt=prompt, echo=True, logprobs=0))["choices"][0]
        assert choice["text"] == f"{prompt}!" and choice["logprobs"]["text_offset"] == offsets


@pytest.mark.parametrize("prompt", ["a", "abc", [97]])
async def test_a_cap_of_nothing_with_an_echo_is_the_prompt_alone(prompt: Any) -> None:
    rig = Rig(script("xyz"))
    fields = {"prompt": prompt, "echo": True, "logprobs": 1, "max_tokens": 0}
    body = await complete(rig, **fields)
    text = "abc"[: len(prompt)]
    assert body["choices"][0]["text"] == text and body["choices"][0]["finish_reason"] == "length"
    assert body["choices"][0]["logprobs"]["tokens"] == list(text)
    assert body["usage"]["completion_tokens"] == 0
    events = await stream(rig, **fields, stream_options={"include_usage": True})
    assert text_of(events) == text and events[-2]["usage"] == body["usage"]
    pieces = [choice["logprobs"] for event in events[:-1] for choice in event["choices"] if choice["logprobs"]]
    assert pieces == [body["choices"][0]["logprobs"]]


async def test_a_stop_string_takes_its_log_probabilities_with_it() -> None:
    choice = (await complete(Rig(script("abc")), logprobs=0, stop="b"))["choices"][0]
    assert choice["text"] == "a" and choice["logprobs"]["tokens"] == ["a"]


async def test_the_default_cap_is_sixteen_cut_to_fit() -> None:
    rig = Rig()
    await rig.answer("POST", COMPLETIONS, {"prompt": "a"})
    await rig.answer("POST", COMPLETIONS, {"prompt": "a" * (MAX_CONTEXT - 5)})
    assert [s.max_tokens for s in rig.engine.submissions] == [DEFAULT_MAX_TOKENS, 5]


async def test_a_fault_in_a_stream_is_an_event_and_no_done_follows() -> None:
    events = await stream(Rig(script("ab", FinishReason.FAULT)))
    assert events[-1]["error"]["code"] == "engine_error"
    assert text_of([e for e in events if "choices" in e]) == "ab"


async def test_usage_comes_last_and_alone() -> None:
    events = await stream(Rig(script("ab")), stream_options={"include_usage": True})
    assert events[-1] == "[DONE]"
    assert events[-2]["choices"] == [] and events[-2]["usage"]["completion_tokens"] == 3
    assert all(event["usage"] is None for event in events[:-2])


@pytest.mark.parametrize(
    ("markers", "expected"),
    [
        (("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"), (256, 97, 257, 98, 258)),
        (("<fim_prefix>", "<fim_suffix>", "<fim_middle>"), (256, 97, 257, 98, 258)),
        (("[PREFIX]", "[SUFFIX]"), (257, 98, 256, 97)),
    ],
)
async def test_a_suffix_is_written_in_the_models_own_form(markers: tuple[str, ...], expected: tuple[int, ...]) -> None:
    for rig in (filler(*markers), filler(user_defined=markers)):
        assert (await complete(rig, prompt="a", suffix="b"))["choices"][0]["text"] == "mid"
        assert rig.engine.submissions[0].prompt == expected


async def test_control_tokens_in_a_gap_are_text() -> None:
    rig = filler("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>")
    await complete(rig, prompt="<|fim_middle|>", suffix="b")
    assert rig.engine.submissions[0].prompt == (256, *b"<|fim_middle|>", 257, 98, 258)


async def test_an_empty_suffix_is_none() -> None:
    rig = Rig()
    await complete(rig, prompt="a", suffix="")
    assert rig.engine.submissions[0].prompt == (97,)


async def test_a_suffix_without_tokens_for_it_is_refused() -> None:
    assert await refusal(Rig(), suffix="b") == (400, "unsupported_value", "suffix")


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"prompt": None}, "invalid_request_error", "prompt"),
        ({"prompt": ""}, "invalid_request_error", "prompt"),
        ({"prompt": []}, "invalid_request_error", "prompt"),
        ({"prompt": [[]]}, "invalid_request_error", "prompt"),
        ({"prompt": ["a", ""]}, "invalid_request_error", "prompt[1]"),
        ({"prompt": ["a", 1]}, "invalid_request_error", "prompt"),
        ({"prompt": [1, [1]]}, "invalid_request_error", "prompt"),
        ({"prompt": [True]}, "invalid_request_error", "prompt[0]"),
        ({"prompt": 5}, "invalid_request_error", "prompt"),
        ({"prompt": [VOCAB_SIZE]}, "invalid_request_error", "prompt[0]"),
        ({"prompt": [[0], [-1]]}, "invalid_request_error", "prompt[1][0]"),
        ({"prompt": ["a"] * (MAX_PROMPTS + 1)}, "invalid_request_error", "prompt"),
        ({"prompt": "a" * 600}, "context_length_exceeded", "prompt"),
        ({"prompt": ["a", "a" * 600]}, "context_length_exceeded", "prompt[1]"),
        ({"max_tokens": 600}, "context_length_exceeded", "max_tokens"),
        ({"max_tokens": 0}, "invalid_request_error", "max_tokens"),
        ({"max_tokens": 4, "max_completion_tokens": 5}, "invalid_request_error", "max_completion_tokens"),
        ({"best_of": 2, "stream": True}, "unsupported_value", "best_of"),
        ({"n": 2, "best_of": 1}, "invalid_request_error", "best_of"),
        ({"best_of": 9}, "invalid_request_error", "best_of"),
        ({"echo": True, "logprobs": 1, "suffix": "b"}, "unsupported_value", "echo"),
        ({"max_completion_tokens": 0, "max_tokens": 0}, "invalid_request_error", "max_completion_tokens"),
        ({"logprobs": True}, "invalid_sampling_parameter", "logprobs"),
        ({"logprobs": 21}, "invalid_sampling_parameter", "logprobs"),
        ({"prompt": [1], "suffix": "b"}, "unsupported_value", "suffix"),
        ({"messages": []}, "unsupported_value", "messages"),
        ({"guided_choice": []}, "invalid_request_error", "guided_choice"),
        ({"guided_regex": "("}, "invalid_request_error", "guided_regex"),
        ({"grammar": "x", "guided_regex": "y"}, "invalid_request_error", "grammar"),
        ({"guided_regex": "a+", "ignore_eos": True}, "invalid_request_error", "guided_regex"),
    ],
)
async def test_what_cannot_be_served_is_refused_by_name(fields: dict[str, Any], code: str, param: str) -> None:
    rig = Rig()
    assert await refusal(rig, **fields) == (400, code, param)
    assert rig.engine.submissions == []


async def test_the_best_of_each_prompts_answers_are_returned_in_their_order() -> None:
    drawn = {"d": -4.0, "aa": -1.0, "ccc": -3.0, "b": -2.0, "z": -9.0, "yy": -8.0, "x": -7.0, "wwww": -6.0}
    rig = Rig(*(script(text, logprob=logprob) for text, logprob in drawn.items()))
    body = await complete(rig, prompt=["p", "q"], n=2, best_of=4, seed=1)
    assert [(choice["index"], choice["text"]) for choice in body["choices"]] == [
        (0, "aa"),
        (1, "b"),
        (2, "x"),
        (3, "wwww"),
    ]
    assert all(choice["logprobs"] is None for choice in body["choices"])
    assert [s.sampling.seed for s in rig.engine.submissions] == [1, 2, 3, 4] * 2
    assert body["usage"]["completion_tokens"] == sum(len(text) + 1 for text in drawn)


async def test_best_of_n_is_every_answer_streamed_or_not() -> None:
    assert len((await complete(Rig(), n=2, best_of=2))["choices"]) == 2
    assert text_of(await stream(Rig(script("Hi")), best_of=1)) == "Hi"


async def test_a_prompt_too_long_to_be_scored_is_refused_by_name() -> None:
    rig = Rig(model=replace(byte_model(), max_context=MAX_SCORED_TOKENS + 64))
    fields = {"echo": True, "logprobs": 0, "max_tokens": 1}
    assert await refusal(rig, prompt=[1] * (MAX_SCORED_TOKENS + 1), **fields) == (
        400,
        "invalid_request_error",
        "prompt",
    )
    assert (await rig.answer("POST", COMPLETIONS, {"prompt": [1] * MAX_SCORED_TOKENS, **fields})).status == 200


async def take_turns(rig: Rig, num_lanes: int, body: dict[str, Any]) -> FakeExchange:
    """Answers a body with so few lanes; each time that all are taken they are given back."""
    rig.engine.num_lanes = rig.engine.num_free = num_lanes
    exchange = FakeExchange("POST", COMPLETIONS, body=body)
    async with trio.open_nursery() as tasks:

        async def give_back() -> None:
            while True:
                await trio.testing.wait_all_tasks_blocked()
                rig.engine.free(num_lanes)

        tasks.start_soon(give_back)
        await rig.router(exchange)
        tasks.cancel_scope.cancel()
    return exchange


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_more_prompts_than_lanes_take_turns(is_streamed: bool) -> None:
    rig = Rig(*(script(f"<{index}>") for index in range(10)))
    body = {"prompt": [chr(97 + index) for index in range(5)], "n": 2, "seed": 3, "stream": is_streamed}
    exchange = await take_turns(rig, 3, body)
    assert [s.prompt[0] for s in rig.engine.submissions] == [97, 97, 98, 98, 99, 99, 100, 100, 101, 101]
    assert [s.sampling.seed for s in rig.engine.submissions] == [3, 4] * 5
    if is_streamed:
        events = [json.loads(event.data) for event in exchange.events[:-1]]
        assert [text_of(events, index) for index in range(10)] == [f"<{index}>" for index in range(10)]
        assert exchange.events[-1].data == b"[DONE]"
        return
    answer = exchange.answer.json()
    assert [choice["text"] for choice in answer["choices"]] == [f"<{index}>" for index in range(10)]
    assert answer["usage"] == {
        "prompt_tokens": 5,
        "completion_tokens": 40,
        "total_tokens": 45,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "rewound_tokens": 0},
    }


async def test_prompts_in_turn_end_with_the_first_that_fails() -> None:
    rig = Rig(script("a"), script("b", FinishReason.FAULT))
    exchange = await take_turns(rig, 1, {"prompt": ["a", "b", "c"]})
    assert exchange.answer.status == 500
    assert exchange.answer.json()["error"]["code"] == "engine_error"


async def test_prompts_in_turn_leave_a_lane_to_others() -> None:
    rig = Rig(is_held=True)
    rig.engine.num_lanes = 3
    async with trio.open_nursery() as tasks:
        tasks.start_soon(rig.router, FakeExchange("POST", COMPLETIONS, body={"prompt": ["a", "b", "c", "d"]}))
        await rig.engine.has_submitted.wait()
        for number in range(1, 4):
            await trio.testing.wait_all_tasks_blocked()
            assert len(rig.engine.submissions) == number + 1
            rig.engine.deliver(number)
        rig.engine.deliver(4)


async def test_a_list_that_finds_no_lane_at_all_is_told_so_at_once() -> None:
    rig = Rig()
    rig.engine.num_lanes = 1
    rig.engine.refusal = EngineFullError("all 1 lanes are taken", retry_after_s=4)
    answer = await rig.answer("POST", COMPLETIONS, {"prompt": ["a", "b"]})
    assert answer.status == 503 and answer.header("Retry-After") == "4"


async def test_a_client_that_leaves_takes_its_turns_with_it() -> None:
    rig = Rig(is_held=True)
    rig.engine.num_lanes = rig.engine.num_free = 3
    async with trio.open_nursery() as tasks:
        tasks.start_soon(rig.router, FakeExchange("POST", COMPLETIONS, body={"prompt": ["a", "b", "c", "d"]}))
        # The first is submitted when all prompts are made, and no worker runs any more.
        await rig.engine.has_submitted.wait()
        await trio.testing.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert sorted(number for number, _ in rig.engine.ended) == [1, 2]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.text(max_size=12) | st.binary(max_size=12), min_size=1, max_size=4),
    st.lists(st.text(min_size=1, max_size=3), max_size=3),
    st.integers(1, 20),
    st.integers(1, 2),
    st.integers(1, 5),
    st.sampled_from([None, 0, 2]),
    st.booleans(),
)
def test_any_stream_joins_to_the_whole_body(
    drawn: list[str | bytes],
    stop: list[str],
    max_tokens: int,
    n: int,
    tokens_per_event: int,
    logprobs: int | None,
    echo: bool,
) -> None:
    async def check() -> None:
        # Each request plays the scripts from the first one.
        def rig() -> Rig:
            return Rig(*(script(text, tokens_per_event=tokens_per_event) for text in drawn))

        body = {"prompt": ["a", "bc"], "stop": stop, "max_tokens": max_tokens, "n": n, "seed": 1, "logprobs": logprobs}
        body["echo"] = echo
        whole = await complete(rig(), **body)
        events = await stream(rig(), **body, stream_options={"include_usage": True})
        pieces = [choice for event in events[:-1] for choice in event["choices"]]
        for choice in whole["choices"]:
            own = [piece for piece in pieces if piece["index"] == choice["index"]]
            assert "".join(piece["text"] for piece in own) == choice["text"]
            assert [piece["finish_reason"] for piece in own if piece["finish_reason"]] == [choice["finish_reason"]]
            if logprobs is not None:
                kept = [piece["logprobs"] for piece in own if piece["logprobs"]]
                for name, values in choice["logprobs"].items():
                    assert [value for lists in kept for value in lists[name]] == values
        assert events[-2]["usage"] == whole["usage"]

    trio.run(check)
