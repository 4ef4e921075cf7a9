// linear.cpp: divides linear layers among the threads. A thread takes runs of rows with all tokens, so that weights come from memory
// once; a tile of tokens stays in the first-level cache while the run's rows pass by.
#include "../ops/ops.h"

#include "activations.h"
#include "device.h"
#include "packed.h"

namespace ignis {

// What a thread claims at a time. With the tile beside them the weights stay in the second-level cache (1 MiB and more where it
// matters) while the tiles of a span pass by.
static constexpr uint64_t MAX_CLAIM_BYTES = 256 * 1024;
static constexpr uint32_t CLAIMS_A_RANGE = 8;
static constexpr uint32_t MAX_JOBS = 8;
static constexpr uint32_t MAX_RANGES = 256;

static inline uint32_t min_of(uint32_t a, uint32_t b) { return a < b ? a : b; }

const LinearKernels &linear_kernels(Isa isa) {
#if defined(__x86_64__)
  switch (isa) {
    case Isa::AVX512_VNNI_BF16: return avx512_vnni_bf16::linear_kernels();
    case Isa::AVX512_VNNI: return avx512_vnni::linear_kernels();
    case Isa::AVX512: return avx512::linear_kernels();
    case Isa::AVX2: return avx2::linear_kernels();
    case Isa::PORTABLE: break;
  }
#else
  (void)isa;
#endif
  return portable::linear_kernels();
}

static uint32_t format_index(ignis_dtype dtype) {
  switch (dtype) {
    case IGNIS_Q4_0: return static_cast<uint32_t>(Format::Q4_0);
    case IGNIS_Q4_1: return static_cast<uint32_t>(Format::Q4_1);
    case IGNIS_Q5_0: return static_cast<uint32_t>(Format::Q5_0);
    case IGNIS_Q5_1: return static_cast<uint32_t>(Format::Q5_1);
    case IGNIS_Q8_0: return static_cast<uint32_t>(Format::Q8_0);
    case IGNIS_Q4_K: return static_cast<uint32_t>(Format::Q4_K);
    case IGNIS_Q5_K: return static_cast<uint32_t>(Format::Q5_K);
    case IGNIS_Q6_K: return static_cast<uint32_t>(Format::Q6_K);
    case IGNIS_F32: return static_cast<uint32_t>(FloatFormat::F32);
    case IGNIS_F16: return static_cast<uint32_t>(FloatFormat::F16);
    case IGNIS_BF16: return static_cast<uint32_t>(FloatFormat::BF16);
    case IGNIS_F8_E4M3: return static_cast<uint32_t>(FloatFormat::F8_E4M3);
  }
  return 0;
}

// A job's weights as units that threads take runs of: groups of 16 rows, packed or not.
struct Units {
  uint32_t num;
  uint64_t size_bytes;
};

// Bytes of a row that is not quantised.
static uint64_t held_row_bytes(const Matrix &w) { return has_block_scales(w.dtype) ? scaled_row_bytes(w.cols) : row_bytes(w.dtype, w.cols); }

static Units units_of(const Matrix &w) {
  const uint64_t size_bytes = is_quantized(w.dtype) ? group_bytes(w.dtype, w.cols) : GROUP_ROWS * held_row_bytes(w);
  return {num_groups(w.rows), size_bytes};
}

static void run_quantized(const LinearKernels &kernels, const Linear &job, const Activations &a, uint32_t start, uint32_t stop) {
  const Matrix &w = *job.w;
  const uint32_t width = widest(kernels);
  const uint64_t stride_bytes = tile_bytes(width, a.K);
  QuantizedTask task = {};
  task.group_bytes = group_bytes(w.dtype, w.cols);
  task.weights = static_cast<const uint8_t *>(w.packed) + start * task.group_bytes;
  task.num_groups = stop - start;
  task.num_blocks = w.cols / BLOCK_COLS;
  task.num_rows = w.rows - start * GROUP_ROWS;
  task.ldy = job.ldy;
  task.accumulates = job.accumulates;
  for (uint32_t token = 0; token < a.T; token += width) {
    task.T = a.T - token < width ? a.T - token : width;
    task.tile = static_cast<const uint8_t *>(a.memory) + token / width * stride_bytes;
    task.y = job.y + static_cast<uint64_t>(token) * job.ldy + start * GROUP_ROWS;
    kernels.quantized[format_index(w.dtype)][width_index(kernels, task.T)](task);
  }
}

static void run_floats(const LinearKernels &kernels, const Linear &job, const Activations &a, uint32_t start, uint32_t stop) {
  const Matrix &w = *job.w;
  const bool is_bfloat = w.dtype == IGNIS_BF16 && kernels.has_bfloat_dot;
  const uint32_t row_stop = stop * GROUP_ROWS < w.rows ? stop * GROUP_ROWS : w.rows;
  FloatTask task = {};
  task.row_bytes = held_row_bytes(w);
  task.weights = static_cast<const uint8_t *>(w.packed) + start * GROUP_ROWS * task.row_bytes;
  if (has_block_scales(w.dtype)) task.weights += scales_bytes(w.cols);
  task.num_rows = row_stop - start * GROUP_ROWS;
  task.K = a.K;
  task.T = a.T;
  task.x = is_bfloat ? static_cast<const void *>(static_cast<const uint8_t *>(a.memory) + bfloat_offset(a.T, a.K)) : a.x;
  task.plane = bfloat_plane(a.K);
  task.ldx = is_bfloat ? 2 * task.plane : a.K;
  task.y = job.y + start * GROUP_ROWS;
  task.ldy = job.ldy;
  task.accumulates = job.accumulates;
  kernels.floats[format_index(w.dtype)](task);
}

static void run_units(const LinearKernels &kernels, const Linear &job, const Activations &a, uint32_t start, uint32_t stop) {
  (is_quantized(job.w->dtype) ? run_quantized : run_floats)(kernels, job, a, start, stop);
}

// The jobs' units one after the other, numbered from 0.
struct UnitList {
  uint32_t first[MAX_JOBS + 1];  // each job's first, then their number
  uint64_t size_bytes[MAX_JOBS];  // of each job's units
};

// The first unit that starts at or behind `position` bytes.
static uint32_t unit_at(const UnitList &list, uint32_t num_jobs, uint64_t position) {
  for (uint32_t i = 0; i < num_jobs; i++) {
    const uint64_t job_bytes = (list.first[i + 1] - list.first[i]) * list.size_bytes[i];
    if (position < job_bytes) return list.first[i] + static_cast<uint32_t>((position + list.size_bytes[i] - 1) / list.size_bytes[i]);
    position -= job_bytes;
  }
  return list.first[num_jobs];
}

LinearChoice linear_choice(const Device &, const Linear *, uint32_t, uint32_t) { return {}; }

void linear(Device &device, const Linear *jobs, uint32_t num, const Activations &a) {
  // More jobs than have room here run in turn.
  for (; num > MAX_JOBS; jobs += MAX_JOBS, num -= MAX_JOBS) linear(device, jobs, MAX_JOBS, a);
  const LinearKernels &kernels = linear_kernels(device.isa);
  UnitList list = {};
  uint64_t total_bytes = 0;
  for (uint32_t i = 0; i < num; i++) {
    const Units units = units_of(*jobs[i].w);
    list.first[i + 1] = list.first[i] + units.num;
    list.size_bytes[i] = units.size_bytes;
    total_bytes += units.num * units.size_bytes;
  }
  const uint32_t num_units = list.first[num];
  if (num_units == 0) return;
  const uint32_t num_ranges = min_of(num_units, min_of(thread_pool_workers(*device.pool), MAX_RANGES));
  const uint64_t claim_bytes = total_bytes / (CLAIMS_A_RANGE * num_ranges);
  const uint32_t claim = static_cast<uint32_t>(1 + (claim_bytes < MAX_CLAIM_BYTES ? claim_bytes : MAX_CLAIM_BYTES) * num_units / total_bytes);
  // Each range of units is one stream of memory for one thread (packed.h says why); who is done early takes from the others.
  struct alignas(64) Range {
    uint32_t next, stop;
  } ranges[MAX_RANGES];
  for (uint32_t r = 0; r < num_ranges; r++)
    ranges[r] = {unit_at(list, num, total_bytes * r / num_ranges), unit_at(list, num, total_bytes * (r + 1) / num_ranges)};
  parallel(*device.pool, num_ranges, [&](uint32_t own, uint32_t) {
    for (uint32_t offset = 0; offset < num_ranges; offset++) {
      Range &range = ranges[(own + offset) % num_ranges];
      uint32_t i = 0;
      for (;;) {
        uint32_t unit = __atomic_fetch_add(&range.next, claim, __ATOMIC_RELAXED);
        if (unit >= range.stop) break;
        const uint32_t claim_stop = min_of(unit + claim, range.stop);
        while (unit < claim_stop) {
          while (unit >= list.first[i + 1]) i++;
          const uint32_t stop = min_of(claim_stop, list.first[i + 1]);
          run_units(kernels, jobs[i], a, unit - list.first[i], stop - list.first[i]);
          unit = stop;
        }
      }
    }
  });
}

}  // namespace ignis
