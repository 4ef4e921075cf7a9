// activations.h: where the prepared forms of a linear layer's input lie in Activations.memory.
//
//   tiles         int8 planes; tile i holds tokens [i * MAX width, ...): every tile but the last is as wide as the kernels' widest; see
//                 linear_kernels.h
//   bfloat16      [T][2][K rounded up to 32], hi and lo, behind the tiles
#pragma once

#include <stdint.h>

#include "../ops/ops.h"
#include "linear_kernels.h"

namespace ignis {

inline constexpr uint64_t rounded_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

inline constexpr uint64_t tile_bytes_of_blocks(uint32_t width, uint32_t num_blocks) {
  return static_cast<uint64_t>(width) * TILE_TOKEN_BYTES * num_blocks;
}

// Bytes between two tiles.
inline constexpr uint64_t tile_bytes(uint32_t width, uint32_t K) { return rounded_up(tile_bytes_of_blocks(width, K / 32), 64); }

// Index of the narrowest width that holds T tokens; T <= the widest.
inline uint32_t width_index(const LinearKernels &kernels, uint32_t T) {
  uint32_t index = 0;
  while (kernels.widths[index] < T) index++;
  return index;
}

inline uint32_t widest(const LinearKernels &kernels) { return kernels.widths[kernels.num_widths - 1]; }

// Where the bfloat16 form starts: the same for every instruction set.
inline constexpr uint64_t bfloat_offset(uint32_t T, uint32_t K) {
  return rounded_up((static_cast<uint64_t>(T) + MAX_TILE_TOKENS) * TILE_TOKEN_BYTES * rounded_up(K, 32) / 32, 64) +
         64 * (static_cast<uint64_t>(T) + 1);
}

inline constexpr uint64_t bfloat_plane(uint32_t K) { return rounded_up(K, 32); }

}  // namespace ignis
