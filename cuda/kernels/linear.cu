// linear.cu: linear_run: which kernel serves a job, and the plain kernel of F32 weights.
#include "linear_launch.cuh"

namespace ignis {

// F32 weights are those of test checkpoints: correct for every shape, not fast. A warp is one output row and up to eight tokens; lane l
// adds columns l, l + 32, ... in rising order, then the lanes are added in a fixed tree.
static __global__ void __launch_bounds__(256) float_kernel(const LinearJob job, const float *x, uint32_t T, uint32_t K) {
  const uint32_t lane = threadIdx.x % 32, row = blockIdx.x * 8 + threadIdx.x / 32, first = blockIdx.y * 8;
  if (row >= job.rows) return;
  const float *w = static_cast<const float *>(job.packed) + uint64_t{row} * K;
  for (uint32_t token = first; token < first + 8 && token < T; token++) {
    float sum = 0.0f;
    for (uint32_t k = lane; k < K; k += 32) sum = fmaf(w[k], x[uint64_t{token} * K + k], sum);
    for (uint32_t i = 16; i; i >>= 1) sum += __shfl_xor_sync(~0u, sum, i);
    float *y = job.y + uint64_t{token} * job.ldy + row;
    if (lane == 0) *y = job.accumulates ? *y + sum : sum;
  }
}

void linear_floats(const LinearJob &job, const float *x, uint32_t T, uint32_t K, cudaStream_t stream) {
  float_kernel<<<dim3((job.rows + 7) / 8, (T + 7) / 8), 256, 0, stream>>>(job, x, T, K);
}

static void launch(ignis_dtype dtype, const LinearLaunch &launch) {
  switch (dtype) {
    case IGNIS_F32: break;
    case IGNIS_F16: launch_linear<IGNIS_F16>(launch); break;
    case IGNIS_BF16: launch_linear<IGNIS_BF16>(launch); break;
    case IGNIS_F8_E4M3: launch_linear<IGNIS_F8_E4M3>(launch); break;
    case IGNIS_Q8_0: launch_linear<IGNIS_Q8_0>(launch); break;
    case IGNIS_Q4_0: launch_linear<IGNIS_Q4_0>(launch); break;
    case IGNIS_Q4_1: launch_linear<IGNIS_Q4_1>(launch); break;
    case IGNIS_Q4_K: launch_linear<IGNIS_Q4_K>(launch); break;
    case IGNIS_Q5_0: launch_linear<IGNIS_Q5_0>(launch); break;
    case IGNIS_Q5_1: launch_linear<IGNIS_Q5_1>(launch); break;
    case IGNIS_Q5_K: launch_linear<IGNIS_Q5_K>(launch); break;
    case IGNIS_Q6_K: launch_linear<IGNIS_Q6_K>(launch); break;
  }
}

void linear_run(const LinearJob *jobs, uint32_t num, const void *memory, const float *x, uint32_t T, uint32_t K, uint32_t num_multiprocessors,
                uint32_t code, cudaStream_t stream) {
  if (T == 0) return;
  LinearLaunch each{{},
                    static_cast<const uint8_t *>(memory),
                    T,
                    K,
                    num_multiprocessors,
                    code,
                    stream};
  uint32_t done = 0;  // bits of the jobs that are launched
  for (uint32_t i = 0; i < num; i++) {
    if (done >> i & 1) continue;
    const ignis_dtype dtype = jobs[i].dtype;
    if (dtype == IGNIS_F32) {
      linear_floats(jobs[i], x, T, K, stream);
      continue;
    }
    // Jobs of one type share a launch.
    each.jobs.num = 0;
    for (uint32_t j = i; j < num && each.jobs.num < MAX_JOBS; j++) {
      if ((done >> j & 1) || jobs[j].dtype != dtype) continue;
      done |= 1u << j;
      const uint8_t *packed = static_cast<const uint8_t *>(jobs[j].packed);
      const uint64_t codes_bytes = uint64_t{num_tiles(jobs[j].rows)} * num_records(dtype, K) * record_bytes(dtype);
      each.jobs.job[each.jobs.num++] = NarrowJob{packed,       reinterpret_cast<const float *>(packed + codes_bytes), jobs[j].y, jobs[j].rows,
                                                 jobs[j].ldy, jobs[j].accumulates};
    }
    launch(dtype, each);
  }
}

}  // namespace ignis
