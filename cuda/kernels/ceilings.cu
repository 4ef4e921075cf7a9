// ceilings.cu: what this card can do, measured: reading, copying, and 16-bit products of its tensor cores from registers and shared memory.
#include "../base/status.h"
#include "device.h"
#include "synthetic.h"

namespace ignis {

static constexpr uint64_t MEMORY_BYTES = uint64_t{2} << 30;  // far past the L2
static constexpr int ROUNDS = 7;
static constexpr uint32_t READ_THREADS = 512, READ_BLOCKS = 2;  // of a multiprocessor
static constexpr uint32_t PRODUCT_THREADS = 256, PRODUCT_STEPS = 4096;
static constexpr uint32_t B_BYTES = 256 * 16 * 2, B_TILES = 8;  // tokens of a wgmma, and how many of them lie in shared memory
static constexpr double WARPGROUP_FLOPS = 2.0 * 64 * 256 * 16, WARPS_FLOPS = 2.0 * 4 * 8 * 16 * 8 * 16;  // of four warps in a step

static __global__ void __launch_bounds__(READ_THREADS) read_all(const uint4 *memory, uint64_t num, uint32_t *sum) {
  constexpr int DEPTH = 8;
  const uint64_t stride = uint64_t{gridDim.x} * READ_THREADS;
  uint32_t own = 0;
  for (uint64_t i = uint64_t{blockIdx.x} * READ_THREADS + threadIdx.x; i < num; i += DEPTH * stride) {
    uint4 words[DEPTH];
#pragma unroll
    for (int j = 0; j < DEPTH; j++) words[j] = i + j * stride < num ? __ldcs(memory + i + j * stride) : uint4{};
#pragma unroll
    for (int j = 0; j < DEPTH; j++) own ^= words[j].x ^ words[j].y ^ words[j].z ^ words[j].w;
  }
  if (own == 0x5eed5eedu) *sum = own;  // somebody wants it
}

// Half-precision numbers of [-1, 1), two in a word.
static __device__ __forceinline__ uint32_t random_halves(uint32_t n) {
  const uint32_t word = philox({{n, blockIdx.x, 0, 0}}, 1, 2).words[0];
  return (word & 0x83ff83ffu) | 0x38003800u;
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// c += a b, 64 x 256 x 16: a from registers, b as linear_span_warpgroup.cuh has them.
static __device__ __forceinline__ void multiply(float (&c)[128], const uint32_t a[4], uint64_t b) {
#define IGNIS_F8(i) "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3]), "+f"(c[i + 4]), "+f"(c[i + 5]), "+f"(c[i + 6]), "+f"(c[i + 7])
#define IGNIS_F32(i) IGNIS_F8(i), IGNIS_F8(i + 8), IGNIS_F8(i + 16), IGNIS_F8(i + 24)
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, "
      "%26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, "
      "%50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, "
      "%74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, "
      "%98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, "
      "%118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
      "{%128, %129, %130, %131}, %132, 1, 1, 1, 0;"
      : IGNIS_F32(0), IGNIS_F32(32), IGNIS_F32(64), IGNIS_F32(96)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
#undef IGNIS_F32
#undef IGNIS_F8
}

#endif

// Every warpgroup multiplies for PRODUCT_STEPS steps.
static __global__ void __launch_bounds__(PRODUCT_THREADS) multiply_all(float *sums) {
  uint32_t a[4];
  for (uint32_t i = 0; i < 4; i++) a[i] = random_halves(threadIdx.x * 4 + i);
  float total = 0;
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(128) uint32_t shared[];
  for (uint32_t i = threadIdx.x; i < B_TILES * B_BYTES / 4; i += PRODUCT_THREADS) shared[i] = random_halves(4096 + i);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const uint32_t base = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  float c[128] = {};
  for (uint32_t step = 0; step < PRODUCT_STEPS; step += 4) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) {
      const uint32_t address = base + (step + i) % B_TILES * B_BYTES;
      multiply(c, a, uint64_t{(address & 0x3ffffu) >> 4} | uint64_t{128 >> 4} << 16 | uint64_t{256 >> 4} << 32);
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (uint32_t i = 0; i < 128; i++) total += c[i];
#else
  float c[8][4] = {};
  const uint32_t b0 = random_halves(threadIdx.x + 4096), b1 = random_halves(threadIdx.x + 8192);
  for (uint32_t step = 0; step < PRODUCT_STEPS; step++)
#pragma unroll
    for (uint32_t i = 0; i < 8; i++)
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                   : "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  for (uint32_t i = 0; i < 8; i++) total += c[i][0] + c[i][1] + c[i][2] + c[i][3];
#endif
  if (total == 1234567.0f) *sums = total;  // somebody wants it
}

// The median seconds of ROUNDS calls of queue(), after as many to warm up.
template <class Queue>
static double median_s(Device &device, const Queue &queue) {
  cudaEvent_t start = nullptr, stop = nullptr;
  IGNIS_CUDA(device, cudaEventCreate(&start));
  IGNIS_CUDA(device, cudaEventCreate(&stop));
  double sorted[ROUNDS] = {};
  for (int round = -ROUNDS; round < ROUNDS; round++) {
    float took_ms = 0;
    IGNIS_CUDA(device, cudaEventRecord(start, device.stream));
    queue();
    IGNIS_CUDA(device, cudaEventRecord(stop, device.stream));
    IGNIS_CUDA(device, cudaEventSynchronize(stop));
    IGNIS_CUDA(device, cudaEventElapsedTime(&took_ms, start, stop));
    if (round < 0) continue;
    int place = round;
    for (; place > 0 && sorted[place - 1] > took_ms * 1e-3; place--) sorted[place] = sorted[place - 1];
    sorted[place] = took_ms * 1e-3;
  }
  if (start) cudaEventDestroy(start);
  if (stop) cudaEventDestroy(stop);
  return sorted[ROUNDS / 2];
}

static void measure(Device &device, uint8_t *memory, ignis_ceilings *result) {
  Matrix random;  // memory that is all alike might be answered faster
  random.rows = 1 << 18;
  random.cols = static_cast<uint32_t>(MEMORY_BYTES / 2 / random.rows);
  random.dtype = IGNIS_F16;
  random.seed = 1;
  synthesize(memory, random, 0, MEMORY_BYTES, device.stream);
  IGNIS_LAUNCHED(device);
  const uint32_t processors = static_cast<uint32_t>(device.num_multiprocessors);
  const double read_s = median_s(device, [&] {
    read_all<<<processors * READ_BLOCKS, READ_THREADS, 0, device.stream>>>(reinterpret_cast<const uint4 *>(memory), MEMORY_BYTES / 16,
                                                                           reinterpret_cast<uint32_t *>(memory));
    IGNIS_LAUNCHED(device);
  });
  const double copy_s = median_s(device, [&] {
    IGNIS_CUDA(device, cudaMemcpyAsync(memory + MEMORY_BYTES / 2, memory, MEMORY_BYTES / 2, cudaMemcpyDeviceToDevice, device.stream));
  });
  const uint32_t shared_bytes = device.code == 90 ? B_TILES * B_BYTES : 0, blocks = processors * (shared_bytes ? 1 : 4);
  if (shared_bytes) IGNIS_CUDA(device, cudaFuncSetAttribute(multiply_all, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)));
  const double group_flops = shared_bytes ? WARPGROUP_FLOPS : WARPS_FLOPS;
  constexpr int CALLS = 8;  // long enough for the clock that the card can hold
  const double product_s = median_s(device, [&] {
    for (int call = 0; call < CALLS; call++)
      multiply_all<<<blocks, PRODUCT_THREADS, shared_bytes, device.stream>>>(reinterpret_cast<float *>(memory));
    IGNIS_LAUNCHED(device);
  });
  result->read_bytes_s = static_cast<double>(MEMORY_BYTES) / read_s;
  result->copy_bytes_s = static_cast<double>(MEMORY_BYTES) / copy_s;
  result->matrix_flops_s = group_flops * (PRODUCT_THREADS / 128) * PRODUCT_STEPS * CALLS * blocks / product_s;
}

ignis_status ceilings(Device &device, ignis_ceilings *result) {
  Arena arena;
  if (!memory_open(device, &arena, MEMORY_BYTES))
    return fail(IGNIS_NO_MEMORY, "the card has no %llu bytes free to be measured with", static_cast<unsigned long long>(MEMORY_BYTES));
  measure(device, arena.base, result);
  memory_close(device, &arena);
  return wait(device);
}

}  // namespace ignis
