// Passes over one row of logits: bound by reading it, so vectors everywhere and a scalar path for the few that matter.
#include "sample_kernels.h"

#include <math.h>

#include "../include/ignis_step.h"
#include "simd.h"

namespace ignis::IGNIS_ISA_NAMESPACE {

// Calls use(vector, index of its first, how many count) over x; the last vector is filled up with -infinity.
template <class Use>
static inline void each(const float *x, uint32_t n, const Use &use) {
  uint32_t i = 0;
  for (; i + WIDTH <= n; i += WIDTH) use(load(x + i), i, WIDTH);
  if (i < n) use(load_part(x + i, n - i, -INFINITY), i, n - i);
}

static bool maximum(const float *x, uint32_t n, float *largest) {
  Floats most = splat(-INFINITY);
  uint32_t nans = 0;
  each(x, n, [&](Floats value, uint32_t, uint32_t) {
    nans |= nan_bits(value);
    most = max(most, value);
  });
  *largest = max_lanes(most);
  return nans == 0;
}

static uint32_t index_of(const float *x, uint32_t n, float value) {
  const uint32_t whole = n / WIDTH * WIDTH;
  for (uint32_t i = 0; i < whole; i += WIDTH)
    if (const uint32_t bits = equal_bits(load(x + i), splat(value))) return i + static_cast<uint32_t>(__builtin_ctz(bits));
  for (uint32_t i = whole; i < n; i++)
    if (x[i] == value) return i;
  return n;
}

// Adds the lanes in float64, where 150 000 small terms do not wear away.
struct WideSum {
  double lanes[WIDTH] = {};
  void add(Floats value) {
    float values[WIDTH];
    store(values, value);
    for (uint32_t i = 0; i < WIDTH; i++) lanes[i] += static_cast<double>(values[i]);
  }
  double total() const {
    double sum = 0;
    for (uint32_t i = 0; i < WIDTH; i++) sum += lanes[i];
    return sum;
  }
};

static double sum_exp(const float *x, uint32_t n, float largest) {
  WideSum sum;
  each(x, n, [&](Floats value, uint32_t, uint32_t) { sum.add(exp(sub(value, splat(largest)))); });
  return sum.total();
}

static uint32_t top(int32_t *ids, const float *x, uint32_t n, uint32_t k) {
  float values[IGNIS_MAX_TOP_LOGPROBS];
  uint32_t num = 0;
  if (k == 0) return 0;
  each(x, n, [&](Floats value, uint32_t index, uint32_t length) {
    uint32_t bits = num < k ? (1u << length) - 1 : less_bits(splat(values[k - 1]), value);
    for (; bits; bits &= bits - 1) {
      const uint32_t id = index + static_cast<uint32_t>(__builtin_ctz(bits));
      if (num == k && !(x[id] > values[k - 1])) continue;
      uint32_t place = num < k ? num++ : k - 1;
      for (; place > 0 && x[id] > values[place - 1]; place--) {
        values[place] = values[place - 1];
        ids[place] = ids[place - 1];
      }
      values[place] = x[id];
      ids[place] = static_cast<int32_t>(id);
    }
  });
  return num;
}

static void gather(Candidates *candidates, const float *x, uint32_t n, float largest, float temperature, float lowest) {
  WideSum rest;
  uint32_t num = 0;
  each(x, n, [&](Floats value, uint32_t index, uint32_t) {
    const Floats scaled = div(sub(value, splat(largest)), splat(temperature));
    const Floats weight = exp(scaled);
    uint32_t bits = less_bits(splat(lowest), scaled);
    if (bits == 0) {
      rest.add(weight);
      return;
    }
    rest.add(select_less(splat(lowest), scaled, splat(0.0f), weight));
    float scaled_values[WIDTH], weights[WIDTH];
    store(scaled_values, scaled);
    store(weights, weight);
    for (; bits; bits &= bits - 1) {
      const uint32_t lane = static_cast<uint32_t>(__builtin_ctz(bits));
      candidates->scaled[num] = scaled_values[lane];
      candidates->weights[num] = weights[lane];
      candidates->ids[num] = static_cast<int32_t>(index + lane);
      num++;
    }
  });
  candidates->num = num;
  candidates->rest_weight = rest.total();
}

extern const SampleKernels sample_kernels;
const SampleKernels sample_kernels = {maximum, index_of, sum_exp, top, gather};

}  // namespace ignis::IGNIS_ISA_NAMESPACE
