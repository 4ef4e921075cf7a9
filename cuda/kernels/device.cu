// device.cu: the card: finding one, its memory, its stream, and the rounds that are kept as graphs.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/machine.h"
#include "../base/status.h"
#include "../base/thread_pool.h"
#include "context.h"
#include "device.h"
#include "inputs.h"
#include "sampling.h"
#include "store.h"
#include "target.h"

namespace ignis {

// Why there is no card to be had. A run time without a driver calls that a driver that is too old: so the driver is looked for first.
static ignis_status no_device(cudaError_t error) {
  if (void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL)) {
    dlclose(driver);
  } else {
    return fail(IGNIS_NO_DEVICE, "no NVIDIA driver: libcuda.so.1 cannot be loaded");
  }
  int driver_version = 0, own_version = 0;
  cudaDriverGetVersion(&driver_version);
  cudaRuntimeGetVersion(&own_version);
  if (error == cudaErrorInsufficientDriver || driver_version < own_version / 1000 * 1000)
    return fail(IGNIS_NO_DEVICE, "the NVIDIA driver is too old: it knows CUDA %d.%d, and %d.0 is needed", driver_version / 1000,
                driver_version % 1000 / 10, own_version / 1000);
  if (error == cudaErrorNoDevice || error == cudaSuccess) return fail(IGNIS_NO_DEVICE, "the NVIDIA driver shows no card");
  return fail(IGNIS_NO_DEVICE, "the NVIDIA driver refuses: %s", cudaGetErrorString(error));
}

// The first visible card, if this library has code for it.
static ignis_status find(cudaDeviceProp *properties, cudaFuncAttributes *attributes) {
  context_prepare();
  int num = 0;
  cudaError_t error = cudaGetDeviceCount(&num);
  if (error != cudaSuccess || num == 0) return no_device(error);
  error = cudaGetDeviceProperties(properties, 0);
  if (error != cudaSuccess) return fail(IGNIS_NO_DEVICE, "the first card does not answer: %s", cudaGetErrorString(error));
  error = context_open();
  if (error == cudaSuccess) error = probe_kernel_attributes(attributes);
  if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction || error == cudaErrorUnsupportedPtxVersion)
    return fail(IGNIS_NO_DEVICE, "%s is an sm_%d%d, which this build has no code for", properties->name, properties->major, properties->minor);
  if (error != cudaSuccess && is_context_lost())
    return fail(IGNIS_NO_DEVICE, "a kernel broke this process's context on the card, and the driver gives it no other: start the server again");
  if (error != cudaSuccess) return fail(IGNIS_NO_DEVICE, "%s does not answer: %s", properties->name, cudaGetErrorString(error));
  const uint32_t code = static_cast<uint32_t>(attributes->ptxVersion);
  if (!has_shared_for(code, properties->sharedMemPerBlockOptin))
    return fail(IGNIS_NO_DEVICE, "%s is an sm_%d%d, which this build has no code for: that for sm_%u takes %u KB of shared memory a block, and it gives %zu",
                properties->name, properties->major, properties->minor, code, shared_kb(code), properties->sharedMemPerBlockOptin / 1024);
  return IGNIS_OK;
}

// The same. What a refusal left behind in the run time is not the next load's error.
static ignis_status choose(cudaDeviceProp *properties, cudaFuncAttributes *attributes) {
  const ignis_status status = find(properties, attributes);
  if (status != IGNIS_OK) cudaGetLastError();
  return status;
}

ignis_status device_probe(ignis_device_info *info) {
  cudaDeviceProp properties;
  cudaFuncAttributes attributes;
  const ignis_status status = choose(&properties, &attributes);
  if (status != IGNIS_OK) return status;
  size_t free_bytes = 0, total_bytes = 0;
  const cudaError_t error = cudaMemGetInfo(&free_bytes, &total_bytes);
  if (error != cudaSuccess) {
    cudaGetLastError();
    return fail(IGNIS_NO_DEVICE, "%s does not tell its memory: %s", properties.name, cudaGetErrorString(error));
  }
  info->num_cores = static_cast<uint32_t>(properties.multiProcessorCount);
  info->memory_bytes = total_bytes;
  info->context_bytes = context_bytes();
  info->free_bytes = free_bytes + info->context_bytes;
  info->has_own_memory = 1;
  info->gains_ahead = 1;
  info->phases_agree = 0;  // each phase has kernels of its own (spec/adr/0012)
  snprintf(info->name, sizeof info->name, "%.95s", properties.name);
  snprintf(info->isa, sizeof info->isa, "sm_%d%d", properties.major, properties.minor);
  return IGNIS_OK;
}

ignis_status device_open(Device **result, uint32_t) {
  cudaDeviceProp properties;
  cudaFuncAttributes attributes;
  const ignis_status status = choose(&properties, &attributes);
  if (status != IGNIS_OK) return status;
  Device *device = static_cast<Device *>(calloc(1, sizeof(Device)));
  if (!device) return fail(IGNIS_NO_MEMORY, "no memory for the device's record");
  device->code = static_cast<uint32_t>(attributes.ptxVersion);
  device->num_multiprocessors = properties.multiProcessorCount;
  const cudaError_t error = cudaStreamCreateWithFlags(&device->stream, cudaStreamNonBlocking);
  if (error != cudaSuccess) {
    cudaGetLastError();
    free(device);
    return fail(IGNIS_NO_MEMORY, "the driver refuses a stream: %s", cudaGetErrorString(error));
  }
  if (const cudaError_t refusal = sampling_open(device); refusal != cudaSuccess) {
    device_close(device);
    return fail(IGNIS_NO_MEMORY, "the driver refuses the sampling kernels: %s", cudaGetErrorString(refusal));
  }
  *result = device;
  return IGNIS_OK;
}

void device_close(Device *device) {
  if (!device) return;
  for (cudaGraphExec_t round : device->rounds)
    if (round) cudaGraphExecDestroy(round);
  store_close(device);
  inputs_close(device);
  sampling_close(device);
  cudaStreamDestroy(device->stream);
  context_mend();  // what was wrong with this device is not the next one's concern
  free(device);
}

bool memory_open(Device &device, Arena *arena, uint64_t size_bytes) {
  *arena = Arena{};
  if (size_bytes == 0) return true;
  void *base = nullptr;
  if (cudaMalloc(&base, size_bytes) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  arena->base = static_cast<uint8_t *>(base);
  arena->size_bytes = size_bytes;
  IGNIS_CUDA(device, cudaMemsetAsync(base, 0, size_bytes, device.stream));
  return true;
}

void memory_close(Device &device, Arena *arena) {
  if (arena->base) {
    cudaStreamSynchronize(device.stream);
    cudaFree(arena->base);
  }
  *arena = Arena{};
}

// Has the system give an arena its memory, which one thread zeroes at 4 GB/s.
static void touch(const Arena &arena) {
  static constexpr uint64_t PART_BYTES = 32 << 20, STRIDE = 4096;
  static constexpr uint32_t MAX_THREADS = 8;
  const uint32_t cores = usable_cores();
  ThreadPool *pool = thread_pool_start(cores < MAX_THREADS ? cores : MAX_THREADS);
  if (!pool) return;  // then the driver's one thread does it
  parallel(*pool, static_cast<uint32_t>((arena.size_bytes + PART_BYTES - 1) / PART_BYTES), [&](uint32_t part, uint32_t) {
    const uint64_t first = part * PART_BYTES, rest = arena.size_bytes - first;
    for (uint64_t at = 0; at < (rest < PART_BYTES ? rest : PART_BYTES); at += STRIDE) *(volatile uint8_t *)(arena.base + first + at) = 0;
  });
  thread_pool_stop(pool);
}

// Ordinary memory in large pages, pinned afterwards: half the time of the driver's own.
bool host_open(Device &, Arena *arena, uint64_t size_bytes) {
  if (!arena_open(arena, size_bytes)) return false;
  touch(*arena);
  if (size_bytes == 0 || cudaHostRegister(arena->base, size_bytes, cudaHostRegisterDefault) == cudaSuccess) return true;
  cudaGetLastError();
  arena_close(arena);
  return false;
}

void host_close(Device &device, Arena *arena) {
  if (arena->base) {
    cudaStreamSynchronize(device.stream);
    cudaHostUnregister(arena->base);
  }
  arena_close(arena);
}

void copy_out(Device &device, void *to, const void *from, uint64_t size_bytes) {
  IGNIS_CUDA(device, cudaMemcpyAsync(to, from, size_bytes, cudaMemcpyDeviceToHost, device.stream));
}

// Ordinary memory is read before the call returns: the driver copies it to a buffer of its own.
void upload(Device &device, void *to, const void *from, uint64_t size_bytes) {
  IGNIS_CUDA(device, cudaMemcpyAsync(to, from, size_bytes, cudaMemcpyHostToDevice, device.stream));
}

void copy(Device &device, void *to, const void *from, uint64_t size_bytes) {
  IGNIS_CUDA(device, cudaMemcpyAsync(to, from, size_bytes, cudaMemcpyDeviceToDevice, device.stream));
}

// Whether all went well so far.
static ignis_status verdict(const Device &device) {
  if (device.error == cudaSuccess) return IGNIS_OK;
  const ignis_status status = device.error == cudaErrorMemoryAllocation ? IGNIS_NO_MEMORY : IGNIS_FAULT;
  return fail(status, "the card failed in %s: %s", device.error_place, cudaGetErrorString(device.error));
}

ignis_status wait(Device &device) {
  step_waiting(device);
  const cudaError_t error = cudaStreamSynchronize(device.stream);
  step_done(device);
  keep(device, error, "a kernel of this step");
  return verdict(device);
}

ignis_status step_kept(Device &device, ignis_draw *draws, uint32_t num) {
  step_waiting(device);
  const cudaError_t error = cudaEventSynchronize(inputs_ready(device));
  step_done(device);
  keep(device, error, "a kernel of this step");
  const ignis_status status = verdict(device);
  if (status == IGNIS_OK) memcpy(draws, inputs_bounce(device, num * sizeof(ignis_draw)), num * sizeof(ignis_draw));
  return status;
}

ignis_status download(Device &device, void *to, const void *from, uint64_t size_bytes) {
  step_waiting(device);
  if (void *pinned = inputs_bounce(device, size_bytes)) {
    IGNIS_CUDA(device, cudaMemcpyAsync(pinned, from, size_bytes, cudaMemcpyDeviceToHost, device.stream));
    const ignis_status status = wait(device);
    if (status == IGNIS_OK) memcpy(to, pinned, size_bytes);
    return status;
  }
  IGNIS_CUDA(device, cudaMemcpyAsync(to, from, size_bytes, cudaMemcpyDeviceToHost, device.stream));
  return wait(device);
}

bool record_begin(Device &device, uint32_t) {
  device.phase = Phase::decode;
  IGNIS_CUDA(device, cudaStreamBeginCapture(device.stream, cudaStreamCaptureModeRelaxed));
  return true;
}

ignis_status record_end(Device &device, uint32_t key) {
  cudaGraph_t graph = nullptr;
  IGNIS_CUDA(device, cudaStreamEndCapture(device.stream, &graph));
  if (graph) {
    IGNIS_CUDA(device, cudaGraphInstantiate(&device.rounds[key], graph, 0));
    cudaGraphDestroy(graph);
    if (device.rounds[key]) IGNIS_CUDA(device, cudaGraphUpload(device.rounds[key], device.stream));
  }
  return wait(device);
}

bool is_recorded(const Device &device, uint32_t key) { return device.rounds[key] != nullptr; }

// Qwen3-8B: eight graphs and the stream's own memory took 10 MiB, of 13 allowed.
uint64_t recorded_bytes(uint32_t num_layers, uint32_t num_keys) {
  static constexpr uint64_t LAYER_BYTES = 16 << 10, KEY_BYTES = 1 << 20;
  return num_keys * (KEY_BYTES + num_layers * LAYER_BYTES);
}

bool replay(Device &device, uint32_t key) {
  if (!device.rounds[key]) return false;
  IGNIS_CUDA(device, cudaGraphLaunch(device.rounds[key], device.stream));
  step_queued(device);
  return true;
}

}  // namespace ignis
