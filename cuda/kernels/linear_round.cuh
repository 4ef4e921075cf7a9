// linear_round.cuh: linear layers of a decode round, at the pace of the memory that holds the weights.
//
// A block is eight warps and owns TILES tiles of 16 weight rows at a time; warp s owns K slice s of them. Each warp copies its slice through
// a private ring in shared memory (linear_round_ring.cuh) across tile borders, so that copies never wait for sums; the ring is filled
// before the kernel waits for the one before, whose rows it reads: weights do not depend on it. Rows come through the first-level cache in
// operand order: kept in registers, 64 of them, they left the arithmetic too few. The warps' partial tiles meet in shared memory and are
// added in rising slice order. Always eight tokens: absent ones are zeros, so every width is the same code.
//
// What a row's bits depend on: K slices (weights.cuh), within a slice one chain of the tensor core for F16 and BF16, else a chain for each
// scale and a float32 multiply-add, then slices in rising order. Neither the grid nor the number of tokens.
//
// Results may go straight into the form in which the next linear layers read them (round_input.cuh): residual rows with the next norm's
// weights on them, or silu(gate) up, where an item is a tile of each.
#pragma once

#include "gated.cuh"
#include "linear_round_ring.cuh"

namespace ignis {

// Where a partial tile has a token's row: an order in which a warp's writes meet no bank twice.
__host__ __device__ constexpr uint32_t partial_at(uint32_t token, uint32_t row) {
  return (token % 2 * 4 + token / 2) * TILE_ROWS + (row + token / 4 * 8) % TILE_ROWS;
}

inline constexpr uint32_t NEXT_TOKEN = partial_at(1, 0);  // behind an even one

template <uint32_t NUM>
static __device__ __forceinline__ void pin(uint32_t (&values)[NUM]) {
#pragma unroll
  for (uint32_t i = 0; i < NUM; i++) asm volatile("" : "+r"(values[i]));
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
static __device__ __forceinline__ void constant_fragment(uint32_t a[4], volatile uint32_t *place) {
  constexpr uint32_t offset = static_cast<uint32_t>(code_offset(DTYPE));
  a[0] = a[1] = (offset > 0 ? 0x8000u | offset : 1u) * 0x10001u;
  a[2] = a[3] = (offset > 0 ? 0x8000u | offset * 16 : 16u) * 0x10001u;
  // Through a place of the thread's own, so that the compiler does not know it: it would make it anew for every product.
#pragma unroll
  for (uint32_t i = 0; i < 4; i++) {
    *place = a[i];
    a[i] = *place;
  }
}

// acc += 64 columns of every tile, or to `chain` what acc is added of it later. `units` are the tiles' in the ring: a piece lies `piece_at`
// behind, what its scales share `shared_at`; `number` is the piece's in its step.
template <ignis_dtype DTYPE, uint32_t TILES>
static __device__ __forceinline__ void multiply_piece(float (&acc)[TILES][4], float (&chain)[TILES][4], const uint8_t *const (&units)[TILES],
                                                      uint32_t piece_at, uint32_t shared_at, uint32_t number, const uint4 *b,
                                                      const uint32_t constant[4], uint32_t lane) {
  constexpr WeightLayout layout = weight_layout(DTYPE);
  constexpr uint32_t PIECES = step_pieces(DTYPE);
  constexpr uint32_t offset = static_cast<uint32_t>(code_offset(DTYPE));
  const float zeros[4] = {};
  Piece<DTYPE> codes[TILES];
#pragma unroll
  for (uint32_t tile = 0; tile < TILES; tile++) codes[tile].load(units[tile] + piece_at, lane);
#pragma unroll
  for (uint32_t block = 0; block < 2; block++) {
    float start[2][4] = {};  // of the first 16 columns, of the second where each has a chain of its own
    if constexpr (has_constant(DTYPE)) {
      multiply_add(start[0], constant, b[block].x, b[block].y, zeros);
      multiply_add(start[DTYPE == IGNIS_Q6_K], constant, b[block].z, b[block].w, DTYPE == IGNIS_Q6_K ? zeros : start[0]);
    }
#pragma unroll
    for (uint32_t tile = 0; tile < TILES; tile++) {
      BlockScales<DTYPE> scales;
      scales.load(units[tile] + piece_at + layout.code_bytes + layout.high_bytes, units[tile] + shared_at, block, lane / 4);
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
        const bool is_first = DTYPE != IGNIS_F8_E4M3 || number + block == 0, is_last = DTYPE != IGNIS_F8_E4M3 || (number + 1 == PIECES && block == 1);
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
  using Ring = RoundRing<DTYPE, TILES>;
  constexpr uint32_t UNIT = Ring::UNIT, SLOT = Ring::SLOT, STEPS = Ring::STEPS, PIECES = step_pieces(DTYPE), THREADS = ROUND_WARPS * 32;
  extern __shared__ __align__(128) uint8_t shared[];
  // From one lane: what follows from the warp alone is seen to be the same in all lanes. Else each bulk copy would be a loop over lanes.
  const uint32_t lane = threadIdx.x % 32, warp = __shfl_sync(~0u, threadIdx.x / 32, 0), g = lane / 4, t = lane % 4, T = args.in.T;
  float *partials = reinterpret_cast<float *>(shared + ROUND_WARPS * Ring::STAGES * TILES * SLOT);  // [warp][tile][token][row]
  float *token_factors = partials + ROUND_WARPS * TILES * PARTIAL_FLOATS;  // [token]
  RoundScale *next_scales = reinterpret_cast<RoundScale *>(token_factors + ROUND_TOKENS);  // [token]

  const RoundItems<DTYPE, TILES> items(args);
  const bool is_gate = items.is_gate, is_norm = args.outlet.kind == RoundOutlet::NORM;
  const uint32_t steps = items.steps, slice = args.slice, num_slices = args.num_slices;
  const uint32_t first = warp * slice < steps ? warp * slice : steps, stop = first + slice < steps ? first + slice : steps;
  Ring ring(items, shared, reinterpret_cast<uint8_t *>(next_scales + ROUND_TOKENS), warp, first, stop);

  // An output of a thread: column r of 16 of a tile, for a token; 32 threads side by side have two tokens or two tiles.
  constexpr uint32_t OUTPUTS = TILES * 128, TURNS = (OUTPUTS + THREADS - 1) / THREADS;
  const auto tile_of = [&](uint32_t turn) { return (turn * THREADS + threadIdx.x) / TILE_ROWS % TILES; };
  const auto token_of = [&](uint32_t turn) { return (turn * THREADS + threadIdx.x) / (TILE_ROWS * TILES); };
  const uint32_t r = threadIdx.x % TILE_ROWS;
  const auto row_of = [&](uint32_t first_tile, uint32_t turn) { return (first_tile + (is_gate ? 0 : tile_of(turn))) * TILE_ROWS + r; };
  // Where a norm's rows are made a block has few items, and what it multiplies them by is there before its rows are.
  float weights[TURNS] = {};
  const auto load_weights = [&](uint32_t item) {
#pragma unroll
    for (uint32_t turn = 0; turn < TURNS; turn++) {
      const uint32_t row = row_of(items.first_tile_of(item), turn);
      if (row < args.job[0].rows && token_of(turn) < ROUND_TOKENS) weights[turn] = args.outlet.w[row];
    }
  };
  if (is_norm && blockIdx.x < args.num_items) load_weights(blockIdx.x);

#if __CUDA_ARCH__ >= 900
  // The kernel behind may come as soon as there is room for it.
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif

  const bool has_token = g < T;
  const uint8_t *rows = args.in.memory + (uint64_t{first} * PIECES * 2 * ROUND_TOKENS + g) * 64 + t * 16;

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
        const RoundScale scale = is_norm ? norm_scale(args.outlet.next.norms[warp]) : gate_scale();
        next_scales[warp] = scale;
        if (blockIdx.x == 0) store_scale(args.outlet.next.memory, args.out_layout, warp, scale);
      }
    }
  }

  // Where a lane's partial sums go, of rows g and g + 8, and where a thread finds those of its outputs: unknown to the compiler, which would
  // work them out anew for each item.
  const uint32_t own_partials = warp * TILES * PARTIAL_FLOATS;
  uint32_t partial_places[2] = {own_partials + partial_at(2 * t, g), own_partials + partial_at(2 * t, g + 8)}, part_places[TURNS];
#pragma unroll
  for (uint32_t turn = 0; turn < TURNS; turn++) part_places[turn] = tile_of(turn) * PARTIAL_FLOATS + partial_at(token_of(turn), r);
  pin(partial_places);
  pin(part_places);

  uint32_t constant[4];
  if constexpr (has_constant(DTYPE)) constant_fragment<DTYPE>(constant, reinterpret_cast<uint32_t *>(ring.row_scales) + threadIdx.x);
  uint4 b[STEPS * PIECES * 2];  // absent tokens' stay zeros
#pragma unroll
  for (uint32_t i = 0; i < STEPS * PIECES * 2; i++) b[i] = make_uint4(0, 0, 0, 0);
  [[maybe_unused]] uint32_t scale_place = 0;
  for (uint32_t item = blockIdx.x; item < args.num_items; item += gridDim.x) {
    const uint32_t first_tile = items.first_tile_of(item);
    const RoundProduct::Job &job = args.job[items.job_of(item)];
    float acc[TILES][4];
#pragma unroll
    for (uint32_t tile = 0; tile < TILES; tile++)
#pragma unroll
      for (uint32_t i = 0; i < 4; i++) acc[tile][i] = 0.0f;
    float old[TURNS] = {};
    if (job.accumulates) {
#pragma unroll
      for (uint32_t turn = 0; turn < TURNS; turn++) {
        const uint32_t row = row_of(first_tile, turn), token = token_of(turn);
        if (row < job.rows && token < T) old[turn] = job.y[uint64_t{token} * job.ldy + row];
      }
    }
    const uint8_t *own_rows = rows;
    for (uint32_t step = first; step < stop;) {
      // Whole units, but where a slice begins or ends amid one.
      const bool is_late = step % STEPS, is_whole = STEPS == 1 || (!is_late && step + 1 < stop);
#pragma unroll
      for (uint32_t i = 0; i < STEPS * PIECES * 2; i++)
        if (has_token && (i < PIECES * 2 || is_whole)) b[i] = *reinterpret_cast<const uint4 *>(own_rows + i * (ROUND_TOKENS * 64));
      const uint8_t *slot = ring.next(), *units_here[TILES];
#pragma unroll
      for (uint32_t tile = 0; tile < TILES; tile++) {
        units_here[tile] = slot + tile * SLOT;
        // Matrices start at multiples of 256, second steps at multiples of 128 behind the first.
        static_assert(STEPS == 1 || second_offset(DTYPE) % 128 == 0);
        if constexpr (SLOT != UNIT) units_here[tile] += ((first_tile + (is_gate ? 0 : tile)) * (steps / STEPS) + step / STEPS) * UNIT % 128;
      }
      float chain[TILES][4];
      if (is_whole) {
#pragma unroll
        for (uint32_t piece = 0; piece < STEPS * PIECES; piece++)
          multiply_piece<DTYPE, TILES>(acc, chain, units_here, piece_offset(DTYPE, piece), shared_offset(DTYPE), piece % PIECES, b + piece * 2,
                                       constant, lane);
      } else {
        const uint32_t pieces_at = is_late ? layout.super_bytes : 0;
#pragma unroll
        for (uint32_t piece = 0; piece < PIECES; piece++)
          multiply_piece<DTYPE, TILES>(acc, chain, units_here, pieces_at + piece_offset(DTYPE, piece), is_late ? 0 : shared_offset(DTYPE), piece,
                                       b + piece * 2, constant, lane);
      }
      const uint32_t done = is_whole ? STEPS : 1;
      step += done;
      own_rows += done * (PIECES * 2 * ROUND_TOKENS * 64);
    }

    if (item != blockIdx.x) warps_meet(1, 2 * THREADS);  // all have read the partial tiles of the item before
#pragma unroll
    for (uint32_t tile = 0; tile < TILES; tile++)
#pragma unroll
      for (uint32_t i = 0; i < 4; i++)
        partials[partial_places[i / 2] + tile * PARTIAL_FLOATS + i % 2 * NEXT_TOKEN] = acc[tile][i];
    __syncthreads();

    float totals[TURNS];
#pragma unroll
    for (uint32_t turn = 0; turn < TURNS; turn++) {
      totals[turn] = 0.0f;
      if (token_of(turn) >= T) continue;
      const float *part = partials + part_places[turn];
      if (num_slices == MAX_SLICES) {
        float each[MAX_SLICES];
#pragma unroll
        for (uint32_t s = 0; s < MAX_SLICES; s++) each[s] = part[s * (TILES * PARTIAL_FLOATS)];
#pragma unroll
        for (uint32_t s = 0; s < MAX_SLICES; s++) totals[turn] += each[s];
      } else {
        for (uint32_t s = 0; s < num_slices; s++) totals[turn] += part[s * (TILES * PARTIAL_FLOATS)];
      }
    }
    if (item + gridDim.x < args.num_items) warps_pass(1, 2 * THREADS);
#pragma unroll
    for (uint32_t turn = 0; turn < TURNS; turn++) {
      const uint32_t tile = tile_of(turn), token = token_of(turn);
      if (OUTPUTS % THREADS && turn * THREADS + threadIdx.x >= OUTPUTS) break;  // whole warps
      const uint32_t row = row_of(first_tile, turn), group = row / TILE_ROWS;
      const bool is_there = token < T && row < job.rows;
      float value = 0.0f;
      if (is_there) {
        float factor = is_nibbles(DTYPE) ? 16777216.0f : 1.0f;
        if constexpr (layout.has_row_scales) factor = ring.row_scales[(scale_place * TILES + tile) * TILE_ROWS + r];
        value = totals[turn] * factor * token_factors[token];
      }
      const RoundScale scale = next_scales[token];
      if (is_gate) {  // lanes 0 .. 15 have a token's gate, lanes 16 .. 31 its up
        const float up = __shfl_down_sync(~0u, value, 16);
        store_group(args.outlet.next.memory, token, group, gated(value, up), scale, lane < 16 && token < T);
        continue;
      }
      if (job.accumulates) value = old[turn] + value;
      if (is_there) job.y[uint64_t{token} * job.ldy + row] = value;
      if (is_norm) {
        const bool is_wanted = token < T && group < num_tiles(job.rows);
        store_group(args.outlet.next.memory, token, group, value * weights[turn], scale, is_wanted);
        store_squares(args.outlet.next.memory, args.out_layout, token, group, value, is_wanted);
      }
    }
    if constexpr (layout.has_row_scales) scale_place = scale_place + 1 == Ring::SCALE_PLACES ? 0 : scale_place + 1;
    if (is_norm && item + gridDim.x < args.num_items) load_weights(item + gridDim.x);
    // The block of the last item fills the groups behind the last one.
    if (args.outlet.kind != RoundOutlet::NONE && item + 1 == args.num_items) {
      const uint32_t first = num_tiles(job.rows), num = args.out_layout.groups - first;
      for (uint32_t i = threadIdx.x; i < num * T; i += THREADS) fill_group(args.outlet.next.memory, i % T, first + i / T);
    }
  }
}

}  // namespace ignis
