"""The memory plan's arithmetic, on the scripted leaf: weights of 1,000 bytes and an embedding of 300, pages of 64."""

from dataclasses import replace
from typing import Any

import pytest

from ignis.engine.vram import BudgetMode, LoadPlan, Measured, PoolPolicy, check_need, measure, plan_load
from ignis.errors import LoadPlanError, ModelTooLargeError
from ignis.units import PoolSize
from tests.fakes.leaf import CONTEXT_BYTES, ScriptedLeaf, bare_checkpoint
from tests.settings import engine_settings

HOST_FIXED = 1000 + 300 + 100 + 10 * 128 + 25 * 8
"""The lines but for the pool, of a span of 128 tokens and eight lanes."""
CARD_FIXED = CONTEXT_BYTES + 1000 + 300 + 100 + 10 * 640 + 32 * 8
"""The same on a card, whose span is the context of 640 tokens."""


def plan(
    memory_bytes: int = 1 << 30,
    *,
    is_card: bool = False,
    context_tokens: int = 640,
    host_bytes: int | None = None,
    **settings: Any,
) -> LoadPlan:
    leaf = ScriptedLeaf(memory_bytes=memory_bytes, has_own_memory=is_card)
    return plan_load(leaf, bare_checkpoint(context_tokens), engine_settings(**settings), host_bytes=host_bytes)


def test_every_line_is_named_and_counted() -> None:
    assert plan().lines == {
        "cuda_context": 0,
        "weights": 1000,
        "embedding": 300,
        "mapped_files": 100,
        "workspace": 1280,
        "sampling": 160,
        "lane_state": 40,
        "decode_graph": 0,
        "kv_ram": 0,
        "kv_pool": 40 * 64,
    }
    assert plan().total_bytes == HOST_FIXED + 40 * 64


def test_a_host_s_pool_that_nobody_sized_holds_four_contexts() -> None:
    assert plan().layout.num_pages == 40
    assert plan(max_context=100).layout.num_pages == 8
    assert plan().pool_policy is PoolPolicy.CONTEXTS


def test_it_holds_fewer_where_memory_is_short_but_one_context_always() -> None:
    assert plan((HOST_FIXED + 64 * 15) * 16 // 15 + 1).layout.num_pages == 15
    with pytest.raises(LoadPlanError, match=r"line kv_pool needs 640 bytes for one context.*model\.max_context to 448"):
        plan((HOST_FIXED + 64 * 7) * 16 // 15 + 2)


def test_a_card_s_pool_is_all_that_is_left() -> None:
    planned = plan((1536 << 20) + (1 << 20), is_card=True)
    assert planned.pool_policy is PoolPolicy.REST
    assert planned.budget.size_bytes == 1 << 20
    assert planned.budget.size_bytes - 64 < planned.total_bytes <= planned.budget.size_bytes


def test_a_toy_s_pool_on_a_large_card_ends_where_books_get_long() -> None:
    assert plan(1 << 34, is_card=True).layout.num_pages == 1 << 20


def test_a_card_takes_longer_spans_than_a_host_and_none_past_the_context() -> None:
    assert plan(1 << 40, context_tokens=4096, is_card=True).layout.max_span == 2048
    assert plan(1 << 40, context_tokens=4096).layout.max_span == 128
    assert plan(1 << 40, context_tokens=600, is_card=True).layout.max_span == 640
    assert plan(1 << 40, context_tokens=4096, is_card=True, prefill_chunk=512).layout.max_span == 512


def test_an_explicit_budget_is_the_budget() -> None:
    planned = plan(1 << 34, is_card=True, budget_bytes=CARD_FIXED + 64 * 12)
    assert (planned.layout.num_pages, planned.budget.mode) == (12, BudgetMode.EXPLICIT)


def test_a_budget_past_what_is_free_is_refused_unless_that_is_allowed() -> None:
    with pytest.raises(LoadPlanError, match=r"vram\.budget_bytes is 100001.*100000 bytes are free"):
        plan(100_000, budget_bytes=100_001)
    planned = plan(100_000, budget_bytes=100_001, can_oversubscribe=True)
    assert planned.budget.is_oversubscribed


def test_a_chosen_headroom_is_left_alone() -> None:
    assert plan(1 << 34, is_card=True, headroom_bytes=0).budget.size_bytes == 1 << 34
    assert plan(1 << 30, headroom_bytes=1 << 29).budget.size_bytes == 1 << 29


LINES = {
    "cuda_context": (CONTEXT_BYTES - 1, r"line cuda_context needs 500 bytes, and 499 .*; end what else is on the card"),
    "weights": (
        CONTEXT_BYTES + 999,
        r"line weights needs 1000 bytes, and 999 bytes .* smaller model.*vram\.budget_bytes",
    ),
    "workspace": (CONTEXT_BYTES + 1400 + 6399, r"line workspace needs .*; lower model\.prefill_chunk"),
    "sampling": (CARD_FIXED - 56 - 40 - 1, r"line sampling needs .*; lower model\.decode_lanes"),
    "lane_state": (CARD_FIXED - 56 - 1, r"line lane_state needs .*; lower model\.decode_lanes"),
    "decode_graph": (CARD_FIXED - 1, r"line decode_graph needs .*; lower model\.decode_lanes"),
    "kv_pool": (
        CARD_FIXED + 639,
        r"line kv_pool needs .*; lower model\.max_context to 576, or raise vram\.budget_bytes",
    ),
}


@pytest.mark.parametrize("line", LINES)
def test_the_first_line_that_does_not_fit_is_named_with_its_knob(line: str) -> None:
    budget_bytes, text = LINES[line]
    with pytest.raises(LoadPlanError, match=text):
        plan(1 << 34, is_card=True, budget_bytes=budget_bytes)


def test_a_derived_budget_s_knob_is_the_headroom() -> None:
    with pytest.raises(LoadPlanError, match=r"what is free, less 9\.8 KiB.*lower vram\.headroom_bytes"):
        plan(10_500, headroom_bytes=10_000)


def test_the_context_that_a_refusal_names_fits() -> None:
    assert plan(1 << 34, is_card=True, budget_bytes=CARD_FIXED + 639, max_context=576).layout.num_pages >= 9


def test_a_pool_is_sized_in_tokens_or_bytes() -> None:
    assert plan(kv_pool=PoolSize(tokens=1000)).layout.num_pages == 16
    assert plan(kv_pool=PoolSize(size_bytes=64 * 20 + 63), is_card=True, memory_bytes=1 << 34).layout.num_pages == 20


def test_a_pool_below_one_context_is_refused_with_the_knob() -> None:
    with pytest.raises(LoadPlanError, match=r"vram\.kv_pool_bytes 576tok holds 576 tokens.*640"):
        plan(kv_pool=PoolSize(tokens=576))


def test_a_pool_past_the_memory_is_refused_with_the_knob() -> None:
    with pytest.raises(LoadPlanError, match=r"vram\.kv_pool_bytes.*lower it"):
        plan(10000, kv_pool=PoolSize(tokens=64000))


@pytest.mark.parametrize(
    ("param", "memory_bytes", "knobs"),
    [
        ("vram.kv_pool_bytes", 1 << 34, {"kv_pool": PoolSize(tokens=576)}),
        ("vram.kv_pool_bytes", 10000, {"kv_pool": PoolSize(tokens=64000)}),
        # The other lines could be smaller.
        (None, 10000, {"kv_pool": PoolSize(size_bytes=9000)}),
        ("vram.budget_bytes", 1 << 34, {"budget_bytes": 1}),
        ("vram.budget_bytes", 10000, {"budget_bytes": 10001}),
        ("vram.headroom_bytes", 10500, {"headroom_bytes": 10499}),
        (None, HOST_FIXED + 10000, {"headroom_bytes": 9999}),
        # Each beyond all that the weights leave, and short of it by what the lines before it take.
        ("model.prefill_chunk", 1 << 34, {"budget_bytes": 1400 + 1279}),
        (None, 1 << 34, {"budget_bytes": 1400 + 1279 + 159}),
        ("model.decode_lanes", 1 << 34, {"budget_bytes": 1400 + 1280 + 159, "decode_lanes": 80}),
        ("reuse.kv_host_pool_bytes", 1 << 34, {"budget_bytes": HOST_FIXED, "kv_host_bytes": 64 * 100}),
        (None, 1 << 34, {"budget_bytes": HOST_FIXED, "kv_host_bytes": 640}),
        (None, 1 << 34, {"budget_bytes": HOST_FIXED + 639}),
        ("model.max_context", 1 << 34, {"budget_bytes": 1400 + 600, "prefill_chunk": 8, "decode_lanes": 1}),
        ("reuse.kv_host_pool_bytes", 1 << 34, {"kv_host_bytes": 63}),
    ],
)
def test_the_field_without_which_the_rest_would_not_be_looked_at_is_told(
    param: str | None, memory_bytes: int, knobs: dict[str, Any]
) -> None:
    with pytest.raises(LoadPlanError) as refused:
        plan(memory_bytes, **knobs)
    assert refused.value.param == param, refused.value.message


def test_a_context_past_the_model_s_own_is_refused() -> None:
    assert plan(max_context=641).layout == plan(max_context=640).layout


def test_a_load_is_measured_where_the_memory_is_a_card_s_own() -> None:
    planned = plan(1 << 34, is_card=True)
    leaf = ScriptedLeaf(memory_bytes=(1 << 34) - planned.allocated_bytes - 5, has_own_memory=True)
    assert measure(planned, leaf.probe()) == Measured(
        (1 << 34) - planned.allocated_bytes - 5, planned.allocated_bytes + 5, 5
    )
    assert measure(plan(), ScriptedLeaf().probe()) == Measured()


def test_what_goes_before_a_load_counts_for_it_on_a_card() -> None:
    leaf = ScriptedLeaf(memory_bytes=1 << 17, has_own_memory=True)
    settings = engine_settings(prefill_chunk=64, headroom_bytes=0)
    full = plan_load(leaf, bare_checkpoint(640), settings)
    held = replace(leaf.probe(), free_bytes=100)
    leaf.probe = lambda: held  # type: ignore[method-assign]
    with pytest.raises(LoadPlanError, match="line cuda_context needs"):
        plan_load(leaf, bare_checkpoint(640), settings)
    assert plan_load(leaf, bare_checkpoint(640), settings, (1 << 17) - 100) == full
    # More than all there is comes of nothing.
    assert plan_load(leaf, bare_checkpoint(640), settings, 1 << 20) == full


@pytest.mark.parametrize(
    ("settings", "most_bytes", "bound"),
    [
        ({}, 960 << 20, "the 1.0 GiB of scripted less 64.0 MiB of headroom"),
        ({"headroom_bytes": 24 << 20}, 1000 << 20, "less 24.0 MiB of headroom"),
        ({"budget_bytes": 500 << 20}, 500 << 20, r"\(vram.budget_bytes\)"),
    ],
)
def test_a_need_past_the_most_that_a_load_may_have_is_refused(
    settings: dict[str, Any], most_bytes: int, bound: str
) -> None:
    device = ScriptedLeaf(memory_bytes=1 << 30).probe()
    check_need("big", most_bytes, device, engine_settings(**settings))
    with pytest.raises(ModelTooLargeError, match=f"big takes .* at least, and a load may have .*{bound}"):
        check_need("big", most_bytes + 1, device, engine_settings(**settings))


def test_whoever_oversubscribes_is_refused_nothing() -> None:
    device = ScriptedLeaf(memory_bytes=1 << 30).probe()
    check_need("big", 1 << 40, device, engine_settings(budget_bytes=1 << 35, can_oversubscribe=True))


def test_a_card_gets_two_gibibytes_of_host_memory_beside_its_budget_and_a_host_none() -> None:
    card, host = plan(1 << 34, is_card=True), plan()
    assert (card.layout.num_host_pages, card.kv_ram_bytes) == ((2 << 30) // 64, 2 << 30)
    assert card.lines["kv_ram"] == 0
    assert (host.layout.num_host_pages, host.kv_ram_bytes) == (0, 0)


def test_a_card_gets_half_of_what_the_host_has_left_where_that_is_less() -> None:
    planned = plan(1 << 34, is_card=True, host_bytes=3 << 30)
    assert (planned.kv_ram_bytes, planned.lacking_host_bytes) == (3 << 29, 1 << 29)
    assert plan(1 << 34, is_card=True, host_bytes=127).layout.num_host_pages == 0
    assert plan(1 << 34, is_card=True, host_bytes=4 << 30).lacking_host_bytes == 0
    # The host's own pool is a line of the host's budget.
    assert plan(host_bytes=0, kv_host_bytes=640).layout.num_host_pages == 10


def test_host_memory_beside_a_card_that_somebody_sized_is_refused_by_line_and_knob_where_it_is_not_there() -> None:
    assert plan(1 << 34, is_card=True, kv_host_bytes=6400, host_bytes=6400).layout.num_host_pages == 100
    with pytest.raises(
        LoadPlanError,
        match=r"line kv_ram needs 6\.2 KiB of host memory.*could take 6\.2 KiB; lower reuse\.kv_host_pool_bytes",
    ):
        plan(1 << 34, is_card=True, kv_host_bytes=6400, host_bytes=6399)


def test_host_memory_that_somebody_sized_is_a_line_of_the_host_s_own_plan() -> None:
    planned = plan(kv_host_bytes=64 * 10 + 63)
    assert (planned.layout.num_host_pages, planned.lines["kv_ram"]) == (10, 640)
    assert planned.total_bytes == HOST_FIXED + 640 + 40 * 64
    assert plan(1 << 34, is_card=True, kv_host_bytes=0).layout.num_host_pages == 0


def test_host_memory_is_for_the_prefix_cache_alone() -> None:
    assert plan(1 << 34, is_card=True, has_prefix_cache=False).layout.num_host_pages == 0


def test_host_memory_below_one_page_or_past_the_budget_is_refused_with_the_knob() -> None:
    with pytest.raises(LoadPlanError, match=r"reuse\.kv_host_pool_bytes is 63, and a page of 64 tokens takes 64 bytes"):
        plan(kv_host_bytes=63)
    with pytest.raises(LoadPlanError, match=r"line kv_ram needs .*; lower reuse\.kv_host_pool_bytes"):
        plan(100_000, kv_host_bytes=200_000)
