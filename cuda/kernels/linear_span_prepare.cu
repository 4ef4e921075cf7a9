// linear_span_prepare.cu: the input rows of a prefill span, as they are or made on the way.
#include <cuda_fp16.h>

#include "linear_span.h"
#include "linear_span_eight.h"
#include "linear_span_input.cuh"
#include "linear_span_rows.cuh"
#include "weights.cuh"

namespace ignis {

uint64_t span_input_bytes(uint32_t max_T, uint32_t max_K) { return eights_offset(max_T, max_K) + span_eight_bytes(max_T, max_K); }

// A row's power of two, from the exponent e of its largest value: that is in [2^(e-127), 2^(e-126)). Held where both the factor and its
// inverse are normal numbers.
struct SpanScale {
  float factor, inverse;
  __device__ explicit SpanScale(float largest) {
    uint32_t exponent = (__float_as_uint(largest) >> 23) & 255u;
    exponent = exponent < 16 ? 16 : exponent;
    factor = __uint_as_float((268 - exponent) << 23);
    inverse = __uint_as_float((exponent - 14) << 23);
  }
};

// A block is a token; its threads take sixteen columns at a time, PARTS times, and keep them in registers between the scale and the rounding.
template <uint32_t PARTS, uint32_t MOST_THREADS, class Rows>
static __global__ void __launch_bounds__(MOST_THREADS) span_prepare_kernel(uint8_t *memory, const Rows rows, uint32_t T) {
  __shared__ float squares[32], largests[32];
  const uint32_t K = rows.K, token = blockIdx.x;
  const SpanInput layout = span_input(T, K);
  float v[PARTS][16], largest = 0.0f;
  load_row(v, rows, token, squares);
#pragma unroll
  for (uint32_t i = 0; i < PARTS; i++)
#pragma unroll
    for (uint32_t e = 0; e < 16; e++) largest = fmaxf(largest, fabsf(v[i][e]));
  const SpanScale scale(of_block<false>(largest, largests));
  if (threadIdx.x == 0) reinterpret_cast<float *>(memory + layout.scales_offset)[token] = scale.inverse;
#pragma unroll
  for (uint32_t i = 0; i < PARTS; i++) {
    const uint32_t step = threadIdx.x + i * blockDim.x, piece = step / 4;
    if (piece >= layout.pieces) continue;
    uint32_t words[2][4];
#pragma unroll
    for (uint32_t t = 0; t < 4; t++)
#pragma unroll
      for (uint32_t pair = 0; pair < 2; pair++) {
        const float factor = pair ? scale.factor * 0.0625f : scale.factor;
        const __half2 two = __floats2half2_rn(v[i][4 * t + 2 * pair] * factor, v[i][4 * t + 2 * pair + 1] * factor);
        words[pair][t] = *reinterpret_cast<const uint32_t *>(&two);
      }
    uint4 *to = reinterpret_cast<uint4 *>(memory + (uint64_t{piece} * layout.tokens + token) * SPAN_PIECE_BYTES);
#pragma unroll
    for (uint32_t pair = 0; pair < 2; pair++)
      to[(step % 4 * 2 + pair) ^ (token % 8)] = make_uint4(words[pair][0], words[pair][1], words[pair][2], words[pair][3]);
  }
}

template <class Rows>
static void launch_prepare(void *memory, const Rows &rows, uint32_t T, cudaStream_t stream) {
  if (T == 0) return;
  const uint32_t steps = span_input(T, rows.K).pieces * 4;
  uint8_t *to = static_cast<uint8_t *>(memory);
  const auto threads = [&](uint32_t parts) { return (steps + 32 * parts - 1) / (32 * parts) * 32; };
  // Small blocks: while one finds its scale, others of the multiprocessor fetch or write.
  if (steps <= 512)
    span_prepare_kernel<1, 512><<<T, threads(1), 0, stream>>>(to, rows, T);
  else if (steps <= 1024)
    span_prepare_kernel<2, 512><<<T, threads(2), 0, stream>>>(to, rows, T);
  else if (steps <= 2048)
    span_prepare_kernel<4, 512><<<T, threads(4), 0, stream>>>(to, rows, T);
  else
    span_prepare_kernel<16, 512><<<T, threads(16), 0, stream>>>(to, rows, T);  // up to 131072 columns; registers spill
}

static void *eights_of(void *memory, uint32_t T, uint32_t K) { return static_cast<uint8_t *>(memory) + eights_offset(T, K); }

void span_prepare(void *memory, const float *x, uint32_t T, uint32_t K, SpanForms forms, cudaStream_t stream) {
  if (forms.halves) launch_prepare(memory, PlainSpan{x, K}, T, stream);
  if (forms.eights) span_eight_prepare(eights_of(memory, T, K), x, T, K, stream);
}

void span_prepare_norm(void *memory, const float *x, const float *w, float eps, uint32_t T, uint32_t K, SpanForms forms, cudaStream_t stream) {
  if (forms.halves) launch_prepare(memory, NormSpan{x, w, K, eps}, T, stream);
  if (forms.eights) span_eight_prepare_norm(eights_of(memory, T, K), x, w, eps, T, K, stream);
}

void span_prepare_swiglu(void *memory, const float *gate, const float *up, uint32_t T, uint32_t K, SpanForms forms, cudaStream_t stream) {
  if (forms.halves) launch_prepare(memory, GateSpan{gate, up, K}, T, stream);
  if (forms.eights) span_eight_prepare_swiglu(eights_of(memory, T, K), gate, up, T, K, stream);
}

}  // namespace ignis
