// linear_launch.cuh: what linear.cu and the units that hold the kernels of some weight types know of each other.
#pragma once

#include "../ops/ops.h"
#include "linear_narrow.cuh"

namespace ignis {

struct LinearLaunch {
  NarrowJobs jobs;  // first_item is filled by the launcher
  const uint8_t *input;
  uint32_t T, K, num_multiprocessors, code;
  cudaStream_t stream;
};

template <ignis_dtype DTYPE>
void launch_linear(LinearLaunch launch);

}  // namespace ignis
