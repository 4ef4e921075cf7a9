// lanes.h: the vector words that linear's inner loops are written in: a lane is a row of a group. Chosen by the instruction set that
// the translation unit is compiled for. Everything here has internal linkage: two instruction sets never share a function.
//
//   Floats, Ints   LANES of float, int32          Bytes   4 LANES of uint8: a quad of codes for each lane
//   Dot            the exact int32 sums of a block's code products. dot_add<BITS, STEP>(dot, weights, four) adds in each lane the
//                  products of its four codes and the same four int8; STEP counts the calls of a block from 0.
//   HAS_SIGNED_BYTES  eight-bit codes are multiplied as code - 128, so that their sums need no correction
#pragma once

#if defined(__AVX512BW__) && defined(__AVX512VL__)
#include "lanes_avx512.h"
#elif defined(__AVX2__)
#include "lanes_avx2.h"
#else
#include "lanes_portable.h"
#endif
