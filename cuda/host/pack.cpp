// pack.cpp: stored quantised and F8_E4M3 weights into the layouts of packed.h. Start to first token waits for it, so every format is
// moved in 32-bit words or more.
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "../ops/ops.h"
#include "../quant/dequantize.h"
#include "../quant/half.h"
#include "../quant/k_scales.h"
#include "../quant/synthetic.h"
#include "device.h"
#include "packed.h"
#include "store.h"

namespace ignis {

static inline void write_u32(uint8_t *bytes, uint32_t value) { memcpy(bytes, &value, sizeof value); }
static inline void write_u16(uint8_t *bytes, uint16_t value) { memcpy(bytes, &value, sizeof value); }

// Four nibble slots from 16 bytes in stored order (byte i: k = i low, k = 16 + i high).
static inline void put_nibbles(uint8_t *slots, uint32_t row, const uint8_t *bytes) {
  for (uint32_t j = 0; j < 4; j++) write_u32(slots + j * SLOT_BYTES + 4 * row, read_u32(bytes + 4 * j));
}

// The top bits of 32 five-bit codes (bit k of `high`) as four bytes: bit q of byte i is bit 4q + i of `high`.
static inline uint32_t spread_high_bits(uint32_t high) {
  uint32_t word = 0;
  for (uint32_t i = 0; i < 4; i++) {
    uint32_t bits = (high >> i) & 0x11111111u;
    bits = (bits | bits >> 3) & 0x03030303u;
    bits = (bits | bits >> 6) & 0x000f000fu;
    bits = (bits | bits >> 12) & 0xffu;
    word |= bits << (8 * i);
  }
  return word;
}

// One row's part of a group; `row` of 16, `source` the row's first stored block.
using RowFunction = void (*)(uint8_t *group, uint32_t row, const uint8_t *source, uint32_t num_blocks);

// Q4_0 .. Q5_1, Q8_0: a stored block is a block.
template <ignis_dtype DTYPE>
static void pack_row_simple(uint8_t *group, uint32_t row, const uint8_t *source, uint32_t num_blocks) {
  constexpr PackedLayout layout = packed_layout(DTYPE);
  constexpr bool has_minimum = DTYPE == IGNIS_Q4_1 || DTYPE == IGNIS_Q5_1, has_high = DTYPE == IGNIS_Q5_0 || DTYPE == IGNIS_Q5_1;
  constexpr uint32_t head_bytes = has_minimum ? 4 : 2;
  for (uint32_t block = 0; block < num_blocks; block++) {
    uint8_t *record = group + static_cast<uint64_t>(block / layout.record_blocks) * record_bytes(DTYPE);
    const uint32_t in_record = block % layout.record_blocks;
    uint8_t *codes = record + layout.scale_bytes + in_record * layout.code_bytes;
    write_u16(record + 32 * in_record + 2 * row, read_u16(source));
    if constexpr (has_minimum) write_u16(record + 32 + 2 * row, read_u16(source + 2));
    if constexpr (has_high) write_u32(codes + 4 * SLOT_BYTES + 4 * row, spread_high_bits(read_u32(source + head_bytes)));
    if constexpr (DTYPE == IGNIS_Q8_0) {
      for (uint32_t q = 0; q < 8; q++) write_u32(codes + q * SLOT_BYTES + 4 * row, read_u32(source + 2 + 4 * q) ^ 0x80808080u);
    } else {
      put_nibbles(codes, row, source + block_bytes(DTYPE) - 16);
    }
    source += block_bytes(DTYPE);
  }
}

// Four nibble slots from nibbles `shift` (0 or 4) of 32 bytes, byte i being k = i.
static inline void put_nibbles_of(uint8_t *slots, uint32_t row, const uint8_t *bytes, uint32_t shift) {
  for (uint32_t j = 0; j < 4; j++) {
    const uint32_t low = (read_u32(bytes + 4 * j) >> shift) & 0x0f0f0f0fu, high = (read_u32(bytes + 16 + 4 * j) >> shift) & 0x0f0f0f0fu;
    write_u32(slots + j * SLOT_BYTES + 4 * row, low | high << 4);
  }
}

// Q4_K, Q5_K: a stored block is a record.
template <ignis_dtype DTYPE>
static void pack_row_k(uint8_t *record, uint32_t row, const uint8_t *source, uint32_t num_blocks) {
  constexpr PackedLayout layout = packed_layout(DTYPE);
  constexpr bool has_high = DTYPE == IGNIS_Q5_K;
  for (uint32_t start = 0; start < num_blocks; start += 8) {
    write_u16(record + 2 * row, read_u16(source));
    write_u16(record + 32 + 2 * row, read_u16(source + 2));
    uint8_t scales[8], minimums[8];
    unpack_k_scales(scales, minimums, source + 4);
    const uint8_t *nibbles = source + (has_high ? 48 : 16);
    for (uint32_t block = 0; block < 8; block++) {
      uint8_t *codes = record + layout.scale_bytes + block * layout.code_bytes;
      record[64 + 32 * block + row] = scales[block];
      record[64 + 32 * block + 16 + row] = minimums[block];
      put_nibbles_of(codes, row, nibbles + block / 2 * 32, block % 2 * 4);
      if constexpr (has_high) {
        uint32_t word = 0;
        for (uint32_t q = 0; q < 8; q++) word |= ((read_u32(source + 16 + 4 * q) >> block) & 0x01010101u) << q;
        write_u32(codes + 4 * SLOT_BYTES + 4 * row, word);
      }
    }
    source += block_bytes(DTYPE);
    record += record_bytes(DTYPE);
  }
}

static void pack_row_q6_k(uint8_t *record, uint32_t row, const uint8_t *source, uint32_t num_blocks) {
  constexpr PackedLayout layout = packed_layout(IGNIS_Q6_K);
  for (uint32_t start = 0; start < num_blocks; start += 8) {
    write_u16(record + 2 * row, read_u16(source + 208));
    for (uint32_t block = 0; block < 8; block++) {
      uint8_t *codes = record + layout.scale_bytes + block * layout.code_bytes;
      record[64 + 32 * block + row] = source[192 + 2 * block];
      record[64 + 32 * block + 16 + row] = source[192 + 2 * block + 1];
      const uint32_t half = block / 4, part = block % 4;
      put_nibbles_of(codes, row, source + 64 * half + part % 2 * 32, part / 2 * 4);
      const uint8_t *pairs = source + 128 + 32 * half;
      for (uint32_t h = 0; h < 2; h++) {
        uint32_t word = 0;
        for (uint32_t q = 0; q < 4; q++) word |= ((read_u32(pairs + 16 * h + 4 * q) >> (2 * part)) & 0x03030303u) << (2 * q);
        write_u32(codes + (4 + h) * SLOT_BYTES + 4 * row, word);
      }
    }
    source += block_bytes(IGNIS_Q6_K);
    record += record_bytes(IGNIS_Q6_K);
  }
}

static RowFunction row_function(ignis_dtype dtype) {
  switch (dtype) {
    case IGNIS_Q4_0: return pack_row_simple<IGNIS_Q4_0>;
    case IGNIS_Q4_1: return pack_row_simple<IGNIS_Q4_1>;
    case IGNIS_Q5_0: return pack_row_simple<IGNIS_Q5_0>;
    case IGNIS_Q5_1: return pack_row_simple<IGNIS_Q5_1>;
    case IGNIS_Q8_0: return pack_row_simple<IGNIS_Q8_0>;
    case IGNIS_Q4_K: return pack_row_k<IGNIS_Q4_K>;
    case IGNIS_Q5_K: return pack_row_k<IGNIS_Q5_K>;
    case IGNIS_Q6_K: return pack_row_q6_k;
    case IGNIS_F32:
    case IGNIS_F16:
    case IGNIS_BF16:
    case IGNIS_F8_E4M3: break;
  }
  return nullptr;
}

uint32_t max_columns(ignis_dtype) { return UINT32_MAX; }

uint64_t matrix_bytes(ignis_dtype dtype, uint32_t rows, uint32_t cols) {
  if (has_block_scales(dtype)) return align_up(rows * scaled_row_bytes(cols), ARENA_ALIGNMENT);
  return is_quantized(dtype) ? num_groups(rows) * group_bytes(dtype, cols) : table_bytes(dtype, rows, cols);
}

// The stored bytes of a matrix that no file holds.
static void synthesize(Device &device, uint8_t *stored, const Matrix &m) {
  const Synthetic synthetic = synthetic_of(m.seed, m.tensor, m.rows, m.cols);
  const uint64_t num_values = uint64_t{m.rows} * m.cols, values = synthetic_values(m.dtype), bytes = synthetic_bytes(m.dtype);
  const uint64_t num_units = (num_values + values - 1) / values, units_a_task = 4096;
  parallel(*device.pool, static_cast<uint32_t>((num_units + units_a_task - 1) / units_a_task), [&](uint32_t task, uint32_t) {
    const uint64_t start = task * units_a_task, stop = start + units_a_task < num_units ? start + units_a_task : num_units;
    for (uint64_t unit = start; unit < stop; unit++) synthesize_unit(stored + unit * bytes, m.dtype, synthetic, unit, num_values);
  });
}

static bool has_nan(const uint8_t *codes, uint32_t num) {
  uint8_t found = 0;
  for (uint32_t i = 0; i < num; i++) found |= (codes[i] & 0x7fu) == 0x7fu;
  return found;
}

static void pack_scaled_rows(Device &device, Matrix *m, void *packed) {
  const uint32_t cols = m->cols, num_blocks = num_scale_blocks(cols);
  const uint64_t stride = scaled_row_bytes(cols);
  const auto scale_of = [&](uint32_t row, uint32_t block) {
    float scale = synthetic_block_scale(synthetic_of(m->seed, m->tensor, m->rows, cols));
    const uint64_t index = static_cast<uint64_t>(row / IGNIS_SCALE_BLOCK) * num_blocks + block;
    if (m->scales) dequantize(&scale, static_cast<const uint8_t *>(m->scales) + index * block_bytes(m->scale_dtype), m->scale_dtype, 1);
    return scale;
  };
  const uint32_t rows_a_task = static_cast<uint32_t>(1 + 65536 / stride);
  parallel(*device.pool, (m->rows + rows_a_task - 1) / rows_a_task, [&](uint32_t task, uint32_t) {
    const uint32_t stop = (task + 1) * rows_a_task < m->rows ? (task + 1) * rows_a_task : m->rows;
    for (uint32_t row = task * rows_a_task; row < stop; row++) {
      uint8_t *codes = static_cast<uint8_t *>(packed) + row * stride + scales_bytes(cols);
      memcpy(codes, static_cast<const uint8_t *>(m->source) + static_cast<uint64_t>(row) * cols, cols);
      for (uint32_t block = 0; block < num_blocks; block++) {
        const uint32_t start = block * IGNIS_SCALE_BLOCK, num = cols - start < IGNIS_SCALE_BLOCK ? cols - start : IGNIS_SCALE_BLOCK;
        // A NaN's code is a number to the kernels; its block is NaN instead.
        const float scale = has_nan(codes + start, num) ? float_of_bits(0x7fc00000u) : scale_of(row, block) * 256.0f;
        write_u32(codes - 4 * (block + 1), bits_of_float(scale));
      }
    }
  });
}

// From m->source, which is in memory. What is used as it is stored is in its place already.
static void pack_stored(Device &device, Matrix *m, void *packed) {
  m->packed = packed;
  if (has_block_scales(m->dtype)) {
    pack_scaled_rows(device, m, packed);
    return;
  }
  if (!is_quantized(m->dtype)) return;
  const RowFunction pack_row = row_function(m->dtype);
  const uint64_t stored_bytes = row_bytes(m->dtype, m->cols), size_bytes = group_bytes(m->dtype, m->cols);
  const uint32_t num_blocks = m->cols / BLOCK_COLS, groups = num_groups(m->rows);
  // About 64 KiB a task, so that the threads end together.
  const uint32_t groups_a_task = static_cast<uint32_t>(1 + 65536 / size_bytes);
  parallel(*device.pool, (groups + groups_a_task - 1) / groups_a_task, [&](uint32_t task, uint32_t) {
    const uint32_t stop = (task + 1) * groups_a_task < groups ? (task + 1) * groups_a_task : groups;
    for (uint32_t group = task * groups_a_task; group < stop; group++) {
      uint8_t *start = static_cast<uint8_t *>(packed) + group * size_bytes;
      const uint32_t row_start = group * GROUP_ROWS;
      const uint32_t rows = m->rows - row_start < GROUP_ROWS ? m->rows - row_start : GROUP_ROWS;
      if (rows < GROUP_ROWS) memset(start, 0, size_bytes);
      for (uint32_t row = 0; row < rows; row++)
        pack_row(start, row, static_cast<const uint8_t *>(m->source) + (row_start + row) * stored_bytes, num_blocks);
    }
  });
}

void matrix_pack(Device &device, Matrix *m, void *packed) {
  const bool is_packed = is_quantized(m->dtype) || has_block_scales(m->dtype);
  void *made = nullptr;
  if (!m->source) {
    made = is_packed ? malloc(m->rows * row_bytes(m->dtype, m->cols)) : packed;
    if (!made) abort();  // memory that was free when the load was planned: the system ends the process where it is gone
    synthesize(device, static_cast<uint8_t *>(made), *m);
    m->source = made;
  } else if (!fetch(device, m, is_packed ? nullptr : packed)) {
    return;  // store_end says why
  }
  pack_stored(device, m, packed);
  if (is_packed) free(made);
}

// Rows of an embedding are read as they are stored.
uint64_t table_bytes(ignis_dtype dtype, uint32_t rows, uint32_t cols) { return align_up(rows * row_bytes(dtype, cols), ARENA_ALIGNMENT); }
void table_store(Device &device, Matrix *m, void *stored) {
  if (!m->source)
    synthesize(device, static_cast<uint8_t *>(stored), *m);
  else if (!fetch(device, m, stored))
    return;
  m->packed = m->source = stored;
}

// Where the layout is the stored one.
bool embeds_packed(ignis_dtype dtype) { return !is_quantized(dtype) && !has_block_scales(dtype); }

}  // namespace ignis
