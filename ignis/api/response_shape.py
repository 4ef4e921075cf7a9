"""The events of one response, made of its deltas: pure, and the same for a body, a stream and a socket.

Each item is opened, filled and closed before the next one; whatever happens, the open one is closed before the end:

    created (queued) in_progress (item_added ... item_done)* completed | incomplete | failed

The response that the last event holds is the body of an answer that is not streamed.
"""

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import msgspec

from ignis.api.answering import Event
from ignis.api.figures import timings_of
from ignis.api.generation import Delta, DrawnToken, Outcome
from ignis.api.response_tools import ToolName
from ignis.api.response_writers import CallWriter, CustomCallWriter, MessageWriter, ReasoningWriter, Writer
from ignis.api.schema import response_events as events
from ignis.api.schema.response_events import LifeEvent, ResponseEvent
from ignis.api.schema.response_items import ItemStatus
from ignis.api.schema.responses import (
    IncompleteDetails,
    InputTokensDetails,
    OutputTokensDetails,
    Response,
    ResponseFailure,
    ResponseUsage,
)
from ignis.api.schema.usage import TokenLogprobEntry
from ignis.clock import unix_s
from ignis.error_body import detail
from ignis.errors import IgnisError
from ignis.scheduler.request import FinishReason
from ignis.stream.parts import CallArguments, CallBegin, Content, Reasoning

SpellLogprobs = Callable[[Sequence[DrawnToken]], list[TokenLogprobEntry]]
EndStatus = Literal["completed", "incomplete", "failed", "cancelled"]


class ResponseTale:
    """Fills `response` and tells of it. Every method gives the events that are due."""

    def __init__(
        self,
        response: Response,
        tools: Mapping[str, ToolName],
        *,
        seed: int = 0,
        spell_logprobs: SpellLogprobs | None = None,
        seals_reasoning: bool = False,
    ) -> None:
        """
        Args:
            tools: by the names that the model knows.
            spell_logprobs: where the client asked for log probabilities.
            seals_reasoning: reasoning items get an encrypted_content.
        """
        self.response = response
        self._tools = tools
        self._seed = seed
        self._spell_logprobs = spell_logprobs
        self._seals_reasoning = seals_reasoning
        self._open: Writer | None = None
        self._finish: FinishReason | None = None
        self._num_events = 0

    @property
    def has_begun(self) -> bool:
        """Whether an event was told."""
        return self._num_events > 0

    def queue(self, place: int) -> list[ResponseEvent]:
        """It waits for a lane, as the place-th of all that do, and moves up; `begin` follows when it has one."""
        self.response.status = "queued"
        found: list[ResponseEvent] = [] if self._num_events else [self._life(events.Created)]
        queued = self._life(events.Queued)
        return [*found, msgspec.structs.replace(queued, place=place)]

    def begin(self) -> list[ResponseEvent]:
        self.response.status = "in_progress"
        found = [] if self._num_events else [self._life(events.Created)]
        return [*found, self._life(events.InProgress)]

    def delta(self, delta: Delta) -> list[ResponseEvent]:
        found: list[ResponseEvent] = []
        tokens = delta.tokens
        for part in delta.parts:
            match part:
                case Content(text):
                    message = self._message(found)
                    found.append(message.add(text, self._spelled(tokens, text)))
                    tokens = ()
                case Reasoning(text):
                    found.append(self._reasoning(found).add(text))
                case CallBegin(_, name):
                    tool = self._tools.get(name) or ToolName(name)
                    kind = CustomCallWriter if tool.is_custom else CallWriter
                    self._begin(found, kind(self._next_index, self._number, tool))
                case CallArguments(_, text):
                    assert isinstance(self._open, CallWriter | CustomCallWriter)
                    found += self._open.add(text)
        self._finish = delta.finish or self._finish
        if delta.forced_at is not None:
            self.response.thinking_budget_forced_at = delta.forced_at
        return found

    def end(self, outcome: Outcome) -> list[ResponseEvent]:
        """The answer has ended by itself or at its cap."""
        response = self.response
        found: list[ResponseEvent] = []
        if self._open is None and not response.output and outcome.completion_tokens:
            # A model that said nothing said an empty message, for clients look for one.
            self._message(found)
        is_cut = self._finish is FinishReason.LENGTH
        found += self._close("incomplete" if is_cut else "completed")
        response.usage = _usage(outcome)
        response.timings = timings_of(outcome, self._seed)
        if is_cut:
            response.incomplete_details = IncompleteDetails(reason="max_output_tokens")
            return [*found, self._last("incomplete", events.Incomplete)]
        response.completed_at = unix_s()
        return [*found, self._last("completed", events.Completed)]

    def fail(self, error: IgnisError) -> list[ResponseEvent]:
        """It broke off: what came stays, and the error says why."""
        found = self._close("incomplete")
        shown = detail(error)
        self.response.error = ResponseFailure(code=shown.code, message=shown.message, type=shown.type)
        return [*found, self._last("failed", events.Failed)]

    def cancel(self) -> list[ResponseEvent]:
        """The client gave it up, maybe before it began: what came stays."""
        found = [] if self._num_events else [self._life(events.Created)]
        return [*found, *self._close("incomplete"), self._last("cancelled", events.Incomplete)]

    def _message(self, found: list[ResponseEvent]) -> MessageWriter:
        if not isinstance(self._open, MessageWriter):
            message = MessageWriter(self._next_index, self._number)
            self._begin(found, message)
            return message
        return self._open

    def _reasoning(self, found: list[ResponseEvent]) -> ReasoningWriter:
        if not isinstance(self._open, ReasoningWriter):
            reasoning = ReasoningWriter(self._next_index, self._number, seals=self._seals_reasoning)
            self._begin(found, reasoning)
            return reasoning
        return self._open

    def _begin(self, found: list[ResponseEvent], writer: Writer) -> None:
        found += self._close("completed")
        self._open = writer
        found += writer.begin()

    def _close(self, status: ItemStatus) -> list[ResponseEvent]:
        if self._open is None:
            return []
        found, item = self._open.close(status)
        index = len(self.response.output)
        found.append(events.ItemDone(sequence_number=self._number(), output_index=index, item=item))
        self.response.output.append(item)
        self._open = None
        return found

    @property
    def _next_index(self) -> int:
        """Of the item after the open one, which is not among the output yet."""
        return len(self.response.output) + (self._open is not None)

    def _number(self) -> int:
        self._num_events += 1
        return self._num_events - 1

    def _spelled(self, tokens: Sequence[DrawnToken], text: str) -> list[TokenLogprobEntry]:
        """Those of the text alone: the tokens of tags, calls and thoughts have no place in a message."""
        if not tokens or self._spell_logprobs is None:
            return []
        entries = self._spell_logprobs(tokens)
        start = b"".join(bytes(entry.bytes) for entry in entries).rfind(text.encode())
        end = start + len(text.encode())
        ends = list(itertools.accumulate(len(entry.bytes) for entry in entries))
        return [
            entry
            for entry, entry_end in zip(entries, ends, strict=True)
            if start < 0 or (entry_end > start and entry_end - len(entry.bytes) < end)
        ]

    def _life(self, kind: type[LifeEvent]) -> LifeEvent:
        # A copy, for the response goes on while events wait to be sent.
        response = msgspec.structs.replace(self.response, output=[*self.response.output])
        return kind(sequence_number=self._number(), response=response)

    def _last(self, status: EndStatus, kind: type[LifeEvent]) -> LifeEvent:
        self.response.status = status
        return self._life(kind)


class ResponseShape:
    """The tale as a stream carries it. stream_id: of a named stream of a socket, on each of its events."""

    def __init__(self, tale: ResponseTale, stream_id: str | None = None) -> None:
        self.tale = tale
        self._encoder = msgspec.json.Encoder()
        self._due: deque[ResponseEvent] = deque()
        """Numbered and not yet sent. Whoever is cancelled between two of them leaves the rest to what comes after."""
        self._tail = b"}" if stream_id is None else b',"stream_id":' + self._encoder.encode(stream_id) + b"}"

    def queue(self, place: int) -> Iterable[Event]:
        return self._spell(self.tale.queue(place))

    def begin(self) -> Iterable[Event]:
        return self._spell(self.tale.begin())

    def delta(self, delta: Delta) -> Iterable[Event]:
        return self._spell(self.tale.delta(delta))

    def end(self, outcome: Outcome) -> Iterable[Event]:
        return self._spell(self.tale.end(outcome))

    def fail(self, error: IgnisError) -> Iterable[Event]:
        return self._spell(self.tale.fail(error))

    def cancel(self) -> Iterable[Event]:
        return self._spell(self.tale.cancel())

    def _spell(self, found: Iterable[ResponseEvent]) -> Iterable[Event]:
        self._due.extend(found)
        return self._drain()

    def _drain(self) -> Iterator[Event]:
        while self._due:
            event = self._due.popleft()
            yield Event(self._encoder.encode(event)[:-1] + self._tail, str(event.__struct_config__.tag))


class PrewarmShape(ResponseShape):
    """Of a prompt that is only read ahead: the token that was drawn to read it is not told."""

    def delta(self, delta: Delta) -> Iterable[Event]:
        return ()

    def end(self, outcome: Outcome) -> Iterable[Event]:
        return super().end(replace(outcome, completion_tokens=0, reasoning_tokens=0))


def _usage(outcome: Outcome) -> ResponseUsage:
    return ResponseUsage(
        input_tokens=outcome.prompt_tokens,
        input_tokens_details=InputTokensDetails(
            cached_tokens=outcome.cached_tokens, cache_write_tokens=outcome.prompt_tokens - outcome.cached_tokens
        ),
        output_tokens=outcome.completion_tokens,
        output_tokens_details=OutputTokensDetails(
            reasoning_tokens=outcome.reasoning_tokens, rewound_tokens=outcome.rewound_tokens
        ),
        total_tokens=outcome.prompt_tokens + outcome.completion_tokens,
    )
