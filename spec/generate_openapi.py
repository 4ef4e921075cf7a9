"""Derives spec/openapi.json from the route table and the body structs; run by spec/generate.py."""

import importlib
import json
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

from generate_source import ROOT, load

INTRODUCTION = """\
An OpenAI-compatible server on one machine, one loaded model at a time.

Every field of a request is honoured, inert or refused, and `x-ignis` says which. An inert field takes only values \
that ask for nothing that is not done anyway; a refused field is a 400 that names it, unless it is null. Where a JSON \
key is repeated the last one counts. With an API key set, all routes but those that are marked need \
`Authorization: Bearer <key>` or `X-Api-Key: <key>`.

The same request with the same seed gives the same text, whatever else the server is doing.
"""


_DONE = {200: "Done.", 202: "Begun; the list of the models and its events say how it goes."}


def openapi() -> dict[Path, str]:
    document = json.dumps(build_document(), indent=2, ensure_ascii=False) + "\n"
    return {ROOT / "spec" / "openapi.json": document}


def build_document() -> dict[str, Any]:
    # Imported here and not above, because the other targets must run before anything is installed.
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    msgspec = importlib.import_module("msgspec")
    table = importlib.import_module("ignis.api.schema.operations")
    operations = table.OPERATIONS
    transport = tuple(kind.__name__ for kind in table.TRANSPORT)
    version = importlib.import_module("ignis.version").VERSION
    structs: list[Any] = [table.ErrorBody]
    for operation in operations:
        kinds = (operation.error, operation.request, operation.answer, operation.chunk, *operation.messages)
        structs += [kind for kind in kinds if kind is not None]
    # In the order of their first use, so that a new route does not move the others.
    structs = list(dict.fromkeys(structs))
    schemas, components = msgspec.json.schema_components(structs, ref_template="#/components/schemas/{name}")
    references = dict(zip(structs, schemas, strict=True))
    paths: dict[str, Any] = {}
    for operation in operations:
        # What is refused before its route has seen it has the common shape, whatever the route's own is.
        own, common = references[operation.error], references[table.ErrorBody]
        entry = describe(operation, references, own if own == common else {"anyOf": [own, common]}, transport)
        paths.setdefault(operation.path, {})[operation.method.lower()] = entry
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "ignis",
            "version": version,
            "description": INTRODUCTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"key": []}, {"header_key": []}],
        "paths": paths,
        "components": {
            "schemas": {name: needed_first(tidy(schema)) for name, schema in components.items()},
            "responses": {
                str(status): refusal(rows, references[table.ErrorBody]) for status, rows in by_status(transport).items()
            },
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer"},
                "header_key": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
            },
        },
    }


def describe(
    operation: Any, references: dict[type, Any], error: dict[str, Any], transport: tuple[str, ...]
) -> dict[str, Any]:
    entry: dict[str, Any] = {"operationId": operation.name, "summary": operation.summary}
    if operation.text:
        entry["description"] = operation.text
    if operation.is_open:
        entry["security"] = []
    if "{" in operation.path:
        name = operation.path.partition("{")[2].partition("}")[0]
        entry["parameters"] = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}}]
    for name, text in operation.query:
        parameter = {"name": name, "in": "query", "description": text, "schema": {"type": "string"}}
        entry.setdefault("parameters", []).append(parameter)
    if operation.request is not None:
        content = {"application/json": {"schema": references[operation.request]}}
        entry["requestBody"] = {"required": operation.needs_body, "content": content}
    entry["responses"] = responses(operation, references, error, transport)
    return entry


def responses(
    operation: Any, references: dict[type, Any], error: dict[str, Any], transport: tuple[str, ...]
) -> dict[str, Any]:
    schema = {"type": "object"} if operation.answer is None else references[operation.answer]
    content = {operation.answer_type: {"schema": {"type": "string"} if "html" in operation.answer_type else schema}}
    if operation.chunk is not None:
        content["text/event-stream"] = {"schema": event_of(operation, references[operation.chunk], error)}
    found: dict[str, Any] = {
        str(status): {"description": _DONE[status], "content": content} for status in operation.statuses
    }
    if operation.name == "docsRedirect":
        found = {"307": {"description": "To /v1/docs/."}}
    if operation.messages:
        content = {"application/json": {"schema": messages(operation, references)}}
        found = {"101": {"description": "A WebSocket, and what goes over it.", "content": content}}
    names = {*transport, *(kind.__name__ for kind in operation.refusals)}
    if not operation.is_open:
        names.add("InvalidApiKeyError")
    for status, rows in by_status(names).items():
        is_shared = "$ref" in error and all(row["name"] in transport for row in rows)
        found[str(status)] = {"$ref": f"#/components/responses/{status}"} if is_shared else refusal(rows, error)
    return found


def messages(operation: Any, references: dict[type, Any]) -> dict[str, Any]:
    """What goes over a WebSocket; OpenAPI has no words of its own for it."""
    return {"anyOf": [references[kind] for kind in operation.messages]}


def by_status(names: Collection[str]) -> dict[int, list[dict[str, Any]]]:
    """Gives the declared errors of these names, sorted by their status."""
    found: dict[int, list[dict[str, Any]]] = {}
    for row in load("errors.toml")["error"]:
        if row["name"] in names:
            found.setdefault(row["status"], []).append(row)
    return dict(sorted(found.items()))


def refusal(rows: list[dict[str, Any]], error: dict[str, Any]) -> dict[str, Any]:
    """Describes the answer of a status that these errors have."""
    answer: dict[str, Any] = {
        "description": "\n".join(f"- `{row['code']}`: {row['text']}" for row in rows),
        "content": {"application/json": {"schema": error}},
    }
    if rows[0]["status"] in (503, 504) or any("retry_after_s" in row for row in rows):
        answer["headers"] = {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer"}}}
    return answer


def event_of(operation: Any, chunk: dict[str, Any], error: dict[str, Any]) -> dict[str, Any]:
    """Describes one event as readers of event streams see it: its data is the JSON text of a chunk, or of an error."""
    data: dict[str, Any] = {
        "type": "string",
        "contentMediaType": "application/json",
        "contentSchema": {"anyOf": [chunk, error]},
    }
    if operation.has_done:
        data = {"anyOf": [{"const": "[DONE]"}, data]}
    return {"type": "object", "properties": {"event": {"type": "string"}, "data": data}, "required": ["data"]}


def needed_first(schema: dict[str, Any]) -> dict[str, Any]:
    """Orders the fields of a body as people look for them."""
    if "properties" in schema:
        needed = schema.get("required", [])
        schema["properties"] = dict(sorted(schema["properties"].items(), key=lambda field: field[0] not in needed))
    return schema


def tidy(schema: Any) -> Any:
    """Lifts description and x-ignis of a nullable field out of its first alternative, where readers look for them."""
    if isinstance(schema, list):
        return [tidy(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: tidy(value) for key, value in schema.items() if key != "default" or value is not None}
    for alternative in schema.get("anyOf", []):
        for key in ("description", "x-ignis"):
            if key in alternative and key not in schema:
                schema[key] = alternative.pop(key)
    if "anyOf" in schema:
        nested = [inner.get("anyOf", [inner]) if inner.keys() == {"anyOf"} else [inner] for inner in schema["anyOf"]]
        schema["anyOf"] = [alternative for inner in nested for alternative in inner]
    return schema
