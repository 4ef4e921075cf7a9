// ops.h: every operator that a model program may call, and the device under it, implemented by host/ and by kernels/.
//
// Letters: T rows of the batch (tokens of a span, or lanes of a round), H hidden, F ffn, V vocabulary, NH query heads, NK kv heads,
// D head size, N and K rows and columns of a weight. All activations are float32, row-major. Destination first, then sources,
// then sizes. A call returns when its result may be used by the next call (the CPU: done; CUDA: ordered on the stream).
//
// Row invariance: row t of every result depends on row t of the sources and on the weights alone. The order of every sum
// is a function of the shape and of the phase alone, never of T or of the thread count. A device whose two phases give different
// bits says so in device_probe (phases_agree); within each it keeps the rule.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../base/arena.h"
#include "../include/ignis_step.h"

namespace ignis {

// --- the device -----------------------------------------------------------------------------------------------------------------

// What the operators run on: the CPU's threads and instruction set (host/device.h), or a card and a stream (kernels/device.h). The
// leaf opens one a model, and knows no more of it.
struct Device;
ignis_status device_probe(ignis_device_info *info);  // fills everything but size; IGNIS_NO_DEVICE says why
ignis_status device_open(Device **device, uint32_t num_threads);
void device_close(Device *device);  // null is fine

// Memory that the operators read and write, zero at first; at load only. Where the CPU is the device it is ordinary memory.
bool memory_open(Device &device, Arena *arena, uint64_t size_bytes);
void memory_close(Device &device, Arena *arena);
// Host memory that a card copies from and to without holding up its caller; at load only. Bytes are anything at first.
bool host_open(Device &device, Arena *arena, uint64_t size_bytes);
void host_close(Device &device, Arena *arena);
// To such memory. Ordered before every later call, and not waited for.
void copy_out(Device &device, void *to, const void *from, uint64_t size_bytes);
// From the caller's memory, which may be used again when it returns. Ordered before every later call.
void upload(Device &device, void *to, const void *from, uint64_t size_bytes);
// Between two places of that memory that do not overlap.
void copy(Device &device, void *to, const void *from, uint64_t size_bytes);
// Waits until all calls before it are done; says whether they all went well. IGNIS_FAULT is for ever.
ignis_status wait(Device &device);
ignis_status download(Device &device, void *to, const void *from, uint64_t size_bytes);  // waits, too

// Calls between record_begin and record_end that a device can keep under a key (a decode width, 1..IGNIS_MAX_LANES) and do again
// with the inputs of a later step_begin; they are not done while they are kept. False where it keeps nothing: the caller makes the
// calls at every step.
bool record_begin(Device &device, uint32_t key);
ignis_status record_end(Device &device, uint32_t key);
bool replay(Device &device, uint32_t key);  // false: nothing is kept under the key
bool is_recorded(const Device &device, uint32_t key);
// Memory of the device, beside all arenas, that is allowed for the rounds of num_keys widths of a model of num_layers.
uint64_t recorded_bytes(uint32_t num_layers, uint32_t num_keys);

// Of the last step: from step_begin to the wait that ended it. Fills everything but size.
void step_times(Device &device, ignis_step_times *times);
// IGNIS_NO_MEMORY where the device has too little left. Fills everything but size.
ignis_status ceilings(Device &device, ignis_ceilings *result);

// --- weights --------------------------------------------------------------------------------------------------------------------

// A stored weight [rows, cols] in the layout that this device's kernels want. `packed` lies in the model's arena.
struct Matrix {
  uint32_t rows = 0, cols = 0;
  ignis_dtype dtype = IGNIS_F32;  // as stored
  const void *packed = nullptr;   // matrix_pack's output
  const void *source = nullptr;   // the stored bytes, in the mapped file or in memory
  const void *scales = nullptr;   // F8_E4M3's block scales, likewise, or null with source; not read after matrix_pack
  ignis_dtype scale_dtype = IGNIS_F32;
  uint32_t seed = 0, tensor = 0;  // where source is null: the stored bytes are made, as quant/synthetic.h says
};

// Columns that matrix_pack takes at most of that type.
uint32_t max_columns(ignis_dtype dtype);
// Bytes that matrix_pack needs for it. A multiple of ARENA_ALIGNMENT.
uint64_t matrix_bytes(ignis_dtype dtype, uint32_t rows, uint32_t cols);
// Fills m->packed (memory of matrix_bytes at `packed`) from m->source, which is not read after the return. Parallel inside.
void matrix_pack(Device &device, Matrix *m, void *packed);
// The same for the embedding, whose rows are read by number. table_store sets m->source, too.
uint64_t table_bytes(ignis_dtype dtype, uint32_t rows, uint32_t cols);
void table_store(Device &device, Matrix *m, void *stored);

// A device that reads files itself is told what the next calls of matrix_pack and table_store will be, in their order.
struct Stored {
  Matrix matrix;       // as it will be given
  int32_t descriptor;  // of the file that has it at `offset`; -1: it is read from its source
  uint64_t offset;
  bool is_table;       // for table_store
  int32_t scale_descriptor = -1;  // of the scales, likewise
  uint64_t scale_offset = 0;
};
// Until store_end the device may use staging_bytes() of its memory at `staging`. `list` is the caller's until then. matrix_pack and
// table_store do nothing more once progress->is_cancelled is set.
uint64_t staging_bytes();
void store_begin(Device &device, const Stored *list, uint32_t num, void *staging, const ignis_load_progress *progress);
// Waits until all that was stored is there; says whether all went well. Gives back everything that carried it.
ignis_status store_end(Device &device);

// --- a step ---------------------------------------------------------------------------------------------------------------------

// Rows that belong to one sequence, in rising position. A span is one group of T rows; a round is T groups of one row.
struct Group {
  uint32_t row, num_rows;
  uint32_t position;          // of its first row
  const int32_t *page_table;  // the caller's memory
};

// A lane's tokens, as the penalties count them.
struct LaneTokens {
  uint32_t *output_counts;  // [V]
  uint32_t *is_seen;        // [ceil(V / 32)] bits: in the prompt or in the output
  int32_t *seen;            // [V] the ids whose bit is set, num_seen of them, in order of arrival; on a card, tokens on their way there
  uint32_t num_seen;
};
uint64_t lane_tokens_bytes(uint32_t V);
void lane_tokens_place(LaneTokens *tokens, void *memory, uint32_t V);  // memory is zero
// Counts become those of the prompt and of the output so far.
void lane_tokens_set(Device &device, LaneTokens *tokens, uint32_t V, const int32_t *prompt, uint32_t num_prompt, const int32_t *output,
                     uint32_t num_output);

// One row to draw for. The order of operations is ignis_sampling's.
struct SampleRow {
  const ignis_sampling *sampling;  // the caller's memory
  LaneTokens *tokens;
  uint32_t lane;
  uint32_t position;  // of the token that is drawn
};

// What a step is, by its kind and never by its size: a span of one row is prefill. Rounds that are kept are decode.
enum class Phase : uint32_t { prefill, decode };

// Everything that changes from step to step, in the caller's memory. A device that cannot read that takes its copies here, at
// addresses that stay, and its operators read those: then the tokens, positions, page tables and sampling that the operators of the
// step are called with are not looked at, only which rows they are.
struct StepInputs {
  Phase phase;
  const int32_t *tokens;  // [T]; T is 0 where operators are called for their own sake
  uint32_t T, first_wanted;  // Step's
  const Group *groups;
  uint32_t num_groups;
  const SampleRow *draws;
  uint32_t num_draws;
};
struct StepLimits {
  uint32_t max_rows, max_context, max_lanes, V;
};
uint64_t step_bytes(const StepLimits &limits);
void step_place(Device &device, const StepLimits &limits, void *memory);
// Before the step's first operator. The phase holds for every operator until the next one.
void step_begin(Device &device, const StepInputs &inputs);

// Behind a replayed round: makes of its draws [num] the inputs of the same rows one position on, for a replay that comes next, and keeps
// them for step_kept, which waits for them and not for that replay.
void step_ahead(Device &device, const ignis_draw *draws, uint32_t num);
ignis_status step_kept(Device &device, ignis_draw *draws, uint32_t num);

// --- linear layers --------------------------------------------------------------------------------------------------------------

// Rows x of a linear layer in the forms that its weights' kernels read. The CPU: float32, bfloat16, or 15 bits with a scale and a sum for
// each 32 columns, as two planes of int8 (int8 alone moves SmolLM2's logits by 5 % and changes its answers, spec/adr/0005). A card:
// float32, float16 times a power of two of the row, or codes of E4M3 (kernels/round_input.cuh, kernels/linear_span_input.cuh).
// Prepared once, used by every matrix with that input.
struct Activations {
  uint32_t T = 0, K = 0;
  const float *x = nullptr;  // [T, K], the source itself
  void *memory = nullptr;    // [size_bytes]
  uint64_t size_bytes = 0;   // activations_bytes(max T, max K)
  uint32_t half = 0;         // a device may keep two sets of rows in it, one being read while the other is made: which one is in use
  float eps = -1.0f;         // of a norm whose 1 / sqrt(mean(x^2) + eps) the rows still lack; < 0: they lack nothing
};
uint64_t activations_bytes(uint32_t max_T, uint32_t max_K);
// After this, `a` serves linear() with any of `num` matrices (all with K columns).
void prepare(Device &device, Activations *a, const float *x, uint32_t T, uint32_t K, const Matrix *const *users, uint32_t num);
// The same with x made first: y = rms_norm(x), or y = swiglu(gate, up), as the operators below define them. y [T, K] is the device's to
// leave unwritten where no kernel reads it.
void prepare_norm(Device &device, Activations *a, float *y, const float *x, const float *w, float eps, uint32_t T, uint32_t K,
                  const Matrix *const *users, uint32_t num);
void prepare_swiglu(Device &device, Activations *a, float *y, const float *gate, const float *up, uint32_t T, uint32_t K,
                    const Matrix *const *users, uint32_t num);

// y[t, n] = sum_k a[t, k] w[n, k]. One parallel region for all of them (q, k, v or gate, up share their input).
struct Linear {
  float *y;          // [T, ldy]
  const Matrix *w;
  uint32_t ldy;      // floats between two rows of y, >= w->rows
  bool accumulates;  // y += instead of y =: the residual add. y's old value is added last.
};
void linear(Device &device, const Linear *jobs, uint32_t num, const Activations &a);
// Which kernel of prefill linear() takes for jobs of one type, at most three, as far as it chooses: the tile of outputs of a block, and
// whether it multiplies rows as E4M3 codes. All 0 where a device has one. No bit depends on the tile.
struct LinearChoice {
  uint32_t rows = 0, tokens = 0;
  bool takes_eights = false;
};
LinearChoice linear_choice(const Device &device, const Linear *jobs, uint32_t num, uint32_t T);
// linear(), and prepare_norm() of its result, or prepare_swiglu() of its two: `a` is read, then holds the rows for `users`. One call,
// because a device may do it in one kernel. What the products and y are is as above; gate's and up's y may be left unwritten.
void linear_norm(Device &device, const Linear &job, Activations *a, float *y, const float *w, float eps, const Matrix *const *users, uint32_t num);
void linear_swiglu(Device &device, const Linear &gate, const Linear &up, Activations *a, float *y, const Matrix *const *users, uint32_t num);

// --- everything else ------------------------------------------------------------------------------------------------------------

// Rows are read from what table_store made. Where embeds_packed() says so, what matrix_pack made of a matrix of that type will do: so a model
// whose head is the embedding holds it once.
bool embeds_packed(ignis_dtype dtype);
void embed(Device &device, float *x, const Matrix &table, const int32_t *tokens, uint32_t T);                       // x [T, H]
void rms_norm(Device &device, float *y, const float *x, const float *w, uint32_t T, uint32_t H, float eps);         // w [H]
void swiglu(Device &device, float *y, const float *gate, const float *up, uint32_t T, uint32_t F);                  // silu(gate) * up

// One layer's part of a page starts at pool + page * page_stride + layer_offset and is kv_layer_bytes() long. Within it the device lays
// K and V out as it likes (host/kv_page.h and kernels/kv_page.cuh draw it). Positions that were never stored hold anything, NaN too.
struct KvLayer {
  uint8_t *pool;
  uint64_t page_stride;
  uint64_t layer_offset;
  ignis_dtype dtype;  // F32, F16, BF16 or F8_E4M3; K and V are rounded to it when they are stored
  uint32_t NK, D;
};
uint64_t kv_layer_bytes(ignis_dtype dtype, uint32_t NK, uint32_t D);

// The weights of the norms, and the rotation: cos and sin are multiplied by scale.
struct HeadNorms {
  const float *q, *k;  // [D] each, or null
  float eps;
};
struct Rope {
  const float *inv_freq;  // [D / 2]
  float scale;
  ignis_rope_pairs pairs;
};
// Fills angles [T, D] (cos of the D / 2 pairs, then sin) once a step; every layer's attention reads it.
void rope_angles(Device &device, float *angles, const Rope &rope, uint32_t D, const Group *groups, uint32_t num_groups);

// Norms each head of q [T, NH, D] and k [T, NK, D], where there are weights for it, rotates it at its row's position, and stores k and v
// into the pages. Then, for rows [first_wanted, T) of a span and for all of a round, out [T, NH, D] = softmax(q k^T / sqrt(D)) v over
// positions [0, own]. q and k are the device's to overwrite. Sums follow absolute positions (pages of 64; in a round runs of pages that
// follow from the row's own position), never the batch. Ends as prepare() of those rows for `users` does; out is the device's to leave
// unwritten where there are users and none of them reads it.
void attention(Device &device, float *out, float *q, float *k, const float *v, const KvLayer &kv, const Group *groups, uint32_t num_groups,
               uint32_t first_wanted, uint32_t NH, const HeadNorms &norms, const Rope &rope, const float *angles, void *workspace,
               Activations *a, const Matrix *const *users, uint32_t num_users);
// For sequences of at most max_context positions.
uint64_t attention_bytes(uint32_t num_threads, uint32_t max_context, uint32_t NH, uint32_t NK, uint32_t D);

// draws [num_rows], in the device's memory, from logits [num_rows, V], raw. Adds each drawn token to its lane's output. A row whose
// logits give no token (all -inf, or NaN or +inf among them) has token -1 and changes nothing.
void sample(Device &device, ignis_draw *draws, const float *logits, const SampleRow *rows, uint32_t num_rows, uint32_t V, void *workspace);
uint64_t sample_bytes(uint32_t num_threads, uint32_t max_lanes, uint32_t V);

}  // namespace ignis
