// simd.h: float vectors of the instruction set that this translation unit is compiled for, and exp on them.
//
// Everything here is inside the instruction set's own namespace: see SOURCES.toml. FMA where there is one, else a rounded product and
// a sum: results differ between instruction sets, never within one.
#pragma once

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

namespace ignis::IGNIS_ISA_NAMESPACE {

#if defined(__AVX512F__)
using Floats = __m512;
inline constexpr uint32_t WIDTH = 16;
static inline Floats splat(float a) { return _mm512_set1_ps(a); }
static inline Floats load(const float *p) { return _mm512_loadu_ps(p); }
static inline void store(float *p, Floats a) { _mm512_storeu_ps(p, a); }
static inline Floats add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
static inline Floats sub(Floats a, Floats b) { return _mm512_sub_ps(a, b); }
static inline Floats mul(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
static inline Floats div(Floats a, Floats b) { return _mm512_div_ps(a, b); }
static inline Floats fma(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
static inline Floats fnma(Floats a, Floats b, Floats c) { return _mm512_fnmadd_ps(a, b, c); }
static inline Floats load_half(const uint16_t *p) { return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(p))); }
static inline void store_half(uint16_t *p, Floats a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
static inline Floats load_bfloat(const uint16_t *p) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(p))), 16));
}
// Exponent and mantissa move to their float32 places and a product mends the bias, subnormals too; 0x7f, the NaN, becomes 480.
static inline Floats load_e4m3(const uint8_t *p) {
  const __m512i code = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i *>(p)));
  const __m512i magnitude = _mm512_slli_epi32(_mm512_and_si512(code, _mm512_set1_epi32(0x7f)), 20);
  const __m512i sign = _mm512_slli_epi32(_mm512_and_si512(code, _mm512_set1_epi32(0x80)), 24);
  return _mm512_castsi512_ps(_mm512_or_si512(_mm512_castps_si512(_mm512_mul_ps(_mm512_castsi512_ps(magnitude), _mm512_set1_ps(0x1p120f))), sign));
}
static inline Floats max(Floats a, Floats b) { return _mm512_max_ps(a, b); }  // b where either is NaN
static inline Floats min(Floats a, Floats b) { return _mm512_min_ps(a, b); }
static inline Floats nearest(Floats a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
// a * 2^n for whole n in [-126, 127]
static inline Floats times_power(Floats a, Floats n) {
  return _mm512_mul_ps(a, _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127)), 23)));
}
// Bit i: a[i] < b[i]; false where either is NaN.
static inline uint32_t less_bits(Floats a, Floats b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
static inline uint32_t nan_bits(Floats a) { return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q); }
static inline uint32_t equal_bits(Floats a, Floats b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
// where_true where a < b, else where_false
static inline Floats select_less(Floats a, Floats b, Floats where_true, Floats where_false) {
  return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), where_false, where_true);
}
// (a1, a0, a3, a2, ...)
static inline Floats swap_neighbours(Floats a) { return _mm512_permute_ps(a, 0xB1); }

#elif defined(__AVX2__)
using Floats = __m256;
inline constexpr uint32_t WIDTH = 8;
static inline Floats splat(float a) { return _mm256_set1_ps(a); }
static inline Floats load(const float *p) { return _mm256_loadu_ps(p); }
static inline void store(float *p, Floats a) { _mm256_storeu_ps(p, a); }
static inline Floats add(Floats a, Floats b) { return _mm256_add_ps(a, b); }
static inline Floats sub(Floats a, Floats b) { return _mm256_sub_ps(a, b); }
static inline Floats mul(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
static inline Floats div(Floats a, Floats b) { return _mm256_div_ps(a, b); }
static inline Floats fma(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
static inline Floats fnma(Floats a, Floats b, Floats c) { return _mm256_fnmadd_ps(a, b, c); }
static inline Floats load_half(const uint16_t *p) { return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(p))); }
static inline void store_half(uint16_t *p, Floats a) {
  _mm_storeu_si128(reinterpret_cast<__m128i *>(p), _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}
static inline Floats load_bfloat(const uint16_t *p) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i *>(p))), 16));
}
static inline Floats load_e4m3(const uint8_t *p) {
  const __m256i code = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(p)));
  const __m256i magnitude = _mm256_slli_epi32(_mm256_and_si256(code, _mm256_set1_epi32(0x7f)), 20);
  const __m256i sign = _mm256_slli_epi32(_mm256_and_si256(code, _mm256_set1_epi32(0x80)), 24);
  return _mm256_castsi256_ps(_mm256_or_si256(_mm256_castps_si256(_mm256_mul_ps(_mm256_castsi256_ps(magnitude), _mm256_set1_ps(0x1p120f))), sign));
}
static inline Floats max(Floats a, Floats b) { return _mm256_max_ps(a, b); }
static inline Floats min(Floats a, Floats b) { return _mm256_min_ps(a, b); }
static inline Floats nearest(Floats a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
static inline Floats times_power(Floats a, Floats n) {
  return _mm256_mul_ps(a, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23)));
}
static inline uint32_t less_bits(Floats a, Floats b) { return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_LT_OQ))); }
static inline uint32_t nan_bits(Floats a) { return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(a, a, _CMP_UNORD_Q))); }
static inline uint32_t equal_bits(Floats a, Floats b) { return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_EQ_OQ))); }
static inline Floats select_less(Floats a, Floats b, Floats where_true, Floats where_false) {
  return _mm256_blendv_ps(where_false, where_true, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
}
static inline Floats swap_neighbours(Floats a) { return _mm256_permute_ps(a, 0xB1); }

#else
using Floats = __m128;
inline constexpr uint32_t WIDTH = 4;
static inline Floats splat(float a) { return _mm_set1_ps(a); }
static inline Floats load(const float *p) { return _mm_loadu_ps(p); }
static inline void store(float *p, Floats a) { _mm_storeu_ps(p, a); }
static inline Floats add(Floats a, Floats b) { return _mm_add_ps(a, b); }
static inline Floats sub(Floats a, Floats b) { return _mm_sub_ps(a, b); }
static inline Floats mul(Floats a, Floats b) { return _mm_mul_ps(a, b); }
static inline Floats div(Floats a, Floats b) { return _mm_div_ps(a, b); }
static inline Floats fma(Floats a, Floats b, Floats c) { return _mm_add_ps(_mm_mul_ps(a, b), c); }
static inline Floats fnma(Floats a, Floats b, Floats c) { return _mm_sub_ps(c, _mm_mul_ps(a, b)); }
static inline Floats load_half(const uint16_t *p) {
  // Exponent and mantissa move to their float32 places and a product mends the bias, subnormals too; the largest exponent is infinity
  // and NaN in both formats.
  const __m128i half = _mm_cvtepu16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(p)));
  const __m128i magnitude = _mm_and_si128(half, _mm_set1_epi32(0x7fff));
  const __m128 value = _mm_mul_ps(_mm_castsi128_ps(_mm_slli_epi32(magnitude, 13)), _mm_castsi128_ps(_mm_set1_epi32((254 - 15) << 23)));
  const __m128i is_special = _mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x7bff));
  const __m128i special = _mm_and_si128(is_special, _mm_set1_epi32(0xff << 23));
  const __m128i sign = _mm_slli_epi32(_mm_andnot_si128(_mm_set1_epi32(0x7fff), half), 16);
  return _mm_or_ps(_mm_or_ps(value, _mm_castsi128_ps(special)), _mm_castsi128_ps(sign));
}
static inline void store_half(uint16_t *p, Floats a) {
  float values[4];
  store(values, a);
  for (int i = 0; i < 4; i++) {
    const _Float16 half = static_cast<_Float16>(values[i]);
    memcpy(p + i, &half, 2);
  }
}
static inline Floats load_bfloat(const uint16_t *p) {
  return _mm_castsi128_ps(_mm_slli_epi32(_mm_cvtepu16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(p))), 16));
}
static inline Floats load_e4m3(const uint8_t *p) {
  int32_t four;
  memcpy(&four, p, sizeof four);
  const __m128i code = _mm_cvtepu8_epi32(_mm_cvtsi32_si128(four));
  const __m128i magnitude = _mm_slli_epi32(_mm_and_si128(code, _mm_set1_epi32(0x7f)), 20);
  const __m128i sign = _mm_slli_epi32(_mm_and_si128(code, _mm_set1_epi32(0x80)), 24);
  return _mm_castsi128_ps(_mm_or_si128(_mm_castps_si128(_mm_mul_ps(_mm_castsi128_ps(magnitude), _mm_set1_ps(0x1p120f))), sign));
}
static inline Floats max(Floats a, Floats b) { return _mm_max_ps(a, b); }
static inline Floats min(Floats a, Floats b) { return _mm_min_ps(a, b); }
static inline Floats nearest(Floats a) { return _mm_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
static inline Floats times_power(Floats a, Floats n) {
  return _mm_mul_ps(a, _mm_castsi128_ps(_mm_slli_epi32(_mm_add_epi32(_mm_cvtps_epi32(n), _mm_set1_epi32(127)), 23)));
}
static inline uint32_t less_bits(Floats a, Floats b) { return static_cast<uint32_t>(_mm_movemask_ps(_mm_cmplt_ps(a, b))); }
static inline uint32_t nan_bits(Floats a) { return static_cast<uint32_t>(_mm_movemask_ps(_mm_cmpunord_ps(a, a))); }
static inline uint32_t equal_bits(Floats a, Floats b) { return static_cast<uint32_t>(_mm_movemask_ps(_mm_cmpeq_ps(a, b))); }
static inline Floats select_less(Floats a, Floats b, Floats where_true, Floats where_false) {
  return _mm_blendv_ps(where_false, where_true, _mm_cmplt_ps(a, b));
}
static inline Floats swap_neighbours(Floats a) { return _mm_shuffle_ps(a, a, 0xB1); }
#endif

// The first n < WIDTH floats at p; the others are `rest`.
static inline Floats load_part(const float *p, uint32_t n, float rest) {
  float values[WIDTH];
  for (uint32_t i = 0; i < WIDTH; i++) values[i] = i < n ? p[i] : rest;
  return load(values);
}
static inline void store_part(float *p, Floats a, uint32_t n) {
  float values[WIDTH];
  store(values, a);
  for (uint32_t i = 0; i < n; i++) p[i] = values[i];
}

// Sum and maximum over the lanes, in halves: one order for each instruction set.
static inline float sum_quarters(__m128 a) {
  const __m128 pairs = _mm_add_ps(a, _mm_movehl_ps(a, a));
  return _mm_cvtss_f32(_mm_add_ss(pairs, _mm_shuffle_ps(pairs, pairs, 1)));
}
static inline float max_quarters(__m128 a) {
  const __m128 pairs = _mm_max_ps(a, _mm_movehl_ps(a, a));
  return _mm_cvtss_f32(_mm_max_ss(pairs, _mm_shuffle_ps(pairs, pairs, 1)));
}
#if defined(__AVX2__)
static inline float sum_halves(__m256 a) { return sum_quarters(_mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1))); }
static inline float max_halves(__m256 a) { return max_quarters(_mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1))); }
#endif
#if defined(__AVX512F__)
static inline float sum_lanes(Floats a) { return sum_halves(_mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1))); }
static inline float max_lanes(Floats a) { return max_halves(_mm256_max_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1))); }
static inline float first(Floats a) { return _mm512_cvtss_f32(a); }
#elif defined(__AVX2__)
static inline float sum_lanes(Floats a) { return sum_halves(a); }
static inline float max_lanes(Floats a) { return max_halves(a); }
static inline float first(Floats a) { return _mm256_cvtss_f32(a); }
#else
static inline float sum_lanes(Floats a) { return sum_quarters(a); }
static inline float max_lanes(Floats a) { return max_quarters(a); }
static inline float first(Floats a) { return _mm_cvtss_f32(a); }
#endif

inline constexpr float EXP_LOWEST = -87.33654f;  // exp of anything below is under the smallest normal float32: 0 here
inline constexpr float EXP_HIGHEST = 88.0f;      // anything above is exp of this

// exp(x) within 2 ulp, as 2^n e^r with |r| <= ln(2) / 2 and e^r = 1 + r + r^2 q(r); q is of degree 4, fitted for the least largest
// relative error of e^r (4e-9, a fifteenth of an ulp). exp(-inf) is 0, exp(NaN) is NaN.
static inline Floats exp(Floats x) {
  const Floats clamped = min(splat(EXP_HIGHEST), max(splat(EXP_LOWEST), x));
  const Floats n = nearest(mul(clamped, splat(1.44269504088896341f)));
  // ln(2) in two parts, so that n times the first is exact.
  const Floats r = fnma(n, splat(-2.12194440e-4f), fnma(n, splat(0.693359375f), clamped));
  Floats p = splat(1.381461276e-3f);
  p = fma(p, r, splat(8.368710056e-3f));
  p = fma(p, r, splat(4.166838899e-2f));
  p = fma(p, r, splat(1.666652113e-1f));
  p = fma(p, r, splat(4.999999404e-1f));
  p = add(fma(p, mul(r, r), r), splat(1.0f));
  return select_less(x, splat(EXP_LOWEST), splat(0.0f), times_power(p, n));
}

}  // namespace ignis::IGNIS_ISA_NAMESPACE
