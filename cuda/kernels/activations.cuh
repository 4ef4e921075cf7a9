// activations.cuh: the rows of a linear layer's input as the tensor cores' B operands, for every weight type but F32.
//
// A row is multiplied by a power of two that brings its largest value into [2^14, 2^15), then rounded to float16 (11 bits). Its scale is
// taken back at the end of a sum, exactly. Columns 2 and 3 of every four are divided by 16 (weights.cuh says why).
//
// Up to 8 rows are one token tile of that many tokens; above, every tile has 8, the last filled up with zeros. A piece is 64 columns; the
// pieces of all tiles lie side by side, so that a block of a prefill kernel takes its tiles of a piece in one copy.
//
//   rows    piece, token tile, block of 32 columns: 64 bytes a token, words (t, (b0, b1 of the first step, b0, b1 of the second)).
//           One tile: [tokens][t][4], a lane's 16 bytes, straight from global memory. More: [4][8 tokens][t], four matrices of 8 x 16
//           bytes, which is what ldmatrix and wgmma read from shared memory.
//   sums    piece, token tile, block: [8 tokens] x (sum of the first 16 columns, of the second), of the rounded values, times 2^-24
//   scales  [tokens, padded as above to 8] float32: what a row's finished sums are multiplied by
#pragma once

#include <stdint.h>

namespace ignis {

struct InputLayout {
  uint32_t tiles, tile_tokens, pieces;  // pieces of 64 columns: K rounded up to 256
  uint32_t tile_bytes;                  // of a piece of a token tile
  uint64_t sums_offset, scales_offset, size_bytes;
};

__host__ __device__ inline InputLayout input_layout(uint32_t T, uint32_t K) {
  InputLayout layout;
  layout.tiles = (T + 7) / 8;
  layout.tile_tokens = T < 8 ? T : 8;
  layout.pieces = (K + 255) / 256 * 4;
  layout.tile_bytes = 2 * layout.tile_tokens * 64;
  layout.sums_offset = (uint64_t{layout.pieces} * layout.tiles * layout.tile_bytes + 255) / 256 * 256;
  layout.scales_offset = layout.sums_offset + uint64_t{layout.pieces} * layout.tiles * 128;
  layout.size_bytes = layout.scales_offset + uint64_t{layout.tiles} * 8 * sizeof(float);
  return layout;
}

}  // namespace ignis
