"""How the operator wants the engine: the fields of the configuration that it reads, in its own units."""

from dataclasses import dataclass
from typing import Self

from ignis.config import ByFamily
from ignis.config_fields import ConfigFields, ModelKvFormat
from ignis.units import PoolSize


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """What has a default here is no field of the configuration."""

    max_context: int
    """Tokens of one request; 0: the model's own."""
    prefill_chunk: int | None
    """None: by device."""
    decode_share: int
    """Per cent."""
    decode_lanes: int
    kv_format: ModelKvFormat
    budget_bytes: int | None
    """What a load may hold in all; None: what is free less the headroom."""
    headroom_bytes: int | None
    """None: by device."""
    can_oversubscribe: bool
    """Whether the budget may pass what is free."""
    kv_pool: PoolSize | None
    """None: by device."""
    kv_host_bytes: int | None
    """Host memory for pages that the device gives up; None: by device."""
    has_prefix_cache: bool
    num_threads: int
    """0: one for each physical core."""
    step_limit_s: float = 60.0
    """A loop that has not turned for so long is not alive."""
    stop_limit_s: float = 5.0
    """How long a shutdown waits for the step under way."""

    @classmethod
    def from_config(cls, config: ConfigFields) -> Self:
        return cls(
            max_context=config.model.max_context,
            prefill_chunk=config.model.prefill_chunk,
            decode_share=config.model.decode_share,
            decode_lanes=config.model.decode_lanes,
            kv_format=config.model.kv_format,
            budget_bytes=config.vram.budget_bytes,
            headroom_bytes=config.vram.headroom_bytes,
            can_oversubscribe=config.vram.allow_oversubscription,
            kv_pool=config.vram.kv_pool_bytes,
            kv_host_bytes=config.reuse.kv_host_pool_bytes,
            has_prefix_cache=config.reuse.prompt,
            num_threads=config.cpu.threads,
        )


LoadSettings = ByFamily[EngineSettings]
"""What loads go by; the family is that of the model's architecture."""
