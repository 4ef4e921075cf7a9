// linear_warpgroup.cuh: linear layers for many rows on sm_90: wgmma with weights from registers, activations from shared memory.
//
// A block owns 128 weight rows x TOKENS tokens: two warpgroups of 64 rows (a warp is a tile of 16, as it lies in memory) and one producer
// warp, which brings pieces of 64 columns by bulk copies through a ring. A warpgroup's A operand is made in registers by the code that
// makes mma.sync's, so types, slices and the order of every sum are linear_narrow.cuh's: the bits are the same (measured).
//
//   F16, BF16     a piece is one batch of products, the next one's operands are loaded meanwhile
//   other types   32 columns (Q6_K: 16) are a chain of their own, then a float32 multiply-add with their scales; the other warpgroup's
//                 products fill the pause
#pragma once

#include "linear_wide.cuh"

namespace ignis {

inline constexpr uint32_t GROUP_ROW_TILES = 8, GROUP_THREADS = 2 * 128 + 128;

template <ignis_dtype DTYPE, uint32_t PLANES, uint32_t TOKENS>
struct GroupStage {
  static constexpr uint32_t WEIGHTS = piece_bytes(DTYPE) + weight_layout(DTYPE).super_bytes;  // of a row tile
  static constexpr uint32_t INPUT = 2 * PLANES * 512;                                         // of a token tile
  static constexpr uint32_t SUMS = is_nibbles(DTYPE) ? 128 : 0;
  static constexpr uint32_t BYTES = GROUP_ROW_TILES * WEIGHTS + TOKENS / 8 * (INPUT + SUMS);
  static constexpr uint32_t STAGES = 225 * 1024 / BYTES < 6 ? 225 * 1024 / BYTES : 6;
  static constexpr uint32_t SHARED_BYTES = STAGES * BYTES + 128;
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

static __device__ __forceinline__ uint32_t shared_address(const void *p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
static __device__ __forceinline__ void barrier_init(uint64_t *barrier, uint32_t count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}
static __device__ __forceinline__ void barrier_expect(uint64_t *barrier, uint32_t size_bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(size_bytes) : "memory");
}
static __device__ __forceinline__ void barrier_arrive(uint64_t *barrier) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
static __device__ __forceinline__ void barrier_wait(uint64_t *barrier, uint32_t phase) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n@done bra stop;\nbra again;\nstop:\n}" ::"r"(
          shared_address(barrier)),
      "r"(phase)
      : "memory");
}
static __device__ __forceinline__ void bulk_copy(void *shared, const void *global, uint32_t size_bytes, uint64_t *barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_address(shared)),
               "l"(global), "r"(size_bytes), "r"(shared_address(barrier))
               : "memory");
}

// Eight tokens x 8 columns lie in 128 bytes; the second 8 columns 128 bytes further, the next 8 tokens `tile_bytes` further. No swizzle.
static __device__ __forceinline__ uint64_t operand(uint32_t address, uint32_t tile_bytes) {
  return uint64_t{(address & 0x3ffffu) >> 4} | uint64_t{128 >> 4} << 16 | uint64_t{tile_bytes >> 4} << 32;
}

static __device__ __forceinline__ void products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
static __device__ __forceinline__ void products_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <uint32_t NUM>
static __device__ __forceinline__ void products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(NUM) : "memory");
}

#define IGNIS_F8(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])

// c (+)= a b, sixteen columns; adds is 0 where c starts.
static __device__ __forceinline__ void group_multiply(float (&c)[64], const uint32_t a[4], uint64_t b, uint32_t adds) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, "
      "%40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "{%64, %65, %66, %67}, %68, p, 1, 1, 0;\n}"
      : IGNIS_F8(c, 0), IGNIS_F8(c, 8), IGNIS_F8(c, 16), IGNIS_F8(c, 24), IGNIS_F8(c, 32), IGNIS_F8(c, 40), IGNIS_F8(c, 48), IGNIS_F8(c, 56)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}
static __device__ __forceinline__ void group_multiply(float (&c)[32], const uint32_t a[4], uint64_t b, uint32_t adds) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, {%32, %33, %34, %35}, %36, p, 1, 1, 0;\n}"
      : IGNIS_F8(c, 0), IGNIS_F8(c, 8), IGNIS_F8(c, 16), IGNIS_F8(c, 24)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}
#undef IGNIS_F8

#endif

template <ignis_dtype DTYPE, uint32_t PLANES, uint32_t TOKENS>
static __global__ void __launch_bounds__(GROUP_THREADS, 1)
    group_kernel(const NarrowJobs jobs, const uint8_t *input, uint32_t T, uint32_t K) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using Stage = GroupStage<DTYPE, PLANES, TOKENS>;
  constexpr WeightLayout layout = weight_layout(DTYPE);
  constexpr uint32_t RECORD = record_bytes(DTYPE), PIECE = piece_bytes(DTYPE), PIECES = layout.record_cols / PIECE_COLS;
  constexpr uint32_t STAGES = Stage::STAGES, TOKEN_TILES = TOKENS / 8, NUM = TOKENS / 2;
  extern __shared__ __align__(16) uint8_t shared[];
  uint64_t *full = reinterpret_cast<uint64_t *>(shared + STAGES * Stage::BYTES), *empty = full + STAGES;
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;

  const uint32_t item = blockIdx.y, which = item < jobs.first_item[1] ? 0u : item < jobs.first_item[2] ? 1u : 2u;
  const NarrowJob &job = jobs.job[which];
  const uint32_t first_tile = (item - jobs.first_item[which]) * GROUP_ROW_TILES, last_tile = num_tiles(job.rows) - 1;
  const uint32_t records = num_records(DTYPE, K), slice_pieces = slice_records(records) * PIECES, pieces = records * PIECES;
  const InputLayout in = input_layout(T, K, PLANES);
  const uint32_t first_token_tile = blockIdx.x * TOKEN_TILES;

  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < STAGES; i++) {
      barrier_init(full + i, 1);
      barrier_init(empty + i, 8);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();

  if (warp >= 8) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (warp != 8) return;
    // Lane i < 8 is row tile i; every lane has a share of the token tiles. Tiles behind the last one are copies of it.
    const uint64_t tile_bytes = uint64_t{records} * RECORD;
    const uint32_t row_tile = first_tile + lane < last_tile ? first_tile + lane : last_tile;
    const uint8_t *weights = job.packed + row_tile * tile_bytes;
    const uint32_t token_tile = first_token_tile + lane < in.tiles ? first_token_tile + lane : in.tiles - 1;
    const uint8_t *inputs = input + token_tile * in.plane_tile_bytes, *sums = input + in.sums_offset + uint64_t{token_tile} * in.blocks * 64;
    for (uint32_t index = 0; index < pieces; index++) {
      const uint32_t stage = index % STAGES;
      uint8_t *target = shared + stage * Stage::BYTES;
      if (index >= STAGES) barrier_wait(empty + stage, (index / STAGES - 1) % 2);
      if (lane == 0) barrier_expect(full + stage, Stage::BYTES);
      __syncwarp();
      if (lane < GROUP_ROW_TILES) {
        const uint8_t *record = weights + uint64_t{index / PIECES} * RECORD;
        bulk_copy(target + lane * Stage::WEIGHTS, record + index % PIECES * PIECE, PIECE, full + stage);
        if constexpr (layout.super_bytes > 0) bulk_copy(target + lane * Stage::WEIGHTS + PIECE, record + PIECES * PIECE, layout.super_bytes, full + stage);
      }
      uint8_t *to = target + GROUP_ROW_TILES * Stage::WEIGHTS;
      if (lane < TOKEN_TILES) {
        bulk_copy(to + lane * Stage::INPUT, inputs + uint64_t{index} * Stage::INPUT, Stage::INPUT, full + stage);
        if constexpr (Stage::SUMS > 0) bulk_copy(to + TOKEN_TILES * Stage::INPUT + lane * 128, sums + uint64_t{index} * 128, 128, full + stage);
      }
    }
    return;
  }

  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  float acc[NUM], total[NUM];
#pragma unroll
  for (uint32_t i = 0; i < NUM; i++) acc[i] = total[i] = 0.0f;

  if constexpr (layout.has_row_scales) {
    uint32_t a[4][4], next[4][4];
    const auto load = [&](uint32_t (&to)[4][4], uint32_t index) {
      barrier_wait(full + index % STAGES, index / STAGES % 2);
      Piece<DTYPE> codes;
      codes.load(shared + index % STAGES * Stage::BYTES + warp * Stage::WEIGHTS, lane);
#pragma unroll
      for (uint32_t step = 0; step < 4; step++) codes.fragment(to[step], step);
    };
    load(a, 0);
    for (uint32_t start = 0; start < pieces; start += slice_pieces) {
      const uint32_t stop = start + slice_pieces < pieces ? start + slice_pieces : pieces;
      for (uint32_t index = start; index < stop; index++) {
        const uint32_t stage = index % STAGES, inputs = shared_address(shared + stage * Stage::BYTES + GROUP_ROW_TILES * Stage::WEIGHTS);
        products_begin();
#pragma unroll
        for (uint32_t block = 0; block < 2; block++)
#pragma unroll
          for (uint32_t p = 0; p < PLANES; p++)
#pragma unroll
            for (uint32_t step = 0; step < 2; step++)
              group_multiply(acc, a[2 * block + step], operand(inputs + (block * PLANES + p) * 512 + step * 256, Stage::INPUT),
                             index > start || block + p + step > 0);
        products_commit();
        if (index + 1 < pieces) load(next, index + 1);
        products_wait<0>();
        if (lane == 0) barrier_arrive(empty + stage);
#pragma unroll
        for (uint32_t step = 0; step < 4; step++)
#pragma unroll
          for (uint32_t i = 0; i < 4; i++) a[step][i] = next[step][i];
      }
#pragma unroll
      for (uint32_t i = 0; i < NUM; i++) total[i] += acc[i];
    }
  } else {
    uint32_t left = slice_pieces;
    for (uint32_t index = 0; index < pieces; index++) {
      const uint32_t stage = index % STAGES;
      const uint8_t *here = shared + stage * Stage::BYTES, *tile = here + warp * Stage::WEIGHTS;
      const uint8_t *sums = here + GROUP_ROW_TILES * Stage::WEIGHTS + TOKEN_TILES * Stage::INPUT + t * 16;
      const uint32_t inputs = shared_address(here + GROUP_ROW_TILES * Stage::WEIGHTS);
      barrier_wait(full + stage, index / STAGES % 2);
      Piece<DTYPE> codes;
      codes.load(tile, lane);
#pragma unroll
      for (uint32_t block = 0; block < 2; block++) {
        BlockScales<DTYPE> scales;
        scales.load(tile + layout.code_bytes + layout.high_bytes, tile + PIECE, block, g);
        uint32_t a[2][4];
        codes.fragment(a[0], 2 * block);
        codes.fragment(a[1], 2 * block + 1);
        constexpr float offset = -code_offset(DTYPE);
        float chain[NUM];
        const auto sums_of = [&](uint32_t n) { return *reinterpret_cast<const float4 *>(sums + n * 128 + block * 64); };
        if constexpr (DTYPE == IGNIS_Q6_K) {
#pragma unroll
          for (uint32_t step = 0; step < 2; step++) {
#pragma unroll
            for (uint32_t n = 0; n < TOKEN_TILES; n++) {
              const float4 s = sums_of(n);
              chain[4 * n] = chain[4 * n + 2] = offset * (step ? s.y : s.x);
              chain[4 * n + 1] = chain[4 * n + 3] = offset * (step ? s.w : s.z);
            }
            products_begin();
#pragma unroll
            for (uint32_t p = 0; p < PLANES; p++)
              group_multiply(chain, a[step], operand(inputs + (block * PLANES + p) * 512 + step * 256, Stage::INPUT), 1);
            products_commit();
            products_wait<0>();
#pragma unroll
            for (uint32_t i = 0; i < NUM; i++) acc[i] = fmaf(scales.scale[2 * step + i % 4 / 2], chain[i], acc[i]);
          }
        } else {
#pragma unroll
          for (uint32_t n = 0; n < TOKEN_TILES; n++) {
            if constexpr (offset != 0.0f) {
              const float4 s = sums_of(n);
              chain[4 * n] = chain[4 * n + 2] = offset * (s.x + s.y);
              chain[4 * n + 1] = chain[4 * n + 3] = offset * (s.z + s.w);
            } else {
              chain[4 * n] = chain[4 * n + 1] = chain[4 * n + 2] = chain[4 * n + 3] = 0.0f;
            }
          }
          products_begin();
#pragma unroll
          for (uint32_t p = 0; p < PLANES; p++)
#pragma unroll
            for (uint32_t step = 0; step < 2; step++)
              group_multiply(chain, a[step], operand(inputs + (block * PLANES + p) * 512 + step * 256, Stage::INPUT), 1);
          products_commit();
          products_wait<0>();
#pragma unroll
          for (uint32_t n = 0; n < TOKEN_TILES; n++) {
#pragma unroll
            for (uint32_t i = 0; i < 4; i++) acc[4 * n + i] = fmaf(scales.scale[i / 2], chain[4 * n + i], acc[4 * n + i]);
            if constexpr (has_minimum(DTYPE)) {
              const float4 s = sums_of(n);
              const float two[2] = {s.x + s.y, s.z + s.w};
#pragma unroll
              for (uint32_t i = 0; i < 4; i++) acc[4 * n + i] = fmaf(scales.minimum[i / 2], two[i % 2], acc[4 * n + i]);
            }
          }
        }
      }
      __syncwarp();
      if (lane == 0) barrier_arrive(empty + stage);
      if (--left == 0 || index + 1 == pieces) {
        left = slice_pieces;
#pragma unroll
        for (uint32_t i = 0; i < NUM; i++) {
          total[i] += acc[i];
          acc[i] = 0.0f;
        }
      }
    }
  }

  const float *token_scales = reinterpret_cast<const float *>(input + in.scales_offset);
#pragma unroll
  for (uint32_t half = 0; half < 2; half++) {
    const uint32_t row = (first_tile + warp) * TILE_ROWS + half * 8 + g;
    if (row >= job.rows) continue;
    const float factor = row_factor<DTYPE>(job.row_scales, row);
#pragma unroll
    for (uint32_t n = 0; n < TOKEN_TILES; n++)
#pragma unroll
      for (uint32_t e = 0; e < 2; e++) {
        const uint32_t token = (first_token_tile + n) * 8 + 2 * t + e;
        if (token >= T) continue;
        const float value = total[4 * n + half * 2 + e] * factor * token_scales[token];
        float *y = job.y + uint64_t{token} * job.ldy + row;
        *y = job.accumulates ? *y + value : value;
      }
  }
#endif
}

}  // namespace ignis
