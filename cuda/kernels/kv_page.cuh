// kv_page.cuh: how the card lays out one layer's part of a page.
//
//   | K head 0 | K head 1 | ... | V head 0 | V head 1 | ... |        64 D elements each
//
//   K  [64 positions, D]; where D is a multiple of 64, in blocks of 64 dims: [D / 64][64 positions, 64]
//   V  [D, 64 positions]
//
// Where D is a multiple of 64 every row has 64 elements, eight chunks of eight, and chunk c lies at c ^ (row % 8). Of elements of two
// bytes that is what tensor cores read from shared memory as a 128-byte swizzle: a plain copy of a page brings their operand.
#pragma once

#include <stdint.h>

#include "../include/ignis_step.h"

namespace ignis {

__host__ __device__ inline bool has_chunks(uint32_t D) { return D % 64 == 0; }

// In elements, within [rows, 64].
__host__ __device__ inline uint32_t chunk_at(uint32_t row, uint32_t chunk) { return row * 64 + (chunk ^ (row % 8)) * 8; }

// In elements, from the start of the layer's part of the page.
__host__ __device__ inline uint64_t key_at(uint32_t head, uint32_t slot, uint32_t dim, uint32_t D) {
  const uint64_t start = static_cast<uint64_t>(head) * IGNIS_PAGE_TOKENS * D;
  if (!has_chunks(D)) return start + static_cast<uint64_t>(slot) * D + dim;
  return start + dim / 64 * 64 * IGNIS_PAGE_TOKENS + chunk_at(slot, dim % 64 / 8) + dim % 8;
}
__host__ __device__ inline uint64_t value_at(uint32_t head, uint32_t slot, uint32_t dim, uint32_t D, uint32_t NK) {
  const uint64_t start = (static_cast<uint64_t>(NK) + head) * IGNIS_PAGE_TOKENS * D;
  if (!has_chunks(D)) return start + static_cast<uint64_t>(dim) * IGNIS_PAGE_TOKENS + slot;
  return start + chunk_at(dim, slot / 8) + slot % 8;
}

}  // namespace ignis
