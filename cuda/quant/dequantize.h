// dequantize.h: the float32 values of stored weights, as the format defines them.
#pragma once

#include <stdint.h>

#include "../include/ignis_step.h"

namespace ignis {

// values [num_values], a multiple of block_values(dtype), from row_bytes(dtype, num_values) bytes at `data`, which need not be aligned.
// F8_E4M3: the codes' own values, before the block scales. Bit-equal to the format's definition: each multiplication and addition is rounded to float32 by itself, never fused.
void dequantize(float *values, const void *data, ignis_dtype dtype, uint64_t num_values);

}  // namespace ignis
