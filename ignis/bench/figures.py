"""What a bench found: plain numbers, in seconds, bytes and FLOPs; and what a step reads and computes."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ignis.engine.leaf import Ceilings
from ignis.engine.turn import TurnTimes
from ignis.engine.vram import LoadPlan
from ignis.models.base import Checkpoint

_EMBEDDING = "token_embd.weight"
_HEAD = "output.weight"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeFigures:
    """Rounds of so many lanes; medians."""

    lanes: int
    context_tokens: int
    """Of each lane, at the first of the rounds."""
    rounds: int
    round_s: float
    tokens_s: float
    """Tokens a second of all lanes."""
    read_share: float
    """Of the measured read rate: weights and KV of a round, over its whole time."""
    device_read_share: float
    """The same over the device's own work."""
    host_s: float
    """Of the host: plan, launch, commit, and what lies between; not waiting, and not delivering, which is beside it."""
    plan_s: float
    deliver_s: float
    launch_s: float
    commit_s: float
    device_s: float
    gap_s: float
    """Between the device's work on one round and on the next."""
    gap_share: float
    """Of the round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptFigures:
    """Waiting for the first token of prompts of one length; medians."""

    prompt_tokens: int
    repeats: int
    cold_s: float
    tokens_s: float
    """Prompt tokens a second, cold."""
    matrix_share: float
    """Of the measured matrix rate: the FLOPs of the prompt's linear layers and attention, over the whole wait."""
    device_matrix_share: float
    """The same over the device's own work."""
    cached_s: float
    """With the same prompt asked once before."""
    cached_device_s: float
    cached_share: float
    """Of the cold one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """A whole run."""

    device: str
    isa: str
    ceilings: Ceilings
    model: str
    format: str
    num_parameters: int
    weights_bytes: int
    """As stored."""
    step_bytes: int
    """Of weights, that every round reads."""
    token_flops: int
    """Of a prompt's token in linear layers."""
    load_s: float
    kv_pool_tokens: int
    decode: tuple[DecodeFigures, ...]
    prompts: tuple[PromptFigures, ...]
    left_out: tuple[str, ...]
    """What was asked for and did not fit."""


class Work:
    """The bytes and the FLOPs of steps of one model."""

    def __init__(self, checkpoint: Checkpoint, plan: LoadPlan) -> None:
        tensors = {tensor.name: tensor for tensor in checkpoint.tensors}
        self.weights_bytes = sum(
            tensor.size_bytes + (0 if tensor.scales is None else tensor.scales.size_bytes)
            for tensor in checkpoint.tensors
        )
        # Rows of an embedding are read by number; a tied one is read whole, as the head.
        self.step_bytes = self.weights_bytes - (tensors[_EMBEDDING].size_bytes if _HEAD in tensors else 0)
        self.token_flops = 2 * sum(
            tensor.rows * tensor.cols
            for tensor in checkpoint.tensors
            if tensor.rows > 1 and tensor.name not in (_EMBEDDING, _HEAD)
        )
        shape = checkpoint.shape
        self._pair_flops = 4 * shape.num_layers * shape.num_heads * shape.head_dim
        self._position_bytes = plan.footprint.kv_page_bytes / 64

    def round_bytes(self, lanes: int, context_tokens: int) -> float:
        """Weights and KV that a round reads."""
        return self.step_bytes + lanes * context_tokens * self._position_bytes

    def prompt_flops(self, tokens: int) -> float:
        """Linear layers and attention; the head's one row is left out."""
        return self.token_flops * tokens + self._pair_flops * tokens * (tokens + 1) / 2


def decode_figures(
    rounds: Sequence[tuple[float, TurnTimes]], lanes: int, context_tokens: int, work: Work, ceilings: Ceilings
) -> DecodeFigures:
    """Sums up rounds: the time from the end of the one before to its own end, and where its turn went."""

    def median(read: Callable[[TurnTimes], float]) -> float:
        return statistics.median(read(times) for _, times in rounds)

    round_s = statistics.median(period_s for period_s, _ in rounds)
    size_bytes = work.round_bytes(lanes, context_tokens + len(rounds) // 2)
    device_s = median(lambda times: times.leaf.device_s)
    return DecodeFigures(
        lanes=lanes,
        context_tokens=context_tokens,
        rounds=len(rounds),
        round_s=round_s,
        tokens_s=lanes / round_s,
        read_share=size_bytes / round_s / ceilings.read_bytes_s,
        device_read_share=size_bytes / device_s / ceilings.read_bytes_s,
        host_s=median(lambda times: times.host_s),
        plan_s=median(lambda times: times.plan_s),
        deliver_s=median(lambda times: times.deliver_s),
        launch_s=median(lambda times: times.leaf.launch_s),
        commit_s=median(lambda times: times.commit_s),
        device_s=device_s,
        gap_s=round_s - device_s,
        gap_share=(round_s - device_s) / round_s,
    )


def prompt_figures(
    prompt_tokens: int,
    cold: Sequence[float],
    device: Sequence[float],
    cached: Sequence[float],
    cached_device: Sequence[float],
    work: Work,
    ceilings: Ceilings,
) -> PromptFigures:
    """Sums up waits for a first token, in seconds: cold and with the prompt cached, and the device's part of both."""
    cold_s, device_s, cached_s, cached_device_s = map(statistics.median, (cold, device, cached, cached_device))
    flops = work.prompt_flops(prompt_tokens)
    return PromptFigures(
        prompt_tokens=prompt_tokens,
        repeats=len(cold),
        cold_s=cold_s,
        tokens_s=prompt_tokens / cold_s,
        matrix_share=flops / cold_s / ceilings.matrix_flops_s,
        device_matrix_share=flops / device_s / ceilings.matrix_flops_s,
        cached_s=cached_s,
        cached_device_s=cached_device_s,
        cached_share=cached_s / cold_s,
    )
