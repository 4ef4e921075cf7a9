// rope.h: what attention does first.
#pragma once

#include "../ops/ops.h"

namespace ignis {

// Norms and rotates q [T, NH, D] and k [T, NK, D] in place and stores k and v into the pages, as attention says.
void rope_and_store(Device &device, float *q, float *k, const float *v, const KvLayer &kv, const Group *groups, uint32_t num_groups,
                    uint32_t NH, const HeadNorms &norms, const Rope &rope, const float *angles);

}  // namespace ignis
