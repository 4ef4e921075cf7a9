// linear.cu: the plain kernel of F32 weights.
#include "linear.h"

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

}  // namespace ignis
