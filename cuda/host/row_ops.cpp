// The row-wise operators of ops.h: split over threads by rows, each row by the instruction set's kernel.
#include <math.h>

#include "../ops/ops.h"
#include "../quant/dequantize.h"
#include "../quant/formats.h"
#include "device.h"
#include "kv_page.h"
#include "rope.h"
#include "row_kernels.h"

namespace ignis {

// Under this many floats a region's start and end cost more than a second thread saves (about 2 us against 1 ns for each 8).
static constexpr uint64_t SERIAL_FLOATS = 16 * 1024;

static const RowKernels &kernels(const Device &device) {
  if (device.isa >= Isa::AVX512) return avx512::row_kernels;
  return device.isa == Isa::AVX2 ? avx2::row_kernels : portable::row_kernels;
}

// Calls function(first, stop) on parts of [0, T). `floats` is the size of one row's work.
template <class Function>
static void over_rows(Device &device, uint32_t T, uint64_t floats, const Function &function) {
  if (T * floats <= SERIAL_FLOATS || T == 1) {
    function(0, T);
    return;
  }
  const uint32_t rows = static_cast<uint32_t>(SERIAL_FLOATS / 2 / (floats < SERIAL_FLOATS / 2 ? floats : SERIAL_FLOATS / 2));
  parallel(*device.pool, (T + rows - 1) / rows, [&](uint32_t task, uint32_t) {
    const uint32_t first = task * rows;
    function(first, first + rows < T ? first + rows : T);
  });
}

void embed(Device &device, float *x, const Matrix &table, const int32_t *tokens, uint32_t T) {
  const uint64_t stored_bytes = row_bytes(table.dtype, table.cols);
  over_rows(device, T, table.cols, [&](uint32_t first, uint32_t stop) {
    for (uint32_t t = first; t < stop; t++)
      dequantize(x + uint64_t{t} * table.cols, static_cast<const uint8_t *>(table.packed) + static_cast<uint64_t>(tokens[t]) * stored_bytes,
                 table.dtype, table.cols);
  });
}

void rms_norm(Device &device, float *y, const float *x, const float *w, uint32_t T, uint32_t H, float eps) {
  const RowKernels &row = kernels(device);
  over_rows(device, T, H, [&](uint32_t first, uint32_t stop) {
    for (uint32_t t = first; t < stop; t++) row.rms_norm(y + uint64_t{t} * H, x + uint64_t{t} * H, w, H, eps);
  });
}

void swiglu(Device &device, float *y, const float *gate, const float *up, uint32_t T, uint32_t F) {
  const RowKernels &row = kernels(device);
  // An exp for each value: a float here is worth several of a norm.
  over_rows(device, T, uint64_t{F} * 2, [&](uint32_t first, uint32_t stop) {
    row.swiglu(y + uint64_t{first} * F, gate + uint64_t{first} * F, up + uint64_t{first} * F, (stop - first) * F);
  });
}

void rope_angles(Device &device, float *angles, const Rope &rope, uint32_t D, const Group *groups, uint32_t num_groups) {
  for (uint32_t g = 0; g < num_groups; g++) {
    const Group &group = groups[g];
    // The library's sine and cosine cost some twenty times a product.
    over_rows(device, group.num_rows, uint64_t{D} * 20, [&](uint32_t first, uint32_t stop) {
      for (uint32_t i = first; i < stop; i++) {
        float *cosines = angles + uint64_t{group.row + i} * 2 * D, *sines = cosines + D;
        for (uint32_t pair = 0; pair < D / 2; pair++) {
          const float angle = static_cast<float>(group.position + i) * rope.inv_freq[pair];
          const float cosine = cosf(angle) * rope.scale, sine = sinf(angle) * rope.scale;
          const uint32_t a = rope.pairs == IGNIS_ROPE_ADJACENT ? 2 * pair : pair;
          const uint32_t b = rope.pairs == IGNIS_ROPE_ADJACENT ? a + 1 : a + D / 2;
          cosines[a] = cosines[b] = cosine;
          sines[a] = -sine;
          sines[b] = sine;
        }
      }
    });
  }
}

void rope_and_store(Device &device, float *q, float *k, const float *v, const KvLayer &kv, const Group *groups, uint32_t num_groups,
                    uint32_t NH, const HeadNorms &norms, const Rope &rope, const float *angles) {
  const RowKernels &row = kernels(device);
  const uint32_t D = kv.D, NK = kv.NK;
  const auto norm = [&](float *heads, uint32_t num, const float *w) {
    for (uint32_t head = 0; w && head < num; head++) row.rms_norm(heads + head * D, heads + head * D, w, D, norms.eps);
  };
  const auto rows = [&](const Group &group, uint32_t first, uint32_t stop) {
    for (uint32_t i = first; i < stop; i++) {
      const uint64_t t = group.row + i;
      const uint32_t position = group.position + i;
      norm(q + t * NH * D, NH, norms.q);
      norm(k + t * NK * D, NK, norms.k);
      row.rotate(q + t * NH * D, NH, D, angles + t * 2 * D, rope.pairs);
      row.rotate(k + t * NK * D, NK, D, angles + t * 2 * D, rope.pairs);
      row.store_kv(kv_page(kv, group.page_table[position / IGNIS_PAGE_TOKENS]), kv, position % IGNIS_PAGE_TOKENS, k + t * NK * D,
                   v + t * NK * D);
    }
  };
  const uint64_t floats = uint64_t{NH + 6 * NK} * D;  // K is scattered by columns: several products' worth each
  if (num_groups == 1) {
    over_rows(device, groups[0].num_rows, floats, [&](uint32_t first, uint32_t stop) { rows(groups[0], first, stop); });
  } else {
    over_rows(device, num_groups, floats * groups[0].num_rows, [&](uint32_t first, uint32_t stop) {
      for (uint32_t g = first; g < stop; g++) rows(groups[g], 0, groups[g].num_rows);
    });
  }
}

}  // namespace ignis
