// bench.cpp: ignis_kernels.h, the linear operator by itself for tests and benches. Allocates freely, unlike a step.
#include "../include/ignis_kernels.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../base/arena.h"
#include "../base/reader.h"
#include "../base/status.h"
#include "../ops/ops.h"
#include "../quant/formats.h"
#include "device.h"

using namespace ignis;

struct ignis_bench_matrix {
  Matrix matrix;
};

struct ignis_bench {
  Device device;
  Arena arena;
};

static double now_s() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// The fastest of num_rounds calls.
template <class Function>
static double best_of(uint32_t num_rounds, const Function &function) {
  double best_s = 1e9;
  for (uint32_t round = 0; round < num_rounds; round++) {
    const double start_s = now_s();
    function();
    const double took_s = now_s() - start_s;
    best_s = took_s < best_s ? took_s : best_s;
  }
  return best_s;
}

ignis_status ignis_bench_open(uint32_t isa, uint32_t num_threads, uint64_t size_bytes, ignis_bench **bench) {
  clear_last_error();
  if (isa > static_cast<uint32_t>(isa_chosen())) return fail(IGNIS_UNSUPPORTED, "instruction set %u is not to be had here", isa);
  ignis_bench *made = static_cast<ignis_bench *>(calloc(1, sizeof(ignis_bench)));
  if (!made) return fail(IGNIS_NO_MEMORY, "no memory for a bench");
  made->device.isa = static_cast<Isa>(isa);
  made->device.pool = thread_pool_start(num_threads);
  if (!made->device.pool || !arena_open(&made->arena, size_bytes)) {
    thread_pool_stop(made->device.pool);
    free(made);
    return fail(IGNIS_NO_MEMORY, "no memory for %u threads or %llu bytes", num_threads, static_cast<unsigned long long>(size_bytes));
  }
  *bench = made;
  return IGNIS_OK;
}

void ignis_bench_close(ignis_bench *bench) {
  if (!bench) return;
  thread_pool_stop(bench->device.pool);
  arena_close(&bench->arena);
  free(bench);
}

ignis_status ignis_bench_matrix_open(ignis_bench *bench, uint32_t dtype, const void *data, uint32_t rows, uint32_t cols,
                                     ignis_bench_matrix **matrix) {
  clear_last_error();
  const ignis_dtype type = static_cast<ignis_dtype>(dtype);
  if (block_values(type) == 0 || rows == 0 || cols == 0 || cols % block_values(type) != 0)
    return fail(IGNIS_INVALID, "dtype %u with %u rows of %u values", dtype, rows, cols);
  const uint64_t packed_bytes = matrix_bytes(type, rows, cols), room_bytes = bench->arena.size_bytes - bench->arena.used_bytes;
  if (align_up(packed_bytes, ARENA_ALIGNMENT) + align_up(sizeof(ignis_bench_matrix), ARENA_ALIGNMENT) > room_bytes)
    return fail(IGNIS_NO_MEMORY, "no room for %u rows of %u values", rows, cols);
  ignis_bench_matrix *made = static_cast<ignis_bench_matrix *>(arena_take(&bench->arena, sizeof(ignis_bench_matrix)));
  made->matrix.rows = rows;
  made->matrix.cols = cols;
  made->matrix.dtype = type;
  made->matrix.source = data;
  if (has_block_scales(type)) made->matrix.scales = static_cast<const uint8_t *>(data) + uint64_t{rows} * cols;
  matrix_pack(bench->device, &made->matrix, arena_take(&bench->arena, packed_bytes));
  *matrix = made;
  return IGNIS_OK;
}

ignis_status ignis_bench_pack(ignis_bench *bench, ignis_bench_matrix *matrix, uint32_t num_rounds, double *best_s) {
  *best_s = best_of(num_rounds, [&] { matrix_pack(bench->device, &matrix->matrix, const_cast<void *>(matrix->matrix.packed)); });
  return IGNIS_OK;
}

ignis_status ignis_bench_linear(ignis_bench *bench, float *const *ys, ignis_bench_matrix *const *matrices, uint32_t num_matrices,
                                const float *x, uint32_t T, uint32_t ldy, uint32_t accumulates, uint32_t num_rounds, double *best_s) {
  clear_last_error();
  const uint32_t cols = num_matrices ? matrices[0]->matrix.cols : 0;
  for (uint32_t i = 0; i < num_matrices; i++)
    if (matrices[i]->matrix.cols != cols || matrices[i]->matrix.rows > ldy) return fail(IGNIS_INVALID, "matrix %u does not fit", i);
  Arena arena;
  const uint64_t jobs_bytes = num_matrices * sizeof(Linear), users_bytes = num_matrices * sizeof(const Matrix *);
  if (!arena_open(&arena, activations_bytes(T, cols) + jobs_bytes + users_bytes + 3 * ARENA_ALIGNMENT))
    return fail(IGNIS_NO_MEMORY, "no memory for %u tokens", T);
  Activations activations;
  activations.memory = arena_take(&arena, activations_bytes(T, cols));
  Linear *jobs = static_cast<Linear *>(arena_take(&arena, jobs_bytes));
  const Matrix **users = static_cast<const Matrix **>(arena_take(&arena, users_bytes));
  for (uint32_t i = 0; i < num_matrices; i++) {
    jobs[i] = Linear{ys[i], &matrices[i]->matrix, ldy, accumulates != 0};
    users[i] = &matrices[i]->matrix;
  }
  const double took_s = best_of(num_rounds, [&] {
    prepare(bench->device, &activations, x, T, cols, users, num_matrices);
    linear(bench->device, jobs, num_matrices, activations);
  });
  if (best_s) *best_s = took_s;
  arena_close(&arena);
  return IGNIS_OK;
}

ignis_status ignis_bench_sweep(ignis_bench *bench, float *y, ignis_bench_matrix *const *matrices, uint32_t num_matrices, const float *x,
                               uint32_t T, uint32_t ldy, uint32_t num_rounds, double *best_s) {
  clear_last_error();
  uint32_t max_cols = 0;
  for (uint32_t i = 0; i < num_matrices; i++) {
    if (matrices[i]->matrix.rows > ldy) return fail(IGNIS_INVALID, "matrix %u does not fit", i);
    max_cols = matrices[i]->matrix.cols > max_cols ? matrices[i]->matrix.cols : max_cols;
  }
  Arena arena;
  if (!arena_open(&arena, activations_bytes(T, max_cols))) return fail(IGNIS_NO_MEMORY, "no memory for %u tokens", T);
  Activations activations;
  activations.memory = arena.base;
  *best_s = best_of(num_rounds, [&] {
    for (uint32_t i = 0; i < num_matrices; i++) {
      const Matrix *matrix = &matrices[i]->matrix;
      const Linear job{y, matrix, ldy, false};
      prepare(bench->device, &activations, x, T, matrix->cols, &matrix, 1);
      linear(bench->device, &job, 1, activations);
    }
  });
  arena_close(&arena);
  return IGNIS_OK;
}

ignis_status ignis_bench_read(int32_t descriptor, void *data, uint64_t size_bytes, uint64_t job_bytes, uint32_t num_buffers,
                              uint32_t num_threads, int32_t *error) {
  clear_last_error();
  const uint64_t num_jobs = (size_bytes + job_bytes - 1) / job_bytes;
  Arena arena;
  if (!arena_open(&arena, num_jobs * sizeof(ReadJob) + num_buffers * (job_bytes + sizeof(uint8_t *) + ARENA_ALIGNMENT) + 2 * ARENA_ALIGNMENT))
    return fail(IGNIS_NO_MEMORY, "no memory for %u buffers", num_buffers);
  ReadJob *jobs = static_cast<ReadJob *>(arena_take(&arena, num_jobs * sizeof(ReadJob)));
  uint8_t **buffers = static_cast<uint8_t **>(arena_take(&arena, num_buffers * sizeof(uint8_t *)));
  for (uint32_t i = 0; i < num_buffers; i++) buffers[i] = static_cast<uint8_t *>(arena_take(&arena, job_bytes));
  for (uint64_t i = 0; i < num_jobs; i++) {
    const uint64_t start = i * job_bytes;
    jobs[i] = ReadJob{descriptor, start, nullptr, size_bytes - start < job_bytes ? size_bytes - start : job_bytes};
  }
  Reader *reader = reader_start(jobs, num_jobs, buffers, num_buffers, num_threads);
  *error = 0;
  for (uint64_t i = 0; reader && i < num_jobs && *error == 0; i++) {
    *error = reader_wait(*reader, i);
    if (*error == 0) memcpy(static_cast<uint8_t *>(data) + jobs[i].offset, buffers[i % num_buffers], jobs[i].size_bytes);
    reader_release(*reader, i + 1);
  }
  reader_stop(reader);
  arena_close(&arena);
  return reader ? IGNIS_OK : fail(IGNIS_NO_MEMORY, "the system refuses %u threads", num_threads);
}
