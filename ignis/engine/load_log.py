"""What the log is told of a load: its plan, how far it is, and what it took in the end."""

from ignis.engine.load import Loaded, LoadStatus
from ignis.engine.settings import EngineSettings
from ignis.engine.vram import BudgetMode, LoadPlan
from ignis.log import Log


def log_plan(log: Log, plan: LoadPlan, settings: EngineSettings) -> None:
    """Tells what the load is going to take, and what was granted less than it might have been."""
    budget, lines = plan.budget, plan.lines
    is_explicit = budget.mode is BudgetMode.EXPLICIT
    if settings.max_context > plan.layout.max_context:
        log.emit(
            "ignis.runtime.context_lowered",
            max_context=settings.max_context,
            context_tokens=plan.layout.max_context,
        )
    if budget.is_oversubscribed:
        log.emit(
            "ignis.runtime.vram_oversubscribed",
            budget_bytes=budget.size_bytes,
            free_at_start_bytes=plan.device.free_bytes,
        )
    if plan.lacking_host_bytes:
        log.emit(
            "ignis.runtime.kv_ram_lowered",
            kv_host_pages=plan.layout.num_host_pages,
            kv_host_bytes=plan.kv_ram_bytes,
            lacking_bytes=plan.lacking_host_bytes,
        )
    log.emit(
        "ignis.runtime.vram_plan",
        mode=budget.mode.value,
        free_at_start_bytes=plan.device.free_bytes,
        headroom_bytes=None if is_explicit else budget.headroom_bytes,
        allow_oversubscription=settings.can_oversubscribe if is_explicit else None,
        budget_bytes=budget.size_bytes,
        cuda_context_bytes=lines["cuda_context"],
        weights_bytes=lines["weights"],
        embedding_bytes=lines["embedding"],
        mapped_files_bytes=lines["mapped_files"],
        workspace_bytes=lines["workspace"],
        sampling_bytes=lines["sampling"],
        lane_state_bytes=lines["lane_state"],
        kv_ram_bytes=lines["kv_ram"],
        decode_graph_bytes=lines["decode_graph"],
        kv_pool_bytes=lines["kv_pool"],
        kv_pages=plan.layout.num_pages,
        kv_pool_policy=plan.pool_policy.value,
        total_bytes=plan.total_bytes,
        allocated_at_load_bytes=plan.allocated_bytes,
        oversubscribed=budget.is_oversubscribed,
    )


def log_progress(log: Log, status: LoadStatus) -> None:
    """Tells how far a load under way is."""
    log.emit(
        "ignis.model.load_progress",
        phase=status.phase.value,
        done_bytes=status.done_bytes,
        total_bytes=status.total_bytes,
        duration_ms=round(status.age_s * 1e3, 1),
    )


def log_loaded(log: Log, loaded: Loaded) -> None:
    """Tells what a load that is done took of the device, and the pool that it gave."""
    plan, measured = loaded.plan, loaded.measured
    if plan.device.has_own_memory:
        log.emit(
            "ignis.runtime.vram_loaded",
            allocated_at_load_bytes=plan.allocated_bytes,
            free_memory_delta_bytes=measured.taken_bytes,
            unplanned_bytes=measured.unplanned_bytes,
            free_after_load_bytes=measured.free_bytes,
        )
    log.emit(
        "ignis.runtime.kv_pool",
        kv_pages=plan.layout.num_pages,
        kv_tokens=plan.pool_tokens,
        kv_page_bytes=plan.footprint.kv_page_bytes,
        kv_pool_bytes=plan.footprint.kv_pool_bytes,
        kv_host_pages=plan.layout.num_host_pages,
        kv_host_bytes=plan.kv_ram_bytes,
        decode_lanes=plan.layout.num_lanes,
        prefill_chunk=plan.layout.max_span,
    )
