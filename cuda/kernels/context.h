// context.h: the driver's context of this process on the first card, and what it takes of the card's memory.
#pragma once

#include <cuda_runtime_api.h>
#include <stdint.h>

namespace ignis {

// Makes the context, with every kernel of this library in it, where the process has none.
cudaError_t context_open();
// What making it took; 0 where that could not be seen.
uint64_t context_bytes();
// Where a kernel has broken the context, it is given up: all memory on the card goes with it, and the next context_open makes another.
void context_mend();

}  // namespace ignis
