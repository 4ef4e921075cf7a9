"""The memory plan's arithmetic, on a leaf whose page takes 64 bytes, its weights 1,100 and its workspace 10."""

import pytest

from ignis.engine.settings import EngineSettings
from ignis.engine.vram import plan_load
from ignis.errors import ModelLoadError
from ignis.units import PoolSize
from tests.fakes.leaf import ScriptedLeaf, bare_checkpoint
from tests.settings import engine_settings


def pages(settings: EngineSettings, memory_bytes: int = 1 << 30, context_tokens: int = 640) -> int:
    leaf = ScriptedLeaf(memory_bytes=memory_bytes)
    return plan_load(leaf, bare_checkpoint(context_tokens), settings).layout.num_pages


def test_a_pool_that_nobody_sized_holds_four_contexts() -> None:
    assert pages(engine_settings()) == 40
    assert pages(engine_settings(max_context=100)) == 8


def test_it_holds_fewer_where_memory_is_short_but_one_context_always() -> None:
    assert pages(engine_settings(), memory_bytes=(1110 + 64 * 15) * 16 // 15 + 1) == 15
    with pytest.raises(ModelLoadError, match=r"640 bytes of KV pages.*lower model\.max_context"):
        pages(engine_settings(), memory_bytes=1800)


def test_a_pool_is_sized_in_tokens_or_bytes() -> None:
    assert pages(engine_settings(kv_pool=PoolSize(tokens=1000))) == 16
    assert pages(engine_settings(kv_pool=PoolSize(size_bytes=64 * 20 + 63))) == 20


def test_a_pool_below_one_context_is_refused_with_the_knob() -> None:
    with pytest.raises(ModelLoadError, match=r"vram\.kv_pool_bytes 576tok holds 576 tokens.*640"):
        pages(engine_settings(kv_pool=PoolSize(tokens=576)))


def test_a_pool_past_the_memory_is_refused_with_the_knob() -> None:
    with pytest.raises(ModelLoadError, match=r"vram\.kv_pool_bytes.*lower it"):
        pages(engine_settings(kv_pool=PoolSize(tokens=64000)), memory_bytes=10000)


def test_a_context_past_the_model_s_own_is_refused() -> None:
    with pytest.raises(ModelLoadError, match=r"model\.max_context is 641.*640"):
        pages(engine_settings(max_context=641))


def test_the_total_counts_every_line() -> None:
    plan = plan_load(ScriptedLeaf(), bare_checkpoint(640), engine_settings())
    assert plan.total_bytes == 1000 + 100 + 10 + 40 * 64
