// linear_span_input.cuh: the rows of a linear layer's input as a prefill span's kernels read them, for every weight type but F32.
//
// A row is multiplied by a power of two that brings its largest value into [2^14, 2^15), then rounded to float16 (11 bits). Its scale is
// taken back at the end of a sum, exactly.
//
//   pieces   of 64 columns, K rounded up to 256 (the last filled up with zeros): [tokens rounded up to 8] x 128 bytes. A token's eight parts
//            of 16 bytes, two a step of 16 columns, lie at their number xor the token's last three bits: what wgmma calls the 128-byte
//            swizzle, and what keeps ldmatrix free of conflicts. A part is column pairs 4 t, 4 t + 1 (t = 0..3) of its step; the next one is
//            4 t + 2, 4 t + 3, divided by 16 (weights.cuh says why).
//   scales   [tokens rounded up to 8] float32: what a row's finished sums are multiplied by
//
// Any number of a piece's tokens are one copy.
#pragma once

#include <stdint.h>

namespace ignis {

struct SpanInput {
  uint32_t tokens;  // T rounded up to 8
  uint32_t pieces;
  uint64_t scales_offset, size_bytes;
};

inline constexpr uint32_t SPAN_PIECE_BYTES = 128;  // of a token

__host__ __device__ inline SpanInput span_input(uint32_t T, uint32_t K) {
  SpanInput layout;
  layout.tokens = (T + 7) / 8 * 8;
  layout.pieces = (K + 255) / 256 * 4;
  layout.scales_offset = uint64_t{layout.pieces} * layout.tokens * SPAN_PIECE_BYTES;
  layout.size_bytes = layout.scales_offset + uint64_t{layout.tokens} * sizeof(float);
  return layout;
}

// The other form lies behind it (linear_span_eight_input.cuh).
__host__ __device__ inline uint64_t eights_offset(uint32_t T, uint32_t K) { return (span_input(T, K).size_bytes + 255) / 256 * 256; }

}  // namespace ignis
