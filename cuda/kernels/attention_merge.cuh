// attention_merge.cuh: the second launch of a decode round's attention: the parts of a query head become its output.
#pragma once

#include "attention_items.cuh"
#include "launch.cuh"
#include "round_input.cuh"

namespace ignis {

// A warp has 64 dims of one query head of one row. out [rows, NH D] and input, in the form of round_input.cuh, are each written where they
// are given. A block has room beside one of round_kernel's: it is there before that one ends.
template <uint32_t D>
static __global__ void __launch_bounds__(128, 8)
    merge_kernel(float *out, uint8_t *input, const float *parts, const Group *groups, uint32_t num_rows, uint32_t NH) {
  constexpr uint32_t DIMS = 2, WARPS = D / 64, PART = D + 4;  // a lane's dims, a head's warps
  struct alignas(4 * DIMS) Numbers {
    float of[DIMS];
  };
  const uint32_t lane = threadIdx.x % 32, warp = blockIdx.x * 4 + threadIdx.x / 32, index = warp / WARPS, row = index / NH;
  const uint32_t first = warp % WARPS * 64 + lane * DIMS;
  const Group group = groups[row < num_rows ? row : 0];  // of the step's inputs
  const uint32_t splits = num_splits_of(group.position);
  begin();
  if (row >= num_rows) return;
  const float *own = parts + uint64_t{index} * (MAX_SPLITS * PART);
  const float2 its = lane < splits ? *reinterpret_cast<const float2 *>(own + lane * PART + D) : make_float2(-CUDART_INF_F, 0.0f);
  Numbers each[MAX_SPLITS];
#pragma unroll
  for (uint32_t i = 0; i < MAX_SPLITS; i++)
    if (i < splits) each[i] = *reinterpret_cast<const Numbers *>(own + i * PART + first);
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
  const uint32_t head = index % NH, column = head * D + first;
  if (out) *reinterpret_cast<Numbers *>(out + uint64_t{group.row} * NH * D + column) = o;
  if (!input) return;
  store_columns<DIMS>(input, group.row, column, o.of, attention_scale());
  const RoundLayout layout = round_layout(NH * D);
  if (column == 0) store_scale(input, layout, group.row, attention_scale());
  if (head == NH - 1 && warp % WARPS == 0)
    for (uint32_t i = NH * D / GROUP_COLS + lane; i < layout.groups; i += 32) fill_group(input, group.row, i);
}

}  // namespace ignis
