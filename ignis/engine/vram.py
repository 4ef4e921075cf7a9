"""The memory plan of a load: arithmetic on what the leaf says. One that cannot be is refused by line and knob."""

import enum
from dataclasses import dataclass, replace

from ignis._core import PAGE_TOKENS
from ignis.engine.leaf import DeviceInfo, Footprint, Layout, Leaf
from ignis.engine.settings import EngineSettings
from ignis.errors import LoadPlanError, ModelLoadError, ModelTooLargeError
from ignis.models.base import Checkpoint
from ignis.scheduler.live import pages_of
from ignis.units import shown_size

_CARD_CHUNK, _HOST_CHUNK = 2048, 128
"""Tokens of a prefill call where nobody chose. A card's matrix units need that many rows to be busy."""
_CARD_HEADROOM_BYTES = 1536 << 20
_HOST_HEADROOM_PARTS = 16
"""One part of so many of the host's memory is left to the process itself and to others."""
_CONTEXTS_OF_HOST_POOL = 4
"""So that a laptop is not filled. A card's memory has no other use."""
_MOST_PAGES = 1 << 20
"""Of a pool that nobody sized: 64 M tokens. A toy on a large card would have the host keep books of many millions."""
_CARD_HOST_POOL_BYTES = 2 << 30
"""Host memory for pages that a card gives up. The CPU's own pool lies in host memory already."""
_CARD_HOST_POOL_PARTS = 2
"""It is at most one part of so many of what the process could still take of host memory: it is pinned, and a load's
own buffers and a server's conversations want the rest."""
_UNPLANNED_LIMIT_BYTES = 512 << 20
"""A load that takes so much more of a card than its plan says is refused: the headroom would be eaten."""


class BudgetMode(enum.Enum):
    DERIVED = "derived"
    """What is free at the start, less the headroom."""
    EXPLICIT = "explicit"
    """vram.budget_bytes."""


class PoolPolicy(enum.Enum):
    """How the KV pool was sized."""

    REST = "rest"
    """All that the other lines leave of the budget."""
    CONTEXTS = "contexts"
    """A few full contexts."""
    EXPLICIT = "explicit"
    """vram.kv_pool_bytes."""


@dataclass(frozen=True, slots=True)
class Budget:
    mode: BudgetMode
    size_bytes: int
    headroom_bytes: int
    """0 where the budget is explicit."""
    is_oversubscribed: bool
    """It is more than what is free."""


@dataclass(frozen=True, slots=True)
class LoadPlan:
    layout: Layout
    footprint: Footprint
    device: DeviceInfo
    """Before the load."""
    budget: Budget
    pool_policy: PoolPolicy
    lacking_host_bytes: int = 0
    """What the host's memory was too little for, of the pages in host memory that a card gets where nobody chose."""

    @property
    def lines(self) -> dict[str, int]:
        """Bytes by name, in the order in which they are taken from the budget."""
        return {**fixed_lines(self.footprint, self.device), "kv_pool": self.footprint.kv_pool_bytes}

    @property
    def kv_ram_bytes(self) -> int:
        """Pages in host memory: a line of the plan where that is the device's, else beside it."""
        return self.footprint.kv_host_bytes

    @property
    def total_bytes(self) -> int:
        return sum(self.lines.values())

    @property
    def pool_tokens(self) -> int:
        return self.layout.num_pages * PAGE_TOKENS

    @property
    def allocated_bytes(self) -> int:
        """What the load itself takes of the device: not the context, which is there, nor what stays in the files."""
        return self.total_bytes - self.device.context_bytes - self.footprint.mapped_bytes


@dataclass(frozen=True, slots=True)
class Measured:
    """What the driver says after a load. All zero where the device's memory is the host's, which others use too."""

    free_bytes: int = 0
    taken_bytes: int = 0
    unplanned_bytes: int = 0
    """taken_bytes less what the plan says; below 0 where the load took less."""


def fixed_lines(footprint: Footprint, device: DeviceInfo) -> dict[str, int]:
    """The lines of a plan but for the KV pool."""
    return {
        "cuda_context": device.context_bytes,
        "weights": footprint.weights_bytes,
        "embedding": footprint.embedding_bytes,
        "mapped_files": footprint.mapped_bytes,
        "workspace": footprint.workspace_bytes,
        "sampling": footprint.sampling_bytes,
        "lane_state": footprint.lane_bytes,
        "decode_graph": footprint.round_bytes,
        "kv_ram": 0 if device.has_own_memory else footprint.kv_host_bytes,
    }


_KNOBS = {
    "cuda_context": "end what else is on the card",
    "workspace": "lower model.prefill_chunk or model.max_context",
    "sampling": "lower model.decode_lanes or model.max_context",
    "lane_state": "lower model.decode_lanes",
    "decode_graph": "lower model.decode_lanes",
    "kv_ram": "lower reuse.kv_host_pool_bytes",
}
"""What makes a line smaller, beside a larger budget."""
_FIELDS = {
    "workspace": "model.prefill_chunk",
    "sampling": "model.decode_lanes",
    "lane_state": "model.decode_lanes",
    "decode_graph": "model.decode_lanes",
    "kv_ram": "reuse.kv_host_pool_bytes",
    "kv_pool": "model.max_context",
}
"""The first that makes a line smaller. What else does is known where it is asked who can have said it."""
_FIRST_LINES = ("cuda_context", "weights", "embedding", "mapped_files")
"""What no field makes smaller: it is the budget that they do not fit in."""


def plan_load(
    leaf: Leaf,
    checkpoint: Checkpoint,
    settings: EngineSettings,
    freed_bytes: int = 0,
    host_bytes: int | None = None,
) -> LoadPlan:
    """Decides the sizes of a load. The context is what is asked for, or the model's own where that is less.

    `freed_bytes`: of a card, what will be given back before it. `host_bytes`: what the
    process could take of host memory then, beside a card; None: nobody knows.

    Raises:
        LoadPlanError: the budget is not there, or it cannot hold one full context. The message names the line of the
            plan and the field to change; `param` that one field where none of another line would do instead.
    """
    trained = checkpoint.shape.context_tokens
    max_context = min(settings.max_context or trained, trained)
    device = leaf.probe()
    if device.has_own_memory:
        device = replace(device, free_bytes=min(device.free_bytes + freed_bytes, device.memory_bytes))
    chunk = settings.prefill_chunk or (_CARD_CHUNK if device.has_own_memory else _HOST_CHUNK)
    layout = Layout(
        num_pages=pages_of(max_context),
        kv_format=settings.kv_format,
        max_context=max_context,
        max_span=min(chunk, pages_of(max_context) * PAGE_TOKENS),
        num_lanes=settings.decode_lanes,
        num_threads=settings.num_threads,
    )
    budget = _budget(settings, device)
    least = leaf.plan(checkpoint, layout)
    num_host_pages, num_lacking = _host_pages(settings, device, least.kv_page_bytes, host_bytes)
    layout = replace(layout, num_host_pages=num_host_pages)
    least = leaf.plan(checkpoint, layout)
    room = _room(least, device, budget, max_context)
    num_pages, policy = _pool(settings, device, budget, least, room, max_context)
    layout = replace(layout, num_pages=num_pages)
    lacking_bytes = num_lacking * least.kv_page_bytes
    return LoadPlan(layout, leaf.plan(checkpoint, layout), device, budget, policy, lacking_bytes)


def measure(plan: LoadPlan, after: DeviceInfo) -> Measured:
    """Compares what a load took of a card with its plan.

    Raises:
        ModelLoadError: it took far more.
    """
    if not plan.device.has_own_memory:
        return Measured()
    taken = plan.device.free_bytes - after.free_bytes
    unplanned = taken - plan.allocated_bytes
    if unplanned > _UNPLANNED_LIMIT_BYTES:
        raise ModelLoadError(
            f"{shown_size(taken)} of the card's memory went while the model was loaded, and the plan says "
            f"{shown_size(plan.allocated_bytes)}: another process took memory at the same time; start again when the "
            "card is quiet, or give this server a share with vram.budget_bytes"
        )
    return Measured(after.free_bytes, taken, unplanned)


def check_need(name: str, need_bytes: int, device: DeviceInfo, settings: EngineSettings) -> None:
    """Compares what a model takes at least with the most that a load may hold of this device, all else unloaded.

    Raises:
        ModelTooLargeError: it is more.
    """
    if settings.budget_bytes is not None and settings.can_oversubscribe:
        return
    headroom = _headroom_bytes(settings, device)
    most = settings.budget_bytes or max(0, device.memory_bytes - headroom)
    if need_bytes <= most:
        return
    bound = (
        "vram.budget_bytes"
        if settings.budget_bytes is not None
        else f"the {shown_size(device.memory_bytes)} of {device.name} less {shown_size(headroom)} of headroom"
    )
    raise ModelTooLargeError(
        f"{name} takes {shown_size(need_bytes)} of memory at least, and a load may have {shown_size(most)} here "
        f"({bound}): take a smaller model{'' if settings.budget_bytes is None else ', or raise vram.budget_bytes'}",
        "model",
    )


def _headroom_bytes(settings: EngineSettings, device: DeviceInfo) -> int:
    if settings.headroom_bytes is not None:
        return settings.headroom_bytes
    return _CARD_HEADROOM_BYTES if device.has_own_memory else device.memory_bytes // _HOST_HEADROOM_PARTS


def _budget(settings: EngineSettings, device: DeviceInfo) -> Budget:
    explicit = settings.budget_bytes
    if explicit is None:
        headroom = _headroom_bytes(settings, device)
        return Budget(BudgetMode.DERIVED, max(0, device.free_bytes - headroom), headroom, is_oversubscribed=False)
    is_over = explicit > device.free_bytes
    if is_over and not settings.can_oversubscribe:
        raise LoadPlanError(
            f"vram.budget_bytes is {explicit}, and {device.free_bytes} bytes are free; lower it, or set "
            "vram.allow_oversubscription",
            "vram.budget_bytes",
        )
    return Budget(BudgetMode.EXPLICIT, explicit, 0, is_over)


def _room(least: Footprint, device: DeviceInfo, budget: Budget, max_context: int) -> int:
    """Returns how many pages the budget has beside the other lines: those of one context at least."""
    left = most = budget.size_bytes
    for name, size_bytes in fixed_lines(least, device).items():
        if size_bytes > left:
            raise LoadPlanError(
                f"the plan's line {name} needs {shown_size(size_bytes)}, and {shown_size(left)} of "
                f"{_told(budget)} are left for it; {_KNOBS.get(name, 'take a smaller model')}, or {_more(budget)}",
                # A line that is too large by itself is mended by no other's field.
                _param(budget) if name in _FIRST_LINES else _FIELDS[name] if size_bytes > most else None,
            )
        left -= size_bytes
        most -= size_bytes if name in _FIRST_LINES else 0
    room = left // least.kv_page_bytes
    if room < pages_of(max_context):
        fits = room * PAGE_TOKENS
        mend = f"lower model.max_context to {fits}" if fits else "take a smaller model"
        raise LoadPlanError(
            f"the plan's line kv_pool needs {shown_size(least.kv_pool_bytes)} for one context of {max_context} tokens, "
            f"and {shown_size(left)} of {_told(budget)} are left for it; {mend}, or {_more(budget)}",
            _FIELDS["kv_pool"] if least.kv_pool_bytes > most else None,
        )
    return room


def _told(budget: Budget) -> str:
    if budget.mode is BudgetMode.EXPLICIT:
        return f"the budget of {shown_size(budget.size_bytes)} (vram.budget_bytes)"
    return f"the budget of {shown_size(budget.size_bytes)} (what is free, less {shown_size(budget.headroom_bytes)})"


def _more(budget: Budget) -> str:
    return f"{'raise' if budget.mode is BudgetMode.EXPLICIT else 'lower'} {_param(budget)}"


def _param(budget: Budget) -> str:
    return "vram.budget_bytes" if budget.mode is BudgetMode.EXPLICIT else "vram.headroom_bytes"


def _host_pages(
    settings: EngineSettings, device: DeviceInfo, page_bytes: int, host_bytes: int | None
) -> tuple[int, int]:
    """Pages in host memory, and how many more there would be if the host had the memory for them."""
    if not settings.has_prefix_cache:
        return 0, 0
    wanted = settings.kv_host_bytes
    if wanted is None:
        if not device.has_own_memory:
            return 0, 0
        most = _CARD_HOST_POOL_BYTES // page_bytes
        has = most if host_bytes is None else min(most, host_bytes // _CARD_HOST_POOL_PARTS // page_bytes)
        return has, most - has
    if 0 < wanted < page_bytes:
        raise LoadPlanError(
            f"reuse.kv_host_pool_bytes is {wanted}, and a page of {PAGE_TOKENS} tokens takes {page_bytes} bytes; raise "
            "it, or set it to 0",
            "reuse.kv_host_pool_bytes",
        )
    # Where the host is the device it is a line of the budget.
    if device.has_own_memory and host_bytes is not None and wanted > host_bytes:
        raise LoadPlanError(
            f"the plan's line kv_ram needs {shown_size(wanted)} of host memory, and this process could take "
            f"{shown_size(host_bytes)}; {_KNOBS['kv_ram']}",
            "reuse.kv_host_pool_bytes",
        )
    return wanted // page_bytes, 0


def _pool(
    settings: EngineSettings, device: DeviceInfo, budget: Budget, least: Footprint, room: int, max_context: int
) -> tuple[int, PoolPolicy]:
    """Pages of the pool; `room` is the most."""
    pool = settings.kv_pool
    if pool is None:
        if device.has_own_memory:
            return min(room, max(_MOST_PAGES, pages_of(max_context))), PoolPolicy.REST
        return min(_CONTEXTS_OF_HOST_POOL * pages_of(max_context), room), PoolPolicy.CONTEXTS
    wanted = pages_of(pool.tokens) if pool.tokens is not None else (pool.size_bytes or 0) // least.kv_page_bytes
    if wanted < pages_of(max_context):
        raise LoadPlanError(
            f"vram.kv_pool_bytes {pool} holds {wanted * PAGE_TOKENS} tokens, less than one context of {max_context} "
            "tokens; raise it or lower model.max_context",
            "vram.kv_pool_bytes",
        )
    if wanted > room:
        raise LoadPlanError(
            f"vram.kv_pool_bytes {pool} is {shown_size(wanted * least.kv_page_bytes)}, and the other lines of the plan "
            f"leave {shown_size(room * least.kv_page_bytes)}; lower it",
            "vram.kv_pool_bytes" if wanted * least.kv_page_bytes > budget.size_bytes else None,
        )
    return wanted, PoolPolicy.EXPLICIT
