/* ignis_ops.h: single operators of a leaf, on either device, for tests and benches. The engine never calls it; it may change with any
 * version. Every array is the caller's; what a function writes is poisoned on the device first. Sizes are not checked.
 */
#ifndef IGNIS_OPS_H
#define IGNIS_OPS_H

#include "ignis_step.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ignis_ops ignis_ops;

/* memory_bytes hold a call's arrays, packed weights and workspaces. */
IGNIS_API ignis_status ignis_ops_open(uint32_t num_threads, uint64_t memory_bytes, ignis_ops **ops);
IGNIS_API void ignis_ops_close(ignis_ops *ops);
/* Whose kernels the calls that follow take: 0 prefill's, as at first, or 1 decode's, of at most IGNIS_MAX_LANES rows. */
IGNIS_API void ignis_ops_phase(ignis_ops *ops, uint32_t phase);

/* ys[i] [T, rows] = (accumulates: +=) x [T, cols] times weight i, in one linear(). weights: num_weights tensors of the same cols whose
 * `offset` is into `data`. seconds (may be NULL): the mean of num_rounds more calls, preparation included. */
IGNIS_API ignis_status ignis_ops_linear(ignis_ops *ops, float *const *ys, const ignis_tensor *weights, uint32_t num_weights,
                                        const void *data, const float *x, uint32_t T, uint32_t accumulates, uint32_t num_rounds,
                                        double *seconds);
/* Which kernel ignis_ops_linear takes for these weights in prefill, as far as the leaf chooses: the rows and tokens of a block's tile, and
 * whether it multiplies the rows as E4M3 codes; else 0. Weights of one type, at most three. */
IGNIS_API ignis_status ignis_ops_linear_choice(ignis_ops *ops, const ignis_tensor *weights, uint32_t num_weights, uint32_t T,
                                               uint32_t *tile_rows, uint32_t *tile_tokens, uint32_t *takes_eights);
/* x [T, cols] = rows of the table that the tokens name; is_head: of the table as a linear layer reads it, where the leaf can. */
IGNIS_API ignis_status ignis_ops_embed(ignis_ops *ops, float *x, const ignis_tensor *table, const void *data, const int32_t *tokens,
                                       uint32_t T, uint32_t is_head);
IGNIS_API ignis_status ignis_ops_rms_norm(ignis_ops *ops, float *y, const float *x, const float *w, uint32_t T, uint32_t H, float eps);
IGNIS_API ignis_status ignis_ops_swiglu(ignis_ops *ops, float *y, const float *gate, const float *up, uint32_t T, uint32_t F);

/* KV pages of one layer for ignis_ops_attend; replaces those before. */
IGNIS_API ignis_status ignis_ops_pages(ignis_ops *ops, uint32_t kv_dtype, uint32_t num_pages, uint32_t max_context, uint32_t NH, uint32_t NK,
                                       uint32_t D);
/* A span (num_groups 1) or a round (one row each): norms q and k by head (q_norm and k_norm [D], or NULL), turns them at their
 * positions, stores k and v, and attends. counts, positions [num_groups] of rows and of first rows; page_tables [num_groups, pages of max_context]. q and out [T, NH, D], k and v [T, NK, D]. */
IGNIS_API ignis_status ignis_ops_attend(ignis_ops *ops, float *out, const float *q, const float *k, const float *v, const uint32_t *counts,
                                        const uint32_t *positions, const int32_t *page_tables, uint32_t num_groups, const float *q_norm,
                                        const float *k_norm, float eps, const float *inv_freq, float rope_scale, uint32_t rope_pairs, uint32_t num_rounds, double *seconds);

/* draws [num_rows] from logits [num_rows, V]; row i has lane i, whose tokens are prompts[i] and outputs[i] (lengths beside them). */
IGNIS_API ignis_status ignis_ops_sample(ignis_ops *ops, ignis_draw *draws, const float *logits, const ignis_sampling *sampling,
                                        const uint32_t *positions, const int32_t *const *prompts, const uint32_t *num_prompts,
                                        const int32_t *const *outputs, const uint32_t *num_outputs, uint32_t num_rows, uint32_t V,
                                        uint32_t num_rounds, double *seconds);

#ifdef __cplusplus
}
#endif
#endif
