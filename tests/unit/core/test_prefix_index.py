"""PrefixIndex: examples, and a machine against a dictionary of whole prefixes."""

from dataclasses import dataclass

import pytest
from hypothesis import settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from xxhash import xxh3_128_digest

from ignis._core import PAGE_TOKENS, ROOT_NAME, PagePool, PageTable, PrefixIndex, TokenLog, name_after


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


def test_a_name_says_all_that_lies_before_and_not_where() -> None:
    index, other = PrefixIndex(PagePool(8)), PrefixIndex(PagePool(8), lambda text: b"one digest for all")
    fill(other, 5)
    table, same = fill(index, 1, 2, 3), fill(other, 5)
    names = [index.name(table[i]) for i in (2, 0, 1)]
    assert len(set(names)) == 3 and None not in names
    log, parent = text(1, 2, 3), ROOT_NAME
    for name in (names[1], names[2], names[0]):
        parent = name_after(parent, log, [names[1], names[2], names[0]].index(name))
        assert parent == name
    assert other.name(same[0]) == name_after(ROOT_NAME, text(5), 0)
    beside = fill(index, 4, 2)
    assert index.name(beside[1]) not in names


def test_a_name_goes_with_its_page_and_a_tail_has_none() -> None:
    index = PrefixIndex(PagePool(2))
    table = fill(index, 1)
    name = index.name(table[0])
    index.release_all(table)
    assert index.oldest is not None and index.name(index.oldest) == name
    page = index.evict()
    assert (index.oldest, index.name(page)) == (None, None)
    tail = PageTable(1)
    tail.append(index.pool.take())
    assert index.enter_tail(text(2), tail, 0, 10)
    assert index.name(tail[0]) is None
    assert index.name(fill(index, 3)[0]) != name


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


def end(index: PrefixIndex, tokens: list[int]) -> list[int]:
    """A sequence that computed these tokens, of which what is there was claimed, and left; returns its pages."""
    log, table = TokenLog(tokens, len(tokens)), PageTable(-(-len(tokens) // PAGE_TOKENS))
    for page in index.match(log, len(tokens) // PAGE_TOKENS):
        index.retain(page)
        table.append(page)
    for i in range(len(table), table.capacity):
        table.append(index.pool.take())
        if (i + 1) * PAGE_TOKENS <= len(tokens):
            assert index.enter(log, table, i)
        else:
            index.enter_tail(log, table, i, len(tokens) % PAGE_TOKENS)
    pages = [table[i] for i in range(len(table))]
    index.release_all(table)
    index.check()
    return pages


def nearest(index: PrefixIndex, tokens: list[int], most: int = PAGE_TOKENS) -> tuple[int, int] | None:
    log = TokenLog(tokens, len(tokens))
    return index.nearest(log, index.match(log, len(tokens) // PAGE_TOKENS), most)


def test_a_tail_is_found_by_what_it_shares() -> None:
    index = PrefixIndex(PagePool(8))
    full, tail = end(index, [1] * 64 + [2] * 20 + [3] * 10)
    assert nearest(index, [1] * 64 + [2] * 20 + [4] * 9) == (tail, 20)
    assert nearest(index, [1] * 64 + [2] * 20 + [3] * 30) == (tail, 30)
    assert nearest(index, [1] * 64 + [2] * 20 + [3] * 30, most=7) == (tail, 7)
    assert nearest(index, [1] * 40 + [2] * 40) == (full, 40)
    assert nearest(index, [1] * 64 + [5]) is None
    assert nearest(index, [2] * 20) is None


def test_a_tail_that_goes_no_further_is_not_kept() -> None:
    index = PrefixIndex(PagePool(8))
    end(index, [1] * 30)
    (page,) = end(index, [1] * 20)
    assert (index.num_pages, index.is_indexed(page)) == (1, False)


def test_a_tail_that_another_page_goes_past_is_forgotten() -> None:
    index = PrefixIndex(PagePool(8))
    end(index, [1] * 30)
    other, longer = end(index, [1] * 29 + [2]), end(index, [1] * 31)
    assert (index.num_pages, index.pool.num_free) == (2, 6)
    full = end(index, [1] * 64)
    assert index.num_pages == 2
    assert [index.is_indexed(page) for page in (*other, *full)] == [True, True]
    assert longer == end(index, [5] * 30), "the page that was freed last is taken first"


def test_a_tail_in_use_outlives_a_longer_one() -> None:
    index = PrefixIndex(PagePool(8))
    (page,) = end(index, [1] * 30)
    index.retain(page)
    end(index, [1] * 31)
    assert index.is_indexed(page)
    index.release(page)
    index.check()
    assert index.evict() != page


def test_nothing_is_entered_below_a_tail() -> None:
    index = PrefixIndex(PagePool(8))
    (tail,) = end(index, [1] * 30)
    index.retain(tail)
    table = PageTable(2)
    table.append(tail)
    table.append(index.pool.take())
    with pytest.raises(ValueError, match="below"):
        index.enter(TokenLog([1] * 128, 128), table, 1)


@pytest.mark.parametrize("count", [0, 64, 65])
def test_a_tail_is_neither_empty_nor_full(count: int) -> None:
    index = PrefixIndex(PagePool(8))
    table = PageTable(1)
    table.append(index.pool.take())
    with pytest.raises(IndexError):
        index.enter_tail(TokenLog([1] * 100, 100), table, 0, count)


def halves(words: list[int]) -> tuple[int, ...]:
    """A page a word; words 2 and 3 share the first half of it."""
    return tuple(token for word in words for token in (*(word // 2 + 10,) * 32, *(word,) * 32))


def common(left: tuple[int, ...], right: tuple[int, ...]) -> int:
    return next((i for i in range(min(len(left), len(right))) if left[i] != right[i]), min(len(left), len(right)))


@dataclass
class Sequence:
    """One that lives: its tokens as far as there were pages, and what it holds."""

    tokens: tuple[int, ...]
    table: PageTable
    is_shared: bool
    source: int | None


words = strategies.lists(strategies.integers(1, 3), min_size=1, max_size=4)


class IndexMachine(RuleBasedStateMachine):
    """The model: for each page, the whole prefix whose end was computed into it, and the sequences that live."""

    POOL_PAGES = 10
    collides = False

    def __init__(self) -> None:
        super().__init__()
        digest = (lambda page: xxh3_128_digest(page)[:1] * 16) if self.collides else xxh3_128_digest
        self.index = PrefixIndex(PagePool(self.POOL_PAGES), digest)
        self.live: list[Sequence] = []
        self.content: dict[int, tuple[int, ...]] = {}

    def indexed(self) -> list[int]:
        return [page for page in range(self.POOL_PAGES) if self.index.is_indexed(page)]

    def below(self, prefix: tuple[int, ...]) -> list[int]:
        """The indexed pages whose parent ends this prefix of whole pages."""
        start = len(prefix)
        return [
            page
            for page in self.indexed()
            if self.content[page][:start] == prefix and 0 < len(self.content[page]) - start <= PAGE_TOKENS
        ]

    @rule(words=words, cut=strategies.just(0) | strategies.integers(1, 63), holds=strategies.booleans())
    def begin(self, words: list[int], cut: int, holds: bool) -> None:
        """A sequence claims what is there and computes the rest, as far as there are pages."""
        tokens = halves(words)[: 64 * len(words) - cut]
        log, table = TokenLog(tokens, len(tokens)), PageTable(len(words))
        claim = self.index.match(log, len(tokens) // PAGE_TOKENS)
        for page in claim:
            self.index.retain(page)
            table.append(page)
            assert self.content[page] == tokens[: len(table) * PAGE_TOKENS], "another prefix's page leaked"
        source = self.find_source(log, claim, tokens) if holds else None
        is_shared = True
        while len(table) < len(words):
            if not self.index.pool.num_free:
                if not self.index.num_idle:
                    break
                self.evict()
            i = len(table)
            table.append(self.index.pool.take())
            if (i + 1) * PAGE_TOKENS <= len(tokens):
                self.content[table[i]] = tokens[: (i + 1) * PAGE_TOKENS]
                is_shared = is_shared and self.index.enter(log, table, i)
                assert self.content[table[i]] == tokens[: (i + 1) * PAGE_TOKENS], "a twin of other content"
        self.live.append(Sequence(tokens[: len(table) * PAGE_TOKENS], table, is_shared, source))

    def find_source(self, log: TokenLog, claim: list[int], tokens: tuple[int, ...]) -> int | None:
        start = len(claim) * PAGE_TOKENS
        shared = {page: common(tokens[start:], self.content[page][start:]) for page in self.below(tokens[:start])}
        found = self.index.nearest(log, claim, PAGE_TOKENS)
        assert (found[1] if found else 0) == max(shared.values(), default=0)
        if found is None:
            return None
        assert found[1] == shared[found[0]], "another prefix's page leaked"
        self.index.retain(found[0])
        return found[0]

    @rule(choice=strategies.integers(0, 100))
    def end(self, choice: int) -> None:
        if not self.live:
            return
        sequence = self.live.pop(choice % len(self.live))
        if sequence.source is not None:
            self.index.release(sequence.source)
        count = len(sequence.tokens) % PAGE_TOKENS
        if sequence.is_shared and count:
            log, last = TokenLog(sequence.tokens, len(sequence.tokens)), len(sequence.table) - 1
            siblings = [self.content[page] for page in self.below(sequence.tokens[:-count])]
            if self.index.enter_tail(log, sequence.table, last, count):
                self.content[sequence.table[last]] = sequence.tokens
                assert all(content[: len(sequence.tokens)] != sequence.tokens for content in siblings), "kept twice"
            else:
                assert any(content[: len(sequence.tokens)] == sequence.tokens for content in siblings), "not kept"
        self.index.release_all(sequence.table)

    def evict(self) -> None:
        idle = [page for page in self.indexed() if self.index.is_idle(page)]
        parents = {self.content[page][: (len(self.content[page]) - 1) // 64 * 64] for page in self.indexed()}
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
        for sequence in self.live:
            for i in range(len(sequence.table)):
                holders[sequence.table[i]] += 1
                if (i + 1) * PAGE_TOKENS <= len(sequence.tokens):
                    assert self.content[sequence.table[i]] == sequence.tokens[: (i + 1) * PAGE_TOKENS]
            if sequence.source is not None:
                holders[sequence.source] += 1
        for page, count in enumerate(holders):
            assert self.index.pool.references(page) == count + self.index.is_indexed(page)

    @invariant()
    def finds_all(self) -> None:
        if self.collides:
            return
        for tokens in {self.content[page] for page in self.indexed()}:
            log = TokenLog(tokens, len(tokens))
            claim = self.index.match(log, len(tokens) // PAGE_TOKENS)
            assert len(claim) == len(tokens) // PAGE_TOKENS
            if len(tokens) % PAGE_TOKENS:
                found = self.index.nearest(log, claim, PAGE_TOKENS)
                assert found is not None and found[1] == len(tokens) % PAGE_TOKENS


class CollidingMachine(IndexMachine):
    """One byte of digest, so that collisions are common."""

    collides = True


TestIndexMachine = IndexMachine.TestCase
TestIndexMachine.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestCollidingMachine = CollidingMachine.TestCase
TestCollidingMachine.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
