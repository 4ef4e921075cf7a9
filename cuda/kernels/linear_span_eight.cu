// linear_span_eight.cu: F8_E4M3 weights in a prefill span on sm_90: the rows as E4M3 codes, and the choice of the tile.
#include "linear_span_dispatch.cuh"
#include "linear_span_eight.cuh"
#include "linear_span_eight.h"
#include "linear_span_rows.cuh"

namespace ignis {

uint64_t span_eight_bytes(uint32_t max_T, uint32_t max_K) { return (span_eight_input(max_T, max_K).size_bytes + 255) / 256 * 256; }

// A block is a token; a thread has sixteen columns at a time, and eight of them, side by side, the columns of a scale.
template <uint32_t PARTS, uint32_t MOST_THREADS, class Rows>
static __global__ void __launch_bounds__(MOST_THREADS) eight_prepare_kernel(uint8_t *memory, const Rows rows, uint32_t T) {
#if __CUDA_ARCH__ >= 890
  __shared__ float squares[32];
  const uint32_t K = rows.K, token = blockIdx.x;
  const SpanEightInput layout = span_eight_input(T, K);
  float v[PARTS][16];
  load_row(v, rows, token, squares);
#pragma unroll
  for (uint32_t i = 0; i < PARTS; i++) {
    // So that the factor is finite, and zeros stay what they are.
    float largest = 0x1p-100f;
#pragma unroll
    for (uint32_t e = 0; e < 16; e++) largest = fmaxf(largest, fabsf(v[i][e]));
#pragma unroll
    for (uint32_t distance = 4; distance; distance /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, distance));
    const uint32_t part = threadIdx.x + i * blockDim.x, record = part / 8;
    if (record >= layout.records) continue;
    const float factor = 448.0f / largest;
    uint32_t words[4];
#pragma unroll
    for (uint32_t w = 0; w < 4; w++) {
      uint16_t pair[2];
#pragma unroll
      for (uint32_t p = 0; p < 2; p++)
        asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair[p]) : "f"(v[i][4 * w + 2 * p + 1] * factor), "f"(v[i][4 * w + 2 * p] * factor));
      words[w] = pair[0] | uint32_t{pair[1]} << 16;
    }
    uint4 *to = reinterpret_cast<uint4 *>(memory + (uint64_t{record} * layout.tokens + token) * EIGHT_RECORD_COLS);
    to[part % 8 ^ (token % 8)] = make_uint4(words[0], words[1], words[2], words[3]);
    if (part % 8 == 0) reinterpret_cast<float *>(memory + layout.scales_offset)[uint64_t{record} * layout.tokens + token] = largest / 448.0f;
  }
#endif
}

template <class Rows>
static void launch_prepare(void *memory, const Rows &rows, uint32_t T, cudaStream_t stream) {
  if (T == 0) return;
  const uint32_t parts_a_row = span_eight_input(T, rows.K).records * 8;
  uint8_t *to = static_cast<uint8_t *>(memory);
  const auto threads = [&](uint32_t parts) { return (parts_a_row + 32 * parts - 1) / (32 * parts) * 32; };
  if (parts_a_row <= 1024)
    eight_prepare_kernel<1, 1024><<<T, threads(1), 0, stream>>>(to, rows, T);
  else if (parts_a_row <= 2048)
    eight_prepare_kernel<4, 512><<<T, threads(4), 0, stream>>>(to, rows, T);
  else
    eight_prepare_kernel<16, 512><<<T, threads(16), 0, stream>>>(to, rows, T);
}

void span_eight_prepare(void *memory, const float *x, uint32_t T, uint32_t K, cudaStream_t stream) {
  launch_prepare(memory, PlainSpan{x, K}, T, stream);
}

void span_eight_prepare_norm(void *memory, const float *x, const float *w, float eps, uint32_t T, uint32_t K, cudaStream_t stream) {
  launch_prepare(memory, NormSpan{x, w, K, eps}, T, stream);
}

void span_eight_prepare_swiglu(void *memory, const float *gate, const float *up, uint32_t T, uint32_t K, cudaStream_t stream) {
  launch_prepare(memory, GateSpan{gate, up, K}, T, stream);
}

template <uint32_t GROUPS, uint32_t TOKENS>
static void launch_eight(SpanLaunch &launch) {
  using Tile = EightTile<GROUPS, TOKENS>;
  cudaFuncSetAttribute(span_eight_kernel<GROUPS, TOKENS>, cudaFuncAttributeMaxDynamicSharedMemorySize, Tile::SHARED_BYTES);
  const uint32_t places = set_items(&launch.jobs, Tile::ROWS) * ((launch.T + TOKENS - 1) / TOKENS);
  SpanTargets targets{};
  if constexpr (Tile::IS_STAGED) describe_targets(&launch, &targets);
  const uint32_t turns = (places + launch.num_multiprocessors - 1) / launch.num_multiprocessors;
  span_eight_kernel<GROUPS, TOKENS><<<(places + turns - 1) / turns, Tile::THREADS, Tile::SHARED_BYTES, launch.stream>>>(
      launch.jobs, targets, launch.input, launch.T, launch.K);
}

// As SPAN_SHAPES.
static constexpr SpanShape EIGHT_SHAPES[] = {{128, 256, 34}, {128, 128, 21}, {64, 128, 14}, {64, 64, 11}, {64, 8, 10}};

SpanShape eight_shape(SpanLaunch launch) { return EIGHT_SHAPES[cheapest_shape(&launch, EIGHT_SHAPES)]; }

void launch_span_eight(SpanLaunch launch, int shape) {
  if (shape < 0) shape = static_cast<int>(cheapest_shape(&launch, EIGHT_SHAPES));
  switch (shape) {
    case 0: launch_eight<2, 256>(launch); break;
    case 1: launch_eight<2, 128>(launch); break;
    case 2: launch_eight<1, 128>(launch); break;
    case 3: launch_eight<1, 64>(launch); break;
    default: launch_eight<1, 8>(launch); break;
  }
}

}  // namespace ignis
