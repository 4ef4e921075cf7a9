// step.cu: a step's inputs into a pinned image, and from there to fixed addresses on the card in one copy.
#include <stdlib.h>
#include <string.h>

#include "../base/time.h"
#include "device.h"
#include "inputs.h"

namespace ignis {

// The same layout on both sides; the page tables come last, so that a copy ends with the last one in use.
struct StepLayout {
  uint64_t params, groups, tokens, positions, page_tables, size_bytes;
  uint32_t max_pages;
  // Behind the copied part, on the card alone, for each lane.
  uint64_t bias_ids, bias_values, permitted, total_bytes;
  uint64_t ids_stride, mask_stride;

  explicit StepLayout(const StepLimits &limits) {
    uint64_t next = 0;
    const auto take = [&next](uint64_t bytes) {
      const uint64_t at = next;
      next += align_up(bytes, ARENA_ALIGNMENT);
      return at;
    };
    const uint32_t num_groups = limits.max_lanes < 2 ? 2 : limits.max_lanes;
    max_pages = (limits.max_context + IGNIS_PAGE_TOKENS - 1) / IGNIS_PAGE_TOKENS;
    params = take(limits.max_lanes * sizeof(SampleParams));
    groups = take(num_groups * sizeof(Group));
    tokens = take(uint64_t{limits.max_rows} * 4);
    positions = take(uint64_t{limits.max_rows} * 4);
    page_tables = take(uint64_t{limits.max_lanes} * max_pages * 4);
    size_bytes = next;
    ids_stride = align_up(uint64_t{limits.V} * 4, ARENA_ALIGNMENT);
    mask_stride = align_up((uint64_t{limits.V} + 31) / 32 * 4, ARENA_ALIGNMENT);
    bias_ids = take(limits.max_lanes * ids_stride);
    bias_values = take(limits.max_lanes * ids_stride);
    permitted = take(limits.max_lanes * mask_stride);
    total_bytes = next;
  }
};

// Where a step's work starts and ends on the card, and the host's clock.
struct StepClock {
  cudaEvent_t started, ended;
  double begun_s, queued_s, waiting_s, done_s;  // 0: not yet
};

struct Inputs {
  StepLayout layout;
  uint8_t *image, *memory;  // pinned [size_bytes]; on the card [total_bytes]
  void *bounce;             // pinned [bounce_bytes]
  uint64_t bounce_bytes;
  uint32_t V;
  StepClock clocks[2];  // of the step under way or done last, and of the one before
  uint32_t current;
};

void inputs_close(Device *device) {
  if (!device->inputs) return;
  if (device->inputs->image) cudaFreeHost(device->inputs->image);
  if (device->inputs->bounce) cudaFreeHost(device->inputs->bounce);
  for (const StepClock &clock : device->inputs->clocks) {
    if (clock.started) cudaEventDestroy(clock.started);
    if (clock.ended) cudaEventDestroy(clock.ended);
  }
  free(device->inputs);
  device->inputs = nullptr;
}

uint64_t step_bytes(const StepLimits &limits) { return StepLayout(limits).total_bytes; }

void step_place(Device &device, const StepLimits &limits, void *memory) {
  inputs_close(&device);
  Inputs *inputs = static_cast<Inputs *>(calloc(1, sizeof(Inputs)));
  if (!inputs) return keep(device, cudaErrorMemoryAllocation, __func__);
  device.inputs = inputs;
  inputs->layout = StepLayout(limits);
  inputs->memory = static_cast<uint8_t *>(memory);
  inputs->bounce_bytes = limits.max_lanes * sizeof(ignis_draw);
  inputs->V = limits.V;
  const StepLayout &layout = inputs->layout;
  IGNIS_CUDA(device, cudaMallocHost(reinterpret_cast<void **>(&inputs->image), layout.size_bytes));
  IGNIS_CUDA(device, cudaMallocHost(&inputs->bounce, inputs->bounce_bytes));
  if (inputs->image) memset(inputs->image, 0, layout.size_bytes);
  for (StepClock &clock : inputs->clocks) {
    IGNIS_CUDA(device, cudaEventCreate(&clock.started));
    IGNIS_CUDA(device, cudaEventCreate(&clock.ended));
  }
  device.step.tokens = reinterpret_cast<int32_t *>(inputs->memory + layout.tokens);
  device.step.positions = reinterpret_cast<int32_t *>(inputs->memory + layout.positions);
  device.step.params = reinterpret_cast<SampleParams *>(inputs->memory + layout.params);
  device.step.groups = reinterpret_cast<Group *>(inputs->memory + layout.groups);
  device.step.page_tables = reinterpret_cast<int32_t *>(inputs->memory + layout.page_tables);
  device.step.max_pages = layout.max_pages;
}

void *inputs_bounce(Device &device, uint64_t size_bytes) {
  return device.inputs && size_bytes <= device.inputs->bounce_bytes ? device.inputs->bounce : nullptr;
}

static void put_groups(const Inputs &inputs, const StepInputs &step) {
  const StepLayout &layout = inputs.layout;
  Group *groups = reinterpret_cast<Group *>(inputs.image + layout.groups);
  int32_t *positions = reinterpret_cast<int32_t *>(inputs.image + layout.positions);
  int32_t *tables = reinterpret_cast<int32_t *>(inputs.image + layout.page_tables);
  const int32_t *tables_on_card = reinterpret_cast<const int32_t *>(inputs.memory + layout.page_tables);
  for (uint32_t g = 0; g < step.num_groups; g++) {
    const Group &group = step.groups[g];
    const uint32_t pages = (group.position + group.num_rows - 1) / IGNIS_PAGE_TOKENS + 1;
    memcpy(tables + uint64_t{g} * layout.max_pages, group.page_table, pages * sizeof(int32_t));
    groups[g] = Group{group.row, group.num_rows, group.position, tables_on_card + uint64_t{g} * layout.max_pages};
    for (uint32_t i = 0; i < group.num_rows; i++) positions[group.row + i] = static_cast<int32_t>(group.position + i);
  }
  if (step.num_groups == 1 && step.T > 1) {
    groups[1] = groups[0];
    groups[1].row += step.first_wanted;
    groups[1].num_rows -= step.first_wanted;
    groups[1].position += step.first_wanted;
  }
}

static void put_draws(Device &device, const Inputs &inputs, const StepInputs &step) {
  const StepLayout &layout = inputs.layout;
  SampleParams *params = reinterpret_cast<SampleParams *>(inputs.image + layout.params);
  for (uint32_t i = 0; i < step.num_draws; i++) {
    const SampleRow &row = step.draws[i];
    const ignis_sampling &sampling = *row.sampling;
    uint8_t *ids = inputs.memory + layout.bias_ids + row.lane * layout.ids_stride;
    uint8_t *values = inputs.memory + layout.bias_values + row.lane * layout.ids_stride;
    uint8_t *permitted = inputs.memory + layout.permitted + row.lane * layout.mask_stride;
    if (sampling.num_bias > 0) {
      upload(device, ids, sampling.bias_ids, uint64_t{sampling.num_bias} * 4);
      upload(device, values, sampling.bias_values, uint64_t{sampling.num_bias} * 4);
    }
    if (sampling.permitted) upload(device, permitted, sampling.permitted, (uint64_t{inputs.V} + 31) / 32 * 4);
    params[i] = SampleParams{sampling.temperature,
                             sampling.top_p,
                             sampling.min_p,
                             sampling.repetition_penalty,
                             sampling.presence_penalty,
                             sampling.frequency_penalty,
                             sampling.top_k,
                             sampling.top_logprobs,
                             sampling.seed,
                             row.position,
                             sampling.num_bias,
                             sampling.permitted ? 1u : 0u,
                             0,
                             reinterpret_cast<const int32_t *>(ids),
                             reinterpret_cast<const float *>(values),
                             reinterpret_cast<const uint32_t *>(permitted),
                             row.tokens->output_counts,
                             row.tokens->is_seen};
  }
}

void step_begin(Device &device, const StepInputs &step) {
  device.phase = step.phase;
  Inputs *inputs = device.inputs;
  if (!inputs || !inputs->image || step.T == 0) return;
  inputs->current ^= 1;
  StepClock &clock = inputs->clocks[inputs->current];
  clock.begun_s = now_s();
  clock.queued_s = clock.waiting_s = clock.done_s = 0;
  // The image is free: the step before has been waited for.
  memcpy(inputs->image + inputs->layout.tokens, step.tokens, uint64_t{step.T} * 4);
  put_groups(*inputs, step);
  put_draws(device, *inputs, step);
  // A call of its own: as the first node of a kept round it took 20 us more.
  const uint64_t used = inputs->layout.page_tables + uint64_t{step.num_groups} * inputs->layout.max_pages * 4;
  IGNIS_CUDA(device, cudaMemcpyAsync(inputs->memory, inputs->image, used, cudaMemcpyHostToDevice, device.stream));
  IGNIS_CUDA(device, cudaEventRecord(clock.started, device.stream));
}

void step_queued(Device &device) {
  if (!device.inputs) return;
  StepClock &clock = device.inputs->clocks[device.inputs->current];
  if (clock.begun_s == 0 || clock.queued_s != 0) return;
  IGNIS_CUDA(device, cudaEventRecord(clock.ended, device.stream));
  clock.queued_s = now_s();
}

void step_waiting(Device &device) {
  step_queued(device);
  if (!device.inputs) return;
  StepClock &clock = device.inputs->clocks[device.inputs->current];
  if (clock.waiting_s == 0) clock.waiting_s = now_s();
}

void step_done(Device &device) {
  if (!device.inputs) return;
  StepClock &clock = device.inputs->clocks[device.inputs->current];
  if (clock.done_s == 0) clock.done_s = now_s();
}

void step_times(Device &device, ignis_step_times *times) {
  if (!device.inputs) return;
  const StepClock *clock = &device.inputs->clocks[device.inputs->current];
  if (clock->done_s == 0) clock = &device.inputs->clocks[device.inputs->current ^ 1];
  float device_ms = 0;
  if (clock->begun_s == 0 || clock->done_s == 0 || cudaEventElapsedTime(&device_ms, clock->started, clock->ended) != cudaSuccess) {
    cudaGetLastError();  // no step yet, or one that failed: no times
    return;
  }
  times->launch_s = clock->queued_s - clock->begun_s;
  times->wait_s = clock->done_s - clock->waiting_s;
  times->device_s = device_ms * 1e-3;
}

}  // namespace ignis
