"""spec/openapi.json: whole, in step with the routes and the structs, and served as it is."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from ignis import bundle
from ignis.api.schema.chat_completions import ChatCompletionRequest
from ignis.api.schema.operations import OPERATIONS, TRANSPORT
from tests.unit.api.rig import Rig

TEXT = bundle.path("spec/openapi.json").read_text(encoding="utf-8")
DOCUMENT = json.loads(TEXT)


def nodes(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from nodes(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from nodes(inner)


def test_generated_files_are_what_the_declarations_say() -> None:
    command = [sys.executable, str(bundle.path("spec/generate.py")), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_reference_leads_somewhere() -> None:
    references = {node["$ref"] for node in nodes(DOCUMENT) if "$ref" in node}
    assert references
    for reference in references:
        start, kind, name = reference.removeprefix("#/").split("/")
        assert start == "components" and name in DOCUMENT[start][kind], reference


def test_the_document_has_every_route_of_the_router_under_v1_and_no_other() -> None:
    documented = {(method.upper(), path) for path, methods in DOCUMENT["paths"].items() for method in methods}
    routed = {(route.method, route.path) for route in Rig().router.routes}
    assert documented <= routed
    # The same page with and without its slash is one entry.
    assert {entry for entry in routed if entry[1].startswith("/v1")} - documented == {("GET", "/v1/docs")}
    assert documented == {(operation.method, operation.path) for operation in OPERATIONS}


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_operation_says_its_answers_and_its_errors(operation: Any) -> None:
    entry = DOCUMENT["paths"][operation.path][operation.method.lower()]
    assert entry["operationId"] == operation.name
    assert entry["summary"]
    shared = DOCUMENT["components"]["responses"]
    answers = {
        status: shared[answer["$ref"].rpartition("/")[2]] if "$ref" in answer else answer
        for status, answer in entry["responses"].items()
    }
    for kind in (*operation.refusals, *TRANSPORT):
        assert kind.code in answers[str(kind.status)]["description"]
    assert ("401" in answers) == (not operation.is_open)
    assert all(answer["description"] for answer in answers.values())


def test_operation_ids_are_unique() -> None:
    names = [operation.name for operation in OPERATIONS]
    assert len(names) == len(set(names))


def test_every_field_of_a_chat_body_is_documented_with_its_kind_and_text() -> None:
    fields = DOCUMENT["components"]["schemas"]["ChatCompletionRequest"]["properties"]
    assert set(fields) == set(ChatCompletionRequest.__struct_encode_fields__)
    for name, field in fields.items():
        assert field["x-ignis"] in ("honoured", "inert", "refused"), name
        assert field["description"], name


def test_ranges_are_in_the_document() -> None:
    fields = DOCUMENT["components"]["schemas"]["ChatCompletionRequest"]["properties"]
    assert fields["temperature"]["anyOf"][0] == {"type": "number", "minimum": 0, "maximum": 2}
    assert fields["n"]["anyOf"][0] == {"type": "integer", "minimum": 1, "maximum": 8}


async def test_it_is_served_as_it_is() -> None:
    answer = await Rig().answer("GET", "/v1/openapi.json")
    assert answer.content_type == "application/json"
    assert answer.body.decode() == TEXT
    assert msgspec.json.decode(answer.body)["openapi"] == "3.1.0"
