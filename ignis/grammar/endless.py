"""Whether a value can fit a schema and be finite. One whose every value holds another of its kind compiles, and then no
answer to it ever ends."""

from collections.abc import Iterator, Mapping
from typing import Any

_MAX_STEPS = 64
_MAX_ROUNDS = 64


def can_end(root: Mapping[str, Any]) -> bool:
    """Says no only where it is certain: references beyond so many rounds of looking are taken to end."""
    known: dict[str, object] = {reference: resolved({"$ref": reference}, root) for reference in _references(root)}
    ending = {reference for reference, schema in known.items() if not isinstance(schema, Mapping)}
    for _ in range(_MAX_ROUNDS):
        before = len(ending)
        for reference, schema in known.items():
            if reference not in ending and _ends(schema, ending):
                ending.add(reference)
        if len(ending) == before:
            return _ends(root, ending)
    return True


def resolved(schema: object, root: Mapping[str, Any]) -> object:
    """Follows references to a schema inside the same document; None where one leads nowhere."""
    for _ in range(_MAX_STEPS):
        if not (isinstance(schema, Mapping) and isinstance(schema.get("$ref"), str)):
            return schema
        found: object = root
        for step in filter(None, schema["$ref"].removeprefix("#").strip("/").split("/")):
            key = step.replace("~1", "/").replace("~0", "~")
            found = found.get(key) if isinstance(found, Mapping) else None
        schema = found
    return schema


def _ends(schema: object, ending: set[str]) -> bool:
    """Whether a value is finite where the references of `ending` are."""
    if not isinstance(schema, Mapping) or "const" in schema or "enum" in schema:
        return True
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference not in ending:
        return False
    options, parts = schema.get("anyOf"), schema.get("allOf")
    if isinstance(options, list) and options and not any(_ends(option, ending) for option in options):
        return False
    if isinstance(parts, list) and not all(_ends(part, ending) for part in parts):
        return False
    return all(_ends(inner, ending) for inner in _needed(schema))


def _needed(schema: Mapping[str, Any]) -> Iterator[object]:
    """The schemas of what each value has to have inside."""
    properties, required = schema.get("properties"), schema.get("required")
    if schema.get("type") == "object" and isinstance(properties, Mapping) and isinstance(required, list):
        yield from (properties.get(name) for name in required if isinstance(name, str))
    least = schema.get("minItems")
    if schema.get("type") == "array" and isinstance(least, int) and least > 0:
        first = schema.get("prefixItems")
        first = first if isinstance(first, list) else []
        yield from first[:least]
        if least > len(first):
            yield schema.get("items")


def _references(schema: object) -> Iterator[str]:
    """All that a schema refers to, with what is inside it."""
    pending = [schema]
    while pending:
        item = pending.pop()
        if isinstance(item, Mapping):
            if isinstance(item.get("$ref"), str):
                yield item["$ref"]
            pending += item.values()
        elif isinstance(item, list):
            pending += item
