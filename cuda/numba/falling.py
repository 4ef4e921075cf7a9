"""The falling order of a row's tokens, as bins: where it reaches a number or a weight, and which bins decide a draw.

Each thread of a block has OWN_BINS that lie side by side, in registers.
"""

from collections import namedtuple

import numpy as np
from numba import cuda

from cuda.numba.arithmetic import share_of
from cuda.numba.block import sums_before
from cuda.numba.rows import BIN_WEIGHTS, OWN_BINS

# A thread's bins, [OWN_BINS] each, and what comes before them.
OwnBins = namedtuple("OwnBins", ["nums", "weights", "num_before", "weight_before"])

# What find_bin leaves in `place`.
BIN, WEIGHT_BEFORE, BIN_WEIGHT = 0, 1, 2
PLACE_WORDS = 3


@cuda.jit(device=True)
def load_bins(nums, weights, shared, at, first_num, has_weights):
    """nums, weights [OWN_BINS] = this thread's of a row; returns them with the sums before, and the sums of all."""
    first = cuda.threadIdx.x * OWN_BINS
    for i in range(OWN_BINS):
        nums[i] = np.int64(at.narrow[at.narrow_base + first_num + first + i])
        weights[i] = at.wide[at.wide_base + BIN_WEIGHTS + first + i] if has_weights else 0
    num, weight = np.int64(0), np.int64(0)
    for i in range(OWN_BINS):
        num += nums[i]
        weight += weights[i]
    num_before, weight_before, total_num, total_weight = sums_before(shared, num, weight)
    return OwnBins(nums, weights, num_before, weight_before), total_num, total_weight


@cuda.jit(device=True)
def find_bin(place, bins, by_num, target):
    """Sets `place` to the bin where the falling order reaches `target`, of tokens or weight: 1 to what all have."""
    cuda.syncthreads()
    num, weight = bins.num_before, bins.weight_before
    for i in range(OWN_BINS):
        before, own = (num, bins.nums[i]) if by_num else (weight, bins.weights[i])
        if before < target and before + own >= target:
            place[BIN] = cuda.threadIdx.x * OWN_BINS + i
            place[WEIGHT_BEFORE] = weight
            place[BIN_WEIGHT] = bins.weights[i]
        num += bins.nums[i]
        weight += bins.weights[i]
    cuda.syncthreads()


@cuda.jit(device=True)
def part_target(part, weight):
    """The weight at which the smallest set of that part of the weight is complete."""
    return max(np.int64(1), share_of(np.float64(part), weight))


@cuda.jit(device=True)
def draw_target(position, weight):
    """The weight at which the drawn token is reached."""
    return min(share_of(position, weight) + 1, weight)


@cuda.jit(device=True)
def needed_bins(place, own, bins, total_num, total_weight, heavy_weight, position):
    """Returns the bins whose tokens decide a draw: (top_k's, top_p's first, last, the draw's first, last); none is -1.

    Inside a bin a cut is not known yet: what is kept then weighs at least `low` and at most `high`.
    """
    low, high = total_weight, total_weight
    cut = np.int64(-1)
    top_k = np.int64(own["top_k"])
    if top_k > 0 and top_k < total_num:
        find_bin(place, bins, True, top_k)
        cut = place[BIN]
        low = place[WEIGHT_BEFORE] + 1
        high = place[WEIGHT_BEFORE] + place[BIN_WEIGHT]
    part_first, part_last = np.int64(-1), np.int64(-1)
    if own["top_p"] < np.float32(1):
        find_bin(place, bins, False, part_target(own["top_p"], high))
        part_last = place[BIN]
        kept = min(high, place[WEIGHT_BEFORE] + place[BIN_WEIGHT])
        if low < high:
            find_bin(place, bins, False, part_target(own["top_p"], low))
        part_first = place[BIN]
        low, high = place[WEIGHT_BEFORE] + 1, kept
    if own["min_p"] > np.float32(0):
        low, high = min(low, heavy_weight), min(high, heavy_weight)
    find_bin(place, bins, False, draw_target(position, high))
    draw_last = place[BIN]
    if low < high:
        find_bin(place, bins, False, draw_target(position, low))
    return cut, part_first, part_last, place[BIN], draw_last
