// ceilings.cpp: what this machine can do, measured: memory by all threads, and the product of its fastest linear layer.
#include <string.h>

#include "../base/arena.h"
#include "../base/status.h"
#include "../base/time.h"
#include "../ops/ops.h"
#include "device.h"

namespace ignis {

static constexpr uint64_t MEMORY_BYTES = 256 << 20;  // past every cache
static constexpr uint32_t TASKS = 256, ROUNDS = 3;
// Of each rate. Three products are over in 50 ms: where somebody else had a core for so long, prompts came to 179 % of the matrix rate.
static constexpr double LEAST_S = 0.25;
static constexpr uint32_t SIZE = 2048, TOKENS = 256;  // of the product

// The seconds of the fastest of ROUNDS calls, and of as many as LEAST_S has room for.
template <class Function>
static double best_s(const Function &function) {
  double best = 1e9;
  const double first_s = now_s();
  for (uint32_t round = 0; round < ROUNDS || now_s() - first_s < LEAST_S; round++) {
    const double start_s = now_s();
    function();
    const double took_s = now_s() - start_s;
    if (took_s < best) best = took_s;
  }
  return best;
}

static double read_s(Device &device, const uint8_t *memory) {
  uint64_t sums[TASKS];
  return best_s([&] {
    parallel(*device.pool, TASKS, [&](uint32_t task, uint32_t) {
      const uint64_t num = MEMORY_BYTES / TASKS / sizeof(uint64_t);
      const uint64_t *words = reinterpret_cast<const uint64_t *>(memory) + task * num;
      uint64_t parts[8] = {};
      for (uint64_t i = 0; i < num; i += 8)
        for (uint32_t part = 0; part < 8; part++) parts[part] += words[i + part];
      sums[task] = parts[0] + parts[1] + parts[2] + parts[3] + parts[4] + parts[5] + parts[6] + parts[7];
      asm volatile("" ::"r"(sums[task]));  // somebody wants the sum
    });
  });
}

static double copy_s(Device &device, uint8_t *memory) {
  const uint64_t half_bytes = MEMORY_BYTES / 2, bytes = half_bytes / TASKS;
  return best_s([&] {
    parallel(*device.pool, TASKS, [&](uint32_t task, uint32_t) { memcpy(memory + half_bytes + task * bytes, memory + task * bytes, bytes); });
  });
}

static double product_s(Device &device, Arena *arena) {
  Matrix matrix;
  matrix.rows = matrix.cols = SIZE;
  matrix.dtype = IGNIS_Q8_0;
  matrix.seed = 1;
  matrix_pack(device, &matrix, arena_take(arena, matrix_bytes(matrix.dtype, SIZE, SIZE)));
  float *x = static_cast<float *>(arena_take(arena, uint64_t{TOKENS} * SIZE * sizeof(float)));
  float *y = static_cast<float *>(arena_take(arena, uint64_t{TOKENS} * SIZE * sizeof(float)));
  for (uint32_t i = 0; i < TOKENS * SIZE; i++) x[i] = static_cast<float>(i % 37) - 18.0f;
  Activations activations;
  activations.memory = arena_take(arena, activations_bytes(TOKENS, SIZE));
  const Matrix *const users[] = {&matrix};
  const Linear job{y, &matrix, SIZE, false};
  return best_s([&] {
    prepare(device, &activations, x, TOKENS, SIZE, users, 1);
    linear(device, &job, 1, activations);
  });
}

ignis_status ceilings(Device &device, ignis_ceilings *result) {
  Arena arena;
  if (!arena_open(&arena, MEMORY_BYTES)) return fail(IGNIS_NO_MEMORY, "no memory to measure the machine with");
  memset(arena.base, 1, MEMORY_BYTES);
  result->read_bytes_s = static_cast<double>(MEMORY_BYTES) / read_s(device, arena.base);
  result->copy_bytes_s = static_cast<double>(MEMORY_BYTES) / copy_s(device, arena.base);
  memset(arena.base, 0, MEMORY_BYTES);
  result->matrix_flops_s = 2.0 * TOKENS * SIZE * SIZE / product_s(device, &arena);
  arena_close(&arena);
  return IGNIS_OK;
}

}  // namespace ignis
