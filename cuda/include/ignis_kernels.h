/* ignis_kernels.h: single operators of the CPU leaf, for tests and benches. The engine never calls it; it may change with any version.
 *
 * A bench owns a thread pool and runs on a chosen instruction set, so that one process can compare them all.
 */
#ifndef IGNIS_KERNELS_H
#define IGNIS_KERNELS_H

#include "ignis_step.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ignis_bench ignis_bench;
typedef struct ignis_bench_matrix ignis_bench_matrix;

/* isa: 0 portable, 1 avx2, 2 avx512, 3 avx512-vnni, 4 avx512-vnni-bf16. IGNIS_UNSUPPORTED where the machine lacks it. Its packed
 * matrices lie in one mapping of size_bytes, as a model's do; memory that is never written costs nothing. */
IGNIS_API ignis_status ignis_bench_open(uint32_t isa, uint32_t num_threads, uint64_t size_bytes, ignis_bench **bench);
IGNIS_API void ignis_bench_close(ignis_bench *bench);

/* data stays the caller's and stays where it is until the bench is closed, and the matrix with it. F8_E4M3: the float32 block scales lie
 * behind the codes. */
IGNIS_API ignis_status ignis_bench_matrix_open(ignis_bench *bench, uint32_t dtype, const void *data, uint32_t rows, uint32_t cols,
                                               ignis_bench_matrix **matrix);
/* Packs the matrix again num_rounds times; the fastest round's seconds. */
IGNIS_API ignis_status ignis_bench_pack(ignis_bench *bench, ignis_bench_matrix *matrix, uint32_t num_rounds, double *best_s);

/* ys[i] [T, ldy] = x [T, cols] times matrix i, or += where accumulates: x is prepared once and all matrices are one linear() call.
 * num_rounds times; best_s (may be NULL) is the fastest round's seconds, preparation included. */
IGNIS_API ignis_status ignis_bench_linear(ignis_bench *bench, float *const *ys, ignis_bench_matrix *const *matrices, uint32_t num_matrices,
                                          const float *x, uint32_t T, uint32_t ldy, uint32_t accumulates, uint32_t num_rounds,
                                          double *best_s);
/* The same matrices, each prepared and called by itself, as a step meets them: y [T, ldy] is overwritten by each. */
IGNIS_API ignis_status ignis_bench_sweep(ignis_bench *bench, float *y, ignis_bench_matrix *const *matrices, uint32_t num_matrices,
                                         const float *x, uint32_t T, uint32_t ldy, uint32_t num_rounds, double *best_s);

/* Reads the first size_bytes of an open file into data by the threads that feed a card (base/reader.h): jobs of job_bytes, through
 * num_buffers buffers, of which the oldest is emptied as soon as it is full. error: 0, or the errno of the first job that failed, where
 * reading ends; ENODATA where the file is too short. */
IGNIS_API ignis_status ignis_bench_read(int32_t descriptor, void *data, uint64_t size_bytes, uint64_t job_bytes, uint32_t num_buffers,
                                        uint32_t num_threads, int32_t *error);

#ifdef __cplusplus
}
#endif
#endif
