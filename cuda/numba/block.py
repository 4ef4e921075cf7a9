"""What the threads of a block find out together, through shared memory. A block has a power of two threads.

No shuffles in warps: Numba's simulator knows none, and the same functions run there. Loops that each thread takes its
turns of are `while` loops here and elsewhere: a range() whose step is no constant divides.
"""

from collections import namedtuple

from numba import cuda

# Two shared arrays of int64, [2 * threads] each: for a number of tokens and a weight, or for two numbers to compare.
Pair = namedtuple("Pair", ["nums", "weights"])


@cuda.jit(device=True)
def block_sums(shared, num, weight):
    """The sums of all threads' numbers, in each thread."""
    thread = cuda.threadIdx.x
    shared.nums[thread] = num
    shared.weights[thread] = weight
    cuda.syncthreads()
    half = cuda.blockDim.x // 2
    while half > 0:
        if thread < half:
            shared.nums[thread] += shared.nums[thread + half]
            shared.weights[thread] += shared.weights[thread + half]
        cuda.syncthreads()
        half //= 2
    total_num, total_weight = shared.nums[0], shared.weights[0]
    cuda.syncthreads()
    return total_num, total_weight


@cuda.jit(device=True)
def block_largest(shared, value, other):
    """The largest of all threads' values, and the largest of their other values, in each thread."""
    thread = cuda.threadIdx.x
    shared.nums[thread] = value
    shared.weights[thread] = other
    cuda.syncthreads()
    half = cuda.blockDim.x // 2
    while half > 0:
        if thread < half:
            shared.nums[thread] = max(shared.nums[thread], shared.nums[thread + half])
            shared.weights[thread] = max(shared.weights[thread], shared.weights[thread + half])
        cuda.syncthreads()
        half //= 2
    largest, other_largest = shared.nums[0], shared.weights[0]
    cuda.syncthreads()
    return largest, other_largest


@cuda.jit(device=True)
def sums_before(shared, num, weight):
    """The sums of the threads before this one, and of all. Half of each array is read while the other is written."""
    thread = cuda.threadIdx.x
    threads = cuda.blockDim.x
    side = 0
    sum_num, sum_weight = num, weight
    shared.nums[thread] = sum_num
    shared.weights[thread] = sum_weight
    cuda.syncthreads()
    distance = 1
    while distance < threads:
        if thread >= distance:
            sum_num += shared.nums[side + thread - distance]
            sum_weight += shared.weights[side + thread - distance]
        side = threads - side
        shared.nums[side + thread] = sum_num
        shared.weights[side + thread] = sum_weight
        cuda.syncthreads()
        distance *= 2
    total_num, total_weight = shared.nums[side + threads - 1], shared.weights[side + threads - 1]
    cuda.syncthreads()
    return sum_num - num, sum_weight - weight, total_num, total_weight
