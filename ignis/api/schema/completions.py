"""Bodies of POST /v1/completions. The request struct is the field table."""

from typing import Annotated, Any, Literal

import msgspec

from ignis.api.schema.fields import RULE, honoured, inert, refused, sampling
from ignis.api.schema.held import HeldFields
from ignis.api.schema.messages import StreamOptions
from ignis.api.schema.sampling import NumChoices, Stops
from ignis.api.schema.usage import CompletionUsage, Timings
from ignis.limits import MAX_CHOICES, MAX_PROMPTS, MAX_TOP_LOGPROBS

DEFAULT_MAX_TOKENS = 16
"""OpenAI's own default for this route."""


_TEXT = {"type": "string"}
_IDS = {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1}
_prompt = msgspec.Meta(
    description=(
        "Text; or the ids of its tokens; or a list of either, each of which is answered by itself. Control tokens may "
        f"be spelled in it; BOS is added where the model wants one. At most {MAX_PROMPTS} prompts."
    ),
    # msgspec knows one kind of array in a union, so that the route tells the kinds apart.
    extra_json_schema={
        RULE: "honoured",
        "allOf": [
            {
                "anyOf": [
                    _TEXT,
                    _IDS,
                    *(
                        {"type": "array", "items": kind, "minItems": 1, "maxItems": MAX_PROMPTS}
                        for kind in (_TEXT, _IDS)
                    ),
                ]
            }
        ],
    },
)


class CompletionRequest(HeldFields, kw_only=True):
    """Text to go on with. Null is the same as leaving a field out."""

    prompt: Annotated[str | list[str | int | list[int]], _prompt]
    suffix: (
        Annotated[
            str,
            honoured(
                "Text behind the answer, which fills the gap. Empty: there is none. Refused where the model has no "
                "tokens for that, and with a prompt of ids."
            ),
        ]
        | None
    ) = None
    max_tokens: (
        Annotated[
            int,
            honoured(
                f"Most tokens to draw; prompt and cap must fit the context. Absent: {DEFAULT_MAX_TOKENS}, cut to fit. "
                "0: the prompt alone, with echo.",
                ge=0,
            ),
        ]
        | None
    ) = None
    max_completion_tokens: Annotated[int, honoured("The same as max_tokens.", ge=0)] | None = None
    n: NumChoices | None = None
    best_of: (
        Annotated[
            int,
            honoured(
                "Draw so many answers and return the n whose tokens are the most likely ones on average. At least n; "
                "not with stream, unless it is n.",
                ge=1,
                le=MAX_CHOICES,
            ),
        ]
        | None
    ) = None
    echo: Annotated[bool, honoured("Begin the text with the prompt, and logprobs with those of its tokens.")] | None = (
        None
    )
    logprobs: (
        Annotated[
            int,
            sampling(
                "Report the log probability of each token of the text, and as many of the most likely ones.",
                ge=0,
                le=MAX_TOP_LOGPROBS,
            ),
        ]
        | None
    ) = None
    stop: Stops | None = None
    stream: Annotated[bool, honoured("Send server-sent events as the text is made.")] | None = None
    stream_options: Annotated[StreamOptions | None, honoured("How a stream is sent.")] = None
    store: Annotated[Literal[False], inert("only false: nothing is stored.")] | None = None
    service_tier: Annotated[Literal["auto", "default"], inert("there is one tier.")] | None = None
    metadata: Annotated[Any, inert("any value; not kept.")] = None
    user: Annotated[Any, inert("any value; not kept.")] = None
    safety_identifier: Annotated[Any, inert("any value; not kept.")] = None
    prompt_cache_key: Annotated[Any, inert("any value; reuse goes by content.")] = None
    messages: Annotated[None, refused("use prompt, or /v1/chat/completions")] = None
    top_logprobs: Annotated[None, refused("logprobs says how many")] = None
    tools: Annotated[None, refused("raw text has no tool calls")] = None
    tool_choice: Annotated[None, refused("raw text has no tool calls")] = None
    parallel_tool_calls: Annotated[None, refused("raw text has no tool calls")] = None
    functions: Annotated[None, refused("raw text has no tool calls")] = None
    function_call: Annotated[None, refused("raw text has no tool calls")] = None
    enable_thinking: Annotated[None, refused("raw text is not parted into reasoning and answer")] = None
    preserve_thinking: Annotated[None, refused("raw text is not parted into reasoning and answer")] = None
    reasoning_effort: Annotated[None, refused("raw text is not parted into reasoning and answer")] = None
    thinking_budget: Annotated[None, refused("raw text is not parted into reasoning and answer")] = None
    chat_template_kwargs: Annotated[None, refused("no template is rendered")] = None
    chat_template: Annotated[None, refused("no template is rendered")] = None
    prompt_embeds: Annotated[None, refused("use prompt")] = None
    add_special_tokens: Annotated[None, refused("BOS is added where the model wants one")] = None
    n_predict: Annotated[None, refused("use max_tokens")] = None
    max_new_tokens: Annotated[None, refused("use max_tokens")] = None


CompletionFinish = Annotated[
    Literal["stop", "length"],
    msgspec.Meta(description="stop: the model's own end or a stop string; length: the cap."),
]


class CompletionLogprobs(msgspec.Struct, kw_only=True):
    """Log probabilities of the text's tokens, of the raw logits; the four lists go together."""

    tokens: Annotated[
        list[str],
        msgspec.Meta(description="A token that is no whole characters is spelled `bytes:` and its bytes as \\x00."),
    ]
    token_logprobs: Annotated[
        list[float | None], msgspec.Meta(description="Null for a prompt's first token, which nothing stands before.")
    ]
    top_logprobs: Annotated[
        list[dict[str, float] | None],
        msgspec.Meta(description="The most likely tokens, and that of the text where it is none of them."),
    ]
    text_offset: Annotated[list[int], msgspec.Meta(description="Where each token begins in the text, in characters.")]


class CompletionChoice(msgspec.Struct, kw_only=True):
    """An answer. Those of the first prompt come first, n for each."""

    text: str
    index: int
    logprobs: CompletionLogprobs | None = None
    finish_reason: CompletionFinish


class Completion(msgspec.Struct, kw_only=True):
    """Whole answers."""

    id: str
    object: Literal["text_completion"] = "text_completion"
    created: int
    model: str
    choices: list[CompletionChoice]
    usage: CompletionUsage
    timings: Timings


class CompletionPiece(msgspec.Struct, kw_only=True):
    """More of an answer; the last one of an answer has the finish reason."""

    text: str
    index: int
    logprobs: CompletionLogprobs | None = None
    finish_reason: CompletionFinish | None = None


class CompletionChunk(msgspec.Struct, kw_only=True):
    """One event of a stream; after the last one comes `data: [DONE]`."""

    id: str
    object: Literal["text_completion"] = "text_completion"
    created: int
    model: str
    choices: list[CompletionPiece]
    usage: CompletionUsage | msgspec.UnsetType | None = msgspec.UNSET
    timings: Timings | msgspec.UnsetType = msgspec.UNSET
