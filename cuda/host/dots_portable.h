// dots_portable.h: float32, float16 and bfloat16 weights as linear_float.h's loops read them, eight float32 lanes in plain C++.
#pragma once

#include <stdint.h>
#include <string.h>

#include "../quant/half.h"

namespace ignis::IGNIS_ISA_NAMESPACE {
namespace {

constexpr int WIDE_ROWS = 2, WIDE_TOKENS = 4;

struct EightFloats {
  float lane[8];
};

struct FloatSums {
  using Activation = float;
  using Sums = EightFloats;
  using Weights = EightFloats;
  static constexpr uint32_t STEP = 8;
  static inline Sums zero() { return {}; }
  static inline EightFloats activations(const float *x, uint32_t k, uint64_t) { return activations_first(x, k, STEP, 0); }
  static inline EightFloats activations_first(const float *x, uint32_t k, uint32_t count, uint64_t) {
    EightFloats values = {};
    memcpy(values.lane, x + k, count * sizeof(float));
    return values;
  }
  static inline Sums multiply_add(const EightFloats &w, const EightFloats &a, Sums sum) {
    for (uint32_t i = 0; i < STEP; i++) sum.lane[i] += w.lane[i] * a.lane[i];
    return sum;
  }
  static inline float total(const Sums &sum) {
    const float *s = sum.lane;
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
  }
};

template <class Read>
inline EightFloats read_first(uint32_t count, const Read &read) {
  EightFloats values = {};
  for (uint32_t i = 0; i < count; i++) values.lane[i] = read(i);
  return values;
}

struct WeightsF32 : FloatSums {
  static inline EightFloats weights(const uint8_t *row, uint32_t k) { return weights_first(row, k, STEP); }
  static inline EightFloats weights_first(const uint8_t *row, uint32_t k, uint32_t count) {
    EightFloats values = {};
    memcpy(values.lane, row + 4 * static_cast<uint64_t>(k), count * sizeof(float));
    return values;
  }
};

struct WeightsF16 : FloatSums {
  static inline EightFloats weights(const uint8_t *row, uint32_t k) { return weights_first(row, k, STEP); }
  static inline EightFloats weights_first(const uint8_t *row, uint32_t k, uint32_t count) {
    return read_first(count, [=](uint32_t i) { return float_of_half(read_u16(row + 2 * (static_cast<uint64_t>(k) + i))); });
  }
};

struct WeightsBF16 : FloatSums {
  static inline EightFloats weights(const uint8_t *row, uint32_t k) { return weights_first(row, k, STEP); }
  static inline EightFloats weights_first(const uint8_t *row, uint32_t k, uint32_t count) {
    return read_first(count, [=](uint32_t i) { return float_of_bfloat(read_u16(row + 2 * (static_cast<uint64_t>(k) + i))); });
  }
};

}  // namespace
}  // namespace ignis::IGNIS_ISA_NAMESPACE
