// ops.cu: linear layers as ops.h calls them, on the launchers of linear.h.
#include "device.h"
#include "linear.h"
#include "linear_span.h"

namespace ignis {

// A span of max_T rows, or a round of as many as there are lanes.
uint64_t activations_bytes(uint32_t max_T, uint32_t max_K) {
  const uint64_t span_bytes = span_input_bytes(max_T, max_K), round_bytes = linear_input_bytes(IGNIS_MAX_LANES, max_K);
  return align_up(span_bytes > round_bytes ? span_bytes : round_bytes, ARENA_ALIGNMENT);
}

// F32 weights read the rows themselves, all others what is prepared of them.
static bool reads_rows(const Matrix *const *users, uint32_t num) {
  for (uint32_t i = 0; i < num; i++)
    if (users[i]->dtype == IGNIS_F32) return true;
  return false;
}
static bool reads_prepared(const Matrix *const *users, uint32_t num) {
  for (uint32_t i = 0; i < num; i++)
    if (users[i]->dtype != IGNIS_F32) return true;
  return false;
}

static SpanForms forms_of(const Device &device, const Matrix *const *users, uint32_t num) {
  SpanForms forms{};
  for (uint32_t i = 0; i < num; i++) {
    const bool is_eight = reads_eights(users[i]->dtype, device.code);
    forms.eights |= is_eight;
    forms.halves |= !is_eight && users[i]->dtype != IGNIS_F32;
  }
  return forms;
}

void prepare(Device &device, Activations *a, const float *x, uint32_t T, uint32_t K, const Matrix *const *users, uint32_t num) {
  a->x = x;
  a->T = T;
  a->K = K;
  if (!reads_prepared(users, num)) return;
  if (device.phase == Phase::prefill)
    span_prepare(a->memory, x, T, K, forms_of(device, users, num), device.stream);
  else
    linear_prepare(a->memory, x, T, K, device.stream);
  IGNIS_LAUNCHED(device);
}

void prepare_norm(Device &device, Activations *a, float *y, const float *x, const float *w, float eps, uint32_t T, uint32_t K,
                  const Matrix *const *users, uint32_t num) {
  a->x = y;
  a->T = T;
  a->K = K;
  const bool is_fused = K % 4 == 0;
  if (!is_fused || reads_rows(users, num)) rms_norm(device, y, x, w, T, K, eps);
  if (!is_fused) return prepare(device, a, y, T, K, users, num);
  if (!reads_prepared(users, num)) return;
  if (device.phase == Phase::prefill)
    span_prepare_norm(a->memory, x, w, eps, T, K, forms_of(device, users, num), device.stream);
  else
    linear_prepare_norm(a->memory, x, w, eps, T, K, device.stream);
  IGNIS_LAUNCHED(device);
}

void prepare_swiglu(Device &device, Activations *a, float *y, const float *gate, const float *up, uint32_t T, uint32_t K,
                    const Matrix *const *users, uint32_t num) {
  a->x = y;
  a->T = T;
  a->K = K;
  // y may be the memory of gate: prepared before it is written.
  if (reads_prepared(users, num)) {
    if (device.phase == Phase::prefill)
      span_prepare_swiglu(a->memory, gate, up, T, K, forms_of(device, users, num), device.stream);
    else
      linear_prepare_swiglu(a->memory, gate, up, T, K, device.stream);
    IGNIS_LAUNCHED(device);
  }
  if (reads_rows(users, num)) swiglu(device, y, gate, up, T, K);
}

void linear(Device &device, const Linear *jobs, uint32_t num, const Activations &a) {
  constexpr uint32_t MOST = 4;
  LinearJob taken[MOST];
  for (uint32_t start = 0; start < num; start += MOST) {
    const uint32_t count = num - start < MOST ? num - start : MOST;
    for (uint32_t i = 0; i < count; i++) {
      const Linear &job = jobs[start + i];
      taken[i] = LinearJob{job.y, job.w->packed, job.w->dtype, job.w->rows, job.ldy, job.accumulates};
    }
    const uint32_t num_multiprocessors = static_cast<uint32_t>(device.num_multiprocessors);
    if (device.phase == Phase::prefill)
      span_linear(taken, count, a.memory, a.x, a.T, a.K, num_multiprocessors, device.code, device.stream);
    else
      linear_run(taken, count, a.memory, a.x, a.T, a.K, num_multiprocessors, device.code, device.stream);
    IGNIS_LAUNCHED(device);
  }
}

}  // namespace ignis
