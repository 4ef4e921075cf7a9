"""Who holds which KV page: reservations, pages as they are needed, the prefix cache. Promises no page twice.

    free   - nobody's
    idle   - only the prefix index holds it; given up, oldest first, when a page is needed and none is free
    held   - at least one sequence holds it; a full page may be held by several and is never written again

A bound is reserved as a number; pages are taken one by one, so that memory which no token reached stays untouched.
Always: reserved <= free + idle.
"""

from ignis._core import PAGE_TOKENS, PagePool, PrefixIndex
from ignis.scheduler.live import Live, pages_of


class Residency:
    """The pages of one load."""

    def __init__(self, num_pages: int, *, has_prefix_cache: bool) -> None:
        self.pool = PagePool(num_pages)
        self.index = PrefixIndex(self.pool)
        self._has_prefix_cache = has_prefix_cache
        self.reserved = 0
        """Pages promised to admitted requests and not taken yet."""
        self.evictions = 0
        self.releases = 0
        """Grows whenever pages come back, so that whoever waits for room knows when to look again."""

    @property
    def num_used(self) -> int:
        """Pages that are not free, the idle ones included."""
        return self.pool.num_pages - self.pool.num_free

    def admit(self, live: Live) -> bool:
        """Claims the longest cached prefix and reserves the rest of the bound; False, and nothing is held, where the
        room is missing now. At least one prompt token is left to prefill, since a draw needs its logits."""
        claim = self.index.match(live.tokens, (live.prompt_tokens - 1) // PAGE_TOKENS) if self._has_prefix_cache else []
        num_idle = sum(map(self.index.is_idle, claim))
        for page in claim:
            self.index.retain(page)
            live.table.append(page)
        wanted = live.bound_pages - len(claim)
        if self.reserved + wanted > self.pool.num_free + self.index.num_idle:
            self.index.release_all(live.table)
            return False
        self.reserved += wanted
        live.entered_pages = len(claim)
        live.filled = live.cached_tokens = len(claim) * PAGE_TOKENS
        live.shared_tokens = live.cached_tokens - num_idle * PAGE_TOKENS
        return True

    def extend(self, live: Live, stop: int) -> None:
        """Makes the table hold positions [0, stop), out of the request's reservation."""
        while len(live.table) < pages_of(stop):
            if self.pool.num_free == 0:
                self.index.evict()
                self.evictions += 1
            live.table.append(self.pool.take())
            self.reserved -= 1

    def enter(self, live: Live) -> None:
        """Enters the pages that have become full in the prefix index, for live and later requests alike."""
        while live.is_shared and (live.entered_pages + 1) * PAGE_TOKENS <= live.filled:
            live.is_shared = self._has_prefix_cache and self.index.enter(live.tokens, live.table, live.entered_pages)
            if live.is_shared:
                live.entered_pages += 1

    def release(self, live: Live) -> None:
        """Gives back a request's pages and the rest of its reservation."""
        self.reserved -= live.bound_pages - len(live.table)
        self.index.release_all(live.table)
        self.releases += 1

    def check(self, lives: list[Live]) -> None:
        """Asserts that pages are conserved among the admitted requests, the index and the free list."""
        self.pool.check()
        self.index.check()
        holders = [0] * self.pool.num_pages
        for live in lives:
            for i in range(len(live.table)):
                page = live.table[i]
                holders[page] += 1
                assert self.index.is_indexed(page) == (i < live.entered_pages), (
                    f"page {page} is entered and not counted"
                )
        for page, count in enumerate(holders):
            assert self.pool.references(page) == count + self.index.is_indexed(page), (
                f"page {page} has a stray reference"
            )
            assert count <= 1 or self.index.is_indexed(page), f"page {page} is shared and may still be written"
        assert self.reserved == sum(live.bound_pages - len(live.table) for live in lives), "reservations differ"
        assert self.reserved <= self.pool.num_free + self.index.num_idle, "pages are promised twice"
