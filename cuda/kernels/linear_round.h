// linear_round.h: linear layers of a decode round: up to eight rows, prepared in the form of round_input.cuh.
#pragma once

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "linear.h"

namespace ignis {

// Memory for the prepared rows of a round, K <= max_K.
uint64_t round_input_bytes(uint32_t max_K);

// Prepared rows. eps < 0: they are what they are; else those of a norm that lack its 1 / sqrt(mean(x^2) + eps), which the sums of their
// squares beside them give.
struct RoundInput {
  uint8_t *memory;  // 256-byte aligned
  uint32_t T, K;
  float eps;
  float *norms;  // [8]: 1 / rms of the rows of the latest norm, which its readers leave for the writer of the next one's
};

// Fills input.memory with x [T, K], with rms_norm(x, w) (and input.norms), or with swiglu(gate, up).
void round_prepare(const RoundInput &input, const float *x, uint32_t code, cudaStream_t stream);
void round_prepare_norm(const RoundInput &input, const float *x, const float *w, uint32_t code, cudaStream_t stream);
void round_prepare_swiglu(const RoundInput &input, const float *gate, const float *up, uint32_t code, cudaStream_t stream);

// What becomes of the results beside y.
struct RoundOutlet {
  enum Kind : uint32_t {
    NONE,
    NORM,  // of one job: next = its rows times w, with their squares, for a reader with an eps; next.norms are the norm's before
    GATE,  // of two jobs of one type: next = silu(first) second; neither y is written
  } kind;
  const float *w;
  RoundInput next;  // T as the input's, K the jobs' rows; other memory than the input's
};

// Every job's weights have input.K columns; x [T, K] are the rows that the input is made of, which F32 weights read. Bits depend on the
// row, the weights' shape and type, and nothing else: not on num_multiprocessors, nor on code, which is Device's.
void round_linear(const LinearJob *jobs, uint32_t num, const RoundInput &input, const float *x, const RoundOutlet &outlet,
                  uint32_t num_multiprocessors, uint32_t code, cudaStream_t stream);
// Whether two jobs of such weights may have the outlet GATE: on cards with little shared memory pairs of tiles of some types have no room.
bool round_gates(ignis_dtype dtype, uint32_t code);

// F32 weights read the rows themselves, all others what is prepared of them.
bool reads_rows(const Matrix *const *users, uint32_t num);
// Where in `a` a kernel of a round may write T rows of K columns itself, as they are; x is where F32 weights would read them.
RoundInput rows_to_write(Activations *a, const float *x, uint32_t T, uint32_t K);

}  // namespace ignis
