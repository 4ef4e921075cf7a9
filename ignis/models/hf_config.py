"""What a Hugging Face folder's config.json says of its model: shape, rope, and whether the head is tied.

Reads both spellings of rope settings: rope_parameters, and rope_theta with rope_scaling. Where a field asks for
something that the forward pass does not do, it is refused by name.
"""

from collections.abc import Mapping

from ignis.models.architecture import ArchitectureSpec
from ignis.models.base import ModelShape, Rope, RopePairs
from ignis.models.fields import MAX_COUNT, Fields
from ignis.models.files import shown
from ignis.models.heads import read_heads
from ignis.models.rope import (
    YARN_BETA_FAST,
    YARN_BETA_SLOW,
    Llama3Scaling,
    YarnScaling,
    frequencies,
    scale_linear,
    scale_llama3,
    scale_yarn,
    yarn_scale,
)

DEFAULT_THETA = 10000.0
FULL_ATTENTION = "full_attention"
DEFAULT_MAX_WINDOW_LAYERS = 28

NEUTRAL_FIELDS: Mapping[str, tuple[object, ...]] = {
    "hidden_act": ("silu",),
    "attention_bias": (False,),
    "mlp_bias": (False,),
    "partial_rotary_factor": (1, 1.0),
    "num_experts": (0, 1),
    "num_local_experts": (0, 1),
    "attn_logit_softcapping": (),
    "final_logit_softcapping": (),
    "text_config": (),
}


def hf_shape(fields: Fields, spec: ArchitectureSpec) -> ModelShape:
    """Reads the shape out of config.json.

    Raises:
        ModelFileError: a field is missing, of the wrong type, out of range, or asks for what the forward pass lacks.
    """
    for name, neutral in NEUTRAL_FIELDS.items():
        fields.need_neutral(name, *neutral)
    _check_class(fields, spec)
    num_layers = fields.required_integer("num_hidden_layers")
    _check_windows(fields, num_layers)
    hidden_size = fields.required_integer("hidden_size")
    heads = read_heads(fields, hidden_size, "num_attention_heads", "num_key_value_heads", "head_dim")
    rope, context_tokens = _rope(fields, heads.head_dim)
    return ModelShape(
        architecture=spec.architecture,
        num_layers=num_layers,
        hidden_size=hidden_size,
        ffn_size=fields.required_integer("intermediate_size"),
        num_heads=heads.num_heads,
        num_kv_heads=heads.num_kv_heads,
        head_dim=heads.head_dim,
        vocab_size=fields.required_integer("vocab_size"),
        rms_eps=fields.required_number("rms_norm_eps", 1e-12, 1.0),
        rope=rope,
        context_tokens=context_tokens,
    )


def _check_class(fields: Fields, spec: ArchitectureSpec) -> None:
    """Other classes of the same model_type have other heads or other layers (classifiers, drafters)."""
    classes = fields.values.get("architectures")
    if classes is not None and classes != [spec.hf_class]:
        raise fields.refused("architectures", f'is {shown(classes)}, ["{spec.hf_class}"] is expected')


def _check_windows(fields: Fields, num_layers: int) -> None:
    """Refuses sliding windows that are in use; released configs declare windows and switch them off."""
    layer_types = fields.values.get("layer_types")
    if layer_types is not None:
        if not isinstance(layer_types, list):
            raise fields.refused("layer_types", f"is {shown(layer_types)}, a list is expected")
        for kind in layer_types:
            if kind != FULL_ATTENTION:
                raise fields.refused("layer_types", f"has {shown(kind)}, only {FULL_ATTENTION} is supported")
        return
    if fields.integer("sliding_window", 0) is None or not fields.flag("use_sliding_window", True):
        return
    if fields.has("use_sliding_window"):
        first = fields.integer("max_window_layers", 0)
        if (DEFAULT_MAX_WINDOW_LAYERS if first is None else first) >= num_layers:
            return
    raise fields.refused(
        "sliding_window", f"is {fields.integer('sliding_window', 0)}, sliding windows are not supported"
    )


def _rope(fields: Fields, head_dim: int) -> tuple[Rope, int]:
    """Returns the rope and the context that it reaches."""
    context_tokens = fields.required_integer("max_position_embeddings")
    settings = fields.members("rope_scaling" if fields.values.get("rope_scaling") else "rope_parameters")
    settings = settings or Fields(fields.path, {})
    settings.need_neutral("partial_rotary_factor", 1, 1.0)
    theta = settings.number("rope_theta", 1.0001, 1e15) or fields.number("rope_theta", 1.0001, 1e15) or DEFAULT_THETA
    base = frequencies(theta, head_dim)
    scale = 1.0
    kind = settings.text("rope_type") or settings.text("type") or "default"
    original = fields.integer("original_max_position_embeddings")
    if original is None:
        original = settings.integer("original_max_position_embeddings")
    match kind:
        case "default":
            if any(isinstance(value, Mapping) for value in settings.values.values()):
                raise settings.refused("rope_type", "is missing, and settings for each layer type are not supported")
        case "linear":
            base = scale_linear(base, settings.required_number("factor", 1.0, 1e6))
        case "llama3":
            base = scale_llama3(base, _llama3(settings, original or context_tokens))
        case "yarn":
            yarn = _yarn(settings, original, context_tokens)
            base = scale_yarn(base, theta, yarn)
            scale = _attention_factor(settings, yarn.factor)
            context_tokens = min(max(context_tokens, int(yarn.original_tokens * yarn.factor)), MAX_COUNT)
        case _:
            raise settings.refused("rope_type", f"is {shown(kind)}; default, linear, llama3 and yarn are supported")
    return Rope(tuple(base), scale, RopePairs.HALVES), context_tokens


def _llama3(settings: Fields, original_tokens: int) -> Llama3Scaling:
    low = settings.required_number("low_freq_factor", 0.0, 1e6)
    high = settings.required_number("high_freq_factor", 0.0, 1e6)
    if high <= low:
        raise settings.refused("high_freq_factor", f"is {high:g}, more than low_freq_factor {low:g} is expected")
    return Llama3Scaling(settings.required_number("factor", 1.0, 1e6), low, high, original_tokens)


def _yarn(settings: Fields, original_tokens: int | None, context_tokens: int) -> YarnScaling:
    factor = settings.number("factor", 1.0, 1e6)
    if factor is None:
        if original_tokens is None:
            raise settings.refused("factor", "is missing")
        factor = max(context_tokens / original_tokens, 1.0)
    return YarnScaling(
        factor=factor,
        original_tokens=original_tokens or context_tokens,
        beta_fast=settings.number("beta_fast", 1e-3, 1e6) or YARN_BETA_FAST,
        beta_slow=settings.number("beta_slow", 1e-3, 1e6) or YARN_BETA_SLOW,
        is_truncated=settings.flag("truncate", True),
    )


def _attention_factor(settings: Fields, factor: float) -> float:
    declared = settings.number("attention_factor", 0.0, 1e6)
    if declared is not None:
        return declared
    weight = settings.number("mscale", 0.0, 1e6)
    weight_all = settings.number("mscale_all_dim", 0.0, 1e6)
    if weight and weight_all:
        return yarn_scale(factor, weight) / yarn_scale(factor, weight_all)
    return yarn_scale(factor)
