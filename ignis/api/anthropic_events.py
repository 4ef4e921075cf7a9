"""An answer in the events of Anthropic's streams, in their order: the shape of POST /v1/messages."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import msgspec

from ignis.api.answering import Event
from ignis.api.anthropic_blocks import BlockWriter
from ignis.api.error_shape import ANTHROPIC
from ignis.api.figures import logprobs_of, timings_of
from ignis.api.generation import Delta, DrawnToken, Outcome
from ignis.api.order import Order
from ignis.api.schema.anthropic_answer import (
    AnthropicMessage,
    BlockEvent,
    ContentBlockDelta,
    MessageDelta,
    MessageEnd,
    MessageOutputDetails,
    MessageStart,
    MessageStop,
    MessageUsage,
    Ping,
    StopReason,
)
from ignis.api.schema.usage import TokenLogprobEntry
from ignis.errors import IgnisError
from ignis.scheduler.request import FinishReason


class MessageEvents:
    """The shape of one stream:

    message_start
    content_block_start (ping, after the first) content_block_delta ... content_block_stop     for each block
    message_delta message_stop, or error
    """

    def __init__(self, message_id: str, order: Order, request_id: str, *, hides_thinking: bool, is_cut: bool) -> None:
        """`is_cut`: the cap is less than was asked for, because no more fits beside the prompt."""
        self._message_id = message_id
        self._order = order
        self._request_id = request_id
        self._is_cut = is_cut
        self._writer = BlockWriter(hides_thinking=hides_thinking)
        self._encoder = msgspec.json.Encoder()
        self._has_begun = False
        self._end: MessageEnd | None = None
        self._forced_at: int | None = None
        self._tokens: list[DrawnToken] = []
        """Whose log probabilities wait for an event to go out with."""

    def begin(self) -> Iterable[Event]:
        # What of the prompt was found in the cache is not known yet: the figures at the end replace these.
        yield self._event(MessageStart(message=self.message(MessageUsage(
            input_tokens=len(self._order.prompt), cache_read_input_tokens=0, output_tokens=0
        ))))  # fmt: skip

    def delta(self, delta: Delta) -> Iterable[Event]:
        for event in self.block_events(delta):
            yield self._event(event)
            if not self._has_begun:
                self._has_begun = True
                yield self._event(Ping())

    def end(self, outcome: Outcome) -> Iterable[Event]:
        last = self.last(outcome)
        yield self._event(last)
        yield self._event(MessageStop())

    def fail(self, error: IgnisError) -> Iterable[Event]:
        yield Event(ANTHROPIC.encode(error, self._request_id), "error")

    def block_events(self, delta: Delta) -> Iterator[BlockEvent]:
        """The events of the blocks only."""
        self._tokens += delta.tokens
        for part in delta.parts:
            for event in self._writer.write(part):
                if self._tokens and isinstance(event, ContentBlockDelta):
                    event.logprobs = self._take_logprobs()
                yield event
        if delta.finish is not None:
            yield from self._writer.finish()
            self._end = MessageEnd(stop_reason=self._stop_reason(delta), stop_sequence=delta.stop_string)
            self._forced_at = delta.forced_at

    def message(self, usage: MessageUsage) -> AnthropicMessage:
        """The message without its content."""
        return AnthropicMessage(id=self._message_id, model=self._order.model.name, content=[], usage=usage)

    def last(self, outcome: Outcome) -> MessageDelta:
        """Why it ended, and the figures."""
        assert self._end is not None, "an answer has ended when its outcome is known"
        usage = MessageUsage(
            input_tokens=outcome.prompt_tokens - outcome.cached_tokens,
            cache_read_input_tokens=outcome.cached_tokens,
            output_tokens=outcome.completion_tokens,
            output_tokens_details=MessageOutputDetails(
                thinking_tokens=outcome.reasoning_tokens, rewound_tokens=outcome.rewound_tokens
            ),
        )
        return MessageDelta(
            delta=self._end,
            usage=usage,
            thinking_budget_forced_at=msgspec.UNSET if self._forced_at is None else self._forced_at,
            logprobs=self._take_logprobs() if self._tokens else msgspec.UNSET,
            timings=timings_of(outcome, self._order.sampling.seed),
        )

    def _take_logprobs(self) -> list[TokenLogprobEntry]:
        tokens, self._tokens = self._tokens, []
        return logprobs_of(tokens, self._order.model.tokenizer)

    def _stop_reason(self, delta: Delta) -> StopReason:
        if delta.finish is FinishReason.LENGTH:
            return "model_context_window_exceeded" if self._is_cut else "max_tokens"
        if delta.stop_string is not None:
            return "stop_sequence"
        return "tool_use" if delta.has_calls else "end_turn"

    def _event(self, event: MessageStart | BlockEvent | Ping | MessageDelta | MessageStop) -> Event:
        return Event(self._encoder.encode(event), str(type(event).__struct_config__.tag))


class PrewarmEvents(MessageEvents):
    """Of a prompt that is only read ahead: the token that was drawn to read it is not told."""

    def block_events(self, delta: Delta) -> Iterator[BlockEvent]:
        if delta.finish is not None:
            self._end = MessageEnd(stop_reason="max_tokens")
        yield from ()

    def last(self, outcome: Outcome) -> MessageDelta:
        return super().last(replace(outcome, completion_tokens=0, reasoning_tokens=0, rewound_tokens=0))
