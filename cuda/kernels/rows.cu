// rows.cu: norms and SwiGLU. A row's arithmetic is the same whatever the number of rows: a block, or a warp, has one.
#include "device.h"
#include "launch.cuh"

namespace ignis {

static constexpr uint32_t THREADS = 256;

// --- norms --------------------------------------------------------------------------------------------------------------------

// The sum over a warp, in every lane, by a tree that is always the same.
static __device__ float warp_sum(float value) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
  return value;
}

static constexpr uint32_t MOST_THREADS = 1024;

// A block has one row; its size follows from H alone, and with it the order of the sum. Four values at a time where rows are aligned to it.
template <uint32_t WIDTH>
static __global__ void __launch_bounds__(MOST_THREADS) norm_rows(float *y, const float *x, const float *w, uint32_t H, float eps) {
  struct alignas(4 * WIDTH) Vector {
    float values[WIDTH];
  };
  begin();
  __shared__ float parts[MOST_THREADS / 32];
  const Vector *row = reinterpret_cast<const Vector *>(x + static_cast<uint64_t>(blockIdx.x) * H);
  Vector *result = reinterpret_cast<Vector *>(y + static_cast<uint64_t>(blockIdx.x) * H);
  const Vector *weights = reinterpret_cast<const Vector *>(w);
  const uint32_t num = H / WIDTH;
  float sum = 0;
  for (uint32_t i = threadIdx.x; i < num; i += blockDim.x) {
    const Vector own = row[i];
#pragma unroll
    for (uint32_t j = 0; j < WIDTH; j++) sum = fmaf(own.values[j], own.values[j], sum);
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (uint32_t i = 0; i < blockDim.x / 32; i++) sum += parts[i];
  const float scale = rsqrtf(sum / static_cast<float>(H) + eps);
  for (uint32_t i = threadIdx.x; i < num; i += blockDim.x) {
    Vector own = row[i];
    const Vector weight = weights[i];
#pragma unroll
    for (uint32_t j = 0; j < WIDTH; j++) own.values[j] = own.values[j] * scale * weight.values[j];
    result[i] = own;
  }
}

void rms_norm(Device &device, float *y, const float *x, const float *w, uint32_t T, uint32_t H, float eps) {
  const uint32_t width = H % 4 == 0 ? 4 : 1, wanted = (H / width + 31) / 32 * 32;
  const uint32_t threads = wanted < MOST_THREADS ? wanted : MOST_THREADS;
  launch(device, "rms_norm", width == 4 ? norm_rows<4> : norm_rows<1>, dim3(T), threads, y, x, w, H, eps);
}

// --- SwiGLU -------------------------------------------------------------------------------------------------------------------

// A thread has some values, so many that few blocks walk them all.
static __global__ void __launch_bounds__(THREADS) gate_values(float *y, const float *gate, const float *up, uint64_t num) {
  begin();
  const uint64_t step = static_cast<uint64_t>(gridDim.x) * THREADS;
  for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * THREADS + threadIdx.x; i < num; i += step)
    y[i] = gate[i] / (1.0f + expf(-gate[i])) * up[i];
}

void swiglu(Device &device, float *y, const float *gate, const float *up, uint32_t T, uint32_t F) {
  const uint64_t num = static_cast<uint64_t>(T) * F, blocks = (num + THREADS - 1) / THREADS;
  const uint64_t most = static_cast<uint64_t>(device.num_multiprocessors) * 16;
  launch(device, "swiglu", gate_values, dim3(static_cast<uint32_t>(blocks < most ? blocks : most)), THREADS, y, gate, up, num);
}

}  // namespace ignis
