"""Qwen3 dense: Llama's decoder with an RMS norm on every query and key head before rope."""

from ignis.models.architecture import ArchitectureSpec, Dim, TensorSpec
from ignis.models.base import Architecture, RopePairs
from ignis.models.llama import HEAD, LAYER_TENSORS, MODEL_TENSORS

HEAD_NORMS = (
    TensorSpec("blk.{layer}.attn_q_norm.weight", "model.layers.{layer}.self_attn.q_norm.weight", Dim.ONE, Dim.HEAD),
    TensorSpec("blk.{layer}.attn_k_norm.weight", "model.layers.{layer}.self_attn.k_norm.weight", Dim.ONE, Dim.HEAD),
)

QWEN3 = ArchitectureSpec(
    architecture=Architecture.QWEN3,
    hf_class="Qwen3ForCausalLM",
    gguf_rope_pairs=RopePairs.HALVES,
    model_tensors=MODEL_TENSORS,
    layer_tensors=LAYER_TENSORS + HEAD_NORMS,
    head=HEAD,
)
