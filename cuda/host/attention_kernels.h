// attention_kernels.h: what the attention operator needs of an instruction set: one page for the queries of one kv head.
#pragma once

#include <stdint.h>

#include "kv_page.h"

namespace ignis {

// Queries that share their keys: the query heads of one kv head, for consecutive rows of one sequence. Query i is row i / heads,
// head i % heads.
struct QueryTile {
  const float *queries;  // [num_rows * heads, D], already divided by sqrt(D)
  uint32_t num_rows, heads;
  uint32_t position;  // of the first row
  uint32_t kv_head;
};

// A softmax over some positions, not yet divided by its sum: floats [maximum, sum, ..., weighted V [Dp] at ATTENTION_HEADER].
// Equal to nothing at all when maximum is -infinity and the rest is 0.
inline constexpr uint32_t ATTENTION_HEADER = 16;

struct AttentionKernels {
  // queries [n] = q [n] * scale
  void (*scale_queries)(float *queries, const float *q, uint32_t n, float scale);
  // partials [num_rows * heads, ATTENTION_HEADER + Dp] of the positions of page number `page` that each query may see. Queries of rows
  // before that page are left alone. Returns the first query that is not. scores: scratch of [num_rows * heads, 64].
  // next: the memory of the page that this thread will read next, asked for meanwhile; `memory` where there is none.
  uint32_t (*attend_page)(float *partials, const QueryTile &tile, const KvLayer &kv, uint32_t page, const uint8_t *memory,
                          const uint8_t *next, float *scores);
  // states += partials, both [num_queries, ATTENTION_HEADER + Dp]; the states hold the pages before.
  void (*merge)(float *states, const float *partials, uint32_t num_queries, uint32_t Dp);
  // out [num_queries, D] = weighted V / sum
  void (*finish)(float *out, const float *states, uint32_t num_queries, uint32_t D, uint32_t Dp);
};

namespace portable { extern const AttentionKernels attention_kernels; }
namespace avx2 { extern const AttentionKernels attention_kernels; }
namespace avx512 { extern const AttentionKernels attention_kernels; }

}  // namespace ignis
