// activations.cpp: prepares the input of linear layers for the weights that will read it.
#include "activations.h"

#include "../quant/formats.h"
#include "device.h"

namespace ignis {

// Below this many values a second thread costs more than it brings.
static constexpr uint64_t SERIAL_VALUES = 16384;

uint64_t activations_bytes(uint32_t max_T, uint32_t max_K) {
  return bfloat_offset(max_T, max_K) + static_cast<uint64_t>(max_T) * 2 * bfloat_plane(max_K) * sizeof(uint16_t);
}

void prepare(Device &device, Activations *a, const float *x, uint32_t T, uint32_t K, const Matrix *const *users, uint32_t num) {
  a->T = T;
  a->K = K;
  a->x = x;
  const LinearKernels &kernels = linear_kernels(device.isa);
  bool needs_tiles = false, needs_bfloat = false;
  for (uint32_t i = 0; i < num; i++) {
    needs_tiles |= is_quantized(users[i]->dtype);
    needs_bfloat |= users[i]->dtype == IGNIS_BF16 && kernels.has_bfloat_dot;
  }
  if (!needs_tiles && !needs_bfloat) return;
  uint8_t *memory = static_cast<uint8_t *>(a->memory);
  uint16_t *bfloats = reinterpret_cast<uint16_t *>(memory + bfloat_offset(T, K));
  const uint32_t width = widest(kernels);
  const auto prepare_tile = [&](uint32_t tile, uint32_t) {
    const uint32_t start = tile * width, count = T - start < width ? T - start : width;
    const float *rows = x + static_cast<uint64_t>(start) * K;
    if (needs_tiles)
      kernels.quantize(memory + tile * tile_bytes(width, K), rows, count, K, kernels.widths[width_index(kernels, count)]);
    if (needs_bfloat) {
      const uint32_t plane = static_cast<uint32_t>(bfloat_plane(K));
      for (uint32_t t = 0; t < count; t++) {
        uint16_t *hi = bfloats + static_cast<uint64_t>(start + t) * 2 * plane;
        kernels.split_bfloat(hi, hi + plane, rows + static_cast<uint64_t>(t) * K, K, plane);
      }
    }
  };
  const uint32_t num_tiles = (T + width - 1) / width;
  if (static_cast<uint64_t>(T) * K <= SERIAL_VALUES) {
    for (uint32_t tile = 0; tile < num_tiles; tile++) prepare_tile(tile, 0);
  } else {
    parallel(*device.pool, num_tiles, prepare_tile);
  }
}

}  // namespace ignis
