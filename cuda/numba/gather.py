"""gather: the codes of the tokens that a draw depends on, and of those among which the best raw ones are."""

import numpy as np
from numba import cuda

from cuda.numba.arithmetic import ID_BITS, bin_of, code_of, from_ordered, raw_code_of, uniform, weight_of
from cuda.numba.block import Pair
from cuda.numba.falling import BIN, PLACE_WORDS, find_bin, load_bins, needed_bins
from cuda.numba.patch import gives_token, load_tokens
from cuda.numba.rows import (
    BEST,
    BIN_NUMS,
    CODES,
    DRAW_BITS,
    HEAVY_WEIGHT,
    NUM_CODES,
    NUM_RAW_CODES,
    NUMS_BEFORE,
    OWN_BINS,
    OWN_TOKENS,
    RAW_BEST,
    RAW_BIN_NUMS,
    THREADS,
    TOTAL_NUM,
    TOTAL_WEIGHT,
    WEIGHTS_BEFORE,
    is_drawn,
    is_patched,
    own_slice,
    own_token,
    raw_codes,
    row_memory,
)

PAIRS = 2 * THREADS


@cuda.jit(device=True)
def take_places(place, num, at, counter):
    """The first of this thread's `num` places in a row's list; each block takes all of its own at once."""
    if cuda.threadIdx.x == 0:
        place[0] = 0
    cuda.syncthreads()
    offset = np.int64(0)
    if num > 0:
        offset = cuda.atomic.add(place, 0, num)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0 and place[0] > 0:
        place[1] = np.int64(cuda.atomic.add(at.narrow, at.narrow_base + counter, np.int32(place[0])))
    cuda.syncthreads()
    return place[1] + offset


@cuda.jit(device=True)
def gather_drawn(place, temperature, logits, largest, needed, part, at):
    """Appends the codes of those of this thread's tokens, logits [OWN_TOKENS], that are in a needed bin."""
    cut, part_first, part_last, draw_first, draw_last = needed
    taken = np.int64(0)  # a bit for each of them
    num = np.int64(0)
    for i in range(OWN_TOKENS):
        scaled = (logits[i] - largest) / temperature
        index = bin_of(scaled)
        is_needed = index == cut or (part_first <= index <= part_last) or (draw_first <= index <= draw_last)
        if is_needed and own_token(part, i) < part.stop and weight_of(scaled) > 0:
            taken |= np.int64(1) << i
            num += 1
    to = at.wide_base + CODES + take_places(place, num, at, NUM_CODES)
    for i in range(OWN_TOKENS):
        if (taken >> i) & 1 == 1:
            at.wide[to] = code_of((logits[i] - largest) / temperature, own_token(part, i))
            to += 1


@cuda.jit(device=True)
def gather_raw(place, logits, largest, last_bin, part, at, vocab_size):
    """Appends the raw codes of those of this thread's tokens, logits [OWN_TOKENS], in the bins up to the last."""
    taken = np.int64(0)
    num = np.int64(0)
    for i in range(OWN_TOKENS):
        if own_token(part, i) < part.stop and bin_of(logits[i] - largest) <= last_bin:
            taken |= np.int64(1) << i
            num += 1
    to = at.wide_base + raw_codes(vocab_size) + take_places(place, num, at, NUM_RAW_CODES)
    for i in range(OWN_TOKENS):
        if (taken >> i) & 1 == 1:
            at.wide[to] = raw_code_of(logits[i], own_token(part, i))
            to += 1


@cuda.jit(device=True)
def put_sums(bins, total_num, total_weight, at):
    """Leaves the sums before each bin for choose."""
    first = cuda.threadIdx.x * OWN_BINS
    num, weight = bins.num_before, bins.weight_before
    for i in range(OWN_BINS):
        at.narrow[at.narrow_base + NUMS_BEFORE + first + i] = num
        at.wide[at.wide_base + WEIGHTS_BEFORE + first + i] = weight
        num += bins.nums[i]
        weight += bins.weights[i]
    if cuda.threadIdx.x == 0:
        at.wide[at.wide_base + TOTAL_NUM] = total_num
        at.wide[at.wide_base + TOTAL_WEIGHT] = total_weight


@cuda.jit
def gather(wide, narrow, patched, logits, params, vocab_size):
    """Grid (slices, rows)."""
    nums = cuda.shared.array(PAIRS, np.int64)
    weights = cuda.shared.array(PAIRS, np.int64)
    place = cuda.shared.array(PLACE_WORDS, np.int64)
    own_nums = cuda.local.array(OWN_BINS, np.int64)
    own_weights = cuda.local.array(OWN_BINS, np.int64)
    values = cuda.local.array(OWN_TOKENS, np.float32)
    row = np.int64(cuda.blockIdx.y)
    own = params[row]
    if not is_drawn(own) and own["top_logprobs"] <= 0:
        return
    at, part = row_memory(wide, narrow, row, vocab_size), own_slice(row, vocab_size)
    shared = Pair(nums, weights)
    load_tokens(values, patched if is_drawn(own) and is_patched(own) else logits, part)
    best, raw_best = wide[at.wide_base + BEST], wide[at.wide_base + RAW_BEST]
    if not gives_token(best, raw_best):
        return
    if is_drawn(own):
        position = uniform(wide[at.wide_base + DRAW_BITS])
        heavy_weight = wide[at.wide_base + HEAVY_WEIGHT]
        bins, total_num, total_weight = load_bins(own_nums, own_weights, shared, at, BIN_NUMS, True)
        if cuda.blockIdx.x == 0:
            put_sums(bins, total_num, total_weight, at)
        needed = needed_bins(place, own, bins, total_num, total_weight, heavy_weight, position)
        cuda.syncthreads()
        gather_drawn(place, own["temperature"], values, from_ordered(best >> ID_BITS), needed, part, at)
    if own["top_logprobs"] > 0:
        cuda.syncthreads()
        if is_drawn(own) and is_patched(own):
            load_tokens(values, logits, part)
        bins, _, _ = load_bins(own_nums, own_weights, shared, at, RAW_BIN_NUMS, False)
        find_bin(place, bins, True, min(np.int64(own["top_logprobs"]), vocab_size))
        last_bin = place[BIN]
        cuda.syncthreads()
        gather_raw(place, values, from_ordered(raw_best), last_bin, part, at, vocab_size)
