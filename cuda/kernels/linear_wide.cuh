// linear_wide.cuh: linear layers for many rows: a block owns 128 weight rows x 128 tokens.
//
// Eight warps: two halves of the rows x four quarters of the tokens, 64 x 32 each. Pieces of 64 columns come through a ring in shared
// memory that all warps share. A sum is cut at the same K slices as in linear_narrow.cuh and its slices are added in rising order, so a
// row's bits are those of a decode round: that costs a second set of 64 accumulators.
#pragma once

#include "activations.cuh"
#include "linear_narrow.cuh"

namespace ignis {

inline constexpr uint32_t WIDE_ROW_TILES = 8, WIDE_TOKEN_TILES = 16, WIDE_WARPS = 8;

// Four matrices of 8 x 16 bytes; `row` is the lane's of 32 rows.
static __device__ __forceinline__ uint4 load_matrices(const uint8_t *row) {
  uint4 words;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
               : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row)))
               : "memory");
  return words;
}

template <ignis_dtype DTYPE>
struct WideStage {
  static constexpr uint32_t WEIGHTS = piece_bytes(DTYPE) + weight_layout(DTYPE).super_bytes;  // of a tile
  static constexpr uint32_t INPUT = 2 * 512;                                                  // of a token tile
  static constexpr uint32_t SUMS = is_nibbles(DTYPE) ? 128 : 0;
  static constexpr uint32_t BYTES = WIDE_ROW_TILES * WEIGHTS + WIDE_TOKEN_TILES * (INPUT + SUMS);
  static constexpr uint32_t STAGES = 225 * 1024 / BYTES < 4 ? 225 * 1024 / BYTES : 4;
};

template <ignis_dtype DTYPE>
static __global__ void __launch_bounds__(WIDE_WARPS * 32, 1)
    wide_kernel(const NarrowJobs jobs, const uint8_t *input, uint32_t T, uint32_t K) {
  using Stage = WideStage<DTYPE>;
  constexpr WeightLayout layout = weight_layout(DTYPE);
  constexpr uint32_t RECORD = record_bytes(DTYPE), PIECE = piece_bytes(DTYPE), PIECES = layout.record_cols / PIECE_COLS;
  constexpr uint32_t STAGES = Stage::STAGES, THREADS = WIDE_WARPS * 32;
  extern __shared__ __align__(16) uint8_t shared[];
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
  const uint32_t row_half = warp / 4, token_quarter = warp % 4;

  const uint32_t item = blockIdx.y, which = item < jobs.first_item[1] ? 0u : item < jobs.first_item[2] ? 1u : 2u;
  const NarrowJob &job = jobs.job[which];
  const uint32_t first_tile = (item - jobs.first_item[which]) * WIDE_ROW_TILES, last_tile = num_tiles(job.rows) - 1;
  const uint32_t records = num_records(DTYPE, K), slice_pieces = slice_records(records) * PIECES, pieces = records * PIECES;
  const uint64_t tile_bytes = uint64_t{records} * RECORD;
  const InputLayout in = input_layout(T, K);
  const uint32_t first_token_tile = blockIdx.x * WIDE_TOKEN_TILES;
  const uint32_t token_tiles = in.tiles - first_token_tile < WIDE_TOKEN_TILES ? in.tiles - first_token_tile : WIDE_TOKEN_TILES;

  // Row tiles behind the last one are copies of it, token tiles behind the last one hold anything: their outputs are left out.
  const auto copy_piece = [&](uint32_t index) {
    if (index < pieces) {
      uint8_t *target = shared + index % STAGES * Stage::BYTES;
      const uint32_t record = index / PIECES, piece = index % PIECES;
      const uint8_t *weights = job.packed + uint64_t{record} * RECORD;
      constexpr uint32_t chunks = PIECE / 16, super_chunks = layout.super_bytes / 16;
      for (uint32_t i = threadIdx.x; i < WIDE_ROW_TILES * chunks; i += THREADS) {
        const uint32_t tile = i / chunks, at = i % chunks * 16;
        const uint32_t from = first_tile + tile < last_tile ? first_tile + tile : last_tile;
        copy_async(target + tile * Stage::WEIGHTS + at, weights + from * tile_bytes + piece * PIECE + at);
      }
      if constexpr (super_chunks > 0) {
        if (threadIdx.x < WIDE_ROW_TILES * super_chunks) {
          const uint32_t tile = threadIdx.x / super_chunks, at = threadIdx.x % super_chunks * 16;
          const uint32_t from = first_tile + tile < last_tile ? first_tile + tile : last_tile;
          copy_async(target + tile * Stage::WEIGHTS + PIECE + at, weights + from * tile_bytes + PIECES * PIECE + at);
        }
      }
      uint8_t *inputs = target + WIDE_ROW_TILES * Stage::WEIGHTS;
      // Tiles of a piece lie side by side.
      const uint8_t *from_inputs = input + (uint64_t{index} * in.tiles + first_token_tile) * Stage::INPUT;
#pragma unroll 4
      for (uint32_t i = threadIdx.x; i < token_tiles * (Stage::INPUT / 16); i += THREADS) copy_async(inputs + i * 16, from_inputs + i * 16);
      if constexpr (Stage::SUMS > 0) {
        if (threadIdx.x < token_tiles * 8)
          copy_async(inputs + WIDE_TOKEN_TILES * Stage::INPUT + threadIdx.x * 16,
                     input + in.sums_offset + (uint64_t{index} * in.tiles + first_token_tile) * 128 + threadIdx.x * 16);
      }
    }
    copy_commit();
  };
#pragma unroll
  for (uint32_t i = 0; i + 1 < STAGES; i++) copy_piece(i);

  float acc[4][4][4], total[4][4][4];
#pragma unroll
  for (uint32_t m = 0; m < 4; m++)
#pragma unroll
    for (uint32_t n = 0; n < 4; n++)
#pragma unroll
      for (uint32_t i = 0; i < 4; i++) acc[m][n][i] = total[m][n][i] = 0.0f;

  uint32_t left = slice_pieces;
  for (uint32_t index = 0; index < pieces; index++) {
    copy_wait<STAGES - 2>();
    __syncthreads();  // the piece is here for all, and all have read the one that is overwritten next
    copy_piece(index + STAGES - 1);
    const uint8_t *here = shared + index % STAGES * Stage::BYTES;
    const uint8_t *weights = here + row_half * 4 * Stage::WEIGHTS;
    const uint8_t *inputs = here + WIDE_ROW_TILES * Stage::WEIGHTS + token_quarter * 4 * Stage::INPUT;
    const uint8_t *sums = here + WIDE_ROW_TILES * Stage::WEIGHTS + WIDE_TOKEN_TILES * Stage::INPUT + token_quarter * 4 * 128;
#pragma unroll
    for (uint32_t block = 0; block < 2; block++) {
      BlockInput b[4];
#pragma unroll
      for (uint32_t n = 0; n < 4; n++) {
        b[n].b = load_matrices(inputs + n * Stage::INPUT + block * 512 + lane * 16);
        if constexpr (Stage::SUMS > 0) b[n].sums = *reinterpret_cast<const float4 *>(sums + n * 128 + block * 64 + t * 16);
      }
#pragma unroll
      for (uint32_t m = 0; m < 4; m++) {
        const uint8_t *tile = weights + m * Stage::WEIGHTS;
        Piece<DTYPE> codes;
        codes.load(tile, lane);
        BlockScales<DTYPE> scales;
        scales.load(tile + layout.code_bytes + layout.high_bytes, tile + PIECE, block, g);
        uint32_t a[2][4];
        codes.fragment(a[0], 2 * block);
        codes.fragment(a[1], 2 * block + 1);
#pragma unroll
        for (uint32_t n = 0; n < 4; n++) multiply_block<DTYPE>(acc[m][n], a, scales, b[n]);
      }
    }
    if (--left == 0 || index + 1 == pieces) {
      left = slice_pieces;
#pragma unroll
      for (uint32_t m = 0; m < 4; m++)
#pragma unroll
        for (uint32_t n = 0; n < 4; n++)
#pragma unroll
          for (uint32_t i = 0; i < 4; i++) {
            total[m][n][i] += acc[m][n][i];
            acc[m][n][i] = 0.0f;
          }
    }
  }

  const float *token_scales = reinterpret_cast<const float *>(input + in.scales_offset);
#pragma unroll
  for (uint32_t m = 0; m < 4; m++)
#pragma unroll
    for (uint32_t half = 0; half < 2; half++) {
      const uint32_t row = (first_tile + row_half * 4 + m) * TILE_ROWS + half * 8 + g;
      if (row >= job.rows) continue;
      const float factor = row_factor<DTYPE>(job.row_scales, row);
#pragma unroll
      for (uint32_t n = 0; n < 4; n++)
#pragma unroll
        for (uint32_t e = 0; e < 2; e++) {
          const uint32_t token = (first_token_tile + token_quarter * 4 + n) * 8 + 2 * t + e;
          if (token >= T) continue;
          const float value = total[m][n][half * 2 + e] * factor * token_scales[token];
          float *y = job.y + uint64_t{token} * job.ldy + row;
          *y = job.accumulates ? *y + value : value;
        }
    }
}

}  // namespace ignis
