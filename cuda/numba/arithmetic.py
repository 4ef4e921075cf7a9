"""The numbers of a draw: logits in order, weights that are whole numbers, codes of tokens, uniform draws.

Whole numbers are int64 as soon as they are read: Numba makes float64 of an int64 and a uint64.
"""

import math

import numpy as np
from numba import cuda

from cuda.numba.rows import BINS, BINS_A_UNIT

ONE = np.float32(2.0**40)  # the weight of the best token
LARGEST = np.float32(3.40282347e38)
INFINITY = np.float32(np.inf)

# A code is a token's place in the falling order: a key that rises as the logit falls, then the id.
ID_BITS = 31
LAST_ID = (1 << ID_BITS) - 1

LOWEST = -2139095041  # ordered(-inf)
RAW_STOP = (0x7FFFFFFF - LOWEST + 1) << ID_BITS  # behind every raw_code_of
BAD = 1 << 40  # instead of an ordered value: the logits give no token


@cuda.jit(device=True)
def saturated(value, raw):
    """The nearest finite number; -inf, which only a raw logit can be, stays. cuda/host/sampling.cpp says why."""
    if raw == -INFINITY:
        return raw
    if value > LARGEST:
        return LARGEST
    if value < -LARGEST:
        return -LARGEST
    return value


@cuda.jit(device=True)
def ordered(value):
    """A whole number of 32 bits that rises with the float32; -0 and 0 have one."""
    bits = np.int64((value + np.float32(0)).view(np.int32))
    return bits if bits >= 0 else bits ^ 0x7FFFFFFF


@cuda.jit(device=True)
def from_ordered(number):
    return np.int32(number if number >= 0 else number ^ 0x7FFFFFFF).view(np.float32)


@cuda.jit(device=True)
def weight_of(scaled):
    """round(2^40 exp(scaled)), halves to even; scaled <= 0."""
    weight = np.float32(math.exp(scaled)) * ONE
    whole = np.int64(weight)
    rest = weight - np.float32(whole)
    if rest > np.float32(0.5) or (rest == np.float32(0.5) and (whole & 1) == 1):
        whole += 1
    return whole


@cuda.jit(device=True)
def bin_of(scaled):
    """Rises as scaled <= 0 falls."""
    place = -scaled * BINS_A_UNIT
    return np.int64(place) if place < np.float32(BINS - 1) else np.int64(BINS - 1)


@cuda.jit(device=True)
def bin_start(index):
    """The first code of a bin."""
    return np.int64((np.float32(index) / BINS_A_UNIT).view(np.int32)) << ID_BITS


@cuda.jit(device=True)
def code_of(scaled, token):
    """scaled <= 0, and its bits without the sign rise as it falls."""
    return (np.int64(abs(scaled).view(np.int32)) << ID_BITS) | token


@cuda.jit(device=True)
def weight_of_code(code):
    return weight_of(-(np.int32(code >> ID_BITS).view(np.float32)))


@cuda.jit(device=True)
def bin_of_code(code):
    return bin_of(-(np.int32(code >> ID_BITS).view(np.float32)))


@cuda.jit(device=True)
def raw_code_of(logit, token):
    return ((0x7FFFFFFF - ordered(logit)) << ID_BITS) | token


@cuda.jit(device=True)
def share_of(part, whole):
    return np.int64(part * np.float64(whole))


@cuda.jit(device=True)
def draw_bits(seed, position):
    """53 random bits for drawing the token at a position: Philox4x32-10, keyed as cuda/base/philox.h says."""
    low = np.uint64(0xFFFFFFFF)
    word = np.uint64(32)
    key0, key1 = seed & low, seed >> word
    word0, word1, word2, word3 = np.uint64(position), np.uint64(0), np.uint64(0), np.uint64(0)
    for _ in range(10):
        a = np.uint64(0xD2511F53) * word0
        b = np.uint64(0xCD9E8D57) * word2
        word0, word1, word2, word3 = (b >> word) ^ word1 ^ key0, b & low, (a >> word) ^ word3 ^ key1, a & low
        key0 = (key0 + np.uint64(0x9E3779B9)) & low
        key1 = (key1 + np.uint64(0xBB67AE85)) & low
    return np.int64((word0 << np.uint64(21)) | (word1 >> np.uint64(11)))


@cuda.jit(device=True)
def uniform(bits):
    """In [0, 1)."""
    return np.float64(bits) * 2.0**-53
