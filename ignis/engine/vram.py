"""The memory plan of a load: arithmetic on what the leaf says. One that cannot be is refused with numbers and knob."""

from dataclasses import dataclass, replace

from ignis.engine.leaf import DeviceInfo, Footprint, Layout, Leaf
from ignis.engine.settings import EngineSettings
from ignis.errors import ModelLoadError
from ignis.models.base import Checkpoint
from ignis.scheduler.live import pages_of

_CONTEXTS_OF_AUTO_POOL = 4
_HEADROOM_PARTS = 16
"""One part of so many of the device's memory is left to the process itself and to others."""


@dataclass(frozen=True, slots=True)
class LoadPlan:
    layout: Layout
    footprint: Footprint
    device: DeviceInfo

    @property
    def total_bytes(self) -> int:
        held = self.footprint
        return held.weights_bytes + held.mapped_bytes + held.workspace_bytes + held.kv_pool_bytes


def plan_load(leaf: Leaf, checkpoint: Checkpoint, settings: EngineSettings) -> LoadPlan:
    """Decides the sizes of a load.

    Raises:
        ModelLoadError: the context is longer than the model's, or the pool or the device cannot hold one full context.
    """
    trained = checkpoint.shape.context_tokens
    max_context = settings.max_context or trained
    if max_context > trained:
        raise ModelLoadError(f"model.max_context is {max_context}, and the model's context is {trained} tokens")
    layout = Layout(
        num_pages=pages_of(max_context),
        kv_format=settings.kv_format,
        max_context=max_context,
        max_span=settings.prefill_chunk,
        num_lanes=settings.decode_lanes,
        num_threads=settings.num_threads,
    )
    device = leaf.probe()
    least = leaf.plan(checkpoint, layout)
    budget = device.free_bytes - device.memory_bytes // _HEADROOM_PARTS
    fixed = least.weights_bytes + least.mapped_bytes + least.workspace_bytes
    room = max(0, budget - fixed) // least.kv_page_bytes
    if room < layout.num_pages:
        raise ModelLoadError(
            f"one context of {max_context} tokens needs {least.kv_pool_bytes} bytes of KV pages beside {fixed} bytes "
            f"of weights and workspace, and the budget is {budget} bytes; lower model.max_context"
        )
    wanted = _wanted_pages(settings, least.kv_page_bytes)
    if wanted is None:
        wanted = min(_CONTEXTS_OF_AUTO_POOL * layout.num_pages, room)
    elif wanted < layout.num_pages:
        raise ModelLoadError(
            f"vram.kv_pool_bytes {settings.kv_pool} holds {wanted * 64} tokens, less than one context of {max_context} "
            "tokens; raise it or lower model.max_context"
        )
    elif wanted > room:
        raise ModelLoadError(
            f"vram.kv_pool_bytes {settings.kv_pool} is {wanted * least.kv_page_bytes} bytes beside {fixed} bytes of "
            f"weights and workspace, and the budget is {budget} bytes; lower it"
        )
    layout = replace(layout, num_pages=wanted)
    return LoadPlan(layout, leaf.plan(checkpoint, layout), device)


def _wanted_pages(settings: EngineSettings, page_bytes: int) -> int | None:
    """Pages of an explicit pool size, or None."""
    pool = settings.kv_pool
    if pool is None:
        return None
    return pages_of(pool.tokens) if pool.tokens is not None else (pool.size_bytes or 0) // page_bytes
