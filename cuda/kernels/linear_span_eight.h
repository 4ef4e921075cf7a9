// linear_span_eight.h: the rows of a prefill span for F8_E4M3 weights where the tensor cores multiply E4M3 (sm_90).
//
// Activations become E4M3 codes with a scale of 128 columns of a row, as the checkpoints mean it (activation_scheme dynamic): an error of
// 3 % of a value, 40 times what float16 has, and twice its products in the same time. Decode keeps float16.
#pragma once

#include <cuda_runtime_api.h>
#include <stdint.h>

namespace ignis {

// As linear_span.h's, of the other form.
uint64_t span_eight_bytes(uint32_t max_T, uint32_t max_K);
void span_eight_prepare(void *memory, const float *x, uint32_t T, uint32_t K, cudaStream_t stream);
void span_eight_prepare_norm(void *memory, const float *x, const float *w, float eps, uint32_t T, uint32_t K, cudaStream_t stream);
void span_eight_prepare_swiglu(void *memory, const float *gate, const float *up, uint32_t T, uint32_t K, cudaStream_t stream);

// launch.input is span_eight_prepare's memory. shape: of the tile; -1 chooses.
struct SpanLaunch;
void launch_span_eight(SpanLaunch launch, int shape = -1);
// What it chooses.
struct SpanShape;
SpanShape eight_shape(SpanLaunch launch);

}  // namespace ignis
