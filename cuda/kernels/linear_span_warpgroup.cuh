// linear_span_warpgroup.cuh: linear layers of a prefill span on sm_90: wgmma with weights from registers, activations from shared memory.
//
// A block owns GROUPS x 64 weight rows x TOKENS tokens at a time: a warpgroup has 64 rows (a warp is a tile of 16, as it lies in memory) and
// all tokens. Four producer warps bring activations, 64 columns of all tokens in one copy, and weights, a unit of a row tile in one copy,
// through two rings that run ahead over the borders of tiles. A warpgroup turns the next piece's weights into operands while the piece
// before is multiplied.
#pragma once

#include "linear_span_jobs.cuh"
#include "linear_span_weights.cuh"
#include "warpgroup.cuh"

namespace ignis {

template <ignis_dtype DTYPE, uint32_t GROUPS, uint32_t TOKENS>
struct SpanTile {
  static constexpr WeightLayout LAYOUT = weight_layout(DTYPE);
  static constexpr uint32_t ROW_TILES = GROUPS * 4, THREADS = GROUPS * 128 + 128;
  // What is copied of a row tile at a time: a record; of F16 and BF16 a piece where a record would leave no room for a ring.
  static constexpr uint32_t UNIT_PIECES = LAYOUT.has_row_scales && TOKENS > 64 ? 1 : LAYOUT.record_cols / PIECE_COLS;
  static constexpr uint32_t UNIT_BYTES = UNIT_PIECES * piece_bytes(DTYPE) + LAYOUT.super_bytes;
  static constexpr uint32_t WEIGHT_BYTES = ROW_TILES * UNIT_BYTES, INPUT_BYTES = TOKENS * SPAN_PIECE_BYTES;
  // Sums go to memory through shared memory, 32 rows x 32 tokens at a time, two places a warpgroup.
  static constexpr uint32_t STAGED_TOKENS = 32, STAGED_BYTES = 64 * STAGED_TOKENS * 4;
  static constexpr bool IS_STAGED = TOKENS >= STAGED_TOKENS;
  static constexpr uint32_t SUMS_BYTES = IS_STAGED ? GROUPS * 2 * STAGED_BYTES : 0;
  static constexpr uint32_t ROOM = 224 * 1024 - SUMS_BYTES;
  static constexpr uint32_t PIECES_AHEAD = ROOM / (INPUT_BYTES + WEIGHT_BYTES / UNIT_PIECES);
  static constexpr uint32_t WEIGHT_SLOTS = PIECES_AHEAD / UNIT_PIECES < 2 ? 2 : PIECES_AHEAD / UNIT_PIECES > 24 ? 24 : PIECES_AHEAD / UNIT_PIECES;
  static constexpr uint32_t INPUT_ROOM = (ROOM - WEIGHT_SLOTS * WEIGHT_BYTES) / INPUT_BYTES;
  static constexpr uint32_t INPUT_SLOTS = INPUT_ROOM > 48 ? 48 : INPUT_ROOM;
  static constexpr uint32_t SUMS_AT = 0, INPUTS_AT = SUMS_BYTES, WEIGHTS_AT = INPUTS_AT + INPUT_SLOTS * INPUT_BYTES, BARRIERS_AT = WEIGHTS_AT + WEIGHT_SLOTS * WEIGHT_BYTES;
  static constexpr uint32_t SHARED_BYTES = BARRIERS_AT + 2 * (WEIGHT_SLOTS + INPUT_SLOTS) * 8 + 1024;  // rounded up to a multiple of 1024 inside
  static_assert(INPUT_SLOTS >= 3 && SHARED_BYTES <= 227 * 1024);
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// A place in a ring, and how often it was passed.
template <uint32_t SLOTS>
struct RingPlace {
  uint32_t slot = 0, phase = 0;
  __device__ __forceinline__ void advance() {
    if (++slot == SLOTS) {
      slot = 0;
      phase ^= 1;
    }
  }
};

#endif

template <ignis_dtype DTYPE, uint32_t GROUPS, uint32_t TOKENS>
static __global__ void __launch_bounds__(GROUPS * 128 + 128, 1)
    span_group_kernel(const SpanJobs jobs, const __grid_constant__ SpanTargets targets, const uint8_t *input, uint32_t T, uint32_t K) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using Tile = SpanTile<DTYPE, GROUPS, TOKENS>;
  constexpr WeightLayout layout = weight_layout(DTYPE);
  constexpr uint32_t PIECE = piece_bytes(DTYPE), WEIGHT_SLOTS = Tile::WEIGHT_SLOTS, INPUT_SLOTS = Tile::INPUT_SLOTS, NUM = TOKENS / 2;
  extern __shared__ uint8_t unaligned[];
  uint8_t *shared = unaligned + (1024 - shared_address(unaligned) % 1024) % 1024;
  uint8_t *weight_ring = shared + Tile::WEIGHTS_AT;
  uint64_t *weights_full = reinterpret_cast<uint64_t *>(shared + Tile::BARRIERS_AT), *weights_empty = weights_full + WEIGHT_SLOTS;
  uint64_t *inputs_full = weights_empty + WEIGHT_SLOTS, *inputs_empty = inputs_full + INPUT_SLOTS;
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const uint32_t records = num_records(DTYPE, K), pieces = records * (layout.record_cols / PIECE_COLS), units = pieces / Tile::UNIT_PIECES;
  const SpanInput in = span_input(T, K);
  const uint32_t token_tiles = (T + TOKENS - 1) / TOKENS, num_places = token_tiles * jobs.first_item[jobs.num];

  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < WEIGHT_SLOTS; i++) {
      barrier_init(weights_full + i, 3);
      barrier_init(weights_empty + i, GROUPS * 4 * WARP_ARRIVALS);
    }
    for (uint32_t i = 0; i < INPUT_SLOTS; i++) {
      barrier_init(inputs_full + i, 1);
      barrier_init(inputs_empty + i, GROUPS * 4 * WARP_ARRIVALS);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();

  if (warp >= GROUPS * 4) {
    if constexpr (GROUPS == 2) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (lane != 0) return;
    const uint32_t own = warp - GROUPS * 4;
    if (own == 0) {
      RingPlace<INPUT_SLOTS> place;
      for (uint32_t index = blockIdx.x; index < num_places; index += gridDim.x) {
        const uint32_t first = span_place(jobs, index, token_tiles).token_tile * TOKENS;
        // Tokens behind the last one hold anything: their outputs are left out.
        const uint32_t size_bytes = (in.tokens - first < TOKENS ? in.tokens - first : TOKENS) * SPAN_PIECE_BYTES;
        const uint8_t *from = input + uint64_t{first} * SPAN_PIECE_BYTES;
        for (uint32_t piece = 0; piece < pieces; piece++) {
          barrier_wait(inputs_empty + place.slot, place.phase ^ 1);
          barrier_expect(inputs_full + place.slot, size_bytes);
          bulk_copy(shared + Tile::INPUTS_AT + place.slot * Tile::INPUT_BYTES, from, size_bytes, inputs_full + place.slot);
          from += uint64_t{in.tokens} * SPAN_PIECE_BYTES;
          place.advance();
        }
      }
      return;
    }
    // A bulk copy takes its thread some 80 clocks: three warps share the row tiles.
    constexpr uint32_t MOST = (Tile::ROW_TILES + 2) / 3;
    const uint64_t tile_bytes = uint64_t{records} * record_bytes(DTYPE);
    RingPlace<WEIGHT_SLOTS> place;
    for (uint32_t index = blockIdx.x; index < num_places; index += gridDim.x) {
      const SpanPlace at = span_place(jobs, index, token_tiles);
      // Row tiles behind the last one are copies of it.
      const SpanJob &job = jobs.job[at.job];
      const uint32_t first_tile = at.item * Tile::ROW_TILES, last_tile = num_tiles(job.rows) - 1;
      const uint8_t *from[MOST];
      uint32_t num = 0;
#pragma unroll
      for (uint32_t i = 0; i < MOST; i++) {
        const uint32_t place_in_block = own - 1 + 3 * i, tile = first_tile + place_in_block;
        from[i] = job.packed + (tile < last_tile ? tile : last_tile) * tile_bytes;
        num += place_in_block < Tile::ROW_TILES;
      }
      for (uint32_t unit = 0; unit < units; unit++) {
        barrier_wait(weights_empty + place.slot, place.phase ^ 1);
        barrier_expect(weights_full + place.slot, num * Tile::UNIT_BYTES);
        uint8_t *to = weight_ring + place.slot * Tile::WEIGHT_BYTES + (own - 1) * Tile::UNIT_BYTES;
#pragma unroll
        for (uint32_t i = 0; i < MOST; i++)
          if (own - 1 + 3 * i < Tile::ROW_TILES) {
            bulk_copy(to + 3 * i * Tile::UNIT_BYTES, from[i], Tile::UNIT_BYTES, weights_full + place.slot);
            from[i] += Tile::UNIT_BYTES;
          }
        place.advance();
      }
    }
    return;
  }

  if constexpr (GROUPS == 2) asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  const uint32_t g = lane / 4, t = lane % 4;
  const float *token_scales = reinterpret_cast<const float *>(input + in.scales_offset);
  RingPlace<WEIGHT_SLOTS> weights;
  RingPlace<INPUT_SLOTS> inputs;
  uint32_t unit_piece = 0, input_done = 0, weight_done = 0;  // and the slots that are given back next
  for (uint32_t index = blockIdx.x; index < num_places; index += gridDim.x) {
    const SpanPlace at = span_place(jobs, index, token_tiles);
    const SpanJob &job = jobs.job[at.job];
    const uint32_t first_row = (at.item * Tile::ROW_TILES + warp) * TILE_ROWS + g;
    float row_scales[2], row_factors[2];
#pragma unroll
    for (uint32_t i = 0; i < 2; i++) {
      row_scales[i] = first_row + i * 8 < job.rows ? job.row_scales[first_row + i * 8] : 1.0f;
      row_factors[i] = 1.0f / row_scales[i];
    }
    float sum[NUM];
    uint32_t even[4][4], odd[4][4];
    const auto load = [&](uint32_t (&a)[4][4]) {
      if (unit_piece == 0) barrier_wait(weights_full + weights.slot, weights.phase);
      const uint8_t *unit = weight_ring + weights.slot * Tile::WEIGHT_BYTES + warp * Tile::UNIT_BYTES;
      load_operands<DTYPE>(a, unit + piece_offset(DTYPE, unit_piece), unit + shared_offset(DTYPE), row_factors, lane);
      if (++unit_piece == Tile::UNIT_PIECES) {
        unit_piece = 0;
        weights.advance();
      }
    };
    const auto start = [&](const uint32_t (&a)[4][4], bool is_first) {
      barrier_wait(inputs_full + inputs.slot, inputs.phase);
      const uint64_t b = swizzled_operand(shared_address(shared + Tile::INPUTS_AT + inputs.slot * Tile::INPUT_BYTES));
      products_begin();
#pragma unroll
      for (uint32_t step = 0; step < 4; step++) group_multiply(sum, a[step], b + step * 2, !is_first || step > 0);
      products_commit();
      inputs.advance();
    };
    // Weights are given back behind the products, too: a load from shared memory may still wait its turn when the arrival at a barrier
    // that was issued after it is seen (it did, and rows were wrong, where products and copies leave shared memory no idle clock).
    const auto finish = [&](const uint32_t (&a)[4][4], bool is_last_of_unit) {
#pragma unroll
      for (uint32_t step = 0; step < 4; step++) keep_operand(a[step]);
      __syncwarp();
      if (arrives_for_warp(lane)) {
        barrier_arrive(inputs_empty + input_done);
        if (is_last_of_unit) barrier_arrive(weights_empty + weight_done);
      }
      input_done = input_done + 1 == INPUT_SLOTS ? 0 : input_done + 1;
      if (is_last_of_unit) weight_done = weight_done + 1 == WEIGHT_SLOTS ? 0 : weight_done + 1;
    };
    const auto ends_unit = [&](uint32_t piece) { return Tile::UNIT_PIECES == 1 || piece % Tile::UNIT_PIECES == Tile::UNIT_PIECES - 1; };
    const auto scales_of = [&](float2 (&scales)[4], uint32_t first) {
#pragma unroll
      for (uint32_t n = 0; n < 4; n++) {
        const uint32_t token = at.token_tile * TOKENS + first + n * 8 + 2 * t;
        scales[n] = token < T ? *reinterpret_cast<const float2 *>(token_scales + token) : make_float2(0.0f, 0.0f);
      }
    };
    // Pieces are even in number: a record has two or four.
    load(even);
    for (uint32_t piece = 0; piece < pieces; piece += 2) {
      start(even, piece == 0);
      if (piece > 0) {
        products_wait<1>();
        finish(odd, ends_unit(piece - 1));
      }
      load(odd);
      start(odd, false);
      products_wait<1>();
      finish(even, ends_unit(piece));
      if (piece + 2 < pieces) load(even);
    }
    // Sixteen finished sums, of 32 tokens, to where copies to y read them: rows of 128 bytes, swizzled so that no two lanes meet in a bank.
    const auto stage = [&](uint8_t *to, const float (&values)[16]) {
#pragma unroll
      for (uint32_t i = 0; i < 16; i++) {
        const uint32_t token = i / 4 * 8 + 2 * t + i % 2, chunk = warp % 2 * 4 + i % 4 / 2 * 2 + g / 4;
        *reinterpret_cast<float *>(to + warp % 4 / 2 * (Tile::STAGED_BYTES / 2) + token * 128 + (chunk ^ (token % 8)) * 16 + g % 4 * 4) = values[i];
      }
      shared_written();
    };
    const auto scaled = [&](float sum_of, const float2 (&scales)[4], uint32_t i) {
      return sum_of * row_scales[i % 4 / 2] * (i % 2 ? scales[i / 4].y : scales[i / 4].x);
    };
    const auto store = [&](uint32_t target, uint32_t column, uint32_t part, const uint8_t *from, bool adds) {
      const uint32_t token = at.token_tile * TOKENS + part * 32;
      store_tile(&targets.y[target], column, token, from, adds);
      store_tile(&targets.y[target], column + 32, token, from + Tile::STAGED_BYTES / 2, adds);
      stores_commit();
    };
    if constexpr (Tile::IS_STAGED) {
      float2 scales[4];
      scales_of(scales, 0);
      products_wait<0>();
      finish(odd, true);
      if (job.is_tensor) {
        const uint32_t group = warp / 4, column = (at.item * Tile::ROW_TILES + group * 4) * TILE_ROWS;
#pragma unroll
        for (uint32_t part = 0; part < TOKENS / 32; part++) {
          uint8_t *staged = shared + Tile::SUMS_AT + (group * 2 + part % 2) * Tile::STAGED_BYTES;
          if (threadIdx.x % 128 == 0) stores_wait<1>();
          group_sync(1 + group);
          float value[16];
#pragma unroll
          for (uint32_t i = 0; i < 16; i++) value[i] = scaled(sum[part * 16 + i], scales, i);
          stage(staged, value);
          if (part + 1 < TOKENS / 32) scales_of(scales, (part + 1) * 32);
          group_sync(1 + group);
          if (threadIdx.x % 128 == 0) store(at.job, column, part, staged, job.accumulates);
        }
        continue;
      }
    } else {
      products_wait<0>();
      finish(odd, true);
    }

    const uint32_t first_token = at.token_tile * TOKENS + 2 * t;
#pragma unroll
    for (uint32_t i = 0; i < NUM; i++) {
      const uint32_t token = first_token + i / 4 * 8 + i % 2, row = first_row + i % 4 / 2 * 8;
      if (token < T && row < job.rows)
        store_sum(job.y + uint64_t{token} * job.ldy + row, sum[i] * row_scales[i % 4 / 2] * token_scales[token], job.accumulates);
    }
  }
  if (threadIdx.x % 128 == 0) stores_wait<0>();  // shared memory is theirs until then
#endif
}

}  // namespace ignis
