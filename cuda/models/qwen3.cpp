// Qwen3 dense: as Llama, with a norm over each query and key head before the rotary embedding.
#include "decoder.h"

namespace ignis {

static uint32_t list_tensors(TensorSlot *slots, DecoderWeights *weights, const ignis_shape &shape) {
  uint32_t num = list_decoder_tensors(slots, weights, shape);
  num = list_layer_vectors(slots, num, weights, shape, "attn_q_norm.weight", shape.head_dim, &DecoderLayer::q_norm);
  return list_layer_vectors(slots, num, weights, shape, "attn_k_norm.weight", shape.head_dim, &DecoderLayer::k_norm);
}

static void forward(Decoder &decoder, const Step &step) {
  begin(decoder, step);
  for (uint32_t layer = 0; layer < decoder.shape.num_layers; layer++) {
    project(decoder, step, layer);
    attend(decoder, step, layer);  // with the norms of the heads, whose weights are there
    feed_forward(decoder, step, layer);
  }
  end(decoder, step);
}

extern const Program qwen3_program = {list_tensors, forward};

}  // namespace ignis
