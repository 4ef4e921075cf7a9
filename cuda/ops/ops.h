// ops.h: every operator that a model program may call, implemented by host/ and (later) by kernels/.
//
// Letters: T rows of the batch (tokens of a span, or lanes of a round), H hidden, F ffn, V vocabulary, NH query heads, NK kv heads,
// D head size, N and K rows and columns of a weight. All activations are float32, row-major. Destination first, then sources,
// then sizes. A call returns when its result may be used by the next call (the CPU: done; CUDA: ordered on the stream).
//
// Row invariance: row t of every result depends on row t of the sources and on the weights alone. The order of every sum
// is a function of the shape alone (never of T, of the thread count, or of the phase), so prefill and decode give the same bits.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../include/ignis_step.h"

namespace ignis {

// What the operators run on (the CPU's is in host/device.h: threads and instruction set). The leaf opens one a model, and knows no
// more of it.
struct Device;
Device *device_open(uint32_t num_threads);  // null where the system refuses so many threads
void device_close(Device *device);          // null is fine
const char *device_isa();                   // this process's, as ignis_device_info has it

// A stored weight [rows, cols] in the layout that this device's kernels want. `packed` lies in the model's arena.
struct Matrix {
  uint32_t rows = 0, cols = 0;
  ignis_dtype dtype = IGNIS_F32;  // as stored
  const void *packed = nullptr;   // matrix_pack's output, or == source where no repacking is needed
  const void *source = nullptr;   // the mapped file's bytes: rows of an embedding are read from here
};

// Bytes that matrix_pack needs for it; 0 where the stored layout is used as it is. 64-byte aligned.
uint64_t matrix_bytes(ignis_dtype dtype, uint32_t rows, uint32_t cols);
// Fills m->packed (memory of matrix_bytes at `packed`) from m->source. Parallel inside.
void matrix_pack(Device &device, Matrix *m, void *packed);

// Rows x of a linear layer in the forms that its weights' kernels read (float32, bfloat16, or 15 bits with a scale and a sum for
// each 32 columns, as two planes of int8: int8 alone moves SmolLM2's logits by 5 % and changes its answers, spec/adr/0005).
// Prepared once, used by every matrix with that input.
struct Activations {
  uint32_t T = 0, K = 0;
  const float *x = nullptr;  // [T, K], the source itself
  void *memory = nullptr;    // activations_bytes(max T, max K)
};
uint64_t activations_bytes(uint32_t max_T, uint32_t max_K);
// After this, `a` serves linear() with any of `num` matrices (all with K columns).
void prepare(Device &device, Activations *a, const float *x, uint32_t T, uint32_t K, const Matrix *const *users, uint32_t num);

// y[t, n] = sum_k a[t, k] w[n, k]. One parallel region for all of them (q, k, v or gate, up share their input).
struct Linear {
  float *y;          // [T, ldy]
  const Matrix *w;
  uint32_t ldy;      // floats between two rows of y, >= w->rows
  bool accumulates;  // y += instead of y =: the residual add. y's old value is added last.
};
void linear(Device &device, const Linear *jobs, uint32_t num, const Activations &a);

void embed(Device &device, float *x, const Matrix &table, const int32_t *tokens, uint32_t T);                       // x [T, H]
void rms_norm(Device &device, float *y, const float *x, const float *w, uint32_t T, uint32_t H, float eps);         // w [H]
void head_norm(Device &device, float *x, const float *w, uint32_t T, uint32_t heads, uint32_t D, float eps, uint32_t ldx);  // in place
void swiglu(Device &device, float *y, const float *gate, const float *up, uint32_t T, uint32_t F);                  // silu(gate) * up

// Rows that belong to one sequence, in rising position. A span is one group of T rows; a round is T groups of one row.
struct Group {
  uint32_t row, num_rows;
  uint32_t position;          // of its first row
  const int32_t *page_table;
};

// One layer's part of a page starts at pool + page * page_stride + layer_offset and is kv_layer_bytes() long. Within it the device lays
// K and V out as it likes (host/kv_page.h draws the CPU's). Positions that were never stored hold anything, NaN too.
struct KvLayer {
  uint8_t *pool;
  uint64_t page_stride;
  uint64_t layer_offset;
  ignis_dtype dtype;  // IGNIS_F32 or IGNIS_F16; K and V are rounded to it when they are stored, queries never
  uint32_t NK, D;
};
uint64_t kv_layer_bytes(ignis_dtype dtype, uint32_t NK, uint32_t D);

// Rotates q [T, NH, D] and k [T, NK, D] in place at their positions, then stores k and v into the pages. inv_freq [D / 2]; cos and sin
// are multiplied by scale.
struct Rope {
  const float *inv_freq;
  float scale;
  ignis_rope_pairs pairs;
};
void rope_and_store(Device &device, float *q, float *k, const float *v, const KvLayer &kv, const Group *groups, uint32_t num_groups,
                    uint32_t NH, const Rope &rope, const float *angles);
// Fills angles [T, D] (cos of the D / 2 pairs, then sin) once a step; every layer's rope_and_store reads it.
void rope_angles(Device &device, float *angles, const Rope &rope, uint32_t D, const Group *groups, uint32_t num_groups);

// out [T, NH, D] = softmax(q k^T / sqrt(D)) v over positions [0, own]. Each page (64 absolute positions) gives a maximum, a sum and a
// weighted V of its own; they are merged page by page in rising order. The split follows absolute positions, never the batch.
void attention(Device &device, float *out, const float *q, const KvLayer &kv, const Group *groups, uint32_t num_groups, uint32_t NH,
               void *workspace);
// For sequences of at most max_context positions.
uint64_t attention_bytes(uint32_t num_threads, uint32_t max_context, uint32_t NH, uint32_t NK, uint32_t D);

// A lane's tokens, as the penalties count them.
struct LaneTokens {
  uint32_t *output_counts;  // [V]
  uint32_t *is_seen;        // [ceil(V / 32)] bits: in the prompt or in the output
  int32_t *seen;            // [V] the ids whose bit is set, num_seen of them, in order of arrival
  uint32_t num_seen;
};
void lane_tokens_clear(LaneTokens *tokens);
void lane_tokens_add(LaneTokens *tokens, int32_t token, bool is_output);

// One row to draw for. The order of operations is ignis_sampling's.
struct SampleRow {
  const float *logits;             // [V], raw
  const ignis_sampling *sampling;
  const LaneTokens *tokens;
  uint32_t position;               // of the token that is drawn
};
// draws [num_rows]. False where a row's logits give no token (all -inf, or NaN or +inf among them); its number is then in *bad_row.
bool sample(Device &device, ignis_draw *draws, const SampleRow *rows, uint32_t num_rows, uint32_t V, void *workspace, uint32_t *bad_row);
uint64_t sample_bytes(uint32_t num_threads, uint32_t V);

}  // namespace ignis
