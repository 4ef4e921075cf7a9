"""Bodies that clients of Anthropic's Messages API send: POST /v1/messages and /v1/messages/count_tokens."""

from typing import Annotated, Any, Literal

import msgspec

from ignis import errors
from ignis.api.schema.fields import ALLOWED, CODE, CODES, honoured, inert, refused, sampling
from ignis.api.schema.held import Schema
from ignis.api.schema.sampling import SamplingFields, TopLogprobs
from ignis.limits import MAX_MESSAGES, MAX_PARTS, MAX_TOOL_NAME_CHARACTERS, MAX_TOOLS

_BLOCKS = '"text", "tool_use", "tool_result", "thinking" or "redacted_thinking": this model reads text only'
_TEXT_BLOCK = '"text": this model reads text only'


def _block_type(allowed: str) -> msgspec.Meta:
    return msgspec.Meta(
        description=f"One of {allowed}. Any other block is refused by name.",
        extra={
            CODE: errors.UnsupportedValueError,
            CODES: {"image": errors.VisionDisabledError},
            ALLOWED: allowed,
        },
    )


_custom = msgspec.Meta(
    extra={
        CODE: errors.UnsupportedValueError,
        ALLOWED: '"custom": the server runs no tools, and knows only those that the request describes',
    }
)

_cache_control = inert("any value; every prefix is kept for reuse by its content.")


class TextBlock(msgspec.Struct, kw_only=True):
    """Text, the only block of a system prompt."""

    type: Annotated[Literal["text"], _block_type(_TEXT_BLOCK)]
    text: str
    cache_control: Annotated[Any, _cache_control] = None
    citations: Annotated[Any, inert("any value; the model sees the text.")] = None


class ResultBlock(msgspec.Struct, kw_only=True):
    """A block of a tool's result."""

    type: Annotated[Literal["text"], _block_type(_TEXT_BLOCK)]
    text: str | None = None
    cache_control: Annotated[Any, _cache_control] = None
    citations: Annotated[Any, inert("any value; the model sees the text.")] = None


class Block(msgspec.Struct, kw_only=True):
    """A block of a message. Its type says which of the other fields it needs."""

    type: Annotated[
        Literal["text", "tool_use", "tool_result", "thinking", "redacted_thinking"],
        _block_type(_BLOCKS),
    ]
    text: Annotated[str | None, honoured("Of text.")] = None
    id: Annotated[str | None, honoured("Of tool_use.")] = None
    name: Annotated[str | None, honoured("Of tool_use: the tool that was called.")] = None
    input: Annotated[dict[str, Any] | None, honoured("Of tool_use: what it was called with.")] = None
    tool_use_id: Annotated[str | None, honoured("Of tool_result: the call that it answers.")] = None
    content: Annotated[
        str | Annotated[list[ResultBlock], msgspec.Meta(max_length=MAX_PARTS)] | None,
        honoured("Of tool_result; absent: empty."),
    ] = None
    is_error: Annotated[
        bool | None, honoured("Of tool_result: the model reads a line `Error:` before the content.")
    ] = None
    thinking: Annotated[
        str | None, honoured("Of thinking: earlier reasoning; the model's template decides whether it is kept.")
    ] = None
    signature: Annotated[
        str | None, honoured("Of thinking: brings reasoning back that was left out of the answer; else not looked at.")
    ] = None
    data: Annotated[Any, inert("of redacted_thinking, which no model but its own can read.")] = None
    cache_control: Annotated[Any, _cache_control] = None
    citations: Annotated[Any, inert("any value; the model sees the text.")] = None
    caller: Annotated[Any, inert("of tool_use; any value.")] = None


class InputMessage(msgspec.Struct, kw_only=True):
    """One turn. Neighbours of one role are one turn."""

    role: Annotated[
        Literal["user", "assistant", "system"], honoured("Who speaks. A system message stays in its place.")
    ]
    content: Annotated[str | Annotated[list[Block], msgspec.Meta(max_length=MAX_PARTS)], honoured("Text, or blocks.")]


class InputTool(msgspec.Struct, kw_only=True):
    """A function that the model may call."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TOOL_NAME_CHARACTERS)]
    type: Annotated[Literal["custom"], _custom] | None = None
    description: str | None = None
    input_schema: Annotated[dict[str, Any] | None, msgspec.Meta(description="JSON schema of the input.")] = None
    strict: Annotated[bool | None, honoured("The input is held to its schema.")] = None
    cache_control: Annotated[Any, _cache_control] = None
    eager_input_streaming: Annotated[bool | None, inert("input is always streamed as it is made.")] = None
    defer_loading: Annotated[Literal[False] | None, inert("only false: every tool is shown to the model.")] = None
    allowed_callers: Annotated[list[Literal["direct"]] | None, inert('only ["direct"].', '["direct"]')] = None
    input_examples: Annotated[Any, inert("any value; the model sees name, description and schema.")] = None


class ToolSelection(msgspec.Struct, kw_only=True):
    """Whether and which tool is called."""

    type: Annotated[
        Literal["auto", "any", "tool", "none"],
        honoured("auto: the model decides; any: some tool; tool: the one of `name`; none drops the tools."),
    ]
    name: Annotated[str | None, honoured("With tool.")] = None
    disable_parallel_tool_use: Annotated[bool | None, honoured("true: the answer ends with its first call.")] = None


class Thinking(msgspec.Struct, kw_only=True):
    """Whether the model reasons before it answers."""

    type: Annotated[
        Literal["enabled", "disabled", "adaptive"],
        honoured(
            "enabled: it does, and a model that cannot is refused; disabled: it does not; adaptive: as the model is "
            "used to."
        ),
    ]
    budget_tokens: Annotated[int, honoured("With enabled: most tokens of reasoning.", ge=1)] | None = None
    display: (
        Annotated[
            Literal["summarized", "omitted"],
            honoured(
                "summarized: reasoning is sent as it is; omitted: without its text, which its signature brings back."
            ),
        ]
        | None
    ) = None


class OutputFormat(msgspec.Struct, kw_only=True):
    """What the text of the answer is held to."""

    type: Literal["json_schema"]
    schema: Schema


class OutputConfig(msgspec.Struct, kw_only=True):
    """How the model answers."""

    effort: (
        Annotated[
            Literal["low", "medium", "high", "xhigh", "max"],
            honoured("How much it reasons; a model that takes no effort answers as it is used to."),
        ]
        | None
    ) = None
    format: Annotated[OutputFormat | None, honoured("What the text is held to.")] = None


class MessagesFields(SamplingFields, kw_only=True):
    """What a body may hold, whether it is answered or counted. Null is the same as leaving a field out."""

    messages: Annotated[
        list[InputMessage],
        honoured(
            "The conversation, oldest first. Where the last one is the assistant's, the answer goes on with its text, "
            "without thinking first.",
            min_length=1,
            max_length=MAX_MESSAGES,
        ),
    ]
    system: Annotated[
        str | Annotated[list[TextBlock], msgspec.Meta(max_length=MAX_PARTS)] | None,
        honoured(
            "The system prompt; blocks are joined by a line break. A first line that begins with "
            "`x-anthropic-billing-header:` is its client's bookkeeping and is not shown to the model."
        ),
    ] = None
    tools: (
        Annotated[
            list[InputTool],
            honoured(
                "What the model may call. Refused where nothing is known of how the model is told of tools.",
                max_length=MAX_TOOLS,
            ),
        ]
        | None
    ) = None
    tool_choice: Annotated[ToolSelection | None, honoured("Absent: auto.")] = None
    thinking: Annotated[Thinking | None, honoured("Absent: as the model is used to.")] = None
    output_format: Annotated[OutputFormat | None, honoured("Older name of output_config.format.")] = None
    output_config: Annotated[OutputConfig | None, honoured("Effort and format.")] = None
    chat_template_kwargs: (
        Annotated[
            dict[str, Any],
            honoured(
                "Variables of the chat template. One that the template does not mention is refused (an extension)."
            ),
        ]
        | None
    ) = None
    cache_control: Annotated[Any, _cache_control] = None
    context_management: Annotated[Any, inert("any value; the conversation is read as it is sent.")] = None
    diagnostics: Annotated[Any, inert("any value.")] = None
    inference_geo: Annotated[Any, inert("any value.")] = None
    metadata: Annotated[Any, inert("any value; not kept.")] = None
    user_profile_id: Annotated[Any, inert("any value; not kept.")] = None
    service_tier: Annotated[Literal["auto", "standard_only"], inert("there is one tier.")] | None = None
    speed: Annotated[Literal["standard"], inert("there is one speed.")] | None = None
    container: Annotated[None, refused("the server runs no code")] = None
    mcp_servers: Annotated[list[Any], inert("only []: the server calls no other.", "[]", max_length=0)] | None = None


class MessagesRequest(MessagesFields, kw_only=True):
    """A conversation to be answered."""

    max_tokens: Annotated[
        int,
        honoured(
            "Most tokens to draw, reasoning included. What does not fit beside the prompt is cut off; an answer that "
            "ends there says `model_context_window_exceeded`. 0 reads the prompt, for what comes later, and answers "
            "nothing.",
            ge=0,
        ),
    ]
    stop_sequences: (
        Annotated[list[str], honoured("Strings that end the text; a match is not part of it, and is named.")] | None
    ) = None
    stream: Annotated[bool, honoured("Send server-sent events as the text is made.")] | None = None
    n: Annotated[Literal[1], inert("an answer is one message.", "1")] | None = None
    logprobs: Annotated[bool, sampling("Report the log probability of each drawn token (an extension).")] | None = None
    top_logprobs: TopLogprobs | None = None
    prompt: Annotated[None, refused("use messages")] = None


class CountTokensRequest(MessagesFields, kw_only=True):
    """A conversation to be counted: the body of a message, or less of it. Fields that do not change the prompt change
    nothing."""

    max_tokens: Annotated[Any, inert("any value; nothing is drawn.")] = None
    stop_sequences: Annotated[Any, inert("any value; nothing is drawn.")] = None
    n: Annotated[Any, inert("any value; nothing is drawn.")] = None
    logprobs: Annotated[Any, inert("any value; nothing is drawn.")] = None
    top_logprobs: Annotated[Any, inert("any value; nothing is drawn.")] = None
    stream: Annotated[Any, inert("any value; the count comes at once.")] = None
    prompt: Annotated[None, refused("use messages")] = None
