"""weigh: how many tokens each bin of the falling order has and what they weigh together, and sums over whole rows.

Sums of whole numbers are the same in every order: atomics give the same bits at every run.
"""

import math
from collections import namedtuple

import numpy as np
from numba import cuda

from cuda.numba.arithmetic import ID_BITS, ONE, bin_of, from_ordered, weight_of
from cuda.numba.block import Pair, block_sums
from cuda.numba.patch import gives_token, load_tokens, row_best
from cuda.numba.rows import (
    BEST,
    BIN_NUMS,
    BIN_WEIGHTS,
    BINS,
    HEAVY_NUM,
    HEAVY_WEIGHT,
    OWN_TOKENS,
    RAW_BEST,
    RAW_BIN_NUMS,
    RAW_WEIGHT,
    THREADS,
    is_drawn,
    is_patched,
    is_weighed,
    own_slice,
    own_token,
    row_memory,
    wants_logprobs,
)

PAIRS = 2 * THREADS

# A block's bins in shared memory: tokens, and the lower and the upper bits of their weights, summed apart. The card
# adds to 32 bits of shared memory at once, to 64 by trying again.
BlockBins = namedtuple("BlockBins", ["nums", "low_sums", "high_sums"])
LOW_BITS = 20
LOW_MASK = (1 << LOW_BITS) - 1


@cuda.jit(device=True)
def least_weight(min_p):
    return np.int64(math.ceil(min_p * ONE))


@cuda.jit(device=True)
def weigh_drawn(bins, shared, own, logits, largest, part, at):
    """Adds this block's tokens to the row's bins. logits [OWN_TOKENS]: this thread's, patched."""
    i = cuda.threadIdx.x
    while i < BINS:
        bins.nums[i] = 0
        bins.low_sums[i] = 0
        bins.high_sums[i] = 0
        i += cuda.blockDim.x
    cuda.syncthreads()
    least = least_weight(own["min_p"])
    heavy_num, heavy_weight = np.int64(0), np.int64(0)
    for i in range(OWN_TOKENS):
        scaled = (logits[i] - largest) / own["temperature"]
        weight = weight_of(scaled)
        if own_token(part, i) < part.stop and weight > 0:
            index = bin_of(scaled)
            cuda.atomic.add(bins.nums, index, np.int32(1))
            cuda.atomic.add(bins.low_sums, index, np.uint32(weight & LOW_MASK))
            if weight > LOW_MASK:
                cuda.atomic.add(bins.high_sums, index, np.uint32(weight >> LOW_BITS))
            if weight >= least:
                heavy_num += 1
                heavy_weight += weight
    cuda.syncthreads()
    i = cuda.threadIdx.x
    while i < BINS:
        num = bins.nums[i]
        if num > 0:
            weight = (np.int64(bins.high_sums[i]) << LOW_BITS) + np.int64(bins.low_sums[i])
            cuda.atomic.add(at.narrow, at.narrow_base + BIN_NUMS + i, num)
            cuda.atomic.add(at.wide, at.wide_base + BIN_WEIGHTS + i, weight)
        i += cuda.blockDim.x
    if own["min_p"] > np.float32(0):
        heavy_num, heavy_weight = block_sums(shared, heavy_num, heavy_weight)
        if cuda.threadIdx.x == 0 and heavy_num > 0:
            cuda.atomic.add(at.wide, at.wide_base + HEAVY_NUM, heavy_num)
            cuda.atomic.add(at.wide, at.wide_base + HEAVY_WEIGHT, heavy_weight)


@cuda.jit(device=True)
def weigh_raw(bin_nums, shared, logits, largest, part, at):
    """Adds this block's tokens to the row's raw bins and their weight to the row's. logits [OWN_TOKENS]: raw."""
    cuda.syncthreads()
    i = cuda.threadIdx.x
    while i < BINS:
        bin_nums[i] = 0
        i += cuda.blockDim.x
    cuda.syncthreads()
    weight = np.int64(0)
    for i in range(OWN_TOKENS):
        if own_token(part, i) < part.stop:
            scaled = logits[i] - largest
            weight += weight_of(scaled)
            cuda.atomic.add(bin_nums, bin_of(scaled), np.int32(1))
    _, weight = block_sums(shared, np.int64(0), weight)
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(at.wide, at.wide_base + RAW_WEIGHT, weight)
    i = cuda.threadIdx.x
    while i < BINS:
        num = bin_nums[i]
        if num > 0:
            cuda.atomic.add(at.narrow, at.narrow_base + RAW_BIN_NUMS + i, num)
        i += cuda.blockDim.x


@cuda.jit
def weigh(wide, narrow, patched, logits, params, vocab_size):
    """Grid (slices, rows)."""
    nums = cuda.shared.array(PAIRS, np.int64)
    weights = cuda.shared.array(PAIRS, np.int64)
    bin_nums = cuda.shared.array(BINS, np.int32)
    low_sums = cuda.shared.array(BINS, np.uint32)
    high_sums = cuda.shared.array(BINS, np.uint32)
    values = cuda.local.array(OWN_TOKENS, np.float32)
    row = np.int64(cuda.blockIdx.y)
    own = params[row]
    if not is_weighed(own):
        return
    at, part = row_memory(wide, narrow, row, vocab_size), own_slice(row, vocab_size)
    shared = Pair(nums, weights)
    load_tokens(values, patched if is_drawn(own) and is_patched(own) else logits, part)
    best, raw_best = row_best(shared, at, vocab_size)
    if cuda.blockIdx.x == 0 and cuda.threadIdx.x == 0:
        wide[at.wide_base + BEST] = best
        wide[at.wide_base + RAW_BEST] = raw_best
    if not gives_token(best, raw_best):
        return
    if is_drawn(own):
        bins = BlockBins(bin_nums, low_sums, high_sums)
        weigh_drawn(bins, shared, own, values, from_ordered(best >> ID_BITS), part, at)
    if wants_logprobs(own):
        if is_drawn(own) and is_patched(own):
            load_tokens(values, logits, part)
        weigh_raw(bin_nums, shared, values, from_ordered(raw_best), part, at)
