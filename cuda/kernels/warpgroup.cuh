// warpgroup.cuh: what sm_90 has for products of large tiles, beside barrier.cuh: copies of tiles to memory, and wgmma with the first operand
// in registers. A warpgroup is four warps; its 64 rows are four tiles of sixteen, a warp's each.
#pragma once

#include <stdint.h>

#include "barrier.cuh"

namespace ignis {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// From shared memory to the tile of a matrix of float32 at (column, row), or added there. What lies outside the matrix is left out. One
// thread starts a copy, and waits for it.
static __device__ __forceinline__ void store_tile(const void *map, uint32_t column, uint32_t row, const void *shared, bool adds) {
  if (adds)
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(column), "r"(row),
                 "r"(shared_address(shared))
                 : "memory");
  else
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(column), "r"(row),
                 "r"(shared_address(shared))
                 : "memory");
}
static __device__ __forceinline__ void stores_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Until all but the latest NUM have been read from shared memory.
template <uint32_t NUM>
static __device__ __forceinline__ void stores_wait() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(NUM) : "memory");
}
static __device__ __forceinline__ void stores_wait_all() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
// A barrier of the 128 threads of a warpgroup; 0 is __syncthreads'.
static __device__ __forceinline__ void group_sync(uint32_t barrier) { asm volatile("bar.sync %0, 128;" ::"r"(barrier) : "memory"); }

// The second operand in shared memory: rows of 128 bytes, 64 columns of which `address` says the first, whose eight pieces of 16 bytes
// are exchanged by the row's number in its group of eight (the 128-byte swizzle). `address` lies in the first row of a multiple of 1024.
static __device__ __forceinline__ uint64_t swizzled_operand(uint32_t address) {
  return uint64_t{(address & 0x3ffffu) >> 4} | uint64_t{1} << 16 | uint64_t{1024 >> 4} << 32 | uint64_t{1} << 62;
}

static __device__ __forceinline__ void products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
static __device__ __forceinline__ void products_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <uint32_t NUM>
static __device__ __forceinline__ void products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(NUM) : "memory");
}

// Products read their A registers until they are waited for; the compiler does not know. Named here, behind the wait, they are not given
// away before.
static __device__ __forceinline__ void keep_operand(const uint32_t (&a)[4]) {
  asm volatile("" ::"r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]) : "memory");
}

#define IGNIS_F4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define IGNIS_F8(d, i) IGNIS_F4(d, i), IGNIS_F4(d, i + 4)

// c (+)= a b, sixteen columns; adds is 0 where c starts. As many tokens as c has room for: 8 to 256.
static __device__ __forceinline__ void group_multiply(float (&c)[4], const uint32_t (&a)[4], uint64_t b, uint32_t adds) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %9, 0;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {"
      "%0, %1, %2, %3"
      "}, {%4, %5, %6, %7}, %8, p, 1, 1, 0;\n}"
      : IGNIS_F4(c, 0)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}

static __device__ __forceinline__ void group_multiply(float (&c)[8], const uint32_t (&a)[4], uint64_t b, uint32_t adds) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %13, 0;\nwgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7"
      "}, {%8, %9, %10, %11}, %12, p, 1, 1, 0;\n}"
      : IGNIS_F8(c, 0)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}

static __device__ __forceinline__ void group_multiply(float (&c)[16], const uint32_t (&a)[4], uint64_t b, uint32_t adds) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %21, 0;\nwgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
      "}, {%16, %17, %18, %19}, %20, p, 1, 1, 0;\n}"
      : IGNIS_F8(c, 0), IGNIS_F8(c, 8)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}

static __device__ __forceinline__ void group_multiply(float (&c)[32], const uint32_t (&a)[4], uint64_t b, uint32_t adds) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\nwgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31"
      "}, {%32, %33, %34, %35}, %36, p, 1, 1, 0;\n}"
      : IGNIS_F8(c, 0), IGNIS_F8(c, 8), IGNIS_F8(c, 16), IGNIS_F8(c, 24)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}

static __device__ __forceinline__ void group_multiply(float (&c)[64], const uint32_t (&a)[4], uint64_t b, uint32_t adds) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\nwgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, "
      "%46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
      "}, {%64, %65, %66, %67}, %68, p, 1, 1, 0;\n}"
      : IGNIS_F8(c, 0), IGNIS_F8(c, 8), IGNIS_F8(c, 16), IGNIS_F8(c, 24), IGNIS_F8(c, 32), IGNIS_F8(c, 40), IGNIS_F8(c, 48),
        IGNIS_F8(c, 56)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}

static __device__ __forceinline__ void group_multiply(float (&c)[128], const uint32_t (&a)[4], uint64_t b, uint32_t adds) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %133, 0;\nwgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, "
      "%46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, "
      "%68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, "
      "%90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, "
      "%110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
      "}, {%128, %129, %130, %131}, %132, p, 1, 1, 0;\n}"
      : IGNIS_F8(c, 0), IGNIS_F8(c, 8), IGNIS_F8(c, 16), IGNIS_F8(c, 24), IGNIS_F8(c, 32), IGNIS_F8(c, 40), IGNIS_F8(c, 48),
        IGNIS_F8(c, 56), IGNIS_F8(c, 64), IGNIS_F8(c, 72), IGNIS_F8(c, 80), IGNIS_F8(c, 88), IGNIS_F8(c, 96),
        IGNIS_F8(c, 104), IGNIS_F8(c, 112), IGNIS_F8(c, 120)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}

// The same of E4M3 codes, 32 columns.
static __device__ __forceinline__ void group_multiply_eight(float (&c)[4], const uint32_t (&a)[4], uint64_t b, uint32_t adds) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %9, 0;\nwgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {"
      "%0, %1, %2, %3"
      "}, {%4, %5, %6, %7}, %8, p, 1, 1;\n}"
      : IGNIS_F4(c, 0)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}

static __device__ __forceinline__ void group_multiply_eight(float (&c)[32], const uint32_t (&a)[4], uint64_t b, uint32_t adds) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\nwgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31"
      "}, {%32, %33, %34, %35}, %36, p, 1, 1;\n}"
      : IGNIS_F8(c, 0), IGNIS_F8(c, 8), IGNIS_F8(c, 16), IGNIS_F8(c, 24)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}

static __device__ __forceinline__ void group_multiply_eight(float (&c)[64], const uint32_t (&a)[4], uint64_t b, uint32_t adds) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\nwgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, "
      "%46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
      "}, {%64, %65, %66, %67}, %68, p, 1, 1;\n}"
      : IGNIS_F8(c, 0), IGNIS_F8(c, 8), IGNIS_F8(c, 16), IGNIS_F8(c, 24), IGNIS_F8(c, 32), IGNIS_F8(c, 40), IGNIS_F8(c, 48),
        IGNIS_F8(c, 56)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}

#undef IGNIS_F4
#undef IGNIS_F8

#endif

}  // namespace ignis
