"""What a JSON schema says of an argument's type, as far as it decides how the text of a value is read."""

import json
from collections.abc import Mapping

import msgspec

_MAX_SCHEMAS = 64
_UNIONS = ("anyOf", "oneOf", "allOf")
_KIND_OF: tuple[tuple[type, str], ...] = (
    (bool, "boolean"),
    (int, "number"),
    (float, "number"),
    (str, "string"),
    (list, "array"),
    (dict, "object"),
    (type(None), "null"),
)
# JSON bounds no number, and a float would: of a value only the type counts.
_DECODER = msgspec.json.Decoder(float_hook=lambda _text: 0.0)
_PYTHON_WORDS = {"True": ("true", "boolean"), "False": ("false", "boolean"), "None": ("null", "null")}


def kinds_of(schema: Mapping[str, object], name: str) -> frozenset[str]:
    """Returns the types that an argument may have, "integer" as "number"; none where the schema does not say."""
    properties = schema.get("properties")
    declared = properties.get(name) if isinstance(properties, Mapping) else None
    return _kinds(declared, schema)


def is_text(kinds: frozenset[str]) -> bool:
    """A value of these types is its own text, whatever it is."""
    return kinds == {"string"}


def json_text(value: str, kinds: frozenset[str]) -> str:
    """Spells a value as JSON: the model's own text where that is JSON of a declared type, else a string.

    Where no type is declared, any JSON keeps its type. Python's True, False and None are read as they are meant.
    """
    text = value.strip()
    if not is_text(kinds):
        word, kind = _PYTHON_WORDS.get(text, ("", ""))
        if kind in kinds:
            return word
        found = _kind(text)
        if found and (not kinds or found in kinds) and not (found == "string" and "string" in kinds):
            return text
    return json.dumps(value, ensure_ascii=False)


def _kind(text: str) -> str:
    """The type of a JSON text; "" where it is none."""
    try:
        value = _DECODER.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return ""
    return _kind_of_value(value)


def _kind_of_value(value: object) -> str:
    return next(kind for python_type, kind in _KIND_OF if isinstance(value, python_type))


def _kinds(declared: object, root: Mapping[str, object]) -> frozenset[str]:
    found: set[str] = set()
    pending = [declared]
    # A schema is a stranger's: one that refers to itself, or is a bush of unions, is looked at so far and no further.
    for _ in range(_MAX_SCHEMAS):
        if not pending:
            break
        schema = pending.pop()
        if not isinstance(schema, Mapping):
            continue
        reference = schema.get("$ref")
        union = next((schema[name] for name in _UNIONS if isinstance(schema.get(name), list)), None)
        if isinstance(reference, str):
            pending.append(resolve(reference, root))
        elif "type" in schema or union is None:
            found |= _own_kinds(schema)
        else:
            pending += union[:_MAX_SCHEMAS]
    return frozenset(found)


def _own_kinds(schema: Mapping[str, object]) -> set[str]:
    kind = schema.get("type")
    named = [kind] if isinstance(kind, str) else kind if isinstance(kind, list) else []
    if named:
        return {"number" if name == "integer" else name for name in named if isinstance(name, str)}
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    return set(map(_kind_of_value, values)) if isinstance(values, list) else set()


def resolve(reference: str, root: Mapping[str, object]) -> object:
    """What a reference inside the same schema stands for: #/$defs/Name."""
    found: object = root
    for step in reference.removeprefix("#/").split("/"):
        found = found.get(step) if isinstance(found, Mapping) else None
    return found
