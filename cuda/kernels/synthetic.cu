// synthetic.cu: random weights, a thread a unit. A unit that two chunks share is made twice.
#include "synthetic.h"

namespace ignis {

static constexpr uint32_t THREADS = 256;

static __global__ void make_units(uint8_t *chunk, ignis_dtype dtype, Synthetic synthetic, uint64_t start, uint64_t stop, uint64_t num_values) {
  const uint32_t bytes = synthetic_bytes(dtype);
  const uint64_t unit = start / bytes + uint64_t{blockIdx.x} * THREADS + threadIdx.x, at = unit * bytes;
  if (at >= stop) return;
  uint8_t made[256];  // the largest block, of Q6_K, has 210
  const uint64_t size_bytes = uint64_t{synthesize_unit(made, dtype, synthetic, unit, num_values)} * bytes / synthetic_values(dtype);
  for (uint64_t i = 0; i < size_bytes; i++)
    if (at + i >= start && at + i < stop) chunk[at + i - start] = made[i];
}

void synthesize(void *chunk, const Matrix &m, uint64_t start, uint64_t size_bytes, cudaStream_t stream) {
  const uint64_t bytes = synthetic_bytes(m.dtype), num_units = (start + size_bytes - 1) / bytes - start / bytes + 1;
  make_units<<<static_cast<uint32_t>((num_units + THREADS - 1) / THREADS), THREADS, 0, stream>>>(
      static_cast<uint8_t *>(chunk), m.dtype, synthetic_of(m.seed, m.tensor, m.rows, m.cols), start, start + size_bytes,
      uint64_t{m.rows} * m.cols);
}

}  // namespace ignis
