"""Token ids to text while they come."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from ignis.stream.detokenize import Detokenizer
from tests.fakes.vocabulary import byte_tokenizer


def _pieces(groups: list[list[int]], leads_with_space: bool = False) -> list[str]:
    detokenizer = Detokenizer(byte_tokenizer(["<|end|>"], leads_with_space=leads_with_space))
    return [*(detokenizer.push(group) for group in groups), detokenizer.finish()]


def test_a_character_split_over_tokens_comes_out_whole() -> None:
    assert _pieces([[0xF0, 0x9F], [0x98, 0x80]]) == ["", "😀", ""]


def test_bytes_that_are_no_character_are_replaced_once_that_is_certain() -> None:
    assert _pieces([[0xF0, 0x9F], [0x41], [0xFF]]) == ["", "\ufffdA", "\ufffd", ""]


def test_a_character_that_is_never_finished_is_replaced_at_the_end() -> None:
    assert _pieces([[0x61, 0xE2, 0x82]]) == ["a", "\ufffd"]


def test_control_tokens_have_no_text() -> None:
    assert _pieces([[0x61, 256, 0x62]]) == ["ab", ""]


def test_only_the_first_space_of_an_answer_belongs_to_the_encoding() -> None:
    assert _pieces([[256], [0x20], [0x20, 0x61]], leads_with_space=True) == ["", "", " a", ""]


def test_eight_answers_side_by_side_keep_their_bytes_apart() -> None:
    tokenizer = byte_tokenizer()
    emoji = [chr(0x1F600 + index) for index in range(8)]
    lanes = [Detokenizer(tokenizer) for _ in emoji]
    texts = [""] * 8
    for step in range(4):
        for lane, character in enumerate(emoji):
            texts[lane] += lanes[lane].push([character.encode()[step]])
    assert texts == emoji


@given(data=st.binary(max_size=40), cuts=st.lists(st.integers(0, 40), max_size=8), leads=st.booleans())
def test_the_pieces_joined_are_the_text_of_all_tokens(data: bytes, cuts: list[int], leads: bool) -> None:
    bounds = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    groups = [list(data[start:stop]) for start, stop in itertools.pairwise(bounds)]
    whole = byte_tokenizer(leads_with_space=leads).decode(list(data))
    assert "".join(_pieces(groups, leads)) == whole
