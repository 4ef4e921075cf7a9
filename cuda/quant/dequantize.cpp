#include "dequantize.h"

#include "formats.h"
#include "half.h"
#include "k_scales.h"

namespace ignis {

static float half_at(const uint8_t *bytes) { return float_of_half(read_u16(bytes)); }

static void block_q4_0(float *y, const uint8_t *block) {
  const float d = half_at(block);
  const uint8_t *codes = block + 2;
  for (int i = 0; i < 16; i++) {
    y[i] = d * static_cast<float>((codes[i] & 15) - 8);
    y[i + 16] = d * static_cast<float>((codes[i] >> 4) - 8);
  }
}

static void block_q4_1(float *y, const uint8_t *block) {
  const float d = half_at(block), m = half_at(block + 2);
  const uint8_t *codes = block + 4;
  for (int i = 0; i < 16; i++) {
    y[i] = d * static_cast<float>(codes[i] & 15) + m;
    y[i + 16] = d * static_cast<float>(codes[i] >> 4) + m;
  }
}

static int five_bits_low(uint32_t high, uint8_t code, int i) { return (code & 15) | static_cast<int>((high >> i) & 1u) << 4; }
static int five_bits_high(uint32_t high, uint8_t code, int i) { return (code >> 4) | static_cast<int>((high >> (i + 16)) & 1u) << 4; }

static void block_q5_0(float *y, const uint8_t *block) {
  const float d = half_at(block);
  const uint32_t high = read_u32(block + 2);
  const uint8_t *codes = block + 6;
  for (int i = 0; i < 16; i++) {
    y[i] = d * static_cast<float>(five_bits_low(high, codes[i], i) - 16);
    y[i + 16] = d * static_cast<float>(five_bits_high(high, codes[i], i) - 16);
  }
}

static void block_q5_1(float *y, const uint8_t *block) {
  const float d = half_at(block), m = half_at(block + 2);
  const uint32_t high = read_u32(block + 4);
  const uint8_t *codes = block + 8;
  for (int i = 0; i < 16; i++) {
    y[i] = d * static_cast<float>(five_bits_low(high, codes[i], i)) + m;
    y[i + 16] = d * static_cast<float>(five_bits_high(high, codes[i], i)) + m;
  }
}

static void block_q8_0(float *y, const uint8_t *block) {
  const float d = half_at(block);
  for (int i = 0; i < 32; i++) y[i] = d * static_cast<float>(static_cast<int8_t>(block[2 + i]));
}

// Q4_K and Q5_K: sub-block b has 32 values, the nibbles b & 1 of 32 bytes, and with five bits the bits b of 32 more.
static void block_k(float *y, const uint8_t *block, const uint8_t *high, const uint8_t *codes) {
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

static void block_q4_k(float *y, const uint8_t *block) { block_k(y, block, nullptr, block + 16); }
static void block_q5_k(float *y, const uint8_t *block) { block_k(y, block, block + 16, block + 48); }

static void block_q6_k(float *y, const uint8_t *block) {
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

using BlockFunction = void (*)(float *, const uint8_t *);

static BlockFunction block_function(ignis_dtype dtype) {
  switch (dtype) {
    case IGNIS_Q4_0: return block_q4_0;
    case IGNIS_Q4_1: return block_q4_1;
    case IGNIS_Q5_0: return block_q5_0;
    case IGNIS_Q5_1: return block_q5_1;
    case IGNIS_Q8_0: return block_q8_0;
    case IGNIS_Q4_K: return block_q4_k;
    case IGNIS_Q5_K: return block_q5_k;
    case IGNIS_Q6_K: return block_q6_k;
    case IGNIS_F32:
    case IGNIS_F16:
    case IGNIS_BF16: break;
  }
  return nullptr;
}

void dequantize(float *values, const void *data, ignis_dtype dtype, uint64_t num_values) {
  const uint8_t *bytes = static_cast<const uint8_t *>(data);
  if (dtype == IGNIS_F32) {
    memcpy(values, bytes, num_values * sizeof(float));
  } else if (dtype == IGNIS_F16) {
    for (uint64_t i = 0; i < num_values; i++) values[i] = half_at(bytes + 2 * i);
  } else if (dtype == IGNIS_BF16) {
    for (uint64_t i = 0; i < num_values; i++) values[i] = float_of_bfloat(read_u16(bytes + 2 * i));
  } else if (BlockFunction function = block_function(dtype)) {
    const uint32_t num = block_values(dtype), size_bytes = block_bytes(dtype);
    for (uint64_t block = 0; block < num_values / num; block++) function(values + block * num, bytes + block * size_bytes);
  }
}

}  // namespace ignis
