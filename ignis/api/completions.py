"""POST /v1/completions: text goes on where a prompt ends. Each prompt of a list is an order of its own."""

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import msgspec

from ignis.api.answering import Answering, Event
from ignis.api.body import opening, read_body
from ignis.api.chunks import DONE, text_frame
from ignis.api.completion_answer import CompletionAnswer, best_answers
from ignis.api.figures import timings_of, usage_of
from ignis.api.generation import Delta, Outcome
from ignis.api.held import held_form
from ignis.api.order import Order
from ignis.api.orders import Orders
from ignis.api.prompt import Prompts
from ignis.api.sampling import fresh_seed
from ignis.api.schema.completions import (
    DEFAULT_MAX_TOKENS,
    Completion,
    CompletionChunk,
    CompletionPiece,
    CompletionRequest,
)
from ignis.api.schema.usage import CompletionUsage
from ignis.api.wish import FillIn, Names, Wish, explicit_cap
from ignis.clock import unix_s
from ignis.error_body import encode
from ignis.errors import IgnisError, InvalidRequestError, UnsupportedValueError
from ignis.exchange import Exchange
from ignis.limits import MAX_PROMPTS


class Completions:
    """The endpoint."""

    def __init__(self, orders: Orders, prompts: Prompts, answering: Answering, max_body_bytes: int) -> None:
        self._orders = orders
        self._prompts = prompts
        self._answering = answering
        self._max_body_bytes = max_body_bytes

    async def create(self, exchange: Exchange) -> None:
        read = await read_body(exchange, self._max_body_bytes, CompletionRequest)
        fields = read.fields
        self._orders.report_ignored(read.ignored, exchange)
        texts = _prompts(fields)
        wishes = _wishes(fields, texts)
        async with self._orders.use(fields.model, opening(exchange, read, fields.stream)) as use:
            orders = [await self._orders.make_with(use, wish, exchange.request_id) for wish in wishes]
            echoes = await self._echoes(orders, texts) if fields.echo else [""] * len(orders)
        is_silent = 0 in (fields.max_tokens, fields.max_completion_tokens)
        answers = [
            CompletionAnswer(order, echo, is_silent=is_silent)
            for order, echo in zip(orders, echoes, strict=True)
            for _ in range(_num_drawn(fields))
        ]
        head = _Head(f"cmpl-{secrets.token_hex(12)}", unix_s(), orders[0].model.name, orders[0].sampling.seed)
        if fields.stream:
            has_usage = fields.stream_options is not None and bool(fields.stream_options.include_usage)
            shape = _Chunks(answers, head, has_usage=has_usage, is_silent=is_silent)
            await self._answering.stream(exchange, orders, shape, read.headers)
            return
        outcome = await self._answering.whole(orders, lambda delta: answers[delta.answer].keep(delta))
        body = Completion(
            id=head.id,
            created=head.created,
            model=head.model,
            choices=[
                answer.choice(index, has_logprobs=fields.logprobs is not None)
                for index, answer in enumerate(best_answers(answers, _num_drawn(fields), fields.n or 1))
            ],
            usage=_usage(outcome, is_silent=is_silent),
            timings=timings_of(outcome, head.seed),
        )
        await exchange.respond(200, msgspec.json.encode(body), headers=read.headers)

    async def _echoes(self, orders: Sequence[Order], texts: Sequence[str | tuple[int, ...]]) -> list[str]:
        """The text of each prompt: as it was written, or what its ids spell."""
        return [
            text if isinstance(text, str) else await self._prompts.decode(order.model, text)
            for order, text in zip(orders, texts, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class _Head:
    """What stands in the body, and in each chunk."""

    id: str
    created: int
    model: str
    seed: int


def _wishes(fields: CompletionRequest, prompts: Sequence[str | tuple[int, ...]]) -> list[Wish]:
    """A wish for each prompt. All draw with one seed: a prompt's answers are those that it gets when it comes alone."""
    num_answers, num_drawn = fields.n or 1, _num_drawn(fields)
    if num_drawn < num_answers:
        raise InvalidRequestError(f"best_of must be at least n, {num_answers}, not {num_drawn}", "best_of")
    if num_drawn > num_answers and fields.stream:
        raise UnsupportedValueError(
            f"best_of must be n, {num_answers}, in a stream: which answers are best is known at their end",
            "best_of",
        )
    if fields.echo and fields.suffix and fields.logprobs is not None:
        raise UnsupportedValueError("echo is not served with suffix and logprobs: the gap is not where it ends", "echo")
    max_tokens, cap_name = explicit_cap(
        max_tokens=fields.max_tokens, max_completion_tokens=fields.max_completion_tokens
    )
    if max_tokens == 0 and not fields.echo:
        raise InvalidRequestError(f"{cap_name} must be at least 1, or echo true", cap_name)
    form = held_form(fields)
    seeded = msgspec.structs.replace(fields, seed=fresh_seed() if fields.seed is None else fields.seed)
    return [
        Wish(
            fields=seeded,
            prompt=_fill_in(prompt, fields.suffix) if fields.suffix else prompt,
            # To read a prompt a token has to be drawn; it is not told.
            max_tokens=1 if max_tokens == 0 else max_tokens,
            default_max_tokens=DEFAULT_MAX_TOKENS,
            num_answers=num_drawn,
            stop=fields.stop,
            form=form,
            # What is ranked needs them, told or not.
            top_logprobs=0 if fields.logprobs is None and num_drawn > num_answers else fields.logprobs,
            prompt_logprobs=fields.logprobs if fields.echo else None,
            names=Names(prompt="prompt" if len(prompts) == 1 else f"prompt[{index}]", max_tokens=cap_name),
        )
        for index, prompt in enumerate(prompts)
    ]


def _fill_in(prompt: str | tuple[int, ...], suffix: str) -> FillIn:
    if isinstance(prompt, str):
        return FillIn(prompt, suffix)
    raise UnsupportedValueError("suffix is served with a prompt of text only, not of token ids", "suffix")


def _prompts(fields: CompletionRequest) -> list[str | tuple[int, ...]]:
    """Parts the field into prompts.

    Raises:
        InvalidRequestError: there is none, there are too many, or a list mixes kinds.
    """
    prompt = fields.prompt
    if isinstance(prompt, str):
        return [prompt]
    if not prompt:
        raise InvalidRequestError("prompt must hold a prompt at least, not an empty array", "prompt")
    kind = type(prompt[0])
    if len(set(map(type, prompt))) > 1:
        index = next(index for index, item in enumerate(prompt) if type(item) is not kind)
        raise InvalidRequestError(f"prompt[{index}] must be of the kind of prompt[0]: one kind a list", "prompt")
    if kind is int:
        return [tuple(prompt)]  # type: ignore[arg-type]
    if len(prompt) > MAX_PROMPTS:
        raise InvalidRequestError(f"prompt must hold at most {MAX_PROMPTS} prompts, not {len(prompt)}", "prompt")
    return [item if isinstance(item, str) else tuple(item) for item in prompt]  # type: ignore[arg-type]


def _num_drawn(fields: CompletionRequest) -> int:
    """Answers of each prompt, those included that are not returned."""
    return fields.best_of or fields.n or 1


class _Chunks:
    """The shape of the stream."""

    def __init__(self, answers: Sequence[CompletionAnswer], head: _Head, *, has_usage: bool, is_silent: bool) -> None:
        self._answers = answers
        self._is_silent = is_silent
        self._seed = head.seed
        self._has_usage = has_usage
        self._encoder = msgspec.json.Encoder()
        self._blank = CompletionChunk(
            id=head.id,
            created=head.created,
            model=head.model,
            choices=[],
            # Asked for usage, every chunk has the key: null on all but the last one.
            usage=None if has_usage else msgspec.UNSET,
        )
        self._frames = [self._frame(index) for index in range(len(answers))]
        self._finishes: list[CompletionPiece] = []

    def begin(self) -> Iterable[Event]:
        for index, answer in enumerate(self._answers):
            if (echo := answer.begin(index)) is not None:
                yield self._event(echo)

    def delta(self, delta: Delta) -> Iterable[Event]:
        answer = self._answers[delta.answer]
        piece = answer.piece(delta)
        if piece is not None and piece.logprobs is not None:
            yield self._event(piece)
        elif piece is not None:
            before, after = self._frames[delta.answer]
            yield Event(before + self._encoder.encode(piece.text) + after)
        if (end := answer.end(delta)) is not None:
            self._finishes.append(end)
            # The last finish waits for the figures, as in chat.
            if len(self._finishes) < len(self._answers):
                yield self._event(end)

    def end(self, outcome: Outcome) -> Iterable[Event]:
        timings = timings_of(outcome, self._seed)
        last = self._chunk(self._finishes[-1])
        if not self._has_usage:
            yield Event(self._encoder.encode(msgspec.structs.replace(last, timings=timings)))
        else:
            yield Event(self._encoder.encode(last))
            usage = _usage(outcome, is_silent=self._is_silent)
            yield Event(self._encoder.encode(msgspec.structs.replace(self._blank, usage=usage, timings=timings)))
        yield Event(DONE)

    def fail(self, error: IgnisError) -> Iterable[Event]:
        """No [DONE] follows."""
        yield Event(encode(error))

    def _frame(self, index: int) -> tuple[bytes, bytes]:
        return text_frame(self._encoder, lambda mark: self._chunk(CompletionPiece(text=mark, index=index)))

    def _event(self, piece: CompletionPiece) -> Event:
        return Event(self._encoder.encode(self._chunk(piece)))

    def _chunk(self, piece: CompletionPiece) -> CompletionChunk:
        return msgspec.structs.replace(self._blank, choices=[piece])


def _usage(outcome: Outcome, *, is_silent: bool) -> CompletionUsage:
    return usage_of(replace(outcome, completion_tokens=0) if is_silent else outcome)
