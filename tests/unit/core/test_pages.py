"""PagePool, PageTable, TokenLog: examples, and a machine against a plain list."""

import pytest
from hypothesis import settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ignis._core import PagePool, PageTable, TokenLog


def test_the_page_that_was_freed_last_is_taken_first() -> None:
    pool = PagePool(4)
    pages = [pool.take() for _ in range(3)]
    pool.release(pages[1])
    pool.release(pages[0])
    assert [pool.take(), pool.take(), pool.take()] == [pages[0], pages[1], 3]


def test_an_empty_pool_says_so() -> None:
    pool = PagePool(1)
    pool.take()
    with pytest.raises(IndexError):
        pool.take()


@pytest.mark.parametrize("page", [-1, 2])
def test_a_page_outside_the_pool_is_refused(page: int) -> None:
    pool = PagePool(2)
    with pytest.raises(IndexError):
        pool.retain(page)
    with pytest.raises(IndexError):
        pool.release(page)


def test_a_free_page_is_neither_retained_nor_released() -> None:
    pool = PagePool(2)
    with pytest.raises(ValueError, match="free"):
        pool.release(0)
    with pytest.raises(ValueError, match="free"):
        pool.retain(0)


def test_a_table_keeps_its_pages_in_order_up_to_its_capacity() -> None:
    table = PageTable(2)
    table.append(7)
    table.append(3)
    with pytest.raises(IndexError):
        table.append(1)
    assert (len(table), table[0], table.pop(), len(table)) == (2, 7, 3, 1)
    with pytest.raises(IndexError):
        table[1]


def test_a_log_holds_the_prompt_then_the_output_up_to_its_capacity() -> None:
    log = TokenLog((1, 2, 3), 4)
    log.append(9)
    with pytest.raises(IndexError):
        log.append(10)
    assert (log.slice(0, 4), log.num_prompt, log[3]) == ((1, 2, 3, 9), 3, 9)
    with pytest.raises(IndexError):
        log.slice(2, 5)


class PoolMachine(RuleBasedStateMachine):
    """The model is a list of reference counts."""

    def __init__(self) -> None:
        super().__init__()
        self.pool = PagePool(6)
        self.counts = [0] * 6

    @precondition(lambda self: 0 in self.counts)
    @rule()
    def take(self) -> None:
        page = self.pool.take()
        assert self.counts[page] == 0
        self.counts[page] = 1

    @rule(page=strategies.integers(0, 5))
    def retain(self, page: int) -> None:
        if self.counts[page]:
            self.counts[page] += 1
            assert self.pool.retain(page) == self.counts[page]
        else:
            with pytest.raises(ValueError, match="free"):
                self.pool.retain(page)

    @rule(page=strategies.integers(0, 5))
    def release(self, page: int) -> None:
        if self.counts[page]:
            self.counts[page] -= 1
            assert self.pool.release(page) == self.counts[page]
        else:
            with pytest.raises(ValueError, match="free"):
                self.pool.release(page)

    @invariant()
    def agrees(self) -> None:
        self.pool.check()
        assert self.pool.num_free == self.counts.count(0)
        assert [self.pool.references(page) for page in range(6)] == self.counts


TestPoolMachine = PoolMachine.TestCase
TestPoolMachine.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
