// philox.h: the counter-based random numbers that draws are made from. No state: a draw is a function of its key and counter.
//
// Philox4x32 with 10 rounds, after Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC11), section 3.3.
#pragma once

#include <stdint.h>

#include "both.h"

namespace ignis {

// What a number is for: two uses at one position must not see the same one.
enum class DrawPurpose : uint32_t { TOKEN = 0 };

struct PhiloxBlock {
  uint32_t words[4];
};

IGNIS_BOTH static inline PhiloxBlock philox(PhiloxBlock counter, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; round++) {
    const uint64_t a = uint64_t{0xD2511F53u} * counter.words[0], b = uint64_t{0xCD9E8D57u} * counter.words[2];
    counter = {{static_cast<uint32_t>(b >> 32) ^ counter.words[1] ^ key0, static_cast<uint32_t>(b),
                static_cast<uint32_t>(a >> 32) ^ counter.words[3] ^ key1, static_cast<uint32_t>(a)}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

// Uniform in [0, 1), of 53 bits: the key is the seed (low word first), the counter (position, purpose, 0, 0); the first word gives
// the upper 32 bits and the second the lower 21.
IGNIS_BOTH static inline double uniform(uint64_t seed, uint32_t position, DrawPurpose purpose) {
  const PhiloxBlock block = philox({{position, static_cast<uint32_t>(purpose), 0, 0}}, static_cast<uint32_t>(seed),
                                   static_cast<uint32_t>(seed >> 32));
  const uint64_t bits = uint64_t{block.words[0]} << 21 | block.words[1] >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

}  // namespace ignis
