// synthetic.h: the stored bytes of a matrix that no file holds, made on the card.
#pragma once

#include <cuda_runtime_api.h>

#include "../ops/ops.h"
#include "../quant/synthetic.h"

namespace ignis {

// Queues bytes [start, start + size_bytes) of the stored matrix; start is a multiple of synthetic_bytes, or of row_bytes.
void synthesize(void *chunk, const Matrix &m, uint64_t start, uint64_t size_bytes, cudaStream_t stream);

}  // namespace ignis
