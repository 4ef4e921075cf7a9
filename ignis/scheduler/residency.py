"""Who holds which KV page: reservations, pages as they are needed, the prefix cache. Promises no page twice.

    free   - nobody's
    idle   - only the prefix index holds it; given up, oldest first, when a page is needed and none is free
    held   - at least one sequence holds it; a full page may be held by several and is never written again

A prompt claims full pages as they are. Where the cache goes on inside a page, that one is copied, since what follows is
the prompt's own.

A prompt's positions have the bits of prefill, wherever they come from. On a device where decode's bits are others (ADR
3) the index therefore gets what lies within a request's prompt, and no more: its answer is prefilled again when it
comes back as a part of the next prompt.

Where there is host memory for pages (kv_ram), a full page that is given up goes there first, and a prompt that claims
the pages before it has it brought back (ADR 27).

A bound is reserved as a number; pages are taken one by one, so that memory which no token reached stays untouched.
Always: reserved <= free + idle.
"""

from collections.abc import Iterator

from ignis._core import PAGE_TOKENS, ROOT_NAME, PagePool, PrefixIndex, name_after
from ignis.scheduler.kv_ram import KvRam
from ignis.scheduler.live import Live, Name, pages_of
from ignis.scheduler.plan import CopyPage, MovePages
from ignis.scheduler.reuse_counts import ReuseCounts

LEAST_COPIED_TOKENS = 1
"""A page's copy takes less than a token's prefill on each device that we know."""


class Residency:
    """The pages of one load."""

    def __init__(self, num_pages: int, *, has_prefix_cache: bool, phases_agree: bool, num_host_pages: int = 0) -> None:
        self.pool = PagePool(num_pages)
        self.kv_ram = KvRam(num_host_pages)
        self.counts = ReuseCounts()
        self._needy: Live | None = None
        """For whom pages go out to host memory before the next step."""
        self._outs: list[tuple[int, int]] = []
        self._leaving: list[Name] = []
        """The names of those that are going, until they are there."""
        self.index = PrefixIndex(self.pool)
        self._has_prefix_cache = has_prefix_cache
        self._phases_agree = phases_agree
        self.missing = 0
        """Pages that the last one who was refused lacked."""
        self.reserved = 0
        """Pages promised to admitted requests and not taken yet."""
        self.releases = 0
        """Grows whenever pages come back, so that whoever waits for room knows when to look again."""

    @property
    def num_used(self) -> int:
        """Pages that are not free, the idle ones included."""
        return self.pool.num_pages - self.pool.num_free

    def admit(self, live: Live) -> bool:
        """Claims the longest cached prefix and reserves the rest of the bound; False, and nothing is held, where the
        room is missing now. At least one prompt token is left to prefill, since a draw needs its logits. Where a source
        is claimed, its copy is the next step. A parked one claims what is still there of what it had."""
        may_claim = self._has_prefix_cache and live.submission.prompt_logprobs is None
        most_pages = (live.prompt_tokens - 1) // PAGE_TOKENS
        if live.is_parked:
            may_claim, most_pages = live.entered_pages > 0, live.entered_pages
        claim = self.index.match(live.tokens, most_pages) if may_claim else []
        num_idle = sum(map(self.index.is_idle, claim))
        for page in claim:
            self.index.retain(page)
            live.table.append(page)
        wanted = live.bound_pages - len(claim)
        self.missing = self.reserved + wanted - self.pool.num_free - self.index.num_idle
        if self.missing > 0:
            self.index.release_all(live.table)
            return False
        self.reserved += wanted
        live.has_room = True
        if live.is_parked:
            self._take_back(live, len(claim))
            return True
        live.entered_pages = len(claim)
        live.filled = live.cached_tokens = len(claim) * PAGE_TOKENS
        live.shared_tokens = live.cached_tokens - num_idle * PAGE_TOKENS
        if may_claim:
            self._claim_returning(live)
            if not live.returning:
                self._claim_source(live, claim)
            self.counts.note(live, has_kv_ram=self.kv_ram.num_places > 0)
        return True

    def _take_back(self, live: Live, num_claimed: int) -> None:
        """Of a parked request's pages these are on the device: the others are in host memory."""
        for name in live.returning[:num_claimed]:
            self.kv_ram.release(name)
        del live.returning[:num_claimed]
        live.entered_pages = num_claimed
        live.filled = num_claimed * PAGE_TOKENS

    def gain(self, live: Live) -> int:
        """How many pages another one could have if a request were parked."""
        own = sum(
            self.pool.references(live.table[index]) - self.index.is_indexed(live.table[index]) == 1
            for index in range(len(live.table))
        )
        return own + live.bound_pages - len(live.table)

    def park(self, live: Live) -> MovePages:
        """Gives all that a request holds to others; says what of it goes out to host memory, which has the room."""
        outs = []
        for index in range(pages_of(live.filled)):
            page = live.table[index]
            own_name = self.index.name(page) if index < live.entered_pages else None
            name: Name = (live.request_id, index) if own_name is None else own_name
            if name in self.kv_ram:
                self.kv_ram.touch(name)
            else:
                place = self.kv_ram.put(name)
                assert place is not None, "the caller has counted the room"
                outs.append((page, place))
                self._leaving.append(name)
            self.kv_ram.hold(name)
            live.returning.append(name)
        self.counts.host_discards = self.kv_ram.discards
        live.parked_tokens = live.filled
        self._give_back(live)
        return MovePages(live, tuple(outs), (), live.filled)

    def _give_back(self, live: Live) -> None:
        """Gives back the pages and the rest of the reservation."""
        self.reserved -= live.bound_pages - len(live.table)
        self.index.release_all(live.table)
        self.releases += 1
        live.has_room = False

    def let_go(self, live: Live) -> None:
        """Gives up what host memory holds for a request."""
        for name in live.returning:
            self.kv_ram.release(name)
        live.returning.clear()

    def _claim_returning(self, live: Live) -> None:
        """Holds the pages in host memory that go on where the claim ends."""
        for own_name in self._names_behind(live):
            if own_name not in self.kv_ram:
                break
            self.kv_ram.hold(own_name)
            live.returning.append(own_name)
        # The last page first, so that it is the older one: what is left of a path is always its beginning.
        for name in reversed(live.returning):
            self.kv_ram.touch(name)
        live.restored_tokens = len(live.returning) * PAGE_TOKENS
        live.cached_tokens += live.restored_tokens

    def _names_behind(self, live: Live) -> Iterator[bytes]:
        """The names of the prompt's full pages behind the claim, but for one token."""
        if not self.kv_ram.num_places:
            return
        num_claimed = len(live.table)
        parent = self.index.name(live.table[num_claimed - 1]) if num_claimed else ROOT_NAME
        for index in range(num_claimed, (live.prompt_tokens - 1) // PAGE_TOKENS):
            assert parent is not None
            parent = name_after(parent, live.tokens, index)
            yield parent

    def bring_back(self, live: Live, most_pages: int) -> MovePages:
        """Says which of a request's pages come back next, and what goes out for them."""
        names = live.returning[:most_pages]
        first, stop = live.filled // PAGE_TOKENS, live.filled + len(names) * PAGE_TOKENS
        if live.is_parked:
            stop = min(stop, live.parked_tokens)
        self.extend(live, stop)
        ins = tuple((live.table[first + index], self.kv_ram.place(name)) for index, name in enumerate(names))
        outs, self._outs = tuple(self._outs), []
        return MovePages(live, outs, ins, stop)

    def take_outs(self) -> MovePages | None:
        """Says which pages go out to host memory before the step that needs them; None: none do."""
        if not self._outs:
            return None
        assert self._needy is not None
        outs, self._outs = tuple(self._outs), []
        return MovePages(self._needy, outs, (), self._needy.filled)

    def end_moves(self, step: MovePages) -> None:
        """Pages are where they were to go."""
        live = step.live
        self._leaving.clear()
        for name in live.returning[: len(step.ins)]:
            self.kv_ram.release(name)
        del live.returning[: len(step.ins)]
        self.counts.restores += len(step.ins)
        if step.ins:
            live.filled = step.stop
            self.enter(live)

    def forget_moves(self) -> None:
        """The step that was to move pages failed: what is in host memory is not what it is called."""
        for name in self._leaving:
            # A parked request has ended by now, and has forgotten its own.
            if name in self.kv_ram:
                self.kv_ram.forget(name)
        self._leaving.clear()
        self._outs.clear()

    def _claim_source(self, live: Live, claim: list[int]) -> None:
        """Holds the page that goes on with the most of the prompt, behind the claim, and takes one for its copy."""
        nearest = self.index.nearest(live.tokens, claim, live.prompt_tokens - 1 - live.filled)
        if nearest is None:
            return
        page, num_tokens = nearest
        is_idle = self.index.is_idle(page)
        if num_tokens < LEAST_COPIED_TOKENS or self.pool.num_free + self.index.num_idle - is_idle == 0:
            return
        self.index.retain(page)
        self.extend(live, live.filled + num_tokens)
        live.source = page
        live.cached_tokens += num_tokens
        live.shared_tokens += 0 if is_idle else num_tokens

    def copy(self, live: Live) -> CopyPage:
        """Says what is copied for a request whose source is claimed."""
        assert live.source is not None
        return CopyPage(live, live.source, live.table[len(live.table) - 1], live.cached_tokens)

    def end_copy(self, live: Live) -> None:
        """Gives the source back: the copy is made, or never will be."""
        if live.source is not None:
            self.index.release(live.source)
            live.source = None

    def extend(self, live: Live, stop: int) -> None:
        """Makes the table hold positions [0, stop), out of the request's reservation."""
        while len(live.table) < pages_of(stop):
            if self.pool.num_free == 0:
                self._give_up_oldest(live)
            live.table.append(self.pool.take())
            self.reserved -= 1

    def _give_up_oldest(self, live: Live) -> None:
        page = self.index.oldest
        assert page is not None
        self.counts.evictions += 1
        name = self.index.name(page) if self.kv_ram.num_places else None
        if name is not None and name in self.kv_ram:
            self.kv_ram.touch(name)
        else:
            place = None if name is None else self.kv_ram.put(name)
            self.counts.host_discards = self.kv_ram.discards
            if name is None or place is None:
                self.counts.discards += 1
            else:
                self.counts.spills += 1
                self._needy = live
                self._outs.append((page, place))
                self._leaving.append(name)
        self.index.evict()

    def enter(self, live: Live) -> None:
        """Enters the pages that have become full in the prefix index, for live and later requests alike."""
        stop = self._shared_stop(live)
        while live.is_shared and (live.entered_pages + 1) * PAGE_TOKENS <= stop:
            live.is_shared = self._has_prefix_cache and self.index.enter(live.tokens, live.table, live.entered_pages)
            if live.is_shared:
                live.entered_pages += 1

    def rewind(self, live: Live, stop: int) -> bool:
        """Gives back the pages from a border on: what comes there next is written to others. False, and nothing has
        changed, where another request holds one of them: its place in the pool is not this one's to promise."""
        assert stop % PAGE_TOKENS == 0 and stop >= live.prompt_tokens
        first = stop // PAGE_TOKENS
        pages = [live.table[index] for index in range(first, len(live.table))]
        if any(self.pool.references(page) - self.index.is_indexed(page) > 1 for page in pages):
            return False
        for _ in pages:
            self.index.release(live.table.pop())
        self.reserved += len(pages)
        self.releases += 1
        live.entered_pages = min(live.entered_pages, first)
        return True

    def _shared_stop(self, live: Live) -> int:
        """Where the positions end that other prompts may use."""
        return live.filled if self._phases_agree else min(live.filled, live.prompt_tokens)

    def release(self, live: Live) -> None:
        """Gives back a request's pages and the rest of its reservation. The index keeps the page after the entered
        ones, too, as far as it may be shared."""
        self.end_copy(live)
        self.let_go(live)
        num_tail = self._shared_stop(live) - live.entered_pages * PAGE_TOKENS
        if self._has_prefix_cache and live.is_shared and num_tail:
            self.index.enter_tail(live.tokens, live.table, live.entered_pages, num_tail)
        self._give_back(live)

    def check(self, lives: list[Live]) -> None:
        """Asserts that pages are conserved among the admitted requests, the index and the free list."""
        self.pool.check()
        self.index.check()
        holders = [0] * self.pool.num_pages
        num_sources = 0
        for live in lives:
            if live.source is not None:
                # Pages went out for its copy, which is the next step.
                assert self._needy is live, "a copy outlived its step"
                holders[live.source] += 1
                num_sources += 1
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
        assert self.reserved == sum(live.bound_pages - len(live.table) for live in lives if live.has_room), (
            "reservations differ"
        )
        assert self.reserved <= self.pool.num_free + self.index.num_idle + num_sources, "pages are promised twice"
        self.kv_ram.check([name for live in lives for name in live.returning])
        assert not self._outs and not self._leaving, "pages are on their way between two steps"
