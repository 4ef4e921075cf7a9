"""Detokenising and stop strings together."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ignis.stream.delta import Piece, TextOut
from ignis.stream.dialects import LLAMA3, QWEN_JSON, OutputDialect
from ignis.stream.parts import CallArguments, CallBegin, Content, Reasoning
from tests.fakes.vocabulary import byte_tokenizer
from tests.unit.stream.test_splitter import CASES, TOOLS, Split, join


def _run(stops: list[str], groups: list[list[int]]) -> tuple[str, bool, int]:
    """The whole text, whether a stop string ended it, and how many tokens count."""
    out = TextOut(byte_tokenizer(), stops)
    pieces = [*(out.push(group) for group in groups), out.finish()]
    texts = [part.text for piece in pieces for part in piece.parts if isinstance(part, Content)]
    return "".join(texts), pieces[-1].stopped, sum(piece.tokens for piece in pieces)


def test_tokens_after_the_stop_string_do_not_count() -> None:
    out = TextOut(byte_tokenizer(), ["STOP"])
    assert out.push(list(b"abSTOPcd")) == Piece((Content("a"), Content("b")), stopped=True, tokens=6)
    assert out.push(list(b"more")) == Piece((), stopped=True, tokens=0)


def test_without_stop_strings_text_goes_at_once() -> None:
    assert TextOut(byte_tokenizer(), []).push(list(b"abc")) == Piece((Content("abc"),), stopped=False, tokens=3)


def test_a_stop_string_may_be_part_of_a_character_run_split_over_tokens() -> None:
    assert _run(["é!"], [[0x61, 0xC3], [0xA9], [0x21], [0x62]]) == ("a", True, 4)


def test_the_replacement_of_a_broken_last_character_can_complete_a_stop_string() -> None:
    assert _run(["a\ufffd"], [[0x61, 0xC3]]) == ("", True, 2)


@given(
    data=st.binary(max_size=30).map(lambda data: bytes(byte % 4 + 0x61 if byte < 0xC0 else byte for byte in data)),
    stops=st.lists(st.text("abcd\ufffd", min_size=1, max_size=3), max_size=3),
    cuts=st.lists(st.integers(0, 30), max_size=8),
)
def test_grouping_changes_nothing(data: bytes, stops: list[str], cuts: list[int]) -> None:
    bounds = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    groups = [list(data[start:stop]) for start, stop in itertools.pairwise(bounds)]
    assert _run(stops, groups) == _run(stops, [[byte] for byte in data]) == _run(stops, [list(data)])


def test_a_control_token_that_is_a_tag_is_seen_as_one() -> None:
    tokenizer = byte_tokenizer(["<|python_tag|>", "<|eot_id|>"])
    out = TextOut(tokenizer, [], LLAMA3, tools={"f": {}})
    parts = out.push([256, *b'{"name": "f", "parameters": {}}', 257]).parts
    assert parts == (CallBegin(0, "f"), CallArguments(0, "{}"))
    assert out.has_calls
    assert out.token_bytes(256) == b"<|python_tag|>"
    assert out.token_bytes(257) == b""


def test_the_last_allowed_call_ends_the_text_at_its_last_token() -> None:
    call = b'<tool_call>{"name": "f", "arguments": {}'
    out = TextOut(byte_tokenizer(), [], QWEN_JSON, tools={"f": {}}, max_calls=1)
    piece = out.push(list(call + b"}</tool_call> and more"))
    assert (piece.stopped, piece.tokens) == (True, len(call))
    assert out.has_calls
    assert out.finish() == Piece((), stopped=True, tokens=0)


def test_bytes_are_decided_when_they_are_passed_on_or_dropped() -> None:
    out = TextOut(byte_tokenizer(), [], QWEN_JSON)
    seen = [(out.push(list(text)).parts, out.num_decided_bytes) for text in (b"<think>", b"a\n", b"</think>\n", b"b<")]
    assert seen == [((), 7), ((Reasoning("a"),), 8), ((), 17), ((Content("b"),), 19)]


@pytest.mark.parametrize(("dialect", "text", "expected"), CASES)
def test_a_text_is_split_alike_at_every_byte(dialect: OutputDialect, text: str, expected: Split) -> None:
    out = TextOut(byte_tokenizer(), ["\0"], dialect, tools=TOOLS)
    pieces = [*(out.push((byte,)) for byte in text.encode()), out.finish()]
    parts = [part for piece in pieces for part in piece.parts]
    assert Split(*join(parts), has_calls=out.has_calls) == expected


def test_a_held_text_is_what_was_held_to_the_byte() -> None:
    tokenizer = byte_tokenizer(leads_with_space=True)
    text = ' a <think>b</think> <tool_call>{"name": "weather", "arguments": {}}</tool_call> <tool'
    out = TextOut(tokenizer, (), QWEN_JSON, tools=TOOLS, is_held=True)
    parts = [*out.push(list(text.encode())).parts, *out.finish().parts]
    assert parts == [Content(text)]
    free = TextOut(tokenizer, (), QWEN_JSON, tools=TOOLS)
    assert free.push(list(text.encode())).parts[0] == Content("a ")


def test_reasoning_before_a_held_text_is_reasoning() -> None:
    out = TextOut(byte_tokenizer(), (), QWEN_JSON, is_held=True, is_in_reasoning=True)
    parts = [*out.push(list(b'so\n</think>\n\n{"a": "</think>"}')).parts, *out.finish().parts]
    assert parts == [Reasoning("so"), Content('{"a": "</think>"}')]
