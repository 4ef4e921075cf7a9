// Attention of a tile of queries over one page.
//
// Scores: vectors of positions, one product and add for each of the D numbers of a query, so no sums across lanes. Weighted V: vectors
// of D, one product and add for each position in rising order. Several queries share each load of K and of V; how many never changes
// the order of a query's own sums.
#include "attention_kernels.h"

#include <math.h>

#include "simd.h"

namespace ignis::IGNIS_ISA_NAMESPACE {

// Accumulators of a register tile: QUERIES x VECTORS, beside VECTORS of K or V.
#if defined(__AVX512F__)
static constexpr uint32_t QUERIES = 6, VECTORS = 4;  // of 32 registers
#elif defined(__AVX2__)
static constexpr uint32_t QUERIES = 3, VECTORS = 4;  // of 16
#else
static constexpr uint32_t QUERIES = 2, VECTORS = 4;  // of 16, and a product needs one more without FMA
#endif

static inline Floats load_element(const float *p) { return load(p); }
static inline Floats load_element(const uint16_t *p) { return load_half(p); }
static inline Floats load_element(const Bfloat *p) { return load_bfloat(&p->bits); }
static inline Floats load_element(const Eighth *p) { return load_e4m3(&p->bits); }

// Asks for the cache lines of `num` elements, into the second-level cache: fetched into the first they stall the loads that are
// computed on (Zen 4, one thread, 8 sequences of 1024: 10 GB/s into the first, 20 GB/s into the second).
template <class Element>
static inline void fetch(const Element *p, uint32_t num) {
  for (uint32_t i = 0; i < num; i += 64 / sizeof(Element)) __builtin_prefetch(p + i, 0, 2);
}

template <uint32_t N, class Element>
static void score(float *scores, const float *queries, const Element *keys, uint32_t D, const Element *next_keys) {
  for (uint32_t start = 0; start < IGNIS_PAGE_TOKENS; start += VECTORS * WIDTH) {
    Floats sums[N][VECTORS];
    for (uint32_t n = 0; n < N; n++)
      for (uint32_t m = 0; m < VECTORS; m++) sums[n][m] = splat(0.0f);
    const Element *column = keys + start;
    for (uint32_t d = 0; d < D; d++, column += IGNIS_PAGE_TOKENS) {
      if (start == 0) fetch(next_keys + d * IGNIS_PAGE_TOKENS, IGNIS_PAGE_TOKENS);
      Floats key[VECTORS];
      for (uint32_t m = 0; m < VECTORS; m++) key[m] = load_element(column + m * WIDTH);
      for (uint32_t n = 0; n < N; n++) {
        const Floats query = splat(queries[n * D + d]);
        for (uint32_t m = 0; m < VECTORS; m++) sums[n][m] = fma(key[m], query, sums[n][m]);
      }
    }
    for (uint32_t n = 0; n < N; n++)
      for (uint32_t m = 0; m < VECTORS; m++) store(scores + n * IGNIS_PAGE_TOKENS + start + m * WIDTH, sums[n][m]);
  }
}

// Scores become exp(score - maximum) of the first num_valid positions and 0 for the others, whose K may hold anything.
static void page_softmax(float *scores, uint32_t num_valid, float *maximum, float *sum) {
  constexpr uint32_t NUM = IGNIS_PAGE_TOKENS / WIDTH;
  float ramp[WIDTH];
  for (uint32_t i = 0; i < WIDTH; i++) ramp[i] = static_cast<float>(i);
  const Floats limit = splat(static_cast<float>(num_valid)), lowest = splat(-INFINITY);
  Floats value[NUM], largest = lowest;
  for (uint32_t m = 0; m < NUM; m++) {
    const Floats position = add(load(ramp), splat(static_cast<float>(m * WIDTH)));
    value[m] = select_less(position, limit, load(scores + m * WIDTH), lowest);
    largest = max(largest, value[m]);
  }
  *maximum = max_lanes(largest);
  Floats total = splat(0.0f);
  for (uint32_t m = 0; m < NUM; m++) {
    const Floats weight = exp(sub(value[m], splat(*maximum)));
    store(scores + m * WIDTH, weight);
    total = add(total, weight);
  }
  *sum = sum_lanes(total);
}

// out[n] += sum of weights[n][j] values[j] over j in [0, num_valid[n]), for M vectors of columns. num_valid never falls.
template <uint32_t N, uint32_t M, class Element>
static void weigh_columns(float *out, uint32_t stride, const float *weights, const Element *values, uint32_t Dp, const uint32_t *num_valid,
                          const Element *next_values) {
  Floats sums[N][M];
  for (uint32_t n = 0; n < N; n++)
    for (uint32_t m = 0; m < M; m++) sums[n][m] = splat(0.0f);
  uint32_t j = 0;
  for (; j < num_valid[0]; j++) {
    fetch(next_values + j * Dp, M * WIDTH);
    Floats value[M];
    for (uint32_t m = 0; m < M; m++) value[m] = load_element(values + j * Dp + m * WIDTH);
    for (uint32_t n = 0; n < N; n++) {
      const Floats weight = splat(weights[n * IGNIS_PAGE_TOKENS + j]);
      for (uint32_t m = 0; m < M; m++) sums[n][m] = fma(value[m], weight, sums[n][m]);
    }
  }
  // The later rows see a little more. A weight of 0 would not do: V beyond a row's own position may be NaN.
  for (uint32_t n = 1; n < N; n++)
    for (uint32_t k = j; k < num_valid[n]; k++) {
      const Floats weight = splat(weights[n * IGNIS_PAGE_TOKENS + k]);
      for (uint32_t m = 0; m < M; m++) sums[n][m] = fma(load_element(values + k * Dp + m * WIDTH), weight, sums[n][m]);
    }
  for (uint32_t n = 0; n < N; n++)
    for (uint32_t m = 0; m < M; m++) store(out + n * stride + m * WIDTH, sums[n][m]);
}

template <uint32_t N, class Element>
static void weigh(float *out, uint32_t stride, const float *weights, const Element *values, uint32_t Dp, const uint32_t *num_valid,
                  const Element *next_values) {
  uint32_t column = 0;
  for (; column + VECTORS * WIDTH <= Dp; column += VECTORS * WIDTH)
    weigh_columns<N, VECTORS>(out + column, stride, weights, values + column, Dp, num_valid, next_values + column);
  for (; column < Dp; column += WIDTH)
    weigh_columns<N, 1>(out + column, stride, weights, values + column, Dp, num_valid, next_values + column);
}

template <uint32_t N, class Element>
static void attend(float *partials, uint32_t stride, const float *queries, const Element *keys, const Element *values, uint32_t D,
                   uint32_t Dp, const uint32_t *num_valid, float *scores, const Element *next_keys, const Element *next_values) {
  score<N>(scores, queries, keys, D, next_keys);
  for (uint32_t n = 0; n < N; n++)
    page_softmax(scores + n * IGNIS_PAGE_TOKENS, num_valid[n], partials + n * stride, partials + n * stride + 1);
  weigh<N>(partials + ATTENTION_HEADER, stride, scores, values, Dp, num_valid, next_values);
}

template <class Element>
static uint32_t attend_elements(float *partials, const QueryTile &tile, const KvPage &layout, uint32_t page, const uint8_t *memory,
                                const uint8_t *next, float *scores) {
  const uint64_t key_offset = tile.kv_head * layout.key_bytes();
  const uint64_t value_offset = layout.NK * layout.key_bytes() + tile.kv_head * layout.value_bytes();
  const Element *keys = reinterpret_cast<const Element *>(memory + key_offset);
  const Element *values = reinterpret_cast<const Element *>(memory + value_offset);
  const Element *next_keys = reinterpret_cast<const Element *>(next + key_offset);
  const Element *next_values = reinterpret_cast<const Element *>(next + value_offset);
  const uint32_t start = page * IGNIS_PAGE_TOKENS, stride = ATTENTION_HEADER + layout.Dp;
  const uint32_t first_row = start > tile.position ? start - tile.position : 0;
  const uint32_t stop = tile.num_rows * tile.heads;
  for (uint32_t query = first_row * tile.heads; query < stop;) {
    const uint32_t num = stop - query < QUERIES ? stop - query : QUERIES;
    uint32_t num_valid[QUERIES];
    for (uint32_t n = 0; n < num; n++) {
      const uint32_t seen = tile.position + (query + n) / tile.heads + 1 - start;
      num_valid[n] = seen < IGNIS_PAGE_TOKENS ? seen : IGNIS_PAGE_TOKENS;
    }
    float *out = partials + query * stride;
    const float *queries = tile.queries + query * layout.D;
    const auto run = [&]<uint32_t N>() {
      attend<N>(out, stride, queries, keys, values, layout.D, layout.Dp, num_valid, scores, next_keys, next_values);
    };
    switch (num) {
      case 1: run.template operator()<1>(); break;
#if defined(__AVX2__)
      case 2: run.template operator()<2>(); break;
#if defined(__AVX512F__)
      case 3: run.template operator()<3>(); break;
      case 4: run.template operator()<4>(); break;
      case 5: run.template operator()<5>(); break;
#endif
#endif
      default: run.template operator()<QUERIES>(); break;
    }
    query += num;
  }
  return first_row * tile.heads;
}

static uint32_t attend_page(float *partials, const QueryTile &tile, const KvLayer &kv, uint32_t page, const uint8_t *memory,
                            const uint8_t *next, float *scores) {
  const KvPage layout(kv);
  if (kv.dtype == IGNIS_F16) return attend_elements<uint16_t>(partials, tile, layout, page, memory, next, scores);
  if (kv.dtype == IGNIS_BF16) return attend_elements<Bfloat>(partials, tile, layout, page, memory, next, scores);
  if (kv.dtype == IGNIS_F8_E4M3) return attend_elements<Eighth>(partials, tile, layout, page, memory, next, scores);
  return attend_elements<float>(partials, tile, layout, page, memory, next, scores);
}

static void scale_queries(float *queries, const float *q, uint32_t n, float scale) {
  const uint32_t whole = n / WIDTH * WIDTH;
  for (uint32_t i = 0; i < whole; i += WIDTH) store(queries + i, mul(load(q + i), splat(scale)));
  for (uint32_t i = whole; i < n; i++) queries[i] = q[i] * scale;
}

static void merge(float *states, const float *partials, uint32_t num_queries, uint32_t Dp) {
  for (uint32_t query = 0; query < num_queries; query++, states += ATTENTION_HEADER + Dp, partials += ATTENTION_HEADER + Dp) {
    const float maximum = states[0] > partials[0] ? states[0] : partials[0];
    const Floats old_factor = exp(splat(states[0] - maximum)), new_factor = exp(splat(partials[0] - maximum));
    states[0] = maximum;
    states[1] = states[1] * first(old_factor) + partials[1] * first(new_factor);
    float *sums = states + ATTENTION_HEADER;
    const float *added = partials + ATTENTION_HEADER;
    for (uint32_t i = 0; i < Dp; i += WIDTH) store(sums + i, fma(load(added + i), new_factor, mul(load(sums + i), old_factor)));
  }
}

static void finish(float *out, const float *states, uint32_t num_queries, uint32_t D, uint32_t Dp) {
  for (uint32_t query = 0; query < num_queries; query++, states += ATTENTION_HEADER + Dp, out += D) {
    const float factor = 1.0f / states[1];
    const float *sums = states + ATTENTION_HEADER;
    const uint32_t whole = D / WIDTH * WIDTH;
    for (uint32_t i = 0; i < whole; i += WIDTH) store(out + i, mul(load(sums + i), splat(factor)));
    for (uint32_t i = whole; i < D; i++) out[i] = sums[i] * factor;
  }
}

extern const AttentionKernels attention_kernels;
const AttentionKernels attention_kernels = {scale_queries, attend_page, merge, finish};

}  // namespace ignis::IGNIS_ISA_NAMESPACE
