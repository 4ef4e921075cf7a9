// dots_portable.h: float32, float16, bfloat16 and F8_E4M3 weights as linear_float.h's loops read them, four float32 lanes in the compiler's
// own vectors.
#pragma once

#include <stdint.h>
#include <string.h>

#include "../quant/half.h"

namespace ignis::IGNIS_ISA_NAMESPACE {
namespace {

constexpr int WIDE_ROWS = 2, WIDE_TOKENS = 4;

typedef float FourFloats __attribute__((vector_size(16)));
typedef uint32_t FourInts __attribute__((vector_size(16)));

struct FloatSums {
  using Activation = float;
  using Sums = FourFloats;
  using Weights = FourFloats;
  static constexpr uint32_t STEP = 4;
  static inline Sums zero() { return Sums{}; }
  static inline FourFloats activations(const float *x, uint32_t k, uint64_t) { return activations_first(x, k, STEP, 0); }
  static inline FourFloats activations_first(const float *x, uint32_t k, uint32_t count, uint64_t) {
    FourFloats values{};
    memcpy(&values, x + k, count * sizeof(float));
    return values;
  }
  static inline Sums multiply_add(FourFloats w, FourFloats a, Sums sum) { return w * a + sum; }
  static inline float total(Sums sum) { return (sum[0] + sum[2]) + (sum[1] + sum[3]); }
};

template <class Read>
inline FourFloats read_first(uint32_t count, const Read &read) {
  FourFloats values{};
  for (uint32_t i = 0; i < count; i++) values[i] = read(i);
  return values;
}

struct WeightsF32 : FloatSums {
  static inline FourFloats weights(const uint8_t *row, uint32_t k) { return weights_first(row, k, STEP); }
  static inline FourFloats weights_first(const uint8_t *row, uint32_t k, uint32_t count) {
    FourFloats values{};
    memcpy(&values, row + 4 * static_cast<uint64_t>(k), count * sizeof(float));
    return values;
  }
};

struct WeightsF16 : FloatSums {
  static inline FourFloats weights(const uint8_t *row, uint32_t k) { return weights_first(row, k, STEP); }
  static inline FourFloats weights_first(const uint8_t *row, uint32_t k, uint32_t count) {
    return read_first(count, [=](uint32_t i) { return float_of_half(read_u16(row + 2 * (static_cast<uint64_t>(k) + i))); });
  }
};

struct WeightsBF16 : FloatSums {
  static inline FourFloats weights(const uint8_t *row, uint32_t k) { return weights_first(row, k, STEP); }
  static inline FourFloats weights_first(const uint8_t *row, uint32_t k, uint32_t count) {
    return read_first(count, [=](uint32_t i) { return float_of_bfloat(read_u16(row + 2 * (static_cast<uint64_t>(k) + i))); });
  }
};

// packed.h has the row: the scale of a block of 128 columns lies 4 (block + 1) bytes before the codes.
struct WeightsF8 : FloatSums {
  static inline FourFloats weights(const uint8_t *row, uint32_t k) { return weights_first(row, k, STEP); }
  static inline FourFloats weights_first(const uint8_t *row, uint32_t k, uint32_t count) {
    float scale;
    memcpy(&scale, row - 4 - static_cast<uint64_t>(k / 128) * 4, sizeof scale);
    FourInts codes{};
    for (uint32_t i = 0; i < count; i++) codes[i] = row[k + i];
    // A code's bits at a float32's places are its value times 2^-120, subnormals too: both products are exact but for the scale's rounding.
    const FourInts bits = (codes & 0x80u) << 24 | (codes & 0x7fu) << 20;
    FourFloats values;
    memcpy(&values, &bits, sizeof values);
    return values * 0x1p112f * scale;
  }
};

}  // namespace
}  // namespace ignis::IGNIS_ISA_NAMESPACE
