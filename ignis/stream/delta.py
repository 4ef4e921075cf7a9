"""Token ids to the parts that a client may see: detokenised, split, and cut where they stop."""

from collections.abc import Sequence
from dataclasses import dataclass

from ignis.stream.detokenize import Detokenizer
from ignis.stream.dialects import NONE, OutputDialect
from ignis.stream.parts import Part
from ignis.stream.splitter import Splitter
from ignis.stream.tool_calls import Schemas
from ignis.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Piece:
    parts: tuple[Part, ...]
    stopped: bool
    """A stop string or the last allowed call is complete: the text has ended and the request can be cancelled."""
    tokens: int
    """How many of the pushed ids count: up to and with the one that completed the stop string."""


class TextOut:
    """The text of one answer. Parts, end and token count are the same however the ids are grouped."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        stops: Sequence[str] = (),
        dialect: OutputDialect = NONE,
        *,
        tools: Schemas | None = None,
        is_in_reasoning: bool = False,
        max_calls: int | None = None,
        is_held: bool = False,
        is_forced: bool = False,
        continues: bool = False,
    ) -> None:
        self._splitter = Splitter(
            dialect,
            tools=tools,
            is_in_reasoning=is_in_reasoning,
            stops=stops,
            max_calls=max_calls,
            is_held=is_held,
            is_forced=is_forced,
        )
        # What is held is held byte by byte: a space before it is there only where the form has one.
        self._detokenizer = Detokenizer(tokenizer, self._splitter.tags, continues=continues or is_held)
        self._can_stop = bool(stops) or max_calls is not None

    @property
    def num_decided_bytes(self) -> int:
        """UTF-8 bytes of the text that were passed on or dropped."""
        return self._splitter.num_decided_bytes

    @property
    def stop_string(self) -> str | None:
        """The stop string that ended the text; None where none did."""
        return self._splitter.stop_string

    @property
    def is_in_reasoning(self) -> bool:
        """What comes next is reasoning, or ends it."""
        return self._splitter.is_in_reasoning

    @property
    def has_calls(self) -> bool:
        """There are tool calls and all of them are complete."""
        return self._splitter.has_calls

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes that a token adds to the text before it is split."""
        return self._detokenizer.token_bytes(token_id)

    def push(self, ids: Sequence[int]) -> Piece:
        """After the end nothing comes and nothing counts."""
        splitter = self._splitter
        if splitter.has_stopped():
            return Piece((), stopped=True, tokens=0)
        if not self._can_stop:
            return Piece(splitter.push(self._detokenizer.push(ids)), stopped=False, tokens=len(ids))
        parts: list[Part] = []
        for index, token_id in enumerate(ids):
            parts += splitter.push(self._detokenizer.push((token_id,)))
            if splitter.has_stopped():
                return Piece(tuple(parts), stopped=True, tokens=index + 1)
        return Piece(tuple(parts), stopped=False, tokens=len(ids))

    def finish(self) -> Piece:
        """Returns what was held back. The last character, broken off, can still complete a stop string."""
        splitter = self._splitter
        if splitter.has_stopped():
            return Piece((), stopped=True, tokens=0)
        parts = (*splitter.push(self._detokenizer.finish()), *splitter.finish())
        return Piece(parts, stopped=splitter.has_stopped(), tokens=0)
