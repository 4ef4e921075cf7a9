// lanes_portable.h: four lanes in plain C++, for any machine. See lanes.h.
#pragma once

#include <stdint.h>

#include "../quant/half.h"

namespace ignis::IGNIS_ISA_NAMESPACE {
namespace {

constexpr uint32_t LANES = 4;
struct Floats {
  float lane[LANES];
};
struct Ints {
  int32_t lane[LANES];
};
struct Bytes {
  uint8_t byte[4 * LANES];
};

template <class Function>
inline Floats floats_of(const Function &function) {
  Floats result;
  for (uint32_t i = 0; i < LANES; i++) result.lane[i] = function(i);
  return result;
}

template <class Function>
inline Bytes bytes_of(const Function &function) {
  Bytes result;
  for (uint32_t i = 0; i < 4 * LANES; i++) result.byte[i] = static_cast<uint8_t>(function(i));
  return result;
}

inline Floats zero_floats() { return {}; }
inline Floats broadcast(const float *value) {
  return floats_of([=](uint32_t) { return *value; });
}
inline Floats load_halves(const void *p) {
  return floats_of([=](uint32_t i) { return float_of_half(read_u16(static_cast<const uint8_t *>(p) + 2 * i)); });
}
inline Floats load_unsigned(const void *p) {
  return floats_of([=](uint32_t i) { return static_cast<float>(static_cast<const uint8_t *>(p)[i]); });
}
inline Floats load_signed(const void *p) {
  return floats_of([=](uint32_t i) { return static_cast<float>(static_cast<const int8_t *>(p)[i]); });
}
inline Floats multiply(const Floats &a, const Floats &b) {
  return floats_of([&](uint32_t i) { return a.lane[i] * b.lane[i]; });
}
inline Floats add(const Floats &a, const Floats &b) {
  return floats_of([&](uint32_t i) { return a.lane[i] + b.lane[i]; });
}
inline Floats multiply_add(const Floats &a, const Floats &b, const Floats &c) {
  return floats_of([&](uint32_t i) { return a.lane[i] * b.lane[i] + c.lane[i]; });
}
inline Floats multiply_subtract_from(const Floats &a, const Floats &b, const Floats &c) {
  return floats_of([&](uint32_t i) { return c.lane[i] - a.lane[i] * b.lane[i]; });
}
inline Floats to_floats(const Ints &a) {
  return floats_of([&](uint32_t i) { return static_cast<float>(a.lane[i]); });
}
inline Floats load_first(const float *p, uint32_t count) {
  return floats_of([=](uint32_t i) { return i < count ? p[i] : 0.0f; });
}
inline void store_first(float *p, const Floats &a, uint32_t count) {
  for (uint32_t i = 0; i < LANES && i < count; i++) p[i] = a.lane[i];
}

inline Ints zero_ints() { return {}; }
template <class Function>
inline Ints ints_of(const Function &function) {
  Ints result;
  for (uint32_t i = 0; i < LANES; i++) result.lane[i] = function(i);
  return result;
}

inline Ints broadcast_int(const int32_t *value) {
  return ints_of([=](uint32_t) { return *value; });
}
inline Ints add(const Ints &a, const Ints &b) {
  return ints_of([&](uint32_t i) { return a.lane[i] + b.lane[i]; });
}
inline Ints times_128(const Ints &a) {
  return ints_of([&](uint32_t i) { return a.lane[i] * 128; });
}

inline Bytes load_bytes(const uint8_t *p) {
  return bytes_of([=](uint32_t i) { return p[i]; });
}
inline Bytes low_nibbles(const Bytes &a) {
  return bytes_of([&](uint32_t i) { return a.byte[i] & 15; });
}
inline Bytes high_nibbles(const Bytes &a) {
  return bytes_of([&](uint32_t i) { return a.byte[i] >> 4; });
}
template <int SHIFT, int MASK>
inline Bytes merge(const Bytes &low, const Bytes &plane) {
  return bytes_of([&](uint32_t i) {
    const uint32_t moved = SHIFT >= 0 ? plane.byte[i] >> (SHIFT < 0 ? 0 : SHIFT) : plane.byte[i] << (SHIFT < 0 ? -SHIFT : 0);
    return low.byte[i] | (moved & MASK);
  });
}

constexpr bool HAS_SIGNED_BYTES = false;

struct Dot {
  Ints sum;
};
template <int BITS, int STEP>
inline void dot_add(Dot *dot, const Bytes &weights, const uint8_t *four) {
  int32_t a[4];
  for (int i = 0; i < 4; i++) a[i] = static_cast<int8_t>(four[i]);
  for (uint32_t i = 0; i < LANES; i++) {
    const uint8_t *w = weights.byte + 4 * i;
    dot->sum.lane[i] += w[0] * a[0] + w[1] * a[1] + w[2] * a[2] + w[3] * a[3];
  }
}

}  // namespace
}  // namespace ignis::IGNIS_ISA_NAMESPACE
