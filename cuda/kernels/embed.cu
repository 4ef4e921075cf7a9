// embed.cu: rows of the embedding by number: of a table as it is stored, or, where the model's head is the same matrix, of what the
// linear kernels read (weights.cuh), so that the card holds it once. A row's values are the format's own either way, bit for bit; a 16-bit
// value below 2^-25 of its row's largest is the one that the head has.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "../quant/blocks.h"
#include "../quant/formats.h"
#include "device.h"
#include "launch.cuh"
#include "pack.h"
#include "weights.cuh"

namespace ignis {

static constexpr uint32_t THREADS = 256;

static __device__ void decode_block(float *y, const uint8_t *block, ignis_dtype dtype) {
  switch (dtype) {
    case IGNIS_Q4_0: return block_q4_0(y, block);
    case IGNIS_Q4_1: return block_q4_1(y, block);
    case IGNIS_Q5_0: return block_q5_0(y, block);
    case IGNIS_Q5_1: return block_q5_1(y, block);
    case IGNIS_Q8_0: return block_q8_0(y, block);
    case IGNIS_Q4_K: return block_q4_k(y, block);
    case IGNIS_Q5_K: return block_q5_k(y, block);
    case IGNIS_Q6_K: return block_q6_k(y, block);
    case IGNIS_F32: *y = float_of_bits(read_u32(block)); return;
    case IGNIS_F16: *y = float_of_half(read_u16(block)); return;
    case IGNIS_BF16: *y = float_of_bfloat(read_u16(block)); return;
    case IGNIS_F8_E4M3: *y = float_of_e4m3(*block); return;
  }
}

// A block has one row, a thread some of its stored blocks.
static __global__ void __launch_bounds__(THREADS) embed_stored(float *x, const uint8_t *table, ignis_dtype dtype, uint32_t values,
                                                               uint32_t bytes, const int32_t *tokens, uint32_t H) {
  begin();
  const uint32_t num_blocks = H / values;
  const uint8_t *row = table + static_cast<uint64_t>(tokens[blockIdx.x]) * num_blocks * bytes;
  float *y = x + static_cast<uint64_t>(blockIdx.x) * H;
  for (uint32_t i = threadIdx.x; i < num_blocks; i += THREADS) decode_block(y + i * values, row + static_cast<uint64_t>(i) * bytes, dtype);
}

// The four columns of a step that a lane has of one of its rows: `low` and `high` are the row's words of the operand.
template <ignis_dtype DTYPE>
static __device__ void put_step(float *y, uint32_t num_cols, uint32_t low, uint32_t high, float scale, float minimum) {
  constexpr float unit = is_nibbles(DTYPE) ? 0x1p24f : 1.0f;
#pragma unroll
  for (uint32_t i = 0; i < 2; i++) {
    const uint32_t word = i == 0 ? low : high;
    const float2 pair = __half22float2(*reinterpret_cast<const __half2 *>(&word));
    const float factor = i == 0 ? unit : unit * 0.0625f;  // exact, as are the differences
    const float codes[2] = {pair.x * factor - code_offset(DTYPE), pair.y * factor - code_offset(DTYPE)};
#pragma unroll
    for (uint32_t e = 0; e < 2; e++)
      if (2 * i + e < num_cols) y[2 * i + e] = has_minimum(DTYPE) ? scale * codes[e] + minimum : scale * codes[e];
  }
}

// A block has one row; four threads have a piece of it, as the four lanes of a warp that hold the row in a linear kernel.
template <ignis_dtype DTYPE>
static __global__ void __launch_bounds__(THREADS) embed_packed(float *x, const uint8_t *packed, const float *row_scales, const int32_t *tokens,
                                                               uint32_t H) {
  begin();
  constexpr WeightLayout layout = weight_layout(DTYPE);
  constexpr uint32_t pieces = layout.record_cols / PIECE_COLS;
  const uint32_t row = static_cast<uint32_t>(tokens[blockIdx.x]), g = row % 8, half = row / 8 % 2, t = threadIdx.x % 4;
  const uint8_t *tile = packed + uint64_t{row / TILE_ROWS} * num_records(DTYPE, H) * record_bytes(DTYPE);
  float *y = x + uint64_t{blockIdx.x} * H;
  for (uint32_t index = threadIdx.x / 4; index * PIECE_COLS < H; index += THREADS / 4) {
    const uint8_t *record = tile + uint64_t{index / pieces} * record_bytes(DTYPE);
    const uint8_t *piece = record + piece_offset(DTYPE, index % pieces);
    Piece<DTYPE> codes;
    codes.load(piece, 4 * g + t);
#pragma unroll
    for (uint32_t step = 0; step < 4; step++) {
      BlockScales<DTYPE> scales;
      scales.load(piece + layout.code_bytes + layout.high_bytes, record + shared_offset(DTYPE), step / 2, g);
      float scale = half ? scales.scale[1] : scales.scale[0];
      if constexpr (DTYPE == IGNIS_Q6_K)
        if (step % 2) scale = half ? scales.scale[3] : scales.scale[2];
      if constexpr (layout.has_row_scales) scale = row_scales[row];
      uint32_t a[4];
      codes.fragment(a, step);
      const uint32_t first = index * PIECE_COLS + step * 16 + t * 4;
      if (first < H)
        put_step<DTYPE>(y + first, H - first, half ? a[1] : a[0], half ? a[3] : a[2], scale, half ? scales.minimum[1] : scales.minimum[0]);
    }
  }
}

template <ignis_dtype DTYPE>
static void launch_packed(Device &device, float *x, const Matrix &m, uint32_t T) {
  const uint8_t *packed = static_cast<const uint8_t *>(m.packed);
  const float *scales = reinterpret_cast<const float *>(packed + row_scales_offset(DTYPE, m.rows, m.cols));
  launch(device, "embed", embed_packed<DTYPE>, dim3(T), THREADS, x, packed, scales, device.step.tokens, m.cols);
}

bool embeds_packed(ignis_dtype dtype) { return dtype != IGNIS_F8_E4M3; }

void embed(Device &device, float *x, const Matrix &table, const int32_t *, uint32_t T) {
  const void *stored = table.dtype == IGNIS_F32 && !table.source ? table.packed : table.source;  // float32 is packed as it is
  if (stored) {
    launch(device, "embed", embed_stored, dim3(T), THREADS, x, static_cast<const uint8_t *>(stored), table.dtype, block_values(table.dtype),
           block_bytes(table.dtype), device.step.tokens, table.cols);
    return;
  }
  switch (table.dtype) {
    case IGNIS_F16: return launch_packed<IGNIS_F16>(device, x, table, T);
    case IGNIS_BF16: return launch_packed<IGNIS_BF16>(device, x, table, T);
    case IGNIS_Q4_0: return launch_packed<IGNIS_Q4_0>(device, x, table, T);
    case IGNIS_Q4_1: return launch_packed<IGNIS_Q4_1>(device, x, table, T);
    case IGNIS_Q5_0: return launch_packed<IGNIS_Q5_0>(device, x, table, T);
    case IGNIS_Q5_1: return launch_packed<IGNIS_Q5_1>(device, x, table, T);
    case IGNIS_Q8_0: return launch_packed<IGNIS_Q8_0>(device, x, table, T);
    case IGNIS_Q4_K: return launch_packed<IGNIS_Q4_K>(device, x, table, T);
    case IGNIS_Q5_K: return launch_packed<IGNIS_Q5_K>(device, x, table, T);
    case IGNIS_Q6_K: return launch_packed<IGNIS_Q6_K>(device, x, table, T);
    case IGNIS_F32:
    case IGNIS_F8_E4M3: return keep(device, cudaErrorInvalidValue, __func__);
  }
}

}  // namespace ignis
