// dots_avx2.h: float32, float16, bfloat16 and F8_E4M3 weights as linear_float.h's loops read them, eight float32 lanes.
#pragma once

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

namespace ignis::IGNIS_ISA_NAMESPACE {
namespace {

// 3 x 4 sums, 3 weights and 1 activation of 16 registers.
constexpr int WIDE_ROWS = 3, WIDE_TOKENS = 4;

struct FloatSums {
  using Activation = float;
  using Sums = __m256;
  using Weights = __m256;
  static constexpr uint32_t STEP = 8;
  static inline Sums zero() { return _mm256_setzero_ps(); }
  static inline __m256 activations(const float *x, uint32_t k, uint64_t) { return _mm256_loadu_ps(x + k); }
  static inline __m256 activations_first(const float *x, uint32_t k, uint32_t count, uint64_t) {
    float values[8] = {};
    memcpy(values, x + k, count * sizeof(float));
    return _mm256_loadu_ps(values);
  }
  static inline __m128i halves_first(const uint8_t *row, uint32_t k, uint32_t count) {
    uint16_t values[8] = {};
    memcpy(values, row + 2 * static_cast<uint64_t>(k), count * sizeof(uint16_t));
    return _mm_loadu_si128(reinterpret_cast<const __m128i *>(values));
  }
  static inline __m128i halves(const uint8_t *row, uint32_t k) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i *>(row + 2 * static_cast<uint64_t>(k)));
  }
  static inline Sums multiply_add(__m256 w, __m256 a, Sums sum) { return _mm256_fmadd_ps(w, a, sum); }
  static inline float total(Sums sum) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps(sum, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
};

struct WeightsF32 : FloatSums {
  static inline __m256 weights(const uint8_t *row, uint32_t k) {
    return _mm256_loadu_ps(reinterpret_cast<const float *>(row + 4 * static_cast<uint64_t>(k)));
  }
  static inline __m256 weights_first(const uint8_t *row, uint32_t k, uint32_t count) {
    float values[8] = {};
    memcpy(values, row + 4 * static_cast<uint64_t>(k), count * sizeof(float));
    return _mm256_loadu_ps(values);
  }
};

struct WeightsF16 : FloatSums {
  static inline __m256 weights(const uint8_t *row, uint32_t k) { return _mm256_cvtph_ps(halves(row, k)); }
  static inline __m256 weights_first(const uint8_t *row, uint32_t k, uint32_t count) {
    return _mm256_cvtph_ps(halves_first(row, k, count));
  }
};

struct WeightsBF16 : FloatSums {
  static inline __m256 widen(__m128i bfloats) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bfloats), 16)); }
  static inline __m256 weights(const uint8_t *row, uint32_t k) { return widen(halves(row, k)); }
  static inline __m256 weights_first(const uint8_t *row, uint32_t k, uint32_t count) { return widen(halves_first(row, k, count)); }
};

// packed.h has the row: the scale of a block of 128 columns lies 4 (block + 1) bytes before the codes.
struct WeightsF8 : FloatSums {
  static inline __m256 scaled(__m128i codes, const uint8_t *row, uint32_t k) {
    float scale;
    memcpy(&scale, row - 4 - static_cast<uint64_t>(k / 128) * 4, sizeof scale);
    // The sign goes to bit 15, and to 14, where it is taken away; the other seven bits to 13 .. 7.
    const __m128i moved = _mm_srai_epi16(_mm_slli_epi16(_mm_cvtepu8_epi16(codes), 8), 1);
    return _mm256_mul_ps(_mm256_cvtph_ps(_mm_and_si128(moved, _mm_set1_epi16(static_cast<int16_t>(0xbfff)))), _mm256_set1_ps(scale));
  }
  static inline __m256 weights(const uint8_t *row, uint32_t k) {
    return scaled(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(row + k)), row, k);
  }
  static inline __m256 weights_first(const uint8_t *row, uint32_t k, uint32_t count) {
    uint8_t codes[8] = {};
    memcpy(codes, row + k, count);
    return scaled(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(codes)), row, k);
  }
};

}  // namespace
}  // namespace ignis::IGNIS_ISA_NAMESPACE
