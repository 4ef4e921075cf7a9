"""The fields that every generation route has: whose turn it is, and how tokens are drawn. Declared nowhere else.

A body inherits SamplingFields. A msgspec struct has one base, so what only some routes share is an alias of a type.
"""

from typing import Annotated, Literal

import msgspec

from ignis.api.schema.fields import honoured, off, refused, sampling
from ignis.limits import MAX_CHOICES, MAX_LOGIT_BIAS, MAX_STOPS, MAX_TOP_LOGPROBS

NumChoices = Annotated[int, honoured("How many answers; answer i uses seed + i.", ge=1, le=MAX_CHOICES)]
Stops = Annotated[
    # Too many are refused in words of their own, so that no constraint of the type says it first.
    str | Annotated[list[str], msgspec.Meta(extra_json_schema={"maxItems": MAX_STOPS})],
    honoured(f"Up to {MAX_STOPS} non-empty strings that end the text; a match is not part of it."),
]
TopLogprobs = Annotated[
    int, sampling("Report as many of the most likely tokens too; needs logprobs.", ge=0, le=MAX_TOP_LOGPROBS)
]


_SAMPLER = "this sampler is not served"
_ONE_BY_ONE = "tokens are drawn one after the other"


class ForeignFields(msgspec.Struct, kw_only=True):
    """What other servers take to shape the drawing and this one does not: refused by name on every route, but for the
    value that switches it off.
    """

    repeat_penalty: Annotated[float, off("1", "use repetition_penalty", ge=1, le=1)] | None = None
    repeat_last_n: Annotated[None, refused("penalties look at the whole prompt and output")] = None
    typical_p: Annotated[float, off("1", _SAMPLER, ge=1, le=1)] | None = None
    tfs_z: Annotated[float, off("1", _SAMPLER, ge=1, le=1)] | None = None
    mirostat: Annotated[int, off("0", _SAMPLER, ge=0, le=0)] | None = None
    xtc_probability: Annotated[float, off("0", _SAMPLER, ge=0, le=0)] | None = None
    dry_multiplier: Annotated[float, off("0", _SAMPLER, ge=0, le=0)] | None = None
    samplers: Annotated[None, refused("the order of the samplers is fixed")] = None
    dynatemp_range: Annotated[float, off("0", "the temperature is fixed", ge=0, le=0)] | None = None
    use_beam_search: Annotated[Literal[False], off("false", _ONE_BY_ONE)] | None = None
    length_penalty: Annotated[float, off("1", _ONE_BY_ONE, ge=1, le=1)] | None = None
    allowed_token_ids: Annotated[None, refused("use logit_bias")] = None
    min_tokens: Annotated[int, off("0", "a least length is not served", ge=0, le=0)] | None = None
    stop_token_ids: Annotated[list[int], off("[]", "stop strings are served, ids are not", max_length=0)] | None = None
    bad_words: Annotated[list[str], off("[]", "use logit_bias", max_length=0)] | None = None
    include_stop_str_in_output: (
        Annotated[Literal[False], off("false", "a stop string is not part of the text")] | None
    ) = None
    prompt_logprobs: Annotated[None, refused("use echo and logprobs of /v1/completions")] = None
    truncate_prompt_tokens: Annotated[None, refused("a prompt is never cut")] = None
    num_ctx: Annotated[None, refused("the server's model.max_context decides")] = None


class SamplingFields(ForeignFields, kw_only=True):
    """How tokens are drawn, and for whom first. Null is the same as leaving a field out."""

    model: (
        Annotated[
            str,
            honoured(
                "Id of a served model; empty means the loaded one. A suffix @interactive or @agent sets the class.",
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
    temperature: (
        Annotated[float, sampling("0 takes the most likely token. Absent: the model's own.", ge=0, le=2)] | None
    ) = None
    top_p: (
        Annotated[
            float,
            sampling(
                "Draw among the most likely tokens that together reach this probability; 0 takes the most likely one.",
                ge=0,
                le=1,
            ),
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
    ignore_eos: (
        Annotated[bool, honoured("Never draw the end of the turn; a measurement aid that needs an explicit cap.")]
        | None
    ) = None
