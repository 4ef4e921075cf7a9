"""POST /v1/chat/completions: a checked body becomes an order, and its deltas one JSON body or a stream of chunks."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from ignis.api.body import read_body
from ignis.api.chunks import DONE, ChunkEncoder, new_call_id
from ignis.api.generation import Delta, DrawnToken, Order, Outcome, follow, release
from ignis.api.order import Orders
from ignis.api.schema.chat_completions import (
    AnsweredCall,
    AnsweredFunction,
    AnswerMessage,
    ChatCompletion,
    ChatCompletionRequest,
    ChatUsage,
    Choice,
    ChoiceLogprobs,
    FinishReasonText,
    PromptTokensDetails,
    Timings,
    TokenLogprobEntry,
    TopLogprob,
)
from ignis.api.serving import Serving
from ignis.clock import unix_s
from ignis.engine.mailbox import Mailbox
from ignis.error_body import encode
from ignis.errors import Fault, IgnisError
from ignis.exchange import Exchange
from ignis.log import Log
from ignis.scheduler.request import FinishReason
from ignis.stream.parts import CallArguments, CallBegin, Content, Part, Reasoning
from ignis.tokenizer import Tokenizer

_FINISH: dict[FinishReason, FinishReasonText] = {FinishReason.STOP: "stop", FinishReason.LENGTH: "length"}


class ChatCompletions:
    """The endpoint."""

    def __init__(self, serving: Serving, orders: Orders, log: Log, max_body_bytes: int) -> None:
        self._serving = serving
        self._orders = orders
        self._log = log
        self._max_body_bytes = max_body_bytes

    async def create(self, exchange: Exchange) -> None:
        read = await read_body(exchange, self._max_body_bytes, ChatCompletionRequest)
        fields = read.fields
        self._orders.report_ignored(read.ignored, exchange)
        order = await self._orders.make(fields, exchange.request_id)
        head = _Head(f"chatcmpl-{secrets.token_hex(12)}", unix_s(), order.model.name)
        mailboxes = self._serving.submit(order.submissions())
        try:
            if fields.stream:
                has_usage = fields.stream_options is not None and bool(fields.stream_options.include_usage)
                await self._stream(exchange, order, mailboxes, head, read.headers, has_usage=has_usage)
            else:
                await self._whole(exchange, order, mailboxes, head, read.headers)
        finally:
            release(mailboxes)

    async def _whole(
        self,
        exchange: Exchange,
        order: Order,
        mailboxes: Sequence[Mailbox],
        head: "_Head",
        headers: Sequence[tuple[str, str]],
    ) -> None:
        answers = [_Whole() for _ in mailboxes]

        async def keep(delta: Delta) -> None:
            answers[delta.answer].add(delta)

        outcome = await follow(order, mailboxes, keep)
        body = ChatCompletion(
            id=head.id,
            created=head.created,
            model=head.model,
            choices=[answer.choice(index, order) for index, answer in enumerate(answers)],
            usage=_usage(outcome),
            timings=_timings(outcome, order),
        )
        await exchange.respond(200, msgspec.json.encode(body), headers=headers)

    async def _stream(
        self,
        exchange: Exchange,
        order: Order,
        mailboxes: Sequence[Mailbox],
        head: "_Head",
        headers: Sequence[tuple[str, str]],
        *,
        has_usage: bool,
    ) -> None:
        num_choices = len(mailboxes)
        chunks = ChunkEncoder(head.id, head.created, head.model, num_choices, has_usage)
        events = await exchange.open_events(headers)
        finishes: list[tuple[int, FinishReasonText]] = []

        async def pass_on(delta: Delta) -> None:
            logprobs = _logprobs(delta.tokens, order.model.tokenizer) if delta.tokens else None
            for part in delta.parts:
                await events.send(chunks.part(delta.answer, part, logprobs))
                logprobs = None
            if logprobs is not None:
                await events.send(chunks.logprobs(delta.answer, logprobs))
            if delta.finish is not None:
                reason = _finish_reason(delta.finish, has_calls=delta.has_calls)
                finishes.append((delta.answer, reason))
                if len(finishes) < num_choices:
                    await events.send(chunks.finish(delta.answer, reason, None))

        try:
            for index in range(num_choices):
                await events.send(chunks.first(index))
            outcome = await follow(order, mailboxes, pass_on)
        except IgnisError as error:
            # The answer has begun with 200: the error is an event, and no [DONE] follows.
            if isinstance(error, Fault):
                self._log.emit("ignis.request.fault", request_id=exchange.request_id, error=error)
            await events.send(encode(error))
            await events.close()
            return
        # The last finish waits for the figures, so that they have a chunk to stand on when no usage was asked for.
        timings = _timings(outcome, order)
        index, finish = finishes[-1]
        await events.send(chunks.finish(index, finish, None if has_usage else timings))
        if has_usage:
            await events.send(chunks.usage(_usage(outcome), timings))
        await events.send(DONE)
        await events.close()


@dataclass(frozen=True, slots=True)
class _Head:
    """What stands in the body, and in each chunk."""

    id: str
    created: int
    model: str


class _Whole:
    """One answer of a body that is sent at its end."""

    def __init__(self) -> None:
        self._reasoning: list[str] = []
        self._content: list[str] = []
        self._calls: list[tuple[str, list[str]]] = []
        """The name of each call, and the pieces of its arguments."""
        self._tokens: list[DrawnToken] = []
        self._finish: FinishReasonText = "stop"

    def add(self, delta: Delta) -> None:
        for part in delta.parts:
            self._add_part(part)
        self._tokens += delta.tokens
        if delta.finish is not None:
            self._finish = _finish_reason(delta.finish, has_calls=delta.has_calls)

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
            logprobs=_logprobs(self._tokens, order.model.tokenizer) if has_logprobs else None,
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


def _usage(outcome: Outcome) -> ChatUsage:
    return ChatUsage(
        prompt_tokens=outcome.prompt_tokens,
        completion_tokens=outcome.completion_tokens,
        total_tokens=outcome.prompt_tokens + outcome.completion_tokens,
        prompt_tokens_details=PromptTokensDetails(cached_tokens=outcome.cached_tokens),
    )


def _timings(outcome: Outcome, order: Order) -> Timings:
    num_computed = outcome.prompt_tokens - outcome.cached_tokens
    return Timings(
        seed=order.sampling.seed,
        queued_ms=round(outcome.queued_s * 1e3, 3),
        cached_n=outcome.cached_tokens,
        prompt_n=num_computed,
        prompt_ms=round(outcome.prefill_s * 1e3, 3),
        prompt_per_second=round(num_computed / outcome.prefill_s, 2) if outcome.prefill_s > 0 else 0.0,
        predicted_n=outcome.completion_tokens,
        predicted_ms=round(outcome.decode_s * 1e3, 3),
        predicted_per_second=round(outcome.tokens_per_s, 2),
    )


def _logprobs(tokens: Sequence[DrawnToken], tokenizer: Tokenizer) -> ChoiceLogprobs:
    return ChoiceLogprobs(
        content=[
            TokenLogprobEntry(
                token=tokenizer.token_text(token.token_id),
                logprob=token.logprob.logprob,
                bytes=list(tokenizer.token_bytes(token.token_id)),
                top_logprobs=[
                    TopLogprob(
                        token=tokenizer.token_text(token_id),
                        logprob=logprob,
                        bytes=list(tokenizer.token_bytes(token_id)),
                    )
                    for token_id, logprob in token.logprob.top
                ],
            )
            for token in tokens
        ]
    )
