// barrier.cuh: barriers in shared memory that count threads, as sm_80 and later have them, and bytes that bulk copies bring, as sm_90 has.
#pragma once

#include <stdint.h>

namespace ignis {

static __device__ __forceinline__ uint32_t shared_address(const void *p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
static __device__ __forceinline__ void barrier_init(uint32_t barrier, uint32_t count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}
static __device__ __forceinline__ void barrier_init(uint64_t *barrier, uint32_t count) { barrier_init(shared_address(barrier), count); }
static __device__ __forceinline__ void barrier_arrive(uint64_t *barrier) {
  asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared.b64 state, [%0];\n}" ::"r"(shared_address(barrier)) : "memory");
}
// One lane arrives for its warp, whose accesses __syncwarp() has ordered before it. racecheck does not know that (tests/cuda/bulk_ring.cu),
// so a build for it has each lane arrive.
#if defined(IGNIS_LANES_ARRIVE)
inline constexpr uint32_t WARP_ARRIVALS = 32;
#else
inline constexpr uint32_t WARP_ARRIVALS = 1;
#endif
static __device__ __forceinline__ bool arrives_for_warp(uint32_t lane) { return lane < WARP_ARRIVALS; }
// Waits for the end of the barrier's phase with this parity.
static __device__ __forceinline__ void barrier_wait(uint32_t barrier, uint32_t parity) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n@done bra stop;\nbra again;\nstop:\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
#else
  asm volatile(
      "{\n.reg .pred done;\nagain:\nmbarrier.test_wait.parity.shared.b64 done, [%0], %1;\n@done bra stop;\nbra again;\nstop:\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
#endif
}
static __device__ __forceinline__ void barrier_wait(uint64_t *barrier, uint32_t parity) { barrier_wait(shared_address(barrier), parity); }

#if __CUDA_ARCH__ >= 900

// One lane of a whole warp, always the same one.
static __device__ __forceinline__ bool is_elected() {
  uint32_t result;
  asm volatile("{\n.reg .pred one;\nelect.sync _|one, 0xffffffff;\nselp.u32 %0, 1, 0, one;\n}" : "=r"(result));
  return result;
}
// The barriers that were made are seen by bulk copies.
static __device__ __forceinline__ void barriers_made() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
// An arrival that also announces bytes.
static __device__ __forceinline__ void barrier_expect(uint32_t barrier, uint32_t size_bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(size_bytes) : "memory");
}
static __device__ __forceinline__ void barrier_expect(uint64_t *barrier, uint32_t size_bytes) { barrier_expect(shared_address(barrier), size_bytes); }
// Both places and the size are multiples of 16 bytes.
static __device__ __forceinline__ void bulk_copy(uint32_t shared, const void *global, uint32_t size_bytes, uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared), "l"(global),
               "r"(size_bytes), "r"(barrier)
               : "memory");
}
static __device__ __forceinline__ void bulk_copy(void *shared, const void *global, uint32_t size_bytes, uint64_t *barrier) {
  bulk_copy(shared_address(shared), global, size_bytes, shared_address(barrier));
}
// What this thread wrote to shared memory is seen by bulk copies and by tensor cores that read shared memory.
static __device__ __forceinline__ void shared_written() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

#endif

// A barrier of some of a block's warps.
static __device__ __forceinline__ void warps_meet(uint32_t id, uint32_t num_threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(num_threads) : "memory");
}

// Counts this thread for such a barrier, which others wait for.
static __device__ __forceinline__ void warps_pass(uint32_t id, uint32_t num_threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(num_threads) : "memory");
}

}  // namespace ignis
