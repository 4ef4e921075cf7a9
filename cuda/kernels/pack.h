// pack.h: stored rows of a matrix, already on the card, into the layout that the linear kernels read.
#pragma once

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "../include/ignis_step.h"

namespace ignis {

// A matrix comes in chunks of whole rows; each but the last is a multiple of this many.
inline constexpr uint32_t PACK_ROWS = 128;

// packed: all of the matrix (matrix_bytes, zero at first); stored: rows [first_row, first_row + num_rows) as the file has them, 256-byte
// aligned. Launches on the stream.
void pack_rows(void *packed, const void *stored, ignis_dtype dtype, uint32_t rows, uint32_t cols, uint32_t first_row, uint32_t num_rows,
               cudaStream_t stream);

}  // namespace ignis
