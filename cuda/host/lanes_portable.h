// lanes_portable.h: four lanes, a quarter of a group, in the compiler's own vectors, for any machine. See lanes.h.
#pragma once

#include <stdint.h>

#include "../quant/half.h"

namespace ignis::IGNIS_ISA_NAMESPACE {
namespace {

constexpr uint32_t LANES = 4;
typedef float Floats __attribute__((vector_size(16)));
typedef int32_t Ints __attribute__((vector_size(16)));
typedef uint8_t Bytes __attribute__((vector_size(16)));

template <class Vector>
inline Vector load_vector(const void *p) {
  Vector vector;
  memcpy(&vector, p, sizeof vector);
  return vector;
}

inline Floats zero_floats() { return Floats{}; }
inline Floats broadcast(const float *value) { return Floats{} + *value; }
inline Floats load_halves(const void *p) {
  const uint8_t *bytes = static_cast<const uint8_t *>(p);
  return Floats{float_of_half(read_u16(bytes)), float_of_half(read_u16(bytes + 2)), float_of_half(read_u16(bytes + 4)),
                float_of_half(read_u16(bytes + 6))};
}
inline Floats load_unsigned(const void *p) {
  typedef uint8_t Four __attribute__((vector_size(4)));
  return __builtin_convertvector(load_vector<Four>(p), Floats);
}
inline Floats load_signed(const void *p) {
  typedef int8_t Four __attribute__((vector_size(4)));
  return __builtin_convertvector(load_vector<Four>(p), Floats);
}
inline Floats multiply(Floats a, Floats b) { return a * b; }
inline Floats add(Floats a, Floats b) { return a + b; }
inline Floats multiply_add(Floats a, Floats b, Floats c) { return a * b + c; }
inline Floats multiply_subtract_from(Floats a, Floats b, Floats c) { return c - a * b; }
inline Floats to_floats(Ints a) { return __builtin_convertvector(a, Floats); }
inline Floats load_first(const float *p, uint32_t count) {
  Floats a{};
  for (uint32_t i = 0; i < LANES && i < count; i++) a[i] = p[i];
  return a;
}
inline void store_first(float *p, Floats a, uint32_t count) {
  for (uint32_t i = 0; i < LANES && i < count; i++) p[i] = a[i];
}

inline Ints zero_ints() { return Ints{}; }
inline Ints broadcast_int(const int32_t *value) { return Ints{} + *value; }
inline Ints add(Ints a, Ints b) { return a + b; }
inline Ints times_128(Ints a) { return a * 128; }

inline Bytes load_bytes(const uint8_t *p) { return load_vector<Bytes>(p); }
inline Bytes low_nibbles(Bytes a) { return a & static_cast<uint8_t>(15); }
inline Bytes high_nibbles(Bytes a) { return a >> 4; }
template <int SHIFT, int MASK>
inline Bytes merge(Bytes low, Bytes plane) {
  if constexpr (SHIFT < 0) {
    return low | ((plane << -SHIFT) & static_cast<uint8_t>(MASK));
  } else {
    return low | ((plane >> SHIFT) & static_cast<uint8_t>(MASK));
  }
}

constexpr bool HAS_SIGNED_BYTES = false;

struct Dot {
  Ints sum;
};

// The sums of pairs of eight products. A product is at most 255 * 127 = 32385: it fits 16 bits, the sum of two does not.
template <class EightUnsigned, class EightSigned>
inline Ints sum_pairs(EightUnsigned weights, EightSigned a) {
  typedef int16_t Products __attribute__((vector_size(16)));
  const Ints products = reinterpret_cast<Ints>(__builtin_convertvector(weights, Products) * __builtin_convertvector(a, Products));
  return (products << 16 >> 16) + (products >> 16);
}

template <int BITS, int STEP>
inline void dot_add(Dot *dot, Bytes weights, const uint8_t *four) {
  typedef int8_t EightSigned __attribute__((vector_size(8)));
  typedef int32_t Two __attribute__((vector_size(8)));
  const EightSigned a = reinterpret_cast<EightSigned>(Two{} + static_cast<int32_t>(read_u32(four)));
  const Ints low = sum_pairs(__builtin_shufflevector(weights, weights, 0, 1, 2, 3, 4, 5, 6, 7), a);
  const Ints high = sum_pairs(__builtin_shufflevector(weights, weights, 8, 9, 10, 11, 12, 13, 14, 15), a);
  dot->sum += __builtin_shufflevector(low, high, 0, 2, 4, 6) + __builtin_shufflevector(low, high, 1, 3, 5, 7);
}

}  // namespace
}  // namespace ignis::IGNIS_ISA_NAMESPACE
