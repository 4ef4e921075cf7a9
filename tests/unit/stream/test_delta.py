"""Detokenising and stop strings together."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from ignis.stream.delta import Piece, TextOut
from tests.fakes.vocabulary import byte_tokenizer


def _run(stops: list[str], groups: list[list[int]]) -> tuple[str, bool, int]:
    """The whole text, whether a stop string ended it, and how many tokens count."""
    out = TextOut(byte_tokenizer(), stops)
    pieces = [*(out.push(group) for group in groups), out.finish()]
    return "".join(piece.text for piece in pieces), pieces[-1].stopped, sum(piece.tokens for piece in pieces)


def test_tokens_after_the_stop_string_do_not_count() -> None:
    out = TextOut(byte_tokenizer(), ["STOP"])
    assert out.push(list(b"abSTOPcd")) == Piece("ab", stopped=True, tokens=6)
    assert out.push(list(b"more")) == Piece("", stopped=True, tokens=0)


def test_without_stop_strings_text_goes_at_once() -> None:
    assert TextOut(byte_tokenizer(), []).push(list(b"abc")) == Piece("abc", stopped=False, tokens=3)


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
