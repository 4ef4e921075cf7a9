// plan.cpp: the memory plan of a load: which bytes it will hold, line by line. Holds none.
#include "plan.h"

#include "../base/machine.h"
#include "../base/status.h"
#include "../quant/formats.h"

namespace ignis {

Matrix matrix_of(const ignis_load_params &params, uint32_t tensor_index) {
  const ignis_tensor &tensor = params.tensors[tensor_index];
  Matrix matrix;
  matrix.rows = static_cast<uint32_t>(tensor.rows);
  matrix.cols = static_cast<uint32_t>(tensor.cols);
  matrix.dtype = static_cast<ignis_dtype>(tensor.dtype);
  if (const void *base = params.files[tensor.file].base) matrix.source = static_cast<const uint8_t *>(base) + tensor.offset;
  matrix.seed = params.seed;
  matrix.tensor = tensor_index;
  if (has_block_scales(matrix.dtype)) {
    matrix.scale_dtype = static_cast<ignis_dtype>(tensor.scale_dtype);
    if (const void *base = params.files[tensor.scale_file].base) matrix.scales = static_cast<const uint8_t *>(base) + tensor.scale_offset;
  }
  return matrix;
}

bool is_embedding(const Binding &binding, const TensorSlot &slot) { return slot.matrix == &binding.weights.embedding; }

bool is_in_head(const Binding &binding, const TensorSlot &slot, const Matrix &matrix) {
  const bool is_tied = binding.slots[1].matrix == &binding.weights.head && binding.tensors[1] == NO_TENSOR;
  return is_tied && is_embedding(binding, slot) && embeds_packed(matrix.dtype);
}

// Bytes of the arena that a matrix takes.
uint64_t held_bytes(const Binding &binding, const TensorSlot &slot, const Matrix &matrix) {
  return (is_embedding(binding, slot) ? table_bytes : matrix_bytes)(matrix.dtype, matrix.rows, matrix.cols);
}

uint64_t stored_bytes(const Matrix &matrix) { return matrix.rows * row_bytes(matrix.dtype, matrix.cols); }

// The tensor that a slot is filled from: the embedding's (always slot 0) for a tied head.
uint32_t tensor_of(const Binding &binding, uint32_t slot) {
  return binding.tensors[slot] == NO_TENSOR ? binding.tensors[0] : binding.tensors[slot];
}

static uint64_t aligned(uint64_t size_bytes) { return align_up(size_bytes, ARENA_ALIGNMENT); }

// Takes the parts of a line of the plan in one order, for the plan (arena null: only counts) and for the load.
struct Line {
  Arena *arena;
  uint64_t total_bytes = 0;
  void *take(uint64_t size_bytes) {
    total_bytes += aligned(size_bytes);
    return arena ? arena_take(arena, size_bytes) : nullptr;
  }
  float *floats(uint64_t rows, uint64_t cols) { return static_cast<float *>(take(rows * cols * sizeof(float))); }
};

uint64_t lay_out_workspace(Arena *arena, const LoadPlan &plan, const ignis_load_params &params, Places *places) {
  const ignis_shape &shape = *params.shape;
  const uint64_t T = plan.max_rows, H = shape.hidden_size, Q = uint64_t{shape.num_heads} * shape.head_dim;
  const uint64_t KV = uint64_t{shape.num_kv_heads} * shape.head_dim, F = shape.ffn_size;
  Line line{arena};
  DecoderWork *const work = &places->work;
  work->x = line.floats(T, H);
  work->normed = line.floats(T, H);
  work->q = line.floats(T, Q);
  work->attended = line.floats(T, Q);
  work->k = line.floats(T, KV);
  work->v = line.floats(T, KV);
  work->gate = line.floats(T, F);
  work->up = line.floats(T, F);
  work->angles = line.floats(T, 2 * uint64_t{shape.head_dim});
  work->activations.memory = line.take(plan.activations_bytes);
  work->activations.size_bytes = plan.activations_bytes;
  work->attention = line.take(plan.attention_bytes);
  return line.total_bytes;
}

uint64_t lay_out_sampling(Arena *arena, const LoadPlan &plan, const ignis_load_params &params, Places *places) {
  Line line{arena};
  places->logits = line.floats(params.max_lanes, params.shape->vocab_size);
  places->draws = static_cast<ignis_draw *>(line.take(params.max_lanes * sizeof(ignis_draw)));
  places->sample_memory = line.take(plan.sample_bytes);
  places->step_memory = line.take(plan.step_bytes);
  return line.total_bytes;
}

uint64_t lay_out_lanes(Arena *arena, const ignis_load_params &params, Places *places) {
  Line line{arena};
  for (uint32_t lane = 0; lane < params.max_lanes; lane++) places->lanes[lane] = line.take(lane_tokens_bytes(params.shape->vocab_size));
  return line.total_bytes;
}

StepLimits step_limits(const LoadPlan &plan, const ignis_load_params &params) {
  return StepLimits{plan.max_rows, params.max_context, params.max_lanes, params.shape->vocab_size};
}

static ignis_status plan_weights(LoadPlan *plan, const ignis_load_params &params, const Binding &binding) {
  plan->weights_bytes = aligned(params.shape->head_dim / 2 * sizeof(float));
  for (uint32_t i = 0; i < binding.num; i++) {
    const TensorSlot &slot = binding.slots[i];
    const Matrix matrix = matrix_of(params, tensor_of(binding, i));
    if (is_in_head(binding, slot, matrix)) continue;
    plan->stored_bytes += stored_bytes(matrix);
    if (slot.vector) {
      plan->weights_bytes += aligned(uint64_t{slot.cols} * sizeof(float));
      continue;
    }
    if (!is_embedding(binding, slot) && matrix.cols > max_columns(matrix.dtype))
      return fail(IGNIS_UNSUPPORTED, "tensor %s has %u columns of dtype %u; this device takes at most %u",
                  params.tensors[tensor_of(binding, i)].name, matrix.cols, static_cast<uint32_t>(matrix.dtype), max_columns(matrix.dtype));
    (is_embedding(binding, slot) ? plan->embedding_bytes : plan->weights_bytes) += aligned(held_bytes(binding, slot, matrix));
  }
  return IGNIS_OK;
}

ignis_status plan_load(LoadPlan *plan, const ignis_load_params &params, const Binding &binding) {
  const ignis_shape &shape = *params.shape;
  *plan = LoadPlan{};
  plan->num_threads = params.num_threads ? params.num_threads : usable_cores();
  plan->max_rows = params.max_span > params.max_lanes ? params.max_span : params.max_lanes;
  if (const ignis_status status = plan_weights(plan, params, binding); status != IGNIS_OK) return status;

  const uint32_t widest = shape.ffn_size > shape.hidden_size ? shape.ffn_size : shape.hidden_size;
  const uint32_t queries = shape.num_heads * shape.head_dim;
  plan->activations_bytes = activations_bytes(plan->max_rows, queries > widest ? queries : widest);
  plan->attention_bytes = attention_bytes(plan->num_threads, params.max_context, shape.num_heads, shape.num_kv_heads, shape.head_dim);
  plan->sample_bytes = sample_bytes(plan->num_threads, params.max_lanes, shape.vocab_size);
  plan->step_bytes = step_bytes(step_limits(*plan, params));
  plan->kv_layer_bytes = kv_layer_bytes(static_cast<ignis_dtype>(params.kv_dtype), shape.num_kv_heads, shape.head_dim);
  plan->kv_page_bytes = plan->kv_layer_bytes * shape.num_layers;
  plan->round_bytes = recorded_bytes(shape.num_layers, params.max_lanes);
  Places places;
  plan->workspace_bytes = lay_out_workspace(nullptr, *plan, params, &places);
  plan->sampling_bytes = lay_out_sampling(nullptr, *plan, params, &places);
  plan->lane_bytes = lay_out_lanes(nullptr, params, &places);
  const uint64_t fixed_bytes =
      plan->weights_bytes + plan->embedding_bytes + plan->workspace_bytes + plan->sampling_bytes + plan->lane_bytes;
  if (__builtin_mul_overflow(plan->kv_page_bytes, uint64_t{params.num_pages}, &plan->kv_pool_bytes) ||
      __builtin_add_overflow(fixed_bytes, plan->kv_pool_bytes, &plan->arena_bytes) ||
      __builtin_mul_overflow(plan->kv_page_bytes, uint64_t{params.num_host_pages}, &plan->kv_host_bytes))
    return fail(IGNIS_NO_MEMORY, "%u pages, and %u in host memory, of %llu bytes are more than an address can name", params.num_pages,
                params.num_host_pages, static_cast<unsigned long long>(plan->kv_page_bytes));
  if (plan->kv_pool_bytes < staging_bytes()) plan->arena_bytes = fixed_bytes + staging_bytes();
  return IGNIS_OK;
}

}  // namespace ignis

using namespace ignis;

ignis_status ignis_plan(const ignis_load_params *params, ignis_memory_plan *result) {
  clear_last_error();
  if (!result) return fail(IGNIS_INVALID, "plan is null");
  if (result->size != sizeof *result) return fail(IGNIS_INVALID, "ignis_memory_plan.size is %u", result->size);
  Binding binding;
  ignis_status status = check_load(&binding, params);
  if (status != IGNIS_OK) return status;
  LoadPlan plan;
  status = plan_load(&plan, *params, binding);
  binding_close(&binding);
  if (status != IGNIS_OK) return status;
  *result = ignis_memory_plan{sizeof *result,       0,
                              plan.weights_bytes,   plan.embedding_bytes,
                              plan.mapped_bytes,    plan.workspace_bytes,
                              plan.sampling_bytes,  plan.lane_bytes,
                              plan.round_bytes,     plan.kv_page_bytes,
                              plan.kv_pool_bytes,   plan.kv_host_bytes};
  return IGNIS_OK;
}
