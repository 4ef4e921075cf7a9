"""Bodies of POST /v1/chat/completions. The request struct is the field table."""

from typing import Annotated, Any, Literal

import msgspec

from ignis.api.schema.fields import honoured, inert, off, refused, sampling
from ignis.api.schema.held import HeldFields
from ignis.api.schema.messages import Message, StreamOptions, ToolList
from ignis.api.schema.sampling import NumChoices, Stops, TopLogprobs
from ignis.api.schema.thinking import (
    EnableThinking,
    PreserveThinking,
    ReasoningEffort,
    TemplateVariables,
    ThinkingBudget,
)
from ignis.api.schema.usage import CompletionUsage, Timings, TokenLogprobEntry
from ignis.limits import MAX_MESSAGES

Conversation = Annotated[
    list[Message],
    honoured("The conversation, oldest first.", min_length=1, max_length=MAX_MESSAGES),
]


class ChatFields(HeldFields, kw_only=True):
    """What a chat body may hold beside its messages. Null is the same as leaving a field out."""

    stream_options: Annotated[StreamOptions | None, honoured("How a stream is sent.")] = None
    n: NumChoices | None = None
    stop: Stops | None = None
    max_tokens: Annotated[int, honoured("Most tokens to draw, kept for older clients.", ge=1)] | None = None
    max_completion_tokens: (
        Annotated[
            int,
            honoured(
                "Most tokens to draw; prompt and cap must fit the context. Absent: the server's default, cut to fit.",
                ge=1,
            ),
        ]
        | None
    ) = None
    logprobs: Annotated[bool, sampling("Report the log probability of each drawn token.")] | None = None
    top_logprobs: TopLogprobs | None = None
    tools: ToolList | None = None
    tool_choice: (
        Annotated[
            str | dict[str, Any],
            honoured(
                '"auto": the model decides; "none" drops the tools; "required": the answer is a call or several; '
                '{"type": "function", "function": {"name": ...}}: it is one call of that function; '
                '{"type": "allowed_tools", "allowed_tools": {"mode": "auto" or "required", "tools": [...]}}: the other '
                "tools are dropped. A forced call fits "
                "the schema of its tool; one that a call cannot be held to is refused then."
            ),
        ]
        | None
    ) = None
    parallel_tool_calls: (
        Annotated[bool, honoured("false: the answer ends with its first tool call. Absent: true.")] | None
    ) = None
    chat_template_kwargs: TemplateVariables | None = None
    enable_thinking: EnableThinking | None = None
    preserve_thinking: PreserveThinking | None = None
    reasoning_effort: ReasoningEffort | None = None
    thinking_budget: ThinkingBudget | None = None
    store: Annotated[Literal[False], inert("only false: nothing is stored.")] | None = None
    service_tier: Annotated[Literal["auto", "default"], inert("there is one tier.")] | None = None
    modalities: Annotated[list[Literal["text"]], inert('only ["text"].', '["text"]')] | None = None
    metadata: Annotated[Any, inert("any value; not kept.")] = None
    user: Annotated[Any, inert("any value; not kept.")] = None
    safety_identifier: Annotated[Any, inert("any value; not kept.")] = None
    prompt_cache_key: Annotated[Any, inert("any value; reuse goes by content.")] = None
    prompt_cache_retention: Annotated[Any, inert("any value; reuse goes by content.")] = None
    verbosity: Annotated[Any, inert("any value.")] = None
    audio: Annotated[None, refused("output is text")] = None
    prediction: Annotated[None, refused("predicted output is not served")] = None
    web_search_options: Annotated[None, refused("the server searches nothing")] = None
    functions: Annotated[None, refused("replaced by tools")] = None
    function_call: Annotated[None, refused("replaced by tool_choice")] = None
    best_of: Annotated[int, off("1", "use n", ge=1, le=1)] | None = None
    echo: Annotated[Literal[False], off("false", "the prompt is not repeated")] | None = None
    suffix: Annotated[None, refused("only a text completion has one")] = None
    n_predict: Annotated[None, refused("use max_completion_tokens")] = None
    max_new_tokens: Annotated[None, refused("use max_completion_tokens")] = None
    add_generation_prompt: Annotated[Literal[True], off("true", "an answer is always begun")] | None = None
    continue_final_message: Annotated[Literal[False], off("false", "an answer is always a new message")] | None = None
    chat_template: Annotated[None, refused("the model's own template is used")] = None
    documents: Annotated[None, refused("the template is given messages only")] = None


class ChatCompletionRequest(ChatFields, kw_only=True):
    """A chat completion."""

    messages: Conversation
    stream: Annotated[bool, honoured("Send server-sent events as the text is made.")] | None = None
    prompt: Annotated[None, refused("use messages")] = None


class ChoiceLogprobs(msgspec.Struct, kw_only=True):
    content: list[TokenLogprobEntry]
    refusal: None = None


class AnsweredFunction(msgspec.Struct, kw_only=True):
    name: str
    arguments: Annotated[
        str, msgspec.Meta(description="JSON text of an object; broken off where finish_reason is not tool_calls.")
    ]


class AnsweredCall(msgspec.Struct, kw_only=True):
    """A call that the model made."""

    id: str
    type: Literal["function"] = "function"
    function: AnsweredFunction


class AnswerMessage(msgspec.Struct, kw_only=True):
    role: Literal["assistant"] = "assistant"
    content: Annotated[str | None, msgspec.Meta(description="Null where there are calls and nothing else.")]
    reasoning_content: (
        Annotated[str, msgspec.Meta(description="What the model thought; absent where it did not.")] | msgspec.UnsetType
    ) = msgspec.UNSET
    tool_calls: list[AnsweredCall] | msgspec.UnsetType = msgspec.UNSET
    refusal: None = None


FinishReasonText = Annotated[
    Literal["stop", "length", "tool_calls"],
    msgspec.Meta(
        description="stop: the model's own end or a stop string; length: the cap; tool_calls: its own end, "
        "with calls that are all complete."
    ),
]


ForcedAt = Annotated[
    int,
    msgspec.Meta(
        description="Reasoning tokens when the spent thinking budget closed the reasoning (an extension); absent where "
        "it did not."
    ),
]


class Choice(msgspec.Struct, kw_only=True):
    index: int
    message: AnswerMessage
    finish_reason: FinishReasonText
    logprobs: ChoiceLogprobs | None = None
    thinking_budget_forced_at: ForcedAt | msgspec.UnsetType = msgspec.UNSET


class ChatCompletion(msgspec.Struct, kw_only=True):
    """A whole answer."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[Choice]
    usage: CompletionUsage
    timings: Timings


class FunctionDelta(msgspec.Struct, kw_only=True, omit_defaults=True):
    name: str | None = None
    arguments: Annotated[str, msgspec.Meta(description="More of the JSON text; never text that was sent before.")]


class CallDelta(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The first one of a call has its id, type, name and empty arguments; the others have more of the arguments."""

    index: int
    id: str | None = None
    type: Literal["function"] | None = None
    function: FunctionDelta


class ChunkDelta(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The first delta of a choice has the role and empty content, the last one is empty."""

    role: Literal["assistant"] | None = None
    content: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[CallDelta] | None = None


class ChunkChoice(msgspec.Struct, kw_only=True):
    index: int
    delta: ChunkDelta
    finish_reason: FinishReasonText | None = None
    logprobs: ChoiceLogprobs | msgspec.UnsetType | None = msgspec.UNSET
    thinking_budget_forced_at: ForcedAt | msgspec.UnsetType = msgspec.UNSET


class ChatCompletionChunk(msgspec.Struct, kw_only=True):
    """One event of a stream; after the last one comes `data: [DONE]`."""

    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    choices: list[ChunkChoice]
    usage: CompletionUsage | msgspec.UnsetType | None = msgspec.UNSET
    timings: Timings | msgspec.UnsetType = msgspec.UNSET
