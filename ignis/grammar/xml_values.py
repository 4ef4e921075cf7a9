"""Writes the grammar of a call's parameters where a dialect spells them as XML: text bare, everything else as JSON.

The splitter reads a value up to the first tag that may end it, so that no value may hold one.
"""

import json
from collections.abc import Mapping
from typing import Any

from llguidance import regex_to_lark

from ignis.errors import UnsupportedValueError
from ignis.stream.schema_kinds import json_text, kinds_of, resolve

Schema = Mapping[str, Any]

_STYLE = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
_NO_TAG = "^[^<]*$"
_WORDS = frozenset({"boolean", "null"})
_TEXT_RULES = ("pattern", "format", "minLength", "maxLength")
_ANY = "untagged"
_ANY_SCHEMA: Schema = {
    "anyOf": [
        {"type": ["number", "boolean", "null"]},
        {"type": "string", "pattern": _NO_TAG},
        {"type": "array", "items": {"$ref": f"#/$defs/{_ANY}"}},
        {"type": "object", "patternProperties": {_NO_TAG: {"$ref": f"#/$defs/{_ANY}"}}, "additionalProperties": False},
    ]
}
_END = "\n</parameter>\n"
_FREE = "(?s:.*)"
_MAX_DEPTH = 16
_SAID_ELSEWHERE = frozenset({"$defs", "definitions"})
_DATE, _OFFSET = r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])", r"(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
_TIME = rf"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{{1,9}})?{_OFFSET}"
_BYTE = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_LABEL = "[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_FORMATS = {
    "date": _DATE,
    "time": _TIME,
    "date-time": f"{_DATE}T{_TIME}",
    "uuid": "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "ipv4": rf"{_BYTE}(\.{_BYTE}){{3}}",
    "hostname": rf"{_LABEL}(\.{_LABEL}){{0,9}}",
    "email": rf"[a-zA-Z0-9_%+-]+(\.[a-zA-Z0-9_%+-]+)*@{_LABEL}(\.{_LABEL}){{1,9}}",
    "uri": r"[a-z][a-z0-9+.-]{0,20}://[a-zA-Z0-9._~:/?#@!$&'()*+,;=%-]+",
}
"""Of bare texts; llguidance knows them inside JSON only."""


class XmlValues:
    """The rules of one tool's arguments. `name`: that of the first rule, which begins those of the others."""

    def __init__(self, name: str, param: str) -> None:
        self._name = name
        self._param = param

    def rules(self, schema: Schema) -> list[str]:
        """Returns Lark rules; parameters come in the schema's order, those that are not required may be left out.

        Raises:
            UnsupportedValueError: the schema says more of a parameter than its text can be held to.
        """
        for name in ("$ref", "anyOf", "allOf", "patternProperties", "minProperties", "maxProperties"):
            if name in schema:
                raise UnsupportedValueError(
                    f"{self._param}.{name} is not served where the model writes calls as XML", self._param
                )
        properties: Mapping[str, Any] = schema.get("properties", {})
        required = schema.get("required", ())
        names = [name for name in required if name not in properties]
        if names:
            raise UnsupportedValueError(
                f"{self._param}.required names {names[0][:60]!r}, which is not among its properties", self._param
            )
        parts, rules = [], []
        for index, (name, inner) in enumerate(properties.items()):
            if inner is False:
                continue
            rule = f"{self._name}_{index}"
            parts.append(rule if name in required else f"{rule}?")
            rules += self._parameter(rule, name, {} if inner is True else inner, schema)
        return [f"{self._name}: {' '.join(parts)}".rstrip() if parts else f'{self._name}: ""', *rules]

    def _parameter(self, rule: str, name: str, inner: Schema, root: Schema) -> list[str]:
        if any(mark in name for mark in ("<", ">", "\n")):
            raise UnsupportedValueError(
                f"{self._param}.properties has {name[:60]!r}, which cannot be written as XML", self._param
            )
        kinds = kinds_of(root, name)
        place = f"{self._param}.properties.{name}"
        if "string" in kinds and kinds - _WORDS != {"string"}:
            raise UnsupportedValueError(
                f"{place} is not served where the model writes calls as XML: a text that may also be a number, an "
                "array or an object cannot be told from one",
                self._param,
            )
        variants = [(one, kinds_of({**root, "properties": {"": one}}, "")) for one in _variants(inner, root)]
        texts = [self._text(one, kinds, place) for one, own in variants if "string" in own]
        values = [_without_text(one) for one, own in variants if own != {"string"}] if kinds != {"string"} else []
        forms: list[str] = []
        rules: list[str] = []
        for number, text in enumerate(texts):
            forms.append(f"{rule}_text_{number}")
            rules.append(f"{forms[-1]}{text}")
        if values:
            forms.append(f"{rule}_json")
            value: dict[str, Any] = {
                "anyOf": values,
                "$defs": {_ANY: _ANY_SCHEMA, **_untagged_inside("$defs", root.get("$defs", {}))},
                "x-guidance": _STYLE,
            }
            if "definitions" in root:
                value["definitions"] = _untagged_inside("definitions", root["definitions"])
            rules.append(f"{rule}_json: %json {json.dumps(value, ensure_ascii=False)} {_lit(_END)}")
        opening = _lit(f"<parameter={name}>\n")
        return [f"{rule}: {opening} ({' | '.join(forms)})", *rules]

    def _text(self, inner: Schema, kinds: frozenset[str], place: str) -> str:
        """A bare text with its end: a rule without its name."""
        listed = inner.get("enum", [inner["const"]] if "const" in inner else None)
        if listed is not None:
            texts = [text for text in listed if isinstance(text, str)]
            for text in texts:
                if "<" in text or json.loads(json_text(text, kinds)) != text:
                    raise UnsupportedValueError(f"{place} allows {text[:60]!r}, which XML cannot say", self._param)
            return f": ({' | '.join(map(_lit, texts))}) {_lit(_END)}"
        if not any(name in inner for name in (*_TEXT_RULES, "anyOf", "allOf", "$ref")):
            # It ends with the first closing tag; what else the splitter would take for its end is not in it.
            other_ends = r"<parameter=|<\/function>|<\/parameter>[^\n]"
            return rf"[lazy]: /(?s:.*)<\/parameter>\n/ & ~/(?s:.*)({other_ends})(?s:.*)/"
        expressions = [f"[^<]{{{inner.get('minLength', 0)},{inner.get('maxLength', '')}}}"]
        if "format" in inner:
            expressions.append(_FORMATS.get(inner["format"], ""))
        if "pattern" in inner:
            expressions.append(_whole(inner["pattern"]))
        if "" in expressions or any(name in inner for name in ("anyOf", "allOf", "$ref")):
            raise UnsupportedValueError(
                f"{place} is not served where the model writes calls as XML: its text is bare, and not held to it",
                self._param,
            )
        # With its end each: a text alone would take the line break before the tag.
        return "[lazy]: " + " & ".join(
            rf"/({regex_to_lark(expression, use_ascii='dw')})\n<\/parameter>\n/" for expression in expressions
        )


def _variants(schema: Schema, root: Schema, depth: int = 0) -> list[Schema]:
    """The schemas of which a value has to fit one. References are followed."""
    rest = {name: value for name, value in schema.items() if name not in _SAID_ELSEWHERE}
    if depth < _MAX_DEPTH and len(rest) == 1:
        match rest:
            case {"$ref": str(reference)}:
                found = resolve(reference, root)
                return _variants(found, root, depth + 1) if isinstance(found, Mapping) else [schema]
            case {"anyOf": list(inner)}:
                return [
                    variant for one in inner if isinstance(one, Mapping) for variant in _variants(one, root, depth + 1)
                ]
            case {"allOf": [Mapping() as only]}:
                return _variants(only, root, depth + 1)
    return [schema]


def _whole(pattern: str) -> str:
    """An expression that matches whole texts, of one that is looked for in them; "" where it cannot be made."""
    num_escapes = len(pattern[:-1]) - len(pattern[:-1].rstrip("\\"))
    has_start, has_end = pattern.startswith("^"), pattern.endswith("$") and num_escapes % 2 == 0
    body = pattern[has_start : len(pattern) - has_end]
    depth, index, in_class = 0, 0, False
    while index < len(body):
        character = body[index]
        if in_class:
            in_class = character != "]"
        elif character in "^$" or (character == "|" and depth == 0 and (has_start or has_end)):
            return ""
        else:
            in_class = character == "["
            depth += (character == "(") - (character == ")")
        index += 2 if character == "\\" else 1
    return f"{'' if has_start else _FREE}({body}){'' if has_end else _FREE}"


def _lit(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _without_text(schema: Schema) -> dict[str, Any]:
    """The schema without the texts that it allows at its top, and without tags in those inside it."""
    read = dict(_untagged(schema))
    if isinstance(schema.get("type"), list):
        read["type"] = [name for name in schema["type"] if name != "string"]
    if isinstance(schema.get("enum"), list):
        read["enum"] = [value for value in schema["enum"] if not isinstance(value, str)]
    return read


def _untagged(schema: Any) -> Any:
    """The schema, narrowed so that no text and no key that it leaves free holds a tag. What is free altogether becomes
    _ANY, a definition that `rules` adds."""
    if schema is True or schema == {}:
        return {"$ref": f"#/$defs/{_ANY}"}
    if not isinstance(schema, Mapping):
        return schema
    read = {name: _untagged_inside(name, value) for name, value in schema.items()}
    kind = schema.get("type")
    kinds = {kind} if isinstance(kind, str) else set(kind) if isinstance(kind, list) else set()
    if kinds & {"string"} and not {"enum", "const", "format"} & set(schema):
        patterns = [schema["pattern"], _NO_TAG] if "pattern" in schema else [_NO_TAG]
        read.pop("pattern", None)
        read["allOf"] = [*read.get("allOf", ()), *({"pattern": pattern} for pattern in patterns)]
    if "object" in kinds:
        if not schema.get("properties") and "patternProperties" not in schema:
            other = schema.get("additionalProperties", True)
            read["patternProperties"] = {} if other is False else {_NO_TAG: _untagged(other)}
        read["additionalProperties"] = False
    if "array" in kinds and "items" not in schema:
        read["items"] = _untagged(True)
    if not kinds and not {"enum", "const", "$ref", "anyOf", "allOf"} & set(schema):
        read["allOf"] = [_untagged(True)]
    return read


def _untagged_inside(name: str, value: Any) -> Any:
    if name in ("properties", "patternProperties", "$defs", "definitions") and isinstance(value, Mapping):
        return {key: _untagged(inner) for key, inner in value.items()}
    if name in ("anyOf", "allOf", "prefixItems", "items") and isinstance(value, list):
        return [_untagged(inner) for inner in value]
    return _untagged(value) if name in ("items", "additionalItems") else value
