#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/machine.h"
#include "../base/status.h"
#include "../base/time.h"
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

// NUM_ISAS where the environment names none of this machine's.
static uint32_t choose_isa() {
  const uint32_t best = static_cast<uint32_t>(best_isa());
  const char *wanted = getenv("IGNIS_ISA");
  if (!wanted) return best;
  for (uint32_t i = 0; i <= best; i++)
    if (strcmp(wanted, NAMES[i]) == 0) return i;
  return NUM_ISAS;
}

static uint32_t chosen() {
  static int32_t kept = -1;
  int32_t isa = __atomic_load_n(&kept, __ATOMIC_RELAXED);
  if (isa < 0) {  // two threads that race here find the same answer
    isa = static_cast<int32_t>(choose_isa());
    __atomic_store_n(&kept, isa, __ATOMIC_RELAXED);
  }
  return static_cast<uint32_t>(isa);
}

Isa isa_chosen() {
  const uint32_t isa = chosen();
  return isa < NUM_ISAS ? static_cast<Isa>(isa) : best_isa();
}

// A word of the operator's that cannot be gone by is refused before anything runs on another set.
static ignis_status check_isa() {
  if (chosen() < NUM_ISAS) return IGNIS_OK;
  char had[96];
  int length = 0;
  for (uint32_t i = 0; i <= static_cast<uint32_t>(best_isa()); i++)
    length += snprintf(had + length, sizeof had - static_cast<size_t>(length), i ? ", %s" : "%s", NAMES[i]);
  const char *wanted = getenv("IGNIS_ISA");
  return fail(IGNIS_INVALID, "IGNIS_ISA is %.40s; this machine has %s", wanted ? wanted : "another", had);
}

const char *isa_name(Isa isa) { return NAMES[static_cast<uint32_t>(isa)]; }

ignis_status device_probe(ignis_device_info *info) {
  const ignis_status status = check_isa();
  if (status != IGNIS_OK) return status;
  info->num_cores = usable_cores();
  info->memory_bytes = info->free_bytes = usable_memory_bytes();
  processor_name(info->name);
  snprintf(info->isa, sizeof info->isa, "%s", isa_name(isa_chosen()));
  info->phases_agree = 1;
  return IGNIS_OK;
}

ignis_status device_open(Device **device, uint32_t num_threads) {
  const ignis_status status = check_isa();
  if (status != IGNIS_OK) return status;
  Device *made = static_cast<Device *>(calloc(1, sizeof(Device)));
  if (!made) return fail(IGNIS_NO_MEMORY, "no memory for the device's record");
  made->isa = isa_chosen();
  made->pool = thread_pool_start(num_threads ? num_threads : usable_cores());
  if (!made->pool) {
    free(made);
    return fail(IGNIS_NO_MEMORY, "the system refuses %u threads", num_threads - 1);
  }
  *device = made;
  return IGNIS_OK;
}

void device_close(Device *device) {
  if (!device) return;
  thread_pool_stop(device->pool);
  free(device);
}

bool memory_open(Device &, Arena *arena, uint64_t size_bytes) { return arena_open(arena, size_bytes); }
void memory_close(Device &, Arena *arena) { arena_close(arena); }

bool host_open(Device &, Arena *arena, uint64_t size_bytes) { return arena_open(arena, size_bytes); }
void host_close(Device &, Arena *arena) { arena_close(arena); }

void copy_out(Device &, void *to, const void *from, uint64_t size_bytes) { memcpy(to, from, size_bytes); }

void upload(Device &, void *to, const void *from, uint64_t size_bytes) { memcpy(to, from, size_bytes); }

void copy(Device &, void *to, const void *from, uint64_t size_bytes) { memcpy(to, from, size_bytes); }

ignis_status wait(Device &device) {
  if (device.begun_s != 0) device.step_s = now_s() - device.begun_s;
  device.begun_s = 0;
  return IGNIS_OK;
}

ignis_status download(Device &device, void *to, const void *from, uint64_t size_bytes) {
  memcpy(to, from, size_bytes);
  return wait(device);
}

// The host is the device, and waits for itself.
void step_times(Device &device, ignis_step_times *times) { times->wait_s = times->device_s = device.step_s; }

// A call is done when it returns: there is nothing to keep.
bool record_begin(Device &, uint32_t) { return false; }
ignis_status record_end(Device &, uint32_t) { return IGNIS_OK; }
bool replay(Device &, uint32_t) { return false; }
bool is_recorded(const Device &, uint32_t) { return false; }
uint64_t recorded_bytes(uint32_t, uint32_t) { return 0; }

// The operators read the caller's memory.
uint64_t step_bytes(const StepLimits &) { return 0; }
void step_place(Device &, const StepLimits &, void *) {}
// Both phases have the same kernels here, and read the caller's memory.
void step_begin(Device &device, const StepInputs &) { device.begun_s = now_s(); }
// Nothing is replayed here.
void step_ahead(Device &, const ignis_draw *, uint32_t) {}
ignis_status step_kept(Device &, ignis_draw *, uint32_t) { return fail(IGNIS_FAULT, "no round is kept on the CPU"); }

}  // namespace ignis
