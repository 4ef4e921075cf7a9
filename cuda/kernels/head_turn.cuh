// head_turn.cuh: a head of one row normed and rotated by a warp: what is stored as K, in prefill and in decode.
#pragma once

#include <stdint.h>

#include "../ops/ops.h"

namespace ignis {

// The sum over a warp, in every lane, by a tree that is always the same.
static __device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
  return value;
}

struct PairPlace {
  uint32_t a, b;
};
static __device__ __forceinline__ PairPlace pair_place(uint32_t pair, uint32_t D, ignis_rope_pairs pairs) {
  return pairs == IGNIS_ROPE_ADJACENT ? PairPlace{2 * pair, 2 * pair + 1} : PairPlace{pair, pair + D / 2};
}

// Lane i of the warp has pairs i, i + 32, ... of head [D]; store(dim, value) takes the result. angles [2 D] of the row.
template <class Store>
static __device__ __forceinline__ void turn_head(const float *head, const float *norm, float eps, uint32_t D, ignis_rope_pairs pairs,
                                                 const float *angles, const Store &store) {
  const uint32_t lane = threadIdx.x % 32, half = D / 2;
  float scale = 1;
  if (norm) {
    float sum = 0;
    for (uint32_t pair = lane; pair < half; pair += 32) {
      const PairPlace at = pair_place(pair, D, pairs);
      sum = fmaf(head[at.a], head[at.a], sum);
      sum = fmaf(head[at.b], head[at.b], sum);
    }
    scale = rsqrtf(warp_sum(sum) / static_cast<float>(D) + eps);
  }
  for (uint32_t pair = lane; pair < half; pair += 32) {
    const PairPlace at = pair_place(pair, D, pairs);
    float a = head[at.a], b = head[at.b];
    if (norm) {
      a = a * scale * norm[at.a];
      b = b * scale * norm[at.b];
    }
    const float cosine = angles[pair], sine = angles[D + pair];
    store(at.a, a * cosine - b * sine);
    store(at.b, b * cosine + a * sine);
  }
}

}  // namespace ignis
