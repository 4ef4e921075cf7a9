// formats.h: the stored element types of weights: how many values a block holds, and in how many bytes. The layouts inside a block are
// dequantize.cpp's and host/pack.cpp's knowledge.
#pragma once

#include <stdint.h>

#include "../base/both.h"
#include "../include/ignis_step.h"

namespace ignis {

// Values of a block, consecutive along a row; 0 where the type is unknown.
IGNIS_BOTH inline constexpr uint32_t block_values(ignis_dtype dtype) {
  switch (dtype) {
    case IGNIS_F32:
    case IGNIS_F16:
    case IGNIS_BF16:
    case IGNIS_F8_E4M3: return 1;
    case IGNIS_Q4_0:
    case IGNIS_Q4_1:
    case IGNIS_Q5_0:
    case IGNIS_Q5_1:
    case IGNIS_Q8_0: return 32;
    case IGNIS_Q4_K:
    case IGNIS_Q5_K:
    case IGNIS_Q6_K: return 256;
  }
  return 0;
}

IGNIS_BOTH inline constexpr uint32_t block_bytes(ignis_dtype dtype) {
  switch (dtype) {
    case IGNIS_F32: return 4;
    case IGNIS_F16:
    case IGNIS_BF16: return 2;
    case IGNIS_F8_E4M3: return 1;
    case IGNIS_Q4_0: return 2 + 16;
    case IGNIS_Q4_1: return 4 + 16;
    case IGNIS_Q5_0: return 2 + 4 + 16;
    case IGNIS_Q5_1: return 4 + 4 + 16;
    case IGNIS_Q8_0: return 2 + 32;
    case IGNIS_Q4_K: return 4 + 12 + 128;
    case IGNIS_Q5_K: return 4 + 12 + 32 + 128;
    case IGNIS_Q6_K: return 128 + 64 + 16 + 2;
  }
  return 0;
}

// In blocks of a row that bring their own scales.
IGNIS_BOTH inline constexpr bool is_quantized(ignis_dtype dtype) { return block_values(dtype) > 1; }

// A weight whose scales are apart from its codes, one for IGNIS_SCALE_BLOCK x IGNIS_SCALE_BLOCK of them.
IGNIS_BOTH inline constexpr bool has_block_scales(ignis_dtype dtype) { return dtype == IGNIS_F8_E4M3; }
IGNIS_BOTH inline constexpr uint32_t num_scale_blocks(uint32_t size) { return size / IGNIS_SCALE_BLOCK + (size % IGNIS_SCALE_BLOCK != 0); }

// Bytes of a stored row of `cols` values, a multiple of block_values(dtype).
IGNIS_BOTH inline constexpr uint64_t row_bytes(ignis_dtype dtype, uint64_t cols) {
  return cols / block_values(dtype) * block_bytes(dtype);
}

}  // namespace ignis
