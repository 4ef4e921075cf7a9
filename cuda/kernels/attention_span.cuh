// attention_span.cuh: attention of a prefill span on mma.sync, with an online softmax: for cards without sm_90's wgmma.
//
// A block is four warps and owns 64 columns of a kv head (row times query head of the group), 16 a warp; pages come through two buffers in
// shared memory that the warps share. A column's bits do not depend on the block it is in: every page is a step for it, and one that it
// sees nothing of changes nothing.
#pragma once

#include "attention_page.cuh"
#include "launch.cuh"
#include "pipeline.cuh"

namespace ignis {

inline constexpr uint32_t SPAN_WARPS = 4, SPAN_TILES = 2, SPAN_COLUMNS = SPAN_WARPS * SPAN_TILES * 8;

struct SpanArguments : AttentionArguments {
  uint32_t T;
};

template <class Element, uint32_t D>
constexpr uint32_t span_shared_bytes() {
  return 2 * 2 * IGNIS_PAGE_TOKENS * D * sizeof(Element);
}

template <class Element, uint32_t D>
static __global__ void __launch_bounds__(SPAN_WARPS * 32, 2) span_kernel(const __grid_constant__ SpanArguments args) {
  using Operand = typename OperandOf<Element>::type;
  constexpr uint32_t HALF = IGNIS_PAGE_TOKENS * D * sizeof(Element);  // bytes of K, of V
  constexpr float RAISED = sizeof(Element) == 1 ? LOWERED : 1.0f;        // what widening left out
  extern __shared__ __align__(16) uint8_t span_shared[];
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
  const uint32_t heads = args.NH / args.NK, kv_head = blockIdx.x, num_columns = args.T * heads;
  begin();
  // The last rows see the most pages: they begin.
  const uint32_t first_column = (gridDim.y - 1 - blockIdx.y) * SPAN_COLUMNS;
  const Group group = *args.groups;
  const auto row_of = [&](uint32_t column) { return (column < num_columns ? column : num_columns - 1) / heads; };
  const uint32_t num_pages = (group.position + row_of(first_column + SPAN_COLUMNS - 1)) / IGNIS_PAGE_TOKENS + 1;
  const int32_t span_stop = static_cast<int32_t>(group.position + args.T);

  const auto copy_page = [&](uint32_t page) {
    if (page < num_pages) {
      const uint8_t *keys = args.pool + args.page_stride * static_cast<uint32_t>(group.page_table[page]) + kv_head * HALF;
      const uint8_t *values = keys + uint64_t{args.NK} * HALF;
      uint8_t *target = span_shared + page % 2 * (2 * HALF);
#pragma unroll
      for (uint32_t i = threadIdx.x; i < HALF / 16; i += SPAN_WARPS * 32) {
        copy_async(target + i * 16, keys + i * 16);
        copy_async(target + HALF + i * 16, values + i * 16);
      }
    }
    copy_commit();
  };
  copy_page(0);

  const uint32_t own_column = first_column + warp * (SPAN_TILES * 8);
  uint32_t q[SPAN_TILES][D / 16][2];
  int32_t limit[SPAN_TILES][2];  // positions that columns 2t, 2t + 1 see
#pragma unroll
  for (uint32_t n = 0; n < SPAN_TILES; n++) {
    const uint32_t column = own_column + n * 8 + g, used = column < num_columns ? column : num_columns - 1;
    const uint32_t row = group.row + used / heads, head = kv_head * heads + used % heads;
    load_query<D, Operand>(q[n], args.q + (uint64_t{row} * args.NH + head) * D, args.maker, row, t, false);
    for (uint32_t e = 0; e < 2; e++) limit[n][e] = static_cast<int32_t>(group.position + row_of(own_column + n * 8 + 2 * t + e)) + 1;
  }
  const int32_t first_limit = static_cast<int32_t>(group.position + row_of(own_column)) + 1;

  float o[SPAN_TILES][D / 16][4], maximum[SPAN_TILES][2], sum[SPAN_TILES][2];
#pragma unroll
  for (uint32_t n = 0; n < SPAN_TILES; n++) {
#pragma unroll
    for (uint32_t i = 0; i < D / 16; i++) o[n][i][0] = o[n][i][1] = o[n][i][2] = o[n][i][3] = 0.0f;
#pragma unroll
    for (uint32_t e = 0; e < 2; e++) {
      maximum[n][e] = -CUDART_INF_F;
      sum[n][e] = 0.0f;
    }
  }

  for (uint32_t page = 0; page < num_pages; page++) {
    copy_wait<0>();
    __syncthreads();  // the page is here for all, and all have read the other buffer
    copy_page(page + 1);
    const int32_t start = static_cast<int32_t>(page * IGNIS_PAGE_TOKENS);
    const Element *keys = reinterpret_cast<const Element *>(span_shared + page % 2 * (2 * HALF)), *values = keys + IGNIS_PAGE_TOKENS * D;
    float s[4][SPAN_TILES][4];
#pragma unroll
    for (uint32_t tile = 0; tile < 4; tile++) {
      score_tile<WholeChunks, Element, D, SPAN_TILES>(s[tile], tile, q, keys, g, t);
#pragma unroll
      for (uint32_t n = 0; n < SPAN_TILES; n++)
#pragma unroll
        for (uint32_t i = 0; i < 4; i++) s[tile][n][i] *= RAISED;
    }
    if (first_limit < start + static_cast<int32_t>(IGNIS_PAGE_TOKENS)) {
#pragma unroll
      for (uint32_t tile = 0; tile < 4; tile++)
#pragma unroll
        for (uint32_t n = 0; n < SPAN_TILES; n++)
#pragma unroll
          for (uint32_t i = 0; i < 4; i++)
            if (start + position_of<WholeChunks>(tile, i, g) >= limit[n][i % 2]) s[tile][n][i] = -CUDART_INF_F;
    }
    uint32_t weights[4][SPAN_TILES][2];
#pragma unroll
    for (uint32_t n = 0; n < SPAN_TILES; n++) {
      float factor[2];
#pragma unroll
      for (uint32_t e = 0; e < 2; e++) {
        float largest = maximum[n][e];
#pragma unroll
        for (uint32_t tile = 0; tile < 4; tile++) largest = fmaxf(largest, fmaxf(s[tile][n][e], s[tile][n][2 + e]));
#pragma unroll
        for (uint32_t i = 4; i < 32; i <<= 1) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, i));
        factor[e] = power_of_two(maximum[n][e] - largest);
        maximum[n][e] = largest;
        float page_sum = 0.0f;
#pragma unroll
        for (uint32_t tile = 0; tile < 4; tile++)
#pragma unroll
          for (uint32_t i = e; i < 4; i += 2) {
            s[tile][n][i] = power_of_two(s[tile][n][i] - largest);
            page_sum += s[tile][n][i];
          }
        sum[n][e] = fmaf(sum[n][e], factor[e], page_sum);
      }
#pragma unroll
      for (uint32_t tile = 0; tile < 4; tile++)
#pragma unroll
        for (uint32_t pair = 0; pair < 2; pair++)
          weights[tile][n][pair] = transpose(packed_pair(s[tile][n][2 * pair], s[tile][n][2 * pair + 1], Operand()));
#pragma unroll
      for (uint32_t i = 0; i < D / 16; i++)
#pragma unroll
        for (uint32_t j = 0; j < 4; j++) o[n][i][j] *= factor[j % 2];
    }
    const bool is_cut = start + static_cast<int32_t>(IGNIS_PAGE_TOKENS) > span_stop;
#pragma unroll
    for (uint32_t i = 0; i < D / 16; i++)
#pragma unroll
      for (uint32_t j = 0; j < 2; j++) {
        const uint32_t chunk = WholeChunks::chunk(2 * j, t);
        uint4 upper = chunk_of(values, 16 * i + g, chunk), lower = chunk_of(values, 16 * i + g + 8, chunk);
        if (is_cut) {
          const int32_t first = static_cast<int32_t>(8 * chunk), num_stored = span_stop - start;
          upper.x = stored_only(upper.x, first, num_stored), lower.x = stored_only(lower.x, first, num_stored);
          upper.y = stored_only(upper.y, first + 2, num_stored), lower.y = stored_only(lower.y, first + 2, num_stored);
          upper.z = stored_only(upper.z, first + 4, num_stored), lower.z = stored_only(lower.z, first + 4, num_stored);
          upper.w = stored_only(upper.w, first + 6, num_stored), lower.w = stored_only(lower.w, first + 6, num_stored);
        }
        const uint32_t a[2][4] = {{upper.x, lower.x, upper.y, lower.y}, {upper.z, lower.z, upper.w, lower.w}};
#pragma unroll
        for (uint32_t half = 0; half < 2; half++)
#pragma unroll
          for (uint32_t n = 0; n < SPAN_TILES; n++)
            multiply(o[n][i], a[half], weights[2 * j + half][n][0], weights[2 * j + half][n][1], Operand());
      }
  }

#pragma unroll
  for (uint32_t n = 0; n < SPAN_TILES; n++)
#pragma unroll
    for (uint32_t e = 0; e < 2; e++) {
      float whole = sum[n][e];
#pragma unroll
      for (uint32_t i = 4; i < 32; i <<= 1) whole += __shfl_xor_sync(~0u, whole, i);
      const uint32_t column = own_column + n * 8 + 2 * t + e;
      if (column >= num_columns) continue;
      const uint64_t row = group.row + column / heads, head = kv_head * heads + column % heads;
      float *out = args.out + (row * args.NH + head) * D;
      const float factor = RAISED / whole;
      // + 0: a page that is not seen may have made a zero of the other sign.
#pragma unroll
      for (uint32_t i = 0; i < D / 16; i++) {
        out[16 * i + g] = o[n][i][e] * factor + 0.0f;
        out[16 * i + g + 8] = o[n][i][2 + e] * factor + 0.0f;
      }
    }
}

}  // namespace ignis
