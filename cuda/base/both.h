// both.h: marks functions that run on the CPU and on a card.
#pragma once

#ifdef __CUDACC__
#define IGNIS_BOTH __host__ __device__
#else
#define IGNIS_BOTH
#endif
