// load.cpp: the memory plan of a load, and the load itself: one arena of the device each for weights, KV pages and workspace.
#include <stdlib.h>

#include "../base/machine.h"
#include "../base/status.h"
#include "../quant/dequantize.h"
#include "../quant/formats.h"
#include "../quant/synthetic.h"
#include "model.h"

namespace ignis {

static Matrix matrix_of(const ignis_load_params &params, uint32_t tensor_index) {
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

static bool is_embedding(const Binding &binding, const TensorSlot &slot) { return slot.matrix == &binding.weights.embedding; }

// Bytes of the weights' arena that a matrix takes.
static uint64_t held_bytes(const Binding &binding, const TensorSlot &slot, const Matrix &matrix) {
  const uint64_t size_bytes = is_embedding(binding, slot) ? table_bytes(matrix.dtype, matrix.rows, matrix.cols)
                                                          : matrix_bytes(matrix.dtype, matrix.rows, matrix.cols);
  if (size_bytes > 0 || matrix.source) return size_bytes;
  return align_up(matrix.rows * row_bytes(matrix.dtype, matrix.cols), ARENA_ALIGNMENT);  // no file holds what is used as it is stored
}

// The tensor that a slot is filled from: the embedding's (always slot 0) for a tied head.
static uint32_t tensor_of(const Binding &binding, uint32_t slot) {
  return binding.tensors[slot] == NO_TENSOR ? binding.tensors[0] : binding.tensors[slot];
}

static uint64_t aligned(uint64_t size_bytes) { return align_up(size_bytes, ARENA_ALIGNMENT); }

// Takes the parts of the workspace in one order, for the plan (arena null: only counts) and for the load.
struct Workspace {
  Arena *arena;
  uint64_t total_bytes = 0;
  void *take(uint64_t size_bytes) {
    total_bytes += aligned(size_bytes);
    return arena ? arena_take(arena, size_bytes) : nullptr;
  }
  float *floats(uint64_t rows, uint64_t cols) { return static_cast<float *>(take(rows * cols * sizeof(float))); }
};

// Where the parts of the workspace lie.
struct Places {
  DecoderWork work;
  float *logits;
  ignis_draw *draws;
  void *sample_memory, *step_memory;
  void *lanes[IGNIS_MAX_LANES];
};

static uint64_t lay_out_workspace(Arena *arena, const LoadPlan &plan, const ignis_load_params &params, Places *places) {
  const ignis_shape &shape = *params.shape;
  const uint64_t T = plan.max_rows, H = shape.hidden_size, Q = uint64_t{shape.num_heads} * shape.head_dim;
  const uint64_t KV = uint64_t{shape.num_kv_heads} * shape.head_dim, F = shape.ffn_size, V = shape.vocab_size;
  Workspace space{arena};
  *places = Places{};
  DecoderWork *const work = &places->work;
  work->x = space.floats(T, H);
  work->normed = space.floats(T, H);
  work->q = space.floats(T, Q);
  work->attended = space.floats(T, Q);
  work->k = space.floats(T, KV);
  work->v = space.floats(T, KV);
  work->gate = space.floats(T, F);
  work->up = space.floats(T, F);
  work->angles = space.floats(T, 2 * uint64_t{shape.head_dim});
  work->activations.memory = space.take(plan.activations_bytes);
  work->attention = space.take(plan.attention_bytes);
  places->logits = space.floats(params.max_lanes, V);
  places->draws = static_cast<ignis_draw *>(space.take(params.max_lanes * sizeof(ignis_draw)));
  places->sample_memory = space.take(plan.sample_bytes);
  places->step_memory = space.take(plan.step_bytes);
  for (uint32_t lane = 0; lane < params.max_lanes; lane++) places->lanes[lane] = space.take(lane_tokens_bytes(shape.vocab_size));
  return space.total_bytes;
}

static StepLimits step_limits(const LoadPlan &plan, const ignis_load_params &params) {
  return StepLimits{plan.max_rows, params.max_context, params.max_lanes, params.shape->vocab_size};
}

ignis_status plan_load(LoadPlan *plan, const ignis_load_params &params, const Binding &binding) {
  const ignis_shape &shape = *params.shape;
  *plan = LoadPlan{};
  plan->num_threads = params.num_threads ? params.num_threads : usable_cores();
  plan->max_rows = params.max_span > params.max_lanes ? params.max_span : params.max_lanes;

  plan->weights_bytes = aligned(shape.head_dim / 2 * sizeof(float));
  for (uint32_t i = 0; i < binding.num; i++) {
    const TensorSlot &slot = binding.slots[i];
    const Matrix matrix = matrix_of(params, tensor_of(binding, i));
    if (slot.vector) {
      plan->weights_bytes += aligned(uint64_t{slot.cols} * sizeof(float));
      continue;
    }
    const uint64_t stored_bytes = matrix.rows * row_bytes(matrix.dtype, matrix.cols);
    const uint64_t packed_bytes = held_bytes(binding, slot, matrix);
    plan->weights_bytes += aligned(packed_bytes);
    // A tied head that is used as it is stored was counted with the embedding.
    if (packed_bytes == 0 && binding.tensors[i] != NO_TENSOR) plan->mapped_bytes += stored_bytes;
  }

  const uint32_t widest = shape.ffn_size > shape.hidden_size ? shape.ffn_size : shape.hidden_size;
  const uint32_t queries = shape.num_heads * shape.head_dim;
  plan->activations_bytes = activations_bytes(plan->max_rows, queries > widest ? queries : widest);
  plan->attention_bytes = attention_bytes(plan->num_threads, params.max_context, shape.num_heads, shape.num_kv_heads, shape.head_dim);
  plan->sample_bytes = sample_bytes(plan->num_threads, params.max_lanes, shape.vocab_size);
  plan->step_bytes = step_bytes(step_limits(*plan, params));
  plan->kv_layer_bytes = kv_layer_bytes(static_cast<ignis_dtype>(params.kv_dtype), shape.num_kv_heads, shape.head_dim);
  plan->kv_page_bytes = plan->kv_layer_bytes * shape.num_layers;
  Places places;
  plan->workspace_bytes = lay_out_workspace(nullptr, *plan, params, &places);
  if (__builtin_mul_overflow(plan->kv_page_bytes, uint64_t{params.num_pages}, &plan->kv_pool_bytes))
    return fail(IGNIS_NO_MEMORY, "%u pages of %llu bytes are more than an address can name", params.num_pages,
                static_cast<unsigned long long>(plan->kv_page_bytes));
  return IGNIS_OK;
}

static ignis_status open_arenas(ignis_model *model, const LoadPlan &plan) {
  const struct {
    Arena *arena;
    uint64_t size_bytes;
    const char *name;
  } wanted[] = {{&model->weights, plan.weights_bytes, "weights"},
                {&model->pool, plan.kv_pool_bytes, "KV pages"},
                {&model->workspace, plan.workspace_bytes, "workspaces"}};
  for (const auto &each : wanted)
    if (!memory_open(*model->device, each.arena, each.size_bytes))
      return fail(IGNIS_NO_MEMORY, "the device refuses %llu bytes for %s", static_cast<unsigned long long>(each.size_bytes), each.name);
  return IGNIS_OK;
}

static void load_matrix(ignis_model *model, const Binding &binding, const TensorSlot &slot, Matrix matrix) {
  const uint64_t packed_bytes = held_bytes(binding, slot, matrix);
  if (packed_bytes == 0) {
    matrix.packed = matrix.source;
  } else {
    const void *stored = matrix.source;
    void *memory = arena_take(&model->weights, packed_bytes);
    if (is_embedding(binding, slot))
      table_store(*model->device, &matrix, memory);
    else
      matrix_pack(*model->device, &matrix, memory);
    // So that the process holds these weights once. Rows of a tied embedding come back as they are read.
    if (stored) drop_file_pages(stored, matrix.rows * row_bytes(matrix.dtype, matrix.cols));
  }
  *slot.matrix = matrix;
}

static void synthesize_vector(float *values, uint32_t num, const Matrix &matrix) {
  const Synthetic synthetic = synthetic_of(matrix.seed, matrix.tensor, 1, num);
  for (uint32_t unit = 0; unit * 8 < num; unit++)
    synthesize_unit(reinterpret_cast<uint8_t *>(values + unit * 8), IGNIS_F32, synthetic, unit, num);
}

// Fills every slot from its tensor: vectors as float32, matrices packed.
static ignis_status load_weights(ignis_model *model, const ignis_load_params &params, const Binding &binding) {
  uint32_t longest = 0;
  for (uint32_t i = 0; i < binding.num; i++)
    if (binding.slots[i].vector && binding.slots[i].cols > longest) longest = binding.slots[i].cols;
  float *values = static_cast<float *>(malloc(uint64_t{longest} * sizeof(float)));
  if (!values) return fail(IGNIS_NO_MEMORY, "no memory for a vector of %u values", longest);
  for (uint32_t i = 0; i < binding.num; i++) {
    const TensorSlot &slot = binding.slots[i];
    const Matrix matrix = matrix_of(params, tensor_of(binding, i));
    if (slot.vector) {
      const uint64_t size_bytes = uint64_t{slot.cols} * sizeof(float);
      float *memory = static_cast<float *>(arena_take(&model->weights, size_bytes));
      if (matrix.source)
        dequantize(values, matrix.source, matrix.dtype, slot.cols);
      else
        synthesize_vector(values, slot.cols, matrix);
      upload(*model->device, memory, values, size_bytes);
      *slot.vector = memory;
    } else {
      load_matrix(model, binding, slot, matrix);
    }
  }
  free(values);
  return wait(*model->device);
}

static ignis_status move_weights(ignis_model *model, const ignis_load_params &params, Binding *binding) {
  Decoder &decoder = model->decoder;
  const ignis_shape &shape = *params.shape;
  decoder.shape = shape;
  const uint64_t freq_bytes = shape.head_dim / 2 * sizeof(float);
  float *inv_freq = static_cast<float *>(arena_take(&model->weights, freq_bytes));
  upload(*model->device, inv_freq, shape.rope_inv_freq, freq_bytes);
  decoder.shape.rope_inv_freq = inv_freq;
  decoder.rope = Rope{inv_freq, shape.rope_scale, static_cast<ignis_rope_pairs>(shape.rope_pairs)};
  const ignis_status status = load_weights(model, params, *binding);
  decoder.weights = binding->weights;
  binding->weights.layers = nullptr;  // the model's now
  return status;
}

static ignis_status load_into(ignis_model *model, const ignis_load_params &params, Binding *binding) {
  LoadPlan plan;
  ignis_status status = plan_load(&plan, params, *binding);
  if (status == IGNIS_OK) status = device_open(&model->device, plan.num_threads);
  if (status == IGNIS_OK) status = open_arenas(model, plan);
  if (status != IGNIS_OK) return status;
  model->limits = Limits{params.num_pages, params.max_context, params.max_span, params.max_lanes};
  model->program = program_of(params.shape->architecture);
  status = move_weights(model, params, binding);
  if (status != IGNIS_OK) return status;

  Decoder &decoder = model->decoder;
  decoder.device = model->device;
  decoder.layer_bytes = plan.kv_layer_bytes;
  decoder.kv = KvLayer{model->pool.base, plan.kv_page_bytes, 0, static_cast<ignis_dtype>(params.kv_dtype), params.shape->num_kv_heads,
                       params.shape->head_dim};
  Places places;
  lay_out_workspace(&model->workspace, plan, params, &places);
  decoder.work = places.work;
  model->logits = places.logits;
  model->draws = places.draws;
  model->sample_memory = places.sample_memory;
  for (uint32_t lane = 0; lane < params.max_lanes; lane++)
    lane_tokens_place(&model->lanes[lane], places.lanes[lane], params.shape->vocab_size);
  step_place(*model->device, step_limits(plan, params), places.step_memory);
  return record_rounds(*model);
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
  *result = ignis_memory_plan{sizeof *result,     0,
                              plan.weights_bytes, plan.mapped_bytes,
                              plan.kv_page_bytes, plan.kv_pool_bytes,
                              plan.workspace_bytes};
  return IGNIS_OK;
}

ignis_status ignis_load(const ignis_load_params *params, ignis_model **result) {
  clear_last_error();
  if (!result) return fail(IGNIS_INVALID, "model is null");
  *result = nullptr;
  Binding binding;
  ignis_status status = check_load(&binding, params);
  if (status != IGNIS_OK) return status;
  ignis_model *model = static_cast<ignis_model *>(calloc(1, sizeof(ignis_model)));
  status = model ? load_into(model, *params, &binding) : fail(IGNIS_NO_MEMORY, "no memory for the model's record");
  binding_close(&binding);
  if (status != IGNIS_OK)
    ignis_unload(model);
  else
    *result = model;
  return status;
}

void ignis_unload(ignis_model *model) {
  if (!model) return;
  if (model->device) {
    memory_close(*model->device, &model->weights);
    memory_close(*model->device, &model->pool);
    memory_close(*model->device, &model->workspace);
  }
  device_close(model->device);
  free(model->decoder.weights.layers);
  free(model);
}
