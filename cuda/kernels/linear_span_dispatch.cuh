// linear_span_dispatch.cuh: which kernel serves a launch of one weight type, and with which tile. Bits do not depend on it.
#pragma once

#include <cudaTypedefs.h>
#include <cuda_runtime.h>

#include "linear_span_shapes.cuh"
#include "linear_span_warp.cuh"
#include "linear_span_warpgroup.cuh"

namespace ignis {

// The driver's function that describes matrices to tensor copies; null where there is no driver that has it.
inline PFN_cuTensorMapEncodeTiled_v12000 encode_tiled() {
  void *found = nullptr;
  cudaDriverEntryPointQueryResult result;
  if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result) != cudaSuccess) return nullptr;
  return result == cudaDriverEntryPointSuccess ? reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(found) : nullptr;
}

// y [T, ldy] in tiles of 32 x 32, swizzled over 128 bytes.
inline void describe_targets(SpanLaunch *launch, SpanTargets *targets) {
  static const PFN_cuTensorMapEncodeTiled_v12000 encode = encode_tiled();
  for (uint32_t i = 0; i < launch->jobs.num; i++) {
    SpanJob &job = launch->jobs.job[i];
    job.is_tensor = encode && job.ldy % 4 == 0 && reinterpret_cast<uintptr_t>(job.y) % 16 == 0;
    if (!job.is_tensor) continue;
    const cuuint64_t sizes[2] = {job.rows, launch->T}, strides[1] = {uint64_t{job.ldy} * sizeof(float)};
    const cuuint32_t box[2] = {32, 32}, steps[2] = {1, 1};
    job.is_tensor = encode(targets->y + i, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, job.y, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                           CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
  }
}

template <ignis_dtype DTYPE, uint32_t GROUPS, uint32_t TOKENS>
static void launch_group(SpanLaunch &launch, const SpanTargets &targets) {
  using Tile = SpanTile<DTYPE, GROUPS, TOKENS>;
  const auto kernel = span_group_kernel<DTYPE, GROUPS, TOKENS>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Tile::SHARED_BYTES);
  const uint32_t places = set_items(&launch.jobs, GROUPS * 64) * ((launch.T + TOKENS - 1) / TOKENS);
  const uint32_t turns = (places + launch.num_multiprocessors - 1) / launch.num_multiprocessors;
  kernel<<<(places + turns - 1) / turns, Tile::THREADS, Tile::SHARED_BYTES, launch.stream>>>(launch.jobs, targets, launch.input, launch.T, launch.K);
}

template <ignis_dtype DTYPE, class Tile>
static void launch_warps(SpanLaunch &launch) {
  const uint32_t shared_bytes = Tile::shared_bytes(launch.code);
  cudaFuncSetAttribute(span_warp_kernel<DTYPE, Tile>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes));
  const uint32_t places = set_items(&launch.jobs, Tile::ROWS) * ((launch.T + Tile::TOKENS - 1) / Tile::TOKENS);
  span_warp_kernel<DTYPE, Tile><<<places, Tile::THREADS, shared_bytes, launch.stream>>>(launch.jobs, launch.input, launch.T, launch.K);
}

template <ignis_dtype DTYPE>
static void launch_shape(SpanLaunch &launch, uint32_t shape) {
  SpanTargets targets{};
  describe_targets(&launch, &targets);
  switch (shape) {
    case 0: launch_group<DTYPE, 2, 256>(launch, targets); break;
    case 1: launch_group<DTYPE, 2, 128>(launch, targets); break;
    case 2: launch_group<DTYPE, 1, 128>(launch, targets); break;
    case 3: launch_group<DTYPE, 1, 64>(launch, targets); break;
    default: launch_group<DTYPE, 1, 8>(launch, targets); break;
  }
}

template <ignis_dtype DTYPE>
void launch_span(SpanLaunch launch) {
  if (launch.code == 90)
    launch_shape<DTYPE>(launch, cheapest_shape(&launch, SPAN_SHAPES));
  else if (launch.T <= 8)
    launch_warps<DTYPE, NarrowWarpTile<DTYPE>>(launch);
  else
    launch_warps<DTYPE, WideWarpTile<DTYPE>>(launch);
}

}  // namespace ignis
