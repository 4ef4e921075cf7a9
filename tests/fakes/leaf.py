"""The fake at port 2: a leaf that answers from a script. It keeps real pages, so a wrong page is a wrong answer.

It writes each token into the page that the table names, reads the whole sequence back through the table before it
draws, and holds every call against the contract of ignis_step.h: nothing shared is written, nothing unwritten is read,
and where its phases do not agree a prompt reads nothing that a round wrote.
"""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ignis._core import Draw, LoadProgress, Mask, PageTable, Row, TokenLog
from ignis.engine.leaf import DeviceInfo, Footprint, Layout, StepTimes
from ignis.errors import IgnisError, ModelLoadError
from ignis.models.base import (
    Architecture,
    Checkpoint,
    GgufVocabulary,
    ModelShape,
    Rope,
    RopePairs,
    SpecialTokens,
    VocabularyKind,
)
from ignis.scheduler.plan import CopyPage, DecodeRound, MovePages, PrefillSpan

PAGE_TOKENS = 64
VOCAB_SIZE = 1000
CONTEXT_BYTES = 500
PHASES = ("preparing", "reading", "recording", "warming")
"""A load's, in their order: LoadPhase's values."""

Reply = Callable[[Sequence[int], int], int]
"""Of every token so far and the length of the prompt, the next token."""


def mixed(tokens: Sequence[int], num_prompt: int) -> int:
    """The default script: a number that depends on every token before it and on its place, never 0."""
    state = 17
    for token in tokens:
        state = (state * 31 + token + 7) % 999983
    return state % (VOCAB_SIZE - 1) + 1


def saying(answer: Sequence[int], last: int) -> Reply:
    """A script that says these tokens to any prompt, and then the last one."""

    def reply(tokens: Sequence[int], num_prompt: int) -> int:
        done = len(tokens) - num_prompt
        return answer[done] if done < len(answer) else last

    return reply


def bare_checkpoint(context_tokens: int = 4096, vocab_size: int = VOCAB_SIZE) -> Checkpoint:
    """A checkpoint without files, for a leaf that reads none."""
    shape = ModelShape(
        Architecture.LLAMA,
        1,
        64,
        64,
        1,
        1,
        64,
        vocab_size,
        1e-5,
        Rope((1.0,) * 32, 1.0, RopePairs.HALVES),
        context_tokens,
    )
    vocabulary = GgufVocabulary(VocabularyKind.BPE, "", (), (), (), (), False, False, False)
    special = SpecialTokens(None, 0, None, None, frozenset({0}))
    return Checkpoint("scripted", Path("scripted.gguf"), "none", shape, (), (), 1, vocabulary, special, None)


class ScriptedLeaf:
    """Implements engine.leaf.Leaf."""

    gains_ahead = False
    """Of all of them, unless a test says otherwise."""

    def __init__(
        self,
        reply: Reply = mixed,
        *,
        memory_bytes: int = 1 << 34,
        page_bytes: int = 64,
        phases_agree: bool = True,
        has_own_memory: bool = False,
    ) -> None:
        self.steps: list[tuple[str, tuple[int, ...]]] = []
        """What ran: ("copy", (lane, stop)), ("move", (lane, pages out, pages in)), ("prefill", (lane, start, stop)) and
        ("decode", lanes)."""
        self.faults: list[IgnisError] = []
        """Raised by the next steps, first first."""
        self.load_faults: dict[str, IgnisError] = {}
        """Raised by a load where it comes to that place: "probe", "plan", or the name of a LoadPhase."""
        self.stolen_bytes = 0
        """What another process takes of the device while a model is loaded."""
        self.is_loaded = False
        self.is_load_held = False
        """A load stays where it is held until it is cancelled."""
        self.held_phase = "reading"
        """Where that is."""
        self.has_held = threading.Event()
        """A load is held."""
        self._held_bytes = 0
        self._has_own_memory = has_own_memory
        self._reply = reply
        self._memory_bytes = memory_bytes
        self._page_bytes = page_bytes
        self._phases_agree = phases_agree
        self._ahead: tuple[DecodeRound, Sequence[Draw]] | None = None
        """A round that was begun before the draws of the one before were known, and what it draws."""
        self._pages: list[list[tuple[int, bool] | None]] = []
        """By position: the token, and whether a round wrote it."""
        self._places: list[list[tuple[int, bool] | None] | None] = []
        """Pages in host memory."""
        self._opened: dict[int, tuple[int, ...]] = {}
        self._gate: threading.Semaphore | None = None
        self._stepped = threading.Condition()
        self._held = threading.Semaphore(0)

    # What a test may do while the engine runs.

    def hold(self) -> None:
        """Steps block from now on, but for those that are allowed."""
        self._gate = threading.Semaphore(0)

    def allow(self, steps: int = 1) -> None:
        """Lets so many held steps go on."""
        assert self._gate is not None
        if steps:
            self._gate.release(steps)

    def release(self) -> None:
        """Holds no longer."""
        gate, self._gate = self._gate, None
        if gate is not None:
            gate.release(1000)

    def wait_steps(self, count: int) -> None:
        """Blocks until so many steps have begun; for a worker thread."""
        with self._stepped:
            assert self._stepped.wait_for(lambda: len(self.steps) >= count, timeout=10)

    # Port 2.

    def probe(self) -> DeviceInfo:
        self._reach("probe")
        return DeviceInfo(
            name="scripted",
            isa="none",
            num_cores=1,
            memory_bytes=self._memory_bytes,
            free_bytes=self._memory_bytes - self._held_bytes,
            context_bytes=CONTEXT_BYTES if self._has_own_memory else 0,
            phases_agree=self._phases_agree,
            has_own_memory=self._has_own_memory,
            gains_ahead=self.gains_ahead,
        )

    def plan(self, checkpoint: Checkpoint, layout: Layout) -> Footprint:
        self._reach("plan")
        return Footprint(
            weights_bytes=1000,
            embedding_bytes=300,
            mapped_bytes=100,
            workspace_bytes=10 * layout.max_span,
            sampling_bytes=20 * layout.num_lanes,
            lane_bytes=5 * layout.num_lanes,
            round_bytes=7 * layout.num_lanes if self._has_own_memory else 0,
            kv_page_bytes=self._page_bytes,
            kv_pool_bytes=self._page_bytes * layout.num_pages,
            kv_host_bytes=self._page_bytes * layout.num_host_pages,
        )

    def load(self, checkpoint: Checkpoint, layout: Layout, progress: LoadProgress) -> None:
        assert not self.is_loaded
        footprint = self.plan(checkpoint, layout)
        total_bytes = footprint.weights_bytes + footprint.embedding_bytes
        try:
            for number, phase in enumerate(PHASES):
                progress.note(number, total_bytes if number > 1 else 0, total_bytes)
                self._reach(phase)
                self._held_bytes = footprint.weights_bytes + footprint.kv_pool_bytes + self.stolen_bytes
                while self.is_load_held and phase == self.held_phase and not progress.is_cancelled:
                    self.has_held.set()
                    self._held.acquire(timeout=0.001)
                if progress.is_cancelled:
                    raise ModelLoadError("the load was cancelled")
        except IgnisError:
            self._held_bytes = 0
            raise
        self.prepare(layout.num_pages, layout.num_host_pages)

    def _reach(self, place: str) -> None:
        """Raises what a test has put at this place, once."""
        if place in self.load_faults:
            raise self.load_faults.pop(place)

    def prepare(self, num_pages: int, num_host_pages: int = 0) -> None:
        """Loads without a checkpoint, for tests of the scheduler alone."""
        self.is_loaded = True
        self._pages = [[None] * PAGE_TOKENS for _ in range(num_pages)]
        self._places = [None] * num_host_pages

    def unload(self) -> None:
        self.is_loaded = False
        self._ahead = None
        self._held_bytes = 0
        self._pages = []
        self._places = []

    def copy_page(self, step: CopyPage) -> None:
        self._begin_step("copy", step.live.lane, step.stop)
        assert step.source != step.target == step.live.table[(step.stop - 1) // PAGE_TOKENS]
        # What lies behind the shared head is nobody's: a leaf copies it too, and nothing may read it.
        num_shared = (step.stop - 1) % PAGE_TOKENS + 1
        self._pages[step.target][:] = [*self._pages[step.source][:num_shared], *[None] * (PAGE_TOKENS - num_shared)]
        self._read(step.live.tokens, step.live.table, step.stop)

    def move_pages(self, step: MovePages) -> None:
        self._begin_step("move", step.live.lane, len(step.outs), len(step.ins))
        for page, place in step.outs:
            assert step.live.is_parked or None not in self._pages[page], "a page goes out that is not full"
            self._places[place] = list(self._pages[page])
        for page, place in step.ins:
            kept = self._places[place]
            assert kept is not None, "nothing is there to come in"
            self._pages[page][:] = kept
        if step.ins:
            self._read(step.live.tokens, step.live.table, step.stop)

    def prefill(self, span: PrefillSpan) -> Sequence[Draw]:
        self._begin_step("prefill", span.live.lane, span.start, span.stop)
        live = span.live
        self._read(live.tokens, live.table, span.start)
        for position in range(span.start, span.stop):
            self._write(live.tokens, live.table, position, is_round=False)
        scores = []
        if live.submission.prompt_logprobs is not None:
            # A number that says which token it is of, and of which position.
            scored = range(span.start + 1, min(span.stop, live.prompt_tokens - 1) + 1)
            scores = [Draw(live.tokens[position], -float(position)) for position in scored]
        if not span.is_last:
            return scores
        self._opened[live.lane] = live.tokens.slice(0, span.stop)
        return [*scores, self._draw(live.row, span.stop, span.sampling.row(live.lane))]

    def decode(
        self, step: DecodeRound, meanwhile: Callable[[], None] = lambda: None, *, goes_on: bool = False
    ) -> Sequence[Draw]:
        assert self._ahead is None or self._ahead[0] is step, "another round has begun"
        draws = self._round(step, [row.tokens for row in step.rows]) if self._ahead is None else self._ahead[1]
        self._ahead = None
        if goes_on:
            # At once: what becomes of the rows in between is not the device's to know.
            rows = zip(step.rows, draws, strict=True)
            self._ahead = step, self._round(step, [_followed(row.tokens, draw.token) for row, draw in rows])
        meanwhile()
        self._begin_step("decode", *[row.lane for row in step.rows])
        return draws

    def _round(self, step: DecodeRound, logs: Sequence[TokenLog]) -> Sequence[Draw]:
        """Each row's draw, behind the tokens of its log."""
        assert len({row.lane for row in step.rows}) == len(step.rows) > 0
        draws = []
        for row, log in zip(step.rows, logs, strict=True):
            assert log.slice(0, log.num_prompt) == self._opened[row.lane], "the lane was opened for another"
            self._write(log, row.table, len(log) - 1, is_round=True)
            draws.append(self._draw(Row(row.lane, log, row.table), len(log), step.sampling.row(row.lane)))
        return draws

    def last_step(self) -> StepTimes:
        return StepTimes(0.00001, 0.001, 0.0009)

    def _begin_step(self, kind: str, *numbers: int) -> None:
        assert self.is_loaded
        with self._stepped:
            self.steps.append((kind, numbers))
            self._stepped.notify_all()
        gate = self._gate
        if gate is not None:
            gate.acquire()
        if self.faults:
            self._ahead = None
            raise self.faults.pop(0)

    def _write(self, tokens: TokenLog, table: PageTable, position: int, *, is_round: bool) -> None:
        page = self._pages[table[position // PAGE_TOKENS]]
        place = position % PAGE_TOKENS
        if place == 0:
            page[:] = [None] * PAGE_TOKENS
        assert page[place] is None, "a position is written twice: the page is somebody else's too"
        page[place] = tokens[position], is_round

    def _read(self, tokens: TokenLog, table: PageTable, stop: int) -> list[int]:
        """Returns positions [0, stop) as the pages have them."""
        places = [self._pages[table[position // PAGE_TOKENS]][position % PAGE_TOKENS] for position in range(stop)]
        found = [place for place in places if place is not None]
        read = [token for token, _ in found]
        assert len(found) == stop and tuple(read) == tokens.slice(0, stop), "the pages hold something else"
        if not self._phases_agree:
            writers = [is_round for _, is_round in found]
            assert writers == [position >= tokens.num_prompt for position in range(stop)], "the other phase wrote it"
        return read

    def _draw(self, row: Row, stop: int, sampling: dict[str, Any]) -> Draw:
        token = self._reply(self._read(row.tokens, row.table, stop), row.tokens.num_prompt)
        permitted: Mask | None = sampling["permitted"]
        top_logprobs: int = sampling["top_logprobs"]
        if permitted is not None:
            # The next one that is permitted, so that what was drawn still depends on everything before it.
            assert not permitted.is_empty and permitted.vocab_size == VOCAB_SIZE
            token = next(id for id in range(token, token + VOCAB_SIZE) if id % VOCAB_SIZE in permitted) % VOCAB_SIZE
        if top_logprobs < 0:
            return Draw(token)
        return Draw(token, -0.5, tuple((token + i, -0.5 - i) for i in range(top_logprobs)))


def _followed(log: TokenLog, token: int) -> TokenLog:
    """A log with one more token."""
    longer = TokenLog(log.slice(0, log.num_prompt), log.capacity)
    for drawn in (*log.slice(log.num_prompt, len(log)), token):
        longer.append(drawn)
    return longer
