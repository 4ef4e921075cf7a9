"""Broken-off input is closed as their SDK closes it, blocks follow the parts, and signatures carry what they should."""

import json
from typing import Any

import jiter
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ignis.api.anthropic_blocks import BlockGatherer, BlockWriter, whole_object
from ignis.api.anthropic_signature import ThinkingSignature, hidden_reasoning
from ignis.api.schema.anthropic_answer import ContentBlockStart, ContentBlockStop
from ignis.errors import InvalidRequestError
from ignis.stream.parts import CallArguments, CallBegin, Content, Part, Reasoning

SCALARS = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    SCALARS | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=10,
)  # fmt: skip
OBJECTS = st.dictionaries(st.text(max_size=5), VALUES, max_size=4)
PARTS = st.one_of(
    st.builds(Content, st.text(min_size=1)),
    st.builds(Reasoning, st.text(min_size=1)),
    st.tuples(OBJECTS, st.integers(0, 40)).map(
        lambda made: (CallBegin(0, "f"), CallArguments(0, json.dumps(made[0])[: made[1]]))
    ),
)


def flat(parts: list[Any]) -> list[Part]:
    return [part for item in parts for part in (item if isinstance(item, tuple) else (item,))]


@given(OBJECTS, st.integers(0, 200), st.sampled_from([None, 1]))
def test_input_that_is_broken_off_anywhere_is_closed_as_the_sdk_closes_it(
    value: dict[str, Any], length: int, indent: int | None
) -> None:
    text = json.dumps(value, indent=indent)
    assert whole_object(text) == text
    part = text[:length]
    closed = json.loads(whole_object(part))
    assert closed == (jiter.from_json(part.encode(), partial_mode=True) if part.strip() else {})


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("", "{}"),
        ("{", "{}"),
        ('{"a"', "{}"),
        ('{"a": [1, {"b": 2}, 3', '{"a": [1, {"b": 2}, 3 ]}'),
        ('{"a": "x, y", "b": tru', '{"a": "x, y"}'),
        ('{"a": 1.', "{}"),
        ('{"a": {"b": [', '{"a": {"b": []}}'),
    ],
)
def test_what_is_whole_of_it_is_kept(text: str, closed: str) -> None:
    assert json.loads(whole_object(text)) == json.loads(closed)


@given(st.lists(PARTS, max_size=8))
def test_one_block_is_open_at_a_time_and_all_are_closed(parts: list[Any]) -> None:
    writer, gatherer = BlockWriter(), BlockGatherer()
    events = [event for part in flat(parts) for event in writer.write(part)] + list(writer.finish())
    is_open, index = False, -1
    for event in events:
        gatherer.add(event)
        if isinstance(event, ContentBlockStart):
            assert not is_open
            is_open, index = True, index + 1
        else:
            assert is_open
            is_open = not isinstance(event, ContentBlockStop)
        assert event.index == index
    assert not is_open
    blocks = json.loads(msgspec.json.encode(gatherer.blocks))
    assert "".join(block.get("text", "") for block in blocks) == "".join(
        part.text for part in flat(parts) if isinstance(part, Content)
    )
    assert "".join(block.get("thinking", "") for block in blocks) == "".join(
        part.text for part in flat(parts) if isinstance(part, Reasoning)
    )
    assert all(block["signature"] for block in blocks if block["type"] == "thinking")


def signature_of(pieces: list[str], *, is_hidden: bool) -> str:
    signature = ThinkingSignature(is_hidden=is_hidden)
    for piece in pieces:
        signature.add(piece)
    return signature.finish()


@given(st.lists(st.text(), max_size=5))
def test_a_signature_depends_on_the_text_alone_and_brings_it_back_where_it_was_left_out(pieces: list[str]) -> None:
    text = "".join(pieces)
    for is_hidden in (False, True):
        assert signature_of(pieces, is_hidden=is_hidden) == signature_of([text], is_hidden=is_hidden)
    assert hidden_reasoning(signature_of(pieces, is_hidden=True), "x") == text
    assert hidden_reasoning(signature_of(pieces, is_hidden=False), "x") == ""


@pytest.mark.parametrize("signature", ["", "EqQBCgIYAhIM", "é"])
def test_a_foreign_signature_carries_nothing(signature: str) -> None:
    assert hidden_reasoning(signature, "x") == ""


def test_a_signature_of_ours_that_was_changed_is_refused_by_name() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        hidden_reasoning(signature_of(["hm"], is_hidden=True) + "!", "messages[0].content[0].signature")
    assert caught.value.param == "messages[0].content[0].signature"
