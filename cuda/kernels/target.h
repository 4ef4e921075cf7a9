// target.h: what the architecture that code was compiled for gives a block. Kernels ask with __CUDA_ARCH__ / 10, whoever launches them with
// Device::code: the two agree, while the card itself may be a later one that runs this code.
#pragma once

#include <cuda_runtime.h>
#include <stdint.h>

namespace ignis {

// KB of shared memory that one block may have. A multiprocessor has 1 KB more for all of its blocks together, and each of them costs it 1.
__host__ __device__ constexpr uint32_t shared_kb(uint32_t code) { return code >= 90 && code < 120 ? 227 : code == 80 ? 163 : 99; }
// What the library may be compiled for, but for PTX, which is 89's.
inline constexpr uint32_t TARGETS[] = {80, 86, 89, 90, 100, 120};

// What this code is compiled for. The host's own pass never runs a kernel's body.
#if defined(__CUDA_ARCH__)
inline constexpr uint32_t TARGET = __CUDA_ARCH__ / 10;
#else
inline constexpr uint32_t TARGET = 90;
#endif

// Bytes for each of so many blocks that are to share a multiprocessor.
__host__ __device__ constexpr uint32_t shared_bytes_of(uint32_t code, uint32_t blocks) {
  return ((shared_kb(code) + 1) / blocks - 1) * 1024;
}

// Whether what a block takes, as a function of the target, fits each of them.
template <class Bytes>
constexpr bool fits_everywhere(const Bytes &bytes) {
  for (const uint32_t code : TARGETS)
    if (bytes(code) > shared_bytes_of(code, 1)) return false;
  return true;
}

// Whether a card whose blocks may have so much runs the code of a target: code for 8.0 loads on an 8.6 and 8.9, which have less.
__host__ __device__ constexpr bool has_shared_for(uint32_t code, uint64_t block_bytes) { return block_bytes >= shared_bytes_of(code, 1); }
static_assert(has_shared_for(80, 163 << 10) && !has_shared_for(80, 99 << 10));
static_assert(has_shared_for(86, 99 << 10) && has_shared_for(89, 99 << 10) && has_shared_for(89, 227 << 10) && has_shared_for(120, 99 << 10));

// Whether kernels wait for the one before by griddepcontrol, and so may be launched before its end.
__host__ __device__ constexpr bool overlaps_launches(uint32_t code) { return code >= 90; }

}  // namespace ignis
