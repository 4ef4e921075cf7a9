// linear_span_jobs.cuh: a launch of a prefill span's linear layers: matrices of one type that share their input.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "linear_span_input.cuh"
#include "weights.cuh"

namespace ignis {

inline constexpr uint32_t MAX_SPAN_JOBS = 3;

struct SpanJob {
  const uint8_t *packed;
  const float *row_scales;
  float *y;
  uint32_t rows, ldy, accumulates;
  uint32_t is_tensor;  // y can be written by tensor copies: its address and its rows are multiples of 16 bytes
};
struct SpanJobs {
  SpanJob job[MAX_SPAN_JOBS];
  uint32_t first_item[MAX_SPAN_JOBS + 1];  // items are a block's rows each; job i has [first_item[i], first_item[i + 1])
  uint32_t num;
};

// How tensor copies see y of each job; filled by the launcher where is_tensor.
struct SpanTargets {
  CUtensorMap y[MAX_SPAN_JOBS];
};

struct SpanLaunch {
  SpanJobs jobs;  // first_item is filled by the launcher
  const uint8_t *input;
  uint32_t T, K, num_multiprocessors, code;
  cudaStream_t stream;
};

template <ignis_dtype DTYPE>
void launch_span(SpanLaunch launch);

// Which output tile a block works on: row items in groups, all tokens of a group before the next, so that what runs at a time shares
// weights and inputs in the second-level cache.
struct SpanPlace {
  uint32_t job, item, token_tile;
};
inline constexpr uint32_t SPAN_GROUP_ITEMS = 16;

static __device__ __forceinline__ SpanPlace span_place(const SpanJobs &jobs, uint32_t index, uint32_t token_tiles) {
  const uint32_t items = jobs.first_item[jobs.num], group = index / (SPAN_GROUP_ITEMS * token_tiles), first = group * SPAN_GROUP_ITEMS;
  const uint32_t width = items - first < SPAN_GROUP_ITEMS ? items - first : SPAN_GROUP_ITEMS, at = index - first * token_tiles;
  const uint32_t item = first + at % width, job = item < jobs.first_item[1] ? 0u : item < jobs.first_item[2] ? 1u : 2u;
  return {job, item - jobs.first_item[job], at / width};
}

// Sums into y; where they are added, by the memory's own adder, which nobody waits for.
static __device__ __forceinline__ void store_sum(float *y, float value, bool adds) {
  if (adds)
    asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(y), "f"(value) : "memory");
  else
    *y = value;
}

}  // namespace ignis
