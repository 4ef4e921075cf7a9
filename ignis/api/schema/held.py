"""What a body may say of the form of its answer: the structs and the words that routes share."""

from typing import Annotated, Any, Literal

import msgspec

from ignis.api.schema.fields import honoured, inert
from ignis.api.schema.sampling import SamplingFields
from ignis.limits import MAX_GRAMMAR_CHARACTERS, MAX_LISTED_CHOICES, MAX_REGEX_CHARACTERS

Schema = Annotated[
    dict[str, Any] | bool,
    honoured(
        "A JSON schema. The answer is held to all of it: a keyword that an answer cannot be held to is refused, with "
        "its place. Objects are written on one line, in the schema's order."
    ),
]
Regex = Annotated[
    str,
    honoured(
        "An expression that matches the whole answer, of Rust's syntax: no look-around, no back references.",
        min_length=1,
        max_length=MAX_REGEX_CHARACTERS,
    ),
]
Choices = Annotated[
    list[Annotated[str, honoured("", min_length=1)]],
    honoured("The answer is one of these.", min_length=1, max_length=MAX_LISTED_CHOICES),
]
GrammarText = Annotated[
    str,
    honoured("A grammar: Lark as llguidance reads it, or GBNF.", min_length=1, max_length=MAX_GRAMMAR_CHARACTERS),
]


class JsonSchemaFormat(msgspec.Struct, kw_only=True):
    """The schema of a response_format."""

    name: Annotated[str, inert("a name for people.")] | None = None
    description: Annotated[str, inert("a text for people.")] | None = None
    schema: Schema | None = None
    strict: Annotated[bool, inert("the answer is always held to the schema.")] | None = None


class ResponseFormat(msgspec.Struct, kw_only=True):
    """The form of the answer's content. Reasoning before it is free; an answer that the cap cuts ends with `length`."""

    type: Annotated[
        Literal["text", "json_object", "json_schema"],
        honoured("text: any; json_object: any JSON object, or `schema`'s; json_schema: what `json_schema` says."),
    ]
    json_schema: JsonSchemaFormat | None = None
    schema: Annotated[Schema | None, honoured("llama.cpp's: the schema of a json_object.")] = None


class StructuredOutputs(msgspec.Struct, kw_only=True):
    """vLLM's spelling: one of these."""

    json: Annotated[dict[str, Any] | bool | str | None, honoured("A JSON schema, or its text.")] = None
    json_object: Annotated[bool, honoured("true: any JSON object.")] | None = None
    regex: Regex | None = None
    choice: Choices | None = None
    grammar: GrammarText | None = None


class HeldFields(SamplingFields, kw_only=True):
    """What the answer is held to, as clients of several servers spell it: at most one of these."""

    response_format: Annotated[ResponseFormat | None, honoured("What the content of the answer is held to.")] = None
    structured_outputs: Annotated[StructuredOutputs | None, honoured("The same as vLLM spells it.")] = None
    guided_json: Annotated[dict[str, Any] | bool | str | None, honoured("As structured_outputs.json.")] = None
    guided_regex: Regex | None = None
    guided_choice: Choices | None = None
    guided_grammar: GrammarText | None = None
    json_schema: Annotated[dict[str, Any] | bool | None, honoured("llama.cpp's: a schema of the content.")] = None
    grammar: Annotated[GrammarText | None, honoured("llama.cpp's: a grammar of the content, GBNF or Lark.")] = None
