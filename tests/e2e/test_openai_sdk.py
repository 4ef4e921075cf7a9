"""The OpenAI Python SDK against the running server: what a user's program does."""

import openai
import pytest

from tests.e2e.server import Server

PARIS = [{"role": "user", "content": "What is the capital of France?"}]


@pytest.fixture
def sdk(server: Server) -> openai.OpenAI:
    return openai.OpenAI(base_url=server.base_url, api_key="unused", max_retries=0)


def test_the_capital_of_france_is_streamed(sdk: openai.OpenAI) -> None:
    chunks = list(
        sdk.chat.completions.create(
            model="", messages=PARIS, temperature=0, stream=True, stream_options={"include_usage": True}
        )
    )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert "Paris" in text
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-1].choices == [] and chunks[-1].usage is not None and chunks[-1].usage.completion_tokens > 0
    assert [c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason] == ["stop"]


def test_stream_and_non_stream_say_the_same(sdk: openai.OpenAI) -> None:
    whole = sdk.chat.completions.create(model="", messages=PARIS, temperature=0.8, seed=5, max_tokens=40)
    pieces = sdk.chat.completions.create(model="", messages=PARIS, temperature=0.8, seed=5, max_tokens=40, stream=True)
    assert "".join(c.choices[0].delta.content or "" for c in pieces if c.choices) == whole.choices[0].message.content


def test_two_choices_come_back_and_differ_by_seed(sdk: openai.OpenAI) -> None:
    answer = sdk.chat.completions.create(
        model="",
        messages=[{"role": "user", "content": "Name an animal and say why."}],
        n=2,
        temperature=1.0,
        seed=3,
        max_tokens=24,
    )
    assert [choice.index for choice in answer.choices] == [0, 1]
    assert answer.choices[0].message.content != answer.choices[1].message.content
    single = sdk.chat.completions.create(
        model="",
        messages=[{"role": "user", "content": "Name an animal and say why."}],
        temperature=1.0,
        seed=4,
        max_tokens=24,
    )
    assert single.choices[0].message.content == answer.choices[1].message.content


def test_two_choices_stream_interleaved_under_their_index(sdk: openai.OpenAI) -> None:
    texts = {0: "", 1: ""}
    ends = {}
    for chunk in sdk.chat.completions.create(model="", messages=PARIS, n=2, temperature=0, max_tokens=12, stream=True):
        for choice in chunk.choices:
            texts[choice.index] += choice.delta.content or ""
            if choice.finish_reason:
                ends[choice.index] = choice.finish_reason
    assert texts[0] == texts[1] != ""
    assert set(ends) == {0, 1}


def test_log_probabilities_name_the_chosen_token_first_at_temperature_zero(sdk: openai.OpenAI) -> None:
    answer = sdk.chat.completions.create(
        model="", messages=PARIS, temperature=0, max_tokens=8, logprobs=True, top_logprobs=4
    )
    found = answer.choices[0].logprobs
    assert found is not None and found.content is not None
    assert "".join(token.token for token in found.content) == answer.choices[0].message.content
    for token in found.content:
        assert len(token.top_logprobs) == 4
        assert token.top_logprobs[0].token == token.token and token.logprob == token.top_logprobs[0].logprob <= 0


def test_a_stop_string_ends_the_text_before_it(sdk: openai.OpenAI) -> None:
    full = (
        sdk.chat.completions.create(model="", messages=PARIS, temperature=0, max_tokens=30).choices[0].message.content
    )
    assert full is not None
    stop = full[5:12]
    for is_stream in (False, True):
        if is_stream:
            chunks = list(
                sdk.chat.completions.create(
                    model="", messages=PARIS, temperature=0, max_tokens=30, stop=[stop], stream=True
                )
            )
            text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
            finish = chunks[-1].choices[0].finish_reason
        else:
            choice = sdk.chat.completions.create(
                model="", messages=PARIS, temperature=0, max_tokens=30, stop=[stop]
            ).choices[0]
            text, finish = choice.message.content or "", choice.finish_reason
        assert (text, finish) == (full[: full.index(stop)], "stop")


def test_the_cap_ends_with_length(sdk: openai.OpenAI) -> None:
    answer = sdk.chat.completions.create(model="", messages=PARIS, temperature=0, max_completion_tokens=3)
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage is not None and answer.usage.completion_tokens == 3


def test_a_logit_bias_bans_and_forces(sdk: openai.OpenAI) -> None:
    forced = sdk.chat.completions.create(
        model="", messages=PARIS, temperature=0, max_tokens=4, logit_bias={"253": 100}, logprobs=True
    )
    logprobs = forced.choices[0].logprobs
    assert logprobs is not None and logprobs.content is not None
    assert len({token.token for token in logprobs.content}) == 1


@pytest.mark.parametrize(
    ("fields", "kind", "param"),
    [
        ({"temperature": 2.5}, openai.BadRequestError, "temperature"),
        ({"top_p": -0.1}, openai.BadRequestError, "top_p"),
        ({"n": 9}, openai.BadRequestError, "n"),
        ({"stop": [""]}, openai.BadRequestError, "stop"),
        ({"max_tokens": 0}, openai.BadRequestError, "max_tokens"),
        ({"max_tokens": 100_000}, openai.BadRequestError, "max_tokens"),
        ({"messages": []}, openai.BadRequestError, "messages"),
        ({"response_format": {"type": "json_schema"}}, openai.BadRequestError, "response_format"),
        ({"logit_bias": {"999999": 1}}, openai.BadRequestError, "logit_bias"),
        ({"model": "another"}, openai.NotFoundError, "model"),
    ],
)
def test_a_refusal_is_typed_and_names_its_field(
    sdk: openai.OpenAI, fields: dict[str, object], kind: type[openai.APIStatusError], param: str
) -> None:
    with pytest.raises(kind) as caught:
        sdk.chat.completions.create(**{"model": "", "messages": PARIS, **fields})  # type: ignore[call-overload]
    assert caught.value.body["param"].split("[")[0].split(".")[0] == param  # type: ignore[index]
    assert param in str(caught.value)


def test_models_are_listed(sdk: openai.OpenAI) -> None:
    models = list(sdk.models.list())
    assert len(models) == 1 and models[0].owned_by == "ignis"
    assert sdk.models.retrieve(models[0].id).id == models[0].id
