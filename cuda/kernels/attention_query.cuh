// attention_query.cuh: a query head on its way from the linear layer to the tensor cores: normed, rotated, and times log2(e) / sqrt(D), so
// that scores are exponents of 2. A lane has numbers in pairs of four dims or of the same dims half a head apart, so that both pairings of
// rope stay within it.
#pragma once

#include <stdint.h>

#include "../ops/ops.h"

namespace ignis {

// How the queries of a launch are made.
struct QueryMaker {
  const float *norm;    // [D], or null
  const float *angles;  // [rows of the step, 2 D]
  float eps;
  ignis_rope_pairs pairs;
};

// Where number (step, e) of lane t of a quarter lies: the A operand of wgmma, dims in their own order.
struct OwnOrder {
  static __device__ __forceinline__ uint32_t dim(uint32_t step, uint32_t e, uint32_t t) { return 16 * step + 2 * t + e % 2 + e / 2 * 8; }
};
// Eight dims beside each other are a lane's part of two steps.
struct ChunkOrder {
  static __device__ __forceinline__ uint32_t dim(uint32_t step, uint32_t e, uint32_t t) { return step / 2 * 32 + 8 * t + step % 2 * 4 + e; }
};

// The D / 4 numbers of the lane (t of the four that share the head) from q [D]; row is the step's.
template <uint32_t D, class Order>
static __device__ __forceinline__ void make_query(float (&v)[D / 16][4], const float *q, const QueryMaker &maker, uint32_t row, uint32_t t) {
#pragma unroll
  for (uint32_t step = 0; step < D / 16; step++)
#pragma unroll
    for (uint32_t e = 0; e < 4; e += 2) {
      const float2 two = *reinterpret_cast<const float2 *>(q + Order::dim(step, e, t));
      v[step][e] = two.x;
      v[step][e + 1] = two.y;
    }
  if (maker.norm) {
    float sum = 0.0f;
#pragma unroll
    for (uint32_t step = 0; step < D / 16; step++)
#pragma unroll
      for (uint32_t e = 0; e < 4; e++) sum = fmaf(v[step][e], v[step][e], sum);
    sum += __shfl_xor_sync(~0u, sum, 1);
    sum += __shfl_xor_sync(~0u, sum, 2);
    const float scale = rsqrtf(sum / static_cast<float>(D) + maker.eps);
#pragma unroll
    for (uint32_t step = 0; step < D / 16; step++)
#pragma unroll
      for (uint32_t e = 0; e < 4; e += 2) {
        const float2 weight = *reinterpret_cast<const float2 *>(maker.norm + Order::dim(step, e, t));
        v[step][e] = v[step][e] * scale * weight.x;
        v[step][e + 1] = v[step][e + 1] * scale * weight.y;
      }
  }
  const float *cosines = maker.angles + uint64_t{row} * 2 * D, *sines = cosines + D;
  const auto turn = [](float &a, float &b, float cosine, float sine) {
    const float turned = a * cosine - b * sine;
    b = b * cosine + a * sine;
    a = turned;
  };
  if (maker.pairs == IGNIS_ROPE_ADJACENT) {
#pragma unroll
    for (uint32_t step = 0; step < D / 16; step++)
#pragma unroll
      for (uint32_t e = 0; e < 4; e += 2) {
        const uint32_t pair = Order::dim(step, e, t) / 2;
        turn(v[step][e], v[step][e + 1], cosines[pair], sines[pair]);
      }
  } else {
#pragma unroll
    for (uint32_t step = 0; step < D / 32; step++)
#pragma unroll
      for (uint32_t e = 0; e < 4; e += 2) {
        const uint32_t pair = Order::dim(step, e, t);
        const float2 cosine = *reinterpret_cast<const float2 *>(cosines + pair), sine = *reinterpret_cast<const float2 *>(sines + pair);
        turn(v[step][e], v[step + D / 32][e], cosine.x, sine.x);
        turn(v[step][e + 1], v[step + D / 32][e + 1], cosine.y, sine.y);
      }
  }
  const float scale = 1.4426950408889634f / (D == 128 ? 11.313708498984761f : 8.0f);
#pragma unroll
  for (uint32_t step = 0; step < D / 16; step++)
#pragma unroll
    for (uint32_t e = 0; e < 4; e++) v[step][e] *= scale;
}

}  // namespace ignis
