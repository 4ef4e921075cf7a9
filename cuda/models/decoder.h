// decoder.h: what the dense decoders share: weights, workspace, and the blocks that their programs are made of. What an
// architecture does, top to bottom, is in the file with its name.
//
//   x [T, H] = embedding of the tokens
//   layer:  h = norm(x);  q, k, v = h W^T;  rope;  x += attention(q, k, v) W_o^T
//           h = norm(x);  x += (silu(h W_gate^T) * (h W_up^T)) W_down^T
//   logits [T, V] = norm(x) W_head^T
#pragma once

#include <stdint.h>

#include "../ops/ops.h"

namespace ignis {

struct DecoderLayer {
  const float *attention_norm, *ffn_norm;  // [H]
  const float *q_norm, *k_norm;            // [D]; null where the architecture has none
  Matrix q, k, v, output;                  // [NH D, H], [NK D, H] twice, [H, NH D]
  Matrix gate, up, down;                   // [F, H] twice, [H, F]
};

struct DecoderWeights {
  Matrix embedding;  // [V, H], its rows are read by number; the head itself where is_in_head (leaf/plan.h)
  Matrix head;       // [V, H]; of the embedding's source where tied
  const float *output_norm;
  DecoderLayer *layers;  // [num_layers]
};

struct DecoderWork {
  float *x, *normed;            // [T, H]
  float *q, *attended;          // [T, NH D]
  float *k, *v;                 // [T, NK D]
  float *gate, *up;             // [T, F]
  float *angles;                // [T, 2 D]
  Activations activations;
  bool has_head_rows;           // activations are the wanted rows', as the head reads them
  void *attention;
};

struct Decoder {
  ignis_shape shape;
  Device *device;
  DecoderWeights weights;
  DecoderWork work;
  KvLayer kv;  // of layer 0; the next one's part is layer_bytes further
  uint64_t layer_bytes;
  Rope rope;
};

// T rows to run. Rows before first_wanted are run for their K and V alone; no hidden state is made for them.
struct Step {
  const int32_t *tokens;  // [T]
  uint32_t T, first_wanted;
  const Group *groups;  // one, or T of one row
  uint32_t num_groups;
  bool is_round;        // else a span, of one row too
};

// A tensor that an architecture has, and where to keep it.
struct TensorSlot {
  char name[64];
  uint32_t rows, cols;
  Matrix *matrix;        // or
  const float **vector;  // [cols] as float32
  bool is_optional;      // the head of a tied model
  bool is_table;         // the embedding, whose rows are read by number
};

// What an architecture is to the leaf.
struct Program {
  // Fills slots with places in weights, and returns their number. Where slots is null it only counts, and weights has no layers yet.
  uint32_t (*list_tensors)(TensorSlot *slots, DecoderWeights *weights, const ignis_shape &shape);
  // Runs the step and leaves rows [first_wanted, T) of work.normed for logits().
  void (*forward)(Decoder &decoder, const Step &step);
};

extern const Program llama_program, qwen3_program;

// The tensors that every dense decoder has, in the order of the program. Returns how many.
uint32_t list_decoder_tensors(TensorSlot *slots, DecoderWeights *weights, const ignis_shape &shape);
// Adds one slot per layer: a vector [cols] named "blk.<layer>.<name>". Returns the new number.
uint32_t list_layer_vectors(TensorSlot *slots, uint32_t num, DecoderWeights *weights, const ignis_shape &shape, const char *name,
                            uint32_t cols, const float *DecoderLayer::*member);

// Blocks, in the order in which a program calls them.
void begin(Decoder &decoder, const Step &step);                           // x, angles
void project(Decoder &decoder, const Step &step, uint32_t layer);         // q, k, v
void attend(Decoder &decoder, const Step &step, uint32_t layer);          // x += ..., q and k normed first where there are weights for it
void feed_forward(Decoder &decoder, const Step &step, uint32_t layer);    // x += ...
void end(Decoder &decoder, const Step &step);                             // normed

// y [num, V] = logits of `num` of the wanted rows, from the one with number `first` on.
void logits(Decoder &decoder, float *y, uint32_t first, uint32_t num);

}  // namespace ignis
