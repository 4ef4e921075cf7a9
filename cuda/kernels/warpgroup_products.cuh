// warpgroup_products.cuh: c (+)= a b on sm_90's wgmma: a of 64 rows from registers, b of N rows from shared memory, sixteen columns, both
// float16 or bfloat16.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

#include "warpgroup.cuh"

namespace ignis {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

static __device__ __forceinline__ void products_wait_unscaled() {
  asm volatile("wgmma.wait_group.sync.aligned 0;  // where nothing is scaled" ::: "memory");
}
// As keep_operand: products write their results until they are waited for. Named here, behind the wait, they are not read before.
template <uint32_t NUM>
static __device__ __forceinline__ void keep_result(float (&c)[NUM]) {
#pragma unroll
  for (uint32_t i = 0; i < NUM; i++) asm volatile("" : "+f"(c[i])::"memory");
}

#define IGNIS_F8(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define IGNIS_RESULTS(d, i) IGNIS_F8(d, i), IGNIS_F8(d, i + 8), IGNIS_F8(d, i + 16), IGNIS_F8(d, i + 24)

static __device__ __forceinline__ void multiply_group(float (&c)[64], const uint32_t (&a)[4], uint64_t b, uint32_t adds, __half) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\nwgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "{%64, %65, %66, %67}, %68, p, 1, 1, 0;\n}"
      : IGNIS_RESULTS(c, 0), IGNIS_RESULTS(c, 32)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}
static __device__ __forceinline__ void multiply_group(float (&c)[32], const uint32_t (&a)[4], uint64_t b, uint32_t adds, __half) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\nwgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "{%32, %33, %34, %35}, %36, p, 1, 1, 0;\n}"
      : IGNIS_RESULTS(c, 0)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}
static __device__ __forceinline__ void multiply_group(float (&c)[64], const uint32_t (&a)[4], uint64_t b, uint32_t adds, __nv_bfloat16) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\nwgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "{%64, %65, %66, %67}, %68, p, 1, 1, 0;\n}"
      : IGNIS_RESULTS(c, 0), IGNIS_RESULTS(c, 32)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}
static __device__ __forceinline__ void multiply_group(float (&c)[32], const uint32_t (&a)[4], uint64_t b, uint32_t adds, __nv_bfloat16) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\nwgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "{%32, %33, %34, %35}, %36, p, 1, 1, 0;\n}"
      : IGNIS_RESULTS(c, 0)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}
#undef IGNIS_RESULTS
#undef IGNIS_F8

#endif

}  // namespace ignis
