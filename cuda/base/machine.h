// machine.h: what this process may use of the machine: cores, memory, and the processor's name.
#pragma once

#include <stdint.h>

namespace ignis {

// Physical cores in the affinity mask, at most the processor time that the cgroups (v2 or v1) allow, at least 1.
uint32_t usable_cores();
// Memory of the machine, or of the tightest cgroup.
uint64_t usable_memory_bytes();
// The processor's brand string.
void processor_name(char name[96]);

}  // namespace ignis
