// rope.cu: rotary positions, the norms of heads, and the store of K and V into their pages.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "device.h"
#include "kv_page.cuh"
#include "launch.cuh"

namespace ignis {

static constexpr uint32_t THREADS = 256;

// The sum over a warp, in every lane, by a tree that is always the same.
static __device__ float warp_sum(float value) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
  return value;
}

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

static __device__ void put(float *to, float value) { *to = value; }
static __device__ void put(__half *to, float value) { *to = __float2half_rn(value); }
static __device__ void put(__nv_bfloat16 *to, float value) { *to = __float2bfloat16_rn(value); }

struct PairPlace {
  uint32_t a, b;
};
static __device__ PairPlace pair_place(uint32_t pair, uint32_t D, ignis_rope_pairs pairs) {
  return pairs == IGNIS_ROPE_ADJACENT ? PairPlace{2 * pair, 2 * pair + 1} : PairPlace{pair, pair + D / 2};
}

// One head of one row, by a warp: lane i has pairs i, i + 32, ... Norms it, turns it and writes it back; `stored` gets the result too.
template <class Store>
static __device__ void turn_head(float *head, const float *norm, float eps, uint32_t D, ignis_rope_pairs pairs, const float *cosines,
                                 const float *sines, const Store &store) {
  const uint32_t lane = threadIdx.x % 32, half = D / 2;
  float scale = 1;
  if (norm) {
    float sum = 0;
    for (uint32_t pair = lane; pair < half; pair += 32) {
      const PairPlace at = pair_place(pair, D, pairs);
      sum = fmaf(head[at.a], head[at.a], sum);
      sum = fmaf(head[at.b], head[at.b], sum);
    }
    scale = rsqrtf(warp_sum(sum) / static_cast<float>(D) + eps);
  }
  for (uint32_t pair = lane; pair < half; pair += 32) {
    const PairPlace at = pair_place(pair, D, pairs);
    float a = head[at.a], b = head[at.b];
    if (norm) {
      a = a * scale * norm[at.a];
      b = b * scale * norm[at.b];
    }
    const float cosine = cosines[pair], sine = sines[pair];
    const float turned_a = a * cosine - b * sine, turned_b = b * cosine + a * sine;
    head[at.a] = turned_a;
    head[at.b] = turned_b;
    store(at.a, turned_a);
    store(at.b, turned_b);
  }
}

// What rotate_and_store works on.
struct Heads {
  float *q, *k;
  const float *v;
  KvLayer kv;
  const int32_t *positions, *page_tables;
  uint32_t table_stride, NH;
  HeadNorms norms;
  ignis_rope_pairs pairs;
  const float *angles;
};

// Block (t, y) has row t of the step and eight of its NH + 2 NK heads, a warp each: queries, keys, values.
template <class Element>
static __global__ void __launch_bounds__(THREADS) rotate_and_store(const __grid_constant__ Heads heads) {
  begin();
  const uint64_t t = blockIdx.x;
  const uint32_t D = heads.kv.D, NK = heads.kv.NK, NH = heads.NH, lane = threadIdx.x % 32;
  const uint32_t index = blockIdx.y * (THREADS / 32) + threadIdx.x / 32;
  if (index >= NH + 2 * NK) return;
  const float *cosines = heads.angles + t * 2 * D, *sines = cosines + D;
  if (index < NH) {
    turn_head(heads.q + (t * NH + index) * D, heads.norms.q, heads.norms.eps, D, heads.pairs, cosines, sines, [](uint32_t, float) {});
    return;
  }
  const uint32_t position = static_cast<uint32_t>(heads.positions[t]), slot = position % IGNIS_PAGE_TOKENS;
  const int32_t page = heads.page_tables[t * heads.table_stride + position / IGNIS_PAGE_TOKENS];
  Element *elements = reinterpret_cast<Element *>(heads.kv.pool + static_cast<uint64_t>(page) * heads.kv.page_stride + heads.kv.layer_offset);
  if (index < NH + NK) {
    const uint32_t head = index - NH;
    turn_head(heads.k + (t * NK + head) * D, heads.norms.k, heads.norms.eps, D, heads.pairs, cosines, sines,
              [&](uint32_t dim, float value) { put(elements + key_at(head, slot, dim, D), value); });
    return;
  }
  const uint32_t head = index - NH - NK;
  for (uint32_t dim = lane; dim < D; dim += 32) put(elements + value_at(head, slot, dim, D, NK), heads.v[(t * NK + head) * D + dim]);
}

void rope_and_store(Device &device, float *q, float *k, const float *v, const KvLayer &kv, const Group *groups, uint32_t num_groups,
                    uint32_t NH, const HeadNorms &norms, const Rope &rope, const float *angles) {
  const StepMemory &step = device.step;
  const Heads heads{q,  k,     v,          kv,    step.positions, step.page_tables, num_groups > 1 ? step.max_pages : 0,
                    NH, norms, rope.pairs, angles};
  const uint32_t each = THREADS / 32;
  const dim3 grid(rows_of(groups, num_groups).num, (NH + 2 * kv.NK + each - 1) / each);
  const auto kernel = kv.dtype == IGNIS_F32    ? rotate_and_store<float>
                      : kv.dtype == IGNIS_BF16 ? rotate_and_store<__nv_bfloat16>
                                               : rotate_and_store<__half>;
  launch(device, "rope_and_store", kernel, grid, THREADS, heads);
}

uint64_t kv_layer_bytes(ignis_dtype dtype, uint32_t NK, uint32_t D) {
  return align_up(uint64_t{2} * NK * IGNIS_PAGE_TOKENS * D * (dtype == IGNIS_F32 ? 4 : 2), ARENA_ALIGNMENT);
}

}  // namespace ignis
