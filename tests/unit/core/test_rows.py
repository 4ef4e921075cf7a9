"""What a round changes of its rows: plain draws are taken, and the others are named."""

import pytest

from ignis._core import PAGE_TOKENS, Draw, PageTable, Row, TokenLog, full_rows, take_draws

PROMPT = (5, 6, 7)


def row_of(*, filled: int = 3, num_drawn: int = 1, is_plain: bool = True) -> Row:
    """A row that decodes: the last token of its log is in no page yet."""
    tokens = TokenLog(PROMPT, 200)
    for token in range(filled + 1 - len(PROMPT)):
        tokens.append(100 + token)
    table = PageTable(4)
    table.append(0)
    row = Row(0, tokens, table, stop_ids=frozenset({2, 9}), most_drawn=50, is_plain=is_plain)
    row.filled, row.num_drawn = filled, num_drawn
    return row


def test_a_plain_draw_is_one_more_token() -> None:
    row = row_of()
    assert take_draws((row,), [Draw(40)]) == []
    assert (row.tokens[len(row.tokens) - 1], row.filled, row.num_drawn) == (40, 4, 2)


@pytest.mark.parametrize(
    ("row", "token"),
    [
        (row_of(), 2),
        (row_of(), 9),
        (row_of(), -1),
        (row_of(num_drawn=49), 40),
        (row_of(is_plain=False), 40),
        (row_of(filled=PAGE_TOKENS - 1), 40),
    ],
    ids=["stop", "other stop", "no token", "last of the cap", "not plain", "a page becomes full"],
)
def test_a_draw_from_which_more_follows_is_left_alone(row: Row, token: int) -> None:
    other = row_of()
    before = len(row.tokens), row.filled, row.num_drawn
    assert take_draws((other, row), [Draw(40), Draw(token)]) == [1]
    assert (len(row.tokens), row.filled, row.num_drawn) == before
    assert other.num_drawn == 2


def test_a_draw_is_owed_to_each_row() -> None:
    with pytest.raises(ValueError, match="1 draws for 2 rows"):
        take_draws((row_of(), row_of()), [Draw(40)])


def test_a_row_is_full_when_its_next_position_is_in_no_page() -> None:
    rows = row_of(filled=PAGE_TOKENS - 1), row_of(filled=PAGE_TOKENS)
    assert full_rows(rows) == [1]
    rows[1].table.append(1)
    assert full_rows(rows) == []
