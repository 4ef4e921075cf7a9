"""Events of a response as it is made, the same over server-sent events and WebSocket."""

from typing import Annotated, Literal

import msgspec

from ignis.api.schema.response_items import OutputItem, OutputText
from ignis.api.schema.responses import Response
from ignis.api.schema.usage import TokenLogprobEntry
from ignis.error_body import ErrorDetail


class ResponseEvent(msgspec.Struct, kw_only=True, tag_field="type"):
    """Numbered from 0 without gaps, within one response."""

    sequence_number: int


class LifeEvent(ResponseEvent, kw_only=True):
    """Holds the response as it is then."""

    response: Response


class Created(LifeEvent, kw_only=True, tag="response.created"):
    pass


class Queued(LifeEvent, kw_only=True, tag="response.queued"):
    """Over WebSocket, where all lanes are taken."""

    place: Annotated[
        int, msgspec.Meta(ge=1, description="Its place among all that wait; told again when it moves up.")
    ] = 1


class InProgress(LifeEvent, kw_only=True, tag="response.in_progress"):
    pass


class Completed(LifeEvent, kw_only=True, tag="response.completed"):
    pass


class Incomplete(LifeEvent, kw_only=True, tag="response.incomplete"):
    """The cap was reached, or the response was cancelled."""


class Failed(LifeEvent, kw_only=True, tag="response.failed"):
    pass


class ItemEvent(ResponseEvent, kw_only=True):
    output_index: int


class ItemAdded(ItemEvent, kw_only=True, tag="response.output_item.added"):
    item: OutputItem


class ItemDone(ItemEvent, kw_only=True, tag="response.output_item.done"):
    item: OutputItem


class PartEvent(ItemEvent, kw_only=True):
    item_id: str
    content_index: int


class PartAdded(PartEvent, kw_only=True, tag="response.content_part.added"):
    part: OutputText


class PartDone(PartEvent, kw_only=True, tag="response.content_part.done"):
    part: OutputText


class TextDelta(PartEvent, kw_only=True, tag="response.output_text.delta"):
    delta: str
    logprobs: list[TokenLogprobEntry]


class TextDone(PartEvent, kw_only=True, tag="response.output_text.done"):
    text: str
    logprobs: list[TokenLogprobEntry]


class ReasoningDelta(PartEvent, kw_only=True, tag="response.reasoning_text.delta"):
    delta: str


class ReasoningDone(PartEvent, kw_only=True, tag="response.reasoning_text.done"):
    text: str


class CallEvent(ItemEvent, kw_only=True):
    item_id: str


class ArgumentsDelta(CallEvent, kw_only=True, tag="response.function_call_arguments.delta"):
    delta: str


class ArgumentsDone(CallEvent, kw_only=True, tag="response.function_call_arguments.done"):
    name: str
    arguments: str


class InputDelta(CallEvent, kw_only=True, tag="response.custom_tool_call_input.delta"):
    delta: str


class InputDone(CallEvent, kw_only=True, tag="response.custom_tool_call_input.done"):
    input: str


AnyResponseEvent = Annotated[
    Created
    | Queued
    | InProgress
    | ItemAdded
    | PartAdded
    | TextDelta
    | TextDone
    | PartDone
    | ReasoningDelta
    | ReasoningDone
    | ArgumentsDelta
    | ArgumentsDone
    | InputDelta
    | InputDone
    | ItemDone
    | Completed
    | Incomplete
    | Failed,
    msgspec.Meta(description="One event of a response."),
]


class SocketError(msgspec.Struct, kw_only=True):
    """What a WebSocket says in place of a response that was refused; the connection stays open."""

    type: Literal["error"] = "error"
    status: Annotated[int, msgspec.Meta(description="What the status would be over HTTP.")]
    error: ErrorDetail
    stream_id: str | msgspec.UnsetType = msgspec.UNSET
