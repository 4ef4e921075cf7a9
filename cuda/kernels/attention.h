// attention.h: attention, and its rows as the operands of the linear layer behind it.
#pragma once

#include "device.h"

namespace ignis {

struct AttentionOutput {
  float *rows;       // [T, NH D]
  uint8_t *input;    // a round's rows as round_input.cuh lays them out; null where they are not wanted
  bool wants_rows;   // beside input
};

// As ops.h says, but for the preparation. True where output.input was written; else output.rows are.
bool attention_run(Device &device, const AttentionOutput &output, const float *q, const float *k, const float *v, const KvLayer &kv,
                   const Group *groups, uint32_t num_groups, uint32_t first_wanted, uint32_t NH, const HeadNorms &norms, const Rope &rope,
                   const float *angles, void *workspace);

}  // namespace ignis
