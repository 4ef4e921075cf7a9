// half.h: float16 and bfloat16 in integer arithmetic, for code that must not assume an instruction set.
#pragma once

#include <stdint.h>
#include <string.h>

#include "../base/both.h"

namespace ignis {

IGNIS_BOTH static inline float float_of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

IGNIS_BOTH static inline uint32_t bits_of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

// Exact: every float16, subnormals and infinities too, is a float32. A signalling NaN becomes quiet, as F16C does it.
IGNIS_BOTH static inline float float_of_half(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 31u, mantissa = half & 1023u;
  if (exponent == 0) {
    // mantissa * 2^-24, a product that is exact
    const float value = static_cast<float>(mantissa) * 0x1p-24f;
    return float_of_bits(sign | bits_of_float(value));
  }
  if (exponent == 31) return float_of_bits(sign | 0x7f800000u | (mantissa << 13) | (mantissa ? 0x400000u : 0u));
  return float_of_bits(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

IGNIS_BOTH static inline float float_of_bfloat(uint16_t bfloat) { return float_of_bits(static_cast<uint32_t>(bfloat) << 16); }

// Exact. As a float16 the code's bits are the value times 2^-8, subnormals too.
IGNIS_BOTH static inline float float_of_e4m3(uint8_t code) {
  if ((code & 0x7fu) == 0x7fu) return float_of_bits(0x7fc00000u);
  return float_of_half(static_cast<uint16_t>((code & 0x80u) << 8 | (code & 0x7fu) << 7)) * 256.0f;
}

// Two bytes that need not be aligned.
IGNIS_BOTH static inline uint16_t read_u16(const uint8_t *bytes) {
  uint16_t value;
  memcpy(&value, bytes, sizeof value);
  return value;
}

IGNIS_BOTH static inline uint32_t read_u32(const uint8_t *bytes) {
  uint32_t value;
  memcpy(&value, bytes, sizeof value);
  return value;
}

}  // namespace ignis
