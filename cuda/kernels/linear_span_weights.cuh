// linear_span_weights.cuh: a piece of packed weights as float16 operands that need no scale afterwards but their row's.
//
// F16 and BF16 lie as they are used. Other types are code * scale + minimum, rounded to float16 once: an error of at most 2^-12 of the
// value, as large as what activations have. Their scales are multiplied by a power of two of the row (pack.cu) that brings the largest of
// it below 2^-8, so that a code that is a float16 subnormal (q * 2^-24) times a scale (2^24 d) does not overflow; of E4M3 below 2^3.
#pragma once

#include "weights.cuh"

namespace ignis {

#if defined(__CUDACC__)

// Factors and offsets of rows g and g + 8 in a block of 32 columns (Q6_K: 16), for both columns of a half.
template <ignis_dtype DTYPE>
struct SpanScales {
  static constexpr uint32_t UNITS = DTYPE == IGNIS_Q6_K ? 2 : 1;
  __half2 factor[2 * UNITS], offset[2 * UNITS];

  // row_factors: of rows g, g + 8: powers of two, what a row's weights are multiplied by.
  __device__ __forceinline__ void load(const BlockScales<DTYPE> &scales, const float (&row_factors)[2]) {
    constexpr float codes = is_nibbles(DTYPE) ? 16777216.0f : 1.0f;
#pragma unroll
    for (uint32_t i = 0; i < 2 * UNITS; i++) {
      const float scale = scales.scale[i] * row_factors[i % 2];
      factor[i] = __float2half2_rn(scale * codes);
      if constexpr (has_minimum(DTYPE))
        offset[i] = __float2half2_rn(scales.minimum[i % 2] * row_factors[i % 2]);
      else
        offset[i] = __float2half2_rn(-code_offset(DTYPE) * scale);
    }
  }

  // a: a step's codes; unit: its number of sixteen columns in the block.
  __device__ __forceinline__ void apply(uint32_t (&a)[4], uint32_t unit) const {
    const __half2 sixteen = __float2half2_rn(16.0f);
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) {
      const uint32_t at = i % 2 + (UNITS == 2 ? unit * 2 : 0);
      __half2 value = *reinterpret_cast<const __half2 *>(&a[i]);
      if constexpr (has_minimum(DTYPE) || code_offset(DTYPE) != 0.0f)
        value = __hfma2(value, factor[at], i / 2 ? __hmul2(offset[at], sixteen) : offset[at]);
      else
        value = __hmul2(value, factor[at]);
      a[i] = *reinterpret_cast<const uint32_t *>(&value);
    }
  }
};

// The four operands of a piece. `piece` and `super` (of its record) lie in shared memory.
template <ignis_dtype DTYPE>
static __device__ __forceinline__ void load_operands(uint32_t (&a)[4][4], const uint8_t *piece, const uint8_t *super, const float (&row_factors)[2],
                                                     uint32_t lane) {
  constexpr WeightLayout layout = weight_layout(DTYPE);
  Piece<DTYPE> codes;
  codes.load(piece, lane);
#pragma unroll
  for (uint32_t block = 0; block < 2; block++) {
    codes.fragment(a[2 * block], 2 * block);
    codes.fragment(a[2 * block + 1], 2 * block + 1);
    if constexpr (!layout.has_row_scales) {
      BlockScales<DTYPE> scales;
      scales.load(piece + layout.code_bytes + layout.high_bytes, super, block, lane / 4);
      SpanScales<DTYPE> halves;
      halves.load(scales, row_factors);
      halves.apply(a[2 * block], 0);
      halves.apply(a[2 * block + 1], 1);
    }
  }
}

#endif

}  // namespace ignis
