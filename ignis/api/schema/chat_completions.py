"""Bodies of POST /v1/chat/completions. The request struct is the field table."""

from typing import Annotated, Any, Literal

import msgspec

from ignis.api.schema.fields import honoured, inert, refused, sampling, thinking
from ignis.api.schema.messages import MAX_MESSAGES, Message, StreamOptions, Tool
from ignis.errors import ReasoningEffortUnsupportedError, UnsupportedValueError

MAX_CHOICES = 8
MAX_STOPS = 16
MAX_TOP_LOGPROBS = 20
MAX_LOGIT_BIAS = 1024


class TextFormat(msgspec.Struct, kw_only=True):
    """Plain text, the only format."""

    type: Annotated[Literal["text"], inert("output is plain text.")]


Conversation = Annotated[
    list[Message],
    honoured("The conversation, oldest first.", min_length=1, max_length=MAX_MESSAGES),
]


class ChatFields(msgspec.Struct, kw_only=True):
    """What a chat body may hold beside its messages. Null is the same as leaving a field out."""

    model: (
        Annotated[
            str,
            honoured(
                "Id of a served model; empty means the loaded one. A suffix @interactive or @agent sets the class."
            ),
        ]
        | None
    ) = None
    request_class: (
        Annotated[
            str,
            honoured(
                "interactive or agent: who goes first. Wins over the suffix of model; any other text is interactive."
            ),
        ]
        | None
    ) = msgspec.field(name="class", default=None)
    stream_options: Annotated[StreamOptions | None, honoured("How a stream is sent.")] = None
    n: Annotated[int, honoured("How many answers; answer i uses seed + i.", ge=1, le=MAX_CHOICES)] | None = None
    stop: (
        Annotated[
            str | list[str],
            honoured(f"Up to {MAX_STOPS} non-empty strings that end the text; a match is not part of it."),
        ]
        | None
    ) = None
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
    temperature: (
        Annotated[float, sampling("0 takes the most likely token. Absent: the model's own.", ge=0, le=2)] | None
    ) = None
    top_p: (
        Annotated[
            float, sampling("Draw among the most likely tokens that together reach this probability.", gt=0, le=1)
        ]
        | None
    ) = None
    top_k: (
        Annotated[int, sampling("Draw among so many most likely tokens; 0 and -1 are off.", ge=-1, le=2**31 - 1)] | None
    ) = None
    min_p: (
        Annotated[float, sampling("Drop tokens less likely than this share of the most likely one.", ge=0, le=1)] | None
    ) = None
    repetition_penalty: (
        Annotated[
            float,
            sampling("Divides (or multiplies, below 0) logits of tokens already in prompt or output.", gt=0, le=10),
        ]
        | None
    ) = None
    presence_penalty: (
        Annotated[float, sampling("Taken off the logit of every token already drawn.", ge=-2, le=2)] | None
    ) = None
    frequency_penalty: (
        Annotated[float, sampling("Taken off the logit of a token for each time it was drawn.", ge=-2, le=2)] | None
    ) = None
    logit_bias: (
        Annotated[
            dict[str, Annotated[float, sampling("", ge=-100, le=100)]],
            sampling("Token id to a value that is added to its logit.", max_length=MAX_LOGIT_BIAS),
        ]
        | None
    ) = None
    seed: (
        Annotated[
            int,
            sampling(
                "64 bits, signed or not. The same request with the same seed gives the same text. "
                "Absent: a fresh one, which the answer names."
            ),
        ]
        | None
    ) = None
    logprobs: Annotated[bool, sampling("Report the log probability of each drawn token.")] | None = None
    top_logprobs: (
        Annotated[
            int, sampling("Report as many of the most likely tokens too; needs logprobs.", ge=0, le=MAX_TOP_LOGPROBS)
        ]
        | None
    ) = None
    ignore_eos: (
        Annotated[bool, honoured("Never draw the end of the turn; a measurement aid that needs an explicit cap.")]
        | None
    ) = None
    tools: (
        Annotated[
            list[Tool],
            honoured("Functions that the model may call. Refused where the model's template does not mention tools."),
        ]
        | None
    ) = None
    tool_choice: (
        Annotated[
            str | dict[str, Any],
            honoured('"auto": the model decides; "none" drops the tools. No other choice is served yet.'),
        ]
        | None
    ) = None
    parallel_tool_calls: (
        Annotated[bool, honoured("false: the answer ends with its first tool call. Absent: true.")] | None
    ) = None
    chat_template_kwargs: (
        Annotated[
            dict[str, Any],
            honoured("Variables of the chat template. One that the template does not mention is refused."),
        ]
        | None
    ) = None
    enable_thinking: (
        Annotated[bool, honoured("Template variable of the same name. Refused where the template does not mention it.")]
        | None
    ) = None
    preserve_thinking: (
        Annotated[bool, honoured("Template variable of the same name. Refused where the template does not mention it.")]
        | None
    ) = None
    reasoning_effort: (
        Annotated[
            Literal["none"],
            thinking(
                "No thinking, as enable_thinking false. No other effort is served.", ReasoningEffortUnsupportedError
            ),
        ]
        | None
    ) = None
    thinking_budget: (
        Annotated[
            Literal[0],
            thinking("No thinking, as enable_thinking false. No other budget is served.", UnsupportedValueError),
        ]
        | None
    ) = None
    response_format: Annotated[TextFormat | None, inert("output is not held to a schema yet.", '{"type": "text"}')] = (
        None
    )
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
    best_of: Annotated[None, refused("use n")] = None
    echo: Annotated[None, refused("the prompt is not repeated")] = None
    suffix: Annotated[None, refused("only chat completions are served")] = None
    min_tokens: Annotated[None, refused("a least length is not served")] = None
    stop_token_ids: Annotated[None, refused("use stop")] = None
    bad_words: Annotated[None, refused("use logit_bias")] = None
    grammar: Annotated[None, refused("output is not held to a grammar yet")] = None
    json_schema: Annotated[None, refused("output is not held to a schema yet")] = None
    structured_outputs: Annotated[None, refused("output is not held to a schema yet")] = None
    guided_json: Annotated[None, refused("output is not held to a schema yet")] = None
    guided_regex: Annotated[None, refused("output is not held to an expression yet")] = None
    guided_choice: Annotated[None, refused("output is not held to a list yet")] = None
    guided_grammar: Annotated[None, refused("output is not held to a grammar yet")] = None
    repeat_penalty: Annotated[None, refused("use repetition_penalty")] = None
    repeat_last_n: Annotated[None, refused("penalties look at the whole prompt and output")] = None
    typical_p: Annotated[None, refused("this sampler is not served")] = None
    tfs_z: Annotated[None, refused("this sampler is not served")] = None
    mirostat: Annotated[None, refused("this sampler is not served")] = None
    xtc_probability: Annotated[None, refused("this sampler is not served")] = None
    dry_multiplier: Annotated[None, refused("this sampler is not served")] = None
    samplers: Annotated[None, refused("the order of the samplers is fixed")] = None
    dynatemp_range: Annotated[None, refused("the temperature is fixed")] = None
    use_beam_search: Annotated[None, refused("tokens are drawn one after the other")] = None
    length_penalty: Annotated[None, refused("tokens are drawn one after the other")] = None
    allowed_token_ids: Annotated[None, refused("use logit_bias")] = None
    n_predict: Annotated[None, refused("use max_completion_tokens")] = None
    max_new_tokens: Annotated[None, refused("use max_completion_tokens")] = None
    include_stop_str_in_output: Annotated[None, refused("a stop string is not part of the text")] = None
    prompt_logprobs: Annotated[None, refused("log probabilities are of drawn tokens")] = None
    add_generation_prompt: Annotated[None, refused("an answer is always begun")] = None
    continue_final_message: Annotated[None, refused("an answer is always a new message")] = None
    chat_template: Annotated[None, refused("the model's own template is used")] = None
    documents: Annotated[None, refused("the template is given messages only")] = None
    truncate_prompt_tokens: Annotated[None, refused("a prompt is never cut")] = None
    num_ctx: Annotated[None, refused("the server's model.max_context decides")] = None


class ChatCompletionRequest(ChatFields, kw_only=True):
    """A chat completion."""

    messages: Conversation
    stream: Annotated[bool, honoured("Send server-sent events as the text is made.")] | None = None
    prompt: Annotated[None, refused("use messages")] = None


class PromptTokensDetails(msgspec.Struct, kw_only=True):
    cached_tokens: Annotated[int, msgspec.Meta(description="Prompt tokens found in the prefix cache.")]


class ChatUsage(msgspec.Struct, kw_only=True):
    """Tokens. The prompt counts once, however many answers there are."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptTokensDetails


class Timings(msgspec.Struct, kw_only=True):
    """What the answer took, and the seed that gives it again (an extension)."""

    seed: Annotated[int, msgspec.Meta(description="The seed of answer 0, given or drawn.")]
    queued_ms: Annotated[float, msgspec.Meta(description="From submission to admission.")]
    cached_n: Annotated[int, msgspec.Meta(description="Prompt tokens found in the prefix cache.")]
    prompt_n: Annotated[int, msgspec.Meta(description="Prompt tokens computed.")]
    prompt_ms: float
    prompt_per_second: float
    predicted_n: Annotated[int, msgspec.Meta(description="Tokens drawn, over all answers.")]
    predicted_ms: float
    predicted_per_second: float


class TopLogprob(msgspec.Struct, kw_only=True):
    token: str
    logprob: float
    bytes: list[int]


class TokenLogprobEntry(msgspec.Struct, kw_only=True):
    """A drawn token, of the raw logits: before penalties, bias and temperature."""

    token: str
    logprob: float
    bytes: Annotated[
        list[int], msgspec.Meta(description="The token's bytes; a character may be cut between two tokens.")
    ]
    top_logprobs: list[TopLogprob]


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


class Choice(msgspec.Struct, kw_only=True):
    index: int
    message: AnswerMessage
    finish_reason: FinishReasonText
    logprobs: ChoiceLogprobs | None = None


class ChatCompletion(msgspec.Struct, kw_only=True):
    """A whole answer."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[Choice]
    usage: ChatUsage
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


class ChatCompletionChunk(msgspec.Struct, kw_only=True):
    """One event of a stream; after the last one comes `data: [DONE]`."""

    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    choices: list[ChunkChoice]
    usage: ChatUsage | msgspec.UnsetType | None = msgspec.UNSET
    timings: Timings | msgspec.UnsetType = msgspec.UNSET
