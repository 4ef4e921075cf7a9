// lanes_avx512.h: sixteen lanes, one for each row of a group, in a 512-bit register. See lanes.h.
#pragma once

#include <immintrin.h>
#include <stdint.h>

namespace ignis::IGNIS_ISA_NAMESPACE {
namespace {

constexpr uint32_t LANES = 16;
using Floats = __m512;
using Ints = __m512i;
using Bytes = __m512i;

inline __mmask16 first_lanes(uint32_t count) { return static_cast<__mmask16>(count >= 16 ? 0xffffu : (1u << count) - 1); }

inline Floats zero_floats() { return _mm512_setzero_ps(); }
inline Floats broadcast(const float *value) { return _mm512_set1_ps(*value); }
inline Floats load_halves(const void *p) { return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i *>(p))); }
inline Floats load_unsigned(const void *p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(static_cast<const __m128i *>(p))));
}
inline Floats load_signed(const void *p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(static_cast<const __m128i *>(p))));
}
inline Floats multiply(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
inline Floats add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
inline Floats multiply_add(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
inline Floats multiply_subtract_from(Floats a, Floats b, Floats c) { return _mm512_fnmadd_ps(a, b, c); }
inline Floats to_floats(Ints a) { return _mm512_cvtepi32_ps(a); }
inline Floats load_first(const float *p, uint32_t count) { return _mm512_maskz_loadu_ps(first_lanes(count), p); }
inline void store_first(float *p, Floats a, uint32_t count) { _mm512_mask_storeu_ps(p, first_lanes(count), a); }

inline Ints zero_ints() { return _mm512_setzero_si512(); }
inline Ints broadcast_int(const int32_t *value) { return _mm512_set1_epi32(*value); }
inline Ints add(Ints a, Ints b) { return _mm512_add_epi32(a, b); }
inline Ints times_128(Ints a) { return _mm512_slli_epi32(a, 7); }

inline Bytes load_bytes(const uint8_t *p) { return _mm512_loadu_si512(p); }
inline Bytes low_nibbles(Bytes a) { return _mm512_and_si512(a, _mm512_set1_epi8(15)); }
inline Bytes high_nibbles(Bytes a) { return _mm512_and_si512(_mm512_srli_epi16(a, 4), _mm512_set1_epi8(15)); }
// low | (plane >> SHIFT & MASK) in each byte; a negative SHIFT is to the left
template <int SHIFT, int MASK>
inline Bytes merge(Bytes low, Bytes plane) {
  Bytes moved = plane;
  if constexpr (SHIFT > 0) moved = _mm512_srli_epi16(plane, SHIFT);
  if constexpr (SHIFT < 0) moved = _mm512_slli_epi16(plane, -SHIFT);
  return _mm512_ternarylogic_epi32(low, moved, _mm512_set1_epi8(MASK), 0xf8);  // a | (b & c)
}

#if defined(__AVX512VNNI__)

constexpr bool HAS_SIGNED_BYTES = false;

struct Dot {
  Ints sum;
};
template <int BITS, int STEP>
inline void dot_add(Dot *dot, Bytes weights, const uint8_t *four) {
  // The four bytes broadcast from memory by the instruction itself. gcc 12 has no such form of the intrinsic: it spends a second
  // instruction and a register on each.
  using Word = int32_t __attribute__((may_alias));
  __asm__("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(dot->sum) : "v"(weights), "m"(*reinterpret_cast<const Word *>(four)));
}

#else

// vpmaddubsw adds two products into 16 signed bits and saturates. Products are at most 15, 31, 63 times 127, so 8, 4, 2 steps of 4, 5,
// 6 bits stay below 32768 (30480, 31496, 32004). Eight bits: |w| <= 128 times a with w's sign, twice: 32512.
constexpr bool HAS_SIGNED_BYTES = true;

struct Dot {
  Ints sum;
  __m512i part;
};
template <int BITS, int STEP>
inline void dot_add(Dot *dot, Bytes weights, const uint8_t *four) {
  constexpr int STEPS = BITS == 4 ? 8 : BITS == 5 ? 4 : BITS == 6 ? 2 : 1;
  int32_t word;
  __builtin_memcpy(&word, four, 4);
  __m512i a = _mm512_set1_epi32(word);
  if constexpr (BITS == 8) {
    const __m512i w = _mm512_xor_si512(weights, _mm512_set1_epi8(-128));
    a = _mm512_mask_sub_epi8(a, _mm512_movepi8_mask(w), _mm512_setzero_si512(), a);
    weights = _mm512_abs_epi8(w);
  }
  const __m512i products = _mm512_maddubs_epi16(weights, a);
  dot->part = STEP % STEPS == 0 ? products : _mm512_add_epi16(dot->part, products);
  if constexpr (STEP % STEPS == STEPS - 1) dot->sum = _mm512_add_epi32(dot->sum, _mm512_madd_epi16(dot->part, _mm512_set1_epi16(1)));
}

#endif

}  // namespace
}  // namespace ignis::IGNIS_ISA_NAMESPACE
