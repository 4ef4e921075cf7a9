// activations.cu: linear_prepare.
#include <cuda_fp16.h>

#include "activations.cuh"
#include "linear.h"

namespace ignis {

uint64_t linear_input_bytes(uint32_t max_T, uint32_t max_K) {
  // A tile of 8 tokens is never smaller than one of fewer.
  return (input_layout((max_T + 7) / 8 * 8, max_K, 2).size_bytes + 255) / 256 * 256;
}

// A block is a token; a thread takes four columns at a time, four threads a step of sixteen.
template <uint32_t PLANES>
static __global__ void __launch_bounds__(512) prepare_kernel(uint8_t *memory, const float *x, uint32_t T, uint32_t K) {
#if __CUDA_ARCH__ >= 900
  // The linear kernel behind may start to fetch its weights; it waits for this one's end before it reads activations.
  asm volatile("griddepcontrol.launch_dependents;");
#endif
  const InputLayout layout = input_layout(T, K, PLANES);
  const uint32_t token = blockIdx.x, tile = token / 8, in_tile = token % 8;
  const bool is_there = token < T;
  const float *row = x + uint64_t{token} * K;
  const bool is_aligned = K % 4 == 0;
  const auto load = [&](float v[4], uint32_t k) {
    if (is_there && is_aligned && k < K) {
      const float4 four = *reinterpret_cast<const float4 *>(row + k);
      v[0] = four.x, v[1] = four.y, v[2] = four.z, v[3] = four.w;
    } else {
      for (uint32_t e = 0; e < 4; e++) v[e] = is_there && k + e < K ? row[k + e] : 0.0f;
    }
  };

  __shared__ float warp_largest[16];
  float largest = 0.0f;
  for (uint32_t k = threadIdx.x * 4; k < K; k += blockDim.x * 4) {
    float v[4];
    load(v, k);
    for (uint32_t e = 0; e < 4; e++) largest = fmaxf(largest, fabsf(v[e]));
  }
  for (uint32_t i = 16; i; i >>= 1) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, i));
  if (threadIdx.x % 32 == 0) warp_largest[threadIdx.x / 32] = largest;
  __syncthreads();
  for (uint32_t i = 0; i < blockDim.x / 32; i++) largest = fmaxf(largest, warp_largest[i]);
  // The row's exponent e: largest in [2^(e-127), 2^(e-126)). Held where both the factor and its inverse are normal numbers.
  uint32_t exponent = (__float_as_uint(largest) >> 23) & 255u;
  exponent = exponent < 16 ? 16 : exponent;
  const float factor = __uint_as_float((268 - exponent) << 23), inverse = __uint_as_float((exponent - 14) << 23);
  if (threadIdx.x == 0) reinterpret_cast<float *>(memory + layout.scales_offset)[token] = inverse;

  uint8_t *planes = memory + tile * layout.plane_tile_bytes;
  float *sums = reinterpret_cast<float *>(memory + layout.sums_offset) + uint64_t{tile} * layout.blocks * 16;
  for (uint32_t k = threadIdx.x * 4; k < layout.blocks * 32; k += blockDim.x * 4) {
    float v[4];
    load(v, k);
    const uint32_t block = k / 32, step = k / 16 % 2, t = k / 4 % 4;
    float sum = 0.0f;
    uint2 words[PLANES];
#pragma unroll
    for (uint32_t pair = 0; pair < 2; pair++) {
      const float scale = pair ? factor * 0.0625f : factor;
      float rest[2] = {v[2 * pair] * scale, v[2 * pair + 1] * scale}, used = 0.0f;
#pragma unroll
      for (uint32_t p = 0; p < PLANES; p++) {
        const __half2 half = __floats2half2_rn(rest[0], rest[1]);
        const float2 back = __half22float2(half);
        rest[0] -= back.x;
        rest[1] -= back.y;
        used += back.x + back.y;
        (pair ? words[p].y : words[p].x) = *reinterpret_cast<const uint32_t *>(&half);
      }
      sum += pair ? used * 16.0f : used;
    }
#pragma unroll
    for (uint32_t p = 0; p < PLANES; p++) {
      uint8_t *unit = planes + (uint64_t{block} * PLANES + p) * layout.tile_tokens * 64;
      if (T > 8) {
        uint32_t *word = reinterpret_cast<uint32_t *>(unit + step * 256 + in_tile * 16 + t * 4);
        word[0] = words[p].x;
        word[32] = words[p].y;
      } else if (is_there) {
        *reinterpret_cast<uint2 *>(unit + in_tile * 64 + t * 16 + step * 8) = words[p];
      }
    }
    sum += __shfl_xor_sync(~0u, sum, 1);
    sum += __shfl_xor_sync(~0u, sum, 2);
    if (t == 0) sums[(block * 8 + in_tile) * 2 + step] = sum * 0x1p-24f;
  }
}

void linear_prepare(void *memory, const float *x, uint32_t T, uint32_t K, uint32_t planes, cudaStream_t stream) {
  if (T == 0) return;
  uint8_t *target = static_cast<uint8_t *>(memory);
  // 256 columns are 64 threads' turn; whole warps take part in every turn.
  const uint32_t threads = K <= 512 ? 128 : 512, blocks = (T + 7) / 8 * 8;
  if (planes == 1)
    prepare_kernel<1><<<blocks, threads, 0, stream>>>(target, x, T, K);
  else
    prepare_kernel<2><<<blocks, threads, 0, stream>>>(target, x, T, K);
}

}  // namespace ignis
