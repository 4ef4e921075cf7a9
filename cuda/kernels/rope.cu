// rope.cu: the angles of a step's positions, and a span's K and V on their way into the pages.
#include <math_constants.h>

#include "device.h"
#include "head_turn.cuh"
#include "kv_page.cuh"
#include "launch.cuh"
#include "page_element.cuh"
#include "rope.h"

namespace ignis {

static constexpr uint32_t THREADS = 256;
static constexpr uint32_t CHUNK = 8;  // positions of a block

// A block has one row of the step. cosf and sinf reduce their arguments exactly: positions go to 2^24.
static __global__ void __launch_bounds__(THREADS) fill_angles(float *angles, const float *inv_freq, float scale, const int32_t *positions,
                                                              uint32_t D) {
  begin();
  const float position = static_cast<float>(positions[blockIdx.x]);
  float *row = angles + static_cast<uint64_t>(blockIdx.x) * 2 * D;
  for (uint32_t pair = threadIdx.x; pair < D / 2; pair += THREADS) {
    const float angle = position * inv_freq[pair];
    row[pair] = cosf(angle) * scale;
    row[D + pair] = sinf(angle) * scale;
  }
}

void rope_angles(Device &device, float *angles, const Rope &rope, uint32_t D, const Group *groups, uint32_t num_groups) {
  const uint32_t T = rows_of(groups, num_groups).num;
  launch(device, "rope_angles", fill_angles, dim3(T), THREADS, angles, rope.inv_freq, rope.scale, device.step.positions, D);
}

// What store_rows works on.
struct NewRows {
  const float *k, *v, *angles;
  KvLayer kv;
  const Group *groups;
  const float *norm;
  float eps;
  ignis_rope_pairs pairs;
  bool is_span;
};

// Block (x, head) has eight positions beside each other, those of one chunk of V: of the span's x-th chunk, or around the row of round
// member x. Warp i turns the K of position i; a thread has a dim of V, whose positions lie together.
//
// A V that is infinite or NaN as it is stored would reach the rows before it: their weight of it is 0, and the tensor cores multiply. So
// that position's V is stored as zeros and its K as NaN, which the scores' mask keeps from those rows and whoever sees it sees as NaN.
template <class Element>
static __global__ void __launch_bounds__(THREADS) store_rows(const __grid_constant__ NewRows rows) {
  struct alignas(CHUNK * sizeof(Element)) Chunk {
    Element of[CHUNK];
  };
  begin();
  const Group group = rows.groups[rows.is_span ? 0 : blockIdx.x];
  const uint32_t D = rows.kv.D, NK = rows.kv.NK, head = blockIdx.y, stop = group.position + group.num_rows;
  const uint32_t start = (group.position / CHUNK + (rows.is_span ? blockIdx.x : 0)) * CHUNK;
  if (start >= stop) return;
  const uint32_t number = static_cast<uint32_t>(group.page_table[start / IGNIS_PAGE_TOKENS]);
  Element *page = reinterpret_cast<Element *>(rows.kv.pool + number * rows.kv.page_stride + rows.kv.layer_offset);
  const auto row_of = [&](uint32_t position) { return uint64_t{group.row} + position - group.position; };
  const uint32_t position = start + threadIdx.x / 32;
  if (position >= group.position && position < stop)
    turn_head(rows.k + (row_of(position) * NK + head) * D, rows.norm, rows.eps, D, rows.pairs, rows.angles + row_of(position) * 2 * D,
              [&](uint32_t dim, float value) { put(page + key_at(head, position % IGNIS_PAGE_TOKENS, dim, D), value); });
  const bool is_whole = start >= group.position && start + CHUNK <= stop;
  __shared__ uint32_t broken;  // bit i: of position i
  uint32_t own_broken = 0;
  for (uint32_t dim = threadIdx.x; dim < D; dim += THREADS) {
    Element *to = page + value_at(head, start % IGNIS_PAGE_TOKENS, dim, D, NK);
    Chunk chunk;
    for (uint32_t i = 0; i < CHUNK; i++) {
      if (!is_whole && (start + i < group.position || start + i >= stop)) continue;
      put(chunk.of + i, rows.v[(row_of(start + i) * NK + head) * D + dim]);
      if (!(fabsf(static_cast<float>(chunk.of[i])) < CUDART_INF_F)) own_broken |= 1u << i;
      if (!is_whole) to[i] = chunk.of[i];
    }
    if (is_whole) *reinterpret_cast<Chunk *>(to) = chunk;
  }
  if (!__syncthreads_or(own_broken != 0)) return;
  if (threadIdx.x == 0) broken = 0;
  __syncthreads();
  atomicOr(&broken, own_broken);
  __syncthreads();
  const uint32_t all_broken = broken;
  for (uint32_t dim = threadIdx.x; dim < D; dim += THREADS)
    for (uint32_t i = 0; i < CHUNK; i++) {
      if (!(all_broken >> i & 1)) continue;
      put(page + value_at(head, start % IGNIS_PAGE_TOKENS, dim, D, NK) + i, 0.0f);
      put(page + key_at(head, (start + i) % IGNIS_PAGE_TOKENS, dim, D), CUDART_NAN_F);
    }
}

void store_kv(Device &device, const float *k, const float *v, const KvLayer &kv, const Group *groups, uint32_t num_groups,
              const HeadNorms &norms, const Rope &rope, const float *angles) {
  const bool is_span = device.phase == Phase::prefill;
  const NewRows rows{k, v, angles, kv, device.step.groups, norms.k, norms.eps, rope.pairs, is_span};
  const uint32_t stop = groups[0].position + groups[0].num_rows;
  const dim3 grid(is_span ? (stop + CHUNK - 1) / CHUNK - groups[0].position / CHUNK : num_groups, kv.NK);
  const auto kernel = kv.dtype == IGNIS_F32        ? store_rows<float>
                      : kv.dtype == IGNIS_BF16     ? store_rows<__nv_bfloat16>
                      : kv.dtype == IGNIS_F8_E4M3 ? store_rows<__nv_fp8_e4m3>
                                                   : store_rows<__half>;
  launch(device, "store_kv", kernel, grid, THREADS, rows);
}

static uint32_t element_bytes(ignis_dtype dtype) { return dtype == IGNIS_F32 ? 4 : dtype == IGNIS_F8_E4M3 ? 1 : 2; }

uint64_t kv_layer_bytes(ignis_dtype dtype, uint32_t NK, uint32_t D) {
  return align_up(uint64_t{2} * NK * IGNIS_PAGE_TOKENS * D * element_bytes(dtype), ARENA_ALIGNMENT);
}

}  // namespace ignis
