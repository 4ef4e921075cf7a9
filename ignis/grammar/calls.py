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
_LIST_OPEN, _LIST_CLOSE = "[\n", "\n]"
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
        rules += [f"opened: {literal(_LIST_OPEN)} {listed} {literal(_LIST_CLOSE)} {closing}"]
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


def call_opening(dialect: OutputDialect, name: str | None) -> str:
    """The text that a forced call begins with: up to its arguments, or where no name is forced up to its name."""
    tag = dialect.call_open if dialect.call_close else ""
    listed = _LIST_OPEN if dialect.lists_calls else ""
    return tag + listed + _before_name(dialect) + ("" if name is None else _from_name(dialect, name))


def _before_name(dialect: OutputDialect) -> str:
    return f"{_LINE}<function=" if dialect.call_form is CallForm.XML else f'{_line(dialect)}{{"name": "'


def _from_name(dialect: OutputDialect, name: str) -> str:
    """A call's name, and what stands between it and the arguments."""
    if dialect.call_form is CallForm.XML:
        return f"{name}>{_LINE}"
    key = "parameters" if dialect.has_bare_calls else "arguments"
    return f'{json.dumps(name, ensure_ascii=False)[1:]}, "{key}": '


def _line(dialect: OutputDialect) -> str:
    """What parts a call's JSON from the tags around it."""
    return _LINE if dialect.call_close and not dialect.lists_calls else ""


def _call(index: int, target: CallTarget, dialect: OutputDialect) -> list[str]:
    """The rules of one call, without its tags."""
    arguments = f"args_{index}"
    head = literal(_before_name(dialect) + _from_name(dialect, target.name))
    if dialect.call_form is CallForm.XML:
        if target.is_held:
            rules = XmlValues(arguments, target.param).rules(_object_schema(target))
            return [f'call_{index}: {head} {arguments} "</function>\\n"', *rules]
        return [f"call_{index}: {head} {arguments}", rf"{arguments}[lazy]: /(?s:.*)<\/function>\n/"]
    schema = _object_schema(target) if target.is_held else _ANY_ARGUMENTS
    return [
        f"call_{index}: {head} {arguments} {literal('}' + _line(dialect))}",
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
