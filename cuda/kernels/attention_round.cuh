// attention_round.cuh: attention of a decode round.
//
// An item is (lane, kv head, eight query heads, group of eight pages): a block of eight warps, one page each, straight from global memory
// into operands. The pages' parts meet in shared memory and are merged in rising order by one thread for each number. A lane of several
// groups leaves its parts in the workspace; the block that comes last merges them in rising order. Items are dealt by number: how many
// there are is read on the device, so that a captured launch serves every later round.
#pragma once

#include "attention_page.cuh"

namespace ignis {

struct RoundArguments {
  float *out;
  const float *q;
  const uint8_t *pool;  // of the layer: pool + layer_offset
  uint64_t page_stride;
  const Group *groups;
  uint32_t num_rows, NH, NK, max_groups;
  uint32_t *counters;  // [rows, NH]
  float *parts;        // [rows, NH, max_groups, D + 2]: maximum, sum, O
};

template <uint32_t D>
static __global__ void __launch_bounds__(GROUP_PAGES * 32, 2) round_kernel(const RoundArguments args) {
  constexpr uint32_t STRIDE = D + 4;  // of a column's O, so that eight columns lie in different banks
  extern __shared__ __align__(16) float page_parts[];  // [page][8 columns][STRIDE]
  __shared__ float page_maximum[GROUP_PAGES][8], page_sum[GROUP_PAGES][8];
  __shared__ uint32_t is_last;
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
  const uint32_t heads = args.NH / args.NK, head_tiles = (heads + 7) / 8, columns = args.NK * head_tiles;

#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  for (uint32_t item = blockIdx.x;; item += gridDim.x) {
    uint32_t row = 0, in_row = item, num_groups = 0;
    for (; row < args.num_rows; row++) {
      num_groups = args.groups[row].position / (GROUP_PAGES * IGNIS_PAGE_TOKENS) + 1;
      if (in_row < num_groups * columns) break;
      in_row -= num_groups * columns;
    }
    if (row == args.num_rows) return;
    const Group group = args.groups[row];
    const uint32_t column = in_row / num_groups, split = in_row % num_groups;
    const uint32_t kv_head = column / head_tiles, first_head = kv_head * heads + column % head_tiles * 8;
    const uint32_t left = (kv_head + 1) * heads - first_head, num_heads = left < 8 ? left : 8;
    const uint32_t page = split * GROUP_PAGES + warp, last_page = group.position / IGNIS_PAGE_TOKENS;
    const uint32_t num_pages = last_page - split * GROUP_PAGES + 1 < GROUP_PAGES ? last_page - split * GROUP_PAGES + 1 : GROUP_PAGES;

    if (warp < num_pages) {
      const uint8_t *memory = args.pool + args.page_stride * static_cast<uint32_t>(group.page_table[page]);
      const uint8_t *keys_memory = memory + uint64_t{kv_head} * IGNIS_PAGE_TOKENS * D * 2;
      const uint8_t *values_memory = memory + uint64_t{args.NK + kv_head} * IGNIS_PAGE_TOKENS * D * 2;
      const auto keys = [&](uint32_t position, uint32_t chunk) { return *reinterpret_cast<const uint4 *>(keys_memory + position * (D * 2) + chunk * 16); };
      const auto values = [&](uint32_t dim, uint32_t chunk) { return *reinterpret_cast<const uint4 *>(values_memory + dim * 128 + chunk * 16); };
      const uint64_t q_row = (uint64_t{group.row} * args.NH + first_head) * D;
      Queries<D> q[1];
      q[0].load(g < num_heads ? args.q + q_row + g * D : nullptr, t);
      float s[1][4][4];
#pragma unroll
      for (uint32_t tile = 0; tile < 4; tile++) score_tile<D, 1>(s, tile, q, g, t, keys);
      PageWeights w[1];
      const int32_t num_seen = static_cast<int32_t>(group.position) - static_cast<int32_t>(page * IGNIS_PAGE_TOKENS) + 1;
      const int32_t seen[2] = {num_seen, num_seen};
      float *part = page_parts + (warp * 8 + 2 * t) * STRIDE;
      const auto weigh = [&]<bool IS_MASKED>() {
        page_weights<IS_MASKED>(w[0], s[0], q[0].factor, seen, g);
#pragma unroll
        for (uint32_t tile = 0; tile < D / 16; tile++) {
          float o[1][4];
          weigh_tile<1, IS_MASKED>(o, tile, w, num_seen, g, t, values);
#pragma unroll
          for (uint32_t i = 0; i < 4; i++) part[i % 2 * STRIDE + 16 * tile + g + i / 2 * 8] = o[0][i];
        }
      };
      if (num_seen < static_cast<int32_t>(IGNIS_PAGE_TOKENS))
        weigh.template operator()<true>();
      else
        weigh.template operator()<false>();
      if (g == 0)
        for (uint32_t e = 0; e < 2; e++) {
          page_maximum[warp][2 * t + e] = w[0].maximum[e];
          page_sum[warp][2 * t + e] = w[0].sum[e];
        }
    }
    __syncthreads();

    for (uint32_t i = threadIdx.x; i < num_heads * D; i += blockDim.x) {
      const uint32_t head = i / D, dim = i % D;
      float maximum = -CUDART_INF_F, sum = 0.0f, o = 0.0f;
      for (uint32_t p = 0; p < num_pages; p++) {
        const MergeFactors factors(maximum, page_maximum[p][head]);
        maximum = factors.maximum;
        sum = merged(sum, page_sum[p][head], factors);
        o = merged(o, page_parts[(p * 8 + head) * STRIDE + dim], factors);
      }
      if (num_groups == 1) {
        args.out[(uint64_t{group.row} * args.NH + first_head + head) * D + dim] = o * (1.0f / sum);
      } else {
        float *part = args.parts + ((uint64_t{row} * args.NH + first_head + head) * args.max_groups + split) * (D + 2);
        if (dim == 0) {
          part[0] = maximum;
          part[1] = sum;
        }
        part[2 + dim] = o;
      }
    }
    if (num_groups > 1) {
      __syncthreads();
      uint32_t *counter = args.counters + uint64_t{row} * args.NH + first_head;
      if (threadIdx.x == 0) {
        __threadfence();  // of the whole block's stores: the barrier orders them before
        is_last = atomicAdd(counter, 1u) + 1 == num_groups;
        if (is_last) *counter = 0;
        __threadfence();
      }
      __syncthreads();
      if (is_last) {
        for (uint32_t i = threadIdx.x; i < num_heads * D; i += blockDim.x) {
          const uint32_t head = i / D, dim = i % D;
          const float *part = args.parts + (uint64_t{row} * args.NH + first_head + head) * args.max_groups * (D + 2);
          float maximum = -CUDART_INF_F, sum = 0.0f, o = 0.0f;
#pragma unroll 4
          for (uint32_t p = 0; p < num_groups; p++, part += D + 2) {
            const MergeFactors factors(maximum, __ldcg(part));
            maximum = factors.maximum;
            sum = merged(sum, __ldcg(part + 1), factors);
            o = merged(o, __ldcg(part + 2 + dim), factors);
          }
          args.out[(uint64_t{group.row} * args.NH + first_head + head) * D + dim] = o * (1.0f / sum);
        }
      }
    }
    __syncthreads();  // the next item writes the shared parts
  }
}

}  // namespace ignis
