// launch.cuh: launches that overlap: where the card can (9.0 and later), a kernel may be put on it while the one before still runs.
//
// Every kernel that is launched so calls begin(), in every thread, before it reads anything but weights and what lies there since before the
// step's first kernel (the step's inputs, whose copy waits for all that was launched before it, and the KV of earlier steps), and before it
// writes anything: then what ran before is done and seen, and so is all that ran before that.
#pragma once

#include <cuda_runtime.h>

#include "device.h"
#include "target.h"

namespace ignis {

static __device__ __forceinline__ void begin() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// With so much dynamic shared memory for a block.
template <class... Parameters, class... Arguments>
static void launch_shared(Device &device, const char *name, void (*kernel)(Parameters...), dim3 grid, uint32_t threads, uint32_t shared_bytes,
                          Arguments... arguments) {
  if (shared_bytes > 48 * 1024)
    keep(device, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)), name);
  cudaLaunchAttribute overlaps{};
  overlaps.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlaps.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = device.stream;
  config.attrs = &overlaps;
  config.numAttrs = overlaps_launches(device.code) ? 1 : 0;
  keep(device, cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...), name);
}

template <class... Parameters, class... Arguments>
static void launch(Device &device, const char *name, void (*kernel)(Parameters...), dim3 grid, uint32_t threads, Arguments... arguments) {
  launch_shared(device, name, kernel, grid, threads, 0, arguments...);
}

}  // namespace ignis
