// ops.cu: linear layers and attention as ops.h calls them, on what linear_span.h, linear_round.h and attention.h launch.
#include "attention.h"
#include "device.h"
#include "linear_round.h"
#include "linear_span.h"

namespace ignis {

// A round's rows take turns in the halves; the norms are at the end.
uint64_t activations_bytes(uint32_t max_T, uint32_t max_K) {
  const uint64_t round_bytes = 2 * align_up(round_input_bytes(max_K), ARENA_ALIGNMENT) + ARENA_ALIGNMENT, span_bytes = align_up(span_input_bytes(max_T, max_K), ARENA_ALIGNMENT);
  return round_bytes > span_bytes ? round_bytes : span_bytes;
}

static RoundInput round_rows(const Activations &a) {
  const uint64_t norms_offset = a.size_bytes - ARENA_ALIGNMENT, half_bytes = norms_offset / 2 / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
  uint8_t *memory = static_cast<uint8_t *>(a.memory);
  return RoundInput{memory + a.half * half_bytes, a.T, a.K, a.eps, reinterpret_cast<float *>(memory + norms_offset)};
}
static void set_rows(Activations *a, const float *x, uint32_t T, uint32_t K, float eps) {
  a->x = x;
  a->T = T;
  a->K = K;
  a->eps = eps;
}

bool reads_rows(const Matrix *const *users, uint32_t num) {
  for (uint32_t i = 0; i < num; i++)
    if (users[i]->dtype == IGNIS_F32) return true;
  return false;
}
RoundInput rows_to_write(Activations *a, const float *x, uint32_t T, uint32_t K) {
  set_rows(a, x, T, K, -1.0f);
  return round_rows(*a);
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
  set_rows(a, x, T, K, -1.0f);
  if (!reads_prepared(users, num)) return;
  if (device.phase == Phase::decode)
    round_prepare(round_rows(*a), x, device.code, device.stream);
  else
    span_prepare(a->memory, x, T, K, forms_of(device, users, num), device.stream);
  IGNIS_LAUNCHED(device);
}

void prepare_norm(Device &device, Activations *a, float *y, const float *x, const float *w, float eps, uint32_t T, uint32_t K,
                  const Matrix *const *users, uint32_t num) {
  if (device.phase == Phase::decode) {
    set_rows(a, y, T, K, eps);
    if (reads_rows(users, num)) rms_norm(device, y, x, w, T, K, eps);
    round_prepare_norm(round_rows(*a), x, w, device.code, device.stream);  // always: the norm after this one wants to know this one's
    IGNIS_LAUNCHED(device);
    return;
  }
  const bool is_fused = K % 4 == 0;
  if (!is_fused || reads_rows(users, num)) rms_norm(device, y, x, w, T, K, eps);
  if (!is_fused) return prepare(device, a, y, T, K, users, num);
  set_rows(a, y, T, K, -1.0f);
  if (!reads_prepared(users, num)) return;
  span_prepare_norm(a->memory, x, w, eps, T, K, forms_of(device, users, num), device.stream);
  IGNIS_LAUNCHED(device);
}

void prepare_swiglu(Device &device, Activations *a, float *y, const float *gate, const float *up, uint32_t T, uint32_t K,
                    const Matrix *const *users, uint32_t num) {
  set_rows(a, y, T, K, -1.0f);
  // y may be the memory of gate: prepared before it is written.
  if (reads_prepared(users, num)) {
    if (device.phase == Phase::decode)
      round_prepare_swiglu(round_rows(*a), gate, up, device.code, device.stream);
    else
      span_prepare_swiglu(a->memory, gate, up, T, K, forms_of(device, users, num), device.stream);
    IGNIS_LAUNCHED(device);
  }
  if (reads_rows(users, num)) swiglu(device, y, gate, up, T, K);
}

static LinearJob job_of(const Linear &linear) {
  return LinearJob{linear.y, linear.w->packed, linear.w->dtype, linear.w->rows, linear.ldy, linear.accumulates};
}

void linear(Device &device, const Linear *jobs, uint32_t num, const Activations &a) {
  constexpr uint32_t MOST = 4;
  const uint32_t multiprocessors = static_cast<uint32_t>(device.num_multiprocessors);
  LinearJob taken[MOST];
  for (uint32_t start = 0; start < num; start += MOST) {
    const uint32_t count = num - start < MOST ? num - start : MOST;
    for (uint32_t i = 0; i < count; i++) taken[i] = job_of(jobs[start + i]);
    if (device.phase == Phase::prefill)
      span_linear(taken, count, a.memory, a.x, a.T, a.K, multiprocessors, device.code, device.stream);
    else
      round_linear(taken, count, round_rows(a), a.x, RoundOutlet{}, multiprocessors, device.code, device.stream);
    IGNIS_LAUNCHED(device);
  }
}

LinearChoice linear_choice(const Device &device, const Linear *jobs, uint32_t num, uint32_t T) {
  constexpr uint32_t MOST = 3;
  LinearJob taken[MOST];
  const uint32_t count = num < MOST ? num : MOST;
  for (uint32_t i = 0; i < count; i++) taken[i] = job_of(jobs[i]);
  const SpanChoice choice = span_choice(taken, count, T, static_cast<uint32_t>(device.num_multiprocessors), device.code);
  return LinearChoice{choice.rows, choice.tokens, choice.is_eight};
}

// The launch of one or two jobs whose results become the rows of `a`.
static void linear_into(Device &device, const LinearJob *jobs, uint32_t num, Activations *a, RoundOutlet::Kind kind, const float *w, float *y,
                        float eps) {
  Activations next = *a;
  next.half = 1 - a->half;
  set_rows(&next, y, a->T, jobs[0].rows, eps);
  round_linear(jobs, num, round_rows(*a), a->x, RoundOutlet{kind, w, round_rows(next)}, static_cast<uint32_t>(device.num_multiprocessors), device.code,
               device.stream);
  IGNIS_LAUNCHED(device);
  *a = next;
}

void linear_norm(Device &device, const Linear &job, Activations *a, float *y, const float *w, float eps, const Matrix *const *users, uint32_t num) {
  const LinearJob own = job_of(job);
  if (device.phase == Phase::decode && own.dtype != IGNIS_F32 && !reads_rows(users, num))
    return linear_into(device, &own, 1, a, RoundOutlet::NORM, w, y, eps);
  linear(device, &job, 1, *a);
  prepare_norm(device, a, y, job.y, w, eps, a->T, job.w->rows, users, num);
}

void linear_swiglu(Device &device, const Linear &gate, const Linear &up, Activations *a, float *y, const Matrix *const *users, uint32_t num) {
  const LinearJob own[] = {job_of(gate), job_of(up)};
  if (device.phase == Phase::decode && own[0].dtype == own[1].dtype && round_gates(own[0].dtype, device.code) && !reads_rows(users, num))
    return linear_into(device, own, 2, a, RoundOutlet::GATE, nullptr, y, -1.0f);
  const Linear jobs[] = {gate, up};
  linear(device, jobs, 2, *a);
  prepare_swiglu(device, a, y, gate.y, up.y, a->T, gate.w->rows, users, num);
}

void attention(Device &device, float *out, float *q, float *k, const float *v, const KvLayer &kv, const Group *groups, uint32_t num_groups,
               uint32_t first_wanted, uint32_t NH, const HeadNorms &norms, const Rope &rope, const float *angles, void *workspace,
               Activations *a, const Matrix *const *users, uint32_t num_users) {
  const uint32_t K = NH * kv.D, num_rows = rows_of(groups, num_groups).num - first_wanted;
  const float *wanted = out + uint64_t{first_wanted} * K;
  AttentionOutput output{out, nullptr, reads_rows(users, num_users)};
  if (device.phase == Phase::decode && reads_prepared(users, num_users)) {
    set_rows(a, wanted, num_rows, K, -1.0f);
    output.input = round_rows(*a).memory;
  }
  const bool is_prepared = attention_run(device, output, q, k, v, kv, groups, num_groups, first_wanted, NH, norms, rope, angles, workspace);
  if (!is_prepared && num_rows > 0) prepare(device, a, wanted, num_rows, K, users, num_users);
}

}  // namespace ignis
