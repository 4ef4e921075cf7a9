// pack.cu: one warp packs a piece (16 rows x 64 columns); lane 4 g + t writes what the same lane of a linear kernel will read.
#include "pack.h"

#include <cuda_bf16.h>

#include "../quant/formats.h"
#include "weights.cuh"

namespace ignis {

static uint64_t scales_offset(ignis_dtype dtype, uint32_t rows, uint32_t cols) {
  return uint64_t{num_tiles(rows)} * num_records(dtype, cols) * record_bytes(dtype);
}

// Behind the codes; behind F8_E4M3's block scales, which are read while they are made.
uint64_t row_scales_offset(ignis_dtype dtype, uint32_t rows, uint32_t cols) {
  const uint64_t blocks_bytes = has_block_scales(dtype) ? uint64_t{num_scale_blocks(rows)} * num_scale_blocks(cols) * sizeof(float) : 0;
  return scales_offset(dtype, rows, cols) + (blocks_bytes + 15) / 16 * 16;
}

uint64_t block_scales_offset(ignis_dtype dtype, uint32_t rows, uint32_t cols) { return scales_offset(dtype, rows, cols); }

static __global__ void fill_kernel(float *values, uint32_t num, float value) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < num) values[i] = value;
}

void fill_block_scales(void *packed, ignis_dtype dtype, uint32_t rows, uint32_t cols, float scale, cudaStream_t stream) {
  const uint32_t num = num_scale_blocks(rows) * num_scale_blocks(cols);
  float *scales = reinterpret_cast<float *>(static_cast<uint8_t *>(packed) + block_scales_offset(dtype, rows, cols));
  fill_kernel<<<(num + 255) / 256, 256, 0, stream>>>(scales, num, scale);
}

uint64_t packed_bytes(ignis_dtype dtype, uint32_t rows, uint32_t cols) {
  uint64_t size_bytes = dtype == IGNIS_F32 ? uint64_t{rows} * cols * sizeof(float) : scales_offset(dtype, rows, cols);
  if (dtype != IGNIS_F32) size_bytes = row_scales_offset(dtype, rows, cols) + uint64_t{num_tiles(rows)} * TILE_ROWS * sizeof(float);
  return (size_bytes + 255) / 256 * 256;
}

static __device__ __forceinline__ uint32_t u16_at(const uint8_t *bytes) { return bytes[0] | bytes[1] << 8; }

// F16 and BF16: a row's scale makes its largest value at most 2^11, so that sixteen times it is a float16 too, and nothing that is
// within 2^-25 of the largest loses a bit. The scale stored is the inverse.
template <ignis_dtype DTYPE>
static __device__ __forceinline__ float value_16(const uint8_t *stored, uint64_t index) {
  const uint16_t bits = reinterpret_cast<const uint16_t *>(stored)[index];
  if constexpr (DTYPE == IGNIS_F16) return __half2float(__ushort_as_half(bits));
  return __uint_as_float(uint32_t{bits} << 16);
}

static __device__ __forceinline__ uint32_t exponent_of(float largest) {
  const uint32_t exponent = (__float_as_uint(largest) >> 23) & 255u;
  return exponent < 12 ? 12 : exponent > 250 ? 250 : exponent;
}

template <ignis_dtype DTYPE>
static __device__ void pack_16(uint8_t *piece, const uint8_t *stored, const float *scales, uint32_t cols, uint32_t row, uint32_t num_rows,
                               uint32_t first_col, uint32_t lane) {
  const uint32_t g = lane / 4, t = lane % 4;
  for (uint32_t step = 0; step < 4; step++) {
    uint32_t words[4];
    for (uint32_t i = 0; i < 4; i++) {
      const uint32_t r = row + g + i % 2 * 8, k = first_col + step * 16 + t * 4 + i / 2 * 2;
      uint32_t pair = 0;
      for (uint32_t e = 0; e < 2; e++) {
        if (r >= num_rows || k + e >= cols) continue;
        const float factor = (i / 2 ? 16.0f : 1.0f) / scales[r];
        const float value = value_16<DTYPE>(stored, uint64_t{r} * cols + k + e) * factor;
        pair |= uint32_t{__half_as_ushort(__float2half_rn(value))} << (16 * e);
      }
      words[i] = pair;
    }
    reinterpret_cast<uint4 *>(piece)[step * 32 + lane] = make_uint4(words[0], words[1], words[2], words[3]);
  }
}

// The code of column k (0..31) of a block of 32; K types: `block` is the sub-block 0..7 of the stored block.
template <ignis_dtype DTYPE>
static __device__ __forceinline__ uint32_t code_at(const uint8_t *bytes, uint32_t block, uint32_t k) {
  if constexpr (DTYPE == IGNIS_F8_E4M3) {
    return bytes[0];
  } else if constexpr (DTYPE == IGNIS_Q8_0) {
    return bytes[2 + k] ^ 128u;
  } else if constexpr (DTYPE == IGNIS_Q4_K || DTYPE == IGNIS_Q5_K) {
    const uint8_t *codes = bytes + (DTYPE == IGNIS_Q5_K ? 48 : 16) + block / 2 * 32;
    uint32_t code = (codes[k] >> (block % 2 * 4)) & 15u;
    if constexpr (DTYPE == IGNIS_Q5_K) code |= ((bytes[16 + k] >> block) & 1u) << 4;
    return code;
  } else if constexpr (DTYPE == IGNIS_Q6_K) {
    const uint32_t n = block / 4, part = block % 4;
    const uint32_t low = (bytes[64 * n + part % 2 * 32 + k] >> (part / 2 * 4)) & 15u;
    return low | ((bytes[128 + 32 * n + k] >> (2 * part)) & 3u) << 4;
  } else {
    constexpr bool has_high = DTYPE == IGNIS_Q5_0 || DTYPE == IGNIS_Q5_1;
    constexpr uint32_t head = has_minimum(DTYPE) ? 4 : 2;
    uint32_t code = (bytes[head + (has_high ? 4 : 0) + k % 16] >> (k / 16 * 4)) & 15u;
    if constexpr (has_high) code |= ((bytes[head + k / 8] >> (k % 8)) & 1u) << 4;
    return code;
  }
}

// Scale or minimum of sub-block 0..7 of Q4_K, Q5_K (quant/k_scales.h says where the bits are).
static __device__ __forceinline__ uint32_t k_scale(const uint8_t *bytes, uint32_t block, bool is_minimum) {
  const uint8_t *q = bytes + 4;
  if (block < 4) return q[block + (is_minimum ? 4 : 0)] & 63u;
  const uint32_t c = q[block + 4];
  return (is_minimum ? c >> 4 : c & 15u) | (q[block - 4 + (is_minimum ? 4 : 0)] >> 6) << 4;
}

// Constants, because a device function may not call formats.h's own functions.
template <ignis_dtype DTYPE>
inline constexpr uint32_t BLOCK_VALUES = block_values(DTYPE);
template <ignis_dtype DTYPE>
inline constexpr uint32_t BLOCK_BYTES = block_bytes(DTYPE);

template <ignis_dtype DTYPE>
static __device__ void pack_codes(uint8_t *piece, uint8_t *super, const uint8_t *stored, uint32_t cols, uint32_t row, uint32_t num_rows,
                                  uint32_t first_col, uint32_t lane) {
  constexpr WeightLayout layout = weight_layout(DTYPE);
  constexpr uint32_t values = BLOCK_VALUES<DTYPE>, size_bytes = BLOCK_BYTES<DTYPE>;
  const uint32_t g = lane / 4, t = lane % 4;
  const uint64_t stride = uint64_t{cols} / values * size_bytes;
  const auto block_of = [&](uint32_t r, uint32_t k) { return stored + r * stride + uint64_t{k / values} * size_bytes; };
  // Codes that the layout adds are those of the value 0 where a code has an offset, else any: their scales are 0.
  const auto code_of = [&](uint32_t r, uint32_t k) -> uint32_t {
    return r < num_rows && k < cols ? code_at<DTYPE>(block_of(r, k), k % values / 32, k % 32) : 0u;
  };
  uint32_t high[2] = {0, 0};
  for (uint32_t step = 0; step < 4; step++) {
    uint32_t code[4][2];
    for (uint32_t i = 0; i < 4; i++)
      for (uint32_t e = 0; e < 2; e++) code[i][e] = code_of(row + g + i % 2 * 8, first_col + step * 16 + t * 4 + i / 2 * 2 + e);
    if constexpr (layout.code_bytes == 1024) {
      const uint2 words = make_uint2(code[0][0] | code[0][1] << 8 | code[1][0] << 16 | code[1][1] << 24,
                                     code[2][0] | code[2][1] << 8 | code[3][0] << 16 | code[3][1] << 24);
      reinterpret_cast<uint2 *>(piece)[(step / 2 * 32 + lane) * 2 + step % 2] = words;
    } else {
      constexpr uint32_t place[4] = {0, 2, 1, 3};  // of a0, a1, a2, a3
      uint32_t word = 0;
      for (uint32_t i = 0; i < 4; i++)
        for (uint32_t e = 0; e < 2; e++) {
          word |= (code[i][e] & 15u) << (16 * e + 4 * place[i]);
          const uint32_t top = code[i][e] >> 4;
          if constexpr (layout.high_bytes == 128) high[0] |= top << (16 * e + 4 * step + place[i]);
          if constexpr (layout.high_bytes == 256) high[step / 2] |= top << (16 * e + 8 * (step % 2) + 2 * place[i]);
        }
      reinterpret_cast<uint32_t *>(piece)[lane * 4 + step] = word;
    }
  }
  if constexpr (layout.high_bytes == 128) reinterpret_cast<uint32_t *>(piece + layout.code_bytes)[lane] = high[0];
  if constexpr (layout.high_bytes == 256) reinterpret_cast<uint2 *>(piece + layout.code_bytes)[lane] = make_uint2(high[0], high[1]);

  if constexpr (has_block_scales(DTYPE)) return;

  // Scales: lanes 0..31 are (block of two, row of sixteen).
  uint8_t *scales = piece + layout.code_bytes + layout.high_bytes;
  const uint32_t block = lane / 16, r = lane % 16, k = first_col + block * 32, at = r % 8 * 2 + block, half = r / 8;
  const bool is_there = row + r < num_rows && k < cols;
  const uint8_t *bytes = is_there ? block_of(row + r, k) : nullptr;
  const uint32_t sub_block = k % values / 32;
  if constexpr (DTYPE == IGNIS_Q4_1 || DTYPE == IGNIS_Q5_1) {
    reinterpret_cast<uint16_t *>(scales)[at * 4 + half] = static_cast<uint16_t>(is_there ? u16_at(bytes) : 0);
    reinterpret_cast<uint16_t *>(scales)[at * 4 + 2 + half] = static_cast<uint16_t>(is_there ? u16_at(bytes + 2) : 0);
  } else if constexpr (DTYPE == IGNIS_Q4_K || DTYPE == IGNIS_Q5_K) {
    scales[at * 4 + half] = static_cast<uint8_t>(is_there ? k_scale(bytes, sub_block, false) : 0);
    scales[at * 4 + 2 + half] = static_cast<uint8_t>(is_there ? k_scale(bytes, sub_block, true) : 0);
    if (super && block == 0) {
      reinterpret_cast<uint16_t *>(super)[r % 8 * 4 + half] = static_cast<uint16_t>(is_there ? u16_at(bytes) : 0);
      reinterpret_cast<uint16_t *>(super)[r % 8 * 4 + 2 + half] = static_cast<uint16_t>(is_there ? u16_at(bytes + 2) : 0);
    }
  } else if constexpr (DTYPE == IGNIS_Q6_K) {
    for (uint32_t i = 0; i < 2; i++) scales[at * 4 + 2 * i + half] = is_there ? bytes[192 + sub_block * 2 + i] : 0;
    if (super && block == 0) reinterpret_cast<uint16_t *>(super)[r % 8 * 2 + half] = static_cast<uint16_t>(is_there ? u16_at(bytes + 208) : 0);
  } else {
    reinterpret_cast<uint16_t *>(scales)[at * 2 + half] = static_cast<uint16_t>(is_there ? u16_at(bytes) : 0);
  }
}

// F8_E4M3's stored scale of the block that a place lies in.
static __device__ __forceinline__ float block_scale(const uint8_t *scales, ignis_dtype scale_dtype, uint32_t cols, uint32_t row, uint32_t col) {
  const uint64_t index = uint64_t{row / IGNIS_SCALE_BLOCK} * num_scale_blocks(cols) + col / IGNIS_SCALE_BLOCK;
  return scale_dtype == IGNIS_F32   ? reinterpret_cast<const float *>(scales)[index]
         : scale_dtype == IGNIS_F16 ? value_16<IGNIS_F16>(scales, index)
                                    : value_16<IGNIS_BF16>(scales, index);
}

// The scale of F8_E4M3's record: 16 rows of 128 columns lie in one block. NaN where a code is, so that no conversion need care for it.
static __device__ void pack_block_scale(uint8_t *super, const uint8_t *stored, const uint8_t *scales, ignis_dtype scale_dtype, uint32_t cols,
                                        uint32_t first_row, uint32_t row, uint32_t num_rows, uint32_t first_col, uint32_t lane) {
  bool is_nan = false;
  for (uint32_t i = lane; i < TILE_ROWS * IGNIS_SCALE_BLOCK; i += 32) {
    const uint32_t r = row + i / IGNIS_SCALE_BLOCK, k = first_col + i % IGNIS_SCALE_BLOCK;
    is_nan |= r < num_rows && k < cols && (stored[uint64_t{r} * cols + k] & 0x7fu) == 0x7fu;
  }
  is_nan = __any_sync(~0u, is_nan);
  if (lane != 0 || first_col >= cols) return;
  const float scale = block_scale(scales, scale_dtype, cols, first_row + row, first_col);
  *reinterpret_cast<float4 *>(super) = make_float4(is_nan ? __uint_as_float(0x7fc00000u) : scale, 0.0f, 0.0f, 0.0f);
}

// What the other types' scales are compared by: the largest of a stored block's, a minimum by an eighth of it.
template <ignis_dtype DTYPE>
static __device__ __forceinline__ float largest_scale(const uint8_t *block) {
  const auto half_at = [&](uint32_t at) { return fabsf(__half2float(__ushort_as_half(static_cast<uint16_t>(u16_at(block + at))))); };
  float scale = 0.0f, minimum = 0.0f;
  if constexpr (DTYPE == IGNIS_Q4_K || DTYPE == IGNIS_Q5_K) {
    for (uint32_t i = 0; i < 8; i++) {
      scale = fmaxf(scale, half_at(0) * static_cast<float>(k_scale(block, i, false)));
      minimum = fmaxf(minimum, half_at(2) * static_cast<float>(k_scale(block, i, true)));
    }
  } else if constexpr (DTYPE == IGNIS_Q6_K) {
    for (uint32_t i = 0; i < 16; i++) scale = fmaxf(scale, half_at(208) * fabsf(static_cast<float>(static_cast<int8_t>(block[192 + i]))));
  } else {
    scale = half_at(0);
    if constexpr (has_minimum(DTYPE)) minimum = half_at(2);
  }
  return fmaxf(scale, minimum * 0.125f);
}

// The powers of two that rows of a result are multiplied by. One warp a row; rows behind the last one get 1.
template <ignis_dtype DTYPE>
static __global__ void row_scales_kernel(float *row_scales, const uint8_t *stored, const uint8_t *scales, ignis_dtype scale_dtype, uint32_t cols,
                                         uint32_t first_row, uint32_t num_rows, uint32_t padded_rows) {
  const uint32_t row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= padded_rows) return;
  float largest = 0.0f;
  if (row < num_rows) {
    if constexpr (weight_layout(DTYPE).has_row_scales) {
      for (uint32_t k = threadIdx.x; k < cols; k += 32) largest = fmaxf(largest, fabsf(value_16<DTYPE>(stored, uint64_t{row} * cols + k)));
    } else if constexpr (has_block_scales(DTYPE)) {
      for (uint32_t k = threadIdx.x * IGNIS_SCALE_BLOCK; k < cols; k += 32 * IGNIS_SCALE_BLOCK)
        largest = fmaxf(largest, fabsf(block_scale(scales, scale_dtype, cols, first_row + row, k)));
    } else {
      const uint32_t blocks = cols / BLOCK_VALUES<DTYPE>;
      for (uint32_t i = threadIdx.x; i < blocks; i += 32)
        largest = fmaxf(largest, largest_scale<DTYPE>(stored + (uint64_t{row} * blocks + i) * BLOCK_BYTES<DTYPE>));
    }
  }
  for (uint32_t i = 16; i; i >>= 1) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, i));
  // largest < 2^(e - 126). Times 2^(10 - (e - 127)) a 16-bit value is below 2^11; times 2^(-9 - (e - 126)) a scale is below 2^-9, and of
  // E4M3, whose codes are their values and at most 16 x 448, below 2^3: its blocks' scales may lie far apart, and float16 ends at 2^-24.
  const uint32_t exponent = exponent_of(largest) + (weight_layout(DTYPE).has_row_scales ? 0u : has_block_scales(DTYPE) ? 8u : 20u) - 10u;
  if (threadIdx.x == 0) row_scales[first_row + row] = row < num_rows ? __uint_as_float((exponent < 254 ? exponent : 254u) << 23) : 1.0f;
}

// Grid: (pieces of a row, tiles / 8); a block is 8 warps, each a tile. `scales`: rows' float32, or F8_E4M3's stored block scales.
template <ignis_dtype DTYPE>
static __global__ void pack_kernel(uint8_t *packed, const float *scales, ignis_dtype scale_dtype, const uint8_t *stored, uint32_t cols,
                                   uint32_t first_row, uint32_t num_rows) {
  constexpr uint32_t pieces = weight_layout(DTYPE).record_cols / PIECE_COLS;
  const uint32_t lane = threadIdx.x, row = (blockIdx.y * blockDim.y + threadIdx.y) * TILE_ROWS, index = blockIdx.x;
  if (row >= num_rows) return;
  const uint64_t tile_bytes = uint64_t{num_records(DTYPE, cols)} * record_bytes(DTYPE);
  uint8_t *record = packed + (first_row + row) / TILE_ROWS * tile_bytes + uint64_t{index / pieces} * record_bytes(DTYPE);
  uint8_t *piece = record + piece_offset(DTYPE, index % pieces);
  if constexpr (weight_layout(DTYPE).has_row_scales) {
    pack_16<DTYPE>(piece, stored, scales + first_row, cols, row, num_rows, index * PIECE_COLS, lane);
  } else {
    uint8_t *super = weight_layout(DTYPE).super_bytes && index % pieces == 0 ? record + shared_offset(DTYPE) : nullptr;
    pack_codes<DTYPE>(piece, super, stored, cols, row, num_rows, index * PIECE_COLS, lane);
    if constexpr (has_block_scales(DTYPE))
      if (super)
        pack_block_scale(super, stored, reinterpret_cast<const uint8_t *>(scales), scale_dtype, cols, first_row, row, num_rows,
                         index * PIECE_COLS, lane);
  }
}

template <ignis_dtype DTYPE>
static void pack(uint8_t *packed, const uint8_t *stored, uint32_t rows, uint32_t cols, uint32_t first_row, uint32_t num_rows,
                 cudaStream_t stream, ignis_dtype scale_dtype = IGNIS_F32) {
  const uint32_t tiles = num_tiles(num_rows);
  const dim3 warps(32, 8), grid(num_records(DTYPE, cols) * (weight_layout(DTYPE).record_cols / PIECE_COLS), (tiles + 7) / 8);
  const float *const scales = reinterpret_cast<const float *>(packed + scales_offset(DTYPE, rows, cols));
  float *const row_scales = reinterpret_cast<float *>(packed + row_scales_offset(DTYPE, rows, cols));
  row_scales_kernel<DTYPE><<<tiles * 2, warps, 0, stream>>>(row_scales, stored, reinterpret_cast<const uint8_t *>(scales), scale_dtype, cols,
                                                            first_row, num_rows, tiles * TILE_ROWS);
  pack_kernel<DTYPE><<<grid, warps, 0, stream>>>(packed, scales, scale_dtype, stored, cols, first_row, num_rows);
}

void pack_rows(void *packed, const void *stored, ignis_dtype dtype, uint32_t rows, uint32_t cols, uint32_t first_row, uint32_t num_rows,
               cudaStream_t stream, ignis_dtype scale_dtype) {
  uint8_t *target = static_cast<uint8_t *>(packed);
  const uint8_t *source = static_cast<const uint8_t *>(stored);
  switch (dtype) {
    case IGNIS_F32:
      cudaMemcpyAsync(target + uint64_t{first_row} * cols * sizeof(float), source, uint64_t{num_rows} * cols * sizeof(float),
                      cudaMemcpyDeviceToDevice, stream);
      break;
    case IGNIS_F16: pack<IGNIS_F16>(target, source, rows, cols, first_row, num_rows, stream); break;
    case IGNIS_BF16: pack<IGNIS_BF16>(target, source, rows, cols, first_row, num_rows, stream); break;
    case IGNIS_F8_E4M3: pack<IGNIS_F8_E4M3>(target, source, rows, cols, first_row, num_rows, stream, scale_dtype); break;
    case IGNIS_Q4_0: pack<IGNIS_Q4_0>(target, source, rows, cols, first_row, num_rows, stream); break;
    case IGNIS_Q4_1: pack<IGNIS_Q4_1>(target, source, rows, cols, first_row, num_rows, stream); break;
    case IGNIS_Q5_0: pack<IGNIS_Q5_0>(target, source, rows, cols, first_row, num_rows, stream); break;
    case IGNIS_Q5_1: pack<IGNIS_Q5_1>(target, source, rows, cols, first_row, num_rows, stream); break;
    case IGNIS_Q8_0: pack<IGNIS_Q8_0>(target, source, rows, cols, first_row, num_rows, stream); break;
    case IGNIS_Q4_K: pack<IGNIS_Q4_K>(target, source, rows, cols, first_row, num_rows, stream); break;
    case IGNIS_Q5_K: pack<IGNIS_Q5_K>(target, source, rows, cols, first_row, num_rows, stream); break;
    case IGNIS_Q6_K: pack<IGNIS_Q6_K>(target, source, rows, cols, first_row, num_rows, stream); break;
  }
}

}  // namespace ignis
