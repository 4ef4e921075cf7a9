"""Writes the grammar of tool calls as a dialect spells them, so that a forced call is valid by construction.

JSON is spelled as Python's json.dumps spells it, ", " and ": ", which is how templates write the same call back into
the history: the next turn's prompt then begins with this turn's tokens.
"""

import json
import re
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
_LINE = "\n"
_ANY_ARGUMENTS: Mapping[str, Any] = {"type": "object"}
_NO_ARGUMENTS: Mapping[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}


def call_rules(
    targets: Sequence[CallTarget],
    dialect: OutputDialect,
    vocabulary: Vocabulary,
    *,
    is_single: bool,
    is_free: bool = False,
) -> str:
    """Returns Lark rules, with `calls` for one call or more to these tools; `is_single`: exactly one. `is_free`: and
    with `free`, any text in which what begins as a call goes on as one.

    Raises:
        InvalidRequestError, UnsupportedValueError: a schema cannot be held.
    """
    opening, closing = _tag(dialect.call_open, vocabulary), _tag(dialect.call_close, vocabulary)
    each = "tagged" if dialect.call_close and not dialect.lists_calls else "call"
    listed = each if is_single else f"{each} (CALL_GAP {each}){{0,{MAX_FORCED_CALLS - 1}}}"
    rules = ["call: " + " | ".join(f"call_{index}" for index in range(len(targets)))]
    if dialect.lists_calls:
        rules += [f"opened: {literal('[' + _LINE)} {listed} {literal(_LINE + ']')} {closing}"]
        rules += [f"calls: {opening} opened"]
    elif dialect.call_close:
        rules += [f"opened: call {closing}", f"tagged: {opening} opened", f"calls: {listed}"]
    else:
        rules += ["opened: call", f"calls: {listed}"]
    if not is_single:
        rules.append(f"CALL_GAP: {literal(_gap(dialect))}")
    for index, target in enumerate(targets):
        rules += _call(index, target, dialect)
    if is_free:
        rules += _free(dialect, vocabulary)
    return "\n".join(rules) + "\n"


def _call(index: int, target: CallTarget, dialect: OutputDialect) -> list[str]:
    """The rules of one call, without its tags."""
    arguments = f"args_{index}"
    if dialect.call_form is CallForm.XML:
        head = literal(f"\n<function={target.name}>\n")
        if target.is_held:
            rules = XmlValues(arguments, target.param).rules(_object_schema(target))
            return [f'call_{index}: {head} {arguments} "</function>\\n"', *rules]
        return [f"call_{index}: {head} {arguments}", rf"{arguments}[lazy]: /(?s:.*)<\/function>\n/"]
    key = "parameters" if dialect.has_bare_calls else "arguments"
    line = _LINE if dialect.call_close and not dialect.lists_calls else ""
    head = literal(f'{line}{{"name": {json.dumps(target.name, ensure_ascii=False)}, "{key}": ')
    schema = _object_schema(target) if target.is_held else _ANY_ARGUMENTS
    return [
        f"call_{index}: {head} {arguments} {literal('}' + line)}",
        f"{arguments}: %json {schema_text(schema)}",
    ]


def _free(dialect: OutputDialect, vocabulary: Vocabulary) -> list[str]:
    """Any text, up to a tag that opens a call. Where calls need no tag, a text that begins as JSON is one."""
    control = vocabulary.control_id(dialect.call_open)
    tag = re.escape(dialect.call_open).replace("/", "\\/")
    no_tag = f"~/(?s:.*){tag}(?s:.*)/"
    rules = [f"FREE: /(?s:.*)/ & {no_tag}"]
    # A control token is no text: what ends before it is a text of its own.
    rules.append(f"to_call[lazy]: /(?s:.*){tag}/" if control is None else f"to_call: FREE <[{control}]>")
    if not dialect.has_bare_calls:
        return [*rules, "free: (to_call opened)* FREE"]
    rules.append(f"PLAIN: /\\s*([^\\s{{](?s:.*))?/ & {no_tag}")
    if control is None:
        rules.append(f"to_first[lazy]: /(\\s*[^\\s{{](?s:.*))?{tag}/")
        return [*rules, "free: calls | PLAIN | to_first opened (to_call opened)* FREE"]
    return [*rules, f"free: calls | PLAIN (<[{control}]> opened FREE)*"]


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
