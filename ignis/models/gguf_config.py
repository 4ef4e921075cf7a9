"""What a GGUF file's keys say of its model: architecture, shape, rope, and the name that people read."""

import math
import struct
from collections.abc import Mapping, Sequence

from ignis.models.architecture import ArchitectureSpec
from ignis.models.base import DType, MappedFile, ModelShape, Rope, StoredTensor
from ignis.models.fields import MAX_COUNT, Fields
from ignis.models.files import read_at, refusal, shown
from ignis.models.heads import read_heads
from ignis.models.rope import (
    YARN_BETA_FAST,
    YARN_BETA_SLOW,
    YarnScaling,
    frequencies,
    scale_linear,
    scale_yarn,
    yarn_scale,
)
from ignis.models.sampling import sampling_defaults

ROPE_FACTORS = "rope_freqs.weight"

# Keys of llama.cpp's that change what its graph computes, with the values that change nothing.
NEUTRAL_KEYS: Mapping[str, tuple[object, ...]] = {
    "expert_count": (0,),
    "attention.sliding_window": (0,),
    "attention.sliding_window_pattern": (),
    "attention.causal": (True,),
    "attention.scale": (0.0,),
    "attention.clamp_kqv": (0.0,),
    "attention.max_alibi_bias": (0.0,),
    "attention.temperature_length": (0,),
    "attention.temperature_scale": (0.0,),
    "attn_logit_softcapping": (0.0,),
    "final_logit_softcapping": (0.0,),
    "logit_scale": (0.0, 1.0),
    "residual_scale": (0.0, 1.0),
    "embedding_scale": (0.0, 1.0),
    "rope.scaling.yarn_ext_factor": (1.0,),
    "rope.scaling.yarn_attn_factor": (1.0,),
    "rope.scaling.yarn_log_multiplier": (0.0,),
    "tensor_data_layout": ("", "Meta AI original pth"),
}

SAMPLING_KEYS: Mapping[str, str] = {
    "temperature": "temp",
    "top_p": "top_p",
    "top_k": "top_k",
    "min_p": "min_p",
    "repetition_penalty": "penalty_repeat",
}

_FILE_TYPES: Mapping[int, str] = {
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    7: "Q8_0",
    8: "Q5_0",
    9: "Q5_1",
    14: "Q4_K_S",
    15: "Q4_K_M",
    16: "Q5_K_S",
    17: "Q5_K_M",
    18: "Q6_K",
    32: "BF16",
}


def gguf_shape(
    keys: Fields, spec: ArchitectureSpec, tensors: Mapping[str, StoredTensor], files: Sequence[MappedFile]
) -> ModelShape:
    """Reads the shape. `tensors` are those of all parts: the embedding tells the vocabulary, rope_freqs the scaling.

    Raises:
        ModelFileError: a key is missing, of the wrong type, out of range, or asks for what the forward pass lacks.
    """
    fields = Fields(keys.path, keys.values, spec.architecture.value + ".")
    for name, neutral in NEUTRAL_KEYS.items():
        fields.need_neutral(name, *neutral)
    hidden_size = fields.required_integer("embedding_length")
    heads = read_heads(fields, hidden_size, "attention.head_count", "attention.head_count_kv", "attention.key_length")
    head_dim = heads.head_dim
    for name in ("attention.value_length", "rope.dimension_count"):
        if fields.integer(name) not in (None, head_dim):
            raise fields.refused(name, f"is {fields.integer(name)}, only the head's {head_dim} dims are supported")
    embedding = tensors.get("token_embd.weight")
    if embedding is None:
        raise refusal(keys.path, "tensor token_embd.weight is missing")
    context_tokens = fields.required_integer("context_length")
    rope, context_tokens = _rope(fields, spec, head_dim, context_tokens, tensors.get(ROPE_FACTORS), files)
    return ModelShape(
        architecture=spec.architecture,
        num_layers=fields.required_integer("block_count"),
        hidden_size=hidden_size,
        ffn_size=fields.required_integer("feed_forward_length"),
        num_heads=heads.num_heads,
        num_kv_heads=heads.num_kv_heads,
        head_dim=head_dim,
        vocab_size=embedding.dims[0],
        rms_eps=fields.required_number("attention.layer_norm_rms_epsilon", 1e-12, 1.0),
        rope=rope,
        context_tokens=context_tokens,
    )


def gguf_file_type(keys: Fields) -> str | None:
    """What general.file_type calls the mix of element types ("Q4_K_M"); None where it says nothing that is known."""
    number = keys.integer("general.file_type", 0)
    return None if number is None else _FILE_TYPES.get(number)


def gguf_sampling(keys: Fields) -> dict[str, float]:
    """What the file recommends (general.sampling.*), under the names that requests use."""
    return sampling_defaults(Fields(keys.path, keys.values, "general.sampling."), SAMPLING_KEYS)


def _rope(
    fields: Fields,
    spec: ArchitectureSpec,
    head_dim: int,
    context_tokens: int,
    factors: StoredTensor | None,
    files: Sequence[MappedFile],
) -> tuple[Rope, int]:
    """Returns the rope and the context that it reaches."""
    theta = fields.number("rope.freq_base", 1.0001, 1e15) or 10000.0
    base = frequencies(theta, head_dim)
    if factors is not None:
        divisors = _rope_factors(fields, factors, files[factors.file], head_dim)
        base = [frequency / divisor for frequency, divisor in zip(base, divisors, strict=True)]
    factor = fields.number("rope.scaling.factor", 0.0, 1e6) or fields.number("rope.scale_linear", 0.0, 1e6) or 1.0
    attention_factor = fields.number("rope.scaling.attn_factor", 0.0, 1e6)
    scale = 1.0
    match kind := fields.text("rope.scaling.type"):
        case "none":
            pass
        case "linear" | None:
            base = scale_linear(base, factor)
        case "yarn":
            original_tokens = fields.integer("rope.scaling.original_context_length") or context_tokens
            yarn = YarnScaling(
                factor=factor,
                original_tokens=original_tokens,
                beta_fast=fields.number("rope.scaling.yarn_beta_fast", 1e-3, 1e6) or YARN_BETA_FAST,
                beta_slow=fields.number("rope.scaling.yarn_beta_slow", 1e-3, 1e6) or YARN_BETA_SLOW,
                is_truncated=True,
            )
            base = scale_yarn(base, theta, yarn)
            scale = yarn_scale(factor)
            context_tokens = min(max(context_tokens, int(original_tokens * factor)), MAX_COUNT)
        case _:
            raise fields.refused("rope.scaling.type", f"is {shown(kind)}; none, linear and yarn are supported")
    if attention_factor is not None:
        scale *= attention_factor
    return Rope(tuple(base), scale, spec.gguf_rope_pairs), context_tokens


def _rope_factors(fields: Fields, factors: StoredTensor, file: MappedFile, head_dim: int) -> tuple[float, ...]:
    """The converter's form of llama3 scaling: what each pair's frequency is divided by."""
    count = head_dim // 2
    if factors.dtype is not DType.F32 or math.prod(factors.dims) != count:
        raise refusal(
            file.path, f"tensor {ROPE_FACTORS} is {factors.dtype.name} {list(factors.dims)}, F32 [{count}] is expected"
        )
    divisors: tuple[float, ...] = struct.unpack(f"<{count}f", read_at(file, factors.offset, 4 * count))
    if not all(1e-6 <= divisor <= 1e6 for divisor in divisors):
        raise refusal(file.path, f"tensor {ROPE_FACTORS} holds a factor outside 1e-6 to 1e6")
    return divisors
