// packed.h: how quantised weights lie in memory once loaded. One layout for every instruction set.
//
// Sixteen output rows are a group: a 512-bit register has one 32-bit lane for each, so sums never cross lanes. Groups follow each
// other; the last one is filled up with rows of zeros. The codes of 32 consecutive k are a block; four consecutive k of one row are
// a quad (0..7 in a block), which is what one lane of vpdpbusd multiplies.
//
//   group   codes of block 0, 1, ... num_blocks - 1 | scales of block 0, 1, ... | up to the next multiple of 64
//   codes   4 bits:  slot j = 0..3, 64 bytes: byte 4 r + i = code(row r, k 4j + i) | code(row r, k 16 + 4j + i) << 4
//           5 bits:  the same, then 64 bytes: bit q of byte 4 r + i = top bit of code(row r, k 4q + i)
//           6 bits:  the same, then 2 x 64 bytes: bits 2q, 2q + 1 of byte 4 r + i of half h = top bits of code(row r, k 16h + 4q + i)
//           8 bits:  slot q = 0..7, 64 bytes: byte 4 r + i = value(row r, k 4q + i) + 128
//   scales  *_0:        d [16] float16                              for each block
//           *_1:        d [16], m [16] float16                      for each block
//           Q4_K, Q5_K: d [16], dmin [16] float16, then 8 x (scales [16], minimums [16] uint8)   for each 8 blocks
//           Q6_K:       d [16] float16, then 8 x (scales of k 0..15 [16], of k 16..31 [16] int8) for each 8 blocks
//
// Codes and scales are apart because 32 bytes of scales between the codes of two blocks would make half of the loads cross a
// cache line. The nibble order is the one in which Q4_0 .. Q5_1 are stored, so that packing them is a transpose of 32-bit words.
#pragma once

#include <stdint.h>

#include "../quant/formats.h"

namespace ignis {

inline constexpr uint32_t GROUP_ROWS = 16;
inline constexpr uint32_t BLOCK_COLS = 32;
inline constexpr uint32_t SLOT_BYTES = 64;

struct PackedLayout {
  uint32_t code_bytes;    // of a block
  uint32_t scale_bytes;   // of scale_blocks blocks
  uint32_t scale_blocks;  // 1, or 8 where a stored block has 256 values
};

// Only for quantised types.
inline constexpr PackedLayout packed_layout(ignis_dtype dtype) {
  switch (dtype) {
    case IGNIS_Q4_0: return {4 * SLOT_BYTES, 32, 1};
    case IGNIS_Q4_1: return {4 * SLOT_BYTES, 64, 1};
    case IGNIS_Q5_0: return {5 * SLOT_BYTES, 32, 1};
    case IGNIS_Q5_1: return {5 * SLOT_BYTES, 64, 1};
    case IGNIS_Q8_0: return {8 * SLOT_BYTES, 32, 1};
    case IGNIS_Q4_K: return {4 * SLOT_BYTES, 64 + 8 * 32, 8};
    case IGNIS_Q5_K: return {5 * SLOT_BYTES, 64 + 8 * 32, 8};
    case IGNIS_Q6_K: return {6 * SLOT_BYTES, 32 + 8 * 32, 8};
    case IGNIS_F32:
    case IGNIS_F16:
    case IGNIS_BF16: break;
  }
  return {0, 0, 1};
}

inline constexpr uint32_t num_groups(uint32_t rows) { return (rows + GROUP_ROWS - 1) / GROUP_ROWS; }

// cols is a multiple of block_values(dtype).
inline constexpr uint64_t group_bytes(ignis_dtype dtype, uint32_t cols) {
  const PackedLayout layout = packed_layout(dtype);
  const uint64_t num_blocks = cols / BLOCK_COLS;
  return (num_blocks * layout.code_bytes + num_blocks / layout.scale_blocks * layout.scale_bytes + 63) / 64 * 64;
}

}  // namespace ignis
