// operators.cpp: ignis_ops.h on ops.h: the same calls for either device. Takes its memory from one arena, given back at the next call.
#include "../include/ignis_ops.h"

#include <stdlib.h>
#include <string.h>

#include "../base/status.h"
#include "../base/time.h"
#include "../quant/formats.h"
#include "model.h"

using namespace ignis;

struct ignis_ops {
  Device *device;
  Arena arena, pool;
  uint32_t num_threads;
  Phase phase;
  KvLayer kv;
  uint32_t NH, max_context;
};

// Memory of one call.
struct Scratch {
  ignis_ops *ops;
  bool is_short = false;

  explicit Scratch(ignis_ops *own) : ops(own) { ops->arena.used_bytes = 0; }

  void *take(uint64_t size_bytes) {
    const uint64_t size = align_up(size_bytes, ARENA_ALIGNMENT);
    if (size > ops->arena.size_bytes - ops->arena.used_bytes) is_short = true;
    return is_short ? ops->arena.base : arena_take(&ops->arena, size);
  }
  void *zeros(uint64_t size_bytes) { return filled(size_bytes, 0); }
  // NaN as floats of any type: what a kernel must have written before it reads.
  void *rubbish(uint64_t size_bytes) { return filled(size_bytes, 0xff); }
  float *poisoned(uint64_t num) { return static_cast<float *>(rubbish(num * sizeof(float))); }
  void *copied(const void *source, uint64_t size_bytes) {
    void *memory = take(size_bytes);
    if (!is_short) upload(*ops->device, memory, source, size_bytes);
    return memory;
  }
  const float *floats(const float *source, uint64_t num) { return static_cast<const float *>(copied(source, num * sizeof(float))); }
  ignis_status status() const {
    if (!is_short) return IGNIS_OK;
    return fail(IGNIS_NO_MEMORY, "%llu bytes are too few for this operator", static_cast<unsigned long long>(ops->arena.size_bytes));
  }

 private:
  void *filled(uint64_t size_bytes, int byte) {
    void *source = malloc(size_bytes);
    if (!source) {
      is_short = true;
      return nullptr;
    }
    memset(source, byte, size_bytes);
    void *memory = copied(source, size_bytes);
    free(source);
    return memory;
  }
};

#define CHECK(call) \
  if (const ignis_status status = (call); status != IGNIS_OK) return status

// The mean seconds of num_rounds calls of function().
template <class Function>
static ignis_status time_rounds(Device &device, uint32_t num_rounds, double *seconds, const Function &function) {
  if (!seconds || num_rounds == 0) return IGNIS_OK;
  CHECK(wait(device));
  const double start_s = now_s();
  for (uint32_t round = 0; round < num_rounds; round++) function();
  CHECK(wait(device));
  *seconds = (now_s() - start_s) / num_rounds;
  return IGNIS_OK;
}

ignis_status ignis_ops_open(uint32_t num_threads, uint64_t memory_bytes, ignis_ops **result) {
  clear_last_error();
  ignis_ops *ops = static_cast<ignis_ops *>(calloc(1, sizeof(ignis_ops)));
  if (!ops) return fail(IGNIS_NO_MEMORY, "no memory for the operators' record");
  ops->num_threads = num_threads ? num_threads : 1;
  ignis_status status = device_open(&ops->device, ops->num_threads);
  if (status == IGNIS_OK && !memory_open(*ops->device, &ops->arena, memory_bytes))
    status = fail(IGNIS_NO_MEMORY, "the device refuses %llu bytes", static_cast<unsigned long long>(memory_bytes));
  if (status != IGNIS_OK)
    ignis_ops_close(ops);
  else
    *result = ops;
  return status;
}

void ignis_ops_close(ignis_ops *ops) {
  if (!ops) return;
  if (ops->device) {
    memory_close(*ops->device, &ops->arena);
    memory_close(*ops->device, &ops->pool);
  }
  device_close(ops->device);
  free(ops);
}

void ignis_ops_phase(ignis_ops *ops, uint32_t phase) { ops->phase = phase ? Phase::decode : Phase::prefill; }

static Matrix matrix_of(const ignis_tensor &tensor, const void *data) {
  Matrix matrix;
  matrix.rows = static_cast<uint32_t>(tensor.rows);
  matrix.cols = static_cast<uint32_t>(tensor.cols);
  matrix.dtype = static_cast<ignis_dtype>(tensor.dtype);
  matrix.source = static_cast<const uint8_t *>(data) + tensor.offset;
  if (has_block_scales(matrix.dtype)) {
    matrix.scale_dtype = static_cast<ignis_dtype>(tensor.scale_dtype);
    matrix.scales = static_cast<const uint8_t *>(data) + tensor.scale_offset;
  }
  return matrix;
}

ignis_status ignis_ops_linear(ignis_ops *ops, float *const *ys, const ignis_tensor *weights, uint32_t num_weights, const void *data,
                              const float *x, uint32_t T, uint32_t accumulates, uint32_t num_rounds, double *seconds) {
  constexpr uint32_t MOST = 4;
  clear_last_error();
  if (num_weights == 0 || num_weights > MOST) return fail(IGNIS_INVALID, "num_weights is %u; allowed is 1 to %u", num_weights, MOST);
  Device &device = *ops->device;
  Scratch scratch(ops);
  const uint32_t K = static_cast<uint32_t>(weights[0].cols);
  Matrix matrices[MOST];
  const Matrix *users[MOST];
  Linear jobs[MOST];
  for (uint32_t i = 0; i < num_weights; i++) {
    matrices[i] = matrix_of(weights[i], data);
    users[i] = &matrices[i];
    const uint32_t rows = matrices[i].rows;
    const uint64_t packed_bytes = matrix_bytes(matrices[i].dtype, rows, K);
    void *packed = packed_bytes ? scratch.rubbish(packed_bytes) : nullptr;
    float *y = accumulates ? static_cast<float *>(scratch.copied(ys[i], uint64_t{T} * rows * sizeof(float)))
                           : scratch.poisoned(uint64_t{T} * rows);
    CHECK(scratch.status());
    matrix_pack(device, &matrices[i], packed);
    jobs[i] = Linear{y, &matrices[i], rows, accumulates != 0};
  }
  Activations activations;
  const float *input = scratch.floats(x, uint64_t{T} * K);
  activations.size_bytes = activations_bytes(T, K);
  activations.memory = scratch.rubbish(activations.size_bytes);
  CHECK(scratch.status());
  step_begin(device, StepInputs{ops->phase, nullptr, 0, 0, nullptr, 0, nullptr, 0});
  const auto run = [&] {
    prepare(device, &activations, input, T, K, users, num_weights);
    linear(device, jobs, num_weights, activations);
  };
  run();
  for (uint32_t i = 0; i < num_weights; i++)
    CHECK(download(device, ys[i], jobs[i].y, uint64_t{T} * matrices[i].rows * sizeof(float)));
  return time_rounds(device, num_rounds, seconds, run);
}

ignis_status ignis_ops_linear_choice(ignis_ops *ops, const ignis_tensor *weights, uint32_t num_weights, uint32_t T, uint32_t *tile_rows,
                                     uint32_t *tile_tokens, uint32_t *takes_eights) {
  constexpr uint32_t MOST = 3;
  clear_last_error();
  if (num_weights == 0 || num_weights > MOST) return fail(IGNIS_INVALID, "num_weights is %u; allowed is 1 to %u", num_weights, MOST);
  Matrix matrices[MOST];
  Linear jobs[MOST];
  for (uint32_t i = 0; i < num_weights; i++) {
    matrices[i] = matrix_of(weights[i], nullptr);
    jobs[i] = Linear{nullptr, &matrices[i], matrices[i].rows, false};
  }
  const LinearChoice choice = linear_choice(*ops->device, jobs, num_weights, T);
  *tile_rows = choice.rows;
  *tile_tokens = choice.tokens;
  *takes_eights = choice.takes_eights;
  return IGNIS_OK;
}

ignis_status ignis_ops_embed(ignis_ops *ops, float *x, const ignis_tensor *table, const void *data, const int32_t *tokens, uint32_t T,
                             uint32_t is_head) {
  clear_last_error();
  Device &device = *ops->device;
  Scratch scratch(ops);
  Matrix matrix = matrix_of(*table, data);
  const bool is_packed = is_head && embeds_packed(matrix.dtype);
  const StepLimits limits{T, 1, 1, 1};
  const uint64_t stored_bytes = (is_packed ? matrix_bytes : table_bytes)(matrix.dtype, matrix.rows, matrix.cols);
  const uint64_t num = uint64_t{T} * matrix.cols;
  void *stored = scratch.take(stored_bytes);
  void *step_memory = scratch.zeros(step_bytes(limits));
  float *result = scratch.poisoned(num);
  CHECK(scratch.status());
  (is_packed ? matrix_pack : table_store)(device, &matrix, stored);
  step_place(device, limits, step_memory);
  const int32_t page_table[] = {0};
  const Group group{0, 1, 0, page_table};
  step_begin(device, StepInputs{ops->phase, tokens, T, 0, &group, 1, nullptr, 0});
  embed(device, result, matrix, tokens, T);
  return download(device, x, result, num * sizeof(float));
}

ignis_status ignis_ops_rms_norm(ignis_ops *ops, float *y, const float *x, const float *w, uint32_t T, uint32_t H, float eps) {
  clear_last_error();
  Scratch scratch(ops);
  const uint64_t num = uint64_t{T} * H;
  const float *source = scratch.floats(x, num), *weights = scratch.floats(w, H);
  float *result = scratch.poisoned(num);
  CHECK(scratch.status());
  rms_norm(*ops->device, result, source, weights, T, H, eps);
  return download(*ops->device, y, result, num * sizeof(float));
}

ignis_status ignis_ops_swiglu(ignis_ops *ops, float *y, const float *gate, const float *up, uint32_t T, uint32_t F) {
  clear_last_error();
  Scratch scratch(ops);
  const uint64_t num = uint64_t{T} * F;
  const float *left = scratch.floats(gate, num), *right = scratch.floats(up, num);
  float *result = scratch.poisoned(num);
  CHECK(scratch.status());
  swiglu(*ops->device, result, left, right, T, F);
  return download(*ops->device, y, result, num * sizeof(float));
}

ignis_status ignis_ops_pages(ignis_ops *ops, uint32_t kv_dtype, uint32_t num_pages, uint32_t max_context, uint32_t NH, uint32_t NK,
                             uint32_t D) {
  clear_last_error();
  memory_close(*ops->device, &ops->pool);
  const ignis_dtype dtype = static_cast<ignis_dtype>(kv_dtype);
  const uint64_t page_bytes = kv_layer_bytes(dtype, NK, D);
  if (!memory_open(*ops->device, &ops->pool, page_bytes * num_pages)) return fail(IGNIS_NO_MEMORY, "no memory for %u pages", num_pages);
  ops->kv = KvLayer{ops->pool.base, page_bytes, 0, dtype, NK, D};
  ops->NH = NH;
  ops->max_context = max_context;
  // Pages that nothing was stored in hold anything.
  void *rubbish = malloc(page_bytes);
  if (!rubbish) return fail(IGNIS_NO_MEMORY, "no memory for a page");
  memset(rubbish, 0xff, page_bytes);
  for (uint32_t page = 0; page < num_pages; page++) upload(*ops->device, ops->pool.base + page * page_bytes, rubbish, page_bytes);
  const ignis_status status = wait(*ops->device);
  free(rubbish);
  return status;
}

ignis_status ignis_ops_attend(ignis_ops *ops, float *out, const float *q, const float *k, const float *v, const uint32_t *counts,
                              const uint32_t *positions, const int32_t *page_tables, uint32_t num_groups, const float *q_norm,
                              const float *k_norm, float eps, const float *inv_freq, float rope_scale, uint32_t rope_pairs,
                              uint32_t num_rounds, double *seconds) {
  clear_last_error();
  Device &device = *ops->device;
  Scratch scratch(ops);
  const uint32_t D = ops->kv.D, NK = ops->kv.NK, NH = ops->NH, pages = (ops->max_context + IGNIS_PAGE_TOKENS - 1) / IGNIS_PAGE_TOKENS;
  Group groups[IGNIS_MAX_LANES];
  uint32_t T = 0;
  for (uint32_t g = 0; g < num_groups; g++) {
    groups[g] = Group{T, counts[g], positions[g], page_tables + uint64_t{g} * pages};
    T += counts[g];
  }
  const StepLimits limits{T, ops->max_context, IGNIS_MAX_LANES, 1};
  const uint64_t queries = uint64_t{T} * NH * D, keys = uint64_t{T} * NK * D;
  float *own_q = static_cast<float *>(scratch.copied(q, queries * sizeof(float)));
  float *own_k = static_cast<float *>(scratch.copied(k, keys * sizeof(float)));
  const float *values = scratch.floats(v, keys), *frequencies = scratch.floats(inv_freq, D / 2);
  const HeadNorms norms{q_norm ? scratch.floats(q_norm, D) : nullptr, k_norm ? scratch.floats(k_norm, D) : nullptr, eps};
  float *angles = scratch.poisoned(uint64_t{T} * 2 * D), *result = scratch.poisoned(queries);
  void *workspace = scratch.rubbish(attention_bytes(ops->num_threads, ops->max_context, NH, NK, D));
  void *step_memory = scratch.zeros(step_bytes(limits));
  int32_t *tokens = static_cast<int32_t *>(calloc(T, sizeof(int32_t)));
  if (!tokens) return fail(IGNIS_NO_MEMORY, "no memory for %u rows", T);
  const ignis_status status = scratch.status();
  if (status == IGNIS_OK) {
    step_place(device, limits, step_memory);
    step_begin(device, StepInputs{ops->phase, tokens, T, 0, groups, num_groups, nullptr, 0});
  }
  free(tokens);
  CHECK(status);
  const Rope rope{frequencies, rope_scale, static_cast<ignis_rope_pairs>(rope_pairs)};
  rope_angles(device, angles, rope, D, groups, num_groups);
  Activations nobodys;
  // A repetition for its time may norm and rotate what the one before left.
  const auto run = [&] {
    attention(device, result, own_q, own_k, values, ops->kv, groups, num_groups, 0, NH, norms, rope, angles, workspace, &nobodys, nullptr, 0);
  };
  run();
  CHECK(download(device, out, result, queries * sizeof(float)));
  return time_rounds(device, num_rounds, seconds, run);
}

ignis_status ignis_ops_sample(ignis_ops *ops, ignis_draw *draws, const float *logits, const ignis_sampling *sampling,
                              const uint32_t *positions, const int32_t *const *prompts, const uint32_t *num_prompts,
                              const int32_t *const *outputs, const uint32_t *num_outputs, uint32_t num_rows, uint32_t V,
                              uint32_t num_rounds, double *seconds) {
  clear_last_error();
  Device &device = *ops->device;
  Scratch scratch(ops);
  const StepLimits limits{IGNIS_MAX_LANES, 1, IGNIS_MAX_LANES, V};
  const float *raw = scratch.floats(logits, uint64_t{num_rows} * V);
  ignis_draw *drawn = static_cast<ignis_draw *>(scratch.rubbish(num_rows * sizeof(ignis_draw)));
  void *workspace = scratch.rubbish(sample_bytes(ops->num_threads, IGNIS_MAX_LANES, V));
  void *step_memory = scratch.take(step_bytes(limits));
  LaneTokens lanes[IGNIS_MAX_LANES];
  SampleRow rows[IGNIS_MAX_LANES];
  Group groups[IGNIS_MAX_LANES];
  const int32_t page_table[] = {0}, tokens[IGNIS_MAX_LANES] = {};
  for (uint32_t i = 0; i < num_rows; i++) {
    void *memory = scratch.zeros(lane_tokens_bytes(V));
    CHECK(scratch.status());
    lane_tokens_place(&lanes[i], memory, V);
    lane_tokens_set(device, &lanes[i], V, prompts[i], num_prompts[i], outputs[i], num_outputs[i]);
    rows[i] = SampleRow{sampling + i, &lanes[i], i, positions[i]};
    groups[i] = Group{i, 1, 0, page_table};
  }
  step_place(device, limits, step_memory);
  step_begin(device, StepInputs{ops->phase, tokens, num_rows, 0, groups, num_rows, rows, num_rows});
  const auto run = [&] { sample(device, drawn, raw, rows, num_rows, V, workspace); };
  run();
  CHECK(download(device, draws, drawn, num_rows * sizeof(ignis_draw)));
  return time_rounds(device, num_rounds, seconds, run);
}
