"""Writes the grammar of tool calls as a dialect spells them, so that a forced call is valid by construction.

JSON is spelled as Python's json.dumps spells it, ", " and ": ", which is how templates write the same call back into
the history: the next turn's prompt then begins with this turn's tokens.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ignis.errors import UnsupportedValueError
from ignis.grammar.forms import CallTarget
from ignis.grammar.schema import readable
from ignis.grammar.vocabulary import Vocabulary
from ignis.grammar.xml_values import XmlValues
from ignis.limits import MAX_FORCED_CALLS
from ignis.stream.dialects import CallForm, OutputDialect

STYLE: Mapping[str, Any] = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
NEWLINE = "\n"
_NO_ARGUMENTS: Mapping[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}


def call_rules(
    targets: Sequence[CallTarget], dialect: OutputDialect, vocabulary: Vocabulary, *, is_single: bool
) -> str:
    """Returns Lark rules, with `calls` for one call or more to these tools; `is_single`: exactly one.

    Raises:
        InvalidRequestError, UnsupportedValueError: a schema cannot be held.
    """
    opening, closing = _tag(dialect.call_open, vocabulary), _tag(dialect.call_close, vocabulary)
    more = "" if is_single else f" (CALL_GAP call){{0,{MAX_FORCED_CALLS - 1}}}"
    rules = [
        f"calls: {opening} {literal('[' + NEWLINE)} call{more} {literal(NEWLINE + ']')} {closing}"
        if dialect.lists_calls
        else f"calls: call{more}",
        "call: " + " | ".join(f"call_{index}" for index in range(len(targets))),
    ]
    if not is_single:
        rules.append(f"CALL_GAP: {literal(_gap(dialect))}")
    is_tagged = bool(dialect.call_close) and not dialect.lists_calls
    for index, target in enumerate(targets):
        if dialect.call_form is CallForm.XML:
            head, tail = f"\n<function={target.name}>\n", "</function>\n"
            body = f"args_{index}"
            rules += XmlValues(f"args_{index}", target.param).rules(_object_schema(target))
        else:
            key = "parameters" if dialect.has_bare_calls else "arguments"
            name = json.dumps(target.name, ensure_ascii=False)
            line = NEWLINE if is_tagged else ""
            head, tail = f'{line}{{"name": {name}, "{key}": ', f"}}{line}"
            body = f"args_{index}"
            rules.append(f"args_{index}: %json {schema_text(_object_schema(target))}")
        parts = [
            *([opening] if is_tagged else []),
            literal(head),
            body,
            literal(tail),
            *([closing] if is_tagged else []),
        ]
        rules.append(f"call_{index}: {' '.join(parts)}")
    return "\n".join(rules) + "\n"


def literal(text: str) -> str:
    """A text as Lark writes it."""
    return json.dumps(text, ensure_ascii=False)


def schema_text(schema: Mapping[str, Any]) -> str:
    """A schema as Lark takes it after %json, with the spelling of its JSON."""
    return json.dumps({**schema, "x-guidance": STYLE}, ensure_ascii=False)


def _object_schema(target: CallTarget) -> Mapping[str, Any]:
    """The schema of a tool's arguments, without those that it does not name: no tool means them."""
    if not target.schema:
        return _NO_ARGUMENTS
    schema = readable(target.schema, target.param)
    if schema.get("type", "object") != "object":
        raise UnsupportedValueError(f'{target.param}.type must be "object": arguments are one', target.param)
    if "$ref" not in schema and "anyOf" not in schema and "allOf" not in schema and "patternProperties" not in schema:
        return {"additionalProperties": False, "properties": {}, **schema, "type": "object"}
    return {**schema, "type": "object"}


def _gap(dialect: OutputDialect) -> str:
    return ",\n" if dialect.lists_calls else "\n" if dialect.call_close else "; "


def _tag(tag: str, vocabulary: Vocabulary) -> str:
    control = vocabulary.control_id(tag) if tag else None
    return literal(tag) if control is None else f"<[{control}]>"
