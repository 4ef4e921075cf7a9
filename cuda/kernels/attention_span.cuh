// attention_span.cuh: attention of a prefill span.
//
// A block is four warps and owns 64 columns of a kv head (row times query head of the group), 16 a warp; pages come through two buffers in
// shared memory that the warps share. Chunks of 16 bytes of odd rows are turned by 64 bytes, so that eight lanes read eight different
// sixteenths of the banks. A warp keeps the group's part in registers and, touched once in eight pages, the whole one in shared memory.
#pragma once

#include "attention_page.cuh"
#include "pipeline.cuh"

namespace ignis {

inline constexpr uint32_t SPAN_WARPS = 4, SPAN_TILES = 2, SPAN_COLUMNS = SPAN_WARPS * SPAN_TILES * 8;

struct SpanArguments {
  float *out;
  const float *q;
  const uint8_t *pool;
  uint64_t page_stride;
  const Group *group;
  uint32_t T, NH, NK;
};

template <uint32_t D>
constexpr uint32_t span_shared_bytes() {
  return 2 * 2 * IGNIS_PAGE_TOKENS * D * 2 + SPAN_COLUMNS * D * 4;
}

template <uint32_t D>
static __global__ void __launch_bounds__(SPAN_WARPS * 32, 2) span_kernel(const SpanArguments args) {
  constexpr uint32_t HALF = IGNIS_PAGE_TOKENS * D * 2;  // bytes of K, of V
  extern __shared__ __align__(16) uint8_t span_shared[];
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
  const uint32_t heads = args.NH / args.NK, kv_head = blockIdx.y, num_columns = args.T * heads;
  // The last rows see the most pages: they begin.
  const uint32_t first_column = (gridDim.x - 1 - blockIdx.x) * SPAN_COLUMNS;
  const Group group = *args.group;
  const auto row_of = [&](uint32_t column) { return (column < num_columns ? column : num_columns - 1) / heads; };
  const uint32_t last_position = group.position + row_of(first_column + SPAN_COLUMNS - 1), num_pages = last_position / IGNIS_PAGE_TOKENS + 1;
  const int32_t span_stop = static_cast<int32_t>(group.position + args.T);

  const auto copy_page = [&](uint32_t page) {
    if (page < num_pages) {
      const uint8_t *memory = args.pool + args.page_stride * static_cast<uint32_t>(group.page_table[page]);
      const uint8_t *keys = memory + uint64_t{kv_head} * HALF, *values = memory + uint64_t{args.NK + kv_head} * HALF;
      uint8_t *target = span_shared + page % 2 * (2 * HALF);
#pragma unroll
      for (uint32_t i = threadIdx.x; i < HALF / 16; i += SPAN_WARPS * 32) {
        const uint32_t row = i / (D / 8), chunk = i % (D / 8);
        copy_async(target + row * (D * 2) + ((chunk ^ (row % 2 * 4)) * 16), keys + i * 16);
        const uint32_t dim = i / 8, part = i % 8;
        copy_async(target + HALF + dim * 128 + ((part ^ (dim % 2 * 4)) * 16), values + i * 16);
      }
    }
    copy_commit();
  };
  copy_page(0);

  const uint32_t own_column = first_column + warp * (SPAN_TILES * 8), own_last = group.position + row_of(own_column + SPAN_TILES * 8 - 1);
  Queries<D> q[SPAN_TILES];
  int32_t limit[SPAN_TILES][2];  // positions that columns 2t, 2t + 1 see
#pragma unroll
  for (uint32_t n = 0; n < SPAN_TILES; n++) {
    const uint32_t column = own_column + n * 8 + g;
    const uint64_t row = group.row + column / heads, head = kv_head * heads + column % heads;
    q[n].load(column < num_columns ? args.q + (row * args.NH + head) * D : nullptr, t);
    for (uint32_t e = 0; e < 2; e++) limit[n][e] = static_cast<int32_t>(group.position + row_of(own_column + n * 8 + 2 * t + e)) + 1;
  }
  const int32_t first_limit = static_cast<int32_t>(group.position + row_of(own_column)) + 1;

  // [tile of columns][tile of dims][lane]: only this lane reads what it wrote.
  float4 *whole = reinterpret_cast<float4 *>(span_shared + 4 * HALF) + warp * (SPAN_TILES * D / 16 * 32) + lane;
  float part[SPAN_TILES][D / 16][4], part_maximum[SPAN_TILES][2], part_sum[SPAN_TILES][2], maximum[SPAN_TILES][2], sum[SPAN_TILES][2];
  const auto clear_part = [&] {
#pragma unroll
    for (uint32_t n = 0; n < SPAN_TILES; n++) {
#pragma unroll
      for (uint32_t i = 0; i < D / 16; i++) part[n][i][0] = part[n][i][1] = part[n][i][2] = part[n][i][3] = 0.0f;
#pragma unroll
      for (uint32_t e = 0; e < 2; e++) {
        part_maximum[n][e] = -CUDART_INF_F;
        part_sum[n][e] = 0.0f;
      }
    }
  };
  clear_part();
#pragma unroll
  for (uint32_t n = 0; n < SPAN_TILES; n++) {
#pragma unroll
    for (uint32_t i = 0; i < D / 16; i++) whole[(n * (D / 16) + i) * 32] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
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
    const uint32_t start = page * IGNIS_PAGE_TOKENS;
    if (own_column < num_columns && start <= own_last) {
      const uint8_t *here = span_shared + page % 2 * (2 * HALF);
      const auto keys = [&](uint32_t row, uint32_t chunk) { return *reinterpret_cast<const uint4 *>(here + row * (D * 2) + ((chunk ^ (row % 2 * 4)) * 16)); };
      const auto values = [&](uint32_t dim, uint32_t chunk) {
        return *reinterpret_cast<const uint4 *>(here + HALF + dim * 128 + ((chunk ^ (dim % 2 * 4)) * 16));
      };
      float s[SPAN_TILES][4][4];
#pragma unroll
      for (uint32_t tile = 0; tile < 4; tile++) score_tile<D, SPAN_TILES>(s, tile, q, g, t, keys);
      PageWeights w[SPAN_TILES];
      const auto weigh = [&]<bool IS_MASKED>() {
        float old_factor[SPAN_TILES][2], new_factor[SPAN_TILES][2];
#pragma unroll
        for (uint32_t n = 0; n < SPAN_TILES; n++) {
          const int32_t seen[2] = {limit[n][0] - static_cast<int32_t>(start), limit[n][1] - static_cast<int32_t>(start)};
          page_weights<IS_MASKED>(w[n], s[n], q[n].factor, seen, g);
#pragma unroll
          for (uint32_t e = 0; e < 2; e++) {
            const MergeFactors factors(part_maximum[n][e], w[n].maximum[e]);
            part_maximum[n][e] = factors.maximum;
            old_factor[n][e] = factors.old_factor;
            new_factor[n][e] = factors.new_factor;
            if (!IS_MASKED || seen[e] > 0) part_sum[n][e] = fmaf(w[n].sum[e], new_factor[n][e], part_sum[n][e] * old_factor[n][e]);
          }
        }
#pragma unroll
        for (uint32_t tile = 0; tile < D / 16; tile++) {
          float o[SPAN_TILES][4];
          weigh_tile<SPAN_TILES, IS_MASKED>(o, tile, w, span_stop - static_cast<int32_t>(start), g, t, values);
#pragma unroll
          for (uint32_t n = 0; n < SPAN_TILES; n++)
#pragma unroll
            for (uint32_t i = 0; i < 4; i++)
              if (!IS_MASKED || limit[n][i % 2] > static_cast<int32_t>(start))
                part[n][tile][i] = fmaf(o[n][i], new_factor[n][i % 2], part[n][tile][i] * old_factor[n][i % 2]);
        }
      };
      if (first_limit < static_cast<int32_t>(start + IGNIS_PAGE_TOKENS))
        weigh.template operator()<true>();
      else
        weigh.template operator()<false>();
    }
    if (page % GROUP_PAGES == GROUP_PAGES - 1 || page + 1 == num_pages) {
#pragma unroll
      for (uint32_t n = 0; n < SPAN_TILES; n++) {
        float old_factor[2], new_factor[2];
        bool sees[2];
#pragma unroll
        for (uint32_t e = 0; e < 2; e++) {
          const MergeFactors factors(maximum[n][e], part_maximum[n][e]);
          sees[e] = part_maximum[n][e] != -CUDART_INF_F;
          maximum[n][e] = factors.maximum;
          old_factor[e] = factors.old_factor;
          new_factor[e] = factors.new_factor;
          if (sees[e]) sum[n][e] = fmaf(part_sum[n][e], new_factor[e], sum[n][e] * old_factor[e]);
        }
#pragma unroll
        for (uint32_t i = 0; i < D / 16; i++) {
          float4 *at = whole + (n * (D / 16) + i) * 32;
          float4 o = *at;
          if (sees[0]) o.x = fmaf(part[n][i][0], new_factor[0], o.x * old_factor[0]), o.z = fmaf(part[n][i][2], new_factor[0], o.z * old_factor[0]);
          if (sees[1]) o.y = fmaf(part[n][i][1], new_factor[1], o.y * old_factor[1]), o.w = fmaf(part[n][i][3], new_factor[1], o.w * old_factor[1]);
          *at = o;
        }
      }
      clear_part();
    }
  }

#pragma unroll
  for (uint32_t n = 0; n < SPAN_TILES; n++)
#pragma unroll
    for (uint32_t e = 0; e < 2; e++) {
      const uint32_t column = own_column + n * 8 + 2 * t + e;
      if (column >= num_columns) continue;
      const uint64_t row = group.row + column / heads, head = kv_head * heads + column % heads;
      float *out = args.out + (row * args.NH + head) * D;
      const float factor = 1.0f / sum[n][e];
#pragma unroll
      for (uint32_t i = 0; i < D / 16; i++) {
        const float4 o = whole[(n * (D / 16) + i) * 32];
        out[16 * i + g] = (e ? o.y : o.x) * factor;
        out[16 * i + g + 8] = (e ? o.w : o.z) * factor;
      }
    }
}

}  // namespace ignis
