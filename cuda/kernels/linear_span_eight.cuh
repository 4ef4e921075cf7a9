// linear_span_eight.cuh: linear layers of a prefill span with F8_E4M3 weights on sm_90: products of E4M3 codes, twice as fast as float16's.
//
// 128 columns are a chain of four products in float32; chains are multiplied by the scale of their weights' block and by that of their
// token's columns, and added in rising k, in float32. That is all of the contract: bits depend on neither the tile nor the other rows. (The
// tensor cores add the products of a chain in fewer bits than float32 has; 128 columns of them are no worse than the codes.)
//
// A block owns GROUPS x 64 weight rows x TOKENS tokens at a time: a warpgroup has 64 rows (a warp is a tile of 16, as it lies in memory) and
// all tokens. Four producer warps bring records of both through a ring that runs ahead over the borders of tiles. While one warpgroup adds
// its chain, the other one's products run.
#pragma once

#include "linear_span_eight_input.cuh"
#include "linear_span_jobs.cuh"
#include "warpgroup.cuh"

namespace ignis {

template <uint32_t GROUPS, uint32_t TOKENS>
struct EightTile {
  static constexpr uint32_t ROW_TILES = GROUPS * 4, ROWS = ROW_TILES * TILE_ROWS, THREADS = GROUPS * 128 + 128;
  static constexpr uint32_t RECORD = record_bytes(IGNIS_F8_E4M3), WEIGHT_BYTES = ROW_TILES * RECORD;
  static constexpr uint32_t INPUT_BYTES = TOKENS * EIGHT_RECORD_COLS, SCALE_BYTES = TOKENS * 4;
  // A chain has 128 tokens at most: 256 of a sum leave registers for no more.
  static constexpr uint32_t PARTS = TOKENS > 128 ? 2 : 1;
  // Sums go to memory through shared memory, 64 rows x 32 tokens at a time, one or two places a warpgroup.
  static constexpr uint32_t STAGED_BYTES = 64 * 32 * 4, PLACES = PARTS == 2 ? 1 : 2;
  static constexpr bool IS_STAGED = TOKENS >= 32;
  static constexpr uint32_t SUMS_BYTES = IS_STAGED ? GROUPS * PLACES * STAGED_BYTES : 0;
  static constexpr uint32_t ROOM = (224 * 1024 - SUMS_BYTES) / (WEIGHT_BYTES + INPUT_BYTES + SCALE_BYTES), SLOTS = ROOM > 12 ? 12 : ROOM;
  static constexpr uint32_t INPUTS_AT = SUMS_BYTES, WEIGHTS_AT = INPUTS_AT + SLOTS * INPUT_BYTES, SCALES_AT = WEIGHTS_AT + SLOTS * WEIGHT_BYTES;
  static constexpr uint32_t BARRIERS_AT = SCALES_AT + SLOTS * SCALE_BYTES;
  static constexpr uint32_t SHARED_BYTES = BARRIERS_AT + 2 * SLOTS * 8 + 1024;  // rounded up to a multiple of 1024 inside
  static_assert(SLOTS >= 3 && SHARED_BYTES <= 227 * 1024 && INPUT_BYTES % 1024 == 0 && WEIGHT_BYTES % 16 == 0);
};

// A lane's codes of a record as first operands of 32 columns each: row g and row g + 8 of the first sixteen, of the second.
static __device__ __forceinline__ void load_eight(uint32_t (&a)[4][4], const uint8_t *record, uint32_t lane) {
#pragma unroll
  for (uint32_t step = 0; step < 4; step++) {
    const uint4 codes = *reinterpret_cast<const uint4 *>(record + step * 512 + lane * 16);
    a[step][0] = __byte_perm(codes.x, codes.y, 0x5410);
    a[step][1] = __byte_perm(codes.x, codes.y, 0x7632);
    a[step][2] = __byte_perm(codes.z, codes.w, 0x5410);
    a[step][3] = __byte_perm(codes.z, codes.w, 0x7632);
  }
}

template <uint32_t GROUPS, uint32_t TOKENS>
static __global__ void __launch_bounds__(GROUPS * 128 + 128, 1)
    span_eight_kernel(const SpanJobs jobs, const __grid_constant__ SpanTargets targets, const uint8_t *input, uint32_t T, uint32_t K) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using Tile = EightTile<GROUPS, TOKENS>;
  constexpr uint32_t SLOTS = Tile::SLOTS, RECORD = Tile::RECORD, NUM = TOKENS / 2, PARTS = Tile::PARTS, PART_TOKENS = TOKENS / PARTS;
  extern __shared__ uint8_t unaligned[];
  uint8_t *shared = unaligned + (1024 - shared_address(unaligned) % 1024) % 1024;
  uint64_t *full = reinterpret_cast<uint64_t *>(shared + Tile::BARRIERS_AT), *empty = full + SLOTS;
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, records = num_records(IGNIS_F8_E4M3, K);
  const SpanEightInput in = span_eight_input(T, K);
  const uint32_t token_tiles = (T + TOKENS - 1) / TOKENS, num_places = token_tiles * jobs.first_item[jobs.num];

  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < SLOTS; i++) {
      barrier_init(full + i, 4);
      barrier_init(empty + i, GROUPS * 4 * WARP_ARRIVALS);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();

  uint32_t slot = 0, phase = 0;
  const auto advance = [&] {
    if (++slot == SLOTS) {
      slot = 0;
      phase ^= 1;
    }
  };

  if (warp >= GROUPS * 4) {
    if constexpr (GROUPS == 2) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (lane != 0) return;
    const uint32_t own = warp - GROUPS * 4;
    if (own == 0) {
      for (uint32_t index = blockIdx.x; index < num_places; index += gridDim.x) {
        const uint32_t first = span_place(jobs, index, token_tiles).token_tile * TOKENS;
        // Tokens behind the last one hold anything: their outputs are left out.
        const uint32_t tokens = in.tokens - first < TOKENS ? in.tokens - first : TOKENS;
        const uint8_t *from = input + uint64_t{first} * EIGHT_RECORD_COLS, *scales = input + in.scales_offset + uint64_t{first} * 4;
        for (uint32_t record = 0; record < records; record++) {
          barrier_wait(empty + slot, phase ^ 1);
          barrier_expect(full + slot, tokens * (EIGHT_RECORD_COLS + 4));
          bulk_copy(shared + Tile::INPUTS_AT + slot * Tile::INPUT_BYTES, from, tokens * EIGHT_RECORD_COLS, full + slot);
          bulk_copy(shared + Tile::SCALES_AT + slot * Tile::SCALE_BYTES, scales, tokens * 4, full + slot);
          from += uint64_t{in.tokens} * EIGHT_RECORD_COLS;
          scales += uint64_t{in.tokens} * 4;
          advance();
        }
      }
      return;
    }
    // A bulk copy takes its thread some 80 clocks: three warps share the row tiles.
    constexpr uint32_t MOST = (Tile::ROW_TILES + 2) / 3;
    const uint64_t tile_bytes = uint64_t{records} * RECORD;
    for (uint32_t index = blockIdx.x; index < num_places; index += gridDim.x) {
      const SpanPlace at = span_place(jobs, index, token_tiles);
      const SpanJob &job = jobs.job[at.job];
      // Row tiles behind the last one are copies of it.
      const uint32_t first_tile = at.item * Tile::ROW_TILES, last_tile = num_tiles(job.rows) - 1;
      const uint8_t *from[MOST];
      uint32_t num = 0;
#pragma unroll
      for (uint32_t i = 0; i < MOST; i++) {
        const uint32_t tile = first_tile + own - 1 + 3 * i;
        from[i] = job.packed + (tile < last_tile ? tile : last_tile) * tile_bytes;
        num += own - 1 + 3 * i < Tile::ROW_TILES;
      }
      for (uint32_t record = 0; record < records; record++) {
        barrier_wait(empty + slot, phase ^ 1);
        barrier_expect(full + slot, num * RECORD);
        uint8_t *to = shared + Tile::WEIGHTS_AT + slot * Tile::WEIGHT_BYTES + (own - 1) * RECORD;
#pragma unroll
        for (uint32_t i = 0; i < MOST; i++)
          if (own - 1 + 3 * i < Tile::ROW_TILES) {
            bulk_copy(to + 3 * i * RECORD, from[i], RECORD, full + slot);
            from[i] += RECORD;
          }
        advance();
      }
    }
    return;
  }

  if constexpr (GROUPS == 2) asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  const uint32_t g = lane / 4, t = lane % 4;
  uint32_t done = 0;  // the slot whose products are next
  bool holds_record = false;  // the one before it
  for (uint32_t index = blockIdx.x; index < num_places; index += gridDim.x) {
    const SpanPlace at = span_place(jobs, index, token_tiles);
    const SpanJob &job = jobs.job[at.job];
    float sum[NUM], chain[NUM / PARTS];
#pragma unroll
    for (uint32_t i = 0; i < NUM; i++) sum[i] = 0.0f;
    const auto load = [&](uint32_t (&a)[4][4]) {
      barrier_wait(full + slot, phase);
      load_eight(a, shared + Tile::WEIGHTS_AT + slot * Tile::WEIGHT_BYTES + warp * RECORD, lane);
      advance();
    };
    const auto start = [&](const uint32_t (&a)[4][4], uint32_t part) {
      const uint64_t b = swizzled_operand(shared_address(shared + Tile::INPUTS_AT + done * Tile::INPUT_BYTES + part * (PART_TOKENS * EIGHT_RECORD_COLS)));
      products_begin();
#pragma unroll
      for (uint32_t step = 0; step < 4; step++) group_multiply_eight(chain, a[step], b + step * 2, step > 0);
      products_commit();
      // The record before is given back now: its chain was used before these products could overwrite it, and so were its scales. (An
      // arrival may be seen before a load that was issued ahead of it has read: linear_span_warpgroup.cuh.)
      if (part > 0) return;
      if (holds_record) {
        __syncwarp();
        if (arrives_for_warp(lane)) barrier_arrive(empty + (done ? done : SLOTS) - 1);
      }
      holds_record = true;
    };
    const auto finish = [&](const uint32_t (&a)[4][4], uint32_t part) {
      products_wait<0>();
#pragma unroll
      for (uint32_t step = 0; step < 4; step++) keep_operand(a[step]);
      const float scale = *reinterpret_cast<const float *>(shared + Tile::WEIGHTS_AT + done * Tile::WEIGHT_BYTES + warp * RECORD + RECORD - 16);
      const float *scales = reinterpret_cast<const float *>(shared + Tile::SCALES_AT + done * Tile::SCALE_BYTES) + part * PART_TOKENS + 2 * t;
      float *sums = sum + part * (NUM / PARTS);
#pragma unroll
      for (uint32_t n = 0; n < PART_TOKENS / 8; n++) {
        const float2 own = *reinterpret_cast<const float2 *>(scales + n * 8);
        const float first = own.x * scale, second = own.y * scale;
        sums[4 * n] = fmaf(chain[4 * n], first, sums[4 * n]);
        sums[4 * n + 1] = fmaf(chain[4 * n + 1], second, sums[4 * n + 1]);
        sums[4 * n + 2] = fmaf(chain[4 * n + 2], first, sums[4 * n + 2]);
        sums[4 * n + 3] = fmaf(chain[4 * n + 3], second, sums[4 * n + 3]);
      }
      if (part + 1 == PARTS) done = done + 1 == SLOTS ? 0 : done + 1;
    };
    if constexpr (PARTS == 2) {
      uint32_t a[4][4];
      for (uint32_t record = 0; record < records; record++) {
        load(a);
        start(a, 0);
        finish(a, 0);
        start(a, 1);
        finish(a, 1);
      }
    } else {
      uint32_t even[4][4], odd[4][4];
      load(even);
      for (uint32_t record = 0; record < records; record += 2) {
        start(even, 0);
        if (record + 1 < records) load(odd);
        finish(even, 0);
        if (record + 1 >= records) break;
        start(odd, 0);
        if (record + 2 < records) load(even);
        finish(odd, 0);
      }
    }

    const uint32_t first_row = (at.item * Tile::ROW_TILES + warp) * TILE_ROWS + g;
    if constexpr (Tile::IS_STAGED) {
      if (job.is_tensor) {
        const uint32_t group = warp / 4, column = at.item * Tile::ROWS + group * 64;
        uint8_t *staged = shared + group * (Tile::PLACES * Tile::STAGED_BYTES);
#pragma unroll
        for (uint32_t part = 0; part < TOKENS / 32; part++) {
          uint8_t *place = staged + part % Tile::PLACES * Tile::STAGED_BYTES, *to = place + warp % 4 / 2 * (Tile::STAGED_BYTES / 2);
          if (threadIdx.x % 128 == 0) stores_wait<Tile::PLACES - 1>();
          group_sync(1 + group);
#pragma unroll
          for (uint32_t i = 0; i < 16; i++) {
            // Rows of 128 bytes, swizzled as the copy reads them: no two lanes meet in a bank.
            const uint32_t token = i / 4 * 8 + 2 * t + i % 2, chunk = warp % 2 * 4 + i % 4 / 2 * 2 + g / 4;
            *reinterpret_cast<float *>(to + token * 128 + (chunk ^ (token % 8)) * 16 + g % 4 * 4) = sum[part * 16 + i];
          }
          shared_written();
          group_sync(1 + group);
          if (threadIdx.x % 128 == 0) {
            const uint32_t token = at.token_tile * TOKENS + part * 32;
            store_tile(&targets.y[at.job], column, token, place, job.accumulates);
            store_tile(&targets.y[at.job], column + 32, token, place + Tile::STAGED_BYTES / 2, job.accumulates);
            stores_commit();
          }
        }
        continue;
      }
    }
    const uint32_t first_token = at.token_tile * TOKENS + 2 * t;
#pragma unroll
    for (uint32_t i = 0; i < NUM; i++) {
      const uint32_t token = first_token + i / 4 * 8 + i % 2, row = first_row + i % 4 / 2 * 8;
      if (token < T && row < job.rows) store_sum(job.y + uint64_t{token} * job.ldy + row, sum[i], job.accumulates);
    }
  }
  if (threadIdx.x % 128 == 0) stores_wait_all();
#endif
}

}  // namespace ignis
