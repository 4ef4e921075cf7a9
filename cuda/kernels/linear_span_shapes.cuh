// linear_span_shapes.cuh: which tile of outputs a block of a prefill span's linear layers has on sm_90. Bits do not depend on it.
#pragma once

#include "linear_span_jobs.cuh"

namespace ignis {

inline uint32_t set_items(SpanJobs *jobs, uint32_t rows_an_item) {
  jobs->first_item[0] = 0;
  for (uint32_t i = 0; i < MAX_SPAN_JOBS; i++)
    jobs->first_item[i + 1] = jobs->first_item[i] + (i < jobs->num ? (jobs->job[i].rows + rows_an_item - 1) / rows_an_item : 0);
  return jobs->first_item[jobs->num];
}

// A turn of blocks of one shape, one on every multiprocessor, takes about so long (microseconds of 4096 columns, measured); narrow ones
// wait for weights.
struct SpanShape {
  uint32_t rows, tokens, turn_cost;
};
inline constexpr SpanShape SPAN_SHAPES[] = {{128, 256, 50}, {128, 128, 30}, {64, 128, 20}, {64, 64, 18}, {64, 8, 17}};

template <uint32_t NUM>
uint32_t cheapest_shape(SpanLaunch *launch, const SpanShape (&shapes)[NUM]) {
  uint32_t best = 0, best_cost = ~0u;
  for (uint32_t i = 0; i < NUM; i++) {
    const SpanShape &shape = shapes[i];
    const uint32_t places = set_items(&launch->jobs, shape.rows) * ((launch->T + shape.tokens - 1) / shape.tokens);
    const uint32_t cost = (places + launch->num_multiprocessors - 1) / launch->num_multiprocessors * shape.turn_cost;
    if (cost < best_cost) {
      best = i;
      best_cost = cost;
    }
  }
  return best;
}

}  // namespace ignis
