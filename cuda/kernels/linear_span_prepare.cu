// linear_span_prepare.cu: the input rows of a prefill span, as they are or made on the way.
#include <cuda_fp16.h>

#include "linear_span.h"
#include "linear_span_input.cuh"
#include "weights.cuh"

namespace ignis {

uint64_t span_input_bytes(uint32_t max_T, uint32_t max_K) { return (span_input(max_T, max_K).size_bytes + 255) / 256 * 256; }

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

// Sixteen columns from k on; those behind the last one are 0.
static __device__ __forceinline__ void load_columns(float (&v)[16], const float *row, uint32_t k, uint32_t K) {
  if (K % 4 == 0 && k + 16 <= K) {
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) {
      const float4 four = reinterpret_cast<const float4 *>(row + k)[i];
      v[4 * i] = four.x, v[4 * i + 1] = four.y, v[4 * i + 2] = four.z, v[4 * i + 3] = four.w;
    }
  } else {
#pragma unroll
    for (uint32_t e = 0; e < 16; e++) v[e] = k + e < K ? row[k + e] : 0.0f;
  }
}

struct PlainSpan {
  const float *x;
  uint32_t K;
  __device__ __forceinline__ void load(float (&v)[16], uint64_t token, uint32_t k) const { load_columns(v, x + token * K, k, K); }
};

struct NormSpan {
  const float *x, *w;
  uint32_t K;
  float eps;
  __device__ __forceinline__ void load(float (&v)[16], uint64_t token, uint32_t k) const { load_columns(v, x + token * K, k, K); }
};

struct GateSpan {
  const float *gate, *up;
  uint32_t K;
  __device__ __forceinline__ void load(float (&v)[16], uint64_t token, uint32_t k) const {
    float other[16];
    load_columns(v, gate + token * K, k, K);
    load_columns(other, up + token * K, k, K);
#pragma unroll
    for (uint32_t e = 0; e < 16; e++) v[e] = v[e] / (1.0f + expf(-v[e])) * other[e];
  }
};

// The same value in all threads of the block, added or compared in an order that its size alone decides.
template <bool IS_SUM>
static __device__ __forceinline__ float of_block(float value, float *shared) {
  for (uint32_t i = 16; i; i >>= 1) {
    const float other = __shfl_xor_sync(~0u, value, i);
    value = IS_SUM ? value + other : fmaxf(value, other);
  }
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  value = shared[0];
  for (uint32_t i = 1; i < blockDim.x / 32; i++) value = IS_SUM ? value + shared[i] : fmaxf(value, shared[i]);
  return value;
}

// A block is a token; its threads take sixteen columns at a time, PARTS times, and keep them in registers between the scale and the rounding.
template <uint32_t PARTS, uint32_t MOST_THREADS, class Rows>
static __global__ void __launch_bounds__(MOST_THREADS) span_prepare_kernel(uint8_t *memory, const Rows rows, uint32_t T) {
  __shared__ float squares[32], largests[32];
  const uint32_t K = rows.K, token = blockIdx.x;
  const SpanInput layout = span_input(T, K);
  float v[PARTS][16], largest = 0.0f, sum = 0.0f;
#pragma unroll
  for (uint32_t i = 0; i < PARTS; i++) {
    const uint32_t k = (threadIdx.x + i * blockDim.x) * 16;
    rows.load(v[i], token, k);
#pragma unroll
    for (uint32_t e = 0; e < 16; e++) {
      if constexpr (requires { rows.eps; }) sum = fmaf(v[i][e], v[i][e], sum);
    }
  }
  if constexpr (requires { rows.eps; }) {
    const float scale = rsqrtf(of_block<true>(sum, squares) / static_cast<float>(K) + rows.eps);
#pragma unroll
    for (uint32_t i = 0; i < PARTS; i++) {
      float w[16];
      load_columns(w, rows.w, (threadIdx.x + i * blockDim.x) * 16, K);
#pragma unroll
      for (uint32_t e = 0; e < 16; e++) v[i][e] = v[i][e] * scale * w[e];
    }
  }
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
  if (steps <= 1024)
    span_prepare_kernel<1, 1024><<<T, threads(1), 0, stream>>>(to, rows, T);
  else if (steps <= 2048)
    span_prepare_kernel<4, 512><<<T, threads(4), 0, stream>>>(to, rows, T);
  else
    span_prepare_kernel<16, 512><<<T, threads(16), 0, stream>>>(to, rows, T);  // 131072 columns; registers spill
}

void span_prepare(void *memory, const float *x, uint32_t T, uint32_t K, cudaStream_t stream) {
  launch_prepare(memory, PlainSpan{x, K}, T, stream);
}

void span_prepare_norm(void *memory, const float *x, const float *w, float eps, uint32_t T, uint32_t K, cudaStream_t stream) {
  launch_prepare(memory, NormSpan{x, w, K, eps}, T, stream);
}

void span_prepare_swiglu(void *memory, const float *gate, const float *up, uint32_t T, uint32_t K, cudaStream_t stream) {
  launch_prepare(memory, GateSpan{gate, up, K}, T, stream);
}

}  // namespace ignis
