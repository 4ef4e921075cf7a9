// linear_span.cu: span_linear: jobs of one type share a launch.
#include "linear_span.h"
#include "linear_span_eight.h"
#include "linear_span_jobs.cuh"
#include "pack.h"

namespace ignis {

static void launch(ignis_dtype dtype, SpanLaunch launch) {
  if (reads_eights(dtype, launch.code)) {
    launch.input += eights_offset(launch.T, launch.K);
    launch_span_eight(launch);
    return;
  }
  switch (dtype) {
    case IGNIS_F16: launch_span<IGNIS_F16>(launch); break;
    case IGNIS_BF16: launch_span<IGNIS_BF16>(launch); break;
    case IGNIS_F8_E4M3: launch_span<IGNIS_F8_E4M3>(launch); break;
    case IGNIS_Q8_0: launch_span<IGNIS_Q8_0>(launch); break;
    case IGNIS_Q4_0: launch_span<IGNIS_Q4_0>(launch); break;
    case IGNIS_Q4_1: launch_span<IGNIS_Q4_1>(launch); break;
    case IGNIS_Q4_K: launch_span<IGNIS_Q4_K>(launch); break;
    case IGNIS_Q5_0: launch_span<IGNIS_Q5_0>(launch); break;
    case IGNIS_Q5_1: launch_span<IGNIS_Q5_1>(launch); break;
    case IGNIS_Q5_K: launch_span<IGNIS_Q5_K>(launch); break;
    case IGNIS_Q6_K: launch_span<IGNIS_Q6_K>(launch); break;
    default: break;
  }
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
      const uint8_t *packed = static_cast<const uint8_t *>(jobs[j].packed);
      const float *row_scales = reinterpret_cast<const float *>(packed + row_scales_offset(dtype, jobs[j].rows, K));
      each.jobs.job[each.jobs.num++] = SpanJob{packed, row_scales, jobs[j].y, jobs[j].rows, jobs[j].ldy, jobs[j].accumulates, 0};
    }
    launch(dtype, each);
  }
}

}  // namespace ignis
