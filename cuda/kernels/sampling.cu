// sampling.cu: draws one token a row, as ignis_sampling's comment orders, and keeps the lanes' token counts.
//
// Weights are whole numbers, 2^40 for the best token: their sums are exact in any order, so histograms by atomics give the same bits at
// every run and beside any other row. A token under 2^-41 of the best one has no weight and is never drawn. A cut (top_k, top_p) or a
// draw is a place in the falling order of weights; it is found digit by digit in the bits of the scaled logit, without a sort.
//
// Every kernel reads its row's SampleParams on the card and ends at once where it has nothing to do: a recorded round serves any sampling.
#include <math.h>

#include "../base/philox.h"
#include "device.h"
#include "launch.cuh"

namespace ignis {

static constexpr uint32_t SCAN_BLOCKS = 64, SCAN_THREADS = 256;  // a row's logits are shared by this many blocks
static constexpr uint32_t CHOOSE_THREADS = 1024;
static constexpr uint32_t DIGIT_BINS = 2048;  // 11 bits of a key at a time, two bins a thread
static constexpr float ONE = 0x1p40f;

// What a block found in its part of a row.
struct Partial {
  float raw_largest, largest;
  int32_t largest_id;  // the lowest of equals
  uint32_t is_bad;     // NaN or +inf among the raw logits, or NaN among the others
};

// A row's memory.
struct RowMemory {
  float *patched;      // [V] logits after penalties, bias and mask
  uint32_t *keys;      // [V] of the tokens that have a weight: the bits of -scaled, so that falling weight is rising key
  int32_t *ids;        // [V] theirs, in no order
  Partial *partials;   // [SCAN_BLOCKS]
  uint32_t *num_keys;
};

static uint64_t row_bytes_of(uint32_t V) {
  return 3 * align_up(uint64_t{V} * 4, ARENA_ALIGNMENT) + align_up(SCAN_BLOCKS * sizeof(Partial), ARENA_ALIGNMENT) + ARENA_ALIGNMENT;
}

uint64_t sample_bytes(uint32_t, uint32_t max_lanes, uint32_t V) { return max_lanes * row_bytes_of(V); }

struct SampleLayout {
  uint8_t *workspace;
  uint64_t row_bytes, ids_bytes, partials_bytes;
  uint32_t V;

  __device__ RowMemory row(uint32_t index) const {
    uint8_t *base = workspace + index * row_bytes;
    RowMemory memory;
    memory.patched = reinterpret_cast<float *>(base);
    memory.keys = reinterpret_cast<uint32_t *>(base + ids_bytes);
    memory.ids = reinterpret_cast<int32_t *>(base + 2 * ids_bytes);
    memory.partials = reinterpret_cast<Partial *>(base + 3 * ids_bytes);
    memory.num_keys = reinterpret_cast<uint32_t *>(base + 3 * ids_bytes + partials_bytes);
    return memory;
  }
};

static __device__ bool has_penalties(const SampleParams &own) {
  return own.repetition_penalty != 1.0f || own.presence_penalty != 0.0f || own.frequency_penalty != 0.0f;
}
static __device__ bool is_patched(const SampleParams &own) { return has_penalties(own) || own.num_bias != 0 || own.has_mask; }

// The nearest finite number; -inf, which only a raw logit can be, stays. host/sampling.cpp says why.
static __device__ float saturated(float value, float raw) {
  constexpr float LARGEST = 3.40282347e38f;
  return raw == -INFINITY ? raw : value > LARGEST ? LARGEST : value < -LARGEST ? -LARGEST : value;
}

// --- penalties, mask, bias ------------------------------------------------------------------------------------------------------

static __global__ void __launch_bounds__(SCAN_THREADS) patch_rows(SampleLayout layout, const float *logits, const SampleParams *params) {
  begin();
  const uint32_t row = blockIdx.y, V = layout.V;
  const SampleParams own = params[row];
  const RowMemory memory = layout.row(row);
  if (blockIdx.x == 0 && threadIdx.x == 0) *memory.num_keys = 0;
  if (!is_patched(own)) return;
  const float *raw = logits + static_cast<uint64_t>(row) * V;
  const bool penalises = has_penalties(own);
  for (uint32_t id = blockIdx.x * SCAN_THREADS + threadIdx.x; id < V; id += SCAN_BLOCKS * SCAN_THREADS) {
    const float before = raw[id];
    float value = before;
    if (penalises && (own.is_seen[id / 32] >> (id % 32) & 1)) {
      const uint32_t count = own.output_counts[id];
      value = saturated(before > 0 ? before / own.repetition_penalty : before * own.repetition_penalty, before);
      if (count > 0) {
        value = saturated(value - own.presence_penalty, before);
        value = saturated(value - saturated(own.frequency_penalty * static_cast<float>(count), 0), before);
      }
    }
    if (own.has_mask && !(own.permitted[id / 32] >> (id % 32) & 1)) value = -INFINITY;
    memory.patched[id] = value;
  }
}

// The first entry of an id adds all of that id's, in order.
static __global__ void __launch_bounds__(SCAN_THREADS) bias_rows(SampleLayout layout, const SampleParams *params) {
  begin();
  const SampleParams own = params[blockIdx.x];
  const RowMemory memory = layout.row(blockIdx.x);
  for (uint32_t i = threadIdx.x; i < own.num_bias; i += SCAN_THREADS) {
    const int32_t id = own.bias_ids[i];
    bool is_first = true;
    for (uint32_t j = 0; j < i && is_first; j++) is_first = own.bias_ids[j] != id;
    if (!is_first) continue;
    float value = memory.patched[id];
    for (uint32_t j = i; j < own.num_bias; j++)
      if (own.bias_ids[j] == id) value = saturated(value + own.bias_values[j], value);
    memory.patched[id] = value;
  }
}

// --- the best token -------------------------------------------------------------------------------------------------------------

static __device__ Partial better(const Partial &a, const Partial &b) {
  Partial result;
  result.raw_largest = fmaxf(a.raw_largest, b.raw_largest);
  const bool takes_b = b.largest > a.largest || (b.largest == a.largest && b.largest_id < a.largest_id);
  result.largest = takes_b ? b.largest : a.largest;
  result.largest_id = takes_b ? b.largest_id : a.largest_id;
  result.is_bad = a.is_bad | b.is_bad;
  return result;
}

static __device__ Partial nothing_found() { return Partial{-INFINITY, -INFINITY, 0x7fffffff, 0}; }

static __device__ Partial warp_best(Partial own) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    Partial other;
    other.raw_largest = __shfl_xor_sync(0xffffffffu, own.raw_largest, distance);
    other.largest = __shfl_xor_sync(0xffffffffu, own.largest, distance);
    other.largest_id = __shfl_xor_sync(0xffffffffu, own.largest_id, distance);
    other.is_bad = __shfl_xor_sync(0xffffffffu, own.is_bad, distance);
    own = better(own, other);
  }
  return own;
}

static __global__ void __launch_bounds__(SCAN_THREADS) scan_rows(SampleLayout layout, const float *logits, const SampleParams *params) {
  begin();
  __shared__ Partial parts[SCAN_THREADS / 32];
  const uint32_t row = blockIdx.y, V = layout.V;
  const RowMemory memory = layout.row(row);
  const float *raw = logits + static_cast<uint64_t>(row) * V;
  const float *values = is_patched(params[row]) ? memory.patched : raw;
  Partial own = nothing_found();
  for (uint32_t id = blockIdx.x * SCAN_THREADS + threadIdx.x; id < V; id += SCAN_BLOCKS * SCAN_THREADS) {
    const float before = raw[id], value = values[id];
    own.is_bad |= !(before < INFINITY) || isnan(value);
    own.raw_largest = fmaxf(own.raw_largest, before);
    if (value > own.largest) {
      own.largest = value;
      own.largest_id = static_cast<int32_t>(id);
    }
  }
  own = warp_best(own);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = own;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  own = warp_best(threadIdx.x < SCAN_THREADS / 32 ? parts[threadIdx.x] : nothing_found());
  if (threadIdx.x == 0) memory.partials[blockIdx.x] = own;
}

// The row's best, in every lane of the warp that calls it.
static __device__ Partial row_best(const RowMemory &memory) {
  static_assert(SCAN_BLOCKS == 64);
  const uint32_t lane = threadIdx.x % 32;
  return warp_best(better(memory.partials[lane], memory.partials[lane + 32]));
}

static __device__ bool gives_token(const Partial &best) {
  return !best.is_bad && isfinite(best.raw_largest) && isfinite(best.largest);
}

// --- weights --------------------------------------------------------------------------------------------------------------------

static __device__ uint64_t weight_of(uint32_t key) { return __float2ull_rn(expf(-__uint_as_float(key)) * ONE); }

// Appends the tokens that have a weight to the row's list.
static __global__ void __launch_bounds__(SCAN_THREADS) weigh_rows(SampleLayout layout, const float *logits, const SampleParams *params) {
  begin();
  const uint32_t row = blockIdx.y, V = layout.V;
  const SampleParams own = params[row];
  const RowMemory memory = layout.row(row);
  const Partial best = row_best(memory);
  if (own.temperature == 0 || !gives_token(best)) return;
  const float *values = is_patched(own) ? memory.patched : logits + static_cast<uint64_t>(row) * V;
  const uint32_t rounds = (V + SCAN_BLOCKS * SCAN_THREADS - 1) / (SCAN_BLOCKS * SCAN_THREADS);
  for (uint32_t i = 0; i < rounds; i++) {
    const uint32_t id = (i * SCAN_BLOCKS + blockIdx.x) * SCAN_THREADS + threadIdx.x;
    const float scaled = id < V ? (values[id] - best.largest) / own.temperature : -INFINITY;
    const uint32_t key = __float_as_uint(fabsf(scaled));
    const bool has_weight = id < V && weight_of(key) > 0;
    const uint32_t members = __ballot_sync(0xffffffffu, has_weight);
    if (members == 0) continue;
    uint32_t start = 0;
    if (threadIdx.x % 32 == 0) start = atomicAdd(memory.num_keys, static_cast<uint32_t>(__popc(members)));
    start = __shfl_sync(0xffffffffu, start, 0);
    if (has_weight) {
      const uint32_t place = start + static_cast<uint32_t>(__popc(members & ((1u << threadIdx.x % 32) - 1)));
      memory.keys[place] = key;
      memory.ids[place] = static_cast<int32_t>(id);
    }
  }
}

// --- the draw -------------------------------------------------------------------------------------------------------------------

// A part of the falling order: how many tokens, and what they weigh together.
struct Share {
  uint32_t num;
  uint64_t weight;
};
static __device__ Share operator+(const Share &a, const Share &b) { return Share{a.num + b.num, a.weight + b.weight}; }

// A place in the falling order: all tokens of smaller key come before it, and `ties` tokens have its key.
struct Place {
  uint32_t key, ties;
  Share before;
};

struct ChooseShared {
  uint32_t counts[DIGIT_BINS];
  unsigned long long weights[DIGIT_BINS];
  Share warps[CHOOSE_THREADS / 32];
  Place place;
  Share total;
  int32_t token;
  float floats[CHOOSE_THREADS / 32];
  int32_t ids[CHOOSE_THREADS / 32];
  double doubles[CHOOSE_THREADS / 32];
};

static __device__ Share shuffle_up(const Share &own, int distance) {
  return Share{__shfl_up_sync(0xffffffffu, own.num, distance), __shfl_up_sync(0xffffffffu, own.weight, distance)};
}

// Sums of the threads before this one; the sum of all in *total.
static __device__ Share sums_before(ChooseShared &shared, const Share &own, Share *total) {
  Share sum = own;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const Share other = shuffle_up(sum, distance);
    if (threadIdx.x % 32 >= static_cast<uint32_t>(distance)) sum = sum + other;
  }
  if (threadIdx.x % 32 == 31) shared.warps[threadIdx.x / 32] = sum;
  __syncthreads();
  Share before{0, 0};
  *total = Share{0, 0};
  for (uint32_t warp = 0; warp < CHOOSE_THREADS / 32; warp++) {
    if (warp == threadIdx.x / 32) before = *total;
    *total = *total + shared.warps[warp];
  }
  __syncthreads();
  return Share{before.num + sum.num - own.num, before.weight + sum.weight - own.weight};
}

// What the tokens weigh whose weight is `least` or more.
static __device__ Share weigh(ChooseShared &shared, const RowMemory &memory, uint32_t num, uint64_t least) {
  Share own{0, 0}, total;
  for (uint32_t i = threadIdx.x; i < num; i += CHOOSE_THREADS)
    if (const uint64_t weight = weight_of(memory.keys[i]); weight >= least) own = own + Share{1, weight};
  sums_before(shared, own, &total);
  return total;
}

// The place where the falling order has reached `target`: tokens where by_count, else weight; 1 <= target <= what all have.
static __device__ Place find(ChooseShared &shared, const RowMemory &memory, uint32_t num, bool by_count, uint64_t target) {
  constexpr uint32_t SHIFTS[] = {20, 9, 0}, WIDTHS[] = {11, 11, 9};  // a key has 31 bits
  uint32_t prefix = 0;
  Share base{0, 0};
  for (int digit = 0; digit < 3; digit++) {
    const uint32_t shift = SHIFTS[digit], above = shift + WIDTHS[digit], bins = 1u << WIDTHS[digit];
    for (uint32_t i = threadIdx.x; i < DIGIT_BINS; i += CHOOSE_THREADS) {
      shared.counts[i] = 0;
      shared.weights[i] = 0;
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < num; i += CHOOSE_THREADS) {
      const uint32_t key = memory.keys[i];
      if ((key >> above) != (prefix >> above)) continue;
      const uint32_t bin = (key >> shift) & (bins - 1);
      atomicAdd(&shared.counts[bin], 1u);
      atomicAdd(&shared.weights[bin], static_cast<unsigned long long>(weight_of(key)));
    }
    __syncthreads();
    const uint32_t first = 2 * threadIdx.x;
    const Share low{shared.counts[first], shared.weights[first]}, high{shared.counts[first + 1], shared.weights[first + 1]};
    Share total;
    const Share before = base + sums_before(shared, low + high, &total);
    const auto reached = [&](const Share &share) { return (by_count ? share.num : share.weight) >= target; };
    const Share between = before + low, after = between + high;
    if (!reached(before) && reached(after)) {
      const bool is_low = reached(between);
      shared.place = Place{prefix | (first + (is_low ? 0 : 1)) << shift, is_low ? low.num : high.num, is_low ? before : between};
    }
    __syncthreads();
    prefix = shared.place.key;
    base = shared.place.before;
  }
  return shared.place;
}

// The id with number `rank` in rising order among the tokens of a key.
static __device__ int32_t id_of(ChooseShared &shared, const RowMemory &memory, uint32_t num, uint32_t key, uint32_t rank) {
  for (uint32_t i = threadIdx.x; i < num; i += CHOOSE_THREADS) {
    if (memory.keys[i] != key) continue;
    const int32_t id = memory.ids[i];
    uint32_t lower = 0;
    if (rank > 0 || shared.place.ties > 1)
      for (uint32_t j = 0; j < num; j++) lower += memory.keys[j] == key && memory.ids[j] < id;
    if (lower == rank) shared.token = id;
  }
  __syncthreads();
  return shared.token;
}

static __device__ uint64_t share_of(double part, uint64_t whole) { return static_cast<uint64_t>(part * static_cast<double>(whole)); }

static __device__ int32_t draw_token(ChooseShared &shared, const RowMemory &memory, const SampleParams &own) {
  const uint32_t num = *memory.num_keys;
  Share kept = weigh(shared, memory, num, 1);
  if (own.top_k > 0 && static_cast<uint32_t>(own.top_k) < kept.num) {
    const uint32_t top_k = static_cast<uint32_t>(own.top_k);
    const Place place = find(shared, memory, num, true, top_k);
    kept = Share{top_k, place.before.weight + (top_k - place.before.num) * weight_of(place.key)};
    __syncthreads();
  }
  if (own.top_p < 1) {
    const uint64_t part = share_of(own.top_p, kept.weight), target = part < 1 ? 1 : part;
    const Place place = find(shared, memory, num, false, target);
    const uint64_t weight = weight_of(place.key);
    const uint32_t ties = static_cast<uint32_t>((target - place.before.weight + weight - 1) / weight);
    kept = Share{place.before.num + ties, place.before.weight + ties * weight};
    __syncthreads();
  }
  if (own.min_p > 0) {
    const Share heavy = weigh(shared, memory, num, static_cast<uint64_t>(ceilf(own.min_p * ONE)));
    if (heavy.num < kept.num) kept = heavy;
  }
  const uint64_t target = share_of(uniform(own.seed, own.position, DrawPurpose::TOKEN), kept.weight) + 1;
  const Place place = find(shared, memory, num, false, target < kept.weight ? target : kept.weight);
  const uint32_t rank = static_cast<uint32_t>((target - 1 - place.before.weight) / weight_of(place.key));
  return id_of(shared, memory, num, place.key, rank < place.ties ? rank : place.ties - 1);
}

// --- log probabilities ----------------------------------------------------------------------------------------------------------

static __device__ double block_sum(ChooseShared &shared, double value) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
  if (threadIdx.x % 32 == 0) shared.doubles[threadIdx.x / 32] = value;
  __syncthreads();
  double sum = 0;
  for (uint32_t warp = 0; warp < CHOOSE_THREADS / 32; warp++) sum += shared.doubles[warp];
  __syncthreads();
  return sum;
}

static __device__ bool goes_before(float a, int32_t a_id, float b, int32_t b_id) { return a > b || (a == b && a_id < b_id); }

// This thread's best token that goes behind (value, id).
static __device__ void best_behind(const float *raw, uint32_t V, float value, int32_t id, float *own, int32_t *own_id) {
  *own = -INFINITY;
  *own_id = 0x7fffffff;
  for (uint32_t i = threadIdx.x; i < V; i += CHOOSE_THREADS) {
    const float candidate = raw[i];
    const int32_t candidate_id = static_cast<int32_t>(i);
    if (!goes_before(value, id, candidate, candidate_id)) continue;
    if (goes_before(candidate, candidate_id, *own, *own_id)) {
      *own = candidate;
      *own_id = candidate_id;
    }
  }
}

// Each thread keeps the best of its own tokens; who gives one looks for its next.
static __device__ void put_logprobs(ChooseShared &shared, ignis_draw *draw, const float *raw, uint32_t V, float largest, int32_t token,
                                    uint32_t num) {
  double sum = 0;
  for (uint32_t i = threadIdx.x; i < V; i += CHOOSE_THREADS) sum += static_cast<double>(expf(raw[i] - largest));
  const double log_sum = log(block_sum(shared, sum));
  const auto of = [&](float logit) { return static_cast<float>(static_cast<double>(logit) - static_cast<double>(largest) - log_sum); };
  if (threadIdx.x == 0) {
    draw->logprob = of(raw[token]);
    draw->num_top = static_cast<int32_t>(num);
  }
  float own;
  int32_t own_id;
  best_behind(raw, V, INFINITY, -1, &own, &own_id);
  for (uint32_t i = 0; i < num; i++) {
    float best = own;
    int32_t best_id = own_id;
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
      const float other = __shfl_xor_sync(0xffffffffu, best, distance);
      const int32_t other_id = __shfl_xor_sync(0xffffffffu, best_id, distance);
      if (goes_before(other, other_id, best, best_id)) {
        best = other;
        best_id = other_id;
      }
    }
    if (threadIdx.x % 32 == 0) {
      shared.floats[threadIdx.x / 32] = best;
      shared.ids[threadIdx.x / 32] = best_id;
    }
    __syncthreads();
    for (uint32_t warp = 0; warp < CHOOSE_THREADS / 32; warp++)
      if (goes_before(shared.floats[warp], shared.ids[warp], best, best_id)) {
        best = shared.floats[warp];
        best_id = shared.ids[warp];
      }
    __syncthreads();
    if (threadIdx.x == 0) {
      draw->top_ids[i] = best_id;
      draw->top_logprobs[i] = of(best);
    }
    if (best_id == own_id) best_behind(raw, V, own, own_id, &own, &own_id);
  }
}

// A block has one row.
static __global__ void __launch_bounds__(CHOOSE_THREADS)
    choose_rows(SampleLayout layout, ignis_draw *draws, const float *logits, const SampleParams *params) {
  begin();
  __shared__ ChooseShared shared;
  const uint32_t row = blockIdx.x, V = layout.V;
  const SampleParams own = params[row];
  const RowMemory memory = layout.row(row);
  const Partial best = row_best(memory);
  ignis_draw *draw = draws + row;
  for (uint32_t i = threadIdx.x; i < sizeof(ignis_draw) / 4; i += CHOOSE_THREADS) reinterpret_cast<int32_t *>(draw)[i] = 0;
  __syncthreads();
  if (!gives_token(best)) {
    if (threadIdx.x == 0) draw->token = -1;
    return;
  }
  const int32_t token = own.temperature == 0 ? best.largest_id : draw_token(shared, memory, own);
  if (threadIdx.x == 0) {
    draw->token = token;
    own.output_counts[token]++;
    own.is_seen[token / 32] |= 1u << (token % 32);
  }
  if (own.top_logprobs < 0) return;
  const uint32_t num = static_cast<uint32_t>(own.top_logprobs) < V ? static_cast<uint32_t>(own.top_logprobs) : V;
  put_logprobs(shared, draw, logits + static_cast<uint64_t>(row) * V, V, best.raw_largest, token, num);
}

void sample(Device &device, ignis_draw *draws, const float *logits, const SampleRow *, uint32_t num_rows, uint32_t V, void *workspace) {
  const SampleLayout layout{static_cast<uint8_t *>(workspace), row_bytes_of(V), align_up(uint64_t{V} * 4, ARENA_ALIGNMENT),
                            align_up(SCAN_BLOCKS * sizeof(Partial), ARENA_ALIGNMENT), V};
  const SampleParams *params = device.step.params;
  const dim3 grid(SCAN_BLOCKS, num_rows);
  launch(device, "sample", patch_rows, grid, SCAN_THREADS, layout, logits, params);
  launch(device, "sample", bias_rows, dim3(num_rows), SCAN_THREADS, layout, params);
  launch(device, "sample", scan_rows, grid, SCAN_THREADS, layout, logits, params);
  launch(device, "sample", weigh_rows, grid, SCAN_THREADS, layout, logits, params);
  launch(device, "sample", choose_rows, dim3(num_rows), CHOOSE_THREADS, layout, draws, logits, params);
}

// --- the lanes' tokens ----------------------------------------------------------------------------------------------------------

uint64_t lane_tokens_bytes(uint32_t V) {
  return align_up(uint64_t{V} * 4, ARENA_ALIGNMENT) + align_up((uint64_t{V} + 31) / 32 * 4, ARENA_ALIGNMENT);
}

void lane_tokens_place(LaneTokens *tokens, void *memory, uint32_t V) {
  uint8_t *base = static_cast<uint8_t *>(memory);
  *tokens = LaneTokens{reinterpret_cast<uint32_t *>(base), reinterpret_cast<uint32_t *>(base + align_up(uint64_t{V} * 4, ARENA_ALIGNMENT)),
                       nullptr, 0};
}

// A token of a launch's arguments: no memory of the card is needed for them.
struct TokenChunk {
  int32_t tokens[512];
};

static __global__ void count_tokens(LaneTokens lane, TokenChunk chunk, uint32_t num, uint32_t adds) {
  for (uint32_t i = threadIdx.x; i < num; i += blockDim.x) {
    const uint32_t id = static_cast<uint32_t>(chunk.tokens[i]);
    atomicOr(&lane.is_seen[id / 32], 1u << (id % 32));
    if (adds) atomicAdd(&lane.output_counts[id], adds);
  }
}

static void add_tokens(Device &device, const LaneTokens &lane, const int32_t *tokens, uint32_t num, uint32_t adds) {
  constexpr uint32_t MOST = sizeof(TokenChunk) / sizeof(int32_t);
  for (uint32_t start = 0; start < num; start += MOST) {
    const uint32_t count = num - start < MOST ? num - start : MOST;
    TokenChunk chunk;
    for (uint32_t i = 0; i < count; i++) chunk.tokens[i] = tokens[start + i];
    count_tokens<<<1, 512, 0, device.stream>>>(lane, chunk, count, adds);
    IGNIS_LAUNCHED(device);
  }
}

void lane_tokens_set(Device &device, LaneTokens *tokens, uint32_t V, const int32_t *prompt, uint32_t num_prompt, const int32_t *output,
                     uint32_t num_output) {
  IGNIS_CUDA(device, cudaMemsetAsync(tokens->output_counts, 0, lane_tokens_bytes(V), device.stream));
  add_tokens(device, *tokens, prompt, num_prompt, 0);
  add_tokens(device, *tokens, output, num_output, 1);
}

}  // namespace ignis
