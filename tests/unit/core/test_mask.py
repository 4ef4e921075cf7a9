"""Mask: bits of tokens, as the step ABI reads them, and how a sampling table holds them."""

import ctypes
import gc

import pytest

from ignis._core import Mask, SamplingTable
from ignis.scheduler.request import SamplingParams


def test_a_mask_holds_what_was_permitted() -> None:
    mask = Mask(100)
    for token in (0, 31, 32, 99, 99):
        mask.permit(token)
    mask.forbid(32)
    assert [token for token in range(-5, 200) if token in mask] == [0, 31, 99]
    assert (mask.count, mask.is_empty, mask.size_bytes) == (3, False, 16)


def test_a_bit_is_where_the_header_says() -> None:
    mask = Mask(100)
    mask.permit(70)
    words = (ctypes.c_uint32 * 4).from_address(mask.address)
    assert list(words) == [0, 0, 1 << (70 - 64), 0]


@pytest.mark.parametrize("vocab_size", [1, 31, 32, 33, 64])
def test_bits_past_the_vocabulary_are_no_tokens(vocab_size: int) -> None:
    mask = Mask(vocab_size)
    ctypes.memset(mask.address, 0xFF, mask.size_bytes)
    assert (mask.count, vocab_size in mask) == (vocab_size, False)
    for token in range(vocab_size):
        mask.forbid(token)
    assert mask.is_empty


def test_another_token_makes_another_mask() -> None:
    mask = Mask(10)
    mask.permit(1)
    more = mask.with_token(2)
    assert ((1 in more, 2 in more), (1 in mask, 2 in mask)) == ((True, True), (True, False))


@pytest.mark.parametrize("token", [-1, 10])
def test_a_token_outside_the_vocabulary_is_refused(token: int) -> None:
    with pytest.raises(IndexError):
        Mask(10).permit(token)


def test_a_table_holds_the_mask_of_a_lane_until_the_next() -> None:
    table = SamplingTable(2)
    table.write(1, SamplingParams())
    table.permit(1, Mask(64))
    gc.collect()
    assert table.row(1)["permitted"].vocab_size == 64
    table.write(1, SamplingParams())
    assert table.row(1)["permitted"] is None
    with pytest.raises(IndexError):
        table.permit(2, None)
