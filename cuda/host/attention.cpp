// attention.cpp: the attention operator: how its queries and pages are shared out over threads.
//
// A tile is one kv head's queries of a few consecutive rows of one sequence. A thread takes a tile through all of its pages, merging
// each into a running state. Where there are too few tiles for the threads (one long sequence decodes) the pages of a tile are
// shared out too: every page's partial result is kept and they are merged in the same order afterwards, so the bits are the same.
#include <math.h>
#include <string.h>

#include "../base/arena.h"
#include "attention_kernels.h"
#include "device.h"
#include "rope.h"

namespace ignis {

// Queries of a tile: enough to use each page's K and V often while it is in the first-level cache, few enough to leave many tiles.
static constexpr uint32_t TILE_QUERIES = 48;
// Pages of a tile that a thread takes at once when pages are shared out.
static constexpr uint32_t PART_PAGES = 4;

static const AttentionKernels &kernels(const Device &device) {
  if (device.isa >= Isa::AVX512) return avx512::attention_kernels;
  return device.isa == Isa::AVX2 ? avx2::attention_kernels : portable::attention_kernels;
}

static uint32_t tile_rows(uint32_t heads) { return heads < TILE_QUERIES ? TILE_QUERIES / heads : 1; }

// A worker's memory, in floats: queries, states, partials and scores of one tile.
struct WorkerMemory {
  float *queries, *states, *partials, *scores;
  static uint64_t num_floats(uint32_t max_queries, uint32_t D, uint32_t Dp) {
    return uint64_t{max_queries} * (align_up(D, 16) + 2 * (ATTENTION_HEADER + Dp) + IGNIS_PAGE_TOKENS);
  }
  WorkerMemory(float *base, uint32_t max_queries, uint32_t D, uint32_t Dp)
      : queries(base),
        states(queries + max_queries * align_up(D, 16)),
        partials(states + uint64_t{max_queries} * (ATTENTION_HEADER + Dp)),
        scores(partials + uint64_t{max_queries} * (ATTENTION_HEADER + Dp)) {}
};

// Tiles are few when there are fewer than two a thread.
static uint32_t few_tiles(uint32_t num_threads) { return 2 * num_threads; }

uint64_t attention_bytes(uint32_t num_threads, uint32_t max_context, uint32_t NH, uint32_t NK, uint32_t D) {
  const KvPage layout(IGNIS_F32, NK, D);
  const uint32_t heads = NH / NK, max_queries = tile_rows(heads) * heads;
  const uint64_t pages = (uint64_t{max_context} + IGNIS_PAGE_TOKENS - 1) / IGNIS_PAGE_TOKENS;
  const uint64_t workers = num_threads * WorkerMemory::num_floats(max_queries, D, layout.Dp);
  const uint64_t parts = few_tiles(num_threads) * pages * heads * (ATTENTION_HEADER + layout.Dp);
  return align_up((workers + parts) * sizeof(float), ARENA_ALIGNMENT);
}

// Tiles of all groups, in rising order of rows; kv heads vary fastest.
struct Tiles {
  const Group *groups;
  uint32_t num_groups, NK, rows_each;

  uint32_t count() const {
    uint32_t total = 0;
    for (uint32_t g = 0; g < num_groups; g++) total += (groups[g].num_rows + rows_each - 1) / rows_each * NK;
    return total;
  }
  // Tile `index`: its group, its first row in the group, its number of rows and its kv head.
  const Group &find(uint32_t index, uint32_t *first_row, uint32_t *num_rows, uint32_t *kv_head) const {
    const Group *group = groups;
    for (;; group++) {
      const uint32_t own = (group->num_rows + rows_each - 1) / rows_each * NK;
      if (index < own) break;
      index -= own;
    }
    *first_row = index / NK * rows_each;
    *num_rows = group->num_rows - *first_row < rows_each ? group->num_rows - *first_row : rows_each;
    *kv_head = index % NK;
    return *group;
  }
};

static void attend(Device &device, float *out, const float *q, const KvLayer &kv, const Group *groups, uint32_t num_groups, uint32_t NH,
                   void *workspace) {
  const AttentionKernels &kernel = kernels(device);
  const KvPage layout(kv);
  const uint32_t D = kv.D, Dp = layout.Dp, NK = kv.NK, heads = NH / NK, stride = ATTENTION_HEADER + Dp;
  const Tiles tiles{groups, num_groups, NK, tile_rows(heads)};
  const uint32_t max_queries = tiles.rows_each * heads, num_tiles = tiles.count();
  const float scale = 1.0f / sqrtf(static_cast<float>(D));
  float *const worker_floats = static_cast<float *>(workspace);
  const uint64_t worker_size = WorkerMemory::num_floats(max_queries, D, Dp);

  const auto start = [&](uint32_t index, uint32_t worker, WorkerMemory *memory, QueryTile *tile, uint32_t *row) -> const Group & {
    *memory = WorkerMemory(worker_floats + worker * worker_size, max_queries, D, Dp);
    uint32_t first_row;
    const Group &group = tiles.find(index, &first_row, &tile->num_rows, &tile->kv_head);
    tile->queries = memory->queries;
    tile->heads = heads;
    tile->position = group.position + first_row;
    *row = group.row + first_row;
    return group;
  };
  const auto load_queries = [&](const QueryTile &tile, const WorkerMemory &memory, uint32_t row) {
    for (uint32_t i = 0; i < tile.num_rows; i++)
      kernel.scale_queries(memory.queries + uint64_t{i} * heads * D, q + (uint64_t{row + i} * NH + tile.kv_head * heads) * D, heads * D,
                           scale);
  };
  const auto clear = [&](float *states, uint32_t num_queries) {
    memset(states, 0, uint64_t{num_queries} * stride * sizeof(float));
    for (uint32_t i = 0; i < num_queries; i++) states[uint64_t{i} * stride] = -INFINITY;
  };
  const auto write = [&](const QueryTile &tile, const float *states, uint32_t row) {
    for (uint32_t i = 0; i < tile.num_rows; i++)
      kernel.finish(out + (uint64_t{row + i} * NH + tile.kv_head * heads) * D, states + uint64_t{i} * heads * stride, heads, D, Dp);
  };

  uint32_t most_pages = 0;
  for (uint32_t g = 0; g < num_groups; g++) {
    const uint32_t pages = (groups[g].position + groups[g].num_rows - 1) / IGNIS_PAGE_TOKENS + 1;
    most_pages = pages > most_pages ? pages : most_pages;
  }
  const bool is_one_row_each = num_groups == 0 || groups[num_groups - 1].row + groups[num_groups - 1].num_rows == num_groups;
  const uint32_t num_threads = thread_pool_workers(*device.pool);
  const bool shares_pages = num_threads > 1 && is_one_row_each && num_tiles <= few_tiles(num_threads) &&
                            num_tiles * most_pages > 2 * PART_PAGES;

  if (!shares_pages) {
    parallel(*device.pool, num_tiles, [&](uint32_t index, uint32_t worker) {
      WorkerMemory memory(nullptr, 0, 0, 0);
      QueryTile tile;
      uint32_t row;
      const Group &group = start(index, worker, &memory, &tile, &row);
      load_queries(tile, memory, row);
      const uint32_t num_queries = tile.num_rows * heads;
      clear(memory.states, num_queries);
      const uint32_t last_page = (tile.position + tile.num_rows - 1) / IGNIS_PAGE_TOKENS;
      for (uint32_t page = 0; page <= last_page; page++) {
        const uint32_t first = kernel.attend_page(memory.partials, tile, kv, page, kv_page(kv, group.page_table[page]),
                                                  kv_page(kv, group.page_table[page < last_page ? page + 1 : page]), memory.scores);
        kernel.merge(memory.states + first * stride, memory.partials + first * stride, num_queries - first, Dp);
      }
      write(tile, memory.states, row);
    });
    return;
  }

  float *const kept = worker_floats + num_threads * worker_size;  // [num_tiles, most_pages, heads, stride]
  const uint64_t page_floats = uint64_t{heads} * stride, tile_floats = most_pages * page_floats;
  const uint32_t parts = (most_pages + PART_PAGES - 1) / PART_PAGES;
  parallel(*device.pool, num_tiles * parts, [&](uint32_t task, uint32_t worker) {
    WorkerMemory memory(nullptr, 0, 0, 0);
    QueryTile tile;
    uint32_t row;
    const uint32_t index = task % num_tiles, first_page = task / num_tiles * PART_PAGES;
    const Group &group = start(index, worker, &memory, &tile, &row);
    const uint32_t num_pages = tile.position / IGNIS_PAGE_TOKENS + 1;
    if (first_page >= num_pages) return;
    load_queries(tile, memory, row);
    const uint32_t stop_page = first_page + PART_PAGES < num_pages ? first_page + PART_PAGES : num_pages;
    for (uint32_t page = first_page; page < stop_page; page++)
      kernel.attend_page(kept + index * tile_floats + page * page_floats, tile, kv, page, kv_page(kv, group.page_table[page]),
                         kv_page(kv, group.page_table[page + 1 < stop_page ? page + 1 : page]), memory.scores);
  });
  parallel(*device.pool, num_tiles, [&](uint32_t index, uint32_t worker) {
    WorkerMemory memory(nullptr, 0, 0, 0);
    QueryTile tile;
    uint32_t row;
    start(index, worker, &memory, &tile, &row);
    clear(memory.states, heads);
    for (uint32_t page = 0; page <= tile.position / IGNIS_PAGE_TOKENS; page++)
      kernel.merge(memory.states, kept + index * tile_floats + page * page_floats, heads, Dp);
    write(tile, memory.states, row);
  });
}

void attention(Device &device, float *out, float *q, float *k, const float *v, const KvLayer &kv, const Group *groups, uint32_t num_groups,
               uint32_t first_wanted, uint32_t NH, const HeadNorms &norms, const Rope &rope, const float *angles, void *workspace,
               Activations *a, const Matrix *const *users, uint32_t num_users) {
  rope_and_store(device, q, k, v, kv, groups, num_groups, NH, norms, rope, angles);
  const uint32_t num_rows = groups[num_groups - 1].row + groups[num_groups - 1].num_rows - groups[0].row, K = NH * kv.D;
  if (first_wanted == num_rows) return;
  if (first_wanted == 0) {
    attend(device, out, q, kv, groups, num_groups, NH, workspace);
  } else {
    Group wanted = groups[0];  // rows are left out of spans only: one group
    wanted.row += first_wanted;
    wanted.num_rows -= first_wanted;
    wanted.position += first_wanted;
    attend(device, out, q, kv, &wanted, 1, NH, workspace);
  }
  prepare(device, a, out + uint64_t{first_wanted} * K, num_rows - first_wanted, K, users, num_users);
}

uint64_t kv_layer_bytes(ignis_dtype dtype, uint32_t NK, uint32_t D) {
  return align_up(KvPage(dtype, NK, D).layer_bytes(), ARENA_ALIGNMENT);
}

}  // namespace ignis
