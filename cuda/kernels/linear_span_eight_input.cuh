// linear_span_eight_input.cuh: the rows of a prefill span as E4M3 codes, for weights of F8_E4M3 where the tensor cores multiply them.
//
// 128 columns of a row have a scale: their largest value / 448. What FP8 checkpoints are made for (activation_scheme dynamic).
//
//   records  of 128 columns (the last filled up with zeros): [tokens rounded up to 8] x 128 codes. A token's eight parts of 16 bytes lie at
//            their number xor the token's last three bits: what wgmma calls the 128-byte swizzle
//   scales   [records][tokens rounded up to 8] float32
//
// Any number of a record's tokens are one copy, and so are their scales.
#pragma once

#include <stdint.h>

namespace ignis {

struct SpanEightInput {
  uint32_t tokens;  // T rounded up to 8
  uint32_t records;
  uint64_t scales_offset, size_bytes;
};

inline constexpr uint32_t EIGHT_RECORD_COLS = 128;

__host__ __device__ inline SpanEightInput span_eight_input(uint32_t T, uint32_t K) {
  SpanEightInput layout;
  layout.tokens = (T + 7) / 8 * 8;
  layout.records = (K + EIGHT_RECORD_COLS - 1) / EIGHT_RECORD_COLS;
  layout.scales_offset = uint64_t{layout.records} * layout.tokens * EIGHT_RECORD_COLS;
  layout.size_bytes = layout.scales_offset + uint64_t{layout.records} * layout.tokens * sizeof(float);
  return layout;
}

}  // namespace ignis
