// lanes_avx2.h: eight lanes, half a group, in a 256-bit register. See lanes.h.
#pragma once

#include <immintrin.h>
#include <stdint.h>

namespace ignis::IGNIS_ISA_NAMESPACE {
namespace {

constexpr uint32_t LANES = 8;
using Floats = __m256;
using Ints = __m256i;
using Bytes = __m256i;

inline __m256i first_lanes(uint32_t count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int32_t>(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

inline Floats zero_floats() { return _mm256_setzero_ps(); }
inline Floats broadcast(const float *value) { return _mm256_broadcast_ss(value); }
inline Floats load_halves(const void *p) { return _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i *>(p))); }
inline Floats load_unsigned(const void *p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(static_cast<const __m128i *>(p))));
}
inline Floats load_signed(const void *p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(static_cast<const __m128i *>(p))));
}
inline Floats multiply(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
inline Floats add(Floats a, Floats b) { return _mm256_add_ps(a, b); }
inline Floats multiply_add(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
inline Floats multiply_subtract_from(Floats a, Floats b, Floats c) { return _mm256_fnmadd_ps(a, b, c); }
inline Floats to_floats(Ints a) { return _mm256_cvtepi32_ps(a); }
inline Floats load_first(const float *p, uint32_t count) {
  return count >= LANES ? _mm256_loadu_ps(p) : _mm256_maskload_ps(p, first_lanes(count));
}
inline void store_first(float *p, Floats a, uint32_t count) {
  if (count >= LANES) {
    _mm256_storeu_ps(p, a);
  } else {
    _mm256_maskstore_ps(p, first_lanes(count), a);
  }
}

inline Ints zero_ints() { return _mm256_setzero_si256(); }
inline Ints broadcast_int(const int32_t *value) { return _mm256_set1_epi32(*value); }
inline Ints add(Ints a, Ints b) { return _mm256_add_epi32(a, b); }
inline Ints times_128(Ints a) { return _mm256_slli_epi32(a, 7); }

inline Bytes load_bytes(const uint8_t *p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(p)); }
inline Bytes low_nibbles(Bytes a) { return _mm256_and_si256(a, _mm256_set1_epi8(15)); }
inline Bytes high_nibbles(Bytes a) { return _mm256_and_si256(_mm256_srli_epi16(a, 4), _mm256_set1_epi8(15)); }
template <int SHIFT, int MASK>
inline Bytes merge(Bytes low, Bytes plane) {
  Bytes moved = plane;
  if constexpr (SHIFT > 0) moved = _mm256_srli_epi16(plane, SHIFT);
  if constexpr (SHIFT < 0) moved = _mm256_slli_epi16(plane, -SHIFT);
  return _mm256_or_si256(low, _mm256_and_si256(moved, _mm256_set1_epi8(MASK)));
}

constexpr bool HAS_SIGNED_BYTES = true;

// vpmaddubsw adds two products into 16 signed bits and saturates. Products are at most 15, 31, 63 times 127, so 8, 4, 2 steps of 4, 5,
// 6 bits stay below 32768 (30480, 31496, 32004). Eight bits: |w| <= 128 times a with w's sign, twice: 32512.
struct Dot {
  Ints sum;
  __m256i part;
};
template <int BITS, int STEP>
inline void dot_add(Dot *dot, Bytes weights, const uint8_t *four) {
  constexpr int STEPS = BITS == 4 ? 8 : BITS == 5 ? 4 : BITS == 6 ? 2 : 1;
  int32_t word;
  __builtin_memcpy(&word, four, 4);
  __m256i a = _mm256_set1_epi32(word);
  if constexpr (BITS == 8) {
    const __m256i w = _mm256_xor_si256(weights, _mm256_set1_epi8(-128));
    a = _mm256_sign_epi8(a, w);
    weights = _mm256_abs_epi8(w);
  }
  const __m256i products = _mm256_maddubs_epi16(weights, a);
  dot->part = STEP % STEPS == 0 ? products : _mm256_add_epi16(dot->part, products);
  if constexpr (STEP % STEPS == STEPS - 1) dot->sum = _mm256_add_epi32(dot->sum, _mm256_madd_epi16(dot->part, _mm256_set1_epi16(1)));
}

}  // namespace
}  // namespace ignis::IGNIS_ISA_NAMESPACE
