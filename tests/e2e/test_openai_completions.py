"""The OpenAI SDK's text completions against the running server."""

import re
from collections.abc import Iterator

import openai
import pytest

from tests.e2e.server import Server

PROMPT = "The capital of France is"


@pytest.fixture
def sdk(server: Server) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=server.base_url, api_key="unused", max_retries=0) as client:
        yield client


def test_a_text_goes_on_where_the_prompt_ends(sdk: openai.OpenAI) -> None:
    answer = sdk.completions.create(model="", prompt=PROMPT, temperature=0, max_tokens=8)
    assert "Paris" in answer.choices[0].text
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage is not None and answer.usage.completion_tokens == 8


def test_text_ids_and_stream_say_the_same(sdk: openai.OpenAI, server: Server) -> None:
    body = server.client.json("POST", "/v1/tokenize", {"prompt": PROMPT, "return_token_ids": True})
    options = {"model": "", "temperature": 0.9, "seed": 11, "max_tokens": 24}
    whole = sdk.completions.create(prompt=PROMPT, **options)
    by_ids = sdk.completions.create(prompt=body["token_ids"], **options)
    listed = sdk.completions.create(prompt=["Water is", PROMPT], **options)
    streamed = sdk.completions.create(prompt=PROMPT, stream=True, **options)
    text = whole.choices[0].text
    assert by_ids.choices[0].text == text
    assert listed.choices[1].text == text
    assert "".join(chunk.choices[0].text for chunk in streamed) == text


def test_log_probabilities_lie_where_their_tokens_do(sdk: openai.OpenAI) -> None:
    choice = sdk.completions.create(model="", prompt=PROMPT, temperature=0, max_tokens=12, logprobs=3).choices[0]
    found = choice.logprobs
    assert found is not None and found.tokens and found.text_offset and found.top_logprobs and found.token_logprobs
    assert "".join(found.tokens) == choice.text
    for token, offset, best, logprob in zip(
        found.tokens, found.text_offset, found.top_logprobs, found.token_logprobs, strict=True
    ):
        assert choice.text[offset:].startswith(token)
        assert max(best, key=best.__getitem__) == token and best[token] == logprob


def test_echo_stop_and_usage_hold_in_a_stream(sdk: openai.OpenAI) -> None:
    chunks = list(
        sdk.completions.create(
            model="",
            prompt="one two three",
            echo=True,
            stop=["\n"],
            temperature=0,
            max_tokens=16,
            n=2,
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    texts = ["", ""]
    for chunk in chunks:
        for choice in chunk.choices:
            texts[choice.index] += choice.text
    assert texts[0] == texts[1] and texts[0].startswith("one two three") and "\n" not in texts[0]
    assert chunks[-1].usage is not None and chunks[-1].choices == []


def test_a_model_without_tokens_for_it_refuses_a_suffix_by_name(sdk: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        sdk.completions.create(model="", prompt="a", suffix="b")
    assert caught.value.code == "unsupported_value" and caught.value.param == "suffix"


@pytest.mark.parametrize(
    ("form", "pattern"),
    [
        ({"guided_regex": "[0-9]{3}-[a-z]{2}"}, "[0-9]{3}-[a-z]{2}"),
        ({"structured_outputs": {"choice": ["Lyon", "Nantes"]}}, "Lyon|Nantes"),
        ({"response_format": {"type": "json_object"}}, r"(?s)\{.*\}"),
    ],
)
def test_a_text_is_held_to_a_form_for_each_prompt(sdk: openai.OpenAI, form: dict[str, object], pattern: str) -> None:
    answer = sdk.completions.create(
        model="", prompt=[PROMPT, "My number is"], temperature=1, seed=2, max_tokens=60, extra_body=form
    )
    assert len(answer.choices) == 2
    for choice in answer.choices:
        assert choice.finish_reason != "stop" or re.fullmatch(pattern, choice.text), choice.text
    assert any(choice.finish_reason == "stop" for choice in answer.choices) or "response_format" in form


def test_more_prompts_than_lanes_are_answered_as_if_each_came_alone(sdk: openai.OpenAI) -> None:
    prompts = [f"{number} and {number} make" for number in range(20)]
    options = {"model": "", "temperature": 0.8, "seed": 3, "max_tokens": 6}
    together = [choice.text for choice in sdk.completions.create(prompt=prompts, **options).choices]
    assert together == [sdk.completions.create(prompt=prompt, **options).choices[0].text for prompt in prompts]


def test_a_prompt_is_scored_as_its_tokens_were_drawn(sdk: openai.OpenAI, server: Server) -> None:
    prompt = PROMPT + " a city. " + "It is known for its food and its art. " * 12
    drawn = sdk.completions.create(model="", prompt=prompt, temperature=0, max_tokens=80, logprobs=2).choices[0]
    scored = sdk.completions.create(model="", prompt=prompt + drawn.text, max_tokens=0, echo=True, logprobs=2).choices[
        0
    ]
    assert drawn.logprobs is not None and scored.logprobs is not None
    assert scored.text == prompt + drawn.text
    assert scored.logprobs.tokens is not None and drawn.logprobs.tokens is not None
    count = len(drawn.logprobs.tokens)
    # The text is encoded again, so that its end may come out in other tokens than those that were drawn.
    assert scored.logprobs.tokens[-count:] == drawn.logprobs.tokens
    assert scored.logprobs.token_logprobs is not None and drawn.logprobs.token_logprobs is not None
    assert scored.logprobs.token_logprobs[0] is None
    assert scored.logprobs.token_logprobs[-count:] == pytest.approx(drawn.logprobs.token_logprobs, abs=1e-3)
    assert scored.logprobs.top_logprobs is not None and drawn.logprobs.top_logprobs is not None
    for mine, theirs in zip(scored.logprobs.top_logprobs[-count:], drawn.logprobs.top_logprobs, strict=True):
        assert mine == pytest.approx(theirs, abs=1e-3)


def test_scoring_a_prompt_changes_nothing_of_its_answer(sdk: openai.OpenAI) -> None:
    prompt = "Water is made of " * 30
    options = {"model": "", "prompt": prompt, "temperature": 1, "seed": 8, "max_tokens": 20}
    plain = sdk.completions.create(**options).choices[0].text
    assert sdk.completions.create(echo=True, logprobs=1, **options).choices[0].text == prompt + plain
    assert sdk.completions.create(**options).choices[0].text == plain
