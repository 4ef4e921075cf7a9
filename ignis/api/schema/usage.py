"""What every OpenAI-shaped answer says of itself: token counts, times, and log probabilities."""

from typing import Annotated

import msgspec


class PromptTokensDetails(msgspec.Struct, kw_only=True):
    cached_tokens: Annotated[int, msgspec.Meta(description="Prompt tokens found in the prefix cache.")]


class CompletionTokensDetails(msgspec.Struct, kw_only=True):
    reasoning_tokens: Annotated[int, msgspec.Meta(description="Tokens drawn for reasoning, its tags included.")]
    rewound_tokens: Annotated[
        int, msgspec.Meta(description="Of them those of loops, which were taken back out of the model's context.")
    ] = 0


class CompletionUsage(msgspec.Struct, kw_only=True):
    """Tokens. The prompt counts once, however many answers there are."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptTokensDetails
    completion_tokens_details: CompletionTokensDetails


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
