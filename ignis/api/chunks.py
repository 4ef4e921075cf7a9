"""The events of a chat stream as bytes. A text delta, which comes a thousand times, is two fixed parts and a text."""

import secrets
from collections.abc import Callable

import msgspec

from ignis.api.schema.chat_completions import (
    CallDelta,
    ChatCompletionChunk,
    ChoiceLogprobs,
    ChunkChoice,
    ChunkDelta,
    FinishReasonText,
    FunctionDelta,
)
from ignis.api.schema.usage import CompletionUsage, Timings
from ignis.stream.parts import CallArguments, CallBegin, Content, Part, Reasoning

DONE = b"[DONE]"
_TEXT_MARK = "text goes here"


class ChunkEncoder:
    """Encodes the chunks of one stream."""

    def __init__(self, completion_id: str, created: int, model: str, num_choices: int, has_usage: bool) -> None:
        self._encoder = msgspec.json.Encoder()
        self._blank = ChatCompletionChunk(
            id=completion_id,
            created=created,
            model=model,
            choices=[],
            # Asked for usage, every chunk has the key: null on all but the last one.
            usage=None if has_usage else msgspec.UNSET,
        )
        self._frames = [self._frame(index) for index in range(num_choices)]

    def first(self, index: int) -> bytes:
        """The head of a choice: the role and empty content."""
        return self._encode(ChunkChoice(index=index, delta=ChunkDelta(role="assistant", content="")))

    def text(self, index: int, text: str) -> bytes:
        before, after = self._frames[index]
        return before + self._encoder.encode(text) + after

    def part(self, index: int, part: Part, logprobs: ChoiceLogprobs | None = None) -> bytes:
        """Any part of an answer; a call begins with an id that no other call has."""
        if isinstance(part, Content) and logprobs is None:
            return self.text(index, part.text)
        return self._encode(
            ChunkChoice(index=index, delta=_delta(part), logprobs=msgspec.UNSET if logprobs is None else logprobs)
        )

    def logprobs(self, index: int, logprobs: ChoiceLogprobs) -> bytes:
        """Log probabilities of tokens that came without text."""
        return self._encode(ChunkChoice(index=index, delta=ChunkDelta(content=""), logprobs=logprobs))

    def finish(
        self, index: int, reason: "FinishReasonText", timings: Timings | None, forced_at: int | None = None
    ) -> bytes:
        """The end of a choice: an empty delta and why it ended."""
        choice = ChunkChoice(
            index=index,
            delta=ChunkDelta(),
            finish_reason=reason,
            thinking_budget_forced_at=msgspec.UNSET if forced_at is None else forced_at,
        )
        return self._encode(choice, timings)

    def usage(self, usage: CompletionUsage, timings: Timings) -> bytes:
        """The last chunk where usage was asked for; it has no choices."""
        return self._encoder.encode(msgspec.structs.replace(self._blank, usage=usage, timings=timings))

    def _encode(self, choice: ChunkChoice, timings: Timings | None = None) -> bytes:
        chunk = msgspec.structs.replace(
            self._blank, choices=[choice], timings=msgspec.UNSET if timings is None else timings
        )
        return self._encoder.encode(chunk)

    def _frame(self, index: int) -> tuple[bytes, bytes]:
        return text_frame(
            self._encoder,
            lambda mark: msgspec.structs.replace(
                self._blank, choices=[ChunkChoice(index=index, delta=ChunkDelta(content=mark))]
            ),
        )


def text_frame(encoder: msgspec.json.Encoder, chunk: Callable[[str], msgspec.Struct]) -> tuple[bytes, bytes]:
    """Cuts a chunk at its text: what stands before the text's JSON and what behind it. `chunk` makes one of a text."""
    whole = encoder.encode(chunk(_TEXT_MARK))
    # The mark is looked for behind the model's name, which may hold anything.
    before, mark, after = whole.rpartition(encoder.encode(_TEXT_MARK))
    assert mark
    return before, after


def new_call_id() -> str:
    return f"call_{secrets.token_hex(12)}"


def _delta(part: Part) -> ChunkDelta:
    match part:
        case Content(text):
            return ChunkDelta(content=text)
        case Reasoning(text):
            return ChunkDelta(reasoning_content=text)
        case CallBegin(index, name):
            function = FunctionDelta(name=name, arguments="")
            return ChunkDelta(tool_calls=[CallDelta(index=index, id=new_call_id(), type="function", function=function)])
        case CallArguments(index, text):
            return ChunkDelta(tool_calls=[CallDelta(index=index, function=FunctionDelta(arguments=text))])
