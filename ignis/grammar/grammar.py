"""Compiles what an answer is held to. A grammar is checked here, with bounds; from then on it makes constraints."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from llguidance import LLMatcher, LLParserLimits, regex_to_lark
from llguidance.gbnf_to_lark import any_to_lark

from ignis.errors import InvalidRequestError
from ignis.grammar.calls import STYLE, call_rules, literal, schema_text
from ignis.grammar.constraint import GrammarConstraint
from ignis.grammar.forms import CallTarget, ChoiceForm, Form, Freedom, JsonForm, RegexForm, SyntaxForm
from ignis.grammar.schema import children, readable
from ignis.grammar.vocabulary import Vocabulary
from ignis.limits import (
    MAX_GRAMMAR_CHARACTERS,
    MAX_GRAMMAR_PARTS,
    MAX_HELD_BYTES,
    MAX_LISTED_CHARACTERS,
    MAX_LISTED_CHOICES,
    MAX_REGEX_CHARACTERS,
    MAX_SCHEMA_BYTES,
)
from ignis.scheduler.constraint import ConstraintError
from ignis.stream.dialects import OutputDialect

_MAX_LEXER_STATES = 25_000
"""Of one constraint, at 1 to 2 kB each."""
_MAX_TRIES = 64
"""Inner schemas that are compiled alone to find the one that is wrong."""
_MAX_ERROR_CHARACTERS = 300
_GRAMMAR_PART = re.compile(r"[\n(\[{?*+|&~]")
_OWN_LINE = re.compile(r"at \d+\(\d+\): | 1 \| start: .*$")
_DEFINITION = re.compile(r"(?m)^\s*[\w-]+\s*::=")
"""Of GBNF alone."""
_SCHEMA_MARK = re.compile(r"%json\s*")


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls that an answer may make or has to."""

    targets: tuple[CallTarget, ...]
    dialect: OutputDialect
    is_single: bool
    """One call and no more."""


class Grammar:
    """A compiled grammar. Every answer gets a constraint that shares nothing with any other: what one has its matcher
    learn may not change where another reaches its bounds."""

    def __init__(self, text: str, vocabulary: Vocabulary, param: str) -> None:
        """For a worker, as `start`.

        Raises:
            InvalidRequestError: it cannot be compiled, or permits nothing.
        """
        self._text = text
        self._vocabulary = vocabulary
        self._param = param
        self._first: GrammarConstraint | None = self._make()

    def start(self) -> GrammarConstraint:
        """Makes the constraint of one answer."""
        first, self._first = self._first, None
        return self._make() if first is None else first

    def _make(self) -> GrammarConstraint:
        matcher = _matcher(self._text, self._vocabulary)
        if matcher.is_error():
            raise InvalidRequestError(f"{self._param} cannot be compiled: {_said(matcher)}", self._param)
        try:
            return GrammarConstraint(matcher, self._vocabulary)
        except ConstraintError as error:
            raise InvalidRequestError(f"{self._param} cannot be held: {error}", self._param) from error


def compile_grammar(vocabulary: Vocabulary, form: Form | None, calls: Calls | None, freedom: Freedom) -> Grammar:
    """Compiles the grammar of an answer.

    Raises:
        InvalidRequestError: a part cannot be compiled; the message says which and why.
        UnsupportedValueError: a schema says what an answer cannot be held to.
    """
    rules: list[str] = []
    grammars: list[dict[str, Any]] = []
    param = "tool_choice"
    starts = []
    if calls is not None:
        is_free = freedom is Freedom.ANY
        _check_sizes(calls.targets)
        rules.append(call_rules(calls.targets, calls.dialect, vocabulary, is_single=calls.is_single, is_free=is_free))
        starts.append("free" if is_free else "calls")
    if form is not None and (calls is None or freedom is Freedom.FORM):
        grammars.append({"name": "answer", **_part(form)})
        starts.append("@answer")
        param = form.param
    options = json.dumps({"no_forcing": not vocabulary.can_force})
    lark = "\n".join([f"%llguidance {options}", f"start: {' | '.join(starts)}", *rules, ""])
    try:
        return Grammar(json.dumps({"grammars": [{"lark_grammar": lark}, *grammars]}), vocabulary, param)
    except InvalidRequestError as error:
        _blame(vocabulary, form, calls)
        if isinstance(form, RegexForm):
            # The line around the expression is ours.
            raise InvalidRequestError(_OWN_LINE.sub("", error.message), form.param) from error
        raise


def _part(form: Form) -> dict[str, Any]:
    """One grammar of llguidance's list.

    Raises:
        InvalidRequestError: it is larger than the bounds, or no grammar.
    """
    match form:
        case JsonForm(param, schema):
            _check_size(schema, param)
            read = {"type": "object"} if schema is None else readable(schema, param)
            return {"json_schema": {**read, "x-guidance": STYLE}}
        case RegexForm(param, pattern):
            _check_characters([pattern], MAX_REGEX_CHARACTERS, param)
            # Digits and words as a schema's pattern has them.
            return {"lark_grammar": f"start: /{regex_to_lark(pattern, use_ascii='dw')}/"}
        case ChoiceForm(param, choices):
            if not 0 < len(choices) <= MAX_LISTED_CHOICES:
                raise InvalidRequestError(
                    f"{param} must hold 1 to {MAX_LISTED_CHOICES} texts, not {len(choices)}", param
                )
            _check_characters(choices, MAX_LISTED_CHARACTERS, param)
            return {"lark_grammar": "start: " + " | ".join(map(literal, dict.fromkeys(choices)))}
        case SyntaxForm(param, text):
            _check_characters([text], MAX_GRAMMAR_CHARACTERS, param)
            try:
                # So that whatever is wrong in Lark is told as of Lark.
                lark = any_to_lark(text) if _DEFINITION.search(text) else text
            except Exception as error:  # the converter's own, of any kind
                raise InvalidRequestError(f"{param} cannot be read as GBNF: {_cut(str(error))}", param) from error
            num_parts = len(_GRAMMAR_PART.findall(lark))
            if num_parts > MAX_GRAMMAR_PARTS:
                raise InvalidRequestError(
                    f"{param} has {num_parts} lines, brackets and operators, at most {MAX_GRAMMAR_PARTS} are taken",
                    param,
                )
            return {"lark_grammar": _with_schemas(lark, param)}


def _with_schemas(lark: str, param: str) -> str:
    """The grammar, its schemas as llguidance takes them.

    Raises:
        InvalidRequestError: what follows a %json is none.
    """
    parts, end = [], 0
    for match in _SCHEMA_MARK.finditer(lark):
        if match.start() < end:
            continue
        try:
            schema, stop = json.JSONDecoder().raw_decode(lark, match.end())
        except (ValueError, RecursionError) as error:
            raise InvalidRequestError(f"{param} has a %json without a schema after it", param) from error
        _check_size(schema, param)
        parts += [lark[end : match.end()], schema_text(readable(schema, param))]
        end = stop
    return "".join([*parts, lark[end:]])


def _check_size(schema: object, param: str) -> None:
    size_bytes = _num_bytes(schema)
    if size_bytes > MAX_SCHEMA_BYTES:
        raise InvalidRequestError(
            f"{param} has {size_bytes} bytes of JSON, at most {MAX_SCHEMA_BYTES} are taken", param
        )


def _check_sizes(targets: Iterable[CallTarget]) -> None:
    held = [target for target in targets if target.is_held]
    for target in held:
        _check_size(target.schema, target.param)
    size_bytes = sum(_num_bytes(target.schema) for target in held)
    if size_bytes > MAX_HELD_BYTES:
        raise InvalidRequestError(
            f"the schemas of tools have {size_bytes} bytes of JSON, at most {MAX_HELD_BYTES} are taken where calls are "
            "held to them",
            "tools",
        )


def _num_bytes(schema: object) -> int:
    return len(msgspec.json.encode(schema))


def _check_characters(texts: Iterable[str], most: int, param: str) -> None:
    num_characters = sum(map(len, texts))
    if num_characters > most:
        raise InvalidRequestError(f"{param} has {num_characters} characters, at most {most} are taken", param)


def _blame(vocabulary: Vocabulary, form: Form | None, calls: Calls | None) -> None:
    """Finds the schema, and the place in it, that does not compile. Raises InvalidRequestError where there is one."""
    schemas: list[tuple[str, Mapping[str, Any] | bool | None]] = []
    if isinstance(form, JsonForm):
        schemas.append((form.param, form.schema))
    if calls is not None:
        schemas += [(target.param, target.schema) for target in calls.targets if target.is_held]
    for param, schema in schemas:
        if not isinstance(schema, Mapping):
            continue
        root = readable(schema, param)
        message = _schema_error(root, vocabulary)
        if message:
            place = param + _place(root, root, message, vocabulary, [_MAX_TRIES])
            raise InvalidRequestError(f"{place[:_MAX_ERROR_CHARACTERS]} cannot be compiled: {message}", param)


def _place(
    schema: Mapping[str, Any], root: Mapping[str, Any], message: str, vocabulary: Vocabulary, tries: list[int]
) -> str:
    """Where in a schema the same error comes out of a part alone; "" where it is the whole."""
    definitions = {name: root[name] for name in ("$defs", "definitions") if name in root}
    for place, inner in children(schema):
        if tries[0] == 0:
            return ""
        tries[0] -= 1
        if _schema_error({**definitions, **inner}, vocabulary) == message:
            return place + _place(inner, root, message, vocabulary, tries)
    return ""


def _schema_error(schema: Mapping[str, Any], vocabulary: Vocabulary) -> str:
    grammar = json.dumps({"grammars": [{"json_schema": {**schema, "x-guidance": STYLE}}]})
    matcher = _matcher(grammar, vocabulary)
    return _said(matcher) if matcher.is_error() else ""


def _matcher(text: str, vocabulary: Vocabulary) -> LLMatcher:
    """Never raises; the matcher says what is wrong."""
    limits = LLParserLimits(max_lexer_states=_MAX_LEXER_STATES, verbose_errors=False)
    return LLMatcher(vocabulary.matcher_tokens, text, log_level=0, limits=limits)


def _said(matcher: LLMatcher) -> str:
    return _cut(matcher.get_error())


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_ERROR_CHARACTERS else line[:_MAX_ERROR_CHARACTERS] + "…"
