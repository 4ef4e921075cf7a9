// layers.cu: how fast whole layers of a decode round are on the card, attention between their linear layers as a round has it. Stand-alone:
//   nvcc -std=c++20 -O3 -fmad=false -gencode=arch=compute_90a,code=sm_90a -o layers tests/cuda/layers.cu cuda/kernels/{pack,round_input,linear,
//        linear_round,linear_round_floats,linear_round_four,linear_round_five,attention,rope}.cu cuda/quant/dequantize.cpp
// `layers small` are Qwen3-8B's, `layers large` Qwen3-32B's. Right answers are rounds.cu's and harness_attention.cu's business.
#include "harness.cuh"
#include "shapes.cuh"

#include "../../cuda/kernels/attention.h"
#include "../../cuda/kernels/linear_round.h"

// Everything that a round's layers read and write, but the weights.
struct Workplace {
  Shapes shapes;
  uint32_t context, num_layers;
  Device device{};
  std::array<Operator, 5> ops;
  KvLayer kv;
  uint64_t layer_bytes;
  int32_t *table;
  float *x, *y, *norm, *out, *angles, *norms;
  void *workspace;
  uint8_t *memory[2];
  Group *groups, rows[8];

  static constexpr uint32_t D = 128;

  Workplace(const Shapes &shapes, uint32_t context, uint32_t num_layers) : shapes(shapes), context(context), num_layers(num_layers), ops(operators_of(shapes)) {
    const uint32_t H = shapes.H, Q = shapes.Q, NH = Q / D, NK = shapes.KV / D, pages_a_lane = context / 64 + 2, num_pages = 8 * pages_a_lane;
    device.stream = stream;
    device.code = TARGET_CODE;
    device.num_multiprocessors = static_cast<int>(num_multiprocessors);
    device.phase = Phase::decode;
    layer_bytes = kv_layer_bytes(IGNIS_F16, NK, D);
    const uint64_t page_stride = layer_bytes * shapes.num_layers;
    kv = KvLayer{device_memory<uint8_t>(page_stride * num_pages), page_stride, 0, IGNIS_F16, NK, D};
    CHECK(cudaMemset(kv.pool, 0x11, page_stride * num_pages));
    std::vector<int32_t> pages(num_pages);
    for (uint32_t i = 0; i < num_pages; i++) pages[i] = static_cast<int32_t>(uint64_t{i} * 7919 % num_pages);
    table = device_memory<int32_t>(num_pages);
    CHECK(cudaMemcpy(table, pages.data(), num_pages * 4, cudaMemcpyHostToDevice));
    x = device_memory<float>(8ull * H), y = device_memory<float>(8ull * shapes.V), norm = device_memory<float>(H), out = device_memory<float>(8ull * Q);
    angles = device_memory<float>(8ull * 2 * D), norms = device_memory<float>(8);
    fill_floats<<<256, 256, 0, stream>>>(x, 8ull * H, 9, false);
    fill_floats<<<256, 256, 0, stream>>>(norm, H, 11, false);
    fill_floats<<<256, 256, 0, stream>>>(angles, 8ull * 2 * D, 12, false);
    workspace = device_memory<uint8_t>(attention_bytes(1, context, NH, NK, D));
    memory[0] = device_memory<uint8_t>(round_input_bytes(H));
    memory[1] = device_memory<uint8_t>(round_input_bytes(std::max(shapes.F, Q)));
    groups = device_memory<Group>(8);
    for (uint32_t i = 0; i < 8; i++) rows[i] = Group{i, 1, context - 1, table + i * pages_a_lane};
    CHECK(cudaMemcpy(groups, rows, sizeof rows, cudaMemcpyHostToDevice));
    device.step.groups = groups;
  }
  ~Workplace() {
    for (void *p : {(void *)kv.pool, (void *)table, (void *)x, (void *)y, (void *)norm, (void *)out, (void *)angles, (void *)norms, workspace, (void *)memory[0], (void *)memory[1], (void *)groups})
      CHECK(cudaFree(p));
  }

  void attend(uint32_t layer, uint32_t T) {
    KvLayer own = kv;
    own.layer_offset = layer * layer_bytes;
    const float *k = y + T * shapes.Q, *v = k + T * shapes.KV;
    attention_run(device, AttentionOutput{out, memory[1], false}, y, k, v, own, rows, T, 0, shapes.Q / D, HeadNorms{norm, norm + D, 1e-6f},
                  Rope{nullptr, 1.0f, IGNIS_ROPE_HALVES}, angles, workspace);
  }
  void multiply(uint32_t op, const void *const *weights, ignis_dtype dtype, uint32_t T) {
    const bool is_wide = op == 1 || op == 3;  // reads what attention or SwiGLU leaves, and adds to x
    LinearJob jobs[3];
    uint64_t at = 0;
    for (uint32_t i = 0; i < ops[op].num; i++) {
      jobs[i] = LinearJob{is_wide ? x : y + at, weights[i], dtype, ops[op].rows[i], ops[op].rows[i], is_wide};
      at += uint64_t{T} * ops[op].rows[i];
    }
    RoundOutlet outlet{};
    if (is_wide) outlet = RoundOutlet{RoundOutlet::NORM, norm, RoundInput{memory[0], T, shapes.H, 1e-6f, norms}};
    if (op == 2) outlet = RoundOutlet{RoundOutlet::GATE, nullptr, RoundInput{memory[1], T, shapes.F, -1.0f, norms}};
    const RoundInput in{memory[is_wide], T, ops[op].K, is_wide ? -1.0f : 1e-6f, norms};
    round_linear(jobs, ops[op].num, in, nullptr, outlet, num_multiprocessors, TARGET_CODE, stream);
  }
  void begin(uint32_t T) { round_prepare_norm(RoundInput{memory[0], T, shapes.H, 1e-6f, norms}, x, norm, TARGET_CODE, stream); }
};

static void time_layers(Workplace &place, ignis_dtype dtype) {
  const Shapes &shapes = place.shapes;
  std::vector<void *> weights[5];
  uint64_t layers_bytes = 0, head_bytes = 0;
  for (uint32_t op = 0; op < 5; op++)
    for (uint32_t layer = 0; layer < (op == 4 ? 1 : place.num_layers); layer++)
      for (uint32_t i = 0; i < place.ops[op].num; i++) {
        weights[op].push_back(packed_random(dtype, place.ops[op].rows[i], place.ops[op].K, layer * 8 + op, nullptr));
        (op == 4 ? head_bytes : layers_bytes) += packed_bytes(dtype, place.ops[op].rows[i], place.ops[op].K);
      }
  double first_linear = 0, first_whole = 0;
  for (uint32_t T : {1u, 8u}) {
    // A layer: what twice as many take longer.
    const auto layer_us = [&](bool has_attention, bool has_linear) {
      double us[2];
      for (uint32_t turns : {1u, 2u})
        us[turns - 1] = graph_us([&] {
          if (has_linear) place.begin(T);
          for (uint32_t all = 0; all < place.num_layers * turns; all++) {
            const uint32_t layer = all % place.num_layers;
            for (uint32_t op = 0; op < 4; op++) {
              if (op == 1 && has_attention) place.attend(layer, T);
              if (has_linear) place.multiply(op, &weights[op][layer * place.ops[op].num], dtype, T);
            }
          }
        }, 400);
      return (us[1] - us[0]) / place.num_layers;
    };
    const double both = layer_us(true, true), linear = layer_us(false, true), attention = layer_us(true, false);
    const double head = graph_us([&] { for (int i = 0; i < 4; i++) place.multiply(4, weights[4].data(), dtype, T); }, 1000) / 4;
    const double linears = linear * shapes.num_layers + head, whole = both * shapes.num_layers + head;
    const double bytes = double(layers_bytes) / place.num_layers * shapes.num_layers + head_bytes + double(place.layer_bytes) * shapes.num_layers * T * place.context / 64;
    if (T == 1) first_linear = linears, first_whole = whole;
    printf("%s %-5s T %u: a layer %.1f us, its linear layers %.1f, attention alone %.1f, head %.1f; linear layers %.0f (%.3f x), all %.0f us (%.1f %% of reads) %.3f x\n", shapes.name, name_of(dtype), T, both,
           linear, attention, head, linears, linears / first_linear, whole, bytes / whole * 1e6 / READ_RATE * 100, whole / first_whole);
    fflush(stdout);
  }
  CHECK(cudaGetLastError());
  report(place.device.error == cudaSuccess, cudaGetErrorString(place.device.error));
  for (auto &each : weights)
    for (void *p : each) CHECK(cudaFree(p));
}

int main(int argc, char **argv) {
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  num_multiprocessors = properties.multiProcessorCount;
  CHECK(cudaStreamCreate(&stream));
  const bool is_large = argc > 1 && !strcmp(argv[1], "large");
  Workplace place(SHAPES[is_large], 1024, is_large ? 3 : 4);
  for (ignis_dtype dtype : {IGNIS_BF16, IGNIS_F8_E4M3, IGNIS_Q8_0, IGNIS_Q4_0, IGNIS_Q4_K, IGNIS_Q6_K}) time_layers(place, dtype);
  CHECK(cudaDeviceSynchronize());
  return num_failures != 0;
}
