// kv_page.cuh: how the card lays out one layer's part of a page.
//
//   E = bytes of an element (4: float32, 2: float16)
//   | K head 0 [64, D] | K head 1 | ... | V head 0 [D, 64] | V head 1 | ... |
//
// Both are the A operand of a tensor core's product as they lie: positions times D for the scores, D times positions for the output.
#pragma once

#include <stdint.h>

#include "../include/ignis_step.h"

namespace ignis {

// In elements, from the start of the layer's part of the page.
__host__ __device__ inline uint64_t key_at(uint32_t head, uint32_t slot, uint32_t dim, uint32_t D) {
  return (static_cast<uint64_t>(head) * IGNIS_PAGE_TOKENS + slot) * D + dim;
}
__host__ __device__ inline uint64_t value_at(uint32_t head, uint32_t slot, uint32_t dim, uint32_t D, uint32_t NK) {
  return static_cast<uint64_t>(NK) * IGNIS_PAGE_TOKENS * D + (static_cast<uint64_t>(head) * D + dim) * IGNIS_PAGE_TOKENS + slot;
}

}  // namespace ignis
