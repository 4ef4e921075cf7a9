"""What is larger than ignis/limits.py allows is refused by name, on every route that has the field."""

import json
from typing import Any

import pytest

from ignis import limits
from ignis.api.schema.operations import OPERATIONS
from tests.fakes.engine import byte_model
from tests.unit.api.rig import HI, MESSAGES, Rig, code_of, param_of

INVALID = "invalid_request_error"
SAMPLING = "invalid_sampling_parameter"
TEMPLATE = "{{ messages[0].content }}{% if tools %}{% endif %}"
BODIES = [operation for operation in OPERATIONS if operation.method == "POST" and operation.request is not None]
COUNT = f"{MESSAGES}/count_tokens"
CHAT, TEXT, TOKENIZE = "/v1/chat/completions", "/v1/completions", "/v1/tokenize"
RESPONSES, INPUT = "/v1/responses", "/v1/responses/input_tokens"
NEEDED: dict[str, dict[str, Any]] = {
    CHAT: {"messages": HI},
    TEXT: {"prompt": "a"},
    TOKENIZE: {"messages": HI},
    "/v1/detokenize": {"token_ids": []},
    MESSAGES: {"messages": HI, "max_tokens": 9},
    RESPONSES: {"input": "Hi"},
    INPUT: {"input": "Hi"},
    COUNT: {"messages": HI},
}


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


def tool(name: str = "f", parameters: Any = None) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def tools(count: int) -> list[dict[str, Any]]:
    return [tool(f"f{index}") for index in range(count)]


def calls(count: int) -> list[dict[str, Any]]:
    return [*HI, {"role": "assistant", "tool_calls": [{"function": {"name": "f"}}] * count}]


def parts(count: int) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "text", "text": ""}] * count}]


def uses(count: int, given: Any = None) -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": "c", "name": "f", "input": given or {}}
    return [*HI, {"role": "assistant", "content": [call] * count}, *HI]


def results(count: int) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", **parts(count)[0]}]}]


def schema(size_bytes: int) -> dict[str, str]:
    return {"a": "x" * (size_bytes - len('{"a":""}'))}


def words(count: int) -> list[str]:
    return [f"w{index}" for index in range(count)]


def input_parts(count: int) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "input_text", "text": ""}] * count}]


def flat_tools(count: int) -> list[dict[str, Any]]:
    return [{"type": "function", "name": f"f{index}"} for index in range(count)]


def group(inner: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "namespace", "name": "n", "tools": inner}


def properties(count: int) -> dict[str, Any]:
    return {"type": "object", "properties": {f"p{index}": {"type": "null"} for index in range(count)}}


def described(size_bytes: int) -> dict[str, Any]:
    found = {"type": "null", "description": ""}
    return {**found, "description": "x" * (size_bytes - len(json.dumps(found, separators=(",", ":"))))}


def grammar(num_characters: int) -> str:
    return 'start: "a"\n//'.ljust(num_characters, "x")


USED = "messages[1].content[0].input"
HELD = (CHAT, TEXT)
CASES = [
    # routes, field, value of a size, the limit, code, param
    ((CHAT, TOKENIZE), "messages", lambda n: HI * n, limits.MAX_MESSAGES, INVALID, "messages"),
    ((CHAT, TOKENIZE), "messages", parts, limits.MAX_PARTS, INVALID, "messages[0].content"),
    ((CHAT, TOKENIZE), "messages", calls, limits.MAX_TOOLS, INVALID, "messages[1].tool_calls"),
    ((CHAT, TOKENIZE), "tools", tools, limits.MAX_TOOLS, INVALID, "tools"),
    (
        (CHAT, TOKENIZE),
        "tools",
        lambda n: [tool("f" * n)],
        limits.MAX_TOOL_NAME_CHARACTERS,
        INVALID,
        "tools[0].function.name",
    ),
    (
        (CHAT, TOKENIZE),
        "tools",
        lambda n: [tool(parameters=deep(n))],
        limits.MAX_DEPTH - 1,
        INVALID,
        "tools[0].function.parameters",
    ),
    (
        (CHAT, TOKENIZE),
        "tools",
        lambda n: [tool(parameters=schema(n))],
        limits.MAX_SCHEMA_BYTES,
        INVALID,
        "tools[0].function.parameters",
    ),
    ((CHAT,), "grammar", lambda n: 'start: "a"' + "\n" * n, limits.MAX_GRAMMAR_PARTS, INVALID, "grammar"),
    # The schema, its list, and what stands in that.
    ((CHAT,), "guided_json", lambda n: {"enum": list(range(n - 2))}, limits.MAX_SCHEMA_PARTS, INVALID, "guided_json"),
    ((CHAT, TEXT, TOKENIZE), "n", lambda n: n, limits.MAX_CHOICES, INVALID, "n"),
    ((CHAT, TEXT), "stop", lambda n: ["x"] * n, limits.MAX_STOPS, INVALID, "stop"),
    ((CHAT, TEXT), "stop", lambda n: "x" * n, limits.MAX_STOP_CHARACTERS, INVALID, "stop"),
    ((CHAT, TEXT), "stop", lambda n: ["x" * n], limits.MAX_STOP_CHARACTERS, INVALID, "stop[0]"),
    ((TEXT,), "logprobs", lambda n: n, limits.MAX_TOP_LOGPROBS, SAMPLING, "logprobs"),
    ((CHAT, TOKENIZE), "top_logprobs", lambda n: n, limits.MAX_TOP_LOGPROBS, SAMPLING, "top_logprobs"),
    (
        (CHAT, TEXT, TOKENIZE),
        "logit_bias",
        lambda n: {f"{i}": 0 for i in range(n)},
        limits.MAX_LOGIT_BIAS,
        SAMPLING,
        "logit_bias",
    ),
    ((TEXT,), "prompt", lambda n: ["a"] * n, limits.MAX_PROMPTS, INVALID, "prompt"),
    ((MESSAGES, COUNT), "messages", lambda n: HI * n, limits.MAX_MESSAGES, INVALID, "messages"),
    ((MESSAGES, COUNT), "messages", parts, limits.MAX_PARTS, INVALID, "messages[0].content"),
    ((MESSAGES, COUNT), "messages", results, limits.MAX_PARTS, INVALID, "messages[0].content[0].content"),
    ((MESSAGES, COUNT), "messages", uses, limits.MAX_TOOLS, INVALID, "messages[1].content"),
    ((MESSAGES, COUNT), "messages", lambda n: uses(1, deep(n)), limits.MAX_DEPTH - 1, INVALID, USED),
    ((MESSAGES, COUNT), "system", lambda n: parts(n)[0]["content"], limits.MAX_PARTS, INVALID, "system"),
    ((MESSAGES, COUNT), "tools", lambda n: [{"name": f"f{i}"} for i in range(n)], limits.MAX_TOOLS, INVALID, "tools"),
    (
        (MESSAGES, COUNT),
        "tools",
        lambda n: [{"name": "f" * n}],
        limits.MAX_TOOL_NAME_CHARACTERS,
        INVALID,
        "tools[0].name",
    ),
    (
        (MESSAGES, COUNT),
        "tools",
        lambda n: [{"name": "f", "input_schema": schema(n)}],
        limits.MAX_SCHEMA_BYTES,
        INVALID,
        "tools[0].input_schema",
    ),
    ((RESPONSES, INPUT), "input", lambda n: HI * n, limits.MAX_MESSAGES, INVALID, "input"),
    ((RESPONSES, INPUT), "input", input_parts, limits.MAX_PARTS, INVALID, "input[0].content"),
    ((RESPONSES, INPUT), "tools", lambda n: flat_tools(n), limits.MAX_TOOLS, INVALID, "tools"),
    ((RESPONSES, INPUT), "tools", lambda n: [group(flat_tools(n))], limits.MAX_TOOLS, INVALID, "tools[0].tools"),
    (
        (RESPONSES, INPUT),
        "tools",
        lambda n: [{"type": "function", "name": "f" * n}],
        limits.MAX_TOOL_NAME_CHARACTERS,
        INVALID,
        "tools[0].name",
    ),
    (
        (RESPONSES, INPUT),
        "tools",
        lambda n: [{"type": "function", "name": "f", "parameters": schema(n)}],
        limits.MAX_SCHEMA_BYTES,
        INVALID,
        "tools[0].parameters",
    ),
    (
        (RESPONSES, INPUT),
        "tools",
        lambda n: [group([{"type": "function", "name": "f", "parameters": deep(n)}])],
        limits.MAX_DEPTH - 1,
        INVALID,
        "tools[0].tools[0].parameters",
    ),
    ((RESPONSES,), "stop", lambda n: ["x"] * n, limits.MAX_STOPS, INVALID, "stop"),
    ((RESPONSES,), "metadata", lambda n: {f"{i}": "" for i in range(n)}, limits.MAX_METADATA, INVALID, "metadata"),
    ((MESSAGES,), "stop_sequences", lambda n: ["x"] * n, limits.MAX_STOPS, INVALID, "stop_sequences"),
    ((MESSAGES,), "stop_sequences", lambda n: ["x" * n], limits.MAX_STOP_CHARACTERS, INVALID, "stop_sequences[0]"),
    (HELD, "guided_regex", lambda n: "a" * n, limits.MAX_REGEX_CHARACTERS, INVALID, "guided_regex"),
    (HELD, "guided_choice", words, limits.MAX_LISTED_CHOICES, INVALID, "guided_choice"),
    (HELD, "guided_choice", lambda n: ["a" * n], limits.MAX_LISTED_CHARACTERS, INVALID, "guided_choice"),
    (HELD, "grammar", grammar, limits.MAX_GRAMMAR_CHARACTERS, INVALID, "grammar"),
    (HELD, "guided_json", described, limits.MAX_SCHEMA_BYTES, INVALID, "guided_json"),
    (HELD, "guided_json", properties, limits.MAX_SCHEMA_PROPERTIES, INVALID, "guided_json"),
    ((RESPONSES,), "stop", lambda n: "x" * n, limits.MAX_STOP_CHARACTERS, INVALID, "stop"),
    ((RESPONSES,), "top_logprobs", lambda n: n, limits.MAX_TOP_LOGPROBS, SAMPLING, "top_logprobs"),
    (
        (RESPONSES, MESSAGES),
        "logit_bias",
        lambda n: {f"{i}": 0 for i in range(n)},
        limits.MAX_LOGIT_BIAS,
        SAMPLING,
        "logit_bias",
    ),
    (("/v1/detokenize",), "token_ids", lambda n: [0] * n, limits.MAX_TOKEN_IDS, INVALID, "token_ids"),
]


@pytest.mark.parametrize(
    ("path", "field", "value", "limit", "code", "param"), [(path, *case[1:]) for case in CASES for path in case[0]]
)
async def test_one_more_than_the_limit_is_refused_by_name(
    path: str, field: str, value: Any, limit: int, code: str, param: str
) -> None:
    rig = Rig(model=byte_model(template=TEMPLATE), dialect="hermes")
    body = NEEDED[path]
    if field == "top_logprobs":
        body = {**body, **({"include": ["message.output_text.logprobs"]} if path == RESPONSES else {"logprobs": True})}
    over = await rig.answer("POST", path, {**body, field: value(limit + 1)})
    assert over.status == 400, over.body[:300]
    error = over.json()["error"]
    assert (code_of(over.json()), param_of(over.json())) == (code, param)
    assert any(str(number) in error["message"] for number in (limit, limit + 1)), error["message"]
    # The limit itself is no fault of the field's: it is served, or too long for the context or the lanes of the rig.
    whole = await rig.answer("POST", path, {**body, field: value(limit)})
    assert whole.status == 200 or param_of(whole.json()) != param or "context" in code_of(whole.json())


@pytest.mark.parametrize("operation", BODIES, ids=lambda operation: operation.path)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b"\xff\xfe{}",
        b'{"model": "\xc3\x28"}',
        b'{"model": "\\ud800"}',
        b'{"model": "\\ud800", "messages": [{"role": "user", "content": "\\udfff"}], "prompt": "\\ud800"}',
        b'{"temperature": NaN}',
        b'{"temperature": 1e999}',
        b'{"temperature": -' + b"9" * 400 + b"}",
        b'{"seed": ' + b"9" * 100_000 + b"}",
        b'{"token_ids": [' + b"9" * 400 + b"]}",
        b'{"prompt": [[' + b"9" * 400 + b"]]}",
        b'{"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"messages": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}",
        b'{"tools": ' + b"[" * 100_000,
        b'{"messages": []} {}',
        json.dumps({f"unknown {index}": 1 for index in range(limits.MAX_IGNORED + 1)}).encode(),
    ],
)
async def test_no_body_is_a_fault_of_ours(operation: Any, body: bytes) -> None:
    rig = Rig()
    exchange = await rig.call("POST", operation.path, body)
    if not operation.needs_body and exchange.answer.status == 200:
        # Nothing was asked for, or what nobody knows.
        return
    assert exchange.answer.status in (400, 404), (exchange.answer.status, exchange.answer.body[:300])
    error = exchange.answer.json()["error"]
    assert error["message"] and len(error["message"]) < 1000
    assert rig.engine.submissions == []


@pytest.mark.parametrize(("path", "first", "second"), [(CHAT, b"3", b"0"), (TEXT, b"3", b"0")])
async def test_the_last_of_two_equal_keys_counts(path: str, first: bytes, second: bytes) -> None:
    needed = json.dumps(NEEDED[path])[:-1].encode()
    rig = Rig()
    answer = await rig.answer(
        "POST", path, needed + b', "temperature": ' + first + b', "temperature": ' + second + b"}"
    )
    assert answer.status == 200
    assert rig.engine.submissions[0].sampling.temperature == 0


@pytest.mark.parametrize("path", [CHAT, TEXT])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (rb"\ud83d", "\ufffd"),
        (rb"a\udE00b", "a\ufffdb"),
        (rb"\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
        (rb"\ud83d\n", "\ufffd\n"),
        (rb"\\ud83d \ud83d", "\\ud83d \ufffd"),
    ],
)
async def test_half_a_surrogate_pair_in_a_prompt_is_the_replacement_character(
    path: str, text: bytes, expected: str
) -> None:
    rig = Rig(model=byte_model(template=TEMPLATE))
    body = b'{"messages": [{"role": "user", "content": "%b"}]}' if path == CHAT else b'{"prompt": "%b"}'
    assert (await rig.answer("POST", path, body % text)).status == 200
    assert bytes(rig.engine.submissions[0].prompt).decode() == expected


def test_every_limit_is_tried() -> None:
    # Those that no single body reaches are tried on the wire, on a socket, or where a schema is compiled.
    elsewhere = {
        "MAX_TARGET_BYTES",
        "MAX_HEADER_FIELDS",
        "MAX_HEADER_BYTES",
        "MAX_IGNORED",
        "MAX_SCHEMA_COST",
        "MAX_HELD_BYTES",
        "MAX_FORCED_CALLS",
        "MAX_SCORED_TOKENS",
        "MAX_STREAMS",
        "MAX_STREAM_ID_CHARACTERS",
        "MAX_ACTIVE_RESPONSES",
        "MAX_WAITING_RESPONSES",
    }
    tried = {case[3] for case in CASES} | {limits.MAX_DEPTH}
    declared = {name: getattr(limits, name) for name in vars(limits) if name.startswith("MAX_")}
    assert {name for name, value in declared.items() if value not in tried} <= elsewhere <= declared.keys()
