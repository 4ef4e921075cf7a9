// rope.h: K and V into the pages, where attention's own kernels do not store them.
#pragma once

#include "device.h"

namespace ignis {

// Of a span's rows, or of a round's: the phase decides. k and v [T, NK, D] as the linear layer left them.
void store_kv(Device &device, const float *k, const float *v, const KvLayer &kv, const Group *groups, uint32_t num_groups,
              const HeadNorms &norms, const Rope &rope, const float *angles);

}  // namespace ignis
