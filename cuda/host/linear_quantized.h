// linear_quantized.h: groups of packed quantised weights (packed.h) times a tile of quantised activations (linear_kernels.h).
//
// The order of sums, the same for every tile width, thread count and phase: an accumulator for each (row, token) takes the blocks of
// 32 columns in rising order. Within a block the products of codes are summed in int32, exactly (at most 255 * 16256 * 32 < 2^27); then
//
//   acc = fma(float(sum of code products), d_weight * d_activation, acc)
//   acc = fma(m, s_activation, acc)                                       formats with a minimum; Q4_K, Q5_K subtract
//
// Q6_K does the first line twice, for columns 0..15 and 16..31. K formats take d_weight = d * scale, m = dmin * minimum, rounded to
// float32 once. What y held is added last.
#pragma once

#include "lanes.h"
#include "linear_kernels.h"
#include "packed.h"

namespace ignis::IGNIS_ISA_NAMESPACE {
namespace {

// A block's scales, as float32 of the lanes' rows.
struct Scale {
  Floats d;       // of all columns, or Q6_K's of 0..15
  Floats second;  // the minimum, or Q6_K's d of columns 16..31
};

template <int QUAD>
inline Bytes nibble_quad(const uint8_t *codes) {
  const Bytes slot = load_bytes(codes + QUAD % 4 * SLOT_BYTES);
  return QUAD < 4 ? low_nibbles(slot) : high_nibbles(slot);
}

template <ignis_dtype DTYPE>
struct Codes {
  static constexpr bool HAS_FOUR_BITS = DTYPE == IGNIS_Q4_0 || DTYPE == IGNIS_Q4_1 || DTYPE == IGNIS_Q4_K;
  static constexpr int BITS = DTYPE == IGNIS_Q8_0 ? 8 : DTYPE == IGNIS_Q6_K ? 6 : HAS_FOUR_BITS ? 4 : 5;
  static constexpr bool IS_K = DTYPE == IGNIS_Q4_K || DTYPE == IGNIS_Q5_K || DTYPE == IGNIS_Q6_K;
  static constexpr bool HAS_MINIMUM = DTYPE == IGNIS_Q4_1 || DTYPE == IGNIS_Q5_1 || DTYPE == IGNIS_Q4_K || DTYPE == IGNIS_Q5_K;
  // Stored code = value + 2^(BITS - 1), which `CORRECTION` takes back.
  static constexpr bool HAS_OFFSET = !HAS_MINIMUM && !(DTYPE == IGNIS_Q8_0 && HAS_SIGNED_BYTES);
  static constexpr uint32_t CORRECTION = BITS == 4   ? CORRECTION_8
                                         : BITS == 5 ? CORRECTION_16
                                         : BITS == 6 ? CORRECTION_32_LOW
                                                     : CORRECTION_128;
  static constexpr bool HAS_HALVES = DTYPE == IGNIS_Q6_K;

  template <int QUAD>
  static inline Bytes quad(const uint8_t *codes) {
    if constexpr (BITS == 8) {
      return load_bytes(codes + QUAD * SLOT_BYTES);
    } else if constexpr (BITS == 4) {
      return nibble_quad<QUAD>(codes);
    } else if constexpr (BITS == 5) {
      return merge<QUAD - 4, 16>(nibble_quad<QUAD>(codes), load_bytes(codes + 4 * SLOT_BYTES));
    } else {
      return merge<2 * (QUAD % 4) - 4, 48>(nibble_quad<QUAD>(codes), load_bytes(codes + (4 + QUAD / 4) * SLOT_BYTES));
    }
  }

  // Of block `block` of a record; `lane` is the first of this register's lanes in the group.
  static inline Scale scale(const uint8_t *record, uint32_t block, uint32_t lane) {
    const uint8_t *halves = record + 2 * lane, *sub_scales = record + 64 + 32 * block + lane;
    if constexpr (DTYPE == IGNIS_Q6_K) {
      const Floats d = load_halves(halves);
      return {multiply(d, load_signed(sub_scales)), multiply(d, load_signed(sub_scales + 16))};
    } else if constexpr (IS_K) {
      return {multiply(load_halves(halves), load_unsigned(sub_scales)), multiply(load_halves(halves + 32), load_unsigned(sub_scales + 16))};
    } else if constexpr (HAS_MINIMUM) {
      return {load_halves(halves), load_halves(halves + 32)};
    } else {
      return {load_halves(halves + 32 * block), zero_floats()};
    }
  }
};

// One quad of weights with one plane of every token of the tile.
template <class C, int QUAD, int PLANE, int STEP, int T>
inline void multiply_quad(Dot (&dots)[T], const uint8_t *codes, const uint8_t *tile) {
  const Bytes weights = C::template quad<QUAD>(codes);
#pragma GCC unroll 16
  for (int t = 0; t < T; t++) dot_add<C::BITS, STEP>(&dots[t], weights, tile + t * 64 + PLANE * 32 + QUAD * 4);
}

// Quads FIRST, FIRST + 1, .. 4 of them, or all eight in the order in which both nibbles of a slot are used while it is in a register.
template <class C, int FIRST, int PLANE, int T>
inline void multiply_plane(Dot (&dots)[T], const uint8_t *codes, const uint8_t *tile) {
  if constexpr (C::HAS_HALVES) {
    multiply_quad<C, FIRST, PLANE, 0, T>(dots, codes, tile);
    multiply_quad<C, FIRST + 1, PLANE, 1, T>(dots, codes, tile);
    multiply_quad<C, FIRST + 2, PLANE, 2, T>(dots, codes, tile);
    multiply_quad<C, FIRST + 3, PLANE, 3, T>(dots, codes, tile);
  } else {
    multiply_quad<C, 0, PLANE, 0, T>(dots, codes, tile);
    multiply_quad<C, 4, PLANE, 1, T>(dots, codes, tile);
    multiply_quad<C, 1, PLANE, 2, T>(dots, codes, tile);
    multiply_quad<C, 5, PLANE, 3, T>(dots, codes, tile);
    multiply_quad<C, 2, PLANE, 4, T>(dots, codes, tile);
    multiply_quad<C, 6, PLANE, 5, T>(dots, codes, tile);
    multiply_quad<C, 3, PLANE, 6, T>(dots, codes, tile);
    multiply_quad<C, 7, PLANE, 7, T>(dots, codes, tile);
  }
}

template <class C, int T>
inline void start_dots(Dot (&dots)[T], const int32_t *corrections) {
#pragma GCC unroll 16
  for (int t = 0; t < T; t++) dots[t].sum = C::HAS_OFFSET ? broadcast_int(corrections + t) : zero_ints();
}

// Up to this width the two planes are summed apart: with so few tokens a chain of sixteen dependent dot products is what a block waits
// for (one token, one thread of a Zen 4, weights in cache: 52 GB/s instead of 46).
constexpr int MAX_APART = 2;
// Above this width eight decoded quads do not fit the registers beside the sums; they are decoded a second time, not spilled.
constexpr int MAX_DECODED_ONCE = 8;

// The sums of code products 128 hi + lo, corrected for the weights' offset.
template <class C, int FIRST, int T>
inline void multiply_codes(Dot (&dots)[T], const uint8_t *codes, const uint8_t *tile, const int32_t *corrections) {
  if constexpr (T <= MAX_APART) {
    Dot high[T];
#pragma GCC unroll 16
    for (int t = 0; t < T; t++) high[t].sum = zero_ints();
    start_dots<C, T>(dots, corrections);
    multiply_plane<C, FIRST, 0, T>(high, codes, tile);
    multiply_plane<C, FIRST, 1, T>(dots, codes, tile);
#pragma GCC unroll 16
    for (int t = 0; t < T; t++) dots[t].sum = add(dots[t].sum, times_128(high[t].sum));
  } else {
#pragma GCC unroll 16
    for (int t = 0; t < T; t++) dots[t].sum = zero_ints();
    multiply_plane<C, FIRST, 0, T>(dots, codes, tile);
#pragma GCC unroll 16
    for (int t = 0; t < T; t++) {
      dots[t].sum = times_128(dots[t].sum);
      if constexpr (C::HAS_OFFSET) dots[t].sum = add(dots[t].sum, broadcast_int(corrections + t));
    }
    if constexpr (T > MAX_DECODED_ONCE) __asm__("" : "+r"(codes));
    multiply_plane<C, FIRST, 1, T>(dots, codes, tile);
  }
}

template <int T>
inline void scale_dots(Floats (&sums)[T], const Dot (&dots)[T], Floats d_weights, const float *d) {
#pragma GCC unroll 16
  for (int t = 0; t < T; t++) sums[t] = multiply_add(to_floats(dots[t].sum), multiply(d_weights, broadcast(d + t)), sums[t]);
}

// A block's code products, scaled, to the tile's sums. `tile` is the block's part of it.
template <ignis_dtype DTYPE, int T>
inline void multiply_block(Floats (&sums)[T], const uint8_t *codes, const Scale &scale, const uint8_t *tile) {
  using C = Codes<DTYPE>;
  const float *d = reinterpret_cast<const float *>(tile + T * 64), *s = d + T;
  const int32_t *corrections = reinterpret_cast<const int32_t *>(s + T) + C::CORRECTION * T;
  Dot dots[T];
  multiply_codes<C, 0, T>(dots, codes, tile, corrections);
  scale_dots<T>(sums, dots, scale.d, d);
  if constexpr (C::HAS_HALVES) {
    multiply_codes<C, 4, T>(dots, codes, tile, corrections + T);
    scale_dots<T>(sums, dots, scale.second, d);
  }
  if constexpr (C::HAS_MINIMUM) {
#pragma GCC unroll 16
    for (int t = 0; t < T; t++) {
      const Floats sum = broadcast(s + t);
      sums[t] = C::IS_K ? multiply_subtract_from(scale.second, sum, sums[t]) : multiply_add(scale.second, sum, sums[t]);
    }
  }
}

template <ignis_dtype DTYPE, int T>
void multiply_quantized(const QuantizedTask &task) {
  constexpr PackedLayout layout = packed_layout(DTYPE);
  for (uint32_t group = 0; group < task.num_groups; group++) {
    for (uint32_t lane = 0; lane < GROUP_ROWS; lane += LANES) {
      const uint32_t row = group * GROUP_ROWS + lane;
      if (row >= task.num_rows) break;
      const uint8_t *record = task.weights + group * task.group_bytes, *tile = task.tile;
      Floats sums[T];
#pragma GCC unroll 16
      for (int t = 0; t < T; t++) sums[t] = zero_floats();
      for (uint32_t start = 0; start < task.num_blocks; start += layout.record_blocks) {
        const uint8_t *codes = record + layout.scale_bytes + 4 * lane;
        for (uint32_t block = 0; block < layout.record_blocks && start + block < task.num_blocks; block++) {
          multiply_block<DTYPE, T>(sums, codes, Codes<DTYPE>::scale(record, block, lane), tile);
          codes += layout.code_bytes;
          tile += T * TILE_TOKEN_BYTES;
        }
        record += record_bytes(DTYPE);
      }
      const uint32_t count = task.num_rows - row;
#pragma GCC unroll 16
      for (int t = 0; t < T; t++) {
        if (static_cast<uint32_t>(t) < task.T) {
          float *y = task.y + t * task.ldy + row;
          store_first(y, task.accumulates ? add(load_first(y, count), sums[t]) : sums[t], count);
        }
      }
    }
  }
}

}  // namespace
}  // namespace ignis::IGNIS_ISA_NAMESPACE
