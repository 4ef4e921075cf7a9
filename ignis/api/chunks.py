"""The events of a chat stream as bytes. A text delta, which comes a thousand times, is two fixed parts and a text."""

from collections.abc import Sequence

import msgspec

from ignis.api.schema.chat_completions import (
    ChatCompletionChunk,
    ChatUsage,
    ChoiceLogprobs,
    ChunkChoice,
    ChunkDelta,
    FinishReasonText,
    Timings,
)

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

    def text_with_logprobs(self, index: int, text: str, logprobs: ChoiceLogprobs) -> bytes:
        return self._encode(ChunkChoice(index=index, delta=ChunkDelta(content=text), logprobs=logprobs))

    def finish(self, index: int, reason: "FinishReasonText", timings: Timings | None) -> bytes:
        """The end of a choice: an empty delta and why it ended."""
        return self._encode(ChunkChoice(index=index, delta=ChunkDelta(), finish_reason=reason), timings)

    def usage(self, usage: ChatUsage, timings: Timings) -> bytes:
        """The last chunk where usage was asked for; it has no choices."""
        return self._encoder.encode(msgspec.structs.replace(self._blank, usage=usage, timings=timings))

    def _encode(self, choice: ChunkChoice, timings: Timings | None = None) -> bytes:
        chunk = msgspec.structs.replace(
            self._blank, choices=[choice], timings=msgspec.UNSET if timings is None else timings
        )
        return self._encoder.encode(chunk)

    def _frame(self, index: int) -> Sequence[bytes]:
        whole = self._encode(ChunkChoice(index=index, delta=ChunkDelta(content=_TEXT_MARK)))
        # The mark is looked for behind the model's name, which may hold anything.
        before, mark, after = whole.rpartition(self._encoder.encode(_TEXT_MARK))
        assert mark
        return before, after
