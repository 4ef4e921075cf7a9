// attention_round.cuh: attention of a decode round, with what comes before it: the row's own K and V go into their page here.
//
// An item is (lane, kv head, up to eight of its query heads, split): a run of pages whose length follows from the lane's own position
// alone. A block is sixteen warps with one task each, so that the pages of the next item come while this one is computed and merged:
//
//   warps 0..7    scores, weights and output of the sixteen positions of a page that are M tile number warp % 4, with an online softmax;
//                 the first four of every other page of the item, the last four of those between
//   warps 8..11   merge the eight outputs of a query head into the item's part
//   warps 12, 13  make the queries of every other item
//   warp 14       makes the new K and V, for the page in memory and for the copy in the ring
//   warp 15       brings pages through a ring in shared memory
//
// Items are dealt by number: how many there are is read on the device, so that a captured launch serves every later round. The parts of a
// query head are merged, in rising order, by the next launch: a fence between blocks costs 2 to 6 us while pages stream.
#pragma once

#include "attention_items.cuh"
#include "barrier.cuh"
#include "head_turn.cuh"
#include "launch.cuh"
#include "pipeline.cuh"

namespace ignis {

// 112 registers: what the multiprocessor has left is a block of merge_kernel's.
template <class Element, uint32_t D>
static __global__ void __maxnreg__(112) round_kernel(const __grid_constant__ RoundArguments args) {
  using Operand = typename OperandOf<Element>::type;
  constexpr uint32_t HALF = IGNIS_PAGE_TOKENS * D * sizeof(Element), NUM = D / 16, PART = D + 4;
  constexpr float RAISED = sizeof(Element) == 1 ? LOWERED : 1.0f;  // what widening left out
  extern __shared__ __align__(1024) uint8_t round_shared[];
  __shared__ RoundRow rows[IGNIS_MAX_LANES];
  constexpr uint32_t NUM_FOUND = 32;
  __shared__ RoundItem found[NUM_FOUND];
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
  const uint32_t heads = args.NH / args.NK, head_tiles = (heads + 7) / 8, tile_heads = heads < 8 ? heads : 8;
  const RoundShared layout(D, tile_heads, sizeof(Element));
  uint8_t *const ring = round_shared, *const behind = ring + args.num_slots * (2 * HALF);
  uint64_t *const full = reinterpret_cast<uint64_t *>(behind + layout.barriers), *const empty = full + MAX_SLOTS;
  uint64_t *const queries_full = empty + MAX_SLOTS, *const queries_empty = queries_full + 2;
  uint64_t *const news_full = queries_empty + 2, *const news_empty = news_full + 2;
  uint64_t *const merge_full = news_empty + 2, *const merge_empty = merge_full + 1;

  if (threadIdx.x == 32) {
    for (uint32_t i = 0; i < args.num_slots; i++) {
#if __CUDA_ARCH__ >= 900
      barrier_init(full + i, 1);
#else
      barrier_init(full + i, 32);
#endif
      barrier_init(empty + i, 8 * WARP_ARRIVALS);
    }
    for (uint32_t i = 0; i < 2; i++) {
      barrier_init(queries_full + i, WARP_ARRIVALS);
      barrier_init(queries_empty + i, 8 * WARP_ARRIVALS);
      barrier_init(news_full + i, WARP_ARRIVALS);
      barrier_init(news_empty + i, 4 * WARP_ARRIVALS);
    }
    barrier_init(merge_full, 8 * WARP_ARRIVALS);
    barrier_init(merge_empty, 4 * WARP_ARRIVALS);
#if __CUDA_ARCH__ >= 900
    barriers_made();
#endif
  }
  // The block's item of this index in the launch; without heads behind the last one.
  const auto item_at = [&](uint32_t index) {
    RoundItem item{};
    for (item.row = 0; item.row < args.num_rows; item.row++) {
      const RoundRow &row = rows[item.row];
      if (index >= row.stop_item) continue;
      const uint32_t in_row = index - row.first_item, column = in_row / row.num_splits;
      item.split = in_row % row.num_splits;
      item.kv_head = column / head_tiles;
      item.first_head = item.kv_head * heads + column % head_tiles * 8;
      const uint32_t left = (item.kv_head + 1) * heads - item.first_head;
      item.num_heads = left < 8 ? left : 8;
      item.first_page = item.split * row.pages;
      item.stop_page = item.first_page + row.pages < row.num_pages ? item.first_page + row.pages : row.num_pages;
      item.is_last = item.stop_page == row.num_pages;
      break;
    }
    return item;
  };
  // The step's inputs lie there since before its first kernel: they are read while the kernel before ends.
  if (warp == 0) {
    Group group{};
    uint32_t num_splits = 0;
    if (lane < args.num_rows) {
      group = args.groups[lane];
      num_splits = num_splits_of(group.position);
    }
    const uint32_t own_items = num_splits * args.NK * head_tiles;
    uint32_t stop_item = own_items;
#pragma unroll
    for (uint32_t i = 1; i < IGNIS_MAX_LANES; i <<= 1) {
      const uint32_t before = __shfl_up_sync(~0u, stop_item, i);
      if (lane >= i) stop_item += before;
    }
    const uint32_t num_pages = group.position / IGNIS_PAGE_TOKENS + 1;
    if (lane < args.num_rows)
      rows[lane] = RoundRow{group.page_table, group.row,  group.position,        num_pages, split_pages(num_pages),
                            num_splits,       stop_item - own_items, stop_item};
    __syncwarp();
    // The block's first items at once, one by each lane: one by one they cost half a microsecond each.
    found[lane] = item_at(blockIdx.x + lane * gridDim.x);
  }
  __syncthreads();

  // False behind the last item. All lanes call.
  const auto item_of = [&](uint32_t number, RoundItem &item) {
    item = number < NUM_FOUND ? found[number] : item_at(blockIdx.x + number * gridDim.x);
    return item.num_heads > 0;
  };
  RoundItem item;

  if (warp == 15) {
    const auto ids_from = [&](const RoundItem &of, uint32_t page) {
      return page + lane < of.stop_page ? static_cast<uint32_t>(rows[of.row].page_table[page + lane]) : 0u;
    };
    bool is_there = item_of(0, item);
    uint32_t ids = is_there ? ids_from(item, item.first_page) : 0, slot = 0, parity = 1;
    // Positions before the row's own are stored since before the step, so the ring is filled before the kernel before is waited for.
    uint32_t num_asked = 0;
    for (uint32_t number = 0; is_there; number++) {
      RoundItem next = item;
      bool is_next = false;
      uint32_t next_ids = 0;
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
        if (++num_asked == args.num_slots) begin();
        if (page == item.first_page) {
          is_next = item_of(number + 1, next);
          next_ids = is_next ? ids_from(next, next.first_page) : 0;
        }
      }
      item = next;
      ids = next_ids;
      is_there = is_next;
    }
    if (num_asked < args.num_slots) begin();
    return;
  }
  begin();

  if (warp == 14) {
    uint32_t count = 0;
    for (uint32_t number = 0; item_of(number, item); number++) {
      if (!item.is_last) continue;
      const uint32_t buffer = count % 2, row = rows[item.row].row, place = rows[item.row].position % IGNIS_PAGE_TOKENS;
      if (count >= 2) barrier_wait(news_empty + buffer, (count / 2 - 1) % 2);
      const uint32_t page = static_cast<uint32_t>(rows[item.row].page_table[item.stop_page - 1]);
      Element *stored = reinterpret_cast<Element *>(args.store + args.page_stride * page);
      Element *news = reinterpret_cast<Element *>(behind + layout.news) + buffer * (2 * D);
      const uint64_t at = (uint64_t{row} * args.NK + item.kv_head) * D;
      float value[D / 32];
#pragma unroll
      for (uint32_t i = 0; i < D / 32; i++) value[i] = args.v[at + i * 32 + lane];
      turn_head(args.k + at, args.k_norm, args.maker.eps, D, args.maker.pairs, args.maker.angles + uint64_t{row} * 2 * D,
                [&](uint32_t dim, float turned) {
                  put(news + dim, turned);
                  stored[key_at(item.kv_head, place, dim, D)] = news[dim];
                });
#pragma unroll
      for (uint32_t i = 0; i < D / 32; i++) {
        put(news + D + i * 32 + lane, value[i]);
        stored[value_at(item.kv_head, place, i * 32 + lane, D, args.NK)] = news[D + i * 32 + lane];
      }
      __syncwarp();
      if (arrives_for_warp(lane)) barrier_arrive(news_full + buffer);
      count++;
    }
    return;
  }

  if (warp >= 12) {
    const uint32_t buffer = warp - 12;
    uint4 *const queries = reinterpret_cast<uint4 *>(behind + layout.queries) + buffer * (D / 32 * 32);
    uint32_t parity = 1;
    if (D == 128 && heads <= 4) {
      // The lanes of four absent columns take half of the others' work; what they leave to be multiplied is zeros.
      for (uint32_t i = lane; i < D / 32 * 16; i += 32) queries[i / 16 * 32 + 16 + i % 16] = make_uint4(0, 0, 0, 0);
      for (uint32_t number = buffer; item_of(number, item); number += 2, parity ^= 1) {
        const uint32_t row = rows[item.row].row;
        const bool is_absent = g % 4 >= item.num_heads;
        float v[4][4];
        const uint32_t head = item.first_head + (is_absent ? 0 : g % 4);
        make_query<128, SpreadOrder, 8>(v, args.q + (uint64_t{row} * args.NH + head) * 128, args.maker, row, g / 4 * 4 + t);
        barrier_wait(queries_empty + buffer, parity);
#pragma unroll
        for (uint32_t i = 0; i < 2; i++) {
          uint32_t b[4];
#pragma unroll
          for (uint32_t pair = 0; pair < 4; pair++) {
            const float *two = v[2 * i + pair / 2] + pair % 2 * 2;
            b[pair] = is_absent ? 0 : packed_pair(two[0], two[1], Operand());
          }
          queries[(2 * i + g / 4) * 32 + lane % 16] = make_uint4(b[0], b[1], b[2], b[3]);
        }
        __syncwarp();
        if (arrives_for_warp(lane)) barrier_arrive(queries_full + buffer);
      }
      return;
    }
    for (uint32_t number = buffer; item_of(number, item); number += 2, parity ^= 1) {
      const uint32_t row = rows[item.row].row;
      const bool is_absent = g >= item.num_heads;
      uint32_t b[NUM][2];
      const uint32_t head = item.first_head + (is_absent ? 0 : g);
      load_query<D, Operand>(b, args.q + (uint64_t{row} * args.NH + head) * D, args.maker, row, t, is_absent);
      barrier_wait(queries_empty + buffer, parity);
#pragma unroll
      for (uint32_t j = 0; j < D / 32; j++) queries[j * 32 + lane] = make_uint4(b[2 * j][0], b[2 * j][1], b[2 * j + 1][0], b[2 * j + 1][1]);
      __syncwarp();
      if (arrives_for_warp(lane)) barrier_arrive(queries_full + buffer);
    }
    return;
  }

  uint8_t *const merge = behind + layout.merge;
  float *const maxima = reinterpret_cast<float *>(merge + PARTS * layout.merge_stride), *const sums = maxima + PARTS * 8;
  if (warp < 8) {
    const uint32_t tile = warp % 4, half = warp / 4;
    uint32_t count = 0, count_last = 0, slot = 0, parity = 0;
    for (; item_of(count, item); count++) {
      const uint32_t buffer = count % 2, position = rows[item.row].position;
      uint32_t q[NUM][2];
      barrier_wait(queries_full + buffer, count / 2 % 2);
      const uint4 *queries = reinterpret_cast<const uint4 *>(behind + layout.queries) + buffer * (D / 32 * 32);
#pragma unroll
      for (uint32_t j = 0; j < D / 32; j++) {
        const uint4 own = queries[j * 32 + lane];
        q[2 * j][0] = own.x, q[2 * j][1] = own.y, q[2 * j + 1][0] = own.z, q[2 * j + 1][1] = own.w;
      }
      float o[NUM][4], maximum[2] = {-CUDART_INF_F, -CUDART_INF_F}, sum[2] = {0.0f, 0.0f};
#pragma unroll
      for (uint32_t i = 0; i < NUM; i++) o[i][0] = o[i][1] = o[i][2] = o[i][3] = 0.0f;

      for (uint32_t page = item.first_page; page < item.stop_page; page++) {
        const uint32_t own_slot = slot, own_parity = parity;
        if (++slot == args.num_slots) slot = 0, parity ^= 1;
        // Both halves pass every page: who skipped a phase would take one for the second before or after it.
        barrier_wait(full + own_slot, own_parity);
        if ((page - item.first_page) % 2 != half) {
          if (arrives_for_warp(lane)) barrier_arrive(empty + own_slot);
          continue;
        }
        const bool is_own = item.is_last && page + 1 == item.stop_page;
        Element *keys = reinterpret_cast<Element *>(ring + own_slot * (2 * HALF)), *values = keys + IGNIS_PAGE_TOKENS * D;
        const int32_t num_seen = static_cast<int32_t>(position - page * IGNIS_PAGE_TOKENS) + 1;
        if (is_own) {
          const uint32_t news_buffer = count_last % 2, dim = threadIdx.x % 128, place = static_cast<uint32_t>(num_seen - 1);
          const Element *news = reinterpret_cast<const Element *>(behind + layout.news) + news_buffer * (2 * D);
          barrier_wait(news_full + news_buffer, count_last / 2 % 2);
          if (dim < D) {
            keys[key_at(0, place, dim, D)] = news[dim];
            values[chunk_at(dim, place / 8) + place % 8] = news[D + dim];
          }
#if __CUDA_ARCH__ >= 900
          shared_written();  // before the next page is copied over it
#endif
          warps_meet(1 + half, 128);
          if (arrives_for_warp(lane)) barrier_arrive(news_empty + news_buffer);
        }
        float s[4];
        score_tile<HalfChunks, Element, D>(s, tile, q, keys, g, t);
        const uint32_t chunk = HalfChunks::chunk(tile, t), chunk_half = HalfChunks::half(tile, t);
        uint2 upper[NUM], lower[NUM];
#pragma unroll
        for (uint32_t i = 0; i < NUM; i++) {
          upper[i] = half_chunk_of(values, 16 * i + g, chunk, chunk_half);
          lower[i] = half_chunk_of(values, 16 * i + g + 8, chunk, chunk_half);
        }
        if (is_own) {
          const int32_t first = static_cast<int32_t>(8 * chunk + 4 * chunk_half);
#pragma unroll
          for (uint32_t i = 0; i < NUM; i++) {
            upper[i].x = stored_only(upper[i].x, first, num_seen), lower[i].x = stored_only(lower[i].x, first, num_seen);
            upper[i].y = stored_only(upper[i].y, first + 2, num_seen), lower[i].y = stored_only(lower[i].y, first + 2, num_seen);
          }
#pragma unroll
          for (uint32_t i = 0; i < 4; i++)
            if (position_of<HalfChunks>(tile, i, g) >= num_seen) s[i] = -CUDART_INF_F;
        }
        float factor[2];
#pragma unroll
        for (uint32_t i = 0; i < 4; i++) s[i] *= RAISED;
        // Both columns' maxima in turns: a shuffle hides the other's latency.
        float largests[2] = {fmaxf(s[0], s[2]), fmaxf(s[1], s[3])};
#pragma unroll
        for (uint32_t i = 4; i < 32; i <<= 1)
#pragma unroll
          for (uint32_t e = 0; e < 2; e++) largests[e] = fmaxf(largests[e], __shfl_xor_sync(~0u, largests[e], i));
#pragma unroll
        for (uint32_t e = 0; e < 2; e++) {
          float largest = largests[e];
          // Weights of at most 2^8 keep their bits: the output is scaled anew seldom.
          largest = largest > maximum[e] + 8.0f ? largest : maximum[e];
          const float used = largest == -CUDART_INF_F ? 0.0f : largest;  // a tile that sees nothing yet
          factor[e] = power_of_two(maximum[e] - used);
          maximum[e] = largest;
          s[e] = power_of_two(s[e] - used);
          s[2 + e] = power_of_two(s[2 + e] - used);
          sum[e] = fmaf(sum[e], factor[e], s[e] + s[2 + e]);
        }
        const uint32_t weights[2] = {transpose(packed_pair(s[0], s[1], Operand())), transpose(packed_pair(s[2], s[3], Operand()))};
        if (__any_sync(~0u, factor[0] != 1.0f || factor[1] != 1.0f)) {
#pragma unroll
          for (uint32_t i = 0; i < NUM; i++)
#pragma unroll
            for (uint32_t j = 0; j < 4; j++) o[i][j] *= factor[j % 2];
        }
#pragma unroll
        for (uint32_t i = 0; i < NUM; i++) {
          const uint32_t a[4] = {upper[i].x, lower[i].x, upper[i].y, lower[i].y};
          multiply(o[i], a, weights[0], weights[1], Operand());
        }
        __syncwarp();
        if (arrives_for_warp(lane)) barrier_arrive(empty + own_slot);
      }
      if (item.is_last) count_last++;
      __syncwarp();
      if (arrives_for_warp(lane)) barrier_arrive(queries_empty + buffer);

      if (count > 0) barrier_wait(merge_empty, (count - 1) % 2);
      float *outputs = reinterpret_cast<float *>(merge + warp * layout.merge_stride);
#pragma unroll
      for (uint32_t i = 4; i < 32; i <<= 1)
#pragma unroll
        for (uint32_t e = 0; e < 2; e++) sum[e] += __shfl_xor_sync(~0u, sum[e], i);
#pragma unroll
      for (uint32_t e = 0; e < 2; e++) {
        const uint32_t column = 2 * t + e;
        if (column < item.num_heads) {
#pragma unroll
          for (uint32_t i = 0; i < NUM; i++) {
            outputs[column * PART + 16 * i + g] = o[i][e] * RAISED;
            outputs[column * PART + 16 * i + g + 8] = o[i][2 + e] * RAISED;
          }
          if (g == 0) {
            maxima[warp * 8 + column] = maximum[e];
            sums[warp * 8 + column] = sum[e];
          }
        }
      }
      __syncwarp();
      if (arrives_for_warp(lane)) barrier_arrive(merge_full);
    }
    return;
  }

  constexpr uint32_t DIMS = D / 32;  // of a lane
  struct alignas(4 * DIMS) Numbers {
    float of[DIMS];
  };
  uint32_t count = 0;
  for (; item_of(count, item); count++) {
    barrier_wait(merge_full, count % 2);
    for (uint32_t own = warp - 8; own < 8; own += 4) {
      Numbers o{};
      float maximum = -CUDART_INF_F, sum = 0.0f;
      if (own < item.num_heads) {
#pragma unroll
        for (uint32_t i = 0; i < PARTS; i++) maximum = fmaxf(maximum, maxima[i * 8 + own]);
#pragma unroll
        for (uint32_t i = 0; i < PARTS; i++) {
          const float factor = power_of_two(maxima[i * 8 + own] - maximum);
          const Numbers part = *reinterpret_cast<const Numbers *>(merge + i * layout.merge_stride + (own * PART + lane * DIMS) * 4);
          sum = fmaf(sums[i * 8 + own], factor, sum);
#pragma unroll
          for (uint32_t j = 0; j < DIMS; j++) o.of[j] = fmaf(part.of[j], factor, o.of[j]);
        }
      }
      if (own >= item.num_heads) continue;
      float *part = args.parts + ((uint64_t{item.row} * args.NH + item.first_head + own) * MAX_SPLITS + item.split) * PART;
      *reinterpret_cast<Numbers *>(part + lane * DIMS) = o;
      if (lane == 0) *reinterpret_cast<float2 *>(part + D) = make_float2(maximum, sum);
    }
    // Behind the stores: an arrival may be seen before a load that was only asked for.
    __syncwarp();
    if (arrives_for_warp(lane)) barrier_arrive(merge_empty);
  }
}

}  // namespace ignis
