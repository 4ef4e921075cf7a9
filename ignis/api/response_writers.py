"""The items of a response while they are written: each gives the events that open it, fill it and close it."""

import json
import secrets
from collections.abc import Callable

from ignis.api.custom_input import CustomInput
from ignis.api.reasoning_seal import seal
from ignis.api.response_tools import ToolName
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
    """A call of a function. Its arguments are passed on as the model writes them."""

    def __init__(self, index: int, number: Number, tool: ToolName) -> None:
        self._index = index
        self._number = number
        self._tool = tool
        self._id = new_id("fc")
        self._call_id = new_id("call")
        self._texts: list[str] = []

    def begin(self) -> list[ResponseEvent]:
        item = self._item("in_progress", "")
        return [events.ItemAdded(sequence_number=self._number(), output_index=self._index, item=item)]

    def add(self, text: str) -> list[ResponseEvent]:
        self._texts.append(text)
        return [
            events.ArgumentsDelta(
                sequence_number=self._number(), output_index=self._index, item_id=self._id, delta=text
            )
        ]

    def close(self, status: ItemStatus) -> tuple[list[ResponseEvent], OutputItem]:
        """Whatever the status of the answer, a call is complete where its arguments are an object."""
        text = "".join(self._texts)
        done = events.ArgumentsDone(
            sequence_number=self._number(),
            output_index=self._index,
            item_id=self._id,
            name=self._tool.name,
            arguments=text,
        )
        return [done], self._item("completed" if is_object(text) else "incomplete", text)

    def _item(self, status: ItemStatus, text: str) -> OutputItem:
        tool = self._tool
        item = OutputCall(id=self._id, status=status, call_id=self._call_id, name=tool.name, arguments=text)
        if tool.namespace is not None:
            item.namespace = tool.namespace
        return item


class CustomCallWriter:
    """A call of a custom tool: its text is decoded out of the JSON that the model writes."""

    def __init__(self, index: int, number: Number, tool: ToolName) -> None:
        self._index = index
        self._number = number
        self._tool = tool
        self._id = new_id("ctc")
        self._call_id = new_id("call")
        self._input = CustomInput()

    def begin(self) -> list[ResponseEvent]:
        item = self._item("in_progress", "")
        return [events.ItemAdded(sequence_number=self._number(), output_index=self._index, item=item)]

    def add(self, text: str) -> list[ResponseEvent]:
        return self._delta(self._input.push(text))

    def close(self, status: ItemStatus) -> tuple[list[ResponseEvent], OutputItem]:
        """As a function's."""
        rest, text = self._input.finish()
        found = self._delta(rest)
        found.append(
            events.InputDone(sequence_number=self._number(), output_index=self._index, item_id=self._id, input=text)
        )
        return found, self._item("completed" if is_object(self._input.arguments) else "incomplete", text)

    def _delta(self, text: str) -> list[ResponseEvent]:
        if not text:
            return []
        return [
            events.InputDelta(sequence_number=self._number(), output_index=self._index, item_id=self._id, delta=text)
        ]

    def _item(self, status: ItemStatus, text: str) -> OutputItem:
        tool = self._tool
        item = OutputCustomCall(id=self._id, status=status, call_id=self._call_id, name=tool.name, input=text)
        if tool.namespace is not None:
            item.namespace = tool.namespace
        return item


Writer = MessageWriter | ReasoningWriter | CallWriter | CustomCallWriter


def new_id(prefix: str) -> str:
    return f"{prefix}_{secrets.token_hex(12)}"


def is_object(text: str) -> bool:
    """Whether a text is the JSON of an object."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
