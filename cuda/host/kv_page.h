// kv_page.h: how the CPU lays out one layer's part of a page.
//
//   bytes of one layer of one page, E = bytes of an element, Dp = D rounded up to 16
//   | K head 0 [D, 64] | K head 1 | ... | V head 0 [64, Dp] | V head 1 | ... |
//
// K is stored with positions innermost: scores of 64 positions are then D products of a number and a vector, without a sum across
// lanes for each position. V has whole rows; the columns between D and Dp are never looked at.
#pragma once

#include <stdint.h>

#include "../ops/ops.h"

namespace ignis {

// Elements as they lie in a page; float and float16's uint16_t beside them.
struct Bfloat {
  uint16_t bits;
};
struct Eighth {
  uint8_t bits;  // e4m3
};

struct KvPage {
  uint32_t element_bytes, D, Dp, NK;

  explicit KvPage(const KvLayer &kv) : KvPage(kv.dtype, kv.NK, kv.D) {}
  KvPage(ignis_dtype dtype, uint32_t heads, uint32_t head_dim)
      : element_bytes(dtype == IGNIS_F32 ? 4 : dtype == IGNIS_F8_E4M3 ? 1 : 2), D(head_dim), Dp((head_dim + 15) / 16 * 16), NK(heads) {}

  uint64_t key_bytes() const { return uint64_t{IGNIS_PAGE_TOKENS} * D * element_bytes; }
  uint64_t value_bytes() const { return uint64_t{IGNIS_PAGE_TOKENS} * Dp * element_bytes; }
  uint64_t layer_bytes() const { return NK * (key_bytes() + value_bytes()); }
};

// First byte of a layer's part of a page.
static inline uint8_t *kv_page(const KvLayer &kv, int32_t page) {
  return kv.pool + static_cast<uint64_t>(page) * kv.page_stride + kv.layer_offset;
}

}  // namespace ignis
