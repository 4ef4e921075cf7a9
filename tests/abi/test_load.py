"""A load that cannot be right is refused before anything is held, naming the field or the tensor."""

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import gguf
import numpy as np
import pytest

from ignis import bundle
from tests.abi import leaf
from tests.abi.files import StoredModel
from tests.models import stores, tiny

Mend = Callable[[leaf.LoadParams], None]


def set_all(struct: ctypes.Structure, fields: Mapping[str, float | bytes]) -> None:
    for field, value in fields.items():
        setattr(struct, field, value)


def on_shape(**fields: float) -> Mend:
    return lambda params: set_all(params.shape.contents, fields)


def on_params(**fields: int) -> Mend:
    return lambda params: set_all(params, fields)


def on_tensor(tensor: str, **fields: int | bytes) -> Mend:
    def mend(params: leaf.LoadParams) -> None:
        for index in range(params.num_tensors):
            if params.tensors[index].name == tensor.encode():
                set_all(params.tensors[index], fields)

    return mend


def rename(old: str, new: str) -> Mend:
    return on_tensor(old, name=new.encode())


HUGE = 2**64 - 1
BAD_LOADS: dict[str, tuple[Mend, int, str]] = {
    "a struct of another size": (on_params(size=8), leaf.INVALID, "ignis_load_params.size"),
    "a shape of another size": (on_shape(size=8), leaf.INVALID, "ignis_shape.size"),
    "no architecture": (on_shape(architecture=9), leaf.UNSUPPORTED, "architecture 9"),
    "no layers": (on_shape(num_layers=0), leaf.INVALID, "num_layers"),
    "endless layers": (on_shape(num_layers=2**32 - 1), leaf.INVALID, "num_layers"),
    "one layer more": (on_shape(num_layers=4), leaf.INVALID, "blk.3.attn_norm.weight is missing"),
    "one layer less": (on_shape(num_layers=2), leaf.UNSUPPORTED, "blk.2.attn_norm.weight has no place"),
    "no hidden size": (on_shape(hidden_size=0), leaf.INVALID, "hidden_size"),
    "another hidden size": (on_shape(hidden_size=64), leaf.INVALID, r"token_embd.weight is \[97, 72\]"),
    "huge sizes": (on_shape(hidden_size=2**31, ffn_size=2**31), leaf.INVALID, "hidden_size"),
    "rows longer than a kernel takes": (on_shape(ffn_size=2**17 + 1), leaf.INVALID, "ffn_size"),
    "heads longer together than a kernel takes": (
        on_shape(num_heads=4096, head_dim=64),
        leaf.INVALID,
        r"num_heads \* head_dim",
    ),
    "no ffn": (on_shape(ffn_size=0), leaf.INVALID, "ffn_size"),
    "kv heads that do not divide": (on_shape(num_kv_heads=4), leaf.INVALID, "does not divide"),
    "no heads": (on_shape(num_heads=0), leaf.INVALID, "num_heads"),
    "no kv heads": (on_shape(num_kv_heads=0), leaf.INVALID, "num_kv_heads"),
    "an odd head": (on_shape(head_dim=7), leaf.INVALID, "head_dim 7"),
    "another vocabulary": (on_shape(vocab_size=98), leaf.INVALID, "token_embd.weight"),
    "a NaN eps": (on_shape(rms_eps=float("nan")), leaf.INVALID, "rms_eps"),
    "a negative eps": (on_shape(rms_eps=-1e-5), leaf.INVALID, "rms_eps"),
    "unknown rope pairs": (on_shape(rope_pairs=2), leaf.INVALID, "rope_pairs 2"),
    "no rope scale": (on_shape(rope_scale=0), leaf.INVALID, "rope_scale"),
    "no files": (on_params(num_files=0), leaf.INVALID, "no files"),
    "no tensors": (on_params(num_tensors=0), leaf.INVALID, "no tensors"),
    "no pages": (on_params(num_pages=0), leaf.INVALID, "num_pages"),
    "more pages than a table can name": (on_params(num_pages=2**31), leaf.INVALID, "num_pages"),
    "pages that no memory holds": (on_params(num_pages=2**31 - 1), leaf.NO_MEMORY, "KV pages"),
    "pages in a stored type": (on_params(kv_dtype=3), leaf.UNSUPPORTED, "kv_dtype 3"),
    "no context": (on_params(max_context=0), leaf.INVALID, "max_context"),
    "no span": (on_params(max_span=0), leaf.INVALID, "max_span"),
    "no lanes": (on_params(max_lanes=0), leaf.INVALID, "max_lanes"),
    "nine lanes": (on_params(max_lanes=9), leaf.INVALID, "max_lanes"),
    "endless threads": (on_params(num_threads=2**31), leaf.INVALID, "num_threads"),
    "an unknown dtype": (on_tensor("blk.1.attn_k.weight", dtype=99), leaf.UNSUPPORTED, "blk.1.attn_k.weight: dtype 99"),
    "rows that are not blocks": (on_tensor("blk.0.ffn_up.weight", dtype=3), leaf.INVALID, "blocks of 32"),
    "a lying size": (on_tensor("output_norm.weight", size_bytes=72), leaf.INVALID, "output_norm.weight holds 72"),
    "a huge size": (on_tensor("output_norm.weight", size_bytes=HUGE), leaf.INVALID, "output_norm.weight holds"),
    "rows and columns swapped": (on_tensor("blk.2.ffn_down.weight", rows=160, cols=72), leaf.INVALID, "ffn_down"),
    "rows that overflow": (on_tensor("token_embd.weight", rows=2**62), leaf.INVALID, "token_embd.weight is"),
    "an offset past the end": (on_tensor("blk.0.attn_v.weight", offset=1), leaf.INVALID, "attn_v.weight lies outside"),
    "an offset that overflows": (on_tensor("blk.0.attn_v.weight", offset=HUGE - 100), leaf.INVALID, "lies outside"),
    "a file that is not there": (on_tensor("blk.0.attn_q.weight", file=1000), leaf.INVALID, "attn_q.weight is in file"),
    "a tensor of another name": (
        rename("blk.0.attn_q.weight", "blk.0.attn_z.weight"),
        leaf.UNSUPPORTED,
        "attn_z.weight",
    ),
    "a bias": (rename("blk.0.attn_q.weight", "blk.0.attn_q.bias"), leaf.UNSUPPORTED, "attn_q.bias has no place"),
    "a tensor twice": (
        rename("blk.0.attn_k.weight", "blk.0.attn_v.weight"),
        leaf.INVALID,
        "attn_v.weight is there twice",
    ),
    "a norm that is missing": (
        rename("output_norm.weight", "rope_freqs.weight"),
        leaf.INVALID,
        "output_norm.weight is missing",
    ),
}


@pytest.mark.parametrize("fault", BAD_LOADS)
def test_a_load_that_cannot_be_right_is_refused_by_name(fault: str) -> None:
    mend, status, text = BAD_LOADS[fault]
    weights = tiny.make(tiny.LLAMA).weights()
    params = leaf.load_params(weights)
    mend(params)
    with pytest.raises(leaf.LeafError, match=text) as caught, leaf.Model(weights, params):
        pass
    assert caught.value.status == status


@pytest.mark.parametrize(("ffn_size", "is_refused"), [(32768, False), (32769, True), (40000, True)])
def test_a_plan_on_a_card_refuses_a_matrix_whose_rows_its_loader_cannot_take(ffn_size: int, is_refused: bool) -> None:
    path = bundle.library("libignis_cuda.so")
    if not path.exists():
        pytest.skip("no CUDA leaf was built here")
    weights = tiny.make(replace(tiny.LLAMA, num_layers=1, hidden_size=8, ffn_size=ffn_size)).weights()
    plan = leaf.MemoryPlan(ctypes.sizeof(leaf.MemoryPlan))
    for library, fails in ((leaf.open_library(), False), (leaf.open_library(path), is_refused)):
        status = library.ignis_plan(ctypes.byref(leaf.load_params(weights)), ctypes.byref(plan))
        assert status == (leaf.UNSUPPORTED if fails else leaf.OK)
        if fails:
            assert library.ignis_last_error().decode() == (
                f"tensor blk.0.ffn_down.weight has {ffn_size} columns of dtype 0; this device takes at most 32768"
            )


SCALED = "blk.1.ffn_up.weight"
BAD_SCALES: dict[str, tuple[Mend, int, str]] = {
    "no scales": (
        on_tensor(SCALED, scale_size_bytes=0),
        leaf.INVALID,
        f"{SCALED} has 0 bytes of scales; its shape needs 32",
    ),
    "too many scales": (on_tensor(SCALED, scale_size_bytes=36), leaf.INVALID, f"{SCALED} has 36 bytes of scales"),
    "scales of another type": (
        on_tensor(SCALED, scale_dtype=30),
        leaf.INVALID,
        f"{SCALED} has 32 bytes of scales; its shape needs 16",
    ),
    "scales in blocks": (on_tensor(SCALED, scale_dtype=8), leaf.UNSUPPORTED, f"{SCALED} has scales of dtype 8"),
    "scales that are codes": (
        on_tensor(SCALED, scale_dtype=256),
        leaf.UNSUPPORTED,
        f"{SCALED} has scales of dtype 256",
    ),
    "scales in no file": (on_tensor(SCALED, scale_file=99), leaf.INVALID, f"{SCALED}'s scale is in file 99"),
    "scales outside": (on_tensor(SCALED, scale_offset=HUGE - 8), leaf.INVALID, f"{SCALED}'s scale lies outside"),
    "scales of a float tensor": (on_tensor("token_embd.weight", scale_size_bytes=4), leaf.INVALID, "dtype 0 has none"),
    "an embedding": (
        on_tensor("token_embd.weight", dtype=leaf.F8_E4M3, size_bytes=320 * 256),
        leaf.UNSUPPORTED,
        "token_embd.weight is F8_E4M3; only linear layers",
    ),
    "a norm": (
        on_tensor("blk.0.ffn_norm.weight", dtype=leaf.F8_E4M3, size_bytes=256),
        leaf.UNSUPPORTED,
        "blk.0.ffn_norm.weight is F8_E4M3; only linear layers",
    ),
}


@pytest.mark.parametrize("fault", BAD_SCALES)
def test_block_scales_that_cannot_be_right_are_refused_by_name(fault: str) -> None:
    mend, status, text = BAD_SCALES[fault]
    weights = tiny.make(tiny.WIDE).weights(stores.float8)
    params = leaf.load_params(weights)
    mend(params)
    with pytest.raises(leaf.LeafError, match=text) as caught, leaf.Model(weights, params):
        pass
    assert caught.value.status == status


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 2.0**100])
def test_a_scale_that_is_no_number_is_refused(value: float) -> None:
    weights = tiny.make(tiny.WIDE).weights(stores.float8)
    data = next(tensor.data for tensor in weights.tensors if tensor.name == SCALED)
    data[-8:-4] = np.array([value], np.float32).view(np.uint8)
    with pytest.raises(leaf.LeafError, match=f"{SCALED}: scale 6 is not a number below 2"):
        leaf.Model(weights, leaf.load_params(weights))


@pytest.mark.parametrize("code", [0x7F, 0xFF])
def test_a_code_that_is_nan_makes_nan_of_the_logits(code: int, library: ctypes.CDLL) -> None:
    weights = tiny.make(tiny.WIDE).weights(stores.float8)
    next(tensor.data for tensor in weights.tensors if tensor.name == SCALED)[1000] = code
    with leaf.Model(weights, leaf.load_params(weights), library) as model:
        assert np.isnan(model.prefill([1, 2, 3], (0,), wants_logits=True)[1]).all()


def test_null_pointers_are_refused() -> None:
    library, model, plan = leaf.open_library(), ctypes.c_void_p(), leaf.MemoryPlan(ctypes.sizeof(leaf.MemoryPlan))
    weights = tiny.make(tiny.LLAMA).weights()
    for field in ("shape", "files", "tensors"):
        params = leaf.load_params(weights)
        setattr(params, field, None)
        assert library.ignis_load(ctypes.byref(params), ctypes.byref(model)) == leaf.INVALID
    params = leaf.load_params(weights)
    assert library.ignis_load(None, ctypes.byref(model)) == leaf.INVALID
    assert library.ignis_load(ctypes.byref(params), None) == leaf.INVALID
    assert library.ignis_plan(ctypes.byref(params), None) == leaf.INVALID
    params.tensors[3].name = None
    assert library.ignis_plan(ctypes.byref(params), ctypes.byref(plan)) == leaf.INVALID
    params = leaf.load_params(weights)
    params.files[2].base = None
    assert library.ignis_load(ctypes.byref(params), ctypes.byref(model)) == leaf.INVALID
    params = leaf.load_params(weights)
    params.shape.contents.rope_inv_freq = None
    assert library.ignis_load(ctypes.byref(params), ctypes.byref(model)) == leaf.INVALID
    assert not model.value
    library.ignis_unload(None)


def test_a_qwen3_without_its_head_norms_is_refused() -> None:
    checkpoint = tiny.make(tiny.QWEN3)
    del checkpoint.arrays["blk.1.attn_k_norm.weight"]
    weights = checkpoint.weights()
    with pytest.raises(leaf.LeafError, match=r"blk\.1\.attn_k_norm\.weight is missing"):
        leaf.Model(weights, leaf.load_params(weights))


def plan_of(weights: leaf.Weights, **params: int) -> leaf.MemoryPlan:
    library, plan = leaf.open_library(), leaf.MemoryPlan(ctypes.sizeof(leaf.MemoryPlan))
    given = leaf.load_params(weights, **params)
    leaf.check(library, library.ignis_plan(ctypes.byref(given), ctypes.byref(plan)))
    return plan


def test_the_plan_counts_pages_exactly() -> None:
    weights = tiny.make(tiny.WIDE).weights()
    # K and V: 2 x layers x kv heads x 64 positions x head size x bytes.
    assert plan_of(weights, kv_dtype=leaf.F32).kv_page_bytes == 2 * 2 * 2 * 64 * 64 * 4
    half = plan_of(weights, kv_dtype=leaf.F16, num_pages=1000)
    assert half.kv_page_bytes == 2 * 2 * 2 * 64 * 64 * 2
    assert half.kv_pool_bytes == 1000 * half.kv_page_bytes


def test_the_plan_grows_with_what_it_is_asked_for() -> None:
    weights = tiny.make(tiny.WIDE).weights(stores.STORES["q4_1"])
    plan = plan_of(weights)
    stored = sum(tensor.data.nbytes for tensor in weights.tensors)
    assert 0.8 * stored < plan.weights_bytes < 1.6 * stored
    assert plan.embedding_bytes >= next(t.data.nbytes for t in weights.tensors if t.name == "token_embd.weight")
    assert plan.mapped_bytes == 0
    assert plan_of(weights, max_span=512).workspace_bytes > plan.workspace_bytes
    alone = plan_of(weights, max_lanes=1)
    assert alone.sampling_bytes < plan.sampling_bytes and alone.lane_bytes < plan.lane_bytes
    assert plan_of(weights, max_context=100_000, num_threads=4).workspace_bytes > plan.workspace_bytes


@pytest.mark.parametrize("store", stores.STORES)
def test_every_stored_type_computes_what_its_values_say(store: str, library: ctypes.CDLL) -> None:
    checkpoint = tiny.make(tiny.WIDE)
    weights = checkpoint.weights(stores.STORES[store])
    plain = tiny.Tiny(tiny.WIDE, stores.dequantized(weights)).weights()
    tokens = tiny.prompt(tiny.WIDE, 70)
    logits = []
    for each in (weights, plain):
        with leaf.Model(each, leaf.load_params(each), library) as model:
            logits.append(model.prefill(tokens, (0, 1), wants_logits=True)[1])
    # bfloat16 and quantised kernels round the activations too (ADR 5); others only sum in another order.
    tolerance = 1e-5 if store in ("f32", "f16", "fp8") else 1e-3
    assert np.abs(logits[0] - logits[1]).max() < tolerance * np.abs(logits[1]).max()


def test_unloading_gives_back_every_mapping() -> None:
    weights = tiny.make(tiny.WIDE).weights()
    library = leaf.open_library()

    def mapped() -> int:
        with open("/proc/self/statm", encoding="ascii") as statm:
            return int(statm.read().split()[0])

    def cycle() -> None:
        with leaf.Model(weights, leaf.load_params(weights, num_pages=2000, num_threads=3), library) as model:
            model.prefill([1, 2, 3], [0])

    def growth() -> int:
        before = mapped()
        for _ in range(5):
            cycle()
        return mapped() - before

    cycle()
    # A leak grows every time. Once the C library may map one more heap, for a thread that meets another in it.
    assert min(growth() for _ in range(3)) < 2000


@pytest.mark.parametrize("store", ["bf16", "q4_k", "fp8"])
def test_a_file_that_ends_early_is_refused_and_leaves_nothing(store: str, tmp_path: Path) -> None:
    weights = tiny.make(tiny.WIDE).weights(stores.STORES[store])
    with StoredModel(weights, tmp_path / "weights") as stored:
        with stored.path.open("r+b") as file:
            file.truncate(stored.path.stat().st_size // 2)
        # Whoever touched the mapping behind the end would be ended by SIGBUS.
        with pytest.raises(leaf.LeafError, match="ends before its last tensor") as refused:
            leaf.Model(weights, stored.params())
        assert refused.value.status == leaf.INVALID


@pytest.mark.parametrize("store", ["f32", "bf16", "q8_0", "fp8"])
def test_a_file_that_is_cut_short_while_it_is_served_changes_nothing(store: str, tmp_path: Path) -> None:
    weights = tiny.make(tiny.WIDE).weights(stores.STORES[store])
    with StoredModel(weights, tmp_path / "weights") as stored, leaf.Model(weights, stored.params()) as model:
        before = model.prefill([1, 2, 3], [0], wants_logits=True)[1]
        stored.path.write_bytes(b"")
        assert np.array_equal(model.prefill([1, 2, 3], [0], wants_logits=True)[1], before)


@pytest.mark.parametrize("store", stores.STORES)
def test_a_file_and_memory_give_the_same_model(store: str, tmp_path: Path) -> None:
    weights = tiny.make(tiny.WIDE).weights(stores.STORES[store])
    with (
        StoredModel(weights, tmp_path / "weights") as stored,
        leaf.Model(weights, stored.params(num_threads=2)) as model,
    ):
        from_file = model.prefill([1, 2, 3], [0], wants_logits=True)[1]
    with leaf.Model(weights, leaf.load_params(weights)) as model:
        assert np.array_equal(model.prefill([1, 2, 3], [0], wants_logits=True)[1], from_file)


def test_dequantize_refuses_what_is_not_whole_blocks() -> None:
    library = leaf.open_library()
    data, values = np.zeros(4096, np.uint8), np.zeros(4096, np.float32)

    def status(dtype: int, size_bytes: int, num_values: int) -> int:
        size, count = ctypes.c_uint64(size_bytes), ctypes.c_uint64(num_values)
        result = library.ignis_dequantize(
            dtype, ctypes.c_void_p(data.ctypes.data), size, ctypes.c_void_p(values.ctypes.data), count
        )
        return int(result)

    q8_0 = int(gguf.GGMLQuantizationType.Q8_0)
    assert status(q8_0, 34, 32) == leaf.OK
    assert status(q8_0, 33, 32) == leaf.INVALID
    assert status(q8_0, 34, 33) == leaf.INVALID
    assert status(q8_0, 34, 2**64 - 32) == leaf.INVALID
    assert status(77, 34, 32) == leaf.UNSUPPORTED
    assert status(q8_0, 0, 0) == leaf.OK
