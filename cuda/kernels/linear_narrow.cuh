// linear_narrow.cuh: linear layers for up to eight rows, at the pace of the memory that holds the weights.
//
// A block is eight warps and owns TILES tiles of 16 weight rows at a time; warp s owns K slice s of them. Each warp copies the records of
// its slice through a private ring in shared memory, STAGES deep and across tile borders, so that copies never wait for sums. Activations
// come through the first-level cache in operand order. The warps' partial tiles meet in shared memory and are added in rising slice order.
// Always eight tokens: absent ones are zeros, so every width is the same code.
#pragma once

#include "activations.cuh"
#include "linear.h"
#include "pipeline.cuh"
#include "weights.cuh"

namespace ignis {

inline constexpr uint32_t MAX_JOBS = 3;

struct NarrowJob {
  const uint8_t *packed;
  const float *row_scales;
  float *y;
  uint32_t rows, ldy, accumulates;
};
struct NarrowJobs {
  NarrowJob job[MAX_JOBS];
  uint32_t first_item[MAX_JOBS + 1];  // items are TILES tiles each; job i has [first_item[i], first_item[i + 1])
  uint32_t num;
};

inline constexpr uint32_t NARROW_WARPS = MAX_SLICES;

// What a warp copies at a time: records, but of F16 and BF16 pieces, or nothing would fit.
__host__ __device__ constexpr uint32_t unit_pieces(ignis_dtype dtype) {
  return weight_layout(dtype).has_row_scales ? 1 : weight_layout(dtype).record_cols / PIECE_COLS;
}
__host__ __device__ constexpr uint32_t unit_bytes(ignis_dtype dtype) { return unit_pieces(dtype) * piece_bytes(dtype) + weight_layout(dtype).super_bytes; }

// Blocks on a multiprocessor.
__host__ __device__ constexpr uint32_t narrow_blocks(uint32_t tiles) { return tiles == 3 ? 1 : 2; }

template <ignis_dtype DTYPE, uint32_t TILES>
__host__ __device__ constexpr uint32_t narrow_stages() {
  // A multiprocessor has 227 KB for its blocks, less their partial tiles.
  constexpr uint32_t stage = NARROW_WARPS * TILES * unit_bytes(DTYPE), room = 226 / narrow_blocks(TILES) * 1024 - 2 * NARROW_WARPS * TILES * 512;
  return room / stage < 2 ? 2 : room / stage > 4 ? 4 : room / stage;
}
// At least so much that not more blocks come than are meant: with programmatic launches they would pile up on some multiprocessors.
template <ignis_dtype DTYPE, uint32_t TILES>
__host__ __device__ constexpr uint32_t narrow_shared_bytes() {
  constexpr uint32_t size_bytes = NARROW_WARPS * TILES * (narrow_stages<DTYPE, TILES>() * unit_bytes(DTYPE) + 2 * 512);
  constexpr uint32_t least_bytes = 228 * 1024 / (narrow_blocks(TILES) + 1);
  return size_bytes > least_bytes ? size_bytes : least_bytes;
}

template <ignis_dtype DTYPE, uint32_t TILES>
static __global__ void __launch_bounds__(NARROW_WARPS * 32, narrow_blocks(TILES))
    narrow_kernel(const NarrowJobs jobs, const uint8_t *input, uint32_t T, uint32_t K) {
  constexpr WeightLayout layout = weight_layout(DTYPE);
  constexpr uint32_t RECORD = unit_bytes(DTYPE), PIECE = piece_bytes(DTYPE), PIECES = unit_pieces(DTYPE);
  constexpr uint32_t STAGES = narrow_stages<DTYPE, TILES>();
  extern __shared__ __align__(16) uint8_t shared[];
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
  uint8_t *ring = shared + warp * (STAGES * TILES * RECORD);
  float *partials = reinterpret_cast<float *>(shared + NARROW_WARPS * STAGES * TILES * RECORD);  // [2][warp][tile][lane][4]

  constexpr uint32_t UNITS = layout.record_cols / PIECE_COLS / PIECES;  // of a record
  const uint32_t records = num_records(DTYPE, K) * UNITS, slice = slice_records(num_records(DTYPE, K)) * UNITS;
  const uint32_t num_slices = (records + slice - 1) / slice;
  const uint32_t first_record = warp * slice, stop = first_record + slice < records ? first_record + slice : records;
  const uint32_t own = warp < num_slices ? stop - first_record : 0, num_items = jobs.first_item[jobs.num];
  const uint64_t tile_bytes = uint64_t{records} * RECORD;
  const InputLayout in = input_layout(T, K);

  const auto job_of = [&](uint32_t item) { return item < jobs.first_item[1] ? 0u : item < jobs.first_item[2] ? 1u : 2u; };
  const auto source_of = [&](uint32_t item) {
    const uint32_t job = job_of(item);
    return jobs.job[job].packed + uint64_t{item - jobs.first_item[job]} * TILES * tile_bytes + uint64_t{first_record} * RECORD;
  };
  const auto tiles_of = [&](uint32_t item) {
    const uint32_t job = job_of(item), left = num_tiles(jobs.job[job].rows) - (item - jobs.first_item[job]) * TILES;
    return left < TILES ? left : TILES;
  };

  // The copying side: one record of every tile a call.
  uint32_t copy_item = blockIdx.x, copy_record = 0, copy_stage = 0;
  const uint8_t *source = copy_item < num_items ? source_of(copy_item) : nullptr;
  uint32_t copy_tiles = copy_item < num_items ? tiles_of(copy_item) : 0;
  const auto copy_next = [&] {
    if (own && copy_item < num_items) {
      uint8_t *target = ring + copy_stage * (TILES * RECORD);
#pragma unroll
      for (uint32_t tile = 0; tile < TILES; tile++) {
        if (tile >= copy_tiles) break;
#pragma unroll
        for (uint32_t i = 0; i < (RECORD + 511) / 512; i++) {
          const uint32_t at = i * 512 + lane * 16;
          if (RECORD % 512 == 0 || at < RECORD) copy_async(target + tile * RECORD + at, source + tile * tile_bytes + at);
        }
      }
      source += RECORD;
      if (++copy_record == own) {
        copy_record = 0;
        copy_item += gridDim.x;
        if (copy_item < num_items) {
          source = source_of(copy_item);
          copy_tiles = tiles_of(copy_item);
        }
      }
      copy_stage = copy_stage + 1 == STAGES ? 0 : copy_stage + 1;
    }
    copy_commit();
  };
#pragma unroll
  for (uint32_t i = 0; i + 1 < STAGES; i++) copy_next();

#if __CUDA_ARCH__ >= 900
  // Weights do not depend on the kernel before; activations do. The kernel behind may come as soon as there is room for it.
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif

  const bool has_token = g < in.tile_tokens;
  const uint8_t *first_b = input + uint64_t{first_record} * (2 * PIECES) * in.tile_tokens * 64 + g * 64 + t * 16;
  const uint32_t block_bytes = in.tile_tokens * 64;
  const uint8_t *first_sums = input + in.sums_offset + uint64_t{first_record} * (2 * PIECES) * 64 + t * 16;
  const float *token_scales = reinterpret_cast<const float *>(input + in.scales_offset);

  uint32_t stage = 0, buffer = 0;
  for (uint32_t item = blockIdx.x; item < num_items; item += gridDim.x, buffer ^= 1) {
    float acc[TILES][4];
#pragma unroll
    for (uint32_t tile = 0; tile < TILES; tile++)
#pragma unroll
      for (uint32_t i = 0; i < 4; i++) acc[tile][i] = 0.0f;
    const uint8_t *b = first_b, *sums = first_sums;
    for (uint32_t record = 0; record < own; record++) {
      BlockInput inputs[2];
      const auto load_piece_input = [&] {
#pragma unroll
        for (uint32_t block = 0; block < 2; block++) {
          inputs[block].b = has_token ? *reinterpret_cast<const uint4 *>(b) : make_uint4(0, 0, 0, 0);
          b += block_bytes;
          if constexpr (is_nibbles(DTYPE)) inputs[block].sums = *reinterpret_cast<const float4 *>(sums);
          sums += 64;
        }
      };
      load_piece_input();
      copy_wait<STAGES - 2>();
      __syncwarp();  // every lane's copies are here, and every lane has read the stage that is filled next
      copy_next();
      const uint8_t *records_here = ring + stage * (TILES * RECORD);
#pragma unroll
      for (uint32_t piece = 0; piece < PIECES; piece++) {
        if (piece) load_piece_input();
#pragma unroll
        for (uint32_t tile = 0; tile < TILES; tile++) {
          const uint8_t *here = records_here + tile * RECORD + piece * PIECE;
          Piece<DTYPE> codes;
          codes.load(here, lane);
#pragma unroll
          for (uint32_t block = 0; block < 2; block++) {
            BlockScales<DTYPE> scales;
            scales.load(here + layout.code_bytes + layout.high_bytes, records_here + tile * RECORD + PIECES * PIECE, block, g);
            uint32_t a[2][4];
            codes.fragment(a[0], 2 * block);
            codes.fragment(a[1], 2 * block + 1);
            multiply_block<DTYPE>(acc[tile], a, scales, inputs[block]);
          }
        }
      }
      stage = stage + 1 == STAGES ? 0 : stage + 1;
    }

    float *mine = partials + buffer * (NARROW_WARPS * TILES * 128) + warp * (TILES * 128) + lane * 4;
#pragma unroll
    for (uint32_t tile = 0; tile < TILES; tile++)
      *reinterpret_cast<float4 *>(mine + tile * 128) = make_float4(acc[tile][0], acc[tile][1], acc[tile][2], acc[tile][3]);
    __syncthreads();
    // A thread has one output of TILES x 16 rows x 8 tokens, or two, rows side by side.
    const uint32_t job = job_of(item);
#pragma unroll
    for (uint32_t output = threadIdx.x; output < TILES * 128; output += NARROW_WARPS * 32) {
      const uint32_t r = output % (TILES * 16), token = output / (TILES * 16), row = (item - jobs.first_item[job]) * TILES * 16 + r;
      if (token >= T || row >= jobs.job[job].rows) continue;
      const float *sum = partials + buffer * (NARROW_WARPS * TILES * 128) + r / 16 * 128 + (r % 8 * 4 + token / 2) * 4 + r % 16 / 8 * 2 + token % 2;
      float total = 0.0f;
      for (uint32_t s = 0; s < num_slices; s++) total += sum[s * (TILES * 128)];
      total = total * row_factor<DTYPE>(jobs.job[job].row_scales, row) * token_scales[token];
      float *y = jobs.job[job].y + uint64_t{token} * jobs.job[job].ldy + row;
      *y = jobs.job[job].accumulates ? *y + total : total;
    }
  }
}

}  // namespace ignis
