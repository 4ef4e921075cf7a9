"""How the operator wants the engine: the fields of the configuration that it reads, in its own units."""

from dataclasses import dataclass

from ignis.config_fields import ModelKvFormat
from ignis.units import PoolSize


@dataclass(frozen=True, slots=True)
class EngineSettings:
    max_context: int = 0
    """Tokens of one request; 0: the model's own."""
    prefill_chunk: int = 256
    decode_share: int = 25
    """Per cent."""
    decode_lanes: int = 8
    kv_format: ModelKvFormat = ModelKvFormat.F16
    kv_pool: PoolSize | None = None
    """None: four times the context, less where memory is short."""
    has_prefix_cache: bool = True
    num_threads: int = 0
    step_limit_s: float = 60.0
    """A loop that has not turned for so long is not alive."""
    stop_limit_s: float = 5.0
    """How long a shutdown waits for the step under way."""
