// dots_avx512.h: float32, float16, bfloat16 and F8_E4M3 weights as linear_float.h's loops read them, sixteen float32 lanes.
#pragma once

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

namespace ignis::IGNIS_ISA_NAMESPACE {
namespace {

// 4 x 6 sums, 4 weights and 1 activation of 32 registers; two loads for five multiply-adds.
constexpr int WIDE_ROWS = 4, WIDE_TOKENS = 6;

struct FloatSums {
  using Activation = float;
  using Sums = __m512;
  using Weights = __m512;
  static constexpr uint32_t STEP = 16;
  static inline Sums zero() { return _mm512_setzero_ps(); }
  static inline __mmask16 mask(uint32_t count) { return static_cast<__mmask16>((1u << count) - 1); }
  static inline __m512 activations(const float *x, uint32_t k, uint64_t) { return _mm512_loadu_ps(x + k); }
  static inline __m512 activations_first(const float *x, uint32_t k, uint32_t count, uint64_t) {
    return _mm512_maskz_loadu_ps(mask(count), x + k);
  }
  static inline Sums multiply_add(__m512 w, __m512 a, Sums sum) { return _mm512_fmadd_ps(w, a, sum); }
  static inline float total(Sums sum) {
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(sum), _mm512_extractf32x8_ps(sum, 1));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
};

struct WeightsF32 : FloatSums {
  static inline __m512 weights(const uint8_t *row, uint32_t k) { return _mm512_loadu_ps(row + 4 * static_cast<uint64_t>(k)); }
  static inline __m512 weights_first(const uint8_t *row, uint32_t k, uint32_t count) {
    return _mm512_maskz_loadu_ps(mask(count), row + 4 * static_cast<uint64_t>(k));
  }
};

struct WeightsF16 : FloatSums {
  static inline __m512 weights(const uint8_t *row, uint32_t k) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(row + 2 * static_cast<uint64_t>(k))));
  }
  static inline __m512 weights_first(const uint8_t *row, uint32_t k, uint32_t count) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask(count), row + 2 * static_cast<uint64_t>(k)));
  }
};

// packed.h has the row: the scale of a block of 128 columns lies 4 (block + 1) bytes before the codes.
struct WeightsF8 : FloatSums {
  static inline __m512 scaled(__m128i codes, const uint8_t *row, uint32_t k) {
    float scale;
    memcpy(&scale, row - 4 - static_cast<uint64_t>(k / 128) * 4, sizeof scale);
    // The sign goes to bit 15, and to 14, where it is taken away; the other seven bits to 13 .. 7.
    const __m256i moved = _mm256_srai_epi16(_mm256_slli_epi16(_mm256_cvtepu8_epi16(codes), 8), 1);
    return _mm512_mul_ps(_mm512_cvtph_ps(_mm256_and_si256(moved, _mm256_set1_epi16(static_cast<int16_t>(0xbfff)))), _mm512_set1_ps(scale));
  }
  static inline __m512 weights(const uint8_t *row, uint32_t k) {
    return scaled(_mm_loadu_si128(reinterpret_cast<const __m128i *>(row + k)), row, k);
  }
  static inline __m512 weights_first(const uint8_t *row, uint32_t k, uint32_t count) {
    return scaled(_mm_maskz_loadu_epi8(mask(count), row + k), row, k);
  }
};

#if defined(__AVX512BF16__)

// vdpbf16ps: lane i takes k = 2i, 2i + 1 of 32. Activations come as the sum of two bfloat16, so that they keep sixteen bits; rounded to
// one they moved the logits of a 135M model by 1 % of the largest. It costs as much as widened weights with float32 activations would
// from the cache, and fewer instructions from memory.
struct WeightsBF16 : FloatSums {
  using Activation = uint16_t;
  using Weights = __m512bh;
  struct Split {
    __m512bh hi, lo;
  };
  static constexpr uint32_t STEP = 32;
  static inline __m512bh weights(const uint8_t *row, uint32_t k) {
    return reinterpret_cast<__m512bh>(_mm512_loadu_si512(row + 2 * static_cast<uint64_t>(k)));
  }
  static inline __m512bh weights_first(const uint8_t *row, uint32_t k, uint32_t count) {
    return reinterpret_cast<__m512bh>(_mm512_maskz_loadu_epi16((1u << count) - 1, row + 2 * static_cast<uint64_t>(k)));
  }
  static inline Split activations(const uint16_t *x, uint32_t k, uint64_t plane) {
    return {reinterpret_cast<__m512bh>(_mm512_loadu_si512(x + k)), reinterpret_cast<__m512bh>(_mm512_loadu_si512(x + plane + k))};
  }
  static inline Split activations_first(const uint16_t *x, uint32_t k, uint32_t, uint64_t plane) { return activations(x, k, plane); }
  static inline Sums multiply_add(__m512bh w, const Split &a, Sums sum) {
    return _mm512_dpbf16_ps(_mm512_dpbf16_ps(sum, w, a.hi), w, a.lo);
  }
};

#else

struct WeightsBF16 : FloatSums {
  static inline __m512 widen(__m256i bfloats) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bfloats), 16)); }
  static inline __m512 weights(const uint8_t *row, uint32_t k) {
    return widen(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(row + 2 * static_cast<uint64_t>(k))));
  }
  static inline __m512 weights_first(const uint8_t *row, uint32_t k, uint32_t count) {
    return widen(_mm256_maskz_loadu_epi16(mask(count), row + 2 * static_cast<uint64_t>(k)));
  }
};

#endif

}  // namespace
}  // namespace ignis::IGNIS_ISA_NAMESPACE
