// linear_span.h: y = x w^T for the rows of a prefill span, packed weights of every type, bit-equal for any number of rows.
//
// The sum of an output is one chain of products of sixteen columns in rising k, in float32, whatever the tile
// (E4M3: linear_span_eight.cuh). Decode's (linear_round.h) is cut into slices that the whole card shares: the two do not agree bit for bit.
#pragma once

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "linear.h"

namespace ignis {

// What weights read of the rows: float16, or E4M3 codes, which F8_E4M3 weights are multiplied by where the tensor cores do that (sm_90;
// linear_span_eight.h).
struct SpanForms {
  bool halves, eights;
};
inline bool reads_eights(ignis_dtype dtype, uint32_t code) { return dtype == IGNIS_F8_E4M3 && code == 90; }

// Memory for prepared rows in both forms: any T <= max_T, K <= max_K.
uint64_t span_input_bytes(uint32_t max_T, uint32_t max_K);

// x [T, K] float32 into `memory` (256-byte aligned); as it is, or made on the way: rms_norm(x, w), or silu(gate) up.
void span_prepare(void *memory, const float *x, uint32_t T, uint32_t K, SpanForms forms, cudaStream_t stream);
void span_prepare_norm(void *memory, const float *x, const float *w, float eps, uint32_t T, uint32_t K, SpanForms forms, cudaStream_t stream);
void span_prepare_swiglu(void *memory, const float *gate, const float *up, uint32_t T, uint32_t K, SpanForms forms, cudaStream_t stream);

// Which block's tile of outputs the launch for so many rows takes, and in which form it reads the rows. Of jobs of one type, at most three.
struct SpanChoice {
  uint32_t rows, tokens;
  bool is_eight;
};
SpanChoice span_choice(const LinearJob *jobs, uint32_t num, uint32_t T, uint32_t num_multiprocessors, uint32_t code);

// Every job's weights have K columns. `memory` is span_prepare's with the same T and K; x [T, K] its source, which F32 weights read.
// num_multiprocessors decides grids only, never a bit; code is Device's.
void span_linear(const LinearJob *jobs, uint32_t num, const void *memory, const float *x, uint32_t T, uint32_t K,
                 uint32_t num_multiprocessors, uint32_t code, cudaStream_t stream);

}  // namespace ignis
