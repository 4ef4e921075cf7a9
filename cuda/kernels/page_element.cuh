// page_element.cuh: the types that K and V have in pages, and what the tensor cores multiply them as.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <stdint.h>

namespace ignis {

// Rounded to nearest; e4m3 has no infinity, and larger numbers become its largest, 448.
static __device__ __forceinline__ void put(float *to, float value) { *to = value; }
static __device__ __forceinline__ void put(__half *to, float value) { *to = __float2half_rn(value); }
static __device__ __forceinline__ void put(__nv_bfloat16 *to, float value) { *to = __float2bfloat16_rn(value); }
static __device__ __forceinline__ void put(__nv_fp8_e4m3 *to, float value) {
  to->__x = __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3);
}

// Operands have eleven bits, or eight beside bfloat16 pages. An e4m3 number is a float16 number.
template <class Element>
struct OperandOf {
  using type = __half;
};
template <>
struct OperandOf<__nv_bfloat16> {
  using type = __nv_bfloat16;
};

static __device__ __forceinline__ uint32_t packed_pair(float low, float high, __half) {
  const __half2 pair = __floats2half2_rn(low, high);
  return *reinterpret_cast<const uint32_t *>(&pair);
}
static __device__ __forceinline__ uint32_t packed_pair(float low, float high, __nv_bfloat16) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t *>(&pair);
}

// Two e4m3 numbers as two of float16.
static __device__ __forceinline__ uint32_t widened_pair(uint32_t two) {
  const __half2_raw pair = __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(two & 0xffffu), __NV_E4M3);
  return static_cast<uint32_t>(pair.x) | static_cast<uint32_t>(pair.y) << 16;
}
// The same times 2^-8, whose bits are those of the code: bytes 2 half and 2 half + 1 of `four`. On sm_90 the conversion would make a
// round of fp8 pages 40 % slower than this; a kernel whose other units are busy takes the conversion.
inline constexpr float LOWERED = 256.0f;
template <uint32_t HALF>
static __device__ __forceinline__ uint32_t lowered_pair(uint32_t four) {
  const uint32_t v = __byte_perm(four, 0, HALF ? 0x4342 : 0x4140);
  return (v + (v & 0x00800080u)) * 128u;  // the sign goes from bit 7 to bit 8, past the exponent's highest
}

// 2 to the power x, which is at most 0; below -126 it is 0.
static __device__ __forceinline__ float power_of_two(float x) {
  float result;
  asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

}  // namespace ignis
