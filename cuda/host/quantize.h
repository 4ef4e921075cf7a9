// quantize.h: float32 activations to the forms that linear's inner loops read.
#pragma once

#include <stdint.h>
#include <string.h>

#include "linear_kernels.h"
#include "packed.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace ignis::IGNIS_ISA_NAMESPACE {
namespace {

// Below it LARGEST_CODE / largest overflows; such a block counts as zero, and no model's activations are there.
constexpr float SMALLEST_LARGEST = 1e-30f;

struct BlockSums {
  int32_t low, high;  // of the codes of columns 0..15, of 16..31
};

// For each instruction set: largest_magnitude(x) of 32 values, and round_block(planes, x, inverse), which writes a block's codes,
// hi [32], lo [32], and returns their sums.

#if defined(__AVX512F__)

inline float largest_magnitude(const float *x) {
  const __m512 largest = _mm512_max_ps(_mm512_abs_ps(_mm512_loadu_ps(x)), _mm512_abs_ps(_mm512_loadu_ps(x + 16)));
  const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(largest), _mm512_extractf32x8_ps(largest, 1));
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

inline BlockSums round_block(int8_t *planes, const float *x, float inverse) {
  const __m512 factor = _mm512_set1_ps(inverse);
  __m512i hi[2], lo[2];
  for (int i = 0; i < 2; i++) {
    const __m512i q = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x + 16 * i), factor));
    hi[i] = _mm512_srai_epi32(_mm512_add_epi32(q, _mm512_set1_epi32(64)), 7);
    lo[i] = _mm512_sub_epi32(q, _mm512_slli_epi32(hi[i], 7));
  }
  // Words of 4 codes: packing leaves in each 128 bits one of hi of columns 0..15, of hi of 16..31, of lo of 0..15, of lo of 16..31.
  const __m512i codes = _mm512_packs_epi16(_mm512_packs_epi32(hi[0], hi[1]), _mm512_packs_epi32(lo[0], lo[1]));
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  _mm512_storeu_si512(planes, _mm512_permutexvar_epi32(order, codes));
  const __m512i sums = _mm512_madd_epi16(_mm512_maddubs_epi16(_mm512_set1_epi8(1), codes), _mm512_set1_epi16(1));
  const __m256i eight = _mm256_add_epi32(_mm512_castsi512_si256(sums), _mm512_extracti64x4_epi64(sums, 1));
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  const __m128i two = _mm_add_epi32(_mm_slli_epi32(four, 7), _mm_unpackhi_epi64(four, four));
  return {_mm_cvtsi128_si32(two), _mm_extract_epi32(two, 1)};
}

#elif defined(__AVX2__)

inline __m256 magnitudes(const float *x) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), _mm256_loadu_ps(x)); }

inline float largest_magnitude(const float *x) {
  const __m256 low = _mm256_max_ps(magnitudes(x), magnitudes(x + 8)), high = _mm256_max_ps(magnitudes(x + 16), magnitudes(x + 24));
  const __m256 eight = _mm256_max_ps(low, high);
  __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  four = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
}

inline __m128i bytes_of(__m256i low, __m256i high) {
  const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xd8);
  return _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
}

// Sixteen codes; `planes` is hi [32], lo [32].
inline int32_t round_half_block(int8_t *planes, const float *x, float inverse) {
  const __m256 factor = _mm256_set1_ps(inverse);
  __m256i q[2], hi[2], lo[2];
  for (int i = 0; i < 2; i++) {
    q[i] = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8 * i), factor));
    hi[i] = _mm256_srai_epi32(_mm256_add_epi32(q[i], _mm256_set1_epi32(64)), 7);
    lo[i] = _mm256_sub_epi32(q[i], _mm256_slli_epi32(hi[i], 7));
  }
  _mm_storeu_si128(reinterpret_cast<__m128i *>(planes), bytes_of(hi[0], hi[1]));
  _mm_storeu_si128(reinterpret_cast<__m128i *>(planes + 32), bytes_of(lo[0], lo[1]));
  const __m256i eight = _mm256_add_epi32(q[0], q[1]);
  __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
}

inline BlockSums round_block(int8_t *planes, const float *x, float inverse) {
  return {round_half_block(planes, x, inverse), round_half_block(planes + 16, x + 16, inverse)};
}

#else

inline float largest_magnitude(const float *x) {
  float largest = 0;
  for (int i = 0; i < 32; i++) {
    const float magnitude = x[i] < 0 ? -x[i] : x[i];
    largest = magnitude > largest ? magnitude : largest;
  }
  return largest;
}

// 1.5 * 2^23 puts a value's units at the last bit, so that the addition rounds to the nearest integer, ties to even.
inline int32_t round_code(float value) {
  const float shifted = value + 0x1.8p23f;
  const int32_t code = static_cast<int32_t>(bits_of_float(shifted) - bits_of_float(0x1.8p23f));
  return code < -16256 ? -16256 : code > 16256 ? 16256 : code;
}

// Sixteen codes; `planes` is hi [32], lo [32].
inline int32_t round_half_block(int8_t *planes, const float *x, float inverse) {
  int32_t sum = 0;
  for (int i = 0; i < 16; i++) {
    const int32_t q = round_code(x[i] * inverse), hi = (q + 64) >> 7;
    planes[i] = static_cast<int8_t>(hi);
    planes[32 + i] = static_cast<int8_t>(q - 128 * hi);
    sum += q;
  }
  return sum;
}

inline BlockSums round_block(int8_t *planes, const float *x, float inverse) {
  return {round_half_block(planes, x, inverse), round_half_block(planes + 16, x + 16, inverse)};
}

#endif

void quantize_tile(uint8_t *tile, const float *x, uint32_t T, uint64_t ldx, uint32_t K, uint32_t width, bool has_corrections) {
  const uint64_t block_bytes = static_cast<uint64_t>(width) * TILE_TOKEN_BYTES;
  if (T < width) memset(tile, 0, K / BLOCK_COLS * block_bytes);
  for (uint32_t t = 0; t < T; t++) {
    uint8_t *block = tile;
    for (uint32_t k = 0; k < K; k += BLOCK_COLS) {
      const float *values = x + t * ldx + k;
      const float largest = largest_magnitude(values);
      const bool is_zero = !(largest > SMALLEST_LARGEST);
      const float d = is_zero ? 0.0f : largest * (1.0f / LARGEST_CODE);
      const float inverse = is_zero ? 0.0f : LARGEST_CODE / largest;
      const auto [low, high] = round_block(reinterpret_cast<int8_t *>(block + 64 * t), values, inverse);
      float *floats = reinterpret_cast<float *>(block + 64 * width);
      int32_t *corrections = reinterpret_cast<int32_t *>(floats + 2 * width);
      floats[t] = d;
      floats[width + t] = d * static_cast<float>(low + high);
      block += block_bytes;
      if (!has_corrections) continue;
      corrections[CORRECTION_8 * width + t] = -8 * (low + high);
      corrections[CORRECTION_16 * width + t] = -16 * (low + high);
      corrections[CORRECTION_128 * width + t] = -128 * (low + high);
      corrections[CORRECTION_32_LOW * width + t] = -32 * low;
      corrections[CORRECTION_32_HIGH * width + t] = -32 * high;
    }
  }
}

#if defined(__AVX512BF16__)

// plane is a multiple of 32.
void split_bfloat(uint16_t *hi, uint16_t *lo, const float *x, uint32_t K, uint32_t plane) {
  for (uint32_t k = 0; k < plane; k += 16) {
    const uint32_t count = k >= K ? 0 : K - k < 16 ? K - k : 16;
    const __m512 value = _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), x + k);
    const __m256i high = reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(value));
    const __m512 rest = _mm512_sub_ps(value, _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(high), 16)));
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(hi + k), high);
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(lo + k), reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(rest)));
  }
}

#endif

}  // namespace
}  // namespace ignis::IGNIS_ISA_NAMESPACE
