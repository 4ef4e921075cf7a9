// bulk_ring.cu: the smallest ring of bulk copies and mbarriers, for one question: what racecheck says of a kernel that has no race.
//
// A thread brings 256 floats at a time into two stages in turn; 128 others wait for a stage's full barrier, read it, and arrive at its
// empty barrier, which the thread waits for before it copies there again. usage: bulk_ring bulk|plain|racy
//   bulk   the copies are cp.async.bulk, counted by the full barrier in bytes
//   plain  the same ring and the same barriers, filled by ordinary stores of one warp
//   racy   as plain, but a stage is read before its full barrier is waited for
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

constexpr uint32_t STAGES = 2, FLOATS = 256, READERS = 128;
enum Mode : uint32_t { bulk, plain, racy };

static __device__ uint32_t shared_address(const void *p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

static __device__ void wait(uint64_t *barrier, uint32_t parity) {
  asm volatile("{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n@done bra stop;\nbra again;\nstop:\n}" ::"r"(
                   shared_address(barrier)),
               "r"(parity)
               : "memory");
}
static __device__ void arrive(uint64_t *barrier) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

template <Mode MODE>
static __global__ void ring(float *sums, const float *x, uint32_t num) {
  __shared__ __align__(128) float stages[STAGES][FLOATS];
  __shared__ uint64_t full[STAGES], empty[STAGES];
  const uint32_t lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < STAGES; i++) {
      asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(full + i)), "r"(MODE == bulk ? 1 : 32) : "memory");
      asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(empty + i)), "r"(READERS) : "memory");
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x >= READERS) {
    for (uint32_t i = 0; i < num; i++) {
      const uint32_t stage = i % STAGES, turn = i / STAGES;
      if (turn > 0) wait(empty + stage, (turn - 1) % 2);
      if (MODE != bulk) {
        for (uint32_t k = lane; k < FLOATS; k += 32) stages[stage][k] = x[i * FLOATS + k];
        arrive(full + stage);
      } else if (lane == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(full + stage)), "r"(FLOATS * 4) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                         shared_address(stages[stage])),
                     "l"(x + i * FLOATS), "r"(FLOATS * 4), "r"(shared_address(full + stage))
                     : "memory");
      }
    }
    return;
  }
  float sum = 0;
  for (uint32_t i = 0; i < num; i++) {
    const uint32_t stage = i % STAGES;
    if (MODE != racy) wait(full + stage, i / STAGES % 2);
    for (uint32_t k = threadIdx.x; k < FLOATS; k += READERS) sum += stages[stage][k];
    if (MODE == racy) wait(full + stage, i / STAGES % 2);
    arrive(empty + stage);
  }
  sums[threadIdx.x] = sum;
}

int main(int, char **arguments) {
  const uint32_t num = 64;
  static float x[num * FLOATS], sums[READERS];
  for (uint32_t i = 0; i < num * FLOATS; i++) x[i] = static_cast<float>(i % 251);
  float *device_x, *device_sums;
  cudaMalloc(&device_x, sizeof x);
  cudaMalloc(&device_sums, sizeof sums);
  cudaMemcpy(device_x, x, sizeof x, cudaMemcpyHostToDevice);
  if (!strcmp(arguments[1], "bulk")) ring<bulk><<<1, READERS + 32>>>(device_sums, device_x, num);
  if (!strcmp(arguments[1], "plain")) ring<plain><<<1, READERS + 32>>>(device_sums, device_x, num);
  if (!strcmp(arguments[1], "racy")) ring<racy><<<1, READERS + 32>>>(device_sums, device_x, num);
  const cudaError_t error = cudaMemcpy(sums, device_sums, sizeof sums, cudaMemcpyDeviceToHost);
  if (error != cudaSuccess) return fprintf(stderr, "%s\n", cudaGetErrorString(error)), 2;
  for (uint32_t t = 0; t < READERS; t++) {
    float expected = 0;
    for (uint32_t i = 0; i < num; i++)
      for (uint32_t k = t; k < FLOATS; k += READERS) expected += x[i * FLOATS + k];
    if (sums[t] != expected) return fprintf(stderr, "thread %u has %g, not %g\n", t, sums[t], expected), 3;
  }
  return 0;
}
