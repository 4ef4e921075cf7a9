// sample_kernels.h: passes over one row of logits that sampling needs of an instruction set.
#pragma once

#include <stdint.h>

namespace ignis {

// Tokens whose scaled logit is near the best one, in rising order of ids.
struct Candidates {
  float *scaled;   // (logit - maximum) / temperature, <= 0
  float *weights;  // exp(scaled), > 0
  int32_t *ids;
  uint32_t num;
  double rest_weight;  // of the tokens that are not here
};

struct SampleKernels {
  // The largest of x [n]; false where a NaN is among them.
  bool (*maximum)(const float *x, uint32_t n, float *largest);
  // The lowest index whose x is `value`; n where there is none.
  uint32_t (*index_of)(const float *x, uint32_t n, float value);
  // Sum of exp(x - largest).
  double (*sum_exp)(const float *x, uint32_t n, float largest);
  // Indices of the k largest x in falling order, ties by rising index. Returns how many there are: at most n.
  uint32_t (*top)(int32_t *ids, const float *x, uint32_t n, uint32_t k);
  // Those with scaled > lowest.
  void (*gather)(Candidates *candidates, const float *x, uint32_t n, float largest, float temperature, float lowest);
};

namespace portable { extern const SampleKernels sample_kernels; }
namespace avx2 { extern const SampleKernels sample_kernels; }
namespace avx512 { extern const SampleKernels sample_kernels; }

}  // namespace ignis
