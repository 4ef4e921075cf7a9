// bulk_ring.cu: the smallest ring of bulk copies and mbarriers, for one question: what racecheck says of a kernel that has no race.
//
// A warp brings 256 floats at a time into two stages in turn; four others wait for a stage's full barrier, read it, and arrive at its
// empty barrier, which the first one waits for before it writes there again. usage: bulk_ring FILL ARRIVAL
//   FILL     stores   ordinary stores of the whole warp, each lane of which arrives at the full barrier
//            copies   cp.async.bulk by one lane; the full barrier counts its bytes
//   ARRIVAL  lanes    each reader arrives at the empty barrier by itself
//            warps    one lane arrives for its warp, behind __syncwarp()
//            late     as lanes, but a stage is read before its full barrier is waited for: a race
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

constexpr uint32_t STAGES = 2, FLOATS = 256, READERS = 128;
enum Fill : uint32_t { stores, copies };
enum Arrival : uint32_t { lanes, warps, late };

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

template <Fill FILL, Arrival ARRIVAL>
static __global__ void ring(float *sums, const float *x, uint32_t num) {
  __shared__ __align__(128) float stages[STAGES][FLOATS];
  __shared__ uint64_t full[STAGES], empty[STAGES];
  const uint32_t lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < STAGES; i++) {
      asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(full + i)), "r"(FILL == copies ? 1 : 32) : "memory");
      asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(empty + i)), "r"(ARRIVAL == warps ? READERS / 32 : READERS) : "memory");
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x >= READERS) {
    for (uint32_t i = 0; i < num; i++) {
      const uint32_t stage = i % STAGES, turn = i / STAGES;
      if (turn > 0) wait(empty + stage, (turn - 1) % 2);
      if (FILL == stores) {
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
    if (ARRIVAL != late) wait(full + stage, i / STAGES % 2);
    for (uint32_t k = threadIdx.x; k < FLOATS; k += READERS) sum += stages[stage][k];
    if (ARRIVAL == late) wait(full + stage, i / STAGES % 2);
    if (ARRIVAL == warps) __syncwarp();
    if (ARRIVAL != warps || lane == 0) arrive(empty + stage);
  }
  sums[threadIdx.x] = sum;
}

template <Fill FILL>
static void launch(const char *arrival, float *sums, const float *x, uint32_t num) {
  if (!strcmp(arrival, "lanes")) ring<FILL, lanes><<<1, READERS + 32>>>(sums, x, num);
  if (!strcmp(arrival, "warps")) ring<FILL, warps><<<1, READERS + 32>>>(sums, x, num);
  if (!strcmp(arrival, "late")) ring<FILL, late><<<1, READERS + 32>>>(sums, x, num);
}

int main(int num_arguments, char **arguments) {
  if (num_arguments != 3) return fprintf(stderr, "usage: bulk_ring stores|copies lanes|warps|late\n"), 1;
  const uint32_t num = 64;
  static float x[num * FLOATS], sums[READERS];
  for (uint32_t i = 0; i < num * FLOATS; i++) x[i] = static_cast<float>(i % 251);
  float *device_x, *device_sums;
  cudaMalloc(&device_x, sizeof x);
  cudaMalloc(&device_sums, sizeof sums);
  cudaMemcpy(device_x, x, sizeof x, cudaMemcpyHostToDevice);
  if (!strcmp(arguments[1], "stores"))
    launch<stores>(arguments[2], device_sums, device_x, num);
  else
    launch<copies>(arguments[2], device_sums, device_x, num);
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
