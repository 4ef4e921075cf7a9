// pack.h: stored weights into the layout of weights.cuh, on the card.
#pragma once

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "../include/ignis_step.h"

namespace ignis {

// A matrix is packed in parts that start at a multiple of this many rows.
inline constexpr uint32_t PACK_ROWS = 128;

// Bytes of a packed matrix, a multiple of 256. Every type is packed; F32 is copied as it is.
uint64_t packed_bytes(ignis_dtype dtype, uint32_t rows, uint32_t cols);

// Fills the part of `packed` (the whole matrix's, 256-byte aligned) that rows [first_row, first_row + num_rows) have. `stored` is on the
// device, 16-byte aligned, and starts with first_row. Rows and columns that the layout adds become zeros.
void pack_rows(void *packed, const void *stored, ignis_dtype dtype, uint32_t rows, uint32_t cols, uint32_t first_row, uint32_t num_rows,
               cudaStream_t stream, ignis_dtype scale_dtype = IGNIS_F32);

// Where in `packed` the stored block scales of F8_E4M3, of scale_dtype, must lie before pack_rows, and may be forgotten after it.
uint64_t block_scales_offset(ignis_dtype dtype, uint32_t rows, uint32_t cols);
// Puts one scale there for all blocks, as IGNIS_F32.
void fill_block_scales(void *packed, ignis_dtype dtype, uint32_t rows, uint32_t cols, float scale, cudaStream_t stream);

// Where in `packed` the rows' powers of two lie (weights.cuh); not of F32.
uint64_t row_scales_offset(ignis_dtype dtype, uint32_t rows, uint32_t cols);

}  // namespace ignis
