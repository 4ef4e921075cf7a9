"""Tiny checkpoints as files: the two containers that models come in, written from the same arrays."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tests.abi import leaf
from tests.models import fp8
from tests.models.tiny import Array, Tiny, permute
from tests.unit.models import writers

CONTEXT_TOKENS = 256
ARCHITECTURES = {leaf.LLAMA: "llama", leaf.QWEN3: "qwen3"}
GGUF_TYPES = {"F32": writers.F32_TYPE, "F16": writers.F16_TYPE, "BF16": writers.BF16_TYPE}


def stored(values: npt.NDArray[np.floating], dtype: str) -> bytes:
    """The elements of float32 values in a file; the values must be what the type can say (`rounded`)."""
    if dtype == "BF16":
        return (values.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()
    return values.astype({"F32": "<f4", "F16": "<f2"}[dtype]).tobytes()


FP8_CONFIG = {
    "activation_scheme": "dynamic",
    "fmt": "e4m3",
    "modules_to_not_convert": ["lm_head"],
    "quant_method": "fp8",
    "weight_block_size": [128, 128],
}


def is_fp8(name: str) -> bool:
    """Whether an FP8 folder has that tensor in FP8: the layers' linear ones, under their GGUF names."""
    return name.startswith("blk.") and "norm" not in name


def as_fp8(tiny: Tiny) -> Tiny:
    """The checkpoint with the values that an FP8 folder of it has."""

    def cut(name: str, values: Array) -> Array:
        return fp8.dequantized(*fp8.quantized(values)) if is_fp8(name) else fp8.as_bfloat(values)

    return replace(tiny, arrays={name: cut(name, values) for name, values in tiny.arrays.items()})


def write_fp8_folder(tiny: Tiny, folder: Path, scale_dtype: str = "BF16") -> Path:
    """As the official FP8 folders are: linear tensors of layers in E4M3 with block scales, everything else in BF16."""
    write_folder(tiny, folder, "BF16")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "quantization_config": FP8_CONFIG}))
    shapes: dict[str, tuple[int, ...]] = {}
    dtypes: dict[str, str] = {}
    data: list[bytes] = []
    for name, values in tiny.arrays.items():
        stored_name = writers.hf_name(name)
        shapes[stored_name] = values.shape
        if not is_fp8(name):
            data.append(stored(values, "BF16"))
            continue
        codes, scales = fp8.quantized(values)
        shapes[stored_name + "_scale_inv"] = scales.shape
        dtypes |= {stored_name: "F8_E4M3", stored_name + "_scale_inv": scale_dtype}
        data += [codes.tobytes(), stored(scales, scale_dtype)]
    header = writers.safetensors_bytes(writers.entries(shapes, "BF16", dtypes), size_bytes=0)
    (folder / "model.safetensors").write_bytes(header + b"".join(data))
    return folder


def rounded(tiny: Tiny, dtype: str) -> Tiny:
    """The checkpoint with every value cut to what the type can say, so that a file of it loses nothing."""

    def cut(values: Array) -> Array:
        if dtype == "BF16":
            return (values.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
        return values.astype(np.float16 if dtype == "F16" else np.float32).astype(np.float32)

    return replace(tiny, arrays={name: cut(values) for name, values in tiny.arrays.items()})


def write_gguf(tiny: Tiny, path: Path, dtype: str = "F32", context_tokens: int = CONTEXT_TOKENS) -> Path:
    """As converters write it: llama's q and k rows in adjacent rope pairs, vectors in float32, no vocabulary."""
    config = tiny.config
    name = ARCHITECTURES[config.architecture]
    keys = {
        "block_count": writers.u32(config.num_layers),
        "context_length": writers.u32(context_tokens),
        "embedding_length": writers.u32(config.hidden_size),
        "feed_forward_length": writers.u32(config.ffn_size),
        "attention.head_count": writers.u32(config.num_heads),
        "attention.head_count_kv": writers.u32(config.num_kv_heads),
        "attention.key_length": writers.u32(config.head_dim),
        "attention.value_length": writers.u32(config.head_dim),
        "attention.layer_norm_rms_epsilon": writers.f32(config.rms_eps),
        "rope.freq_base": writers.f32(config.rope_theta),
        **(config.scaling.gguf_keys() if config.scaling else {}),
    }

    def tensor(tensor_name: str, values: Array) -> writers.Tensor:
        if config.architecture == leaf.LLAMA and tensor_name.endswith(("attn_q.weight", "attn_k.weight")):
            values = permute(values, config.head_dim)
        kind = dtype if values.ndim > 1 else "F32"
        return writers.Tensor(tensor_name, values.shape[::-1], GGUF_TYPES[kind], data=stored(values, kind))

    tensors = [tensor(*item) for item in tiny.arrays.items()]
    divisors = config.scaling.gguf_divisors(tiny.base_freq, config.rope_theta) if config.scaling else None
    if divisors is not None:
        tensors.append(writers.Tensor("rope_freqs.weight", divisors.shape, data=stored(divisors, "F32")))
    described = [("general.architecture", writers.text(name))]
    described += [(f"{name}.{key}", value) for key, value in keys.items()]
    return writers.Gguf(described, tensors).write(path)


def write_folder(tiny: Tiny, folder: Path, dtype: str = "F32", num_shards: int = 1) -> Path:
    """As Hugging Face's save_pretrained writes it, without a tokenizer; tensors are dealt out to the shards in turn."""
    config = tiny.config
    folder.mkdir()
    settings = config.scaling.hf_settings() if config.scaling else {"rope_type": "default"}
    described = writers.tiny_config(
        ARCHITECTURES[config.architecture],
        hidden_size=config.hidden_size,
        intermediate_size=config.ffn_size,
        num_hidden_layers=config.num_layers,
        num_attention_heads=config.num_heads,
        num_key_value_heads=config.num_kv_heads,
        head_dim=config.head_dim,
        rms_norm_eps=config.rms_eps,
        vocab_size=config.vocab_size,
        max_position_embeddings=CONTEXT_TOKENS,
        tie_word_embeddings=config.is_tied,
        rope_parameters={**settings, "rope_theta": config.rope_theta},
    )
    (folder / "config.json").write_text(json.dumps(described))
    arrays = {writers.hf_name(name): values for name, values in tiny.arrays.items()}
    if num_shards == 1:
        (folder / "model.safetensors").write_bytes(_safetensors(arrays, dtype))
        return folder
    weight_map: dict[str, str] = {}
    for shard in range(num_shards):
        name = f"model-{shard + 1:05}-of-{num_shards:05}.safetensors"
        part = dict(list(arrays.items())[shard::num_shards])
        (folder / name).write_bytes(_safetensors(part, dtype))
        weight_map |= dict.fromkeys(part, name)
    writers.write_index(folder, weight_map)
    return folder


def _safetensors(arrays: Mapping[str, Array], dtype: str) -> bytes:
    header = writers.entries({name: values.shape for name, values in arrays.items()}, dtype)
    return writers.safetensors_bytes(header, size_bytes=0) + b"".join(stored(v, dtype) for v in arrays.values())
