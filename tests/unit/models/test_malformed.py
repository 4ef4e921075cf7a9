"""Whatever happens to a file: it opens, or is refused by name. Nothing else, in bounded time and memory."""

import contextlib
import json
import resource
import struct
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ignis.errors import ModelFileError
from ignis.models.base import Checkpoint
from ignis.models.registry import open_checkpoint
from tests.unit.models.writers import (
    ARRAY,
    FP8,
    TEXT,
    Gguf,
    Tensor,
    Value,
    entries,
    safetensors_bytes,
    tiny_config,
    tiny_gguf,
    tiny_hf_shapes,
    write_folder,
    write_fp8,
    write_sharded,
)

EXAMPLES = settings(
    max_examples=60, deadline=2000, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
GGUF_BYTES = tiny_gguf().bytes()
HEADER_BYTES = GGUF_BYTES.index(b"blk.1.ffn_down.weight") + 64
KEYS = [str(name) for name, _ in tiny_gguf().keys]
WEIGHTS = safetensors_bytes(entries(tiny_hf_shapes("llama", has_head=False)))
WEIGHTS_HEADER_BYTES = 8 + struct.unpack_from("<Q", WEIGHTS)[0]

INTERESTING_U64 = st.sampled_from([0, 1, 31, 32, 33, 1 << 31, 1 << 32, 1 << 60, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
RAW_VALUES = st.builds(Value, st.integers(0, 14), st.binary(max_size=24))
LYING_ARRAYS = st.builds(
    lambda element, count, data: Value(ARRAY, struct.pack("<IQ", element, count) + data),
    st.integers(0, 14),
    INTERESTING_U64 | st.integers(0, 20),
    st.binary(max_size=40),
)
LYING_TEXTS = st.builds(
    lambda size, data: Value(TEXT, struct.pack("<Q", size) + data), INTERESTING_U64, st.binary(max_size=40)
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 70), 1 << 70) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


def opens_or_refuses(path: Path) -> Checkpoint | None:
    """Opens, checks what must then hold, closes; None where it was refused as it should be."""
    checkpoint, message = None, ""
    try:
        checkpoint = open_checkpoint(path)
    except ModelFileError as error:
        message = str(error)
    if checkpoint is None:
        assert message.isprintable()
        assert 0 < len(message) < 1000
        return None
    for tensor in checkpoint.tensors:
        assert 0 <= tensor.offset <= tensor.offset + tensor.size_bytes <= checkpoint.files[tensor.file].size_bytes
        if tensor.scales is not None:
            stop = tensor.scales.offset + tensor.scales.size_bytes
            assert 0 < tensor.scales.offset < stop <= checkpoint.files[tensor.scales.file].size_bytes
        assert tensor.rows >= 1
        assert tensor.cols >= 1
    assert len(checkpoint.shape.rope.inv_freq) == checkpoint.shape.head_dim // 2
    assert all(0 <= token < checkpoint.shape.vocab_size for token in checkpoint.special.stop_ids)
    checkpoint.close()
    return checkpoint


@pytest.fixture(autouse=True)
def _few_resources() -> Iterator[None]:
    """A claimed size that was believed would run into this limit, as a MemoryError and not as a refusal."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    with contextlib.suppress(ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@EXAMPLES
@given(st.integers(0, len(GGUF_BYTES)))
def test_a_cut_gguf(tmp_path: Path, size_bytes: int) -> None:
    path = tmp_path / "cut.gguf"
    path.write_bytes(GGUF_BYTES[:size_bytes])
    opens_or_refuses(path)


@EXAMPLES
@given(st.lists(st.tuples(st.integers(0, HEADER_BYTES - 1), st.integers(0, 255)), min_size=1, max_size=4))
def test_a_gguf_with_other_bytes(tmp_path: Path, changes: list[tuple[int, int]]) -> None:
    data = bytearray(GGUF_BYTES)
    for position, value in changes:
        data[position] = value
    path = tmp_path / "flipped.gguf"
    path.write_bytes(data)
    opens_or_refuses(path)


@EXAMPLES
@given(st.integers(0, HEADER_BYTES - 8), INTERESTING_U64)
def test_a_gguf_with_another_number_anywhere(tmp_path: Path, position: int, value: int) -> None:
    data = bytearray(GGUF_BYTES)
    struct.pack_into("<Q", data, position, value)
    path = tmp_path / "number.gguf"
    path.write_bytes(data)
    opens_or_refuses(path)


@EXAMPLES
@given(st.sampled_from(KEYS), RAW_VALUES | LYING_ARRAYS | LYING_TEXTS)
def test_a_gguf_with_another_value_of_a_key(tmp_path: Path, key: str, value: Value) -> None:
    changed = [(name, value if name == key else old) for name, old in tiny_gguf().keys]
    opens_or_refuses(Gguf(changed, tiny_gguf().tensors).write(tmp_path / "value.gguf"))


@EXAMPLES
@given(
    st.sampled_from([str(tensor.name) for tensor in tiny_gguf().tensors]),
    st.builds(
        Tensor,
        name=st.binary(max_size=80),
        dims=st.lists(INTERESTING_U64 | st.integers(0, 64), max_size=5).map(tuple),
        type=st.integers(0, 41),
        offset=INTERESTING_U64 | st.none(),
        data=st.binary(max_size=64),
    ),
)
def test_a_gguf_with_another_tensor(tmp_path: Path, name: str, tensor: Tensor) -> None:
    tensors = [tensor if old.name == name else old for old in tiny_gguf().tensors]
    opens_or_refuses(Gguf(tiny_gguf().keys, tensors).write(tmp_path / "tensor.gguf"))


@EXAMPLES
@given(st.binary(max_size=400))
def test_a_gguf_of_anything(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "anything.gguf"
    path.write_bytes(b"GGUF\3\0\0\0" + data)
    opens_or_refuses(path)


@EXAMPLES
@given(st.lists(st.tuples(st.integers(0, WEIGHTS_HEADER_BYTES), st.integers(0, 255)), min_size=1, max_size=3))
def test_safetensors_with_other_bytes(tmp_path: Path, changes: list[tuple[int, int]]) -> None:
    folder = write_folder(tmp_path / "tiny")
    data = bytearray(WEIGHTS)
    for position, value in changes:
        data[position] = value
    (folder / "model.safetensors").write_bytes(data)
    opens_or_refuses(folder)


@EXAMPLES
@given(st.integers(0, len(WEIGHTS)))
def test_cut_safetensors(tmp_path: Path, size_bytes: int) -> None:
    folder = write_folder(tmp_path / "tiny")
    (folder / "model.safetensors").write_bytes(WEIGHTS[:size_bytes])
    opens_or_refuses(folder)


@EXAMPLES
@given(
    st.sampled_from(sorted(tiny_hf_shapes("llama", has_head=False))),
    st.sampled_from(["dtype", "shape", "data_offsets", "other"]),
    JSON,
)
def test_safetensors_with_another_entry(tmp_path: Path, name: str, member: str, value: object) -> None:
    header = entries(tiny_hf_shapes("llama", has_head=False))
    header[name][member] = value
    folder = write_folder(tmp_path / "tiny")
    (folder / "model.safetensors").write_bytes(safetensors_bytes(json.dumps(header).encode(), size_bytes=len(WEIGHTS)))
    opens_or_refuses(folder)


@EXAMPLES
@given(st.sampled_from([*FP8, "format", "other"]), JSON | st.sampled_from(["fp8", "awq", "e5m2", [128, 128], [1, 1]]))
def test_an_fp8_folder_with_another_setting(tmp_path: Path, name: str, value: object) -> None:
    opens_or_refuses(write_fp8(tmp_path / "tiny", {**FP8, name: value}))


SCALES = "model.layers.1.mlp.down_proj.weight_scale_inv"


@EXAMPLES
@given(
    st.lists(st.integers(1, 3), min_size=1, max_size=3).map(tuple) | st.none(),
    st.sampled_from(["BF16", "F32", "F64", "F8_E4M3"]),
    st.sampled_from([SCALES, SCALES.removesuffix("_scale_inv"), "model.norm.weight", "model.embed_tokens.weight"]),
)
def test_an_fp8_folder_with_another_tensor(
    tmp_path: Path, shape: tuple[int, ...] | None, dtype: str, name: str
) -> None:
    opens_or_refuses(write_fp8(tmp_path / "tiny", shapes={name: shape} if name == SCALES else {}, dtypes={name: dtype}))


@EXAMPLES
@given(
    st.sampled_from(
        [*tiny_config(), "rope_scaling", "rope_theta", "layer_types", "sliding_window", "quantization_config"]
    ),
    JSON,
)
def test_a_config_with_another_value(tmp_path: Path, name: str, value: object) -> None:
    folder = write_folder(tmp_path / "tiny")
    (folder / "config.json").write_text(json.dumps({**tiny_config(), name: value}))
    opens_or_refuses(folder)


@EXAMPLES
@given(
    st.sampled_from(["rope_type", "type", "factor", "rope_theta", "low_freq_factor", "beta_fast", "attention_factor"]),
    st.sampled_from(["linear", "llama3", "yarn"]),
    JSON | st.floats(0, 1e300),
)
def test_a_config_with_another_rope(tmp_path: Path, name: str, kind: str, value: object) -> None:
    rope = {"rope_type": kind, "factor": 4.0, "low_freq_factor": 1, "high_freq_factor": 4, name: value}
    opens_or_refuses(write_folder(tmp_path / "tiny", rope_parameters=rope))


@EXAMPLES
@given(st.sampled_from(["config.json", "generation_config.json", "tokenizer_config.json", "chat_template.jinja"]), JSON)
def test_a_folder_with_any_json(tmp_path: Path, name: str, value: object) -> None:
    folder = write_folder(tmp_path / "tiny")
    (folder / name).write_text(json.dumps(value))
    opens_or_refuses(folder)


@EXAMPLES
@given(
    st.sampled_from(["chat_template", "eos_token", "added_tokens_decoder", "eos_token_id", "temperature"]),
    JSON | st.dictionaries(st.from_regex(r"-?\d{1,30}", fullmatch=True) | st.text(max_size=4), JSON, max_size=3),
)
def test_a_folder_with_another_value_of_a_field(tmp_path: Path, name: str, value: object) -> None:
    folder = write_folder(tmp_path / "tiny")
    (folder / "tokenizer_config.json").write_text(json.dumps({name: value}))
    (folder / "generation_config.json").write_text(json.dumps({name: value}))
    opens_or_refuses(folder)


@EXAMPLES
@given(JSON | st.dictionaries(st.sampled_from(sorted(tiny_hf_shapes("llama", has_head=False))), JSON, max_size=3))
def test_an_index_of_anything(tmp_path: Path, weight_map: object) -> None:
    folder = write_sharded(tmp_path / "tiny")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    opens_or_refuses(folder)


def test_the_files_that_are_broken_here_open_while_they_are_whole(tmp_path: Path) -> None:
    assert opens_or_refuses(tiny_gguf().write(tmp_path / "tiny.gguf"))
    assert opens_or_refuses(write_folder(tmp_path / "tiny"))
    assert opens_or_refuses(write_sharded(tmp_path / "parts"))


def test_a_refused_count_takes_no_memory(tmp_path: Path) -> None:
    lie = Value(ARRAY, struct.pack("<IQ", TEXT, 1 << 60) + bytes(100))
    path = tiny_gguf().with_keys(tokenizer__ggml__tokens=lie).write(tmp_path / "lie.gguf")
    tracemalloc.start()
    try:
        assert opens_or_refuses(path) is None
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
