// weights.cuh: how matrices lie on the card, and how a warp turns a piece of one into operands of the tensor cores.
//
// Sixteen rows are a tile: the M of mma.m16n8k16, whose A operand the weights are, for one token as for thousands. Every type becomes
// float16 there, exactly: activations are float16 too (round_input.cuh, linear_span_input.cuh), and one kind of operand serves all types.
//
//   matrix   tile 0, 1, ... of 16 rows (the last filled up with zeros) | row scales [rows rounded up to 16] float32: powers of two that
//            results are multiplied by; other types than F16 and BF16 need them in prefill only (linear_span_weights.cuh)
//   tile     record 0, 1, ...: 128 columns each, 256 for the K types; the last filled up with zeros
//   record   two pieces of 64 columns | what the record's scales share | K types: two pieces more. So either half of a record lies in one
//            run with what it needs. K types share [8 g] x (d of row g, of row g + 8; dmin of both), F8_E4M3 a float32 scale and 12 bytes
//   piece    codes | high bits | scales
//
// Lane 4 g + t of a warp holds rows g and g + 8. Of sixteen columns (a step) it holds four, 4 t .. 4 t + 3: the mma's own columns 2t,
// 2t + 1, 2t + 8, 2t + 9 under a permutation that the activations share. a0, a2 are row g's first and last two, a1, a3 row g + 8's.
//
//   F16, BF16  [4 steps][32 lanes] x (a0, a1, a2, a3)
//   8 bits     [2 blocks of 32][32 lanes] x 2 steps x bytes (a0, a1, a2, a3), value + 128; F8_E4M3 the codes as they are
//   4 bits     [32 lanes][4 steps] x word: in each half (first, second column) the nibbles a0, a2, a1, a3
//   5 bits     the same, then [32 lanes] x word: in each half bit 4 step + (a0, a2, a1, a3)
//   6 bits     the same, then [32 lanes] x 2 words (of two steps): in each half two bits at 2 (4 (step % 2) + (a0, a2, a1, a3))
//   scales     [8 g][2 blocks of 32]: (d_g, d_g+8) float16; with a minimum (d_g, d_g+8, m_g, m_g+8); Q4_K, Q5_K (s_g, s_g+8, m_g, m_g+8)
//              uint8; Q6_K (s_g, s_g+8 of the first 16 columns, of the second) int8
//
// a2 and a3 are multiplied by 16, and the activations that they meet divided by it: a nibble at bits 7:4 of a half is, as a float16
// that is subnormal, 16 times the same nibble at bits 3:0, so four nibbles of a word are unpacked by four ANDs and one shift.
#pragma once

#include <cuda_fp16.h>
#include <stdint.h>

#include "../include/ignis_step.h"

namespace ignis {

inline constexpr uint32_t TILE_ROWS = 16;
inline constexpr uint32_t PIECE_COLS = 64;
inline constexpr uint32_t HALF_COLS = 128, HALF_PIECES = HALF_COLS / PIECE_COLS;  // half of a record of the K types, a record of all others

struct WeightLayout {
  uint32_t record_cols;   // HALF_COLS or twice that
  uint32_t code_bytes;    // of a piece
  uint32_t high_bytes;
  uint32_t scale_bytes;
  uint32_t super_bytes;   // of a record
  bool has_row_scales;
};

__host__ __device__ constexpr WeightLayout weight_layout(ignis_dtype dtype) {
  switch (dtype) {
    case IGNIS_F16:
    case IGNIS_BF16: return {128, 2048, 0, 0, 0, true};
    case IGNIS_Q8_0: return {128, 1024, 0, 64, 0, false};
    case IGNIS_F8_E4M3: return {128, 1024, 0, 0, 16, false};
    case IGNIS_Q4_0: return {128, 512, 0, 64, 0, false};
    case IGNIS_Q4_1: return {128, 512, 0, 128, 0, false};
    case IGNIS_Q5_0: return {128, 512, 128, 64, 0, false};
    case IGNIS_Q5_1: return {128, 512, 128, 128, 0, false};
    case IGNIS_Q4_K: return {256, 512, 0, 64, 64, false};
    case IGNIS_Q5_K: return {256, 512, 128, 64, 64, false};
    case IGNIS_Q6_K: return {256, 512, 256, 64, 32, false};
    default: return {0, 0, 0, 0, 0, false};
  }
}

__host__ __device__ constexpr uint32_t piece_bytes(ignis_dtype dtype) {
  return weight_layout(dtype).code_bytes + weight_layout(dtype).high_bytes + weight_layout(dtype).scale_bytes;
}
__host__ __device__ constexpr uint32_t record_bytes(ignis_dtype dtype) {
  return weight_layout(dtype).record_cols / PIECE_COLS * piece_bytes(dtype) + weight_layout(dtype).super_bytes;
}
__host__ __device__ constexpr uint32_t num_records(ignis_dtype dtype, uint32_t cols) {
  return (cols + weight_layout(dtype).record_cols - 1) / weight_layout(dtype).record_cols;
}
__host__ __device__ constexpr uint32_t num_tiles(uint32_t rows) { return (rows + TILE_ROWS - 1) / TILE_ROWS; }

// Where a record has its pieces and what its scales share.
__host__ __device__ constexpr uint32_t shared_offset(ignis_dtype dtype) { return HALF_PIECES * piece_bytes(dtype); }
__host__ __device__ constexpr uint32_t piece_offset(ignis_dtype dtype, uint32_t piece) {
  return piece * piece_bytes(dtype) + (piece >= HALF_PIECES ? weight_layout(dtype).super_bytes : 0);
}

// The K slices of a row's sum: runs of so many halves of records, at most eight slices. Part of the contract: it depends on the shape alone.
// Of whole records, Qwen3-32B's 20 of 256 columns, six slices would have three, one two, and the eighth none.
inline constexpr uint32_t MAX_SLICES = 8;
__host__ __device__ constexpr uint32_t slice_halves(uint32_t halves) { return (halves + MAX_SLICES - 1) / MAX_SLICES; }

// Types whose codes are float16 subnormals carry 2^-24 in every sum until the end.
__host__ __device__ constexpr bool is_nibbles(ignis_dtype dtype) {
  return dtype != IGNIS_F16 && dtype != IGNIS_BF16 && dtype != IGNIS_Q8_0 && dtype != IGNIS_F8_E4M3 && dtype != IGNIS_F32;
}
// What is subtracted from each code.
__host__ __device__ constexpr float code_offset(ignis_dtype dtype) {
  return dtype == IGNIS_Q4_0 ? 8.0f : dtype == IGNIS_Q5_0 ? 16.0f : dtype == IGNIS_Q6_K ? 32.0f : 0.0f;
}
__host__ __device__ constexpr bool has_minimum(ignis_dtype dtype) {
  return dtype == IGNIS_Q4_1 || dtype == IGNIS_Q5_1 || dtype == IGNIS_Q4_K || dtype == IGNIS_Q5_K;
}

#if defined(__CUDACC__)

// c += a b, sixteen columns. One chain of these in rising k gives the same bits in every tile shape (measured on sm_90).
static __device__ __forceinline__ void multiply(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Two E4M3 codes, the low bytes of `pair`, as float16: exact.
static __device__ __forceinline__ uint32_t halves_of_e4m3(uint32_t pair) {
#if __CUDA_ARCH__ >= 890
  uint32_t halves;
  asm("{ .reg .b16 low, high; mov.b32 {low, high}, %1; cvt.rn.f16x2.e4m3x2 %0, low; }" : "=r"(halves) : "r"(pair));
  return halves;
#else
  // A code's bits, its sign at the top, are the value times 2^-8.
  const uint32_t up = __byte_perm(pair, 0, 0x1404), bits = (up & 0x80008000u) | ((up & 0x7f007f00u) >> 1);
  const __half2 value = __hmul2(*reinterpret_cast<const __half2 *>(&bits), __float2half2_rn(256.0f));
  return *reinterpret_cast<const uint32_t *>(&value);
#endif
}

// A lane's codes of a piece, as stored.
template <ignis_dtype DTYPE>
struct Piece {
  static constexpr WeightLayout LAYOUT = weight_layout(DTYPE);
  uint4 codes[LAYOUT.code_bytes / 512];
  uint32_t high[LAYOUT.high_bytes ? LAYOUT.high_bytes / 128 : 1];

  // `piece` in shared memory.
  __device__ __forceinline__ void load(const uint8_t *piece, uint32_t lane) {
#pragma unroll
    for (uint32_t i = 0; i < LAYOUT.code_bytes / 512; i++) codes[i] = *reinterpret_cast<const uint4 *>(piece + i * 512 + lane * 16);
    if constexpr (LAYOUT.high_bytes == 128) high[0] = *reinterpret_cast<const uint32_t *>(piece + LAYOUT.code_bytes + lane * 4);
    if constexpr (LAYOUT.high_bytes == 256) {
      const uint2 words = *reinterpret_cast<const uint2 *>(piece + LAYOUT.code_bytes + lane * 8);
      high[0] = words.x;
      high[1] = words.y;
    }
  }

  static __device__ __forceinline__ uint32_t word(const uint4 &v, uint32_t i) { return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w; }

  // The operand of step 0..3; constant after unrolling.
  __device__ __forceinline__ void fragment(uint32_t a[4], uint32_t step) const {
    if constexpr (LAYOUT.has_row_scales) {
      a[0] = codes[step].x;
      a[1] = codes[step].y;
      a[2] = codes[step].z;
      a[3] = codes[step].w;
    } else if constexpr (DTYPE == IGNIS_Q8_0) {
      // 0x6400 | u is 1024 + u: both results are whole numbers below 2048, exact.
      const __half2 one = __float2half2_rn(-1152.0f), sixteen = __float2half2_rn(16.0f), much = __float2half2_rn(-18432.0f);
      const uint32_t first = word(codes[step / 2], step % 2 * 2), second = word(codes[step / 2], step % 2 * 2 + 1);
      const uint32_t w[4] = {__byte_perm(first, 0x64646464u, 0x4140), __byte_perm(first, 0x64646464u, 0x4342),
                             __byte_perm(second, 0x64646464u, 0x4140), __byte_perm(second, 0x64646464u, 0x4342)};
#pragma unroll
      for (uint32_t i = 0; i < 2; i++) {
        const __half2 low = __hadd2(*reinterpret_cast<const __half2 *>(&w[i]), one);
        const __half2 up = __hfma2(*reinterpret_cast<const __half2 *>(&w[2 + i]), sixteen, much);
        a[i] = *reinterpret_cast<const uint32_t *>(&low);
        a[2 + i] = *reinterpret_cast<const uint32_t *>(&up);
      }
    } else if constexpr (DTYPE == IGNIS_F8_E4M3) {
      const uint32_t first = word(codes[step / 2], step % 2 * 2), second = word(codes[step / 2], step % 2 * 2 + 1);
      a[0] = halves_of_e4m3(first);
      a[1] = halves_of_e4m3(first >> 16);
      const uint32_t up[2] = {halves_of_e4m3(second), halves_of_e4m3(second >> 16)};
#pragma unroll
      for (uint32_t i = 0; i < 2; i++) {
        const __half2 much = __hmul2(*reinterpret_cast<const __half2 *>(&up[i]), __float2half2_rn(16.0f));
        a[2 + i] = *reinterpret_cast<const uint32_t *>(&much);
      }
    } else {
      const uint32_t w = word(codes[0], step), upper = w >> 8;
      a[0] = w & 0x000f000fu;
      a[2] = w & 0x00f000f0u;
      a[1] = upper & 0x000f000fu;
      a[3] = upper & 0x00f000f0u;
      if constexpr (LAYOUT.high_bytes == 128) {
        a[0] |= shifted(high[0], 4 * step, 4) & 0x00100010u;
        a[2] |= shifted(high[0], 4 * step + 1, 8) & 0x01000100u;
        a[1] |= shifted(high[0], 4 * step + 2, 4) & 0x00100010u;
        a[3] |= shifted(high[0], 4 * step + 3, 8) & 0x01000100u;
      }
      if constexpr (LAYOUT.high_bytes == 256) {
        const uint32_t h = high[step / 2], at = step % 2 * 8;
        a[0] |= shifted(h, at, 4) & 0x00300030u;
        a[2] |= shifted(h, at + 2, 8) & 0x03000300u;
        a[1] |= shifted(h, at + 4, 4) & 0x00300030u;
        a[3] |= shifted(h, at + 6, 8) & 0x03000300u;
      }
    }
  }

  static __device__ __forceinline__ uint32_t shifted(uint32_t word, uint32_t from, uint32_t to) {
    return from > to ? word >> (from - to) : word << (to - from);
  }
};

// What rows g and g + 8 multiply a block of 32 columns by: [0], [1] of the first 16, [2], [3] of the second where a scale has 16 columns.
template <ignis_dtype DTYPE>
struct BlockScales {
  float scale[DTYPE == IGNIS_Q6_K ? 4 : 2];
  float minimum[2];

  // `scales` of the piece, `super` of the record, both in shared memory; block 0 or 1 of the piece.
  __device__ __forceinline__ void load(const uint8_t *scales, const uint8_t *super, uint32_t block, uint32_t g) {
    // Both blocks' at once: the other call's load is this one.
    [[maybe_unused]] const auto word_of = [&] {
      const uint2 both = *reinterpret_cast<const uint2 *>(scales + g * 8);
      return block ? both.y : both.x;
    };
    if constexpr (DTYPE == IGNIS_Q4_1 || DTYPE == IGNIS_Q5_1) {
      const uint4 both = *reinterpret_cast<const uint4 *>(scales + g * 16);
      const uint2 words = block ? make_uint2(both.z, both.w) : make_uint2(both.x, both.y);
      const float2 d = __half22float2(*reinterpret_cast<const __half2 *>(&words.x)), m = __half22float2(*reinterpret_cast<const __half2 *>(&words.y));
      scale[0] = d.x;
      scale[1] = d.y;
      minimum[0] = m.x;
      minimum[1] = m.y;
    } else if constexpr (DTYPE == IGNIS_Q4_K || DTYPE == IGNIS_Q5_K) {
      const uint32_t word = word_of();
      const uint2 words = *reinterpret_cast<const uint2 *>(super + g * 8);
      const float2 d = __half22float2(*reinterpret_cast<const __half2 *>(&words.x)), m = __half22float2(*reinterpret_cast<const __half2 *>(&words.y));
      // A byte is a float16 subnormal, 2^-24 times itself. Exact: eleven bits times six.
      const float2 s = float2_of(__byte_perm(word, 0, 0x4140)), n = float2_of(__byte_perm(word, 0, 0x4342));
      scale[0] = d.x * 16777216.0f * s.x;
      scale[1] = d.y * 16777216.0f * s.y;
      minimum[0] = -(m.x * 16777216.0f * n.x);
      minimum[1] = -(m.y * 16777216.0f * n.y);
    } else if constexpr (DTYPE == IGNIS_Q6_K) {
      // Signed bytes with their top bit turned are value + 128; 0x6400 | u is 1024 + u in float16.
      const uint32_t word = word_of() ^ 0x80808080u;
      const float2 d = __half22float2(*reinterpret_cast<const __half2 *>(super + g * 4));
#pragma unroll
      for (uint32_t i = 0; i < 2; i++) {
        const uint32_t raised = __byte_perm(word, 0x64646464u, i ? 0x4342 : 0x4140);
        const float2 s = __half22float2(__hadd2(*reinterpret_cast<const __half2 *>(&raised), __float2half2_rn(-1152.0f)));
        scale[2 * i] = d.x * s.x;
        scale[2 * i + 1] = d.y * s.y;
      }
    } else if constexpr (DTYPE == IGNIS_F8_E4M3) {
      scale[0] = scale[1] = *reinterpret_cast<const float *>(super);
    } else if constexpr (!weight_layout(DTYPE).has_row_scales) {
      const float2 d = float2_of(word_of());
      scale[0] = d.x;
      scale[1] = d.y;
    }
  }

  static __device__ __forceinline__ float2 float2_of(uint32_t halves) { return __half22float2(*reinterpret_cast<const __half2 *>(&halves)); }
};

#endif

}  // namespace ignis
