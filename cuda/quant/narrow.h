// narrow.h: float32 rounded to bfloat16 and to e4m3 in integer arithmetic, to the nearest, ties to even.
#pragma once

#include <math.h>
#include <stdint.h>

#include "half.h"

namespace ignis {

static inline uint16_t bfloat_of_float(float value) {
  const uint32_t bits = bits_of_float(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);  // NaN stays one
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

// e4m3 has no infinity: what is larger becomes 448, its largest. The smallest normal is 2^-6, the smallest number 2^-9.
static inline uint8_t e4m3_of_float(float value) {
  const uint32_t bits = bits_of_float(value), sign = bits >> 24 & 0x80u;
  uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint8_t>(sign | 0x7fu);
  if (magnitude >= 0x43e00000u) return static_cast<uint8_t>(sign | 0x7eu);  // 448
  if (magnitude < 0x3c800000u)                                             // 2^-6: a multiple of 2^-9, which this sum rounds to
    return static_cast<uint8_t>(sign | (bits_of_float(float_of_bits(magnitude) + 0x1p14f) & 0xfu));
  magnitude += 0x7ffffu + (magnitude >> 20 & 1u);
  return static_cast<uint8_t>(sign | ((magnitude >> 20) - (120u << 3)));
}

}  // namespace ignis
