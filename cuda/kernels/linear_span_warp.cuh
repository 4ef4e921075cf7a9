// linear_span_warp.cuh: linear layers of a prefill span where there is no wgmma: mma.sync, the same chain of sixteen columns in rising k.
//
// A warp owns ROW_TILES x 16 weight rows x TOKEN_TILES x 8 tokens; ROW_WARPS x TOKEN_WARPS of them are a block. Pieces of 64 columns come
// through a ring in shared memory that all warps share, as deep as the architecture has room for.
#pragma once

#include "linear_span_jobs.cuh"
#include "linear_span_weights.cuh"
#include "pipeline.cuh"
#include "target.h"

namespace ignis {

// Four matrices of 8 x 16 bytes; `row` is the lane's of 32 rows.
static __device__ __forceinline__ uint4 load_four_matrices(const uint8_t *row) {
  uint4 words;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
               : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row)))
               : "memory");
  return words;
}

template <ignis_dtype DTYPE, uint32_t ROW_WARPS_, uint32_t TOKEN_WARPS_, uint32_t ROW_TILES_, uint32_t TOKEN_TILES_>
struct WarpTile {
  static constexpr uint32_t ROW_WARPS = ROW_WARPS_, TOKEN_WARPS = TOKEN_WARPS_, ROW_TILES = ROW_TILES_, TOKEN_TILES = TOKEN_TILES_;
  static constexpr uint32_t THREADS = ROW_WARPS * TOKEN_WARPS * 32, ROWS = ROW_WARPS * ROW_TILES * TILE_ROWS, TOKENS = TOKEN_WARPS * TOKEN_TILES * 8;
  static constexpr uint32_t WEIGHTS = piece_bytes(DTYPE) + weight_layout(DTYPE).super_bytes;  // of a row tile
  static constexpr uint32_t INPUTS_AT = ROWS / TILE_ROWS * WEIGHTS, STAGE_BYTES = INPUTS_AT + TOKENS * SPAN_PIECE_BYTES;
  __host__ __device__ static constexpr uint32_t stages(uint32_t code) {
    const uint32_t room = shared_kb(code) * 1024 / STAGE_BYTES;
    return room < 8 ? room : 8;
  }
  __host__ __device__ static constexpr uint32_t shared_bytes(uint32_t code) { return stages(code) * STAGE_BYTES; }
  static_assert(99 * 1024 / STAGE_BYTES >= 2);
};
template <ignis_dtype DTYPE>
using WideWarpTile = WarpTile<DTYPE, 2, 4, 4, 4>;
template <ignis_dtype DTYPE>
using NarrowWarpTile = WarpTile<DTYPE, 4, 1, 1, 1>;

template <ignis_dtype DTYPE, class Tile>
static __global__ void __launch_bounds__(Tile::THREADS) span_warp_kernel(const SpanJobs jobs, const uint8_t *input, uint32_t T, uint32_t K) {
#if !defined(__CUDA_ARCH_FEAT_SM90_ALL)
  constexpr WeightLayout layout = weight_layout(DTYPE);
  constexpr uint32_t RECORD = record_bytes(DTYPE), PIECE = piece_bytes(DTYPE), PIECES = layout.record_cols / PIECE_COLS;
  constexpr uint32_t STAGES = Tile::stages(TARGET), BLOCK_TILES = Tile::ROWS / TILE_ROWS;
  extern __shared__ __align__(16) uint8_t shared[];
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
  const uint32_t row_warp = warp / Tile::TOKEN_WARPS, token_warp = warp % Tile::TOKEN_WARPS;
  const uint32_t records = num_records(DTYPE, K), pieces = records * PIECES;
  const SpanInput in = span_input(T, K);
  const SpanPlace at = span_place(jobs, blockIdx.x, (T + Tile::TOKENS - 1) / Tile::TOKENS);
  const SpanJob &job = jobs.job[at.job];
  const uint64_t tile_bytes = uint64_t{records} * RECORD;
  const uint32_t first_tile = at.item * BLOCK_TILES, last_tile = num_tiles(job.rows) - 1, first_token = at.token_tile * Tile::TOKENS;
  const uint32_t tokens = in.tokens - first_token < Tile::TOKENS ? in.tokens - first_token : Tile::TOKENS;

  // Row tiles behind the last one are copies of it, tokens behind the last one hold anything: their outputs are left out.
  const auto copy_piece = [&](uint32_t index) {
    if (index < pieces) {
      uint8_t *target = shared + index % STAGES * Tile::STAGE_BYTES;
      const uint8_t *weights = job.packed + uint64_t{index / PIECES} * RECORD;
      constexpr uint32_t chunks = PIECE / 16, super_chunks = layout.super_bytes / 16;
      for (uint32_t i = threadIdx.x; i < BLOCK_TILES * chunks; i += Tile::THREADS) {
        const uint32_t tile = i / chunks, from = i % chunks * 16, source = first_tile + tile < last_tile ? first_tile + tile : last_tile;
        copy_async(target + tile * Tile::WEIGHTS + from, weights + source * tile_bytes + piece_offset(DTYPE, index % PIECES) + from);
      }
      if constexpr (super_chunks > 0) {
        for (uint32_t i = threadIdx.x; i < BLOCK_TILES * super_chunks; i += Tile::THREADS) {
          const uint32_t tile = i / super_chunks, from = i % super_chunks * 16, source = first_tile + tile < last_tile ? first_tile + tile : last_tile;
          copy_async(target + tile * Tile::WEIGHTS + PIECE + from, weights + source * tile_bytes + shared_offset(DTYPE) + from);
        }
      }
      const uint8_t *inputs = input + (uint64_t{index} * in.tokens + first_token) * SPAN_PIECE_BYTES;
      for (uint32_t i = threadIdx.x; i < tokens * (SPAN_PIECE_BYTES / 16); i += Tile::THREADS)
        copy_async(target + Tile::INPUTS_AT + i * 16, inputs + i * 16);
    }
    copy_commit();
  };
#pragma unroll
  for (uint32_t i = 0; i + 1 < STAGES; i++) copy_piece(i);

  float sum[Tile::ROW_TILES][Tile::TOKEN_TILES][4];
  float row_scales[Tile::ROW_TILES][2], row_factors[Tile::ROW_TILES][2];
#pragma unroll
  for (uint32_t m = 0; m < Tile::ROW_TILES; m++) {
#pragma unroll
    for (uint32_t i = 0; i < 2; i++) {
      const uint32_t row = (first_tile + row_warp * Tile::ROW_TILES + m) * TILE_ROWS + i * 8 + g;
      row_scales[m][i] = row < job.rows ? job.row_scales[row] : 1.0f;
      row_factors[m][i] = 1.0f / row_scales[m][i];
    }
#pragma unroll
    for (uint32_t n = 0; n < Tile::TOKEN_TILES; n++)
#pragma unroll
      for (uint32_t i = 0; i < 4; i++) sum[m][n][i] = 0.0f;
  }

  for (uint32_t index = 0; index < pieces; index++) {
    copy_wait<STAGES - 2>();
    __syncthreads();  // the piece is here for all, and all have read the one that is overwritten next
    copy_piece(index + STAGES - 1);
    const uint8_t *here = shared + index % STAGES * Tile::STAGE_BYTES;
    const uint8_t *inputs = here + Tile::INPUTS_AT + token_warp * (Tile::TOKEN_TILES * 8 * SPAN_PIECE_BYTES);
    uint4 b[Tile::TOKEN_TILES][2];
#pragma unroll
    for (uint32_t n = 0; n < Tile::TOKEN_TILES; n++)
#pragma unroll
      for (uint32_t half = 0; half < 2; half++)
        b[n][half] = load_four_matrices(inputs + (n * 8 + lane % 8) * SPAN_PIECE_BYTES + ((half * 4 + lane / 8) ^ (lane % 8)) * 16);
#pragma unroll
    for (uint32_t m = 0; m < Tile::ROW_TILES; m++) {
      const uint8_t *tile = here + (row_warp * Tile::ROW_TILES + m) * Tile::WEIGHTS;
      uint32_t a[4][4];
      load_operands<DTYPE>(a, tile, tile + PIECE, row_factors[m], lane);
#pragma unroll
      for (uint32_t half = 0; half < 2; half++)
#pragma unroll
        for (uint32_t n = 0; n < Tile::TOKEN_TILES; n++) {
          multiply(sum[m][n], a[2 * half], b[n][half].x, b[n][half].y);
          multiply(sum[m][n], a[2 * half + 1], b[n][half].z, b[n][half].w);
        }
    }
  }

  const float *token_scales = reinterpret_cast<const float *>(input + in.scales_offset);
#pragma unroll
  for (uint32_t m = 0; m < Tile::ROW_TILES; m++)
#pragma unroll
    for (uint32_t n = 0; n < Tile::TOKEN_TILES; n++)
#pragma unroll
      for (uint32_t i = 0; i < 4; i++) {
        const uint32_t row = (first_tile + row_warp * Tile::ROW_TILES + m) * TILE_ROWS + i / 2 * 8 + g;
        const uint32_t token = first_token + (token_warp * Tile::TOKEN_TILES + n) * 8 + 2 * t + i % 2;
        if (token < T && row < job.rows)
          store_sum(job.y + uint64_t{token} * job.ldy + row, sum[m][n][i] * row_scales[m][i / 2] * token_scales[token], job.accumulates);
      }
#endif
}

}  // namespace ignis
