"""Answers in the shapes of Anthropic's Messages API: messages, the events of their streams, counts and errors."""

from typing import Annotated, Literal

import msgspec

from ignis.api.schema.chat_completions import ForcedAt
from ignis.api.schema.usage import Timings, TokenLogprobEntry

StopReason = Annotated[
    Literal["end_turn", "max_tokens", "stop_sequence", "tool_use", "model_context_window_exceeded"],
    msgspec.Meta(
        description="end_turn: the model's own end; max_tokens: the cap; stop_sequence: one of the request's, which "
        "`stop_sequence` names; tool_use: its own end, with calls that are all complete; "
        "model_context_window_exceeded: what fitted beside the prompt of a larger cap."
    ),
]


Logprobs = Annotated[
    list[TokenLogprobEntry],
    msgspec.Meta(
        description="An extension, where it was asked for: all that was drawn, reasoning, tags and calls too. In a "
        "stream each event has what it reached."
    ),
]


class TextContent(msgspec.Struct, kw_only=True, tag_field="type", tag="text"):
    text: str


class ThinkingContent(msgspec.Struct, kw_only=True, tag_field="type", tag="thinking"):
    """What the model thought."""

    thinking: str
    signature: Annotated[str, msgspec.Meta(description="Opaque; to be sent back as it is.")]


class ToolUseContent(msgspec.Struct, kw_only=True, tag_field="type", tag="tool_use"):
    """A call that the model made. Its input is broken off where stop_reason is not tool_use."""

    id: str
    name: str
    input: msgspec.Raw


AnswerContent = TextContent | ThinkingContent | ToolUseContent


class MessageOutputDetails(msgspec.Struct, kw_only=True):
    thinking_tokens: Annotated[int, msgspec.Meta(description="Of output_tokens: reasoning and the tag that ends it.")]
    rewound_tokens: Annotated[
        int, msgspec.Meta(description="Of output_tokens: drawn and taken back, where reasoning went in circles.")
    ]


class MessageUsage(msgspec.Struct, kw_only=True):
    """Tokens. The prompt is the sum of the three that are called input."""

    input_tokens: Annotated[int, msgspec.Meta(description="Prompt tokens computed.")]
    cache_creation_input_tokens: Annotated[int, msgspec.Meta(description="0: what is computed is kept anyway.")] = 0
    cache_read_input_tokens: Annotated[int, msgspec.Meta(description="Prompt tokens found in the prefix cache.")]
    output_tokens: int
    output_tokens_details: MessageOutputDetails | msgspec.UnsetType = msgspec.UNSET
    service_tier: Literal["standard"] = "standard"


class AnthropicMessage(msgspec.Struct, kw_only=True):
    """A whole answer; also the head of a stream, then without content and figures."""

    id: str
    type: Literal["message"] = "message"
    role: Literal["assistant"] = "assistant"
    model: str
    content: list[AnswerContent]
    stop_reason: StopReason | None = None
    stop_sequence: str | None = None
    usage: MessageUsage
    thinking_budget_forced_at: ForcedAt | msgspec.UnsetType = msgspec.UNSET
    logprobs: Logprobs | msgspec.UnsetType = msgspec.UNSET
    timings: Timings | msgspec.UnsetType = msgspec.UNSET


class MessageTextDelta(msgspec.Struct, kw_only=True, tag_field="type", tag="text_delta"):
    text: str


class ThinkingDelta(msgspec.Struct, kw_only=True, tag_field="type", tag="thinking_delta"):
    thinking: str


class SignatureDelta(msgspec.Struct, kw_only=True, tag_field="type", tag="signature_delta"):
    signature: str


class InputJsonDelta(msgspec.Struct, kw_only=True, tag_field="type", tag="input_json_delta"):
    partial_json: Annotated[str, msgspec.Meta(description="More of the JSON text; never text that was sent before.")]


class MessageStart(msgspec.Struct, kw_only=True, tag_field="type", tag="message_start"):
    message: AnthropicMessage


class ContentBlockStart(msgspec.Struct, kw_only=True, tag_field="type", tag="content_block_start"):
    index: int
    content_block: AnswerContent


class Ping(msgspec.Struct, kw_only=True, tag_field="type", tag="ping"):
    """Says nothing."""


class ContentBlockDelta(msgspec.Struct, kw_only=True, tag_field="type", tag="content_block_delta"):
    index: int
    delta: MessageTextDelta | ThinkingDelta | SignatureDelta | InputJsonDelta
    logprobs: Logprobs | msgspec.UnsetType = msgspec.UNSET


class ContentBlockStop(msgspec.Struct, kw_only=True, tag_field="type", tag="content_block_stop"):
    index: int


class MessageEnd(msgspec.Struct, kw_only=True):
    stop_reason: StopReason
    stop_sequence: str | None = None


class MessageDelta(msgspec.Struct, kw_only=True, tag_field="type", tag="message_delta"):
    """Why it ended, and the figures of the whole answer: they replace those of the start."""

    delta: MessageEnd
    usage: MessageUsage
    thinking_budget_forced_at: ForcedAt | msgspec.UnsetType = msgspec.UNSET
    logprobs: Logprobs | msgspec.UnsetType = msgspec.UNSET
    timings: Timings


class MessageStop(msgspec.Struct, kw_only=True, tag_field="type", tag="message_stop"):
    """Nothing follows."""


BlockEvent = ContentBlockStart | ContentBlockDelta | ContentBlockStop


class TokenCount(msgspec.Struct, kw_only=True):
    """The count equals the input tokens, cached or not, of the same body as a message."""

    input_tokens: int


class AnthropicErrorCause(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The stable code of the cause, and the field that it names."""

    error_code: str
    param: str | None = None


AnthropicErrorType = Literal[
    "invalid_request_error",
    "authentication_error",
    "not_found_error",
    "request_too_large",
    "timeout_error",
    "overloaded_error",
    "api_error",
]


class AnthropicErrorDetail(msgspec.Struct, kw_only=True):
    """What went wrong. `type` says what to do about it, `message` is for people."""

    type: AnthropicErrorType
    message: str
    details: AnthropicErrorCause


class AnthropicErrorBody(msgspec.Struct, kw_only=True, tag_field="type", tag="error"):
    """The body of every answer that is not a success, and the last event of a stream that fails."""

    error: AnthropicErrorDetail
    request_id: str


MessageEvent = Annotated[
    MessageStart
    | ContentBlockStart
    | Ping
    | ContentBlockDelta
    | ContentBlockStop
    | MessageDelta
    | MessageStop
    | AnthropicErrorBody,
    msgspec.Meta(description="One event of a stream; its SSE name is its type."),
]
