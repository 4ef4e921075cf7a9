// time.h: the host's clock, for measuring.
#pragma once

#include <time.h>

namespace ignis {

// Seconds of a clock that only grows.
static inline double now_s() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace ignis
