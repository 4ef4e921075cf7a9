"""Rotary frequencies: plain, llama3 and yarn scaling, and the linear kind that divides them all.

Everything is in float64 here; the step ABI takes the result as float32.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

YARN_BETA_FAST = 32.0
YARN_BETA_SLOW = 1.0


@dataclass(frozen=True, slots=True)
class Llama3Scaling:
    """Long waves are stretched by factor, short ones stay, between is a ramp (the Llama 3.1 release's rope scaling)."""

    factor: float
    low_freq_factor: float
    high_freq_factor: float
    original_tokens: int


@dataclass(frozen=True, slots=True)
class YarnScaling:
    """NTK-by-parts (YaRN, arXiv:2309.00071 section 3.2)."""

    factor: float
    original_tokens: int
    beta_fast: float
    beta_slow: float
    is_truncated: bool
    """The ramp's ends are rounded outwards to whole dims, as the paper's code does."""


def frequencies(theta: float, head_dim: int) -> list[float]:
    """theta ** (-2 i / head_dim) for the pairs i of [0, head_dim / 2)."""
    return [theta ** (-2.0 * pair / head_dim) for pair in range(head_dim // 2)]


def scale_linear(base: Sequence[float], factor: float) -> list[float]:
    """Position interpolation (arXiv:2306.15595): every wave is stretched by factor."""
    return [frequency / factor for frequency in base]


def scale_llama3(base: Sequence[float], scaling: Llama3Scaling) -> list[float]:
    """Stretches what turns fewer than low_freq_factor times in the original context, in full."""
    scaled = []
    for frequency in base:
        turns = scaling.original_tokens * frequency / (2.0 * math.pi)
        kept = (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor)
        kept = min(max(kept, 0.0), 1.0)
        scaled.append((1.0 - kept) * frequency / scaling.factor + kept * frequency)
    return scaled


def scale_yarn(base: Sequence[float], theta: float, scaling: YarnScaling) -> list[float]:
    """Stretches dims past beta_slow turns in full, those before beta_fast not at all, those between along a ramp."""
    head_dim = 2 * len(base)

    def pair_of(turns: float) -> float:
        return head_dim * math.log(scaling.original_tokens / (turns * 2.0 * math.pi)) / (2.0 * math.log(theta))

    low, high = pair_of(scaling.beta_fast), pair_of(scaling.beta_slow)
    if scaling.is_truncated:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, head_dim - 1)
    if low == high:
        high += 0.001
    scaled = []
    for pair, frequency in enumerate(base):
        stretched = min(max((pair - low) / (high - low), 0.0), 1.0)
        scaled.append(frequency / scaling.factor * stretched + frequency * (1.0 - stretched))
    return scaled


def yarn_scale(factor: float, weight: float = 1.0) -> float:
    """What cos and sin are multiplied by so that attention keeps its temperature (arXiv:2309.00071 section 3.4)."""
    return 0.1 * weight * math.log(factor) + 1.0 if factor > 1.0 else 1.0
