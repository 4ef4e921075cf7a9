// row_kernels.h: what the operators need of an instruction set for one row at a time.
#pragma once

#include <stdint.h>

#include "../ops/ops.h"

namespace ignis {

struct RowKernels {
  // y [n] = w x / sqrt(mean(x^2) + eps); y may be x.
  void (*rms_norm)(float *y, const float *x, const float *w, uint32_t n, float eps);
  // y [n] = gate / (1 + exp(-gate)) * up
  void (*swiglu)(float *y, const float *gate, const float *up, uint32_t n);
  // x [heads, D] in place: x cos + partner(x) sin, angles as rope_angles lays them out.
  void (*rotate)(float *x, uint32_t heads, uint32_t D, const float *angles, ignis_rope_pairs pairs);
  // k and v [NK, D] of one position into slot (position % 64) of a layer's part of a page.
  void (*store_kv)(uint8_t *page, const KvLayer &kv, uint32_t slot, const float *k, const float *v);
};

namespace portable { extern const RowKernels row_kernels; }
namespace avx2 { extern const RowKernels row_kernels; }
namespace avx512 { extern const RowKernels row_kernels; }

}  // namespace ignis
