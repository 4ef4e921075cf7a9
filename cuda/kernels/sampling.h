// sampling.h: the kernels that draw, from a device's opening to its end.
#pragma once

#include "device.h"

namespace ignis {

cudaError_t sampling_open(Device *device);
void sampling_close(Device *device);

}  // namespace ignis
