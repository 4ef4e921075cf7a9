// activations.cu: linear_prepare and its fused kin.
#include <cuda_fp16.h>

#include "activations.cuh"
#include "linear.h"
#include "weights.cuh"

namespace ignis {

uint64_t linear_input_bytes(uint32_t max_T, uint32_t max_K) {
  // A tile of 8 tokens is never smaller than one of fewer.
  return (input_layout((max_T + 7) / 8 * 8, max_K).size_bytes + 255) / 256 * 256;
}

// A row's power of two, from the exponent e of its largest value: that is in [2^(e-127), 2^(e-126)). Held where both the factor and its
// inverse are normal numbers.
struct RowScale {
  float factor, inverse;
  __device__ explicit RowScale(float largest) {
    uint32_t exponent = (__float_as_uint(largest) >> 23) & 255u;
    exponent = exponent < 16 ? 16 : exponent;
    factor = __uint_as_float((268 - exponent) << 23);
    inverse = __uint_as_float((exponent - 14) << 23);
  }
};

// Two columns as a word; the sum of what they became. Pair 1, columns 2 and 3 of four, is divided by 16.
static __device__ __forceinline__ float round_pair(uint32_t *word, float x0, float x1, float factor, uint32_t pair) {
  const float scale = pair ? factor * 0.0625f : factor;
  const __half2 half = __floats2half2_rn(x0 * scale, x1 * scale);
  const float2 back = __half22float2(half);
  *word = *reinterpret_cast<const uint32_t *>(&half);
  return pair ? (back.x + back.y) * 16.0f : back.x + back.y;
}

// Where rows come from: as they are, or made on the way. Made twice, for the scale and for the result: that is cheaper than keeping them.
struct PlainRows {
  static constexpr bool IS_NORM = false;
  const float *x;
  uint32_t K;
  // N columns from k on, k a multiple of N; columns behind the last one are 0.
  template <uint32_t N>
  __device__ __forceinline__ void load(float v[N], uint32_t token, uint32_t k, float) const {
    const float *row = x + uint64_t{token} * K;
    if (K % N == 0 && k < K) {
      if constexpr (N == 4) {
        const float4 four = *reinterpret_cast<const float4 *>(row + k);
        v[0] = four.x, v[1] = four.y, v[2] = four.z, v[3] = four.w;
      } else {
        const float2 two = *reinterpret_cast<const float2 *>(row + k);
        v[0] = two.x, v[1] = two.y;
      }
    } else {
#pragma unroll
      for (uint32_t e = 0; e < N; e++) v[e] = k + e < K ? row[k + e] : 0.0f;
    }
  }
};

// x scale w, with the row's scale 1 / sqrt(mean(x^2) + eps): rows.cu's rms_norm, bit for bit.
struct NormRows {
  static constexpr bool IS_NORM = true;
  const float *x, *w;
  uint32_t K;
  float eps;
  template <uint32_t N>
  __device__ __forceinline__ void load(float v[N], uint32_t token, uint32_t k, float scale) const {
    PlainRows{x, K}.load<N>(v, token, k, 0.0f);
    float weights[N];
    PlainRows{w, K}.load<N>(weights, 0, k, 0.0f);
#pragma unroll
    for (uint32_t e = 0; e < N; e++) v[e] = v[e] * scale * weights[e];
  }
  // The sum of squares that lane l of group j of 128 columns has: rms_norm's thread 32 j + l of `threads`.
  __device__ __forceinline__ float squares(uint32_t token, uint32_t thread, uint32_t threads) const {
    float sum = 0.0f;
    for (uint32_t k = thread * 4; k < K; k += threads * 4) {
      float v[4];
      PlainRows{x, K}.load<4>(v, token, k, 0.0f);
#pragma unroll
      for (uint32_t e = 0; e < 4; e++) sum = fmaf(v[e], v[e], sum);
    }
    for (uint32_t i = 16; i; i >>= 1) sum += __shfl_xor_sync(~0u, sum, i);
    return sum;
  }
  __device__ __forceinline__ float scale(const float *groups, uint32_t num) const {
    float sum = 0.0f;
    for (uint32_t i = 0; i < num; i++) sum += groups[i];
    return rsqrtf(sum / static_cast<float>(K) + eps);
  }
};

// silu(gate) up: rows.cu's swiglu, bit for bit.
struct GateRows {
  static constexpr bool IS_NORM = false;
  const float *gate, *up;
  uint32_t K;
  template <uint32_t N>
  __device__ __forceinline__ void load(float v[N], uint32_t token, uint32_t k, float) const {
    float other[N];
    PlainRows{gate, K}.load<N>(v, token, k, 0.0f);
    PlainRows{up, K}.load<N>(other, token, k, 0.0f);
#pragma unroll
    for (uint32_t e = 0; e < N; e++) v[e] = v[e] / (1.0f + expf(-v[e])) * other[e];
  }
};

// Four columns a thread, as rms_norm has it.
static __host__ __device__ uint32_t row_threads(uint32_t K) {
  const uint32_t wanted = (K / 4 + 31) / 32 * 32;
  return wanted < 128 ? 128 : wanted < 1024 ? wanted : 1024;
}

// Up to eight rows. A block is a token; a thread takes four columns at a time, four threads a step of sixteen.
template <class Rows>
static __global__ void __launch_bounds__(1024) prepare_few_kernel(uint8_t *memory, const Rows rows, uint32_t T) {
#if __CUDA_ARCH__ >= 900
  // The linear kernel behind may start to fetch its weights; it waits for this one's end before it reads activations.
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  const uint32_t K = rows.K;
  const InputLayout layout = input_layout(T, K);
  const uint32_t token = blockIdx.x, warp = threadIdx.x / 32, num_warps = blockDim.x / 32;
  __shared__ float warp_value[32];
  float row_scale = 1.0f;
  if constexpr (Rows::IS_NORM) {
    const float sum = rows.squares(token, threadIdx.x, blockDim.x);
    if (threadIdx.x % 32 == 0) warp_value[warp] = sum;
    __syncthreads();
    row_scale = rows.scale(warp_value, num_warps);
    __syncthreads();
  }
  float largest = 0.0f;
  for (uint32_t k = threadIdx.x * 4; k < K; k += blockDim.x * 4) {
    float v[4];
    rows.template load<4>(v, token, k, row_scale);
#pragma unroll
    for (uint32_t e = 0; e < 4; e++) largest = fmaxf(largest, fabsf(v[e]));
  }
  for (uint32_t i = 16; i; i >>= 1) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, i));
  if (threadIdx.x % 32 == 0) warp_value[warp] = largest;
  __syncthreads();
  for (uint32_t i = 0; i < num_warps; i++) largest = fmaxf(largest, warp_value[i]);
  const RowScale scale(largest);
  if (threadIdx.x == 0) reinterpret_cast<float *>(memory + layout.scales_offset)[token] = scale.inverse;

  float *sums = reinterpret_cast<float *>(memory + layout.sums_offset);
  // Whole warps take part in every turn: 256 columns are 64 threads.
  for (uint32_t k = threadIdx.x * 4; k < layout.pieces * PIECE_COLS; k += blockDim.x * 4) {
    float v[4];
    rows.template load<4>(v, token, k, row_scale);
    const uint32_t block = k / 32, step = k / 16 % 2, t = k / 4 % 4;
    uint32_t first, second;
    const float a = round_pair(&first, v[0], v[1], scale.factor, 0), b = round_pair(&second, v[2], v[3], scale.factor, 1);
    *reinterpret_cast<uint2 *>(memory + (block * T + token) * 64 + t * 16 + step * 8) = make_uint2(first, second);
    float sum = a + b;
    sum += __shfl_xor_sync(~0u, sum, 1);
    sum += __shfl_xor_sync(~0u, sum, 2);
    if (t == 0) sums[(block * 8 + token) * 2 + step] = sum * 0x1p-24f;
  }
}

// Many rows. A block is a token tile: two warps find the scale of one token, then the warps share the pieces. Lane 8 c + i of a warp writes
// the 16 bytes of token i in matrix c = 2 step + pair: a warp's store is 512 bytes in a row.
template <class Rows>
static __global__ void __launch_bounds__(512) prepare_many_kernel(uint8_t *memory, const Rows rows, uint32_t T) {
  const uint32_t K = rows.K;
  const InputLayout layout = input_layout(T, K);
  const uint32_t tile = blockIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  __shared__ float half_largest[16], factors[8], row_scales[8], groups[8][32];
  if constexpr (Rows::IS_NORM) {
    const uint32_t threads = row_threads(K), num = threads / 32;
    for (uint32_t i = warp; i < 8 * num; i += 16) {
      const uint32_t token = tile * 8 + i / num;
      const float sum = token < T ? rows.squares(token, i % num * 32 + lane, threads) : 0.0f;
      if (lane == 0) groups[i / num][i % num] = sum;
    }
    __syncthreads();
    if (threadIdx.x < 8) row_scales[threadIdx.x] = rows.scale(groups[threadIdx.x], num);
    __syncthreads();
  }
  {
    const uint32_t token = tile * 8 + warp / 2;
    const float row_scale = Rows::IS_NORM ? row_scales[warp / 2] : 1.0f;
    float largest = 0.0f;
    if (token < T) {
#pragma unroll 8
      for (uint32_t k = (warp % 2 * 32 + lane) * 4; k < K; k += 256) {
        float v[4];
        rows.template load<4>(v, token, k, row_scale);
        largest = fmaxf(fmaxf(largest, fmaxf(fabsf(v[0]), fabsf(v[1]))), fmaxf(fabsf(v[2]), fabsf(v[3])));
      }
    }
    for (uint32_t i = 16; i; i >>= 1) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, i));
    if (lane == 0) half_largest[warp] = largest;
  }
  __syncthreads();
  if (threadIdx.x < 8) {
    const RowScale scale(fmaxf(half_largest[2 * threadIdx.x], half_largest[2 * threadIdx.x + 1]));
    factors[threadIdx.x] = scale.factor;
    reinterpret_cast<float *>(memory + layout.scales_offset)[tile * 8 + threadIdx.x] = scale.inverse;
  }
  __syncthreads();
  const uint32_t in_tile = lane % 8, matrix = lane / 8, step = matrix / 2, pair = matrix % 2, token = tile * 8 + in_tile;
  const float factor = factors[in_tile], row_scale = Rows::IS_NORM ? row_scales[in_tile] : 1.0f;
#pragma unroll 2
  for (uint32_t block = blockIdx.y * 16 + warp; block < layout.pieces * 2; block += gridDim.y * 16) {
    const uint32_t first = block * 32 + step * 16 + pair * 2;
    uint32_t words[4];
    float sum[4];
#pragma unroll
    for (uint32_t t = 0; t < 4; t++) {
      float v[2] = {0.0f, 0.0f};
      if (token < T) rows.template load<2>(v, token, first + 4 * t, row_scale);
      sum[t] = round_pair(words + t, v[0], v[1], factor, pair);
      sum[t] += __shfl_xor_sync(~0u, sum[t], 8);
    }
    const uint64_t unit = (uint64_t{block / 2} * layout.tiles + tile) * 2 + block % 2;
    *reinterpret_cast<uint4 *>(memory + unit * 512 + lane * 16) = make_uint4(words[0], words[1], words[2], words[3]);
    if (pair == 0)
      reinterpret_cast<float *>(memory + layout.sums_offset)[unit * 16 + in_tile * 2 + step] = ((sum[0] + sum[1]) + (sum[2] + sum[3])) * 0x1p-24f;
  }
}

template <class Rows>
static void launch_prepare(uint8_t *memory, const Rows &rows, uint32_t T, cudaStream_t stream) {
  if (T > 8) {
    // Where there are few tiles some blocks share one, and each finds its scales again.
    const uint32_t tiles = (T + 7) / 8, shares = tiles >= 256 ? 1 : tiles >= 128 ? 2 : 4;
    prepare_many_kernel<Rows><<<dim3(tiles, shares), 512, 0, stream>>>(memory, rows, T);
    return;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(T);
  config.blockDim = dim3(row_threads(rows.K));
  config.stream = stream;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, prepare_few_kernel<Rows>, memory, rows, T);
}

template <class Rows>
static void prepare_rows(void *memory, const Rows &rows, uint32_t T, cudaStream_t stream) {
  if (T == 0) return;
  launch_prepare(static_cast<uint8_t *>(memory), rows, T, stream);
}

void linear_prepare(void *memory, const float *x, uint32_t T, uint32_t K, cudaStream_t stream) {
  prepare_rows(memory, PlainRows{x, K}, T, stream);
}

void linear_prepare_norm(void *memory, const float *x, const float *w, float eps, uint32_t T, uint32_t K, cudaStream_t stream) {
  prepare_rows(memory, NormRows{x, w, K, eps}, T, stream);
}

void linear_prepare_swiglu(void *memory, const float *gate, const float *up, uint32_t T, uint32_t K, cudaStream_t stream) {
  prepare_rows(memory, GateRows{gate, up, K}, T, stream);
}

}  // namespace ignis
