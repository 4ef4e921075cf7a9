// harness.cuh: what the stand-alone programs beside it share: weights of every type, poisoned memory, a failure that is told, a graph that is timed.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "../../cuda/kernels/pack.h"
#include "../../cuda/quant/dequantize.h"
#include "../../cuda/quant/formats.h"

using namespace ignis;

#define CHECK(call)                                                                                  \
  do {                                                                                               \
    const cudaError_t error_ = (call);                                                               \
    if (error_ != cudaSuccess) {                                                                     \
      printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_));              \
      exit(2);                                                                                       \
    }                                                                                                \
  } while (0)

static int num_failures = 0;
static uint32_t num_multiprocessors = 132;
#ifndef TARGET_CODE
#define TARGET_CODE 90  // what this is compiled for
#endif
static cudaStream_t stream;

static __host__ __device__ uint32_t hashed(uint64_t x) {
  x ^= x >> 33, x *= 0xff51afd7ed558ccdull, x ^= x >> 33, x *= 0xc4ceb9fe1a85ec53ull, x ^= x >> 33;
  return static_cast<uint32_t>(x);
}
static __host__ __device__ float uniform(uint64_t seed) { return hashed(seed) * 0x1p-31f - 1.0f; }  // [-1, 1)

static __global__ void fill_floats(float *x, uint64_t num, uint64_t seed, bool has_outliers) {
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < num; i += uint64_t{gridDim.x} * blockDim.x) {
    const float a = uniform(seed * 7919 + 3 * i) + uniform(seed * 7919 + 3 * i + 1);
    x[i] = has_outliers && hashed(seed + 5 * i) % 997 == 0 ? 60.0f * a : a;
  }
}
static __global__ void poison(float *x, uint64_t num) {
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < num; i += uint64_t{gridDim.x} * blockDim.x) x[i] = __int_as_float(0x7fc0dead);
}

// Stored weights of any type: random codes, scales that are finite and of sensible size.
static __global__ void fill_stored(uint8_t *data, ignis_dtype dtype, uint32_t block_size, uint64_t num_blocks, uint64_t seed) {
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < num_blocks; i += uint64_t{gridDim.x} * blockDim.x) {
    uint8_t *block = data + i * block_size;
    const uint64_t base = (seed << 40) + i * 256;
    const auto half_to = [&](uint8_t *to, float value) {
      const uint16_t bits = __half_as_ushort(__float2half_rn(value));
      to[0] = bits & 255, to[1] = bits >> 8;
    };
    const float d = (1.5f + uniform(base + 250)) * 0.004f;
    if (dtype == IGNIS_F32) {
      *reinterpret_cast<float *>(block) = uniform(base) * 0.05f;
    } else if (dtype == IGNIS_F16) {
      half_to(block, uniform(base) * uniform(base + 1) * 0.05f);
    } else if (dtype == IGNIS_F8_E4M3) {
      const uint32_t code = hashed(base) & 255;
      block[0] = static_cast<uint8_t>((code & 127) == 127 ? code - 1 : code);
    } else if (dtype == IGNIS_BF16) {
      const uint32_t bits = __float_as_uint(uniform(base) * uniform(base + 1) * uniform(base + 2) * 0.05f);
      block[0] = bits >> 16 & 255, block[1] = bits >> 24;
    } else {
      for (uint32_t b = 0; b < block_size; b += 4) {
        const uint32_t word = hashed(base + b);
        for (uint32_t e = 0; e < 4 && b + e < block_size; e++) block[b + e] = word >> (8 * e) & 255;
      }
      if (dtype == IGNIS_Q6_K) {
        half_to(block + 208, d * 0.01f);
      } else {
        half_to(block, dtype == IGNIS_Q4_K || dtype == IGNIS_Q5_K ? d * 0.03f : d);
        if (dtype == IGNIS_Q4_1 || dtype == IGNIS_Q5_1) half_to(block + 2, uniform(base + 251) * 0.03f);
        if (dtype == IGNIS_Q4_K || dtype == IGNIS_Q5_K) half_to(block + 2, d * 0.2f);
      }
    }
  }
}

static __global__ void reference_linear(double *y, const float *x, const float *w, uint32_t T, uint32_t rows, uint32_t K) {
  const uint32_t row = blockIdx.x * blockDim.x + threadIdx.x, token = blockIdx.y;
  if (row >= rows) return;
  double sum = 0;
  for (uint32_t k = 0; k < K; k++) sum += static_cast<double>(w[uint64_t{row} * K + k]) * x[uint64_t{token} * K + k];
  y[uint64_t{token} * rows + row] = sum;
}

template <class T>
static T *device_memory(uint64_t num) {
  void *p;
  CHECK(cudaMalloc(&p, num * sizeof(T) + 256));
  return static_cast<T *>(p);
}

static const char *name_of(ignis_dtype dtype) {
  switch (dtype) {
    case IGNIS_F32: return "f32";
    case IGNIS_F16: return "f16";
    case IGNIS_BF16: return "bf16";
    case IGNIS_Q4_0: return "q4_0";
    case IGNIS_Q4_1: return "q4_1";
    case IGNIS_Q5_0: return "q5_0";
    case IGNIS_Q5_1: return "q5_1";
    case IGNIS_Q8_0: return "q8_0";
    case IGNIS_F8_E4M3: return "fp8";
    case IGNIS_Q4_K: return "q4_K";
    case IGNIS_Q5_K: return "q5_K";
    case IGNIS_Q6_K: return "q6_K";
  }
  return "?";
}

static constexpr float BLOCK_SCALE = 0.0123f;  // F8_E4M3's, of every block

static void *packed_random(ignis_dtype dtype, uint32_t rows, uint32_t cols, uint64_t seed, std::vector<uint8_t> *stored_copy) {
  const uint64_t size = rows * row_bytes(dtype, cols);
  uint8_t *stored = device_memory<uint8_t>(size);
  fill_stored<<<1024, 256, 0, stream>>>(stored, dtype, block_bytes(dtype), uint64_t{rows} * cols / block_values(dtype), seed);
  const uint64_t packed_size = packed_bytes(dtype, rows, cols);
  uint8_t *packed = device_memory<uint8_t>(packed_size);
  CHECK(cudaMemsetAsync(packed, 0xff, packed_size, stream));
  if (has_block_scales(dtype)) fill_block_scales(packed, dtype, rows, cols, BLOCK_SCALE, stream);
  for (uint32_t row = 0; row < rows;) {
    const uint32_t num = std::min(rows - row, stored_copy ? 3 * PACK_ROWS : 1u << 20);
    const uint8_t *from = stored + row * row_bytes(dtype, cols);
    uint8_t *aligned = nullptr;
    if (reinterpret_cast<uintptr_t>(from) % 16) {
      aligned = device_memory<uint8_t>(num * row_bytes(dtype, cols));
      CHECK(cudaMemcpyAsync(aligned, from, num * row_bytes(dtype, cols), cudaMemcpyDeviceToDevice, stream));
    }
    pack_rows(packed, aligned ? aligned : from, dtype, rows, cols, row, num, stream);
    CHECK(cudaGetLastError());
    row += num;
    if (aligned) {
      CHECK(cudaStreamSynchronize(stream));
      CHECK(cudaFree(aligned));
    }
  }
  CHECK(cudaStreamSynchronize(stream));
  if (stored_copy) {
    stored_copy->resize(size);
    CHECK(cudaMemcpy(stored_copy->data(), stored, size, cudaMemcpyDeviceToHost));
  }
  CHECK(cudaFree(stored));
  return packed;
}

static void report(bool is_right, const std::string &what) {
  if (is_right) return;
  if (num_failures++ < 40) printf("FAILED %s\n", what.c_str());
}

static constexpr double READ_RATE = 4.44e12;

// Median microseconds of the launches of `body`, captured once.
static double graph_us(const std::function<void()> &body, double about_us) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  body();
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  const int warm = std::max(2, static_cast<int>(30e3 / about_us));
  for (int i = 0; i < warm; i++) CHECK(cudaGraphLaunch(exec, stream));
  std::vector<float> times;
  for (int i = 0; i < 7; i++) {
    CHECK(cudaEventRecord(start, stream));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaEventRecord(stop, stream));
    CHECK(cudaEventSynchronize(stop));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    times.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  return times[3] * 1e3;
}
