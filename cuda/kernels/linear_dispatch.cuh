// linear_dispatch.cuh: which kernel serves a launch of one weight type.
#pragma once

#include <cuda_runtime.h>

#include "linear_launch.cuh"
#include "target.h"

namespace ignis {

inline void set_items(NarrowJobs *jobs, uint32_t tiles_an_item) {
  jobs->first_item[0] = 0;
  for (uint32_t i = 0; i < MAX_JOBS; i++)
    jobs->first_item[i + 1] = jobs->first_item[i] + (i < jobs->num ? (num_tiles(jobs->job[i].rows) + tiles_an_item - 1) / tiles_an_item : 0);
}

template <ignis_dtype DTYPE, uint32_t TILES>
static void launch_narrow(LinearLaunch &launch) {
  set_items(&launch.jobs, TILES);
  constexpr uint32_t shared_bytes = narrow_shared_bytes<DTYPE, TILES>();
  static_assert(shared_bytes <= 226 / narrow_blocks(TILES) * 1024);
  cudaFuncSetAttribute(narrow_kernel<DTYPE, TILES>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  const uint32_t items = launch.jobs.first_item[launch.jobs.num], resident = narrow_blocks(TILES) * launch.num_multiprocessors;
  // Equal turns: 300 items on 264 places are two turns of 150 blocks.
  const uint32_t turns = (items + resident - 1) / resident;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3((items + turns - 1) / turns);
  config.blockDim = dim3(NARROW_WARPS * 32);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = launch.stream;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &attribute;
  config.numAttrs = overlaps_launches(launch.code) ? 1 : 0;
  cudaLaunchKernelEx(&config, narrow_kernel<DTYPE, TILES>, static_cast<const NarrowJobs>(launch.jobs), launch.input, launch.T, launch.K);
}

template <ignis_dtype DTYPE>
void launch_linear(LinearLaunch launch) {
  // As many tiles at a time as give every multiprocessor the same share. Bits do not depend on it.
  set_items(&launch.jobs, 1);
  const uint32_t tiles = launch.jobs.first_item[launch.jobs.num], multiprocessors = launch.num_multiprocessors;
  // Two records of Q6_K leave no room for a ring.
  constexpr uint32_t two = DTYPE == IGNIS_Q6_K ? 1 : 2;
  if (tiles >= 4 * multiprocessors)
    launch_narrow<DTYPE, two>(launch);
  else if (tiles > 2 * multiprocessors && tiles <= 3 * multiprocessors && shared_kb(launch.code) >= 227)
    launch_narrow<DTYPE, 3>(launch);
  else
    launch_narrow<DTYPE, 1>(launch);
}

}  // namespace ignis
