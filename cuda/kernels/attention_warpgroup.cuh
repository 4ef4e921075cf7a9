// attention_warpgroup.cuh: attention of a prefill span on sm_90's wgmma, with an online softmax.
//
// A column is a query head of a row. A block owns 64 columns of one kv head for each of its warpgroups, all query heads of a row beside
// each other, and walks the pages in rising order; a warpgroup more, the last, brings them. Queries and weights are A operands in
// registers, K and V B operands as they lie in the page. The output of a page is under way while the weights of the next one are made.
//
// A column's bits do not depend on the block it is in: every page is a step for it, and one that it sees nothing of changes nothing.
#pragma once

#include <math_constants.h>

#include "attention_query.cuh"
#include "attention_span.cuh"
#include "page_element.cuh"
#include "warpgroup_products.cuh"

namespace ignis {

template <class Element, uint32_t D, uint32_t WARPGROUPS>
struct GroupSpan {
  static constexpr uint32_t SLOT_BYTES = IGNIS_PAGE_TOKENS * D * 2;  // K or V of a page as operands
  static constexpr uint32_t STAGES = 6;
  static constexpr uint32_t SHARED_BYTES = 2 * STAGES * SLOT_BYTES + 1024 + 4 * STAGES * 8;
  static constexpr uint32_t THREADS = (WARPGROUPS + 1) * 128;
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Positions from num_stored on of V become 0: they may be NaN. By all threads of the consumers.
template <uint32_t D>
static __device__ __forceinline__ void clear_values(uint8_t *values, uint32_t num_stored, uint32_t thread, uint32_t num_threads) {
  uint16_t *elements = reinterpret_cast<uint16_t *>(values);
  for (uint32_t i = thread; i < D * IGNIS_PAGE_TOKENS; i += num_threads) {
    const uint32_t dim = i / IGNIS_PAGE_TOKENS, slot = i % IGNIS_PAGE_TOKENS;
    if (slot >= num_stored) elements[chunk_at(dim, slot / 8) + slot % 8] = 0;
  }
  shared_written();
}

#endif

template <class Element, uint32_t D, uint32_t WARPGROUPS, uint32_t PAGES, bool TAKES_TURNS>
static __global__ void __launch_bounds__((WARPGROUPS + 1) * 128, 1) group_span_kernel(const __grid_constant__ SpanArguments args) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using Shape = GroupSpan<Element, D, WARPGROUPS>;
  using Operand = typename OperandOf<Element>::type;
  constexpr uint32_t STAGES = Shape::STAGES, SLOT_BYTES = Shape::SLOT_BYTES, STEPS = D / 16;
  constexpr uint32_t BLOCK_BYTES = IGNIS_PAGE_TOKENS * 128;  // 64 positions x 64 dims
  constexpr bool IS_WIDENED = sizeof(Element) == 1;
  extern __shared__ uint8_t unaligned[];
  uint8_t *keys = unaligned + (1024 - shared_address(unaligned) % 1024) % 1024, *values = keys + STAGES * SLOT_BYTES;
  uint64_t *keys_full = reinterpret_cast<uint64_t *>(values + STAGES * SLOT_BYTES), *keys_empty = keys_full + STAGES;
  uint64_t *values_full = keys_empty + STAGES, *values_empty = values_full + STAGES;
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;

  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < STAGES; i++) {
      barrier_init(keys_full + i, IS_WIDENED ? 4 * WARP_ARRIVALS : 1);
      barrier_init(values_full + i, IS_WIDENED ? 4 * WARP_ARRIVALS : 1);
      barrier_init(keys_empty + i, WARPGROUPS * 4 * WARP_ARRIVALS);
      barrier_init(values_empty + i, WARPGROUPS * 4 * WARP_ARRIVALS);
    }
    barriers_made();
  }
  begin();
  __syncthreads();

  const Group group = *args.groups;
  const uint32_t heads = args.NH / args.NK, kv_head = blockIdx.x, num_columns = args.T * heads;
  // The last rows see the most pages: they begin.
  const uint32_t first_column = (gridDim.y - 1 - blockIdx.y) * (WARPGROUPS * 64);
  const auto row_of = [&](uint32_t column) { return (column < num_columns ? column : num_columns - 1) / heads; };
  const uint32_t num_pages = (group.position + row_of(first_column + WARPGROUPS * 64 - 1)) / IGNIS_PAGE_TOKENS + 1;
  // Where the last step lacks a page it has the first one again, and sees nothing of it.
  const uint32_t num_steps = (num_pages + PAGES - 1) / PAGES;

  if (warp >= WARPGROUPS * 4) {
    if constexpr (WARPGROUPS > 1 && IS_WIDENED) asm volatile("setmaxnreg.dec.sync.aligned.u32 56;");
    if constexpr (WARPGROUPS > 1 && !IS_WIDENED) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    // Where 64 dims of a page's keys lie: beside those of the step's other page, so that they are one operand.
    const auto key_block = [](uint32_t page, uint32_t block) {
      return page % STAGES / PAGES * (PAGES * SLOT_BYTES) + (block * PAGES + page % PAGES) * BLOCK_BYTES;
    };
    const auto memory_of = [&](uint32_t page) {
      return args.pool + args.page_stride * static_cast<uint32_t>(group.page_table[page < num_pages ? page : 0]);
    };
    constexpr uint32_t HALF = IGNIS_PAGE_TOKENS * D * sizeof(Element);
    const uint64_t values_offset = uint64_t{args.NK} * HALF;
    if constexpr (!IS_WIDENED) {
      if (threadIdx.x != WARPGROUPS * 128) return;
      for (uint32_t page = 0; page < num_steps * PAGES; page++) {
        const uint32_t stage = page % STAGES, turn = page / STAGES;
        const uint8_t *memory = memory_of(page) + kv_head * HALF;
        if (turn > 0) barrier_wait(keys_empty + stage, (turn - 1) % 2);
        barrier_expect(keys_full + stage, SLOT_BYTES);
#pragma unroll
        for (uint32_t block = 0; block < D / 64; block++)
          bulk_copy(keys + key_block(page, block), memory + block * BLOCK_BYTES, BLOCK_BYTES, keys_full + stage);
        if (turn > 0) barrier_wait(values_empty + stage, (turn - 1) % 2);
        barrier_expect(values_full + stage, SLOT_BYTES);
        bulk_copy(values + stage * SLOT_BYTES, memory + values_offset, SLOT_BYTES, values_full + stage);
      }
    } else {
      // Four warps widen the elements on the way; the next page is under way while one is stored.
      constexpr uint32_t NUM = HALF / 16 / 128;
      const uint32_t thread = threadIdx.x - WARPGROUPS * 128;
      uint4 coming_keys[NUM], coming_values[NUM];
      const auto load = [&](uint4(&coming)[NUM], uint32_t half) {
        if (half / 2 >= num_steps * PAGES) return;
        const uint4 *from = reinterpret_cast<const uint4 *>(memory_of(half / 2) + kv_head * HALF + half % 2 * values_offset);
#pragma unroll
        for (uint32_t i = 0; i < NUM; i++) coming[i] = from[i * 128 + thread];
      };
      const auto bring = [&](uint4(&coming)[NUM], uint32_t half) {
        const uint32_t stage = half / 2 % STAGES, turn = half / 2 / STAGES;
        if (turn > 0) barrier_wait((half % 2 ? values_empty : keys_empty) + stage, (turn - 1) % 2);
        uint8_t *to = half % 2 ? values + stage * SLOT_BYTES : keys;
#pragma unroll
        for (uint32_t i = 0; i < NUM; i++) {
          const uint4 own = coming[i];
          const uint32_t at = (i * 128 + thread) * 32;
          uint4 *wide = reinterpret_cast<uint4 *>(to + (half % 2 ? at : key_block(half / 2, at / BLOCK_BYTES) + at % BLOCK_BYTES));
          wide[0] = make_uint4(widened_pair(own.x), widened_pair(own.x >> 16), widened_pair(own.y), widened_pair(own.y >> 16));
          wide[1] = make_uint4(widened_pair(own.z), widened_pair(own.z >> 16), widened_pair(own.w), widened_pair(own.w >> 16));
        }
        load(coming, half + 2);
        shared_written();
        __syncwarp();
        if (arrives_for_warp(lane)) barrier_arrive((half % 2 ? values_full : keys_full) + stage);
      };
      load(coming_keys, 0);
      load(coming_values, 1);
      for (uint32_t page = 0; page < PAGES * num_steps; page++) {
        bring(coming_keys, 2 * page);
        bring(coming_values, 2 * page + 1);
      }
    }
    return;
  }
  if constexpr (WARPGROUPS > 1 && IS_WIDENED) asm volatile("setmaxnreg.inc.sync.aligned.u32 224;");
  if constexpr (WARPGROUPS > 1 && !IS_WIDENED) asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");

  // The lane's columns are number g and g + 8 of the warp's sixteen.
  const uint32_t own_column = first_column + warp * 16;
  uint32_t queries[STEPS][4];
  int32_t limit[2];  // positions that they see
#pragma unroll
  for (uint32_t e = 0; e < 2; e++) {
    const uint32_t column = own_column + g + 8 * e < num_columns ? own_column + g + 8 * e : num_columns - 1;
    const uint32_t row = column / heads, head = kv_head * heads + column % heads;
    limit[e] = static_cast<int32_t>(group.position + row) + 1;
    float v[STEPS][4];
    make_query<D, OwnOrder>(v, args.q + (uint64_t{group.row + row} * args.NH + head) * D, args.maker, group.row + row, t);
#pragma unroll
    for (uint32_t step = 0; step < STEPS; step++) {
      queries[step][e] = packed_pair(v[step][0], v[step][1], Operand());
      queries[step][2 + e] = packed_pair(v[step][2], v[step][3], Operand());
    }
  }
  const int32_t first_limit = static_cast<int32_t>(group.position + row_of(own_column)) + 1;
  const uint32_t span_stop = group.position + args.T;

  float o[D / 2], maximum[2] = {-CUDART_INF_F, -CUDART_INF_F}, sum[2] = {0.0f, 0.0f};
#pragma unroll
  for (uint32_t i = 0; i < D / 2; i++) o[i] = 0.0f;
  uint32_t weights[PAGES][4][4];
  float scores[PAGES * 32], factor[2];

  const auto release = [&](uint64_t *barriers, uint32_t step) {
    __syncwarp();
#pragma unroll
    for (uint32_t i = 0; i < PAGES; i++)
      if (arrives_for_warp(lane)) barrier_arrive(barriers + (step * PAGES + i) % STAGES);
  };
  const auto start_scores = [&](uint32_t step) {
#pragma unroll
    for (uint32_t i = 0; i < PAGES; i++) barrier_wait(keys_full + (step * PAGES + i) % STAGES, (step * PAGES + i) / STAGES % 2);
    products_begin();
    // Further columns are sums with the first operand's address: a chain of its own for each would be longer than a product.
    const uint64_t operand = swizzled_operand(shared_address(keys + step % (STAGES / PAGES) * (PAGES * SLOT_BYTES)));
#pragma unroll
    for (uint32_t j = 0; j < STEPS; j++)
      multiply_group(scores, queries[j], operand + (j / 4 * (PAGES * BLOCK_BYTES) + j % 4 * 32) / 16, j > 0, Operand());
    products_commit();
  };
  const auto start_output = [&](uint32_t step) {
#pragma unroll
    for (uint32_t i = 0; i < PAGES; i++) {
      const uint32_t page = step * PAGES + i, stage = page % STAGES;
      barrier_wait(values_full + stage, page / STAGES % 2);
      const uint32_t start = page < num_pages ? page * IGNIS_PAGE_TOKENS : 0;
      if (start + IGNIS_PAGE_TOKENS > span_stop) {
        clear_values<D>(values + stage * SLOT_BYTES, span_stop - start, threadIdx.x, WARPGROUPS * 128);
        warps_meet(1, WARPGROUPS * 128);
      }
    }
    products_begin();
#pragma unroll
    for (uint32_t i = 0; i < PAGES; i++) {
      const uint64_t operand = swizzled_operand(shared_address(values + (step * PAGES + i) % STAGES * SLOT_BYTES));
#pragma unroll
      for (uint32_t j = 0; j < 4; j++) multiply_group(o, weights[i][j], operand + j * 2, 1, Operand());
    }
    products_commit();
  };
  // Scores become weights, not yet operands: those of the step before may still be read.
  const auto weigh = [&](uint32_t step) {
    const uint32_t start = step * (PAGES * IGNIS_PAGE_TOKENS);
    if (first_limit < static_cast<int32_t>(start + PAGES * IGNIS_PAGE_TOKENS)) {
#pragma unroll
      for (uint32_t i = 0; i < PAGES * 32; i++)
        if (static_cast<int32_t>(start + i / 4 * 8 + 2 * t + i % 2) >= limit[i / 2 % 2]) scores[i] = -CUDART_INF_F;
    }
#pragma unroll
    for (uint32_t e = 0; e < 2; e++) {
      // Four maxima, and four sums, hide the latency of each other.
      float some[4];
#pragma unroll
      for (uint32_t i = 0; i < 4; i++) some[i] = fmaxf(scores[4 * i + 2 * e], scores[4 * i + 2 * e + 1]);
#pragma unroll
      for (uint32_t i = 16; i < PAGES * 32; i += 4) some[i / 4 % 4] = fmaxf(some[i / 4 % 4], fmaxf(scores[i + 2 * e], scores[i + 2 * e + 1]));
      float largest = fmaxf(fmaxf(some[0], some[1]), fmaxf(some[2], some[3]));
      largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, 1));
      largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, 2));
      // Weights of at most 2^8 keep their bits: the output is scaled anew seldom.
      largest = largest > maximum[e] + 8.0f ? largest : maximum[e];
      factor[e] = power_of_two(maximum[e] - largest);
      maximum[e] = largest;
#pragma unroll
      for (uint32_t i = 0; i < 4; i++) some[i] = 0.0f;
#pragma unroll
      for (uint32_t i = 0; i < PAGES * 32; i += 4)
#pragma unroll
        for (uint32_t j = 2 * e; j < 2 * e + 2; j++) {
          scores[i + j] = power_of_two(scores[i + j] - largest);
          some[i / 4 % 4] += scores[i + j];
        }
      sum[e] = fmaf(sum[e], factor[e], (some[0] + some[1]) + (some[2] + some[3]));
    }
  };
  const auto take_weights = [&] {
#pragma unroll
    for (uint32_t page = 0; page < PAGES; page++)
#pragma unroll
      for (uint32_t j = 0; j < 4; j++)
#pragma unroll
        for (uint32_t i = 0; i < 4; i++) {
          const uint32_t at = page * 32 + 8 * j + 2 * i;
          weights[page][j][i] = packed_pair(scores[at], scores[at + 1], Operand());
        }
  };

  if constexpr (TAKES_TURNS)
    if (warp / 4 == 1) asm volatile("bar.arrive 2, 256;" ::: "memory");
  start_scores(0);
  products_wait<0>();
  keep_result(scores);
  release(keys_empty, 0);
  weigh(0);
  take_weights();
  for (uint32_t step = 0; step + 1 < num_steps; step++) {
    if constexpr (TAKES_TURNS) warps_meet(2 + warp / 4, 256);
    start_scores(step + 1);
    start_output(step);
    if constexpr (TAKES_TURNS) asm volatile("bar.arrive %0, 256;" ::"r"(3 - warp / 4) : "memory");
    products_wait<1>();
    keep_result(scores);
    release(keys_empty, step + 1);
    weigh(step + 1);
    // Waited for in both branches: within one block the assembler would wait before the weights are made.
    if (__any_sync(~0u, factor[0] != 1.0f || factor[1] != 1.0f)) {
      products_wait<0>();
      keep_result(o);
#pragma unroll
      for (uint32_t i = 0; i < D / 2; i++) o[i] *= factor[i / 2 % 2];
    } else {
      products_wait_unscaled();
      keep_result(o);
    }
#pragma unroll
    for (uint32_t page = 0; page < PAGES; page++)
#pragma unroll
      for (uint32_t j = 0; j < 4; j++) keep_operand(weights[page][j]);
    release(values_empty, step);
    take_weights();
  }
  start_output(num_steps - 1);
  products_wait<0>();
  keep_result(o);

#pragma unroll
  for (uint32_t e = 0; e < 2; e++) {
    const uint32_t column = own_column + g + 8 * e;
    float whole = sum[e] + __shfl_xor_sync(~0u, sum[e], 1);
    whole += __shfl_xor_sync(~0u, whole, 2);
    if (column >= num_columns) continue;
    const uint32_t row = column / heads, head = kv_head * heads + column % heads;
    float *out = args.out + (uint64_t{group.row + row} * args.NH + head) * D + 2 * t;
    const float factor = 1.0f / whole;
    // + 0: a page that is not seen may have made a zero of the other sign.
#pragma unroll
    for (uint32_t i = 0; i < D / 2; i += 4)
      *reinterpret_cast<float2 *>(out + i * 2) = make_float2(o[i + 2 * e] * factor + 0.0f, o[i + 2 * e + 1] * factor + 0.0f);
  }
#endif
}

}  // namespace ignis
