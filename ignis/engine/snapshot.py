"""What the engine says of itself at one moment: the numbers behind the gauges."""

from dataclasses import dataclass, replace

from ignis.engine.device_memory import DeviceMemory
from ignis.engine.load import Loaded, LoadStatus
from ignis.scheduler.scheduler import Scheduler


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSnapshot:
    """The numbers that gauges read. Zero where nothing is loaded."""

    waiting: int = 0
    running: int = 0
    lanes: int = 0
    lanes_prefilling: int = 0
    lanes_decoding: int = 0
    kv_pages: int = 0
    kv_used_pages: int = 0
    kv_retained_pages: int = 0
    kv_page_bytes: int = 0
    kv_ram_bytes: int = 0
    """Capacity, wherever it counts."""
    kv_ram_used_bytes: int = 0
    weights_bytes: int = 0
    embedding_bytes: int = 0
    mapped_files_bytes: int = 0
    cuda_context_bytes: int = 0
    workspace_bytes: int = 0
    sampling_bytes: int = 0
    decode_graph_bytes: int = 0
    lane_state_bytes: int = 0
    kv_ram_line_bytes: int = 0
    kv_pool_bytes: int = 0
    budget_bytes: int = 0
    unplanned_bytes: int = 0
    free_after_load_bytes: int = 0
    device_used_bytes: int = 0
    device_total_bytes: int = 0
    load_done_bytes: int = 0
    load_total_bytes: int = 0
    step_age_s: float = 0.0


def take_snapshot(
    memory: DeviceMemory,
    load: LoadStatus | None,
    step_age_s: float,
    loaded: Loaded | None,
    scheduler: Scheduler | None,
) -> EngineSnapshot:
    """Reads the numbers. Another thread may move them on meanwhile; each is whole.

    Args:
        load: of the load under way.
        loaded, scheduler: of the model that is there; both None where none is.
    """
    snapshot = EngineSnapshot(
        device_used_bytes=memory.used_bytes,
        device_total_bytes=memory.total_bytes,
        load_done_bytes=0 if load is None else load.done_bytes,
        load_total_bytes=0 if load is None else load.total_bytes,
        step_age_s=step_age_s,
    )
    if loaded is None or scheduler is None:
        return snapshot
    plan, residency = loaded.plan, scheduler.residency
    lines = plan.lines
    return replace(
        snapshot,
        waiting=scheduler.num_waiting,
        running=scheduler.num_running,
        lanes=plan.layout.num_lanes,
        lanes_prefilling=scheduler.num_prefilling,
        lanes_decoding=scheduler.num_decoding,
        kv_pages=plan.layout.num_pages,
        kv_used_pages=residency.num_used,
        kv_retained_pages=residency.index.num_idle,
        kv_page_bytes=plan.footprint.kv_page_bytes,
        kv_ram_bytes=plan.kv_ram_bytes,
        kv_ram_used_bytes=residency.kv_ram.num_used * plan.footprint.kv_page_bytes,
        weights_bytes=lines["weights"],
        embedding_bytes=lines["embedding"],
        mapped_files_bytes=lines["mapped_files"],
        cuda_context_bytes=lines["cuda_context"],
        workspace_bytes=lines["workspace"],
        sampling_bytes=lines["sampling"],
        decode_graph_bytes=lines["decode_graph"],
        lane_state_bytes=lines["lane_state"],
        kv_ram_line_bytes=lines["kv_ram"],
        kv_pool_bytes=lines["kv_pool"],
        budget_bytes=plan.budget.size_bytes,
        unplanned_bytes=loaded.measured.unplanned_bytes,
        free_after_load_bytes=loaded.measured.free_bytes,
    )
