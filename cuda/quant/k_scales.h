// k_scales.h: the 6-bit scales and minimums of a K block's eight sub-blocks.
#pragma once

#include <stdint.h>

#include "../base/both.h"

namespace ignis {

// Twelve bytes a0-3, b0-3, c0-3. Sub-blocks 0-3 have the low six bits of a and b; sub-blocks 4-7 have c's nibbles below the top two
// bits of a and b.
IGNIS_BOTH static inline void unpack_k_scales(uint8_t scales[8], uint8_t minimums[8], const uint8_t *bytes) {
  for (int i = 0; i < 4; i++) {
    const uint8_t a = bytes[i], b = bytes[4 + i], c = bytes[8 + i];
    scales[i] = a & 63;
    minimums[i] = b & 63;
    scales[4 + i] = static_cast<uint8_t>((c & 15) | (a >> 6) << 4);
    minimums[4 + i] = static_cast<uint8_t>((c >> 4) | (b >> 6) << 4);
  }
}

}  // namespace ignis
