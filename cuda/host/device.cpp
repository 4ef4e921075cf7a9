#include "device.h"

#include <stdlib.h>
#include <string.h>

#include "../ops/ops.h"

namespace ignis {

static const char *const NAMES[NUM_ISAS] = {"portable", "avx2", "avx512", "avx512-vnni", "avx512-vnni-bf16"};

static Isa best_isa() {
  __builtin_cpu_init();
  // The flags that -march=x86-64-v3 and -v4 let the compiler use.
  const bool has_v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                      __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("x86-64-v3");
  if (!has_v3) return Isa::PORTABLE;
  if (!__builtin_cpu_supports("x86-64-v4")) return Isa::AVX2;
  if (!__builtin_cpu_supports("avx512vnni")) return Isa::AVX512;
  return __builtin_cpu_supports("avx512bf16") ? Isa::AVX512_VNNI_BF16 : Isa::AVX512_VNNI;
}

static Isa choose_isa() {
  const Isa best = best_isa();
  const char *wanted = getenv("IGNIS_ISA");
  if (!wanted) return best;
  for (uint32_t i = 0; i <= static_cast<uint32_t>(best); i++)
    if (strcmp(wanted, NAMES[i]) == 0) return static_cast<Isa>(i);
  return best;
}

Isa isa_chosen() {
  static int32_t chosen = -1;
  int32_t isa = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
  if (isa < 0) {  // two threads that race here find the same answer
    isa = static_cast<int32_t>(choose_isa());
    __atomic_store_n(&chosen, isa, __ATOMIC_RELAXED);
  }
  return static_cast<Isa>(isa);
}

const char *isa_name(Isa isa) { return NAMES[static_cast<uint32_t>(isa)]; }

Device *device_open(uint32_t num_threads) {
  Device *device = static_cast<Device *>(calloc(1, sizeof(Device)));
  if (!device) return nullptr;
  device->isa = isa_chosen();
  device->pool = thread_pool_start(num_threads);
  if (device->pool) return device;
  free(device);
  return nullptr;
}

void device_close(Device *device) {
  if (!device) return;
  thread_pool_stop(device->pool);
  free(device);
}

const char *device_isa() { return isa_name(isa_chosen()); }

}  // namespace ignis
