// rows.cu: the row-wise operators of ops.h. A row's arithmetic is the same whatever the number of rows: a block, or a warp, has one.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "../quant/blocks.h"
#include "../quant/formats.h"
#include "device.h"
#include "kv_page.cuh"
#include "launch.cuh"

namespace ignis {

static constexpr uint32_t THREADS = 256;

// --- embedding ----------------------------------------------------------------------------------------------------------------

static __device__ void decode_block(float *y, const uint8_t *block, ignis_dtype dtype) {
  switch (dtype) {
    case IGNIS_Q4_0: return block_q4_0(y, block);
    case IGNIS_Q4_1: return block_q4_1(y, block);
    case IGNIS_Q5_0: return block_q5_0(y, block);
    case IGNIS_Q5_1: return block_q5_1(y, block);
    case IGNIS_Q8_0: return block_q8_0(y, block);
    case IGNIS_Q4_K: return block_q4_k(y, block);
    case IGNIS_Q5_K: return block_q5_k(y, block);
    case IGNIS_Q6_K: return block_q6_k(y, block);
    case IGNIS_F32: *y = float_of_bits(read_u32(block)); return;
    case IGNIS_F16: *y = float_of_half(read_u16(block)); return;
    case IGNIS_BF16: *y = float_of_bfloat(read_u16(block)); return;
  }
}

// A block has one row, a thread some of its stored blocks.
static __global__ void __launch_bounds__(THREADS) embed_rows(float *x, const uint8_t *table, ignis_dtype dtype, uint32_t values,
                                                             uint32_t bytes, const int32_t *tokens, uint32_t H) {
  begin();
  const uint32_t num_blocks = H / values;
  const uint8_t *row = table + static_cast<uint64_t>(tokens[blockIdx.x]) * num_blocks * bytes;
  float *y = x + static_cast<uint64_t>(blockIdx.x) * H;
  for (uint32_t i = threadIdx.x; i < num_blocks; i += THREADS) decode_block(y + i * values, row + static_cast<uint64_t>(i) * bytes, dtype);
}

void embed(Device &device, float *x, const Matrix &table, const int32_t *, uint32_t T) {
  launch(device, "embed", embed_rows, dim3(T), THREADS, x, static_cast<const uint8_t *>(table.source), table.dtype,
         block_values(table.dtype), block_bytes(table.dtype), device.step.tokens, table.cols);
}

// --- norms --------------------------------------------------------------------------------------------------------------------

// The sum over a warp, in every lane, by a tree that is always the same.
static __device__ float warp_sum(float value) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
  return value;
}

static constexpr uint32_t MOST_THREADS = 1024;

// A block has one row; its size follows from H alone, and with it the order of the sum. Four values at a time where rows are aligned to it.
template <uint32_t WIDTH>
static __global__ void __launch_bounds__(MOST_THREADS) norm_rows(float *y, const float *x, const float *w, uint32_t H, float eps) {
  struct alignas(4 * WIDTH) Vector {
    float values[WIDTH];
  };
  begin();
  __shared__ float parts[MOST_THREADS / 32];
  const Vector *row = reinterpret_cast<const Vector *>(x + static_cast<uint64_t>(blockIdx.x) * H);
  Vector *result = reinterpret_cast<Vector *>(y + static_cast<uint64_t>(blockIdx.x) * H);
  const Vector *weights = reinterpret_cast<const Vector *>(w);
  const uint32_t num = H / WIDTH;
  float sum = 0;
  for (uint32_t i = threadIdx.x; i < num; i += blockDim.x) {
    const Vector own = row[i];
#pragma unroll
    for (uint32_t j = 0; j < WIDTH; j++) sum = fmaf(own.values[j], own.values[j], sum);
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (uint32_t i = 0; i < blockDim.x / 32; i++) sum += parts[i];
  const float scale = rsqrtf(sum / static_cast<float>(H) + eps);
  for (uint32_t i = threadIdx.x; i < num; i += blockDim.x) {
    Vector own = row[i];
    const Vector weight = weights[i];
#pragma unroll
    for (uint32_t j = 0; j < WIDTH; j++) own.values[j] = own.values[j] * scale * weight.values[j];
    result[i] = own;
  }
}

void rms_norm(Device &device, float *y, const float *x, const float *w, uint32_t T, uint32_t H, float eps) {
  const uint32_t width = H % 4 == 0 ? 4 : 1, wanted = (H / width + 31) / 32 * 32;
  const uint32_t threads = wanted < MOST_THREADS ? wanted : MOST_THREADS;
  launch(device, "rms_norm", width == 4 ? norm_rows<4> : norm_rows<1>, dim3(T), threads, y, x, w, H, eps);
}

// --- SwiGLU -------------------------------------------------------------------------------------------------------------------

// A thread has some values, so many that few blocks walk them all.
static __global__ void __launch_bounds__(THREADS) gate_values(float *y, const float *gate, const float *up, uint64_t num) {
  begin();
  const uint64_t step = static_cast<uint64_t>(gridDim.x) * THREADS;
  for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * THREADS + threadIdx.x; i < num; i += step)
    y[i] = gate[i] / (1.0f + expf(-gate[i])) * up[i];
}

void swiglu(Device &device, float *y, const float *gate, const float *up, uint32_t T, uint32_t F) {
  const uint64_t num = static_cast<uint64_t>(T) * F, blocks = (num + THREADS - 1) / THREADS;
  const uint64_t most = static_cast<uint64_t>(device.num_multiprocessors) * 16;
  launch(device, "swiglu", gate_values, dim3(static_cast<uint32_t>(blocks < most ? blocks : most)), THREADS, y, gate, up, num);
}

// --- rope and the KV pages ----------------------------------------------------------------------------------------------------

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
