// rows.cu: the row-wise operators of ops.h. A row's arithmetic is the same whatever the number of rows: a block, or a warp, has one.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "../quant/blocks.h"
#include "../quant/formats.h"
#include "device.h"
#include "kv_page.cuh"

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
  const uint32_t num_blocks = H / values;
  const uint8_t *row = table + static_cast<uint64_t>(tokens[blockIdx.x]) * num_blocks * bytes;
  float *y = x + static_cast<uint64_t>(blockIdx.x) * H;
  for (uint32_t i = threadIdx.x; i < num_blocks; i += THREADS) decode_block(y + i * values, row + static_cast<uint64_t>(i) * bytes, dtype);
}

void embed(Device &device, float *x, const Matrix &table, const int32_t *, uint32_t T) {
  embed_rows<<<T, THREADS, 0, device.stream>>>(x, static_cast<const uint8_t *>(table.source), table.dtype, block_values(table.dtype),
                                               block_bytes(table.dtype), device.step.tokens, table.cols);
  IGNIS_LAUNCHED(device);
}

// --- norms --------------------------------------------------------------------------------------------------------------------

// The sum over a warp, in every lane, by a tree that is always the same.
static __device__ float warp_sum(float value) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
  return value;
}

// A block has one row.
static __global__ void __launch_bounds__(THREADS) norm_rows(float *y, const float *x, const float *w, uint32_t H, float eps) {
  __shared__ float parts[THREADS / 32];
  const float *row = x + static_cast<uint64_t>(blockIdx.x) * H;
  float sum = 0;
  for (uint32_t i = threadIdx.x; i < H; i += THREADS) sum = fmaf(row[i], row[i], sum);
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
#pragma unroll
  for (uint32_t i = 0; i < THREADS / 32; i++) sum += parts[i];
  const float scale = rsqrtf(sum / static_cast<float>(H) + eps);
  float *result = y + static_cast<uint64_t>(blockIdx.x) * H;
  for (uint32_t i = threadIdx.x; i < H; i += THREADS) result[i] = row[i] * scale * w[i];
}

void rms_norm(Device &device, float *y, const float *x, const float *w, uint32_t T, uint32_t H, float eps) {
  norm_rows<<<T, THREADS, 0, device.stream>>>(y, x, w, H, eps);
  IGNIS_LAUNCHED(device);
}

// A warp has one head of one row.
static __global__ void __launch_bounds__(THREADS) norm_heads(float *x, const float *w, uint32_t num, uint32_t heads, uint32_t D, float eps,
                                                             uint32_t ldx) {
  const uint32_t index = blockIdx.x * (THREADS / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (index >= num) return;
  float *row = x + static_cast<uint64_t>(index / heads) * ldx + static_cast<uint64_t>(index % heads) * D;
  float sum = 0;
  for (uint32_t i = lane; i < D; i += 32) sum = fmaf(row[i], row[i], sum);
  const float scale = rsqrtf(warp_sum(sum) / static_cast<float>(D) + eps);
  for (uint32_t i = lane; i < D; i += 32) row[i] = row[i] * scale * w[i];
}

void head_norm(Device &device, float *x, const float *w, uint32_t T, uint32_t heads, uint32_t D, float eps, uint32_t ldx) {
  const uint32_t num = T * heads, each = THREADS / 32;
  norm_heads<<<(num + each - 1) / each, THREADS, 0, device.stream>>>(x, w, num, heads, D, eps, ldx);
  IGNIS_LAUNCHED(device);
}

// --- SwiGLU -------------------------------------------------------------------------------------------------------------------

// A thread has some values, so many that few blocks walk them all.
static __global__ void __launch_bounds__(THREADS) gate_values(float *y, const float *gate, const float *up, uint64_t num) {
  const uint64_t step = static_cast<uint64_t>(gridDim.x) * THREADS;
  for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * THREADS + threadIdx.x; i < num; i += step)
    y[i] = gate[i] / (1.0f + expf(-gate[i])) * up[i];
}

void swiglu(Device &device, float *y, const float *gate, const float *up, uint32_t T, uint32_t F) {
  const uint64_t num = static_cast<uint64_t>(T) * F, blocks = (num + THREADS - 1) / THREADS;
  const uint64_t most = static_cast<uint64_t>(device.num_multiprocessors) * 16;
  gate_values<<<static_cast<uint32_t>(blocks < most ? blocks : most), THREADS, 0, device.stream>>>(y, gate, up, num);
  IGNIS_LAUNCHED(device);
}

// --- rope and the KV pages ----------------------------------------------------------------------------------------------------

// A block has one row of the step. cosf and sinf reduce their arguments exactly: positions go to 2^24.
static __global__ void __launch_bounds__(THREADS) fill_angles(float *angles, const float *inv_freq, float scale, const int32_t *positions,
                                                              uint32_t D) {
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
  fill_angles<<<T, THREADS, 0, device.stream>>>(angles, rope.inv_freq, rope.scale, device.step.positions, D);
  IGNIS_LAUNCHED(device);
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

// A block has one row of the step: it turns the pairs of all heads, and stores the row's K and V into its page.
template <class Element>
static __global__ void __launch_bounds__(THREADS)
    rotate_and_store(float *q, float *k, const float *v, KvLayer kv, const int32_t *positions, const int32_t *page_tables,
                     uint32_t table_stride, uint32_t NH, ignis_rope_pairs pairs, const float *angles) {
  const uint64_t t = blockIdx.x;
  const uint32_t D = kv.D, NK = kv.NK, half = D / 2;
  const uint32_t position = static_cast<uint32_t>(positions[t]), slot = position % IGNIS_PAGE_TOKENS;
  const int32_t page = page_tables[t * table_stride + position / IGNIS_PAGE_TOKENS];
  Element *elements = reinterpret_cast<Element *>(kv.pool + static_cast<uint64_t>(page) * kv.page_stride + kv.layer_offset);
  const float *cosines = angles + t * 2 * D, *sines = cosines + D;
  for (uint32_t i = threadIdx.x; i < (NH + NK) * half; i += THREADS) {
    const uint32_t head = i / half, pair = i % half;
    const bool is_key = head >= NH;
    float *row = is_key ? k + (t * NK + head - NH) * D : q + (t * NH + head) * D;
    const PairPlace at = pair_place(pair, D, pairs);
    const float a = row[at.a], b = row[at.b], cosine = cosines[pair], sine = sines[pair];
    const float turned_a = a * cosine - b * sine, turned_b = b * cosine + a * sine;
    row[at.a] = turned_a;
    row[at.b] = turned_b;
    if (is_key) {
      put(elements + key_at(head - NH, slot, at.a, D), turned_a);
      put(elements + key_at(head - NH, slot, at.b, D), turned_b);
    }
  }
  for (uint32_t i = threadIdx.x; i < NK * D; i += THREADS)
    put(elements + value_at(i / D, slot, i % D, D, NK), v[t * NK * D + i]);
}

void rope_and_store(Device &device, float *q, float *k, const float *v, const KvLayer &kv, const Group *groups, uint32_t num_groups,
                    uint32_t NH, const Rope &rope, const float *angles) {
  const uint32_t T = rows_of(groups, num_groups).num, stride = num_groups > 1 ? device.step.max_pages : 0;
  const StepMemory &step = device.step;
  const auto launch = [&](auto kernel) {
    kernel<<<T, THREADS, 0, device.stream>>>(q, k, v, kv, step.positions, step.page_tables, stride, NH, rope.pairs, angles);
  };
  if (kv.dtype == IGNIS_F32)
    launch(rotate_and_store<float>);
  else if (kv.dtype == IGNIS_BF16)
    launch(rotate_and_store<__nv_bfloat16>);
  else
    launch(rotate_and_store<__half>);
  IGNIS_LAUNCHED(device);
}

uint64_t kv_layer_bytes(ignis_dtype dtype, uint32_t NK, uint32_t D) {
  return align_up(uint64_t{2} * NK * IGNIS_PAGE_TOKENS * D * (dtype == IGNIS_F32 ? 4 : 2), ARENA_ALIGNMENT);
}

}  // namespace ignis
