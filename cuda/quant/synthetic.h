// synthetic.h: stored weights that no file holds: random, a function of a seed, and the same bytes on the CPU and on a card. For timing
// real shapes without a download. A matrix's values have a deviation of about 1 / sqrt(cols), so that activations keep their size from
// layer to layer; a vector is a norm, whose weights lie around 1.
#pragma once

#include <stdint.h>

#include "../base/philox.h"
#include "formats.h"
#include "half.h"

namespace ignis {

struct Synthetic {
  uint32_t key[2];   // the seed, and the tensor's number
  int32_t exponent;  // of the power of two under which the values lie
  bool is_vector;
};

static inline Synthetic synthetic_of(uint32_t seed, uint32_t tensor, uint64_t rows, uint64_t cols) {
  int32_t exponent = 1;  // 4^exponent <= 3 / cols: a uniform number in [-a, a) has the deviation a / sqrt(3)
  for (uint64_t size = 3; size <= cols * 4; size *= 4) exponent--;
  return Synthetic{{seed, tensor}, exponent, rows == 1};
}

// Values that are made together: a block, or eight of a type without blocks.
IGNIS_BOTH static inline constexpr uint32_t synthetic_values(ignis_dtype dtype) { return is_quantized(dtype) ? block_values(dtype) : 8; }
IGNIS_BOTH static inline constexpr uint32_t synthetic_bytes(ignis_dtype dtype) {
  return is_quantized(dtype) ? block_bytes(dtype) : 8 * block_bytes(dtype);
}

IGNIS_BOTH static inline PhiloxBlock synthetic_words(const Synthetic &synthetic, uint64_t unit, uint32_t part) {
  return philox({{static_cast<uint32_t>(unit), static_cast<uint32_t>(unit >> 32), part, 0}}, synthetic.key[0], synthetic.key[1]);
}

// 2^exponent.
IGNIS_BOTH static inline float power_of_two(int32_t exponent) { return float_of_bits(static_cast<uint32_t>(exponent + 127) << 23); }

// The code of 2^8 times a number in [-1, 1), rounded towards zero; what makes it a weight is its scale.
IGNIS_BOTH static inline uint8_t synthetic_e4m3(float uniform) {
  const uint32_t bits = bits_of_float(uniform * 256.0f), magnitude = bits & 0x7fffffffu;
  const uint32_t code = magnitude < (121u << 23) ? static_cast<uint32_t>(float_of_bits(magnitude) * 512.0f) : (magnitude >> 20) - (120 << 3);
  return static_cast<uint8_t>(code | (bits >> 24 & 0x80u));
}
IGNIS_BOTH static inline float synthetic_block_scale(const Synthetic &synthetic) { return power_of_two(synthetic.exponent - 8); }

// num <= 8 values from `bytes` on, rounded down to the type.
IGNIS_BOTH static inline void synthesize_floats(uint8_t *bytes, uint32_t num, ignis_dtype dtype, const Synthetic &synthetic, uint64_t unit) {
  const PhiloxBlock low = synthetic_words(synthetic, unit, 0), high = synthetic_words(synthetic, unit, 1);
  for (uint32_t i = 0; i < num; i++) {
    const uint32_t word = i < 4 ? low.words[i & 3] : high.words[i & 3];
    // 24 random bits, of which float16 keeps 11: exact in every step
    const uint32_t kept = dtype == IGNIS_F16 ? word & 0xffe00000u : word & 0xffffff00u;
    const float uniform = static_cast<float>(static_cast<int32_t>(kept)) * 0x1p-31f;
    const float value = synthetic.is_vector ? 1.0f + 0.25f * uniform : uniform * power_of_two(synthetic.exponent);
    if (dtype == IGNIS_F8_E4M3) {
      bytes[i] = synthetic_e4m3(uniform);
      continue;
    }
    const uint32_t bits = bits_of_float(value);
    if (dtype == IGNIS_F32) {
      memcpy(bytes + 4 * i, &bits, 4);
      continue;
    }
    uint16_t half = static_cast<uint16_t>(bits >> 16);
    if (dtype == IGNIS_F16) {
      const uint32_t magnitude = bits & 0x7fffffffu;
      half = static_cast<uint16_t>(magnitude >> 13);
      // Below 2^-14 the mantissa slides under the smallest exponent.
      half = magnitude < (113u << 23) ? static_cast<uint16_t>(float_of_bits(magnitude) * 0x1p24f) : static_cast<uint16_t>(half - (112 << 10));
      half |= static_cast<uint16_t>(bits >> 16 & 0x8000u);
    }
    memcpy(bytes + 2 * i, &half, 2);
  }
}

// A float16 of 2^exponent times [1, 2), no smaller than a normal number.
IGNIS_BOTH static inline uint16_t synthetic_scale(int32_t exponent, uint32_t random) {
  return static_cast<uint16_t>((exponent < -14 ? 1 : exponent + 15) << 10 | (random & 1023u));
}

IGNIS_BOTH static inline void put_u16(uint8_t *bytes, uint32_t value) {
  bytes[0] = static_cast<uint8_t>(value);
  bytes[1] = static_cast<uint8_t>(value >> 8);
}

// One block. The codes are uniform; scales are so that codes about their middle give the wanted deviation. What types have beside d is
// d times a power of two with the sign that takes the middle off.
IGNIS_BOTH static inline void synthesize_block(uint8_t *block, ignis_dtype dtype, const Synthetic &synthetic, uint64_t unit) {
  const uint32_t size_bytes = block_bytes(dtype);
  for (uint32_t start = 0; start < size_bytes; start += 16) {
    const PhiloxBlock random = synthetic_words(synthetic, unit, start / 16);
    for (uint32_t i = 0; i < 16 && start + i < size_bytes; i++) block[start + i] = static_cast<uint8_t>(random.words[i / 4] >> (i % 4 * 8));
  }
  const PhiloxBlock random = synthetic_words(synthetic, unit, 0xffffffffu);
  const int32_t exponent = synthetic.exponent;
  switch (dtype) {
    case IGNIS_Q8_0: put_u16(block, synthetic_scale(exponent - 7, random.words[0])); break;
    case IGNIS_Q4_0: put_u16(block, synthetic_scale(exponent - 3, random.words[0])); break;
    case IGNIS_Q5_0: put_u16(block, synthetic_scale(exponent - 4, random.words[0])); break;
    case IGNIS_Q4_1:
    case IGNIS_Q5_1: {
      const int32_t bits = dtype == IGNIS_Q4_1 ? 3 : 4;
      const uint16_t d = synthetic_scale(exponent - bits, random.words[0]);
      put_u16(block, d);
      put_u16(block + 2, 0x8000u | (d + (static_cast<uint32_t>(bits) << 10)));
      break;
    }
    case IGNIS_Q4_K:
    case IGNIS_Q5_K: {
      const int32_t bits = dtype == IGNIS_Q4_K ? 3 : 4;
      const uint16_t d = synthetic_scale(exponent - bits - 4, random.words[0]);
      put_u16(block, d);
      put_u16(block + 2, d + (static_cast<uint32_t>(bits) << 10));
      // Scales and minimums alike, 8 to 15: the first four in six bits each, the others as two nibbles.
      for (uint32_t i = 0; i < 4; i++) {
        const uint32_t low = 8 | (random.words[1] >> (4 * i) & 7), high = 8 | (random.words[2] >> (4 * i) & 7);
        block[4 + i] = block[8 + i] = static_cast<uint8_t>(low);
        block[12 + i] = static_cast<uint8_t>(high | high << 4);
      }
      break;
    }
    case IGNIS_Q6_K:
      for (uint32_t i = 0; i < 16; i++) {
        const int32_t scale = static_cast<int32_t>(8 | (random.words[1 + i / 8] >> (4 * (i % 8)) & 7));
        block[192 + i] = static_cast<uint8_t>(random.words[3] >> i & 1 ? -scale : scale);
      }
      put_u16(block + 208, synthetic_scale(exponent - 9, random.words[0]));
      break;
    case IGNIS_F32:
    case IGNIS_F16:
    case IGNIS_BF16:
    case IGNIS_F8_E4M3: break;
  }
}

// Unit `unit` of a tensor of num_values values, at `bytes`; returns how many values it has.
IGNIS_BOTH static inline uint32_t synthesize_unit(uint8_t *bytes, ignis_dtype dtype, const Synthetic &synthetic, uint64_t unit,
                                                  uint64_t num_values) {
  if (is_quantized(dtype)) {
    synthesize_block(bytes, dtype, synthetic, unit);
    return block_values(dtype);
  }
  const uint64_t left = num_values - unit * 8;
  const uint32_t num = left < 8 ? static_cast<uint32_t>(left) : 8;
  synthesize_floats(bytes, num, dtype, synthetic, unit);
  return num;
}

}  // namespace ignis
