// device.h: what the CPU operators know of the machine: its threads and the instruction set that was chosen for this process.
#pragma once

#include <stdint.h>

#include "../base/thread_pool.h"

namespace ignis {

// In rising order: each has what the ones before it have.
enum class Isa : uint32_t { PORTABLE, AVX2, AVX512, AVX512_VNNI, AVX512_VNNI_BF16 };
inline constexpr uint32_t NUM_ISAS = 5;

// The best that this machine has, or what the environment variable IGNIS_ISA names if the machine has it: probing and opening
// the device refuse another name. Decided once a process.
Isa isa_chosen();
const char *isa_name(Isa isa);

struct Store;

struct Device {
  ThreadPool *pool;
  Store *store;  // while weights are read
  Isa isa;
  double begun_s;  // the step under way
  double step_s;   // what the last one took
};

}  // namespace ignis
