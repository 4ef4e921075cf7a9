// Made by cuda/numba/compile.py from the kernels beside it.
#pragma once

#include <stdint.h>

extern "C" {
// Code for the card, as build.py has it made of the PTX beside this.
extern const unsigned char ignis_patch[];
extern const unsigned char ignis_weigh[];
extern const unsigned char ignis_gather[];
extern const unsigned char ignis_choose[];
extern const unsigned char ignis_count_tokens[];
}

namespace ignis::sampling {

enum Kernel : uint32_t { PATCH, WEIGH, GATHER, CHOOSE, COUNT_TOKENS, NUM_KERNELS };
inline constexpr const char *NAMES[] = {"patch", "weigh", "gather", "choose", "count_tokens"};
inline constexpr uint32_t THREADS[] = {256, 256, 256, 256, 256};
inline const void *const IMAGES[] = {ignis_patch, ignis_weigh, ignis_gather, ignis_choose, ignis_count_tokens};

inline constexpr uint32_t PARAMS_BYTES = 96;
inline constexpr uint32_t DRAW_WORDS = 43;
inline constexpr uint32_t MAX_TOP_LOGPROBS = 20;
inline constexpr uint32_t SLICE = 2048;
inline constexpr uint32_t WIDE_WORDS = 4104;
inline constexpr uint32_t NARROW_WORDS = 6146;

// Where a field of SampleParams is, in bytes.
namespace params {
inline constexpr uint32_t temperature = 0;
inline constexpr uint32_t top_p = 4;
inline constexpr uint32_t min_p = 8;
inline constexpr uint32_t repetition_penalty = 12;
inline constexpr uint32_t presence_penalty = 16;
inline constexpr uint32_t frequency_penalty = 20;
inline constexpr uint32_t top_k = 24;
inline constexpr uint32_t top_logprobs = 28;
inline constexpr uint32_t seed = 32;
inline constexpr uint32_t position = 40;
inline constexpr uint32_t num_bias = 44;
inline constexpr uint32_t has_mask = 48;
inline constexpr uint32_t reserved = 52;
inline constexpr uint32_t bias_ids = 56;
inline constexpr uint32_t bias_values = 64;
inline constexpr uint32_t permitted = 72;
inline constexpr uint32_t output_counts = 80;
inline constexpr uint32_t is_seen = 88;
}  // namespace params

}  // namespace ignis::sampling
