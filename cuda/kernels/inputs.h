// inputs.h: a step's inputs on their way to the card, and its results on their way back.
#pragma once

#include "device.h"

namespace ignis {

void inputs_close(Device *device);
// The step's work is queued; it will be waited for now; it has been. Each counts the first time in a step.
void step_queued(Device &device);
void step_waiting(Device &device);
void step_done(Device &device);
// Comes when the inputs of the step that is queued ahead are there, and the draws of the one under way with them.
cudaEvent_t inputs_ready(const Device &device);
// Pinned memory for a result of so many bytes; null where it is too large for it.
void *inputs_bounce(Device &device, uint64_t size_bytes);

}  // namespace ignis
