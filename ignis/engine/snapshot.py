"""What the engine says of itself at one moment: the numbers behind the gauges."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EngineSnapshot:
    """The numbers that gauges read. Zero where nothing is loaded."""

    waiting: int
    running: int
    kv_pages: int
    kv_used_pages: int
    kv_page_bytes: int
    weights_bytes: int
    workspace_bytes: int
    kv_pool_bytes: int
    step_age_s: float
