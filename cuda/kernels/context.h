// context.h: the driver's context of this process on the first card, and what it takes of the card's memory.
#pragma once

#include <cuda_runtime_api.h>
#include <stdint.h>

namespace ignis {

// Comes before the process's first call of the run time: the driver reads its environment once, when that call brings it up.
void context_prepare();
// Makes the context, with every kernel of this library in it, where the process has none.
cudaError_t context_open();
// What making it took; 0 where that could not be seen.
uint64_t context_bytes();
// Where a kernel has broken the context, gives it up, and with it all memory on the card. The driver gives a process no other (H200, driver
// 580: refused for as long as it was asked); context_open tries, and is_context_lost() says why it could not.
void context_mend();
bool is_context_lost();

}  // namespace ignis
