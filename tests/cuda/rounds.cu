// rounds.cu: the card's linear layers of decode rounds against float64, their row invariance bit for bit, and their speed. Stand-alone:
//   nvcc -std=c++20 -O3 -fmad=false -gencode=arch=compute_90a,code=sm_90a -o rounds tests/cuda/rounds.cu cuda/kernels/{pack,round_input,linear,
//        linear_round,linear_round_floats,linear_round_four,linear_round_five}.cu cuda/quant/dequantize.cpp
// `rounds check` ends with 0 where everything holds, `rounds race` is a short part of it; `rounds time <layers>` prints figures for Qwen3-8B's shapes, `rounds large <layers>`
// for Qwen3-32B's.
#include "harness.cuh"
#include "shapes.cuh"

#include "../../cuda/kernels/linear_round.h"

static double relative_error(const std::vector<double> &right, const std::vector<float> &got) {
  double error = 0, norm = 0;
  for (uint64_t i = 0; i < right.size(); i++) error += (got[i] - right[i]) * (got[i] - right[i]), norm += right[i] * right[i];
  const double relative = sqrt(error / norm);
  return std::isfinite(relative) ? relative : 1e9;
}

// Two weights [rows, K] and one [64, rows] behind them, eight tokens: plain, added to y, with a norm's rows on the way in and out, and gated;
// each against float64 and every row of narrower rounds against the same row of eight.
static void check_round(ignis_dtype dtype, uint32_t rows, uint32_t K, double *worst) {
  const std::string label = std::string("round ") + name_of(dtype) + " " + std::to_string(rows) + "x" + std::to_string(K);
  const uint32_t T = 8, last_rows = 64;
  const float eps = 1e-5f;
  std::vector<uint8_t> stored;
  std::vector<float> w[3], x(T * K), base(T * rows), norm(K), next_norm(rows);
  void *packed[3];
  for (uint32_t i = 0; i < 3; i++) {
    const uint32_t own_rows = i == 2 ? last_rows : rows, own_cols = i == 2 ? rows : K;
    if (i == 2 && own_cols % block_values(dtype)) continue;
    packed[i] = packed_random(dtype, own_rows, own_cols, 31 * i + rows + K, &stored);
    w[i].resize(uint64_t{own_rows} * own_cols);
    dequantize(w[i].data(), stored.data(), dtype, w[i].size());
    if (has_block_scales(dtype))
      for (float &each : w[i]) each *= BLOCK_SCALE;
  }
  const bool has_last = !w[2].empty();
  const auto filled = [&](std::vector<float> &values, uint64_t seed, bool has_outliers) {
    float *memory = device_memory<float>(values.size());
    fill_floats<<<64, 256, 0, stream>>>(memory, values.size(), seed, has_outliers);
    CHECK(cudaMemcpyAsync(values.data(), memory, values.size() * 4, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    return memory;
  };
  float *device_x = filled(x, K, true), *device_base = filled(base, rows, true), *device_norm = filled(norm, 3, false), *device_next = filled(next_norm, 4, false);
  float *y = device_memory<float>(2 * T * rows), *last = device_memory<float>(T * last_rows);
  float *norms = device_memory<float>(8);
  RoundInput in{device_memory<uint8_t>(round_input_bytes(K)), T, K, -1.0f, norms}, out{device_memory<uint8_t>(round_input_bytes(rows)), T, rows, -1.0f, norms};
  const auto product = [&](const std::vector<double> &from, const std::vector<float> &weights, uint32_t num_rows, uint32_t cols) {
    std::vector<double> result(T * num_rows);
    for (uint32_t t = 0; t < T; t++)
      for (uint32_t r = 0; r < num_rows; r++) {
        double sum = 0;
        for (uint32_t k = 0; k < cols; k++) sum += from[t * cols + k] * weights[uint64_t{r} * cols + k];
        result[t * num_rows + r] = sum;
      }
    return result;
  };
  const auto normed = [&](const std::vector<double> &from, const std::vector<float> &weights, uint32_t cols) {
    std::vector<double> result(T * cols);
    for (uint32_t t = 0; t < T; t++) {
      double squares = 0;
      for (uint32_t k = 0; k < cols; k++) squares += from[t * cols + k] * from[t * cols + k];
      for (uint32_t k = 0; k < cols; k++) result[t * cols + k] = from[t * cols + k] / sqrt(squares / cols + eps) * weights[k];
    }
    return result;
  };
  const std::vector<double> exact_x(x.begin(), x.end()), plain = product(exact_x, w[0], rows, K);
  std::vector<double> residual = product(normed(exact_x, norm, K), w[0], rows, K), gated(T * rows);
  for (uint32_t i = 0; i < T * rows; i++) residual[i] += base[i];
  {
    const std::vector<double> up = product(exact_x, w[1], rows, K);
    for (uint32_t i = 0; i < T * rows; i++) gated[i] = plain[i] / (1 + exp(-plain[i])) * up[i];
  }
  for (uint32_t form = 0; form < (has_last ? 3u : 1u); form++) {  // plain, norm to norm, gated
    const std::vector<double> right = form == 0 ? plain : product(form == 1 ? normed(residual, next_norm, rows) : gated, w[2], last_rows, rows);
    const uint32_t num = form == 0 ? rows : last_rows;
    const auto run = [&](std::vector<float> &to, uint32_t first, uint32_t width) {
      poison<<<64, 256, 0, stream>>>(y, 2 * T * rows);
      poison<<<64, 256, 0, stream>>>(last, T * last_rows);
      CHECK(cudaMemsetAsync(in.memory, 0xff, round_input_bytes(K), stream));
      CHECK(cudaMemsetAsync(out.memory, 0xff, round_input_bytes(rows), stream));
      in.T = out.T = width;
      in.eps = form == 1 ? eps : -1.0f;
      out.eps = form == 1 ? eps : -1.0f;
      if (form == 1) {
        CHECK(cudaMemcpyAsync(y, device_base + first * rows, width * rows * 4, cudaMemcpyDeviceToDevice, stream));
        round_prepare_norm(in, device_x + first * K, device_norm, TARGET_CODE, stream);
      } else {
        round_prepare(in, device_x + first * K, TARGET_CODE, stream);
      }
      const LinearJob jobs[2] = {{y, packed[0], dtype, rows, rows, form == 1}, {y + T * rows, packed[1], dtype, rows, rows, false}};
      const RoundOutlet outlet{form == 0 ? RoundOutlet::NONE : form == 1 ? RoundOutlet::NORM : RoundOutlet::GATE, device_next, out};
      round_linear(jobs, form == 2 ? 2 : 1, in, nullptr, outlet, num_multiprocessors, TARGET_CODE, stream);
      if (form > 0) {
        const LinearJob job{last, packed[2], dtype, last_rows, last_rows, false};
        round_linear(&job, 1, out, nullptr, RoundOutlet{}, num_multiprocessors, TARGET_CODE, stream);
      }
      CHECK(cudaGetLastError());
      to.resize(width * num);
      CHECK(cudaMemcpyAsync(to.data(), form == 0 ? y : last, to.size() * 4, cudaMemcpyDeviceToHost, stream));
      CHECK(cudaStreamSynchronize(stream));
    };
    std::vector<float> whole, few;
    run(whole, 0, T);
    const double relative = relative_error(right, whole);
    *worst = std::max(*worst, relative);
    char text[256];
    snprintf(text, sizeof text, "%s form %u: relative error %.2e", label.c_str(), form, relative);
    report(relative < (form == 0 ? 5e-4 : 2e-3), text);
    for (uint32_t width = 1; width < T; width++)
      for (uint32_t first : {0u, T - width}) {
        run(few, first, width);
        report(memcmp(few.data(), &whole[first * num], few.size() * 4) == 0, label + " form " + std::to_string(form) + ": other bits in " + std::to_string(width) + " rows");
      }
  }
  for (void *p : {packed[0], packed[1], (void *)device_x, (void *)device_base, (void *)device_norm, (void *)device_next, (void *)y, (void *)last, (void *)in.memory, (void *)out.memory, (void *)norms})
    CHECK(cudaFree(p));
  if (has_last) CHECK(cudaFree(packed[2]));
}

static void check_rounds() {
  const ignis_dtype dtypes[] = {IGNIS_F16, IGNIS_BF16, IGNIS_F8_E4M3, IGNIS_Q8_0, IGNIS_Q4_0, IGNIS_Q4_1, IGNIS_Q4_K, IGNIS_Q5_0, IGNIS_Q5_1, IGNIS_Q5_K, IGNIS_Q6_K};
  for (ignis_dtype dtype : dtypes) {
    const int before = num_failures;
    double worst = 0;
    const bool is_k = block_values(dtype) == 256;
    if (block_values(dtype) == 1) check_round(dtype, 97, 72, &worst);
    check_round(dtype, is_k ? 256 : 576, is_k ? 1536 : 576, &worst);
    check_round(dtype, 1024, 4096, &worst);
    check_round(dtype, 256, 12288, &worst);
    check_round(dtype, 5120, 1280, &worst);   // three tiles at a time
    check_round(dtype, 9216, 256, &worst);    // pairs
    printf("round %-5s: worst relative error %.2e%s\n", name_of(dtype), worst, num_failures > before ? "  FAILED" : "");
    fflush(stdout);
  }
}

// Decode rounds: every linear layer by itself, and those of `num_layers` layers and the head in a chain: with a preparation before each, and
// with results that go where the next one reads them (but those of attention, which is not here).
static void time_rounds(const Shapes &shapes, uint32_t num_layers, std::vector<ignis_dtype> dtypes, std::vector<uint32_t> widths) {
  const uint32_t H = shapes.H, Q = shapes.Q, F = shapes.F;
  const auto ops = operators_of(shapes);
  float *x = device_memory<float>(8ull * H), *wide = device_memory<float>(16ull * F), *y = device_memory<float>(8ull * shapes.V), *norm = device_memory<float>(H);
  fill_floats<<<256, 256, 0, stream>>>(x, 8ull * H, 9, false);
  fill_floats<<<256, 256, 0, stream>>>(wide, 16ull * F, 10, false);
  fill_floats<<<256, 256, 0, stream>>>(norm, H, 11, false);
  float *norms = device_memory<float>(8);
  uint8_t *memory[2] = {device_memory<uint8_t>(round_input_bytes(H)), device_memory<uint8_t>(round_input_bytes(std::max(F, Q)))};
  for (ignis_dtype dtype : dtypes) {
    std::vector<void *> weights[5];
    uint64_t bytes[5] = {}, step_bytes = 0;
    for (uint32_t op = 0; op < 5; op++)
      for (uint32_t layer = 0; layer < (op == 4 ? 1 : num_layers); layer++)
        for (uint32_t i = 0; i < ops[op].num; i++) {
          weights[op].push_back(packed_random(dtype, ops[op].rows[i], ops[op].K, layer * 8 + op, nullptr));
          const uint64_t size = packed_bytes(dtype, ops[op].rows[i], ops[op].K);
          step_bytes += size;
          if (layer == 0) bytes[op] += size;
        }
    const auto run = [&](uint32_t op, uint32_t layer, uint32_t T, bool is_fused) {
      LinearJob jobs[3];
      uint64_t at = 0;
      for (uint32_t i = 0; i < ops[op].num; i++) {
        float *to = op == 1 || op == 3 ? x : y + at;
        jobs[i] = LinearJob{to, weights[op][layer * ops[op].num + i], dtype, ops[op].rows[i], ops[op].rows[i], op == 1 || op == 3};
        at += uint64_t{T} * ops[op].rows[i];
      }
      const bool is_wide = op == 1 || op == 3;
      const RoundInput in{memory[is_wide], T, ops[op].K, is_wide ? -1.0f : 1e-6f, norms};
      RoundOutlet outlet{};
      if (is_fused && is_wide) outlet = RoundOutlet{RoundOutlet::NORM, norm, RoundInput{memory[0], T, H, 1e-6f, norms}};
      if (is_fused && op == 2) outlet = RoundOutlet{RoundOutlet::GATE, nullptr, RoundInput{memory[1], T, F, -1.0f, norms}};
      round_linear(jobs, ops[op].num, in, nullptr, outlet, num_multiprocessors, TARGET_CODE, stream);
    };
    const auto prepare = [&](uint32_t op, uint32_t T) {
      const RoundInput in{memory[op == 1 || op == 3], T, ops[op].K, op == 1 || op == 3 ? -1.0f : 1e-6f, norms};
      if (op == 1) return round_prepare(in, wide, TARGET_CODE, stream);
      if (op == 3) return round_prepare_swiglu(in, wide, wide + 8 * F, TARGET_CODE, stream);
      round_prepare_norm(in, x, norm, TARGET_CODE, stream);
    };
    double first_us = 0;
    for (uint32_t T : widths) {
      printf("%s %-5s T %u, us (share):", shapes.name, name_of(dtype), T);
      for (uint32_t op = 0; op < 5; op++) {
        const uint32_t repeats = op == 4 ? 4 : num_layers;
        prepare(op, T);
        const double us = graph_us([&] { for (uint32_t i = 0; i < repeats; i++) run(op, op == 4 ? 0 : i, T, false); }, 500) / repeats;
        printf("  %s %.1f (%.0f)", ops[op].name, us, bytes[op] / us * 1e6 / READ_RATE * 100);
      }
      for (const bool is_fused : {false, true}) {
        const double us = graph_us([&] {
          if (is_fused) prepare(0, T);
          for (uint32_t layer = 0; layer < num_layers; layer++)
            for (uint32_t op = 0; op < 4; op++) {
              if (!is_fused) prepare(op, T);
              run(op, layer, T, is_fused);
            }
          if (!is_fused) prepare(4, T);
          run(4, 0, T, false);
        }, 3000);
        // As many layers as the model has.
        const double whole_us = us + (us - bytes[4] / READ_RATE * 1e6) * (double(shapes.num_layers) / num_layers - 1);
        printf("  %s %.0f us (%.1f; model %.0f us)", is_fused ? "fused" : "prepared", us, step_bytes / us * 1e6 / READ_RATE * 100, whole_us);
        if (is_fused && first_us == 0) first_us = us;
        if (is_fused) printf(" %.3f x", us / first_us);
      }
      printf("\n");
      fflush(stdout);
    }
    CHECK(cudaGetLastError());
    for (auto &each : weights)
      for (void *p : each) CHECK(cudaFree(p));
  }
  for (void *p : {(void *)x, (void *)wide, (void *)y, (void *)norm, (void *)memory[0], (void *)memory[1], (void *)norms}) CHECK(cudaFree(p));
}

int main(int argc, char **argv) {
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  num_multiprocessors = properties.multiProcessorCount;
  CHECK(cudaStreamCreate(&stream));
  const std::string what = argc > 1 ? argv[1] : "check";
  if (what == "check") check_rounds();
  if (what == "race") {
    double worst = 0;
    for (ignis_dtype dtype : {IGNIS_BF16, IGNIS_F8_E4M3, IGNIS_Q4_0}) check_round(dtype, 576, 576, &worst);
  }
  if (what == "time")
    time_rounds(SHAPES[0], argc > 2 ? atoi(argv[2]) : 36, {IGNIS_BF16, IGNIS_F8_E4M3, IGNIS_Q4_0, IGNIS_Q4_1, IGNIS_Q4_K, IGNIS_Q8_0, IGNIS_Q6_K}, {1, 4, 8});
  if (what == "large") time_rounds(SHAPES[1], argc > 2 ? atoi(argv[2]) : 6, {IGNIS_BF16, IGNIS_Q4_0, IGNIS_Q4_K}, {1, 8});
  CHECK(cudaDeviceSynchronize());
  if (what == "check" || what == "race") printf("%d failures\n", num_failures);
  return num_failures != 0;
}
