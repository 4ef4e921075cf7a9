"""The messages of a conversation and the tools that go with it, as clients send them."""

from typing import Annotated, Any, Literal

import msgspec

from ignis import errors
from ignis.api.schema.fields import ALLOWED, CODE, CODES, honoured, inert, refused
from ignis.limits import MAX_PARTS, MAX_TOOL_NAME_CHARACTERS, MAX_TOOLS

_part_type = msgspec.Meta(
    description="Only text is served.",
    extra={
        CODE: errors.UnsupportedValueError,
        CODES: {"image_url": errors.VisionDisabledError, "video_url": errors.VideoUnsupportedError},
        ALLOWED: '"text" (or "refusal" in an assistant message): this model reads text only',
    },
)


class ContentPart(msgspec.Struct, kw_only=True):
    """One part of a message's content. Several parts are joined by a line break."""

    type: Annotated[Literal["text", "refusal"], _part_type]
    text: str | None = None
    refusal: str | None = None


class CalledFunction(msgspec.Struct, kw_only=True):
    """The function that an assistant called, and with what."""

    name: Annotated[str, msgspec.Meta(min_length=1)]
    arguments: Annotated[str | dict[str, Any], msgspec.Meta(description="JSON text of an object, or the object.")] = ""


class ToolCall(msgspec.Struct, kw_only=True):
    """A call in an assistant message of the history."""

    function: CalledFunction
    id: str | None = None
    type: Literal["function"] = "function"


class Message(msgspec.Struct, kw_only=True):
    """One message of the conversation. Keys that are not listed do not reach the model."""

    role: Annotated[
        Literal["system", "developer", "user", "assistant", "tool"],
        honoured("Who speaks. A developer message is a system message."),
    ]
    content: Annotated[
        str | Annotated[list[ContentPart], msgspec.Meta(max_length=MAX_PARTS)] | None,
        honoured("Text, or text parts. Null on an assistant message only."),
    ] = None
    reasoning_content: Annotated[
        str | None,
        honoured("Earlier reasoning of an assistant message; the model's template decides whether it is kept."),
    ] = None
    tool_calls: (
        Annotated[list[ToolCall], honoured("Calls made in an assistant message.", max_length=MAX_TOOLS)] | None
    ) = None
    tool_call_id: Annotated[str | None, honoured("Which call a tool message answers.")] = None
    name: Annotated[str | None, honoured("Name of the speaker or tool, where the model's template shows it.")] = None
    function_call: Annotated[None, refused("replaced by tool_calls")] = None
    audio: Annotated[None, refused("the conversation is text")] = None


class ToolFunction(msgspec.Struct, kw_only=True):
    """A function that the model may call."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TOOL_NAME_CHARACTERS)]
    description: str | None = None
    parameters: Annotated[dict[str, Any] | None, msgspec.Meta(description="JSON schema of the arguments.")] = None
    strict: bool | None = None


class Tool(msgspec.Struct, kw_only=True):
    """A tool: a function."""

    type: Literal["function"]
    function: ToolFunction


ToolList = Annotated[
    list[Tool],
    honoured(
        "Functions that the model may call. Refused where the model cannot be told of any.",
        max_length=MAX_TOOLS,
    ),
]


class StreamOptions(msgspec.Struct, kw_only=True):
    """How a stream is sent."""

    include_usage: Annotated[bool | None, honoured("Adds a last chunk with the usage and no choices.")] = None
    include_obfuscation: Annotated[bool | None, inert("nothing is added to the chunks either way.")] = None
