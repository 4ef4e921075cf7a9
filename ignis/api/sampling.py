"""Fills in how tokens are drawn: what a body says, the model's defaults, and neutral values for the rest."""

import secrets
from collections.abc import Mapping

from ignis.api.schema.sampling import SamplingFields
from ignis.config_fields import SamplingConfig
from ignis.engine.lifecycle import LoadedModel, ModelFacts
from ignis.errors import InvalidSamplingParameterError
from ignis.scheduler.request import SamplingParams

SAMPLING_FIELDS = (
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "repetition_penalty",
    "presence_penalty",
    "frequency_penalty",
)
_SEED_BITS = 53
SEED_MASK = 2**64 - 1


def defaults_of(config: SamplingConfig) -> dict[str, float]:
    """What the operator chose of how tokens are drawn, by field."""
    chosen = {name: getattr(config, name) for name in SAMPLING_FIELDS}
    return {name: value for name, value in chosen.items() if value is not None}


def sampling_defaults(model: ModelFacts, chosen: Mapping[str, float]) -> dict[str, float]:
    """What a request draws with that says nothing else, by field."""
    neutral = SamplingParams()
    known = {**model.sampling_defaults, **chosen}
    return {name: known.get(name, getattr(neutral, name)) for name in SAMPLING_FIELDS}


def sampling_params(
    fields: SamplingFields, top_logprobs: int | None, model: LoadedModel, chosen: Mapping[str, float]
) -> SamplingParams:
    """Takes the fields of a body; each that is absent is what the operator chose, else the model's default, else the
    neutral value.

    Raises:
        InvalidSamplingParameterError: a seed past 64 bits, or a bias of what is no token.
    """
    if fields.seed is not None and not -(2**63) <= fields.seed < 2**64:
        # msgspec cannot check a bound past 63 bits.
        raise InvalidSamplingParameterError(f"seed must be an integer from {-(2**63)} to {2**64 - 1}", "seed")
    defaults = sampling_defaults(model, chosen)

    def value(name: str, given: float | None) -> float:
        return defaults[name] if given is None else given

    return SamplingParams(
        temperature=value("temperature", fields.temperature),
        # -1 and 0 are off; a vocabulary's worth is all of it.
        top_k=min(max(0, int(value("top_k", fields.top_k))), model.vocab_size),
        top_p=value("top_p", fields.top_p),
        min_p=value("min_p", fields.min_p),
        repetition_penalty=value("repetition_penalty", fields.repetition_penalty),
        presence_penalty=value("presence_penalty", fields.presence_penalty),
        frequency_penalty=value("frequency_penalty", fields.frequency_penalty),
        seed=(fresh_seed() if fields.seed is None else fields.seed) & SEED_MASK,
        logit_bias=_logit_bias(fields.logit_bias, model.vocab_size),
        top_logprobs=top_logprobs,
    )


def fresh_seed() -> int:
    """Draws a seed for a request that names none. 53 bits, so that JavaScript clients can send it back unchanged."""
    return secrets.randbits(_SEED_BITS)


def _logit_bias(bias: dict[str, float] | None, vocab_size: int) -> tuple[tuple[int, float], ...]:
    found = {}
    for key, value in (bias or {}).items():
        token_id = int(key) if key.isascii() and key.isdigit() and len(key) < 10 else -1
        if not 0 <= token_id < vocab_size:
            name = f"logit_bias.{key[:40]}"
            raise InvalidSamplingParameterError(
                f"{name} is no token: the ids of this model are 0 to {vocab_size - 1}", name
            )
        found[token_id] = value
    return tuple(sorted(found.items()))
