// device.h: what the CUDA operators know of the card, and where a step's inputs lie on it.
#pragma once

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "../ops/ops.h"

namespace ignis {

// A sampling row as the kernels read it: ignis_sampling with addresses on the card.
struct SampleParams {
  float temperature, top_p, min_p, repetition_penalty, presence_penalty, frequency_penalty;
  int32_t top_k, top_logprobs;
  uint64_t seed;
  uint32_t position, num_bias;
  uint32_t has_mask, reserved;
  const int32_t *bias_ids;     // [num_bias], of the lane
  const float *bias_values;
  const uint32_t *permitted;   // [ceil(V / 32)], looked at where has_mask
  uint32_t *output_counts;     // LaneTokens of the lane
  uint32_t *is_seen;
};

// Addresses on the card that stay from load to unload; step_begin fills them. Row t is row t of the step.
struct StepMemory {
  int32_t *tokens;       // [max_rows]
  int32_t *positions;    // [max_rows]
  SampleParams *params;  // [max_lanes], of the row that is drawn for
  // [max_lanes] of a round, with page tables on the card. A span's is the first; the second is its rows from first_wanted on.
  Group *groups;
  int32_t *page_tables;  // [max_lanes, max_pages]
  uint32_t max_pages;
};

struct Store;   // what carries weights to the card, store.cu's
struct Inputs;   // the pinned image of StepMemory, step.cu's
struct SamplingKernels;  // sampling.cu's

struct Device {
  cudaStream_t stream;
  uint32_t code;            // what the library's code on this card was compiled for: 90 is sm_90a, 89 may be PTX on a later card (target.h)
  int num_multiprocessors;
  cudaError_t error;        // the first that went wrong since the load; a step ends with it
  const char *error_place;
  Phase phase;              // of the step under way; decode while a round is kept
  StepMemory step;
  Store *store;
  Inputs *inputs;
  cudaGraphExec_t rounds[IGNIS_MAX_LANES + 1];  // by width
  SamplingKernels *sampling;
};

// Keeps the first error of a device and the place where it was met.
static inline void keep(Device &device, cudaError_t error, const char *place) {
  if (error == cudaSuccess || device.error != cudaSuccess) return;
  device.error = error;
  device.error_place = place;
}

// After every launch.
#define IGNIS_LAUNCHED(device) keep(device, cudaGetLastError(), __func__)
#define IGNIS_CUDA(device, call) keep(device, call, __func__)

// The rows of an operator's groups: [first, first + num) of the step.
struct RowRange {
  uint32_t first, num;
};
static inline RowRange rows_of(const Group *groups, uint32_t num_groups) {
  const Group &last = groups[num_groups - 1];
  return RowRange{groups[0].row, last.row + last.num_rows - groups[0].row};
}

}  // namespace ignis
