"""POST /v1/chat/completions: a checked body becomes a wish, and its deltas one JSON body or a stream of chunks."""

import secrets
from collections.abc import Iterable, Sequence

import msgspec

from ignis.api.answering import Answering, Event
from ignis.api.body import opening, read_body
from ignis.api.chunks import DONE, ChunkEncoder, new_call_id
from ignis.api.conversation import chat_conversation
from ignis.api.figures import logprobs_of, timings_of, usage_of
from ignis.api.generation import Delta, DrawnToken, Outcome
from ignis.api.held import held_form
from ignis.api.order import Order
from ignis.api.orders import Orders
from ignis.api.schema.chat_completions import (
    AnsweredCall,
    AnsweredFunction,
    AnswerMessage,
    ChatCompletion,
    ChatCompletionRequest,
    Choice,
    ChoiceLogprobs,
    FinishReasonText,
)
from ignis.api.wish import Names, Wish, explicit_cap
from ignis.clock import unix_s
from ignis.error_body import encode
from ignis.errors import IgnisError, InvalidSamplingParameterError
from ignis.exchange import Exchange
from ignis.scheduler.request import FinishReason
from ignis.stream.parts import CallArguments, CallBegin, Content, Part, Reasoning

_FINISH: dict[FinishReason, FinishReasonText] = {FinishReason.STOP: "stop", FinishReason.LENGTH: "length"}


class ChatCompletions:
    """The endpoint."""

    def __init__(self, orders: Orders, answering: Answering, max_body_bytes: int) -> None:
        self._orders = orders
        self._answering = answering
        self._max_body_bytes = max_body_bytes

    async def create(self, exchange: Exchange) -> None:
        read = await read_body(exchange, self._max_body_bytes, ChatCompletionRequest)
        fields = read.fields
        self._orders.report_ignored(read.ignored, exchange)
        order = await self._orders.make(_wish(fields), exchange.request_id, opening(exchange, read, fields.stream))
        completion_id, created = f"chatcmpl-{secrets.token_hex(12)}", unix_s()
        if fields.stream:
            has_usage = fields.stream_options is not None and bool(fields.stream_options.include_usage)
            encoder = ChunkEncoder(completion_id, created, order.model.name, order.num_answers, has_usage)
            await self._answering.stream(exchange, [order], _Chunks(order, encoder, has_usage=has_usage), read.headers)
            return
        answers = [_Whole() for _ in range(order.num_answers)]
        outcome = await self._answering.whole([order], lambda delta: answers[delta.answer].add(delta))
        body = ChatCompletion(
            id=completion_id,
            created=created,
            model=order.model.name,
            choices=[answer.choice(index, order) for index, answer in enumerate(answers)],
            usage=usage_of(outcome),
            timings=timings_of(outcome, order.sampling.seed),
        )
        await exchange.respond(200, msgspec.json.encode(body), headers=read.headers)


def _wish(fields: ChatCompletionRequest) -> Wish:
    max_tokens, cap_name = explicit_cap(
        max_tokens=fields.max_tokens, max_completion_tokens=fields.max_completion_tokens
    )
    if fields.top_logprobs and not fields.logprobs:
        raise InvalidSamplingParameterError("top_logprobs needs logprobs to be true", "top_logprobs")
    return Wish(
        fields=fields,
        prompt=chat_conversation(fields.messages, fields),
        max_tokens=max_tokens,
        num_answers=fields.n or 1,
        stop=fields.stop,
        form=held_form(fields),
        top_logprobs=(fields.top_logprobs or 0) if fields.logprobs else None,
        names=Names(max_tokens=cap_name),
    )


class _Chunks:
    """The shape of the stream."""

    def __init__(self, order: Order, encoder: ChunkEncoder, *, has_usage: bool) -> None:
        self._order = order
        self._encoder = encoder
        self._has_usage = has_usage
        self._finishes: list[tuple[int, FinishReasonText, int | None]] = []
        """Answer, why it ended, and when its thinking was closed by the budget."""

    def begin(self) -> Iterable[Event]:
        for index in range(self._order.num_answers):
            yield Event(self._encoder.first(index))

    def delta(self, delta: Delta) -> Iterable[Event]:
        logprobs = _logprobs(delta.tokens, self._order) if delta.tokens else None
        for part in delta.parts:
            yield Event(self._encoder.part(delta.answer, part, logprobs))
            logprobs = None
        if logprobs is not None:
            yield Event(self._encoder.logprobs(delta.answer, logprobs))
        if delta.finish is not None:
            reason = _finish_reason(delta.finish, has_calls=delta.has_calls)
            self._finishes.append((delta.answer, reason, delta.forced_at))
            # The last finish waits for the figures, so that they have a chunk to stand on when no usage was asked for.
            if len(self._finishes) < self._order.num_answers:
                yield Event(self._encoder.finish(delta.answer, reason, None, delta.forced_at))

    def end(self, outcome: Outcome) -> Iterable[Event]:
        timings = timings_of(outcome, self._order.sampling.seed)
        index, finish, forced_at = self._finishes[-1]
        yield Event(self._encoder.finish(index, finish, None if self._has_usage else timings, forced_at))
        if self._has_usage:
            yield Event(self._encoder.usage(usage_of(outcome), timings))
        yield Event(DONE)

    def fail(self, error: IgnisError) -> Iterable[Event]:
        """No [DONE] follows."""
        yield Event(encode(error))


class _Whole:
    """One answer of a body that is sent at its end."""

    def __init__(self) -> None:
        self._reasoning: list[str] = []
        self._content: list[str] = []
        self._calls: list[tuple[str, list[str]]] = []
        """The name of each call, and the pieces of its arguments."""
        self._tokens: list[DrawnToken] = []
        self._finish: FinishReasonText = "stop"
        self._forced_at: int | None = None

    def add(self, delta: Delta) -> None:
        for part in delta.parts:
            self._add_part(part)
        self._tokens += delta.tokens
        if delta.finish is not None:
            self._finish = _finish_reason(delta.finish, has_calls=delta.has_calls)
            self._forced_at = delta.forced_at

    def _add_part(self, part: Part) -> None:
        match part:
            case Content(text):
                self._content.append(text)
            case Reasoning(text):
                self._reasoning.append(text)
            case CallBegin(_, name):
                self._calls.append((name, []))
            case CallArguments(index, text):
                self._calls[index][1].append(text)

    def choice(self, index: int, order: Order) -> Choice:
        has_logprobs = order.sampling.top_logprobs is not None
        return Choice(
            index=index,
            message=self._message(),
            finish_reason=self._finish,
            logprobs=_logprobs(self._tokens, order) if has_logprobs else None,
            thinking_budget_forced_at=msgspec.UNSET if self._forced_at is None else self._forced_at,
        )

    def _message(self) -> AnswerMessage:
        content = "".join(self._content)
        calls = [
            AnsweredCall(id=new_call_id(), function=AnsweredFunction(name=name, arguments="".join(texts)))
            for name, texts in self._calls
        ]
        return AnswerMessage(
            content=None if calls and not content else content,
            reasoning_content="".join(self._reasoning) or msgspec.UNSET,
            tool_calls=calls or msgspec.UNSET,
        )


def _finish_reason(finish: FinishReason, *, has_calls: bool) -> FinishReasonText:
    return "tool_calls" if has_calls and finish is FinishReason.STOP else _FINISH[finish]


def _logprobs(tokens: Sequence[DrawnToken], order: Order) -> ChoiceLogprobs:
    return ChoiceLogprobs(content=logprobs_of(tokens, order.model.tokenizer))
