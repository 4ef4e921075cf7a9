// attention.cu: which kernels attention takes, and the plain kernel of head sizes and page types without one of their own.
#include "attention.h"
#include "attention_merge.cuh"
#include "attention_round.cuh"
#include "attention_span.cuh"
#include "attention_warpgroup.cuh"
#include "device.h"
#include "rope.h"

namespace ignis {

uint64_t attention_bytes(uint32_t, uint32_t, uint32_t NH, uint32_t, uint32_t D) {
  return align_up(uint64_t{IGNIS_MAX_LANES} * NH * MAX_SPLITS * (D + 4) * sizeof(float), ARENA_ALIGNMENT);  // RoundArguments::parts
}

// One block of 64 threads is one query head of one row; a thread is a position of a page for the scores, some dims for the output. Pages
// are merged in rising order.
template <class Element>
static __global__ void __launch_bounds__(IGNIS_PAGE_TOKENS)
    plain_kernel(const __grid_constant__ AttentionArguments args, bool is_span, uint32_t D) {
  extern __shared__ float plain_shared[];  // q [D], O [D]
  __shared__ float weights[IGNIS_PAGE_TOKENS], warp_value[2];
  begin();
  const Group group = args.groups[is_span ? 0 : blockIdx.x];
  const uint32_t row = group.row + (is_span ? blockIdx.x : 0), position = group.position + (is_span ? blockIdx.x : 0);
  const uint32_t head = blockIdx.y, kv_head = head / (args.NH / args.NK), slot = threadIdx.x;
  float *query = plain_shared, *o = plain_shared + D;
  if (slot < 32) {
    const float scale = 1.0f / sqrtf(static_cast<float>(D));
    turn_head(args.q + (uint64_t{row} * args.NH + head) * D, args.maker.norm, args.maker.eps, D, args.maker.pairs,
              args.maker.angles + uint64_t{row} * 2 * D, [&](uint32_t dim, float value) { query[dim] = value * scale; });
  }
  for (uint32_t d = slot; d < D; d += IGNIS_PAGE_TOKENS) o[d] = 0.0f;
  float maximum = -CUDART_INF_F, sum = 0.0f;
  __syncthreads();
  for (uint32_t page = 0; page <= position / IGNIS_PAGE_TOKENS; page++) {
    const uint32_t left = position - page * IGNIS_PAGE_TOKENS + 1, num_seen = left < IGNIS_PAGE_TOKENS ? left : IGNIS_PAGE_TOKENS;
    const Element *memory = reinterpret_cast<const Element *>(args.pool + args.page_stride * static_cast<uint32_t>(group.page_table[page]));
    float score = -CUDART_INF_F;
    if (slot < num_seen) {
      score = 0.0f;
      for (uint32_t d = 0; d < D; d++) score = fmaf(static_cast<float>(memory[key_at(kv_head, slot, d, D)]), query[d], score);
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
      for (uint32_t i = 0; i < num_seen; i++)
        part = fmaf(static_cast<float>(memory[value_at(kv_head, i, d, D, args.NK)]), weights[i], part);
      o[d] = fmaf(part, new_factor, o[d] * old_factor);
    }
    sum = fmaf(page_sum, new_factor, sum * old_factor);
    maximum = new_maximum;
    __syncthreads();
  }
  for (uint32_t d = slot; d < D; d += IGNIS_PAGE_TOKENS) args.out[(uint64_t{row} * args.NH + head) * D + d] = o[d] * (1.0f / sum);
}

template <class Element>
static void run_plain(Device &device, const AttentionArguments &args, uint32_t num_rows, uint32_t D) {
  launch_shared(device, "attention", plain_kernel<Element>, dim3(num_rows, args.NH), IGNIS_PAGE_TOKENS, 2 * D * sizeof(float), args,
                device.phase == Phase::prefill, D);
}

template <class Element, uint32_t D>
static void run_round(Device &device, const RoundArguments &args, const AttentionOutput &output) {
  const uint32_t heads = args.NH / args.NK, slot_bytes = 2 * IGNIS_PAGE_TOKENS * D * sizeof(Element);
  const uint32_t behind = RoundShared(D, heads < 8 ? heads : 8, sizeof(Element)).size_bytes;
  RoundArguments taken = args;
  const uint32_t num_slots = (shared_bytes_of(device.code, 1) - 2048 - behind) / slot_bytes;
  taken.num_slots = num_slots < MAX_SLOTS ? num_slots : MAX_SLOTS;
  launch_shared(device, "attention", round_kernel<Element, D>, dim3(device.num_multiprocessors), ROUND_THREADS,
                taken.num_slots * slot_bytes + behind, taken);
  launch(device, "attention", merge_kernel<D>, dim3((args.num_rows * args.NH * (D / 64) + 3) / 4), 128,
         output.input && !output.wants_rows ? nullptr : output.rows, output.input, args.parts, args.groups, args.num_rows, args.NH);
}

template <class Element, uint32_t D>
static void run_span(Device &device, const SpanArguments &args) {
  const uint32_t columns = args.T * (args.NH / args.NK);
  static_assert(fits_everywhere([](uint32_t) { return span_shared_bytes<Element, D>(); }));
  if (device.code != 90)
    return launch_shared(device, "attention", span_kernel<Element, D>, dim3(args.NK, (columns + SPAN_COLUMNS - 1) / SPAN_COLUMNS),
                         SPAN_WARPS * 32, span_shared_bytes<Element, D>(), args);
  // Blocks of one warpgroup take four fifths of the time of those of two, for half the columns: they pay where they need no more turns.
  const uint32_t num = static_cast<uint32_t>(device.num_multiprocessors);
  const uint32_t single = (columns + 63) / 64, pairs = (columns + 127) / 128;
  if ((single * args.NK + num - 1) / num * 4 < (pairs * args.NK + num - 1) / num * 5)
    launch_shared(device, "attention", group_span_kernel<Element, D, 1, 2, false>, dim3(args.NK, single), 256,
                  GroupSpan<Element, D, 1>::SHARED_BYTES, args);
  else
    launch_shared(device, "attention", group_span_kernel<Element, D, 2, 2, true>, dim3(args.NK, pairs), 384,
                  GroupSpan<Element, D, 2>::SHARED_BYTES, args);
}

template <class Element>
static bool run(Device &device, const AttentionArguments &args, const AttentionOutput &output, const KvLayer &kv, const float *k, const float *v,
                const Group *groups, uint32_t num_groups, uint32_t first_wanted, const HeadNorms &norms, const Rope &rope, void *workspace) {
  const uint32_t num_rows = rows_of(groups, num_groups).num, D = kv.D;
  // Heads of other sizes, and float32, have one kernel for both phases.
  const bool is_plain = sizeof(Element) == 4 || (D != 64 && D != 128), is_round = device.phase == Phase::decode;
  if (is_plain || !is_round) store_kv(device, k, v, kv, groups, num_groups, norms, rope, args.maker.angles);
  if (first_wanted == num_rows) return false;
  AttentionArguments wanted = args;
  if (first_wanted > 0) wanted.groups++;  // those rows' own group
  if (is_plain) {
    run_plain<Element>(device, wanted, num_rows - first_wanted, D);
    return false;
  }
  if constexpr (sizeof(Element) < 4) {
    if (is_round) {
      const RoundArguments round{wanted, k, v, norms.k, kv.pool + kv.layer_offset, num_rows, 0, static_cast<float *>(workspace)};
      D == 128 ? run_round<Element, 128>(device, round, output) : run_round<Element, 64>(device, round, output);
      return output.input != nullptr;
    }
    const SpanArguments span{wanted, num_rows - first_wanted};
    D == 128 ? run_span<Element, 128>(device, span) : run_span<Element, 64>(device, span);
  }
  return false;
}

bool attention_run(Device &device, const AttentionOutput &output, const float *q, const float *k, const float *v, const KvLayer &kv,
                   const Group *groups, uint32_t num_groups, uint32_t first_wanted, uint32_t NH, const HeadNorms &norms, const Rope &rope,
                   const float *angles, void *workspace) {
  const AttentionArguments args{output.rows, q, kv.pool + kv.layer_offset, kv.page_stride, device.step.groups, NH, kv.NK,
                                QueryMaker{norms.q, angles, norms.eps, rope.pairs}};
  const auto run_on = [&]<class Element>() {
    return run<Element>(device, args, output, kv, k, v, groups, num_groups, first_wanted, norms, rope, workspace);
  };
  switch (kv.dtype) {
    case IGNIS_F32: return run_on.template operator()<float>();
    case IGNIS_BF16: return run_on.template operator()<__nv_bfloat16>();
    case IGNIS_F8_E4M3: return run_on.template operator()<__nv_fp8_e4m3>();
    default: return run_on.template operator()<__half>();
  }
}

}  // namespace ignis
