"""patch: a row's logits after penalties, bias and permitted mask, and the best token of each slice of it.

A block has a slice of a row, and whatever is done to a token is done by its block.
"""

import numpy as np
from numba import cuda

from cuda.numba.arithmetic import BAD, ID_BITS, INFINITY, LAST_ID, LOWEST, draw_bits, ordered, saturated
from cuda.numba.block import Pair, block_largest
from cuda.numba.rows import (
    BIN_NUMS,
    BIN_WEIGHTS,
    BINS,
    DRAW_BITS,
    HEAVY_NUM,
    HEAVY_WEIGHT,
    NUM_CODES,
    NUM_RAW_CODES,
    OWN_TOKENS,
    RAW_BIN_NUMS,
    RAW_WEIGHT,
    THREADS,
    has_penalties,
    is_patched,
    is_weighed,
    num_slices,
    own_slice,
    own_token,
    row_memory,
    slice_bests,
    slice_raw_bests,
    word_of,
)

PAIRS = 2 * THREADS


@cuda.jit(device=True)
def has_bit(word, token):
    return (np.int64(word) >> (token & 31)) & 1 == 1


@cuda.jit(device=True)
def load_tokens(values, source, part):
    """values [OWN_TOKENS] = this thread's of source [rows, V]; where it has fewer, the slice's last one again."""
    for i in range(OWN_TOKENS):
        values[i] = source[part.base + min(own_token(part, i), part.stop - 1)]


@cuda.jit(device=True)
def load_bits(words, memory, bits, part):
    """words [OWN_TOKENS] = those that have the bits of this thread's tokens."""
    for i in range(OWN_TOKENS):
        words[i] = memory[bits + (min(own_token(part, i), part.stop - 1) >> 5)]


@cuda.jit(device=True)
def penalised(own, memory, before, token):
    """A logit after the penalties, of a token that was seen."""
    penalty = own["repetition_penalty"]
    value = saturated(before / penalty if before > np.float32(0) else before * penalty, before)
    count = np.int64(memory[word_of(own["output_counts"]) + token])
    if count > 0:
        value = saturated(value - own["presence_penalty"], before)
        value = saturated(value - saturated(own["frequency_penalty"] * np.float32(count), np.float32(0)), before)
    return value


@cuda.jit(device=True)
def is_first(memory, ids, i):
    """Whether no entry before the i-th has its id."""
    for j in range(i):  # noqa: SIM110 -- Numba has no generators on a card
        if memory[ids + j] == memory[ids + i]:
            return False
    return True


@cuda.jit(device=True)
def add_bias(patched, own, memory, part):
    """The first entry of an id of the slice adds all of that id's, in their order."""
    ids, values = word_of(own["bias_ids"]), word_of(own["bias_values"])
    num = np.int64(own["num_bias"])
    i = cuda.threadIdx.x
    while i < num:
        token = np.int64(memory[ids + i])
        if part.start <= token < part.stop and is_first(memory, ids, i):
            value = patched[part.base + token]
            for j in range(i, num):
                if np.int64(memory[ids + j]) == token:
                    value = saturated(value + memory[values + j].view(np.float32), value)
            patched[part.base + token] = value
        i += cuda.blockDim.x


@cuda.jit(device=True)
def put_tokens(patched, values, part):
    for i in range(OWN_TOKENS):
        token = own_token(part, i)
        if token < part.stop:
            patched[part.base + token] = values[i]


@cuda.jit(device=True)
def patch_tokens(values, patched, own, memory, part):
    """values [OWN_TOKENS] and patched [rows, V] become what penalties, bias and mask make of this thread's tokens."""
    words = cuda.local.array(OWN_TOKENS, np.uint32)
    if has_penalties(own):
        load_bits(words, memory, word_of(own["is_seen"]), part)
        for i in range(OWN_TOKENS):
            token = own_token(part, i)
            if token < part.stop and has_bit(words[i], token):
                values[i] = penalised(own, memory, values[i], token)
    if own["num_bias"] > 0:
        put_tokens(patched, values, part)
        cuda.syncthreads()
        add_bias(patched, own, memory, part)
        cuda.syncthreads()
        load_tokens(values, patched, part)
    if own["has_mask"] != 0:
        load_bits(words, memory, word_of(own["permitted"]), part)
        for i in range(OWN_TOKENS):
            if not has_bit(words[i], own_token(part, i)):
                values[i] = -INFINITY
    put_tokens(patched, values, part)


@cuda.jit(device=True)
def make_ready(own, at):
    """Makes a row's memory ready for weigh and gather; its blocks share the work."""
    first = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if first == 0:
        at.wide[at.wide_base + HEAVY_NUM] = 0
        at.wide[at.wide_base + HEAVY_WEIGHT] = 0
        at.wide[at.wide_base + RAW_WEIGHT] = 0
        at.wide[at.wide_base + DRAW_BITS] = draw_bits(own["seed"], own["position"])
        at.narrow[at.narrow_base + NUM_CODES] = 0
        at.narrow[at.narrow_base + NUM_RAW_CODES] = 0
    i = first
    while i < BINS:
        at.wide[at.wide_base + BIN_WEIGHTS + i] = 0
        at.narrow[at.narrow_base + BIN_NUMS + i] = 0
        at.narrow[at.narrow_base + RAW_BIN_NUMS + i] = 0
        i += cuda.gridDim.x * cuda.blockDim.x


@cuda.jit
def patch(patched, wide, narrow, memory, logits, params, vocab_size):
    """Grid (slices, rows). patched [rows, V] is written where the row is patched at all."""
    nums = cuda.shared.array(PAIRS, np.int64)
    weights = cuda.shared.array(PAIRS, np.int64)
    values = cuda.local.array(OWN_TOKENS, np.float32)
    row = np.int64(cuda.blockIdx.y)
    own = params[row]
    at, part = row_memory(wide, narrow, row, vocab_size), own_slice(row, vocab_size)
    load_tokens(values, logits, part)
    raw_best = np.int64(LOWEST)
    for i in range(OWN_TOKENS):  # a token that is looked at twice changes nothing
        raw_best = max(raw_best, ordered(values[i]) if values[i] < INFINITY else np.int64(BAD))
    if is_patched(own):
        patch_tokens(values, patched, own, memory, part)
    best = np.int64(LOWEST) << ID_BITS
    for i in range(OWN_TOKENS):
        token = own_token(part, i)
        if token < part.stop:
            best = max(best, (ordered(values[i]) << ID_BITS) | (LAST_ID - token))
    if is_weighed(own):
        make_ready(own, at)
    best, raw_best = block_largest(Pair(nums, weights), best, raw_best)
    if cuda.threadIdx.x == 0:
        wide[at.wide_base + slice_bests(vocab_size) + cuda.blockIdx.x] = best
        wide[at.wide_base + slice_raw_bests(vocab_size) + cuda.blockIdx.x] = raw_best


@cuda.jit(device=True)
def row_best(shared, at, vocab_size):
    """(the best token, the largest raw logit), in each thread: an ordered logit above LAST_ID - id; ordered, or BAD."""
    best, raw_best = np.int64(LOWEST) << ID_BITS, np.int64(LOWEST)
    i = cuda.threadIdx.x
    while i < num_slices(vocab_size):
        best = max(best, at.wide[at.wide_base + slice_bests(vocab_size) + i])
        raw_best = max(raw_best, at.wide[at.wide_base + slice_raw_bests(vocab_size) + i])
        i += cuda.blockDim.x
    return block_largest(shared, best, raw_best)


@cuda.jit(device=True)
def gives_token(best, raw_best):
    return raw_best != BAD and raw_best > LOWEST and (best >> ID_BITS) > LOWEST
