"""The one path from what was submitted to its text, whatever the route and whether it streams: follow, end.

A route is called back with Deltas. Nothing here knows a wire format.
"""

import itertools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import trio

from ignis.api.order import Order
from ignis.engine.mailbox import Mailbox
from ignis.errors import CutOffError, DrainingError, EngineError, InvalidRequestError, RequestTimeoutError
from ignis.scheduler.request import FinishReason, TokenEvent, TokenLogprob, Usage
from ignis.stream.delta import TextOut
from ignis.stream.parts import Part
from ignis.stream.reasoning import opens_reasoning

_ENDS = (FinishReason.STOP, FinishReason.LENGTH)


@dataclass(frozen=True, slots=True)
class DrawnToken:
    """A token with its log probabilities."""

    token_id: int
    logprob: TokenLogprob


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of one answer. The last one of an answer has `finish` (STOP or LENGTH) and may have parts too."""

    answer: int
    parts: tuple[Part, ...] = ()
    tokens: tuple[DrawnToken, ...] = ()
    """Those that the text so far has reached, where log probabilities were asked for."""
    finish: FinishReason | None = None
    has_calls: bool = False
    """With `finish`: the answer has tool calls, and all of them are complete."""
    stop_string: str | None = None
    """With `finish`: the stop string that ended the text; None where none did."""
    forced_at: int | None = None
    """With `finish`: reasoning tokens when the spent budget closed the reasoning; None where it did not."""
    scores: tuple[TokenLogprob, ...] | None = None
    """Of the prompt's tokens but the first, before everything else of an answer where they were asked for."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The figures of a finished generation, over all answers."""

    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    reasoning_tokens: int
    """Of the completion tokens those that were drawn inside reasoning, its tags included."""
    rewound_tokens: int
    """Of the completion tokens those that the model no longer saw: it went in circles."""
    queued_s: float
    prefill_s: float
    """Of all prompts: one lane computes them in turn."""
    decode_s: float
    """Of the slowest answer, from its first token to its last."""
    num_answers: int

    @property
    def tokens_per_s(self) -> float:
        """Of decode: first tokens come out of the prompt."""
        drawn = self.completion_tokens - self.num_answers
        return drawn / self.decode_s if drawn > 0 and self.decode_s > 0 else 0.0


OnDelta = Callable[[Delta], Awaitable[None]]


async def follow(orders: Sequence[Order], mailboxes: Sequence[Mailbox], on_delta: OnDelta) -> Outcome:
    """Reads every answer to its end. Deltas of one answer come in order, one call at a time.

    However this ends, no request is left behind: what has not ended is cancelled.

    Args:
        mailboxes: one for each answer, those of the first order first. `Delta.answer` counts through them.

    Raises:
        RequestTimeoutError, EngineError, CutOffError, DrainingError: an answer did not end on its own.
    """
    asked = [(order, number) for order in orders for number in range(order.num_answers)]
    answers = [
        _Answer(index, order, number, mailbox)
        for index, ((order, number), mailbox) in enumerate(zip(asked, mailboxes, strict=True))
    ]
    if len(answers) == 1:
        await answers[0].follow(on_delta)
    else:
        await _follow_all(answers, on_delta)
    # A prompt counts once, however many answers it has.
    firsts = _firsts(orders, answers)
    return Outcome(
        prompt_tokens=sum(len(order.prompt) for order in orders),
        cached_tokens=sum(usage.cached_tokens for usage in firsts),
        completion_tokens=sum(answer.num_drawn for answer in answers),
        reasoning_tokens=sum(answer.num_reasoning for answer in answers),
        rewound_tokens=sum(answer.num_rewound for answer in answers),
        queued_s=orders[0].waited_s + firsts[0].queued_s,
        prefill_s=sum(usage.prefill_s for usage in firsts),
        decode_s=max(answer.decode_s for answer in answers),
        num_answers=len(answers),
    )


def release(mailboxes: Sequence[Mailbox]) -> None:
    """Cancels what has not ended."""
    for mailbox in mailboxes:
        mailbox.cancel()


async def _follow_all(answers: Sequence["_Answer"], on_delta: OnDelta) -> None:
    lock = trio.Lock()
    failures: list[Exception] = []

    async def in_turn(delta: Delta) -> None:
        async with lock:
            await on_delta(delta)

    async def guarded(answer: "_Answer") -> None:
        # The first failure ends the others and is raised bare: callers know errors, not groups of them.
        try:
            await answer.follow(in_turn)
        except Exception as error:
            failures.append(error)
            tasks.cancel_scope.cancel()

    async with trio.open_nursery() as tasks:
        for answer in answers:
            tasks.start_soon(guarded, answer)
    if failures:
        raise failures[0]


def _firsts(orders: Sequence[Order], answers: Sequence["_Answer"]) -> list[Usage]:
    """The usage of each order's first answer."""
    starts = itertools.accumulate((order.num_answers for order in orders[:-1]), initial=0)
    return [answers[start].usage for start in starts]


class _Answer:
    """One answer of an order while it is read."""

    def __init__(self, index: int, order: Order, number: int, mailbox: Mailbox) -> None:
        """`index`: among all answers; `number`: among those of its order."""
        self.index = index
        self._record = order.reasoning[number] if order.reasoning else None
        self.num_drawn = 0
        self.num_reasoning = 0
        self.usage = Usage(0, 0, 0, 0.0, 0.0, 0.0)
        self.decode_s = 0.0
        self._mailbox = mailbox
        self._text = TextOut(
            order.model.tokenizer,
            order.stops,
            order.dialect,
            tools=order.tools,
            is_in_reasoning=opens_reasoning(order.model.tokenizer, order.dialect, order.prompt),
            max_calls=order.max_calls,
            is_held=order.is_held,
            is_forced=order.is_forced,
            continues=order.continues,
        )
        self._timeout_s = order.timeout_s
        self._held_param = order.held_param
        self._reached = None if order.sampling.top_logprobs is None else _Reached(self._text.token_bytes)
        self._owes_scores = order.prompt_logprobs is not None
        self._first_at: float | None = None

    async def follow(self, on_delta: OnDelta) -> None:
        with self._mailbox as mailbox:
            while True:
                event = await mailbox.receive()
                if event.tokens and self._first_at is None:
                    self._first_at = trio.current_time()
                if self._owes_scores and (event.tokens or event.finish in _ENDS):
                    self._owes_scores = False
                    await on_delta(Delta(self.index, scores=event.scores))
                if await self._take_tokens(event, on_delta):
                    mailbox.stop()
                    self._conclude(mailbox, self.num_drawn)
                    await on_delta(self._last_delta((), (), FinishReason.STOP))
                    return
                if event.finish is not None:
                    await self._end(event, on_delta)
                    return

    async def _take_tokens(self, event: TokenEvent, on_delta: OnDelta) -> bool:
        """Passes the tokens on one by one, so that a client sees the same deltas however many came in one step."""
        for position, token in enumerate(event.tokens):
            was_in_reasoning = self._text.is_in_reasoning
            piece = self._text.push((token,))
            self.num_drawn += piece.tokens
            if was_in_reasoning or self._text.is_in_reasoning:
                self.num_reasoning += piece.tokens
            if self._reached is not None:
                self._reached.draw(DrawnToken(token, event.logprobs[position]))
            if piece.parts:
                tokens = () if self._reached is None else self._reached.reach(self._text.num_decided_bytes)
                await on_delta(Delta(self.index, piece.parts, tokens))
            if piece.stopped:
                return True
        return False

    async def _end(self, event: TokenEvent, on_delta: OnDelta) -> None:
        if event.finish is FinishReason.EXPIRED:
            raise RequestTimeoutError(f"the request was not done within {self._timeout_s or 0:g} s")
        if event.finish is FinishReason.BLOCKED:
            raise InvalidRequestError(f"{self._held_param} cannot be held: {event.fault}", self._held_param)
        if event.finish is FinishReason.CUT_OFF:
            raise CutOffError(event.told or event.fault)
        if event.finish is FinishReason.FAULT:
            raise EngineError(event.fault, told=event.told)
        if event.finish is FinishReason.CANCELLED:
            raise DrainingError("the server gave the request up because it shuts down")
        tail = self._text.finish()
        self._conclude(self._mailbox, event.usage.completion_tokens if event.usage else self.num_drawn)
        num_bytes = self._text.num_decided_bytes
        reached = () if self._reached is None else self._reached.finish(num_bytes, has_more=tail.stopped)
        finish = FinishReason.STOP if tail.stopped else event.finish
        await on_delta(self._last_delta(tail.parts, reached, finish))

    def _last_delta(
        self, parts: tuple[Part, ...], tokens: tuple[DrawnToken, ...], finish: FinishReason | None
    ) -> Delta:
        text = self._text
        return Delta(
            self.index,
            parts,
            tokens,
            finish,
            has_calls=text.has_calls,
            stop_string=text.stop_string,
            forced_at=None if self._record is None else self._record.forced_at,
        )

    @property
    def num_rewound(self) -> int:
        return 0 if self._record is None else self._record.rewound_tokens

    def _conclude(self, mailbox: Mailbox, num_drawn: int) -> None:
        self.num_drawn = num_drawn
        self.usage = mailbox.usage or self.usage
        if self._first_at is not None:
            self.decode_s = self.usage.decode_s or trio.current_time() - self._first_at


class _Reached:
    """Which drawn tokens the visible text has reached: log probabilities go out with their text, and never beyond it.

    Text that is held back (half a character, the start of a tag or stop string) holds its tokens back too, and a stop
    string takes its tokens with it. Counted in bytes, because a token may end inside a character.
    """

    def __init__(self, token_bytes: Callable[[int], bytes]) -> None:
        self._token_bytes = token_bytes
        self._waiting: list[tuple[int, DrawnToken]] = []
        self._drawn_bytes = 0

    def draw(self, token: DrawnToken) -> None:
        self._waiting.append((self._drawn_bytes, token))
        self._drawn_bytes += len(self._token_bytes(token.token_id))

    def reach(self, num_bytes: int) -> tuple[DrawnToken, ...]:
        """Takes the tokens that begin inside the first bytes of the text."""
        count = sum(1 for start, _ in self._waiting if start < num_bytes)
        taken, self._waiting = self._waiting[:count], self._waiting[count:]
        return tuple(token for _, token in taken)

    def finish(self, num_bytes: int, *, has_more: bool) -> tuple[DrawnToken, ...]:
        """Takes the rest, unless a stop string swallowed it."""
        reached = self.reach(num_bytes)
        return reached if has_more else (*reached, *(token for _, token in self._waiting))
