#include "dequantize.h"

#include "blocks.h"
#include "formats.h"

namespace ignis {

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
    case IGNIS_BF16:
    case IGNIS_F8_E4M3: break;
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
  } else if (dtype == IGNIS_F8_E4M3) {
    for (uint64_t i = 0; i < num_values; i++) values[i] = float_of_e4m3(bytes[i]);
  } else if (BlockFunction function = block_function(dtype)) {
    const uint32_t num = block_values(dtype), size_bytes = block_bytes(dtype);
    for (uint64_t block = 0; block < num_values / num; block++) function(values + block * num, bytes + block * size_bytes);
  }
}

}  // namespace ignis
