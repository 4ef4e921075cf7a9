// step.cpp: one prefill span or one decode round through the model's program, and the draws after it.
#include <string.h>

#include "../base/status.h"
#include "model.h"

namespace ignis {

// Draws for rows of raw logits and counts the drawn tokens. lanes and positions [num]; logits of row i at logits + i * V.
static ignis_status draw(ignis_model &model, ignis_draw *draws, const float *logits, const ignis_sampling *sampling, const int32_t *lanes,
                         const uint32_t *positions, uint32_t num) {
  const uint32_t V = model.decoder.shape.vocab_size;
  SampleRow rows[IGNIS_MAX_LANES];
  for (uint32_t i = 0; i < num; i++)
    rows[i] = SampleRow{logits + uint64_t{i} * V, sampling + lanes[i], &model.lanes[lanes[i]], positions[i]};
  uint32_t bad = 0;
  if (!sample(*model.device, draws, rows, num, V, model.sample_memory, &bad))
    return fail(IGNIS_FAULT, "the logits of lane %d at position %u give no token: all are -infinity, or some are NaN or infinite",
                lanes[bad], positions[bad]);
  for (uint32_t i = 0; i < num; i++) lane_tokens_add(&model.lanes[lanes[i]], draws[i].token, true);
  return IGNIS_OK;
}

ignis_status run_span(ignis_model &model, const ignis_span &span, ignis_draw *result) {
  const uint32_t V = model.decoder.shape.vocab_size, T = span.stop - span.start;
  const Group group{0, T, span.start, span.page_table};
  const uint32_t first_wanted = span.logits ? 0 : span.lane >= 0 ? T - 1 : T;
  const Step step{span.tokens, T, first_wanted, &group, 1};
  model.program->forward(model.decoder, step);
  const float *last = model.logits;
  if (span.logits) {
    logits(model.decoder, step, span.logits, V);
    last = span.logits + uint64_t{T - 1} * V;
  } else if (span.lane >= 0) {
    logits(model.decoder, step, model.logits, V);
  }
  if (span.lane < 0) return IGNIS_OK;
  return draw(model, result, last, span.sampling, &span.lane, &span.stop, 1);
}

ignis_status run_round(ignis_model &model, const ignis_round &round, ignis_draw *draws) {
  const uint32_t V = model.decoder.shape.vocab_size, T = round.num_rows;
  int32_t tokens[IGNIS_MAX_LANES], lanes[IGNIS_MAX_LANES];
  uint32_t positions[IGNIS_MAX_LANES];
  Group groups[IGNIS_MAX_LANES];
  for (uint32_t i = 0; i < T; i++) {
    const ignis_row &row = round.rows[i];
    tokens[i] = row.token;
    lanes[i] = row.lane;
    positions[i] = row.position + 1;
    groups[i] = Group{i, 1, row.position, row.page_table};
  }
  const Step step{tokens, T, 0, groups, T};
  model.program->forward(model.decoder, step);
  logits(model.decoder, step, model.logits, V);
  if (round.logits) memcpy(round.logits, model.logits, uint64_t{T} * V * sizeof(float));
  return draw(model, draws, model.logits, round.sampling, lanes, positions, T);
}

}  // namespace ignis
