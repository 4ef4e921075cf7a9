"""Answers that are held to a form, and forced calls, with the OpenAI SDK on the real model."""

import enum
import json
import re
from collections.abc import Iterator
from typing import Any, Literal

import openai
import pytest
from pydantic import BaseModel, Field

from tests.e2e.server import Server

PET = [{"role": "user", "content": "Describe a pet: Rex is a dog of three years."}]
RAIN = [{"role": "user", "content": "Will it rain in Paris this week?"}]


class Kind(enum.Enum):
    CAT = "cat"
    DOG = "dog"


class Toy(BaseModel):
    name: str = Field(max_length=12)
    colour: Literal["red", "blue"] | None


class Pet(BaseModel):
    name: str = Field(max_length=20)
    kind: Kind
    age: int = Field(ge=0, le=30)
    toys: list[Toy] = Field(max_length=2)


class Weather(BaseModel):
    """What the weather will be."""

    city: str = Field(max_length=20)
    days: int = Field(ge=1, le=7)


TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {"name": "weather", "description": Weather.__doc__, "parameters": Weather.model_json_schema()},
    },
    {"type": "function", "function": {"name": "now", "description": "Gives the time."}},
]


@pytest.fixture
def sdk(server: Server) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=server.base_url, api_key="unused", max_retries=0) as opened:
        yield opened


@pytest.mark.parametrize("fields", [{"temperature": 0}, {"temperature": 1.2, "seed": 4}])
def test_a_pydantic_model_comes_back_streamed_and_whole_alike(sdk: openai.OpenAI, fields: dict[str, Any]) -> None:
    whole = sdk.chat.completions.parse(model="", messages=PET, response_format=Pet, max_tokens=300, **fields)
    pet = whole.choices[0].message.parsed
    assert isinstance(pet, Pet) and whole.choices[0].finish_reason == "stop"
    with sdk.chat.completions.stream(model="", messages=PET, response_format=Pet, max_tokens=300, **fields) as stream:
        streamed = stream.get_final_completion()
    assert streamed.choices[0].message.parsed == pet


def test_any_object_is_an_object(sdk: openai.OpenAI) -> None:
    for seed in range(5):
        answer = sdk.chat.completions.create(
            model="", messages=PET, response_format={"type": "json_object"}, seed=seed, max_tokens=400, temperature=0.3
        )
        choice = answer.choices[0]
        if choice.finish_reason == "stop":
            assert isinstance(json.loads(choice.message.content or ""), dict)
        else:
            assert choice.finish_reason == "length"


def test_an_answer_that_the_cap_cuts_is_a_length(sdk: openai.OpenAI) -> None:
    schema = {"type": "array", "items": {"type": "integer"}, "minItems": 200}
    answer = sdk.chat.completions.create(
        model="",
        messages=PET,
        max_tokens=12,
        response_format={"type": "json_schema", "json_schema": {"name": "many", "schema": schema}},
    )
    assert (answer.choices[0].finish_reason, answer.usage and answer.usage.completion_tokens) == ("length", 12)


@pytest.mark.parametrize(
    ("fields", "pattern"),
    [
        ({"structured_outputs": {"choice": ["yes", "no", "perhaps"]}}, "yes|no|perhaps"),
        ({"structured_outputs": {"regex": r"\d{4}-[01]\d-[0-3]\d"}}, r"\d{4}-[01]\d-[0-3]\d"),
        ({"structured_outputs": {"grammar": 'start: "rain" " and wind"?'}}, "rain( and wind)?"),
        ({"guided_regex": "[A-Z]{3}"}, "[A-Z]{3}"),
        ({"guided_choice": ["sun"]}, "sun"),
        ({"guided_json": {"const": 7}}, "7"),
        ({"grammar": 'root ::= "sun" | "rain"'}, "sun|rain"),
        ({"json_schema": {"type": "boolean"}}, "true|false"),
    ],
)
def test_other_servers_spellings_hold_too(sdk: openai.OpenAI, fields: dict[str, Any], pattern: str) -> None:
    answer = sdk.chat.completions.create(
        model="", messages=RAIN, extra_body=fields, seed=1, temperature=1, max_tokens=64
    )
    assert answer.choices[0].finish_reason == "stop"
    assert re.fullmatch(pattern, answer.choices[0].message.content or "")


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_required_call_is_a_valid_call(sdk: openai.OpenAI, seed: int) -> None:
    answer = sdk.chat.completions.create(
        model="", messages=RAIN, tools=TOOLS, tool_choice="required", seed=seed, temperature=0.3, max_tokens=600
    )
    choice = answer.choices[0]
    assert choice.finish_reason == "tool_calls" and not choice.message.content
    for call in choice.message.tool_calls or []:
        assert call.type == "function"
        if call.function.name == "weather":
            Weather.model_validate_json(call.function.arguments)
        else:
            assert (call.function.name, call.function.arguments) == ("now", "{}")


def test_a_named_function_is_called_once_and_its_result_is_taken(sdk: openai.OpenAI) -> None:
    named: Any = {"type": "function", "function": {"name": "weather"}}
    with sdk.chat.completions.stream(
        model="", messages=RAIN, tools=TOOLS, tool_choice=named, temperature=0, max_tokens=200
    ) as stream:
        made = stream.get_final_completion().choices[0]
    assert made.finish_reason == "tool_calls"
    (call,) = made.message.tool_calls or []
    assert call.function.name == "weather"
    Weather.model_validate_json(call.function.arguments)
    told = [
        *RAIN,
        made.message.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": call.id, "content": "rain"},
    ]
    after = sdk.chat.completions.create(model="", messages=told, tools=TOOLS, tool_choice="none", max_tokens=8)
    assert after.usage is not None and after.usage.prompt_tokens_details is not None
    assert (after.usage.prompt_tokens_details.cached_tokens or 0) > 0


def test_held_answers_do_not_depend_on_what_runs_beside_them(sdk: openai.OpenAI) -> None:
    fields: Any = {
        "messages": PET,
        "response_format": {"type": "json_schema", "json_schema": {"name": "pet", "schema": Pet.model_json_schema()}},
    }

    def ask(**more: Any) -> list[str | None]:
        answer = sdk.chat.completions.create(model="", seed=11, temperature=1, max_tokens=300, **fields, **more)
        return [choice.message.content for choice in answer.choices]

    alone = [
        ask()[0],
        sdk.chat.completions.create(model="", seed=12, temperature=1, max_tokens=300, **fields)
        .choices[0]
        .message.content,
    ]
    assert ask(n=2) == alone
    assert ask(n=6)[:2] == alone
    for content in alone:
        Pet.model_validate_json(content or "")


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}},
            "response_format.json_schema.schema",
        ),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"not": {}}}}},
            "response_format.json_schema.schema",
        ),
        ({"extra_body": {"guided_regex": "(a"}}, "guided_regex"),
        ({"extra_body": {"guided_regex": "a", "grammar": 'start: "a"'}}, "grammar"),
        ({"extra_body": {"structured_outputs": {}}}, "structured_outputs"),
        ({"extra_body": {"structured_outputs": {"json": "{"}}}, "structured_outputs.json"),
        (
            {"response_format": {"type": "json_object"}, "extra_body": {"ignore_eos": True}, "max_tokens": 9},
            "response_format",
        ),
        ({"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "no"}}}, "tool_choice"),
        ({"tool_choice": "required"}, "tool_choice"),
    ],
)
def test_what_cannot_be_held_is_refused_with_its_field(sdk: openai.OpenAI, fields: dict[str, Any], param: str) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        sdk.chat.completions.create(**{"model": "", "messages": PET, **fields})
    assert caught.value.param == param


def test_a_grammar_past_its_bounds_ends_its_answer_with_an_error_and_no_other(sdk: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="bounds"):
        sdk.chat.completions.create(
            model="",
            messages=PET,
            extra_body={"guided_regex": "[a-z ]*[aeiou][a-z ]{40}!"},
            temperature=2,
            seed=1,
            max_tokens=4000,
        )
    assert sdk.chat.completions.create(model="", messages=PET, max_tokens=1).choices[0].finish_reason == "length"
