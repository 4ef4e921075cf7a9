// attention.h: softmax(q k^T / sqrt(D)) v over the pages of a sequence, bit-equal in prefill and decode.
#pragma once

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "../ops/ops.h"

namespace ignis {

// Zero it once after allocation: it holds counters that every call leaves at 0.
uint64_t attention_workspace_bytes(uint32_t max_lanes, uint32_t max_context, uint32_t NH, uint32_t D);

// out, q [rows of the step, NH, D], indexed by Group::row. `groups` lies on the device, page tables too, so that a captured launch serves
// every later round: num_rows groups of one row each. Positions stay below max_context, which decides the workspace's layout.
void attention_round(float *out, const float *q, const KvLayer &kv, const Group *groups, uint32_t num_rows, uint32_t NH,
                     uint32_t max_context, void *workspace, uint32_t num_multiprocessors, cudaStream_t stream);

// One group of T rows; T is also what groups[0].num_rows on the device says.
void attention_span(float *out, const float *q, const KvLayer &kv, const Group *group, uint32_t T, uint32_t NH,
                    cudaStream_t stream);

}  // namespace ignis
