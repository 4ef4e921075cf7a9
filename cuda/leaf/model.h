// model.h: a loaded model: everything that ignis_load made and ignis_unload gives back.
#pragma once

#include "../base/arena.h"
#include "../models/decoder.h"

namespace ignis {

// The arithmetic of a load. ignis_plan reports it, ignis_load takes exactly this.
struct LoadPlan {
  // The arena's parts: weights and embedding | workspace | sampling | lanes | KV pool. While weights are stored, the pool's part
  // carries them: it has staging_bytes() at least.
  uint64_t weights_bytes, embedding_bytes;
  uint64_t workspace_bytes, sampling_bytes, lane_bytes;
  uint64_t kv_layer_bytes, kv_page_bytes, kv_pool_bytes;
  uint64_t arena_bytes;
  uint64_t mapped_bytes, round_bytes;  // beside the arena
  uint64_t kv_host_bytes;              // in host memory
  uint64_t stored_bytes;               // of all tensors, as they are stored: what progress counts
  uint64_t attention_bytes, activations_bytes, sample_bytes, step_bytes;  // parts of those lines
  uint32_t num_threads;  // of the CPU
  uint32_t max_rows;  // of one step: the longest span or the widest round
};

struct Limits {
  uint32_t num_pages, max_context, max_span, max_lanes, num_places;
};

// Which of the caller's tensors each slot is; NO_TENSOR for the head of a tied model.
inline constexpr uint32_t NO_TENSOR = UINT32_MAX;
struct Binding {
  TensorSlot *slots = nullptr;  // [num]
  uint32_t *tensors = nullptr;  // [num]
  uint32_t num = 0;
  DecoderWeights weights{};  // .layers [num_layers]
};

const Program *program_of(uint32_t architecture);  // null where there is none

// Checks everything that a caller can get wrong, and finds each slot's tensor. On success the binding must be given back by
// binding_close; on failure it is empty.
ignis_status check_load(Binding *binding, const ignis_load_params *params);
void binding_close(Binding *binding);

// Of checked parameters. IGNIS_NO_MEMORY where a sum does not fit 64 bits.
ignis_status plan_load(LoadPlan *plan, const ignis_load_params &params, const Binding &binding);

// A round's rows in the forms in which the program takes them, from its begin to its end.
struct RoundRows {
  int32_t tokens[IGNIS_MAX_LANES];
  Group groups[IGNIS_MAX_LANES];
  SampleRow draws[IGNIS_MAX_LANES];
  uint32_t num;    // 0: no round is under way
  bool is_queued;  // the device works on it
  bool has_ahead;  // the same rows come again, one position on
  float *logits;   // the caller's
};

}  // namespace ignis

struct ignis_model {
  ignis::Limits limits;
  const ignis::Program *program;
  ignis::Decoder decoder;
  ignis::Device *device;
  ignis::Arena memory;
  ignis::Arena places;  // [num_places] of a page each, host memory
  // In the device's memory.
  float *logits;      // [max_lanes, V]
  ignis_draw *draws;  // [max_lanes]
  void *sample_memory;
  ignis::LaneTokens lanes[IGNIS_MAX_LANES];
  ignis::RoundRows round;
};

namespace ignis {

// Steps on checked arguments.
ignis_status run_span(ignis_model &model, const ignis_span &span, ignis_draw *draw);
void begin_round(ignis_model &model, const ignis_round &round);
void queue_ahead(ignis_model &model);
ignis_status end_round(ignis_model &model, ignis_draw *draws);
// Has the device keep a round of each width, where it can.
ignis_status record_rounds(ignis_model &model);
// Runs a span and a round of each width. Pages and lanes hold anything afterwards.
ignis_status warm_up(ignis_model &model);

}  // namespace ignis
