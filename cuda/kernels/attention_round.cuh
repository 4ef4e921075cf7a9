// attention_round.cuh: attention of a decode round, with what comes before it: the row's own K and V go into their page here.
//
// An item is (lane, kv head, up to eight of its query heads, split): a run of pages whose length follows from the lane's own position
// alone. A block is thirteen warps with one task each, so that the pages of the next item come while this one is computed and merged:
//
//   warps 0..3   scores, weights and output of the sixteen positions of every page that are M tile number warp, with an online softmax
//   warps 4..7   merge the four outputs of a query head into the item's part
//   warps 8..11  make the queries of every fourth item; with the last page, its new K and V, for the page in memory and for the copy in
//                the ring
//   warp 12      brings pages through a ring in shared memory
//
// Items are dealt by number: how many there are is read on the device, so that a captured launch serves every later round. The parts of a
// query head are merged, in rising order, by the next launch: a fence between blocks costs 2 to 6 us while pages stream.
#pragma once

#include "attention_page.cuh"
#include "barrier.cuh"
#include "head_turn.cuh"
#include "launch.cuh"
#include "pipeline.cuh"

namespace ignis {

inline constexpr uint32_t MAX_SPLITS = 16, ROUND_THREADS = 13 * 32, MAX_SLOTS = 16, MAKERS = 4;

struct RoundArguments : AttentionArguments {
  const float *k, *v;   // [rows, NK, D], as the linear layer left them
  const float *k_norm;  // [D], or null
  uint8_t *store;       // the same as pool
  uint32_t num_rows, num_slots;
  float *parts;  // [rows, NH, MAX_SPLITS, D + 4]: O, maximum, sum
};

// At most MAX_SPLITS runs of pages, at least two pages each.
static __device__ __forceinline__ uint32_t split_pages(uint32_t num_pages) {
  const uint32_t pages = (num_pages + MAX_SPLITS - 1) / MAX_SPLITS;
  return pages < 2 ? 2 : pages;
}

static __device__ __forceinline__ uint32_t num_splits_of(uint32_t num_pages) { return (num_pages + split_pages(num_pages) - 1) / split_pages(num_pages); }

// Bytes of a block's shared memory behind the ring.
struct RoundShared {
  uint32_t merge_stride, merge_bytes;  // of one of the two: [4 warps][columns][D + 4], then maxima and sums [4][8] each
  uint32_t queries, news, merges, barriers, size_bytes;
  __host__ __device__ RoundShared(uint32_t D, uint32_t columns, uint32_t element_bytes) {
    merge_stride = columns * (D + 4) * 4;
    merge_bytes = 4 * merge_stride + 2 * 4 * 8 * 4;
    queries = 0;
    news = queries + MAKERS * 8 * D * 2;
    merges = news + MAKERS * 2 * D * element_bytes;
    barriers = merges + 2 * merge_bytes;
    size_bytes = barriers + (2 * MAX_SLOTS + 2 * MAKERS + 4) * 8;
  }
};

struct RoundItem {
  uint32_t row, kv_head, first_head, num_heads, split, num_splits, first_page, stop_page;
  bool is_last;  // has the page of the row's own position
};

template <class Element, uint32_t D>
static __global__ void __launch_bounds__(ROUND_THREADS, 1) round_kernel(const __grid_constant__ RoundArguments args) {
  using Operand = typename OperandOf<Element>::type;
  constexpr uint32_t HALF = IGNIS_PAGE_TOKENS * D * sizeof(Element), NUM = D / 16, PART = D + 4;
  extern __shared__ __align__(1024) uint8_t round_shared[];
  __shared__ Group groups[IGNIS_MAX_LANES];
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
  const uint32_t heads = args.NH / args.NK, head_tiles = (heads + 7) / 8, tile_heads = heads < 8 ? heads : 8;
  const RoundShared layout(D, tile_heads, sizeof(Element));
  uint8_t *const ring = round_shared, *const behind = ring + args.num_slots * (2 * HALF);
  uint64_t *const full = reinterpret_cast<uint64_t *>(behind + layout.barriers), *const empty = full + MAX_SLOTS;
  uint64_t *const queries_full = empty + MAX_SLOTS, *const queries_empty = queries_full + MAKERS;
  uint64_t *const merge_full = queries_empty + MAKERS, *const merge_empty = merge_full + 2;

  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < args.num_slots; i++) {
#if __CUDA_ARCH__ >= 900
      barrier_init(full + i, 1);
#else
      barrier_init(full + i, 32);
#endif
      barrier_init(empty + i, 4);
    }
    for (uint32_t i = 0; i < MAKERS; i++) {
      barrier_init(queries_full + i, 1);
      barrier_init(queries_empty + i, 4);
    }
    for (uint32_t i = 0; i < 2; i++) {
      barrier_init(merge_full + i, 4);
      barrier_init(merge_empty + i, 4);
    }
#if __CUDA_ARCH__ >= 900
    barriers_made();
#endif
  }
  begin();
  if (threadIdx.x < args.num_rows) groups[threadIdx.x] = args.groups[threadIdx.x];
  __syncthreads();

  const uint32_t heads_all = args.NK * head_tiles;
  // False behind the last item.
  const auto item_of = [&](uint32_t index, RoundItem &item) {
    for (item.row = 0; item.row < args.num_rows; item.row++) {
      const uint32_t num_pages = groups[item.row].position / IGNIS_PAGE_TOKENS + 1, pages = split_pages(num_pages);
      item.num_splits = (num_pages + pages - 1) / pages;
      if (index < item.num_splits * heads_all) {
        const uint32_t column = index / item.num_splits;
        item.split = index % item.num_splits;
        item.kv_head = column / head_tiles;
        item.first_head = item.kv_head * heads + column % head_tiles * 8;
        const uint32_t left = (item.kv_head + 1) * heads - item.first_head;
        item.num_heads = left < 8 ? left : 8;
        item.first_page = item.split * pages;
        item.stop_page = item.first_page + pages < num_pages ? item.first_page + pages : num_pages;
        item.is_last = item.stop_page == num_pages;
        return true;
      }
      index -= item.num_splits * heads_all;
    }
    return false;
  };
  RoundItem item;

  if (warp == 12) {
    uint32_t slot = 0, parity = 1;
    const auto ids_from = [&](const RoundItem &of, uint32_t page) {
      return page + lane < of.stop_page ? static_cast<uint32_t>(groups[of.row].page_table[page + lane]) : 0u;
    };
    bool is_there = item_of(blockIdx.x, item);
    uint32_t ids = is_there ? ids_from(item, item.first_page) : 0;
    for (uint32_t index = blockIdx.x; is_there; index += gridDim.x) {
      RoundItem next = item;
      const bool is_next = item_of(index + gridDim.x, next);
      const uint32_t next_ids = is_next ? ids_from(next, next.first_page) : 0;
      for (uint32_t page = item.first_page; page < item.stop_page; page++) {
        const uint32_t at = (page - item.first_page) % 32;
        if (at == 0 && page > item.first_page) ids = ids_from(item, page);
        const uint8_t *keys = args.pool + args.page_stride * __shfl_sync(~0u, ids, at) + item.kv_head * HALF;
        const uint8_t *values = keys + uint64_t{args.NK} * HALF;
        uint8_t *target = ring + slot * (2 * HALF);
        barrier_wait(empty + slot, parity);
#if __CUDA_ARCH__ >= 900
        if (lane == 0) {
          barrier_expect(full + slot, 2 * HALF);
          bulk_copy(target, keys, HALF, full + slot);
          bulk_copy(target + HALF, values, HALF, full + slot);
        }
        __syncwarp();
#else
        for (uint32_t i = lane; i < HALF / 16; i += 32) {
          copy_async(target + i * 16, keys + i * 16);
          copy_async(target + HALF + i * 16, values + i * 16);
        }
        asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(full + slot)) : "memory");
#endif
        if (++slot == args.num_slots) slot = 0, parity ^= 1;
      }
      item = next;
      ids = next_ids;
      is_there = is_next;
    }
    return;
  }

  if (warp >= 8) {
    const uint32_t buffer = warp - 8;
    uint32_t parity = 1;
    for (uint32_t index = blockIdx.x + buffer * gridDim.x; item_of(index, item); index += MAKERS * gridDim.x, parity ^= 1) {
      const uint32_t row = groups[item.row].row;
      const bool is_absent = g >= item.num_heads;
      uint32_t b[NUM][2];
      load_query<D, Operand>(b, args.q + (uint64_t{row} * args.NH + item.first_head + (is_absent ? 0 : g)) * D, args.maker, row, t, is_absent);
      barrier_wait(queries_empty + buffer, parity);
      uint4 *queries = reinterpret_cast<uint4 *>(behind + layout.queries) + buffer * (D / 32 * 32);
#pragma unroll
      for (uint32_t j = 0; j < D / 32; j++) queries[j * 32 + lane] = make_uint4(b[2 * j][0], b[2 * j][1], b[2 * j + 1][0], b[2 * j + 1][1]);
      if (item.is_last) {
        const uint32_t position = groups[item.row].position, place = position % IGNIS_PAGE_TOKENS;
        Element *stored = reinterpret_cast<Element *>(args.store + args.page_stride * static_cast<uint32_t>(groups[item.row].page_table[item.stop_page - 1]));
        Element *news = reinterpret_cast<Element *>(behind + layout.news) + buffer * (2 * D);
        const uint64_t at = (uint64_t{row} * args.NK + item.kv_head) * D;
        turn_head(args.k + at, args.k_norm, args.maker.eps, D, args.maker.pairs, args.maker.angles + uint64_t{row} * 2 * D,
                  [&](uint32_t dim, float value) {
                    put(news + dim, value);
                    stored[key_at(item.kv_head, place, dim, D)] = news[dim];
                  });
        for (uint32_t dim = lane; dim < D; dim += 32) {
          put(news + D + dim, args.v[at + dim]);
          stored[value_at(item.kv_head, place, dim, D, args.NK)] = news[D + dim];
        }
      }
      __syncwarp();
      if (lane == 0) barrier_arrive(queries_full + buffer);
    }
    return;
  }

  if (warp < 4) {
    const uint32_t tile = warp;
    uint32_t count = 0, slot = 0, parity = 0;
    for (uint32_t index = blockIdx.x; item_of(index, item); index += gridDim.x, count++) {
      const uint32_t maker = count % MAKERS, buffer = count % 2;
      uint32_t q[1][NUM][2];
      barrier_wait(queries_full + maker, count / MAKERS % 2);
      const uint4 *queries = reinterpret_cast<const uint4 *>(behind + layout.queries) + maker * (D / 32 * 32);
#pragma unroll
      for (uint32_t j = 0; j < D / 32; j++) {
        const uint4 own = queries[j * 32 + lane];
        q[0][2 * j][0] = own.x, q[0][2 * j][1] = own.y, q[0][2 * j + 1][0] = own.z, q[0][2 * j + 1][1] = own.w;
      }
      float o[NUM][4], maximum[2] = {-CUDART_INF_F, -CUDART_INF_F}, sum[2] = {0.0f, 0.0f};
#pragma unroll
      for (uint32_t i = 0; i < NUM; i++) o[i][0] = o[i][1] = o[i][2] = o[i][3] = 0.0f;

      for (uint32_t page = item.first_page; page < item.stop_page; page++) {
        const bool is_own = item.is_last && page + 1 == item.stop_page;
        Element *keys = reinterpret_cast<Element *>(ring + slot * (2 * HALF)), *values = keys + IGNIS_PAGE_TOKENS * D;
        const int32_t num_seen = static_cast<int32_t>(groups[item.row].position - page * IGNIS_PAGE_TOKENS) + 1;
        barrier_wait(full + slot, parity);
        if (is_own) {
          const Element *news = reinterpret_cast<const Element *>(behind + layout.news) + maker * (2 * D);
          const uint32_t dim = threadIdx.x, place = static_cast<uint32_t>(num_seen - 1);
          if (dim < D) {
            keys[key_at(0, place, dim, D)] = news[dim];
            values[chunk_at(dim, place / 8) + place % 8] = news[D + dim];
          }
#if __CUDA_ARCH__ >= 900
          shared_written();  // before the next page is copied over it
#endif
          warps_meet(1, 128);
        }
        float s[1][4];
        score_tile<Element, D, 1>(s, tile, q, keys, g, t);
        if (is_own) {
#pragma unroll
          for (uint32_t i = 0; i < 4; i++)
            if (position_of(tile, i, g) >= num_seen) s[0][i] = -CUDART_INF_F;
        }
        float factor[2];
#pragma unroll
        for (uint32_t e = 0; e < 2; e++) {
          float largest = fmaxf(maximum[e], fmaxf(s[0][e], s[0][2 + e]));
#pragma unroll
          for (uint32_t i = 4; i < 32; i <<= 1) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, i));
          const float used = largest == -CUDART_INF_F ? 0.0f : largest;  // a tile that sees nothing yet
          factor[e] = power_of_two(maximum[e] - used);
          maximum[e] = largest;
          s[0][e] = power_of_two(s[0][e] - used);
          s[0][2 + e] = power_of_two(s[0][2 + e] - used);
          sum[e] = fmaf(sum[e], factor[e], s[0][e] + s[0][2 + e]);
        }
        const uint32_t weights[2] = {transpose(packed_pair(s[0][0], s[0][1], Operand())), transpose(packed_pair(s[0][2], s[0][3], Operand()))};
        if (__any_sync(~0u, factor[0] != 1.0f || factor[1] != 1.0f)) {
#pragma unroll
          for (uint32_t i = 0; i < NUM; i++)
#pragma unroll
            for (uint32_t j = 0; j < 4; j++) o[i][j] *= factor[j % 2];
        }
#pragma unroll
        for (uint32_t i = 0; i < NUM; i++) {
          uint2 upper = half_chunk_of(values, 16 * i + g, 4 * (tile / 2) + t, tile % 2);
          uint2 lower = half_chunk_of(values, 16 * i + g + 8, 4 * (tile / 2) + t, tile % 2);
          if (is_own) {
            const int32_t first = static_cast<int32_t>(32 * (tile / 2) + 8 * t + 4 * (tile % 2));
            upper.x = stored_only(upper.x, first, num_seen), lower.x = stored_only(lower.x, first, num_seen);
            upper.y = stored_only(upper.y, first + 2, num_seen), lower.y = stored_only(lower.y, first + 2, num_seen);
          }
          const uint32_t a[4] = {upper.x, lower.x, upper.y, lower.y};
          multiply(o[i], a, weights[0], weights[1], Operand());
        }
        __syncwarp();
        if (lane == 0) barrier_arrive(empty + slot);
        if (++slot == args.num_slots) slot = 0, parity ^= 1;
      }
      if (lane == 0) barrier_arrive(queries_empty + maker);

      if (count >= 2) barrier_wait(merge_empty + buffer, (count / 2 - 1) % 2);
      uint8_t *merge = behind + layout.merges + buffer * layout.merge_bytes;
      float *outputs = reinterpret_cast<float *>(merge + tile * layout.merge_stride);
      float *maxima = reinterpret_cast<float *>(merge + 4 * layout.merge_stride) + tile * 8, *sums = maxima + 4 * 8;
#pragma unroll
      for (uint32_t e = 0; e < 2; e++) {
        const uint32_t column = 2 * t + e;
#pragma unroll
        for (uint32_t i = 4; i < 32; i <<= 1) sum[e] += __shfl_xor_sync(~0u, sum[e], i);
        if (column < item.num_heads) {
#pragma unroll
          for (uint32_t i = 0; i < NUM; i++) {
            outputs[column * PART + 16 * i + g] = o[i][e];
            outputs[column * PART + 16 * i + g + 8] = o[i][2 + e];
          }
          if (g == 0) {
            maxima[column] = maximum[e];
            sums[column] = sum[e];
          }
        }
      }
      __syncwarp();
      if (lane == 0) barrier_arrive(merge_full + buffer);
    }
    return;
  }

  constexpr uint32_t DIMS = D / 32;  // of a lane
  struct alignas(4 * DIMS) Numbers {
    float of[DIMS];
  };
  uint32_t count = 0;
  for (uint32_t index = blockIdx.x; item_of(index, item); index += gridDim.x, count++) {
    const uint32_t buffer = count % 2;
    const uint8_t *merge = behind + layout.merges + buffer * layout.merge_bytes;
    const float *maxima = reinterpret_cast<const float *>(merge + 4 * layout.merge_stride), *sums = maxima + 4 * 8;
    barrier_wait(merge_full + buffer, count / 2 % 2);
    for (uint32_t own = warp - 4; own < 8; own += 4) {
      Numbers o{};
      float maximum = -CUDART_INF_F, sum = 0.0f;
      if (own < item.num_heads) {
#pragma unroll
        for (uint32_t i = 0; i < 4; i++) maximum = fmaxf(maximum, maxima[i * 8 + own]);
#pragma unroll
        for (uint32_t i = 0; i < 4; i++) {
          const float factor = power_of_two(maxima[i * 8 + own] - maximum);
          const Numbers part = *reinterpret_cast<const Numbers *>(merge + i * layout.merge_stride + (own * PART + lane * DIMS) * 4);
          sum = fmaf(sums[i * 8 + own], factor, sum);
#pragma unroll
          for (uint32_t j = 0; j < DIMS; j++) o.of[j] = fmaf(part.of[j], factor, o.of[j]);
        }
      }
      if (own >= 4) {  // both heads of the warp are read
        __syncwarp();
        if (lane == 0) barrier_arrive(merge_empty + buffer);
      }
      if (own >= item.num_heads) continue;
      float *part = args.parts + ((uint64_t{item.row} * args.NH + item.first_head + own) * MAX_SPLITS + item.split) * PART;
      *reinterpret_cast<Numbers *>(part + lane * DIMS) = o;
      if (lane == 0) *reinterpret_cast<float2 *>(part + D) = make_float2(maximum, sum);
    }
  }
}

// A warp has one query head of one row.
template <uint32_t D>
static __global__ void __launch_bounds__(128) merge_kernel(float *out, const float *parts, const Group *groups, uint32_t num_rows, uint32_t NH) {
  constexpr uint32_t DIMS = D / 32, PART = D + 4;
  struct alignas(4 * DIMS) Numbers {
    float of[DIMS];
  };
  const uint32_t lane = threadIdx.x % 32, index = blockIdx.x * 4 + threadIdx.x / 32, row = index / NH;
  begin();
  if (row >= num_rows) return;
  const Group group = groups[row];
  const uint32_t splits = num_splits_of(group.position / IGNIS_PAGE_TOKENS + 1);
  const float *own = parts + uint64_t{index} * (MAX_SPLITS * PART);
  const float2 its = lane < splits ? *reinterpret_cast<const float2 *>(own + lane * PART + D) : make_float2(-CUDART_INF_F, 0.0f);
  Numbers each[MAX_SPLITS];
#pragma unroll
  for (uint32_t i = 0; i < MAX_SPLITS; i++)
    if (i < splits) each[i] = *reinterpret_cast<const Numbers *>(own + i * PART + lane * DIMS);
  float maximum = its.x;
#pragma unroll
  for (uint32_t i = 1; i < 32; i <<= 1) maximum = fmaxf(maximum, __shfl_xor_sync(~0u, maximum, i));
  const float its_factor = power_of_two(its.x - maximum);
  float sum = 0.0f;
  Numbers o{};
#pragma unroll
  for (uint32_t i = 0; i < MAX_SPLITS; i++) {
    const float factor = __shfl_sync(~0u, its_factor, i), added = __shfl_sync(~0u, its.y, i);
    if (i >= splits) continue;
    sum = fmaf(added, factor, sum);
#pragma unroll
    for (uint32_t j = 0; j < DIMS; j++) o.of[j] = fmaf(each[i].of[j], factor, o.of[j]);
  }
  const float factor = 1.0f / sum;
#pragma unroll
  for (uint32_t j = 0; j < DIMS; j++) o.of[j] *= factor;
  *reinterpret_cast<Numbers *>(out + (uint64_t{group.row} * NH + index % NH) * D + lane * DIMS) = o;
}

}  // namespace ignis
