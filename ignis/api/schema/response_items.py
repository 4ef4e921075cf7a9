"""Items of a response: what a client gives as input, and what an answer is made of."""

from typing import Annotated, Any, Literal

import msgspec

from ignis import errors
from ignis.api.schema.fields import ALLOWED, CODE, CODES, honoured, inert
from ignis.api.schema.usage import TokenLogprobEntry
from ignis.limits import MAX_PARTS

_UNSET = msgspec.UNSET

_input_part_type = msgspec.Meta(
    description="Only text is served.",
    extra={
        CODE: errors.UnsupportedValueError,
        CODES: {"input_image": errors.VisionDisabledError, "input_video": errors.VideoUnsupportedError},
        ALLOWED: '"input_text", "output_text", "refusal", "summary_text", "reasoning_text" or "text": '
        "this model reads text only",
    },
)
_item_type = msgspec.Meta(
    description="Absent: message. Items of tools that run on the server are refused.",
    extra={
        CODE: errors.UnsupportedValueError,
        ALLOWED: '"message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", '
        '"reasoning" or "item_reference"',
    },
    extra_json_schema={"x-ignis": "honoured"},
)


class InputPart(msgspec.Struct, kw_only=True):
    """One part of an item's content. Several parts are joined by a line break."""

    type: Annotated[
        Literal["input_text", "output_text", "refusal", "summary_text", "reasoning_text", "text"], _input_part_type
    ]
    text: str | None = None
    refusal: str | None = None
    annotations: Annotated[Any, inert("any value; not read.")] = None
    logprobs: Annotated[Any, inert("any value; not read.")] = None
    prompt_cache_breakpoint: Annotated[Any, inert("any value; reuse goes by content.")] = None


PartList = Annotated[list[InputPart], msgspec.Meta(max_length=MAX_PARTS)]


class InputItem(msgspec.Struct, kw_only=True):
    """One item of the conversation: a message, a call and its output, or reasoning, as answers have them."""

    type: (
        Annotated[
            Literal[
                "message",
                "function_call",
                "function_call_output",
                "custom_tool_call",
                "custom_tool_call_output",
                "reasoning",
                "item_reference",
            ],
            _item_type,
        ]
        | None
    ) = None
    role: Annotated[
        Literal["system", "developer", "user", "assistant"] | None, honoured("Who speaks; of a message.")
    ] = None
    content: Annotated[str | PartList | None, honoured("Of a message, or the text of reasoning.")] = None
    call_id: Annotated[str | None, honoured("Which call an output answers.")] = None
    name: Annotated[str | None, honoured("The tool that was called.")] = None
    namespace: Annotated[str | None, honoured("The namespace of the tool that was called.")] = None
    arguments: Annotated[str | None, honoured("JSON text of an object; of a function_call.")] = None
    input: Annotated[str | None, honoured("Free text; of a custom_tool_call.")] = None
    output: Annotated[str | PartList | None, honoured("What the tool gave back.")] = None
    summary: Annotated[PartList | None, honoured("Of reasoning that has no content: stands in for it.")] = None
    encrypted_content: Annotated[
        str | None, honoured("Of reasoning: as an answer gave it; content wins where both are given.")
    ] = None
    id: Annotated[str | None, honoured("Of an item_reference: an item of a stored response. Else not read.")] = None
    status: Annotated[Any, inert("any value; not read.")] = None
    phase: Annotated[Any, inert("any value; not read.")] = None
    caller: Annotated[Any, inert("any value; not read.")] = None
    internal_chat_message_metadata_passthrough: Annotated[Any, inert("any value; not read.")] = None


ItemStatus = Literal["in_progress", "completed", "incomplete"]


class OutputText(msgspec.Struct, kw_only=True, tag_field="type", tag="output_text"):
    text: str
    annotations: list[dict[str, Any]] = msgspec.field(default_factory=list)
    logprobs: Annotated[
        list[TokenLogprobEntry], msgspec.Meta(description="Filled where include asks for message.output_text.logprobs.")
    ] = msgspec.field(default_factory=list)


class OutputMessage(msgspec.Struct, kw_only=True, tag_field="type", tag="message"):
    """What the model said."""

    id: str
    status: ItemStatus
    role: Literal["assistant"] = "assistant"
    content: list[OutputText] = msgspec.field(default_factory=list)


class ReasoningText(msgspec.Struct, kw_only=True, tag_field="type", tag="reasoning_text"):
    text: str


class SummaryText(msgspec.Struct, kw_only=True, tag_field="type", tag="summary_text"):
    text: str


class OutputReasoning(msgspec.Struct, kw_only=True, tag_field="type", tag="reasoning"):
    """What the model thought."""

    id: str
    status: ItemStatus
    summary: Annotated[list[SummaryText], msgspec.Meta(description="Empty: nothing is summed up.")] = msgspec.field(
        default_factory=list
    )
    content: list[ReasoningText] = msgspec.field(default_factory=list)
    encrypted_content: (
        Annotated[
            str,
            msgspec.Meta(
                description="Where include asks for it: the same text in a form that a client hands back as it is."
            ),
        ]
        | msgspec.UnsetType
    ) = _UNSET


class OutputCall(msgspec.Struct, kw_only=True, tag_field="type", tag="function_call"):
    """A call that the model made."""

    id: str
    status: Annotated[ItemStatus, msgspec.Meta(description="incomplete: it was broken off, and arguments are no JSON.")]
    call_id: str
    name: str
    arguments: Annotated[str, msgspec.Meta(description="JSON text of an object, as the model wrote it.")]
    namespace: str | msgspec.UnsetType = _UNSET


class OutputCustomCall(msgspec.Struct, kw_only=True, tag_field="type", tag="custom_tool_call"):
    """A call of a custom tool."""

    id: str
    status: ItemStatus
    call_id: str
    name: str
    input: str
    namespace: str | msgspec.UnsetType = _UNSET


OutputItem = OutputMessage | OutputReasoning | OutputCall | OutputCustomCall
