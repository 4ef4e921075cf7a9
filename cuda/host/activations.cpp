// activations.cpp: prepares the input of linear layers for the weights that will read it.
#include "activations.h"

#include "../quant/formats.h"
#include "device.h"
#include "packed.h"

namespace ignis {

// Values of a task. With fewer in all a second thread costs more than it brings (8192 take about 3 us).
static constexpr uint32_t TASK_VALUES = 8192;

uint64_t activations_bytes(uint32_t max_T, uint32_t max_K) {
  return bfloat_offset(max_T, max_K) + static_cast<uint64_t>(max_T) * 2 * bfloat_plane(max_K) * sizeof(uint16_t);
}

static bool has_offset(ignis_dtype dtype) {
  return dtype == IGNIS_Q4_0 || dtype == IGNIS_Q5_0 || dtype == IGNIS_Q8_0 || dtype == IGNIS_Q6_K;
}

void prepare(Device &device, Activations *a, const float *x, uint32_t T, uint32_t K, const Matrix *const *users, uint32_t num) {
  a->T = T;
  a->K = K;
  a->x = x;
  const LinearKernels &kernels = linear_kernels(device.isa);
  bool needs_tiles = false, needs_corrections = false, needs_bfloat = false;
  for (uint32_t i = 0; i < num; i++) {
    needs_tiles |= is_quantized(users[i]->dtype);
    needs_corrections |= has_offset(users[i]->dtype);
    needs_bfloat |= users[i]->dtype == IGNIS_BF16 && kernels.has_bfloat_dot;
  }
  if (!needs_tiles && !needs_bfloat) return;
  uint8_t *memory = static_cast<uint8_t *>(a->memory);
  uint16_t *bfloats = reinterpret_cast<uint16_t *>(memory + bfloat_offset(T, K));
  const uint64_t plane = bfloat_plane(K);
  // A task is a run of columns of a tile, so that no two threads write to the same cache line of it (but at the run's ends).
  const uint32_t width = widest(kernels), num_tiles = (T + width - 1) / width;
  const uint32_t tile_cols = T < width ? TASK_VALUES / T : TASK_VALUES / width;
  const uint32_t task_cols = tile_cols / BLOCK_COLS * BLOCK_COLS, tasks_a_tile = (K + task_cols - 1) / task_cols;
  parallel(*device.pool, num_tiles * tasks_a_tile, [&](uint32_t task, uint32_t) {
    const uint32_t start = task / tasks_a_tile * width, count = T - start < width ? T - start : width;
    const uint32_t col = task % tasks_a_tile * task_cols, cols = K - col < task_cols ? K - col : task_cols;
    const float *rows = x + static_cast<uint64_t>(start) * K + col;
    if (needs_tiles) {
      const uint32_t tile_width = kernels.widths[width_index(kernels, count)];
      uint8_t *blocks = memory + task / tasks_a_tile * tile_bytes(width, K) + tile_bytes_of_blocks(tile_width, col / BLOCK_COLS);
      kernels.quantize(blocks, rows, count, K, cols, tile_width, needs_corrections);
    }
    if (needs_bfloat) {
      for (uint32_t t = 0; t < count; t++) {
        uint16_t *hi = bfloats + (start + t) * 2 * plane + col;
        kernels.split_bfloat(hi, hi + plane, rows + static_cast<uint64_t>(t) * K, cols, static_cast<uint32_t>(rounded_up(cols, 32)));
      }
    }
  });
}

}  // namespace ignis
