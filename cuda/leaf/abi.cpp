// abi.cpp: the exported functions of a step, and the checks of their arguments. What passes here is never checked again.
#include <math.h>

#include "../base/status.h"
#include "../quant/dequantize.h"
#include "../quant/formats.h"
#include "model.h"

using namespace ignis;

#define CHECK(call) \
  if (const ignis_status status = (call); status != IGNIS_OK) return status

static ignis_status check_tokens(const ignis_model &model, const char *name, const int32_t *tokens, uint32_t num) {
  if (num > 0 && !tokens) return fail(IGNIS_INVALID, "%s is null", name);
  for (uint32_t i = 0; i < num; i++)
    if (tokens[i] < 0 || static_cast<uint32_t>(tokens[i]) >= model.decoder.shape.vocab_size)
      return fail(IGNIS_INVALID, "%s[%u] is %d; the vocabulary has %u tokens", name, i, tokens[i], model.decoder.shape.vocab_size);
  return IGNIS_OK;
}

static ignis_status check_idle(const ignis_model &model) {
  if (model.round.num == 0) return IGNIS_OK;
  return fail(IGNIS_INVALID, "a round is under way: ignis_decode_end comes first");
}

static ignis_status check_lane(const ignis_model &model, int32_t lane) {
  if (lane >= 0 && static_cast<uint32_t>(lane) < model.limits.max_lanes) return IGNIS_OK;
  return fail(IGNIS_INVALID, "lane %d is not one of %u", lane, model.limits.max_lanes);
}

static ignis_status check_page(const ignis_model &model, const char *name, int32_t page) {
  if (page >= 0 && static_cast<uint32_t>(page) < model.limits.num_pages) return IGNIS_OK;
  return fail(IGNIS_INVALID, "%s is page %d; there are %u pages", name, page, model.limits.num_pages);
}

// A page table that must hold positions [0, stop).
static ignis_status check_pages(const ignis_model &model, const int32_t *page_table, uint32_t num_pages, uint32_t stop) {
  if (stop > model.limits.max_context)
    return fail(IGNIS_INVALID, "position %u is past max_context %u", stop - 1, model.limits.max_context);
  const uint32_t needed = (stop + IGNIS_PAGE_TOKENS - 1) / IGNIS_PAGE_TOKENS;
  if (!page_table) return fail(IGNIS_INVALID, "page_table is null");
  if (num_pages < needed) return fail(IGNIS_INVALID, "num_pages is %u; %u positions need %u", num_pages, stop, needed);
  for (uint32_t i = 0; i < needed; i++)
    if (page_table[i] < 0 || static_cast<uint32_t>(page_table[i]) >= model.limits.num_pages)
      return fail(IGNIS_INVALID, "page_table[%u] is %d; there are %u pages", i, page_table[i], model.limits.num_pages);
  return IGNIS_OK;
}

static ignis_status check_sampling(const ignis_model &model, const ignis_sampling *table, int32_t lane) {
  if (!table) return fail(IGNIS_INVALID, "sampling is null");
  const ignis_sampling &sampling = table[lane];
  const uint32_t V = model.decoder.shape.vocab_size;
  // Negated comparisons: NaN fails them.
  if (!(sampling.temperature >= 0) || !isfinite(sampling.temperature)) return fail(IGNIS_INVALID, "temperature must be 0 or more");
  if (!(sampling.top_p > 0 && sampling.top_p <= 1)) return fail(IGNIS_INVALID, "top_p must be in (0, 1]");
  if (!(sampling.min_p >= 0 && sampling.min_p <= 1)) return fail(IGNIS_INVALID, "min_p must be in [0, 1]");
  if (!(sampling.repetition_penalty > 0) || !isfinite(sampling.repetition_penalty))
    return fail(IGNIS_INVALID, "repetition_penalty must be more than 0");
  if (!isfinite(sampling.presence_penalty) || !isfinite(sampling.frequency_penalty))
    return fail(IGNIS_INVALID, "presence_penalty and frequency_penalty must be finite");
  if (sampling.top_k < 0) return fail(IGNIS_INVALID, "top_k must be 0 or more");
  if (sampling.top_logprobs < -1 || sampling.top_logprobs > IGNIS_MAX_TOP_LOGPROBS)
    return fail(IGNIS_INVALID, "top_logprobs must be -1 to %d", IGNIS_MAX_TOP_LOGPROBS);
  if (sampling.num_bias > V) return fail(IGNIS_INVALID, "num_bias is %u; there are %u tokens", sampling.num_bias, V);
  if (sampling.num_bias > 0 && (!sampling.bias_ids || !sampling.bias_values)) return fail(IGNIS_INVALID, "the bias arrays are null");
  CHECK(check_tokens(model, "bias_ids", sampling.bias_ids, sampling.num_bias));
  for (uint32_t i = 0; i < sampling.num_bias; i++)
    if (!isfinite(sampling.bias_values[i])) return fail(IGNIS_INVALID, "bias_values[%u] is not finite", i);
  if (!sampling.permitted) return IGNIS_OK;
  for (uint32_t i = 0; i < V / 32; i++)
    if (sampling.permitted[i]) return IGNIS_OK;
  if (V % 32 != 0 && (sampling.permitted[V / 32] & ((1u << V % 32) - 1))) return IGNIS_OK;
  return fail(IGNIS_INVALID, "the permitted mask of lane %d permits no token", lane);
}

uint32_t ignis_abi_version(void) { return IGNIS_ABI_VERSION; }

const char *ignis_last_error(void) { return last_error(); }

ignis_status ignis_probe(ignis_device_info *info) {
  clear_last_error();
  if (!info) return fail(IGNIS_INVALID, "info is null");
  if (info->size != sizeof *info) return fail(IGNIS_INVALID, "ignis_device_info.size is %u", info->size);
  *info = ignis_device_info{};
  info->size = sizeof *info;
  return device_probe(info);
}

ignis_status ignis_lane_open(ignis_model *model, int32_t lane, const int32_t *prompt, uint32_t num_prompt, const int32_t *output,
                             uint32_t num_output) {
  clear_last_error();
  if (!model) return fail(IGNIS_INVALID, "model is null");
  CHECK(check_idle(*model));
  CHECK(check_lane(*model, lane));
  CHECK(check_tokens(*model, "prompt", prompt, num_prompt));
  CHECK(check_tokens(*model, "output", output, num_output));
  lane_tokens_set(*model->device, &model->lanes[lane], model->decoder.shape.vocab_size, prompt, num_prompt, output, num_output);
  return IGNIS_OK;
}

ignis_status ignis_copy_page(ignis_model *model, int32_t from, int32_t to) {
  clear_last_error();
  if (!model) return fail(IGNIS_INVALID, "model is null");
  CHECK(check_idle(*model));
  CHECK(check_page(*model, "from", from));
  CHECK(check_page(*model, "to", to));
  if (from == to) return fail(IGNIS_INVALID, "page %d is copied into itself", from);
  const KvLayer &kv = model->decoder.kv;
  copy(*model->device, kv.pool + to * kv.page_stride, kv.pool + from * kv.page_stride, kv.page_stride);
  return IGNIS_OK;
}

static ignis_status check_moves(const ignis_model &model, const int32_t *pages, const int32_t *places, uint32_t num) {
  if (num > 0 && (!pages || !places)) return fail(IGNIS_INVALID, "pages or places is null");
  for (uint32_t i = 0; i < num; i++) {
    CHECK(check_page(model, "pages", pages[i]));
    if (places[i] < 0 || static_cast<uint32_t>(places[i]) >= model.limits.num_places)
      return fail(IGNIS_INVALID, "places[%u] is %d; there are %u places", i, places[i], model.limits.num_places);
  }
  return IGNIS_OK;
}

ignis_status ignis_pages_out(ignis_model *model, const int32_t *pages, const int32_t *places, uint32_t num) {
  clear_last_error();
  if (!model) return fail(IGNIS_INVALID, "model is null");
  CHECK(check_idle(*model));
  CHECK(check_moves(*model, pages, places, num));
  const KvLayer &kv = model->decoder.kv;
  for (uint32_t i = 0; i < num; i++)
    copy_out(*model->device, model->places.base + places[i] * kv.page_stride, kv.pool + pages[i] * kv.page_stride, kv.page_stride);
  return IGNIS_OK;
}

ignis_status ignis_pages_in(ignis_model *model, const int32_t *pages, const int32_t *places, uint32_t num) {
  clear_last_error();
  if (!model) return fail(IGNIS_INVALID, "model is null");
  CHECK(check_idle(*model));
  CHECK(check_moves(*model, pages, places, num));
  const KvLayer &kv = model->decoder.kv;
  for (uint32_t i = 0; i < num; i++)
    upload(*model->device, kv.pool + pages[i] * kv.page_stride, model->places.base + places[i] * kv.page_stride, kv.page_stride);
  return wait(*model->device);
}

ignis_status ignis_prefill(ignis_model *model, const ignis_span *span, ignis_draw *draw) {
  clear_last_error();
  if (!model || !span) return fail(IGNIS_INVALID, "model or span is null");
  CHECK(check_idle(*model));
  if (span->size != sizeof *span) return fail(IGNIS_INVALID, "ignis_span.size is %u", span->size);
  if (span->start >= span->stop) return fail(IGNIS_INVALID, "the span [%u, %u) is empty", span->start, span->stop);
  if (span->stop - span->start > model->limits.max_span)
    return fail(IGNIS_INVALID, "the span [%u, %u) is longer than max_span %u", span->start, span->stop, model->limits.max_span);
  CHECK(check_pages(*model, span->page_table, span->num_pages, span->stop));
  CHECK(check_tokens(*model, "tokens", span->tokens, span->stop - span->start));
  if (span->lane >= 0) {
    CHECK(check_lane(*model, span->lane));
    CHECK(check_sampling(*model, span->sampling, span->lane));
    if (!draw) return fail(IGNIS_INVALID, "draw is null");
  }
  return run_span(*model, *span, draw);
}

ignis_status ignis_decode_begin(ignis_model *model, const ignis_round *round) {
  clear_last_error();
  if (!model || !round) return fail(IGNIS_INVALID, "model or round is null");
  CHECK(check_idle(*model));
  if (round->size != sizeof *round) return fail(IGNIS_INVALID, "ignis_round.size is %u", round->size);
  if (round->num_rows == 0 || round->num_rows > model->limits.max_lanes)
    return fail(IGNIS_INVALID, "num_rows is %u; there are %u lanes", round->num_rows, model->limits.max_lanes);
  if (!round->rows) return fail(IGNIS_INVALID, "rows is null");
  uint32_t lanes_seen = 0;
  for (uint32_t i = 0; i < round->num_rows; i++) {
    const ignis_row &row = round->rows[i];
    CHECK(check_lane(*model, row.lane));
    if (lanes_seen >> row.lane & 1) return fail(IGNIS_INVALID, "lane %d is there twice", row.lane);
    lanes_seen |= 1u << row.lane;
    CHECK(check_tokens(*model, "token", &row.token, 1));
    if (row.position >= model->limits.max_context)
      return fail(IGNIS_INVALID, "position %u is past max_context %u", row.position, model->limits.max_context);
    CHECK(check_pages(*model, row.page_table, row.num_pages, row.position + 1));
    CHECK(check_sampling(*model, round->sampling, row.lane));
  }
  begin_round(*model, *round);
  return IGNIS_OK;
}

ignis_status ignis_decode_ahead(ignis_model *model) {
  clear_last_error();
  if (!model) return fail(IGNIS_INVALID, "model is null");
  const RoundRows &rows = model->round;
  if (rows.num == 0) return fail(IGNIS_INVALID, "no round is under way");
  if (rows.has_ahead) return fail(IGNIS_INVALID, "a round is queued ahead already");
  if (rows.logits) return fail(IGNIS_INVALID, "the round under way asks for its logits");
  for (uint32_t i = 0; i < rows.num; i++) {
    const uint32_t position = rows.groups[i].position + 1;
    if (position >= model->limits.max_context)
      return fail(IGNIS_INVALID, "position %u is past max_context %u", position, model->limits.max_context);
    if (position % IGNIS_PAGE_TOKENS == 0) return fail(IGNIS_INVALID, "position %u is of the next page", position);
  }
  queue_ahead(*model);
  return IGNIS_OK;
}

ignis_status ignis_decode_end(ignis_model *model, ignis_draw *draws) {
  clear_last_error();
  if (!model || !draws) return fail(IGNIS_INVALID, "model or draws is null");
  if (model->round.num == 0) return fail(IGNIS_INVALID, "no round is under way");
  return end_round(*model, draws);
}

ignis_status ignis_decode(ignis_model *model, const ignis_round *round, ignis_draw *draws) {
  clear_last_error();
  if (!draws) return fail(IGNIS_INVALID, "draws is null");
  CHECK(ignis_decode_begin(model, round));
  return ignis_decode_end(model, draws);
}

ignis_status ignis_last_step(const ignis_model *model, ignis_step_times *times) {
  clear_last_error();
  if (!model || !times) return fail(IGNIS_INVALID, "model or times is null");
  if (times->size != sizeof *times) return fail(IGNIS_INVALID, "ignis_step_times.size is %u", times->size);
  *times = ignis_step_times{sizeof *times, 0, 0, 0, 0};
  step_times(*model->device, times);
  return IGNIS_OK;
}

ignis_status ignis_measure(uint32_t num_threads, ignis_ceilings *result) {
  clear_last_error();
  if (!result) return fail(IGNIS_INVALID, "ceilings is null");
  if (result->size != sizeof *result) return fail(IGNIS_INVALID, "ignis_ceilings.size is %u", result->size);
  *result = ignis_ceilings{sizeof *result, 0, 0, 0, 0};
  Device *device = nullptr;
  ignis_status status = device_open(&device, num_threads);
  if (status == IGNIS_OK) status = ceilings(*device, result);
  device_close(device);
  return status;
}

ignis_status ignis_dequantize(uint32_t dtype, const void *data, uint64_t size_bytes, float *values, uint64_t num_values) {
  clear_last_error();
  const ignis_dtype stored = static_cast<ignis_dtype>(dtype);
  const uint32_t block = block_values(stored);
  if (block == 0) return fail(IGNIS_UNSUPPORTED, "dtype %u is unknown to this leaf", dtype);
  if (num_values % block != 0)
    return fail(IGNIS_INVALID, "%llu values are not whole blocks of %u", static_cast<unsigned long long>(num_values), block);
  uint64_t expected;
  if (__builtin_mul_overflow(num_values / block, uint64_t{block_bytes(stored)}, &expected) || expected != size_bytes)
    return fail(IGNIS_INVALID, "%llu values of dtype %u are not %llu bytes", static_cast<unsigned long long>(num_values), dtype,
                static_cast<unsigned long long>(size_bytes));
  if (num_values > 0 && (!data || !values)) return fail(IGNIS_INVALID, "data or values is null");
  dequantize(values, data, stored, num_values);
  return IGNIS_OK;
}
