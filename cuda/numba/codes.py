"""Codes of tokens that were gathered: where the falling order reaches a number of tokens or a weight among them.

Few are compared each with each, once for all cuts of a row. Of many, a range is narrowed until few are in it: ties of a
whole vocabulary are as right as any row, only slower.
"""

from collections import namedtuple

import numpy as np
from numba import cuda

from cuda.numba.arithmetic import bin_of_code, bin_start, weight_of_code
from cuda.numba.block import sums_before
from cuda.numba.rows import NUMS_BEFORE, WEIGHTS_BEFORE

MEMBERS = 512  # codes that are compared each with each
DIGITS = 256  # parts that a range of codes is narrowed to one of

# A list of codes, and where in it the list begins.
Codes = namedtuple("Codes", ["list", "start", "num"])
# In shared memory, [MEMBERS] each: codes, what they weigh, from which code on others count, and tokens and weight of
# the falling order up to each: before that code first, then with all up to itself.
Members = namedtuple("Members", ["codes", "weights", "firsts", "nums", "sums"])
# In shared memory: tokens and weight of each part of a range [DIGITS], and a counter [1].
Digits = namedtuple("Digits", ["nums", "weights", "counter"])

# `place`, in shared memory: where each of three cuts ends (tokens and weight with the last one that is kept, and its
# code), and where the range of codes begins that is searched, with what comes before it.
NUM, WEIGHT, CODE = 0, 1, 2
CUT_WORDS = 3
FIRST = 3 * CUT_WORDS
NUM_BEFORE, WEIGHT_BEFORE = FIRST + 1, FIRST + 2
PLACE_WORDS = FIRST + 3


@cuda.jit(device=True)
def load_members(members, codes, at):
    i = cuda.threadIdx.x
    while i < codes.num:
        code = codes.list[codes.start + i]
        index = bin_of_code(code)
        members.codes[i] = code
        members.firsts[i] = bin_start(index)
        members.nums[i] = np.int64(at.narrow[at.narrow_base + NUMS_BEFORE + index])
        members.sums[i] = at.wide[at.wide_base + WEIGHTS_BEFORE + index]
        members.weights[i] = weight_of_code(code)
        i += cuda.blockDim.x
    cuda.syncthreads()


@cuda.jit(device=True)
def rank_members(members, num_members):
    """Adds to each member's nums and sums the codes that count, up to its own."""
    i = cuda.threadIdx.x
    while i < num_members:
        first, last = members.firsts[i], members.codes[i]
        num, weight = np.int64(0), np.int64(0)
        for j in range(num_members):
            code, own = members.codes[j], members.weights[j]
            counts = code >= first and code <= last
            num += 1 if counts else 0
            weight += own if counts else 0
        members.nums[i] += num
        members.sums[i] += weight
        i += cuda.blockDim.x
    cuda.syncthreads()


@cuda.jit(device=True)
def reach_member(place, cut, members, num_members, by_num, target):
    """Ends the cut at the code where the falling order reaches `target`, of tokens or weight."""
    i = cuda.threadIdx.x
    while i < num_members:
        num, weight = members.nums[i], members.sums[i]
        if num == target if by_num else weight >= target and weight - members.weights[i] < target:
            place[cut * CUT_WORDS + NUM] = num
            place[cut * CUT_WORDS + WEIGHT] = weight
            place[cut * CUT_WORDS + CODE] = members.codes[i]
        i += cuda.blockDim.x
    cuda.syncthreads()


@cuda.jit(device=True)
def start_at(place, first, num, weight):
    """Has reach search from this code on; num, weight: what comes before it."""
    cuda.syncthreads()
    place[FIRST] = first
    place[NUM_BEFORE] = num
    place[WEIGHT_BEFORE] = weight
    cuda.syncthreads()


@cuda.jit(device=True)
def narrow_range(place, shared, digits, codes, shift, by_num, target, weighs):
    """Sets place[FIRST] to where the part of it, of DIGITS << shift codes, begins that reaches the target."""
    thread = cuda.threadIdx.x
    first, num, weight = place[FIRST], place[NUM_BEFORE], place[WEIGHT_BEFORE]
    i = thread
    while i < DIGITS:
        digits.nums[i] = 0
        digits.weights[i] = 0
        i += cuda.blockDim.x
    cuda.syncthreads()
    i = thread
    while i < codes.num:
        code = codes.list[codes.start + i]
        digit = (code - first) >> shift
        if digit >= 0 and digit < DIGITS:
            cuda.atomic.add(digits.nums, digit, np.int32(1))
            if weighs:
                cuda.atomic.add(digits.weights, digit, weight_of_code(code))
        i += cuda.blockDim.x
    cuda.syncthreads()
    own = max(DIGITS // cuda.blockDim.x, 1)
    own_num, own_weight = np.int64(0), np.int64(0)
    for i in range(thread * own, min((thread + 1) * own, DIGITS)):
        own_num += np.int64(digits.nums[i])
        own_weight += digits.weights[i]
    before_num, before_weight, _, _ = sums_before(shared, own_num, own_weight)
    num += before_num
    weight += before_weight
    for i in range(thread * own, min((thread + 1) * own, DIGITS)):
        next_num, next_weight = num + np.int64(digits.nums[i]), weight + digits.weights[i]
        before, after = (num, next_num) if by_num else (weight, next_weight)
        if before < target and after >= target:
            place[FIRST] = first + (np.int64(i) << shift)
            place[NUM_BEFORE] = num
            place[WEIGHT_BEFORE] = weight
        num, weight = next_num, next_weight
    cuda.syncthreads()


@cuda.jit(device=True)
def collect(members, counter, codes, first, stop):
    """members [MEMBERS] = the codes in [first, stop), in no order; returns how many there are, kept or not."""
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        counter[0] = 0
    cuda.syncthreads()
    i = cuda.threadIdx.x
    while i < codes.num:
        code = codes.list[codes.start + i]
        if code >= first and code < stop:
            slot = cuda.atomic.add(counter, 0, np.int32(1))
            if slot < MEMBERS:
                members[slot] = code
        i += cuda.blockDim.x
    cuda.syncthreads()
    return np.int64(counter[0])


@cuda.jit(device=True)
def reach(place, cut, members, shared, digits, codes, stop, by_num, target, weighs):
    """Ends the cut at the code where the falling order reaches `target`, among those in [place[FIRST], stop)."""
    found = collect(members.codes, digits.counter, codes, place[FIRST], stop)
    while found > MEMBERS:
        shift = np.int64(0)
        while ((stop - 1 - place[FIRST]) >> shift) >= DIGITS:
            shift += 1
        narrow_range(place, shared, digits, codes, shift, by_num, target, weighs)
        stop = min(stop, place[FIRST] + (np.int64(1) << shift))
        found = collect(members.codes, digits.counter, codes, place[FIRST], stop)
    i = cuda.threadIdx.x
    while i < found:
        members.weights[i] = weight_of_code(members.codes[i]) if weighs else 0
        members.firsts[i] = place[FIRST]
        members.nums[i] = place[NUM_BEFORE]
        members.sums[i] = place[WEIGHT_BEFORE]
        i += cuda.blockDim.x
    cuda.syncthreads()
    rank_members(members, found)
    reach_member(place, cut, members, found, by_num, target)
