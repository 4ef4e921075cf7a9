"""The items of a response while they are written: each gives the events that open it, fill it and close it."""

import json
import secrets
from collections.abc import Callable, Mapping

from ignis.api.reasoning_seal import seal
from ignis.api.response_tools import CUSTOM_INPUT, ToolName
from ignis.api.schema import response_events as events
from ignis.api.schema.response_events import ResponseEvent
from ignis.api.schema.response_items import (
    ItemStatus,
    OutputCall,
    OutputCustomCall,
    OutputItem,
    OutputMessage,
    OutputReasoning,
    OutputText,
    ReasoningText,
)
from ignis.api.schema.usage import TokenLogprobEntry

Number = Callable[[], int]
"""Gives the next event its number."""


class MessageWriter:
    """What the model says."""

    def __init__(self, index: int, number: Number) -> None:
        """index: of the item, among those of the response."""
        self._index = index
        self._number = number
        self._id = new_id("msg")
        self._texts: list[str] = []
        self._logprobs: list[TokenLogprobEntry] = []

    def begin(self) -> list[ResponseEvent]:
        item = OutputMessage(id=self._id, status="in_progress")
        return [
            events.ItemAdded(sequence_number=self._number(), output_index=self._index, item=item),
            events.PartAdded(
                sequence_number=self._number(),
                output_index=self._index,
                item_id=self._id,
                content_index=0,
                part=OutputText(text=""),
            ),
        ]

    def add(self, text: str, logprobs: list[TokenLogprobEntry]) -> ResponseEvent:
        self._texts.append(text)
        self._logprobs += logprobs
        return events.TextDelta(
            sequence_number=self._number(),
            output_index=self._index,
            item_id=self._id,
            content_index=0,
            delta=text,
            logprobs=logprobs,
        )

    def close(self, status: ItemStatus) -> tuple[list[ResponseEvent], OutputItem]:
        text = "".join(self._texts)
        part = OutputText(text=text, logprobs=self._logprobs)
        found: list[ResponseEvent] = [
            events.TextDone(
                sequence_number=self._number(),
                output_index=self._index,
                item_id=self._id,
                content_index=0,
                text=text,
                logprobs=self._logprobs,
            ),
            events.PartDone(
                sequence_number=self._number(),
                output_index=self._index,
                item_id=self._id,
                content_index=0,
                part=part,
            ),
        ]
        return found, OutputMessage(id=self._id, status=status, content=[part])


class ReasoningWriter:
    """What the model thinks."""

    def __init__(self, index: int, number: Number, *, seals: bool) -> None:
        """seals: the item gets an encrypted_content."""
        self._index = index
        self._number = number
        self._seals = seals
        self._id = new_id("rs")
        self._texts: list[str] = []

    def begin(self) -> list[ResponseEvent]:
        item = OutputReasoning(id=self._id, status="in_progress")
        return [events.ItemAdded(sequence_number=self._number(), output_index=self._index, item=item)]

    def add(self, text: str) -> ResponseEvent:
        self._texts.append(text)
        return events.ReasoningDelta(
            sequence_number=self._number(), output_index=self._index, item_id=self._id, content_index=0, delta=text
        )

    def close(self, status: ItemStatus) -> tuple[list[ResponseEvent], OutputItem]:
        text = "".join(self._texts)
        item = OutputReasoning(id=self._id, status=status, content=[ReasoningText(text=text)])
        if self._seals:
            item.encrypted_content = seal(text)
        done = events.ReasoningDone(
            sequence_number=self._number(), output_index=self._index, item_id=self._id, content_index=0, text=text
        )
        return [done], item


class CallWriter:
    """A call of a function, or of a custom tool, whose text is known once its JSON is whole and so comes at once."""

    def __init__(self, index: int, number: Number, tool: ToolName) -> None:
        self._index = index
        self._number = number
        self._tool = tool
        self._id = new_id("ctc" if tool.is_custom else "fc")
        self._call_id = new_id("call")
        self._texts: list[str] = []

    def begin(self) -> list[ResponseEvent]:
        item = self._item("in_progress", "")
        return [events.ItemAdded(sequence_number=self._number(), output_index=self._index, item=item)]

    def add(self, text: str) -> list[ResponseEvent]:
        self._texts.append(text)
        if self._tool.is_custom:
            return []
        return [
            events.ArgumentsDelta(
                sequence_number=self._number(), output_index=self._index, item_id=self._id, delta=text
            )
        ]

    def close(self, status: ItemStatus) -> tuple[list[ResponseEvent], OutputItem]:
        """Whatever the status of the answer, a call is complete where its arguments are an object."""
        text = "".join(self._texts)
        value = _object(text)
        if self._tool.is_custom:
            text = _custom_input(text, value)
        return self._done(text), self._item("incomplete" if value is None else "completed", text)

    def _done(self, text: str) -> list[ResponseEvent]:
        if not self._tool.is_custom:
            return [
                events.ArgumentsDone(
                    sequence_number=self._number(),
                    output_index=self._index,
                    item_id=self._id,
                    name=self._tool.name,
                    arguments=text,
                )
            ]
        delta = events.InputDelta(
            sequence_number=self._number(), output_index=self._index, item_id=self._id, delta=text
        )
        return [
            delta,
            events.InputDone(sequence_number=self._number(), output_index=self._index, item_id=self._id, input=text),
        ]

    def _item(self, status: ItemStatus, text: str) -> OutputItem:
        tool = self._tool
        item: OutputCall | OutputCustomCall
        if tool.is_custom:
            item = OutputCustomCall(id=self._id, status=status, call_id=self._call_id, name=tool.name, input=text)
        else:
            item = OutputCall(id=self._id, status=status, call_id=self._call_id, name=tool.name, arguments=text)
        if tool.namespace is not None:
            item.namespace = tool.namespace
        return item


Writer = MessageWriter | ReasoningWriter | CallWriter


def new_id(prefix: str) -> str:
    return f"{prefix}_{secrets.token_hex(12)}"


def _object(text: str) -> dict[str, object] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _custom_input(text: str, value: Mapping[str, object] | None) -> str:
    """The one argument; arguments of another shape are passed on as they are."""
    given = None if value is None else value.get(CUSTOM_INPUT)
    return given if isinstance(given, str) else text
