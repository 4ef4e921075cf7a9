"""Whatever comes as a body of Responses or as a message of its socket is answered, and never by a fault of ours."""

import json
from functools import partial
from typing import Any

import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ignis.api.schema.response_items import InputItem
from ignis.api.schema.responses import CreateEvent, ResponseRequest, ResponseTool
from tests.fakes.exchange import FakeExchange
from tests.fakes.response_reader import read_response
from tests.unit.api.rig import Rig
from tests.unit.api.test_fuzz import TEXTS, VALUES
from tests.unit.api.test_response_socket import opened_socket
from tests.unit.api.test_responses import PATH, rig

KINDS = st.sampled_from(
    [
        "message",
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "custom_tool_call_output",
        "reasoning",
        "item_reference",
        "x",
    ]
)
ROLES = st.sampled_from(["user", "assistant", "developer", "tool", None])
PARTS = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["input_text", "output_text", "refusal", "input_image", "summary_text"])},
        optional={"text": TEXTS | VALUES, "refusal": TEXTS},
    ),
    max_size=3,
)
ITEMS = st.lists(
    st.builds(
        lambda item, role, kind: {**item, "type": kind, "role": role},
        st.dictionaries(
            st.sampled_from(sorted(InputItem.__struct_encode_fields__)), TEXTS | PARTS | VALUES, max_size=5
        ),
        ROLES,
        KINDS,
    ),
    max_size=4,
)
TOOLS = st.lists(
    st.dictionaries(st.sampled_from(sorted(ResponseTool.__struct_encode_fields__)), TEXTS | VALUES, max_size=4).flatmap(
        lambda tool: st.sampled_from(["function", "custom", "namespace", "web_search", "mcp"]).map(
            lambda kind: {**tool, "type": kind}
        )
    ),
    max_size=3,
)


def bodies(struct: type[Any]) -> st.SearchStrategy[dict[str, Any]]:
    names = st.sampled_from(sorted(struct.__struct_encode_fields__)) | TEXTS
    return st.builds(
        lambda fields, given: {**fields, **{key: value for key, value in given.items() if value is not None}},
        st.dictionaries(names, VALUES, max_size=3),
        st.fixed_dictionaries({"input": TEXTS | ITEMS | st.none(), "tools": st.none() | TOOLS}),
    )


fuzz = settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])


@fuzz
@given(bodies(ResponseRequest))
def test_bodies(body: dict[str, Any]) -> None:
    opened = rig(default_max_tokens=8)
    exchange = FakeExchange("POST", PATH, body=json.dumps(body).encode())
    trio.run(opened.router, exchange)
    if exchange._stream is not None:
        assert exchange.stream.is_closed
        read_response(event.json() for event in exchange.events)
        return
    answer = exchange.answer
    assert answer.status < 500, (answer.body, opened.log_stream.getvalue())
    if answer.status == 200:
        # What was taken is kept, and can be listed and gone on from.
        trio.run(go_on, opened, answer.json())
    else:
        error = answer.json()["error"]
        assert error["message"] and error["type"] and error["code"]


async def go_on(opened: Rig, made: dict[str, Any]) -> None:
    if not made["store"]:
        return
    listed = await opened.answer("GET", f"{PATH}/{made['id']}/input_items")
    assert listed.status == 200 and all(item["id"] and item["type"] for item in listed.json()["data"])
    fields = {"input": "And?", "previous_response_id": made["id"], "max_output_tokens": 4}
    assert (await opened.answer("POST", PATH, fields)).status < 500


@fuzz
@given(st.lists(bodies(CreateEvent), min_size=1, max_size=3))
def test_messages_of_a_socket(messages: list[dict[str, Any]]) -> None:
    trio.run(partial(talk, [{"type": "response.create", **message} for message in messages]))


async def talk(messages: list[dict[str, Any]]) -> None:
    opened = rig(default_max_tokens=8)
    async with opened_socket(opened) as socket:
        for message in messages:
            socket.say(message)
    # The socket has drained: each message has its end.
    heard = socket.heard()
    ends = [
        event
        for event in heard
        if event["type"] == "error" or "completed" in event["type"] or "incompl" in event["type"]
    ]
    assert len(ends) == len(messages), heard
    assert all(event["status"] < 500 for event in ends if event["type"] == "error"), opened.log_stream.getvalue()
