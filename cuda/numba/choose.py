"""choose: the token of a row, its log probabilities, and its place in the lane's counts. A block has a row."""

import math

import numpy as np
from numba import cuda

from cuda.numba.arithmetic import LAST_ID, ONE, RAW_STOP, bin_start, from_ordered, uniform
from cuda.numba.block import Pair
from cuda.numba.codes import (
    CODE,
    CUT_WORDS,
    DIGITS,
    MEMBERS,
    NUM,
    PLACE_WORDS,
    WEIGHT,
    Codes,
    Digits,
    Members,
    collect,
    load_members,
    rank_members,
    reach,
    reach_member,
    start_at,
)
from cuda.numba.falling import draw_target, part_target
from cuda.numba.patch import gives_token, row_best
from cuda.numba.rows import (
    BEST,
    BIN_NUMS,
    BIN_WEIGHTS,
    BINS,
    CODES,
    DRAW_BITS,
    DRAW_LOGPROB,
    DRAW_NUM_TOP,
    DRAW_TOKEN,
    DRAW_TOP_IDS,
    DRAW_TOP_LOGPROBS,
    DRAW_WORDS,
    HEAVY_NUM,
    HEAVY_WEIGHT,
    MAX_TOP_LOGPROBS,
    NUM_CODES,
    NUM_RAW_CODES,
    NUMS_BEFORE,
    RAW_BEST,
    RAW_WEIGHT,
    THREADS,
    TOTAL_NUM,
    TOTAL_WEIGHT,
    WEIGHTS_BEFORE,
    is_drawn,
    is_weighed,
    raw_codes,
    row_memory,
    wants_logprobs,
    word_of,
)

PAIRS = 2 * THREADS

# The cuts of the falling order, in their order.
TOP_K, TOP_P, DRAW = 0, 1, 2


@cuda.jit(device=True)
def bin_reaching(found, at, by_num, target):
    """The bin where the falling order reaches `target`, of tokens or weight. found [1]: shared."""
    cuda.syncthreads()
    i = cuda.threadIdx.x
    while i < BINS:
        if by_num:
            before = np.int64(at.narrow[at.narrow_base + NUMS_BEFORE + i])
            own = np.int64(at.narrow[at.narrow_base + BIN_NUMS + i])
        else:
            before = at.wide[at.wide_base + WEIGHTS_BEFORE + i]
            own = at.wide[at.wide_base + BIN_WEIGHTS + i]
        if before < target and before + own >= target:
            found[0] = i
        i += cuda.blockDim.x
    cuda.syncthreads()
    return np.int64(found[0])


@cuda.jit(device=True)
def draw_token(place, own, members, shared, digits, at):
    """Cuts the falling order by top_k, top_p and min_p, and draws from what is kept."""
    kept_num, kept_weight = at.wide[at.wide_base + TOTAL_NUM], at.wide[at.wide_base + TOTAL_WEIGHT]
    codes = Codes(at.wide, at.wide_base + CODES, np.int64(at.narrow[at.narrow_base + NUM_CODES]))
    are_few = codes.num <= MEMBERS
    if are_few:
        load_members(members, codes, at)
        rank_members(members, codes.num)
    top_k = np.int64(own["top_k"])
    for cut in range(3):
        by_num = cut == TOP_K
        if cut == TOP_K:
            if top_k <= 0 or top_k >= kept_num:
                continue
            target = top_k
        elif cut == TOP_P:
            if own["top_p"] >= np.float32(1):
                continue
            target = part_target(own["top_p"], kept_weight)
        else:
            if own["min_p"] > np.float32(0) and at.wide[at.wide_base + HEAVY_NUM] < kept_num:
                kept_weight = at.wide[at.wide_base + HEAVY_WEIGHT]
            target = draw_target(uniform(at.wide[at.wide_base + DRAW_BITS]), kept_weight)
        if are_few:
            reach_member(place, cut, members, codes.num, by_num, target)
        else:
            index = bin_reaching(digits.counter, at, by_num, target)
            num_before = np.int64(at.narrow[at.narrow_base + NUMS_BEFORE + index])
            start_at(place, bin_start(index), num_before, at.wide[at.wide_base + WEIGHTS_BEFORE + index])
            reach(place, cut, members, shared, digits, codes, bin_start(index + 1), by_num, target, True)
        kept_num, kept_weight = place[cut * CUT_WORDS + NUM], place[cut * CUT_WORDS + WEIGHT]
    return place[DRAW * CUT_WORDS + CODE] & LAST_ID


@cuda.jit(device=True)
def logprob(logit, largest, log_sum):
    return np.float32(np.float64(logit) - np.float64(largest) - log_sum)


@cuda.jit(device=True)
def put_logprobs(draws, draw, place, members, shared, digits, at, logits, base, largest, token, num, vocab_size):
    """Those of the token and of the `num` best, of the raw logits."""
    log_sum = math.log(np.float64(at.wide[at.wide_base + RAW_WEIGHT]) / np.float64(ONE))
    if cuda.threadIdx.x == 0:
        draws[draw + DRAW_LOGPROB] = logprob(logits[base + token], largest, log_sum).view(np.int32)
        draws[draw + DRAW_NUM_TOP] = num
    if num == 0:
        return
    first = at.wide_base + raw_codes(vocab_size)
    codes = Codes(at.wide, first, np.int64(at.narrow[at.narrow_base + NUM_RAW_CODES]))
    stop = np.int64(RAW_STOP)
    if codes.num > MEMBERS:
        start_at(place, np.int64(0), np.int64(0), np.int64(0))
        reach(place, TOP_K, members, shared, digits, codes, stop, True, num, False)
        stop = place[TOP_K * CUT_WORDS + CODE] + 1
    found = collect(members.codes, digits.counter, codes, np.int64(0), stop)
    i = cuda.threadIdx.x
    while i < found:
        rank = 0
        for j in range(found):
            if members.codes[j] < members.codes[i]:
                rank += 1
        if rank < num:
            best = members.codes[i] & LAST_ID
            draws[draw + DRAW_TOP_IDS + rank] = best
            draws[draw + DRAW_TOP_LOGPROBS + rank] = logprob(logits[base + best], largest, log_sum).view(np.int32)
        i += cuda.blockDim.x


@cuda.jit
def choose(draws, wide, narrow, memory, logits, params, vocab_size):
    """Grid (rows). draws: ignis_draw of each row, as words."""
    codes = cuda.shared.array(MEMBERS, np.int64)
    code_weights = cuda.shared.array(MEMBERS, np.int64)
    firsts = cuda.shared.array(MEMBERS, np.int64)
    sum_nums = cuda.shared.array(MEMBERS, np.int64)
    sum_weights = cuda.shared.array(MEMBERS, np.int64)
    nums = cuda.shared.array(PAIRS, np.int64)
    weights = cuda.shared.array(PAIRS, np.int64)
    digit_nums = cuda.shared.array(DIGITS, np.int32)
    digit_weights = cuda.shared.array(DIGITS, np.int64)
    counter = cuda.shared.array(1, np.int32)
    place = cuda.shared.array(PLACE_WORDS, np.int64)
    members, shared = Members(codes, code_weights, firsts, sum_nums, sum_weights), Pair(nums, weights)
    digits = Digits(digit_nums, digit_weights, counter)
    row = np.int64(cuda.blockIdx.x)
    own = params[row]
    at = row_memory(wide, narrow, row, vocab_size)
    draw = row * DRAW_WORDS
    i = cuda.threadIdx.x
    while i < DRAW_WORDS:
        draws[draw + i] = 0
        i += cuda.blockDim.x
    if is_weighed(own):
        best, raw_best = wide[at.wide_base + BEST], wide[at.wide_base + RAW_BEST]
        cuda.syncthreads()
    else:
        best, raw_best = row_best(shared, at, vocab_size)
    if not gives_token(best, raw_best):
        if cuda.threadIdx.x == 0:
            draws[draw + DRAW_TOKEN] = -1
        return
    token = LAST_ID - (best & LAST_ID)
    if is_drawn(own):
        token = draw_token(place, own, members, shared, digits, at)
    if cuda.threadIdx.x == 0:
        draws[draw + DRAW_TOKEN] = token
        # Atomic so that nothing waits for the old values.
        cuda.atomic.add(memory, word_of(own["output_counts"]) + token, np.uint32(1))
        cuda.atomic.or_(memory, word_of(own["is_seen"]) + (token >> 5), np.uint32(np.int64(1) << (token & 31)))
    if wants_logprobs(own):
        num = min(min(np.int64(own["top_logprobs"]), vocab_size), MAX_TOP_LOGPROBS)
        base, largest = row * vocab_size, from_ordered(raw_best)
        put_logprobs(draws, draw, place, members, shared, digits, at, logits, base, largest, token, num, vocab_size)
