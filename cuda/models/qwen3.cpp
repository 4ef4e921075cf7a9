// Qwen3 dense: as Llama, with a norm over each query and key head before the rotary embedding.
#include "decoder.h"

namespace ignis {

static uint32_t list_tensors(TensorSlot *slots, DecoderWeights *weights, const ignis_shape &shape) {
  uint32_t num = list_decoder_tensors(slots, weights, shape);
  num = list_layer_vectors(slots, num, weights, shape, "attn_q_norm.weight", shape.head_dim, &DecoderLayer::q_norm);
  return list_layer_vectors(slots, num, weights, shape, "attn_k_norm.weight", shape.head_dim, &DecoderLayer::k_norm);
}

static void forward(Decoder &decoder, const Step &step) {
  const ignis_shape &shape = decoder.shape;
  const uint32_t NH = shape.num_heads, NK = shape.num_kv_heads, D = shape.head_dim;
  begin(decoder, step);
  for (uint32_t layer = 0; layer < shape.num_layers; layer++) {
    const DecoderLayer &weights = decoder.weights.layers[layer];
    project(decoder, step, layer);
    head_norm(*decoder.device, decoder.work.q, weights.q_norm, step.T, NH, D, shape.rms_eps, NH * D);
    head_norm(*decoder.device, decoder.work.k, weights.k_norm, step.T, NK, D, shape.rms_eps, NK * D);
    attend(decoder, step, layer);
    feed_forward(decoder, step, layer);
  }
  end(decoder, step);
}

extern const Program qwen3_program = {list_tensors, forward};

}  // namespace ignis
