// attention_items.cuh: how a decode round's attention is cut into items, and what its two launches hand over.
#pragma once

#include "attention_page.cuh"

namespace ignis {

inline constexpr uint32_t MAX_SPLITS = 16, ROUND_THREADS = 16 * 32, MAX_SLOTS = 16, PARTS = 8;

struct RoundArguments : AttentionArguments {
  const float *k, *v;   // [rows, NK, D], as the linear layer left them
  const float *k_norm;  // [D], or null
  uint8_t *store;       // the same as pool
  uint32_t num_rows, num_slots;
  float *parts;  // [rows, NH, MAX_SPLITS, D + 4]: O, maximum, sum
};

// At most MAX_SPLITS runs of pages. Up to 16 pages they have two each, so that one lane alone keeps more multiprocessors busy; above, four:
// a run costs its block something beside its bytes, and eight lanes have blocks enough.
static __device__ __forceinline__ uint32_t split_pages(uint32_t num_pages) {
  const uint32_t pages = (num_pages + MAX_SPLITS - 1) / MAX_SPLITS, least = num_pages > 16 ? 4 : 2;
  return pages < least ? least : pages;
}
static __device__ __forceinline__ uint32_t num_splits_of(uint32_t position) {
  const uint32_t num_pages = position / IGNIS_PAGE_TOKENS + 1;
  return (num_pages + split_pages(num_pages) - 1) / split_pages(num_pages);
}

// Bytes of a block's shared memory behind the ring.
struct RoundShared {
  uint32_t merge_stride;  // [columns][D + 4]; eight, then maxima and sums [8][8] each
  uint32_t queries, news, merge, barriers, size_bytes;
  __host__ __device__ RoundShared(uint32_t D, uint32_t columns, uint32_t element_bytes) {
    merge_stride = columns * (D + 4) * 4;
    queries = 0;
    news = queries + 2 * 8 * D * 2;
    merge = news + 2 * 2 * D * element_bytes;
    barriers = merge + PARTS * merge_stride + 2 * PARTS * 8 * 4;
    size_bytes = barriers + (2 * MAX_SLOTS + 10) * 8;
  }
};

// A lane of the round.
struct RoundRow {
  const int32_t *page_table;
  uint32_t row, position, num_pages, pages, num_splits;  // pages of a split
  uint32_t first_item, stop_item;
};

struct RoundItem {
  uint32_t row, kv_head, first_head, num_heads, split, first_page, stop_page;
  bool is_last;  // has the page of the row's own position
};

}  // namespace ignis
