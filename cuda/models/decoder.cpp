#include "decoder.h"

#include <stdio.h>

namespace ignis {

static TensorSlot *next(TensorSlot *slots, uint32_t *num) { return slots ? slots + (*num)++ : (++*num, nullptr); }

static void matrix(TensorSlot *slot, const char *name, uint32_t rows, uint32_t cols, Matrix *target) {
  if (!slot) return;
  *slot = TensorSlot{};
  snprintf(slot->name, sizeof slot->name, "%s", name);
  slot->rows = rows;
  slot->cols = cols;
  slot->matrix = target;
}

uint32_t list_layer_vectors(TensorSlot *slots, uint32_t num, DecoderWeights *weights, const ignis_shape &shape, const char *name,
                            uint32_t cols, const float *DecoderLayer::*member) {
  for (uint32_t layer = 0; layer < shape.num_layers; layer++) {
    TensorSlot *slot = next(slots, &num);
    if (!slot) continue;
    *slot = TensorSlot{};
    snprintf(slot->name, sizeof slot->name, "blk.%u.%s", layer, name);
    slot->rows = 1;
    slot->cols = cols;
    slot->vector = &(weights->layers[layer].*member);
  }
  return num;
}

static uint32_t list_layer_matrices(TensorSlot *slots, uint32_t num, DecoderWeights *weights, const ignis_shape &shape, const char *name,
                                    uint32_t rows, uint32_t cols, Matrix DecoderLayer::*member) {
  for (uint32_t layer = 0; layer < shape.num_layers; layer++) {
    TensorSlot *slot = next(slots, &num);
    char full_name[64];
    snprintf(full_name, sizeof full_name, "blk.%u.%s", layer, name);
    matrix(slot, full_name, rows, cols, slot ? &(weights->layers[layer].*member) : nullptr);
  }
  return num;
}

uint32_t list_decoder_tensors(TensorSlot *slots, DecoderWeights *weights, const ignis_shape &shape) {
  const uint32_t H = shape.hidden_size, F = shape.ffn_size, V = shape.vocab_size;
  const uint32_t Q = shape.num_heads * shape.head_dim, KV = shape.num_kv_heads * shape.head_dim;
  uint32_t num = 0;
  TensorSlot *table = next(slots, &num);
  matrix(table, "token_embd.weight", V, H, &weights->embedding);
  if (table) table->is_table = true;
  TensorSlot *head = next(slots, &num);
  matrix(head, "output.weight", V, H, &weights->head);
  if (head) head->is_optional = true;
  if (TensorSlot *slot = next(slots, &num)) {
    *slot = TensorSlot{};
    snprintf(slot->name, sizeof slot->name, "output_norm.weight");
    slot->rows = 1;
    slot->cols = H;
    slot->vector = &weights->output_norm;
  }
  num = list_layer_vectors(slots, num, weights, shape, "attn_norm.weight", H, &DecoderLayer::attention_norm);
  num = list_layer_matrices(slots, num, weights, shape, "attn_q.weight", Q, H, &DecoderLayer::q);
  num = list_layer_matrices(slots, num, weights, shape, "attn_k.weight", KV, H, &DecoderLayer::k);
  num = list_layer_matrices(slots, num, weights, shape, "attn_v.weight", KV, H, &DecoderLayer::v);
  num = list_layer_matrices(slots, num, weights, shape, "attn_output.weight", H, Q, &DecoderLayer::output);
  num = list_layer_vectors(slots, num, weights, shape, "ffn_norm.weight", H, &DecoderLayer::ffn_norm);
  num = list_layer_matrices(slots, num, weights, shape, "ffn_gate.weight", F, H, &DecoderLayer::gate);
  num = list_layer_matrices(slots, num, weights, shape, "ffn_up.weight", F, H, &DecoderLayer::up);
  return list_layer_matrices(slots, num, weights, shape, "ffn_down.weight", H, F, &DecoderLayer::down);
}

static KvLayer kv_of(const Decoder &decoder, uint32_t layer) {
  KvLayer kv = decoder.kv;
  kv.layer_offset = layer * decoder.layer_bytes;
  return kv;
}

// Rows of the last layer that nobody reads are left out after their K and V are stored.
static uint32_t first_row(const Decoder &decoder, const Step &step, uint32_t layer) {
  return layer + 1 == decoder.shape.num_layers ? step.first_wanted : 0;
}

void begin(Decoder &decoder, const Step &step) {
  Device &device = *decoder.device;
  embed(device, decoder.work.x, decoder.weights.embedding, step.tokens, step.T);
  rope_angles(device, decoder.work.angles, decoder.rope, decoder.shape.head_dim, step.groups, step.num_groups);
}

void project(Decoder &decoder, const Step &step, uint32_t layer) {
  Device &device = *decoder.device;
  DecoderWork &work = decoder.work;
  const DecoderLayer &weights = decoder.weights.layers[layer];
  const ignis_shape &shape = decoder.shape;
  if (layer == 0) {  // later ones' rows are prepared by the layer before
    const Matrix *const users[] = {&weights.q, &weights.k, &weights.v};
    prepare_norm(device, &work.activations, work.normed, work.x, weights.attention_norm, shape.rms_eps, step.T, shape.hidden_size, users, 3);
  }
  const Linear jobs[] = {{work.q, &weights.q, weights.q.rows, false},
                         {work.k, &weights.k, weights.k.rows, false},
                         {work.v, &weights.v, weights.v.rows, false}};
  linear(device, jobs, 3, work.activations);
}

void attend(Decoder &decoder, const Step &step, uint32_t layer) {
  Device &device = *decoder.device;
  DecoderWork &work = decoder.work;
  const DecoderLayer &weights = decoder.weights.layers[layer];
  const ignis_shape &shape = decoder.shape;
  const KvLayer kv = kv_of(decoder, layer);
  const uint32_t first = first_row(decoder, step, layer), T = step.T - first;
  const Matrix *const users[] = {&weights.output};
  attention(device, work.attended, work.q, work.k, work.v, kv, step.groups, step.num_groups, first, shape.num_heads,
            HeadNorms{weights.q_norm, weights.k_norm, shape.rms_eps}, decoder.rope, work.angles, work.attention, &work.activations, users, 1);
  if (T == 0) return;
  const Linear job{work.x + uint64_t{first} * shape.hidden_size, &weights.output, shape.hidden_size, true};
  const Matrix *const next_users[] = {&weights.gate, &weights.up};
  linear_norm(device, job, &work.activations, work.normed, weights.ffn_norm, shape.rms_eps, next_users, 2);
}

void feed_forward(Decoder &decoder, const Step &step, uint32_t layer) {
  Device &device = *decoder.device;
  DecoderWork &work = decoder.work;
  const DecoderLayer &weights = decoder.weights.layers[layer];
  const uint32_t H = decoder.shape.hidden_size, F = decoder.shape.ffn_size;
  const float eps = decoder.shape.rms_eps;
  const uint32_t first = first_row(decoder, step, layer);
  if (first == step.T) return;
  const Linear gate{work.gate, &weights.gate, F, false}, up{work.up, &weights.up, F, false};
  const Matrix *const down_user[] = {&weights.down};
  linear_swiglu(device, gate, up, &work.activations, work.gate, down_user, 1);
  const Linear down{work.x + uint64_t{first} * H, &weights.down, H, true};
  work.has_head_rows = false;
  if (layer + 1 < decoder.shape.num_layers) {
    const DecoderLayer &next = decoder.weights.layers[layer + 1];
    const Matrix *const users[] = {&next.q, &next.k, &next.v};
    linear_norm(device, down, &work.activations, work.normed, next.attention_norm, eps, users, 3);
  } else if (step.is_round) {  // logits are asked for of all rows at once; a span of one row must take the longer ones' way
    const Matrix *const users[] = {&decoder.weights.head};
    linear_norm(device, down, &work.activations, work.normed, decoder.weights.output_norm, eps, users, 1);
    work.has_head_rows = true;
  } else {
    linear(device, &down, 1, work.activations);
  }
}

void end(Decoder &decoder, const Step &step) {
  const uint32_t H = decoder.shape.hidden_size, first = step.first_wanted;
  if (first == step.T || decoder.work.has_head_rows) return;
  rms_norm(*decoder.device, decoder.work.normed, decoder.work.x + uint64_t{first} * H, decoder.weights.output_norm, step.T - first, H,
           decoder.shape.rms_eps);
}

void logits(Decoder &decoder, float *y, uint32_t first, uint32_t num) {
  Device &device = *decoder.device;
  const uint32_t H = decoder.shape.hidden_size;
  const Matrix *const users[] = {&decoder.weights.head};
  if (!decoder.work.has_head_rows) prepare(device, &decoder.work.activations, decoder.work.normed + uint64_t{first} * H, num, H, users, 1);
  const Linear job{y, &decoder.weights.head, decoder.shape.vocab_size, false};
  linear(device, &job, 1, decoder.work.activations);
}

}  // namespace ignis
