// round_input.cuh: the rows of a decode round as the tensor cores' B operands, in a form that the kernel that makes a row can write itself,
// sixteen columns at a time, before the rest of the row is there.
//
// A row is float16 (11 bits) times one power of two, its scale, which must be known before its values are. Columns 2 and 3 of every four
// are divided by 16 besides (weights.cuh says why). Float16 has 40 binades, all eleven bits in the upper 30 of them, so a rough scale does:
//   a norm's rows  x w: 2^-3 times the inverse rms that the row had at the norm before (its own where it is known). A row may grow by
//                  2^19 from one norm to the next.
//   SwiGLU's       2^-3: values up to 2^19, eleven bits down to 2^-7, and no less than 2^-18 is lost of any.
//   attention's    1: averages of values that fit float16.
//   all others     the row's largest value comes into [2^14, 2^15).
// A value that does not fit becomes infinite, and with it the logits of its row, which then give no token: nothing is lost unseen.
//
//   rows      block of 32 columns: [8 tokens] x 64 bytes, words (t, (b0, b1 of the first step, b0, b1 of the second)): a lane's 16 bytes
//   scales    [8 tokens] float32: what a row's finished sums are multiplied by, the inverse of its scale
//   squares   [8 tokens][groups of 16 columns] float32: rows of a norm are written without their 1 / rms, which is the reader's to apply to
//             finished sums: of these sums of x^2
//
// K is filled up with zeros to a multiple of 256, so that whole records find columns. Absent tokens are never read.
#pragma once

#include <cuda_fp16.h>
#include <stdint.h>

namespace ignis {

inline constexpr uint32_t ROUND_TOKENS = 8, GROUP_COLS = 16;

struct RoundLayout {
  uint32_t groups;  // with the filling
  uint64_t scales_offset, squares_offset, size_bytes;
};

__host__ __device__ inline RoundLayout round_layout(uint32_t K) {
  RoundLayout layout;
  layout.groups = (K + 255) / 256 * 16;
  layout.scales_offset = uint64_t{layout.groups} * 32 * ROUND_TOKENS;
  layout.squares_offset = layout.scales_offset + ROUND_TOKENS * sizeof(float);
  layout.size_bytes = layout.squares_offset + uint64_t{layout.groups} * ROUND_TOKENS * sizeof(float);
  return layout;
}

#if defined(__CUDACC__)

// A power of two: what a row is multiplied by, and what takes it back. Held where both are normal numbers.
struct RoundScale {
  uint32_t exponent;  // of `inverse`, biased
  // The scale that brings `value` into [2^(place), 2^(place + 1)).
  __device__ static RoundScale bringing(float value, int32_t place) {
    const int32_t exponent = static_cast<int32_t>((__float_as_uint(value) >> 23) & 255u) - place;
    return RoundScale{static_cast<uint32_t>(exponent < 2 ? 2 : exponent > 252 ? 252 : exponent)};
  }
  __device__ float factor() const { return __uint_as_float((254 - exponent) << 23); }
  __device__ float inverse() const { return __uint_as_float(exponent << 23); }
};
// Of the row that comes after one whose 1 / rms is given.
static __device__ __forceinline__ RoundScale norm_scale(float norm) { return RoundScale::bringing(1.0f / norm, -3); }
static __device__ __forceinline__ RoundScale gate_scale() { return RoundScale{127 + 3}; }
static __device__ __forceinline__ RoundScale attention_scale() { return RoundScale{127}; }

// Sixteen lanes side by side (threadIdx.x % 16 is the column) bring a group of a token; all 32 lanes of the warp call, those whose group is
// not wanted too.
static __device__ __forceinline__ void store_group(uint8_t *memory, uint32_t token, uint32_t group, float value, const RoundScale &scale,
                                                   bool is_wanted = true) {
  const uint32_t column = threadIdx.x % GROUP_COLS;
  const float factor = column % 4 < 2 ? scale.factor() : scale.factor() * 0.0625f;
  const uint32_t own = __half_as_ushort(__float2half_rn(value * factor)), next = __shfl_down_sync(~0u, own, 1);
  if (is_wanted && column % 2 == 0) {
    uint8_t *to = memory + (uint64_t{group / 2} * ROUND_TOKENS + token) * 64 + column / 4 * 16 + group % 2 * 8 + column % 4 * 2;
    *reinterpret_cast<uint32_t *>(to) = own | next << 16;
  }
}

// N columns side by side, 2 or 4, from `column` on, a multiple of N.
template <uint32_t N>
static __device__ __forceinline__ void store_columns(uint8_t *memory, uint32_t token, uint32_t column, const float values[N], const RoundScale &scale) {
  uint8_t *to = memory + (uint64_t{column / 32} * ROUND_TOKENS + token) * 64 + column % 16 / 4 * 16 + column / 16 % 2 * 8 + column % 4 * 2;
#pragma unroll
  for (uint32_t i = 0; i < N; i += 2) {
    const float factor = (column + i) % 4 < 2 ? scale.factor() : scale.factor() * 0.0625f;
    *reinterpret_cast<__half2 *>(to + i * 2) = __floats2half2_rn(values[i] * factor, values[i + 1] * factor);
  }
}

// What a group adds to its row's sum of squares: the sixteen lanes' `value`s, in one order.
static __device__ __forceinline__ void store_squares(uint8_t *memory, const RoundLayout &layout, uint32_t token, uint32_t group, float value,
                                                     bool is_wanted = true) {
  float sum = value * value;
#pragma unroll
  for (uint32_t i = 8; i; i >>= 1) sum += __shfl_xor_sync(~0u, sum, i);
  if (is_wanted && threadIdx.x % GROUP_COLS == 0) reinterpret_cast<float *>(memory + layout.squares_offset)[token * layout.groups + group] = sum;
}

static __device__ __forceinline__ void store_scale(uint8_t *memory, const RoundLayout &layout, uint32_t token, const RoundScale &scale) {
  reinterpret_cast<float *>(memory + layout.scales_offset)[token] = scale.inverse();
}

// A group of zeros, behind the last column.
static __device__ __forceinline__ void fill_group(uint8_t *memory, uint32_t token, uint32_t group) {
  uint8_t *to = memory + (uint64_t{group / 2} * ROUND_TOKENS + token) * 64 + group % 2 * 8;
#pragma unroll
  for (uint32_t i = 0; i < 4; i++) *reinterpret_cast<uint2 *>(to + i * 16) = make_uint2(0, 0);
}

// 1 / sqrt(mean(x^2) + eps) of a row whose groups are there, by a warp; in every lane.
static __device__ __forceinline__ float inverse_rms(const uint8_t *memory, const RoundLayout &layout, uint32_t token, uint32_t K, float eps) {
  const float *squares = reinterpret_cast<const float *>(memory + layout.squares_offset) + token * layout.groups;
  const uint32_t num = (K + GROUP_COLS - 1) / GROUP_COLS;
  float sum = 0.0f;
#pragma unroll 8
  for (uint32_t i = threadIdx.x % 32; i < num; i += 32) sum += squares[i];
#pragma unroll
  for (uint32_t i = 16; i; i >>= 1) sum += __shfl_xor_sync(~0u, sum, i);
  return rsqrtf(sum / static_cast<float>(K) + eps);
}

#endif

}  // namespace ignis
