// store.h: stored weights on their way into the host's memory.
#pragma once

#include "../ops/ops.h"
#include "device.h"

namespace ignis {

// Has m->source and m->scales point to the stored bytes in memory: at `place` where it is given, else until the next call. Between store_begin
// and store_end they are those of the next matrix of the list, out of its file. False: they could not be read, or the load was cancelled.
bool fetch(Device &device, Matrix *m, void *place);

}  // namespace ignis
