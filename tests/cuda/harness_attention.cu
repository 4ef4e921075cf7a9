// harness_attention.cu: the card's attention against float64, its row invariance bit for bit, and its speed. Stand-alone:
//   nvcc -std=c++20 -O3 -fmad=false -gencode=arch=compute_90a,code=sm_90a -o harness_attention tests/cuda/harness_attention.cu
//        cuda/kernels/{attention,rope}.cu
// `harness_attention check` ends with 0 where everything holds, `harness_attention race` is a short part of it; `time` prints figures, `rounds` those of F16 rounds.
#include <cuda_fp8.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "../../cuda/kernels/attention.h"
#include "../../cuda/kernels/page_element.cuh"
#include "../../cuda/kernels/round_input.cuh"

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
static cudaStream_t stream;
static Device device{};

static void report(bool is_right, const std::string &what) {
  if (is_right) return;
  if (num_failures++ < 40) printf("FAILED %s\n", what.c_str());
}

static __host__ __device__ uint32_t hashed(uint64_t x) {
  x ^= x >> 33, x *= 0xff51afd7ed558ccdull, x ^= x >> 33, x *= 0xc4ceb9fe1a85ec53ull, x ^= x >> 33;
  return static_cast<uint32_t>(x);
}
static __host__ __device__ float uniform(uint64_t seed) { return hashed(seed) * 0x1p-31f - 1.0f; }  // [-1, 1)

static __global__ void fill_floats(float *x, uint64_t num, uint64_t seed, bool has_outliers) {
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < num; i += uint64_t{gridDim.x} * blockDim.x) {
    const float a = uniform(seed * 7919 + 3 * i) + uniform(seed * 7919 + 3 * i + 1);
    x[i] = has_outliers && hashed(seed + 5 * i) % 997 == 0 ? 20.0f * a : a;
  }
}
static __global__ void poison(float *x, uint64_t num) {
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < num; i += uint64_t{gridDim.x} * blockDim.x) x[i] = __int_as_float(0x7fc0dead);
}

template <class T>
static T *device_memory(uint64_t num) {
  void *p;
  CHECK(cudaMalloc(&p, num * sizeof(T) + 256));
  return static_cast<T *>(p);
}

static const char *name_of(ignis_dtype dtype) {
  return dtype == IGNIS_F32 ? "f32" : dtype == IGNIS_F16 ? "f16" : dtype == IGNIS_BF16 ? "bf16" : "f8_e4m3";
}

struct Shape {
  uint32_t NH, NK, D;
  ignis_dtype dtype;
  bool has_norms;
  ignis_rope_pairs pairs;
};

// A head of row `row`, normed and rotated in float64, by one thread.
static __global__ void turn(double *to, const float *x, const float *norm, const float *angles, uint32_t heads, uint32_t D, bool is_adjacent) {
  const uint64_t row = blockIdx.x;
  const uint32_t head = threadIdx.x;
  if (head >= heads) return;
  const float *from = x + (row * heads + head) * D;
  double *own = to + (row * heads + head) * D;
  double squares = 0;
  for (uint32_t d = 0; d < D; d++) squares += double(from[d]) * from[d];
  const double scale = norm ? 1 / sqrt(squares / D + 1e-6) : 1;
  for (uint32_t pair = 0; pair < D / 2; pair++) {
    const uint32_t a = is_adjacent ? 2 * pair : pair, b = is_adjacent ? a + 1 : a + D / 2;
    const double left = from[a] * scale * (norm ? norm[a] : 1.0f), right = from[b] * scale * (norm ? norm[b] : 1.0f);
    const double cosine = angles[row * 2 * D + pair], sine = angles[row * 2 * D + D + pair];
    own[a] = left * cosine - right * sine;
    own[b] = right * cosine + left * sine;
  }
}
template <class Element>
static __global__ void round_to(double *x, uint64_t num) {
  const uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x;
  if (i >= num) return;
  Element element;
  put(&element, static_cast<float>(x[i]));
  x[i] = static_cast<float>(element);
}
static __global__ void widen(double *to, const float *from, uint64_t num) {
  const uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x;
  if (i < num) to[i] = from[i];
}
static __global__ void reference(double *out, const double *q, const double *k, const double *v, uint32_t NH, uint32_t NK, uint32_t D) {
  const uint32_t position = blockIdx.x, head = blockIdx.y, kv_head = head / (NH / NK);
  extern __shared__ double scores[];
  __shared__ double total;
  for (uint32_t p = threadIdx.x; p <= position; p += blockDim.x) {
    double s = 0;
    for (uint32_t d = 0; d < D; d++) s += q[(uint64_t{position} * NH + head) * D + d] * k[(uint64_t{p} * NK + kv_head) * D + d];
    scores[p] = s / sqrt(static_cast<double>(D));
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    double maximum = -1e300;
    total = 0;
    for (uint32_t p = 0; p <= position; p++) maximum = scores[p] > maximum ? scores[p] : maximum;
    for (uint32_t p = 0; p <= position; p++) total += scores[p] = exp(scores[p] - maximum);
  }
  __syncthreads();
  for (uint32_t d = threadIdx.x; d < D; d += blockDim.x) {
    double o = 0;
    for (uint32_t p = 0; p <= position; p++) o += scores[p] * v[(uint64_t{p} * NK + kv_head) * D + d];
    out[(uint64_t{position} * NH + head) * D + d] = o / total;
  }
}

static void round_all(double *x, uint64_t num, ignis_dtype dtype) {
  const uint32_t blocks = static_cast<uint32_t>((num + 255) / 256);
  if (dtype == IGNIS_F16) round_to<__half><<<blocks, 256, 0, stream>>>(x, num);
  if (dtype == IGNIS_BF16) round_to<__nv_bfloat16><<<blocks, 256, 0, stream>>>(x, num);
  if (dtype == IGNIS_F8_E4M3) round_to<__nv_fp8_e4m3><<<blocks, 256, 0, stream>>>(x, num);
}

static double relative_error(const float *got, const double *right, uint64_t num) {
  double error = 0, norm = 0;
  for (uint64_t i = 0; i < num; i++) error += (got[i] - right[i]) * (got[i] - right[i]), norm += right[i] * right[i];
  const double relative = sqrt(error / norm);
  return std::isfinite(relative) ? relative : 1e9;
}

static void check_attention(const Shape &shape) {
  const uint32_t L = 1300, num_pages = (L + 63) / 64, NH = shape.NH, NK = shape.NK, D = shape.D;
  const int before = num_failures;
  const uint64_t page_stride = kv_layer_bytes(shape.dtype, NK, D) + 4096, num_q = uint64_t{L} * NH * D, num_k = uint64_t{L} * NK * D;
  char label[128], text[256];
  snprintf(label, sizeof label, "attention %u/%u x %u %s", NH, NK, D, name_of(shape.dtype));
  std::vector<int32_t> table(num_pages);
  for (uint32_t i = 0; i < num_pages; i++) table[i] = static_cast<int32_t>(num_pages - 1 - i);
  int32_t *device_table = device_memory<int32_t>(num_pages);
  CHECK(cudaMemcpy(device_table, table.data(), num_pages * 4, cudaMemcpyHostToDevice));
  uint8_t *pool = device_memory<uint8_t>(page_stride * num_pages);
  float *q = device_memory<float>(num_q), *k = device_memory<float>(num_k), *v = device_memory<float>(num_k), *out = device_memory<float>(num_q);
  float *angles = device_memory<float>(uint64_t{L} * 2 * D), *norms = device_memory<float>(2 * D), *frequencies = device_memory<float>(D);
  int32_t *positions = device_memory<int32_t>(L);
  double *wide_q = device_memory<double>(num_q), *wide_k = device_memory<double>(num_k), *wide_v = device_memory<double>(num_k);
  double *expected = device_memory<double>(num_q);
  Group *groups = device_memory<Group>(8);
  void *workspace = device_memory<uint8_t>(attention_bytes(1, 4096, NH, NK, D));
  CHECK(cudaMemset(workspace, 0, attention_bytes(1, 4096, NH, NK, D)));
  fill_floats<<<256, 256, 0, stream>>>(q, num_q, 1, true);
  fill_floats<<<256, 256, 0, stream>>>(k, num_k, 2, false);
  fill_floats<<<256, 256, 0, stream>>>(v, num_k, 3, true);
  fill_floats<<<1, 256, 0, stream>>>(norms, 2 * D, 4, false);
  std::vector<float> inv_freq(D / 2);
  for (uint32_t i = 0; i < D / 2; i++) inv_freq[i] = static_cast<float>(pow(1e4, -2.0 * i / D));
  std::vector<int32_t> counted(L);
  for (uint32_t i = 0; i < L; i++) counted[i] = static_cast<int32_t>(i);
  CHECK(cudaMemcpy(frequencies, inv_freq.data(), D / 2 * 4, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(positions, counted.data(), L * 4, cudaMemcpyHostToDevice));
  device.step.groups = groups;
  device.step.positions = positions;
  const Rope rope{frequencies, 1.0f, shape.pairs};
  const HeadNorms head_norms{shape.has_norms ? norms : nullptr, shape.has_norms ? norms + D : nullptr, 1e-6f};
  const KvLayer kv{pool, page_stride, 0, shape.dtype, NK, D};
  // Row t of the step is position t, in spans and in rounds: results lie where they belong.
  const Group all{0, L, 0, device_table};
  rope_angles(device, angles, rope, D, &all, 1);
  const bool is_adjacent = shape.pairs == IGNIS_ROPE_ADJACENT;
  turn<<<L, 64, 0, stream>>>(wide_q, q, head_norms.q, angles, NH, D, is_adjacent);
  turn<<<L, 64, 0, stream>>>(wide_k, k, head_norms.k, angles, NK, D, is_adjacent);
  widen<<<static_cast<uint32_t>((num_k + 255) / 256), 256, 0, stream>>>(wide_v, v, num_k);
  round_all(wide_k, num_k, shape.dtype);
  round_all(wide_v, num_k, shape.dtype);
  reference<<<dim3(L, NH), 128, L * 8, stream>>>(expected, wide_q, wide_k, wide_v, NH, NK, D);
  std::vector<double> right(num_q);
  CHECK(cudaMemcpyAsync(right.data(), expected, right.size() * 8, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaGetLastError());

  std::vector<float> whole(num_q), got(num_q);
  const auto fetch = [&](std::vector<float> &to) {
    report(device.error == cudaSuccess, std::string(label) + ": " + cudaGetErrorString(device.error));
    CHECK(cudaMemcpyAsync(to.data(), out, to.size() * 4, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
  };
  const auto clear = [&] {
    poison<<<64, 256, 0, stream>>>(out, num_q);
    CHECK(cudaMemsetAsync(pool, 0xff, page_stride * num_pages, stream));  // NaN in every type
  };
  const auto span = [&](uint32_t start, uint32_t stop, uint32_t first_wanted) {
    const Group both[2] = {{start, stop - start, start, device_table}, {start + first_wanted, stop - start - first_wanted, start + first_wanted, device_table}};
    CHECK(cudaMemcpyAsync(groups, both, sizeof both, cudaMemcpyHostToDevice, stream));
    device.phase = Phase::prefill;
    attention_run(device, AttentionOutput{out, nullptr, false}, q, k, v, kv, both, 1, first_wanted, NH, head_norms, rope, angles, workspace);
    CHECK(cudaStreamSynchronize(stream));
  };
  clear();
  span(0, L, 0);
  fetch(whole);
  const double limit = shape.dtype == IGNIS_F32 || (D != 64 && D != 128) ? 2e-5 : shape.dtype == IGNIS_BF16 ? 6e-3 : 1e-3;
  const double prefill_error = relative_error(whole.data(), right.data(), num_q);
  snprintf(text, sizeof text, "%s: prefill's relative error %.2e", label, prefill_error);
  // A number of K that float32 and float64 round to neighbours makes more than the arithmetic does.
  report(prefill_error < std::max(limit, shape.dtype == IGNIS_F8_E4M3 ? 3e-3 : shape.dtype == IGNIS_F32 ? 0 : 3e-4), text);
  for (const std::vector<uint32_t> &cuts : {std::vector<uint32_t>{0, 1, 64, 77, 200, 511, 514, 900, 1025, L}, std::vector<uint32_t>{0, 1023, 1024, 1025, 1026, L}}) {
    clear();
    for (uint32_t i = 0; i + 1 < cuts.size(); i++) span(cuts[i], cuts[i + 1], 0);
    fetch(got);
    uint64_t num_different = 0;
    for (uint64_t i = 0; i < num_q; i++) num_different += memcmp(&got[i], &whole[i], 4) != 0;
    snprintf(text, sizeof text, "%s: %llu numbers change with the spans", label, (unsigned long long)num_different);
    report(num_different == 0, text);
  }
  clear();
  span(0, 700, 0);
  span(700, L, 500);
  fetch(got);
  report(memcmp(&got[1200ull * NH * D], &whole[1200ull * NH * D], 100ull * NH * D * 4) == 0, std::string(label) + ": the rows that are wanted");
  uint32_t untouched;
  memcpy(&untouched, &got[1199ull * NH * D], 4);
  report(untouched == 0x7fc0dead, std::string(label) + ": a row that is not wanted is written");

  // A row of a round alone, its own position stored by the round; nothing is stored behind it.
  const std::vector<std::vector<uint32_t>> rounds = {{0}, {1299, 64}, {5, 63, 127, 511, 512, 1023, 1024, 1298}, {1299, 700, 3}, {575, 576, 577, 1279, 1280, 1281, 640, 639}};
  const auto round = [&](const std::vector<uint32_t> &at) {
    Group rows[8];
    for (uint32_t lane = 0; lane < at.size(); lane++) rows[lane] = Group{at[lane], 1, at[lane], device_table};
    CHECK(cudaMemcpyAsync(groups, rows, sizeof rows, cudaMemcpyHostToDevice, stream));
    device.phase = Phase::decode;
    // A round's rows are 0 .. T - 1 to the caller; here they are positions.
    Group called[8];
    for (uint32_t lane = 0; lane < at.size(); lane++) called[lane] = Group{lane, 1, at[lane], device_table};
    attention_run(device, AttentionOutput{out, nullptr, false}, q, k, v, kv, called, static_cast<uint32_t>(at.size()), 0, NH, head_norms, rope, angles, workspace);
    CHECK(cudaStreamSynchronize(stream));
  };
  // A row among the first eight is written as the next linear layer's operand as well.
  const uint32_t K = NH * D;
  uint8_t *input = device_memory<uint8_t>(round_layout(K).size_bytes);
  CHECK(cudaMemset(input, 0xff, round_layout(K).size_bytes));
  {
    clear();
    span(0, 6, 6);
    const Group rows[2] = {{3, 1, 3, device_table}, {5, 1, 5, device_table}}, called[2] = {{0, 1, 3, device_table}, {1, 1, 5, device_table}};
    CHECK(cudaMemcpyAsync(groups, rows, sizeof rows, cudaMemcpyHostToDevice, stream));
    device.phase = Phase::decode;
    const bool is_written = attention_run(device, AttentionOutput{out, input, true}, q, k, v, kv, called, 2, 0, NH, head_norms, rope, angles, workspace);
    fetch(got);
    std::vector<uint8_t> bytes(round_layout(K).size_bytes);
    CHECK(cudaMemcpy(bytes.data(), input, bytes.size(), cudaMemcpyDeviceToHost));
    for (uint32_t row : {3u, 5u})
      for (uint32_t i = 0; is_written && i < round_layout(K).groups * 16; i++) {
        __half half;
        memcpy(&half, &bytes[(uint64_t{i / 32} * 8 + row) * 64 + i % 16 / 4 * 16 + i / 16 % 2 * 8 + i % 4 * 2], 2);
        const float value = __half2float(half) * (i % 4 < 2 ? 1 : 16), right_value = i < K ? got[uint64_t{row} * K + i] : 0;
        report(fabsf(value - right_value) <= fabsf(right_value) * 1e-3f + 2e-6f, std::string(label) + ": the operand of the next linear layer");
      }
  }
  double decode_error = 0;
  for (const auto &each : rounds) {
    std::vector<float> alone(num_q);
    for (uint32_t position : each) {
      clear();
      if (position > 0) span(0, position, position - 1);
      round({position});
      fetch(got);
      memcpy(&alone[uint64_t{position} * NH * D], &got[uint64_t{position} * NH * D], NH * D * 4);
      decode_error = std::max(decode_error, relative_error(&got[uint64_t{position} * NH * D], &right[uint64_t{position} * NH * D], NH * D));
    }
    clear();
    span(0, L, L);
    round(each);
    fetch(got);
    for (uint32_t position : each) {
      uint64_t num_different = 0;
      for (uint64_t e = uint64_t{position} * NH * D; e < (position + 1ull) * NH * D; e++) num_different += memcmp(&got[e], &alone[e], 4) != 0;
      snprintf(text, sizeof text, "%s: round of %zu, position %u: %llu of %u numbers differ from those of the row alone", label, each.size(), position,
               (unsigned long long)num_different, NH * D);
      report(num_different == 0, text);
    }
  }
  snprintf(text, sizeof text, "%s: decode's relative error %.2e", label, decode_error);
  report(decode_error < 3 * std::max(limit, shape.dtype == IGNIS_F8_E4M3 ? 3e-3 : shape.dtype == IGNIS_F32 ? 0 : 3e-4), text);
  printf("%s%s: prefill %.2e, decode %.2e%s\n", label, shape.has_norms ? " normed" : "", prefill_error, decode_error, num_failures > before ? "  FAILED" : "");
  fflush(stdout);
  for (void *p : {(void *)device_table, (void *)pool, (void *)q, (void *)k, (void *)v, (void *)out, (void *)angles, (void *)norms, (void *)frequencies,
                  (void *)positions, (void *)wide_q, (void *)wide_k, (void *)wide_v, (void *)expected, (void *)groups, (void *)input, workspace})
    CHECK(cudaFree(p));
}

// Speed -------------------------------------------------------------------------------------------------------------------------------

static constexpr double READ_RATE = 4.44e12;

// Median microseconds of a graph of `work`, after some 50 ms of warming up.
static double graph_us(const std::function<void()> &work, double about_us) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  work();
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  for (int i = 0; i < 50000 / about_us + 2; i++) CHECK(cudaGraphLaunch(exec, stream));
  std::vector<float> times;
  for (int i = 0; i < 9; i++) {
    CHECK(cudaEventRecord(start, stream));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaEventRecord(stop, stream));
    CHECK(cudaEventSynchronize(stop));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    times.push_back(ms * 1e3f);
  }
  std::sort(times.begin(), times.end());
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  return times[times.size() / 2];
}

static void time_attention(ignis_dtype dtype, bool has_spans) {
  const uint32_t NH = 32, NK = 8, D = 128, max_context = 32768, layers = 4;
  const uint64_t layer_bytes = kv_layer_bytes(dtype, NK, D), page_stride = layer_bytes * layers;
  const uint32_t pages_a_lane = max_context / 64, num_pages = pages_a_lane * 8;
  uint8_t *pool = device_memory<uint8_t>(page_stride * num_pages);
  int32_t *table = device_memory<int32_t>(num_pages), *positions = device_memory<int32_t>(8192);
  std::vector<int32_t> pages(num_pages);
  for (uint32_t i = 0; i < num_pages; i++) pages[i] = static_cast<int32_t>((uint64_t{i} * 2654435761u) % num_pages);
  CHECK(cudaMemcpy(table, pages.data(), num_pages * 4, cudaMemcpyHostToDevice));
  CHECK(cudaMemset(positions, 0, 8192 * 4));
  std::vector<uint16_t> halves(1 << 20);
  for (size_t i = 0; i < halves.size(); i++) halves[i] = static_cast<uint16_t>((hashed(i) & 0x8f8fu) | 0x3030u);
  for (uint64_t at = 0; at < page_stride * num_pages; at += halves.size() * 2)
    CHECK(cudaMemcpyAsync(pool + at, halves.data(), std::min<uint64_t>(halves.size() * 2, page_stride * num_pages - at), cudaMemcpyHostToDevice, stream));
  float *q = device_memory<float>(8192ull * NH * D), *out = device_memory<float>(8192ull * NH * D), *k = device_memory<float>(8192ull * NK * D);
  float *angles = device_memory<float>(8192ull * 2 * D), *norm = device_memory<float>(D);
  fill_floats<<<1024, 256, 0, stream>>>(q, 8192ull * NH * D, 5, false);
  fill_floats<<<1024, 256, 0, stream>>>(k, 8192ull * NK * D, 6, false);
  fill_floats<<<1024, 256, 0, stream>>>(angles, 8192ull * 2 * D, 7, false);
  fill_floats<<<1, 256, 0, stream>>>(norm, D, 8, false);
  Group *groups = device_memory<Group>(8);
  void *workspace = device_memory<uint8_t>(attention_bytes(1, max_context, NH, NK, D));
  CHECK(cudaMemset(workspace, 0, attention_bytes(1, max_context, NH, NK, D)));
  device.step.groups = groups;
  device.step.positions = positions;
  const HeadNorms norms{norm, norm, 1e-6f};
  const Rope rope{nullptr, 1.0f, IGNIS_ROPE_HALVES};
  const auto kv_of = [&](uint32_t layer) { return KvLayer{pool, page_stride, layer * layer_bytes, dtype, NK, D}; };
  for (uint32_t lanes : {1u, 8u}) {
    printf("round, %s, %u lanes, us (share):", name_of(dtype), lanes);
    for (uint32_t context : {1024u, 2048u, 4096u, 8192u, 32768u}) {
      Group rows[8];
      for (uint32_t i = 0; i < lanes; i++) rows[i] = Group{i, 1, context - 1, table + i * pages_a_lane};
      CHECK(cudaMemcpy(groups, rows, sizeof rows, cudaMemcpyHostToDevice));
      device.phase = Phase::decode;
      const uint32_t repeats = 36;
      const double us = graph_us([&] {
        for (uint32_t i = 0; i < repeats; i++) attention_run(device, AttentionOutput{out, nullptr, false}, q, k, k, kv_of(i % layers), rows, lanes, 0, NH, norms, rope, angles, workspace);
      }, 1000) / repeats;
      printf("  %uK %.1f (%.0f)", context / 1024, us, double(context) / 64 * layer_bytes * lanes / us * 1e6 / READ_RATE * 100);
    }
    printf("\n");
  }
  double chunks_us = 0;
  if (has_spans) {
    printf("span, %s, rows at position, us (TFLOP/s):", name_of(dtype));
    for (const auto &each : {std::pair<uint32_t, uint32_t>{0, 256}, {7936, 256}, {0, 512}, {7680, 512}, {0, 2048}, {2048, 2048}, {4096, 2048}, {6144, 2048}, {0, 8192}}) {
      const Group both[2] = {{0, each.second, each.first, table}, {}};
      CHECK(cudaMemcpy(groups, both, sizeof both, cudaMemcpyHostToDevice));
      device.phase = Phase::prefill;
      const double us = graph_us([&] {
        for (uint32_t i = 0; i < 4; i++) attention_run(device, AttentionOutput{out, nullptr, false}, q, k, k, kv_of(i), both, 1, 0, NH, norms, rope, angles, workspace);
      }, 1000) / 4;
      const double pairs = double(each.second) * each.first + double(each.second) * (each.second + 1) / 2;
      if (each.second == 2048) chunks_us += us;
      printf("  %u at %u %.0f (%.0f)", each.second, each.first, us, 4 * pairs * NH * D / us * 1e-6);
    }
    printf("  8192 in four %.0f (%.0f)\n", chunks_us, 4 * 8192.0 * 8193 / 2 * NH * D / chunks_us * 1e-6);
  }
  fflush(stdout);
  report(device.error == cudaSuccess, std::string("timing: ") + cudaGetErrorString(device.error));
  CHECK(cudaGetLastError());
  for (void *p : {(void *)pool, (void *)table, (void *)positions, (void *)q, (void *)out, (void *)k, (void *)angles, (void *)norm, (void *)groups, workspace})
    CHECK(cudaFree(p));
}

int main(int argc, char **argv) {
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  CHECK(cudaStreamCreate(&stream));
  device.stream = stream;
  device.code = static_cast<uint32_t>(properties.major * 10 + properties.minor);
  device.num_multiprocessors = properties.multiProcessorCount;
  const std::string what = argc > 1 ? argv[1] : "check";
  if (what == "check") {
    const ignis_rope_pairs halves = IGNIS_ROPE_HALVES, adjacent = IGNIS_ROPE_ADJACENT;
    for (const Shape &shape : {Shape{32, 8, 128, IGNIS_F16, true, halves}, {9, 3, 64, IGNIS_F16, false, adjacent}, {16, 2, 128, IGNIS_F16, false, adjacent},
                               {20, 2, 64, IGNIS_F16, true, halves}, {4, 4, 128, IGNIS_F16, false, halves}, {32, 8, 128, IGNIS_BF16, true, halves},
                               {9, 3, 64, IGNIS_BF16, false, halves}, {32, 8, 128, IGNIS_F8_E4M3, true, halves}, {14, 2, 64, IGNIS_F8_E4M3, false, adjacent},
                               {6, 3, 24, IGNIS_F16, true, halves}, {6, 3, 20, IGNIS_F32, false, adjacent}, {8, 2, 128, IGNIS_F32, true, halves},
                               {6, 2, 80, IGNIS_F8_E4M3, false, halves}, {6, 2, 40, IGNIS_BF16, false, halves}})
      check_attention(shape);
    if (device.code == 90)  // the kernels of other cards, and their shorter rings
      for (uint32_t code : {80u, 120u}) {
        device.code = code;
        for (const Shape &shape : {Shape{32, 8, 128, IGNIS_F16, true, halves}, {9, 3, 64, IGNIS_BF16, false, adjacent},
                                   {16, 2, 128, IGNIS_F8_E4M3, false, halves}, {16, 2, 128, IGNIS_F16, true, halves}})
          check_attention(shape);
      }
  }
  if (what == "race") {  // short enough for compute-sanitizer --tool racecheck
    check_attention({8, 2, 128, IGNIS_F16, true, IGNIS_ROPE_HALVES});
    check_attention({4, 2, 64, IGNIS_F8_E4M3, false, IGNIS_ROPE_HALVES});
  }
  if (what == "rounds") time_attention(IGNIS_F16, false);
  if (what == "time") {
    time_attention(IGNIS_F16, true);
    time_attention(IGNIS_F8_E4M3, true);
    time_attention(IGNIS_BF16, false);
  }
  CHECK(cudaDeviceSynchronize());
  printf("%d failures\n", num_failures);
  return num_failures != 0;
}
