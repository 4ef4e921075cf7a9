// context.cu: the driver tells of free memory only through a context, which has taken its part by then. What there was before is read
// through its management library (NVML), which needs none.
#include "context.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdlib.h>

namespace ignis {

// The context is the process's, not a model's, and so is what it took.
static uint64_t taken_bytes = 0;

static bool is_lost = false;

// More than any context takes: then somebody else took memory at the same time.
static constexpr uint64_t MOST_BYTES = uint64_t{4} << 30;

struct NvmlMemory {  // nvmlMemory_t
  unsigned long long total, free, used;
};

// Free bytes of the first card; 0 where the library is not there or does not know the card.
static uint64_t free_without_context() {
  void *library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (!library) return 0;
  const auto init = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
  const auto shutdown = reinterpret_cast<int (*)()>(dlsym(library, "nvmlShutdown"));
  const auto find = reinterpret_cast<int (*)(const char *, void **)>(dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2"));
  const auto memory_of = reinterpret_cast<int (*)(void *, NvmlMemory *)>(dlsym(library, "nvmlDeviceGetMemoryInfo"));
  uint64_t free_bytes = 0;
  if (init && shutdown && find && memory_of && init() == 0) {
    char bus[64] = "";
    void *card = nullptr;
    NvmlMemory memory{};
    if (cudaDeviceGetPCIBusId(bus, sizeof bus, 0) == cudaSuccess && find(bus, &card) == 0 && memory_of(card, &memory) == 0)
      free_bytes = memory.free;
    shutdown();
  }
  dlclose(library);
  return free_bytes;
}

static bool is_open() {
  void *function = nullptr;
  cudaDriverEntryPointQueryResult found;
  if (cudaGetDriverEntryPointByVersion("cuDevicePrimaryCtxGetState", &function, 12000, cudaEnableDefault, &found) != cudaSuccess) return true;
  if (found != cudaDriverEntryPointSuccess) return true;
  unsigned flags = 0;
  int is_active = 1;
  return reinterpret_cast<CUresult (*)(CUdevice, unsigned *, int *)>(function)(0, &flags, &is_active) != CUDA_SUCCESS || is_active != 0;
}

// Kernels are put on the card with the context: one that came with its first launch would take memory while we serve.
void context_prepare() {
  static bool is_done = false;
  if (!__atomic_exchange_n(&is_done, true, __ATOMIC_RELAXED)) setenv("CUDA_MODULE_LOADING", "EAGER", 0);
}

cudaError_t context_open() {
  if (is_open()) return cudaSetDevice(0);
  const uint64_t before = free_without_context();
  cudaError_t error = cudaSetDevice(0);
  if (error == cudaSuccess) error = cudaFree(nullptr);  // an older run time makes the context with the first call that needs it
  const uint64_t after = before && error == cudaSuccess ? free_without_context() : 0;
  __atomic_store_n(&taken_bytes, after && before > after && before - after < MOST_BYTES ? before - after : 0, __ATOMIC_RELAXED);
  return error;
}

uint64_t context_bytes() { return __atomic_load_n(&taken_bytes, __ATOMIC_RELAXED); }

void context_mend() {
  cudaGetLastError();
  // An error that is still there after it was taken is the context's own.
  if (cudaDeviceSynchronize() == cudaSuccess) return;
  cudaDeviceReset();
  cudaGetLastError();
  __atomic_store_n(&is_lost, true, __ATOMIC_RELAXED);
}

bool is_context_lost() { return __atomic_load_n(&is_lost, __ATOMIC_RELAXED); }

}  // namespace ignis
