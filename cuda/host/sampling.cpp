// sampling.cpp: draws one token a row, as ignis_sampling's comment orders.
//
// No sort of the vocabulary. Tokens near the best one are gathered and counted into buckets by their scaled logit; a cut (top_k, top_p,
// min_p) or a draw falls into one bucket, and only that one is sorted. Where a cut or a draw lies beyond the gathered tokens, all
// are gathered: at most e^-12 of the best one's weight each, so seldom.
#include <math.h>
#include <string.h>

#include "../base/arena.h"
#include "../base/philox.h"
#include "../ops/ops.h"
#include "device.h"
#include "sample_kernels.h"

namespace ignis {

static constexpr float NEAR = -12.0f;  // scaled logits above this are gathered first
static constexpr float ALL = -87.33654f;  // below it a weight is 0
static constexpr float PASSES[] = {NEAR, ALL};
static constexpr float BUCKETS_A_UNIT = 16.0f;
static constexpr uint32_t NUM_BUCKETS = 1400;  // -ALL * BUCKETS_A_UNIT and a little

static const SampleKernels &kernels(const Device &device) {
  if (device.isa >= Isa::AVX512) return avx512::sample_kernels;
  return device.isa == Isa::AVX2 ? avx2::sample_kernels : portable::sample_kernels;
}

struct Bucket {
  double weight;
  uint32_t num;
  uint32_t reserved;
};

// One worker's memory.
struct SampleMemory {
  float *patched;  // [V] logits after penalties, bias and mask
  Candidates candidates;
  uint16_t *bucket_of;  // [V], of each candidate
  int32_t *order;       // [V], a bucket's candidates sorted
  Bucket *buckets;      // [NUM_BUCKETS]
};

static uint64_t worker_bytes(uint32_t V) {
  return 5 * align_up(uint64_t{V} * 4, ARENA_ALIGNMENT) + align_up(uint64_t{V} * 2, ARENA_ALIGNMENT) +
         align_up(NUM_BUCKETS * sizeof(Bucket), ARENA_ALIGNMENT);
}

uint64_t sample_bytes(uint32_t num_threads, uint32_t, uint32_t V) { return num_threads * worker_bytes(V); }

static SampleMemory memory_of(void *workspace, uint32_t worker, uint32_t V) {
  uint8_t *next = static_cast<uint8_t *>(workspace) + worker * worker_bytes(V);
  const uint64_t floats = align_up(uint64_t{V} * 4, ARENA_ALIGNMENT);
  SampleMemory memory;
  memory.patched = reinterpret_cast<float *>(next);
  memory.candidates = {reinterpret_cast<float *>(next + floats), reinterpret_cast<float *>(next + 2 * floats),
                       reinterpret_cast<int32_t *>(next + 3 * floats), 0, 0.0};
  memory.order = reinterpret_cast<int32_t *>(next + 4 * floats);
  memory.bucket_of = reinterpret_cast<uint16_t *>(next + 5 * floats);
  memory.buckets = reinterpret_cast<Bucket *>(next + 5 * floats + align_up(uint64_t{V} * 2, ARENA_ALIGNMENT));
  return memory;
}

uint64_t lane_tokens_bytes(uint32_t V) {
  return 2 * align_up(uint64_t{V} * 4, ARENA_ALIGNMENT) + align_up((uint64_t{V} + 31) / 32 * 4, ARENA_ALIGNMENT);
}

void lane_tokens_place(LaneTokens *tokens, void *memory, uint32_t V) {
  uint8_t *next = static_cast<uint8_t *>(memory);
  const uint64_t counts = align_up(uint64_t{V} * 4, ARENA_ALIGNMENT);
  *tokens = LaneTokens{reinterpret_cast<uint32_t *>(next), reinterpret_cast<uint32_t *>(next + 2 * counts),
                       reinterpret_cast<int32_t *>(next + counts), 0};
}

static void clear_tokens(LaneTokens *tokens) {
  for (uint32_t i = 0; i < tokens->num_seen; i++) {
    const uint32_t id = static_cast<uint32_t>(tokens->seen[i]);
    tokens->output_counts[id] = 0;
    tokens->is_seen[id / 32] = 0;
  }
  tokens->num_seen = 0;
}

static void add_token(LaneTokens *tokens, int32_t token, bool is_output) {
  const uint32_t id = static_cast<uint32_t>(token), bit = 1u << (id % 32);
  if (!(tokens->is_seen[id / 32] & bit)) {
    tokens->is_seen[id / 32] |= bit;
    tokens->seen[tokens->num_seen++] = token;
  }
  if (is_output) tokens->output_counts[id]++;
}

void lane_tokens_set(Device &, LaneTokens *tokens, uint32_t, const int32_t *prompt, uint32_t num_prompt, const int32_t *output,
                     uint32_t num_output) {
  clear_tokens(tokens);
  for (uint32_t i = 0; i < num_prompt; i++) add_token(tokens, prompt[i], false);
  for (uint32_t i = 0; i < num_output; i++) add_token(tokens, output[i], true);
}

// A row to draw for and its logits [V].
struct DrawRow {
  const float *logits;
  const ignis_sampling *sampling;
  LaneTokens *tokens;
  uint32_t position;
};

static bool is_patched(const DrawRow &row) {
  const ignis_sampling &sampling = *row.sampling;
  return sampling.repetition_penalty != 1.0f || sampling.presence_penalty != 0.0f || sampling.frequency_penalty != 0.0f ||
         sampling.num_bias != 0 || sampling.permitted;
}

// The nearest finite number: a penalty may go past the range of a float, and a token must come out all the same. -inf, which only
// a raw logit can be, stays.
static float saturated(float value, float raw) {
  constexpr float LARGEST = 3.40282347e38f;
  return raw == -INFINITY ? raw : value > LARGEST ? LARGEST : value < -LARGEST ? -LARGEST : value;
}

// patched [V] = the row's logits after penalties, bias and mask.
static void patch(float *patched, const DrawRow &row, uint32_t V) {
  const ignis_sampling &sampling = *row.sampling;
  memcpy(patched, row.logits, uint64_t{V} * sizeof(float));
  for (uint32_t i = 0; i < row.tokens->num_seen; i++) {
    const int32_t id = row.tokens->seen[i];
    const uint32_t count = row.tokens->output_counts[id];
    const float raw = patched[id];
    float value = saturated(raw > 0 ? raw / sampling.repetition_penalty : raw * sampling.repetition_penalty, raw);
    if (count > 0) {
      value = saturated(value - sampling.presence_penalty, raw);
      value = saturated(value - saturated(sampling.frequency_penalty * static_cast<float>(count), 0), raw);
    }
    patched[id] = value;
  }
  for (uint32_t i = 0; i < sampling.num_bias; i++) {
    float *biased = patched + sampling.bias_ids[i];
    *biased = saturated(*biased + sampling.bias_values[i], *biased);
  }
  if (!sampling.permitted) return;
  for (uint32_t start = 0; start < V; start += 32) {
    const uint32_t stop = V - start < 32 ? V - start : 32, word = sampling.permitted[start / 32];
    if (word == UINT32_MAX) continue;
    for (uint32_t i = 0; i < stop; i++)
      if (!(word >> i & 1)) patched[start + i] = -INFINITY;
  }
}

static uint32_t bucket_of(float scaled) {
  const uint32_t bucket = static_cast<uint32_t>(-scaled * BUCKETS_A_UNIT);
  return bucket < NUM_BUCKETS ? bucket : NUM_BUCKETS - 1;
}

// A place in the falling order: after `num` candidates, which weigh `weight`.
struct Cut {
  uint32_t num;
  double weight;
};

// A gathered row, its buckets, and the bucket that was sorted last.
struct Ranking {
  SampleMemory &memory;
  uint32_t sorted_bucket = NUM_BUCKETS;

  explicit Ranking(SampleMemory &own) : memory(own) {
    Candidates &candidates = memory.candidates;
    memset(memory.buckets, 0, NUM_BUCKETS * sizeof(Bucket));
    for (uint32_t i = 0; i < candidates.num; i++) {
      const uint32_t bucket = bucket_of(candidates.scaled[i]);
      memory.bucket_of[i] = static_cast<uint16_t>(bucket);
      memory.buckets[bucket].weight += static_cast<double>(candidates.weights[i]);
      memory.buckets[bucket].num++;
    }
  }

  bool goes_before(int32_t a, int32_t b) const {  // candidates are in rising order of ids: a lower index is a lower id
    const float left = memory.candidates.scaled[a], right = memory.candidates.scaled[b];
    return left > right || (left == right && a < b);
  }

  void sink(uint32_t root, uint32_t num) {
    int32_t *order = memory.order;
    for (uint32_t child; (child = 2 * root + 1) < num; root = child) {
      if (child + 1 < num && goes_before(order[child], order[child + 1])) child++;
      if (!goes_before(order[root], order[child])) return;
      const int32_t swapped = order[root];
      order[root] = order[child];
      order[child] = swapped;
    }
  }

  // order = the bucket's candidates in falling order (heap sort: in place, and its worst case is its usual one).
  void sort(uint32_t bucket) {
    if (sorted_bucket == bucket) return;
    sorted_bucket = bucket;
    uint32_t num = 0;
    for (uint32_t i = 0; num < memory.buckets[bucket].num; i++)
      if (memory.bucket_of[i] == bucket) memory.order[num++] = static_cast<int32_t>(i);
    for (uint32_t root = num / 2; root-- > 0;) sink(root, num);
    for (uint32_t last = num; last-- > 1;) {
      const int32_t swapped = memory.order[0];
      memory.order[0] = memory.order[last];
      memory.order[last] = swapped;
      sink(0, last);
    }
  }

  // Walks in falling order until is_reached(cut so far) after a candidate; `chosen` is that candidate. Buckets that
  // cannot reach it are passed whole. At most `limit` candidates.
  template <class Reached>
  Cut walk(uint32_t limit, const Reached &is_reached, int32_t *chosen) {
    Cut cut{0, 0.0};
    for (uint32_t bucket = 0; bucket < NUM_BUCKETS && cut.num < limit; bucket++) {
      const Bucket &own = memory.buckets[bucket];
      if (own.num == 0) continue;
      const Cut whole{cut.num + own.num, cut.weight + own.weight};
      const bool is_last = whole.num >= limit;
      // A sum in sorted order can differ from the bucket's own in its last bits: look inside a little early, never late.
      if (!is_last && !is_reached(Cut{whole.num, whole.weight * (1 + 1e-12)})) {
        cut = whole;
        continue;
      }
      sort(bucket);
      for (uint32_t i = 0; i < own.num && cut.num < limit; i++) {
        const int32_t candidate = memory.order[i];
        cut = Cut{cut.num + 1, cut.weight + static_cast<double>(memory.candidates.weights[candidate])};
        if (chosen) *chosen = candidate;
        if (is_reached(cut)) return cut;
      }
    }
    return cut;
  }

  uint32_t num_heavier(float weight) const {  // candidates that weigh at least `weight`
    uint32_t num = 0;
    for (uint32_t i = 0; i < memory.candidates.num; i++) num += memory.candidates.weights[i] >= weight;
    return num;
  }
};

// Draws among the gathered candidates; false when the answer may lie among the others.
static bool draw(int32_t *token, Ranking &ranking, const ignis_sampling &sampling, double position) {
  const Candidates &candidates = ranking.memory.candidates;
  const bool has_all = candidates.rest_weight == 0;
  const auto never = [](const Cut &) { return false; };
  const uint32_t top_k = sampling.top_k > 0 ? static_cast<uint32_t>(sampling.top_k) : UINT32_MAX;
  Cut kept = ranking.walk(top_k, never, nullptr);  // limited by top_k or by what was gathered
  bool is_open = kept.num < top_k && !has_all;     // the kept set goes on among the others
  if (is_open && top_k != UINT32_MAX) return false;
  if (is_open) kept.weight += candidates.rest_weight;

  if (sampling.top_p < 1) {
    const double target = static_cast<double>(sampling.top_p) * kept.weight;
    const Cut cut = ranking.walk(kept.num, [target](const Cut &so_far) { return so_far.weight >= target; }, nullptr);
    if (is_open && cut.weight < target) return false;
    kept = cut;
    is_open = false;
  }
  if (sampling.min_p > 0) {
    const uint32_t num = ranking.num_heavier(sampling.min_p);
    if (is_open && num == candidates.num) return false;
    if (is_open || num < kept.num) kept = ranking.walk(num < kept.num ? num : kept.num, never, nullptr);
    is_open = false;
  }
  const double target = position * kept.weight;
  int32_t chosen = 0;
  const Cut cut = ranking.walk(kept.num, [target](const Cut &so_far) { return so_far.weight > target; }, &chosen);
  if (is_open && !(cut.weight > target)) return false;
  *token = candidates.ids[chosen];
  return true;
}

static void log_probabilities(ignis_draw *draw, const DrawRow &row, float largest, uint32_t V, const SampleKernels &kernel) {
  const double log_sum = log(kernel.sum_exp(row.logits, V, largest));
  const auto of = [&](int32_t id) {
    return static_cast<float>(static_cast<double>(row.logits[id]) - static_cast<double>(largest) - log_sum);
  };
  draw->logprob = of(draw->token);
  draw->num_top = static_cast<int32_t>(kernel.top(draw->top_ids, row.logits, V, static_cast<uint32_t>(row.sampling->top_logprobs)));
  for (int32_t i = 0; i < draw->num_top; i++) draw->top_logprobs[i] = of(draw->top_ids[i]);
}

static bool sample_row(ignis_draw *result, const DrawRow &row, uint32_t V, SampleMemory memory, const SampleKernels &kernel) {
  const ignis_sampling &sampling = *row.sampling;
  *result = ignis_draw{};
  float raw_largest;
  if (!kernel.maximum(row.logits, V, &raw_largest) || !isfinite(raw_largest)) return false;
  const float *values = row.logits;
  float largest = raw_largest;
  if (is_patched(row)) {
    patch(memory.patched, row, V);
    values = memory.patched;
    if (!kernel.maximum(values, V, &largest) || !isfinite(largest)) return false;
  }
  if (sampling.temperature == 0) {
    result->token = static_cast<int32_t>(kernel.index_of(values, V, largest));
  } else {
    const double position = uniform(sampling.seed, row.position, DrawPurpose::TOKEN);
    bool is_drawn = false;
    for (const float lowest : PASSES) {
      kernel.gather(&memory.candidates, values, V, largest, sampling.temperature, lowest);
      if (lowest == ALL) memory.candidates.rest_weight = 0;
      Ranking ranking(memory);
      is_drawn = draw(&result->token, ranking, sampling, position);
      if (is_drawn) break;
    }
    if (!is_drawn) return false;
  }
  if (sampling.top_logprobs >= 0) log_probabilities(result, row, raw_largest, V, kernel);
  return true;
}

void sample(Device &device, ignis_draw *draws, const float *logits, const SampleRow *rows, uint32_t num_rows, uint32_t V, void *workspace) {
  const SampleKernels &kernel = kernels(device);
  parallel(*device.pool, num_rows, [&](uint32_t index, uint32_t worker) {
    const SampleRow &own = rows[index];
    const DrawRow row{logits + uint64_t{index} * V, own.sampling, own.tokens, own.position};
    if (sample_row(draws + index, row, V, memory_of(workspace, worker, V), kernel))
      add_token(own.tokens, draws[index].token, true);
    else
      draws[index].token = -1;
  });
}

}  // namespace ignis
