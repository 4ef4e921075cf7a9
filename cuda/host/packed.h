// packed.h: how quantised weights lie in memory once loaded. One layout for every instruction set.
//
// Sixteen output rows are a group: a 512-bit register has one 32-bit lane for each, so sums never cross lanes. Groups follow each
// other; the last one is filled up with rows of zeros. The codes of 32 consecutive k are a block; four consecutive k of one row are
// a quad (0..7 in a block), which is what one lane of vpdpbusd multiplies.
//
//   group    record 0, 1, ...: 1, 2 or 8 blocks each, a multiple of 64 bytes; the last may be filled only in part
//   record   scales of its blocks | codes of block 0, 1, ...
//   scales   Q4_1, Q5_1 (1 block):         d [16], m [16] float16
//            Q4_0, Q5_0, Q8_0 (2 blocks):  d [16] float16 of the first, of the second
//            Q4_K, Q5_K (8 blocks):        d [16], dmin [16] float16, then 8 x (scales [16], minimums [16] uint8)
//            Q6_K (8 blocks):              d [16] float16, 32 bytes unused, then 8 x (scales of k 0..15 [16], of k 16..31 [16] int8)
//   codes    4 bits:  slot j = 0..3, 64 bytes: byte 4 r + i = code(row r, k 4j + i) | code(row r, k 16 + 4j + i) << 4
//            5 bits:  the same, then 64 bytes: bit q of byte 4 r + i = top bit of code(row r, k 4q + i)
//            6 bits:  the same, then 2 x 64 bytes: bits 2q, 2q + 1 of byte 4 r + i of half h = top bits of code(row r, k 16h + 4q + i)
//            8 bits:  slot q = 0..7, 64 bytes: byte 4 r + i = value(row r, k 4q + i) + 128
//
// One thread reads one stream of whole cache lines in rising order: the processor's own prefetching then reaches the memory rate. With
// the scales of a group behind all its codes, a second stream, it did not (one thread of a Zen 4, one token: 9 GB/s against 33; with the
// best software prefetch 26). The nibble order is the one in which Q4_0 .. Q5_1 are stored, so that packing them is a transpose of
// 32-bit words.
#pragma once

#include <stdint.h>

#include "../quant/formats.h"

namespace ignis {

inline constexpr uint32_t GROUP_ROWS = 16;
inline constexpr uint32_t BLOCK_COLS = 32;
inline constexpr uint32_t SLOT_BYTES = 64;

struct PackedLayout {
  uint32_t record_blocks;
  uint32_t scale_bytes;  // of a record
  uint32_t code_bytes;   // of a block
};

// Only for quantised types.
inline constexpr PackedLayout packed_layout(ignis_dtype dtype) {
  switch (dtype) {
    case IGNIS_Q4_0: return {2, 64, 4 * SLOT_BYTES};
    case IGNIS_Q4_1: return {1, 64, 4 * SLOT_BYTES};
    case IGNIS_Q5_0: return {2, 64, 5 * SLOT_BYTES};
    case IGNIS_Q5_1: return {1, 64, 5 * SLOT_BYTES};
    case IGNIS_Q8_0: return {2, 64, 8 * SLOT_BYTES};
    case IGNIS_Q4_K: return {8, 64 + 8 * 32, 4 * SLOT_BYTES};
    case IGNIS_Q5_K: return {8, 64 + 8 * 32, 5 * SLOT_BYTES};
    case IGNIS_Q6_K: return {8, 64 + 8 * 32, 6 * SLOT_BYTES};
    case IGNIS_F32:
    case IGNIS_F16:
    case IGNIS_BF16:
    case IGNIS_F8_E4M3: break;
  }
  return {1, 0, 0};
}

inline constexpr uint32_t record_bytes(ignis_dtype dtype) {
  const PackedLayout layout = packed_layout(dtype);
  return layout.scale_bytes + layout.record_blocks * layout.code_bytes;
}

inline constexpr uint32_t num_groups(uint32_t rows) { return (rows + GROUP_ROWS - 1) / GROUP_ROWS; }

// cols is a multiple of block_values(dtype).
inline constexpr uint64_t group_bytes(ignis_dtype dtype, uint32_t cols) {
  const uint32_t unit = packed_layout(dtype).record_blocks * BLOCK_COLS;
  return (static_cast<uint64_t>(cols) + unit - 1) / unit * record_bytes(dtype);
}

// F8_E4M3 lies in rows, as it is stored, each with its own scales before its codes: one stream again.
//
//   row     filling | ... scale of block 1, of block 0: float32, times 2^8 | codes [cols], filling
//
// Both parts are whole cache lines. The scales run backwards so that the codes' address finds them. A code whose bits are moved to a
// float16's places is its value times 2^-8.
inline constexpr uint64_t whole_lines(uint64_t size_bytes) { return (size_bytes + 63) / 64 * 64; }
inline constexpr uint64_t scales_bytes(uint32_t cols) { return whole_lines(num_scale_blocks(cols) * sizeof(float)); }
inline constexpr uint64_t scaled_row_bytes(uint32_t cols) { return scales_bytes(cols) + whole_lines(cols); }

}  // namespace ignis
