"""A request under way: its submission, its state, its tokens and pages, and the times that its usage is made of."""

from ignis import machine
from ignis._core import PAGE_TOKENS, PageTable, Row, TokenLog
from ignis.scheduler.request import (
    TABLE,
    FinishReason,
    RequestEvent,
    RequestState,
    Submission,
    TokenLogprob,
    Usage,
)

Name = bytes | tuple[int, int]
"""Of a page in host memory: what it holds (PrefixIndex.name), or, of a parked request's own, (request id, index)."""

_FINISHERS = {
    FinishReason.STOP: RequestEvent.STOP,
    FinishReason.LENGTH: RequestEvent.LENGTH,
    FinishReason.CANCELLED: RequestEvent.CANCEL,
    FinishReason.EXPIRED: RequestEvent.EXPIRE,
    FinishReason.BLOCKED: RequestEvent.FAULT,
    FinishReason.CUT_OFF: RequestEvent.CANCEL,
    FinishReason.FAULT: RequestEvent.FAULT,
}


def pages_of(tokens: int) -> int:
    """How many pages hold that many positions."""
    return -(-tokens // PAGE_TOKENS)


class Live:
    """One request from its submission to its end. Times are seconds of the engine's clock.

    Its row keeps what every round changes: the tokens, how many of them were drawn, and that positions [0, filled) are
    in its pages. While it decodes, filled is len(tokens) - 1: the last drawn token goes in
    with the next round.
    """

    __slots__ = (
        "admitted_at_s",
        "cached_tokens",
        "constraint",
        "deadline_s",
        "entered_pages",
        "finish",
        "first_token_at_s",
        "has_room",
        "is_late",
        "is_shared",
        "lane",
        "parked_at_s",
        "parked_tokens",
        "rank",
        "request_id",
        "restored_tokens",
        "returning",
        "row",
        "scores",
        "shared_tokens",
        "source",
        "state",
        "submission",
        "submitted_at_s",
        "table",
    )

    def __init__(self, request_id: int, submission: Submission, lane: int, arrival: int, now_s: float) -> None:
        bound_tokens = len(submission.prompt) + submission.max_tokens
        self.request_id = request_id
        self.submission = submission
        self.constraint = submission.constraint
        self.lane = lane
        self.rank = (submission.request_class.value, arrival)
        self.state = RequestState.QUEUED
        self.finish: FinishReason | None = None
        self.table = PageTable(pages_of(bound_tokens))
        self.row = Row(
            lane,
            TokenLog(submission.prompt, bound_tokens),
            self.table,
            stop_ids=submission.stop_ids,
            most_drawn=submission.max_tokens,
            is_plain=submission.constraint is None and submission.sampling.top_logprobs is None,
        )
        self.entered_pages = 0
        self.is_shared = True
        """False once a page could not be entered in the prefix index: those after it stay out too."""
        self.cached_tokens = 0
        self.shared_tokens = 0
        """Of the cached ones, those in pages that another request held when they were claimed."""
        self.restored_tokens = 0
        """Of the cached ones, those in pages that come back from host memory."""
        self.returning: list[Name] = []
        """The names of the pages that are still in host memory and belong behind its own, in order. They are held there
        until they are back."""
        self.has_room = False
        """What its bound needs is reserved."""
        self.parked_tokens = 0
        """While it is parked, where its positions end: `filled` tells how many are back."""
        self.parked_at_s = 0.0
        self.source: int | None = None
        """The cached page whose head its last page gets by a copy. Held until that is done, within one step."""
        self.scores: list[TokenLogprob] = []
        """Of the prompt so far, where it is scored."""
        self.is_late = False
        """Its constraint is worked on: it is in no round."""
        self.submitted_at_s = now_s
        self.admitted_at_s: float | None = None
        self.first_token_at_s: float | None = None
        self.deadline_s = None if submission.timeout_s is None else now_s + submission.timeout_s

    @property
    def tokens(self) -> TokenLog:
        return self.row.tokens

    @property
    def filled(self) -> int:
        return self.row.filled

    @filled.setter
    def filled(self, filled: int) -> None:
        self.row.filled = filled

    @property
    def num_drawn(self) -> int:
        return self.row.num_drawn

    @property
    def prompt_tokens(self) -> int:
        return self.tokens.num_prompt

    @property
    def bound_pages(self) -> int:
        return self.table.capacity

    @property
    def is_parked(self) -> bool:
        return self.state is RequestState.PARKED

    @property
    def is_finished(self) -> bool:
        return self.state is RequestState.FINISHED

    def advance(self, event: RequestEvent) -> None:
        self.state = machine.advance(TABLE, self.state, event)

    def end(self, reason: FinishReason) -> None:
        """Moves to FINISHED for a reason, once."""
        self.advance(_FINISHERS[reason])
        self.finish = reason

    def rewind(self, stop: int) -> None:
        """Forgets the tokens from a position on. The pages are dealt with already."""
        tokens = TokenLog(self.submission.prompt, self.tokens.capacity)
        for token in self.tokens.slice(self.prompt_tokens, stop):
            tokens.append(token)
        self.row.tokens = tokens
        self.filled = stop

    def usage(self, now_s: float) -> Usage:
        """What it used until now."""
        admitted = now_s if self.admitted_at_s is None else self.admitted_at_s
        first = now_s if self.first_token_at_s is None else self.first_token_at_s
        return Usage(
            prompt_tokens=self.prompt_tokens,
            cached_tokens=self.cached_tokens,
            completion_tokens=self.num_drawn,
            queued_s=admitted - self.submitted_at_s,
            prefill_s=first - admitted,
            decode_s=now_s - first,
        )
