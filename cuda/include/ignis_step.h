/* ignis_step.h: the step ABI, the one border between the engine and a device.
 *
 * A leaf is a shared library that exports these functions (libignis_cpu.so, libignis_cuda.so). Plain C, no
 * callbacks, no exceptions. Every function that can fail returns a status; ignis_last_error() then has one line of text
 * for a person. The first field of every struct that crosses the border is its size in bytes, so that an old caller and
 * a new leaf can tell.
 *
 * Nouns
 *   model     weights on the device, KV pages, workspaces. One allocation at load, none while serving.
 *   page      KV memory of IGNIS_PAGE_TOKENS consecutive positions of one sequence, all layers. Named by its index.
 *   page table  int32 [num_pages]: page_table[p / IGNIS_PAGE_TOKENS] holds position p.
 *   place     host memory of the load that holds one page's bytes, 0 <= place < num_host_pages. Pages go out to places and come
 *             back, the same bits.
 *   lane      a row of the decode batch, 0 <= lane < max_lanes. The leaf keeps the token counts that penalties need per
 *             lane; everything else about a sequence is in its pages.
 *   span      positions [start, stop) of one prompt, run in one prefill call.
 *   round     one decode step for several lanes; a row is one lane's part of it.
 *   draw      the token that was chosen, and its log probabilities where asked for.
 *
 * Promise: a row's result is a function of that row's tokens, pages, sampling and of the weights alone: not of the
 * other rows of a round, of how a prompt was cut into spans (one position or all), or of the thread count. On one machine
 * with one instruction set, bit for bit (spec/adr/0003).
 * There are two such functions, prefill's for the rows of a span and decode's for those of a round. A leaf whose two are
 * one says so (ignis_device_info.phases_agree): then a position holds the same bits whoever wrote it. Where they are not,
 * the tokens and what wrote each position make the bits, and the caller gives a prompt no position that decode wrote.
 */
#ifndef IGNIS_STEP_H
#define IGNIS_STEP_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define IGNIS_ABI_VERSION 4
#define IGNIS_PAGE_TOKENS 64
#define IGNIS_SCALE_BLOCK 128 /* rows and columns of an F8_E4M3 weight that share a scale */
#define IGNIS_MAX_LANES 8
#define IGNIS_MAX_TOP_LOGPROBS 20

#if defined(__GNUC__)
#define IGNIS_API __attribute__((visibility("default")))
#else
#define IGNIS_API
#endif

typedef enum ignis_status {
  IGNIS_OK = 0,
  IGNIS_INVALID = 1,     /* an argument breaks its contract; nothing changed */
  IGNIS_UNSUPPORTED = 2, /* this leaf does not have that architecture, dtype or shape */
  IGNIS_NO_MEMORY = 3,   /* the allocation failed: of a load, nothing is held; of a step, the model must be unloaded */
  IGNIS_NO_DEVICE = 4,   /* no usable device (no driver, too old, no card) */
  IGNIS_FAULT = 5,       /* the device failed; the model must be unloaded */
  IGNIS_CANCELLED = 6    /* the caller cancelled the load; nothing is held */
} ignis_status;

typedef enum ignis_architecture { IGNIS_ARCH_LLAMA = 1, IGNIS_ARCH_QWEN3 = 2 } ignis_architecture;

/* Stored element types, with the numbers that GGUF gives them. Those that it has no number for begin at 256. */
typedef enum ignis_dtype {
  IGNIS_F32 = 0,
  IGNIS_F16 = 1,
  IGNIS_Q4_0 = 2,
  IGNIS_Q4_1 = 3,
  IGNIS_Q5_0 = 6,
  IGNIS_Q5_1 = 7,
  IGNIS_Q8_0 = 8,
  IGNIS_Q4_K = 12,
  IGNIS_Q5_K = 13,
  IGNIS_Q6_K = 14,
  IGNIS_BF16 = 30,
  IGNIS_F8_E4M3 = 256 /* one byte: sign, 4 bits of exponent with bias 7, 3 of mantissa; no infinity, 0x7f and 0xff are NaN */
} ignis_dtype;

typedef enum ignis_rope_pairs {
  IGNIS_ROPE_HALVES = 0,  /* dims (i, i + D/2): Hugging Face, GGUF qwen3 */
  IGNIS_ROPE_ADJACENT = 1 /* dims (2i, 2i + 1): GGUF llama */
} ignis_rope_pairs;

typedef struct ignis_device_info {
  uint32_t size;
  uint32_t num_cores;      /* physical cores this process may use; CUDA: multiprocessors */
  uint64_t memory_bytes;   /* of the device (CPU: of the machine or its cgroup) */
  uint64_t free_bytes;     /* of them, what a load and what comes with it could take now (CPU: all of them) */
  uint64_t context_bytes;  /* of free_bytes, what the driver and the kernels take for this process, model or no model (CPU: 0) */
  char name[96];
  char isa[32];            /* CPU: "avx2", "avx512", "avx512-vnni", "avx512-vnni-bf16"; "portable" where none. CUDA: "sm_90" */
  uint32_t phases_agree;   /* 1: prefill and decode give a position the same bits; 0: each gives its own */
  uint32_t has_own_memory; /* 1: a card's; 0: the host's, which the rest of the machine needs too */
  uint32_t gains_ahead;    /* 1: ignis_decode_ahead has the device begin a round while the caller still has the one before; 0: it begins
                              with ignis_decode_end as ever, so there is nothing to gain */
  uint32_t reserved;
} ignis_device_info;

typedef struct ignis_file {
  const void *base;   /* mapped read-only, stays mapped until unload */
  uint64_t size_bytes;
  int32_t descriptor; /* of the same file, open for reading until ignis_load returns, and what is read then; -1: it is read through base */
  uint32_t reserved;
} ignis_file;

typedef struct ignis_tensor {
  const char *name;   /* GGUF spelling, e.g. "blk.3.attn_q.weight"; safetensors names are mapped to it by the caller */
  uint32_t dtype;     /* ignis_dtype */
  uint32_t file;      /* index into ignis_load_params.files */
  uint64_t offset;    /* bytes from the file's base; [offset, offset + size_bytes) lies inside the file */
  uint64_t size_bytes;
  uint64_t rows;      /* row-major [rows, cols]; a vector is [1, cols] */
  uint64_t cols;
  /* Of IGNIS_F8_E4M3, all 0 for other types: a scale [ceil(rows / IGNIS_SCALE_BLOCK), ceil(cols / IGNIS_SCALE_BLOCK)] that each value
   * of its block is multiplied by. Finite, below 2^100. A code that is NaN makes NaN of its block, on the card of all its 16 rows. */
  uint32_t scale_dtype; /* IGNIS_F32, IGNIS_F16 or IGNIS_BF16 */
  uint32_t scale_file;
  uint64_t scale_offset;
  uint64_t scale_size_bytes;
} ignis_tensor;

typedef struct ignis_shape {
  uint32_t size;
  uint32_t architecture; /* ignis_architecture */
  uint32_t num_layers;
  uint32_t hidden_size;
  uint32_t ffn_size;
  uint32_t num_heads;
  uint32_t num_kv_heads; /* divides num_heads */
  uint32_t head_dim;     /* even */
  uint32_t vocab_size;
  float rms_eps;
  uint32_t rope_pairs;        /* ignis_rope_pairs */
  float rope_scale;           /* cos and sin are multiplied by it (yarn); 1 otherwise */
  const float *rope_inv_freq; /* [head_dim / 2], any scaling already applied; copied at load */
} ignis_shape;

typedef enum ignis_load_phase {
  IGNIS_LOAD_PREPARING = 0, /* the device and its memory */
  IGNIS_LOAD_READING = 1,   /* the weights: from the files to the device, repacked on the way */
  IGNIS_LOAD_RECORDING = 2, /* decode rounds are kept for replay, where the device keeps any */
  IGNIS_LOAD_WARMING = 3    /* every kind of step once, where the device keeps rounds */
} ignis_load_phase;

/* How far a load is. The caller's memory, zero but for size: the leaf writes it while ignis_load runs, and any thread may read it
 * meanwhile. Each number is whole; they need not be of one moment. */
typedef struct ignis_load_progress {
  uint32_t size;
  uint32_t phase;        /* ignis_load_phase */
  uint64_t done_bytes;   /* of the tensors, as they are stored */
  uint64_t total_bytes;
  uint32_t is_cancelled; /* any thread sets it: ignis_load returns IGNIS_CANCELLED soon */
  uint32_t reserved;
} ignis_load_progress;

typedef struct ignis_load_params {
  uint32_t size;
  uint32_t num_files;
  const ignis_shape *shape;
  const ignis_file *files;
  const ignis_tensor *tensors; /* a model without "output.weight" is tied: the embedding is the head */
  uint32_t num_tensors;
  uint32_t num_pages;         /* KV pages */
  uint32_t kv_dtype;          /* IGNIS_F32, _F16, _BF16 or _F8_E4M3 (no scale: what is beyond 448 becomes 448) */
  uint32_t max_context;       /* positions of one sequence; sizes attention workspaces */
  uint32_t max_span;          /* tokens of the longest prefill span */
  uint32_t max_lanes;         /* 1..IGNIS_MAX_LANES */
  uint32_t num_threads;       /* CPU: 0 means one a physical core */
  uint32_t seed;              /* not 0: files whose base is null exist nowhere, and the device makes their tensors out of this number:
                                 random weights of a real shape, for benches. The same bytes on every device */
  uint32_t num_host_pages;    /* places for pages in host memory, which a card's driver pins; 0: none */
  uint32_t reserved;
  ignis_load_progress *progress; /* may be NULL */
} ignis_load_params;

/* The memory plan of a load, in bytes. The same arithmetic is used by ignis_load, which takes everything but mapped_bytes, round_bytes
 * and kv_host_bytes in one piece. */
typedef struct ignis_memory_plan {
  uint32_t size;
  uint32_t reserved;
  uint64_t weights_bytes;    /* matrices and vectors in the kernels' layouts */
  uint64_t embedding_bytes;  /* the embedding, where its rows are read from a form of their own */
  uint64_t mapped_bytes;     /* parts of the files that stay in use; 0 on both devices: what is read is read once */
  uint64_t workspace_bytes;  /* hidden states of a step's rows in every form, and parts of attention's results */
  uint64_t sampling_bytes;   /* logits, draws, the sampler's scratch, and a step's inputs */
  uint64_t lane_bytes;       /* token counts of the lanes */
  uint64_t round_bytes;      /* allowed for decode rounds that the device keeps */
  uint64_t kv_page_bytes;    /* one page */
  uint64_t kv_pool_bytes;    /* all pages */
  uint64_t kv_host_bytes;    /* all places, in host memory */
} ignis_memory_plan;

/* One row of the sampling table, host memory, indexed by lane. Order of operations, all in float32 on the lane's
 * logits: repetition penalty (tokens of prompt and output; CTRL, arXiv:1909.05858 section 4.1), presence and frequency
 * penalty (tokens of the output), logit bias, permitted mask, then temperature 0: arg-max, ties to the lowest id; else
 * divide by temperature, top_k, softmax, top_p (smallest set of the most likely tokens whose sum reaches it), min_p (of the
 * largest probability), renormalise, draw by inverse CDF in order of falling probability (ties: lower id first) at
 * Philox4x32-10(key = seed, counter = (position, purpose)). Log probabilities are of the raw logits, before all of this. */
typedef struct ignis_sampling {
  float temperature;        /* 0 is greedy */
  float top_p;              /* (0, 1]; 1 is off */
  float min_p;              /* [0, 1]; 0 is off */
  float repetition_penalty; /* > 0; 1 is off */
  float presence_penalty;
  float frequency_penalty;
  int32_t top_k;            /* 0 is off */
  int32_t top_logprobs;     /* -1: no log probabilities; n: the chosen token's, and the n best */
  uint64_t seed;
  const int32_t *bias_ids;  /* [num_bias], owned by the caller while the lane is open */
  const float *bias_values;
  uint32_t num_bias;
  uint32_t reserved;
  const uint32_t *permitted; /* bit (id & 31) of word id >> 5; NULL permits all */
} ignis_sampling;

typedef struct ignis_draw {
  int32_t token;                               /* -1: the row's logits give none (all -infinity, or NaN or +infinity among
                                                  them); nothing was counted, and the other rows stand */
  int32_t num_top;                             /* entries of the two arrays; 0 where not asked for */
  float logprob;                               /* of token; 0 where not asked for */
  int32_t top_ids[IGNIS_MAX_TOP_LOGPROBS];     /* falling probability, ties: lower id first */
  float top_logprobs[IGNIS_MAX_TOP_LOGPROBS];
} ignis_draw;

typedef struct ignis_span {
  uint32_t size;
  uint32_t start;             /* first position; positions [0, start) are already in the pages */
  uint32_t stop;              /* stop - start <= max_span */
  uint32_t num_pages;         /* >= ceil(stop / IGNIS_PAGE_TOKENS) */
  const int32_t *tokens;      /* [stop - start] */
  const int32_t *page_table;  /* [num_pages] */
  int32_t lane;               /* >= 0: after the span draw the token at position stop for this lane; -1: no draw */
  uint32_t reserved;
  const ignis_sampling *sampling; /* the table's base, [max_lanes]; may be NULL when lane is -1 */
  float *logits;              /* NULL, or [stop - start, vocab_size]: raw logits of every position (tests, scoring) */
} ignis_span;

typedef struct ignis_row {
  int32_t lane;              /* each lane at most once in a round */
  int32_t token;             /* the token at position, drawn by the step before */
  uint32_t position;
  uint32_t num_pages;        /* >= position / IGNIS_PAGE_TOKENS + 1 */
  const int32_t *page_table;
} ignis_row;

typedef struct ignis_round {
  uint32_t size;
  uint32_t num_rows;         /* 1..max_lanes */
  const ignis_row *rows;
  const ignis_sampling *sampling; /* the table's base, [max_lanes] */
  float *logits;             /* NULL, or [num_rows, vocab_size] raw logits */
} ignis_round;

typedef struct ignis_model ignis_model;

IGNIS_API uint32_t ignis_abi_version(void);
IGNIS_API const char *ignis_last_error(void); /* of this thread; valid until its next call */
IGNIS_API ignis_status ignis_probe(ignis_device_info *info);

IGNIS_API ignis_status ignis_plan(const ignis_load_params *params, ignis_memory_plan *plan);
IGNIS_API ignis_status ignis_load(const ignis_load_params *params, ignis_model **model);
IGNIS_API void ignis_unload(ignis_model *model); /* NULL is fine */

/* Starts a lane: its token counts become those of the prompt and of the output so far (both may be empty). */
IGNIS_API ignis_status ignis_lane_open(ignis_model *model, int32_t lane, const int32_t *prompt, uint32_t num_prompt,
                                       const int32_t *output, uint32_t num_output);

/* Copies one page into another: all layers, all positions, those that were never stored too. Nothing else changes. Ordered
 * before every later call, so the source may be given up when it returns. */
IGNIS_API ignis_status ignis_copy_page(ignis_model *model, int32_t from, int32_t to);

/* Copies pages[i] to places[i], all of it. Ordered before every later call, so the pages may be given up when it returns: it does not
 * wait for the device. */
IGNIS_API ignis_status ignis_pages_out(ignis_model *model, const int32_t *pages, const int32_t *places, uint32_t num);
/* Copies places[i] to pages[i], and waits until they are there. */
IGNIS_API ignis_status ignis_pages_in(ignis_model *model, const int32_t *pages, const int32_t *places, uint32_t num);

IGNIS_API ignis_status ignis_prefill(ignis_model *model, const ignis_span *span, ignis_draw *draw);
/* draws: [num_rows], in the order of rows; row i's draw is the token at position rows[i].position + 1. A token that is
 * drawn (here or by a span) is added to its lane's output counts. */
IGNIS_API ignis_status ignis_decode(ignis_model *model, const ignis_round *round, ignis_draw *draws);
/* The same in two halves, with time for the caller in between: begin queues the round where the device is not the host, end waits for it.
 * Until the end nothing else is called but ignis_unload, and what the round points to stays as it is. */
IGNIS_API ignis_status ignis_decode_begin(ignis_model *model, const ignis_round *round);
IGNIS_API ignis_status ignis_decode_end(ignis_model *model, ignis_draw *draws);
/* Between begin and end, once: has the round come again with the same lanes and sampling, each row one position on with the token that it
 * draws now. The next ignis_decode_end gives the first one's draws and leaves that one under way; there is no begin for it. Each row's
 * next position lies in the page of this one, and the round asks for no logits. A row that draws no token goes on with token 0: what it
 * draws then is nobody's. */
IGNIS_API ignis_status ignis_decode_ahead(ignis_model *model);

/* Where the last span or round that was done spent its time, in seconds; between ignis_decode_begin and _end that is the one before. */
typedef struct ignis_step_times {
  uint32_t size;
  uint32_t reserved;
  double launch_s; /* of the host: inputs put in place and work queued; 0 where the host does the work itself */
  double wait_s;   /* of the host: waiting for the device, and bringing the draws; where the host is the device, device_s */
  double device_s; /* of the device: the step's work alone, without its inputs' way in and its draws' way out */
} ignis_step_times;
IGNIS_API ignis_status ignis_last_step(const ignis_model *model, ignis_step_times *times);

/* What the device can do, measured now, in a second or less, on memory that is given back: what a step is held against. Bytes that a
 * copy reads and writes count both. The matrix rate is of 16-bit products with float32 sums, as a card's tensor cores do them from
 * registers and shared memory; on a CPU it is of its fastest linear layer. */
typedef struct ignis_ceilings {
  uint32_t size;
  uint32_t reserved;
  double read_bytes_s, copy_bytes_s, matrix_flops_s;
} ignis_ceilings;
/* num_threads: of the CPU, as ignis_load_params'. */
IGNIS_API ignis_status ignis_measure(uint32_t num_threads, ignis_ceilings *ceilings);

/* Float32 values of num_values consecutive elements of a stored tensor, bit-equal to the format's definition; of IGNIS_F8_E4M3 before
 * the block scales. */
IGNIS_API ignis_status ignis_dequantize(uint32_t dtype, const void *data, uint64_t size_bytes, float *values,
                                        uint64_t num_values);

#ifdef __cplusplus
}
#endif
#endif
