// linear_kernels.h: the table of inner loops that each instruction set brings, and the activations' layout that they read.
//
// A tile is up to MAX_TILE_TOKENS tokens that a kernel keeps in registers. The quantised form of a tile of width P (tokens, filled up
// with zeros to a width that the kernels have) is, for each block of 32 columns (spec/adr/0005 says why 15 bits):
//
//   int8 [P][2][32]  hi, lo of the codes q = round(x / d), ties to even, |q| <= 16256: q = 128 hi + lo, |hi| <= 127, -64 <= lo < 64
//   float [P]        d, the largest |x| of the block / 16256
//   float [P]        s = d * sum of q
//   int32 [P] x 5    what corrects the sums of weights that are stored with an offset, in integers, so exactly: minus the sum of q
//                    times 8, 16 and 128; minus 32 times the sum over columns 0..15, and over 16..31
#pragma once

#include <stdint.h>

#include "../include/ignis_step.h"
#include "device.h"

namespace ignis {

inline constexpr uint32_t MAX_TILE_TOKENS = 12;
inline constexpr uint32_t TILE_TOKEN_BYTES = 2 * 32 + 7 * 4;  // of a token in a block
inline constexpr float LARGEST_CODE = 127 * 128;
// Which of the int32 [P].
inline constexpr uint32_t CORRECTION_8 = 0, CORRECTION_16 = 1, CORRECTION_128 = 2, CORRECTION_32_LOW = 3, CORRECTION_32_HIGH = 4;
inline constexpr uint32_t MAX_WIDTHS = 6;

enum class Format : uint32_t { Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K };
inline constexpr uint32_t NUM_FORMATS = 8;

// Groups of 16 rows times the tokens of a tile.
struct QuantizedTask {
  const uint8_t *weights;  // the first group
  uint64_t group_bytes;
  uint32_t num_groups;
  uint32_t num_blocks;
  uint32_t num_rows;  // rows from the first group's first on that exist; the rest is filling
  uint32_t T;         // tokens that exist, <= the tile's width
  const uint8_t *tile;
  float *y;  // of the first token and the first row
  uint64_t ldy;
  bool accumulates;
};
using QuantizedFunction = void (*)(const QuantizedTask &task);

// Rows of float32, float16, bfloat16 or F8_E4M3 weights times the tokens of a tile.
struct FloatTask {
  const uint8_t *weights;  // the first row, of F8_E4M3 its codes
  uint64_t row_bytes;
  uint32_t num_rows;
  uint32_t K;
  uint32_t T;
  const void *x;  // float32 [T, ldx]; for BF16 weights where has_bfloat_dot, bfloat16 [T, 2, plane], ldx = 2 plane
  uint64_t ldx;
  uint64_t plane;
  float *y;
  uint64_t ldy;
  bool accumulates;
};
using FloatFunction = void (*)(const FloatTask &task);

enum class FloatFormat : uint32_t { F32, F16, BF16, F8_E4M3 };
inline constexpr uint32_t NUM_FLOAT_FORMATS = 4;

struct LinearKernels {
  uint32_t num_widths;
  uint8_t widths[MAX_WIDTHS];  // of quantised tiles, rising
  bool has_bfloat_dot;

  // One tile, or a run of its blocks: x float32 [T, ldx], of which K columns, T <= width, K a multiple of 32. The corrections are
  // written where has_corrections.
  void (*quantize)(uint8_t *tile, const float *x, uint32_t T, uint64_t ldx, uint32_t K, uint32_t width, bool has_corrections);
  // hi, lo bfloat16 [plane] from x [K]: hi is x and lo is x - hi, rounded with ties to even; filled up with zeros. Null without
  // has_bfloat_dot.
  void (*split_bfloat)(uint16_t *hi, uint16_t *lo, const float *x, uint32_t K, uint32_t plane);

  QuantizedFunction quantized[NUM_FORMATS][MAX_WIDTHS];
  FloatFunction floats[NUM_FLOAT_FORMATS];
};

const LinearKernels &linear_kernels(Isa isa);

namespace portable {
const LinearKernels &linear_kernels();
}
#if defined(__x86_64__)
namespace avx2 {
const LinearKernels &linear_kernels();
}
namespace avx512 {
const LinearKernels &linear_kernels();
}
namespace avx512_vnni {
const LinearKernels &linear_kernels();
}
namespace avx512_vnni_bf16 {
const LinearKernels &linear_kernels();
}
#endif

}  // namespace ignis
