// linear.h: y = x w^T for the rows of a decode round, packed weights of every type, bit-equal for any number of rows. A prefill span's are
// linear_span.h's, and have bits of their own.
#pragma once

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "../ops/ops.h"

namespace ignis {

// Memory for prepared rows: any T <= max_T <= IGNIS_MAX_LANES, K <= max_K.
uint64_t linear_input_bytes(uint32_t max_T, uint32_t max_K);

// x [T, K] float32 into `memory` (256-byte aligned).
void linear_prepare(void *memory, const float *x, uint32_t T, uint32_t K, cudaStream_t stream);

// The same of rows that are made on the way: rms_norm(x, w) and swiglu(gate, up), bit for bit those of rows.cu. K is a multiple of 4.
void linear_prepare_norm(void *memory, const float *x, const float *w, float eps, uint32_t T, uint32_t K, cudaStream_t stream);
void linear_prepare_swiglu(void *memory, const float *gate, const float *up, uint32_t T, uint32_t K, cudaStream_t stream);

struct LinearJob {
  float *y;            // [T, ldy]
  const void *packed;  // pack_rows's
  ignis_dtype dtype;
  uint32_t rows, ldy;
  bool accumulates;    // y += instead of y =; y's old value is added last
};

// Every job's weights have K columns. `memory` is linear_prepare's with the same T and K; x [T, K] its source, which F32 weights read.
// num_multiprocessors decides grids only, never a bit; code is Device's.
void linear_run(const LinearJob *jobs, uint32_t num, const void *memory, const float *x, uint32_t T, uint32_t K, uint32_t num_multiprocessors,
                uint32_t code, cudaStream_t stream);

// The plain kernel of F32 weights, the same in both phases.
void linear_floats(const LinearJob &job, const float *x, uint32_t T, uint32_t K, cudaStream_t stream);

}  // namespace ignis
