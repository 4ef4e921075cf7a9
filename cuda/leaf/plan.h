// plan.h: the sizes of a load and where its parts lie: load.cpp takes exactly what plan.cpp counts.
#pragma once

#include "model.h"

namespace ignis {

// The stored matrix of a tensor, not yet packed.
Matrix matrix_of(const ignis_load_params &params, uint32_t tensor_index);
// The tensor that a slot is filled from: the embedding's (always slot 0) for a tied head.
uint32_t tensor_of(const Binding &binding, uint32_t slot);
// Whether a slot is the embedding of a tied model on a device that reads its rows from the head: then nothing is stored for it.
bool is_in_head(const Binding &binding, const TensorSlot &slot, const Matrix &matrix);
bool is_embedding(const Binding &binding, const TensorSlot &slot);
// Bytes of the arena that a matrix takes; 0 where it is used as it is stored.
uint64_t held_bytes(const Binding &binding, const TensorSlot &slot, const Matrix &matrix);
uint64_t stored_bytes(const Matrix &matrix);

// Where the parts of the workspace, the sampling and the lanes lie.
struct Places {
  DecoderWork work;
  float *logits;
  ignis_draw *draws;
  void *sample_memory, *step_memory;
  void *lanes[IGNIS_MAX_LANES];
};

// Places the parts of a line and returns its bytes; where the arena is null it only counts.
uint64_t lay_out_workspace(Arena *arena, const LoadPlan &plan, const ignis_load_params &params, Places *places);
uint64_t lay_out_sampling(Arena *arena, const LoadPlan &plan, const ignis_load_params &params, Places *places);
uint64_t lay_out_lanes(Arena *arena, const ignis_load_params &params, Places *places);
StepLimits step_limits(const LoadPlan &plan, const ignis_load_params &params);

}  // namespace ignis
