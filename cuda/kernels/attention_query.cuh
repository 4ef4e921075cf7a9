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
  static __device__ __forceinline__ void load(float (&v)[4], const float *from, uint32_t step, uint32_t t) {
    const float2 low = *reinterpret_cast<const float2 *>(from + dim(step, 0, t));
    const float2 high = *reinterpret_cast<const float2 *>(from + dim(step, 2, t));
    v[0] = low.x, v[1] = low.y, v[2] = high.x, v[3] = high.y;
  }
};
// Chunk (eight numbers, kv_page.cuh) of every eight that lane t of a quarter reads as number `half`, 0 or 1: chunks lie swizzled by their
// row, and of two neighbouring rows the quarter reads all eight places, so that no bank is met twice.
static __device__ __forceinline__ uint32_t spread_chunk(uint32_t half, uint32_t t) { return (2 * t + t / 2) ^ (4 * half); }
// The chunk of K that is a lane's part of two steps. Rope by halves wants both dims of a pair in one lane: D = 64 has no such freedom.
template <uint32_t D>
static __device__ __forceinline__ uint32_t key_chunk(uint32_t half, uint32_t t) {
  return D == 128 ? spread_chunk(half, t) : 4 * half + t;
}
template <uint32_t D>
struct ChunkOrder {
  static __device__ __forceinline__ uint32_t dim(uint32_t step, uint32_t e, uint32_t t) {
    return step / 4 * 64 + key_chunk<D>(step / 2 % 2, t) * 8 + step % 2 * 4 + e;
  }
  static __device__ __forceinline__ void load(float (&v)[4], const float *from, uint32_t step, uint32_t t) {
    const float4 four = *reinterpret_cast<const float4 *>(from + dim(step, 0, t));
    v[0] = four.x, v[1] = four.y, v[2] = four.z, v[3] = four.w;
  }
};

// Eight lanes share a head of 128: lane t, below 4, has what t has of the first and third load of four, lane 4 + t the rest.
struct SpreadOrder {
  static __device__ __forceinline__ uint32_t dim(uint32_t step, uint32_t e, uint32_t t) {
    return step / 2 * 64 + spread_chunk(t / 4, t % 4) * 8 + step % 2 * 4 + e;
  }
  static __device__ __forceinline__ void load(float (&v)[4], const float *from, uint32_t step, uint32_t t) {
    const float4 four = *reinterpret_cast<const float4 *>(from + dim(step, 0, t));
    v[0] = four.x, v[1] = four.y, v[2] = four.z, v[3] = four.w;
  }
};

// The numbers of the lane (t of the LANES that share the head) from q [D]; row is the step's. All that is read is asked for first. Lanes of
// a head are side by side in fours, the second four of eight sixteen lanes further.
template <uint32_t D, class Order, uint32_t LANES = 4>
static __device__ __forceinline__ void make_query(float (&v)[D / (4 * LANES)][4], const float *q, const QueryMaker &maker, uint32_t row,
                                                  uint32_t t) {
  constexpr uint32_t STEPS = D / (4 * LANES);
  const float *cosines = maker.angles + uint64_t{row} * 2 * D, *sines = cosines + D;
  const bool is_adjacent = maker.pairs == IGNIS_ROPE_ADJACENT;
  float weight[STEPS][4], cosine[STEPS / 2][4], sine[STEPS / 2][4];
#pragma unroll
  for (uint32_t step = 0; step < STEPS; step++) Order::load(v[step], q, step, t);
  if (is_adjacent) {
#pragma unroll
    for (uint32_t step = 0; step < STEPS; step++)
#pragma unroll
      for (uint32_t e = 0; e < 4; e += 2) {
        const uint32_t pair = Order::dim(step, e, t) / 2;
        cosine[step / 2][step % 2 * 2 + e / 2] = cosines[pair];
        sine[step / 2][step % 2 * 2 + e / 2] = sines[pair];
      }
  } else {
#pragma unroll
    for (uint32_t step = 0; step < STEPS / 2; step++) {
      Order::load(cosine[step], cosines, step, t);
      Order::load(sine[step], sines, step, t);
    }
  }
  if (maker.norm) {
#pragma unroll
    for (uint32_t step = 0; step < STEPS; step++) Order::load(weight[step], maker.norm, step, t);
    float sum = 0.0f;
#pragma unroll
    for (uint32_t step = 0; step < STEPS; step++)
#pragma unroll
      for (uint32_t e = 0; e < 4; e++) sum = fmaf(v[step][e], v[step][e], sum);
    sum += __shfl_xor_sync(~0u, sum, 1);
    sum += __shfl_xor_sync(~0u, sum, 2);
    if (LANES == 8) sum += __shfl_xor_sync(~0u, sum, 16);
    const float scale = rsqrtf(sum / static_cast<float>(D) + maker.eps);
#pragma unroll
    for (uint32_t step = 0; step < STEPS; step++)
#pragma unroll
      for (uint32_t e = 0; e < 4; e++) v[step][e] = v[step][e] * scale * weight[step][e];
  }
  const auto turn = [](float &a, float &b, float cosine, float sine) {
    const float turned = a * cosine - b * sine;
    b = b * cosine + a * sine;
    a = turned;
  };
  if (is_adjacent) {
#pragma unroll
    for (uint32_t step = 0; step < STEPS; step++)
#pragma unroll
      for (uint32_t e = 0; e < 4; e += 2)
        turn(v[step][e], v[step][e + 1], cosine[step / 2][step % 2 * 2 + e / 2], sine[step / 2][step % 2 * 2 + e / 2]);
  } else {
#pragma unroll
    for (uint32_t step = 0; step < STEPS / 2; step++)
#pragma unroll
      for (uint32_t e = 0; e < 4; e++) turn(v[step][e], v[step + STEPS / 2][e], cosine[step][e], sine[step][e]);
  }
  const float scale = 1.4426950408889634f / (D == 128 ? 11.313708498984761f : 8.0f);
#pragma unroll
  for (uint32_t step = 0; step < STEPS; step++)
#pragma unroll
    for (uint32_t e = 0; e < 4; e++) v[step][e] *= scale;
}

}  // namespace ignis
