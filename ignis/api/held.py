"""Reads from a body what its answer is held to, whatever the client calls it. One form a request."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ignis.api.schema.held import HeldFields, ResponseFormat, StructuredOutputs
from ignis.errors import InvalidRequestError
from ignis.grammar.forms import ChoiceForm, Form, JsonForm, RegexForm, SyntaxForm


def one_form(*forms: Form | None) -> Form | None:
    """Returns the one that is given.

    Raises:
        InvalidRequestError: there are several.
    """
    given = [form for form in forms if form is not None]
    if len(given) > 1:
        raise InvalidRequestError(
            f"{given[1].param} and {given[0].param} both say what the answer is held to: give one", given[1].param
        )
    return given[0] if given else None


def held_form(fields: HeldFields) -> Form | None:
    """Reads what chat and text completions may be held to.

    Raises:
        InvalidRequestError: it is said twice, or a schema is missing or no JSON.
    """
    return one_form(
        response_format(fields.response_format),
        structured_outputs(fields.structured_outputs),
        schema_form(fields.guided_json, "guided_json"),
        regex_form(fields.guided_regex, "guided_regex"),
        choice_form(fields.guided_choice, "guided_choice"),
        syntax_form(fields.guided_grammar, "guided_grammar"),
        schema_form(fields.json_schema, "json_schema"),
        syntax_form(fields.grammar, "grammar"),
    )


def response_format(value: ResponseFormat | None, param: str = "response_format") -> Form | None:
    """Reads chat's response_format.

    Raises:
        InvalidRequestError: a schema is missing.
    """
    if value is None or value.type == "text":
        return None
    if value.type == "json_object":
        return JsonForm(param if value.schema is None else f"{param}.schema", value.schema)
    inner = value.json_schema
    if inner is None:
        raise InvalidRequestError(f"{param}.json_schema is missing", f"{param}.json_schema")
    return json_schema_form(inner.schema, f"{param}.json_schema.schema")


def json_schema_form(schema: Mapping[str, Any] | bool | None, param: str) -> Form:
    """The form of a schema that must be there.

    Raises:
        InvalidRequestError: it is not.
    """
    if schema is None:
        raise InvalidRequestError(f"{param} is missing", param)
    return JsonForm(param, schema)


def structured_outputs(value: StructuredOutputs | None, param: str = "structured_outputs") -> Form | None:
    """Reads vLLM's structured_outputs.

    Raises:
        InvalidRequestError: it says several things, or nothing, or a schema's text is no JSON.
    """
    if value is None:
        return None
    form = one_form(
        schema_form(value.json, f"{param}.json"),
        JsonForm(f"{param}.json_object") if value.json_object else None,
        regex_form(value.regex, f"{param}.regex"),
        choice_form(value.choice, f"{param}.choice"),
        syntax_form(value.grammar, f"{param}.grammar"),
    )
    if form is None:
        raise InvalidRequestError(f"{param} needs one of json, json_object, regex, choice or grammar", param)
    return form


def schema_form(schema: Mapping[str, Any] | bool | str | None, param: str) -> Form | None:
    """A schema, or the text of one.

    Raises:
        InvalidRequestError: the text is no JSON.
    """
    if schema is None:
        return None
    if isinstance(schema, str):
        try:
            schema = msgspec.json.decode(schema, type=dict[str, Any] | bool)
        except (msgspec.DecodeError, RecursionError) as error:
            raise InvalidRequestError(f"{param} must be a JSON schema, or the text of one", param) from error
    return JsonForm(param, schema)


def regex_form(pattern: str | None, param: str) -> Form | None:
    return None if pattern is None else RegexForm(param, pattern)


def choice_form(choices: Sequence[str] | None, param: str) -> Form | None:
    return None if choices is None else ChoiceForm(param, tuple(choices))


def syntax_form(text: str | None, param: str) -> Form | None:
    return None if text is None else SyntaxForm(param, text)
