// load.cpp: the load: one arena of the device, carved as the plan says and filled from the files.
#include <stdlib.h>

#include "../base/reader.h"
#include "../base/status.h"
#include "../quant/dequantize.h"
#include "../quant/synthetic.h"
#include "plan.h"

namespace ignis {

// What the caller reads of a load while it runs. Without a caller who wants it, the load counts for itself.
struct Watch {
  ignis_load_progress own{sizeof own, 0, 0, 0, 0, 0};
  ignis_load_progress *progress;

  explicit Watch(const ignis_load_params &params) : progress(params.progress ? params.progress : &own) {}
  void enter(ignis_load_phase phase) { __atomic_store_n(&progress->phase, phase, __ATOMIC_RELAXED); }
  void expect(uint64_t total_bytes) { __atomic_store_n(&progress->total_bytes, total_bytes, __ATOMIC_RELAXED); }
  void add(uint64_t num_bytes) { __atomic_store_n(&progress->done_bytes, progress->done_bytes + num_bytes, __ATOMIC_RELAXED); }
  bool is_cancelled() const { return __atomic_load_n(&progress->is_cancelled, __ATOMIC_RELAXED) != 0; }
  ignis_status check() const { return is_cancelled() ? fail(IGNIS_CANCELLED, "the load was cancelled") : IGNIS_OK; }
};

static void load_matrix(ignis_model *model, const Binding &binding, const TensorSlot &slot, Matrix matrix) {
  void *memory = arena_take(&model->memory, held_bytes(binding, slot, matrix));
  if (is_embedding(binding, slot))
    table_store(*model->device, &matrix, memory);
  else
    matrix_pack(*model->device, &matrix, memory);
  *slot.matrix = matrix;
}

// The slots in the order of their tensors in the files: a disk is read from front to back.
struct Turn {
  uint32_t file, slot;
  uint64_t offset;
};

static int compare_turns(const void *left, const void *right) {
  const Turn &a = *static_cast<const Turn *>(left), &b = *static_cast<const Turn *>(right);
  if (a.file != b.file) return a.file < b.file ? -1 : 1;
  if (a.offset != b.offset) return a.offset < b.offset ? -1 : 1;
  return a.slot < b.slot ? -1 : a.slot > b.slot;  // a tied head is read after the embedding
}

// What load_weights works through; freed by its destructor.
struct Worklist {
  Turn *turns;     // [binding.num]
  Stored *stored;  // [num_stored] what the device will be asked to store
  uint32_t num_stored = 0;
  float *values;   // [the longest vector]
  uint8_t *bytes;  // the same, as it is stored

  Worklist(const ignis_load_params &params, const Binding &binding) {
    uint32_t longest = 0;
    for (uint32_t i = 0; i < binding.num; i++)
      if (binding.slots[i].vector && binding.slots[i].cols > longest) longest = binding.slots[i].cols;
    turns = static_cast<Turn *>(calloc(binding.num, sizeof(Turn)));
    stored = static_cast<Stored *>(calloc(binding.num, sizeof(Stored)));
    values = static_cast<float *>(malloc(uint64_t{longest} * sizeof(float)));
    bytes = static_cast<uint8_t *>(malloc(uint64_t{longest} * sizeof(float)));  // no type takes more
    if (!is_made()) return;
    for (uint32_t i = 0; i < binding.num; i++) {
      const ignis_tensor &tensor = params.tensors[tensor_of(binding, i)];
      turns[i] = Turn{tensor.file, i, tensor.offset};
    }
    qsort(turns, binding.num, sizeof(Turn), compare_turns);
    for (uint32_t i = 0; i < binding.num; i++) {
      const TensorSlot &slot = binding.slots[turns[i].slot];
      const Matrix matrix = matrix_of(params, tensor_of(binding, turns[i].slot));
      if (slot.vector || is_in_head(binding, slot, matrix)) continue;
      const ignis_tensor &tensor = params.tensors[tensor_of(binding, turns[i].slot)];
      stored[num_stored++] = Stored{matrix, params.files[turns[i].file].descriptor, turns[i].offset, is_embedding(binding, slot),
                                    params.files[tensor.scale_file].descriptor, tensor.scale_offset};
    }
  }
  ~Worklist() {
    free(turns);
    free(stored);
    free(values);
    free(bytes);
  }
  Worklist(const Worklist &) = delete;
  Worklist &operator=(const Worklist &) = delete;
  bool is_made() const { return turns && stored && values && bytes; }
};

static void synthesize_vector(float *values, uint32_t num, const Matrix &matrix) {
  const Synthetic synthetic = synthetic_of(matrix.seed, matrix.tensor, 1, num);
  for (uint32_t unit = 0; unit * 8 < num; unit++)
    synthesize_unit(reinterpret_cast<uint8_t *>(values + unit * 8), IGNIS_F32, synthetic, unit, num);
}

// Fills work.values from a vector's tensor.
static ignis_status read_vector(const ignis_load_params &params, const Turn &turn, const Matrix &matrix, const Worklist &work) {
  if (!matrix.source) {
    synthesize_vector(work.values, matrix.cols, matrix);
    return IGNIS_OK;
  }
  const int32_t descriptor = params.files[turn.file].descriptor;
  const int error = read_now(ReadJob{descriptor, turn.offset, static_cast<const uint8_t *>(matrix.source), stored_bytes(matrix)}, work.bytes);
  if (error) return reading_failed(error);
  dequantize(work.values, work.bytes, matrix.dtype, matrix.cols);
  return IGNIS_OK;
}

// Fills every slot from its tensor: vectors as float32, matrices packed.
static ignis_status fill_slots(ignis_model *model, const ignis_load_params &params, const Binding &binding, const Worklist &work,
                               Watch *watch) {
  for (uint32_t i = 0; i < binding.num; i++) {
    const ignis_status status = watch->check();
    if (status != IGNIS_OK) return status;
    const TensorSlot &slot = binding.slots[work.turns[i].slot];
    const Matrix matrix = matrix_of(params, tensor_of(binding, work.turns[i].slot));
    if (is_in_head(binding, slot, matrix)) continue;
    if (slot.vector) {
      const uint64_t size_bytes = uint64_t{slot.cols} * sizeof(float);
      float *memory = static_cast<float *>(arena_take(&model->memory, size_bytes));
      const ignis_status read = read_vector(params, work.turns[i], matrix, work);
      if (read != IGNIS_OK) return read;
      upload(*model->device, memory, work.values, size_bytes);
      *slot.vector = memory;
    } else {
      load_matrix(model, binding, slot, matrix);
    }
    watch->add(stored_bytes(matrix));
  }
  return watch->check();
}

static ignis_status load_weights(ignis_model *model, const ignis_load_params &params, const Binding &binding, void *staging, Watch *watch) {
  const Worklist work(params, binding);
  if (!work.is_made()) return fail(IGNIS_NO_MEMORY, "no memory for the list of the weights");
  store_begin(*model->device, work.stored, work.num_stored, staging, watch->progress);
  const ignis_status status = fill_slots(model, params, binding, work, watch);
  const ignis_status stored = store_end(*model->device);
  return status == IGNIS_OK ? stored : status;
}

static ignis_status move_weights(ignis_model *model, const ignis_load_params &params, Binding *binding, void *staging, Watch *watch) {
  Decoder &decoder = model->decoder;
  const ignis_shape &shape = *params.shape;
  decoder.shape = shape;
  const uint64_t freq_bytes = shape.head_dim / 2 * sizeof(float);
  float *inv_freq = static_cast<float *>(arena_take(&model->memory, freq_bytes));
  upload(*model->device, inv_freq, shape.rope_inv_freq, freq_bytes);
  decoder.shape.rope_inv_freq = inv_freq;
  decoder.rope = Rope{inv_freq, shape.rope_scale, static_cast<ignis_rope_pairs>(shape.rope_pairs)};
  const ignis_status status = load_weights(model, params, *binding, staging, watch);
  decoder.weights = binding->weights;
  if (decoder.weights.embedding.rows == 0) decoder.weights.embedding = decoder.weights.head;
  binding->weights.layers = nullptr;  // the model's now
  return status;
}

static void place_workspace(ignis_model *model, const LoadPlan &plan, const ignis_load_params &params) {
  Decoder &decoder = model->decoder;
  Places places;
  lay_out_workspace(&model->memory, plan, params, &places);
  lay_out_sampling(&model->memory, plan, params, &places);
  lay_out_lanes(&model->memory, params, &places);
  decoder.work = places.work;
  model->logits = places.logits;
  model->draws = places.draws;
  model->sample_memory = places.sample_memory;
  for (uint32_t lane = 0; lane < params.max_lanes; lane++)
    lane_tokens_place(&model->lanes[lane], places.lanes[lane], params.shape->vocab_size);
  step_place(*model->device, step_limits(plan, params), places.step_memory);
}

static ignis_status refuse(const LoadPlan &plan) {
  const auto number = [](uint64_t value) { return static_cast<unsigned long long>(value); };
  return fail(IGNIS_NO_MEMORY, "the device refuses %llu bytes: %llu of weights, %llu of workspace and lanes, %llu of KV pages",
              number(plan.arena_bytes), number(plan.weights_bytes + plan.embedding_bytes),
              number(plan.workspace_bytes + plan.sampling_bytes + plan.lane_bytes), number(plan.kv_pool_bytes));
}

static ignis_status load_into(ignis_model *model, const ignis_load_params &params, Binding *binding) {
  Watch watch(params);
  LoadPlan plan;
  ignis_status status = plan_load(&plan, params, *binding);
  if (status == IGNIS_OK) status = watch.check();
  if (status == IGNIS_OK) status = device_open(&model->device, plan.num_threads);
  if (status != IGNIS_OK) return status;
  watch.expect(plan.stored_bytes);
  if (!memory_open(*model->device, &model->memory, plan.arena_bytes))
    return refuse(plan);
  if (!host_open(*model->device, &model->places, plan.kv_host_bytes))
    return fail(IGNIS_NO_MEMORY, "the system refuses %llu bytes of host memory for %u pages; lower reuse.kv_host_pool_bytes",
                static_cast<unsigned long long>(plan.kv_host_bytes), params.num_host_pages);
  model->limits = Limits{params.num_pages, params.max_context, params.max_span, params.max_lanes, params.num_host_pages};
  model->program = program_of(params.shape->architecture);
  uint8_t *pool = model->memory.base + plan.weights_bytes + plan.embedding_bytes + plan.workspace_bytes + plan.sampling_bytes + plan.lane_bytes;
  watch.enter(IGNIS_LOAD_READING);
  status = move_weights(model, params, binding, pool, &watch);
  if (status != IGNIS_OK) return status;

  Decoder &decoder = model->decoder;
  decoder.device = model->device;
  decoder.layer_bytes = plan.kv_layer_bytes;
  decoder.kv = KvLayer{pool, plan.kv_page_bytes, 0, static_cast<ignis_dtype>(params.kv_dtype), params.shape->num_kv_heads,
                       params.shape->head_dim};
  place_workspace(model, plan, params);
  watch.enter(IGNIS_LOAD_RECORDING);
  status = record_rounds(*model);
  if (status == IGNIS_OK) status = watch.check();
  // The first launch of a kernel may make the driver take memory: better now than in somebody's request.
  if (status != IGNIS_OK || !is_recorded(*model->device, model->limits.max_lanes)) return status;
  watch.enter(IGNIS_LOAD_WARMING);
  status = warm_up(*model);
  return status == IGNIS_OK ? watch.check() : status;
}

}  // namespace ignis

using namespace ignis;

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
    host_close(*model->device, &model->places);
    memory_close(*model->device, &model->memory);
  }
  device_close(model->device);
  free(model->decoder.weights.layers);
  free(model);
}
