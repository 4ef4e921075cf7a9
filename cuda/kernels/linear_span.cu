// linear_span.cu: span_linear: jobs of one type share a launch.
#include "linear_span.h"
#include "linear_span_eight.h"
#include "linear_span_jobs.cuh"
#include "linear_span_shapes.cuh"
#include "linear_span_warp.cuh"
#include "pack.h"

namespace ignis {

// Every type that has products of its own; F32 has none.
#define IGNIS_SPAN_TYPES(each) \
  each(IGNIS_F16) each(IGNIS_BF16) each(IGNIS_F8_E4M3) each(IGNIS_Q8_0) each(IGNIS_Q4_0) each(IGNIS_Q4_1) each(IGNIS_Q4_K) \
  each(IGNIS_Q5_0) each(IGNIS_Q5_1) each(IGNIS_Q5_K) each(IGNIS_Q6_K)

static void launch(ignis_dtype dtype, SpanLaunch launch) {
  if (reads_eights(dtype, launch.code)) {
    launch.input += eights_offset(launch.T, launch.K);
    launch_span_eight(launch);
    return;
  }
#define IGNIS_CASE(type) \
  case type: launch_span<type>(launch); break;
  switch (dtype) {
    IGNIS_SPAN_TYPES(IGNIS_CASE)
    default: break;
  }
#undef IGNIS_CASE
}

static SpanJob job_of(const LinearJob &job, uint32_t K) {
  const uint8_t *packed = static_cast<const uint8_t *>(job.packed);
  const float *row_scales = reinterpret_cast<const float *>(packed + row_scales_offset(job.dtype, job.rows, K));
  return SpanJob{packed, row_scales, job.y, job.rows, job.ldy, job.accumulates, 0};
}

SpanChoice span_choice(const LinearJob *jobs, uint32_t num, uint32_t T, uint32_t num_multiprocessors, uint32_t code) {
  SpanLaunch launch{{}, nullptr, T, 0, num_multiprocessors, code, nullptr};
  for (uint32_t i = 0; i < num && i < MAX_SPAN_JOBS; i++) launch.jobs.job[launch.jobs.num++].rows = jobs[i].rows;
  if (code != 90) {
    // Their sizes are every type's.
    using Narrow = NarrowWarpTile<IGNIS_F16>;
    using Wide = WideWarpTile<IGNIS_F16>;
    return T <= 8 ? SpanChoice{Narrow::ROWS, Narrow::TOKENS, false} : SpanChoice{Wide::ROWS, Wide::TOKENS, false};
  }
  const bool is_eight = reads_eights(jobs[0].dtype, code);
  const SpanShape shape = is_eight ? eight_shape(launch) : SPAN_SHAPES[cheapest_shape(&launch, SPAN_SHAPES)];
  return SpanChoice{shape.rows, shape.tokens, is_eight};
}

void span_linear(const LinearJob *jobs, uint32_t num, const void *memory, const float *x, uint32_t T, uint32_t K,
                 uint32_t num_multiprocessors, uint32_t code, cudaStream_t stream) {
  if (T == 0) return;
  SpanLaunch each{{}, static_cast<const uint8_t *>(memory), T, K, num_multiprocessors, code, stream};
  uint32_t done = 0;  // bits of the jobs that are launched
  for (uint32_t i = 0; i < num; i++) {
    if (done >> i & 1) continue;
    const ignis_dtype dtype = jobs[i].dtype;
    if (dtype == IGNIS_F32) {
      linear_floats(jobs[i], x, T, K, stream);
      continue;
    }
    each.jobs.num = 0;
    for (uint32_t j = i; j < num && each.jobs.num < MAX_SPAN_JOBS; j++) {
      if ((done >> j & 1) || jobs[j].dtype != dtype) continue;
      done |= 1u << j;
      each.jobs.job[each.jobs.num++] = job_of(jobs[j], K);
    }
    launch(dtype, each);
  }
}

}  // namespace ignis
