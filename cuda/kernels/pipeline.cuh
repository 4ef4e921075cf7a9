// pipeline.cuh: asynchronous copies from global to shared memory, as sm_80 and later have them.
#pragma once

#include <stdint.h>

namespace ignis {

// Sixteen bytes, past the first-level cache: weights are read once.
static __device__ __forceinline__ void copy_async(void *shared, const void *global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(shared))), "l"(global) : "memory");
}
static __device__ __forceinline__ void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until at most NUM of this thread's latest groups are under way.
template <uint32_t NUM>
static __device__ __forceinline__ void copy_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(NUM) : "memory");
}

}  // namespace ignis
