"""Writes the grammar of a call's parameters where a dialect spells them as XML: text bare, everything else as JSON.

The splitter reads a value up to the first tag that may end it, so that no value may hold one.
"""

import json
from collections.abc import Mapping
from typing import Any

from ignis.errors import UnsupportedValueError
from ignis.stream.schema_kinds import kinds_of

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
        forms: list[str] = []
        rules: list[str] = []
        place = f"{self._param}.properties.{name}"
        if "string" in kinds:
            rules += self._text(f"{rule}_text", inner, kinds, place)
            forms.append(f"{rule}_text")
        if kinds != {"string"}:
            value = _without_text(inner)
            value["$defs"] = {_ANY: _ANY_SCHEMA, **_untagged_inside("$defs", root.get("$defs", {}))}
            if "definitions" in root:
                value["definitions"] = _untagged_inside("definitions", root["definitions"])
            rules.append(
                f"{rule}_json: %json {json.dumps({**value, 'x-guidance': _STYLE}, ensure_ascii=False)} {_lit(_END)}"
            )
            forms.append(f"{rule}_json")
        opening = _lit(f"<parameter={name}>\n")
        return [f"{rule}: {opening} ({' | '.join(forms)})", *rules]

    def _text(self, rule: str, inner: Schema, kinds: frozenset[str], place: str) -> list[str]:
        """A bare text with its end. Beside other types it must not look like theirs."""
        if kinds - _WORDS != {"string"}:
            raise UnsupportedValueError(
                f"{place} is not served where the model writes calls as XML: a text that may also be a number, an "
                "array or an object cannot be told from one",
                self._param,
            )
        texts = inner.get("enum", [inner["const"]] if "const" in inner else None)
        if texts is not None:
            listed = [text for text in texts if isinstance(text, str)]
            if any("<" in text for text in listed) or not listed:
                raise UnsupportedValueError(f"{place} allows a text that cannot be written as XML", self._param)
            return [f"{rule}: ({' | '.join(map(_lit, listed))}) {_lit(_END)}"]
        if any(name in inner for name in _TEXT_RULES) or "anyOf" in inner or "$ref" in inner or "allOf" in inner:
            return self._ruled_text(rule, inner, place)
        # It ends with the first closing tag; what else the splitter would take for its end is not in it.
        other_ends = r"<parameter=|<\/function>|<\/parameter>[^\n]"
        return [rf"{rule}[lazy]: /(?s:.*)<\/parameter>\n/ & ~/(?s:.*)({other_ends})(?s:.*)/"]

    def _ruled_text(self, rule: str, inner: Schema, place: str) -> list[str]:
        variants = inner.get("anyOf")
        if isinstance(variants, list):
            strings = [one for one in variants if isinstance(one, Mapping) and one.get("type") == "string"]
            others = [
                one for one in variants if not (isinstance(one, Mapping) and one.get("type") in ("string", *_WORDS))
            ]
            if len(strings) == 1 and not others:
                return self._text(rule, strings[0], frozenset({"string"}), place)
        if set(inner) & {"anyOf", "$ref", "allOf", "pattern", "format"}:
            raise UnsupportedValueError(
                f"{place} is not served where the model writes calls as XML: its text is bare, and not held to it",
                self._param,
            )
        most = inner.get("maxLength", "")
        # One expression with its end: a text alone would take the line break before the tag.
        return [rf"{rule}: /[^<]{{{inner.get('minLength', 0)},{most}}}\n<\/parameter>\n/"]


def _lit(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _without_text(schema: Schema) -> dict[str, Any]:
    """The schema without the type "string" at its top, and without tags in the texts inside it."""
    kind = schema.get("type")
    read = dict(_untagged(schema))
    if isinstance(kind, list):
        read["type"] = [name for name in kind if name != "string"]
    variants = schema.get("anyOf")
    if isinstance(variants, list):
        read["anyOf"] = [
            _untagged(one) for one in variants if not (isinstance(one, Mapping) and one.get("type") == "string")
        ]
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
