// store.h: stored weights on their way to the card.
#pragma once

#include "device.h"

namespace ignis {

// Ends what store_begin began, however far it came. Null is fine.
void store_close(Device *device);
// Attributes of a kernel of this library: an error where it has no code for the card.
cudaError_t probe_kernel_attributes(cudaFuncAttributes *attributes);

}  // namespace ignis
