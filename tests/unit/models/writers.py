"""Writes small GGUF and safetensors files, whole or broken on purpose, byte by byte from the formats' descriptions."""

import json
import random
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

U32, I32, F32, BOOL, TEXT, ARRAY, U64 = 4, 5, 6, 7, 8, 9, 10
CODES = {U32: "I", I32: "i", F32: "f", BOOL: "B", U64: "Q"}
F16_TYPE, F32_TYPE, Q4_0_TYPE, Q8_0_TYPE, BF16_TYPE = 1, 0, 2, 8, 30
BLOCKS = {F32_TYPE: (1, 4), F16_TYPE: (1, 2), Q4_0_TYPE: (32, 18), Q8_0_TYPE: (32, 34), BF16_TYPE: (1, 2)}
ELEMENT_BYTES = {"F32": 4, "F16": 2, "BF16": 2, "F64": 8, "I64": 8, "F8_E4M3": 1, "U8": 1}

# The tiny model: 2 layers, 4 heads on 2, 8 dims a head.
HIDDEN, FFN, HEADS, KV_HEADS, HEAD_DIM, LAYERS, VOCAB = 32, 64, 4, 2, 8, 2, 11
TOKENS = ["<unk>", "<s>", "<|im_end|>", "a", "b", "ab", "c", "Ġ", "d", "é", "e"]
TOKEN_TYPES = [2, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1]


@dataclass(frozen=True)
class Value:
    """A metadata value as it is stored: its type's number, and its bytes."""

    type: int
    data: bytes


def scalar(kind: int, value: float) -> Value:
    return Value(kind, struct.pack("<" + CODES[kind], value))


def u32(value: int) -> Value:
    return scalar(U32, value)


def f32(value: float) -> Value:
    return scalar(F32, value)


def flag(value: bool) -> Value:
    return scalar(BOOL, value)


def packed(text: str | bytes) -> bytes:
    data = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(data)) + data


def text(value: str | bytes) -> Value:
    return Value(TEXT, packed(value))


def texts(values: Sequence[str | bytes]) -> Value:
    return Value(ARRAY, struct.pack("<IQ", TEXT, len(values)) + b"".join(map(packed, values)))


def numbers(kind: int, values: Sequence[float]) -> Value:
    return Value(ARRAY, struct.pack(f"<IQ{len(values)}{CODES[kind]}", kind, len(values), *values))


@dataclass(frozen=True)
class Tensor:
    """What a tensor info says. `offset` and `data` follow from the others where they are None."""

    name: str | bytes
    dims: tuple[int, ...]
    """As GGUF has them: the row's length first."""
    type: int = F32_TYPE
    offset: int | None = None
    data: bytes | None = None

    def content(self) -> bytes:
        if self.data is not None:
            return self.data
        count = 1
        for dim in self.dims:
            count *= dim
        values, size_bytes = BLOCKS.get(self.type, (1, 1))
        return random.Random(str(self.name)).randbytes(min(count // values * size_bytes, 1 << 20))


@dataclass(frozen=True)
class Gguf:
    """A file in parts. The counts are the true ones where they are None."""

    keys: Sequence[tuple[str | bytes, Value]]
    tensors: Sequence[Tensor]
    magic: bytes = b"GGUF"
    version: int = 3
    num_tensors: int | None = None
    num_keys: int | None = None
    alignment: int = 32

    def bytes(self) -> bytes:
        head = bytearray(self.magic + struct.pack("<I", self.version))
        head += struct.pack("<Q", len(self.tensors) if self.num_tensors is None else self.num_tensors)
        head += struct.pack("<Q", len(self.keys) if self.num_keys is None else self.num_keys)
        for name, value in self.keys:
            head += packed(name) + struct.pack("<I", value.type) + value.data
        body = bytearray()
        for tensor in self.tensors:
            content = tensor.content()
            offset = len(body) if tensor.offset is None else tensor.offset
            head += packed(tensor.name) + struct.pack("<I", len(tensor.dims))
            head += struct.pack(f"<{len(tensor.dims)}QIQ", *tensor.dims, tensor.type, offset)
            body += content + bytes(-len(content) % self.alignment)
        return bytes(head + bytes(-len(head) % self.alignment) + body)

    def write(self, path: Path) -> Path:
        path.write_bytes(self.bytes())
        return path

    def with_keys(self, **changes: Value | None) -> "Gguf":
        """Keys set, replaced or (None) left out; a double underscore stands for a dot."""
        named = dict(self.keys)
        for name, value in changes.items():
            key = name.replace("__", ".")
            if value is None:
                named.pop(key, None)
            else:
                named[key] = value
        return replace(self, keys=list(named.items()))

    def with_tensor(self, name: str, **changes: object) -> "Gguf":
        tensors = [replace(tensor, **changes) if tensor.name == name else tensor for tensor in self.tensors]
        return replace(self, tensors=tensors)

    def without_tensor(self, name: str) -> "Gguf":
        return replace(self, tensors=[tensor for tensor in self.tensors if tensor.name != name])


def tiny_shapes(architecture: str, has_head: bool) -> dict[str, tuple[int, ...]]:
    """GGUF names and row-major shapes."""
    query, key = HEADS * HEAD_DIM, KV_HEADS * HEAD_DIM
    shapes: dict[str, tuple[int, ...]] = {"token_embd.weight": (VOCAB, HIDDEN), "output_norm.weight": (HIDDEN,)}
    for layer in range(LAYERS):
        block = {
            "attn_norm": (HIDDEN,),
            "attn_q": (query, HIDDEN),
            "attn_k": (key, HIDDEN),
            "attn_v": (key, HIDDEN),
            "attn_output": (HIDDEN, query),
            "ffn_norm": (HIDDEN,),
            "ffn_gate": (FFN, HIDDEN),
            "ffn_up": (FFN, HIDDEN),
            "ffn_down": (HIDDEN, FFN),
        }
        if architecture == "qwen3":
            block |= {"attn_q_norm": (HEAD_DIM,), "attn_k_norm": (HEAD_DIM,)}
        shapes |= {f"blk.{layer}.{name}.weight": shape for name, shape in block.items()}
    return shapes | ({"output.weight": (VOCAB, HIDDEN)} if has_head else {})


def tiny_gguf(architecture: str = "llama", has_head: bool = False, matrix_type: int = F32_TYPE) -> Gguf:
    """A valid file, with a byte-level BPE vocabulary."""
    a = architecture
    keys = {
        "general.architecture": text(a),
        "general.name": text("Tiny model"),
        f"{a}.block_count": u32(LAYERS),
        f"{a}.context_length": u32(128),
        f"{a}.embedding_length": u32(HIDDEN),
        f"{a}.feed_forward_length": u32(FFN),
        f"{a}.attention.head_count": u32(HEADS),
        f"{a}.attention.head_count_kv": u32(KV_HEADS),
        f"{a}.attention.key_length": u32(HEAD_DIM),
        f"{a}.attention.value_length": u32(HEAD_DIM),
        f"{a}.attention.layer_norm_rms_epsilon": f32(1e-5),
        f"{a}.rope.freq_base": f32(10000.0),
        "tokenizer.ggml.model": text("gpt2"),
        "tokenizer.ggml.pre": text("smollm"),
        "tokenizer.ggml.tokens": texts(TOKENS),
        "tokenizer.ggml.token_type": numbers(I32, TOKEN_TYPES),
        "tokenizer.ggml.merges": texts(["a b"]),
        "tokenizer.ggml.bos_token_id": u32(1),
        "tokenizer.ggml.eos_token_id": u32(2),
        "tokenizer.chat_template": text("{{ messages[0].content }}"),
    }
    tensors = [
        Tensor(name, tuple(reversed(shape)), matrix_type if len(shape) == 2 else F32_TYPE)
        for name, shape in tiny_shapes(a, has_head).items()
    ]
    return Gguf(list(keys.items()), tensors)


HF_NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def hf_name(name: str) -> str:
    parts = name.split(".")
    if parts[0] != "blk":
        return f"{HF_NAMES[parts[0]]}.weight"
    return f"model.layers.{parts[1]}.{HF_NAMES[parts[2]]}.weight"


def tiny_hf_shapes(architecture: str, has_head: bool) -> dict[str, tuple[int, ...]]:
    return {hf_name(name): shape for name, shape in tiny_shapes(architecture, has_head).items()}


def tiny_config(architecture: str = "llama", **changes: object) -> dict[str, object]:
    """A valid config.json. A change to None leaves the field out."""
    config: dict[str, object] = {
        "architectures": [{"llama": "LlamaForCausalLM", "qwen3": "Qwen3ForCausalLM"}[architecture]],
        "model_type": architecture,
        "hidden_size": HIDDEN,
        "intermediate_size": FFN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "head_dim": HEAD_DIM,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-5,
        "vocab_size": VOCAB,
        "max_position_embeddings": 128,
        "tie_word_embeddings": True,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    config |= changes
    return {name: value for name, value in config.items() if value is not None}


def entries(
    shapes: Mapping[str, tuple[int, ...]], dtype: str = "F32", dtypes: Mapping[str, str] | None = None
) -> dict[str, dict[str, object]]:
    """The header of tensors that lie one after the other, each of `dtype` where `dtypes` has no other for it."""
    described: dict[str, dict[str, object]] = {}
    reached = 0
    for name, shape in shapes.items():
        own = (dtypes or {}).get(name, dtype)
        size_bytes = ELEMENT_BYTES[own]
        for dim in shape:
            size_bytes *= dim
        described[name] = {"dtype": own, "shape": list(shape), "data_offsets": [reached, reached + size_bytes]}
        reached += size_bytes
    return described


def safetensors_bytes(
    header: Mapping[str, object] | bytes, size_bytes: int | None = None, header_bytes: int | None = None
) -> bytes:
    """The file: its data is as long as the header needs, its header as long as it says, unless told otherwise."""
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    raw += b" " * (-len(raw) % 8)
    if size_bytes is None:
        size_bytes = 0
        if not isinstance(header, bytes):
            stops = [
                entry["data_offsets"][1] for entry in header.values() if isinstance(entry, dict) and "shape" in entry
            ]
            size_bytes = max(stops, default=0)
    length = len(raw) if header_bytes is None else header_bytes
    return struct.pack("<Q", length) + raw + random.Random(7).randbytes(size_bytes)


def write_folder(
    folder: Path,
    architecture: str = "llama",
    has_head: bool = False,
    dtype: str = "F32",
    **changes: object,
) -> Path:
    """A valid Hugging Face folder in one file, with an empty tokenizer.json."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(tiny_config(architecture, **changes)))
    (folder / "tokenizer.json").write_text("{}")
    header = entries(tiny_hf_shapes(architecture, has_head), dtype)
    (folder / "model.safetensors").write_bytes(safetensors_bytes(header))
    return folder


FP8: dict[str, object] = {
    "activation_scheme": "dynamic",
    "fmt": "e4m3",
    "modules_to_not_convert": ["lm_head", "model.layers.0.input_layernorm"],
    "quant_method": "fp8",
    "weight_block_size": [128, 128],
}


def write_fp8(
    folder: Path,
    settings: object = FP8,
    shapes: dict[str, tuple[int, ...] | None] | None = None,
    dtypes: dict[str, str] | None = None,
) -> Path:
    """A tiny Qwen3 in FP8; `shapes` and `dtypes` change tensors, and a shape of None leaves one out."""
    write_folder(folder, "qwen3", quantization_config=settings)
    changed: dict[str, tuple[int, ...] | None] = {}
    stored: dict[str, str] = {}
    for name, shape in tiny_hf_shapes("qwen3", has_head=False).items():
        changed[name] = shape
        if len(shape) == 2 and "embed" not in name:
            changed[name + "_scale_inv"] = (1, 1)
            stored |= {name: "F8_E4M3", name + "_scale_inv": "BF16"}
    changed |= shapes or {}
    there = {name: shape for name, shape in changed.items() if shape is not None}
    header = entries(there, "BF16", stored | (dtypes or {}))
    # As safetensors writes them: the wider an element, the earlier, so that all are aligned.
    ordered = sorted(header, key=lambda name: -ELEMENT_BYTES[str(header[name]["dtype"])])
    header = entries({name: there[name] for name in ordered}, "BF16", stored | (dtypes or {}))
    (folder / "model.safetensors").write_bytes(safetensors_bytes(header))
    return folder


def write_sharded(folder: Path, num_shards: int = 2) -> Path:
    """The same in shards, tensors dealt out in turn, with an index."""
    write_folder(folder)
    (folder / "model.safetensors").unlink()
    shapes = tiny_hf_shapes("llama", has_head=False)
    weight_map: dict[str, str] = {}
    for shard in range(num_shards):
        name = f"model-{shard + 1:05}-of-{num_shards:05}.safetensors"
        part = {tensor: shape for index, (tensor, shape) in enumerate(shapes.items()) if index % num_shards == shard}
        (folder / name).write_bytes(safetensors_bytes(entries(part)))
        weight_map |= dict.fromkeys(part, name)
    write_index(folder, weight_map)
    return folder


def write_index(folder: Path, weight_map: Mapping[str, object]) -> None:
    index = {"metadata": {"total_size": 0}, "weight_map": dict(weight_map)}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
