// harness.cu: the card's linear layers against float64, their row invariance bit for bit, and their speed. Stand-alone:
//   nvcc -std=c++20 -O3 -fmad=false -gencode=arch=compute_90a,code=sm_90a -o harness tests/cuda/harness.cu cuda/kernels/{pack,linear,
//        linear_round,linear_round_floats,linear_round_four,linear_round_five,round_input,linear_span,linear_span_prepare,
//        linear_span_floats,linear_span_four,linear_span_five,linear_span_eight}.cu cuda/quant/dequantize.cpp
// `harness check` ends with 0 where everything holds, `harness race` is a short part of it; `harness time` prints figures.
#include "harness.cuh"

#include "../../cuda/kernels/linear_round.h"
#include "../../cuda/kernels/linear_span.h"

// Memory for prepared rows, their preparation, and the products, of either phase.
static uint64_t input_bytes(Phase phase, uint32_t T, uint32_t K) { return phase == Phase::prefill ? span_input_bytes(T, K) : round_input_bytes(K); }
static RoundInput round_rows(void *memory, uint32_t T, uint32_t K) { return RoundInput{static_cast<uint8_t *>(memory), T, K, -1.0f, nullptr}; }
static constexpr SpanForms BOTH_FORMS{true, true};
static void prepare(Phase phase, void *memory, const float *x, uint32_t T, uint32_t K) {
  phase == Phase::prefill ? span_prepare(memory, x, T, K, BOTH_FORMS, stream) : round_prepare(round_rows(memory, T, K), x, TARGET_CODE, stream);
}
static void run_jobs(Phase phase, const LinearJob *jobs, uint32_t num, void *memory, const float *x, uint32_t T, uint32_t K) {
  if (phase == Phase::prefill)
    span_linear(jobs, num, memory, x, T, K, num_multiprocessors, TARGET_CODE, stream);
  else
    round_linear(jobs, num, round_rows(memory, T, K), x, RoundOutlet{}, num_multiprocessors, TARGET_CODE, stream);
}

// One weight, many widths: against float64, and each row alone against the row among others, in one of the two phases.
static void check_linear(ignis_dtype dtype, uint32_t rows, uint32_t K, double *worst, Phase phase) {
  char label[128];
  snprintf(label, sizeof label, "linear %s %ux%u %s", name_of(dtype), rows, K, phase == Phase::prefill ? "prefill" : "decode");
  std::vector<uint8_t> stored;
  void *packed = packed_random(dtype, rows, K, rows + K, &stored);
  std::vector<float> values(uint64_t{rows} * K);
  dequantize(values.data(), stored.data(), dtype, values.size());
  if (has_block_scales(dtype))
    for (float &each : values) each *= BLOCK_SCALE;
  float *w = device_memory<float>(values.size());
  CHECK(cudaMemcpy(w, values.data(), values.size() * 4, cudaMemcpyHostToDevice));
  // With rows of whole 16 bytes prefill writes by tensor copies.
  const uint32_t most = phase == Phase::prefill ? 300 : IGNIS_MAX_LANES, ldy = rows + (K % 3 ? 5 : 8 - rows % 4);
  float *x = device_memory<float>(uint64_t{most} * K), *y = device_memory<float>(uint64_t{most} * ldy);
  double *expected = device_memory<double>(uint64_t{most} * rows);
  void *memory = device_memory<uint8_t>(input_bytes(phase, most, K));
  fill_floats<<<256, 256, 0, stream>>>(x, uint64_t{most} * K, K, true);
  reference_linear<<<dim3((rows + 127) / 128, most), 128, 0, stream>>>(expected, x, w, most, rows, K);
  std::vector<double> right(uint64_t{most} * rows);
  CHECK(cudaMemcpyAsync(right.data(), expected, right.size() * 8, cudaMemcpyDeviceToHost, stream));
  std::vector<float> whole, got(uint64_t{most} * ldy);
  const auto run = [&](uint32_t first, uint32_t T, bool accumulates, float base) {
    poison<<<64, 256, 0, stream>>>(y, uint64_t{most} * ldy);
    if (accumulates) {
      std::fill(got.begin(), got.end(), base);
      CHECK(cudaMemcpyAsync(y, got.data(), got.size() * 4, cudaMemcpyHostToDevice, stream));
    }
    CHECK(cudaMemsetAsync(memory, 0xff, input_bytes(phase, most, K), stream));
    prepare(phase, memory, x + uint64_t{first} * K, T, K);
    const LinearJob job{y, packed, dtype, rows, ldy, accumulates};
    run_jobs(phase, &job, 1, memory, x + uint64_t{first} * K, T, K);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(got.data(), y, got.size() * 4, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
  };
  run(0, most, false, 0);
  whole = got;
  double error = 0, norm = 0;
  int num_shown = 0;
  for (uint32_t t = 0; t < most; t++)
    for (uint32_t r = 0; r < ldy; r++) {
      if (r < rows && !(fabs(whole[uint64_t{t} * ldy + r] - right[uint64_t{t} * rows + r]) < 1e3) && num_shown++ < 4)
        printf("%s: row %u of w, token %u: %g for %g\n", label, r, t, whole[uint64_t{t} * ldy + r], right[uint64_t{t} * rows + r]);
      const float value = whole[uint64_t{t} * ldy + r];
      if (r >= rows) {
        uint32_t bits;
        memcpy(&bits, &value, 4);
        report(bits == 0x7fc0dead, std::string(label) + " writes outside its columns");
        continue;
      }
      const double difference = value - right[uint64_t{t} * rows + r];
      error += difference * difference;
      norm += right[uint64_t{t} * rows + r] * right[uint64_t{t} * rows + r];
    }
  const bool is_eight = phase == Phase::prefill && reads_eights(dtype, TARGET_CODE);
  const double relative = sqrt(error / norm), limit = dtype == IGNIS_F32 ? 1e-5 : is_eight ? 5e-2 : 5e-4;
  *worst = std::max(*worst, std::isfinite(relative) ? relative : 1e9);
  char text[256];
  snprintf(text, sizeof text, "%s: relative error %.2e", label, relative);
  report(relative < limit, text);
  const uint32_t widths[][2] = {{0, 1}, {5, 1}, {7, 1}, {149, 1}, {3, 2}, {1, 3}, {7, 5}, {0, 8}, {3, 4}, {9, 8}, {2, 9}, {11, 16}, {4, 33}, {20, 64}, {13, 130}, {0, 128}, {30, 257}, {44, 256}, {1, 299}};
  for (const auto &width : widths) {
    if (width[0] + width[1] > most) continue;
    run(width[0], width[1], false, 0);
    uint64_t num_different = 0;
    for (uint32_t t = 0; t < width[1]; t++) num_different += memcmp(&got[uint64_t{t} * ldy], &whole[uint64_t{t + width[0]} * ldy], rows * 4) != 0;
    snprintf(text, sizeof text, "%s: %llu of %u rows differ from the same rows among all", label, (unsigned long long)num_different, width[1]);
    report(num_different == 0, text);
  }
  for (uint32_t T : {3u, 40u, 290u}) {
    if (T > most) continue;
    run(0, T, true, 2.5f);
    bool is_right = true;
    for (uint32_t t = 0; t < T; t++)
      for (uint32_t r = 0; r < rows; r++) is_right &= got[uint64_t{t} * ldy + r] == 2.5f + whole[uint64_t{t} * ldy + r];
    report(is_right, std::string(label) + ": adding to y");
  }
  for (void *p : {packed, static_cast<void *>(w), static_cast<void *>(x), static_cast<void *>(y), static_cast<void *>(expected), memory}) CHECK(cudaFree(p));
}

// Three jobs of two types in one call.
static void check_jobs(Phase phase) {
  const uint32_t K = 512, T = 5;
  const ignis_dtype dtypes[3] = {IGNIS_Q4_K, IGNIS_Q6_K, IGNIS_Q4_K};
  const uint32_t rows[3] = {96, 48, 40};
  float *x = device_memory<float>(T * K), *y[2][3];
  fill_floats<<<64, 256, 0, stream>>>(x, T * K, 3, true);
  void *memory = device_memory<uint8_t>(input_bytes(phase, T, K)), *packed[3];
  LinearJob jobs[3];
  prepare(phase, memory, x, T, K);
  for (uint32_t i = 0; i < 3; i++) {
    packed[i] = packed_random(dtypes[i], rows[i], K, 77 + i, nullptr);
    for (auto &each : y) poison<<<8, 256, 0, stream>>>(each[i] = device_memory<float>(T * rows[i]), T * rows[i]);
    jobs[i] = LinearJob{y[0][i], packed[i], dtypes[i], rows[i], rows[i], false};
  }
  run_jobs(phase, jobs, 3, memory, x, T, K);
  for (uint32_t i = 0; i < 3; i++) {
    jobs[i].y = y[1][i];
    run_jobs(phase, jobs + i, 1, memory, x, T, K);
    std::vector<float> a(T * rows[i]), b(T * rows[i]);
    CHECK(cudaMemcpyAsync(a.data(), y[0][i], a.size() * 4, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaMemcpyAsync(b.data(), y[1][i], b.size() * 4, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    report(memcmp(a.data(), b.data(), a.size() * 4) == 0 && std::isfinite(a[0]), "several jobs in one call");
  }
}

// Rows that are made on the way: against float64, and a few rows against many.
static void check_fused(uint32_t K) {
  const Phase phase = Phase::prefill;
  const uint32_t most = 150, rows = 64, first_row = 11, step = 7;
  const float eps = 1e-6f;
  std::vector<uint8_t> stored;
  void *packed = packed_random(IGNIS_Q8_0, rows, K, 5, &stored);
  std::vector<float> values(uint64_t{rows} * K), x(most * K), up(most * K), w(K), whole(most * rows), few(most * rows);
  dequantize(values.data(), stored.data(), IGNIS_Q8_0, values.size());
  float *device_x = device_memory<float>(most * K), *device_up = device_memory<float>(most * K), *device_w = device_memory<float>(K);
  float *y = device_memory<float>(most * rows);
  void *memory = device_memory<uint8_t>(input_bytes(phase, most, K));
  fill_floats<<<64, 256, 0, stream>>>(device_x, most * K, 21, true);
  fill_floats<<<64, 256, 0, stream>>>(device_up, most * K, 22, true);
  fill_floats<<<64, 256, 0, stream>>>(device_w, K, 23, false);
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemcpy(x.data(), device_x, x.size() * 4, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(up.data(), device_up, up.size() * 4, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(w.data(), device_w, w.size() * 4, cudaMemcpyDeviceToHost));
  for (bool is_norm : {true, false}) {
    const auto run = [&](std::vector<float> &to, uint32_t first, uint32_t T) {
      const float *rows_x = device_x + uint64_t{first} * K, *rows_up = device_up + uint64_t{first} * K;
      if (is_norm)
        span_prepare_norm(memory, rows_x, device_w, eps, T, K, BOTH_FORMS, stream);
      else
        span_prepare_swiglu(memory, rows_x, rows_up, T, K, BOTH_FORMS, stream);
      const LinearJob job{y, packed, IGNIS_Q8_0, rows, rows, false};
      run_jobs(phase, &job, 1, memory, nullptr, T, K);
      CHECK(cudaGetLastError());
      CHECK(cudaMemcpyAsync(to.data(), y, T * rows * 4, cudaMemcpyDeviceToHost, stream));
      CHECK(cudaStreamSynchronize(stream));
    };
    run(whole, 0, most);
    double error = 0, norm = 0;
    std::vector<double> made(K);
    for (uint32_t t = 0; t < most; t += step) {
      double squares = 0;
      for (uint32_t k = 0; k < K; k++) squares += double(x[t * K + k]) * x[t * K + k];
      for (uint32_t k = 0; k < K; k++) {
        const double v = x[t * K + k];
        made[k] = is_norm ? v / sqrt(squares / K + eps) * w[k] : v / (1 + exp(-v)) * up[t * K + k];
      }
      for (uint32_t r = 0; r < rows; r++) {
        double right = 0;
        for (uint32_t k = 0; k < K; k++) right += made[k] * values[uint64_t{r} * K + k];
        error += (whole[t * rows + r] - right) * (whole[t * rows + r] - right);
        norm += right * right;
      }
    }
    const std::string label = std::string(is_norm ? "norm" : "swiglu") + " and linear of " + std::to_string(K) ;
    report(sqrt(error / norm) < 5e-4, label + ": relative error " + std::to_string(sqrt(error / norm)));
    for (uint32_t T : {1u, 5u, 8u, 20u}) {
      if (T > most) continue;
      run(few, first_row, T);
      report(memcmp(few.data(), &whole[first_row * rows], T * rows * 4) == 0, label + ": other bits in " + std::to_string(T) + " rows");
    }
  }
  for (void *p : {packed, (void *)device_x, (void *)device_up, (void *)device_w, (void *)y, memory}) CHECK(cudaFree(p));
}

static int check() {
  const ignis_dtype dtypes[] = {IGNIS_F32, IGNIS_F16, IGNIS_BF16, IGNIS_Q8_0, IGNIS_F8_E4M3, IGNIS_Q4_0, IGNIS_Q4_1, IGNIS_Q4_K, IGNIS_Q5_0, IGNIS_Q5_1, IGNIS_Q5_K, IGNIS_Q6_K};
  for (ignis_dtype dtype : dtypes) {
    for (Phase phase : {Phase::prefill, Phase::decode}) {
      const int before = num_failures;
      double worst = 0;
      const bool is_k = block_values(dtype) == 256;
      if (block_values(dtype) == 1) check_linear(dtype, 97, 72, &worst, phase);
      check_linear(dtype, 40, is_k ? 256 : 96, &worst, phase);
      check_linear(dtype, 576, is_k ? 1536 : 576, &worst, phase);
      check_linear(dtype, 1000, is_k ? 2816 : 2720, &worst, phase);
      check_linear(dtype, 272, 12288, &worst, phase);
      printf("linear %-5s %s: worst relative error %.2e%s\n", name_of(dtype), phase == Phase::prefill ? "prefill" : "decode", worst,
             num_failures > before ? "  FAILED" : "");
      fflush(stdout);
    }
  }
  for (uint32_t rows : {272u, 400u, 1000u})
    for (uint32_t K : {512u, 576u, 640u, 2720u}) check_linear(IGNIS_BF16, rows, K, new double(0), Phase::decode);
  check_linear(IGNIS_Q4_1, 12000, 512, new double(0), Phase::decode);  // pairs of tiles
  check_linear(IGNIS_BF16, 12000, 512, new double(0), Phase::decode);
  check_linear(IGNIS_Q4_K, 12000, 512, new double(0), Phase::decode);
  for (Phase phase : {Phase::prefill, Phase::decode}) check_jobs(phase);
  for (uint32_t K : {96u, 576u, 4096u, 5120u}) check_fused(K);
  printf("%d failures\n", num_failures);
  return num_failures != 0;
}

// Speed -------------------------------------------------------------------------------------------------------------------------------

struct Operator {
  const char *name;
  uint32_t num;
  uint32_t rows[3], K;
};
static const Operator OPERATORS[] = {{"qkv", 3, {4096, 1024, 1024}, 4096}, {"o", 1, {4096, 0, 0}, 4096}, {"gate_up", 2, {12288, 12288, 0}, 4096}, {"down", 1, {4096, 0, 0}, 12288}};
static const Operator HEAD = {"lm_head", 1, {151936, 0, 0}, 4096};

static void time_linear(uint32_t num_layers) {
  const uint32_t most = 8192;
  float *x = device_memory<float>(uint64_t{most} * 12288), *y = device_memory<float>(uint64_t{most} * 24576 + 8ull * 151936);
  fill_floats<<<1024, 256, 0, stream>>>(x, uint64_t{most} * 12288, 9, false);
  void *memory = device_memory<uint8_t>(span_input_bytes(most, 12288));
  for (ignis_dtype dtype : {IGNIS_BF16, IGNIS_F8_E4M3, IGNIS_Q8_0, IGNIS_Q4_1, IGNIS_Q4_K, IGNIS_Q4_0, IGNIS_Q6_K}) {
    const bool is_main = dtype != IGNIS_Q4_0 && dtype != IGNIS_Q6_K;
    std::vector<std::vector<void *>> weights(num_layers);
    uint64_t bytes[5], step_bytes = 0;
    for (uint32_t layer = 0; layer < num_layers; layer++)
      for (uint32_t op = 0; op < 4; op++) {
        bytes[op] = 0;
        for (uint32_t i = 0; i < OPERATORS[op].num; i++) {
          weights[layer].push_back(packed_random(dtype, OPERATORS[op].rows[i], OPERATORS[op].K, layer * 8 + op, nullptr));
          bytes[op] += packed_bytes(dtype, OPERATORS[op].rows[i], OPERATORS[op].K);
        }
        step_bytes += bytes[op];
      }
    void *head = packed_random(dtype, HEAD.rows[0], HEAD.K, 999, nullptr);
    bytes[4] = packed_bytes(dtype, HEAD.rows[0], HEAD.K);
    step_bytes += bytes[4];
    const auto run = [&](Phase phase, uint32_t op, uint32_t layer, uint32_t T, bool prepares) {
      const Operator &each = op == 4 ? HEAD : OPERATORS[op];
      LinearJob jobs[3];
      const uint32_t first[4] = {0, 3, 4, 6};
      uint64_t at = 0;
      for (uint32_t i = 0; i < each.num; i++) {
        jobs[i] = LinearJob{y + at, op == 4 ? head : weights[layer][first[op] + i], dtype, each.rows[i], each.rows[i], op == 1 || op == 3};
        at += uint64_t{T} * each.rows[i];
      }
      if (prepares) prepare(phase, memory, x, T, each.K);
      run_jobs(phase, jobs, each.num, memory, x, T, each.K);
    };
    if (!is_main) continue;
    for (uint32_t T : {1u, 64u, 512u, 2048u, 8192u}) {
      printf("prefill %-5s T %u, TFLOP/s:", name_of(dtype), T);
      double total_us = 0, total_flop = 0;
      for (uint32_t op = 0; op < 4; op++) {
        prepare(Phase::prefill, memory, x, T, OPERATORS[op].K);
        const double us = graph_us([&] { for (uint32_t i = 0; i < 6; i++) run(Phase::prefill, op, i % num_layers, T, false); }, 2000) / 6;
        const double flop = 2.0 * T * OPERATORS[op].K * (double(OPERATORS[op].rows[0]) + OPERATORS[op].rows[1] + OPERATORS[op].rows[2]);
        printf("  %s %.0f", OPERATORS[op].name, flop / us * 1e-6);
        total_us += us;
        total_flop += flop;
      }
      const double us = graph_us([&] { for (uint32_t i = 0; i < 6; i++) prepare(Phase::prefill, memory, x, T, 4096); }, 300) / 6;
      printf("  all %.0f; preparation of 4096 columns %.1f us\n", total_flop / total_us * 1e-6, us);
      fflush(stdout);
    }
    CHECK(cudaGetLastError());
    for (auto &layer : weights)
      for (void *p : layer) CHECK(cudaFree(p));
    CHECK(cudaFree(head));
  }
}

int main(int argc, char **argv) {
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  num_multiprocessors = properties.multiProcessorCount;
  CHECK(cudaStreamCreate(&stream));
  const std::string what = argc > 1 ? argv[1] : "check";
  int result = 0;
  if (what == "check") result = check();
  if (what == "time") {
    time_linear(argc > 2 ? atoi(argv[2]) : 36);
  }
  if (what == "race") {  // short enough for compute-sanitizer --tool racecheck
    double worst = 0;
    for (Phase phase : {Phase::prefill, Phase::decode}) {
      check_linear(IGNIS_BF16, 272, 576, &worst, phase);
      check_linear(IGNIS_Q4_1, 272, 576, &worst, phase);
      check_linear(IGNIS_Q6_K, 40, 512, &worst, phase);
      if (phase == Phase::prefill) check_fused(576);
    }
    printf("%d failures\n", num_failures);
    result = num_failures != 0;
  }
  if (what == "linear") time_linear(argc > 2 ? atoi(argv[2]) : 36);
  CHECK(cudaDeviceSynchronize());
  return result;
}
