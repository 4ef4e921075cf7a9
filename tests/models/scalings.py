"""Rope scalings of tiny checkpoints: the frequencies that the oracle turns by, and how each container declares them.

Written from the papers and releases, in numpy, apart from what ignis.models.rope does with a file's numbers.
"""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tests.unit.models import writers

Wide = npt.NDArray[np.float64]


class Scaling(Protocol):
    @property
    def attention_scale(self) -> float:
        """What cos and sin are multiplied by."""
        ...

    def scale(self, base: Wide, theta: float) -> Wide:
        """base: float64 [head_dim / 2], unscaled."""
        ...

    def hf_settings(self) -> dict[str, object]:
        """The members of rope_parameters beside rope_theta."""
        ...

    def gguf_keys(self) -> dict[str, writers.Value]:
        """Keys under the architecture's prefix."""
        ...

    def gguf_divisors(self, base: Wide, theta: float) -> Wide | None:
        """rope_freqs.weight, where GGUF declares the scaling by it."""
        ...


@dataclass(frozen=True, slots=True)
class Llama3:
    """The Llama 3.1 release's: by wavelength, in three regions."""

    factor: float
    original_tokens: int
    low: float = 1.0
    high: float = 4.0
    attention_scale: float = 1.0

    def scale(self, base: Wide, theta: float) -> Wide:
        wavelengths = 2 * np.pi / base
        smooth = (self.original_tokens / wavelengths - self.low) / (self.high - self.low)
        between = (1 - smooth) * base / self.factor + smooth * base
        is_long, is_short = (
            wavelengths > self.original_tokens / self.low,
            wavelengths < self.original_tokens / self.high,
        )
        return np.where(is_long, base / self.factor, np.where(is_short, base, between))

    def hf_settings(self) -> dict[str, object]:
        return {
            "rope_type": "llama3",
            "factor": self.factor,
            "low_freq_factor": self.low,
            "high_freq_factor": self.high,
            "original_max_position_embeddings": self.original_tokens,
        }

    def gguf_keys(self) -> dict[str, writers.Value]:
        return {}

    def gguf_divisors(self, base: Wide, theta: float) -> Wide | None:
        return base / self.scale(base, theta)


@dataclass(frozen=True, slots=True)
class Yarn:
    """arXiv:2309.00071, with the ramp's ends (32 turns and 1 turn) at whole dims, as released models have it."""

    factor: float
    original_tokens: int

    @property
    def attention_scale(self) -> float:
        return 0.1 * math.log(self.factor) + 1

    def scale(self, base: Wide, theta: float) -> Wide:
        def pair_with(turns: float) -> float:
            return len(base) * math.log(self.original_tokens / (2 * np.pi * turns)) / math.log(theta)

        first, last = max(0, math.floor(pair_with(32))), min(2 * len(base) - 1, math.ceil(pair_with(1)))
        interpolated = np.clip((np.arange(len(base)) - first) / (last - first), 0, 1)
        scaled: Wide = base * (1 - interpolated + interpolated / self.factor)
        return scaled

    def hf_settings(self) -> dict[str, object]:
        return {
            "rope_type": "yarn",
            "factor": self.factor,
            "original_max_position_embeddings": self.original_tokens,
        }

    def gguf_keys(self) -> dict[str, writers.Value]:
        return {
            "rope.scaling.type": writers.text("yarn"),
            "rope.scaling.factor": writers.f32(self.factor),
            "rope.scaling.original_context_length": writers.u32(self.original_tokens),
        }

    def gguf_divisors(self, base: Wide, theta: float) -> Wide | None:
        return None
