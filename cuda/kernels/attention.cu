// attention.cu: attention_round, attention_span, and the plain kernel of head sizes and page types without one of their own.
#include "attention.h"

#include <cuda_fp16.h>

#include "attention_round.cuh"
#include "attention_span.cuh"

namespace ignis {

static constexpr uint32_t GROUP_TOKENS = GROUP_PAGES * IGNIS_PAGE_TOKENS;

static uint64_t counters_bytes(uint32_t max_lanes, uint32_t NH) { return (uint64_t{max_lanes} * NH * sizeof(uint32_t) + 255) / 256 * 256; }
static uint32_t most_groups(uint32_t max_context) { return (max_context + GROUP_TOKENS - 1) / GROUP_TOKENS; }

uint64_t attention_workspace_bytes(uint32_t max_lanes, uint32_t max_context, uint32_t NH, uint32_t D) {
  return counters_bytes(IGNIS_MAX_LANES > max_lanes ? IGNIS_MAX_LANES : max_lanes, NH) +
         uint64_t{max_lanes} * NH * most_groups(max_context) * (D + 2) * sizeof(float);
}

// One block of 64 threads is one query head of one row; a thread is a position of a page for the scores, some dims for the output. Pages
// are merged in rising order.
template <class Element>
static __global__ void __launch_bounds__(IGNIS_PAGE_TOKENS) plain_kernel(float *out, const float *q, const uint8_t *pool, uint64_t page_stride,
                                                                         const Group *groups, bool is_span, uint32_t NH, uint32_t NK, uint32_t D) {
  extern __shared__ float plain_shared[];  // q [D], O [D]
  __shared__ float weights[IGNIS_PAGE_TOKENS], warp_value[2];
  const Group group = groups[is_span ? 0 : blockIdx.x];
  const uint32_t row = group.row + (is_span ? blockIdx.x : 0), position = group.position + (is_span ? blockIdx.x : 0);
  const uint32_t head = blockIdx.y, kv_head = head / (NH / NK), slot = threadIdx.x;
  float *query = plain_shared, *o = plain_shared + D;
  const float scale = 1.0f / sqrtf(static_cast<float>(D));
  for (uint32_t d = slot; d < D; d += IGNIS_PAGE_TOKENS) {
    query[d] = q[(uint64_t{row} * NH + head) * D + d] * scale;
    o[d] = 0.0f;
  }
  float maximum = -CUDART_INF_F, sum = 0.0f;
  __syncthreads();
  for (uint32_t page = 0; page <= position / IGNIS_PAGE_TOKENS; page++) {
    const uint32_t start = page * IGNIS_PAGE_TOKENS, num_seen = position - start + 1 < IGNIS_PAGE_TOKENS ? position - start + 1 : IGNIS_PAGE_TOKENS;
    const Element *memory = reinterpret_cast<const Element *>(pool + page_stride * static_cast<uint32_t>(group.page_table[page]));
    const Element *keys = memory + (uint64_t{kv_head} * IGNIS_PAGE_TOKENS + slot) * D;
    const Element *values = memory + (uint64_t{NK} + kv_head) * IGNIS_PAGE_TOKENS * D;
    float score = -CUDART_INF_F;
    if (slot < num_seen) {
      score = 0.0f;
      for (uint32_t d = 0; d < D; d++) score = fmaf(static_cast<float>(keys[d]), query[d], score);
    }
    float page_maximum = score;
    for (uint32_t i = 16; i; i >>= 1) page_maximum = fmaxf(page_maximum, __shfl_xor_sync(~0u, page_maximum, i));
    if (slot % 32 == 0) warp_value[slot / 32] = page_maximum;
    __syncthreads();
    page_maximum = fmaxf(warp_value[0], warp_value[1]);
    const float weight = slot < num_seen ? expf(score - page_maximum) : 0.0f;
    weights[slot] = weight;
    float page_sum = weight;
    for (uint32_t i = 16; i; i >>= 1) page_sum += __shfl_xor_sync(~0u, page_sum, i);
    __syncthreads();
    if (slot % 32 == 0) warp_value[slot / 32] = page_sum;
    __syncthreads();
    page_sum = warp_value[0] + warp_value[1];
    const float new_maximum = fmaxf(maximum, page_maximum);
    const float old_factor = expf(maximum - new_maximum), new_factor = expf(page_maximum - new_maximum);
    for (uint32_t d = slot; d < D; d += IGNIS_PAGE_TOKENS) {
      float part = 0.0f;
      for (uint32_t i = 0; i < num_seen; i++) part = fmaf(static_cast<float>(values[d * IGNIS_PAGE_TOKENS + i]), weights[i], part);
      o[d] = fmaf(part, new_factor, o[d] * old_factor);
    }
    sum = fmaf(page_sum, new_factor, sum * old_factor);
    maximum = new_maximum;
    __syncthreads();
  }
  for (uint32_t d = slot; d < D; d += IGNIS_PAGE_TOKENS) out[(uint64_t{row} * NH + head) * D + d] = o[d] * (1.0f / sum);
}

static void launch_plain(float *out, const float *q, const KvLayer &kv, const Group *groups, bool is_span, uint32_t num_rows, uint32_t NH,
                         cudaStream_t stream) {
  const dim3 grid(num_rows, NH);
  const uint32_t shared_bytes = 2 * kv.D * sizeof(float);
  const uint8_t *pool = kv.pool + kv.layer_offset;
  if (kv.dtype == IGNIS_F16)
    plain_kernel<__half><<<grid, IGNIS_PAGE_TOKENS, shared_bytes, stream>>>(out, q, pool, kv.page_stride, groups, is_span, NH, kv.NK, kv.D);
  else
    plain_kernel<float><<<grid, IGNIS_PAGE_TOKENS, shared_bytes, stream>>>(out, q, pool, kv.page_stride, groups, is_span, NH, kv.NK, kv.D);
}

// The same answer in prefill and decode: the two ways of summing have different bits.
static bool is_plain(const KvLayer &kv) { return kv.dtype != IGNIS_F16 || (kv.D != 128 && kv.D != 64); }

template <uint32_t D>
static void launch_round(const RoundArguments &args, uint32_t num_blocks, cudaStream_t stream) {
  constexpr uint32_t shared_bytes = GROUP_PAGES * 8 * (D + 4) * sizeof(float);
  round_kernel<D><<<num_blocks, GROUP_PAGES * 32, shared_bytes, stream>>>(args);
}

void attention_round(float *out, const float *q, const KvLayer &kv, const Group *groups, uint32_t num_rows, uint32_t NH,
                     uint32_t max_context, void *workspace, uint32_t num_multiprocessors, cudaStream_t stream) {
  if (num_rows == 0) return;
  if (is_plain(kv)) return launch_plain(out, q, kv, groups, false, num_rows, NH, stream);
  const RoundArguments args{out,
                            q,
                            kv.pool + kv.layer_offset,
                            kv.page_stride,
                            groups,
                            num_rows,
                            NH,
                            kv.NK,
                            most_groups(max_context),
                            static_cast<uint32_t *>(workspace),
                            reinterpret_cast<float *>(static_cast<uint8_t *>(workspace) + counters_bytes(IGNIS_MAX_LANES, NH))};
  const uint32_t blocks = 2 * num_multiprocessors;
  if (kv.D == 128)
    launch_round<128>(args, blocks, stream);
  else
    launch_round<64>(args, blocks, stream);
}

template <uint32_t D>
static void launch_span(const SpanArguments &args, cudaStream_t stream) {
  constexpr uint32_t shared_bytes = span_shared_bytes<D>();
  cudaFuncSetAttribute(span_kernel<D>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  const uint32_t columns = args.T * (args.NH / args.NK);
  const dim3 grid((columns + SPAN_COLUMNS - 1) / SPAN_COLUMNS, args.NK);
  span_kernel<D><<<grid, SPAN_WARPS * 32, shared_bytes, stream>>>(args);
}

void attention_span(float *out, const float *q, const KvLayer &kv, const Group *group, uint32_t T, uint32_t NH,
                    cudaStream_t stream) {
  if (T == 0) return;
  if (is_plain(kv)) return launch_plain(out, q, kv, group, true, T, NH, stream);
  const SpanArguments args{out, q, kv.pool + kv.layer_offset, kv.page_stride, group, T, NH, kv.NK};
  if (kv.D == 128)
    launch_span<128>(args, stream);
  else
    launch_span<64>(args, stream);
}

}  // namespace ignis
