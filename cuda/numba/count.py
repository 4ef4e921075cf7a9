"""count_tokens: a lane's tokens of a prompt or an output, as the penalties see them."""

import numpy as np
from numba import cuda

from cuda.numba.rows import word_of

THREADS = 256


@cuda.jit
def count_tokens(memory, output_counts, is_seen, tokens, num, adds):
    """memory [..]: the card's; output_counts, is_seen, tokens: addresses of a lane's. Counts rise by `adds`, 0 or 1."""
    first = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    i = first
    while i < num:
        token = np.int64(memory[word_of(tokens) + i])
        cuda.atomic.or_(memory, word_of(is_seen) + (token >> 5), np.uint32(np.int64(1) << (token & 31)))
        if adds > 0:
            cuda.atomic.add(memory, word_of(output_counts) + token, np.uint32(adds))
        i += cuda.gridDim.x * cuda.blockDim.x
