// linear_round_ring.cuh: what a launch of linear_round.cuh works on, how its blocks use shared memory, and how a warp's weights come there.
#pragma once

#include "barrier.cuh"
#include "linear_round.h"
#include "pipeline.cuh"
#include "round_input.cuh"
#include "target.h"
#include "weights.cuh"

namespace ignis {

inline constexpr uint32_t MAX_ROUND_JOBS = 3, ROUND_WARPS = MAX_SLICES;

struct RoundProduct {
  struct Job {
    const uint8_t *packed;
    const float *row_scales;
    float *y;
    uint32_t rows, ldy, accumulates;
  } job[MAX_ROUND_JOBS];
  uint32_t first_item[MAX_ROUND_JOBS + 1];  // items are TILES tiles each; job i has [first_item[i], first_item[i + 1])
  uint32_t num, num_items, slice, num_slices;  // a slice in steps
  RoundInput in;
  RoundLayout in_layout;
  RoundOutlet outlet;
  RoundLayout out_layout;
};

// What a warp multiplies at a time, a step: HALF_COLS columns, but of 16-bit types a piece. What it copies and waits for at a time, a unit: a
// step, or of types of few bits two, of a record or of two. A slice that begins or ends amid a unit has one of one step there.
__host__ __device__ constexpr bool is_16_bit(ignis_dtype dtype) { return dtype == IGNIS_F16 || dtype == IGNIS_BF16; }
__host__ __device__ constexpr uint32_t step_pieces(ignis_dtype dtype) { return is_16_bit(dtype) ? 1 : HALF_PIECES; }
__host__ __device__ constexpr uint32_t step_bytes(ignis_dtype dtype) { return step_pieces(dtype) * piece_bytes(dtype) + weight_layout(dtype).super_bytes; }
__host__ __device__ constexpr uint32_t unit_steps(ignis_dtype dtype) { return is_nibbles(dtype) ? 2 : 1; }
__host__ __device__ constexpr uint32_t unit_bytes(ignis_dtype dtype) {
  return weight_layout(dtype).record_cols > HALF_COLS ? record_bytes(dtype) : unit_steps(dtype) * step_bytes(dtype);
}
// The second step of a unit lies so far behind the first, with what they share, if anything, between them.
__host__ __device__ constexpr uint32_t second_offset(ignis_dtype dtype) { return shared_offset(dtype); }

// Copies whose addresses in both memories differ within 128 bytes run at four fifths of the rate (measured): a unit lies in its slot as far
// behind a multiple of 128 as it does in global memory. So far that is at most.
__host__ __device__ constexpr uint32_t most_shift(uint32_t bytes) { return bytes % 128 == 0 ? 0 : 128 - (bytes & (~bytes + 1)); }
__host__ __device__ constexpr uint32_t slot_bytes(ignis_dtype dtype) {
  return (unit_bytes(dtype) + most_shift(unit_bytes(dtype)) + 127) / 128 * 128;
}

// Types whose sums start with the tokens' values times a constant: all but those whose codes are numbers as they are.
__host__ __device__ constexpr bool has_constant(ignis_dtype dtype) { return code_offset(dtype) > 0.0f || has_minimum(dtype); }

inline constexpr uint32_t PARTIAL_FLOATS = ROUND_TOKENS * TILE_ROWS;

// Blocks that are meant to share a multiprocessor.
__host__ __device__ constexpr uint32_t round_blocks(uint32_t tiles) { return tiles == 3 ? 1 : 2; }

// What a block has in shared memory, in this order: each warp's ring, the warps' partial tiles, factors and scales of tokens, a barrier for
// each slot of a ring, and the row scales of the items in the ring or a word for each thread, as the type needs. All of it is dynamic: a
// static array before the ring moves it off its alignment.
template <ignis_dtype DTYPE, uint32_t TILES>
struct RoundMemory {
  static constexpr uint32_t WARP_STAGE = TILES * slot_bytes(DTYPE), PARTIALS = ROUND_WARPS * TILES * PARTIAL_FLOATS * 4;
  static constexpr uint32_t TOKENS = ROUND_TOKENS * (sizeof(float) + sizeof(uint32_t));
  static constexpr uint32_t ROW_SCALES = weight_layout(DTYPE).has_row_scales ? TILES * TILE_ROWS * 4 : 0;  // of an item
  static constexpr uint32_t CONSTANTS = has_constant(DTYPE) ? ROUND_WARPS * 32 * 4 : 0;
  static constexpr uint32_t A_STAGE = ROUND_WARPS * (WARP_STAGE + 8) + ROW_SCALES, OTHERS = PARTIALS + TOKENS + ROW_SCALES + CONSTANTS;
  __host__ __device__ static constexpr uint32_t stages(uint32_t code) {
    const uint32_t most = shared_bytes_of(code, shared_kb(code) >= 227 ? round_blocks(TILES) : 1), room = most > OTHERS ? most - OTHERS : 0;
    return room / A_STAGE < 2 ? 2 : room / A_STAGE > 6 ? 6 : room / A_STAGE;
  }
  __host__ __device__ static constexpr uint32_t size_bytes(uint32_t code) { return stages(code) * A_STAGE + OTHERS; }
};

#if defined(__CUDACC__)

// Where the tiles of an item lie: side by side in a job's matrix, or, of a gate, one in each of two.
template <ignis_dtype DTYPE, uint32_t TILES>
struct RoundItems {
  const RoundProduct &args;
  bool is_gate;
  uint32_t steps;  // of a tile, in whole units
  uint64_t tile_bytes, tile_stride;

  __device__ __forceinline__ explicit RoundItems(const RoundProduct &args) : args(args) {
    is_gate = args.outlet.kind == RoundOutlet::GATE;
    steps = num_records(DTYPE, args.in.K) * (weight_layout(DTYPE).record_cols / PIECE_COLS / step_pieces(DTYPE));
    tile_bytes = uint64_t{num_records(DTYPE, args.in.K)} * record_bytes(DTYPE);
    tile_stride = is_gate ? static_cast<uint64_t>(args.job[1].packed - args.job[0].packed) : tile_bytes;
  }
  __device__ __forceinline__ uint32_t job_of(uint32_t item) const { return item < args.first_item[1] ? 0u : item < args.first_item[2] ? 1u : 2u; }
  __device__ __forceinline__ uint32_t first_tile_of(uint32_t item) const { return is_gate ? item : (item - args.first_item[job_of(item)]) * TILES; }
  __device__ __forceinline__ uint32_t tiles_of(uint32_t item) const {
    if (is_gate) return TILES;
    const uint32_t left = num_tiles(args.job[job_of(item)].rows) - first_tile_of(item);
    return left < TILES ? left : TILES;
  }
  __device__ __forceinline__ const uint8_t *source_of(uint32_t item) const { return args.job[job_of(item)].packed + first_tile_of(item) * tile_bytes; }
  __device__ __forceinline__ const float *row_scales_of(uint32_t item, uint32_t tile) const {
    return args.job[is_gate ? tile : job_of(item)].row_scales + (first_tile_of(item) + (is_gate ? 0 : tile)) * TILE_ROWS;
  }
};

// A warp's ring: steps [first, stop) of every tile of every item of its block, STAGES units deep. All members are the same in all lanes.
// The first warp brings the row scales of an item as well; there are as many places for them as items can be under way.
template <ignis_dtype DTYPE, uint32_t TILES>
struct RoundRing {
  using Memory = RoundMemory<DTYPE, TILES>;
  static constexpr uint32_t UNIT = unit_bytes(DTYPE), SLOT = slot_bytes(DTYPE), STEPS = unit_steps(DTYPE), STAGES = Memory::stages(TARGET);
  static constexpr uint32_t SCALE_PLACES = weight_layout(DTYPE).has_row_scales ? STAGES + 1 : 0;

  const RoundItems<DTYPE, TILES> &items;
  uint8_t *memory;
  float *row_scales;
  uint32_t barriers, warp, first, stop, num_units;
  uint32_t item = blockIdx.x, unit = 0, stage = 0, scale_place = 0, tiles = 0;  // what is copied next
  uint32_t read_stage = 0, read_parity = 0;
  const uint8_t *source = nullptr;

  __device__ __forceinline__ RoundRing(const RoundItems<DTYPE, TILES> &items, uint8_t *shared, uint8_t *behind_tokens, uint32_t warp, uint32_t first,
                                       uint32_t stop)
      : items(items),
        memory(shared + warp * (STAGES * TILES * SLOT)),
        row_scales(reinterpret_cast<float *>(behind_tokens + ROUND_WARPS * STAGES * 8)),
        barriers(shared_address(behind_tokens) + warp * (STAGES * 8)),
        warp(warp),
        first(first),
        stop(stop),
        num_units(stop > first ? (stop - 1) / STEPS - first / STEPS + 1 : 0) {
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x % 32 == 0) {
#pragma unroll
      for (uint32_t i = 0; i < STAGES; i++) barrier_init(barriers + i * 8, 1);
      barriers_made();
    }
    __syncwarp();
#endif
    take_item();
#pragma unroll
    for (uint32_t i = 0; i + 1 < STAGES; i++) copy_next();
  }

  __device__ __forceinline__ void take_item() {
    if (item >= items.args.num_items) return;
    source = items.source_of(item) + uint64_t{first / STEPS} * UNIT + (first % STEPS ? second_offset(DTYPE) : 0);
    tiles = items.tiles_of(item);
  }
  __device__ __forceinline__ bool brings_scales() const { return SCALE_PLACES > 0 && warp == 0 && unit == 0; }
  __device__ __forceinline__ static uint32_t shift_of(const uint8_t *from) {
    return SLOT == UNIT ? 0 : static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from) % 128);
  }

  // One unit of every tile, if any are left. On sm_90 one lane asks for bulk copies: the sixteen bytes a lane of sm_80 cost a third of the
  // instructions that the products of four-bit weights take.
  __device__ __forceinline__ void copy_next() {
    if (num_units && item < items.args.num_items) {
      const bool is_late = first % STEPS && unit == 0, is_part = is_late || (stop % STEPS && unit + 1 == num_units);
      const uint32_t size_bytes = is_part ? step_bytes(DTYPE) : UNIT;
#if __CUDA_ARCH__ >= 900
      if (is_elected()) {
        const uint32_t barrier = barriers + stage * 8, target = shared_address(memory) + stage * (TILES * SLOT);
        barrier_expect(barrier, tiles * (size_bytes + (brings_scales() ? TILE_ROWS * 4 : 0)));
#pragma unroll
        for (uint32_t tile = 0; tile < TILES; tile++) {
          if (tile >= tiles) break;
          const uint8_t *from = source + tile * items.tile_stride;
          bulk_copy(target + tile * SLOT + shift_of(from), from, size_bytes, barrier);
        }
        if (brings_scales())
          for (uint32_t tile = 0; tile < tiles; tile++)
            bulk_copy(shared_address(row_scales + (scale_place * TILES + tile) * TILE_ROWS), items.row_scales_of(item, tile), TILE_ROWS * 4, barrier);
      }
#else
      const uint32_t lane = threadIdx.x % 32;
#pragma unroll
      for (uint32_t tile = 0; tile < TILES; tile++) {
        if (tile >= tiles) break;
        const uint8_t *from = source + tile * items.tile_stride;
        uint8_t *to = memory + (stage * TILES + tile) * SLOT + shift_of(from);
#pragma unroll
        for (uint32_t i = 0; i < (UNIT + 511) / 512; i++) {
          const uint32_t at = i * 512 + lane * 16;
          if ((STEPS == 1 && UNIT % 512 == 0) || at < size_bytes) copy_async(to + at, from + at);
        }
      }
      if (brings_scales() && lane < tiles * 4)
        copy_async(row_scales + scale_place * (TILES * TILE_ROWS) + lane * 4, items.row_scales_of(item, lane / 4) + lane % 4 * 4);
#endif
      if constexpr (SCALE_PLACES > 0)
        if (unit == 0) scale_place = scale_place + 1 == SCALE_PLACES ? 0 : scale_place + 1;
      source += is_late ? UNIT - second_offset(DTYPE) : UNIT;
      if (++unit == num_units) {
        unit = 0;
        item += gridDim.x;
        take_item();
      }
      stage = stage + 1 == STAGES ? 0 : stage + 1;
    }
#if __CUDA_ARCH__ < 900
    copy_commit();
#endif
  }

  // The next slot to read, when its copies are there. The one before it is filled again: its values have been used.
  __device__ __forceinline__ const uint8_t *next() {
#if __CUDA_ARCH__ >= 900
    __syncwarp();
    copy_next();
    barrier_wait(barriers + read_stage * 8, read_parity);
#else
    copy_wait<STAGES - 2>();
    __syncwarp();
    copy_next();
#endif
    const uint8_t *slot = memory + read_stage * (TILES * SLOT);
    if (++read_stage == STAGES) read_stage = 0, read_parity ^= 1;
    return slot;
  }
};

#endif

}  // namespace ignis
