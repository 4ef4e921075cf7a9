"""Whole, streamed and over a socket: the same request has the same response, whatever the model writes."""

from functools import partial
from typing import Any

import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.engine import Script, script
from tests.fakes.response_reader import without_ids
from tests.unit.api.test_response_socket import ask, opened_socket
from tests.unit.api.test_responses import F, make, rig, stream

CUSTOM = {"type": "custom", "name": "c"}
FRAGMENTS = [
    "<think>",
    "</think>",
    "\n",
    "It rains. ",
    "\u00e9\U0001f98a",
    "<tool_call>",
    "</tool_call>",
    '{"name": "f", "arguments": {"a": 1}}',
    '{"name": "c", "arguments": {"input": "x\\ny"}}',
    '{"name": "f", "arguments": {"a": ',
    "STOP",
    "<tool",
]
requests = st.fixed_dictionaries(
    {"seed": st.just(1), "store": st.just(False)},
    optional={
        "tools": st.just([F, CUSTOM]),
        "max_output_tokens": st.integers(1, 60),
        "stop": st.just(["STOP", "rains"]),
        "parallel_tool_calls": st.booleans(),
        "include": st.lists(
            st.sampled_from(["message.output_text.logprobs", "reasoning.encrypted_content"]), unique=True
        ),
        "instructions": st.just("Be brief."),
        "metadata": st.just({"a": "b"}),
    },
)


@settings(max_examples=60, deadline=None)
@given(
    fields=requests,
    text=st.lists(st.sampled_from(FRAGMENTS), max_size=8).map("".join),
    tokens_per_event=st.integers(1, 9),
)
def test_whole_stream_and_socket_are_one_answer(fields: dict[str, Any], text: str, tokens_per_event: int) -> None:
    trio.run(partial(hold_together, fields, script(text, tokens_per_event=tokens_per_event)))


async def hold_together(fields: dict[str, Any], played: Script) -> None:
    whole = await make(rig(played), **fields)
    streamed = await stream(rig(played), **fields)
    async with opened_socket(rig(played)) as socket:
        told = await ask(socket, **fields)
    assert without_ids(whole) == without_ids(streamed) == without_ids(told)
    assert whole["usage"] == streamed["usage"] == told["usage"]
