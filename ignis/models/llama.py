"""Llama, and what is built like it (SmolLM2): the dense decoder with grouped heads, RMS norms and SwiGLU."""

from ignis.models.architecture import TOKEN_TABLE, ArchitectureSpec, Dim, TensorSpec
from ignis.models.base import Architecture, RopePairs

MODEL_TENSORS = (
    TensorSpec(TOKEN_TABLE, "model.embed_tokens.weight", Dim.VOCAB, Dim.HIDDEN),
    TensorSpec("output_norm.weight", "model.norm.weight", Dim.ONE, Dim.HIDDEN),
)
HEAD = TensorSpec("output.weight", "lm_head.weight", Dim.VOCAB, Dim.HIDDEN)


def _layer(name: str, hf_name: str, rows: Dim, cols: Dim) -> TensorSpec:
    return TensorSpec(f"blk.{{layer}}.{name}.weight", f"model.layers.{{layer}}.{hf_name}.weight", rows, cols)


LAYER_TENSORS = (
    _layer("attn_norm", "input_layernorm", Dim.ONE, Dim.HIDDEN),
    _layer("attn_q", "self_attn.q_proj", Dim.QUERY, Dim.HIDDEN),
    _layer("attn_k", "self_attn.k_proj", Dim.KEY, Dim.HIDDEN),
    _layer("attn_v", "self_attn.v_proj", Dim.KEY, Dim.HIDDEN),
    _layer("attn_output", "self_attn.o_proj", Dim.HIDDEN, Dim.QUERY),
    _layer("ffn_norm", "post_attention_layernorm", Dim.ONE, Dim.HIDDEN),
    _layer("ffn_gate", "mlp.gate_proj", Dim.FFN, Dim.HIDDEN),
    _layer("ffn_up", "mlp.up_proj", Dim.FFN, Dim.HIDDEN),
    _layer("ffn_down", "mlp.down_proj", Dim.HIDDEN, Dim.FFN),
)

LLAMA = ArchitectureSpec(
    architecture=Architecture.LLAMA,
    hf_class="LlamaForCausalLM",
    # The converter reorders q and k rows so that a pair's two dims are neighbours.
    gguf_rope_pairs=RopePairs.ADJACENT,
    model_tensors=MODEL_TENSORS,
    layer_tensors=LAYER_TENSORS,
    head=HEAD,
)
