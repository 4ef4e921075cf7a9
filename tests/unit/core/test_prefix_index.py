"""PrefixIndex: examples, and a machine against a dictionary of whole prefixes."""

import pytest
from hypothesis import settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from xxhash import xxh3_128_digest

from ignis._core import PAGE_TOKENS, PagePool, PageTable, PrefixIndex, TokenLog


def text(*words: int) -> TokenLog:
    """A log of one page a word."""
    return TokenLog([word for word in words for _ in range(PAGE_TOKENS)], PAGE_TOKENS * len(words))


def fill(index: PrefixIndex, *words: int) -> PageTable:
    """A sequence that computed all of its pages and entered them."""
    log = text(*words)
    table = PageTable(len(words))
    for i in range(len(words)):
        table.append(index.pool.take())
        assert index.enter(log, table, i)
    return table


def test_the_longest_prefix_is_found() -> None:
    index = PrefixIndex(PagePool(8))
    table = fill(index, 1, 2, 3)
    assert index.match(text(1, 2, 9), 3) == [table[0], table[1]]
    assert index.match(text(1, 2, 3), 2) == [table[0], table[1]]
    assert index.match(text(2, 3), 2) == []


def test_the_same_tokens_below_another_parent_are_another_page() -> None:
    index = PrefixIndex(PagePool(8))
    fill(index, 1, 2)
    table = fill(index, 3, 2)
    assert index.match(text(3, 2), 2) == [table[0], table[1]]
    assert index.num_pages == 4


def test_a_page_that_is_there_already_is_shared_and_the_copy_freed() -> None:
    index = PrefixIndex(PagePool(8))
    first, second = fill(index, 1, 2), fill(index, 1, 2)
    assert [second[0], second[1]] == [first[0], first[1]]
    assert index.pool.num_free == 6
    assert index.pool.references(first[0]) == 3


def test_a_collision_is_a_miss_and_never_leaks() -> None:
    index = PrefixIndex(PagePool(8), digest=lambda page: b"x" * 16)
    fill(index, 1)
    log, table = text(2), PageTable(1)
    table.append(index.pool.take())
    assert index.match(log, 1) == []
    assert not index.enter(log, table, 0)
    index.release_all(table)
    index.check()


def test_the_digest_is_xxh3_128_of_parent_and_tokens() -> None:
    seen: list[bytes] = []

    def digest(page: bytes) -> bytes:
        seen.append(page)
        return xxh3_128_digest(page)

    fill(PrefixIndex(PagePool(8), digest), 5, 6)
    root, child = (bytes(16) + (5).to_bytes(4, "little") * 64), (6).to_bytes(4, "little") * 64
    assert seen == [root, xxh3_128_digest(root) + child]


def test_idle_pages_are_evicted_oldest_first_and_leaves_before_parents() -> None:
    index = PrefixIndex(PagePool(8))
    old, new = fill(index, 1, 2), fill(index, 3)
    old_pages, new_page = [old[0], old[1]], new[0]
    index.release_all(old)
    index.release_all(new)
    assert [index.evict(), index.evict(), index.evict()] == [old_pages[1], old_pages[0], new_page]
    with pytest.raises(IndexError):
        index.evict()


def test_a_page_in_use_is_not_evicted() -> None:
    index = PrefixIndex(PagePool(8))
    table = fill(index, 1)
    with pytest.raises(IndexError):
        index.evict()
    assert not index.is_idle(table[0])


def test_a_page_is_not_entered_before_its_parent() -> None:
    index = PrefixIndex(PagePool(8))
    table = PageTable(2)
    table.append(index.pool.take())
    table.append(index.pool.take())
    with pytest.raises(ValueError, match="below"):
        index.enter(text(1, 2), table, 1)


def test_a_page_that_is_not_full_is_not_entered() -> None:
    index = PrefixIndex(PagePool(8))
    table = PageTable(1)
    table.append(index.pool.take())
    with pytest.raises(IndexError):
        index.enter(TokenLog([1] * 63, 64), table, 0)


words = strategies.lists(strategies.integers(1, 3), min_size=1, max_size=4)


class IndexMachine(RuleBasedStateMachine):
    """The model: for each page, the whole prefix whose end was computed into it, and the sequences that live."""

    POOL_PAGES = 10
    collides = False

    def __init__(self) -> None:
        super().__init__()
        digest = (lambda page: xxh3_128_digest(page)[:1] * 16) if self.collides else xxh3_128_digest
        self.index = PrefixIndex(PagePool(self.POOL_PAGES), digest)
        self.live: list[tuple[tuple[int, ...], PageTable]] = []
        self.content: dict[int, tuple[int, ...]] = {}

    @rule(words=words)
    def begin(self, words: list[int]) -> None:
        """A sequence claims what is there and computes the rest, as far as there are pages."""
        log, table = text(*words), PageTable(len(words))
        for page in self.index.match(log, len(words)):
            self.index.retain(page)
            table.append(page)
            assert self.content[page] == tuple(words[: len(table)]), "another prefix's page leaked"
        is_shared = True
        while len(table) < len(words):
            if not self.index.pool.num_free:
                if not self.index.num_idle:
                    break
                self.evict()
            i = len(table)
            table.append(self.index.pool.take())
            self.content[table[i]] = tuple(words[: i + 1])
            is_shared = is_shared and self.index.enter(log, table, i)
            assert self.content[table[i]] == tuple(words[: i + 1]), "a twin of other content"
        self.live.append((tuple(words[: len(table)]), table))

    @rule(choice=strategies.integers(0, 100))
    def end(self, choice: int) -> None:
        if self.live:
            _, table = self.live.pop(choice % len(self.live))
            self.index.release_all(table)

    def evict(self) -> None:
        idle = [page for page in range(self.POOL_PAGES) if self.index.is_indexed(page) and self.index.is_idle(page)]
        parents = {self.content[page][:-1] for page in range(self.POOL_PAGES) if self.index.is_indexed(page)}
        page = self.index.evict()
        assert page in idle
        assert self.content[page] not in parents, "a parent went before its child"

    @rule()
    def evict_one(self) -> None:
        if self.index.num_idle:
            self.evict()

    @invariant()
    def agrees(self) -> None:
        self.index.pool.check()
        self.index.check()
        holders = [0] * self.POOL_PAGES
        for words, table in self.live:
            for i in range(len(table)):
                holders[table[i]] += 1
                assert self.content[table[i]] == words[: i + 1]
        for page, count in enumerate(holders):
            assert self.index.pool.references(page) == count + self.index.is_indexed(page)

    @invariant()
    def finds_all(self) -> None:
        if self.collides:
            return
        indexed = {self.content[page] for page in range(self.POOL_PAGES) if self.index.is_indexed(page)}
        for words in indexed:
            assert len(self.index.match(text(*words), len(words))) == len(words)


class CollidingMachine(IndexMachine):
    """One byte of digest, so that collisions are common."""

    collides = True


TestIndexMachine = IndexMachine.TestCase
TestIndexMachine.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestCollidingMachine = CollidingMachine.TestCase
TestCollidingMachine.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
