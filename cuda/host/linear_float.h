// linear_float.h: rows of float32, float16, bfloat16 or F8_E4M3 weights times a tile of activations.
//
// The order of sums, the same for every tile shape: k goes to accumulator lane k mod n (4, 8 or 16), rising k within a lane by fused
// multiply-add, and the lanes are added by halving: lane i + lane i + n/2, then n/4 ... With the bfloat16 dot product lane k / 2 mod 16
// takes two k at a time, first with the activations' hi, then with lo. What y held is added last.
//
// An F8_E4M3 weight is its code's value times its block's scale, rounded to float32 once.
#pragma once

#include "lanes.h"
#include "linear_kernels.h"

#if defined(__AVX512F__)
#include "dots_avx512.h"
#elif defined(__AVX2__)
#include "dots_avx2.h"
#else
#include "dots_portable.h"
#endif

namespace ignis::IGNIS_ISA_NAMESPACE {
namespace {

// R rows by T tokens in registers. Rows and tokens that do not exist repeat the last one and are not stored.
template <class W, int R, int T>
inline void multiply_rows(const FloatTask &task, uint32_t row, uint32_t token) {
  using Element = typename W::Activation;
  const uint8_t *weights[R];
  const Element *x[T];
  for (int r = 0; r < R; r++) weights[r] = task.weights + (row + r < task.num_rows ? row + r : task.num_rows - 1) * task.row_bytes;
  for (int t = 0; t < T; t++) x[t] = static_cast<const Element *>(task.x) + (token + t < task.T ? token + t : task.T - 1) * task.ldx;
  typename W::Sums sums[R][T];
#pragma GCC unroll 16
  for (int r = 0; r < R; r++)
#pragma GCC unroll 16
    for (int t = 0; t < T; t++) sums[r][t] = W::zero();
  uint32_t k = 0;
  for (; k + W::STEP <= task.K; k += W::STEP) {
    typename W::Weights w[R];
#pragma GCC unroll 16
    for (int r = 0; r < R; r++) w[r] = W::weights(weights[r], k);
#pragma GCC unroll 16
    for (int t = 0; t < T; t++) {
      const auto a = W::activations(x[t], k, task.plane);
#pragma GCC unroll 16
      for (int r = 0; r < R; r++) sums[r][t] = W::multiply_add(w[r], a, sums[r][t]);
    }
  }
  if (k < task.K) {
    for (int t = 0; t < T; t++) {
      const auto a = W::activations_first(x[t], k, task.K - k, task.plane);
      for (int r = 0; r < R; r++) sums[r][t] = W::multiply_add(W::weights_first(weights[r], k, task.K - k), a, sums[r][t]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; r++)
#pragma GCC unroll 16
    for (int t = 0; t < T; t++) {
      if (row + r >= task.num_rows || token + t >= task.T) continue;
      float *y = task.y + (token + t) * task.ldy + row + r;
      const float sum = W::total(sums[r][t]);
      *y = task.accumulates ? *y + sum : sum;
    }
}

template <class W, int R, int T>
inline void multiply_tokens(const FloatTask &task, uint32_t token) {
  for (uint32_t row = 0; row < task.num_rows; row += R) multiply_rows<W, R, T>(task, row, token);
}

template <class W>
void multiply_floats(const FloatTask &task) {
  // Tiles as even as may be: 8 tokens are 4 and 4, not 6 and 2.
  for (uint32_t token = 0; token < task.T;) {
    const uint32_t left = task.T - token;
    if (left == 1) {
      multiply_tokens<W, WIDE_ROWS, 1>(task, token);
      token += 1;
    } else if (left == 2) {
      multiply_tokens<W, WIDE_ROWS, 2>(task, token);
      token += 2;
    } else if (left <= 4 || left == 7 || left == 8 || WIDE_TOKENS == 4) {
      multiply_tokens<W, WIDE_ROWS, 4>(task, token);
      token += 4;
    } else {
      multiply_tokens<W, WIDE_ROWS, WIDE_TOKENS>(task, token);
      token += WIDE_TOKENS;
    }
  }
}

}  // namespace
}  // namespace ignis::IGNIS_ISA_NAMESPACE
