"""What the engine says of itself at one moment: the numbers behind the gauges."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EngineSnapshot:
    """The numbers that gauges read. Zero where nothing is loaded."""

    waiting: int
    running: int
    lanes: int
    lanes_prefilling: int
    lanes_decoding: int
    kv_pages: int
    kv_used_pages: int
    kv_retained_pages: int
    kv_page_bytes: int
    kv_ram_bytes: int
    """Capacity, wherever it counts."""
    kv_ram_used_bytes: int
    weights_bytes: int
    embedding_bytes: int
    mapped_files_bytes: int
    cuda_context_bytes: int
    workspace_bytes: int
    sampling_bytes: int
    decode_graph_bytes: int
    lane_state_bytes: int
    kv_ram_line_bytes: int
    kv_pool_bytes: int
    budget_bytes: int
    unplanned_bytes: int
    free_after_load_bytes: int
    device_used_bytes: int
    device_total_bytes: int
    load_done_bytes: int
    load_total_bytes: int
    step_age_s: float
