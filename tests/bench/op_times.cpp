// op_times.cpp: a leaf that adds up the time of each operator, for bench_leaf --ops. Linked with the leaf's own objects and
// --wrap for each operator that a model program calls: the linker sends the program's calls here.
#include <time.h>

#include "../../cuda/ops/ops.h"

namespace {

uint64_t now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_nsec);
}

struct Timer {
  uint64_t &total, start = now_ns();
  explicit Timer(uint64_t &sum) : total(sum) {}
  ~Timer() { total += now_ns() - start; }
};

}  // namespace

namespace ignis {

// name, mangled name, parameters, arguments
#define OPERATORS(F)                                                                                                              \
  F(embed, "_ZN5ignis5embedERNS_6DeviceEPfRKNS_6MatrixEPKij", (Device & d, float *x, const Matrix &table, const int32_t *tokens, uint32_t T), \
    (d, x, table, tokens, T))                                                                                                     \
  F(rms_norm, "_ZN5ignis8rms_normERNS_6DeviceEPfPKfS4_jjf",                                                                       \
    (Device & d, float *y, const float *x, const float *w, uint32_t T, uint32_t H, float eps), (d, y, x, w, T, H, eps))           \
  F(prepare, "_ZN5ignis7prepareERNS_6DeviceEPNS_11ActivationsEPKfjjPKPKNS_6MatrixEj",                                             \
    (Device & d, Activations * a, const float *x, uint32_t T, uint32_t K, const Matrix *const *users, uint32_t num),              \
    (d, a, x, T, K, users, num))                                                                                                  \
  F(linear, "_ZN5ignis6linearERNS_6DeviceEPKNS_6LinearEjRKNS_11ActivationsE",                                                     \
    (Device & d, const Linear *jobs, uint32_t num, const Activations &a), (d, jobs, num, a))                                      \
  F(swiglu, "_ZN5ignis6swigluERNS_6DeviceEPfPKfS4_jj", (Device & d, float *y, const float *gate, const float *up, uint32_t T, uint32_t N), \
    (d, y, gate, up, T, N))                                                                                                       \
  F(rope_angles, "_ZN5ignis11rope_anglesERNS_6DeviceEPfRKNS_4RopeEjPKNS_5GroupEj",                                                \
    (Device & d, float *angles, const Rope &rope, uint32_t D, const Group *groups, uint32_t num), (d, angles, rope, D, groups, num)) \
  F(attention,                                                                                                                    \
    "_ZN5ignis9attentionERNS_6DeviceEPfS2_S2_PKfRKNS_7KvLayerEPKNS_5GroupEjjjRKNS_9HeadNormsERKNS_4RopeES4_PvPNS_11ActivationsEPKPKNS_6MatrixEj", \
    (Device & d, float *out, float *q, float *k, const float *v, const KvLayer &kv, const Group *groups, uint32_t num,            \
     uint32_t first_wanted, uint32_t NH, const HeadNorms &norms, const Rope &rope, const float *angles, void *workspace,          \
     Activations *a, const Matrix *const *users, uint32_t num_users),                                                             \
    (d, out, q, k, v, kv, groups, num, first_wanted, NH, norms, rope, angles, workspace, a, users, num_users))

enum Operator {
#define NUMBER(name, mangled, parameters, arguments) OP_##name,
  OPERATORS(NUMBER) OP_sample,
  NUM_OPERATORS
};

static uint64_t total_ns[NUM_OPERATORS];

#define WRAP(name, mangled, parameters, arguments)   \
  void real_##name parameters asm("__real_" mangled); \
  void wrap_##name parameters asm("__wrap_" mangled); \
  void wrap_##name parameters {                      \
    const Timer timer(total_ns[OP_##name]);          \
    real_##name arguments;                           \
  }
OPERATORS(WRAP)

void real_sample(Device &, ignis_draw *, const float *, const SampleRow *, uint32_t, uint32_t, void *) asm(
    "__real__ZN5ignis6sampleERNS_6DeviceEP10ignis_drawPKfPKNS_9SampleRowEjjPv");
void wrap_sample(Device &, ignis_draw *, const float *, const SampleRow *, uint32_t, uint32_t, void *) asm(
    "__wrap__ZN5ignis6sampleERNS_6DeviceEP10ignis_drawPKfPKNS_9SampleRowEjjPv");
void wrap_sample(Device &device, ignis_draw *draws, const float *logits, const SampleRow *rows, uint32_t num_rows, uint32_t V,
                 void *workspace) {
  const Timer timer(total_ns[OP_sample]);
  real_sample(device, draws, logits, rows, num_rows, V, workspace);
}

}  // namespace ignis

// Copies names and sums (ns) of at most `capacity` operators, sets the sums to 0, and returns how many operators there are.
extern "C" IGNIS_API uint32_t ignis_op_times(const char **names, uint64_t *sums, uint32_t capacity) {
  static const char *const NAMES[] = {
#define NAME(name, mangled, parameters, arguments) #name,
      OPERATORS(NAME) "sample"};
  for (uint32_t i = 0; i < ignis::NUM_OPERATORS && i < capacity; i++) {
    names[i] = NAMES[i];
    sums[i] = ignis::total_ns[i];
    ignis::total_ns[i] = 0;
  }
  return ignis::NUM_OPERATORS;
}
