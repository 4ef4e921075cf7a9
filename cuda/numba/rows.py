"""A row to draw for and its memory on the card, as the kernels and the leaf both see them.

The leaf reads these numbers from ptx/sampling_kernels.h, which compile.py writes.
"""

from collections import namedtuple

import numpy as np
from numba import cuda

# SampleParams of cuda/kernels/device.h. The last five are addresses on the card.
PARAMS = np.dtype(
    [
        ("temperature", np.float32),
        ("top_p", np.float32),
        ("min_p", np.float32),
        ("repetition_penalty", np.float32),
        ("presence_penalty", np.float32),
        ("frequency_penalty", np.float32),
        ("top_k", np.int32),
        ("top_logprobs", np.int32),
        ("seed", np.uint64),
        ("position", np.uint32),
        ("num_bias", np.uint32),
        ("has_mask", np.uint32),
        ("reserved", np.uint32),
        ("bias_ids", np.uint64),
        ("bias_values", np.uint64),
        ("permitted", np.uint64),
        ("output_counts", np.uint64),
        ("is_seen", np.uint64),
    ],
    align=True,
)

# ignis_draw as words: token, number of best, log probability, ids of the best, their log probabilities.
MAX_TOP_LOGPROBS = 20
DRAW_TOKEN, DRAW_NUM_TOP, DRAW_LOGPROB, DRAW_TOP_IDS = 0, 1, 2, 3
DRAW_TOP_LOGPROBS = DRAW_TOP_IDS + MAX_TOP_LOGPROBS
DRAW_WORDS = DRAW_TOP_LOGPROBS + MAX_TOP_LOGPROBS

# Tokens of a row that one block of patch, weigh or gather has: OWN_TOKENS for each thread, thread t the t-th of every
# THREADS. A thread reads all of its own before it works on the first, or it would wait for each. A block keeps a bin's
# weight as two sums of 32 bits: 4095 tokens of 2^20 each are what they hold.
THREADS = 256
OWN_TOKENS = 8
SLICE = THREADS * OWN_TOKENS

# The falling order of weights is cut into bins of 1/64 of a scaled logit; what is 32 or more below the best is in the
# last. A block that has them all has OWN_BINS for each thread, side by side.
BINS = 2048
BINS_A_UNIT = np.float32(64)
OWN_BINS = BINS // THREADS

# A row's memory: `wide`, int64 [rows, wide_words(V)], and `narrow`, int32 [rows, NARROW_WORDS].
#
#   wide                                   narrow
#   [BINS]    weight of each bin           [BINS]  tokens of each bin
#   [BINS]    weight before it             [BINS]  tokens of each bin of raw logits
#   [8]       single numbers               [BINS]  tokens before each bin
#   [V]       codes that were gathered     [2]     how many codes were gathered, of both kinds
#   [V]       raw codes, too
#   [slices]  best token of each slice
#   [slices]  largest raw logit of each
RowMemory = namedtuple("RowMemory", ["wide", "wide_base", "narrow", "narrow_base"])
BIN_WEIGHTS = 0
WEIGHTS_BEFORE = BIN_WEIGHTS + BINS
HEAVY_NUM = WEIGHTS_BEFORE + BINS  # tokens that min_p keeps
HEAVY_WEIGHT = HEAVY_NUM + 1
RAW_WEIGHT = HEAVY_NUM + 2  # of all tokens' raw logits, 2^40 for the largest
BEST = HEAVY_NUM + 3  # row_best's, of rows that are weighed
RAW_BEST = HEAVY_NUM + 4
DRAW_BITS = HEAVY_NUM + 5  # the uniform number, 53 bits of it
TOTAL_NUM = HEAVY_NUM + 6
TOTAL_WEIGHT = HEAVY_NUM + 7
CODES = HEAVY_NUM + 8
BIN_NUMS = 0
RAW_BIN_NUMS = BIN_NUMS + BINS
NUMS_BEFORE = RAW_BIN_NUMS + BINS
NUM_CODES = NUMS_BEFORE + BINS
NUM_RAW_CODES = NUM_CODES + 1
NARROW_WORDS = NUM_RAW_CODES + 1

# A block's part of a row: tokens [start, stop), and where the row begins in [rows, V].
Slice = namedtuple("Slice", ["base", "start", "stop"])


@cuda.jit(device=True)
def row_memory(wide, narrow, row, vocab_size):
    return RowMemory(wide, row * wide_words(vocab_size), narrow, row * NARROW_WORDS)


@cuda.jit(device=True)
def own_slice(row, vocab_size):
    """The slice of this block, in a grid of (slices, rows)."""
    start = np.int64(cuda.blockIdx.x) * SLICE
    return Slice(row * vocab_size, start, min(start + SLICE, vocab_size))


@cuda.jit(device=True)
def own_token(part, i):
    """The i-th of this thread's tokens; where that is not below part.stop, it has fewer."""
    return part.start + i * cuda.blockDim.x + cuda.threadIdx.x


@cuda.jit(device=True)
def num_slices(vocab_size):
    return (vocab_size + SLICE - 1) // SLICE


@cuda.jit(device=True)
def wide_words(vocab_size):
    return CODES + 2 * vocab_size + 2 * num_slices(vocab_size)


@cuda.jit(device=True)
def raw_codes(vocab_size):
    return CODES + vocab_size


@cuda.jit(device=True)
def slice_bests(vocab_size):
    return CODES + 2 * vocab_size


@cuda.jit(device=True)
def slice_raw_bests(vocab_size):
    return CODES + 2 * vocab_size + num_slices(vocab_size)


@cuda.jit(device=True)
def has_penalties(own):
    return (
        own["repetition_penalty"] != np.float32(1)
        or own["presence_penalty"] != np.float32(0)
        or own["frequency_penalty"] != np.float32(0)
    )


@cuda.jit(device=True)
def is_patched(own):
    return has_penalties(own) or own["num_bias"] != 0 or own["has_mask"] != 0


@cuda.jit(device=True)
def is_drawn(own):
    return own["temperature"] != np.float32(0)


@cuda.jit(device=True)
def wants_logprobs(own):
    return own["top_logprobs"] >= 0


@cuda.jit(device=True)
def is_weighed(own):
    """Whether a row needs more than its best token."""
    return is_drawn(own) or wants_logprobs(own)


@cuda.jit(device=True)
def word_of(address):
    """The place in `memory`, the card's memory as words from address 0, of what lies at an address."""
    return np.int64(address >> np.uint64(2))
