// Norms, SwiGLU, rotary embedding and the writing of K and V, one row at a time.
#include "row_kernels.h"

#include <math.h>

#include "../quant/narrow.h"
#include "kv_page.h"
#include "simd.h"

namespace ignis::IGNIS_ISA_NAMESPACE {

static void rms_norm(float *y, const float *x, const float *w, uint32_t n, float eps) {
  const uint32_t whole = n / WIDTH * WIDTH;
  // Four sums hide the latency of the adds.
  Floats sums[4] = {splat(0.0f), splat(0.0f), splat(0.0f), splat(0.0f)};
  uint32_t next = 0;
  for (; next + 4 * WIDTH <= whole; next += 4 * WIDTH)
    for (uint32_t part = 0; part < 4; part++) {
      const Floats value = load(x + next + part * WIDTH);
      sums[part] = fma(value, value, sums[part]);
    }
  for (; next < whole; next += WIDTH) {
    const Floats value = load(x + next);
    sums[0] = fma(value, value, sums[0]);
  }
  if (whole < n) {
    const Floats value = load_part(x + whole, n - whole, 0.0f);
    sums[0] = fma(value, value, sums[0]);
  }
  const float squares = sum_lanes(add(add(sums[0], sums[1]), add(sums[2], sums[3])));
  const float factor = 1.0f / sqrtf(squares / static_cast<float>(n) + eps);
  const Floats factors = splat(factor);
  for (uint32_t i = 0; i < whole; i += WIDTH) store(y + i, mul(mul(load(x + i), factors), load(w + i)));
  for (uint32_t i = whole; i < n; i++) y[i] = x[i] * factor * w[i];
}

static Floats silu_times(Floats gate, Floats up) {
  return mul(div(gate, add(splat(1.0f), exp(sub(splat(0.0f), gate)))), up);
}

static void swiglu(float *y, const float *gate, const float *up, uint32_t n) {
  const uint32_t whole = n / WIDTH * WIDTH;
  for (uint32_t i = 0; i < whole; i += WIDTH) store(y + i, silu_times(load(gate + i), load(up + i)));
  if (whole < n)
    store_part(y + whole, silu_times(load_part(gate + whole, n - whole, 0.0f), load_part(up + whole, n - whole, 0.0f)), n - whole);
}

static void rotate_neighbours(float *x, uint32_t D, const float *cosines, const float *sines) {
  const uint32_t whole = D / WIDTH * WIDTH;
  for (uint32_t i = 0; i < whole; i += WIDTH) {
    const Floats value = load(x + i);
    store(x + i, fma(value, load(cosines + i), mul(swap_neighbours(value), load(sines + i))));
  }
  for (uint32_t i = whole; i < D; i += 2) {
    const float a = x[i], b = x[i + 1];
    x[i] = a * cosines[i] + b * sines[i];
    x[i + 1] = b * cosines[i + 1] + a * sines[i + 1];
  }
}

static void rotate_halves(float *x, uint32_t D, const float *cosines, const float *sines) {
  const uint32_t half = D / 2, whole = half / WIDTH * WIDTH;
  for (uint32_t i = 0; i < whole; i += WIDTH) {
    const Floats a = load(x + i), b = load(x + half + i);
    store(x + i, fma(a, load(cosines + i), mul(b, load(sines + i))));
    store(x + half + i, fma(b, load(cosines + half + i), mul(a, load(sines + half + i))));
  }
  for (uint32_t i = whole; i < half; i++) {
    const float a = x[i], b = x[half + i];
    x[i] = a * cosines[i] + b * sines[i];
    x[half + i] = b * cosines[half + i] + a * sines[half + i];
  }
}

static void rotate(float *x, uint32_t heads, uint32_t D, const float *angles, ignis_rope_pairs pairs) {
  for (uint32_t head = 0; head < heads; head++, x += D) {
    if (pairs == IGNIS_ROPE_ADJACENT)
      rotate_neighbours(x, D, angles, angles + D);
    else
      rotate_halves(x, D, angles, angles + D);
  }
}

static uint16_t half_bits(float value) {
  uint16_t halves[WIDTH];
  store_half(halves, splat(value));
  return halves[0];
}

// D floats as float16 at `halves`.
static void to_halves(uint16_t *halves, const float *x, uint32_t D) {
  const uint32_t whole = D / WIDTH * WIDTH;
  for (uint32_t i = 0; i < whole; i += WIDTH) store_half(halves + i, load(x + i));
  for (uint32_t i = whole; i < D; i++) halves[i] = half_bits(x[i]);
}

static void put(float *to, float value) { *to = value; }
static void put(Bfloat *to, float value) { to->bits = bfloat_of_float(value); }
static void put(Eighth *to, float value) { to->bits = e4m3_of_float(value); }

// K and V of one head into column and row `slot`.
template <class Element>
static void store_head(uint8_t *keys, uint8_t *values, uint32_t slot, const float *k, const float *v, uint32_t D, uint32_t Dp) {
  Element *column = reinterpret_cast<Element *>(keys) + slot, *row = reinterpret_cast<Element *>(values) + slot * Dp;
  for (uint32_t d = 0; d < D; d++) {
    put(column + d * IGNIS_PAGE_TOKENS, k[d]);
    put(row + d, v[d]);
  }
}

static void store_kv(uint8_t *page, const KvLayer &kv, uint32_t slot, const float *k, const float *v) {
  const KvPage layout(kv);
  const uint32_t D = kv.D;
  for (uint32_t head = 0; head < kv.NK; head++) {
    uint8_t *keys = page + head * layout.key_bytes();
    uint8_t *values = page + kv.NK * layout.key_bytes() + head * layout.value_bytes();
    if (kv.dtype == IGNIS_F16) {
      uint16_t *column = reinterpret_cast<uint16_t *>(keys) + slot;
      uint16_t *row = reinterpret_cast<uint16_t *>(values) + slot * layout.Dp;
      // The row of V serves as scratch for K first: both are D halves.
      to_halves(row, k + head * D, D);
      for (uint32_t d = 0; d < D; d++) column[d * IGNIS_PAGE_TOKENS] = row[d];
      to_halves(row, v + head * D, D);
    } else if (kv.dtype == IGNIS_BF16) {
      store_head<Bfloat>(keys, values, slot, k + head * D, v + head * D, D, layout.Dp);
    } else if (kv.dtype == IGNIS_F8_E4M3) {
      store_head<Eighth>(keys, values, slot, k + head * D, v + head * D, D, layout.Dp);
    } else {
      store_head<float>(keys, values, slot, k + head * D, v + head * D, D, layout.Dp);
    }
  }
}

extern const RowKernels row_kernels;
const RowKernels row_kernels = {rms_norm, swiglu, rotate, store_kv};

}  // namespace ignis::IGNIS_ISA_NAMESPACE
