"""The figures of a finished generation as OpenAI-shaped answers have them."""

from collections.abc import Sequence

from ignis.api.generation import DrawnToken, Outcome
from ignis.api.schema.usage import (
    CompletionTokensDetails,
    CompletionUsage,
    PromptTokensDetails,
    Timings,
    TokenLogprobEntry,
    TopLogprob,
)
from ignis.tokenizer import Tokenizer


def usage_of(outcome: Outcome) -> CompletionUsage:
    return CompletionUsage(
        prompt_tokens=outcome.prompt_tokens,
        completion_tokens=outcome.completion_tokens,
        total_tokens=outcome.prompt_tokens + outcome.completion_tokens,
        prompt_tokens_details=PromptTokensDetails(cached_tokens=outcome.cached_tokens),
        completion_tokens_details=CompletionTokensDetails(
            reasoning_tokens=outcome.reasoning_tokens, rewound_tokens=outcome.rewound_tokens
        ),
    )


def timings_of(outcome: Outcome, seed: int) -> Timings:
    num_computed = outcome.prompt_tokens - outcome.cached_tokens
    return Timings(
        seed=seed,
        queued_ms=round(outcome.queued_s * 1e3, 3),
        cached_n=outcome.cached_tokens,
        prompt_n=num_computed,
        prompt_ms=round(outcome.prefill_s * 1e3, 3),
        prompt_per_second=round(num_computed / outcome.prefill_s, 2) if outcome.prefill_s > 0 else 0.0,
        predicted_n=outcome.completion_tokens,
        predicted_ms=round(outcome.decode_s * 1e3, 3),
        predicted_per_second=round(outcome.tokens_per_s, 2),
    )


def logprobs_of(tokens: Sequence[DrawnToken], tokenizer: Tokenizer) -> list[TokenLogprobEntry]:
    """An entry for each drawn token, as chat completions and responses spell it."""
    return [
        TokenLogprobEntry(
            token=tokenizer.token_text(token.token_id),
            logprob=token.logprob.logprob,
            bytes=list(tokenizer.token_bytes(token.token_id)),
            top_logprobs=[
                TopLogprob(
                    token=tokenizer.token_text(token_id),
                    logprob=logprob,
                    bytes=list(tokenizer.token_bytes(token_id)),
                )
                for token_id, logprob in token.logprob.top
            ],
        )
        for token in tokens
    ]
