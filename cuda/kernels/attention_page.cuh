// attention_page.cuh: what a warp does with one page of 64 positions and eight columns (a column: a query head of a row), on mma.sync.
//
//   scores   S = K q: positions are the rows of the tensor core's product, columns the tokens' side
//   weights  p = 2^(s - m)
//   output   O = V p: dims are the rows
//
// Sixteen positions make an M tile in an order that lets a lane read four or eight of them at a time in V: rows 2 t + e and 8 + 2 t + e of
// a tile are e and 2 + e of four positions, half a chunk, which WholeChunks and HalfChunks choose.
#pragma once

#include <math_constants.h>
#include <stdint.h>

#include "attention_query.cuh"
#include "kv_page.cuh"
#include "page_element.cuh"

namespace ignis {

// What every launch reads and writes. q and out [rows of the step, NH, D].
struct AttentionArguments {
  float *out;
  const float *q;
  const uint8_t *pool;  // of the layer: pool + layer_offset
  uint64_t page_stride;
  const Group *groups;
  uint32_t NH, NK;
  QueryMaker maker;
};

static __device__ __forceinline__ uint32_t transpose(uint32_t block) {
  uint32_t result;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(block));
  return result;
}
// c += a b of 16 x 8 numbers and sixteen columns.
static __device__ __forceinline__ void multiply(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1, __half) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
static __device__ __forceinline__ void multiply(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1, __nv_bfloat16) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Eight elements of [rows, 64] as operands: chunk c of a row. e4m3 numbers come times 1 / LOWERED.
template <class Element>
static __device__ __forceinline__ uint4 chunk_of(const Element *rows, uint32_t row, uint32_t chunk) {
  const Element *at = rows + chunk_at(row, chunk);
  if constexpr (sizeof(Element) == 2) return *reinterpret_cast<const uint4 *>(at);
  const uint2 eight = *reinterpret_cast<const uint2 *>(at);
  return make_uint4(lowered_pair<0>(eight.x), lowered_pair<1>(eight.x), lowered_pair<0>(eight.y), lowered_pair<1>(eight.y));
}
// The same of half a chunk.
template <class Element>
static __device__ __forceinline__ uint2 half_chunk_of(const Element *rows, uint32_t row, uint32_t chunk, uint32_t half) {
  const Element *at = rows + chunk_at(row, chunk) + 4 * half;
  if constexpr (sizeof(Element) == 2) return *reinterpret_cast<const uint2 *>(at);
  const uint32_t four = *reinterpret_cast<const uint32_t *>(at);
  return make_uint2(lowered_pair<0>(four), lowered_pair<1>(four));
}

// A column's query as B operands; columns of lane: g of the eight. q: the column's D values, null for an absent column.
template <uint32_t D, class Operand>
static __device__ __forceinline__ void load_query(uint32_t (&b)[D / 16][2], const float *q, const QueryMaker &maker, uint32_t row, uint32_t t,
                                                  bool is_absent) {
  float v[D / 16][4];
  make_query<D, ChunkOrder<D>>(v, q, maker, row, t);
#pragma unroll
  for (uint32_t step = 0; step < D / 16; step++)
#pragma unroll
    for (uint32_t pair = 0; pair < 2; pair++) b[step][pair] = is_absent ? 0 : packed_pair(v[step][2 * pair], v[step][2 * pair + 1], Operand());
}

// Which half of which chunk is tile's four positions of lane t of a quarter. Two tiles side by side share chunks:
struct WholeChunks {
  static __device__ __forceinline__ uint32_t chunk(uint32_t tile, uint32_t t) { return spread_chunk(tile / 2, t); }
  static __device__ __forceinline__ uint32_t half(uint32_t tile, uint32_t) { return tile % 2; }
};
// A tile reads both halves, and of four rows all places.
struct HalfChunks {
  static __device__ __forceinline__ uint32_t chunk(uint32_t tile, uint32_t t) { return tile + t / 2 * 4; }
  static __device__ __forceinline__ uint32_t half(uint32_t, uint32_t t) { return t % 2; }
};

// The position in its page of number i of a lane's results of tile s.
template <class Chunks>
static __device__ __forceinline__ int32_t position_of(uint32_t tile, uint32_t i, uint32_t g) {
  return static_cast<int32_t>(8 * Chunks::chunk(tile, g / 2) + 4 * Chunks::half(tile, g / 2) + g % 2 + i / 2 * 2);
}

// Scores of one M tile for N column tiles, from the keys of a head: [D / 64][64, 64].
template <class Chunks, class Element, uint32_t D, uint32_t N>
static __device__ __forceinline__ void score_tile(float (&s)[N][4], uint32_t tile, const uint32_t (&q)[N][D / 16][2], const Element *keys,
                                                  uint32_t g, uint32_t t) {
  using Operand = typename OperandOf<Element>::type;
  const uint32_t row = static_cast<uint32_t>(position_of<Chunks>(tile, 0, g));
#pragma unroll
  for (uint32_t n = 0; n < N; n++) s[n][0] = s[n][1] = s[n][2] = s[n][3] = 0.0f;
#pragma unroll
  for (uint32_t j = 0; j < D / 32; j++) {
    const Element *block = keys + j / 2 * (64 * IGNIS_PAGE_TOKENS);
    const uint32_t chunk = key_chunk<D>(j % 2, t);
    const uint4 upper = chunk_of(block, row, chunk), lower = chunk_of(block, row + 2, chunk);
    const uint32_t a[2][4] = {{upper.x, lower.x, upper.y, lower.y}, {upper.z, lower.z, upper.w, lower.w}};
#pragma unroll
    for (uint32_t half = 0; half < 2; half++)
#pragma unroll
      for (uint32_t n = 0; n < N; n++) multiply(s[n], a[half], q[n][2 * j + half][0], q[n][2 * j + half][1], Operand());
  }
}

// The same for one column tile, in two chains that are added: half the latency.
template <class Chunks, class Element, uint32_t D>
static __device__ __forceinline__ void score_tile(float (&s)[4], uint32_t tile, const uint32_t (&q)[D / 16][2], const Element *keys, uint32_t g,
                                                  uint32_t t) {
  using Operand = typename OperandOf<Element>::type;
  const uint32_t row = static_cast<uint32_t>(position_of<Chunks>(tile, 0, g));
  float other[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  s[0] = s[1] = s[2] = s[3] = 0.0f;
#pragma unroll
  for (uint32_t j = 0; j < D / 32; j++) {
    const Element *block = keys + j / 2 * (64 * IGNIS_PAGE_TOKENS);
    const uint32_t chunk = key_chunk<D>(j % 2, t);
    const uint4 upper = chunk_of(block, row, chunk), lower = chunk_of(block, row + 2, chunk);
    const uint32_t a[2][4] = {{upper.x, lower.x, upper.y, lower.y}, {upper.z, lower.z, upper.w, lower.w}};
    multiply(s, a[0], q[2 * j][0], q[2 * j][1], Operand());
    multiply(other, a[1], q[2 * j + 1][0], q[2 * j + 1][1], Operand());
  }
#pragma unroll
  for (uint32_t i = 0; i < 4; i++) s[i] += other[i];
}

// Clears the values of positions that are not stored: they may be NaN. `word` holds positions `first`, first + 1 of the page.
static __device__ __forceinline__ uint32_t stored_only(uint32_t word, int32_t first, int32_t num_stored) {
  return first + 1 < num_stored ? word : first < num_stored ? word & 0xffffu : 0u;
}

}  // namespace ignis
