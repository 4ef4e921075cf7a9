// linear_warpgroup.cuh: linear layers for many rows on sm_90: wgmma with weights from registers, activations from shared memory.
//
// A block owns 128 weight rows x TOKENS tokens: two warpgroups of 64 rows (a warp is a tile of 16, as it lies in memory) and four producer
// warps, which bring pieces of 64 columns by bulk copies through a ring. A warpgroup's A operand is made in registers by the code that
// makes mma.sync's, so types, slices and the order of every sum are linear_narrow.cuh's: the bits are the same (measured).
//
//   F16, BF16     a piece is one batch of products; two batches are under way, the next one's operands are loaded meanwhile
//   other types   32 columns (Q6_K: 16) are a chain of their own, then a float32 multiply-add with their scales, in two halves of the
//                 tokens that take turns
#pragma once

#include "linear_wide.cuh"

namespace ignis {

inline constexpr uint32_t GROUP_ROW_TILES = 8, GROUP_THREADS = 2 * 128 + 128;

template <ignis_dtype DTYPE, uint32_t TOKENS>
struct GroupStage {
  static constexpr uint32_t WEIGHTS = piece_bytes(DTYPE) + weight_layout(DTYPE).super_bytes;  // of a row tile
  static constexpr uint32_t INPUT = 2 * 512;  // of a token tile
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
static __device__ __forceinline__ void group_multiply(float (&c)[16], const uint32_t a[4], uint64_t b, uint32_t adds) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %21, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
      "{%16, %17, %18, %19}, %20, p, 1, 1, 0;\n}"
      : IGNIS_F8(c, 0), IGNIS_F8(c, 8)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}
#undef IGNIS_F8

// Products read their A registers until they are waited for; the compiler does not know. Named here, behind the wait, they are not given
// away before.
static __device__ __forceinline__ void keep_operand(const uint32_t a[4]) { asm volatile("" ::"r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]) : "memory"); }

#endif

template <ignis_dtype DTYPE, uint32_t TOKENS>
static __global__ void __launch_bounds__(GROUP_THREADS, 1)
    group_kernel(const NarrowJobs jobs, const uint8_t *input, uint32_t T, uint32_t K) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using Stage = GroupStage<DTYPE, TOKENS>;
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
  const InputLayout in = input_layout(T, K);
  const uint32_t first_token_tile = blockIdx.x * TOKEN_TILES;

  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < STAGES; i++) {
      barrier_init(full + i, 4);
      barrier_init(empty + i, 8);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();

  if (warp >= 8) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (lane != 0) return;
    // A bulk copy takes its thread some 80 clocks: four warps share them, two row tiles each; the first brings the activations as well.
    // Row tiles behind the last one are copies of it, token tiles behind the last one hold anything: their outputs are left out.
    const uint32_t own = warp - 8, token_tiles = in.tiles - first_token_tile < TOKEN_TILES ? in.tiles - first_token_tile : TOKEN_TILES;
    const uint64_t tile_bytes = uint64_t{records} * RECORD;
    const uint8_t *weights[2];
    for (uint32_t i = 0; i < 2; i++) {
      const uint32_t tile = first_tile + own * 2 + i;
      weights[i] = job.packed + (tile < last_tile ? tile : last_tile) * tile_bytes;
    }
    for (uint32_t index = 0; index < pieces; index++) {
      const uint32_t stage = index % STAGES;
      uint8_t *target = shared + stage * Stage::BYTES;
      if (index >= STAGES) barrier_wait(empty + stage, (index / STAGES - 1) % 2);
      // Each warp announces what it brings.
      barrier_expect(full + stage, 2 * Stage::WEIGHTS + (own == 0 ? token_tiles * (Stage::INPUT + Stage::SUMS) : 0));
      if (own == 0) {
        uint8_t *to = target + GROUP_ROW_TILES * Stage::WEIGHTS;
        const uint64_t from = uint64_t{index} * in.tiles + first_token_tile;
        bulk_copy(to, input + from * Stage::INPUT, token_tiles * Stage::INPUT, full + stage);
        if constexpr (Stage::SUMS > 0) bulk_copy(to + TOKEN_TILES * Stage::INPUT, input + in.sums_offset + from * 128, token_tiles * 128, full + stage);
      }
#pragma unroll
      for (uint32_t i = 0; i < 2; i++) {
        const uint8_t *record = weights[i] + uint64_t{index / PIECES} * RECORD;
        uint8_t *to = target + (own * 2 + i) * Stage::WEIGHTS;
        bulk_copy(to, record + index % PIECES * PIECE, PIECE, full + stage);
        if constexpr (layout.super_bytes > 0) bulk_copy(to + PIECE, record + PIECES * PIECE, layout.super_bytes, full + stage);
      }
    }
    return;
  }

  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  float acc[NUM], total[NUM];
#pragma unroll
  for (uint32_t i = 0; i < NUM; i++) acc[i] = total[i] = 0.0f;

  const auto release = [&](uint32_t index) {
    __syncwarp();
    if (lane == 0) barrier_arrive(empty + index % STAGES);
  };
  if constexpr (layout.has_row_scales) {
    // Straight from global memory into registers, four pieces ahead, weights came a quarter slower (351 for 454 TFLOP/s).
    uint32_t even[4][4], odd[4][4];
    const auto load = [&](uint32_t (&a)[4][4], uint32_t index) {
      barrier_wait(full + index % STAGES, index / STAGES % 2);
      Piece<DTYPE> codes;
      codes.load(shared + index % STAGES * Stage::BYTES + warp * Stage::WEIGHTS, lane);
#pragma unroll
      for (uint32_t step = 0; step < 4; step++) codes.fragment(a[step], step);
    };
    const auto start_products = [&](const uint32_t (&a)[4][4], uint32_t index, bool is_first) {
      const uint32_t inputs = shared_address(shared + index % STAGES * Stage::BYTES + GROUP_ROW_TILES * Stage::WEIGHTS);
      products_begin();
#pragma unroll
      for (uint32_t block = 0; block < 2; block++)
#pragma unroll
        for (uint32_t step = 0; step < 2; step++)
          group_multiply(acc, a[2 * block + step], operand(inputs + block * 512 + step * 256, Stage::INPUT), !is_first || block + step > 0);
      products_commit();
    };
    const auto finish_products = [&](const uint32_t (&a)[4][4], uint32_t index) {
#pragma unroll
      for (uint32_t step = 0; step < 4; step++) keep_operand(a[step]);
      release(index);
    };
    // A slice has whole records, of two pieces: one's operands are loaded while the other's products run.
    static_assert(PIECES == 2);
    for (uint32_t start = 0; start < pieces; start += slice_pieces) {
      const uint32_t stop = start + slice_pieces < pieces ? start + slice_pieces : pieces;
      load(even, start);
      for (uint32_t index = start; index < stop; index += 2) {
        start_products(even, index, index == start);
        products_wait<1>();
        if (index > start) finish_products(odd, index - 1);
        load(odd, index + 1);
        start_products(odd, index + 1, false);
        products_wait<1>();
        finish_products(even, index);
        if (index + 2 < stop) load(even, index + 2);
      }
      products_wait<0>();
      finish_products(odd, stop - 1);
#pragma unroll
      for (uint32_t i = 0; i < NUM; i++) total[i] += acc[i];
    }
  } else {
    // A unit's columns share a scale. Its tokens are two halves with a chain each: one half's products run while the other's sums are
    // scaled.
    constexpr uint32_t UNITS = DTYPE == IGNIS_Q6_K ? 4 : 2, STEPS = 4 / UNITS, HALF_TILES = TOKEN_TILES / 2;
    constexpr float offset = -code_offset(DTYPE);
    uint32_t left = slice_pieces;
    for (uint32_t index = 0; index < pieces; index++) {
      const uint8_t *here = shared + index % STAGES * Stage::BYTES, *tile = here + warp * Stage::WEIGHTS;
      const uint8_t *sums = here + GROUP_ROW_TILES * Stage::WEIGHTS + TOKEN_TILES * Stage::INPUT + t * 16;
      const uint32_t inputs = shared_address(here + GROUP_ROW_TILES * Stage::WEIGHTS);
      barrier_wait(full + index % STAGES, index / STAGES % 2);
      uint32_t a[4][4];
      BlockScales<DTYPE> scales[2];
      {
        Piece<DTYPE> codes;
        codes.load(tile, lane);
#pragma unroll
        for (uint32_t step = 0; step < 4; step++) codes.fragment(a[step], step);
      }
#pragma unroll
      for (uint32_t block = 0; block < 2; block++) scales[block].load(tile + layout.code_bytes + layout.high_bytes, tile + PIECE, block, g);
      float chain[2][NUM / 2];
      // Of tokens 2t, 2t + 1 of a tile, over the unit's columns.
      const auto sums_of = [&](uint32_t unit, uint32_t n) {
        const float4 s = *reinterpret_cast<const float4 *>(sums + n * 128 + unit * STEPS / 2 * 64);
        if constexpr (DTYPE == IGNIS_Q6_K) return unit % 2 ? make_float2(s.y, s.w) : make_float2(s.x, s.z);
        return make_float2(s.x + s.y, s.z + s.w);
      };
      const auto start_products = [&](uint32_t unit, uint32_t half) {
#pragma unroll
        for (uint32_t n = 0; n < HALF_TILES; n++) {
          float2 s = make_float2(0.0f, 0.0f);
          if constexpr (offset != 0.0f) {
            s = sums_of(unit, half * HALF_TILES + n);
            s.x *= offset;
            s.y *= offset;
          }
          chain[half][4 * n] = chain[half][4 * n + 2] = s.x;
          chain[half][4 * n + 1] = chain[half][4 * n + 3] = s.y;
        }
        products_begin();
#pragma unroll
        for (uint32_t i = 0; i < STEPS; i++) {
          const uint32_t step = unit * STEPS + i;
          group_multiply(chain[half], a[step],
                         operand(inputs + half * HALF_TILES * Stage::INPUT + step / 2 * 512 + step % 2 * 256, Stage::INPUT), 1);
        }
        products_commit();
      };
      const auto scale_products = [&](uint32_t unit, uint32_t half) {
        const BlockScales<DTYPE> &block = scales[unit * STEPS / 2];
        constexpr bool is_half_block = DTYPE == IGNIS_Q6_K;
#pragma unroll
        for (uint32_t n = 0; n < HALF_TILES; n++) {
          float *to = acc + (half * HALF_TILES + n) * 4;
#pragma unroll
          for (uint32_t i = 0; i < 4; i++) to[i] = fmaf(block.scale[(is_half_block ? unit % 2 * 2 : 0) + i / 2], chain[half][4 * n + i], to[i]);
          if constexpr (has_minimum(DTYPE)) {
            const float2 s = sums_of(unit, half * HALF_TILES + n);
#pragma unroll
            for (uint32_t i = 0; i < 4; i++) to[i] = fmaf(block.minimum[i / 2], i % 2 ? s.y : s.x, to[i]);
          }
        }
      };
      start_products(0, 0);
      start_products(0, 1);
#pragma unroll
      for (uint32_t unit = 1; unit < UNITS; unit++) {
        products_wait<1>();
        scale_products(unit - 1, 0);
        start_products(unit, 0);
        products_wait<1>();
        scale_products(unit - 1, 1);
        start_products(unit, 1);
      }
      products_wait<1>();
      scale_products(UNITS - 1, 0);
      products_wait<0>();
#pragma unroll
      for (uint32_t step = 0; step < 4; step++) keep_operand(a[step]);
      scale_products(UNITS - 1, 1);
      release(index);
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

  // Old values first, all of them: a load that waits for the store before it would cost more than the products.
  const float *token_scales = reinterpret_cast<const float *>(input + in.scales_offset);
  const uint32_t first_row = (first_tile + warp) * TILE_ROWS + g;
  const auto each_output = [&](const auto &visit) {
#pragma unroll
    for (uint32_t n = 0; n < TOKEN_TILES; n++)
#pragma unroll
      for (uint32_t i = 0; i < 4; i++) {
        const uint32_t row = first_row + i / 2 * 8, token = (first_token_tile + n) * 8 + 2 * t + i % 2;
        if (token < T && row < job.rows) visit(4 * n + i, row, token);
      }
  };
  if (job.accumulates)
    each_output([&](uint32_t i, uint32_t row, uint32_t token) { acc[i] = job.y[uint64_t{token} * job.ldy + row]; });
  float factor[2];
#pragma unroll
  for (uint32_t half = 0; half < 2; half++) factor[half] = first_row + half * 8 < job.rows ? row_factor<DTYPE>(job.row_scales, first_row + half * 8) : 1.0f;
  each_output([&](uint32_t i, uint32_t, uint32_t token) { total[i] = total[i] * factor[i % 4 / 2] * token_scales[token]; });
  each_output([&](uint32_t i, uint32_t row, uint32_t token) {
    job.y[uint64_t{token} * job.ldy + row] = job.accumulates ? acc[i] + total[i] : total[i];
  });
#endif
}

}  // namespace ignis
