// step.cpp: one prefill span or one decode round through the model's program, and the draws after it.
#include <stdlib.h>

#include "../base/status.h"
#include "model.h"

namespace ignis {

// Waits for the step's draws.
static ignis_status take_draws(ignis_model &model, ignis_draw *draws, uint32_t num) {
  return download(*model.device, draws, model.draws, num * sizeof(ignis_draw));
}

static SampleRow sample_row(ignis_model &model, const ignis_sampling *table, int32_t lane, uint32_t position) {
  return SampleRow{table ? table + lane : nullptr, &model.lanes[lane], static_cast<uint32_t>(lane), position};
}

// All logits of a span to the caller, a few rows at a time. The last row's stay in model.logits; returns them.
static const float *all_logits(ignis_model &model, const ignis_span &span, ignis_status *status) {
  const uint32_t T = span.stop - span.start, V = model.decoder.shape.vocab_size;
  const float *last = nullptr;
  for (uint32_t first = 0; first < T && *status == IGNIS_OK; first += model.limits.max_lanes) {
    const uint32_t num = T - first < model.limits.max_lanes ? T - first : model.limits.max_lanes;
    logits(model.decoder, model.logits, first, num);
    *status = download(*model.device, span.logits + uint64_t{first} * V, model.logits, uint64_t{num} * V * sizeof(float));
    last = model.logits + uint64_t{num - 1} * V;
  }
  return last;
}

ignis_status run_span(ignis_model &model, const ignis_span &span, ignis_draw *draw) {
  const uint32_t V = model.decoder.shape.vocab_size, T = span.stop - span.start;
  const Group group{0, T, span.start, span.page_table};
  const bool is_drawn = span.lane >= 0;
  const Step step{span.tokens, T, span.logits ? 0 : is_drawn ? T - 1 : T, &group, 1, false};
  const SampleRow row = is_drawn ? sample_row(model, span.sampling, span.lane, span.stop) : SampleRow{};
  step_begin(*model.device, StepInputs{Phase::prefill, span.tokens, T, step.first_wanted, &group, 1, &row, is_drawn ? 1u : 0u});
  model.program->forward(model.decoder, step);
  ignis_status status = IGNIS_OK;
  const float *last = model.logits;
  if (span.logits)
    last = all_logits(model, span, &status);
  else if (is_drawn)
    logits(model.decoder, model.logits, 0, 1);
  if (status != IGNIS_OK) return status;
  if (!is_drawn) return wait(*model.device);
  sample(*model.device, model.draws, last, &row, 1, V, model.sample_memory);
  return take_draws(model, draw, 1);
}

static void take_rows(ignis_model &model, const ignis_round &round) {
  RoundRows &rows = model.round;
  for (uint32_t i = 0; i < round.num_rows; i++) {
    const ignis_row &row = round.rows[i];
    rows.tokens[i] = row.token;
    rows.groups[i] = Group{i, 1, row.position, row.page_table};
    rows.draws[i] = sample_row(model, round.sampling, row.lane, row.position + 1);
  }
  rows.num = round.num_rows;
  rows.has_ahead = false;
  rows.logits = round.logits;
}

static void queue_round(ignis_model &model) {
  const RoundRows &rows = model.round;
  const uint32_t V = model.decoder.shape.vocab_size;
  model.program->forward(model.decoder, Step{rows.tokens, rows.num, 0, rows.groups, rows.num, true});
  logits(model.decoder, model.logits, 0, rows.num);
  sample(*model.device, model.draws, model.logits, rows.draws, rows.num, V, model.sample_memory);
}

static void begin_step(ignis_model &model) {
  const RoundRows &rows = model.round;
  step_begin(*model.device, StepInputs{Phase::decode, rows.tokens, rows.num, 0, rows.groups, rows.num, rows.draws, rows.num});
}

void begin_round(ignis_model &model, const ignis_round &round) {
  take_rows(model, round);
  begin_step(model);
  model.round.is_queued = replay(*model.device, model.round.num);
}

void queue_ahead(ignis_model &model) {
  RoundRows &rows = model.round;
  rows.has_ahead = true;
  if (!rows.is_queued) return;  // then it begins with its own end, too
  step_ahead(*model.device, model.draws, rows.num);
  replay(*model.device, rows.num);
}

// The round that was queued ahead is the one under way.
static void go_on(RoundRows &rows, const ignis_draw *draws) {
  rows.has_ahead = false;
  for (uint32_t i = 0; i < rows.num; i++) {
    rows.tokens[i] = draws[i].token < 0 ? 0 : draws[i].token;
    rows.groups[i].position++;
    rows.draws[i].position++;
  }
}

ignis_status end_round(ignis_model &model, ignis_draw *draws) {
  RoundRows &rows = model.round;
  const uint32_t V = model.decoder.shape.vocab_size, T = rows.num;
  // A device that keeps no rounds is the host itself: its work would hold up the caller between begin and end, so it begins here.
  if (!rows.is_queued) {
    begin_step(model);
    queue_round(model);
  }
  if (rows.has_ahead) {
    const ignis_status status = rows.is_queued ? step_kept(*model.device, draws, T) : take_draws(model, draws, T);
    if (status == IGNIS_OK)
      go_on(rows, draws);
    else
      rows.num = 0;
    return status;
  }
  rows.num = 0;
  ignis_status status = IGNIS_OK;
  if (rows.logits) status = download(*model.device, rows.logits, model.logits, uint64_t{T} * V * sizeof(float));
  return status == IGNIS_OK ? take_draws(model, draws, T) : status;
}

ignis_status record_rounds(ignis_model &model) {
  // Position 0 of page 0 for every lane: nothing is in the pages yet.
  const int32_t page_table[] = {0};
  ignis_sampling sampling[IGNIS_MAX_LANES] = {};
  ignis_row rows[IGNIS_MAX_LANES];
  for (int32_t lane = 0; lane < IGNIS_MAX_LANES; lane++) {
    sampling[lane].top_p = sampling[lane].repetition_penalty = 1;
    sampling[lane].top_logprobs = -1;
    rows[lane] = ignis_row{lane, 0, 0, 1, page_table};
  }
  for (uint32_t T = 1; T <= model.limits.max_lanes; T++) {
    take_rows(model, ignis_round{sizeof(ignis_round), T, rows, sampling, nullptr});
    if (!record_begin(*model.device, T)) break;
    queue_round(model);
    const ignis_status status = record_end(*model.device, T);
    if (status != IGNIS_OK) return status;
  }
  model.round.num = 0;
  return IGNIS_OK;
}

ignis_status warm_up(ignis_model &model) {
  const Limits &limits = model.limits;
  uint32_t T = limits.max_span < limits.max_context ? limits.max_span : limits.max_context;
  if (T > 512) T = 512;  // what a launch makes the driver take does not grow with the rows
  const uint32_t num_pages = (T - 1) / IGNIS_PAGE_TOKENS + 1;
  int32_t *memory = static_cast<int32_t *>(calloc(uint64_t{T} + num_pages, sizeof(int32_t)));
  if (!memory) return fail(IGNIS_NO_MEMORY, "no memory for %u tokens", T);
  const int32_t *tokens = memory, *page_table = memory + T;  // all of them page 0: what they hold is nobody's
  ignis_sampling sampling[IGNIS_MAX_LANES] = {};
  ignis_row rows[IGNIS_MAX_LANES];
  ignis_draw draws[IGNIS_MAX_LANES];
  for (int32_t lane = 0; lane < IGNIS_MAX_LANES; lane++) {
    sampling[lane].top_p = sampling[lane].repetition_penalty = 1;
    sampling[lane].top_logprobs = -1;
    rows[lane] = ignis_row{lane, 0, 0, 1, page_table};
  }
  ignis_status status = run_span(model, ignis_span{sizeof(ignis_span), 0, T, num_pages, tokens, page_table, 0, 0, sampling, nullptr}, draws);
  for (uint32_t width = 1; status == IGNIS_OK && width <= limits.max_lanes; width++) {
    begin_round(model, ignis_round{sizeof(ignis_round), width, rows, sampling, nullptr});
    status = end_round(model, draws);
  }
  free(memory);
  return status;
}

}  // namespace ignis
