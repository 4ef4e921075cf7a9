// attention_page.cuh: what a warp does with one page of 64 positions and eight columns (a column: a query head of a row). Prefill and
// decode both call it, so their bits agree.
//
//   scores   S = K q: positions are the rows of the tensor core's product, columns the tokens' side of linear_narrow.cuh
//   page     maximum m, weights p = 2^(s - m), their sum l, O = V p: nothing from other pages
//   merge    pages of a group of eight in rising order, then groups in rising order (SplitState)
//
// Sixteen positions make an M tile in an order that lets a lane read 16 bytes of K and of V at a time: row 2 t + e of tile s is position
// 32 (s / 2) + 8 t + 4 (s % 2) + e, row 8 + 2 t + e the one two further. Queries are float16 after a power-of-two scale of their row, the
// weights p without one.
#pragma once

#include <cuda_fp16.h>
#include <math_constants.h>
#include <stdint.h>

#include "../ops/ops.h"
#include "weights.cuh"

namespace ignis {

inline constexpr uint32_t GROUP_PAGES = 8;

static __device__ __forceinline__ uint32_t transpose(uint32_t block) {
  uint32_t result;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(block));
  return result;
}

static __device__ __forceinline__ uint32_t bits(__half2 value) { return *reinterpret_cast<const uint32_t *>(&value); }

// Columns 8 tile + g of the lane as operands.
template <uint32_t D>
struct Queries {
  uint32_t b[D / 16][2];
  float factor[2];  // scores of columns 2t, 2t + 1 times this are the exponents of 2

  // q: the column's D values, null for an absent column.
  __device__ __forceinline__ void load(const float *q, uint32_t t) {
    float v[D / 4], largest = 0.0f;
#pragma unroll
    for (uint32_t j = 0; j < D / 32; j++)
#pragma unroll
      for (uint32_t half = 0; half < 2; half++) {
        const float4 four = q ? *reinterpret_cast<const float4 *>(q + 32 * j + 8 * t + 4 * half) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        float *to = v + 8 * j + 4 * half;
        to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
#pragma unroll
        for (uint32_t e = 0; e < 4; e++) largest = fmaxf(largest, fabsf(to[e]));
      }
    largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, 1));
    largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, 2));
    uint32_t exponent = (__float_as_uint(largest) >> 23) & 255u;
    exponent = exponent < 16 ? 16 : exponent;
    const float scale = __uint_as_float((268 - exponent) << 23);
#pragma unroll
    for (uint32_t step = 0; step < D / 16; step++)
#pragma unroll
      for (uint32_t pair = 0; pair < 2; pair++) {
        b[step][pair] = bits(__floats2half2_rn(v[4 * step + 2 * pair] * scale, v[4 * step + 2 * pair + 1] * scale));
      }
    // 1 / (scale sqrt(D) ln 2)
    const float own = __uint_as_float((exponent - 14) << 23) * (1.4426950408889634f / (D == 128 ? 11.313708498984761f : 8.0f));
#pragma unroll
    for (uint32_t e = 0; e < 2; e++) factor[e] = __shfl_sync(~0u, own, (2 * t + e) * 4);
  }
};

// A page's weights as operands, and their maximum and sum for columns 2t, 2t + 1.
struct PageWeights {
  uint32_t b[4][2];
  float maximum[2], sum[2];
};

// seen[e]: how many positions of this page column 2t + e sees; <= 0 is none.
template <bool IS_MASKED>
static __device__ __forceinline__ void page_weights(PageWeights &w, float s[4][4], const float factor[2], const int32_t seen[2],
                                                    uint32_t g) {
  w.maximum[0] = w.maximum[1] = -CUDART_INF_F;
  const auto is_seen = [&](uint32_t tile, uint32_t i) {
    return static_cast<int32_t>(32 * (tile / 2) + 8 * (g / 2) + 4 * (tile % 2) + g % 2 + i / 2 * 2) < seen[i % 2];
  };
#pragma unroll
  for (uint32_t tile = 0; tile < 4; tile++)
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) {
      s[tile][i] = s[tile][i] * factor[i % 2];
      if (IS_MASKED && !is_seen(tile, i)) s[tile][i] = -CUDART_INF_F;
      w.maximum[i % 2] = fmaxf(w.maximum[i % 2], s[tile][i]);
    }
#pragma unroll
  for (uint32_t e = 0; e < 2; e++)
#pragma unroll
    for (uint32_t i = 4; i < 32; i <<= 1) w.maximum[e] = fmaxf(w.maximum[e], __shfl_xor_sync(~0u, w.maximum[e], i));
  w.sum[0] = w.sum[1] = 0.0f;
#pragma unroll
  for (uint32_t tile = 0; tile < 4; tile++)
#pragma unroll
    for (uint32_t pair = 0; pair < 2; pair++) {
      float rest[2];
#pragma unroll
      for (uint32_t e = 0; e < 2; e++) {
        rest[e] = exp2f(s[tile][2 * pair + e] - w.maximum[e]);
        if (IS_MASKED && !is_seen(tile, 2 * pair + e)) rest[e] = 0.0f;
      }
      const __half2 half = __floats2half2_rn(rest[0], rest[1]);
      const float2 used = __half22float2(half);
      w.b[tile][pair] = transpose(bits(half));
      w.sum[0] += used.x;
      w.sum[1] += used.y;
    }
#pragma unroll
  for (uint32_t e = 0; e < 2; e++)
#pragma unroll
    for (uint32_t i = 4; i < 32; i <<= 1) w.sum[e] += __shfl_xor_sync(~0u, w.sum[e], i);
}

// The factors of a merge: state = state * old + part * added, with the new maximum.
struct MergeFactors {
  float maximum, old_factor, new_factor;
  __device__ __forceinline__ MergeFactors(float old_maximum, float new_maximum) {
    maximum = fmaxf(old_maximum, new_maximum);
    // A part that sees nothing has no maximum.
    old_factor = old_maximum == -CUDART_INF_F ? 0.0f : exp2f(old_maximum - maximum);
    new_factor = new_maximum == -CUDART_INF_F ? 0.0f : exp2f(new_maximum - maximum);
  }
};
static __device__ __forceinline__ float merged(float old_value, float new_value, const MergeFactors &f) {
  return fmaf(new_value, f.new_factor, old_value * f.old_factor);
}

// Clears the values of positions that are not stored: they may be NaN. `word` holds positions `first`, first + 1 of the page.
static __device__ __forceinline__ uint32_t stored_only(uint32_t word, int32_t first, int32_t num_stored) {
  return first + 1 < num_stored ? word : first < num_stored ? word & 0xffffu : 0u;
}

// Scores of one M tile for N column tiles. `keys(row, chunk)` reads 16 bytes: chunk c is dims 8 c .. 8 c + 7 of position `row`.
template <uint32_t D, uint32_t N, class Keys>
static __device__ __forceinline__ void score_tile(float s[N][4][4], uint32_t tile, const Queries<D> q[N], uint32_t g, uint32_t t,
                                                  const Keys &keys) {
  const uint32_t row = 32 * (tile / 2) + 8 * (g / 2) + 4 * (tile % 2) + g % 2;
#pragma unroll
  for (uint32_t n = 0; n < N; n++)
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) s[n][tile][i] = 0.0f;
#pragma unroll
  for (uint32_t j = 0; j < D / 32; j++) {
    const uint4 upper = keys(row, 4 * j + t), lower = keys(row + 2, 4 * j + t);
    const uint32_t a[2][4] = {{upper.x, lower.x, upper.y, lower.y}, {upper.z, lower.z, upper.w, lower.w}};
#pragma unroll
    for (uint32_t half = 0; half < 2; half++)
#pragma unroll
      for (uint32_t n = 0; n < N; n++)
        multiply(s[n][tile], a[half], q[n].b[2 * j + half][0], q[n].b[2 * j + half][1]);
  }
}

// O of dims 16 i .. 16 i + 15 for N column tiles. `values(dim, chunk)` reads 16 bytes: chunk c is positions 8 c .. 8 c + 7.
template <uint32_t N, bool IS_MASKED, class Values>
static __device__ __forceinline__ void weigh_tile(float o[N][4], uint32_t tile, const PageWeights w[N], int32_t num_stored,
                                                  uint32_t g, uint32_t t, const Values &values) {
#pragma unroll
  for (uint32_t n = 0; n < N; n++)
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) o[n][i] = 0.0f;
#pragma unroll
  for (uint32_t j = 0; j < 2; j++) {
    uint4 upper = values(16 * tile + g, 4 * j + t), lower = values(16 * tile + g + 8, 4 * j + t);
    if constexpr (IS_MASKED) {
      const int32_t first = static_cast<int32_t>(32 * j + 8 * t);
      upper.x = stored_only(upper.x, first, num_stored), lower.x = stored_only(lower.x, first, num_stored);
      upper.y = stored_only(upper.y, first + 2, num_stored), lower.y = stored_only(lower.y, first + 2, num_stored);
      upper.z = stored_only(upper.z, first + 4, num_stored), lower.z = stored_only(lower.z, first + 4, num_stored);
      upper.w = stored_only(upper.w, first + 6, num_stored), lower.w = stored_only(lower.w, first + 6, num_stored);
    }
    const uint32_t a[2][4] = {{upper.x, lower.x, upper.y, lower.y}, {upper.z, lower.z, upper.w, lower.w}};
#pragma unroll
    for (uint32_t half = 0; half < 2; half++)
#pragma unroll
      for (uint32_t n = 0; n < N; n++)
        multiply(o[n], a[half], w[n].b[2 * j + half][0], w[n].b[2 * j + half][1]);
  }
}

}  // namespace ignis
