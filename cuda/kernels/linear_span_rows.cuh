// linear_span_rows.cuh: the rows that are prepared for a prefill span's linear layers: as they are, normed, or gated.
#pragma once

#include <stdint.h>

#include "gated.cuh"

namespace ignis {

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
    for (uint32_t e = 0; e < 16; e++) v[e] = gated(v[e], other[e]);
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

// The rows' values, sixteen columns at a time, PARTS times a thread: columns (threadIdx.x + i * blockDim.x) * 16 of part i.
template <uint32_t PARTS, class Rows>
static __device__ __forceinline__ void load_row(float (&v)[PARTS][16], const Rows &rows, uint64_t token, float *shared) {
  const uint32_t K = rows.K;
  float sum = 0.0f;
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
    const float scale = rsqrtf(of_block<true>(sum, shared) / static_cast<float>(K) + rows.eps);
#pragma unroll
    for (uint32_t i = 0; i < PARTS; i++) {
      float w[16];
      load_columns(w, rows.w, (threadIdx.x + i * blockDim.x) * 16, K);
#pragma unroll
      for (uint32_t e = 0; e < 16; e++) v[i][e] = v[i][e] * scale * w[e];
    }
  }
}

}  // namespace ignis
