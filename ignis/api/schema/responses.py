"""Bodies of the /v1/responses routes. The request struct is the field table."""

from typing import Annotated, Any, Literal

import msgspec

from ignis.api.schema.chat_completions import ForcedAt
from ignis.api.schema.fields import ALLOWED, CODE, honoured, inert, refused, sampling
from ignis.api.schema.held import Schema, StructuredOutputs
from ignis.api.schema.response_items import InputItem, OutputItem
from ignis.api.schema.sampling import SamplingFields, Stops
from ignis.api.schema.thinking import (
    EnableThinking,
    PreserveThinking,
    ReasoningEffort,
    TemplateVariables,
    ThinkingBudget,
)
from ignis.api.schema.usage import Timings
from ignis.errors import UnsupportedValueError
from ignis.limits import MAX_MESSAGES, MAX_METADATA, MAX_TOOL_NAME_CHARACTERS, MAX_TOOLS, MAX_TOP_LOGPROBS


class ToolFormat(msgspec.Struct, kw_only=True):
    """How the text of a custom tool is to look. It is held to an expression; of a Lark grammar the model is told."""

    type: Annotated[Literal["text", "grammar"], honoured("text: any; grammar: what `definition` says.")]
    syntax: Annotated[
        Literal["lark", "regex"] | None, honoured("Of the grammar; regex: the whole text matches the expression.")
    ] = None
    definition: Annotated[str | None, honoured("The grammar.")] = None


class NamespacedTool(msgspec.Struct, kw_only=True):
    """A tool inside a namespace."""

    type: Annotated[Literal["function", "custom"], honoured("What the model gives it: an object, or free text.")]
    name: Annotated[
        str,
        honoured(
            "What the model calls it, behind the namespace and a point.",
            min_length=1,
            max_length=MAX_TOOL_NAME_CHARACTERS,
        ),
    ]
    description: Annotated[str | None, honoured("What the model is told of it.")] = None
    parameters: Annotated[dict[str, Any] | None, honoured("JSON schema of the arguments of a function.")] = None
    strict: Annotated[bool | None, honoured("Passed to the template.")] = None
    format: Annotated[ToolFormat | None, honoured("Of a custom tool.")] = None
    defer_loading: Annotated[Any, inert("any value; every tool is offered at once.")] = None
    allowed_callers: Annotated[Any, inert("any value; the model is the only caller.")] = None


class ResponseTool(msgspec.Struct, kw_only=True):
    """A tool that the client runs; those that would run on the server are refused."""

    type: Annotated[
        Literal["function", "custom", "namespace", "web_search", "tool_search"],
        msgspec.Meta(
            description="function: arguments by a schema. custom: one free text. namespace: a group of both. "
            "web_search: left out where it has external_web_access, as agents list it, else refused. "
            "tool_search: left out, for every tool is offered at once.",
            extra={
                CODE: UnsupportedValueError,
                ALLOWED: '"function", "custom" or "namespace": the server runs no tools of its own',
            },
            extra_json_schema={"x-ignis": "honoured"},
        ),
    ]
    name: (
        Annotated[str, honoured("What the model calls it.", min_length=1, max_length=MAX_TOOL_NAME_CHARACTERS)] | None
    ) = None
    description: Annotated[str | None, honoured("What the model is told of it.")] = None
    parameters: Annotated[dict[str, Any] | None, honoured("JSON schema of the arguments of a function.")] = None
    strict: Annotated[bool | None, honoured("Passed to the template.")] = None
    format: Annotated[ToolFormat | None, honoured("Of a custom tool.")] = None
    tools: Annotated[list[NamespacedTool], honoured("Of a namespace.", max_length=MAX_TOOLS)] | None = None
    defer_loading: Annotated[Any, inert("any value; every tool is offered at once.")] = None
    allowed_callers: Annotated[Any, inert("any value; the model is the only caller.")] = None
    external_web_access: Annotated[
        bool | None, honoured("Of web_search: given, the model is not told of it; the server searches nothing.")
    ] = None
    execution: Annotated[Any, inert("any value; of tool_search.")] = None
    search_context_size: Annotated[Any, inert("any value; the server searches nothing.")] = None
    search_content_types: Annotated[Any, inert("any value; the server searches nothing.")] = None
    user_location: Annotated[Any, inert("any value; the server searches nothing.")] = None
    filters: Annotated[Any, inert("any value; the server searches nothing.")] = None


class ReasoningOptions(msgspec.Struct, kw_only=True):
    """How the model thinks."""

    effort: ReasoningEffort | None = None
    summary: Annotated[
        Literal["auto", "concise", "detailed", "none"] | None,
        inert("nothing is summed up: reasoning comes as it is.", '"auto", "concise", "detailed" or "none"'),
    ] = None
    generate_summary: Annotated[Any, inert("any value; nothing is summed up.")] = None
    context: Annotated[Any, inert("any value; the template decides which reasoning is kept.")] = None


class ResponseTextFormat(msgspec.Struct, kw_only=True):
    """The form of the answer's text. Reasoning before it is free; an answer that the cap cuts is incomplete."""

    type: Annotated[
        Literal["text", "json_object", "json_schema"],
        honoured("text: any; json_object: any JSON object; json_schema: what `schema` says."),
    ] = "text"
    schema: Schema | None = None
    name: Annotated[str, inert("a name for people.")] | None = None
    description: Annotated[str, inert("a text for people.")] | None = None
    strict: Annotated[bool, inert("the answer is always held to the schema.")] | None = None


class TextOptions(msgspec.Struct, kw_only=True):
    """How the text is to look."""

    format: Annotated[ResponseTextFormat | None, honoured("What the text is held to.")] = None
    verbosity: Annotated[Any, inert("any value.")] = None


class ResponseStreamOptions(msgspec.Struct, kw_only=True):
    """How a stream is sent."""

    include_obfuscation: Annotated[bool | None, inert("nothing is added to the events either way.")] = None
    include_usage: Annotated[bool | None, inert("the last event always has the usage.")] = None


Input = Annotated[
    list[InputItem],
    honoured("What the model reads, oldest first.", max_length=MAX_MESSAGES),
]


class ConversationFields(SamplingFields, kw_only=True):
    """What decides on the prompt."""

    input: Annotated[
        str | Input | None,
        honoured("A user's text, or items. May be left out where previous_response_id or instructions are given."),
    ] = None
    instructions: Annotated[
        str | None, honoured("A system message before all others; not inherited by the next response.")
    ] = None
    previous_response_id: Annotated[
        str | None,
        honoured("A stored response that this one goes on from: its input and output stand before the new input."),
    ] = None
    tools: (
        Annotated[
            list[ResponseTool],
            honoured(
                "Tools that the model may call. Refused where the model cannot be told of any.",
                max_length=MAX_TOOLS,
            ),
        ]
        | None
    ) = None
    tool_choice: (
        Annotated[
            str | dict[str, Any],
            honoured(
                '"auto", "none", "required", {"type": "function" or "custom", "name": ...}, or '
                '{"type": "allowed_tools", "mode": ..., "tools": [...]}: only these are offered.'
            ),
        ]
        | None
    ) = None
    parallel_tool_calls: (
        Annotated[bool, honoured("false: the answer ends with its first tool call. Absent: true.")] | None
    ) = None
    reasoning: Annotated[ReasoningOptions | None, honoured("How the model thinks.")] = None
    reasoning_effort: ReasoningEffort | None = None
    enable_thinking: EnableThinking | None = None
    preserve_thinking: PreserveThinking | None = None
    thinking_budget: ThinkingBudget | None = None
    chat_template_kwargs: TemplateVariables | None = None
    text: Annotated[TextOptions | None, honoured("How the text is to look.")] = None
    truncation: (
        Annotated[
            Literal["auto", "disabled"],
            inert("a conversation that does not fit is refused, never cut.", '"auto" or "disabled"'),
        ]
        | None
    ) = None
    conversation: Annotated[None, refused("use previous_response_id")] = None
    prompt: Annotated[None, refused("use input; prompt templates are not kept")] = None
    messages: Annotated[None, refused("use input")] = None
    context_management: Annotated[None, refused("a conversation is never shortened")] = None


Include = Annotated[
    Literal[
        "message.output_text.logprobs",
        "reasoning.encrypted_content",
        "file_search_call.results",
        "web_search_call.results",
        "web_search_call.action.sources",
        "message.input_image.image_url",
        "computer_call_output.output.image_url",
        "code_interpreter_call.outputs",
    ],
    msgspec.Meta(extra={CODE: UnsupportedValueError}),
]


class ResponseFields(ConversationFields, kw_only=True):
    """What a response may be asked for, over HTTP or a WebSocket."""

    max_output_tokens: (
        Annotated[
            int,
            honoured(
                "Most tokens to draw, reasoning included; prompt and cap must fit the context. "
                "Absent: the server's default, cut to fit.",
                ge=1,
            ),
        ]
        | None
    ) = None
    stop: Stops | None = None
    structured_outputs: Annotated[
        StructuredOutputs | None, honoured("Other forms that the text can be held to; text.format is text then.")
    ] = None
    include: Annotated[
        list[Include] | None,
        honoured(
            "message.output_text.logprobs: log probabilities of the text. reasoning.encrypted_content: reasoning in a "
            "form to hand back. The others name items that are never made, and add nothing."
        ),
    ] = None
    top_logprobs: (
        Annotated[
            int,
            sampling(
                "As many of the most likely tokens too; needs include to name message.output_text.logprobs.",
                ge=0,
                le=MAX_TOP_LOGPROBS,
            ),
        ]
        | None
    ) = None
    store: Annotated[
        bool | None,
        honoured(
            "false: it is not kept, and cannot be gone on from over HTTP. Absent: true. Kept in memory, as long and as "
            "many as the server's configuration says."
        ),
    ] = None
    metadata: Annotated[dict[str, str], honoured("Kept with the response.", max_length=MAX_METADATA)] | None = None
    stream_options: Annotated[ResponseStreamOptions | None, inert("how a stream is sent.", "an object")] = None
    background: Annotated[Literal[False], inert("only false: nothing goes on once its client has left.")] | None = None
    service_tier: Annotated[Any, inert("any value; there is one tier.")] = None
    max_tool_calls: Annotated[Any, inert("any value; it is of tools that run on the server, and none do.")] = None
    user: Annotated[Any, inert("any value; not kept.")] = None
    safety_identifier: Annotated[Any, inert("any value; not kept.")] = None
    prompt_cache_key: Annotated[Any, inert("any value; reuse goes by content.")] = None
    prompt_cache_retention: Annotated[Any, inert("any value; reuse goes by content.")] = None
    prompt_cache_options: Annotated[Any, inert("any value; reuse goes by content.")] = None
    client_metadata: Annotated[Any, inert("any value; not kept.")] = None
    moderation: Annotated[None, refused("nothing is moderated")] = None
    n: Annotated[Literal[1], inert("a response is one answer.", "1")] | None = None
    max_tokens: Annotated[None, refused("use max_output_tokens")] = None
    max_completion_tokens: Annotated[None, refused("use max_output_tokens")] = None
    response_format: Annotated[None, refused("use text.format")] = None


class ResponseRequest(ResponseFields, kw_only=True):
    """A response over HTTP."""

    stream: Annotated[bool, honoured("Send server-sent events as the response is made.")] | None = None
    generate: Annotated[None, refused("only over a WebSocket")] = None
    stream_id: Annotated[None, refused("only over a WebSocket")] = None


class CreateEvent(ResponseFields, kw_only=True):
    """The event response.create of a WebSocket."""

    type: Annotated[Literal["response.create"], honoured("Which event it is.")]
    stream_id: Annotated[
        str | None,
        honoured("A stream of its own: in order within it, beside the others. Absent: the unnamed stream."),
    ] = None
    generate: Annotated[
        bool | None, honoured("false: the prompt is read ahead and kept for reuse, and nothing is drawn.")
    ] = None
    stream: Annotated[Any, inert("any value; a socket always streams.")] = None
    event_id: Annotated[Any, inert("any value; not kept.")] = None


class CancelEvent(msgspec.Struct, kw_only=True):
    """The event response.cancel of a WebSocket."""

    type: Annotated[Literal["response.cancel"], honoured("Which event it is.")]
    response_id: Annotated[str | None, honoured("Which response. Absent: the one that runs on the stream.")] = None
    stream_id: Annotated[str | None, honoured("Which stream. Absent: the unnamed one.")] = None
    event_id: Annotated[Any, inert("any value; not kept.")] = None


class InputTokensRequest(ConversationFields, kw_only=True):
    """A prompt to be counted."""

    personality: Annotated[Any, inert("any value.")] = None


class InputTokens(msgspec.Struct, kw_only=True):
    """Equals usage.input_tokens of the response."""

    object: Literal["response.input_tokens"] = "response.input_tokens"
    input_tokens: int


class IncompleteDetails(msgspec.Struct, kw_only=True):
    reason: Literal["max_output_tokens"]


class ResponseFailure(msgspec.Struct, kw_only=True):
    """What broke it off, as the same error is spelled elsewhere."""

    code: str
    message: str
    type: str


class InputTokensDetails(msgspec.Struct, kw_only=True):
    cached_tokens: Annotated[int, msgspec.Meta(description="Input tokens found in the prefix cache.")]
    cache_write_tokens: Annotated[int, msgspec.Meta(description="Input tokens that were computed, and are kept.")]


class OutputTokensDetails(msgspec.Struct, kw_only=True):
    reasoning_tokens: Annotated[int, msgspec.Meta(description="Drawn inside reasoning, its end included.")]
    rewound_tokens: Annotated[
        int, msgspec.Meta(description="Of them those of loops, which were taken back out of the model's context.")
    ] = 0


class ResponseUsage(msgspec.Struct, kw_only=True):
    input_tokens: int
    input_tokens_details: InputTokensDetails
    output_tokens: int
    output_tokens_details: OutputTokensDetails
    total_tokens: int


class AnsweredReasoning(msgspec.Struct, kw_only=True):
    effort: str | None = None
    summary: str | None = None


class AnsweredText(msgspec.Struct, kw_only=True):
    format: dict[str, Any]


class Response(msgspec.Struct, kw_only=True):
    """A response, as far as it is."""

    id: str
    object: Literal["response"] = "response"
    created_at: int
    status: Literal["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"] = "in_progress"
    completed_at: int | None = None
    background: bool = False
    error: ResponseFailure | None = None
    incomplete_details: IncompleteDetails | None = None
    instructions: str | None = None
    max_output_tokens: int | None = None
    max_tool_calls: int | None = None
    metadata: dict[str, str] = msgspec.field(default_factory=dict)
    model: str
    output: list[OutputItem] = msgspec.field(default_factory=list)
    parallel_tool_calls: bool = True
    previous_response_id: str | None = None
    reasoning: AnsweredReasoning
    service_tier: Literal["default"] = "default"
    store: bool = True
    temperature: float
    text: AnsweredText
    tool_choice: str | dict[str, Any]
    tools: Annotated[list[dict[str, Any]], msgspec.Meta(description="Those that the model was offered.")]
    top_logprobs: int = 0
    top_p: float
    truncation: Literal["disabled"] = "disabled"
    usage: ResponseUsage | None = None
    thinking_budget_forced_at: ForcedAt | msgspec.UnsetType = msgspec.UNSET
    timings: Annotated[Timings | msgspec.UnsetType, msgspec.Meta(description="Once it has ended (an extension).")] = (
        msgspec.UNSET
    )


class DeletedResponse(msgspec.Struct, kw_only=True):
    id: str
    object: Literal["response"] = "response"
    deleted: Literal[True] = True


class InputItemList(msgspec.Struct, kw_only=True):
    """What the model read: the input of the responses before it, their output, and its own input."""

    object: Literal["list"] = "list"
    data: list[dict[str, Any]]
    first_id: str | None
    last_id: str | None
    has_more: bool
