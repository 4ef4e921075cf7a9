// linear_round.cuh: linear layers of a decode round, at the pace of the memory that holds the weights.
//
// A block is eight warps and owns TILES tiles of 16 weight rows at a time; warp s owns K slice s of them. Each warp copies its slice through
// a private ring in shared memory, STAGES deep and across tile borders, so that copies never wait for sums; the ring is filled before the
// kernel waits for the one before, whose rows it reads: weights do not depend on it. Rows come through the first-level cache in operand
// order: kept in registers, 64 of them, they left the arithmetic too few. The warps' partial tiles meet in shared memory and are added in
// rising slice order. Always eight tokens: absent ones are zeros, so every width is the same code.
//
// What a row's bits depend on: K slices (weights.cuh), within a slice one chain of the tensor core for F16 and BF16, else a chain for each
// scale and a float32 multiply-add, then slices in rising order. Neither the grid nor the number of tokens.
//
// Results may go straight into the form in which the next linear layers read them (round_input.cuh): residual rows with the next norm's
// weights on them, or silu(gate) up, where an item is a tile of each.
#pragma once

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
  uint32_t num, num_items;
  RoundInput in;
  RoundLayout in_layout;
  RoundOutlet outlet;
  RoundLayout out_layout;
};

// What a warp copies at a time: records, but of 16-bit types pieces, or nothing would fit.
__host__ __device__ constexpr bool is_16_bit(ignis_dtype dtype) { return dtype == IGNIS_F16 || dtype == IGNIS_BF16; }
__host__ __device__ constexpr uint32_t unit_pieces(ignis_dtype dtype) { return is_16_bit(dtype) ? 1 : weight_layout(dtype).record_cols / PIECE_COLS; }
__host__ __device__ constexpr uint32_t unit_bytes(ignis_dtype dtype) { return unit_pieces(dtype) * piece_bytes(dtype) + weight_layout(dtype).super_bytes; }

// Copies whose addresses in both memories differ within 128 bytes run at four fifths of the rate (measured): a unit lies in its slot as far
// behind a multiple of 128 as it does in global memory. So far that is at most.
__host__ __device__ constexpr uint32_t most_shift(uint32_t bytes) { return bytes % 128 == 0 ? 0 : 128 - (bytes & (~bytes + 1)); }
__host__ __device__ constexpr uint32_t slot_bytes(ignis_dtype dtype) {
  return (unit_bytes(dtype) + most_shift(unit_bytes(dtype)) + 127) / 128 * 128;
}

inline constexpr uint32_t PARTIAL_FLOATS = ROUND_TOKENS * TILE_ROWS;

// Where a partial tile has a token's row: an order in which a warp's writes meet no bank twice.
__host__ __device__ constexpr uint32_t partial_at(uint32_t token, uint32_t row) {
  return (token % 2 * 4 + token / 2) * TILE_ROWS + (row + token / 4 * 8) % TILE_ROWS;
}

// Blocks that are meant to share a multiprocessor.
__host__ __device__ constexpr uint32_t round_blocks(uint32_t tiles) { return tiles == 3 ? 1 : 2; }

template <ignis_dtype DTYPE, uint32_t TILES>
__host__ __device__ constexpr uint32_t round_stages(uint32_t code) {
  constexpr uint32_t stage = ROUND_WARPS * TILES * slot_bytes(DTYPE), others = 2 * ROUND_WARPS * TILES * PARTIAL_FLOATS * 4;
  const uint32_t most = shared_bytes_of(code, shared_kb(code) >= 227 ? round_blocks(TILES) : 1), room = most > others ? most - others : 0;
  return room / stage < 2 ? 2 : room / stage > 6 ? 6 : room / stage;
}
// The ring, two sets of partial tiles, and the tokens' factors and scales. All of it is dynamic: a static array before the ring moves it off
// its alignment, and copies whose addresses in both memories differ within 128 bytes run at four fifths of the rate (measured).
template <ignis_dtype DTYPE, uint32_t TILES>
__host__ __device__ constexpr uint32_t round_shared_bytes(uint32_t code) {
  return ROUND_WARPS * TILES * (round_stages<DTYPE, TILES>(code) * slot_bytes(DTYPE) + 2 * PARTIAL_FLOATS * 4) + ROUND_TOKENS * (sizeof(float) + sizeof(uint32_t));
}

// d = c + a b
static __device__ __forceinline__ void multiply_add(float d[4], const uint32_t a[4], uint32_t b0, uint32_t b1, const float c[4]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}

// A constant as an operand: the sum of the tokens' values times it comes into every row of the result. It is what a code has too much, as a
// negative float16 of codes' own kind (2^-24 is 1), or 1 for the sums that a minimum is multiplied by.
template <ignis_dtype DTYPE>
static __device__ __forceinline__ void constant_fragment(uint32_t a[4]) {
  constexpr uint32_t offset = static_cast<uint32_t>(code_offset(DTYPE));
  a[0] = a[1] = (offset > 0 ? 0x8000u | offset : 1u) * 0x10001u;
  a[2] = a[3] = (offset > 0 ? 0x8000u | offset * 16 : 16u) * 0x10001u;
  // Else it is made anew for every product.
#pragma unroll
  for (uint32_t i = 0; i < 4; i++) asm volatile("" : "+r"(a[i]));
}

// acc += 64 columns of every tile, or to `chain` what acc is added of it later. `units` are the tiles' in the ring.
template <ignis_dtype DTYPE, uint32_t TILES>
static __device__ __forceinline__ void multiply_piece(float (&acc)[TILES][4], float (&chain)[TILES][4], const uint8_t *const (&units)[TILES], uint32_t piece,
                                                      const uint4 *b, const uint32_t constant[4], uint32_t lane) {
  constexpr WeightLayout layout = weight_layout(DTYPE);
  constexpr uint32_t PIECE = piece_bytes(DTYPE), PIECES = unit_pieces(DTYPE);
  constexpr uint32_t offset = static_cast<uint32_t>(code_offset(DTYPE));
  constexpr bool has_constant = offset > 0 || has_minimum(DTYPE);
  const float zeros[4] = {};
  Piece<DTYPE> codes[TILES];
#pragma unroll
  for (uint32_t tile = 0; tile < TILES; tile++) codes[tile].load(units[tile] + piece * PIECE, lane);
#pragma unroll
  for (uint32_t block = 0; block < 2; block++) {
    float start[2][4] = {};  // of the first 16 columns, of the second where each has a chain of its own
    if constexpr (has_constant) {
      multiply_add(start[0], constant, b[block].x, b[block].y, zeros);
      multiply_add(start[DTYPE == IGNIS_Q6_K], constant, b[block].z, b[block].w, DTYPE == IGNIS_Q6_K ? zeros : start[0]);
    }
#pragma unroll
    for (uint32_t tile = 0; tile < TILES; tile++) {
      BlockScales<DTYPE> scales;
      const uint8_t *here = units[tile];
      scales.load(here + piece * PIECE + layout.code_bytes + layout.high_bytes, here + PIECES * PIECE, block, lane / 4);
      uint32_t a[2][4];
      codes[tile].fragment(a[0], 2 * block);
      codes[tile].fragment(a[1], 2 * block + 1);
      if constexpr (is_16_bit(DTYPE)) {
        multiply_add(acc[tile], a[0], b[block].x, b[block].y, acc[tile]);
        multiply_add(acc[tile], a[1], b[block].z, b[block].w, acc[tile]);
      } else if constexpr (DTYPE == IGNIS_Q6_K) {
        float first[4], second[4];
        multiply_add(first, a[0], b[block].x, b[block].y, start[0]);
        multiply_add(second, a[1], b[block].z, b[block].w, start[1]);
#pragma unroll
        for (uint32_t i = 0; i < 4; i++) acc[tile][i] = fmaf(scales.scale[2 + i / 2], second[i], fmaf(scales.scale[i / 2], first[i], acc[tile][i]));
      } else {
        // A scale of F8_E4M3 has the whole record.
        const bool is_first = DTYPE != IGNIS_F8_E4M3 || piece + block == 0, is_last = DTYPE != IGNIS_F8_E4M3 || (piece + 1 == PIECES && block == 1);
        multiply_add(chain[tile], a[0], b[block].x, b[block].y, offset > 0 ? start[0] : is_first ? zeros : chain[tile]);
        multiply_add(chain[tile], a[1], b[block].z, b[block].w, chain[tile]);
#pragma unroll
        for (uint32_t i = 0; i < 4; i++) {
          if (is_last) acc[tile][i] = fmaf(scales.scale[i / 2], chain[tile][i], acc[tile][i]);
          if constexpr (has_minimum(DTYPE)) acc[tile][i] = fmaf(scales.minimum[i / 2], start[0][i], acc[tile][i]);
        }
      }
    }
  }
}

template <ignis_dtype DTYPE, uint32_t TILES>
static __global__ void __launch_bounds__(ROUND_WARPS * 32, round_blocks(TILES)) round_linear_kernel(const __grid_constant__ RoundProduct args) {
  constexpr WeightLayout layout = weight_layout(DTYPE);
  constexpr uint32_t UNIT = unit_bytes(DTYPE), SLOT = slot_bytes(DTYPE), PIECES = unit_pieces(DTYPE), STAGES = round_stages<DTYPE, TILES>(TARGET);
  extern __shared__ __align__(128) uint8_t shared[];
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4, T = args.in.T;
  uint8_t *ring = shared + warp * (STAGES * TILES * SLOT);
  float *partials = reinterpret_cast<float *>(shared + ROUND_WARPS * STAGES * TILES * SLOT);  // [2][warp][tile][token][row]
  float *token_factors = partials + 2 * ROUND_WARPS * TILES * PARTIAL_FLOATS;  // [token]
  RoundScale *next_scales = reinterpret_cast<RoundScale *>(token_factors + ROUND_TOKENS);  // [token]

  constexpr uint32_t UNITS = layout.record_cols / PIECE_COLS / PIECES;  // of a record
  const uint32_t records = num_records(DTYPE, args.in.K), units = records * UNITS, slice = slice_records(records) * UNITS;
  const uint32_t num_slices = (units + slice - 1) / slice;
  const uint32_t first_unit = warp * slice, stop = first_unit + slice < units ? first_unit + slice : units;
  const uint32_t own = warp < num_slices ? stop - first_unit : 0;
  const uint64_t tile_bytes = uint64_t{units} * UNIT;
  const bool is_gate = args.outlet.kind == RoundOutlet::GATE;

  const auto job_of = [&](uint32_t item) { return item < args.first_item[1] ? 0u : item < args.first_item[2] ? 1u : 2u; };
  // The tiles of an item lie `tile_stride` apart; of a gate's item they are those of two matrices.
  const uint64_t tile_stride = is_gate ? static_cast<uint64_t>(args.job[1].packed - args.job[0].packed) : tile_bytes;
  const auto source_of = [&](uint32_t item) {
    const uint32_t job = job_of(item);
    return args.job[job].packed + uint64_t{item - args.first_item[job]} * (is_gate ? 1 : TILES) * tile_bytes + uint64_t{first_unit} * UNIT;
  };
  const auto tiles_of = [&](uint32_t item) {
    if (is_gate) return TILES;
    const uint32_t job = job_of(item), left = num_tiles(args.job[job].rows) - (item - args.first_item[job]) * TILES;
    return left < TILES ? left : TILES;
  };

  // The copying side: one unit of every tile a call.
  uint32_t copy_item = blockIdx.x, copy_unit = 0, copy_stage = 0;
  const uint8_t *source = copy_item < args.num_items ? source_of(copy_item) : nullptr;
  uint32_t copy_tiles = copy_item < args.num_items ? tiles_of(copy_item) : 0;
  const auto copy_next = [&] {
    if (own && copy_item < args.num_items) {
      uint8_t *target = ring + copy_stage * (TILES * SLOT);
#pragma unroll
      for (uint32_t tile = 0; tile < TILES; tile++) {
        if (tile >= copy_tiles) break;
        const uint8_t *from = source + tile * tile_stride;
        uint8_t *to = target + tile * SLOT;
        if constexpr (SLOT != UNIT) to += reinterpret_cast<uintptr_t>(from) % 128;
#pragma unroll
        for (uint32_t i = 0; i < (UNIT + 511) / 512; i++) {
          const uint32_t at = i * 512 + lane * 16;
          if (UNIT % 512 == 0 || at < UNIT) copy_async(to + at, from + at);
        }
      }
      source += UNIT;
      if (++copy_unit == own) {
        copy_unit = 0;
        copy_item += gridDim.x;
        if (copy_item < args.num_items) {
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

  // An output of a thread: column r of 16 of a tile, for a token; 32 threads side by side have two tokens or two tiles.
  constexpr uint32_t OUTPUTS = TILES * 128, TURNS = (OUTPUTS + ROUND_WARPS * 32 - 1) / (ROUND_WARPS * 32);
  const auto row_of = [&](uint32_t item, uint32_t turn) {
    const uint32_t output = turn * (ROUND_WARPS * 32) + threadIdx.x, tile = output / TILE_ROWS % TILES;
    const uint32_t first_tile = is_gate ? item : (item - args.first_item[job_of(item)]) * TILES + tile;
    return first_tile * TILE_ROWS + output % TILE_ROWS;
  };
  const auto token_of = [&](uint32_t turn) { return (turn * (ROUND_WARPS * 32) + threadIdx.x) / (TILE_ROWS * TILES); };
  // Where a norm's rows are made a block has few items, and what it multiplies them by is there before its rows are.
  const bool is_norm = args.outlet.kind == RoundOutlet::NORM;
  float row_factors[TURNS] = {}, weights[TURNS] = {};
  const auto load_factors = [&](uint32_t item) {
#pragma unroll
    for (uint32_t turn = 0; turn < TURNS; turn++) {
      const uint32_t row = row_of(item, turn);
      if (row >= args.job[0].rows || token_of(turn) >= ROUND_TOKENS) continue;
      row_factors[turn] = row_factor<DTYPE>(args.job[0].row_scales, row);
      weights[turn] = args.outlet.w[row];
    }
  };
  if (is_norm && blockIdx.x < args.num_items) load_factors(blockIdx.x);

#if __CUDA_ARCH__ >= 900
  // The kernel behind may come as soon as there is room for it.
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif

  const bool has_token = g < T;
  const uint8_t *rows = args.in.memory + (uint64_t{first_unit} * PIECES * 2 * ROUND_TOKENS + g) * 64 + t * 16;

  // A warp has a token: what its finished sums are multiplied by, and the scale of the row that becomes of them.
  if (warp < T) {
    float factor = reinterpret_cast<const float *>(args.in.memory + args.in_layout.scales_offset)[warp];
    if (args.in.eps >= 0.0f) {
      const float norm = inverse_rms(args.in.memory, args.in_layout, warp, args.in.K, args.in.eps);
      factor *= norm;
      if (blockIdx.x == 0 && lane == 0) args.in.norms[warp] = norm;
    }
    if (lane == 0) {
      token_factors[warp] = factor;
      if (args.outlet.kind != RoundOutlet::NONE) {
        const RoundScale scale = args.outlet.kind == RoundOutlet::NORM ? norm_scale(args.outlet.next.norms[warp]) : gate_scale();
        next_scales[warp] = scale;
        if (blockIdx.x == 0) store_scale(args.outlet.next.memory, args.out_layout, warp, scale);
      }
    }
  }

  uint32_t constant[4];
  constant_fragment<DTYPE>(constant);
  uint32_t stage = 0, buffer = 0;
  for (uint32_t item = blockIdx.x; item < args.num_items; item += gridDim.x, buffer ^= 1) {
    const uint32_t job = job_of(item);
    [[maybe_unused]] const uint32_t first_tile = is_gate ? item : (item - args.first_item[job]) * TILES;
    const RoundProduct::Job &own_job = args.job[job];
    float acc[TILES][4];
#pragma unroll
    for (uint32_t tile = 0; tile < TILES; tile++)
#pragma unroll
      for (uint32_t i = 0; i < 4; i++) acc[tile][i] = 0.0f;
    float old[TURNS] = {};
    const auto load_old = [&] {
#pragma unroll
      for (uint32_t turn = 0; turn < TURNS; turn++) {
        const uint32_t row = row_of(item, turn), token = token_of(turn);
        if (row < own_job.rows && token < T) old[turn] = own_job.y[uint64_t{token} * own_job.ldy + row];
      }
    };
    if (own == 0 && own_job.accumulates) load_old();
    const uint8_t *own_rows = rows;
    for (uint32_t unit = 0; unit < own; unit++) {
      uint4 b[PIECES * 2];
#pragma unroll
      for (uint32_t i = 0; i < PIECES * 2; i++) {
        b[i] = has_token ? *reinterpret_cast<const uint4 *>(own_rows) : make_uint4(0, 0, 0, 0);
        own_rows += ROUND_TOKENS * 64;
      }
      copy_wait<STAGES - 2>();
      __syncwarp();  // every lane's copies are here, and every lane has read the stage that is filled next
      copy_next();
      if (unit == 0 && own_job.accumulates) load_old();  // behind the first rows, which nobody should wait longer for
      const uint8_t *units_here[TILES];
#pragma unroll
      for (uint32_t tile = 0; tile < TILES; tile++) {
        units_here[tile] = ring + (stage * TILES + tile) * SLOT;
        // Matrices start at multiples of 256.
        if constexpr (SLOT != UNIT) units_here[tile] += ((first_tile + (is_gate ? 0 : tile)) * units + first_unit + unit) * UNIT % 128;
      }
      float chain[TILES][4];
#pragma unroll
      for (uint32_t piece = 0; piece < PIECES; piece++)
        multiply_piece<DTYPE, TILES>(acc, chain, units_here, piece, b + piece * 2, constant, lane);
      stage = stage + 1 == STAGES ? 0 : stage + 1;
    }

    float *parts = partials + buffer * (ROUND_WARPS * TILES * PARTIAL_FLOATS);
#pragma unroll
    for (uint32_t tile = 0; tile < TILES; tile++)
#pragma unroll
      for (uint32_t i = 0; i < 4; i++)
        parts[(warp * TILES + tile) * PARTIAL_FLOATS + partial_at(2 * t + i % 2, g + i / 2 * 8)] = acc[tile][i];
    __syncthreads();

    const auto total_of = [&](uint32_t tile, uint32_t token, uint32_t r) {
      const float *part = parts + tile * PARTIAL_FLOATS + partial_at(token, r);
      float total = 0.0f;
#pragma unroll
      for (uint32_t s = 0; s < MAX_SLICES; s++)
        if (s < num_slices) total += part[s * (TILES * PARTIAL_FLOATS)];
      return total;
    };
#pragma unroll
    for (uint32_t turn = 0; turn < TURNS; turn++) {
      const uint32_t output = turn * (ROUND_WARPS * 32) + threadIdx.x, tile = output / TILE_ROWS % TILES, token = token_of(turn);
      if (OUTPUTS % (ROUND_WARPS * 32) && output >= OUTPUTS) break;  // whole warps
      const uint32_t r = output % TILE_ROWS, row = row_of(item, turn), group = row / TILE_ROWS;
      const bool is_there = token < T && row < own_job.rows;
      float value = 0.0f;
      if (is_there) {
        const float factor = is_norm ? row_factors[turn] : row_factor<DTYPE>((is_gate ? args.job[tile] : own_job).row_scales, row);
        value = total_of(tile, token, r) * factor * token_factors[token];
      }
      const RoundScale scale = next_scales[token];
      if (is_gate) {  // lanes 0 .. 15 have a token's gate, lanes 16 .. 31 its up
        const float up = __shfl_down_sync(~0u, value, 16);
        store_group(args.outlet.next.memory, token, group, value / (1.0f + expf(-value)) * up, scale, lane < 16 && token < T);
        continue;
      }
      if (own_job.accumulates) value = old[turn] + value;
      if (is_there) own_job.y[uint64_t{token} * own_job.ldy + row] = value;
      if (is_norm) {
        const bool is_wanted = token < T && group < num_tiles(own_job.rows);
        store_group(args.outlet.next.memory, token, group, value * weights[turn], scale, is_wanted);
        store_squares(args.outlet.next.memory, args.out_layout, token, group, value, is_wanted);
      }
    }
    if (is_norm && item + gridDim.x < args.num_items) load_factors(item + gridDim.x);
    // The block of the last item fills the groups behind the last one.
    if (args.outlet.kind != RoundOutlet::NONE && item + 1 == args.num_items) {
      const uint32_t first = num_tiles(own_job.rows), num = args.out_layout.groups - first;
      for (uint32_t i = threadIdx.x; i < num * T; i += ROUND_WARPS * 32) fill_group(args.outlet.next.memory, i % T, first + i / T);
    }
  }
}

}  // namespace ignis
