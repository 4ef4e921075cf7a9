"""Parts of an answer as the content blocks of a message, one event after the other; and events gathered to blocks.

A whole message is gathered from the events of its stream: so the two cannot differ.
"""

import secrets
from collections.abc import Iterator

import msgspec

from ignis.api.anthropic_signature import ThinkingSignature
from ignis.api.schema.anthropic_answer import (
    AnswerContent,
    BlockEvent,
    ContentBlockDelta,
    ContentBlockStart,
    ContentBlockStop,
    InputJsonDelta,
    MessageTextDelta,
    SignatureDelta,
    TextContent,
    ThinkingContent,
    ThinkingDelta,
    ToolUseContent,
)
from ignis.api.schema.usage import TokenLogprobEntry
from ignis.stream.json_walker import At, JsonWalker
from ignis.stream.parts import CallArguments, CallBegin, Content, Part, Reasoning

_NOTHING = msgspec.Raw(b"{}")


class BlockWriter:
    """Opens a block where another kind of part begins, and closes the one before it. One is open at a time."""

    def __init__(self, *, hides_thinking: bool = False) -> None:
        """`hides_thinking`: reasoning has a block without its text; its signature carries it."""
        self._hides_thinking = hides_thinking
        self._index = -1
        self._open: type[Part] | None = None
        """The kind of part that the open block takes."""
        self._signature = ThinkingSignature(is_hidden=hides_thinking)

    def write(self, part: Part) -> Iterator[BlockEvent]:
        match part:
            case Content(text):
                if self._open is not Content:
                    yield from self._begin(Content, TextContent(text=""))
                yield self._delta(MessageTextDelta(text=text))
            case Reasoning(text):
                if self._open is not Reasoning:
                    yield from self._begin(Reasoning, ThinkingContent(thinking="", signature=""))
                    self._signature = ThinkingSignature(is_hidden=self._hides_thinking)
                self._signature.add(text)
                if not self._hides_thinking:
                    yield self._delta(ThinkingDelta(thinking=text))
            case CallBegin(_, name):
                block = ToolUseContent(id=f"toolu_{secrets.token_hex(12)}", name=name, input=_NOTHING)
                yield from self._begin(CallArguments, block)
            case CallArguments(_, text):
                yield self._delta(InputJsonDelta(partial_json=text))

    def finish(self) -> Iterator[BlockEvent]:
        """Closes the block that is open."""
        if self._open is Reasoning:
            yield self._delta(SignatureDelta(signature=self._signature.finish()))
        if self._open is not None:
            yield ContentBlockStop(index=self._index)
        self._open = None

    def _begin(self, kind: type[Part], block: AnswerContent) -> Iterator[BlockEvent]:
        yield from self.finish()
        self._open = kind
        self._index += 1
        yield ContentBlockStart(index=self._index, content_block=block)

    def _delta(self, delta: MessageTextDelta | ThinkingDelta | SignatureDelta | InputJsonDelta) -> ContentBlockDelta:
        return ContentBlockDelta(index=self._index, delta=delta)


class BlockGatherer:
    """Makes the blocks that a client would make of the events."""

    def __init__(self) -> None:
        self._blocks: list[AnswerContent] = []
        self._texts: list[str] = []
        """Of the open block."""
        self.logprobs: list[TokenLogprobEntry] = []
        """Those that came with the events."""

    def add(self, event: BlockEvent) -> None:
        if isinstance(event, ContentBlockDelta) and event.logprobs is not msgspec.UNSET:
            self.logprobs += event.logprobs
        match event:
            case ContentBlockStart(content_block=block):
                self._blocks.append(block)
                self._texts = []
            case ContentBlockDelta(delta=MessageTextDelta(text=text) | ThinkingDelta(thinking=text)):
                self._texts.append(text)
            case ContentBlockDelta(delta=InputJsonDelta(partial_json=text)):
                self._texts.append(text)
            case ContentBlockDelta(delta=SignatureDelta(signature=signature)):
                self._blocks[-1] = msgspec.structs.replace(self._blocks[-1], signature=signature)
            case ContentBlockStop():
                self._blocks[-1] = _filled(self._blocks[-1], "".join(self._texts))

    @property
    def blocks(self) -> list[AnswerContent]:
        """All of them, closed."""
        return self._blocks


def _filled(block: AnswerContent, text: str) -> AnswerContent:
    match block:
        case TextContent():
            return msgspec.structs.replace(block, text=text)
        case ThinkingContent():
            return msgspec.structs.replace(block, thinking=text)
        case ToolUseContent():
            # The model's own JSON, spelled as it wrote it.
            return msgspec.structs.replace(block, input=msgspec.Raw(whole_object(text).encode()))


def whole_object(text: str) -> str:
    """Returns a JSON object that is broken off as one that ends after its last complete value; a whole one as it is."""
    walker = JsonWalker()
    open_closers: list[str] = []
    stop, closers = 0, "{}"
    for end, character in enumerate(f"{text} ", 1):
        # The space ends a number that the text ends with.
        depth, is_mark = walker.depth, not walker.is_in_string
        walker.push(character)
        if walker.at is At.DONE:
            return text
        if walker.depth > depth:
            open_closers.append("}" if character == "{" else "]")
        elif walker.depth < depth:
            open_closers.pop()
        if walker.at in (At.AFTER, At.FIRST_KEY, At.FIRST_ITEM):
            stop, closers = end, "".join(reversed(open_closers))
        elif is_mark and character == ",":
            stop, closers = end - 1, "".join(reversed(open_closers))
    return text[:stop] + closers
