// blocks.h: the values of one stored block of each quantised type, as the format defines them, on the CPU and on a card.
#pragma once

#include <stdint.h>

#include "half.h"
#include "k_scales.h"

namespace ignis {

IGNIS_BOTH static inline float half_at(const uint8_t *bytes) { return float_of_half(read_u16(bytes)); }

IGNIS_BOTH static inline void block_q4_0(float *y, const uint8_t *block) {
  const float d = half_at(block);
  const uint8_t *codes = block + 2;
  for (int i = 0; i < 16; i++) {
    y[i] = d * static_cast<float>((codes[i] & 15) - 8);
    y[i + 16] = d * static_cast<float>((codes[i] >> 4) - 8);
  }
}

IGNIS_BOTH static inline void block_q4_1(float *y, const uint8_t *block) {
  const float d = half_at(block), m = half_at(block + 2);
  const uint8_t *codes = block + 4;
  for (int i = 0; i < 16; i++) {
    y[i] = d * static_cast<float>(codes[i] & 15) + m;
    y[i + 16] = d * static_cast<float>(codes[i] >> 4) + m;
  }
}

IGNIS_BOTH static inline int five_bits_low(uint32_t high, uint8_t code, int i) { return (code & 15) | static_cast<int>((high >> i) & 1u) << 4; }
IGNIS_BOTH static inline int five_bits_high(uint32_t high, uint8_t code, int i) { return (code >> 4) | static_cast<int>((high >> (i + 16)) & 1u) << 4; }

IGNIS_BOTH static inline void block_q5_0(float *y, const uint8_t *block) {
  const float d = half_at(block);
  const uint32_t high = read_u32(block + 2);
  const uint8_t *codes = block + 6;
  for (int i = 0; i < 16; i++) {
    y[i] = d * static_cast<float>(five_bits_low(high, codes[i], i) - 16);
    y[i + 16] = d * static_cast<float>(five_bits_high(high, codes[i], i) - 16);
  }
}

IGNIS_BOTH static inline void block_q5_1(float *y, const uint8_t *block) {
  const float d = half_at(block), m = half_at(block + 2);
  const uint32_t high = read_u32(block + 4);
  const uint8_t *codes = block + 8;
  for (int i = 0; i < 16; i++) {
    y[i] = d * static_cast<float>(five_bits_low(high, codes[i], i)) + m;
    y[i + 16] = d * static_cast<float>(five_bits_high(high, codes[i], i)) + m;
  }
}

IGNIS_BOTH static inline void block_q8_0(float *y, const uint8_t *block) {
  const float d = half_at(block);
  for (int i = 0; i < 32; i++) y[i] = d * static_cast<float>(static_cast<int8_t>(block[2 + i]));
}

// Q4_K and Q5_K: sub-block b has 32 values, the nibbles b & 1 of 32 bytes, and with five bits the bits b of 32 more.
IGNIS_BOTH static inline void block_k(float *y, const uint8_t *block, const uint8_t *high, const uint8_t *codes) {
  const float d = half_at(block), dmin = half_at(block + 2);
  uint8_t scales[8], minimums[8];
  unpack_k_scales(scales, minimums, block + 4);
  for (int b = 0; b < 8; b++) {
    const float scale = d * static_cast<float>(scales[b]), minimum = dmin * static_cast<float>(minimums[b]);
    const uint8_t *bytes = codes + b / 2 * 32;
    for (int i = 0; i < 32; i++) {
      int code = (bytes[i] >> (b % 2 * 4)) & 15;
      if (high) code |= ((high[i] >> b) & 1) << 4;
      y[b * 32 + i] = scale * static_cast<float>(code) - minimum;
    }
  }
}

IGNIS_BOTH static inline void block_q4_k(float *y, const uint8_t *block) { block_k(y, block, nullptr, block + 16); }
IGNIS_BOTH static inline void block_q5_k(float *y, const uint8_t *block) { block_k(y, block, block + 16, block + 48); }

IGNIS_BOTH static inline void block_q6_k(float *y, const uint8_t *block) {
  const float d = half_at(block + 208);
  const int8_t *scales = reinterpret_cast<const int8_t *>(block + 192);
  for (int n = 0; n < 2; n++) {
    for (int part = 0; part < 4; part++) {
      for (int i = 0; i < 32; i++) {
        const int low = (block[64 * n + part % 2 * 32 + i] >> (part / 2 * 4)) & 15;
        const int high = (block[128 + 32 * n + i] >> (2 * part)) & 3;
        const int at = n * 128 + part * 32 + i;
        y[at] = d * static_cast<float>(scales[at / 16]) * static_cast<float>((low | high << 4) - 32);
      }
    }
  }
}

}  // namespace ignis
