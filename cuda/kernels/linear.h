// linear.h: what linear layers of both phases share (linear_round.h, linear_span.h): a job, and the kernel of F32 weights.
#pragma once

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "../ops/ops.h"

namespace ignis {

struct LinearJob {
  float *y;            // [T, ldy]
  const void *packed;  // pack_rows's
  ignis_dtype dtype;
  uint32_t rows, ldy;
  bool accumulates;    // y += instead of y =; y's old value is added last
};

// The plain kernel of F32 weights, the same in both phases.
void linear_floats(const LinearJob &job, const float *x, uint32_t T, uint32_t K, cudaStream_t stream);

}  // namespace ignis
